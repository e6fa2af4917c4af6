"""What the paper on hidden budgets claims, the rules that judge it, and its tables and figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from operator import itemgetter
from typing import Final

from pldp.papers.datasets import load_counts
from pldp.papers.febsf.experiment import DATASETS, KEY, run
from pldp.papers.paper import ILLUSTRATION, Curves, Exhibit, Paper, Result, Row, Table, Verdicts, listing

_TEN: Final = ("uniform", "power_law")
_TWO: Final = ("uniform_two", "power_law_two")
_CELLS: Final = tuple(product(DATASETS, _TEN))
_BY_SIZE: Final = ("job", "education", "country")

Errors = Mapping[tuple[str, str, float, str], float]
"""Mean squared errors by dataset, choice of budgets, ε_p and method."""


def judge(result: Result) -> Verdicts:
    """Judge every claim."""
    errors = {tuple(row[name] for name in KEY): row["mse"] for row in result["rows"]}
    variance = result["theorem_5_3"]
    printed, delta = (variance[name] / variance["seen"] for name in ("printed", "delta_method"))
    return {
        **_rival_verdicts(errors),
        **_setting_verdicts(errors),
        "Theorem 5.3 gives the variance of AUEM": (
            abs(printed - 1) < 0.2,
            f"printed / seen = {printed:.3g}; delta method with labels / seen = {delta:.3f} "
            f"± {variance['relative_error']:.3f}",
        ),
    }


def _ratios(errors: Errors, method: str, other: str) -> list[float]:
    """A method's error over another's, ε_p = .3, ten budgets."""
    return [errors[*cell, 0.3, method] / errors[*cell, 0.3, other] for cell in _CELLS]


def _gain_over_pbp(errors: Errors, method: str) -> dict[str, float]:
    """How much smaller the error is than PBP's, two uniform budgets, by dataset."""
    setting = ("uniform_two", 0.1)
    return {name: 1 - errors[name, *setting, method] / errors[name, *setting, "pbp"] for name in DATASETS}


def _by_cell(numbers: Sequence[float]) -> str:
    return listing({f"{dataset}/{levels}": n for (dataset, levels), n in zip(_CELLS, numbers, strict=True)}, ".2f")


def _rival_verdicts(errors: Errors) -> Verdicts:
    close, joint_close = _ratios(errors, "emoa", "rcf"), _ratios(errors, "joint", "rcf")
    gains = {method: listing(_gain_over_pbp(errors, method), ".0%") for method in ("emoa", "joint", "joint_shrunk")}
    auem, emoa = _ratios(errors, "auem", "ppda"), _ratios(errors, "emoa", "ppda")
    return {
        "EMOA improves the MSE by 87 % over PBP (two budgets, uniform)": (
            max(_gain_over_pbp(errors, "emoa").values()) >= 0.87,
            f"EMOA as printed {gains['emoa']}; joint likelihood {gains['joint']}; "
            f"joint, shrunk {gains['joint_shrunk']}",
        ),
        "EMOA is close to RCF and APLDP (here: MSE at most 1.5 times RCF's)": (
            max(close) <= 1.5,
            f"EMOA as printed / RCF: {_by_cell(close)}; joint / RCF: {_by_cell(joint_close)}; "
            f"joint, shrunk / RCF: {_by_cell(_ratios(errors, 'joint_shrunk', 'rcf'))}",
        ),
        "AUEM is better than PPDA everywhere": (max(auem) < 1, f"MSE of AUEM / PPDA: {_by_cell(auem)}"),
        "EMOA is better than PPDA everywhere": (max(emoa) < 1, f"MSE of EMOA as printed / PPDA: {_by_cell(emoa)}"),
    }


def _setting_verdicts(errors: Errors) -> Verdicts:
    """What ε_p, hiding, the choice of budgets and the size of the domain change."""
    flat = [errors[*cell, 0.4, "auem"] / errors[*cell, 1.0, "auem"] for cell in _CELLS]
    hidden = _ratios(errors, "joint", "rcf")
    skewed = {
        f"{name} {method}": errors[name, "power_law", 0.3, method] / errors[name, "uniform", 0.3, method]
        for name, method in product(DATASETS, ("auem", "ppda", "rcf", "apldp"))
    }
    sizes = [errors[name, "uniform", 0.3, "rcf"] for name in _BY_SIZE]
    return {
        "The error of AUEM is flat beyond ε_p = .4 (here: within 1.5 times that at 1.0)": (
            max(flat) <= 1.5,
            f"MSE at .4 / at 1.0: {_by_cell(flat)}",
        ),
        "A scheme that hides budgets can only approach RCF and APLDP, never be better": (
            min(hidden) >= 1,
            f"MSE of joint likelihood, budgets hidden / RCF with exact budgets: {_by_cell(hidden)}; "
            f"/ RCF with recycling: {_by_cell(_ratios(errors, 'joint', 'rcf_recycled'))}",
        ),
        "All methods do worse under a power law than under uniform levels": (
            min(skewed.values()) > 1,
            f"MSE power law / uniform: {listing(skewed, '.2f')}",
        ),
        "The error grows with the size of the domain": (
            sizes[0] < sizes[1] < sizes[2],
            f"MSE of RCF: job (12 values) {sizes[0]:.1e}, education (16) {sizes[1]:.1e}, country (42) {sizes[2]:.1e}",
        ),
    }


_METHODS: Final = {"auem": "AUEM", "emoa": "EMOA", "rcf": "RCF", "ppda": "PPDA", "apldp": "APLDP"}
_OURS: Final = {"joint": "joint likelihood", "joint_shrunk": "joint, shrunk"}
_PBP: Final = {"pbp": "PBP", "auem": "AUEM", "emoa": "EMOA"}
_MEASURES: Final = {"mse": "MSE", "mae": "MAE"}
_DATASET: Final = itemgetter("dataset")


def _by_measure(first: int, caption: str, curves: Curves) -> Iterator[Exhibit]:
    """One figure for the squared error, and the next one for the absolute error."""
    for number, (name, label) in enumerate(_MEASURES.items(), start=first):
        yield Exhibit(f"Figure {number}", f"{label} {caption}", replace(curves, y={name: label}))


def _in(levels: Sequence[str], epsilon_p: float | None = None) -> Callable[[Row], bool]:
    return lambda row: row["levels"] in levels and epsilon_p in {None, row["epsilon_p"]}


def _by_choice(methods: dict[str, str], levels: Sequence[str], epsilon_p: float) -> Curves:
    x, where = itemgetter("levels"), _in(levels, epsilon_p)
    return Curves(x, "choice of budgets", _MEASURES, methods, _OURS, _DATASET, where, order=levels)


def _dataset_sizes(_: Result) -> Table:
    printed = {"education": (16, 32_561), "job": (9, 45_211), "country": (42, 48_842)}
    found = {name: load_counts(DATASETS[name]).values() for name in printed}
    rows = [(name, *numbers, len(found[name]), sum(found[name])) for name, numbers in printed.items()]
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
            Curves(itemgetter("epsilon_p"), "ε_p", _MEASURES, {"auem": "AUEM"}, _OURS, _DATASET, _in(("uniform",))),
        ),
        *_by_measure(
            3,
            "by dataset (12, 16 and 42 values), ε_p = .3, uniform budgets.",
            Curves(_DATASET, "dataset", _MEASURES, _METHODS, _OURS, where=_in(("uniform",), 0.3), order=_BY_SIZE),
        ),
        *_by_measure(
            5, "with two budgets (.1, .2) and ε_p = .1, uniform and by a power law.", _by_choice(_PBP, _TWO, 0.1)
        ),
        *_by_measure(7, "with ten budgets and ε_p = .3, uniform and by a power law.", _by_choice(_METHODS, _TEN, 0.3)),
    ),
)
