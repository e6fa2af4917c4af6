"""Stochastic rounding over arrays."""

from typing import Final

import numpy as np

from pldp.mechanisms.arrays import FloatArray, IntArray, NumberArrays, Outputs
from pldp.mechanisms.output import TOTAL
from pldp.mechanisms.rounding.channel import StochasticRounding


class _RoundingArrays(NumberArrays):
    """SR: two outputs, each linear in the value."""

    channel: StochasticRounding

    def outputs_of(self, values: IntArray, drawn: IntArray) -> Outputs:
        return np.asarray(drawn < self.channel.first + self.channel.step * values)

    def matrix(self) -> FloatArray:
        upper = (self.channel.first + self.channel.step * np.arange(self.channel.size)) / TOTAL
        return np.stack([1 - upper, upper])


FORMS: Final = {StochasticRounding: _RoundingArrays}
