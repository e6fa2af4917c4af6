"""The test whether anything changed between rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np

from pldp.mechanisms.arrays import FloatArray


class Compares(Protocol):
    """What a change offers to the test."""

    @property
    def estimates(self) -> FloatArray:
        """The differences."""

    @property
    def statistic(self) -> float:
        """The largest difference in standard errors."""

    @property
    def growing(self) -> bool:
        """Whether results are read while reports come in."""

    def least_error_rate(self) -> float:
        """Return the least 1 − confidence at which an interval excludes 0."""


@dataclass(frozen=True)
class ChangeTest:
    """Test of "nothing changed": the largest difference in standard errors, corrected for all comparisons (Bonferroni).

    It holds however the differences depend on each other, and rejects exactly if a simultaneous interval excludes 0. If
    nothing changed, the probability of such a `statistic` is at most the `p_value`; `level` is the false-alarm rate.
    While a growing round is watched, that is the probability that a p-value is *ever* so small.
    """

    statistic: float
    comparisons: int
    p_value: float
    level: float
    rejected: bool

    @classmethod
    def of(cls, changes: Sequence[Compares], confidence: float) -> ChangeTest:
        """Test all of these changes together."""
        known = [each.statistic for each in changes if not np.isnan(each.statistic)]
        statistic = max(known, default=np.nan)
        comparisons = sum(each.estimates.size for each in changes)
        smallest = 2 * NormalDist().cdf(-statistic)
        if known and any(each.growing for each in changes):
            smallest = min(each.least_error_rate() for each in changes)
        p_value, level = min(comparisons * smallest, 1.0), round(1 - confidence, 12)
        return cls(statistic, comparisons, p_value, level, p_value < level)
