"""Tables and figures of the paper on hidden budgets, made from the rows of a run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Final

from pldp.papers.claim import Result
from pldp.papers.febsf.setting import DATASETS, SIZES, Setting
from pldp.papers.paper import ILLUSTRATION, Curves, Exhibit, Row, Table

PRINTED_SIZES: Final = {"education": (16, 32_561), "job": (9, 45_211), "country": (42, 48_842)}
"""Values and people of Table 1."""

_TEN: Final = ("uniform", "power_law")
_TWO: Final = ("uniform_two", "power_law_two")
_METHODS: Final = {
    "auem": "AUEM",
    "emoa": "EMOA",
    "rcf": "RCF",
    "ppda": "PPDA",
    "apldp": "APLDP",
    "emoa_of_code": "EMOA (authors' code)",
}
_OURS: Final = {"joint": "joint likelihood", "joint_shrunk": "joint, shrunk"}
_PBP: Final = {"pbp": "PBP"} | {name: _METHODS[name] for name in ("auem", "emoa", "emoa_of_code")}
_MEASURES: Final = {"mse": "MSE", "mae": "MAE"}
_DATASET: Final = itemgetter("dataset")

_NO_NUMBERS: Final = "The text prints no numbers of this figure, and not how many runs it has."
_POWER_LAW: Final = "The exponent of the power law is 1 (not in the paper; .6 and 1.5 in the authors' code)."
_EXTRA_BITS: Final = "PPDA has 16 extra bits (no number in the paper)."


def found_sizes() -> dict[str, tuple[int, int]]:
    """Return values and people of the public datasets."""
    counts = {name: Setting(name, "uniform", ()).counts for name in DATASETS}
    return {name: (len(each), int(each.sum())) for name, each in counts.items()}


def notes(_: Result) -> Sequence[str]:
    """Return what a reader must know."""
    return (
        "AUEM, RCF, APLDP, PPDA, PBP and the EMOA of the authors' code need counts only and are drawn as counts, which "
        "has exactly the law of people who report one by one; EMOA as printed and the likelihoods need whole reports.",
        "RCF combines the groups as the paper describes it. Recycling, which gave the method its name, makes it no "
        "better; it is among the rows (rcf_recycled).",
    )


def _dataset_sizes(_: Result) -> Table:
    found = found_sizes()
    rows = [(name, *numbers, *found[name]) for name, numbers in PRINTED_SIZES.items()]
    return Table(("dataset", "values, printed", "people, printed", "values, here", "people, here"), rows)


def _by_measure(first: int, caption: str, curves: Curves, differs: str) -> Iterator[Exhibit]:
    """One figure for the squared error, and the next one for the absolute error."""
    for number, (name, label) in enumerate(_MEASURES.items(), start=first):
        verdicts = "" if number == first else f" The verdicts under Figure {first} are on both measures."
        yield Exhibit(
            f"Figure {number}",
            f"{label} {caption}{verdicts}",
            replace(curves, y={name: label}),
            differs=f"{_NO_NUMBERS} {differs}".strip(),
        )


def _whole(row: Row) -> bool:
    """Whether a row is about all values of a dataset."""
    return bool(row["values"] == len(Setting(row["dataset"], "uniform", ()).counts))


def _in(levels: Sequence[str], epsilon_p: float | None = None) -> Callable[[Row], bool]:
    return lambda row: row["levels"] in levels and epsilon_p in {None, row["epsilon_p"]} and _whole(row)


def _by_choice(methods: dict[str, str], levels: Sequence[str], epsilon_p: float) -> Curves:
    x, where = itemgetter("levels"), _in(levels, epsilon_p)
    return Curves(x, "choice of budgets", _MEASURES, methods, _OURS, _DATASET, where, order=levels)


EXHIBITS: Final = (
    Exhibit("Figure 1", "the framework PLDP-FEBSF", reason=ILLUSTRATION),
    Exhibit("Table 1", "The datasets. Bank Marketing has 12 jobs, not 9.", _dataset_sizes),
    Exhibit(
        "Figure 2",
        "Error of AUEM by ε_p, uniform budgets, beside equation (3), which knows the distribution of budgets.",
        Curves(
            itemgetter("epsilon_p"),
            "ε_p",
            _MEASURES,
            {"auem": "AUEM", "known_mix": "AUEM, ρ known"},
            {"joint": _OURS["joint"]},
            _DATASET,
            _in(("uniform",)),
        ),
        differs=_NO_NUMBERS,
    ),
    *_by_measure(
        3,
        f"by the number of values (the {SIZES[0]} to {SIZES[-1]} most frequent ones, all), ε_p = .3, uniform budgets.",
        Curves(
            itemgetter("values"),
            "|D|",
            _MEASURES,
            _METHODS,
            _OURS,
            _DATASET,
            lambda row: row["levels"] == "uniform" and row["epsilon_p"] == 0.3,
        ),
        f"The sizes are those of the authors' code. {_EXTRA_BITS}",
    ),
    *_by_measure(
        5,
        "with two budgets (.1, .2) and ε_p = .1, uniform and by a power law.",
        _by_choice(_PBP, _TWO, 0.1),
        f"{_POWER_LAW} PBP assumes a random distribution, drawn anew in each run.",
    ),
    *_by_measure(
        7,
        "with ten budgets and ε_p = .3, uniform and by a power law.",
        _by_choice(_METHODS, _TEN, 0.3),
        f"{_POWER_LAW} {_EXTRA_BITS}",
    ),
)
