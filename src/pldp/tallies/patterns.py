"""Which items come together: how often the bits of a few items show each pattern, counted on packed bit columns.

Reports of sets are rows of packed bits. Turned once into one packed column per item, the reports with all items of a
set are counted by AND and population count; the 2^m patterns of m items follow from the counts of their subsets by
inclusion and exclusion. A thousand items of 88,162 reports are 11 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from pldp.errors import TallyError
from pldp.mechanisms import Bits, Channel
from pldp.mechanisms.arrays import ByteArray, IntArray, SetArrays, WordArray, arrays, bit_columns, joint_of, patterns_of
from pldp.records import Record

LARGEST_SET = 16  #: Items of one set at most: its patterns are a table of 2^m counts.

_BLOCK_WORDS = 1 << 17  # words that are combined at a time: a megabyte stays in the processor's cache


class Columns(Protocol):
    """What estimates of sets ask of the reports of one group, wherever these are."""

    @property
    def reports(self) -> int:
        """Number of reports."""

    @property
    def size(self) -> int:
        """Number of items."""

    @property
    def whole(self) -> bool:
        """Whether every report tells about every item, so that the counts of a set's parts are those of its subsets."""

    def joint_counts(self, sets: IntArray) -> IntArray:
        """Return how many reports have all items of each set (sets × items)."""

    def pattern_counts(self, sets: IntArray) -> IntArray:
        """Return how often the items of each set show each pattern: sets × 2^items, bit j of a column for item j."""


@dataclass(frozen=True, eq=False, repr=False)
class ItemColumns(Record):
    """Reports of sets as one packed bit vector per item: what any question about items that come together needs."""

    reports: int
    bits: WordArray  #: Items × words of 64 reports; unused bits of the last word are 0.

    whole: ClassVar[bool] = True

    @classmethod
    def of_rows(cls, rows: ByteArray, size: int) -> ItemColumns:
        """Turn packed rows (reports × bytes) of so many items into columns.

        >>> ItemColumns.of_rows(np.array([[0b101], [0b100]], np.uint8), 3).bits.tolist()
        [[1], [0], [3]]
        """
        return cls(len(rows), bit_columns(rows, size))

    @property
    def size(self) -> int:
        """Number of items."""
        return len(self.bits)

    def joint_counts(self, sets: IntArray) -> IntArray:
        """Return how many reports have all items of each set (sets × items; fastest if sorted)."""
        counts = np.full(len(sets), self.reports, np.int64)
        if not sets.size:
            return counts
        changes = np.flatnonzero((sets[1:, :-1] != sets[:-1, :-1]).any(axis=1)) + 1
        block = max(1, _BLOCK_WORDS // max(1, self.bits.shape[1]))
        for start, end in pairwise([0, *changes.tolist(), len(sets)]):
            common = np.bitwise_and.reduce(self.bits[sets[start, :-1]], axis=0)  # of no items: all reports
            for first in range(start, end, block):
                last = min(first + block, end)
                columns = self.bits[sets[first:last, -1]]
                counts[first:last] = _ones(np.bitwise_and(columns, common, out=columns))
        return counts

    def pattern_counts(self, sets: Sequence[Sequence[int]] | IntArray) -> IntArray:
        """Return how often the items of each set (all of one size, items rising) show each pattern.

        The result is sets × 2^items; bit j of a column's number is item j of the set. Counts of parts of the reports
        add up to those of the whole.

        >>> rows = np.array([[0b101], [0b100], [0b111]], np.uint8)
        >>> ItemColumns.of_rows(rows, 3).pattern_counts([[0, 2]]).tolist()
        [[0, 0, 1, 2]]
        """
        chosen = checked_sets(sets, self.size)
        size = chosen.shape[1]
        subsets = ([item for item in range(size) if mask >> item & 1] for mask in range(1 << size))
        return np.asarray(patterns_of(np.stack([self.joint_counts(chosen[:, items]) for items in subsets], axis=1)))


def _ones_by_table(words: WordArray) -> IntArray:
    return np.asarray(_ONES_OF_HALF[words.view(np.uint16)].sum(axis=1, dtype=np.int64))


def _ones_by_processor(words: WordArray) -> IntArray:
    return np.asarray(np.bitwise_count(words).sum(axis=1, dtype=np.int64))


_ONES_OF_HALF = np.unpackbits(np.arange(1 << 16, dtype=np.uint16).view(np.uint8).reshape(-1, 2), axis=1).sum(
    axis=1, dtype=np.uint8
)
_ones: Callable[[WordArray], IntArray] = _ones_by_processor if hasattr(np, "bitwise_count") else _ones_by_table


@dataclass(frozen=True, eq=False, repr=False)
class OutputColumns(Record):
    """Reports of sets whose outputs are integers, by their counts: each tells about some of the items."""

    channel: Channel
    counts: IntArray

    whole: ClassVar[bool] = False

    @property
    def reports(self) -> int:
        """Number of reports."""
        return int(self.counts.sum())

    @property
    def size(self) -> int:
        """Number of items."""
        return self.channel.size

    def joint_counts(self, sets: IntArray) -> IntArray:
        """Return how many reports have all items of each set (sets × items)."""
        return np.asarray(self.pattern_counts(sets)[:, -1])

    def pattern_counts(self, sets: Sequence[Sequence[int]] | IntArray) -> IntArray:
        """Return how often reports that tell about the items of each set show each pattern: sets × 2^items."""
        form: SetArrays = arrays(self.channel)
        return form.pattern_counts(self.counts, checked_sets(sets, self.size))


def columns_of(channel: Channel, outputs: npt.NDArray[Any]) -> Columns:
    """Return what counts the patterns of a channel's outputs: packed rows of bits, or counts of integers.

    Bits beyond those of the items stand for nothing that could be counted.
    """
    form = channel.form
    if not isinstance(form, Bits):
        return OutputColumns(channel, outputs)
    return ItemColumns(len(outputs), bit_columns(outputs, form.length)[: channel.size])


def joint_counts(columns: Columns, sets: IntArray) -> IntArray:
    """Return, for every part of each set, how many of the reports that tell about the set have all items of the part.

    Bit j of a column is item j of the set: the first column counts the reports that tell, the last those with the set.
    """
    return np.asarray(joint_of(columns.pattern_counts(sets)))


def checked_sets(sets: Sequence[Sequence[int]] | IntArray, size: int) -> IntArray:
    """Return sets of item numbers as a matrix; refuse what is not a set of known items."""
    if len(sets) == 0:
        raise TallyError("nothing to count: sets must name at least one set of items")
    lengths = {len(items) for items in sets}
    if len(lengths) > 1 or not 1 <= min(lengths) <= LARGEST_SET:
        raise TallyError(
            f"sets must have one size from 1 to {LARGEST_SET} items, not {', '.join(map(str, sorted(lengths)))}"
        )
    chosen = np.sort(np.array(sets, np.int64), axis=1)
    if chosen.min() < 0 or chosen.max() >= size:
        raise TallyError(f"sets must hold item numbers from 0 to {size - 1}; some are not")
    if (chosen[:, 1:] == chosen[:, :-1]).any():
        raise TallyError("a set must name each item once; some name one twice")
    return chosen
