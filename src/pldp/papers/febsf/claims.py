"""What the paper on hidden budgets claims, the rules that judge it, and its tables and figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

from pldp.papers.datasets import load_counts
from pldp.papers.febsf.experiment import DATASETS, run
from pldp.papers.paper import Paper, Verdict, listing
from pldp.papers.report.exhibits import ILLUSTRATION, Curves, Exhibit, Result, Row, Table

_TEN: Final = ("uniform", "power_law")
_TWO: Final = ("uniform_two", "power_law_two")
_CELLS: Final = tuple(product(DATASETS, _TEN))
_BY_SIZE: Final = ("job", "education", "country")


class _Errors:
    """Mean squared errors by dataset, choice of budgets, ε_p and method."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._found = {(row["dataset"], row["levels"], row["epsilon_p"], row["method"]): row["mse"] for row in rows}

    def mse(self, dataset: str, levels: str, label: float, method: str) -> float:
        return float(self._found[dataset, levels, label, method])

    def ratios(self, method: str, other: str) -> list[float]:
        """A method's error over another's, ε_p = .3, ten budgets."""
        return [self.mse(*cell, 0.3, method) / self.mse(*cell, 0.3, other) for cell in _CELLS]

    def gain_over_pbp(self, method: str) -> dict[str, float]:
        """How much smaller the error is than PBP's, two uniform budgets, by dataset."""
        setting = ("uniform_two", 0.1)
        return {name: 1 - self.mse(name, *setting, method) / self.mse(name, *setting, "pbp") for name in DATASETS}


def _by_cell(numbers: Sequence[float]) -> str:
    return listing({f"{dataset}/{levels}": n for (dataset, levels), n in zip(_CELLS, numbers, strict=True)}, ".2f")


def judge(result: Result) -> list[Verdict]:
    """Judge every claim."""
    errors = _Errors(result["rows"])
    return [*_rival_verdicts(errors), *_setting_verdicts(errors), _variance_verdict(result["theorem_5_3"])]


def _rival_verdicts(errors: _Errors) -> Iterator[Verdict]:
    """EMOA and AUEM beside PBP, RCF and PPDA."""
    close, joint_close = errors.ratios("emoa", "rcf"), errors.ratios("joint", "rcf")
    gains = {method: listing(errors.gain_over_pbp(method), ".0%") for method in ("emoa", "joint", "joint_shrunk")}
    auem, emoa = errors.ratios("auem", "ppda"), errors.ratios("emoa", "ppda")
    yield Verdict(
        "EMOA improves the MSE by 87 % over PBP (two budgets, uniform)",
        max(errors.gain_over_pbp("emoa").values()) >= 0.87,
        f"EMOA as printed {gains['emoa']}; joint likelihood {gains['joint']}; joint, shrunk {gains['joint_shrunk']}",
    )
    yield Verdict(
        "EMOA is close to RCF and APLDP (here: MSE at most 1.5 times RCF's)",
        max(close) <= 1.5,
        f"EMOA as printed / RCF: {_by_cell(close)}; joint / RCF: {_by_cell(joint_close)}; "
        f"joint, shrunk / RCF: {_by_cell(errors.ratios('joint_shrunk', 'rcf'))}",
    )
    yield Verdict("AUEM is better than PPDA everywhere", max(auem) < 1, f"MSE of AUEM / PPDA: {_by_cell(auem)}")
    yield Verdict(
        "EMOA is better than PPDA everywhere", max(emoa) < 1, f"MSE of EMOA as printed / PPDA: {_by_cell(emoa)}"
    )


def _setting_verdicts(errors: _Errors) -> Iterator[Verdict]:
    """What ε_p, hiding, the choice of budgets and the size of the domain change."""
    flat = [errors.mse(*cell, 0.4, "auem") / errors.mse(*cell, 1.0, "auem") for cell in _CELLS]
    hidden = errors.ratios("joint", "rcf")
    skewed = {
        f"{name} {method}": errors.mse(name, "power_law", 0.3, method) / errors.mse(name, "uniform", 0.3, method)
        for name, method in product(DATASETS, ("auem", "ppda", "rcf", "apldp"))
    }
    sizes = [errors.mse(name, "uniform", 0.3, "rcf") for name in _BY_SIZE]
    yield Verdict(
        "The error of AUEM is flat beyond ε_p = .4 (here: within 1.5 times that at 1.0)",
        max(flat) <= 1.5,
        f"MSE at .4 / at 1.0: {_by_cell(flat)}",
    )
    yield Verdict(
        "A scheme that hides budgets can only approach RCF and APLDP, never be better",
        min(hidden) >= 1,
        f"MSE of joint likelihood, budgets hidden / RCF with exact budgets: {_by_cell(hidden)}; "
        f"/ RCF with recycling: {_by_cell(errors.ratios('joint', 'rcf_recycled'))}",
    )
    yield Verdict(
        "All methods do worse under a power law than under uniform levels",
        min(skewed.values()) > 1,
        f"MSE power law / uniform: {listing(skewed, '.2f')}",
    )
    yield Verdict(
        "The error grows with the size of the domain",
        sizes[0] < sizes[1] < sizes[2],
        f"MSE of RCF: job (12 values) {sizes[0]:.1e}, education (16) {sizes[1]:.1e}, country (42) {sizes[2]:.1e}",
    )


def _variance_verdict(variance: Mapping[str, float]) -> Verdict:
    printed, delta = (variance[name] / variance["seen"] for name in ("printed", "delta_method"))
    return Verdict(
        "Theorem 5.3 gives the variance of AUEM",
        abs(printed - 1) < 0.2,
        f"printed / seen = {printed:.3g}; delta method with labels / seen = {delta:.3f} "
        f"± {variance['relative_error']:.3f}",
    )


_METHODS: Final = {"auem": "AUEM", "emoa": "EMOA", "rcf": "RCF", "ppda": "PPDA", "apldp": "APLDP"}
_OURS: Final = {"joint": "joint likelihood", "joint_shrunk": "joint, shrunk"}
_PBP: Final = {"pbp": "PBP", "auem": "AUEM", "emoa": "EMOA"}
_MEASURES: Final = {"mse": "MSE", "mae": "MAE"}


def _by_measure(first: int, caption: str, curves: Curves) -> Iterator[Exhibit]:
    """One figure for the squared error, and the next one for the absolute error."""
    for number, (name, label) in enumerate(_MEASURES.items(), start=first):
        yield Exhibit(f"Figure {number}", f"{label} {caption}", replace(curves, y={name: label}))


def _by_choice(methods: dict[str, str], levels: Sequence[str], epsilon_p: float) -> Curves:
    where = {"levels": lambda found: found in levels, "epsilon_p": epsilon_p}
    return Curves(("levels", "choice of budgets"), _MEASURES, methods, _OURS, "dataset", where, order=levels)


def _dataset_sizes(_: Result) -> Table:
    printed = {"education": (16, 32_561), "job": (9, 45_211), "country": (42, 48_842)}
    rows = []
    for name, (values, people) in printed.items():
        counts = load_counts(DATASETS[name])
        rows.append((name, values, people, len(counts), sum(counts.values())))
    return Table(("dataset", "values, printed", "people, printed", "values, here", "people, here"), rows)


PAPER: Final = Paper(
    name="febsf",
    citation="Wu, Zhu, Zhang, Xie. Overcoming Challenges in PLDP: A New Paradigm for Protecting Privacy Budgets and "
    "Enhancing Data Utility",
    datasets=tuple(DATASETS.values()),
    run=run,
    judge=judge,
    exhibits=(
        Exhibit("Figure 1", "the framework PLDP-FEBSF", reason=ILLUSTRATION),
        Exhibit("Table 1", "The datasets. Bank Marketing has 12 jobs, not 9.", _dataset_sizes),
        Exhibit(
            "Figure 2",
            "Error of AUEM by ε_p, uniform budgets.",
            Curves(("epsilon_p", "ε_p"), _MEASURES, {"auem": "AUEM"}, _OURS, "dataset", {"levels": "uniform"}),
        ),
        *_by_measure(
            3,
            "by dataset (12, 16 and 42 values), ε_p = .3, uniform budgets.",
            Curves(
                ("dataset", "dataset"),
                _MEASURES,
                _METHODS,
                _OURS,
                where={"levels": "uniform", "epsilon_p": 0.3},
                order=_BY_SIZE,
            ),
        ),
        *_by_measure(
            5, "with two budgets (.1, .2) and ε_p = .1, uniform and by a power law.", _by_choice(_PBP, _TWO, 0.1)
        ),
        *_by_measure(7, "with ten budgets and ε_p = .3, uniform and by a power law.", _by_choice(_METHODS, _TEN, 0.3)),
    ),
)
