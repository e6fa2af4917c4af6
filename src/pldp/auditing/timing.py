"""Does the time of an answer tell the value? Welch's t between two values, on calls made in random order."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

THRESHOLD: Final = 4.5  # abs(t) above which times differ: a chance of 7 in a million for one comparison
_CROPS: Final = (1.0, 0.9, 0.5)
"""Shares of the fastest calls that are compared: interruptions by other programs hide small differences."""


@dataclass(frozen=True)
class Timing:
    """The largest abs(t) over pairs of values, the difference there, and the smallest one that would show."""

    statistic: float
    one: int
    two: int
    difference: float
    detectable: float
    threshold: float

    @property
    def refutes(self) -> bool:
        """Whether the time depends on the value."""
        return abs(self.statistic) > self.threshold

    def __str__(self) -> str:
        return (
            f"calls take {abs(self.difference):,.0f} ns {'longer' if self.difference > 0 else 'less'} for value number "
            f"{self.one} than for number {self.two} (t = {self.statistic:.1f})"
        )


def compare_times(times: Sequence[Sequence[int]]) -> Timing:
    """Return the largest Welch statistic between two values; the threshold grows with the number of comparisons.

    Reference: Reparaz, Balasch, Verbauwhede, "Dude, is my code constant time?" (2017).

    >>> compare_times([[100, 110, 105, 95] * 50, [100, 105, 110, 95] * 50]).refutes
    False
    >>> compare_times([[100, 110, 105, 95] * 50, [130, 135, 140, 125] * 50]).refutes
    True
    """
    arrays = [np.asarray(each, float) for each in times]
    pairs = combinations(range(len(times)), 2)
    found = [(one, two, *_welch(arrays[one], arrays[two], crop)) for one, two in pairs for crop in _CROPS]
    # Bonferroni: for tails like exp(−t²/2), t² grows by 2·ln of the number of comparisons.
    threshold = math.sqrt(THRESHOLD**2 + 2 * math.log(len(found)))
    one, two, statistic, difference, error = max(found, key=lambda each: abs(each[2]))
    return Timing(statistic, one, two, difference, (threshold + 1.3) * error, threshold)


def _welch(first: Floats, second: Floats, crop: float) -> tuple[float, float, float]:
    """Return t, the difference of means, and its standard error."""
    limit = np.quantile(np.concatenate([first, second]), crop)
    a, b = first[first <= limit], second[second <= limit]
    if min(len(a), len(b)) < 2:  # all fast calls are of one value
        a, b = first, second
    error = math.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    difference = float(a.mean() - b.mean())
    if error == 0:
        return (math.inf if difference else 0.0), difference, 0.0
    return difference / error, difference, error
