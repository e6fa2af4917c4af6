"""Counts of the outputs of one channel; two sets of counts merge by addition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import TallyError
from pldp.mechanisms import Bits, Channel, Form, Integers
from pldp.mechanisms.arrays import BIT_OF_BYTE, ByteArray, IntArray
from pldp.records import Record

LARGEST_TABLE: Final = 2**27
"""Outputs that are counted one by one, at most."""


@dataclass(frozen=True, eq=False, repr=False)
class OutputCounts(Record):
    """How often each integer output came: all that any estimate needs from a channel with integer outputs."""

    counts: IntArray

    has_cells: ClassVar[bool] = True
    """Whether the distinct outputs are known: what a likelihood needs."""

    cell_rows: ClassVar[None] = None
    """Cells are all outputs, in their order."""

    @property
    def form(self) -> Form:
        """What was counted."""
        return Integers(len(self.counts))

    @property
    def tallied(self) -> IntArray:
        """The counts that shares are estimated from."""
        return self.counts

    @property
    def cell_counts(self) -> IntArray:
        """How often each cell came."""
        return self.counts

    @property
    def reports(self) -> int:
        """Number of reports counted."""
        return int(self.counts.sum())

    @classmethod
    def none(cls, channel: Channel) -> OutputCounts:
        """Return zero counts for this channel."""
        outputs = channel.form.count
        if outputs > LARGEST_TABLE:
            raise TallyError(f"a channel with {outputs:,} outputs is too large to count ({LARGEST_TABLE:,} at most)")
        return cls(np.zeros(outputs, np.int64))

    @classmethod
    def merge(cls, parts: Sequence[OutputCounts]) -> OutputCounts:
        """Add the counts."""
        return (
            parts[0]
            if len(parts) == 1
            else cls(np.asarray(np.sum([part.counts for part in parts], axis=0, dtype=np.int64)))
        )

    def without(self, part: OutputCounts) -> OutputCounts:
        """Take counts out again that were added before."""
        return OutputCounts(self.counts - part.counts)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store."""
        return {"counts": self.counts}


@dataclass(frozen=True, eq=False, repr=False)
class BitCounts(Record):
    """How often each bit was 1, and, if asked for, which packed rows came how often.

    The ones are enough for unbiased shares; the likelihood needs whole rows (`patterns`).
    """

    reports: int
    ones: IntArray
    patterns: ByteArray | None = None
    pattern_counts: IntArray | None = None

    @property
    def form(self) -> Form:
        """What was counted."""
        return Bits(len(self.ones))

    @property
    def has_cells(self) -> bool:
        """Whether the distinct outputs are known: what a likelihood needs."""
        return self.patterns is not None

    @property
    def cell_rows(self) -> ByteArray | None:
        """The distinct rows, one column of bytes per row; `None` where no rows were kept."""
        return None if self.patterns is None else np.ascontiguousarray(self.patterns.T)

    @property
    def cell_counts(self) -> IntArray:
        """How often each cell came."""
        if self.pattern_counts is None:
            raise TallyError("the likelihood of bits needs whole rows: tally them with patterns")
        return self.pattern_counts

    @property
    def tallied(self) -> IntArray:
        """The counts that shares are estimated from."""
        return self.ones

    @classmethod
    def none(cls, form: Bits, *, patterns: bool) -> BitCounts:
        """Return zero counts of such outputs."""
        return cls.of_rows(np.zeros((0, form.bytes), np.uint8), form.length, patterns=patterns)

    @classmethod
    def of_rows(cls, rows: ByteArray, size: int, *, patterns: bool) -> BitCounts:
        """Count packed rows (reports × bytes)."""
        by_byte = np.ascontiguousarray(rows.T)
        ones = np.concatenate([np.bincount(column, minlength=256) @ BIT_OF_BYTE for column in by_byte])
        counted = np.rint(ones[:size]).astype(np.int64)
        if not patterns:
            return cls(len(rows), counted)
        return cls(len(rows), counted, *_distinct(rows, np.ones(len(rows), np.int64)))

    def rows(self) -> ByteArray:
        """Return one packed row per report, in no particular order."""
        if self.patterns is None or self.pattern_counts is None:
            raise TallyError("whole rows were not kept: tally the reports with patterns")
        return np.repeat(self.patterns, self.pattern_counts, axis=0)

    @classmethod
    def merge(cls, parts: Sequence[BitCounts]) -> BitCounts:
        """Add the counts; rows stay only if every part with reports has them."""
        if len(parts) == 1:
            return parts[0]
        reports = sum(part.reports for part in parts)
        ones = np.asarray(np.sum([part.ones for part in parts], axis=0, dtype=np.int64))
        filled = [part for part in parts if part.reports] or parts[:1]
        rows = [part.patterns for part in filled if part.patterns is not None]
        row_counts = [part.pattern_counts for part in filled if part.pattern_counts is not None]
        if len(rows) < len(filled):
            return cls(reports, ones)
        return cls(reports, ones, *_distinct(np.concatenate(rows), np.concatenate(row_counts)))

    def without(self, part: BitCounts) -> BitCounts:
        """Take counts out again that were added before."""
        left = (self.reports - part.reports, self.ones - part.ones)
        if self.patterns is None or part.patterns is None or self.pattern_counts is None or part.pattern_counts is None:
            return BitCounts(*left)
        rows, counts = _distinct(
            np.concatenate([self.patterns, part.patterns]), np.concatenate([self.pattern_counts, -part.pattern_counts])
        )
        return BitCounts(*left, rows[counts > 0], counts[counts > 0])

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store."""
        arrays: dict[str, npt.NDArray[Any]] = {"reports": np.array(self.reports), "ones": self.ones}
        if self.patterns is not None and self.pattern_counts is not None:
            arrays |= {"patterns": self.patterns, "pattern_counts": self.pattern_counts}
        return arrays


Counts = OutputCounts | BitCounts
"""What a tally keeps of one question and level."""


def no_counts(channel: Channel, *, patterns: bool = False) -> Counts:
    """Return counts of no reports of this channel."""
    if isinstance(channel.form, Bits):
        return BitCounts.none(channel.form, patterns=patterns or channel.keeps_rows)
    return OutputCounts.none(channel)


def _distinct(rows: ByteArray, counts: IntArray) -> tuple[ByteArray, IntArray]:
    """Return the distinct rows in one fixed order with their summed counts, so that equal tallies are equal arrays."""
    if len(rows) == 0:
        return rows, counts
    width = -(-rows.shape[1] // 8) * 8
    padded = np.zeros((len(rows), width), np.uint8)
    padded[:, : rows.shape[1]] = rows
    order = np.lexsort(padded.view("<u8").T)
    ordered = padded.view("<u8")[order]
    starts = np.flatnonzero(np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)]))
    return rows[order[starts]], np.add.reduceat(counts[order], starts)


def counts_from_arrays(channel: Channel, arrays: Mapping[str, npt.NDArray[Any]]) -> Counts:
    """Rebuild stored counts and refuse what does not fit the channel."""
    if isinstance(channel.form, Bits):
        ones, reports = arrays["ones"].astype(np.int64), int(arrays["reports"])
        _require(ones.shape == (channel.size,) and bool((ones >= 0).all() and (ones <= reports).all()))
        rows, row_counts = arrays.get("patterns"), arrays.get("pattern_counts")
        if rows is None or row_counts is None:
            return BitCounts(reports, ones)
        _require(rows.dtype == np.uint8 and rows.shape == (len(row_counts), channel.form.bytes))
        _require(int(row_counts.sum()) == reports)
        again = BitCounts.of_rows(np.repeat(rows, row_counts, axis=0), channel.size, patterns=False)
        _require(bool((again.ones == ones).all()))
        return BitCounts(reports, ones, rows, row_counts.astype(np.int64))
    counts = arrays["counts"].astype(np.int64)
    _require(counts.shape == (channel.form.count,) and bool((counts >= 0).all()))
    return OutputCounts(counts)


def _require(fits: bool) -> None:  # noqa: FBT001 - reads as a sentence
    if not fits:
        raise TallyError("stored counts do not fit the survey's channels")
