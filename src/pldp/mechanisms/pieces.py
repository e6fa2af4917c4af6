"""Channels with integer outputs, output by output: constant in and out of an interval, or with a smooth envelope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.mechanisms.rows import FloatArray

LARGEST_ENVELOPES: Final = 1 << 25
"""Most entries (envelopes × buckets) of a table of envelopes."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Q(y|·) of every output y of a channel as a function of the value t; the last row stands for no report.

    Q(y|t) = base_y · envelope_y(t) · (1 + lift_y · [start_y ≤ t < stop_y]): windows are constant in and out of an
    interval; other channels have a smooth *envelope*, of which there are few different ones.
    """

    base: FloatArray
    envelopes: FloatArray
    envelope: npt.NDArray[np.intp]
    start: npt.NDArray[np.intp]
    stop: npt.NDArray[np.intp]
    lift: FloatArray

    @classmethod
    def none(cls, size: int, count: int) -> Pieces:
        """Return pieces of outputs that say nothing, to be filled."""
        envelope, start, stop = np.zeros((3, count + 1), np.intp)
        return cls(np.ones(count + 1), np.ones((1, size)), envelope, start, stop, np.zeros(count + 1))

    @classmethod
    def mix(cls, parts: Sequence[Pieces], weights: FloatArray) -> Pieces:
        """Return Σ w Q of channels of one form: windows at the same places, or none.

        Where an output has no window in any channel, the mixture of its envelopes is an envelope of its own.
        """
        first = parts[0]
        windowed = np.any([part.lift[:-1] != 0 for part in parts], axis=0)
        for part in parts:
            same = [
                np.array_equal(own[:-1][windowed], others[:-1][windowed])
                for own, others in ((part.start, first.start), (part.stop, first.stop))
            ]
            if not all(same) or (part.envelopes[part.envelope[:-1][windowed]] != 1).any():
                raise EstimateError("channels can only be mixed whose windows are the same")
        found = cls.none(first.envelopes.shape[1], len(windowed))
        base = np.array([part.base[:-1] for part in parts])
        found.base[:-1] = np.where(windowed, weights @ base, 1.0)
        raised = weights @ (base * np.array([part.lift[:-1] for part in parts]))
        found.lift[:-1] = np.where(windowed, raised / found.base[:-1], 0.0)
        found.start[:-1], found.stop[:-1] = (np.where(windowed, each[:-1], 0) for each in (first.start, first.stop))
        others = np.flatnonzero(~windowed)
        if not len(others):
            return found
        rows = sum(
            weight * part.base[others, None] * part.envelopes[part.envelope[others]]
            for weight, part in zip(weights, parts, strict=True)
        )
        found.envelope[others] = np.arange(1, len(others) + 1)
        return replace(found, envelopes=np.concatenate([found.envelopes, np.asarray(rows)]))

    def table(self) -> FloatArray:
        """Q as a matrix, outputs × values; the last row, no report, is 1."""
        values = np.arange(self.envelopes.shape[1])
        inside = (values >= self.start[:, None]) & (values < self.stop[:, None])
        return np.asarray(self.base[:, None] * self.envelopes[self.envelope] * (1 + self.lift[:, None] * inside))

    def forward(self, shares: FloatArray) -> FloatArray:
        """Return Σ_t Q(y|t) f_t of every output y; of several rows of shares, a row each."""
        if shares.ndim == 1:
            sums = np.zeros((1, len(self.envelopes), len(shares) + 1))
            np.cumsum(self.envelopes * shares, axis=1, out=sums[0, :, 1:])
            return np.asarray(self._from_sums(sums, sums[..., -1], self.envelope[:-1])[0])
        # Windows have few envelopes, whatever other outputs have: for many rows only theirs are summed up.
        used, envelope = np.unique(np.where(self.lift[:-1] != 0, self.envelope[:-1], -1), return_inverse=True)
        sums = np.zeros((len(shares), len(used), shares.shape[1] + 1))
        np.cumsum(self.envelopes[used] * shares[:, None, :], axis=2, out=sums[:, :, 1:])
        return self._from_sums(sums, shares @ self.envelopes.T, envelope)

    def _from_sums(self, sums: FloatArray, totals: FloatArray, envelope: npt.NDArray[np.intp]) -> FloatArray:
        """Return what `forward` does, from prefix sums of the envelopes that windows have, and sums of all."""
        inside = sums[:, envelope, self.stop[:-1]] - sums[:, envelope, self.start[:-1]]
        return np.asarray(self.base[:-1] * (totals[:, self.envelope[:-1]] + self.lift[:-1] * inside))

    def column(self, value: int) -> FloatArray:
        """Return Q(y|t) of every output y for one value t."""
        inside = (self.start[:-1] <= value) & (value < self.stop[:-1])
        return np.asarray(self.base[:-1] * self.envelopes[self.envelope[:-1], value] * (1 + self.lift[:-1] * inside))

    def expectation(self, numbers: FloatArray) -> FloatArray:
        """Return Σ_y numbers_y Q(y|t) of every value t."""
        weights = self.base[:-1] * numbers
        size = self.envelopes.shape[1]
        place = self.envelope[:-1] * (size + 1)
        change = np.bincount(place, weights, minlength=len(self.envelopes) * (size + 1))
        change += np.bincount(place + self.start[:-1], weights * self.lift[:-1], minlength=len(change))
        change -= np.bincount(place + self.stop[:-1], weights * self.lift[:-1], minlength=len(change))
        return np.asarray((change.reshape(-1, size + 1).cumsum(axis=1)[:, :size] * self.envelopes).sum(axis=0))
