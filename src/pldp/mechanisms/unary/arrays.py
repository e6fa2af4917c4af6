"""Unary encoding over arrays: rows of packed bits, 64 bits compared at a time."""

from collections.abc import Callable
from functools import cached_property
from math import lgamma
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from pldp.errors import EstimateError
from pldp.mechanisms.arrays import (
    CHUNK,
    ByteArray,
    ByValue,
    Cells,
    FloatArray,
    IntArray,
    Numbers,
    Outputs,
    PersonalArrays,
    Values,
    WordArray,
)
from pldp.mechanisms.honest import PairLaw
from pldp.mechanisms.laws import CellLaw
from pldp.mechanisms.output import BITS
from pldp.mechanisms.row_arrays import RowArrays
from pldp.mechanisms.unary.channel import UnaryEncoding
from pldp.mechanisms.unary.items import ItemUnaryEncoding

DENSE_ROUNDS: Final = 5
"""Binary digits compared for all words before only the undecided ones are followed."""

DigitMask = Callable[[int, npt.NDArray[np.intp]], np.uint64 | WordArray]
"""From a binary digit and the places of some words to that digit of the weight of each of their bits."""


def one_weight(weight: int) -> DigitMask:
    """All bits of all words have one weight."""
    return lambda digit, _: np.uint64(2**64 - 1 if weight >> digit & 1 else 0)


def word_weights(weights: WordArray) -> DigitMask:
    """All bits of a word have the weight of that word."""
    return lambda digit, place: np.uint64(0) - (weights[place] >> np.uint64(digit) & np.uint64(1))


def bernoulli_words(mask: DigitMask, words: int, generator: Generator) -> WordArray:
    """Return 64-bit words whose bits are 1 with probability weight/2³².

    Each bit compares its own random 32-bit number with the weight, highest digit first. Half of the bits are decided by
    each digit, so a word needs about seven random words instead of 64 random numbers.
    """
    bits = np.zeros(words, np.uint64)
    open_ = np.full(words, np.uint64(2**64 - 1))
    everywhere = np.arange(words)
    for digit in reversed(range(BITS - DENSE_ROUNDS, BITS)):
        _compare(bits, open_, mask(digit, everywhere), generator)
    left = np.flatnonzero(open_)
    for digit in reversed(range(BITS - DENSE_ROUNDS)):
        if not len(left):
            break
        some_bits, some_open = bits[left], open_[left]
        _compare(some_bits, some_open, mask(digit, left), generator)
        bits[left] = some_bits
        open_[left] = some_open
        left = left[some_open != 0]
    return bits


def _compare(bits: WordArray, open_: WordArray, mask: np.uint64 | WordArray, generator: Generator) -> None:
    """Decide one digit in place: a random 0 under digit 1 is below; equal digits stay open."""
    drawn = generator.bit_generator.random_raw(len(bits))
    differ = drawn ^ mask
    differ &= open_
    open_ ^= differ
    differ &= mask
    bits |= differ


def encode(
    values: Values, size: int, truth: Any, other: int | WordArray | DigitMask, generator: Generator, step: int = 0
) -> ByteArray:
    """Draw packed rows of noise bits, then each row's true bit again; weights are one for all, or one per person."""
    length = (size + 7) // 8
    words = -(-length // 8)
    rows = np.empty((len(values), length), np.uint8)
    truths = np.broadcast_to(np.asarray(truth, np.uint64), len(values))
    step = step or max(1, CHUNK * 8 // length)
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        own = values[part]
        if isinstance(other, int):
            noise = bernoulli_words(one_weight(other), -(-len(own) * length // 8), generator)
            rows[part] = noise.view(np.uint8)[: len(own) * length].reshape(-1, length)
        else:
            mask = other if callable(other) else word_weights(np.repeat(other[part], words))
            noise = bernoulli_words(mask, len(own) * words, generator)
            rows[part] = noise.view(np.uint8).reshape(-1, words * 8)[:, :length]
        _set_true_bits(rows[part], own, (generator.bit_generator.random_raw(len(own)) >> np.uint64(32)) < truths[part])
    if size % 8:
        rows[:, -1] &= (1 << size % 8) - 1
    return rows


def _set_true_bits(rows: ByteArray, values: Values, ones: npt.NDArray[np.bool_]) -> None:
    place = (np.arange(len(rows)), values >> 3)
    mask = np.left_shift(np.uint8(1), (values & 7).astype(np.uint8))
    rows[place] = (rows[place] & ~mask) | (mask * ones)


def binomial(trials: int, chance: float) -> FloatArray:
    """Return the probability of each number of successes, 0 … trials."""
    ones = np.arange(trials + 1)
    ways = [lgamma(trials + 1) - lgamma(number + 1) - lgamma(trials - number + 1) for number in range(trials + 1)]
    return np.asarray(np.exp(np.array(ways) + ones * np.log(chance) + (trials - ones) * np.log1p(-chance)))


class _BitArrays(RowArrays):
    """Row z has L_zj = p/q where bit j is 1, else (1−p)/(1−q), times what all values share."""

    channel: UnaryEncoding | ItemUnaryEncoding

    independent_supports = True

    def draw_counts(self, people: IntArray, generator: Generator) -> IntArray:
        """Given the values all bits are independent."""
        truth = np.array([float(p) for p in self.channel.truth_supports])
        other = np.array([float(q) for q in self.channel.other_supports])
        return np.asarray(generator.binomial(people, truth) + generator.binomial(int(people.sum()) - people, other))

    @cached_property
    def low(self) -> Numbers:
        return (1 - self.truth_support) / (1 - self.other_support)

    @cached_property
    def step(self) -> Numbers:
        return self.truth_support / self.other_support - self.low

    def pair_laws(self) -> tuple[PairLaw, ...]:
        """E(b_i − q_i)(b_j − q_j) = 0: given the value bits are independent, and at most one of two is the true one."""
        chance = self.chance_support()
        return (PairLaw(np.arange(len(chance)), chance, np.outer(chance, chance)),)

    def log_ceiling(self, cells: Cells) -> FloatArray:
        """Σ ln q or ln(1−q) of all bits, and the most that a true bit changes of it."""
        other = self.chance_support()
        gain = np.log(np.max(np.asarray([self.truth_support / self.other_support, self.low])))
        return np.asarray(self.support_sum(np.log(other / (1 - other)), cells) + np.log1p(-other).sum() + gain)

    def log_collision(self) -> float:
        """Every bit agrees with itself drawn again; the true one at its p."""
        true, other = (np.log(each**2 + (1 - each) ** 2) for each in (self.truth_support, self.chance_support()))
        return float(other.sum() + np.max(true - other))

    def joint_support(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
        """Given the value the bits are independent: E z_i z_j = π_i π_j − f_i f_j (p_i−q_i)(p_j−q_j)."""
        gained = shares * self.contrast
        support = (self.other_support + gained)[chosen]
        return np.asarray(np.outer(support, support) - np.outer(gained[chosen], gained[chosen]))

    def sum_covariance(self, shares: FloatArray) -> FloatArray | None:
        """Two different shares have covariance −f_i f_j, so nothing but the variances is needed."""
        return np.asarray(self.variance(shares) - shares * (shares.sum() - shares))


class _UnaryArrays(_BitArrays, PersonalArrays):
    """SUE and OUE: all bits have the same p and q."""

    channel: UnaryEncoding

    def cell_law(self, cells: Cells) -> CellLaw:
        """A class is a number of ones: q^ones (1−q)^(k−ones) is common to all values, but not to all levels."""
        size, q = self.channel.size, float(self.channel.other_support)
        count = np.arange(size + 1)
        base = count * np.log(q) + (size - count) * np.log1p(-q)
        ones = self.support_sum(np.ones(size), cells).astype(np.intp)
        return CellLaw.of(ones, size + 1, base=base, low=self.low, step=self.step)

    def row_law(self, classes: npt.NDArray[np.intp]) -> FloatArray:
        """Return how often rows of each class (of every number of ones) have a bit that is 0, or 1: 1 × 2 × 2·classes.

        States are "has another label" and "has this one"; bits are independent given the value.
        """
        size, p, q = self.channel.size, float(self.channel.truth_support), float(self.channel.other_support)
        own, others = np.array([1 - p, p]), binomial(size - 1, q)
        true = np.outer(own, others)  # bit × ones among the others
        mates = np.convolve([1 - p, p], binomial(size - 2, q)) if size > 1 else others
        other = np.outer([1 - q, q], mates)
        law = np.zeros((2, 2, int(classes.max()) + 1))
        for state, table in enumerate((other, true)):
            for bit in (0, 1):
                np.add.at(law[state, bit], classes[bit : bit + size], table[bit])
        return law.reshape(1, 2, -1)

    def ones_law(self) -> FloatArray:
        """Bernoulli(p) + Binomial(k−1, q), whatever the value."""
        size, p, q = self.channel.size, float(self.channel.truth_support), float(self.channel.other_support)
        ways = np.array([lgamma(size) - lgamma(ones + 1) - lgamma(size - ones) for ones in range(size)])
        ones = np.arange(size)
        others = np.append(np.exp(ways + ones * np.log(q) + (size - 1 - ones) * np.log1p(-q)), 0.0)
        return np.asarray((1 - p) * others + p * np.roll(others, 1))

    def draw_many(self, values: Values, generator: Generator) -> Outputs:
        channel = self.channel
        return encode(values, channel.size, channel.truth_weight, channel.other_weight, generator)

    def draw_personal(self, values: Values, epsilon: FloatArray, generator: Generator) -> Outputs:
        truth, other = self.personal_weights(epsilon)
        return encode(values, self.channel.size, truth.astype(np.uint64), other.astype(np.uint64), generator)

    def weighted_support(self, outputs: Outputs, weights: FloatArray) -> FloatArray:
        length = (self.channel.size + 7) // 8
        if outputs.shape[1:] != (length,) or outputs.dtype != np.uint8:
            raise EstimateError(f"outputs must be packed rows of {length} bytes, not shape {outputs.shape}")
        return self.support_total(weights, np.ascontiguousarray(outputs.T))


class _ItemUnaryArrays(ByValue, _BitArrays):
    """IDUE: row z has L_zj = a_j/b_j where bit j is 1, else (1−a_j)/(1−b_j), times what all values share."""

    channel: ItemUnaryEncoding

    def cell_law(self, cells: Cells) -> CellLaw:
        """Every row is a class: Π b^bit (1−b)^(1−bit) is common to all values, but not to all levels."""
        other = np.asarray(self.other_support)
        base = self.support_sum(np.log(other / (1 - other)), cells) + np.log1p(-other).sum()
        return CellLaw.of(np.arange(len(base)), len(base), base=base, low=1.0, step=1.0)

    def draw_many(self, values: Values, generator: Generator) -> Outputs:
        channel = self.channel
        words = -(-channel.size // 64)
        weights = np.zeros(64 * words, np.uint32)
        weights[: channel.size] = channel.other_weights
        digits = [np.packbits(weights >> digit & 1, bitorder="little").view(np.uint64) for digit in range(BITS)]
        truth = np.array(channel.truth_weights, np.uint64)[values]

        def noise(digit: int, place: npt.NDArray[np.intp]) -> WordArray:  # word w of every row has the same 64 weights
            return digits[digit][place % words]

        return encode(values, channel.size, truth, noise, generator, max(1, CHUNK // words))


FORMS: Final = {UnaryEncoding: _UnaryArrays, ItemUnaryEncoding: _ItemUnaryArrays}
