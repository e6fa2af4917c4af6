"""Are stated errors the real ones? Many collections of many cells (simulate → tally → estimate), one judgement.

A cell is one of `helpers.coverage`: what is asked, of how many people. Each run gives for every row of the result

    z = (estimate − truth) / standard error    and    need,

the factor by which its interval would have to be longer, or could be shorter, to end at the truth: the interval covers
if need ≤ 1. Standard errors are judged by the mean of z², which is 1 where they are right, and intervals by how often
need ≤ 1. Both are judged in every cell, in every family of cells, and in the pool of all cells, on both sides.

*The law of the mean.* Rows of one run depend on each other, runs do not. Let q_r be the mean of z² over the rows of
run r, m and s their mean and standard deviation over R runs; ν = 2 R m²/s² is then the number of independent squares
that the runs are worth, and ν m is about χ² with ν degrees. Its cube root is normal (Wilson and Hilferty), and since ν
comes from the runs it is referred to Student's law with R − 1 degrees. ν does not change if all errors are multiplied
by one factor, and is independent of m if the q_r are gamma; so cells are pooled with weights ν.

*What is allowed.* Real errors may be larger or smaller than stated by a factor: 1.02 in the pool, 1.03 in a family,
1.05 in a cell (an estimate with a few thousand people has the law of its limit only nearly); intervals of 95 % may
cover 93 to 97 of 100. Beyond that, the probability of any false alarm in one judgement is at most `FAMILY`, .01,
divided among all its tests (Bonferroni; half for means of z², half for hits of all rows and groups). Every verdict says
which factor it would notice, with the probability .95.

Reference: Wilson and Hilferty, "The Distribution of Chi-Square" (1931).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from helpers.coverage import CONFIDENCE, FAMILY, AnyCase, Cell, wrong

Floats = npt.NDArray[np.float64]

ALLOWED: Final[Mapping[str, float]] = {"pool": 1.02, "family": 1.03, "cell": 1.05}
"""Factors by which real errors may differ from the stated ones."""

SURE: Final = 0.95
"""Probability with which a factor is noticed that is said to be."""


@dataclass(frozen=True)
class Runs:
    """Many runs of one cell: `z` and `need` by run and row, and the p-value of each run's test of levels, if any.

    `conservative` marks rows whose intervals say in most runs that they cover more often than stated.
    """

    name: str
    family: str
    labels: tuple[str, ...]
    z: Floats
    need: Floats
    p_values: Floats
    conservative: tuple[bool, ...] = ()

    @property
    def squares(self) -> Floats:
        """Each run's mean of z²."""
        return np.asarray((self.z**2).mean(axis=1))

    @property
    def covers(self) -> npt.NDArray[np.bool_]:
        """Whether each interval covers the truth, by run and row."""
        return np.asarray(self.need <= 1)

    @property
    def marks(self) -> tuple[bool, ...]:
        """`conservative`, for every row."""
        return self.conservative or (False,) * len(self.labels)

    @property
    def judged(self) -> npt.NDArray[np.bool_]:
        """Whether intervals cover that are not marked; all of them, where all are."""
        kept = ~np.array(self.marks)
        return self.covers[:, kept] if kept.any() else self.covers

    def with_errors(self, factor: float) -> Runs:
        """Return the same runs as if every standard error and interval had been stated so many times as large."""
        return replace(self, z=self.z / factor, need=self.need / factor)


def collect(cell: Cell, family: str, count: int, first: int = 0) -> Runs:
    """Simulate, tally and estimate a cell many times."""
    truth = cell.case.truth(cell.shape)
    every = [_estimated(cell.case, cell.case.draw(cell, seed)) for seed in range(first, first + count)]
    rows = [{row.label: row for row, _ in numbers} for numbers, _ in every]
    labels = tuple(rows[0])
    marked = np.mean([[conservative for _, conservative in numbers] for numbers, _ in every], axis=0)
    z = np.array([[(run[label].estimate - truth[label][0]) / run[label].standard_error for label in labels]
                  for run in rows])  # fmt: skip
    need = np.array([[_need(run[label], truth[label][0]) for label in labels] for run in rows])
    p_values = np.array([p_value for _, p_value in every])
    return Runs(str(cell), family, labels, z, need, p_values, tuple((marked > 0.5).tolist()))


def _estimated(case: Any, drawn: Any) -> tuple[list[tuple[Any, bool]], float]:
    """Return rows, whether each is conservative, and the p-value of the test of levels; of curves their mean alone."""
    if _asks_quantiles(case):
        return [pair for pair in case.rows(drawn) if pair[0].label == "mean"], math.nan
    result = case.result(drawn)
    rows = [row._replace(label=_joined(row.label)) for row in result.rows(CONFIDENCE)]
    p_value = math.nan if result.homogeneity is None else result.homogeneity.p_value
    return list(zip(rows, result.conservative.tolist(), strict=True)), p_value


def _asks_quantiles(case: AnyCase) -> bool:
    return any(each.has_quantiles for each in getattr(case, "services", (case,)))


def _joined(label: str | tuple[str, ...]) -> str:
    return label if isinstance(label, str) else " × ".join(label)


def _need(row: Any, truth: float) -> float:
    """Return by which factor the side of the interval that the truth is on would end there."""
    side = row.high - row.estimate if truth > row.estimate else row.estimate - row.low
    return float(abs(truth - row.estimate) / side)


# --- judging ---


@dataclass(frozen=True)
class Verdict:
    """What some runs say about their errors.

    `factor` is the ratio of real errors to stated ones, `worth` the number of independent squares behind it, `covered`
    the share of intervals that cover, and `notices` the largest factor below 1 that would be noticed if all these
    standard errors were multiplied by it, as they are right now. `complaints` says what is wrong.
    """

    name: str
    factor: float
    worth: float
    covered: float
    notices: float
    complaints: tuple[str, ...]

    def __str__(self) -> str:
        spread = self.factor / math.sqrt(2 * self.worth)
        words = (
            f"{self.name}: real errors {self.factor:.3f} ± {spread:.3f} of the stated ones, covered {self.covered:.3f}"
        )
        return f"{words}, notices errors {self.notices:.3f} times as large"


class _Rates(NamedTuple):
    """The rate of one test of a mean of z², and the number of tests of hits that share the other half of `FAMILY`."""

    mean: float
    hits: int

    @classmethod
    def of(cls, groups: int, rows: int) -> _Rates:
        return cls(FAMILY / 2 / (2 * groups), 2 * 2 * (groups + rows))


def judge(every: Sequence[Runs]) -> dict[str, Verdict]:
    """Return the verdicts about every cell, every family and the pool; together they err with `FAMILY` at most."""
    families = dict.fromkeys(runs.family for runs in every)
    groups = [("pool", "pool", list(every))]
    groups += [("family", name, [runs for runs in every if runs.family == name]) for name in families]
    groups += [("cell", runs.name, [runs]) for runs in every]
    rates = _Rates.of(len(groups), sum(len(runs.labels) for runs in every))
    return {name: _verdict(name, some, ALLOWED[kind], rates) for kind, name, some in groups}


def complaints(verdicts: Mapping[str, Verdict]) -> list[str]:
    """Return everything that is wrong."""
    return [line for verdict in verdicts.values() for line in verdict.complaints]


def _verdict(name: str, some: Sequence[Runs], allowed: float, rates: _Rates) -> Verdict:
    worth = np.array([_worth(runs) for runs in some])
    mean = float(worth @ [runs.squares.mean() for runs in some] / worth.sum())
    squares, degrees = float(worth.sum()), sum(len(runs.z) - 1 for runs in some)
    covered = np.concatenate([runs.covers.ravel() for runs in some])
    reach = float(stats.t.isf(rates.mean, degrees))
    made = Verdict(name, math.sqrt(mean), squares, float(covered.mean()), _noticed(squares, reach, allowed), ())
    return replace(made, complaints=tuple(_complaints(made, some, allowed, reach, rates.hits)))


def _complaints(made: Verdict, some: Sequence[Runs], allowed: float, reach: float, tests: int) -> Iterator[str]:
    if _score(made.factor**2 / allowed**2, made.worth) > reach:
        yield f"{made}: stated errors are too small"
    if _score(made.factor**2 * allowed**2, made.worth) < -reach:
        yield f"{made}: stated errors are too large"
    marked = all(each for runs in some for each in runs.marks)
    hits = {(made.name, marked): [hit for runs in some for hit in _independent(runs.judged)]}
    if len(some) == 1:
        rows = zip(some[0].labels, some[0].marks, some[0].covers.T, strict=True)
        hits |= {(f"{made.name}: {label}", mark): column.tolist() for label, mark, column in rows}
    yield from wrong(hits, tests)


def _worth(runs: Runs) -> float:
    """Return the number of independent squares ν that the runs are worth, at most one per row and run."""
    squares = runs.squares
    return float(min(2 * len(squares) * squares.mean() ** 2 / squares.var(ddof=1), runs.z.size))


def _score(mean: float, worth: float) -> float:
    """Return Wilson and Hilferty's normal number of a mean of so many squares."""
    return float((np.cbrt(mean) - (1 - 2 / (9 * worth))) / math.sqrt(2 / (9 * worth)))


def _mean_at(score: float, worth: float) -> float:
    """Return the mean of squares that has this score."""
    return float((1 - 2 / (9 * worth) + score * math.sqrt(2 / (9 * worth))) ** 3)


def _noticed(worth: float, reach: float, allowed: float) -> float:
    """Return the factor f at which m/f² is beyond the reach with the probability `SURE`: m is then at its quantile."""
    least, critical = _mean_at(-float(stats.norm.ppf(SURE)), worth), _mean_at(reach, worth) * allowed**2
    return math.sqrt(max(0.0, least) / critical)


def _independent(covers: npt.NDArray[np.bool_]) -> list[bool]:
    """Return as many independent hits as those of dependent rows are worth, with the same share of them."""
    rate, rows = covers.mean(), covers.shape[1]
    each = CONFIDENCE * (1 - CONFIDENCE)
    worth = len(covers) * min(rows, each / max(float(covers.mean(axis=1).var(ddof=1)), each / rows))
    total = round(worth)
    return [True] * round(rate * total) + [False] * (total - round(rate * total))


@dataclass(frozen=True)
class Judged:
    """A cell, its family, and how many runs it has in the short and in the long form; 0 where a run takes too long."""

    family: str
    cell: Cell
    short: int
    long: int = 2_000


def collect_all(every: Sequence[Judged], *, long: bool) -> list[Runs]:
    """Run every cell, each with seeds of its own: people of equal seeds would be the same ones in several cells."""
    counts = [each.long if long else each.short for each in every]
    firsts = np.cumsum([0, *counts])
    return [
        collect(each.cell, each.family, count, int(first))
        for each, count, first in zip(every, counts, firsts, strict=False)
        if count
    ]


# --- the size of tests ---


def wrong_size(p_values: npt.ArrayLike, rate: float = 0.05, within: float = 0.015, tests: int = 1) -> str:
    """Say how often a test rejects where nothing is to be found, if that is surely not within so much of its rate."""
    found = np.asarray(p_values, float)
    rejected, total = int((found < rate).sum()), len(found)
    often = stats.binom.sf(rejected - 1, total, rate + within)
    rarely = stats.binom.cdf(rejected, total, rate - within)
    return f"rejects {rejected} of {total}" if min(often, rarely) < FAMILY / (2 * tests) else ""
