"""Every survey × every verb × every form of output: every question is there, nothing is ignored, no traceback."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

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


def run(*arguments: object) -> str:
    """Run a verb that must succeed and say nothing about trouble; return what it printed.

    One survey hides levels behind labels that tell less about them than the answers do, and is warned of that.
    """
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as trouble:
        code = main([str(argument) for argument in arguments])
    lines = [line for line in trouble.getvalue().splitlines() if "levels are hidden behind labels" not in line]
    assert (code, lines) == (0, []), trouble.getvalue()
    return out.getvalue()


def run_for_data(path: Path, *arguments: object) -> tuple[str, Any]:
    """Run a verb once for what it prints and for the data that it writes to a file."""
    return run(*arguments, "--json", path), json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def estimated(collected: Path) -> tuple[str, Any]:
    """One run in all forms: text, data, and a page in `page.html`."""
    return run_for_data(
        collected / "estimate.json", "estimate", collected / "t.tally", "--html", collected / "page.html"
    )


@pytest.fixture(scope="module")
def estimated_alone(collected: Path) -> None:
    """One run for each question, with a picture and a page named after it."""
    for name in names(collected):
        forms = ("--plot", collected / f"{name}.svg", "--html", collected / f"{name}.html")
        run("estimate", collected / "t.tally", "--question", name, *forms)


@pytest.fixture(scope="module")
def planned(collected: Path) -> tuple[str, Any]:
    """One run in all forms: text, data, and a picture in `plan.svg`."""
    asked = ("plan", collected / "survey.toml", "--people", 5000, "--plot", collected / "plan.svg")
    return run_for_data(collected / "plan.json", *asked)


def test_survey_check_shows_every_question(collected: Path) -> None:
    told, content = run_for_data(collected / "check.json", "survey", "check", collected / "survey.toml")
    assert [name for name in names(collected) if name not in told] == []
    assert {row["question"] for row in content["channels"]} == set(names(collected))


def test_simulate_tells_the_truth_of_every_question(collected: Path) -> None:
    content = json.loads((collected / "truth.json").read_text())
    assert [each["name"] for each in content["questions"]] == names(collected)
    assert all(each["rows"] for each in content["questions"])


def test_tally_counts_every_question(collected: Path) -> None:
    content = json.loads((collected / "tally.json").read_text())
    assert {cell["question"] for cell in content["cells"]} == set(names(collected))
    assert content["reports"] == int(PEOPLE)


def test_estimate_shows_every_question_in_the_terminal(collected: Path, estimated: tuple[str, Any]) -> None:
    told, _ = estimated
    assert [name for name in names(collected) if name not in told] == []


def test_estimate_gives_every_question_as_data(collected: Path, estimated: tuple[str, Any]) -> None:
    _, content = estimated
    assert [each["name"] for each in content["questions"]] == names(collected)
    for each in content["questions"]:
        assert {"kind", "reports", "rows", "notes", "assumptions", "confidence"} <= each.keys()
        for row in each["rows"]:
            assert {"label", "estimate", "standard_error", "low", "high"} <= row.keys()


@pytest.mark.usefixtures("estimated")
def test_estimate_writes_every_question_to_a_page(collected: Path) -> None:
    text = (collected / "page.html").read_text(encoding="utf-8")
    survey = Survey.load(collected / "survey.toml")
    for question in survey.questions:
        assert question.name in text
    assert text.count("<svg") >= len(survey.questions)


@pytest.mark.usefixtures("estimated_alone")
def test_estimate_draws_every_question(collected: Path) -> None:
    for name in names(collected):
        assert (collected / f"{name}.svg").read_text(encoding="utf-8").count("<path") > 3


@pytest.mark.usefixtures("estimated_alone")
def test_estimate_of_one_question_is_on_its_page(collected: Path) -> None:
    questions = Survey.load(collected / "survey.toml").questions
    headings = {each.name: f"<h2>{escape(each.text or each.name)}</h2>" for each in questions}
    for name in headings:
        text = (collected / f"{name}.html").read_text(encoding="utf-8")
        assert [each for each, heading in headings.items() if heading in text] == [name]


def test_rounds_show_every_question_in_the_terminal_as_data_and_on_a_page(collected: Path) -> None:
    page = collected / "rounds.html"
    asked = ("estimate", "--rounds", collected / "t.tally", collected / "t.tally", "--html", page)
    told, content = run_for_data(collected / "rounds.json", *asked)
    assert [name for name in names(collected) if f"{name}: " not in told] == []
    assert told.count("Did anything change?") == len(names(collected))
    assert [each["name"] for each in content["questions"]] == names(collected)
    assert not any(each["test"]["rejected"] for each in content["questions"])  # both rounds are the same
    assert page.read_text(encoding="utf-8").count('<section class="card') == len(names(collected))


def test_plan_shows_every_question(collected: Path, planned: tuple[str, Any]) -> None:
    told, content = planned
    assert [name for name in names(collected) if name not in told] == []
    assert "nan" not in told
    assert [each["question"] for each in content["questions"]] == names(collected)
    assert "NaN" not in json.dumps(content)


@pytest.mark.usefixtures("planned")
def test_plan_draws_every_question(collected: Path) -> None:
    text = (collected / "plan.svg").read_text(encoding="utf-8")
    assert [name for name in names(collected) if f"<!-- {name} -->" not in text and name not in text] == []


def test_audit_looks_at_every_question(collected: Path) -> None:
    content = json.loads(run("audit", collected / "survey.toml", "--samples", 0, "--json", "-"))
    assert {row["question"] for row in content["rows"]} >= set(names(collected))


def test_the_overview_of_a_collector_shows_every_question(collected: Path) -> None:
    from pldp import Tally  # noqa: PLC0415
    from pldp.collector.answers import overview  # noqa: PLC0415

    content = overview(Tally.load(collected / "t.tally"), 1, [], [], 5)
    assert [each["name"] for each in content["questions"]] == names(collected)
    assert not [each for each in content["questions"] if "missing" in each]
