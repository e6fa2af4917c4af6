"""The tables and figures of the paper on several services, made again."""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

import numpy as np

from pldp.mechanisms.continuous import Continuous, Hybrid, Laplace, Piecewise, SquareWave, StochasticRounding
from pldp.papers.claim import Result
from pldp.papers.paper import ILLUSTRATION, Curves, Exhibit, Panel, Row, Series, Table

_SINGLE: Final = {"sr": "SR", "laplace": "Laplace", "pm": "PM", "sw": "SW", "single": "best single service"}
_MEANS: Final = {**_SINGLE, "ua": "UA", "uwa_printed": "UWA"}
_OUR_MEANS: Final = {"uwa": "UWA by the likelihood", "weights": "constant weights"}
_SHAPES: Final = {**_SINGLE, "ule": "ULE"}
_OUR_SHAPES: Final = {"default": "smooth density"}
DATASETS: Final = {"beta": "Beta(2, 5)", "beta_sin": "Beta+Sin", "taxi": "Taxi", "retirement": "Retirement"}
_ESTIMATORS: Final = {"em": "as printed", "ems": "smoothed"}
_TIMES: Final = {
    ("uwa", 1_000_000, 4): 3.45,
    ("uwa", 1_000_000, 8): 6.73,
    ("uwa", 1_000_000, 12): 9.87,
    ("uwa", 1_000_000, 16): 13.16,
    ("ule", 1_000_000, 6): 131.85,
    ("ule", 1_000_000, 9): 135.72,
    ("ule", 1_000_000, 12): 138.91,
    ("ule", 1_000_000, 15): 141.16,
    ("uwa", 500_000, 4): 2.43,
    ("uwa", 5_000_000, 4): 11.75,
    ("uwa", 10_000_000, 4): 349.37,
    ("ule", 500_000, 3): 69.79,
    ("ule", 1_000_000, 3): 124.05,
    ("ule", 5_000_000, 3): 9461.53,
    ("ule", 10_000_000, 3): 12620.94,
}
"""Seconds as printed, by method, people and services."""

Method = Callable[[Row], str]


def _best_single(row: Row) -> str:
    """Single services as one line: of several rows at a place the best is drawn."""
    return "single" if "epsilon" in row else str(row["method"])


def _mean_curves(figure: str, x_label: str, *, best: bool = False, order: Sequence[str] = ()) -> Curves:
    return Curves(
        itemgetter("place"),
        x_label,
        {"mse": "MSE of the mean", "over_best": "MSE / best single service"},
        _MEANS,
        _OUR_MEANS,
        lambda row: DATASETS[row["dataset"]],
        lambda row: row["figure"] == figure and "mse" in row,
        _best_single if best else itemgetter("method"),
        order,
    )


def _shape_curves(figure: str, x_label: str, *, best: bool = False, order: Sequence[str] = ()) -> Curves:
    def where(row: Row) -> bool:
        own = row["figure"] == "ours" and figure == "4e–h"
        return bool((row["figure"] == figure and "js" in row) or own)

    def panel(row: Row) -> str:
        return f"{DATASETS[row['dataset']]}, {_ESTIMATORS[row.get('estimator', 'ems')]}"

    method: Method = _best_single if best else itemgetter("method")
    y = {"js": "JS divergence"}
    return Curves(itemgetter("place"), x_label, y, _SHAPES, _OUR_SHAPES, panel, where, method, order)


def _divergences(result: Result) -> Table:
    """Both measures of the paper, for Figure 4."""
    heads = ("dataset", "ε", "estimator", "method", "JS", "± JS", "KL", "± KL")
    rows = [
        (
            DATASETS[row["dataset"]],
            row["place"],
            _ESTIMATORS[row["estimator"]],
            _SHAPES[row["method"]],
            *(f"{row[name]:.4f}" for name in ("js", "js_error", "kl", "kl_error")),
        )
        for row in result["rows"]
        if row["figure"] == "4e–h" and "js" in row
    ]
    return Table(heads, rows)


def variances(_: Result) -> Sequence[Panel]:
    """Figure 3 from the densities themselves; numbers of SW are on [0, 1], their variance is brought to [−1, 1]."""
    values = np.linspace(-1, 1, 33).tolist()
    budgets = np.linspace(0.25, 4, 16).tolist()
    built: dict[str, Callable[[float], Continuous]]
    built = {"SR": StochasticRounding, "Laplace": Laplace, "PM": Piecewise, "HM": Hybrid, "SW": SquareWave}

    def variance(name: str, epsilon: float, value: float) -> float:
        made = built[name](epsilon)
        low, high = made.domain
        return made.variance(low + (value + 1) / 2 * (high - low)) * 4 / (high - low) ** 2

    by_value = [Series(name, values, [variance(name, 1.0, value) for value in values]) for name in built]
    by_budget = [Series(name, budgets, [variance(name, each, 1.0) for each in budgets]) for name in built]
    return Panel("ε = 1", "number v", "variance", by_value), Panel("v = 1", "ε", "variance", by_budget)


def _same_as(figure: str, kind: str, place: Any, label: str) -> Callable[[Result], Sequence[Panel]]:
    """One place of another figure, where the paper shows it again."""

    def draw(result: Result) -> Sequence[Panel]:
        rows = [row | {"place": label} for row in result["rows"] if row["figure"] == figure and row["place"] == place]
        curves = (_mean_curves if kind == "mean" else _shape_curves)(figure, "each asks with")
        return curves({"rows": rows})

    return draw


def _seconds(result: Result) -> Table:
    ours: Mapping[Any, float] = {
        (row["method"], row["n"], len(row["epsilons"])): row["cpu_seconds"]
        for row in result["rows"]
        if "cpu_seconds" in row
    }
    names = {"uwa": "UWA", "ule": "ULE"}
    rows = [
        (names[method], f"{people:,}", services, _TIMES.get(cell, "–"), f"{ours[cell]:.2f}" if cell in ours else "–")
        for cell in dict.fromkeys([*_TIMES, *ours])
        for method, people, services in [cell]
    ]
    return Table(("method", "people", "services", "printed (GPU), s", "here (one core), s"), rows)


_GRID: Final = "values in 32 buckets; expectations in place of 50 runs"
_REAL: Final = "Taxi is of 2015-2019 (the paper: January 2018), Retirement of 2011-2014 (since 2013), in their shares"
_SIN: Final = "Beta+Sin has a formula of ours, as the paper gives none"
_BOTH: Final = "By EM as printed, and smoothed as in the authors' program; single services and ULE are treated alike."
_SAMPLED: Final = "64 buckets for numbers and 24 for outputs (the authors' program: 1,024)"
_GROUP_ORDER: Final = tuple(f"G{place}" for place in range(1, 12))

EXHIBITS: Final = (
    Exhibit("Figure 1", "an example", reason=ILLUSTRATION),
    Exhibit("Figure 2", "the system", reason=ILLUSTRATION),
    Exhibit(
        "Figure 3",
        "Variance of the mechanisms' unbiased numbers on [−1, 1], by their densities.",
        variances,
        differs="SW has the published constants; the printed ones are no density.",
    ),
    Exhibit(
        "Figure 4a–d", "Means, equal ε.", _mean_curves("4a–d", "ε of each service"), differs=f"{_GRID}; {_SIN}; {_REAL}"
    ),
    Exhibit(
        "Figure 4e–h",
        f"Distributions, equal ε. {_BOTH}",
        _shape_curves("4e–h", "ε of each service"),
        differs=f"{_SAMPLED}; {_SIN}; {_REAL}",
    ),
    Exhibit("Figure 4e–h in numbers", "Both divergences that the paper defines.", _divergences),
    Exhibit(
        "Figure 5a–d",
        "Means, unequal ε of SR, Laplace, PM and SW: A1 .1, .2, .3, .4; A2 .2, .4, .1, .3; A3 .3, .1, .4, .2; A4 .4, "
        ".3, .2, .1.",
        _mean_curves("5a–d", "configuration", order=("A1", "A2", "A3", "A4")),
        differs=f"{_GRID}; {_SIN}; {_REAL}",
    ),
    Exhibit(
        "Figure 5e–h",
        f"{_BOTH} Unequal ε of SR, PM and SW: C1 .1, .2, .3; C2 .2, .3, .1; C3 .3, .1, .2; C4 .2, .1, .3.",
        _shape_curves("5e–h", "configuration", order=("C1", "C2", "C3", "C4")),
        differs=f"{_SAMPLED}; {_SIN}; {_REAL}",
    ),
    Exhibit(
        "Figure 6a",
        "Means, four services with one mechanism and ε .1, .2, .3, .4.",
        _mean_curves("6a", "mechanism", best=True, order=("sr", "laplace", "pm", "sw")),
        differs=f"{_GRID}; Beta(2, 5), as the paper names no dataset",
    ),
    Exhibit(
        "Figure 6b",
        "Distributions, three services with one mechanism and ε .1, .2, .3.",
        _shape_curves("6b", "mechanism", best=True, order=("sr", "pm", "sw")),
        differs=f"{_SAMPLED}, 12 where three services have PM or SW; Beta(2, 5), as the paper names no dataset",
    ),
    Exhibit(
        "Figure 6c",
        "Means of many dimensions, each person in one.",
        _mean_curves("6c", "dimensions"),
        differs=f"Beta(2, 5) in place of Taobao, which is not here; ε = 0.3 (not printed); {_GRID}",
    ),
    Exhibit(
        "Figure 6d",
        "Distributions of many dimensions, each person in one.",
        _shape_curves("6d", "dimensions"),
        differs=f"Beta(2, 5) in place of Taobao, which is not here; ε = 0.3 (not printed); {_SAMPLED}",
    ),
    Exhibit(
        "Figure 7a",
        "Means by the number of services, ε = .1 each.",
        _mean_curves("7a", "services"),
        differs=f"{_GRID}, but for UWA with more than four services: 50 runs of 20,000 people; {_SIN}",
    ),
    Exhibit(
        "Figure 7b",
        "Distributions by the number of services, ε = .1 each.",
        _shape_curves("7b", "services", best=True),
        differs=f"10,000 people in place of 1,000,000; {_SAMPLED}; {_SIN}",
    ),
    Exhibit("Figure 7c", "Means by the number of people.", _mean_curves("7c", "people"), differs=f"{_GRID}; {_SIN}"),
    Exhibit(
        "Figure 7d",
        "Distributions by the number of people.",
        _shape_curves("7d", "people"),
        differs=f"{_SAMPLED}; {_SIN}",
    ),
    Exhibit(
        "Table 1",
        "Execution time.",
        _seconds,
        differs="CPU seconds of one core after the reports are joined, UWA with 32 buckets, ULE smoothed with 256",
    ),
    Exhibit(
        "Figure 8a",
        "One more collection with ε = .1 (then people have spent .5), or UA and UWA of what four services have (.4).",
        _same_as("7c", "mean", 1_000_000, "ε = 0.1"),
        differs=f"Beta+Sin, as the paper names no dataset; {_GRID}; {_SIN}",
    ),
    Exhibit(
        "Figure 8b",
        "One more collection with ε = .1, or ULE of what three services have.",
        _same_as("7d", "shape", 1_000_000, "ε = 0.1"),
        differs=f"Beta+Sin, as the paper names no dataset; {_SAMPLED}; {_SIN}",
    ),
    Exhibit(
        "Figure 8c",
        "Means of eleven groups of people who give to different services.",
        _mean_curves("8c", "group", best=True, order=_GROUP_ORDER),
        differs=f"Beta(2, 5), 9,000 people per group, ε = 0.3: none of them printed; {_GRID}",
    ),
    Exhibit(
        "Figure 8d",
        "Distributions of eleven groups of people who give to different services.",
        _shape_curves("8d", "group", best=True, order=_GROUP_ORDER),
        differs="Beta(2, 5), 9,000 people per group, ε = 0.3, SW as the fourth service: none of them printed; "
        f"{_SAMPLED}",
    ),
)
