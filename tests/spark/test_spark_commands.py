"""The command line with both engines: the same files, the same tally, the same shares; bad input is one line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pldp import Survey, Tally
from pldp.cli import main
from pldp.reports import Rejection
from pldp.reports.columns import parquet_files, read_parquet
from pldp.simulate import Partitions, simulate_reports

pytestmark = pytest.mark.xdist_group("spark")
FULL = pytest.mark.skipif(not os.environ.get("PLDP_LONG"), reason="in `make test-spark`")
SURVEY = "examples/commute.toml"
SPARK = ("--engine", "spark", "--master", "local-cluster[2,1,1024]")


def run(capsys, *words: object) -> dict[str, Any]:
    assert main([*map(str, words), "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def fails(capsys, *words: object) -> str:
    assert main([str(word) for word in words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_from_simulate_to_estimate_with_the_same_numbers_from_both_engines(spark: Any, capsys, tmp_path: Path) -> None:
    people = ("simulate", SURVEY, "--people", 30_000, "--seed", 7)
    written = run(capsys, *people, "--partitions", 3, *SPARK, "--out", tmp_path / "reports")
    assert written["reports"] == 30_000
    assert [sum(row["true"] for row in each["rows"]) for each in written["questions"]] == pytest.approx([1, 1])
    assert [file.name for file in parquet_files(tmp_path / "reports")] == [f"part-0000{n}.parquet" for n in range(3)]
    for engine, options in (("local", ()), ("spark", SPARK)):
        run(capsys, "tally", tmp_path / "reports", *options, "--out", tmp_path / f"{engine}.tally")
    assert Tally.load(tmp_path / "local.tally") == Tally.load(tmp_path / "spark.tally")
    shares = [run(capsys, "estimate", tmp_path / f"{engine}.tally") for engine in ("local", "spark")]
    assert shares[0] == shares[1]


def test_a_partition_is_the_same_whoever_makes_it(tmp_path: Path) -> None:
    survey = Survey.load(SURVEY)
    counts = {"late": {"yes": 100, "no": 201}, "mode": {"car": 301}}
    made = Partitions(survey, counts, 4, seed=5)
    written = [made.write(tmp_path, place) for place in range(4)]
    assert sum(part.reports for part in written) == 301
    assert sum(part.people["late"] for part in written).tolist() == [100, 201]
    again = simulate_reports(survey, made.population(2), seed=made.seed_of(2))
    assert next(read_parquet(tmp_path / "part-00002.parquet")).to_pydict() == next(again).to_pydict()
    assert len({made.seed_of(place) for place in range(100)}) == 100
    assert pq.read_schema(tmp_path / "part-00000.parquet").metadata


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("tally", "r.parquet", "--master", "local", "--out", "t"), "--master is for --engine spark"),
        (("tally", "-", "--engine", "spark", "--out", "t"), "- : a cluster cannot read standard input"),
        (("tally", "hdfs://h/r", "--engine", "spark", "--out", "t"), "--survey is needed to read hdfs://h/r"),
        (("tally", "r.parquet", "--engine", "spark", "--out", "t"), "r.parquet: there is no such file"),
        (
            (
                "tally",
                "hdfs://h/r",
                "--survey",
                SURVEY,
                "--engine",
                "spark",
                "--master",
                "spark://127.0.0.1:1",
                "--out",
                "t",
            ),
            "master spark://127.0.0.1:1 does not answer",
        ),
        (
            ("tally", "x", "--survey", SURVEY, "--engine", "spark", "--conf", "spark", "--out", "t"),
            "--conf must look like spark.executor.memory=4g, not 'spark'",
        ),
        (
            ("simulate", SURVEY, "--people", "5", "--partitions", "2", "--out", "t"),
            "--partitions is for --engine spark",
        ),
        (
            ("simulate", SURVEY, "--people", "5", "--partitions", "-1", "--engine", "spark", "--out", "t"),
            "at least one",
        ),
        (
            ("simulate", SURVEY, "--people", "5", "--engine", "spark", "--out", "docs"),
            "--out: docs must be a new or an",
        ),
    ],
)
def test_bad_input_is_one_line(capsys, words: tuple[str, ...], line: str) -> None:
    pytest.importorskip("pyspark", reason="install 'pldp[spark]'")
    assert line in fails(capsys, *words)


@pytest.mark.parametrize("options", [pytest.param((), id="local"), pytest.param(SPARK, marks=FULL, id="spark")])
def test_unreadable_files_and_other_surveys(request, capsys, tmp_path: Path, options: tuple[str, ...]) -> None:
    if options:
        request.getfixturevalue("spark")
    folder = tmp_path / "reports"
    folder.mkdir()
    made = Partitions(Survey.load(SURVEY), 300, 3)
    for place in range(3):
        made.write(folder, place)
    broken = folder / "part-00001.parquet"
    broken.write_bytes(broken.read_bytes()[:-20])
    words = ("tally", folder, *options, "--out", tmp_path / "t.tally")
    assert "part-00001.parquet: is not a complete Parquet file" in fails(capsys, *words)
    assert main([*map(str, words), "--skip-unreadable"]) == 0
    assert "its reports are rejected" in capsys.readouterr().err
    found = Tally.load(tmp_path / "t.tally")
    assert (found.reports, found.rejections) == (200, {Rejection.UNREADABLE: 1})
    broken.unlink()
    other = tmp_path / "other.toml"
    other.write_text(
        Path(SURVEY).read_text(encoding="utf-8").replace("How people", "How other people"), encoding="utf-8"
    )
    told = fails(capsys, *words, "--survey", other)
    assert told == "pldp: none of the 200 reports is of the survey 'How other people get to work'"
