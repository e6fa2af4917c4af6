"""Blocks of finite geometries over arrays: one fast transform finds the support of all values."""

from abc import abstractmethod
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from pldp.mechanisms.arrays import CHUNK, Cells, FloatArray, IntArray, LabelArrays, Outputs, Values
from pldp.mechanisms.projective.blocks import BlockChannel, points
from pldp.mechanisms.projective.channel import ProjectiveResponse
from pldp.mechanisms.projective.pairs import HashedPairs
from pldp.mechanisms.projective.transform import exact_sums, hyperplane_sums

_LARGEST_KEPT: Final = 1 << 18
"""Blocks times values of a table that is kept: below, a product is faster than the transform."""

_ROWS_AT_ONCE: Final = 1 << 12
_PAIRS_AT_ONCE: Final = 1 << 16


class _BlockArrays(LabelArrays):
    """L_cj = Pr(a block without the value), times the number of blocks; more where block c contains value j.

    Blocks are made of hyperplanes of a space of `length` coordinates, and values are its points from `first` on.
    """

    channel: BlockChannel

    @property
    @abstractmethod
    def length(self) -> int:
        """The number of coordinates of the space."""

    @property
    @abstractmethod
    def first(self) -> int:
        """The number of the point that stands for the first value."""

    def draw_many(self, values: Values, generator: Generator) -> Outputs:
        """Draw whether a block contains the value, and its number among those that do or do not."""
        channel = self.channel
        design = channel.design
        outputs = np.empty(len(values), np.min_scalar_type(design.blocks - 1))
        for start in range(0, len(values), CHUNK):
            own = values[start : start + CHUNK].astype(np.int64)
            drawn = generator.bit_generator.random_raw(len(own)) >> np.uint64(11)
            rest = drawn >= np.uint64(channel.truth_weight)
            number = generator.integers(0, np.where(rest, design.blocks - design.own, design.own))
            outputs[start : start + CHUNK] = self.blocks(own, rest, number)
        return outputs

    @abstractmethod
    def blocks(self, values: IntArray, rest: npt.NDArray[np.bool_], numbers: IntArray) -> IntArray:
        """Return what a device makes of each value, kind of block and number."""

    @abstractmethod
    def to_hyperplanes(self, weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return, for every hyperplane, the sum of the weights of the blocks that it is in."""

    @abstractmethod
    def to_blocks(self, sums: FloatArray) -> FloatArray:
        """Return, for every block, the sum of the numbers of its hyperplanes."""

    @property
    @abstractmethod
    def joint(self) -> tuple[float, float, float]:
        """Pr(a report supports both i and j) for a true value that is one of them, on their line, or elsewhere."""

    def log_ceiling(self, cells: Cells) -> FloatArray:
        """All blocks that contain a value are equally likely."""
        design = self.channel.design
        return np.broadcast_to(np.log(float(self.channel.truth_support) / design.own), design.blocks)

    @cached_property
    def low(self) -> float:
        design = self.channel.design
        return float((1 - self.channel.truth_support) * design.blocks / (design.blocks - design.own))

    @cached_property
    def step(self) -> float:
        design = self.channel.design
        return float(self.channel.truth_support * design.blocks / design.own) - self.low

    @cached_property
    def _starts(self) -> IntArray:
        return np.array([points(self.channel.order, place) for place in range(self.length + 1)], np.int64)

    @cached_property
    def _powers(self) -> IntArray:
        return np.array([self.channel.order**place for place in range(self.length + 1)], np.int64)

    def _vectors(self, numbers: IntArray) -> IntArray:
        """Return the coordinates of points as digits of one number, with their last 1."""
        last = self._last(numbers)
        return np.asarray(numbers - self._starts[last] + self._powers[last])

    def _last(self, numbers: IntArray) -> IntArray:
        """Return the place of the last coordinate of points, a 1."""
        return np.searchsorted(self._starts, numbers, side="right") - 1

    def _product(self, one: IntArray, two: IntArray, length: int) -> IntArray:
        """Return Σ one_i two_{t−1−i} of the digits of numbers."""
        order, total = self.channel.order, np.zeros(np.broadcast_shapes(one.shape, two.shape), np.int64)
        for place in range(length):
            total += (one // order**place % order) * (two // order ** (length - 1 - place) % order)
        return total

    def _inside(self, hyperplanes: IntArray) -> npt.NDArray[np.bool_]:
        """Tell which values hyperplanes contain, hyperplanes × values."""
        values = self._vectors(np.arange(self.first, self.first + self.channel.size))
        products = self._product(self._vectors(hyperplanes)[:, None], values[None, :], self.length)
        return np.asarray(products % self.channel.order == 0)

    @cached_property
    def _table(self) -> FloatArray | None:
        """1 where a block contains a value, blocks × values, if it is small."""
        blocks = self.channel.design.blocks
        small = blocks * self.channel.size <= _LARGEST_KEPT
        return self.supported(np.arange(blocks)).astype(np.float64) if small else None

    def support(self, counts: npt.NDArray[Any]) -> FloatArray:
        sums = exact_sums(self.to_hyperplanes(counts.astype(np.int64)), self.channel.order, self.length)
        return self._of_values(sums)

    def support_total(self, weights: FloatArray, cells: Cells) -> FloatArray:
        """Σ weights of the blocks that contain each value, by one transform."""
        if self._table is not None:
            return np.asarray(weights @ self._table)
        return self._of_values(hyperplane_sums(self.to_hyperplanes(weights), self.channel.order, self.length))

    def _of_values(self, sums: FloatArray) -> FloatArray:
        return sums[self.first : self.first + self.channel.size].copy()

    def _of_points(self, numbers: FloatArray) -> FloatArray:
        """Return the numbers of values as those of points."""
        padded = np.zeros(int(self._starts[-1]))
        padded[self.first : self.first + len(numbers)] = numbers
        return padded

    def support_sum(self, numbers: FloatArray, cells: Cells) -> FloatArray:
        """Σ numbers of the values in each block, by the same transform: points and hyperplanes may change places."""
        if self._table is not None:
            return np.asarray(self._table @ numbers)
        return self.to_blocks(hyperplane_sums(self._of_points(numbers), self.channel.order, self.length))

    def pair_support(self, weights: FloatArray, cells: Cells) -> FloatArray:
        matrix = np.zeros((self.channel.size, self.channel.size))
        used = np.flatnonzero(weights)
        for start in range(0, len(used), _ROWS_AT_ONCE):
            some = used[start : start + _ROWS_AT_ONCE]
            rows = self.supported(some) * np.sqrt(weights[some])[:, None]
            matrix += rows.T @ rows
        return matrix

    def joint_support(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
        """Two values share a block in three ways: the true value is one of them, on their line, or neither."""
        own, line, generic = self.joint
        some = shares[chosen]
        either = some[:, None] + some[None, :]
        return np.asarray(
            generic + (own - generic) * either + (line - generic) * (self._line_sums(shares, chosen) - either)
        )

    def _line_sums(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
        """Return the shares of all values on the line through i and j, for chosen values i ≠ j."""
        padded = self._of_points(shares)
        sums = np.zeros((len(chosen), len(chosen)))
        above = np.triu_indices(len(chosen), 1)
        numbers = chosen.astype(np.int64) + self.first
        for start in range(0, len(above[0]), _PAIRS_AT_ONCE):
            low, high = (side[start : start + _PAIRS_AT_ONCE] for side in above)
            one, two = np.minimum(numbers[low], numbers[high]), np.maximum(numbers[low], numbers[high])
            sums[low, high] = sums[high, low] = self._line_sum(padded, one, two)
        return sums

    def _line_sum(self, padded: FloatArray, one: IntArray, two: IntArray) -> FloatArray:
        """Add up the shares on the lines through pairs of points, the second with the larger number.

        They hold d and two + c·d, c = 0 … q−1; d ends before `two`: it is one − two if both end in one place, else one.
        """
        order, last = self.channel.order, self._last(two)
        same = last == self._last(one)
        start = [self._vectors(two) // power % order for power in self._powers[:-1]]
        step = [
            (self._vectors(one) // power - same * digit) % order
            for power, digit in zip(self._powers, start, strict=False)
        ]
        origin = self._starts[last] - self._powers[last]
        total = padded[self._normalised(step)]
        for factor in range(order):
            digits = ((digit + factor * by) % order for digit, by in zip(start, step, strict=True))
            total += padded[origin + sum(digit * power for digit, power in zip(digits, self._powers, strict=False))]
        return np.asarray(total)

    def _normalised(self, digits: list[IntArray]) -> IntArray:
        """Return the points of vectors, divided by their last coordinate that is not 0."""
        order = self.channel.order
        last = np.zeros_like(digits[0])
        lead = np.zeros_like(digits[0])
        for place, digit in enumerate(digits):
            last[digit > 0] = place
            lead = np.where(digit > 0, digit, lead)
        inverse = np.array([0, *(pow(number, -1, order) for number in range(1, order))], np.int64)[lead]
        vector = sum(digit * inverse % order * power for digit, power in zip(digits, self._powers, strict=False))
        return np.asarray(vector - self._powers[last] + self._starts[last])


class _ProjectiveArrays(_BlockArrays):
    """A block is a hyperplane."""

    channel: ProjectiveResponse

    @property
    def length(self) -> int:
        return self.channel.length

    @property
    def first(self) -> int:
        return 0

    def blocks(self, values: IntArray, rest: npt.NDArray[np.bool_], numbers: IntArray) -> IntArray:
        """As `ProjectiveResponse.block`, for many."""
        order = self.channel.order
        last = self._last(values)
        solved = self.length - 1 - last
        start, power = self._starts[solved], self._powers[solved]
        number, result = np.divmod(numbers - np.where(rest, power, start), np.where(rest, order - 1, 1))
        later, before = np.divmod(number, power)
        digits = (values - self._starts[last]) * power
        product = self._product(self._vectors(np.maximum(later, 0)), digits, self.length - 1)
        missing = (result + rest - product) % order
        found = self._starts[solved + 1] + before + power * (missing + order * later)
        return np.where(number < 0, numbers + start * rest, found)

    def supported(self, outputs: Outputs) -> npt.NDArray[np.float32]:
        return self._inside(outputs.astype(np.int64)).astype(np.float32)

    def to_hyperplanes(self, weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return weights

    def to_blocks(self, sums: FloatArray) -> FloatArray:
        return sums

    @property
    def joint(self) -> tuple[float, float, float]:
        """A hyperplane with two points has their line, and it meets a third point as often as any other."""
        design, p = self.channel.design, float(self.channel.truth_support)
        three = points(self.channel.order, self.length - 3)
        line = p * design.common / design.own
        strangers = (1 - p) * (design.common - three) / (design.blocks - design.own)
        return line, line, p * three / design.own + strangers


class _PairArrays(_BlockArrays):
    """A block is two parallel hyperplanes: (u₀, u) with one function u and two groups u₀; a value is (x, 1)."""

    channel: HashedPairs

    @property
    def length(self) -> int:
        return self.channel.length + 1

    @property
    def first(self) -> int:
        return points(self.channel.order, self.channel.length)

    @cached_property
    def _groups(self) -> IntArray:
        """The two groups of every pair, in order."""
        order = self.channel.order
        return np.array([(low, high) for high in range(order) for low in range(high)], np.int64)

    def blocks(self, values: IntArray, rest: npt.NDArray[np.bool_], numbers: IntArray) -> IntArray:
        """As `HashedPairs.block`, for many."""
        order = self.channel.order
        pairs = len(self._groups)
        function, place = np.divmod(numbers, np.where(rest, pairs - order + 1, order - 1))
        own = -self._product(self._vectors(function), values, self.length - 1) % order
        low, high = self._groups[place].T
        other = place + (place >= own)
        first = np.where(rest, low + (low >= own), np.minimum(own, other))
        second = np.where(rest, high + (high >= own), np.maximum(own, other))
        return np.asarray(function * pairs + second * (second - 1) // 2 + first)

    def drawn_blindly(self, counts: npt.NDArray[Any]) -> IntArray:
        """Count the functions: each is as likely as any other."""
        return np.asarray(counts.reshape(-1, len(self._groups)).sum(axis=1))

    def supported(self, outputs: Outputs) -> npt.NDArray[np.float32]:
        function, pair = np.divmod(outputs.astype(np.int64), len(self._groups))
        low, high = (1 + self.channel.order * function + groups for groups in self._groups[pair].T)
        return (self._inside(low) | self._inside(high)).astype(np.float32)

    def to_hyperplanes(self, weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
        table = weights.reshape(-1, len(self._groups))
        sums = np.zeros((len(table), self.channel.order), weights.dtype)
        for pair, (low, high) in enumerate(self._groups):
            sums[:, low] += table[:, pair]
            sums[:, high] += table[:, pair]
        return np.concatenate([np.zeros(1, weights.dtype), sums.reshape(-1)])  # the first one is in no block

    def to_blocks(self, sums: FloatArray) -> FloatArray:
        table = sums[1:].reshape(-1, self.channel.order)
        return np.concatenate([table[:, [low]] + table[:, [high]] for low, high in self._groups], axis=1).reshape(-1)

    @property
    def joint(self) -> tuple[float, float, float]:
        """Two values are in one group by chance, and three on a line are in one group or in three."""
        order, p = self.channel.order, float(self.channel.truth_support)
        functions, two, three = (points(order, self.channel.length - less) for less in range(3))
        alike, all_alike = two / functions, three / functions
        mixed = p / (order - 1)  # the value's own group and a given other one
        strange = (1 - p) / ((order - 1) * (order - 2) / 2)  # two given others
        other = mixed + strange * (order - 2)  # a given other group
        elsewhere = all_alike * p + (alike - all_alike) * (other + 2 * mixed)
        elsewhere += (1 - 3 * alike + 2 * all_alike) * strange
        return alike * p + (1 - alike) * mixed, alike * p + (1 - alike) * strange, elsewhere


FORMS: Final = {ProjectiveResponse: _ProjectiveArrays, HashedPairs: _PairArrays}
