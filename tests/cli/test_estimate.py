"""`pldp estimate`: every question of every kind in every output, or a reason why not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pldp import Survey, Tally, tally
from pldp.cli import main
from pldp.simulate import Population, simulate_reports

TEXTS = {
    "basket": "What did you buy this week?",
    "reason": "Why did you go to the doctor last?",
    "spent": "How much did you spend on food this week?",
}


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tally with all kinds of questions and a pair."""
    path = tmp_path_factory.mktemp("shop") / "t.tally"
    survey = Survey.load("examples/shopping.toml")
    assert {question.name: question.text for question in survey.questions} == TEXTS
    people = Population.of_shares(survey, 4000, seed=1)
    tally(survey, simulate_reports(survey, people, seed=1)).save(path)
    return path


@pytest.fixture(scope="module")
def partial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tally in which one of two questions has reports."""
    path = tmp_path_factory.mktemp("commute") / "t.tally"
    survey = Survey.load("examples/commute.toml")
    people = Population.of_counts(survey, {"late": {"yes": 500, "no": 500}}, seed=1)
    tally(survey, simulate_reports(survey, people, seed=1)).save(path)
    return path


def run(capsys: Any, *arguments: object) -> tuple[int, str, str]:
    code = main(["estimate", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_json_has_every_question_in_the_order_of_the_survey(capsys: Any, counted: Path) -> None:
    code, out, err = run(capsys, counted, "--json", "-")
    content = json.loads(out)
    assert (code, err) == (0, "")
    assert {"survey", "title", "reports", "rejected", "rejections", "questions", "tables", "missing"} == content.keys()
    assert [(each["name"], each["kind"]) for each in content["questions"]] == [
        ("basket", "choices"),
        ("reason", "choice"),
        ("spent", "number"),
    ]
    for question in content["questions"]:
        assert all(row["low"] < row["estimate"] < row["high"] for row in question["rows"])
    assert len(content["questions"][2]["density"]["shares"]) == 256


def test_the_page_shows_sets_and_numbers_too(capsys: Any, counted: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run(capsys, counted, "--html", page)[0] == 0
    content = page.read_text()
    for text in TEXTS.values():
        assert f"<h2>{text}</h2>" in content
    assert content.count('role="img"') == 3
    assert "No set of two or more" in content
    assert "median" in content


@pytest.mark.parametrize("name", TEXTS)
def test_the_page_of_one_question_of_any_kind_is_not_empty(
    capsys: Any, counted: Path, tmp_path: Path, name: str
) -> None:
    page = tmp_path / "page.html"
    code, out, _ = run(capsys, counted, "--question", name, "--html", page)
    assert code == 0
    assert re.findall("<h2>(.*?)</h2>", page.read_text()) == [TEXTS[name]]
    assert out.startswith(f"{name}: ")


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_every_kind_of_question_can_be_drawn(
    capsys: Any, counted: Path, tmp_path: Path, name: str, ending: str
) -> None:
    picture = tmp_path / f"picture.{ending}"
    assert run(capsys, counted, "--question", name, "--plot", picture)[0] == 0
    assert picture.stat().st_size > 1000


def test_the_terminal_shows_every_question_with_units_and_intervals(capsys: Any, counted: Path) -> None:
    code, out, _ = run(capsys, counted)
    assert code == 0
    for words in ("basket: ", "reason: ", "spent: ", "No set of two or more", "median", "euros", "█", "95 % interval"):
        assert words in out


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("options", [("--pool", "size"), ("--target", "respondents")])
def test_pool_and_target_reach_every_kind(capsys: Any, counted: Path, name: str, options: tuple[str, str]) -> None:
    """The twin without the option gives other standard errors."""
    asked, plain = (
        json.loads(run(capsys, counted, "--question", name, "--json", "-", *more)[1])["questions"][0]
        for more in (options, ())
    )
    assert options[1] in f"{asked['method']} {asked['target']}"
    assert asked["rows"][0]["standard_error"] != plain["rows"][0]["standard_error"]


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("basket", ("--method", "likelihood"), "method applies to questions of kind choice and number"),
        ("spent", ("--method", "likelihood"), "method must be one of"),
        ("reason", ("--method", "fitted"), "method must be one of"),
        ("reason", ("--min-support", "0.2"), "min_support applies to questions of kind choices"),
        ("spent", ("--largest", "2"), "largest applies to questions of kind choices"),
    ],
)
def test_options_that_do_not_apply_are_refused(
    capsys: Any, counted: Path, name: str, options: tuple[str, str], words: str
) -> None:
    code, out, err = run(capsys, counted, "--question", name, *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


def test_options_that_apply_to_some_questions_name_the_others(capsys: Any, counted: Path) -> None:
    code, _, err = run(capsys, counted, "--min-support", "0.2", "--json", "-")
    assert (code, err) == (0, "pldp: --min-support does not apply to reason, spent\n")
    code, out, err = run(capsys, counted, "--method", "likelihood", "--json", "-")
    assert (code, err) == (0, "pldp: --method does not apply to basket, spent\n")
    assert json.loads(out)["missing"] == []


def test_what_has_no_reports_is_named_in_every_output(capsys: Any, partial: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, out, err = run(capsys, partial, "--html", page, "--json", "-")
    assert code == 0
    (missing,) = json.loads(out)["missing"]
    assert missing["name"] == "mode"
    assert missing["reason"] in err
    assert "<h2>Without a result</h2><ul" in page.read_text()
    assert "mode: " in page.read_text()


def test_options_do_not_vanish_in_two_way_tables(capsys: Any, tmp_path: Path) -> None:
    survey = Survey.load("examples/commute.toml")
    people = Population.of_shares(survey, 2000, seed=1)
    reports = simulate_reports(survey, people, seed=1)
    tally(survey, reports, pairs=[("late", "mode")]).save(tmp_path / "t.tally")
    page = tmp_path / "page.html"
    code, out, _ = run(capsys, tmp_path / "t.tally", "--html", page, "--json", "-")
    assert code == 0
    assert [table["questions"] for table in json.loads(out)["tables"]] == [["late", "mode"]]
    assert "late and mode together" in page.read_text()
    pair = ("--pair", "late", "mode")
    assert run(capsys, tmp_path / "t.tally", *pair, "--plot", tmp_path / "p.png")[0] == 0
    code, _, err = run(capsys, tmp_path / "t.tally", *pair, "--target", "respondents")
    assert (code, err) == (2, "pldp: --target does not apply to two-way tables\n")


def test_a_tally_without_any_reports_gets_one_line(capsys: Any, tmp_path: Path) -> None:
    Tally.empty(Survey.load("examples/commute.toml")).save(tmp_path / "t.tally")
    code, out, err = run(capsys, tmp_path / "t.tally", "--json", "-")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no reports" in err
