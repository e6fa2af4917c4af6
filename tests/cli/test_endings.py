"""File endings mean what they say, and verbs say what they wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pldp.cli import main


@pytest.fixture(scope="module")
def tally_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("endings")
    reports, counted = folder / "r.parquet", folder / "r.tally"
    assert main(["simulate", "examples/shopping.toml", "--people", "300", "--out", str(reports)]) == 0
    assert main(["tally", str(reports), "--out", str(counted)]) == 0
    return counted


def test_estimate_says_what_it_wrote(tally_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, data = tmp_path / "report.html", tmp_path / "report.json"
    assert main(["estimate", str(tally_file), "--html", str(page), "--json", str(data)]) == 0
    out = capsys.readouterr().out
    assert f"page written to {page}" in out
    assert f"JSON written to {data}" in out
    assert page.read_text().startswith("<!doctype html>")
    assert json.loads(data.read_text())["questions"]
    assert main(["estimate", str(tally_file), "--html", str(page), "--json", "-"]) == 0
    both = capsys.readouterr()
    assert json.loads(both.out)["questions"]
    assert f"page written to {page}" in both.err


@pytest.mark.parametrize(
    ("verb", "option", "name", "better"),
    [
        (
            "estimate x.tally",
            "--json",
            "x.html",
            ".html means a page, but this option writes JSON: name the file x.json",
        ),
        (
            "estimate x.tally",
            "--html",
            "x.json",
            ".json means JSON, but this option writes a page: name the file x.html",
        ),
        ("plan examples/commute.toml --people 9", "--out", "best.toml", "name the file best.json"),
        ("simulate examples/commute.toml --people 9", "--out", "r.csv", "name the file r.parquet"),
        ("tally r.parquet", "--out", "t.json", "name the file t.tally"),
    ],
)
def test_an_ending_that_means_something_else_is_refused_before_any_work(
    verb: str, option: str, name: str, better: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*verb.split(), option, name])
    assert ended.value.code == 2
    assert better in capsys.readouterr().err
    assert not Path(name).exists()


def test_a_survey_has_no_services(tally_file: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert main(["estimate", str(tally_file), "--html", str(page), "--json", "-"]) == 0
    words = page.read_text()
    assert "service" not in words
    assert "(see " not in words
    assert "; see " not in words
