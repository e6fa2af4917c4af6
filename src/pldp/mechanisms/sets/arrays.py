"""Channels for sets of items over arrays: how often reports show each pattern of a few items, and what it counts.

Estimates look at a few items at a time. The reports that *tell* about these items show a *pattern* of them each: bit j
of its number is whether the report has item j of the set. Every form of a channel knows how much a pattern counts for
the support of a part of the set, the share of people who have all items of the part: a weight W with

    mean of W over outputs = 1 for a person who has all of them, 0 for any other,

so that the mean weight over the reports that tell is the support, without bias. Second moments give its variance.

Packed rows of bits are turned into one column of words per item where that is faster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from pldp.errors import TallyError
from pldp.mechanisms.arrays import ByteArray, ChannelArrays, FloatArray, IntArray, Outputs, Values, WordArray
from pldp.mechanisms.honest import Range
from pldp.mechanisms.output import BIT_TOTAL, Bits
from pldp.mechanisms.rows import rows_of
from pldp.mechanisms.set_channel import SetChannel
from pldp.mechanisms.sets.channel import ItemSet
from pldp.mechanisms.unary.arrays import DigitMask, bernoulli_words, word_weights

_BLOCK: Final = 1 << 15
"""Words drawn at a time: temporaries stay in the processor's cache."""

_SWAPS: Final = ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0))


class SetPatterns(ABC):
    """What reports show of a few items and what that counts, of a channel or of several that are mixed.

    `sets` are matrices of item numbers, one row per set, items rising.
    """

    channel: SetChannel

    @property
    def largest(self) -> int:
        """Items of the largest sets that reports tell about."""
        return self.channel.size

    def telling(self, items: int) -> float:
        """Return the share of the reports that tell about all of so many given items."""
        return 1.0

    @property
    def mark_count(self) -> int:
        """A mark per item that a report shows; behind them, where not every report tells, one per item it tells of."""
        return self.channel.size

    def marked(self, outputs: Outputs) -> npt.NDArray[np.float32]:
        """Mark the items whose bit is 1."""
        form = self.channel.form
        return rows_of(cast("Bits", form)).expanded(outputs)[:, : self.channel.size]

    @abstractmethod
    def pattern_weights(self, sets: IntArray, part: int) -> FloatArray:
        """Return W of every pattern for a part of each set (bit j of `part` for item j): sets × 2^items, or 1 row."""

    @abstractmethod
    def shown(self, sets: IntArray, table: FloatArray) -> FloatArray:
        """Return how often reports that tell show each pattern, given how often people have each: sets × 2^items."""

    def pattern_chances(self, sets: IntArray, supports: FloatArray) -> FloatArray:
        """Return how often reports that tell show each pattern, were items independent with these supports."""
        return self.shown(sets, independent_patterns(sets, supports))

    def moment(self, sets: IntArray, table: FloatArray, one: int, two: int = 0) -> FloatArray:
        """Return the mean of W_one·W_two for each set, given the shares of its patterns; W of no items is 1."""
        weights = self.pattern_weights(sets, one)
        if two:
            weights = weights * self.pattern_weights(sets, two)
        return np.asarray((table * weights).sum(axis=1))

    def second_moment(self, sets: IntArray, supports: FloatArray) -> FloatArray:
        """Return the mean of the squared weight of each set, were items independent with these supports."""
        whole = (1 << sets.shape[1]) - 1
        return self.moment(sets, self.pattern_chances(sets, supports), whole, whole)

    def growth(self, supports: FloatArray) -> float:
        """Return the least factor, at most 1, by which one more item changes an expected standard error."""
        return 0.0

    def clearest(self, items: int) -> SetPatterns:
        """Return a form whose reports say at least as much about its first items as these about any so many."""
        del items
        return self

    @property
    def forged(self) -> FloatArray:
        """People that one forged report can count as in the share of each item."""
        singles = np.arange(self.channel.size)[:, None]
        most = self.pattern_weights(singles, 1).max(axis=1) / self.telling(1)
        return np.broadcast_to(most, self.channel.size)


class SetArrays(SetPatterns, ChannelArrays):
    """A channel for sets over arrays."""

    channel: SetChannel

    def pattern_counts(self, counts: IntArray, sets: IntArray) -> IntArray:
        """Return how often each pattern came, given the counts of integer outputs; bits are counted elsewhere."""
        raise NotImplementedError

    def variance(self, shares: FloatArray) -> FloatArray:
        """Return the variance of the unbiased share of each item from one report, if these shares are true."""
        moments = self.second_moment(np.arange(len(shares))[:, None], shares)
        return np.asarray((moments - shares**2) / self.telling(1))

    def checked_values(self, values: npt.ArrayLike) -> Values:
        """Values are rows of packed bits."""
        return np.asarray(values)


def pattern_bits(items: int) -> npt.NDArray[np.bool_]:
    """Return which items each pattern has, patterns × items."""
    return (np.arange(1 << items)[:, None] >> np.arange(items) & 1).astype(bool)


def independent_patterns(sets: IntArray, supports: FloatArray) -> FloatArray:
    """Return how often people have each pattern of the items of each set, were items independent."""
    table = np.ones((len(sets), 1))
    for column in sets.T:  # item j is bit j, so later items are higher bits
        own = supports[column][:, None]
        table = np.concatenate([table * (1 - own), table * own], axis=1)
    return table


def patterns_of(joint: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Turn counts of "at least these items" into counts of "exactly these items" (Möbius inversion).

    Columns are subsets: bit j of the column is item j of the set.

    >>> patterns_of(np.array([[10, 6, 5, 2]])).tolist()              # none, first, second, both
    [[1, 4, 3, 2]]
    """
    return _over_subsets(joint, -1)


def joint_of(patterns: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Turn counts of "exactly these items" into counts of "at least these items": the inverse of `patterns_of`.

    >>> joint_of(np.array([[1, 4, 3, 2]])).tolist()
    [[10, 6, 5, 2]]
    """
    return _over_subsets(patterns, 1)


def _over_subsets(table: npt.NDArray[Any], sign: int) -> npt.NDArray[Any]:
    found = table.copy()
    size = table.shape[1].bit_length() - 1
    for item in range(size):
        halves = found.reshape(len(table), 1 << size - 1 - item, 2, 1 << item)
        halves[:, :, 0] += sign * halves[:, :, 1]
    return found


def transpose_bits(rows: ByteArray) -> ByteArray:
    """Return the bits of a matrix of packed bytes with rows and columns exchanged (both padded to whole bytes).

    Blocks of 8 × 8 bits are 64-bit words; each is transposed by three exchanges of its quarters (Warren, "Hacker's
    Delight", 2002).

    >>> transpose_bits(np.array([[0b01], [0b11]], np.uint8))[:2].tolist()
    [[3], [2]]
    """
    length = -(-len(rows) // 8)
    padded = np.zeros((length * 8, rows.shape[1]), np.uint8)
    padded[: len(rows)] = rows
    words = np.ascontiguousarray(padded.reshape(length, 8, rows.shape[1]).transpose(2, 0, 1)).view("<u8")[:, :, 0]
    for shift, mask in _SWAPS:
        moved = (words ^ words >> np.uint64(shift)) & np.uint64(mask)
        words ^= moved ^ moved << np.uint64(shift)
    blocks = words[:, :, None].view(np.uint8)
    return np.ascontiguousarray(blocks.transpose(0, 2, 1)).reshape(rows.shape[1] * 8, length)


def bit_columns(rows: ByteArray, size: int) -> WordArray:
    """Turn packed rows (reports × bytes) of so many items into one vector of 64-bit words per item.

    >>> bit_columns(np.array([[0b101], [0b100]], np.uint8), 3).tolist()
    [[1], [0], [3]]
    """
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != -(-size // 8):
        needed = f"rows must be bytes, reports × {-(-size // 8)} for {size} items"
        raise TallyError(f"{needed}, not {rows.dtype} of shape {rows.shape}")
    if size % 8 and len(rows) and int(rows[:, -1].max()) >> size % 8:
        raise TallyError(f"rows must hold {size} bits each; bits beyond that must be 0")
    columns = transpose_bits(rows)[:size]
    padded = np.zeros((size, -(-columns.shape[1] // 8) * 8), np.uint8)
    padded[:, : columns.shape[1]] = columns
    return padded.view("<u8")


class ItemSetArrays(SetArrays):
    """One bit per item, each with its own p and q: patterns factor, one item at a time."""

    channel: ItemSet

    @cached_property
    def truth_support(self) -> FloatArray:
        """p of each item: how often a present one is reported."""
        return np.array(self.channel.kept) / BIT_TOTAL

    @cached_property
    def other_support(self) -> FloatArray:
        """q of each item: how often an absent one is reported."""
        return np.array(self.channel.raised) / BIT_TOTAL

    def support_range(self) -> Range:
        """q where nobody has an item, p where everybody has it."""
        return Range(self.other_support, self.truth_support)

    def log_ceiling(self, cells: ByteArray | None) -> FloatArray:
        """Every bit is likeliest for people who have what it says: people may have any set."""
        kept, absent = np.log(self.truth_support), np.log1p(-self.other_support)
        rows = rows_of(Bits(self.channel.size))
        return np.asarray(rows.sums(kept - absent, np.asarray(cells)) + absent.sum())

    def log_collision(self) -> float:
        """Every bit agrees with itself drawn again."""
        p, q = self.truth_support, self.other_support
        return float(np.log(np.maximum(p**2 + (1 - p) ** 2, q**2 + (1 - q) ** 2)).sum())

    @cached_property
    def bit_weights(self) -> FloatArray:
        """What a 0 and a 1 (columns) of each item (rows) count: their mean is 1 for a present item, 0 for an absent."""
        p, q = self.truth_support, self.other_support
        return np.stack([-q / (p - q), (1 - q) / (p - q)], axis=1)

    def moment(self, sets: IntArray, table: FloatArray, one: int, two: int = 0) -> FloatArray:
        """Contract one item after the other: Π_j w_j, squared where an item is in both parts."""
        for item in reversed(range(sets.shape[1])):
            weights = self.bit_weights[sets[:, item]] ** ((one >> item & 1) + (two >> item & 1))
            half = table.shape[1] // 2
            table = weights[:, :1] * table[:, :half] + weights[:, 1:] * table[:, half:]
        return np.asarray(table[:, 0])

    def pattern_weights(self, sets: IntArray, part: int) -> FloatArray:
        """Π w over the items of the part."""
        table = np.ones((len(sets), 1))
        for item, column in enumerate(sets.T):
            own = self.bit_weights[column] ** (part >> item & 1)
            table = np.concatenate([table * own[:, :1], table * own[:, 1:]], axis=1)
        return table

    def clearest(self, items: int) -> SetPatterns:
        """Any bit is one of these, perturbed once more: the largest p with the least q."""
        channel = self.channel
        return ItemSetArrays(ItemSet(items, (max(channel.kept),) * items, (min(channel.raised),) * items))

    def shown(self, sets: IntArray, table: FloatArray) -> FloatArray:
        """Perturb one item after the other."""
        size, found = sets.shape[1], table
        for item, column in enumerate(sets.T):
            halves = found.reshape(len(sets), 1 << size - 1 - item, 2, 1 << item)
            p, q = (each[column][:, None, None] for each in (self.truth_support, self.other_support))
            absent, present = halves[:, :, 0], halves[:, :, 1]
            ones = p * present + q * absent
            found = np.stack([absent + present - ones, ones], axis=2).reshape(len(sets), 1 << size)
        return found

    def pattern_chances(self, sets: IntArray, supports: FloatArray) -> FloatArray:
        """Bits are independent where items are."""
        p, q = self.truth_support, self.other_support
        return independent_patterns(sets, q + supports * (p - q))

    def _squares(self, supports: FloatArray) -> FloatArray:
        """Mean of the squared weight of each item's bit."""
        p, q = self.truth_support, self.other_support
        present, absent = p * (1 - p) / (p - q) ** 2, q * (1 - q) / (p - q) ** 2
        return np.asarray(supports * (1 + present) + (1 - supports) * absent)

    def second_moment(self, sets: IntArray, supports: FloatArray) -> FloatArray:
        """Multiply over items."""
        return np.asarray(self._squares(supports)[sets].prod(axis=1))

    def growth(self, supports: FloatArray) -> float:
        """One more item multiplies the second moment."""
        return min(1.0, float(np.sqrt(self._squares(supports).min())))

    def draw_many(self, values: npt.NDArray[Any], generator: np.random.Generator) -> Outputs:
        """Draw one report per set: every bit with the weights that devices use."""
        channel = self.channel
        columns = bit_columns(values, channel.size)
        kept, raised = np.array(channel.kept, np.uint64), np.array(channel.raised, np.uint64)
        words = columns.shape[1]
        step = max(1, _BLOCK // max(1, words))
        for start in range(0, channel.size, step):
            part = slice(start, start + step)
            own, low = columns[part], word_weights(np.repeat(raised[part], words))
            differ = word_weights(np.repeat(raised[part] ^ kept[part], words))
            drawn = bernoulli_words(_thresholds(own.ravel(), low, differ), own.size, generator).reshape(own.shape)
            always = kept[part] == BIT_TOTAL  # 2³² itself has no digit among the 32
            drawn[always] |= own[always]
            own[:] = drawn
        return np.ascontiguousarray(transpose_bits(columns.view(np.uint8))[: len(values)])


def _thresholds(true: WordArray, low: DigitMask, differ: DigitMask) -> DigitMask:
    """Bits have the kept weight of their item where the truth is 1, the raised one where it is 0."""
    return lambda digit, place: low(digit, place) ^ (differ(digit, place) & true[place])


FORMS: Final = {ItemSet: ItemSetArrays}
