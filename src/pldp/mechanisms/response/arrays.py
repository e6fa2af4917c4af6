"""Randomized response over arrays: k-RR, IPRR, APRR and PRR."""

from collections.abc import Callable
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.mechanisms.arrays import (
    CHUNK,
    ByteArray,
    ByValue,
    ChannelArrays,
    FloatArray,
    IntArray,
    LabelArrays,
    Numbers,
    Outputs,
    PersonalArrays,
    Pieces,
    require_dense,
)
from pldp.mechanisms.draws import TOTAL
from pldp.mechanisms.response.channel import RandomizedResponse
from pldp.mechanisms.response.values import ItemResponse, ValueResponse

Threshold = Callable[[slice], Any]
"""From some people to the weights of their truths."""


def respond(values: npt.NDArray[Any], size: int, truth: Threshold, generator: np.random.Generator) -> Outputs:
    """Keep a value if a 53-bit number is below its truth's weight, else take another value uniformly."""
    outputs = np.empty(len(values), np.min_scalar_type(size - 1))
    draws = np.promote_types(outputs.dtype, np.uint16)  # NumPy draws bounded bytes three times slower
    for start in range(0, len(values), CHUNK):
        part = slice(start, start + CHUNK)
        own, threshold = values[part], truth(part)
        keep = (generator.bit_generator.random_raw(len(own)) >> np.uint64(11)) < threshold
        other = generator.integers(0, size - 1, len(own), dtype=draws).astype(outputs.dtype, copy=False)
        other += other >= own
        np.copyto(other, own, where=keep)
        outputs[part] = other
    return outputs


class Direct(LabelArrays):
    """A report names one value: cell y supports y alone."""

    separable: ClassVar[bool] = True

    @property
    def low(self) -> Numbers:
        """q."""
        return self.other_support

    @property
    def step(self) -> Numbers:
        """p − q."""
        return self.contrast

    def supported(self, outputs: Outputs) -> npt.NDArray[np.float32]:
        """The value that is named."""
        return np.asarray(outputs.astype(np.int64)[:, None] == np.arange(self.channel.size), np.float32)

    def support(self, counts: npt.NDArray[Any]) -> FloatArray:
        """A report supports the value it names."""
        return counts.astype(np.float64)

    def support_sum(self, numbers: FloatArray, cells: ByteArray | None) -> FloatArray:
        """A cell supports one value."""
        del cells
        return numbers

    def support_total(self, weights: FloatArray, cells: ByteArray | None) -> FloatArray:
        """A value is supported by one cell."""
        del cells
        return weights

    def pair_support(self, weights: FloatArray, cells: ByteArray | None) -> FloatArray:
        """No cell supports two values."""
        del cells
        return np.diag(weights)

    def joint_support(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
        """No report supports two values."""
        del shares
        return np.zeros((len(chosen), len(chosen)))


class _CommonNoise(Direct):
    """Say the truth with p − q, which all values share, else any value by its q."""

    channel: RandomizedResponse | ItemResponse

    def draw_counts(self, people: IntArray, generator: np.random.Generator) -> npt.NDArray[np.int64]:
        """Draw how many say the truth on purpose, then whom the others name."""
        noise = np.array([float(q) for q in self.channel.other_supports])
        kept = generator.binomial(people, 1 - noise.sum())
        return np.asarray(kept + generator.multinomial(int(people.sum() - kept.sum()), noise / noise.sum()))


class ResponseArrays(_CommonNoise, PersonalArrays):
    """k-RR: cell y has L_yj = q, plus p − q where j = y. As a channel for numbers it is a window of width 1."""

    channel: RandomizedResponse

    def draw_many(self, values: npt.NDArray[Any], generator: np.random.Generator) -> Outputs:
        """Draw one output per person."""
        weight = np.array([self.channel.truth_weight], np.uint64)
        return respond(values, self.channel.size, lambda _: weight, generator)

    def draw_levels(
        self,
        others: list[ChannelArrays],
        values: npt.NDArray[Any],
        level: npt.NDArray[Any],
        generator: np.random.Generator,
    ) -> Outputs | None:
        """Draw for all levels at once: only the truth's weight differs."""
        channels = [each.channel for each in (self, *others)]
        responses = [each for each in channels if isinstance(each, RandomizedResponse)]
        if len(responses) < len(channels):
            return None
        weights = np.array([each.truth_weight for each in responses], np.uint64)
        return respond(values, self.channel.size, lambda part: weights[level[part]], generator)

    def draw_personal(self, values: npt.NDArray[Any], epsilon: FloatArray, generator: np.random.Generator) -> Outputs:
        """Draw with a truth's weight per person, computed where it is used."""
        return respond(
            values,
            self.channel.size,
            lambda part: self.personal_weights(epsilon[part])[0].astype(np.uint64),
            generator,
        )

    def weighted_support(self, outputs: Outputs, weights: FloatArray) -> FloatArray:
        """Add up the weights of those who name a value."""
        size = self.channel.size
        if outputs.ndim != 1 or outputs.dtype.kind not in "iu" or int(outputs.min()) < 0 or int(outputs.max()) >= size:
            raise EstimateError(f"outputs must be integers from 0 to {size - 1}; some are not")
        return np.asarray(np.bincount(outputs, weights=weights, minlength=size), np.float64)

    def pieces(self) -> Pieces:
        """A window of one value."""
        channel = self.channel
        size = channel.size
        found = Pieces.none(size, size)
        found.base[:-1], found.lift[:-1] = channel.other_weight / TOTAL, channel.truth_weight / channel.other_weight - 1
        found.start[:-1] = np.arange(size)
        found.stop[:-1] = found.start[:-1] + 1
        return found

    def unbiased(self) -> FloatArray:
        """The middle of the named bucket, stretched away from the middle of all."""
        size = self.channel.size
        slope = (self.channel.truth_weight - self.channel.other_weight) / TOTAL
        return np.asarray((2 * np.arange(size) + 1 - size) / (slope * size))


class ItemResponseArrays(_CommonNoise):
    """IPRR: cell y has L_yj = q_y, plus S where j = y."""

    channel: ItemResponse

    def draw_many(self, values: npt.NDArray[Any], generator: np.random.Generator) -> Outputs:
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

    def backward(self, weights: FloatArray, cells: ByteArray | None) -> FloatArray:
        """Here low belongs to the cell, not to the value."""
        del cells
        return np.asarray(self.low @ weights + self.step * weights)


class ValueResponseArrays(ByValue, Direct):
    """APRR: cell y has L_yj = q_j, plus p_j − q_j where j = y; what all values add to every cell is s = Σ q_j f_j.

    So f_y = (m_y − s)/(p_y − q_y) of the outputs' shares m, and Σ q_y f_y = s gives s = v·m with
    v = q/(p−q) / (1 + Σ q/(p−q)).
    """

    separable: ClassVar[bool] = False

    channel: ValueResponse

    def __init__(self, channel: ValueResponse) -> None:
        super().__init__(channel)
        self._replaced = np.array(channel.other_weights) / TOTAL
        self._gain = np.array(channel.truth_weights) / TOTAL - self._replaced
        parts = self._replaced / self._gain
        self._parts = parts / (1 + parts.sum())

    @property
    def low(self) -> FloatArray:
        """q of each value as a source."""
        return self._replaced

    @property
    def step(self) -> FloatArray:
        """p − q of each value as a source."""
        return self._gain

    def draw_many(self, values: npt.NDArray[Any], generator: np.random.Generator) -> Outputs:
        """Draw one output per person, with the weight of the value."""
        weights = np.array(self.channel.truth_weights, np.uint64)[values]
        return respond(values, self.channel.size, lambda part: weights[part], generator)

    def chance_support(self) -> FloatArray:
        """All values get as many replacements of others, their own part left out."""
        size = len(self._replaced)
        return np.full(size, self._replaced @ np.full(size, 1 / size))

    def shares(self, support: FloatArray) -> FloatArray:
        """Return the unbiased shares (m − s)/(p − q)."""
        return np.asarray((support - self._parts @ support) / self._gain)

    def variance(self, shares: FloatArray) -> FloatArray:
        """Return the diagonal of the covariance without the rest of it."""
        named = self.forward(np.clip(shares, 0.0, 1.0), None)
        spread = named * (1 - 2 * self._parts) + named @ self._parts**2
        return np.asarray((spread - (named - self._parts @ named) ** 2) / self._gain**2)

    def covariance(self, shares: FloatArray, chosen: npt.NDArray[np.intp] | None = None) -> FloatArray:
        """Return A(diag m − mmᵀ)Aᵀ of the inverse channel A = diag(1/(p−q))(I − 1vᵀ)."""
        if chosen is None:
            chosen = np.arange(len(shares))
        require_dense(len(chosen))
        named = self.forward(np.clip(shares, 0.0, 1.0), None)
        mean = (named - self._parts @ named)[chosen]
        shared = (named * self._parts)[chosen]
        products = np.diag(named[chosen]) - shared[:, None] - shared[None, :] + named @ self._parts**2
        gain = self._gain[chosen]
        return np.asarray((products - np.outer(mean, mean)) / np.outer(gain, gain))


FORMS: Final = {
    RandomizedResponse: ResponseArrays,
    ItemResponse: ItemResponseArrays,
    ValueResponse: ValueResponseArrays,
}
