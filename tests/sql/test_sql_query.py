"""The printed query: one per survey, and a text that the engine it is for can parse."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from helpers.any_reports import HIDDEN, LABELS, SURVEYS, choice, survey_of
from pldp import Survey
from pldp.cli import main
from pldp.errors import TallyError
from pldp.mechanisms import Bits
from pldp.tallies.sql import DIALECTS, query
from pldp.tallies.sql.packed import PackedTests, count_ones

PARSED = {name: "postgres" if name == "postgresql" else name for name in DIALECTS}


@pytest.mark.parametrize("bytes_as", ["binary", "text"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_query_is_one_statement_of_its_dialect(dialect: str, bytes_as: str) -> None:
    """What the engines that no test runs say about a query, a parser of their dialects says here."""
    sqlglot = pytest.importorskip("sqlglot")
    for survey in (LABELS, HIDDEN):
        pairs = [tuple(question.name for question in survey.questions[:2])]
        text = query(survey, "analytics.reports", dialect, pairs=pairs, bytes_as=bytes_as)
        (parsed,) = sqlglot.parse(text, read=PARSED[dialect], error_level=sqlglot.ErrorLevel.RAISE)
        assert [column.alias_or_name for column in parsed.selects] == ["question", "level", "output", "count"]
        literals = {each.this for each in parsed.find_all(sqlglot.exp.Literal) if each.is_string}
        assert {
            survey.hash,
            *(level.name for level in survey.levels),
            *(each.name for each in survey.questions),
        } <= literals
        named = {each.name for each in parsed.find_all(sqlglot.exp.Column)}
        expected = DIALECTS[dialect].rename(f"{survey.questions[0].name}.level")
        assert expected in named


def test_the_parser_finds_a_quote_that_is_not_escaped() -> None:
    """The negative twin of the test above."""
    sqlglot = pytest.importorskip("sqlglot")
    text = query(LABELS, "reports", "bigquery").replace("\\'", "'")
    with pytest.raises(sqlglot.errors.SqlglotError):
        sqlglot.parse(text, read="bigquery", error_level=sqlglot.ErrorLevel.RAISE)


@pytest.mark.parametrize("name", SURVEYS)
def test_a_form_says_the_same_in_sql_as_in_python(name: str) -> None:
    """Exactly: SQLite evaluates the condition of every form of two bytes at most on all such bytes."""
    connection = sqlite3.connect(":memory:")
    forms = {
        channel.form for each in SURVEYS[name].questions for channel in each.channels if isinstance(channel.form, Bits)
    }
    for form in sorted(forms, key=repr):
        if form.bytes > 2:
            continue
        condition = form.condition(PackedTests(DIALECTS["sqlite"], "digits", form.bytes, count_ones("digits")))
        outputs = [number.to_bytes(form.bytes, "little") for number in range(256**form.bytes)]
        connection.execute("CREATE TABLE outputs (digits TEXT)")
        connection.executemany("INSERT INTO outputs VALUES (?)", [(output.hex(),) for output in outputs])
        found = {digits for (digits,) in connection.execute(f"SELECT digits FROM outputs WHERE {condition}")}
        assert found == {output.hex() for output in outputs if form.admits(output)}
        connection.execute("DROP TABLE outputs")
    connection.close()


def test_names_that_an_engine_takes_for_the_same_are_refused() -> None:
    capitals = survey_of(choice("Mode"), choice("mode"))
    dots = survey_of(choice("a.b"), choice("a-b"))
    long = survey_of(choice("x" * 62 + "1"), choice("x" * 62 + "2"))
    for survey, dialect, other in (
        (capitals, "duckdb", "postgresql"),
        (dots, "bigquery", "snowflake"),
        (long, "postgresql", "clickhouse"),
    ):
        with pytest.raises(TallyError, match=rf"^{dialect} cannot tell the columns '[^\n]+' apart"):
            query(survey, "reports", dialect)
        assert query(survey, "reports", other)


def test_what_cannot_be_counted_is_refused_in_one_line(commute: Survey) -> None:
    for how, line in (
        ({"table": " "}, "the table must be what stands behind FROM"),
        ({"table": "a; DROP TABLE b"}, "the table must be what stands behind FROM"),
        ({"dialect": "duckbd"}, "unknown dialect 'duckbd'; did you mean 'duckdb'?"),
        ({"pairs": [("mode", "mode")]}, "pairs must name different questions"),
    ):
        with pytest.raises(TallyError) as told:
            query(commute, **{"table": "reports", **how})
        assert line in str(told.value)
        assert "\n" not in str(told.value)
    strange = survey_of(choice("a"), choice("b"), choice('["a", "b"]'))
    with pytest.raises(TallyError, match="which is also the name of a pair"):
        query(strange, "reports", pairs=[("a", "b")])


def test_the_command_prints_the_query_and_nothing_else(capsys: pytest.CaptureFixture[str], commute: Survey) -> None:
    given = ["sql", "examples/commute.toml", "--dialect", "snowflake", "--table", "reports", "--pair", "mode,late"]
    assert main(given) == 0
    expected = query(commute, "reports", "snowflake", pairs=[("mode", "late")])
    assert capsys.readouterr().out == expected
    assert main([*given, "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"survey": commute.hash, "dialect": "snowflake", "table": "reports", "query": expected}


def test_queries_hold_no_name_of_a_mechanism() -> None:
    source = Path("src/pldp/tallies/sql")
    words = " ".join(path.read_text(encoding="utf-8") for path in source.glob("*.py"))
    assert not [name for name in ("krr", "oue", "subset", "privset") if f'"{name}"' in words]
