"""Counts of the outputs of one channel; counts of parts merge by addition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import add
from typing import Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt

from pldp.errors import TallyError
from pldp.mechanisms import Bits, Channel, Form, Integers
from pldp.mechanisms.arrays import ByteArray, IntArray, rows_of, words_of
from pldp.records import Record

LARGEST_TABLE: Final = 2**27  # outputs that are counted one by one, at most
_SHORT: Final = 2  # bytes of rows that are counted like integers, by a table of 65,536


@dataclass(frozen=True, eq=False, repr=False)
class Additive(Record):
    """Counts whose fields are numbers and arrays, each of which adds up."""

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self:
        """Add the counts."""
        sums = {each.name: reduce(add, (getattr(part, each.name) for part in parts)) for each in fields(cls)}
        return replace(parts[0], **sums)

    def without(self, part: Any) -> Self:
        """Take counts out again that were added before."""
        rest = {each.name: getattr(self, each.name) - getattr(part, each.name) for each in fields(self)}
        return replace(self, **rest)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store."""
        held = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: np.asarray(array) for name, array in held.items() if array is not None}


@dataclass(frozen=True, eq=False, repr=False)
class OutputCounts(Additive):
    """How often each integer output came: all that any estimate needs from a channel with integer outputs."""

    counts: IntArray

    has_cells: ClassVar[bool] = True  #: Whether the distinct outputs are known: what a likelihood needs.

    cell_rows: ClassVar[None] = None  #: Cells are all outputs, in their order.

    def fits(self, form: Form) -> bool:
        """Tell whether outputs of this form were counted."""
        return form == Integers(len(self.counts))

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


@dataclass(frozen=True, eq=False, repr=False)
class BitCounts(Additive):
    """How often each bit was 1, and, if asked for, which packed rows came how often.

    The ones are enough for unbiased shares; the likelihood needs whole rows (`patterns`).
    """

    reports: int
    ones: IntArray
    patterns: ByteArray | None = None
    pattern_counts: IntArray | None = None

    def fits(self, form: Form) -> bool:
        """Tell whether outputs of this form were counted."""
        rows = self.patterns is None or (isinstance(form, Bits) and self.patterns.shape[1] == form.bytes)
        return isinstance(form, Bits) and form.length == len(self.ones) and rows

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
    def of_rows(cls, rows: ByteArray, form: Bits | int, *, patterns: bool, counts: IntArray | None = None) -> BitCounts:
        """Count packed rows (reports × bytes) of a form, or of so many bits; each came once, or as `counts` says."""
        reader = rows_of(Bits(form) if isinstance(form, int) else form)
        if counts is None and rows.shape[1] <= _SHORT:
            rows, counts = _distinct(rows, None)
        if counts is None or (counts == 1).all():
            reports, counted = len(rows), reader.count(rows)
        else:
            reports = int(counts.sum())
            counted = np.rint(reader.totals(counts.astype(np.float64), np.ascontiguousarray(rows.T))).astype(np.int64)
        if not patterns:
            return cls(reports, counted)
        return cls(reports, counted, *_distinct(rows, counts))

    def rows(self) -> ByteArray:
        """Return one packed row per report, in no particular order."""
        if self.patterns is None or self.pattern_counts is None:
            raise TallyError("whole rows were not kept: tally the reports with patterns")
        return np.repeat(self.patterns, self.pattern_counts, axis=0)

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self:
        """Add the counts; rows stay only if every part with reports has them."""
        if len(parts) == 1:
            return parts[0]
        sums = (sum(part.reports for part in parts), reduce(add, (part.ones for part in parts)))
        filled = [part for part in parts if part.reports] or parts[:1]
        if not all(part.has_cells for part in filled):
            return cls(*sums)
        rows = np.concatenate([part.patterns for part in filled])
        return cls(*sums, *_distinct(rows, np.concatenate([part.cell_counts for part in filled])))

    def without(self, part: Any) -> Self:
        """Take counts out again that were added before."""
        left = (self.reports - part.reports, self.ones - part.ones)
        if self.patterns is None or part.patterns is None:
            return type(self)(*left)
        both = np.concatenate([self.patterns, part.patterns])
        rows, counts = _distinct(both, np.concatenate([self.cell_counts, -part.cell_counts]))
        return type(self)(*left, rows[counts > 0], counts[counts > 0])


Counts = OutputCounts | BitCounts  #: What a tally keeps of one question and level.


def no_counts(channel: Channel, *, patterns: bool = False) -> Counts:
    """Return counts of no reports of this channel."""
    form = channel.form
    if isinstance(form, Bits):
        rows = np.zeros((0, form.bytes), np.uint8)
        return BitCounts.of_rows(rows, form, patterns=patterns or channel.keeps_rows)
    if form.count > LARGEST_TABLE:
        raise TallyError(f"a channel with {form.count:,} outputs is too large to count ({LARGEST_TABLE:,} at most)")
    return OutputCounts(np.zeros(form.count, np.int64))


def _distinct(rows: ByteArray, counts: IntArray | None) -> tuple[ByteArray, IntArray]:
    """Return the distinct rows in one fixed order with their summed counts, so that equal tallies are equal arrays."""
    if len(rows) and rows.shape[1] <= _SHORT:
        numbers = words_of(rows)[:, 0]  # in lexsort's order
        each = np.bincount(numbers)
        found = np.flatnonzero(each)
        summed = each if counts is None else np.bincount(numbers, weights=counts).astype(np.int64)
        return found.astype(numbers.dtype)[:, None].view(np.uint8), summed[found]
    counts = np.ones(len(rows), np.int64) if counts is None else counts
    if len(rows) == 0:
        return rows, counts
    padded = np.zeros((len(rows), -(-rows.shape[1] // 8) * 8), np.uint8)
    padded[:, : rows.shape[1]] = rows
    order = np.lexsort(padded.view("<u8").T)
    ordered = padded.view("<u8")[order]
    starts = np.flatnonzero(np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)]))
    return rows[order[starts]], np.add.reduceat(counts[order], starts)


def counts_from_arrays(channel: Channel, arrays: Mapping[str, npt.NDArray[Any]]) -> Counts:
    """Rebuild stored counts and refuse what does not fit the channel."""
    if isinstance(channel.form, Bits):
        ones, reports = arrays["ones"].astype(np.int64), int(arrays["reports"])
        _require(ones.shape == (channel.form.length,) and bool((ones >= 0).all() and (ones <= reports).all()))
        rows, row_counts = arrays.get("patterns"), arrays.get("pattern_counts")
        if rows is None or row_counts is None:
            return BitCounts(reports, ones)
        row_counts = row_counts.astype(np.int64)
        _require(rows.dtype == np.uint8 and rows.shape == (len(row_counts), channel.form.bytes))
        _require(bool((row_counts >= 0).all()) and int(row_counts.sum()) == reports)
        _require(bool(rows_of(channel.form).admitted(rows).all()))
        again = BitCounts.of_rows(rows, channel.form, patterns=False, counts=row_counts)
        _require(bool((again.ones == ones).all()))
        return BitCounts(reports, ones, rows, row_counts)
    counts = arrays["counts"].astype(np.int64)
    _require(counts.shape == (channel.form.count,) and bool((counts >= 0).all()))
    return OutputCounts(counts)


def _require(fits: bool) -> None:  # noqa: FBT001 - reads as a sentence
    if not fits:
        raise TallyError("stored counts do not fit the survey's channels")
