"""The five papers: every table and figure, with what draws it or why nothing does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from pldp.datasets import load_counts
from pldp.experiments.report.exhibits import Curves, Exhibit, Panel, Paper, Result, Row, Series, Table, lines
from pldp.mechanisms.continuous import Continuous, Hybrid, Laplace, Piecewise, StochasticRounding

ILLUSTRATION: Final = "an illustration without data"
NOTATION: Final = "a list of symbols"

# Wu, Zhang: hidden budgets
_FEBSF: Final = {"auem": "AUEM", "emoa": "EMOA", "rcf": "RCF", "ppda": "PPDA", "apldp": "APLDP"}
_FEBSF_OURS: Final = {"joint": "joint likelihood", "joint_shrunk": "joint, shrunk"}
_PBP: Final = {"pbp": "PBP", "auem": "AUEM", "emoa": "EMOA"}


_BY_SIZE: Final = ("job", "education", "country")
_TEN: Final = ("uniform", "power_law")
_TWO: Final = ("uniform_two", "power_law_two")


def _by_choice(y: str, methods: dict[str, str], levels: Sequence[str], epsilon_p: float) -> Curves:
    where = {"levels": lambda found: found in levels, "epsilon_p": epsilon_p}
    labels = ("choice of budgets", (y.upper(),))
    return Curves("levels", (y,), *labels, methods, _FEBSF_OURS, "dataset", where, order=levels)


def _febsf_datasets(_: Result) -> Table:
    printed = {"education": (16, 32_561), "job": (9, 45_211), "country": (42, 48_842)}
    shipped = {"education": "adult_education", "job": "bank_job", "country": "adult_country"}
    rows = []
    for name, (values, people) in printed.items():
        counts = load_counts(shipped[name])
        rows.append((name, values, people, len(counts), sum(counts.values())))
    return Table(("dataset", "values, printed", "people, printed", "values, here", "people, here"), rows)


FEBSF: Final = Paper(
    "febsf",
    "Wu, Zhang. Overcoming Challenges in PLDP: A New Paradigm for Protecting Privacy Budgets and Enhancing Data "
    "Utility",
    (
        Exhibit("Figure 1", "the framework PLDP-FEBSF", reason=ILLUSTRATION),
        Exhibit("Table 1", "The datasets. Bank Marketing has 12 jobs, not 9.", _febsf_datasets),
        Exhibit(
            "Figure 2",
            "Error of AUEM by ε_p, uniform budgets.",
            Curves(
                "epsilon_p",
                ("mse", "mae"),
                "ε_p",
                ("MSE", "MAE"),
                {"auem": "AUEM"},
                _FEBSF_OURS,
                "dataset",
                {"levels": "uniform"},
            ),
        ),
        *(
            Exhibit(
                label,
                f"{y.upper()} by dataset (12, 16 and 42 values), ε_p = .3, uniform budgets.",
                Curves(
                    "dataset",
                    (y,),
                    "dataset",
                    (y.upper(),),
                    _FEBSF,
                    _FEBSF_OURS,
                    where={"levels": "uniform", "epsilon_p": 0.3},
                    order=_BY_SIZE,
                ),
            )
            for label, y in (("Figure 3", "mse"), ("Figure 4", "mae"))
        ),
        *(
            Exhibit(
                label,
                f"{y.upper()} with two budgets (.1, .2) and ε_p = .1, uniform and by a power law.",
                _by_choice(y, _PBP, _TWO, 0.1),
            )
            for label, y in (("Figure 5", "mse"), ("Figure 6", "mae"))
        ),
        *(
            Exhibit(
                label,
                f"{y.upper()} with ten budgets and ε_p = .3, uniform and by a power law.",
                _by_choice(y, _FEBSF, _TEN, 0.3),
            )
            for label, y in (("Figure 7", "mse"), ("Figure 8", "mae"))
        ),
    ),
)

# Feng, Zhang: many attributes
_OC: Final = {"brr_sum": "BRR (levels added)", "oc": "OC"}
_OP: Final = {**_OC, "op_truth": "OP with the truth", "op_reference": "OP with an earlier estimate"}
_TABLE_3_PRINTED: Final = {
    (10_000, 1.0): (4.6184, 4.5430),
    (10_000, 3.0): (4.7216, 4.6086),
    (10_000, 6.0): (4.4780, 4.3916),
    (1_000, 1.0): (3.0127, 2.8388),
    (1_000, 3.0): (2.9887, 2.7940),
    (1_000, 6.0): (2.9765, 2.6739),
}
"""First and tenth iteration of the paper's Table 3 (log10 of the largest squared error)."""


def _allocation(result: Result) -> Table:
    heads = ("n", "ε", "printed", "their sum", "k^⅓ shares of ε/2", "optimum")
    rows = [
        (
            row["n"],
            row["epsilon"],
            _joined(row["printed"]),
            row["sum_of_printed"],
            _joined(row["cube_root_of_half"]),
            _joined(row["optimum"]),
        )
        for row in result["table_2"]
    ]
    return Table(heads, rows)


def _joined(numbers: Iterable[float]) -> str:
    return " ".join(f"{number:.4f}" for number in numbers)


def _largest_errors(result: Result) -> Table:
    found = {(row["n"], row["epsilon"], row["method"]): row["log10_max_error"] for row in result["rows"]}
    heads = ("n", "ε", "printed, iteration 1", "printed, iteration 10", *_OP.values())
    rows = [
        (*cell, *printed, *(f"{found[*cell, method]:.3f}" for method in _OP))
        for cell, printed in _TABLE_3_PRINTED.items()
        if (*cell, "oc") in found
    ]
    return Table(heads, rows)


MPLDP: Final = Paper(
    "mpldp",
    "Feng, Zhang. MPLDP: Multi-Level Personalized Local Differential Privacy Method",
    (
        Exhibit("Table 1", "notation", reason=NOTATION),
        Exhibit("Figure 1", "the framework", reason=ILLUSTRATION),
        Exhibit("Figure 2", "how one set of answers is published", reason=ILLUSTRATION),
        Exhibit(
            "Table 2",
            "Budgets of attributes with 5, 10, 15, 20 and 25 values. The printed ones spend half of the total.",
            _allocation,
        ),
        *(
            Exhibit(
                label,
                "Squared error of all counts per person.",
                Curves("epsilon", ("log10_nse",), "total ε", ("log10 NSE",), methods, {}, "n", log=False),
            )
            for label, methods in (("Figure 3", _OC), ("Figure 4", _OP))
        ),
        Exhibit(
            "Table 3",
            "Largest squared error of a count (log10), mean of all runs. The paper has one run, and a reference that "
            "it does not name; its iterations are of OP with the true histogram.",
            _largest_errors,
        ),
    ),
)

# Li, Zhu, Zhang, Xie: a budget per item
_DIRECT: Final = {"krr": "k-RR", "urr": "URR", "iprr": "IPRR"}
_UNARY: Final = {"idue_opt0": "IDUE opt0", "idue_opt1": "IDUE opt1", "idue_opt2": "IDUE opt2", "iprr": "IPRR"}
_ESTIMATORS: Final = {"norm_sub": "NS", "mle": "MLE"}


def _items(
    methods: dict[str, str], numbers: Sequence[int], x: str, x_label: str
) -> Callable[[Result], Sequence[Panel]]:
    """Panels by experiment and dataset, lines by method and estimator."""

    def draw(result: Result) -> Sequence[Panel]:
        panels = []
        for number in numbers:
            for dataset in ("zipf", "kosarak_parts"):
                own = [row for row in result["rows"] if (row["experiment"], row["dataset"]) == (number, dataset)]
                for measure in ("mse", "re"):
                    series = [
                        line
                        for estimator, short in _ESTIMATORS.items()
                        for line in lines(
                            [row for row in own if row["estimator"] == estimator],
                            x,
                            measure,
                            {method: f"{label} ({short})" for method, label in methods.items()},
                            ours=False,
                        )
                    ]
                    title = f"#{number}, {dataset.replace('_', ' ')}"
                    panels.append(Panel(title, x_label, measure.upper(), series))
        return panels

    return draw


def _item_datasets(result: Result) -> Table:
    printed = {"zipf": "100,000 people, 20 items", "kosarak_parts": "990,002 people, top 100 items"}
    return Table(
        ("dataset", "printed", "here"), [(name, printed[name], text) for name, text in result["datasets"].items()]
    )


IPLDP: Final = Paper(
    "ipldp",
    "Li, Zhu, Zhang, Xie. Item-Oriented Personalized Local Differential Privacy for Discrete Distribution Estimation",
    (
        Exhibit("Figure 1", "an example of IPRR's probabilities", reason=ILLUSTRATION),
        Exhibit("Table 1", "The datasets.", _item_datasets),
        Exhibit(
            "Table 2", "settings of the experiments", reason="our settings are these; each row below names its own"
        ),
        Exhibit(
            "Figure 2",
            "Error by the share of people drawn: high (#1), low (#2) and mixed (#3) privacy.",
            _items(_DIRECT, (1, 2, 3), "sample_ratio", "share of people"),
        ),
        Exhibit(
            "Figure 3",
            "Error by the share of non-sensitive items (#4).",
            _items({"urr": "URR", "iprr": "IPRR"}, (4,), "non_sensitive_ratio", "share of open items"),
        ),
        Exhibit(
            "Figure 4",
            "IPRR and IDUE (#5), whose promises differ.",
            _items(_UNARY, (5,), "sample_ratio", "share of people"),
        ),
    ),
)

# Zhang, Zhang, Zhang, Zhang: scores, levels, budgets
_MINERS: Final = {"aprr": "LDP-APRR", "gr_ppfm": "GR-PPFM", "mask": "MASK"}


def _kept(result: Result) -> Table:
    heads = (
        "level",
        "items",
        "keeps 0: printed",
        "computed",
        "keeps 1: printed",
        "computed",
        'budget of a "1"',
        "true ε",
    )
    rows = [
        (
            row["level"],
            row["items"],
            row["printed_zero"],
            f"{row['aprr_zero']:.3f}",
            row["printed_one"],
            f"{row['aprr_one']:.3f}",
            row["budget_one"],
            row["aprr_epsilon_one"],
        )
        for row in result["table_2"]
    ]
    return Table(heads, rows)


def _privacy(result: Result) -> Table:
    names = ("minimum", "maximum", "average", "overall")
    rows = []
    for method, found in result["table_3"].items():
        for kind in ("printed", "computed", "with_own_q"):
            if kind in found:
                cells = (f"{100 * found[kind][name]:.1f} %" if name in found[kind] else "–" for name in names)
                rows.append((_MINERS[method], kind.replace("_", " "), *cells))
    return Table(("method", "numbers", *(f"{name} privacy" for name in names)), rows)


APRR: Final = Paper(
    "aprr",
    "Zhang, Zhang, Zhang, Zhang. Adaptive Personalized Randomized Response Method Based on Local Differential Privacy",
    (
        Exhibit("Table 1", "the algorithm", reason="it is `pldp.papers.aprr`"),
        Exhibit("Figure 1", "the mining process", reason=ILLUSTRATION),
        Exhibit("Figure 2", "the channel with three values", reason=ILLUSTRATION),
        Exhibit("Table 2", "Probabilities to keep a bit, and what they really promise.", _kept),
        Exhibit(
            "Table 3", "The paper's measures of privacy: as printed, by its formulas, and with its own q.", _privacy
        ),
        Exhibit(
            "Figure 3",
            "Sets overestimated (θ⁺) and underestimated (θ⁻), in percent of the frequent ones.",
            Curves(
                "min_support",
                ("theta_plus", "theta_minus"),
                "least support",
                ("θ⁺ in %", "θ⁻ in %"),
                _MINERS,
                {"aprr_safe": "APRR that keeps its budgets"},
                log=False,
            ),
        ),
    ),
)

# Du, Fu, Ye, Hu: several services
_SINGLE: Final = {"sr": "SR", "laplace": "Laplace", "pm": "PM", "sw": "SW"}
_FUSED: Final = {"ua": "UA", "uwa": "UWA", "ule": "ULE"}
_FUSED_OURS: Final = {
    "weights": "weights",
    "fitted_mean": "fitted mean",
    "ems": "EMS (authors' code)",
    "default": "smooth density",
}
_PRINTED_SECONDS: Final = {
    ("uwa", 1_000_000, 4): 3.45,
    ("uwa", 500_000, 4): 2.43,
    ("ule", 1_000_000, 6): 131.85,
    ("ule", 1_000_000, 9): 135.72,
    ("ule", 1_000_000, 12): 138.91,
    ("ule", 1_000_000, 15): 141.16,
    ("ule", 500_000, 3): 69.79,
    ("ule", 1_000_000, 3): 124.05,
}


def _services(
    figure: str, x_label: str, key: Callable[[Row], Any], *, each: bool, keep: Callable[[Row], bool] = lambda _: True
) -> Callable[[Result], Sequence[Panel]]:
    """Panels for means and distributions, by dataset; single services one by one, or only the best of them."""

    def draw(result: Result) -> Sequence[Panel]:
        panels = []
        for kind, measure, label in (("mean", "mse", "MSE of the mean"), ("distribution", "js", "JS divergence")):
            rows = [row for row in result["rows"] if row["figure"] == f"{figure} {kind}" and keep(row)]
            for dataset in dict.fromkeys(row["dataset"] for row in rows):
                own = [row for row in rows if row["dataset"] == dataset]
                panels.append(
                    Panel(dataset.replace("_", " "), x_label, label, _service_lines(own, measure, key, each=each))
                )
        return panels

    return draw


def _service_lines(rows: Sequence[Row], measure: str, key: Callable[[Row], Any], *, each: bool) -> list[Series]:
    found: dict[tuple[str, bool], dict[Any, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        name = row["method"].partition(" (ε")[0].rstrip("0123456789")
        single = " (ε" in row["method"]
        label = (_SINGLE[name] if each else "best single service") if single else {**_FUSED, **_FUSED_OURS}[name]
        found[label, name in _FUSED_OURS and not single][key(row)].append((row[measure], row[f"{measure}_error"]))
    series = []
    for (label, ours), points in found.items():
        places = list(points) if isinstance(next(iter(points)), str) else sorted(points)
        best = [min(points[place]) for place in places]
        series.append(Series(label, places, [value for value, _ in best], [error for _, error in best], ours))
    return series


def _equal_epsilon(row: Row) -> float:
    return float(row["epsilons"][0])


def _epsilons(row: Row) -> str:
    return "/".join(f"{each:g}" for each in row["epsilons"])


def _mechanism(row: Row) -> str:
    return _SINGLE[row["services"].split(",")[0]]


def _one_mechanism(row: Row) -> bool:
    return len(set(row["services"].split(","))) == 1


def _service_count(row: Row) -> int:
    return len(row["epsilons"])


def _base(row: Row) -> int:
    return 4 if row["figure"].endswith("mean") else 3


def _variances(_: Result) -> Sequence[Panel]:
    """Figure 3 from the densities themselves."""
    values = np.linspace(-1, 1, 33).tolist()
    budgets = np.linspace(0.25, 4, 16).tolist()
    built: dict[str, Callable[[float], Continuous]] = {
        "SR": StochasticRounding,
        "Laplace": Laplace,
        "PM": Piecewise,
        "HM": Hybrid,
    }
    by_value = [Series(name, values, [make(1.0).variance(value) for value in values]) for name, make in built.items()]
    by_budget = [Series(name, budgets, [make(each).variance(1.0) for each in budgets]) for name, make in built.items()]
    return Panel("ε = 1", "number v", "variance", by_value), Panel("v = 1", "ε", "variance", by_budget)


def _strategies(result: Result) -> Sequence[Panel]:
    rows = [row for row in result["rows"] if row["figure"] in {"4 mean", "4 distribution"} and row["dataset"] == "beta"]
    if not rows:
        return ()
    least = min(_equal_epsilon(row) for row in rows)
    panels = []
    for figure, measure, label in (("4 mean", "mse", "MSE of the mean"), ("4 distribution", "js", "JS divergence")):
        own = [row for row in rows if row["figure"] == figure and _equal_epsilon(row) == least]
        series = _service_lines(own, measure, lambda _: f"ε = {least:g}", each=True)
        panels.append(Panel("beta", "each service has", label, series))
    return panels


def _seconds(result: Result) -> Table:
    rows = []
    for row in result["rows"]:
        cell = (row["method"], row["n"], len(row["epsilons"]))
        if row["method"] in {"uwa", "ule"} and row["figure"] in {"7 mean", "7 distribution"}:
            printed = _PRINTED_SECONDS.get(cell)
            rows.append(
                (
                    _FUSED[cell[0]],
                    f"{cell[1]:,}",
                    cell[2],
                    "–" if printed is None else printed,
                    f"{row['cpu_seconds']:.2f}",
                )
            )
    return Table(("method", "people", "services", "printed (GPU), s", "here (one core), s"), rows)


MULTISERVICE: Final = Paper(
    "multiservice",
    "Du, Fu, Ye, Hu. Privacy for Free: Leveraging Local Differential Privacy Perturbed Data from Multiple Services",
    (
        Exhibit("Figure 1", "an example", reason=ILLUSTRATION),
        Exhibit("Figure 2", "the system", reason=ILLUSTRATION),
        Exhibit(
            "Figure 3",
            "Variance of the mechanisms' numbers on [−1, 1], by their formulas. SW is biased and left out.",
            _variances,
        ),
        Exhibit("Figure 4", "Equal ε.", _services("4", "ε of each service", _equal_epsilon, each=True)),
        Exhibit("Figure 5", "Unequal ε.", _services("5", "ε of the services", _epsilons, each=True)),
        Exhibit(
            "Figure 6a, b",
            "All services use one mechanism, with ε .1, .2, ….",
            _services("6", "mechanism", _mechanism, each=False, keep=_one_mechanism),
        ),
        Exhibit(
            "Figure 6c, d",
            "Many dimensions, each person in one. Beta numbers take the place of the paper's Taobao clicks.",
            _services(
                "6", "dimensions", lambda row: row["dimensions"], each=False, keep=lambda row: row["dimensions"] > 1
            ),
        ),
        Exhibit(
            "Figure 7a, b",
            "By the number of services, ε = .1 each.",
            _services("7", "services", _service_count, each=False, keep=lambda row: row["n"] <= 100_000),
        ),
        Exhibit(
            "Figure 7c, d",
            "By the number of people.",
            _services(
                "7", "people", lambda row: row["n"], each=False, keep=lambda row: _service_count(row) == _base(row)
            ),
        ),
        Exhibit(
            "Table 1",
            "Execution time. Ours: CPU seconds of one core after the tally; the benchmarks have ten million people.",
            _seconds,
        ),
        Exhibit(
            "Figure 8a, b",
            "Asking anew, or using what services have: a collector who asks with the same ε gets what one more service "
            "has, and people pay for it.",
            _strategies,
        ),
        Exhibit(
            "Figure 8c, d",
            "Eleven groups of people who give to different services, all together.",
            _services("8", "groups", lambda _: "G1–G11", each=False),
        ),
    ),
)

PAPERS: Final = (FEBSF, MPLDP, MULTISERVICE, IPLDP, APRR)
"""All papers."""
