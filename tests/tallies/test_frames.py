"""Data frames of pandas and Polars are counted like Arrow; tallies as bytes; a tally in a few lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pldp import Survey, Tally, tally
from pldp.errors import ReportError, TallyError
from pldp.reports import Rejection
from pldp.simulate import Population, simulate_reports
from pldp.survey import loads


def to_pandas(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas()


def to_polars(table: pa.Table) -> pl.DataFrame:
    return pl.from_arrow(table)


def plain_pandas(table: pa.Table) -> pd.DataFrame:
    """As somebody would make it by hand: Python objects, no categories."""
    return pd.DataFrame({name: table.column(name).to_pylist() for name in table.column_names})


def plain_polars(table: pa.Table) -> pl.DataFrame:
    return pl.DataFrame({name: table.column(name).to_pylist() for name in table.column_names})


FRAMES = (to_pandas, to_polars, plain_pandas, plain_polars)


def reports_of(survey: Survey, people: int = 500) -> pa.Table:
    population = Population.of_shares(survey, people, seed=4)
    return pa.Table.from_batches(simulate_reports(survey, population, seed=4, rows=200))


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", ["commute", "health", "shopping"])
def test_a_data_frame_is_counted_like_arrow(frame: Any, name: str) -> None:
    """In `health` each person answers two of five questions, so that every column has missing values."""
    survey = Survey.load(f"examples/{name}.toml")
    table = reports_of(survey)
    whole = tally(survey, table)
    assert whole.reports == 500
    assert tally(survey, frame(table)) == whole
    assert tally(survey, [frame(table.slice(0, 300)), frame(table.slice(300))]) == whole


@pytest.mark.parametrize("frame", FRAMES)
def test_every_form_of_output_and_every_rejection_survive_a_data_frame(frame: Any, every_form: Survey) -> None:
    table = reports_of(every_form)
    outside = np.asarray(table.column("direct.output").fill_null(0)).copy()
    outside[:7] = 99
    place = table.schema.get_field_index("direct.output")
    table = table.set_column(place, "direct.output", pa.array(outside))
    found = tally(every_form, frame(table), patterns=True, pairs=[("direct", "mixed")])
    assert found == tally(every_form, table, patterns=True, pairs=[("direct", "mixed")])
    assert found.rejections == {Rejection.OUT_OF_RANGE: 7}


@pytest.mark.parametrize("frame", FRAMES)
def test_a_question_that_nobody_answers_is_no_hindrance(frame: Any) -> None:
    survey = Survey.load("examples/shopping.toml")
    people = Population.of_values(survey, {"reason": ["a cold", "depression"]})
    table = pa.Table.from_batches(simulate_reports(survey, people))
    assert tally(survey, frame(table)).answered == {"basket": 0, "reason": 2, "spent": 0}


@pytest.mark.parametrize("frame", FRAMES)
def test_columns_that_make_no_sense_are_named(frame: Any, commute: Survey) -> None:
    table = reports_of(commute)
    with pytest.raises(ReportError, match="^column late.output is missing$"):
        tally(commute, frame(table.drop_columns(["late.output"])))
    place = table.schema.get_field_index("late.output")
    halves = table.set_column(place, "late.output", pa.array(np.full(500, 0.5)))
    with pytest.raises(ReportError, match="^column late.output must hold integers"):
        tally(commute, frame(halves))


@pytest.mark.parametrize(
    "wrong", [5, None, pl.LazyFrame({"schema": [1]}), object()], ids=lambda each: type(each).__name__
)
def test_what_are_no_reports_gets_one_line_with_what_is_allowed(wrong: object, commute: Survey) -> None:
    with pytest.raises(ReportError) as error:
        tally(commute, wrong)
    assert str(error.value) == (
        "reports must be many: an iterable of reports, Arrow data, a pandas or Polars DataFrame, or the path of "
        f"Parquet files, not {type(wrong).__name__}"
    )


def test_pairs_and_triples_of_all_kinds_are_counted() -> None:
    survey = Survey.load("examples/shopping.toml")
    for names in (("reason", "spent"), ("reason", "basket"), ("basket", "spent"), ("reason", "basket", "spent")):
        assert Tally.empty(survey, pairs=[names]).paired == (names,)
    budgets = loads(
        'pldp=1\ntitle="t"\nlevels={a=1}\nquestions=[{name="q",values=["x","y"]},'
        '{name="r",values=["x","y","z"],unprotected=["z"]}]'
    )
    assert Tally.empty(budgets, pairs=[("q", "r")]).paired == (("q", "r"),)


def test_bytes_are_the_file(commute: Survey, tmp_path) -> None:
    counted = tally(commute, reports_of(commute), pairs=[("late", "mode")])
    counted.save(tmp_path / "t.tally")
    assert Tally.from_bytes(counted.to_bytes()) == counted == Tally.load(tmp_path / "t.tally")
    assert Tally.from_bytes((tmp_path / "t.tally").read_bytes()) == counted
    with pytest.raises(TallyError, match="^is not a complete tally file"):
        Tally.from_bytes(counted.to_bytes()[:-50])
    with pytest.raises(TallyError, match="is not a complete tally file"):
        Tally.load(tmp_path)


@pytest.mark.parametrize("name", ["commute", "health", "shopping"])
def test_a_tally_shows_itself_in_five_lines(name: str) -> None:
    survey = Survey.load(f"examples/{name}.toml")
    counted = tally(survey, ["nonsense"])
    lines = repr(counted).splitlines()
    assert len(lines) <= 5
    assert lines[0] == f"Tally of {survey.title!r}: 0 reports, 1 rejected"
    html = counted._repr_html_()
    assert 'malformed</th><td class="number">1</td>' in html
    assert all(f">{question.name}</th>" in html for question in survey.questions)
