"""The columnar form of reports: one row per report, Arrow in memory and Parquet on disk.

Columns: `schema` (number of the format), `survey` (hash), `id` (16 bytes), and for each question Q of the survey
`Q.level` (name; null where Q is not answered) and, as its channels need, `Q.output` (integers) or `Q.bits` (packed
bits or places as in `pldp.mechanisms.output`, of fixed length where that of all levels is the same). No floats.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from pldp.errors import ReportError, SurveyError, UnreadableError
from pldp.files import atomic_write
from pldp.mechanisms import Bits, Integers
from pldp.reports.record import Answer, Report
from pldp.survey import SCHEMA, Question, Survey, loads

_NAMES: Final = pa.dictionary(pa.int8(), pa.string())
_INTEGERS: Final = (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
_SURVEY_KEY: Final = b"pldp.survey"
BATCH_ROWS: Final = 1 << 18  # rows of a batch, at most: bounded memory, whatever the file
BATCH_BYTES: Final = 1 << 26  # bytes of one, at most
VARIED_BYTES: Final = 512  # of an output whose length depends on the level, about


class Forms:
    """The forms of a question's outputs, level by level.

    `bits` are those of the levels whose outputs are packed, by the place of the level, and `lengths` the bytes that
    they take. `limits` are the numbers of integer outputs of each level, 0 where its outputs are packed; `integers` is
    the largest of them.
    """

    def __init__(self, question: Question) -> None:
        forms = [channel.form for channel in question.channels]
        self.bits = {place: form for place, form in enumerate(forms) if isinstance(form, Bits)}
        self.lengths = sorted({form.bytes for form in self.bits.values()})
        self.limits = [form.count if isinstance(form, Integers) else 0 for form in forms]
        self.integers = max(self.limits)


def schema(survey: Survey) -> pa.Schema:
    """Return the Arrow schema of this survey's reports; its metadata carries the survey itself."""
    fields = [("schema", pa.uint8()), ("survey", _NAMES), ("id", pa.binary(16))]
    for question in survey.questions:
        fields.append((f"{question.name}.level", _NAMES))
        forms = Forms(question)
        if forms.integers:
            kinds = (kind for kind in _INTEGERS if forms.integers <= 1 << kind.bit_width)
            fields.append((f"{question.name}.output", next(kinds)))
        if forms.bits:
            fields.append((f"{question.name}.bits", pa.binary(forms.lengths[0] if len(forms.lengths) == 1 else -1)))
    return pa.schema(fields, metadata={_SURVEY_KEY: survey.canonical})


def packed_column(forms: Forms, rows: npt.NDArray[np.uint8], level: npt.NDArray[Any]) -> pa.Array:
    """Return packed outputs as a column: of each row as many bytes as its level takes, null where that has integers.

    `level` is the place of each row's level, −1 where there is none.
    """
    lengths = np.zeros(len(forms.limits) + 1, np.int64)
    lengths[list(forms.bits)] = [form.bytes for form in forms.bits.values()]
    used = lengths[level]
    valid = None if used.all() else pa.py_buffer(np.packbits(used > 0, bitorder="little"))
    if len(forms.lengths) == 1:
        content = np.ascontiguousarray(rows)
        return pa.FixedSizeBinaryArray.from_buffers(pa.binary(rows.shape[1]), len(rows), [valid, pa.py_buffer(content)])
    offsets = np.concatenate([[0], np.cumsum(used)]).astype(np.int64)
    content = rows[np.arange(rows.shape[1]) < used[:, None]]
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(content)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(rows), buffers).cast(pa.binary())


def batch_rows(columns: pa.Schema) -> int:
    """Return how many rows of these columns make a batch."""
    fixed = (field.type.bit_width // 8 for field in columns if pa.types.is_fixed_size_binary(field.type))
    width: int = sum(fixed) + VARIED_BYTES * sum(pa.types.is_binary(field.type) for field in columns)
    return max(1, min(BATCH_ROWS, BATCH_BYTES // (width + 2 * len(columns) + 1)))


def to_batch(survey: Survey, reports: Sequence[Report]) -> pa.RecordBatch:
    """Turn validated reports into one batch of rows."""
    columns: dict[str, list[Any]] = {name: [] for name in schema(survey).names}
    for report in reports:
        columns["schema"].append(SCHEMA)
        columns["survey"].append(report.survey)
        columns["id"].append(bytes.fromhex(report.id))
        answers = {answer.question: answer for answer in report.answers}
        for question in survey.questions:
            answer = answers.get(question.name)
            output = None if answer is None else answer.output
            columns[f"{question.name}.level"].append(None if answer is None else answer.level)
            for form, kind in (("output", int), ("bits", bytes)):
                if f"{question.name}.{form}" in columns:
                    columns[f"{question.name}.{form}"].append(output if isinstance(output, kind) else None)
    return pa.RecordBatch.from_pydict(columns, schema=schema(survey))


def from_batch(survey: Survey, batch: pa.RecordBatch) -> Iterator[Report]:
    """Yield the reports of a batch in its order; what they say is not checked."""
    missing = set(schema(survey).names) - set(batch.schema.names)
    if missing:
        raise ReportError(f"column {min(missing)} is missing")
    columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
    forms = {
        (question.name, level.name): columns[f"{question.name}.{channel.form.column}"]
        for question in survey.questions
        for level, channel in zip(question.levels, question.channels, strict=True)
    }
    nothing = [None] * batch.num_rows
    for row in range(batch.num_rows):
        levels = ((question.name, columns[f"{question.name}.level"][row]) for question in survey.questions)
        answers = (Answer(*cell, forms.get(cell, nothing)[row]) for cell in levels if cell[1] is not None)
        yield Report(columns["survey"][row], columns["id"][row].hex(), tuple(answers))


def write_parquet(path: str | Path, survey: Survey, batches: Iterable[pa.RecordBatch]) -> int:
    """Write batches to one Parquet file, whole or not at all, and return the number of reports."""
    count = 0
    with (
        atomic_write(path) as file,
        pq.ParquetWriter(file, schema(survey), compression="zstd", write_page_checksum=True) as writer,
    ):
        for batch in batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def parquet_files(path: str | Path) -> list[Path]:
    """Return the file itself, or the files of a folder in order of their names (hidden ones and marks left out)."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.glob("**/*.parquet") if not each.name.startswith((".", "_")))
    if not found:
        raise ReportError(f"{path}: there is no Parquet file in this folder")
    return found


def read_parquet(path: str | Path) -> Iterator[pa.RecordBatch]:
    """Read a Parquet file, or those of a folder, batch by batch; a broken file gets one clear error."""
    for file in parquet_files(path):
        yield from read_row_groups(file)


def read_row_groups(
    path: str | Path, columns: Sequence[str] | None = None, place: int = 0, of: int = 1
) -> Iterator[pa.RecordBatch]:
    """Read these columns (those that a file lacks are left out) of the `place`-th of `of` shares of its row groups."""
    with _one_line(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        groups = range(file.num_row_groups * place // of, file.num_row_groups * (place + 1) // of)
        yield from file.iter_batches(batch_rows(file.schema_arrow), row_groups=groups, columns=columns)


@contextmanager
def _one_line(path: str | Path) -> Iterator[None]:
    """Turn whatever reading a file raises into one of our errors."""
    try:
        yield
    except FileNotFoundError:
        raise ReportError(f"{path}: there is no such file") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UnreadableError(str(path), str(error)) from None


def rows_of_parquet(path: str | Path) -> int | None:
    """Return how many reports a Parquet file says that it has; none where that is lost."""
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, ValueError):
        return None


def survey_of_parquet(path: str | Path) -> Survey:
    """Return the survey that a Parquet file of reports, or the first one of a folder, carries in its metadata."""
    path = parquet_files(path)[0]
    with _one_line(path):
        metadata = pq.read_schema(path).metadata or {}
    if _SURVEY_KEY not in metadata:
        raise ReportError(f"{path}: does not carry its survey; name the survey file")
    try:
        return loads(metadata[_SURVEY_KEY].decode())
    except (SurveyError, UnicodeDecodeError) as error:
        raise ReportError(f"{path}: carries a survey that cannot be read ({error})") from None
