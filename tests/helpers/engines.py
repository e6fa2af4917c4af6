"""The engines behind one door: what the contract suite calls."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pldp import Survey, Tally, tallies
from pldp.estimates import baskets_of
from pldp.tallies import Fused, Service
from pldp.tallies.sql import DIALECTS, query, read_counts


class Engine(Protocol):
    """Counts the same reports somewhere."""

    name: str

    def tally(self, survey: Survey, path: Path, **how: Any) -> Tally: ...
    def tally_texts(self, survey: Survey, path: Path) -> Tally: ...
    def fuse(self, services: Sequence[Service], **how: Any) -> Fused: ...
    def baskets(self, survey: Survey, path: Path, question: str) -> Any: ...


class Local:
    name = "local"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def tally(self, survey: Survey, path: Path, **how: Any) -> Tally:
        return tallies.tally(survey, path, **how)

    def tally_texts(self, survey: Survey, path: Path) -> Tally:
        return tallies.tally(survey, path.read_text(encoding="utf-8").splitlines())

    def fuse(self, services: Sequence[Service], **how: Any) -> Fused:
        return tallies.fuse(services, **how)

    def baskets(self, survey: Survey, path: Path, question: str) -> Any:
        return baskets_of(tallies.tally(survey, path), question)


class Spark:
    """Executors open the files."""

    name = "spark"

    def __init__(self, folder: Path, session: Any) -> None:
        from pldp.tallies import spark  # noqa: PLC0415 - not every environment has it

        self.folder, self.session, self.module = folder, session, spark

    def tally(self, survey: Survey, path: Path, **how: Any) -> Tally:
        return self.module.tally_files(survey, self.session, [str(path)], **how)

    def tally_texts(self, survey: Survey, path: Path) -> Tally:
        return self.module.tally(survey, self.session.read.text(str(path)))

    def fuse(self, services: Sequence[Service], **how: Any) -> Fused:
        frames = []
        for place, service in enumerate(services):
            path = self.folder / f"service{place}.parquet"
            pq.write_table(pa.table({"key": service.keys, "output": service.outputs}), path)
            frame = self.session.read.parquet(str(path)).repartition(2)
            frames.append(self.module.FrameService(service.name, service.channel, frame, service.bounds))
        return self.module.fuse(frames, **how)

    def baskets(self, survey: Survey, path: Path, question: str) -> Any:
        return self.module.baskets(survey, self.session.read.parquet(str(path)), question)


class Frames(Spark):
    """Spark reads the files, as it does at addresses that executors cannot open themselves."""

    name = "frames"

    def tally(self, survey: Survey, path: Path, **how: Any) -> Tally:
        return self.module.tally_files(survey, self.session, [f"viewfs://here{path}"], **how)


class DuckDB:
    """DuckDB opens the files."""

    name = "duckdb"

    def __init__(self, folder: Path) -> None:
        pytest.importorskip("duckdb", reason="install 'pldp[sql]'")
        from pldp.tallies.sql.files import tally_files  # noqa: PLC0415 - not every environment has it

        self.folder, self.tally_files = folder, tally_files

    def tally(self, survey: Survey, path: Path, **how: Any) -> Tally:
        return self.tally_files(survey, [path], **how)

    def tally_texts(self, survey: Survey, path: Path, **how: Any) -> Tally:
        return self.tally_files(survey, [path], **how)

    def close(self) -> None:
        """Nothing stays open."""


class PrintedQuery:
    """A table in an engine, the query that is printed, and its result in a file."""

    name: str
    dialect: str
    hex = "{}"

    connection: Any = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()

    def load(self, table: pa.Table, path: Path) -> None:
        """Make a table `reports` of it."""
        raise NotImplementedError

    def run(self, query: str) -> Path:
        """Save the result of a query."""
        raise NotImplementedError

    def tally(
        self, survey: Survey, path: Path, *, pairs: Any = (), bytes_as: str = "binary", patterns: bool = False
    ) -> Tally:
        table = pq.read_table(path)
        self.load(table, path)
        source = "reports"
        if bytes_as == "text":
            quoted = DIALECTS[self.dialect].columns(table.column_names)
            packed = {field.name for field in table.schema if pa.types.is_binary(field.type)}
            packed |= {field.name for field in table.schema if pa.types.is_fixed_size_binary(field.type)}
            texts = (f"{self.hex.format(own) if name in packed else own} AS {own}" for name, own in quoted.items())
            source = f"(SELECT {', '.join(texts)} FROM reports) AS texts"
        text = query(survey, source, self.dialect, pairs=pairs, bytes_as=bytes_as)
        return read_counts(survey, self.run(text), patterns=patterns)


class DuckDBQuery(PrintedQuery):
    name, dialect, hex = "printed for DuckDB", "duckdb", "lower(hex({}))"

    def load(self, table: pa.Table, path: Path) -> None:
        duckdb = pytest.importorskip("duckdb", reason="install 'pldp[sql]'")
        self.connection = self.connection or duckdb.connect()
        self.connection.register("reports", table)

    def run(self, query: str) -> Path:
        self.connection.execute(f"COPY ({query}) TO '{self.folder / 'counts.parquet'}'")
        return self.folder / "counts.parquet"


class SQLite(PrintedQuery):
    name, dialect, hex = "sqlite", "sqlite", "CASE WHEN {0} IS NOT NULL THEN lower(hex({0})) END"

    def load(self, table: pa.Table, path: Path) -> None:
        self.close()
        self.connection = sqlite3.connect(":memory:")
        columns = ", ".join(DIALECTS["sqlite"].quoted(name) for name in table.column_names)
        self.connection.execute(f"CREATE TABLE reports ({columns})")
        marks = ", ".join("?" * table.num_columns)
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        self.connection.executemany(f"INSERT INTO reports VALUES ({marks})", rows)

    def run(self, query: str) -> Path:
        found = self.connection.execute(query)
        with (self.folder / "counts.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(column[0] for column in found.description)
            writer.writerows(found)
        return self.folder / "counts.csv"


class PostgreSQL(PrintedQuery):
    name, dialect, hex = "postgresql", "postgresql", "encode({}, 'hex')"

    def __init__(self, folder: Path, address: str) -> None:
        import psycopg  # noqa: PLC0415 - only where stores are tested

        super().__init__(folder)
        self.connection = psycopg.connect(address.replace("NAME", "postgres"))

    def load(self, table: pa.Table, path: Path) -> None:
        self.connection.execute("DROP TABLE IF EXISTS reports")
        kinds = {"int": "bigint", "uin": "bigint", "str": "text", "dic": "text", "bin": "bytea", "fix": "bytea"}
        own = DIALECTS["postgresql"].columns(table.column_names)
        columns = ", ".join(f"{own[field.name]} {kinds[str(field.type)[:3]]}" for field in table.schema)
        self.connection.execute(f"CREATE TEMPORARY TABLE reports ({columns})")
        with self.connection.cursor() as cursor, cursor.copy("COPY reports FROM STDIN") as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)

    def run(self, query: str) -> Path:
        with (
            (self.folder / "counts.csv").open("wb") as file,
            self.connection.cursor() as cursor,
            cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER)") as copy,
        ):
            for part in copy:
                file.write(part)
        return self.folder / "counts.csv"


class SparkSQL(PrintedQuery):
    name, dialect, hex = "spark sql", "spark", "lower(hex({}))"

    def __init__(self, folder: Path, session: Any) -> None:
        super().__init__(folder)
        self.session = session

    def load(self, table: pa.Table, path: Path) -> None:
        self.session.read.parquet(str(path)).createOrReplaceTempView("reports")

    def run(self, query: str) -> Path:
        rows = self.session.sql(query).collect()
        lines = (json.dumps(row.asDict(), ensure_ascii=False) for row in rows)
        (self.folder / "counts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return self.folder / "counts.jsonl"
