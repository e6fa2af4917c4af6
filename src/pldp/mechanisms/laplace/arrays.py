"""Laplace noise on a grid over arrays."""

from typing import Final

import numpy as np

from pldp.mechanisms.arrays import FloatArray, IntArray, NumberArrays, Outputs
from pldp.mechanisms.laplace.channel import DiscreteLaplace
from pldp.mechanisms.output import TOTAL


class _LaplaceArrays(NumberArrays):
    """Noise by distance; what goes beyond a bound is put back to it."""

    channel: DiscreteLaplace

    def outputs_of(self, values: IntArray, drawn: IntArray) -> Outputs:
        channel = self.channel
        noise = np.searchsorted(np.array(channel.thresholds, np.int64), drawn, side="right") - (channel.size - 1)
        return np.asarray(np.clip(values + noise, 0, channel.size - 1))

    def matrix(self) -> FloatArray:
        places = np.arange(self.channel.size)
        noise = np.array([*self.channel.noise, 0]) / TOTAL
        tails = np.array([TOTAL - self.channel.tails[0], *self.channel.tails]) / TOTAL
        matrix = noise[np.abs(places[:, None] - places)]
        matrix[0], matrix[-1] = tails, tails[::-1]
        return np.asarray(matrix)


FORMS: Final = {DiscreteLaplace: _LaplaceArrays}
