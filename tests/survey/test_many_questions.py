"""One total over many questions: fractions as levels, allocation, and surveys that ask each person only some."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pyarrow as pa
import pytest

from helpers.claims import follows
from helpers.schema import validate
from pldp import Device, Survey, tally
from pldp.budgets import Cost, allocate, compose, variance_cost
from pldp.errors import AnswerError, BudgetError, SurveyError
from pldp.estimates import frequencies
from pldp.reports import Rejection, ReportRejected, read_report
from pldp.simulate import Population, simulate_reports
from pldp.survey import loads

SIZES = (2, 5, 20)
FRACTIONS = {"high": {"fraction": "1/3"}, "mid": {"fraction": 0.5, "text": "half"}, "low": {"fraction": 1}}


def form(**changes: object) -> str:
    questions = [{"name": f"q{size}", "values": [f"v{place}" for place in range(size)]} for size in SIZES]
    document = {"pldp": 1, "title": "form", "levels": FRACTIONS, "total_epsilon": 3, "questions": questions}
    return json.dumps({key: entry for key, entry in (document | changes).items() if entry is not ...})


def budgets(survey: Survey) -> list[int]:
    return [question.levels[-1].micro_epsilon for question in survey.questions]


def test_fractions_split_the_total_as_the_allocation_says() -> None:
    survey = loads(form())
    parts = [1 / 3, 1 / 2, 1]

    def cost(size: int) -> Cost:
        exact = variance_cost("auto", size)
        return lambda epsilon: 3 / sum(1 / exact(part * epsilon) for part in parts)

    assert budgets(survey) == pytest.approx(allocate(3_000_000, [cost(size) for size in SIZES]), rel=1e-3)
    assert compose(budgets(survey)) == 3_000_000
    for question in survey.questions:
        assert [level.name for level in question.levels] == ["high", "mid", "low"]
        budget = question.levels[-1].micro_epsilon
        assert [level.micro_epsilon for level in question.levels] == [budget // 3, budget // 2, budget]
    assert [str(level) for level in survey.levels] == ["high (ε = 1)", "mid (ε = 1.5)", "low (ε = 3)"]


def test_the_spelled_out_form_has_no_fractions_and_the_same_hash() -> None:
    for survey in (loads(form()), loads(form(ask=2))):
        again = loads(survey.canonical.decode())
        assert again == survey
        assert again.hash == survey.hash
        assert b"fraction" not in survey.canonical


def test_the_schema_accepts_fractions_and_ask() -> None:
    validate(json.loads(form(ask=2)))
    validate(json.loads(loads(form(ask=2)).canonical))
    broken = json.loads(form(levels={"a": {"fraction": 1, "epsilon": 1}}))
    with pytest.raises(jsonschema.ValidationError):
        validate(broken)


def test_a_question_with_levels_of_its_own_leaves_the_rest_to_the_others() -> None:
    questions = json.loads(form())["questions"]
    questions[1]["levels"] = {"high": 0.5, "low": 1}
    survey = loads(form(questions=questions))
    assert budgets(survey)[1] == 1_000_000
    assert compose(budgets(survey)) == 3_000_000


def test_any_questions_that_may_be_asked_together_cost_the_total_at_most() -> None:
    assert budgets(loads(form(ask=1))) == [3_000_000] * 3
    two, five, twenty = budgets(loads(form(ask=2)))
    assert two == five < twenty
    assert 2_999_999 <= five + twenty <= 3_000_000
    assert loads(form(ask=3)) == loads(form())
    alike = [{"name": f"q{place}", "values": ["a", "b", "c"]} for place in range(4)]
    assert budgets(loads(form(ask=2, questions=alike))) == [1_500_000] * 4


HUGE = {"name": "fixed", "values": ["a", "b"], "levels": {"low": 3}}
BROKEN = {
    "total_epsilon: is missing; levels that are fractions": form(total_epsilon=...),
    "total_epsilon: must be a number": form(total_epsilon=[]),
    "total_epsilon: must leave something for the 3 questions": form(questions=[*json.loads(form())["questions"], HUGE]),
    "total_epsilon: total epsilon 0.000002 is too small to split over 3 questions": form(total_epsilon="0.000002"),
    "total_epsilon: level high must be a fraction above 0 and at most 1 that leaves": form(total_epsilon="0.000003"),
    "levels.high.fraction: must be above 0 and at most 1": form(levels={"high": {"fraction": "4/3"}}),
    "levels.high.fraction: must be above 0 and at most 1, such": form(levels={"high": {"fraction": "1/0"}}),
    "levels.high.fraction: must be above 0 and": form(levels={"high": {"fraction": True}}),
    "levels.low: must be a fraction of the question's budget": form(levels={"high": {"fraction": 1}, "low": 2}),
    "ask: must be a whole number from 1 to the 3 questions": form(ask=4),
    "ask: must be a whole number from 1 to": form(ask="2"),
    "total_epsilon: must allow any 2 answers at the strictest level (4)": form(
        ask=2, levels={"only": 2}, total_epsilon=3
    ),
    "questions[0] (q).values: must be a list of 2": form(questions=[{"name": "q", "values": ["one"]}]),
}


@pytest.mark.parametrize("words", BROKEN)
def test_one_clear_line(words: str) -> None:
    with pytest.raises(SurveyError) as error:
        loads(BROKEN[words])
    assert str(error.value).startswith(words)
    assert "\n" not in str(error.value)


def test_a_device_answers_everything_within_the_total() -> None:
    survey = loads(form())
    device = Device(survey)
    values = {question.name: question.values[-1] for question in survey.questions}
    report = device.answer_all(values, "low")
    assert len(report.answers) == 3
    assert device.remaining() == "0"
    device.withdraw("q2")
    with pytest.raises(BudgetError):
        device.answer("q2", "v0", "high")


def test_a_level_for_each_question_must_be_complete() -> None:
    device = Device(loads(form()))
    values = {"q2": "v0", "q5": "v1"}
    report = device.answer_all(values, {"q2": "low", "q5": "high"})
    assert [answer.level for answer in report.answers] == ["low", "high"]
    with pytest.raises(AnswerError, match="levels must name a level for every question answered; 'q5' has none"):
        device.answer_all(values, {"q2": "low"})


def test_the_questions_asked_are_uniform_and_stay_the_same() -> None:
    survey = loads(form(ask=2))
    pairs = [("q2", "q5"), ("q2", "q20"), ("q5", "q20")]
    asked = [Device(survey).asked for _ in range(3000)]
    assert follows([asked.count(pair) for pair in pairs], [1 / 3] * 3)
    device = Device(survey)
    first = device.asked
    device.answer(first[0], "v0")
    spent = device.ledger.total
    assert device.asked == first
    other = next(name for name in ("q2", "q5", "q20") if name not in device.asked)
    with pytest.raises(AnswerError, match="question must be one that this person is asked"):
        device.answer(other, "v0")
    assert device.ledger.total == spent


def test_the_questions_asked_survive_a_restart(tmp_path) -> None:
    survey = loads(form(ask=1))
    first = Device(survey, state=tmp_path / "state.json").asked
    assert all(Device(survey, state=tmp_path / "state.json").asked == first for _ in range(20))
    assert len({Device(survey).asked for _ in range(50)}) == 3  # the negative twin: a new device picks anew


def test_more_answers_than_asked_are_rejected_in_both_forms() -> None:
    def alike(ask: int) -> str:
        return form(ask=ask).replace('"values"', '"mechanism": "krr", "values"')  # outputs of one form, whatever ε

    survey, free = loads(alike(2)), loads(alike(2).replace('"ask": 2', '"ask": 3'))
    values = {question.name: question.values[0] for question in survey.questions}
    report = {**Device(free).answer_all(values).to_mapping(), "survey": survey.hash}
    for answer, question in zip(report["answers"], survey.questions, strict=True):
        answer["output"] = Device(survey).survey.question(question.name).channels[0].draw(0, bytes)
        answer["output"] = answer["output"].hex() if isinstance(answer["output"], bytes) else answer["output"]
    with pytest.raises(ReportRejected) as rejected:
        read_report(survey, json.dumps(report))
    assert rejected.value.reason is Rejection.TOO_MANY_ANSWERS
    people = Population.of_shares(loads(alike(3)), 50)
    reports = pa.Table.from_batches(simulate_reports(loads(alike(3)), people))
    names = reports.schema.get_field_index("survey")
    forged = reports.set_column(names, "survey", [[survey.hash] * 50])
    assert tally(survey, forged).rejections == {Rejection.TOO_MANY_ANSWERS: 50}


def test_simulated_people_answer_only_what_they_are_asked() -> None:
    survey = loads(form(ask=2))
    people = Population.of_shares(survey, 30_000, seed=1)
    counted = tally(survey, simulate_reports(survey, people, seed=1))
    assert counted.reports == 30_000
    answered = {
        question.name: sum(counted.counts[question.name, level.name].reports for level in question.levels)
        for question in survey.questions
    }
    assert sum(answered.values()) == 60_000
    assert all(abs(number - 20_000) < 6 * np.sqrt(20_000 / 3) for number in answered.values())
    for question in survey.questions:
        estimate = frequencies(counted, question.name)
        error = estimate.shares - people.shares(question)
        assert (np.abs(error) < 6 * estimate.standard_error).all()


def test_hiding_the_level_counts_only_the_questions_asked() -> None:
    hidden = {"hide_level": {"epsilon": 0.5}, "levels": {"strict": 0.5, "open": 1}, "total_epsilon": ...}
    every, some = loads(form(**hidden)), loads(form(ask=1, **hidden))
    leaks = [every.level_leak(question.name) - 500_000 for question in every.questions]
    assert some.level_leak() == 500_000 + max(leaks)
    directed = [question.level_evidence for question in every.questions]
    told = [sum(pairs[one][two] for pairs in directed) for one, two in ((0, 1), (1, 0))]
    assert every.level_leak() == 500_000 + max(told) < 500_000 + sum(leaks)
