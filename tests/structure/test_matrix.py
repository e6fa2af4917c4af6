"""Every survey × every verb × every form of output: every question is there, nothing is ignored, no traceback."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
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
LONG = bool(os.environ.get("PLDP_LONG"))
PANEL, WELLBEING = (ROOT / "examples" / f"{name}.toml" for name in ("panel", "wellbeing"))


def few(*surveys: Path) -> pytest.MarkDecorator:
    """Every survey in the long form; these ones in the short form, among them the one that asks everything."""
    chosen = SURVEYS if LONG else [EVERYTHING, *surveys]
    return pytest.mark.parametrize("collected", chosen, indirect=True, ids=[path.stem for path in chosen])


@pytest.fixture(scope="module")
def collect(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Makes a folder with a survey, simulated reports and their tally; once for each survey."""

    @cache
    def make(path: Path) -> Path:
        folder = tmp_path_factory.mktemp(path.stem)
        (folder / "survey.toml").write_bytes(path.read_bytes())
        survey, reports, tally = (str(folder / name) for name in ("survey.toml", "r.parquet", "t.tally"))
        simulated = ["simulate", survey, "--people", PEOPLE, "--out", reports, "--json", str(folder / "truth.json")]
        assert main(simulated) == 0
        assert main(["tally", reports, "--out", tally, "--json", str(folder / "tally.json")]) == 0
        return folder

    return make


@pytest.fixture(params=SURVEYS, ids=lambda path: path.stem)
def collected(request: pytest.FixtureRequest, collect: Callable[[Path], Path]) -> Path:
    return collect(request.param)


@cache
def survey_of(folder: Path) -> Survey:
    return Survey.load(folder / "survey.toml")


def names(folder: Path) -> list[str]:
    return [question.name for question in survey_of(folder).questions]


def run(*arguments: object) -> str:
    """Run a verb that must succeed and say nothing about trouble; return what it printed.

    One survey hides levels behind labels that tell less about them than the answers do, and is warned of that.
    """
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as trouble:
        code = main([str(argument) for argument in arguments])
    known = ("levels are hidden behind labels", "no device answers all questions")
    lines = [line for line in trouble.getvalue().splitlines() if not any(words in line for words in known)]
    assert (code, lines) == (0, []), trouble.getvalue()
    return out.getvalue()


def run_for_data(path: Path, *arguments: object) -> tuple[str, Any]:
    """Run a verb once for what it prints and for the data that it writes to a file."""
    return run(*arguments, "--json", path), json.loads(path.read_text(encoding="utf-8"))


@cache
def estimated(folder: Path) -> tuple[str, Any]:
    """One run in all forms: text, data, and a page in `page.html`."""
    return run_for_data(folder / "estimate.json", "estimate", folder / "t.tally", "--html", folder / "page.html")


@cache
def estimate_alone(folder: Path) -> list[str]:
    """One run for each question, with a picture and a page named after it.

    In the short form for one question of each kind and purpose; of a survey like others, for the last.
    """
    alike = {(each.kind, getattr(each, "purpose", "")): each.name for each in survey_of(folder).questions}
    few_names = [*alike.values()] if folder.name.startswith(EVERYTHING.stem) else names(folder)[-1:]
    chosen = names(folder) if LONG else few_names
    for name in chosen:
        forms = ("--plot", folder / f"{name}.svg", "--html", folder / f"{name}.html")
        run("estimate", folder / "t.tally", "--question", name, *forms)
    return chosen


@cache
def planned(folder: Path) -> tuple[str, Any]:
    """One run in all forms: text, data, and a picture in `plan.svg`; in the short form of some surveys no picture."""
    drawn = LONG or folder.name.startswith(EVERYTHING.stem)
    asked = ("plan", folder / "survey.toml", "--people", 5000, *(("--plot", folder / "plan.svg") if drawn else ()))
    return run_for_data(folder / "plan.json", *asked)


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


@few(HIDDEN, FRESH, PANEL, WELLBEING)
def test_estimate_shows_every_question_in_the_terminal(collected: Path) -> None:
    told, _ = estimated(collected)
    assert [name for name in names(collected) if name not in told] == []


@few(HIDDEN, FRESH, PANEL, WELLBEING)
def test_estimate_gives_every_question_as_data(collected: Path) -> None:
    _, content = estimated(collected)
    assert [each["name"] for each in content["questions"]] == names(collected)
    for each in content["questions"]:
        assert {"kind", "reports", "rows", "notes", "assumptions", "confidence"} <= each.keys()
        for row in each["rows"]:
            assert {"label", "estimate", "standard_error", "low", "high"} <= row.keys()


@few(HIDDEN, FRESH, PANEL, WELLBEING)
def test_estimate_writes_every_question_to_a_page(collected: Path) -> None:
    estimated(collected)
    text = (collected / "page.html").read_text(encoding="utf-8")
    survey = survey_of(collected)
    for question in survey.questions:
        assert question.name in text
    assert text.count("<svg") >= len(survey.questions)


@few(HIDDEN, FRESH, PANEL)
def test_estimate_draws_every_question(collected: Path) -> None:
    for name in estimate_alone(collected):
        assert (collected / f"{name}.svg").read_text(encoding="utf-8").count("<path") > 3


@few(HIDDEN, FRESH, PANEL)
def test_estimate_of_one_question_is_on_its_page(collected: Path) -> None:
    questions = survey_of(collected).questions
    headings = {each.name: f"<h2>{escape(each.text or each.name)}</h2>" for each in questions}
    for name in estimate_alone(collected):
        text = (collected / f"{name}.html").read_text(encoding="utf-8")
        assert [each for each, heading in headings.items() if heading in text] == [name]


@few(HIDDEN, FRESH, PANEL)
def test_rounds_show_every_question_in_the_terminal_as_data_and_on_a_page(collected: Path) -> None:
    page = collected / "rounds.html"
    asked = ("estimate", "--rounds", collected / "t.tally", collected / "t.tally", "--html", page)
    told, content = run_for_data(collected / "rounds.json", *asked)
    assert [name for name in names(collected) if f"{name} · " not in told] == []
    assert told.count("No change from a round to the next is sure.") == len(names(collected))
    details = run(*asked[:4], "--details")
    assert [name for name in names(collected) if f"{name}: " not in details] == []
    assert details.count("Did anything change?") == len(names(collected))
    assert [each["name"] for each in content["questions"]] == names(collected)
    assert not any(each["test"]["rejected"] for each in content["questions"])  # both rounds are the same
    assert page.read_text(encoding="utf-8").count('<section class="card') == len(names(collected))


@few(HIDDEN, FRESH)  # `tests/planning/test_planned_kinds.py` has all forms of the plans of the examples
def test_plan_shows_every_question(collected: Path) -> None:
    told, content = planned(collected)
    assert [name for name in names(collected) if name not in told] == []
    assert "nan" not in told
    assert [each["question"] for each in content["questions"]] == names(collected)
    assert "NaN" not in json.dumps(content)


@few()  # `tests/planning/test_people.py` draws hidden levels
def test_plan_draws_every_question(collected: Path) -> None:
    planned(collected)
    text = (collected / "plan.svg").read_text(encoding="utf-8")
    assert [name for name in names(collected) if f"<!-- {name} -->" not in text and name not in text] == []


@few(HIDDEN, FRESH, PANEL, WELLBEING)
def test_audit_looks_at_every_question(collected: Path) -> None:
    content = json.loads(run("audit", collected / "survey.toml", "--samples", 0, "--json", "-"))
    assert {row["question"] for row in content["rows"]} >= set(names(collected))


@few(HIDDEN, FRESH, PANEL)
def test_the_overview_of_a_collector_shows_every_question(collected: Path) -> None:
    from pldp import Tally  # noqa: PLC0415
    from pldp.collector.answers import overview  # noqa: PLC0415

    content = overview(Tally.load(collected / "t.tally"), 1, [], [], 5)
    assert [each["name"] for each in content["questions"]] == names(collected)
    assert not [each for each in content["questions"] if "missing" in each]
