"""Columns of reports on their way from Spark to the kernel: each cut down to what the kernel tells apart.

A row of reports holds the survey's hash, a random id and the names of levels: a hundred bytes to say "right survey,
good id, level 2". Spark's own code turns them into small numbers before Arrow carries them to Python; there they become
columns again that the kernel reads like any others.
"""

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import DataType

from pldp.errors import ReportError
from pldp.reports.columns import schema
from pldp.survey import SCHEMA, Survey
from pldp.tallies.kernel import ID_BYTES, tally_batch

_ARROW: Final = {
    "void": pa.null(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
}
"""What Spark's types are in Arrow; columns of any other type are never right."""

_UNKNOWN_TEXT: Final = ""  # stands for every text that the survey does not know; no name is empty
_ENVELOPE: Final = ("schema", "survey", "id")  # the columns that all reports have: the first of their schema
JOINED_ROWS: Final = 1 << 17  # rows of a joined batch, about
JOINED_BYTES: Final = 1 << 26  # bytes of one, about


def narrowed(survey: Survey, frame: DataFrame) -> DataFrame:
    """Select the columns of the survey's reports in their narrow form; missing and wrong ones are refused."""
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    names = [name for name in schema(survey).names if name in kinds]
    # No rows are enough for the kernel to refuse columns, in its own words and before the cluster starts to work.
    columns = [pa.array([], arrow_type(name, kinds[name])) for name in names]
    tally_batch(survey, pa.RecordBatch.from_arrays(columns, names=names))
    known = _known(survey)
    own = names[len(_ENVELOPE) :]
    # Spark cannot hand over columns whose names have dots, so they are numbered.
    columns = [_envelope(survey), *(_narrow(name, known.get(name)) for name in own)]
    return frame.select(*(column.alias(f"c{place}") for place, column in enumerate(columns)))


def arrow_type(name: str, kind: DataType) -> pa.DataType:
    """Return what a column of Spark is in Arrow; refuse types that no column of reports has."""
    if kind.typeName() not in _ARROW:
        raise ReportError(f"column {name} must hold numbers, text or bytes, not {kind.simpleString()}")
    return _ARROW[kind.typeName()]


def _envelope(survey: Survey) -> Column:
    """Return one small number: a bit for each of schema, survey and id that is right."""
    right = {
        "schema": sql.col("schema").eqNullSafe(SCHEMA),
        "survey": sql.col("survey").eqNullSafe(survey.hash),
        "id": sql.octet_length("id").eqNullSafe(ID_BYTES),
    }
    bits = [right[name].cast("int") * (1 << place) for place, name in enumerate(_ENVELOPE)]
    return reduce(Column.__add__, bits).cast("byte")


def _narrow(name: str, known: list[str] | None) -> Column:
    column = sql.col(f"`{name.replace('`', '``')}`")
    if known is None:
        return column
    code = sql.lit(len(known))
    for place, text in enumerate(known):
        code = sql.when(column == text, place).otherwise(code)
    return sql.when(column.isNotNull(), code).cast("short")


def widened(survey: Survey, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give the columns back the form that the kernel reads: texts as dictionaries, good ids as 16 bytes."""
    names = schema(survey).names
    hashes = pa.array([_UNKNOWN_TEXT, survey.hash])
    words = {name: pa.array([*known, _UNKNOWN_TEXT]) for name, known in _known(survey).items()}
    for batch in joined(batches):
        right = np.asarray(batch.column(0))
        schemas, hashed, ids = ((right >> place & 1) for place in range(len(_ENVELOPE)))
        columns = [
            pa.array(SCHEMA + 1 - schemas),
            pa.DictionaryArray.from_arrays(pa.array(hashed), hashes),
            _ids(ids),
            *(
                pa.DictionaryArray.from_arrays(column, words[name]) if name in words else column
                for name, column in zip(names[len(_ENVELOPE) :], batch.columns[1:], strict=True)
            ),
        ]
        yield pa.RecordBatch.from_arrays(columns, names=names)


def _known(survey: Survey) -> dict[str, list[str]]:
    return {f"{each.name}.level": [level.name for level in each.levels] for each in survey.questions}


def _ids(good: npt.NDArray[np.int8]) -> pa.Array:
    """Return ids of zeros, none where the true one is not good."""
    valid = pa.py_buffer(np.packbits(good, bitorder="little"))
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(ID_BYTES), len(good), [valid, pa.py_buffer(bytes(ID_BYTES * len(good)))]
    )


def joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Put Spark's small batches together: the kernel likes a hundred thousand rows at once."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= JOINED_ROWS or size >= JOINED_BYTES:
            yield _one(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield _one(waiting)


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    columns = [pa.concat_arrays([batch.column(place) for batch in batches]) for place in range(batches[0].num_columns)]
    return pa.RecordBatch.from_arrays(columns, names=batches[0].schema.names)
