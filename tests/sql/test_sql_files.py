"""DuckDB counts files in place: the same tally, the same reasons, the same errors as the local engine."""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from helpers.any_reports import ASKED, LABELS, any_rows, good_row, write_rows
from helpers.claims import runs
from pldp import Survey, Tally, tallies
from pldp.cli import main
from pldp.errors import ReportError, UnreadableError
from pldp.reports import Rejection
from pldp.reports.columns import from_batch, read_parquet, schema, write_parquet
from pldp.simulate import Population, simulate_reports

pytest.importorskip("duckdb", reason="install 'pldp[sql]'")

from pldp.tallies.sql.files import tally_files

EVERY = settings(max_examples=runs(4, 100), deadline=None, suppress_health_check=[*HealthCheck])


def spoil(line: str, way: int) -> str:
    """Change a report's text: some ways leave it good."""
    return [
        line + "  ",
        line.replace(":", ": "),
        line.replace('"pldp":1', '"pldp":2'),
        line.replace('"pldp":1', '"pldp":1.0'),
        line[:-2],
        line.replace('"level":"', '"level":"x'),
        line.replace("}]", '},{"question":"other","level":"strict","output":1}]'),
        line.replace('"answers":[', '"answers":[' + line.partition('"answers":[')[2].partition("}")[0] + "},"),
        "",
        "garbage é \x00",
        line.replace('"output":', '"output":-'),
        line.replace('"output":', '"output":"').replace("},", '"},').replace("}]", '"}]'),
        line.upper(),
        line.replace('"output":', '"output":1' + "0" * 30),
        line.replace('"id":"', '"id":"z'),
        line.replace('"answers"', '"more":1,"answers"'),
        line.replace('{"question"', '{"question":"a","question"'),
        "\ufeff" + line,
        line.replace('"level"', '"le\\u0076el"'),
    ][way]


WAYS = 19


@pytest.fixture
def written(tmp_path: Path, commute: Survey) -> Path:
    people = Population.of_shares(commute, 3000, seed=1)
    write_parquet(tmp_path / "r.parquet", commute, simulate_reports(commute, people, seed=1))
    return tmp_path / "r.parquet"


@pytest.mark.parametrize("survey", [LABELS, ASKED], ids=["labels", "ask"])
def test_lines_of_json_are_judged_as_by_the_local_tally(tmp_path: Path, survey: Survey) -> None:
    source = Random(1)
    path = write_rows(tmp_path / "r.parquet", survey, [good_row(survey, seed) for seed in range(runs(300, 5000))])
    lines = [report.to_json() for batch in read_parquet(path) for report in from_batch(survey, batch)]
    lines = [spoil(line, source.randrange(WAYS)) if source.random() < 0.4 else line for line in lines]
    (tmp_path / "r.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    pairs = [tuple(question.name for question in survey.questions[:2])]
    expected = tallies.tally(survey, [line.encode() for line in lines if line.strip()], pairs=pairs, patterns=True)
    assert tally_files(survey, [tmp_path / "r.jsonl"], pairs=pairs, patterns=True) == expected
    assert len(expected.rejections) > 6


@pytest.mark.parametrize("ending", [b"\r\n", b"\n\xff\n", b"\n\x1f\n"])
def test_lines_that_duckdb_cannot_part_are_counted_locally(
    tmp_path: Path, commute: Survey, written: Path, ending: bytes
) -> None:
    reports = [report.to_json() for batch in read_parquet(written) for report in from_batch(commute, batch)][:50]
    (tmp_path / "r.jsonl").write_bytes(b"".join(report.encode() + ending for report in reports))
    with (tmp_path / "r.jsonl").open("rb") as lines:
        expected = tallies.tally(commute, [line for line in lines if line.strip()])
    assert tally_files(commute, [tmp_path / "r.jsonl"]) == expected
    assert expected.reports == 50


def as_sheet(path: Path, survey: Survey, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(schema(survey).names)
        for row in rows:
            writer.writerow(own.hex() if isinstance(own, bytes) else own for own in map(row.get, schema(survey).names))
    return path


@EVERY
@given(any_rows(LABELS))
def test_a_sheet_is_counted_as_the_columns_it_stands_for(tmp_path_factory: Any, rows: list[dict[str, Any]]) -> None:
    """A CSV file has no empty texts: what is empty is missing."""
    tmp_path = tmp_path_factory.mktemp("sheet")
    rows = [{name: own if own not in {"", b""} else None for name, own in row.items()} for row in rows]
    path = write_rows(tmp_path / "any.parquet", LABELS, rows)
    assert tally_files(LABELS, [as_sheet(tmp_path / "any.csv", LABELS, rows)]) == tallies.tally(LABELS, path)


def test_a_sheet_with_other_things_than_numbers_rejects_them(tmp_path: Path, commute: Survey) -> None:
    row = {"schema": 1, "survey": commute.hash, "id": bytes(16), "late.level": "open", "late.output": 1}
    given = ["1", "1.0", "x", "1e0", "", "9" * 30, "-1", "2"]
    path = as_sheet(tmp_path / "r.csv", commute, [{**row, "late.output": own} for own in given])
    found = tally_files(commute, [path])
    assert (found.reports, found.rejections) == (1, {Rejection.WRONG_TYPE: 4, Rejection.OUT_OF_RANGE: 3})
    bad = as_sheet(tmp_path / "bad.csv", commute, [{**row, "id": own} for own in ("AB" * 16, "ab" * 15, "zz" * 16)])
    assert tally_files(commute, [bad]).rejections == {Rejection.BAD_ID: 3}
    (tmp_path / "few.csv").write_text("schema,survey\n")
    with pytest.raises(ReportError, match=r"few\.csv: column id is missing$"):
        tally_files(commute, [tmp_path / "few.csv"])


def test_files_of_all_kinds_are_added(tmp_path: Path, commute: Survey, written: Path) -> None:
    (tmp_path / "more").mkdir()
    for name in "ab":
        (tmp_path / "more" / f"{name}.parquet").write_bytes(written.read_bytes())
    whole = tallies.tally(commute, written)
    assert tally_files(commute, [tmp_path / "more", written]) == Tally.merge([whole] * 3)


@pytest.mark.parametrize(
    ("column", "kind"), [("late.output", pa.float64()), ("late.level", pa.int32()), ("id", pa.string())]
)
def test_a_column_of_the_wrong_type_gets_the_line_of_the_local_tally(
    tmp_path: Path, commute: Survey, written: Path, column: str, kind: Any
) -> None:
    table = pq.read_table(written)
    wrong = table.set_column(table.column_names.index(column), column, pa.nulls(len(table), kind))
    for spoiled in (wrong, table.drop_columns([column])):
        pq.write_table(spoiled, tmp_path / "w.parquet")
        with pytest.raises(ReportError) as expected:
            tallies.tally(commute, tmp_path / "w.parquet")
        with pytest.raises(ReportError) as told:
            tally_files(commute, [tmp_path / "w.parquet"])
        assert str(told.value) == str(expected.value)


def test_ids_are_read_where_a_file_does_not_prove_them(tmp_path: Path, commute: Survey, written: Path) -> None:
    table = pq.read_table(written)
    ids = table.column("id").to_pylist()
    missing = table.set_column(2, "id", pa.array([None, *ids[1:]], pa.binary(16)))
    pq.write_table(missing, tmp_path / "w.parquet")
    assert tally_files(commute, [tmp_path / "w.parquet"]).rejections == {Rejection.BAD_ID: 1}
    pq.write_table(missing, tmp_path / "w.parquet", write_statistics=False)
    assert tally_files(commute, [tmp_path / "w.parquet", written]).rejections == {Rejection.BAD_ID: 1}


def flipped(content: bytes, start: int) -> bytes:
    return content[:start] + bytes(byte ^ 255 for byte in content[start : start + 50]) + content[start + 50 :]


def test_a_corrupt_page_anywhere_is_an_error_unless_asked_to_pass_over_it(
    tmp_path: Path, commute: Survey, written: Path
) -> None:
    """DuckDB alone reads most of these files without a word, and wrongly."""
    content = written.read_bytes()
    pages = range(4, len(content) - 12_000, runs(9_000, 500))
    assert len(pages) > 3
    for start in pages:
        (tmp_path / "w.parquet").write_bytes(flipped(content, start))
        with pytest.raises(UnreadableError, match=r"w\.parquet: is not a complete Parquet file of reports \([^\n]+\)$"):
            tally_files(commute, [tmp_path / "w.parquet"])
    passed: list[UnreadableError] = []
    found = tally_files(commute, [tmp_path / "w.parquet", written], unreadable=passed.append)
    assert [error.path for error in passed] == [str(tmp_path / "w.parquet")]
    assert (found.reports, found.rejections) == (3000, {Rejection.UNREADABLE: 3000})


@pytest.mark.parametrize("content", [b"", b"nothing", "half"])
def test_a_file_that_is_not_whole_gets_one_clear_line(
    tmp_path: Path, commute: Survey, written: Path, content: Any
) -> None:
    whole = written.read_bytes()
    (tmp_path / "w.parquet").write_bytes(whole[: len(whole) // 2] if content == "half" else content)
    with pytest.raises(UnreadableError, match=r"w\.parquet: is not a complete Parquet file of reports \([^\n]+\)$"):
        tally_files(commute, [tmp_path / "w.parquet"])
    with pytest.raises(ReportError, match=r"none\.parquet: there is no such file$"):
        tally_files(commute, [tmp_path / "none.parquet"])
    with pytest.raises(ReportError, match=r"none\.jsonl: there is no such file$"):
        tally_files(commute, [tmp_path / "none.jsonl"])


def test_the_command_counts_with_duckdb(
    tmp_path: Path, commute: Survey, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "t.tally"
    assert main(["tally", str(written), "--engine", "duckdb", "--pair", "mode,late", "--out", str(out)]) == 0
    expected = tallies.tally(commute, written, pairs=[("mode", "late")])
    assert out.read_bytes() == expected.to_bytes()
    survey = ["--survey", "examples/commute.toml", "--engine", "duckdb", "--out", str(out)]
    for options, line in (
        (["-"], "- : DuckDB reads files; count standard input with --engine local"),
        ([str(written), "--master", "local[2]"], "--master is for --engine spark"),
        (["none.csv"], "none.csv: there is no such file"),
    ):
        assert main(["tally", *options, *survey]) == 2
        assert line in capsys.readouterr().err
