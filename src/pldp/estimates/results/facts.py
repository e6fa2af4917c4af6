"""What a result states beside its numbers: notes, levels and the test whether they agree. Plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.special import chdtrc, ndtri

from pldp.estimates.results.intervals import CONFIDENCE, POWER, normal_reach
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record

TEST_LEVEL = 0.01
"""False-alarm rate of the tests of homogeneity."""


class PersonWeights(NamedTuple):
    """Number of people of each group, and the weight of one of them in every number (groups × numbers)."""

    people: FloatArray
    weights: FloatArray


@dataclass(frozen=True)
class Note:
    """What a reader must know: a code that stays the same, and a sentence."""

    code: str
    text: str
    severity: Literal["info", "warning"] = "warning"


def tail_probability(
    statistic: float | FloatArray, degrees: int, second: float | FloatArray = 0.0, third: float | FloatArray = 0.0
) -> FloatArray:
    """Return the probability of a larger statistic, that of the χ² with these cumulants once it is moved and scaled.

    Pearson's third type; the mean stays the degrees. Without cumulants they are those of χ², 2·degrees and 8·degrees.
    """
    second, third = (second, third) if np.any(second) else (2.0 * degrees, 8.0 * degrees)
    matched = 8 * np.asarray(second) ** 3 / np.asarray(third) ** 2
    moved = matched + (statistic - degrees) * np.sqrt(2 * matched / second)
    return np.asarray(chdtrc(matched, np.maximum(moved, 0.0)))


@dataclass(frozen=True)
class Homogeneity:
    """A χ² test of "the level does not depend on the answer", which pooling by precision assumes.

    `statistic` is the worst of so many `tests`, and `p_value` accounts for all of them; `rejected` at `TEST_LEVEL`.
    `noticed` is the difference between the stricter and the more open levels, in the unit of the result, that the test
    notices with a probability of 80 %: a test that does not reject says nothing about smaller ones. Of shares it is
    that of the value where it is hardest to notice (`pldp.estimates.linear.homogeneity`).
    """

    statistic: float
    degrees: int
    p_value: float
    rejected: bool
    noticed: float | None = None
    tests: int = 1

    @classmethod
    def of(
        cls,
        statistic: float,
        degrees: int,
        tests: int = 1,
        noticed: float | None = None,
        cumulants: tuple[float, float] | None = None,
    ) -> Homogeneity:
        """Refer a statistic, the worst of so many tests (Bonferroni), to χ², or to what has its `cumulants`."""
        p_value = min(1.0, float(tail_probability(statistic, degrees, *(cumulants or ()))) * tests)
        return cls(statistic, degrees, p_value, p_value < TEST_LEVEL, noticed, tests)


@dataclass(frozen=True, eq=False, repr=False)
class GroupReports(Record):
    """The reports of one level, the true ε of its channel, and its weight in the result; the weights sum to 1."""

    level: str
    mechanism: str
    epsilon: float
    reports: int
    weight: float


@dataclass(frozen=True)
class LevelShare:
    """A hidden level: its mechanism and ε, and the estimated share of people who chose it."""

    level: str
    mechanism: str
    epsilon: float
    share: float


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Facts:
    """What a result of any kind states beside its numbers; `pldp.estimates.Result` says what each field is."""

    question: str
    text: str = ""
    reports: int
    method: str
    target: str
    groups: tuple[GroupReports, ...] = ()
    homogeneity: Homogeneity | None = None
    assumptions: tuple[str, ...]
    notes: tuple[Note, ...]
    manipulation: float = math.nan
    levels: tuple[LevelShare, ...] = ()
    confidence: float = CONFIDENCE
    unit: str = "share"

    @classmethod
    def of(cls, facts: Facts, **numbers: Any) -> Self:
        """Return a result that states these facts beside its own numbers."""
        return cls(**{each.name: getattr(facts, each.name) for each in fields(Facts)}, **numbers)


def unseen_shift(error: FloatArray, alike: FloatArray) -> FloatArray:
    """Return how far each estimate that takes people to be alike can be off, so that 4 tests in 5 notice it.

    If people are alike, the difference D of both estimates has the variance SE² − SE²(alike), for the latter is the
    best estimate then. A test at our level, of as many labels as are free, sees a shift of D by this much. It is not
    known of numbers that one of both does not know.
    """
    known = np.isfinite(error) & np.isfinite(alike)
    left = np.square(error, where=known, out=np.full(error.shape, np.nan))
    left -= np.square(alike, where=known, out=np.zeros(error.shape))
    reach = normal_reach(1 - TEST_LEVEL, max(1, error.size - 1)) + float(ndtri(POWER))
    return np.asarray(reach * np.sqrt(np.maximum(left, 0.0)))
