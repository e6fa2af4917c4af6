"""Does the time of a call tell the value? Ranks of the times of two values, whose calls came in random order."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import stats

from pldp.auditing.sampled import FALSE_ALARM, POWER

WHOLE_ANSWER: Final = 5_000
"""Nanoseconds by which whole answers of two values may differ: less than anything between device and collector adds."""
DRAW: Final = 100
"""Nanoseconds by which single draws of k-RR, subsets and unary reports differ at most, in Python: all of them do the
same operations on the same number of random bytes, and what is left are the integers of the interpreter."""
_QUARTILES: Final = 1.349  # distance of the quartiles of a normal law, in standard deviations

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Timing:
    """The clearest difference between two values: its statistic, the difference, and the smallest one that would show.

    `allowed` nanoseconds are not held against a mechanism.
    """

    statistic: float
    one: int
    two: int
    difference: float
    detectable: float
    threshold: float
    allowed: float
    error: float

    @property
    def refutes(self) -> bool:
        """Whether the time depends on the value, by more than is allowed."""
        return self.statistic > self.threshold

    def __str__(self) -> str:
        return (
            f"calls take {self.difference:,.0f} ns longer for value number {self.one} than for number {self.two} "
            f"(half of them; z = {self.statistic:.1f})"
        )


def compare_times(times: Sequence[Sequence[int]], *, allowed: float = 0.0, error: float = FALSE_ALARM) -> Timing:
    """Return the clearest difference between two values, by the ranks of their times (Mann–Whitney).

    Ranks do not care how far an interruption by another program throws a call. `allowed` nanoseconds are taken off the
    slower value first. The threshold grows with the number of comparisons.

    >>> compare_times([[100, 110, 105, 95] * 50, [100, 105, 110, 95] * 50]).refutes
    False
    >>> compare_times([[100, 110, 105, 95] * 50, [130, 135, 140, 125] * 50]).refutes
    True
    """
    arrays = [np.asarray(each, float) for each in times]
    pairs = [pair for one, two in combinations(range(len(times)), 2) for pair in ((one, two), (two, one))]
    threshold = NormalDist().inv_cdf(1 - error / len(pairs))
    found = [(_rank_statistic(arrays[one] - allowed, arrays[two]), one, two) for one, two in pairs]
    statistic, one, two = max(found)
    difference = float(np.median(arrays[one]) - np.median(arrays[two]))
    spread = max(float(np.subtract(*np.quantile(each, [0.75, 0.25]))) for each in (arrays[one], arrays[two]))
    per_call = 1.03 * spread / _QUARTILES * math.sqrt(sum(1 / len(arrays[side]) for side in (one, two)))
    detectable = allowed + (threshold + NormalDist().inv_cdf(POWER)) * per_call
    return Timing(statistic, one, two, difference, detectable, threshold, allowed, error)


def _rank_statistic(first: Floats, second: Floats) -> float:
    """How many standard errors the ranks of the first are above what chance gives; ties share a rank."""
    m, n = len(first), len(second)
    together = np.concatenate([first, second])
    ranks = stats.rankdata(together)
    _, ties = np.unique(together, return_counts=True)
    size = m + n
    variance = m * n / 12 * (size + 1 - float((ties.astype(float) ** 3 - ties).sum()) / (size * (size - 1)))
    above = float(ranks[:m].sum()) - m * (size + 1) / 2
    return above / math.sqrt(variance) if variance > 0 else 0.0
