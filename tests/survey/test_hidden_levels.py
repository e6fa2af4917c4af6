"""What `hide_level` takes: budgets per value, other labels, questions with fewer levels; and what it warns of."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import pytest

import pldp
from helpers.refusals import refused
from pldp.cli import main
from pldp.errors import SurveyError
from pldp.mechanisms import level_leak, names
from pldp.survey import leak_warnings

QUESTION: dict[str, Any] = {"name": "q", "values": ["a", "b", "c"]}


def hide(hidden: dict[str, Any], *questions: dict[str, Any]) -> pldp.Survey:
    levels = {"strict": 0.5, "middle": 1, "open": 2}
    document = {
        "pldp": 1,
        "title": "t",
        "levels": levels,
        "hide_level": hidden,
        "questions": [*questions] or [QUESTION],
    }
    survey = pldp.Survey.read(document)
    again = pldp.Survey.read(dict(survey.document))
    assert again == survey  # what is spelled out says the same
    assert again.hash == survey.hash
    return survey


@pytest.mark.parametrize("mechanism", ["auto", "iprr", "subset_items", "idue"])
def test_labels_with_budgets_of_their_own_can_be_hidden(mechanism: str) -> None:
    survey = hide({"leak_cap": 3}, {**QUESTION, "fractions": {"a": 0.5}, "mechanism": mechanism})
    assert survey.level_leak() <= 3_000_000
    for place, level in enumerate(survey.levels):
        assert survey.questions[0].promises(place) == (level.micro_epsilon // 2, *(level.micro_epsilon,) * 2)


def test_a_label_without_protection_is_hidden_where_every_level_leaves_it_open() -> None:
    survey = hide({"epsilon": 1}, {**QUESTION, "unprotected": ["c"]})
    assert survey.questions[0].channels[0].micro_epsilon == inf
    assert survey.level_leak() < inf
    budgets = {"strict": [0.5, 0.5, "infinite"], "middle": [1, 1, 1], "open": [2, 2, 2]}
    with pytest.raises(SurveyError, match="would prove the level"):
        hide({"epsilon": 1}, {**QUESTION, "mechanism": "iprr", "budgets": budgets})


def test_a_question_with_fewer_levels_is_answered_at_every_level_as_at_the_nearest_stricter_one() -> None:
    some = {"levels": {"strict": 0.4, "open": 2}, "budgets": {"strict": [0.2, 0.4, 0.4], "open": [1, 2, 2]}}
    survey = hide({"epsilon": 1}, {**QUESTION, **some}, {**QUESTION, "name": "r", "levels": {"strict": 0.3}})
    first, second = survey.questions
    assert [level.micro_epsilon for level in first.levels] == [400_000, 400_000, 2_000_000]
    assert first.channels[0] == first.channels[1] != first.channels[2]
    assert first.budgets[0] == first.budgets[1]
    assert level_leak(second.channels) == 0  # one channel for all tells nothing about the level
    report = pldp.Device(survey).answer_all({"q": "a", "r": "b"}, "middle")
    assert {answer.level for answer in report.answers} <= {"strict", "middle", "open"}
    assert len({answer.level for answer in report.answers}) == 1


@pytest.mark.parametrize("levels", [{"middle": 1, "open": 2}, {"strict": 2, "open": 1}])
def test_nobody_is_protected_less_than_at_the_level_they_chose(levels: dict[str, float]) -> None:
    with pytest.raises(SurveyError, match="must offer 'strict', the strictest level"):
        hide({"epsilon": 1}, {**QUESTION, "levels": levels})


def test_the_label_of_one_level_may_be_protected_more() -> None:
    survey = hide({"epsilon": 1, "fractions": {"strict": "1/2"}})
    channel = survey.level_channel
    assert channel.mechanism == "iprr"
    assert [channel.promised(level) for level in range(3)] == [500_000, 1_000_000, 1_000_000]
    assert survey.document["hide_level"]["budgets"] == {"strict": "0.5", "middle": "1", "open": "1"}
    capped = hide({"leak_cap": 2, "mechanism": "iprr", "fractions": {"strict": "1/2"}})
    assert capped.level_leak() <= 2_000_000
    assert capped.level_channel.promised(0) < capped.level_channel.promised(1)


@pytest.mark.parametrize("mechanism", names("labels"))
def test_any_mechanism_that_names_one_level_makes_labels_and_others_say_why_not(mechanism: str) -> None:
    levels = 4  # of three, projective blocks happen to be single levels
    document = {
        "pldp": 1, "title": "t", "levels": {f"l{place}": 1 + place for place in range(levels)},
        "hide_level": {"epsilon": 1, "mechanism": mechanism}, "questions": [QUESTION],
    }  # fmt: skip
    if mechanism in {"krr", "iprr", "aprr", "prr"}:
        assert pldp.Survey.read(document).level_channel.mechanism == mechanism
    else:
        with pytest.raises(SurveyError, match="room for one name only"):
            pldp.Survey.read(document)


@pytest.mark.parametrize(
    ("hidden", "words"),
    [
        ({"epsilon": 1, "mechanism": "krr", "fractions": {"strict": 0.5}}, "budget per level, such as iprr"),
        ({"epsilon": 1, "fractions": {"strikt": 0.5}}, "strikt"),
        ({"epsilon": 1, "fractions": {"strict": 2}}, "fraction"),
        ({"epsilon": 1, "mechanism": "iprr", "budgets": {"strict": 2}}, "at most epsilon"),
        ({"epsilon": 1, "mechanism": "iprr", "budgets": {"strict": 1}, "fractions": {"strict": 1}}, "either"),
        ({"epsilon": 1, "mechanism": "aprr", "fractions": {"strict": 0.5}}, "must keep the promised epsilon 0.5"),
        ({"epsilon": 1, "mechanism": "sw"}, "mechanism must be one of"),
    ],
)
def test_labels_that_cannot_be_are_refused_in_one_line(hidden: dict[str, Any], words: str) -> None:
    with refused(SurveyError, words):
        hide(hidden)


def test_answers_that_tell_more_than_the_label_are_warned_of_and_others_are_not() -> None:
    refused, warning = leak_warnings(hide({"epsilon": 0.3}, QUESTION, {**QUESTION, "name": "r", "mechanism": "oue"}))
    assert "no device answers all questions" in refused
    assert "devices stop at 3" in refused
    assert "'r'" in warning
    assert "limit both together with leak_cap" in warning
    assert leak_warnings(hide({"epsilon": 1.5})) == []
    shown = {"pldp": 1, "title": "t", "levels": {"strict": 0.5, "open": 2}, "questions": [QUESTION]}
    assert leak_warnings(pldp.Survey.read(shown)) == []


@pytest.mark.parametrize(
    ("hidden", "advice", "limit"),
    [
        ({"epsilon": 0.2}, "limit both together with leak_cap", "set leak_cap to limit both"),
        ({"leak_cap": 1.2}, "lower leak_cap, which limits both", "leak_cap limits a report to ε = 1.2"),
    ],
    ids=["no cap", "cap"],
)
def test_check_advises_a_leak_cap_only_where_none_is_set(
    hidden: dict[str, Any], advice: str, limit: str, tmp_path: Path, capsys
) -> None:
    path = tmp_path / "survey.json"
    hide(hidden).save(path)
    assert main(["survey", "check", str(path)]) == 0
    shown = capsys.readouterr()
    assert advice in " ".join(shown.err.split())
    assert limit in " ".join(shown.out.split())
