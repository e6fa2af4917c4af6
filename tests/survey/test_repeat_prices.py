"""What asking again costs, as `survey check` and `plan` state it: the device charges the same and stops there."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pldp import Device, Survey
from pldp.cli import main
from pldp.errors import BudgetError
from pldp.survey import affordable_rounds, repeat_mapping

PANEL, FRESH = "examples/panel.toml", "tests/structure/fresh.toml"
ANSWERS = {"mode": "bus", "owned": ["car"], "minutes": 12, "mood": "good", "eaten": [], "slept": 7}


def answered_rounds(survey: Survey, names: list[str], level: str) -> int:
    """Ask one device round after round until it refuses."""
    device = Device(survey)
    for number in range(1, 1000):
        device.round = number
        try:
            device.answer_all({name: ANSWERS[name] for name in names}, level)
        except BudgetError:
            return number - 1
    raise AssertionError("the device never stops")


@pytest.mark.parametrize("path", [PANEL, FRESH])
@pytest.mark.parametrize("total", ["total_epsilon", "lifetime_cap"])
def test_devices_stop_after_the_rounds_that_are_stated(path: str, total: str) -> None:
    survey = replace(Survey.load(path), ask=None)
    stated = repeat_mapping(survey)
    survey = survey if total == "total_epsilon" else replace(survey, total_micro_epsilon=None)
    for row in stated["questions"]:
        assert answered_rounds(survey, [row["question"]], row["level"]) == row["rounds"][total]
    for row in stated["levels"]:
        assert answered_rounds(survey, [each.name for each in survey.questions], row["level"]) == row["rounds"][total]


def test_of_picked_questions_the_dearest_count() -> None:
    survey = Survey.load(FRESH)
    open_rounds = repeat_mapping(survey)["levels"][1]["rounds"]
    assert open_rounds == {"total_epsilon": 8 // (2 + 2), "lifetime_cap": 20 // (2 + 2)}


def test_a_cap_below_the_first_report_allows_no_round() -> None:
    question = Survey.load(PANEL).question("mode")
    assert affordable_rounds("tracked", [(question, 0)], 499_999) == 0
    assert affordable_rounds("tracked", [(question, 0)], 500_000) == 1


def test_of_hidden_levels_every_level_has_the_price_that_is_charged() -> None:
    survey = Survey.load("tests/frozen/surveys/hidden.toml")
    found = repeat_mapping(replace(survey, repeat="fresh"))["questions"]
    for question in survey.questions:
        rows = [row["prices"] for row in found if row["question"] == question.name]
        assert all(row == rows[0] and row.keys() == {"the first round", "every further round"} for row in rows)


@pytest.mark.parametrize("path", [PANEL, FRESH, "examples/commute.toml"])
@pytest.mark.parametrize("verb", [["survey", "check"], ["plan", "--people", "1000"]], ids=["check", "plan"])
def test_prices_are_in_the_terminal_and_in_the_json(path: str, verb: list[str], capsys) -> None:
    expected = repeat_mapping(Survey.load(path))
    assert main([*verb, path, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["repeat"] == expected
    assert main([*verb, path, *(["--details"] if verb[0] == "plan" else [])]) == 0
    told = capsys.readouterr().out
    assert f"repeat = {expected['rule']}:" in told
    if expected["rule"] != "once":
        for row in expected["questions"]:
            assert all(price in told for price in row["prices"].values())
        assert "rounds within" in " ".join(told.split())
