"""Results of queries in files: read exactly, or refused in one line."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.engines import SQLite
from pldp import Survey, Tally, tallies
from pldp.cli import main
from pldp.errors import TallyError
from pldp.reports.columns import write_parquet
from pldp.simulate import Population, simulate_reports
from pldp.tallies.sql import query, read_counts
from pldp.tallies.sql.query import REASONS
from pldp.tallies.sql.reading import COLUMNS

PAIR = ("mode", "late")
Rows = list[dict[str, Any]]


@pytest.fixture
def counted(tmp_path: Path, commute: Survey) -> tuple[Tally, Rows]:
    """The local tally, and the rows of the query's result."""
    path = tmp_path / "r.parquet"
    write_parquet(path, commute, simulate_reports(commute, Population.of_shares(commute, 2000, seed=1), seed=1))
    with closing(SQLite(tmp_path)) as engine:
        engine.load(pq.read_table(path), path)
        saved = engine.run(query(commute, "reports", "sqlite", pairs=[PAIR]))
    with saved.open(encoding="utf-8", newline="") as file:
        return tallies.tally(commute, path, pairs=[PAIR]), list(csv.DictReader(file))


def save_csv(path: Path, rows: Rows, names: tuple[str, ...] = ("question", "level", "output", "count")) -> Path:
    with path.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path.with_suffix(".csv")


def save_lines(path: Path, rows: Rows) -> Path:
    path.with_suffix(".jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path.with_suffix(".jsonl")


def save_parquet(path: Path, rows: Rows) -> Path:
    """As some engines write it: capitals, missing texts, counts of another type."""
    table = pa.Table.from_pylist([{name.upper(): own or None for name, own in row.items()} for row in rows])
    counts = pa.array([int(row["count"]) for row in rows], pa.decimal128(20, 0))
    pq.write_table(table.set_column(table.column_names.index("COUNT"), "COUNT", counts), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


@pytest.mark.parametrize("save", [save_csv, save_lines, save_parquet])
def test_every_format_and_any_order_give_the_same_tally(
    tmp_path: Path, commute: Survey, counted: tuple[Tally, Rows], save: Callable[[Path, Rows], Path]
) -> None:
    expected, rows = counted
    assert read_counts(commute, save(tmp_path / "counts", rows[::-1])) == expected


def test_rows_in_parts_are_added(tmp_path: Path, commute: Survey, counted: tuple[Tally, Rows]) -> None:
    expected, rows = counted
    place = next(place for place, row in enumerate(rows) if row["output"] == "1" and row["question"] == "late")
    number = int(rows[place]["count"])
    parts = [{**rows[place], "count": part} for part in (1, number - 1)]
    assert read_counts(commute, save_csv(tmp_path / "counts", [*rows[:place], *rows[place + 1 :], *parts])) == expected


def without(**keys: str) -> Callable[[Rows], Rows]:
    return lambda rows: [row for row in rows if not keys.items() <= row.items()]


def changed(keys: dict[str, str], **new: str) -> Callable[[Rows], Rows]:
    return lambda rows: [{**row, **new} if keys.items() <= row.items() else row for row in rows]


LATE = {"question": "late", "level": "open", "output": "1"}


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (without(level="survey"), "is incomplete: the row of 'survey "),
        (without(output="bad_id"), "is incomplete: the row of 'rejected bad_id' is missing; save all rows"),
        (without(level="accepted"), "is incomplete: the row of 'accepted' is missing"),
        (without(question="late", level=""), "is incomplete: the row of 'late' is missing"),
        (without(question='["mode", "late"]', level=""), "is incomplete: the row of a pair is missing"),
        (without(**LATE), "is incomplete: question 'late' has "),
        (without(question='["mode", "late"]', output="1,1"), "is incomplete: questions mode, late has "),
        (changed({"level": "survey"}, output="0" * 64), "was counted for another survey than 'How people get to work'"),
        (changed(LATE, count="-1"), "column count must hold whole numbers that are not negative, not '-1'"),
        (changed(LATE, count="1.5"), "column count must hold whole numbers that are not negative, not '1.5'"),
        (changed(LATE, count="9" * 16), "column count must hold numbers up to 9,007,199,254,740,992"),
        (changed(LATE, output="2"), "question 'late', level 'open': an output must be below 2, not 2"),
        (changed(LATE, output="x00"), "question 'late', level 'open': an output must be an integer, not 'x00'"),
        (changed(LATE, level="public"), "question 'late' offers no level 'public'; is this the result of"),
        (changed(LATE, question="age"), "the survey has no question 'age'; is this the result of another survey?"),
        (changed({"output": "bad_id"}, count="3"), "contradicts itself: of 2,000 reports 2,000 are accepted"),
        (changed({"level": "accepted"}, output="so"), "is incomplete: the row of 'accepted' is missing"),
        (lambda rows: [*rows, {"question": "", "level": "odd", "output": "", "count": 1}], "has a row that no query"),
        (lambda rows: [dict(row, output=row["output"].replace("x", "xf")) for row in rows], "hexadecimal digits"),
        (lambda rows: [dict(row, output=row["output"].replace("x", "")) for row in rows], "hexadecimal digits"),
        (lambda rows: [dict(row, output=re.sub("^x..$", "xff", row["output"])) for row in rows], "none that"),
    ],
)  # fmt: skip
def test_a_result_that_does_not_fit_gets_one_clear_line(
    tmp_path: Path, commute: Survey, counted: tuple[Tally, Rows], spoil: Callable[[Rows], Rows], line: str
) -> None:
    path = save_csv(tmp_path / "counts", spoil(counted[1]))
    with pytest.raises(TallyError) as told:
        read_counts(commute, path)
    assert line in str(told.value)
    assert str(told.value).startswith(f"{path}: ")
    assert "\n" not in str(told.value)


def late_only(answers: int, reports: int) -> tuple[Survey, Rows]:
    """A survey with one question, and a result whose rows agree about the answers to it."""
    survey = Survey.read(
        {"pldp": 1, "title": "t", "levels": {"open": 2}, "questions": [{"name": "late", "values": ["yes", "no"]}]}
    )
    summary = [("", "survey", survey.hash, reports), ("", "accepted", "", reports), ("late", "", "", answers)]
    summary += [("", "rejected", reason.value, 0) for reason in REASONS]
    rows = [*summary, ("late", "open", "0", answers // 2), ("late", "open", "1", answers - answers // 2)]
    return survey, [dict(zip(COLUMNS, row, strict=True)) for row in rows]


@pytest.mark.parametrize(("answers", "line"), [(900, "each report answers at least one"), (1100, "at most once")])
def test_reports_without_an_answer_or_with_two_are_refused_where_they_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answers: int, line: str
) -> None:
    for number in (1000, answers):
        survey, rows = late_only(number, 1000)
        survey.save(tmp_path / "survey.json")
        words = ["tally", "--from-counts", str(save_csv(tmp_path / "counts", rows)), "--out", str(tmp_path / "t.tally")]
        assert main([*words, "--survey", str(tmp_path / "survey.json")]) == (0 if number == 1000 else 2)
        assert (tmp_path / "t.tally").exists() == (number == 1000)
        (tmp_path / "t.tally").unlink(missing_ok=True)
    told = capsys.readouterr().err
    assert f"counts.csv: question 'late' has {answers:,} answers in 1,000 reports; " in told
    assert line in told
    assert told.count("\n") == 1


def test_rows_of_many_kinds_are_each_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparing every row with every kind of row takes hours for a million of them."""
    survey, rows = late_only(1000, 1000)
    strange = [{"question": "", "level": f"odd {place}", "output": "", "count": 1} for place in range(300)]
    compared = []
    find = np.flatnonzero
    monkeypatch.setattr(np, "flatnonzero", lambda array: compared.append(len(array)) or find(array))
    with pytest.raises(TallyError, match="has a row that no query of `pldp sql` makes"):
        read_counts(survey, save_csv(tmp_path / "counts", [*rows, *strange]))
    assert sum(compared) <= 2 * len([*rows, *strange])


def test_a_deeply_nested_name_is_an_unknown_question(tmp_path: Path) -> None:
    survey, rows = late_only(1000, 1000)
    nested = {"question": "[" * 100_000, "level": "open", "output": "0", "count": 1}
    with pytest.raises(TallyError, match="the survey has no question"):
        read_counts(survey, save_csv(tmp_path / "counts", [*rows, nested]))


def test_files_that_are_no_result_get_one_clear_line(
    tmp_path: Path, commute: Survey, counted: tuple[Tally, Rows]
) -> None:
    (tmp_path / "counts.parquet").write_bytes(b"nothing")
    (tmp_path / "counts.jsonl").write_text("{not json}\n")
    (tmp_path / "counts.txt").write_text("question\n")
    for path, line in (
        (tmp_path / "none.csv", "there is no such file"),
        (tmp_path / "counts.parquet", "is not the result of a query as CSV, JSON lines or Parquet"),
        (tmp_path / "counts.jsonl", "is not the result of a query as CSV, JSON lines or Parquet"),
        (tmp_path / "counts.txt", "the name must end in .csv, .jsonl or .parquet, not '.txt'"),
        (save_csv(tmp_path / "few", counted[1], ("question", "level", "output")), "column count is missing"),
    ):
        with pytest.raises(TallyError) as told:
            read_counts(commute, path)
        assert line in str(told.value)
        assert "\n" not in str(told.value)


def test_the_command_adds_results_of_queries_to_reports_and_tallies(
    tmp_path: Path, commute: Survey, counted: tuple[Tally, Rows], capsys: pytest.CaptureFixture[str]
) -> None:
    expected, rows = counted
    path, out = str(save_csv(tmp_path / "counts", rows)), str(tmp_path / "t.tally")
    survey = ["--survey", "examples/commute.toml", "--out", out]
    assert main(["tally", "--from-counts", path, *survey]) == 0
    assert Tally.load(out) == expected
    both = ["tally", str(tmp_path / "r.parquet"), "--from-counts", path, "--pair", "mode,late", *survey]
    assert main(both) == 0
    assert Tally.load(out) == expected + expected
    capsys.readouterr()
    for given, line in (
        (["tally", "--out", out], "nothing to count"),
        (["tally", "--from-counts", path, "--out", out], "--survey is needed with --from-counts"),
        (["tally", "--from-counts", path, "--pair", "late,mode", *survey], "was counted without the pair late, mode"),
        (["tally", "r.csv", *survey], "r.csv: CSV files of reports are counted with --engine duckdb"),
    ):
        assert main(given) == 2
        assert line in capsys.readouterr().err
