"""Count files of reports in place with DuckDB; the result is that of the local tally. Needs `pldp[sql]`.

Parquet and CSV files are tables of columns, and the query counts them. Lines of JSON are matched with a pattern first:
the query counts the reports whose text is as devices write it and which nothing speaks against; every other line is
read and judged by the local tally, so that the reasons to reject a report are the same.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from pldp.errors import ReportError, UnreadableError
from pldp.reports.columns import parquet_files, rows_of_parquet, schema
from pldp.survey import SCHEMA, Survey
from pldp.tallies.kernel import tally, tally_batch
from pldp.tallies.sql.checksums import check_pages
from pldp.tallies.sql.dialects import DIALECTS
from pldp.tallies.sql.query import ID_BYTES, Bytes, InPlace, Query
from pldp.tallies.sql.reading import count_batches
from pldp.tallies.tally import Tally, unreadable_reports
from pldp.tallies.together import Pair

TEXTS: Final = (".jsonl", ".ndjson", ".json")  #: Endings of files with a report in JSON per line.
SHEETS: Final = (".csv",)  #: Endings of files with a report in columns per line.

_DUCKDB: Final = DIALECTS["duckdb"]
_BATCH_ROWS: Final = 1 << 17
_DIGITS: Final = 18  # decimal digits that surely fit into 64 bits
_UNIT: Final = b"\x1f"  # separates the one column from nothing: no JSON has it
_NAME: Final = r'"[^"\\]*"'
_OUTPUT: Final = rf'(?:0|[1-9][0-9]{{0,{_DIGITS - 1}}}|"[0-9a-f]*")'


def tally_files(
    survey: Survey,
    paths: Sequence[str | Path],
    *,
    unreadable: Callable[[UnreadableError], None] | None = None,
    patterns: bool = False,
    pairs: Sequence[Pair] = (),
) -> Tally:
    """Count the reports of files with DuckDB: `pldp.tally` by an SQL engine.

    Parameters
    ----------
    survey
        The survey; reports of another one are rejected and counted as such.
    paths
        Parquet files or folders of them; CSV files with a header, the columns of the Parquet files, and hexadecimal
        digits for bytes; or JSON lines, a report each.
    unreadable
        Called with the error of a Parquet file that is truncated or corrupt, whose reports are then rejected; by
        default such a file is an error.
    patterns, pairs
        As for the local tally.
    """
    parts = [Tally.empty(survey, patterns=patterns, pairs=pairs)]
    others: list[Path] = []
    with duckdb.connect() as connection:
        counter = _Counter(connection, survey, {"patterns": patterns, "pairs": tuple(pairs)})
        for path in paths:
            if str(path).lower().endswith(TEXTS):
                parts.append(counter.count_lines(Path(path)))
            elif str(path).lower().endswith(SHEETS):
                parts.append(counter.count_csv(Path(path)))
            else:
                others += parquet_files(path)
        for file in list(others):
            try:
                counter.check_file(file)
            except UnreadableError as error:
                if unreadable is None:
                    raise
                unreadable(error)
                others.remove(file)
                parts.append(unreadable_reports(survey, rows_of_parquet(file) or 1))
        if others:
            parts.append(counter.count_parquet(others))
    return Tally.merge(parts)


@dataclass(frozen=True)
class _Counter:
    """Runs the query over what one kind of file is to DuckDB."""

    connection: duckdb.DuckDBPyConnection
    survey: Survey
    how: dict[str, Any]

    def _query(self, table: str, bytes_as: Bytes = "binary", **more: Any) -> Query:
        return Query(self.survey, table, _DUCKDB, self.how["pairs"], bytes_as, InPlace(streamed=True, **more))

    def _count(self, query: Query) -> Tally:
        rows = self.connection.sql(query.text()).to_arrow_reader(_BATCH_ROWS)
        return count_batches(self.survey, rows, patterns=self.how["patterns"])

    def check_file(self, file: Path) -> None:
        """Refuse a Parquet file that is corrupt, or whose columns are missing or wrong, as the local tally does.

        DuckDB itself does not compare the checksums of pages.
        """
        names = set(schema(self.survey).names)
        with _one_line(file):
            with pq.ParquetFile(file) as opened:
                columns, metadata = opened.schema_arrow, opened.metadata
            check_pages(file, metadata, names)
        nothing = pa.RecordBatch.from_pylist([], pa.schema([field for field in columns if field.name in names]))
        try:
            tally_batch(self.survey, nothing)
        except ReportError as error:
            raise ReportError(f"{file}: {error}") from None

    def count_parquet(self, files: Sequence[Path]) -> Tally:
        """Count Parquet files, all at once."""
        listed = ", ".join(_DUCKDB.literal(str(file)) for file in files)
        try:
            good_ids = all(map(_has_good_ids, files))
            return self._count(self._query(f"read_parquet([{listed}], union_by_name = true)", good_ids=good_ids))
        except duckdb.Error as error:
            named = next((file for file in files if str(file) in str(error)), files[0])
            raise UnreadableError(str(named), str(error)) from None

    def count_csv(self, file: Path) -> Tally:
        """Count a CSV file; columns of integers with something else in them get the reason for a wrong type."""
        with _one_line(file), file.open(encoding="utf-8-sig", newline="") as content:
            found = next(csv.reader(content), [])
        names = schema(self.survey).names
        missing = [name for name in names if name not in found]
        if missing:
            raise ReportError(f"{file}: column {missing[0]} is missing")
        texts = ", ".join(f"{_DUCKDB.literal(name)}: 'VARCHAR'" for name in found)
        source = (
            f"read_csv({_DUCKDB.literal(str(file))}, header = true, auto_detect = false, delim = ',', quote = '\"', "
            f"escape = '\"', columns = {{{texts}}})"
        )
        own = _DUCKDB.columns(names)
        integers = {"schema", *(f"{question.name}.output" for question in self.survey.questions)}
        columns = (f"{_integer(own[name])} AS {own[name]}" if name in integers else own[name] for name in names)
        try:
            return self._count(self._query(f"(SELECT {', '.join(columns)} FROM {source})", "text"))
        except duckdb.Error as error:
            raise ReportError(f"{file}: is not a CSV file of reports ({str(error).splitlines()[0][:120]})") from None

    def count_lines(self, file: Path) -> Tally:
        """Count JSON lines: those that are surely right here, all others by the local tally."""
        if not file.exists():
            raise ReportError(f"{file}: there is no such file")
        if _holds(file, _UNIT):
            return self._count_locally(file)
        table = f"({self._lines(file)})"
        try:
            counted = replace(self._count(self._query(table, "text")), rejections={})
            others = self.connection.sql(self._query(table, "text", kept="line").rejected()).to_arrow_reader(
                _BATCH_ROWS
            )
            rest = (text.encode() for batch in others for text in batch.column(0).to_pylist())
            return counted + tally(self.survey, (line for line in rest if line.strip()), repeats=False, **self.how)
        except duckdb.Error:  # text that is not UTF-8, other ends of lines: DuckDB cannot tell where lines end
            return self._count_locally(file)

    def _count_locally(self, file: Path) -> Tally:
        with file.open("rb") as lines:
            return tally(self.survey, (line for line in lines if line.strip()), repeats=False, **self.how)

    def _lines(self, file: Path) -> str:
        """Return the query that makes columns of lines; a line that is not as devices write it has no schema."""
        source = (
            f"read_csv({_DUCKDB.literal(str(file))}, columns = {{'line': 'VARCHAR'}}, header = false, "
            f"auto_detect = false, delim = '{_UNIT.decode()}', quote = '', escape = '', new_line = '\\n')"
        )
        answer = rf'\{{"question":{_NAME},"level":{_NAME},"output":{_OUTPUT}\}}'
        head = rf'\{{"pldp":{SCHEMA},"survey":"{self.survey.hash}","id":"[0-9a-f]*","answers":\['
        whole = rf"{head}{answer}(?:,{answer})*\]\}}[ \t\r]*"
        cells = [cell for place in range(len(self.survey.questions)) for cell in self._line_cells(place)]
        columns = [column for place in range(len(self.survey.questions)) for column in self._line_columns(place)]
        answers = "(length(line) - length(replace(line, '{\"question\":', ''))) / 12"
        known = " + ".join(f"(level{place} <> '')::INTEGER" for place in range(len(self.survey.questions)))
        return (
            f"SELECT line, CASE WHEN regexp_full_match(line, {_DUCKDB.literal(whole)}) AND {answers} = {known} "
            f"THEN {SCHEMA} END AS \"schema\", '{self.survey.hash}' AS survey, "
            f'regexp_extract(line, \'"id":"([0-9a-f]*)"\', 1) AS id, {", ".join(columns)} '
            f"FROM (SELECT line, {', '.join(cells)} FROM {source} WHERE line IS NOT NULL)"
        )

    def _line_cells(self, place: int) -> Iterator[str]:
        """Yield the texts of level and output of one question, empty where it is not answered."""
        name = re.escape(json.dumps(self.survey.questions[place].name, ensure_ascii=False))
        pattern = rf'\{{"question":{name},"level":({_NAME}),"output":({_OUTPUT})\}}'
        for group, part in ((1, "level"), (2, "output")):
            yield f"regexp_extract(line, {_DUCKDB.literal(pattern)}, {group}) AS {part}{place}"

    def _line_columns(self, place: int) -> Iterator[str]:
        """Yield the columns of one question, made of these texts."""
        level, output, name = f"level{place}", f"output{place}", self.survey.questions[place].name
        for part, condition, text in (
            ("level", f"{level} <> ''", f"substr({level}, 2, length({level}) - 2)"),
            ("output", f"{output} NOT LIKE '\"%'", f"TRY_CAST({output} AS BIGINT)"),
            ("bits", f"{output} LIKE '\"%'", f"replace({output}, '\"', '')"),
        ):
            yield f"CASE WHEN {condition} THEN {text} END AS {_DUCKDB.quoted(f'{name}.{part}')}"


def _holds(file: Path, byte: bytes) -> bool:
    with file.open("rb") as content:
        return any(byte in part for part in iter(lambda: content.read(1 << 22), b""))


def _has_good_ids(file: Path) -> bool:
    """Tell whether a Parquet file says itself that every id has its length: most of what it holds need not be read."""
    with pq.ParquetFile(file) as opened:
        metadata = opened.metadata
    (place,) = (place for place in range(metadata.num_columns) if metadata.schema.column(place).name == "id")
    column = metadata.schema.column(place)
    if column.physical_type != "FIXED_LEN_BYTE_ARRAY" or column.length != ID_BYTES:
        return False
    groups = (metadata.row_group(group).column(place).statistics for group in range(metadata.num_row_groups))
    return all(group is not None and group.has_null_count and group.null_count == 0 for group in groups)


def _integer(column: str) -> str:
    """Return a text as an integer; −1, which is never an output, where it is too large to be one."""
    fits = f"CASE WHEN length({column}) <= {_DIGITS} THEN CAST({column} AS BIGINT) ELSE -1 END"
    return f"CASE WHEN regexp_full_match({column}, '-?[0-9]+') THEN {fits} END"


@contextmanager
def _one_line(file: Path) -> Iterator[None]:
    """Turn whatever reading a file raises into one of our errors."""
    try:
        yield
    except FileNotFoundError:
        raise ReportError(f"{file}: there is no such file") from None
    except UnicodeDecodeError:
        raise ReportError(f"{file}: is not UTF-8 text") from None
    except (pa.ArrowException, OSError, ValueError, csv.Error) as error:
        raise UnreadableError(str(file), str(error)) from None
