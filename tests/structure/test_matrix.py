"""Every survey × every verb × every form of output: every question is there, nothing is ignored, no traceback."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

import pytest

from pldp import Survey
from pldp.cli import main

ROOT = Path(__file__).parents[2]
HIDDEN = ROOT / "tests" / "frozen" / "surveys" / "hidden.toml"
"""Levels that reports do not show."""

FRESH = Path(__file__).with_name("fresh.toml")
EVERYTHING = Path(__file__).with_name("everything.toml")
SURVEYS = [*sorted((ROOT / "examples").glob("*.toml")), EVERYTHING, HIDDEN, FRESH]
PEOPLE = "4000"


@pytest.fixture(scope="module", params=SURVEYS, ids=lambda path: path.stem)
def collected(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the survey, simulated reports and their tally."""
    folder = tmp_path_factory.mktemp(request.param.stem)
    (folder / "survey.toml").write_bytes(request.param.read_bytes())
    survey, reports, tally = (str(folder / name) for name in ("survey.toml", "r.parquet", "t.tally"))
    simulated = ["simulate", survey, "--people", PEOPLE, "--out", reports, "--json", str(folder / "truth.json")]
    assert main(simulated) == 0
    assert main(["tally", reports, "--out", tally, "--json", str(folder / "tally.json")]) == 0
    return folder


def names(folder: Path) -> list[str]:
    return [question.name for question in Survey.load(folder / "survey.toml").questions]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a verb that must succeed and say nothing about trouble; return what it printed."""
    code = main([str(argument) for argument in arguments])
    told = capsys.readouterr()
    assert (code, told.err) == (0, ""), told.err
    return told.out


def test_survey_check_shows_every_question(collected: Path, capsys) -> None:
    told = run(capsys, "survey", "check", collected / "survey.toml")
    assert [name for name in names(collected) if name not in told] == []
    content = json.loads(run(capsys, "survey", "check", collected / "survey.toml", "--json", "-"))
    assert {row["question"] for row in content["channels"]} == set(names(collected))


def test_simulate_tells_the_truth_of_every_question(collected: Path) -> None:
    content = json.loads((collected / "truth.json").read_text())
    assert [each["name"] for each in content["questions"]] == names(collected)
    assert all(each["rows"] for each in content["questions"])


def test_tally_counts_every_question(collected: Path) -> None:
    content = json.loads((collected / "tally.json").read_text())
    assert {cell["question"] for cell in content["cells"]} == set(names(collected))
    assert content["reports"] == int(PEOPLE)


def test_estimate_shows_every_question_in_the_terminal(collected: Path, capsys) -> None:
    told = run(capsys, "estimate", collected / "t.tally")
    assert [name for name in names(collected) if name not in told] == []


def test_estimate_gives_every_question_as_data(collected: Path, capsys) -> None:
    content = json.loads(run(capsys, "estimate", collected / "t.tally", "--json", "-"))
    assert [each["name"] for each in content["questions"]] == names(collected)
    for each in content["questions"]:
        assert {"kind", "reports", "rows", "notes", "assumptions", "confidence"} <= each.keys()
        for row in each["rows"]:
            assert {"label", "estimate", "standard_error", "low", "high"} <= row.keys()


def test_estimate_writes_every_question_to_a_page(collected: Path, capsys) -> None:
    page = collected / "page.html"
    run(capsys, "estimate", collected / "t.tally", "--html", page, "--json", "-")
    text = page.read_text(encoding="utf-8")
    survey = Survey.load(collected / "survey.toml")
    for question in survey.questions:
        assert question.name in text
    assert text.count("<svg") >= len(survey.questions)


def test_estimate_draws_every_question(collected: Path, capsys) -> None:
    for name in names(collected):
        picture = collected / f"{name}.svg"
        run(capsys, "estimate", collected / "t.tally", "--question", name, "--plot", picture)
        assert picture.read_text(encoding="utf-8").count("<path") > 3


def test_estimate_of_one_question_is_on_its_page(collected: Path, capsys) -> None:
    questions = Survey.load(collected / "survey.toml").questions
    headings = {each.name: f"<h2>{escape(each.text or each.name)}</h2>" for each in questions}
    for name in headings:
        page = collected / "one.html"
        run(capsys, "estimate", collected / "t.tally", "--question", name, "--html", page)
        text = page.read_text(encoding="utf-8")
        assert [each for each, heading in headings.items() if heading in text] == [name]


def test_rounds_show_every_question_in_the_terminal_as_data_and_on_a_page(collected: Path, capsys) -> None:
    page = collected / "rounds.html"
    asked = ("estimate", "--rounds", collected / "t.tally", collected / "t.tally")
    told = run(capsys, *asked, "--html", page)
    assert [name for name in names(collected) if f"{name}: " not in told] == []
    assert told.count("Did anything change?") == len(names(collected))
    content = json.loads(run(capsys, *asked, "--json", "-"))
    assert [each["name"] for each in content["questions"]] == names(collected)
    assert not any(each["test"]["rejected"] for each in content["questions"])  # both rounds are the same
    assert page.read_text(encoding="utf-8").count("<svg role") == len(names(collected))


def test_plan_shows_every_question(collected: Path, capsys) -> None:
    told = run(capsys, "plan", collected / "survey.toml", "--people", 5000)
    assert [name for name in names(collected) if name not in told] == []
    assert "nan" not in told
    content = json.loads(run(capsys, "plan", collected / "survey.toml", "--people", 5000, "--json", "-"))
    assert [each["question"] for each in content["questions"]] == names(collected)
    assert "NaN" not in json.dumps(content)


def test_plan_draws_every_question(collected: Path, capsys) -> None:
    picture = collected / "plan.svg"
    run(capsys, "plan", collected / "survey.toml", "--people", 5000, "--plot", picture)
    text = picture.read_text(encoding="utf-8")
    assert [name for name in names(collected) if f"<!-- {name} -->" not in text and name not in text] == []


def test_audit_looks_at_every_question(collected: Path, capsys) -> None:
    content = json.loads(run(capsys, "audit", collected / "survey.toml", "--samples", 0, "--json", "-"))
    assert {row["question"] for row in content["rows"]} >= set(names(collected))


def test_the_overview_of_a_collector_shows_every_question(collected: Path) -> None:
    from pldp import Tally  # noqa: PLC0415
    from pldp.collector.answers import overview  # noqa: PLC0415

    content = overview(Tally.load(collected / "t.tally"), 1, [], [], 5)
    assert [each["name"] for each in content["questions"]] == names(collected)
    assert not [each for each in content["questions"] if "missing" in each]
