"""Laplace noise on a grid over arrays."""

from dataclasses import replace
from typing import Final

import numpy as np

from pldp.mechanisms.arrays import FloatArray, IntArray, NumberArrays, Outputs, Pieces
from pldp.mechanisms.laplace.channel import DiscreteLaplace
from pldp.mechanisms.laplace.wide import WideLaplace
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


class _WideArrays(NumberArrays):
    """Noise by distance; what goes beyond a far end is put back to it.

    All outputs below the values have one envelope, α^t, and all above its mirror image: they differ by a factor.
    """

    channel: WideLaplace

    def outputs_of(self, values: IntArray, drawn: IntArray) -> Outputs:
        channel = self.channel
        noise = np.searchsorted(np.array(channel.thresholds, np.int64), drawn, side="right") - channel.farthest
        return np.asarray(np.clip(values + noise + channel.beyond, 0, channel.form.count - 1))

    def pieces(self) -> Pieces:
        channel = self.channel
        size, beyond, count = channel.size, channel.beyond, channel.form.count
        noise, tail = np.array(channel.noise) / TOTAL, channel.tails[beyond - 1] / TOTAL
        places = np.arange(size)
        falling = (channel.decay / TOTAL) ** places
        inside = noise[np.abs(places[:, None] - places)]
        found = Pieces.none(size, count)
        found.envelope[:beyond], found.envelope[beyond + size : count] = 1, 2
        found.envelope[beyond : beyond + size] = 3 + places
        near = np.concatenate([[tail], noise[1:beyond][::-1]])  # from the far end to the bucket next to a bound
        found.base[:beyond], found.base[beyond + size : count] = near, near[::-1]
        envelopes = np.concatenate([found.envelopes, [falling, falling[::-1]], inside])
        return replace(found, envelopes=envelopes)

    def unbiased(self) -> FloatArray:
        channel = self.channel
        numbers = (2 * (np.arange(channel.form.count) - channel.beyond) + 1 - channel.size) / channel.size
        numbers[0], numbers[-1] = float(channel.unbiased(0)), float(channel.unbiased(channel.form.count - 1))
        return np.asarray(numbers)


FORMS: Final = {DiscreteLaplace: _LaplaceArrays, WideLaplace: _WideArrays}
