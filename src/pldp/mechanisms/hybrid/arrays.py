"""The hybrid mechanism over arrays."""

from dataclasses import replace
from typing import Final

import numpy as np

from pldp.mechanisms.arrays import IntArray, NumberArrays, Outputs, Pieces
from pldp.mechanisms.hybrid.channel import HybridMechanism
from pldp.mechanisms.output import TOTAL
from pldp.mechanisms.window.arrays import window_outputs, window_pieces


class _HybridArrays(NumberArrays):
    """HM: the outputs of PM, then the two of SR."""

    channel: HybridMechanism

    def outputs_of(self, values: IntArray, drawn: IntArray) -> Outputs:
        channel = self.channel
        window = window_outputs(channel.width, channel.inside, channel.outside, values, drawn)
        rounded = drawn - channel.piecewise_weight
        upper = channel.piecewise_outputs + (rounded < channel.first + channel.step * values)
        return np.where(rounded >= 0, upper, window)

    def pieces(self) -> Pieces:
        channel, size = self.channel, self.channel.size
        found = window_pieces(size, channel.form.count, channel.width, channel.inside, channel.outside)
        upper = channel.first + channel.step * np.arange(size)
        lower = TOTAL - channel.piecewise_weight - upper
        found.envelope[channel.piecewise_outputs : channel.piecewise_outputs + 2] = 1, 2
        return replace(found, envelopes=np.stack([np.ones(size), lower / TOTAL, upper / TOTAL]))


FORMS: Final = {HybridMechanism: _HybridArrays}
