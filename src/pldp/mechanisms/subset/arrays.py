"""Subset selection over arrays: sets drawn as whole words of bits, sorted by their number of ones."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from pldp.epsilon import MICRO
from pldp.errors import EstimateError
from pldp.mechanisms.arrays import (
    ByteArray,
    Cells,
    ChannelArrays,
    FloatArray,
    LabelArrays,
    Outputs,
    PersonalArrays,
    Values,
)
from pldp.mechanisms.output import TOTAL, Bits, Places
from pldp.mechanisms.rows import BitRows, popcount, rows_of
from pldp.mechanisms.subset.channel import SubsetSelection, best_chosen, slack
from pldp.mechanisms.subset.words import draw_places, draw_words

Threshold = Callable[[slice], Any]
"""From some people to the weight of having their true value in the set."""


class _SubsetArrays(PersonalArrays):
    """SS: set y has L_yj = 1 − p, and p(k−d)/d where it contains j, times what all values share: 1/C(k−1, d)."""

    channel: SubsetSelection

    @cached_property
    def rows(self) -> BitRows:
        """What reads the rows."""
        return rows_of(self.channel.form)

    @cached_property
    def low(self) -> float:
        return float(1 - self.channel.truth_support)

    @cached_property
    def step(self) -> float:
        channel = self.channel
        return float(channel.truth_support * (channel.size - channel.chosen) / channel.chosen) - self.low

    def supported(self, outputs: Outputs) -> npt.NDArray[np.float32]:
        return self.rows.expanded(outputs)

    def support_sum(self, numbers: FloatArray, cells: Cells) -> FloatArray:
        return self.rows.sums(numbers, np.asarray(cells))

    def support_total(self, weights: FloatArray, cells: Cells) -> FloatArray:
        return self.rows.totals(weights, np.asarray(cells))

    def pair_support(self, weights: FloatArray, cells: Cells) -> FloatArray:
        return self.rows.pairs(weights, np.asarray(cells))

    def joint_support(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
        """Two values are in the set with p(d−1)/(k−1) if one is the true one, else with the chance of two others."""
        size, d, p = self.channel.size, self.channel.chosen, float(self.channel.truth_support)
        with_truth = p * (d - 1) / (size - 1)
        others = (p * (d - 1) * (d - 2) + (1 - p) * d * (d - 1)) / ((size - 1) * max(1, size - 2))
        some = shares[chosen]
        return np.asarray(others * shares.sum() + (with_truth - others) * (some[:, None] + some[None, :]))

    def sum_covariance(self, shares: FloatArray) -> FloatArray | None:
        """Every set has as many values, so the shares always sum to 1."""
        return None

    def _draw(self, values: Values, truth: Threshold, generator: Generator) -> ByteArray:
        form, size, chosen = self.channel.form, self.channel.size, self.channel.chosen
        if isinstance(form, Places):
            return draw_places(values, size, chosen, truth, generator, form.width)
        return draw_words(values, size, chosen, truth, generator)

    def draw_many(self, values: Values, generator: Generator) -> Outputs:
        weight = np.array([self.channel.truth_weight], np.uint64)
        return self._draw(values, lambda _: weight, generator)

    def draw_levels(
        self, others: list[ChannelArrays], values: Values, level: Values, generator: Generator
    ) -> Outputs | None:
        """Draw for all levels at once where all sets have one size: only the truth's weight differs."""
        alike = [each for each in (self, *others) if isinstance(each, _SubsetArrays)]
        if len(alike) <= len(others) or len({each.channel.chosen for each in alike}) > 1:
            return None
        weights = np.array([each.channel.truth_weight for each in alike], np.uint64)
        return self._draw(values, lambda part: weights[level[part]], generator)

    def fitted_to(self, epsilon: FloatArray) -> PersonalArrays:
        """Return the form whose sets have the size of least variance for these people together."""
        size, some = self.channel.size, epsilon[:: 1 + len(epsilon) // PEOPLE_ASKED]
        if not len(some):
            return self
        tried = np.arange(best_chosen(size, float(some.max())), best_chosen(size, float(some.min())) + 1)[:, None]
        p = 1 / (1 + (size - tried) / tried * np.exp(-some))
        precision = ((p * size - tried) ** 2 / (tried * (size - tried))).sum(axis=1)
        return _SubsetArrays(SubsetSelection.of(size, MICRO, int(tried[precision.argmax(), 0])))

    def fitted_to_outputs(self, outputs: Outputs) -> PersonalArrays:
        """Return the form whose sets have the size of the first one; all others must have it, too."""
        if outputs.ndim != 2 or outputs.dtype != np.uint8:
            raise EstimateError(f"outputs must be packed rows of bytes, not {outputs.dtype} of shape {outputs.shape}")
        size, bits = self.channel.size, Bits(self.channel.size)
        packed = outputs.shape[1] == bits.bytes
        chosen = int(popcount(outputs[0]).sum()) if packed else outputs.shape[1] // Places(size).width
        fitted = _SubsetArrays(SubsetSelection.of(size, MICRO, min(max(1, chosen), size - 1)))
        if outputs.shape[1] != fitted.channel.form.bytes or not fitted.rows.admitted(outputs).all():
            raise EstimateError(f"outputs must be sets of one size among {size:,} values; some are not")
        return fitted

    def personal_weights(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each person's p and q as weights of 2⁵³; p in whole ones, rounded towards more noise."""
        size, chosen = self.channel.size, self.channel.chosen
        rest = (size - chosen) * float(slack(size, chosen))
        outside = np.exp(epsilon)
        outside *= chosen
        outside += rest
        np.divide(TOTAL * rest, outside, out=outside)
        truth = TOTAL - np.ceil(outside) - 1
        if len(truth) and size * float(truth.min()) <= chosen * TOTAL:
            raise EstimateError(f"epsilon is too small for {size:,} values: integer weights cannot tell them apart")
        return truth, (chosen * TOTAL - truth) / (size - 1)

    def draw_personal(self, values: Values, epsilon: FloatArray, generator: Generator) -> Outputs:
        return self._draw(values, lambda part: self.personal_weights(epsilon[part])[0], generator)

    def weighted_support(self, outputs: Outputs, weights: FloatArray) -> FloatArray:
        return self.support_total(weights, np.ascontiguousarray(outputs.T))


PEOPLE_ASKED: Final = 1024
"""People at most whose ε decides about the size of the sets."""

FORMS: Final[dict[type, type[LabelArrays]]] = {SubsetSelection: _SubsetArrays}
