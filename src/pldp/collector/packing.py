"""Reports as rows of fixed width: what the store keeps, and what the tally's kernel reads back without a loop.

A row has for each question of the survey one byte for the level (0: not answered, otherwise its place + 1) and the
output, lowest byte first. A row of zeros is a report that was withdrawn.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pldp.mechanisms import Bits, Form
from pldp.reports import Rejection, Report, read_report
from pldp.reports.columns import Forms, packed_column, schema
from pldp.survey import SCHEMA, Question, Survey

ID_BYTES: Final = 16


class Packed(NamedTuple):
    """A report that keeps all rules, as stored; `round` is the one that it was made for, 0 for any."""

    id: bytes
    row: bytes
    round: int = 0


class _Answer(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    question: str
    level: str
    output: int | str


class _Report(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    pldp: int
    survey: str
    id: str
    answers: list[_Answer]


class _Cell(NamedTuple):
    """Where an answer goes in the row, read as an integer with its lowest byte first, and what it may be."""

    mask: int  # the byte of the level: not 0 if the question was answered before
    code: int  # the level in that byte
    shift: int  # place of the output, in bits
    form: Form  # what an output may be


class _Broken(Exception):
    """A report that the fast reader does not take; the slow one says why."""


class Upload(NamedTuple):
    """Reports to be stored, what was rejected before by reason, and hashes of the tokens that pay for them, if any."""

    reports: Sequence[Packed]
    rejections: Mapping[Rejection, int]
    payers: Sequence[bytes] = ()


class Packing:
    r"""Reads reports of one survey into rows and back.

    >>> from pldp.survey import loads
    >>> survey = loads('pldp=1\ntitle="t"\nlevels={a=1}\nquestions=[{name="q",values=["x","y"]}]')
    >>> packing = Packing(survey)
    >>> text = '{"pldp":1,"survey":"%s","id":"%s","answers":[{"question":"q","level":"a","output":1}]}'
    >>> packing.read((text % (survey.hash, "0f" * 16)).encode()).row
    b'\x01\x01'
    """

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self._decoder = msgspec.json.Decoder(_Report)
        self._cells: dict[tuple[str, str], _Cell] = {}
        self.offsets: list[int] = []  # of the byte for the level of each question
        self.width = 0
        for question in survey.questions:
            self.offsets.append(self.width)
            start = 8 * self.width
            for place, (level, channel) in enumerate(zip(question.levels, question.channels, strict=True)):
                cell = _Cell(0xFF << start, place + 1 << start, start + 8, channel.form)
                self._cells[question.name, level.name] = cell
            self.width += 1 + output_width(question)
        self._most_answers = survey.ask or len(survey.questions)
        self._schema = schema(survey)

    def read(self, text: bytes) -> Packed:
        """Read one report; `ReportRejected` says why one is not taken."""
        return self.read_fast(text) or self.read_slowly(text)

    def read_fast(self, text: bytes) -> Packed | None:
        """Read a report written as ours are; `None`: `read_slowly` tells what it is. It stops at the first surprise."""
        try:
            return self._pack(self._decoder.decode(text))
        except (_Broken, msgspec.MsgspecError, ValueError, RecursionError):
            return None

    def read_slowly(self, text: bytes) -> Packed:
        """Read one report by all rules; `ReportRejected` says why one is not taken."""
        return self.pack(read_report(self.survey, text))

    def pack(self, report: Report) -> Packed:
        """Pack a report that was validated."""
        row = 0
        for answer in report.answers:
            cell = self._cells[answer.question, answer.level]
            output = answer.output
            row |= cell.code | (output if isinstance(output, int) else int.from_bytes(output, "little")) << cell.shift
        return Packed(bytes.fromhex(report.id), row.to_bytes(self.width, "little"))

    def _pack(self, report: _Report) -> Packed:
        """Pack what the fast reader read; it may refuse more than `read_report`, never less."""
        identity = bytes.fromhex(report.id)
        if report.pldp != SCHEMA or report.survey != self.survey.hash or identity.hex() != report.id:
            raise _Broken
        if len(identity) != ID_BYTES or not 0 < len(report.answers) <= self._most_answers:
            raise _Broken
        row = 0
        for answer in report.answers:
            cell = self._cells.get((answer.question, answer.level))
            if cell is None:
                raise _Broken
            mask, code, shift, form = cell
            output = answer.output
            if isinstance(form, Bits):
                if not isinstance(output, str) or len(output) != 2 * form.bytes:
                    raise _Broken
                packed = bytes.fromhex(output)
                if packed.hex() != output or not form.admits(packed):
                    raise _Broken
                output = int.from_bytes(packed, "little")
            elif not isinstance(output, int) or not 0 <= output < form.count:
                raise _Broken
            if row & mask:
                raise _Broken
            row |= code | output << shift
        return Packed(identity, row.to_bytes(self.width, "little"))

    def count(self, rows: bytes) -> int:
        """Return how many of these rows were not withdrawn."""
        table = np.frombuffer(rows, np.uint8).reshape(-1, self.width)
        return int(table[:, self.offsets].any(axis=1).sum())

    def batch(self, ids: bytes, rows: bytes) -> pa.RecordBatch:
        """Turn stored ids and rows, one after the other, into columns; rows that were withdrawn are left out."""
        table = np.frombuffer(rows, np.uint8).reshape(-1, self.width)
        kept = table[:, self.offsets].any(axis=1)
        names = np.frombuffer(ids, np.uint8).reshape(-1, ID_BYTES)
        if not kept.all():
            table, names = table[kept], names[kept]
        count = len(table)
        columns: dict[str, Any] = {
            "schema": pa.array(np.full(count, SCHEMA, np.uint8)),
            "survey": pa.DictionaryArray.from_arrays(np.zeros(count, np.int8), [self.survey.hash]),
            "id": _binary(names),
        }
        for question, offset in zip(self.survey.questions, self.offsets, strict=True):
            levels = [level.name for level in question.levels]
            codes = table[:, offset].astype(np.int8) - np.int8(1)
            places = pa.array(codes, mask=codes < 0)
            columns[f"{question.name}.level"] = pa.DictionaryArray.from_arrays(places, levels)
            forms = Forms(question)
            if forms.integers:
                integers = _integers(table, offset + 1, output_width(question))
                kind = self._schema.field(f"{question.name}.output").type.to_pandas_dtype()
                columns[f"{question.name}.output"] = pa.array(integers.astype(kind))
            if forms.bits:
                outputs = table[:, offset + 1 : offset + 1 + forms.lengths[-1]]
                columns[f"{question.name}.bits"] = packed_column(forms, outputs, codes)
        return pa.RecordBatch.from_arrays(list(columns.values()), schema=self._schema)


def output_width(question: Question) -> int:
    """Return how many bytes hold any output of the question."""
    return max(channel.form.bytes for channel in question.channels)


def _integers(table: npt.NDArray[np.uint8], start: int, width: int) -> npt.NDArray[np.uint64]:
    """Read integers; wider fields hold packed bits in other rows, and integers fit 8 bytes."""
    used = min(width, 8)
    padded = np.zeros((len(table), 8), np.uint8)
    padded[:, :used] = table[:, start : start + used]
    return padded.view("<u8")[:, 0]


def _binary(table: npt.NDArray[np.uint8]) -> pa.Array:
    count, width = table.shape
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(width), count, [None, pa.py_buffer(np.ascontiguousarray(table))]
    )
