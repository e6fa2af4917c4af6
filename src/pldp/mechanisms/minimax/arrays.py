"""The minimax channel over arrays."""

from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np

from pldp.mechanisms.arrays import FloatArray, IntArray, NumberArrays, Outputs, Pieces
from pldp.mechanisms.minimax.channel import UNIT, Minimax
from pldp.mechanisms.output import TOTAL


class _MinimaxArrays(NumberArrays):
    """Every output has an interval of values, in which it is more likely; the last one has hardly any weight."""

    channel: Minimax

    @cached_property
    def _bounds(self) -> IntArray:
        """Start and stop of the intervals of all outputs but the last, mirror images second; 2 × outputs."""
        start, stop, size = np.array(self.channel.start), np.array(self.channel.stop), self.channel.size
        return np.array([np.concatenate([start, size - stop]), np.concatenate([stop, size - start])])

    @cached_property
    def _table(self) -> IntArray:
        """Whole weights, values × outputs."""
        start, stop = self._bounds
        values = np.arange(self.channel.size)[:, None]
        inside, outside = (np.tile(np.array(each, np.int64), 2) for each in (self.channel.inside, self.channel.outside))
        weights = np.where((start <= values) & (values < stop), inside, outside)
        return np.hstack([weights, TOTAL - weights.sum(axis=1, keepdims=True)])

    @cached_property
    def _ends(self) -> IntArray:
        """Where the weights of each value end, those of value t from t·2⁵³ on; a size of 1,023 is the most for that."""
        return np.asarray((self._table.cumsum(axis=1) + np.arange(self.channel.size)[:, None] * TOTAL).ravel())

    def outputs_of(self, values: IntArray, drawn: IntArray) -> Outputs:
        found = np.searchsorted(self._ends, drawn + values * TOTAL, side="right")
        return np.asarray(found - values * self._table.shape[1])

    def matrix(self) -> FloatArray:
        return np.asarray(self._table.T / TOTAL)

    def pieces(self) -> Pieces:
        size, count = self.channel.size, self.channel.form.count
        found = Pieces.none(size, count)
        inside, outside = (np.tile(np.array(each, float), 2) for each in (self.channel.inside, self.channel.outside))
        found.base[: count - 1], found.lift[: count - 1] = outside / TOTAL, inside / outside - 1
        found.start[: count - 1], found.stop[: count - 1] = self._bounds
        found.envelope[count - 1] = 1
        return replace(found, envelopes=np.stack([np.ones(size), self._table[:, -1] / TOTAL]))

    def unbiased(self) -> FloatArray:
        value = np.array(self.channel.value, float) * ((self.channel.size - 1) / (UNIT * self.channel.size))
        return np.concatenate([value, -value, [0.0]])


FORMS: Final = {Minimax: _MinimaxArrays}
