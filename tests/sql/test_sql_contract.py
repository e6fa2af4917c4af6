"""The contract of tallies from SQL: whoever runs the query, the tally is that of the local kernel, bit for bit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.any_reports import ASKED, HIDDEN, LABELS, SURVEYS, any_rows, write_rows
from helpers.claims import runs
from helpers.combinations import ways
from helpers.engines import DuckDB, DuckDBQuery, PostgreSQL, SparkSQL, SQLite
from pldp import Survey, tallies
from pldp.reports import Rejection
from pldp.reports.columns import write_parquet
from pldp.simulate import Population, simulate_reports
from pldp.survey import survey_from_mapping
from pldp.tallies.sql.query import REASONS

HERE = {"duckdb": DuckDB, "printed for duckdb": DuckDBQuery, "sqlite": SQLite}
FULL = pytest.mark.skipif(not os.environ.get("PLDP_LONG"), reason="in `make test-long`")
SPARK = pytest.param("spark", marks=pytest.mark.xdist_group("spark"))
PAIRS = {"labels": [("mix.ed", "subset"), ("direct.`'\"\\", "oue", "pairs")], "hidden": [("mode", "late")]}


@pytest.fixture(params=[*HERE, "postgresql", SPARK])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param in HERE:
        used = HERE[request.param](tmp_path)
    elif request.param == "postgresql":
        used = PostgreSQL(tmp_path, request.getfixturevalue("postgres"))
    else:
        used = SparkSQL(tmp_path, request.getfixturevalue("spark"))
    with closing(used):
        yield used


def examples(engine: Any) -> int:
    """Return how many tables of reports to try: most of the cost of an engine is planning long queries."""
    short, long = {SQLite: (12, 200), PostgreSQL: (6, 100), SparkSQL: (1, 8)}.get(type(engine), (4, 100))
    return runs(short, long)


def same(engine: Any, survey: Survey, path: Path, **how: Any) -> tallies.Tally:
    expected = tallies.tally(survey, path, **{name: own for name, own in how.items() if name != "bytes_as"})
    assert engine.tally(survey, path, **how) == expected
    return expected


@pytest.mark.parametrize("name", SURVEYS)
def test_any_reports_are_counted_as_by_the_local_tally(engine: Any, tmp_path: Path, name: str) -> None:
    if isinstance(engine, SparkSQL) and name != "ask" and not os.environ.get("PLDP_LONG"):
        pytest.skip("in `make test-long`: Spark takes many CPU seconds to compile a long query")
    survey = SURVEYS[name]

    @settings(max_examples=examples(engine), deadline=None, suppress_health_check=[*HealthCheck])
    @given(any_rows(survey), st.booleans())
    def check(rows: list[dict[str, Any]], patterns: bool) -> None:
        path = write_rows(tmp_path / "any.parquet", survey, rows)
        same(engine, survey, path, patterns=patterns, pairs=PAIRS.get(name, []))

    check()


@pytest.mark.parametrize("name", ["labels", "budgets per value"])
def test_hexadecimal_digits_are_counted_as_the_bytes_they_stand_for(engine: Any, tmp_path: Path, name: str) -> None:
    if isinstance(engine, DuckDB):
        pytest.skip("its files of text are CSV and JSON lines, see test_sql_files.py")
    if isinstance(engine, SparkSQL) and not os.environ.get("PLDP_LONG"):
        pytest.skip("in `make test-long`")
    survey = SURVEYS[name]

    @settings(max_examples=max(1, examples(engine) // 4), deadline=None, suppress_health_check=[*HealthCheck])
    @given(any_rows(survey))
    def check(rows: list[dict[str, Any]]) -> None:
        same(engine, survey, write_rows(tmp_path / "any.parquet", survey, rows), patterns=True, bytes_as="text")

    check()


def test_any_reports_are_rejected_for_every_reason(tmp_path: Path) -> None:
    """Without this, the tests above could be about nothing."""
    seen: set[Rejection] = set()

    @settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=[*HealthCheck])
    @given(any_rows(LABELS), any_rows(ASKED))
    def check(rows: list[dict[str, Any]], asked: list[dict[str, Any]]) -> None:
        for survey, own in ((LABELS, rows), (ASKED, asked)):
            seen.update(tallies.tally(survey, write_rows(tmp_path / "any.parquet", survey, own)).rejections)

    check()
    assert seen == set(REASONS)


@pytest.mark.parametrize("way", list(ways())[:: runs(3, 1)], ids=str)
def test_every_way_to_ask_is_counted_as_by_the_local_tally(tmp_path: Path, way: Any) -> None:
    survey = survey_from_mapping(way.document)
    people = Population.of_shares(survey, 300, seed=1)
    write_parquet(tmp_path / "r.parquet", survey, simulate_reports(survey, people, seed=1))
    for used in (DuckDB(tmp_path), SQLite(tmp_path)):
        with closing(used) as engine:
            assert same(engine, survey, tmp_path / "r.parquet").reports == 300


def test_hidden_levels_keep_whole_rows(engine: Any, tmp_path: Path) -> None:
    if isinstance(engine, SparkSQL) and not os.environ.get("PLDP_LONG"):
        pytest.skip("in `make test-long`")
    people = Population.of_shares(HIDDEN, 500, seed=1)
    write_parquet(tmp_path / "r.parquet", HIDDEN, simulate_reports(HIDDEN, people, seed=1))
    counted = same(engine, HIDDEN, tmp_path / "r.parquet")
    assert all(own.has_cells for own in counted.counts.values())


def test_no_reports_are_counted_as_none(engine: Any, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "none.parquet", HIDDEN, [])
    counted = same(engine, HIDDEN, path, pairs=[("mode", "late")])
    assert (counted.reports, counted.rejected) == (0, 0)
