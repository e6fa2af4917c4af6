"""What a designer is told: the audit's exact numbers, the plan's errors, and designs that are really better."""

from __future__ import annotations

import json
import math
import tomllib
from decimal import Decimal
from pathlib import Path

import pytest
from rich.console import Console

from pldp.auditing import audit, exact_sequence
from pldp.cli import main
from pldp.cli.summary import show_summary
from pldp.design import change_design, summarise
from pldp.design.summary import look
from pldp.planning import plan
from pldp.survey import load, loads, survey_from_mapping

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
TIGHT = """pldp = 1
title = "Sleep"
total_epsilon = 3
[levels]
anonymous = 0.5
strict = 5
open = 2
[[questions]]
name = "hours"
values = ["few", "many"]
[[questions]]
name = "pills"
values = ["yes", "no"]
"""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_whole_report_reveals_what_the_exact_audit_says(path: Path) -> None:
    survey = load(path)
    for found in look(survey)["reveals"]:
        level = found["level"]
        if survey.level_channel is not None:
            (row,) = (row for row in audit(survey, samples=0).rows if "whole_report" in row.details)
            assert float(found["epsilon"]) == pytest.approx(row.details["whole_report"], abs=1e-4)
            continue
        asked = [question for question in survey.questions if level in question.level_index]
        told = [exact_sequence("once", question, question.level_index[level], 1) for question in asked]
        exact = sorted(told, reverse=True)[: survey.ask]
        total = math.inf if survey.total_micro_epsilon is None else survey.total_micro_epsilon / 1e6
        assert float(found["epsilon"]) == pytest.approx(min(sum(exact), total), abs=1e-4)
        unprotected = sum(question.promises(question.level_index[level]).count(math.inf) for question in asked)
        assert len(found["proved"]) == unprotected


def test_dead_ends_and_misleading_names_are_told_before_they_happen() -> None:
    found = look(loads(TIGHT))
    words = " ".join(found["warnings"])
    for expected in ("speaks of anonymity", "'strict' of question 'hours' can never be chosen", "cannot be chosen for"):
        assert expected in words


@pytest.mark.parametrize("name", ["commute", "shopping"])
def test_the_better_design_is_better_and_has_no_better_one(name: str) -> None:
    path = ROOT / "examples" / f"{name}.toml"
    document = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    better = summarise(load(path), 5000)["better"]
    assert better["designs"][0]["error_ratio"] < 1
    improved = survey_from_mapping(change_design(document, better["change"]))
    assert plan(improved, 5000).designs[0].split == "given"
    assert summarise(improved, 5000)["better"]["change"] is None


def test_a_design_that_the_total_does_not_allow_is_not_called_the_best() -> None:
    document = tomllib.loads(TIGHT, parse_float=Decimal)
    better = summarise(loads(TIGHT), 5000)["better"]
    assert "ε = 10 together, more than the total allows" in better["words"]
    improved = survey_from_mapping(change_design(document, better["change"]))
    assert not [line for line in look(improved)["warnings"] if "the total is" in line]
    assert summarise(improved, 5000)["better"]["change"] is None


def test_the_command_prints_the_summary_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(ROOT / "examples" / "commute.toml")
    assert main(["new", path, "--json", "-", "--people", "5000"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(json.dumps(summarise(load(path), 5000)))
    assert {"reveals", "cost", "errors", "warnings", "better"} <= found.keys()
    assert main(["new", "--json", "-"]) == 2
    assert "name its file" in capsys.readouterr().err


@pytest.mark.parametrize("hide", ["lottery", "epsilon"])
def test_the_summary_says_how_the_level_is_hidden(hide: str, capsys: pytest.CaptureFixture[str]) -> None:
    levels = 'levels={a=0.5,b=1}\nquestions=[{name="q",values=["x","y"]}]'
    survey = loads(f'pldp=1\ntitle="t"\nrepeat="fresh"\nhide_level={{{hide}=1}}\n{levels}')
    show_summary(Console(), summarise(survey, 500))
    out = " ".join(capsys.readouterr().out.split())
    assert ("for a stricter choice, all reports together tell at most ε = 1." in out) == (hide == "lottery")
    assert ("Reports hide the level" in out) == (hide == "epsilon")
