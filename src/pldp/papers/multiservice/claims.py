"""What the paper on several services claims, the rules that judge it, and its tables and figures."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

import numpy as np

from pldp.mechanisms.continuous import Continuous, Hybrid, Laplace, Piecewise, StochasticRounding
from pldp.papers.multiservice.experiment import REAL, run
from pldp.papers.paper import (
    ILLUSTRATION,
    Curves,
    Exhibit,
    Panel,
    Paper,
    Result,
    Row,
    Series,
    Table,
    Verdicts,
    listing,
    span,
)

_MEANS: Final = tuple(f"{figure} mean" for figure in range(4, 9))
_DISTRIBUTIONS: Final = tuple(f"{figure} distribution" for figure in range(4, 9))

Cell = dict[str, Row]  # rows of one setting by method
Test = Callable[[Row], bool]


def judge(result: Result) -> Verdicts:
    """Judge every claim."""
    rows = result["rows"]
    methods = ("uwa", "weights", "fitted_mean", "ule", "ems", "default")
    spent = {name: max((row["cpu_seconds"] for row in rows if row["method"] == name), default=0) for name in methods}
    return {
        **_mean_verdicts(rows),
        **_density_verdicts(rows),
        "Mean estimation takes seconds, distribution estimation minutes (Table 1: ULE 69.8 s for 500,000 people)": (
            spent["uwa"] < 60 < spent["default"],
            f"largest CPU seconds here: {listing(spent, '.2f')}",
        ),
    }


def _cells(rows: Sequence[Row], *figures: str) -> list[tuple[str, Cell]]:
    """Rows of some figures by setting, then by method, with a short name of the setting."""
    found: dict[str, Cell] = defaultdict(dict)
    for row in rows:
        if row["figure"] in figures:
            epsilons = _epsilons(dict.fromkeys(row["epsilons"]))
            dims = f", {row['dimensions']} dimensions" if row["dimensions"] > 1 else ""
            found[f"{row['dataset']}, {row['n']:,}, {row['services']} at {epsilons}{dims}"][row["method"]] = row
    return list(found.items())


def _epsilons(epsilons: Iterable[float]) -> str:
    return "/".join(f"{epsilon:g}" for epsilon in epsilons)


def _ratios(cells: list[tuple[str, Cell]], measure: str, method: str, other: str = "") -> dict[str, float]:
    """Error of a method over that of another one, or of the best single service, per setting."""

    def rival(cell: Cell) -> float:
        best = min(row[measure] for name, row in cell.items() if "(ε" in name)
        return float(cell[other][measure] if other else best)

    return {name: float(cell[method][measure]) / rival(cell) for name, cell in cells}


def _span(ratios: Mapping[str, float]) -> str:
    worst = max(ratios, key=lambda name: ratios[name])
    return f"{span(ratios.values())} (largest: {worst})"


def _mean_verdicts(rows: Sequence[Row]) -> Verdicts:
    equal, unequal = _cells(rows, "4 mean"), _cells(rows, "5 mean")
    fused = _ratios(equal, "mse", "uwa")
    against_ua = _ratios(equal, "mse", "uwa", "ua")
    ua_unequal, uwa_unequal = _ratios(unequal, "mse", "ua"), _ratios(unequal, "mse", "uwa")
    against_weights = _ratios(_cells(rows, *_MEANS), "mse", "uwa", "weights")
    average = float(np.mean(list(against_weights.values())))
    return {
        "UA and UWA improve the MSE by 53 to 85 % over the best single service (equal ε)": (
            max(fused.values()) <= 0.47,
            f"MSE of UWA / best single: {_span(fused)}; UA: {_span(_ratios(equal, 'mse', 'ua'))}; four equally good "
            "services allow 0.25 on average, and the best of four noisy errors is smaller than a typical one",
        ),
        "UWA consistently outperforms UA (equal ε)": (
            max(against_ua.values()) < 1,
            f"MSE of UWA / UA: {_span(against_ua)}",
        ),
        "With unequal ε UA can be worse than a single service, UWA is better than every one": (
            max(uwa_unequal.values()) < 1 < max(ua_unequal.values()),
            f"MSE / best single: UA {_span(ua_unequal)}; UWA {_span(uwa_unequal)}",
        ),
        "User-level posteriors give better weights than constants (here: by at least 1 %)": (
            average < 0.99,
            f"MSE of UWA / constant inverse variances: mean {average:.3f}, {_span(against_weights)}",
        ),
    }


def _density_verdicts(rows: Sequence[Row]) -> Verdicts:
    shapes = _cells(rows, *_DISTRIBUTIONS)
    printed, authors = _ratios(shapes, "js", "ule"), _ratios(shapes, "js", "ems")
    ours, better = _ratios(shapes, "js", "default"), _ratios(shapes, "js", "default", "ems")
    fitted = _ratios(_cells(rows, *_MEANS), "mse", "fitted_mean", "weights")
    average = float(np.mean(list(fitted.values())))
    return {
        "ULE is consistently superior to any single service": (
            max(printed.values()) < 1,
            f"JS / best single: ULE as printed {_span(printed)}; as the authors run it (EMS) {_span(authors)}; "
            f"default {_span(ours)}",
        ),
        "The smooth density (our default) is at least as accurate as EMS": (
            max(better.values()) <= 1.05,
            f"JS of default / EMS: {_span(better)}",
        ),
        "The mean of the fitted density is at least as accurate as weighting (our claim)": (
            average <= 1,
            f"MSE of fitted mean / constant weights: mean {average:.2f}, {_span(fitted)}",
        ),
    }


_SINGLE: Final = {"sr": "SR", "laplace": "Laplace", "pm": "PM", "sw": "SW"}
_FUSED: Final = {"ua": "UA", "uwa": "UWA", "ule": "ULE"}
_PRINTED: Final = {**_SINGLE, "single": "best single service", **_FUSED}
_OURS: Final = {
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
    figure: str, x_label: str, x: Callable[[Row], Any], keep: Test = lambda _: True, *, each: bool = False
) -> Callable[[Result], Sequence[Panel]]:
    """Panels for means and distributions, by dataset; single services one by one, or only the best of them."""

    def method(row: Row) -> str:
        name, single, _ = row["method"].partition(" (ε")
        return str((name.rstrip("0123456789") if each else "single") if single else name)

    def curves(kind: str, y: dict[str, str]) -> Curves:
        def where(row: Row) -> bool:
            return bool(row["figure"] == f"{figure} {kind}" and keep(row))

        return Curves(x, x_label, y, _PRINTED, _OURS, itemgetter("dataset"), where, method)

    mean, density = curves("mean", {"mse": "MSE of the mean"}), curves("distribution", {"js": "JS divergence"})
    return lambda result: [*mean(result), *density(result)]


def _equal_epsilon(row: Row) -> float:
    return float(row["epsilons"][0])


def _mechanism(row: Row) -> str:
    return _SINGLE[row["services"].split(",")[0]]


def _service_count(row: Row) -> int:
    return len(row["epsilons"])


def _variances(_: Result) -> Sequence[Panel]:
    """Figure 3 from the densities themselves."""
    values = np.linspace(-1, 1, 33).tolist()
    budgets = np.linspace(0.25, 4, 16).tolist()
    built: dict[str, Callable[[float], Continuous]]
    built = {"SR": StochasticRounding, "Laplace": Laplace, "PM": Piecewise, "HM": Hybrid}
    by_value = [Series(name, values, [make(1.0).variance(value) for value in values]) for name, make in built.items()]
    by_budget = [Series(name, budgets, [make(each).variance(1.0) for each in budgets]) for name, make in built.items()]
    return Panel("ε = 1", "number v", "variance", by_value), Panel("v = 1", "ε", "variance", by_budget)


def _strategies(result: Result) -> Sequence[Panel]:
    """The smallest ε of Figure 4 alone."""
    least = min((_equal_epsilon(row) for row in result["rows"] if row["figure"].startswith("4 ")), default=0.0)

    def keep(row: Row) -> bool:
        return bool(row["dataset"] == "beta" and _equal_epsilon(row) == least)

    return _services("4", "each service has", lambda _: f"ε = {least:g}", keep, each=True)(result)


def _seconds(result: Result) -> Table:
    rows = []
    for row in result["rows"]:
        method, people, services = cell = (row["method"], row["n"], _service_count(row))
        if method in {"uwa", "ule"} and row["figure"] in {"7 mean", "7 distribution"}:
            printed = _PRINTED_SECONDS.get(cell, "–")
            rows.append((_FUSED[method], f"{people:,}", services, printed, f"{row['cpu_seconds']:.2f}"))
    return Table(("method", "people", "services", "printed (GPU), s", "here (one core), s"), rows)


PAPER: Final = Paper(
    name="multiservice",
    citation="Du, Fu, Ye, Hu. Privacy for Free: Leveraging Local Differential Privacy Perturbed Data from Multiple "
    "Services",
    datasets=tuple(REAL.values()),
    run=run,
    judge=judge,
    notes=lambda result: [f"Not at hand: {text}" for text in result["missing"]],
    exhibits=(
        Exhibit("Figure 1", "an example", reason=ILLUSTRATION),
        Exhibit("Figure 2", "the system", reason=ILLUSTRATION),
        Exhibit(
            "Figure 3",
            "Variance of the mechanisms' numbers on [−1, 1], by their formulas. SW is biased and left out.",
            _variances,
        ),
        Exhibit("Figure 4", "Equal ε.", _services("4", "ε of each service", _equal_epsilon, each=True)),
        Exhibit(
            "Figure 5",
            "Unequal ε.",
            _services("5", "ε of the services", lambda row: _epsilons(row["epsilons"]), each=True),
        ),
        Exhibit(
            "Figure 6a, b",
            "All services use one mechanism, with ε .1, .2, ….",
            _services("6", "mechanism", _mechanism, lambda row: row["dimensions"] == 1),
        ),
        Exhibit(
            "Figure 6c, d",
            "Many dimensions, each person in one. Beta numbers take the place of the paper's Taobao clicks.",
            _services("6", "dimensions", itemgetter("dimensions"), lambda row: row["dimensions"] > 1),
        ),
        Exhibit(
            "Figure 7a, b",
            "By the number of services, ε = .1 each.",
            _services("7", "services", _service_count, lambda row: row["n"] <= 100_000),
        ),
        Exhibit(
            "Figure 7c, d",
            "By the number of people.",
            _services("7", "people", itemgetter("n"), lambda row: _service_count(row) == (4 if "mse" in row else 3)),
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
            _services("8", "groups", lambda _: "G1–G11"),
        ),
    ),
)
