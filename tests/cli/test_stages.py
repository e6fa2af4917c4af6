"""Commands of the stages between survey and estimate: every question in every form, wrong options refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pldp import Survey, tally
from pldp.cli import main
from pldp.simulate import Population, simulate_reports

COMMUTE, SHOPPING = "examples/commute.toml", "examples/shopping.toml"
EXAMPLES = sorted(Path("examples").glob("*.toml"))


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    survey = Survey.load(COMMUTE)
    people = Population.of_shares(survey, 50)
    tally(survey, simulate_reports(survey, people)).save(tmp_path / "t.tally")
    return tmp_path / "t.tally"


def test_a_survey_shows_what_each_value_is_promised(capsys) -> None:
    assert main(["survey", "check", SHOPPING]) == 0
    shown = capsys.readouterr().out
    lines = {line.split("│")[1].strip(): line for line in shown.splitlines() if line.startswith("│")}
    assert lines["medicine"].split() == ["│", "medicine", "│", "0.1", "│", "0.3", "│"]
    assert lines["I did not go"].count("not protected") == 2
    assert "by value" not in shown
    assert "spent (256)" in shown


PER_VALUE = {"shopping": {"basket", "reason"}, "panel": {"owned"}, "wellbeing": {"illness", "symptoms"}}
"""Questions of the examples that promise something for each value."""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_promises_of_values_are_kept_and_in_the_json(path: Path, capsys) -> None:
    assert main(["survey", "check", str(path), "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)["channels"]
    survey = Survey.load(path)
    assert [row["question"] for row in found] == [each.name for each in survey.questions for _ in each.levels]
    for row in found:
        for own in row["values"] or ():
            assert float(own["true_epsilon"].replace("infinite", "inf")) <= float(
                own["promised_epsilon"].replace("infinite", "inf")
            )
    per_value = {row["question"] for row in found if row["values"] is not None}
    assert per_value == PER_VALUE.get(path.stem, set())


def test_the_price_of_a_set_is_the_sum_over_its_labels(capsys) -> None:
    main(["survey", "check", SHOPPING, "--json", "-"])
    basket = json.loads(capsys.readouterr().out)["channels"][0]
    assert (basket["level_epsilon"], basket["answer_epsilon"]) == ("0.5", "2.35")
    assert [own["promised_epsilon"] for own in basket["values"]] == ["0.5", "0.5", "0.5", "0.5", "0.25", "0.1"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tally", "TALLY", "--pair", "late,mode", "--out", "OUT"], "was counted without the pair late, mode"),
        (["tally", "TALLY", "--skip-unreadable", "--out", "OUT"], "--skip-unreadable is for Parquet files"),
        (["audit", "krr", "--samples", "0", "--javascript", "clients/js"], "--samples 0 samples none"),
        (["plan", COMMUTE, "--people", "9", "--confidence", "2", "--out", "OUT"], "confidence must be above 0"),
        (["plan", SHOPPING, "--people", "9", "--error", "0.1"], "question 'spent' is a number"),
        (["simulate", COMMUTE, "--people", "9", "--partitions", "2", "--out", "OUT"], "is for --engine spark"),
    ],
)
def test_options_that_do_not_go_together_are_refused_with_the_reason(
    words: list[str], message: str, counted: Path, tmp_path: Path, capsys
) -> None:
    places = {"TALLY": str(counted), "OUT": str(tmp_path / "out")}
    assert main([places.get(word, word) for word in words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_tally_without_rows_is_refused_where_rows_are_asked_for(capsys, tmp_path: Path, every_form: Survey) -> None:
    people = Population.of_shares(every_form, 50)
    tally(every_form, simulate_reports(every_form, people)).save(tmp_path / "t.tally")
    arguments = ["tally", str(tmp_path / "t.tally"), "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert main([*arguments, "--patterns"]) == 2
    assert "was counted without whole rows" in capsys.readouterr().err
