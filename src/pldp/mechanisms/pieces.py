"""Channels with integer outputs, output by output: constant in and out of an interval, or with a smooth pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.mechanisms.rows import FloatArray

LARGEST_PATTERNS: Final = 1 << 25
"""Most entries (patterns × buckets) of a table of patterns."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Q(y|·) of every output y of a channel as a function of the value t; the last row stands for no report.

    Q(y|t) = base_y · pattern_y(t) · (1 + lift_y · [start_y ≤ t < stop_y]): windows are constant in and out of an
    interval; other channels have a smooth *pattern*, of which there are few different ones.
    """

    base: FloatArray
    patterns: FloatArray
    pattern: npt.NDArray[np.intp]
    start: npt.NDArray[np.intp]
    stop: npt.NDArray[np.intp]
    lift: FloatArray

    @classmethod
    def none(cls, size: int, count: int) -> Pieces:
        """Return pieces of outputs that say nothing, to be filled."""
        pattern, start, stop = np.zeros((3, count + 1), np.intp)
        return cls(np.ones(count + 1), np.ones((1, size)), pattern, start, stop, np.zeros(count + 1))

    def table(self) -> FloatArray:
        """Q as a matrix, outputs × values; the last row, no report, is 1."""
        values = np.arange(self.patterns.shape[1])
        inside = (values >= self.start[:, None]) & (values < self.stop[:, None])
        return np.asarray(self.base[:, None] * self.patterns[self.pattern] * (1 + self.lift[:, None] * inside))

    def expectation(self, numbers: FloatArray) -> FloatArray:
        """Return Σ_y numbers_y Q(y|t) of every value t."""
        weights = self.base[:-1] * numbers
        size = self.patterns.shape[1]
        place = self.pattern[:-1] * (size + 1)
        change = np.bincount(place, weights, minlength=len(self.patterns) * (size + 1))
        change += np.bincount(place + self.start[:-1], weights * self.lift[:-1], minlength=len(change))
        change -= np.bincount(place + self.stop[:-1], weights * self.lift[:-1], minlength=len(change))
        return np.asarray((change.reshape(-1, size + 1).cumsum(axis=1)[:, :size] * self.patterns).sum(axis=0))
