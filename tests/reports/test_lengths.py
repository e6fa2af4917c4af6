"""All reports of a survey are sent with one length: that of the longest, computed without making any."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import pytest

from pldp import Device, Survey
from pldp.reports import Answer, Report, body_length, read_report
from pldp.survey import Question, survey_from_mapping

ID = "0f" * 16
ELEVEN = [str(number) for number in range(11)]  # outputs of one digit and of two
CHOICE = {"name": "choice", "values": ELEVEN, "mechanism": "krr"}
HASHED = {"name": "hashed", "values": ELEVEN, "mechanism": "lh", "levels": {"a": 0.5, "longer": 1}}
MIXED = {"name": "mixed", "values": ELEVEN[:9], "mechanism": {"a": "oue", "longer": "krr"}}
SET = {"name": "choices", "kind": "choices", "values": ["x", "y", "z"]}
NUMBER = {"name": "number", "kind": "number", "low": 0, "high": 12, "buckets": 12, "mechanism": "laplace"}
BUDGETS = {"name": "budgets", "values": ["x", "y", "z"], "fractions": {"x": "1/2"}}
ODD = {"name": '"two"\nlines \\ ü 🚲', "values": ["x", "y"]}
LAST = 'étage "2"'
HIDDEN = {"hide_level": {"epsilon": 1}}
CASES = {
    "choice": ([CHOICE, BUDGETS], {}),
    "one level with bits and one with integers": ([MIXED], {}),
    "hashing, where a level is on offer once": ([HASHED, ODD | {"levels": {"a": 1}}], {}),
    "choices": ([SET, ODD], {}),
    "number": ([NUMBER, SET], {}),
    "two of three": ([CHOICE, SET, ODD], {"ask": 2}),
    "one of two": ([ODD, NUMBER], {"ask": 1}),
    "hidden levels": ([CHOICE | {"values": ELEVEN[:3]}, ODD], HIDDEN),
    "tracked": ([CHOICE | {"values": ELEVEN[:3]}, SET], {"repeat": "tracked"}),
}


def make(questions: list[dict[str, object]], more: dict[str, object]) -> Survey:
    levels = {"a": 1, "longer": 1.5, LAST: 2}
    # As a stored survey: new ones have no names of two lines.
    return survey_from_mapping({"pldp": 1, "title": "Lengths", "levels": levels, "questions": questions, **more})


def answers(question: Question) -> list[Answer]:
    """Every answer that a report can carry."""
    return [
        Answer(question.name, level.name, output)
        for level, channel in zip(question.levels, question.channels, strict=True)
        for output in channel.form.outputs()
    ]


def every_report(survey: Survey) -> Iterator[Report]:
    """Every report with this id, except for the order of its answers."""
    for count in range(1, 1 + (survey.ask or len(survey.questions))):
        for asked in combinations(survey.questions, count):
            yield from (Report(survey.hash, ID, each) for each in product(*map(answers, asked)))


def size(report: Report) -> int:
    return len(report.to_json().encode())


@pytest.mark.parametrize("case", CASES)
def test_the_length_is_that_of_the_longest_of_all_reports(case: str) -> None:
    survey = make(*CASES[case])
    longest = max(every_report(survey), key=size)
    assert size(longest) == body_length(survey)
    assert read_report(survey, longest.body(survey)) == longest
    assert longest.body(survey) == longest.to_json().encode()


VALUES = {"choice": "1", "hashed": "1", "mixed": "1", "choices": ["x"], "number": 3}


def device_reports(survey: Survey) -> Iterator[Report]:
    """Reports of new people at every level that all questions offer: one answer, and all of them."""
    offered = set.intersection(*({level.name for level in question.levels} for question in survey.questions))
    for level in sorted(offered):
        for count in range(1, 1 + (survey.ask or len(survey.questions))):
            device = Device(survey)
            yield device.answer_all({name: VALUES.get(name, "x") for name in device.asked[:count]}, level)


@pytest.mark.parametrize("case", CASES)
def test_what_devices_send_has_one_length_and_is_read_as_before(case: str) -> None:
    survey = make(*CASES[case])
    reports = list(device_reports(survey))
    assert {len(report.body(survey)) for report in reports} == {body_length(survey)}
    assert [read_report(survey, report.body(survey)) for report in reports] == reports


@pytest.mark.parametrize("case", CASES)
def test_without_padding_the_length_tells_reports_apart(case: str) -> None:
    assert len(set(map(size, every_report(make(*CASES[case]))))) > 1


def test_the_length_of_a_large_survey_needs_no_enumeration() -> None:
    """At one level, any of 2^100,000 outputs."""
    mechanisms = {"a": "oue", "longer": "krr", LAST: "lh"}
    survey = make([{"name": "q", "values": [str(number) for number in range(100_000)], "mechanism": mechanisms}], {})
    assert body_length(survey) == size(Report(survey.hash, ID, (Answer("q", "a", bytes(12_500)),)))
