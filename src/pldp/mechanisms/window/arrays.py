"""Window mechanisms over arrays."""

from typing import Final

import numpy as np

from pldp.mechanisms.arrays import FloatArray, IntArray, NumberArrays, Outputs, Pieces
from pldp.mechanisms.output import TOTAL
from pldp.mechanisms.window.channel import WindowChannel


def window_outputs(width: int, inside: int, outside: int, values: IntArray, drawn: IntArray) -> IntArray:
    """Return an output in the window of the value, or one of the others in order."""
    rest = drawn - width * inside
    other = rest // outside
    return np.where(rest >= 0, other + width * (other >= values), values + drawn // inside)


def window_pieces(size: int, count: int, width: int, inside: int, outside: int) -> Pieces:
    """Return the pieces of the first size + width − 1 outputs; the others are left for the caller."""
    windows = size + width - 1
    found = Pieces.none(size, count)
    found.base[:windows], found.lift[:windows] = outside / TOTAL, inside / outside - 1
    found.start[:windows] = np.maximum(np.arange(windows) - width + 1, 0)
    found.stop[:windows] = np.minimum(np.arange(windows) + 1, size)
    return found


class _WindowArrays(NumberArrays):
    """PM and SW: a likelihood is constant in and out of a window of values."""

    channel: WindowChannel

    def outputs_of(self, values: IntArray, drawn: IntArray) -> Outputs:
        return window_outputs(self.channel.width, self.channel.inside, self.channel.outside, values, drawn)

    def pieces(self) -> Pieces:
        channel = self.channel
        return window_pieces(channel.size, channel.form.count, channel.width, channel.inside, channel.outside)

    def unbiased(self) -> FloatArray:
        """The distance from the middle of all outputs, over the slope of the mean output."""
        channel, count = self.channel, self.channel.form.count
        slope = channel.width * (channel.inside - channel.outside) / TOTAL
        return np.asarray((2 * np.arange(count) + 1 - count) / (slope * channel.size))


FORMS: Final = {WindowChannel: _WindowArrays}
