"""Do intervals cover? One harness for every kind of question, data shape, number of people and ε.

A *case* is what is asked (a question of a survey file, levels shown or hidden); a *cell* adds the shape of the data,
the people and ε. Each run goes from the survey file over simulated reports and their tally to the result, so whatever
a survey file can say can be a case. Several services about the same people are cases too (`coverage_fused`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any, Final

import numpy as np
from scipy import stats

import pldp
from pldp.estimates import QUANTILES, Row, cross, mean
from pldp.estimates.likelihood.profile import Profile
from pldp.simulate import Population, simulate_reports
from pldp.tallies import fused_of

FINE = 960
"""Points of a shape: whole multiples of the buckets and labels of all cases."""

CONFIDENCE = 0.95
LOWEST, HIGHEST = 0.93, 0.97
"""Coverage of 95 % intervals that is allowed; above the highest only where an interval is marked conservative."""

FAMILY = 0.01
"""Probability of any false alarm in a whole table."""


def _spread(density: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    shares = density((np.arange(FINE) + 0.5) / FINE)
    return shares / shares.sum()


def _atoms(shares: Mapping[float, float], rest: np.ndarray | None = None) -> np.ndarray:
    """Return shares at exact places, and what is left spread as `rest`."""
    left = 1 - sum(shares.values())
    found = np.zeros(FINE) if rest is None else left * rest
    for place, share in shares.items():
        found[int(place * FINE)] += share
    return found / found.sum()


def _normal(x: np.ndarray, centre: float, width: float) -> np.ndarray:
    return np.exp(-(((x - centre) / width) ** 2) / 2)


_TENTHS = (np.arange(10) + 0.5) / 10

SHAPES: Mapping[str, np.ndarray] = {
    "uniform": _spread(np.ones_like),
    "bimodal": _spread(lambda x: _normal(x, 0.25, 0.08) + 0.7 * _normal(x, 0.7, 0.1)),
    "log-normal": _spread(lambda x: _normal(np.log(x), np.log(0.12), 0.8) / x),
    "gamma": _spread(lambda x: x * np.exp(-x / 0.1)),
    "exponential": _spread(lambda x: np.exp(-x / 0.15)),
    "heaped": _atoms(dict.fromkeys(_TENTHS, 0.06), _spread(lambda x: _normal(x, 0.4, 0.2))),
    "integers": _atoms(dict(zip(_TENTHS, stats.binom.pmf(np.arange(10), 9, 0.3), strict=True))),
    "two spikes": _atoms({0.2: 0.6, 0.75: 0.4}),
    "30 % zeros": _atoms({0.0: 0.3}, _spread(lambda x: _normal(x, 0.4, 0.15))),
}
"""Distributions on [0, 1]; labels and items get the shares of their parts of it."""


@dataclass(frozen=True, eq=False)
class AnyCase(ABC):
    """What is asked: how a collection is drawn, what is estimated from it, and the truth about that."""

    name: str

    @property
    def part(self) -> float:
        """How many runs the case has, beside 1 of most others of its kind: fewer where a run takes long."""
        return 1.0

    @property
    @abstractmethod
    def kind(self) -> str:
        """What is asked, whatever the mechanism: runs are pooled over the cases of a kind."""

    @abstractmethod
    def draw(self, cell: Cell, seed: int) -> Any:
        """Return one collection."""

    @abstractmethod
    def rows(self, drawn: Any) -> Iterator[tuple[Row, bool]]:
        """Yield the rows of the result, and whether each is marked conservative."""

    @abstractmethod
    def truth(self, shape: str) -> dict[str, tuple[float, float]]:
        """Return, by label of a row, where the true number lies: a point, or the ends of the bucket that holds it."""


@dataclass(frozen=True, eq=False)
class Case(AnyCase):
    """A question without levels; `hide` is the ε of the label that hides the level."""

    question: Mapping[str, Any]
    parts: int
    hide: float | None = None
    largest: float = 1.0  # of sets: the support of the most frequent item, to which shapes are scaled
    further: Mapping[str, Any] = field(default_factory=dict)  # keys of the survey
    beside: tuple[Case, ...] = ()  # further questions of a table, which is judged in place of the question
    mix: Mapping[str, Mapping[str, float]] | None = None  # by label, how people choose levels; the same for all if none
    free: bool = False  # whether the result without assumptions is judged

    def survey(self, epsilon: float) -> pldp.Survey:
        """Return the survey with a strict level of this ε and an open one of twice as much."""
        content = {
            "pldp": 1,
            "title": self.name,
            "levels": {"strict": epsilon, "open": 2 * epsilon},
            "questions": [{"name": name, **each.question} for name, each in self.asked.items()],
            **self.further,
        }
        return pldp.Survey.read(content if self.hide is None else {**content, "hide_level": {"epsilon": self.hide}})

    @property
    def part(self) -> float:
        """Tables with a number take long, and those of choices alone are quick."""
        kinds = {each.question.get("kind", "choice") for each in self.asked.values()}
        return 1.0 if not self.beside else 1 / 3 if "number" in kinds else 2.0 if kinds == {"choice"} else 1.0

    @property
    def asked(self) -> dict[str, Case]:
        """Every question by its name."""
        return {"q": self, **{f"r{place}": each for place, each in enumerate(self.beside)}}

    @property
    def kind(self) -> str:
        """Choice, set, number or table; and whether levels are hidden."""
        asked = "table" if self.beside else KINDS[self.question.get("kind", "choice")]
        return asked if self.hide is None or self.beside else f"{asked}, hidden levels"

    @property
    def has_quantiles(self) -> bool:
        """Whether the result has quantiles."""
        return self.question.get("kind") == "number" and self.question.get("purpose") != "mean"

    def shares(self, shape: str) -> np.ndarray:
        """Return the true shares of labels or buckets, or the supports of items."""
        found = SHAPES[shape].reshape(self.parts, -1).sum(axis=1)
        return found / found.max() * self.largest if self.largest < 1 else found

    def draw(self, cell: Cell, seed: int) -> pldp.Tally:
        """Return the tally of one collection."""
        survey, given = _survey(self, cell.epsilon), self.shares(cell.shape)
        names = tuple(self.asked)
        if self.beside:
            every = {name: each.shares(cell.shape) for name, each in self.asked.items()}
            people = Population.of_shares(survey, cell.people, every, level_mix=self.mix, seed=seed)
        elif self.question.get("purpose") == "mean":
            drawn = np.random.default_rng([seed, 7]).choice(FINE, cell.people, p=given)
            numbers = (drawn + 0.5) / FINE
            people = Population.of_values(survey, {"q": numbers}, seed=seed)
        else:
            people = Population.of_shares(survey, cell.people, {"q": given}, level_mix=self.mix, seed=seed)
        pairs = [names] if self.beside else []
        reports = simulate_reports(survey, people, seed=seed)
        return pldp.tally(survey, reports, patterns=self.hide is not None, pairs=pairs)

    def truth(self, shape: str) -> dict[str, tuple[float, float]]:
        """Return where the true numbers lie.

        Reports do not tell numbers within a bucket apart, so a quantile is only known up to its bucket.
        """
        if self.beside:
            return _truth_of_table(self, shape)
        shares, size = self.shares(shape), self.parts
        if "at_most" in self.question:
            shares = _kept(shares, self.question["at_most"])
        if "values" in self.question:
            return {name: (share, share) for name, share in zip(self.question["values"], shares, strict=True)}
        middle = float(shares @ ((np.arange(size) + 0.5) / size))
        found, cumulative = {"mean": (middle, middle)}, np.cumsum(shares)
        for share in QUANTILES:
            place = int(np.searchsorted(cumulative, share - 1e-9))
            found[f"{share * 100:g} %"] = (place / size, (place + 1) / size)
        return found

    def rows(self, drawn: pldp.Tally, *, whole: bool = False) -> Iterator[tuple[Row, bool]]:
        """Yield the rows of the result, and whether each is marked conservative.

        Unless the `whole` result is asked for, the quantiles of numbers are judged without the curve, which takes ten
        times as long: their intervals reach to the quantile of the curve where that lies outside, so they cover more
        often still.
        """
        if self.has_quantiles and self.hide is None and not whole:
            fused = fused_of(drawn, "q")
            yield mean(fused, differ=None if self.free else 0).row(CONFIDENCE), False
            profile = Profile(fused, apart=self.free)
            for share in QUANTILES:
                yield (
                    Row(
                        f"{share * 100:g} %",
                        math.nan,
                        math.nan,
                        *profile.quantiles((share,), CONFIDENCE).quantile(share, CONFIDENCE),
                    ),
                    True,
                )
            return
        result = self.result(drawn)
        for row, conservative in zip(result.rows(CONFIDENCE), result.conservative.tolist(), strict=True):
            yield row if isinstance(row.label, str) else row._replace(label=" × ".join(row.label)), conservative

    def result(self, drawn: pldp.Tally) -> pldp.Result:
        """Return the result of the question or of the table, if people of all levels are alike unless it is `free`."""
        options: dict[str, Any] = {"largest": 1} if self.question.get("kind") == "choices" else {}
        differ = None if self.free else 0
        if self.beside:
            return cross(drawn, tuple(self.asked), differ=differ)
        return pldp.estimate(drawn, "q", confidence=CONFIDENCE, differ=differ, **options)


KINDS: Final = {"choice": "choice", "choices": "set", "number": "number"}
"""Kinds of questions, in words."""


def _labels(count: int) -> list[str]:
    return [f"label {place}" for place in range(count)]


def make_choice(name: str, size: int = 8, hide: float | None = None, **keys: Any) -> Case:
    return Case(name, {"values": _labels(size), **keys}, size, hide)


def make_sets(name: str, size: int = 5, largest: float = 0.5, hide: float | None = None, **keys: Any) -> Case:
    return Case(name, {"kind": "choices", "values": _labels(size), **keys}, size, hide, largest=largest)


def make_number(name: str, buckets: int | None = None, hide: float | None = None, **keys: Any) -> Case:
    about = {"kind": "number", "low": 0, "high": 1, **keys, **({} if buckets is None else {"buckets": buckets})}
    return Case(name, about, buckets or FINE, hide)


def make_table(name: str, first: Case, *beside: Case, hide: float | None = None) -> Case:
    return replace(first, name=name, beside=beside, hide=hide)


CASES: tuple[Case, ...] = (
    make_choice("choice"),
    make_choice("choice by krr", mechanism="krr"),
    make_choice("choice by oue", mechanism="oue"),
    make_choice("choice by sue", mechanism="sue"),
    make_choice("choice by lh", 32, mechanism="lh"),
    make_choice("choice, budgets per value", fractions={"label 0": "1/2", "label 1": "1/2"}),
    make_choice("choice, hidden levels", hide=1.0),
    make_choice("choice by oue, hidden levels", hide=1.0, mechanism="oue"),
    make_sets("set, a budget per box"),
    make_sets("set, one budget", budget="set"),
    make_sets("set of at most two, one budget", 8, 0.2, budget="set", at_most=2),
    make_number("number", 96),
    make_number("mean of a number", purpose="mean"),
    make_number("number, hidden levels", 96, 1.0),
    make_number("mean of a number, hidden levels", hide=1.0, purpose="mean"),
    make_sets("set, a budget per box, hidden levels", hide=1.0),
    make_sets("set, one budget, hidden levels", hide=1.0, budget="set"),
    make_sets("set of at most two, one budget, hidden levels", 8, 0.2, hide=1.0, budget="set", at_most=2),
    make_choice("choice, budgets per value, hidden levels", hide=1.0, fractions={"label 0": "1/2", "label 1": "1/2"}),
    make_choice("choice, open values, hidden levels", hide=1.0, fractions={"label 0": "1/2"}, unprotected=["label 7"]),
    make_table("table of a choice and a set", make_choice("", 4), make_sets("", 3)),
    make_table("table of three choices", make_choice("", 3), make_choice("", 2), make_choice("", 2)),
    make_table("table of a choice and a set, hidden levels", make_choice("", 3), make_sets("", 3), hide=1.0),
    make_table("table of a choice and a number", make_choice("", 2), make_number("", 96)),
)
"""What is asked. A new kind, or a new way to ask, needs one line here."""


@dataclass(frozen=True)
class Cell:
    """A case with its data."""

    case: AnyCase
    shape: str
    people: int
    epsilon: float

    def __str__(self) -> str:
        return f"{self.case.name}, {self.shape}, {self.people:,} people, ε {self.epsilon:g}"


PEOPLE = (2_000, 20_000, 100_000)
EPSILONS = (0.5, 1.0, 2.0, 4.0)


def cells(case: AnyCase, shape: str) -> list[Cell]:
    """Return the cells of a case and shape."""
    return [Cell(case, shape, people, epsilon) for people, epsilon in product(PEOPLE, EPSILONS)]


KIND_RUNS = 2_000
"""Least number of runs of a kind and shape in the long form."""


def cell_runs(case: AnyCase, every: Sequence[AnyCase]) -> int:
    """Return the runs of each cell of a case in the long form, so that `every` case of its kind has its part."""
    alike = sum(each.part for each in every if each.kind == case.kind)
    return math.ceil(KIND_RUNS * case.part / (alike * len(PEOPLE) * len(EPSILONS)))


ROWS = 8  # of a result, about


def family(cases: int) -> int:
    """Return how many tests a table of so many cases is."""
    return cases * len(SHAPES) * (len(PEOPLE) * len(EPSILONS) + 1) * ROWS * 2


@cache
def _survey(case: Case, epsilon: float) -> pldp.Survey:
    return case.survey(epsilon)


def _truth_of_table(case: Case, shape: str) -> dict[str, tuple[float, float]]:
    """Multiply the shares of labels, items and quarters of a number: answers are drawn independently."""
    found = {"": 1.0}
    for each in case.asked.values():
        shares = each.shares(shape)
        labels = each.question.get("values") or ["0 to 0.25", "0.25 to 0.5", "0.5 to 0.75", "0.75 to 1"]
        own = dict(zip(labels, shares.reshape(len(labels), -1).sum(axis=1).tolist(), strict=True))
        found = {f"{one} × {two}".removeprefix(" × "): a * b for one, a in found.items() for two, b in own.items()}
    return {label: (share, share) for label, share in found.items()}


def _kept(shares: np.ndarray, most: int) -> np.ndarray:
    """Return the share of people who tick each item, if those who have more than so many tick some at random."""
    found = []
    for place, share in enumerate(shares):
        others = np.ones(1)  # chances that so many others are there
        for chance in np.delete(shares, place):
            others = np.convolve(others, [1 - chance, chance])
        found.append(share * (others * np.minimum(1, most / np.arange(1, len(others) + 1))).sum())
    return np.array(found)


Hits = dict[tuple[str, bool], list[bool]]
"""By label of a row, and whether most of its intervals are marked conservative: whether each run's interval covered."""

Narrow = Callable[[float, float, float], tuple[float, float]]
"""From estimate, low and high to the ends that are judged: twins make intervals too narrow."""


def judge_runs(cell: Cell, runs: int, narrow: Narrow | None = None, first: int = 0) -> Hits:
    """Return which intervals of so many collections cover the truth."""
    true = cell.case.truth(cell.shape)
    found: dict[str, list[bool]] = {}
    marked: Counter[str] = Counter()
    for run in range(first, first + runs):
        for row, conservative in cell.case.rows(cell.case.draw(cell, run)):
            low, high = (row.low, row.high) if narrow is None else narrow(row.estimate, row.low, row.high)
            least, most = true[row.label]
            found.setdefault(row.label, []).append(bool(low <= most and high >= least))
            marked[row.label] += conservative
    return {(label, 2 * marked[label] > runs): covered for label, covered in found.items()}


def wrong(hits: Hits, tests: int) -> Iterator[str]:
    """Yield what is significantly outside the allowed coverage, with a family-wise rate over so many tests."""
    for (label, conservative), covered in hits.items():
        count, total = sum(covered), len(covered)
        if stats.binom.cdf(count, total, LOWEST) < FAMILY / tests:
            yield f"{label} covers {count} of {total}, below {LOWEST:.0%}"
        if not conservative and stats.binom.sf(count - 1, total, HIGHEST) < FAMILY / tests:
            yield f"{label} covers {count} of {total}, above {HIGHEST:.0%}, and is not marked conservative"
