"""Count reports: from memory, from Arrow batches, from Parquet files larger than memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pldp.errors import ReportError
from pldp.mechanisms import Bits, Channel
from pldp.mechanisms.arrays import ByteArray, rows_of
from pldp.reports import Rejection, Report, ReportRejected, read_report
from pldp.reports.columns import BATCH_ROWS, Forms, parquet_files, read_row_groups, schema, to_batch
from pldp.survey import SCHEMA, Question, Survey
from pldp.tallies.counts import BitCounts, Counts, OutputCounts
from pldp.tallies.frames import frame_table
from pldp.tallies.repeats import Repeats
from pldp.tallies.tally import Cell, Tally
from pldp.tallies.together import Pair, PairCell, TableCounts, table_cells
from pldp.usage import require

Reports = Any
"""An iterable of `Report`, JSON text or parsed JSON; Arrow data; a pandas or Polars data frame; a Parquet path."""

Progress = Callable[[int], None]  # called with the number of rows read so far
MERGE_EVERY = 64  # batches counted before their tallies are merged: keeps sorting of rows rare
PENDING_COUNTERS = 1 << 24  # counters in tallies that wait to be merged, at most (or those of one tally): bounds memory
ID_BYTES = 16
RECORDS_AT_ONCE = 65_536

_REASONS = tuple(Rejection)
_ACCEPTED = 255
_UNKNOWN, _NO_TEXT = -1, -2


def tally(
    survey: Survey,
    reports: Reports = None,
    *,
    patterns: bool = False,
    pairs: Sequence[Pair] = (),
    progress: Progress | None = None,
    repeats: Repeats | bool = True,
) -> Tally:
    """Count reports of a survey.

    A report whose id came before is counted, too; `repeated` of the tally says how many there are.

    Parameters
    ----------
    survey
        The survey; reports of another one are rejected and counted as such.
    reports
        `Report` objects, JSON texts or parsed objects; an Arrow table, batch or reader; a pandas or Polars data frame
        with the same columns (levels as text, bits as bytes); or the path of a Parquet file or of a folder of them.
    patterns
        Keep whole rows of unary reports, which maximum likelihood needs (n·k/8 bytes at most).
    pairs
        Names of two or three questions each, of any kind, to be counted together for a table.
    progress
        Called with the number of rows read so far.
    repeats
        Whether to look for ids that came before. A `Repeats` is filled instead, for several tallies together.

    Examples
    --------
    >>> from pldp import Device, Survey
    >>> survey = Survey.load("examples/commute.toml")
    >>> result = tally(survey, [Device(survey).answer("late", "yes", "open") for _ in range(10)])
    >>> result.reports, result.rejected, (result + result).reports
    (10, 0, 20)
    """
    require(survey, Survey, "pldp.tally(survey, reports)")
    # Hidden levels need the likelihood, which needs whole rows.
    patterns = patterns or survey.level_channel is not None
    merged = [Tally.empty(survey, patterns=patterns, pairs=pairs)]
    every = [*merged[0].counts.values(), *merged[0].pairs.values()]
    counters = sum(array.size for counts in every for array in counts.arrays().values())
    merge_every = max(1, min(MERGE_EVERY, PENDING_COUNTERS // counters))
    pending: list[Tally] = []
    rows = 0
    ids = Repeats() if repeats is True else repeats or None
    for part in _parts(survey, reports, partial(tally_batch, survey, patterns=patterns, pairs=pairs, repeats=ids)):
        pending.append(part)
        rows += part.reports + part.rejected
        if len(pending) >= merge_every:
            merged, pending = [Tally.merge([*merged, *pending])], []
        if progress is not None:
            progress(rows)
    counted = Tally.merge([*merged, *pending])
    return replace(counted, repeated=min(counted.reports, ids.count())) if ids and repeats is True else counted


def _parts(survey: Survey, reports: Reports, count: Callable[[pa.RecordBatch], Tally]) -> Iterator[Tally]:
    if isinstance(reports, str | Path):
        reports = (batch for file in parquet_files(reports) for batch in read_share(survey, file))
    elif isinstance(reports, pa.RecordBatch):
        reports = [reports]
    else:
        table = reports if isinstance(reports, pa.Table) else frame_table(survey, reports)
        reports = reports if table is None else table.to_batches(max_chunksize=BATCH_ROWS)
    if isinstance(reports, Report | Mapping | bytes) or not isinstance(reports, Iterable):
        raise ReportError(
            "reports must be many: an iterable of reports, Arrow data, a pandas or Polars DataFrame, or the path of "
            f"Parquet files, not {type(reports).__name__}"
        )
    records: list[Any] = []
    for report in reports:
        if isinstance(report, pa.RecordBatch):
            yield count(report)
            continue
        if not isinstance(report, str | bytes | Mapping | Report) and frame_table(survey, report) is not None:
            yield from _parts(survey, report, count)
            continue
        records.append(report)
        if len(records) == RECORDS_AT_ONCE:
            yield _tally_records(survey, records, count)
            records = []
    if records:
        yield _tally_records(survey, records, count)


def read_share(survey: Survey, file: str | Path, place: int = 0, of: int = 1) -> Iterator[pa.RecordBatch]:
    """Read the survey's columns of a share of a Parquet file; name the file if one is missing or of a wrong type."""
    for number, batch in enumerate(read_row_groups(file, schema(survey).names, place, of)):
        if number == 0:
            try:
                tally_batch(survey, batch.slice(0, 0))
            except ReportError as error:
                raise ReportError(f"{file}: {error}") from None
        yield batch


def _tally_records(survey: Survey, reports: list[Any], count: Callable[[pa.RecordBatch], Tally]) -> Tally:
    accepted, rejections = [], Counter[Rejection]()
    for report in reports:
        try:
            accepted.append(read_report(survey, report.to_mapping() if isinstance(report, Report) else report))
        except ReportRejected as rejected:
            rejections[rejected.reason] += 1
    return replace(count(to_batch(survey, accepted)), rejections=rejections)


def tally_batch(
    survey: Survey,
    batch: pa.RecordBatch,
    *,
    patterns: bool = False,
    pairs: Sequence[Pair] = (),
    repeats: Repeats | None = None,
) -> Tally:
    """Count one Arrow batch. This is the whole kernel: other engines run it on their partitions and add the results."""
    read, reasons = _checked(survey, batch)
    counts: dict[Cell, Counts] = {}
    accepted = reasons == _ACCEPTED
    if repeats is not None:
        ids, _ = _packed_rows(_column(batch, "id"), "id", ID_BYTES)
        repeats.add(ids if accepted.all() else ids[accepted])
    for columns in read:
        counts |= columns.count(accepted, patterns=patterns)
    together: dict[PairCell, TableCounts] = {}
    if pairs:
        by_name = {columns.question.name: columns for columns in read}
        for cell, channels in table_cells(survey, pairs).items():
            sides = [by_name[name] for name, _ in cell]
            rows = accepted.copy()
            for columns, (_, level) in zip(sides, cell, strict=True):
                rows &= columns.chose(level)
            outputs = [columns.outputs(channel, rows) for columns, channel in zip(sides, channels, strict=True)]
            together[cell] = TableCounts.of_outputs(channels, outputs)
    two_labels = 0 if survey.level_channel is None else _count_two_labels(read, accepted)
    return Tally(survey, counts, int(accepted.sum()), _count_rejections(reasons), together, two_labels)


def _count_two_labels(read: Sequence[_QuestionColumns], accepted: npt.NDArray[np.bool_]) -> int:
    """Count the reports that show two labels; devices send one, as two that differ prove that levels do."""
    levels = np.stack([columns.level for columns in read])
    lowest = np.where(levels < 0, np.iinfo(np.int16).max, levels).min(axis=0)
    return int((accepted & (levels.max(axis=0) > lowest)).sum())


class BatchAnswers(NamedTuple):
    """The answers of one batch to a question: the place of each row's level, −1 where there is no answer that counts.

    `outputs` are integers (under 0), and packed rows by the number of their bytes.
    """

    level: npt.NDArray[np.int16]
    outputs: dict[int, npt.NDArray[Any]]


def read_answers(survey: Survey, batch: pa.RecordBatch) -> tuple[dict[str, BatchAnswers], dict[Rejection, int]]:
    """Return the answers of the accepted reports of one batch, row by row, and how many were rejected for what."""
    read, reasons = _checked(survey, batch)
    accepted = reasons == _ACCEPTED
    found = {}
    for columns in read:
        level = np.where(accepted, columns.level, np.int16(-1))
        integers = {} if columns.output is None else {0: columns.output}
        found[columns.question.name] = BatchAnswers(level, {**integers, **columns.rows})
    return found, _count_rejections(reasons)


def _count_rejections(reasons: npt.NDArray[np.uint8]) -> dict[Rejection, int]:
    tallied = np.bincount(reasons[reasons != _ACCEPTED], minlength=len(_REASONS))
    return {reason: int(count) for reason, count in zip(_REASONS, tallied, strict=True) if count}


def accepted_rows(survey: Survey, batch: pa.RecordBatch, question: str) -> dict[str, ByteArray]:
    """Return, by level, the packed bits that the accepted reports of one batch give to a question."""
    read, reasons = _checked(survey, batch)
    (columns,) = (each for each in read if each.question.name == question)
    accepted = reasons == _ACCEPTED
    return {
        level.name: columns.outputs(channel, accepted & columns.chose(level.name))
        for level, channel in zip(columns.question.levels, columns.question.channels, strict=True)
        if isinstance(channel.form, Bits)
    }


def _checked(survey: Survey, batch: pa.RecordBatch) -> tuple[list[_QuestionColumns], npt.NDArray[np.uint8]]:
    """Return the columns of every question, and per row the code of the reason to reject it or `_ACCEPTED`."""
    reasons = np.full(batch.num_rows, _ACCEPTED, np.uint8)
    schemas, valid = _integers(batch, "schema")
    _reject(reasons, (schemas != SCHEMA) | ~valid, Rejection.WRONG_SCHEMA)
    _reject(reasons, _codes(batch, "survey", [survey.hash]) != 0, Rejection.WRONG_SURVEY)
    _reject(reasons, ~_good_ids(_column(batch, "id")), Rejection.BAD_ID)
    read = [_QuestionColumns(question, batch, reasons) for question in survey.questions]
    answered = np.zeros(batch.num_rows, np.uint16)
    for columns in read:
        answered += columns.answered
    _reject(reasons, answered == 0, Rejection.NO_ANSWER)
    if survey.ask is not None:
        _reject(reasons, answered > survey.ask, Rejection.TOO_MANY_ANSWERS)
    return read, reasons


def _good_ids(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Tell which rows have an id of 16 bytes; other engines write binary of any length."""
    if pa.types.is_fixed_size_binary(column.type) and column.type.byte_width == ID_BYTES:
        return _valid(column)
    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        raise ReportError(f"column id must hold {ID_BYTES} bytes (binary), not {column.type}")
    return np.asarray(pc.equal(pc.binary_length(column), ID_BYTES).fill_null(False))  # noqa: FBT003


class _QuestionColumns:
    """Level codes and outputs of one question, checked row by row."""

    def __init__(self, question: Question, batch: pa.RecordBatch, reasons: npt.NDArray[np.uint8]) -> None:
        self.question = question
        self.level = _codes(batch, f"{question.name}.level", [level.name for level in question.levels])
        self.answered = self.level != _NO_TEXT
        _reject(reasons, self.level == _UNKNOWN, Rejection.UNKNOWN_LEVEL)
        self.level = np.maximum(self.level, np.int16(-1))
        self.output: npt.NDArray[Any] | None = None
        self.rows: dict[int, ByteArray] = {}  # by the bytes that an output takes
        self.places: dict[int, npt.NDArray[np.intp]] = {}  # rows of each level with packed outputs
        self.forms = Forms(question)
        self.reports_integers = np.array(self.forms.limits) > 0
        if self.forms.integers:
            self._check_integers(batch, reasons)
        if self.forms.bits:
            self._check_bits(batch, reasons)

    def _takes(self, kind: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Rows whose level has a channel of this kind (a truth value per level)."""
        return self.level >= 0 if kind.all() else np.append(kind, False)[self.level]

    def _check_integers(self, batch: pa.RecordBatch, reasons: npt.NDArray[np.uint8]) -> None:
        self.output, valid = _integers(batch, f"{self.question.name}.output")
        limits = self.forms.limits
        wanted = self._takes(self.reports_integers)
        _reject(reasons, wanted & ~valid, Rejection.WRONG_TYPE)
        limit = limits[0] if len(set(limits)) == 1 else np.array([*limits, 0], np.uint64)[self.level]
        _reject(reasons, wanted & (self.output >= limit), Rejection.OUT_OF_RANGE)

    def _check_bits(self, batch: pa.RecordBatch, reasons: npt.NDArray[np.uint8]) -> None:
        name = f"{self.question.name}.bits"
        column = _column(batch, name)
        _reject(reasons, self._takes(~self.reports_integers) & ~_valid(column), Rejection.WRONG_TYPE)
        right_length = {}
        for length in self.forms.lengths:
            self.rows[length], right_length[length] = _packed_rows(column, name, length)
        for index, form in self.forms.bits.items():
            chosen = self.level == index
            self.places[index] = places = np.flatnonzero(chosen)
            _reject(reasons, chosen & ~right_length[form.bytes], Rejection.WRONG_LENGTH)
            chosen[places] = ~rows_of(form).admitted(self.rows[form.bytes].take(places, axis=0))
            _reject(reasons, chosen, Rejection.OUT_OF_RANGE)

    def chose(self, level: str) -> npt.NDArray[np.bool_]:
        return np.asarray(self.level == self.question.level_index[level])

    def outputs(self, channel: Channel, rows: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
        """Return the outputs of some rows that used this channel."""
        column = self.rows[channel.form.bytes] if isinstance(channel.form, Bits) else self.output
        return np.zeros(0, np.uint8) if column is None else column.take(np.flatnonzero(rows), axis=0)

    def count(self, accepted: npt.NDArray[np.bool_], *, patterns: bool) -> dict[Cell, Counts]:
        every = accepted.all()
        table = self._integer_table(self.level if every else np.where(accepted, self.level, -1))
        counts: dict[Cell, Counts] = {}
        for index, (named, channel) in enumerate(zip(self.question.levels, self.question.channels, strict=True)):
            cell = (self.question.name, named.name)
            if isinstance(channel.form, Bits):
                places = self.places[index] if every else self.places[index][accepted[self.places[index]]]
                rows = self.rows[channel.form.bytes].take(places, axis=0)
                counts[cell] = BitCounts.of_rows(rows, channel.form, patterns=patterns or channel.keeps_rows)
            elif table is not None:
                counts[cell] = OutputCounts(table[index, : channel.form.count])
        return counts

    def _integer_table(self, level: npt.NDArray[np.int16]) -> npt.NDArray[np.int64] | None:
        """Counts of (level, output), all levels in one pass."""
        if self.output is None:
            return None
        levels, width, output = len(self.question.levels), self.forms.integers, self.output
        use = self._takes(self.reports_integers) & (level >= 0)
        if not use.all():
            level, output = level[use], output[use]
        cells = level.astype(np.intp) * width + output.astype(np.intp)
        return np.bincount(cells, minlength=levels * width).reshape(levels, width)


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    index = batch.schema.get_field_index(name)
    if index < 0:
        raise ReportError(f"column {name} is missing")
    return batch.column(index)


def _valid(column: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(column.is_valid()) if column.null_count else np.ones(len(column), bool)


def _integers(batch: pa.RecordBatch, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return whole numbers, and which rows have one; negative ones become huge, so that one comparison finds them."""
    column = _column(batch, name)
    if not pa.types.is_integer(column.type):
        raise ReportError(f"column {name} must hold integers, not {column.type}")
    values = np.asarray(column.fill_null(0))
    if values.dtype.kind == "i":
        values = values.astype(np.int64).view(np.uint64)
    return values, _valid(column)


def _codes(batch: pa.RecordBatch, name: str, known: list[str]) -> npt.NDArray[np.int16]:
    """Return per row the place of its text in `known`, −1 for unknown text, −2 for none."""
    column = _column(batch, name)
    if pa.types.is_null(column.type):
        return np.full(len(column), _NO_TEXT, np.int16)
    if not pa.types.is_dictionary(column.type):
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            raise ReportError(f"column {name} must hold text, not {column.type}")
        column = pc.dictionary_encode(column)
    places = {text: place for place, text in enumerate(known)}
    words = column.dictionary.to_pylist()
    if any(word is not None and not isinstance(word, str) for word in words):
        raise ReportError(f"column {name} must hold text, not {column.dictionary.type}")
    translate = np.array([*(_NO_TEXT if word is None else places.get(word, -1) for word in words), _NO_TEXT], np.int16)
    indices = column.indices
    if indices.null_count:
        indices = indices.fill_null(len(words)) if len(words) <= 127 else indices.cast(pa.int32()).fill_null(len(words))
    return np.asarray(translate.take(np.asarray(indices)))


def _packed_rows(column: pa.Array, name: str, length: int) -> tuple[ByteArray, npt.NDArray[np.bool_]]:
    """Return the packed bits as a matrix of bytes, and which rows have the right length."""
    kind = column.type
    if pa.types.is_fixed_size_binary(kind):
        right = np.full(len(column), kind.byte_width == length)
        if kind.byte_width != length or len(column) == 0:
            return np.zeros((len(column), length), np.uint8), right
        buffer = np.frombuffer(column.buffers()[1], np.uint8)
        return buffer[column.offset * length : (column.offset + len(column)) * length].reshape(-1, length), right
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise ReportError(f"column {name} must hold packed bits (binary), not {kind}")
    lengths = np.asarray(pc.binary_length(column).fill_null(-1))
    right = lengths == length
    if right.all():
        return _bytes_of(column, length), right
    rows = np.zeros((len(column), length), np.uint8)
    rows[right] = _bytes_of(column.filter(pa.array(right)), length)
    return rows, right


def _bytes_of(column: pa.Array, length: int) -> ByteArray:
    """Return the bytes of texts of one length without copying them."""
    if len(column) == 0:
        return np.zeros((0, length), np.uint8)
    offsets = np.frombuffer(column.buffers()[1], np.int64 if pa.types.is_large_binary(column.type) else np.int32)
    start = int(offsets[column.offset])
    return np.frombuffer(column.buffers()[2], np.uint8)[start : start + len(column) * length].reshape(-1, length)


def _reject(reasons: npt.NDArray[np.uint8], rows: npt.NDArray[np.bool_], reason: Rejection) -> None:
    """Mark rows with a reason unless they already have one."""
    if rows.any():
        reasons[rows & (reasons == _ACCEPTED)] = _REASONS.index(reason)
