"""Randomized response over arrays: k-RR, IPRR, APRR and PRR."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from pldp.errors import EstimateError
from pldp.mechanisms.arrays import (
    CHUNK,
    ByValue,
    Cells,
    ChannelArrays,
    FloatArray,
    IntArray,
    LabelArrays,
    Numbers,
    Outputs,
    PersonalArrays,
    Pieces,
    Values,
    Whole,
    columns,
    require_dense,
)
from pldp.mechanisms.honest import Range
from pldp.mechanisms.laws import CellLaw, SupportLaw
from pldp.mechanisms.output import TOTAL
from pldp.mechanisms.response.channel import RandomizedResponse
from pldp.mechanisms.response.values import ItemResponse, ValueResponse
from pldp.mechanisms.window.arrays import window_pieces

Threshold = Callable[[slice], Any]
"""From some people to the weights of their truths."""


def respond(values: Values, size: int, truth: Threshold, generator: Generator) -> Outputs:
    """Keep a value if a 53-bit number is below its truth's weight, else take another value uniformly."""
    outputs = np.empty(len(values), np.min_scalar_type(size - 1))
    draws = np.promote_types(outputs.dtype, np.uint16)  # NumPy draws bounded bytes three times slower
    for start in range(0, len(values), CHUNK):
        part = slice(start, start + CHUNK)
        own, threshold = values[part], np.asarray(truth(part), np.uint64)
        keep = (generator.bit_generator.random_raw(len(own)) >> np.uint64(11)) < threshold
        other = generator.integers(0, size - 1, len(own), dtype=draws).astype(outputs.dtype, copy=False)
        other += other >= own
        np.copyto(other, own, where=keep)
        outputs[part] = other
    return outputs


class _Direct(LabelArrays):
    """A report names one value: cell y supports y alone."""

    separable = True

    independent_supports = True

    @cached_property
    def low(self) -> Numbers:
        return self.other_support

    @cached_property
    def step(self) -> Numbers:
        return self.contrast

    def supported(self, outputs: Outputs) -> npt.NDArray[np.float32]:
        return np.asarray(outputs.astype(np.int64)[:, None] == np.arange(self.channel.size), np.float32)

    def mark_codes(self, outputs: Outputs) -> npt.NDArray[np.intp]:
        """Every report names one value."""
        return outputs.astype(np.intp)

    def support_sum(self, numbers: FloatArray, cells: Cells) -> FloatArray:
        return numbers

    def support_total(self, weights: FloatArray, cells: Cells) -> FloatArray:
        return weights

    def pair_support(self, weights: FloatArray, cells: Cells) -> FloatArray:
        return np.diag(weights)

    def joint_support(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
        return np.zeros((len(chosen), len(chosen)))

    def sum_covariance(self, shares: FloatArray) -> FloatArray | None:
        """Every report names one value, so the shares always sum to 1."""
        return None


class _CommonNoise(_Direct):
    """Say the truth with p − q, which all values share, else any value by its q."""

    channel: RandomizedResponse | ItemResponse

    def draw_counts(self, people: IntArray, generator: Generator) -> IntArray:
        """Draw how many say the truth on purpose, then whom the others name."""
        noise = np.array([float(q) for q in self.channel.other_supports])
        kept = generator.binomial(people, 1 - noise.sum())
        return np.asarray(kept + generator.multinomial(int(people.sum() - kept.sum()), noise / noise.sum()))


class ResponseArrays(_CommonNoise, PersonalArrays):
    """k-RR: cell y has L_yj = q, plus p − q where j = y. As a channel for numbers it is a window of width 1."""

    channel: RandomizedResponse

    def draw_many(self, values: Values, generator: Generator) -> Outputs:
        """Draw one output per person."""
        weight = np.array([self.channel.truth_weight], np.uint64)
        return respond(values, self.channel.size, lambda _: weight, generator)

    def outputs_of(self, values: IntArray, drawn: IntArray) -> IntArray:
        """Return what a device makes of the 53-bit numbers, for many people."""
        other = (drawn - self.channel.truth_weight) // self.channel.other_weight
        return np.where(other < 0, values, other + (other >= values))

    def draw_levels(
        self, others: list[ChannelArrays], values: Values, level: Values, generator: Generator
    ) -> Outputs | None:
        """Draw for all levels at once: only the truth's weight differs."""
        responses = [each for each in (self, *others) if isinstance(each, ResponseArrays)]
        if len(responses) <= len(others):
            return None
        weights = np.array([each.channel.truth_weight for each in responses], np.uint64)
        return respond(values, self.channel.size, lambda part: weights[level[part]], generator)

    def draw_personal(self, values: Values, epsilon: FloatArray, generator: Generator) -> Outputs:
        """Draw with a truth's weight per person, computed where it is used."""
        return respond(values, self.channel.size, lambda part: self.personal_weights(epsilon[part])[0], generator)

    def weighted_support(self, outputs: Outputs, weights: FloatArray) -> FloatArray:
        """Add up the weights of those who name a value."""
        size = self.channel.size
        if outputs.ndim != 1 or outputs.dtype.kind not in "iu" or int(outputs.min()) < 0 or int(outputs.max()) >= size:
            raise EstimateError(f"outputs must be integers from 0 to {size - 1}; some are not")
        return np.asarray(np.bincount(outputs, weights=weights, minlength=size), np.float64)

    def pieces(self) -> Pieces:
        """A window of one value."""
        channel = self.channel
        return window_pieces(channel.size, channel.size, 1, channel.truth_weight, channel.other_weight)

    def unbiased(self) -> FloatArray:
        """The middle of the named bucket, stretched away from the middle of all."""
        size = self.channel.size
        slope = (self.channel.truth_weight - self.channel.other_weight) / TOTAL
        return np.asarray((2 * np.arange(size) + 1 - size) / (slope * size))


class _ItemResponseArrays(_CommonNoise):
    """IPRR: cell y has L_yj = q_y, plus S where j = y."""

    channel: ItemResponse

    def draw_many(self, values: Values, generator: Generator) -> Outputs:
        """Keep a value if a 53-bit number is below the common weight, else look up whose weight it falls into."""
        channel = self.channel
        outputs = np.empty(len(values), np.min_scalar_type(channel.size - 1))
        ends = np.cumsum(np.array([channel.kept_weight, *channel.other_weights], np.uint64))[1:]
        for start in range(0, len(values), CHUNK):
            part = slice(start, start + CHUNK)
            numbers = generator.bit_generator.random_raw(len(values[part])) >> np.uint64(11)
            drawn = numbers >= np.uint64(channel.kept_weight)
            outputs[part] = values[part]
            outputs[part][drawn] = np.searchsorted(ends, numbers[drawn], side="right")
        return outputs

    def cell_law(self, cells: Cells) -> CellLaw:
        """Every cell has its own low."""
        size = self.channel.size
        return CellLaw.of(np.arange(size), size, low=self.low, step=self.step)

    def backward(self, weights: FloatArray, cells: Cells) -> FloatArray:
        """Here low belongs to the cell, not to the value."""
        return np.asarray(self.low @ weights + self.step * weights)


class _ValueResponseArrays(ByValue, _Direct):
    """APRR: cell y has L_yj = q_j, plus p_j − q_j where j = y; what all values add to every cell is s = Σ q_j f_j.

    So f_y = (m_y − s)/(p_y − q_y) of the outputs' shares m, and Σ q_y f_y = s gives s = v·m with
    v = q/(p−q) / (1 + Σ q/(p−q)).
    """

    separable = False

    channel: ValueResponse

    @cached_property
    def low(self) -> FloatArray:
        return np.array(self.channel.other_weights) / TOTAL

    @cached_property
    def step(self) -> FloatArray:
        return np.array(self.channel.truth_weights) / TOTAL - self.low

    @cached_property
    def _supports(self) -> tuple[Numbers, Numbers, Numbers]:
        """Those of krr, which it is where all values have one budget."""
        if len(set(self.channel.other_weights)) > 1:
            return super()._supports
        low, step = float(self.low[0]), float(self.step[0])
        return low + step, low, step

    def cell_law(self, cells: Cells) -> CellLaw:
        """Low and step belong to the value."""
        return CellLaw.of(np.zeros(self.channel.size, np.intp), 1, low=1.0, step=1.0)

    def support_law(self) -> SupportLaw:
        """What all values add to every cell."""
        return SupportLaw.of(self.channel.size, constant=0.0, loading=self.low, slope=self.step)

    def statistic_covariance(self, shares: FloatArray) -> FloatArray:
        """Every report names one value."""
        named = self.forward(np.clip(shares, 0.0, 1.0), None)
        return np.asarray(np.diag(named) - np.outer(named, named))

    def support_range(self) -> Range:
        """Other values name this one with their own q."""
        truth = self.low + self.step
        return Range(np.minimum(truth, self.low.min()), np.maximum(truth, self.low.max()))

    @cached_property
    def _tier(self) -> npt.NDArray[np.intp]:
        """Which values are protected alike."""
        _, tier = np.unique(np.stack([self.low, self.step]), axis=1, return_inverse=True)
        return np.asarray(tier.reshape(-1), np.intp)

    def _by_tier(self, numbers: FloatArray) -> FloatArray:
        """Return sums over the other values of each tier, values × tiers (× columns)."""
        tiers = int(self._tier.max()) + 1
        sums = np.zeros((tiers, *numbers.shape[1:]))
        np.add.at(sums, self._tier, numbers)
        others = np.repeat(sums[None], len(numbers), axis=0)
        others[np.arange(len(numbers)), self._tier] -= numbers
        return others

    def pattern_law(self) -> FloatArray:
        """States are another value of each tier, and the value; patterns name another value of each tier, or it.

        With q of the true value, any other one is named with q, and the true one with p.
        """
        low, step, tiers = self.low, self.step, int(self._tier.max()) + 1
        first = [int(np.flatnonzero(self._tier == tier)[0]) for tier in range(tiers)]
        sizes = self._by_tier(np.ones(len(low)))
        law = np.empty((len(low), tiers + 1, tiers + 1))
        for state, value in enumerate(first):
            law[:, state, :-1] = low[value] * sizes
            law[:, state, state] += step[value]
            law[:, state, -1] = low[value]
        law[:, -1, :-1] = low[:, None] * sizes
        law[:, -1, -1] = low + step
        return law

    def output_patterns(self) -> npt.NDArray[np.intp] | None:
        """The tier of the value that is named, or the last pattern where that is the label itself."""
        found = np.repeat(self._tier[None], len(self._tier), axis=0)
        np.fill_diagonal(found, int(self._tier.max()) + 1)
        return found

    def pattern_states(self, shares: FloatArray, whole: Whole = 1.0) -> FloatArray:
        """Shares of the other values of each tier, and of the value itself."""
        del whole
        return np.concatenate([self._by_tier(shares), shares[:, None]], axis=1)

    def pattern_counts(self, support: FloatArray, reports: Whole) -> FloatArray:
        """Every report names one value."""
        del reports
        return np.concatenate([np.moveaxis(self._by_tier(support), 1, -1), support[..., None]], axis=-1)

    @cached_property
    def _parts(self) -> FloatArray:
        parts = self.low / self.step
        return np.asarray(parts / (1 + parts.sum()))

    def draw_many(self, values: Values, generator: Generator) -> Outputs:
        weights = np.array(self.channel.truth_weights, np.uint64)[values]
        return respond(values, self.channel.size, lambda part: weights[part], generator)

    def chance_support(self) -> FloatArray:
        """All values get as many replacements of others, their own part left out."""
        size = self.channel.size
        return np.full(size, self.low @ np.full(size, 1 / size))

    def shares(self, support: FloatArray, whole: Whole = 1.0) -> FloatArray:
        (step,) = columns(support, self.step)
        return np.asarray((support - self._parts @ support) / step)

    def squares(self, support: FloatArray, whole: Whole = 1.0) -> FloatArray:
        step, parts = columns(support, self.step, self._parts)
        return np.asarray(((1 - 2 * parts) * support + self._parts**2 @ support) / step**2)

    def expected_support(self, shares: FloatArray, whole: Whole = 1.0) -> FloatArray:
        (step,) = columns(shares, self.step)
        return np.asarray(self.low @ shares + step * shares)

    def variance(self, shares: FloatArray) -> FloatArray:
        named = self.forward(np.clip(shares, 0.0, 1.0), None)
        spread = named * (1 - 2 * self._parts) + named @ self._parts**2
        return np.asarray((spread - (named - self._parts @ named) ** 2) / self.step**2)

    def covariance(self, shares: FloatArray, chosen: npt.NDArray[np.intp] | None = None) -> FloatArray:
        """Return A(diag m − mmᵀ)Aᵀ of the inverse channel A = diag(1/(p−q))(I − 1vᵀ)."""
        chosen = np.arange(len(shares)) if chosen is None else chosen
        require_dense(len(chosen))
        named = self.forward(np.clip(shares, 0.0, 1.0), None)
        mean = (named - self._parts @ named)[chosen]
        shared = (named * self._parts)[chosen]
        products = np.diag(named[chosen]) - shared[:, None] - shared[None, :] + named @ self._parts**2
        gain = self.step[chosen]
        return np.asarray((products - np.outer(mean, mean)) / np.outer(gain, gain))


FORMS: Final = {
    RandomizedResponse: ResponseArrays,
    ItemResponse: _ItemResponseArrays,
    ValueResponse: _ValueResponseArrays,
}
