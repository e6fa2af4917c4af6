"""One budget for a whole set in survey files: what is read, promised, charged, explained, planned, audited, refused."""

from __future__ import annotations

import json

import pytest

from helpers.refusals import refused
from pldp import Device, Survey, plan, tally
from pldp.auditing import audit
from pldp.auditing.kinds import BY_KIND
from pldp.errors import AnswerError, SimulationError, SurveyError
from pldp.mechanisms import MICRO, Bits
from pldp.reports import Rejection
from pldp.simulate import Population
from pldp.survey import loads

LABELS = ["flu", "cold", "cough", "none", "asthma"]
QUESTION = {"name": "ill", "text": "Which?", "kind": "choices", "values": LABELS, "budget": "set"}


def survey_of(*, repeat: str = "once", **question: object) -> Survey:
    levels = {"strict": 0.5, "open": 2}
    asked = {"pldp": 1, "title": "t", "levels": levels, "repeat": repeat, "questions": [{**QUESTION, **question}]}
    return loads(json.dumps(asked))


@pytest.mark.parametrize("mechanism", ["auto", "boxes", "privset", "item_set"])
def test_a_whole_set_is_promised_and_charged_the_levels_epsilon_and_no_more(mechanism: str) -> None:
    survey = survey_of(mechanism=mechanism, at_most=2)
    question = survey.questions[0]
    for level, micro in enumerate((500_000, 2_000_000)):
        assert question.promises(level) == (micro,)
        assert question.charge(level) == micro
        assert micro - 10 <= question.price(question.channels[level]) <= micro
        assert question.between(level, [0, 3]) == question.between(level, [0]) == micro
        assert question.between(level, []) == 0
    device = Device(survey)
    device.answer("ill", ["flu", "cold"], level="open")
    assert device.ledger.total == 2_000_000


def test_a_budget_for_each_label_stays_the_default_and_costs_their_sum() -> None:
    each = survey_of(budget="item")
    assert each.questions[0].charge(1) == len(LABELS) * 2_000_000
    without = {key: entry for key, entry in QUESTION.items() if key != "budget"}
    document = {"pldp": 1, "title": "t", "levels": {"strict": 0.5, "open": 2}, "questions": [without]}
    assert loads(json.dumps(document)).hash == each.hash


def test_the_spelled_out_form_is_read_again() -> None:
    survey = survey_of(at_most=2)
    document = survey.document["questions"][0]
    assert (document["budget"], document["at_most"]) == ("set", 2)
    assert loads(survey.canonical.decode()).hash == survey.hash
    assert survey.questions[0].describe() == "5 labels, at most 2 ticked"


def test_auto_is_decided_by_the_limit_on_ticks() -> None:
    for at_most, mechanism in ((None, "boxes"), (1, "privset")):
        channels = survey_of(**({} if at_most is None else {"at_most": at_most})).questions[0].channels
        assert {channel.mechanism for channel in channels} == {mechanism}


REFUSED = {
    "budget: must be one of item, set, not 'person'": {"budget": "person"},
    "at_most: must be a whole number from 1 to 5, the number of labels, not 6": {"at_most": 6},
    "at_most: must be a whole number from 1 to 5, the number of labels, not True": {"at_most": True},
    "labels cannot have budgets of their own where one protects the whole set": {"fractions": {"flu": "1/2"}},
    "mechanism must be one of item_set, boxes, privset or auto, not 'krr'": {"mechanism": "krr"},
    "mechanism must be one of item_set or auto, not 'boxes'": {"budget": "item", "mechanism": "boxes"},
    "whole sets cannot be tracked": {"repeat": "tracked"},
    "weights must be those of a channel for sets of 3 labels, not of 2 at most": {
        "at_most": 3,
        "mechanism": {"strict": "privset"},
        "weights": {"strict": survey_of(at_most=2, mechanism="privset").questions[0].channels[0].weights()},
    },
    "level strict: weights must keep the promised epsilon 0.5, not 2": {
        "mechanism": {"strict": "boxes"},
        "weights": {"strict": survey_of().questions[0].channels[1].weights()},
    },
    "level strict: weights must keep the promised epsilon 0.5, not 2.5": {  # of each label, where it is of the set
        "mechanism": {"strict": "item_set"},
        "weights": {"strict": survey_of(budget="item").questions[0].channels[0].weights()},
    },
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_cannot_be_kept_is_refused_in_one_line(line: str) -> None:
    with refused(SurveyError, line):
        survey_of(**REFUSED[line])


@pytest.mark.parametrize("budget", ["set", "item"])
def test_more_labels_than_allowed_are_refused_without_repeating_them(budget: str) -> None:
    survey = survey_of(at_most=2, budget=budget)
    with pytest.raises(AnswerError, match="value must be at most 2 labels of question 'ill'; there are more") as caught:
        Device(survey).answer("ill", LABELS[:3])
    assert not any(label in str(caught.value) for label in LABELS)
    Device(survey).answer("ill", LABELS[:2])
    with pytest.raises(SimulationError, match="answers of ill must be 2 labels at most; some are more"):
        Population.of_values(survey, {"ill": [LABELS[:1], LABELS[:3]]})
    people = Population.of_shares(survey, 500, {"ill": [0.9] * 5}, seed=1)
    assert people.counts(survey.questions[0]).sum() == 1000  # nobody ticks more


def test_a_person_is_told_what_a_report_is_about_and_the_odds_between_any_two_sets() -> None:
    told = Device(survey_of()).explain("open")
    assert "your report is about 2 of the 5 boxes, picked at random whatever you tick;" in told
    assert 'of 100 people who tick "flu", about 32 reports have it ticked; of 100 who do not, about 8' in told
    assert "changes the odds between any two sets of boxes at most 7.39 times (ε = 2)." in told
    told = Device(survey_of(at_most=2)).explain("open")
    assert "your report ticks up to 1 of the 5 boxes, whatever you tick;" in told


def test_reports_with_another_number_of_ones_are_rejected() -> None:
    survey = survey_of(mechanism="privset", at_most=2)
    form = survey.questions[0].channels[0].form
    assert isinstance(form, Bits)
    report = Device(survey).answer("ill", ["flu"]).to_mapping()
    report["answers"][0]["output"] = form.pack((1 << form.ones + 1) - 1).hex()
    assert tally(survey, [report]).rejections == {Rejection.OUT_OF_RANGE: 1}


def test_a_plan_tells_what_one_budget_for_the_set_gains() -> None:
    per_label, whole = plan(survey_of(budget="item"), 10_000).questions[0], plan(survey_of(), 10_000).questions[0]
    assert per_label.advice is not None
    assert "one budget for the whole set" in per_label.advice
    assert whole.advice is None
    for level in per_label.levels:
        assert level.best == "boxes"
    # The other way round, the parts of one budget for every label are the worst.
    assert all(list(level.mechanisms)[-1] == "item_set" for level in whole.levels)
    shares = plan(survey_of(at_most=1), 10_000).questions[0].shares
    assert shares.tolist() == [0.5] * 5  # each label by itself


def test_an_audit_claims_the_same_epsilon_between_any_two_sets() -> None:
    survey = survey_of(at_most=2)
    answers, claims, *_ = BY_KIND["choices"].compare(survey.questions[0], 1)
    labels = survey.questions[0].values
    assert answers == [[], *([label] for label in labels), ["flu", "cold"]]
    assert claims == [[0 if one == two else 2 for two in range(len(answers))] for one in range(len(answers))]
    assert not audit(survey, samples=0).refuted


def test_an_audit_refutes_a_document_whose_labels_keep_what_the_set_does_not() -> None:
    document = json.loads(survey_of(budget="item").canonical)
    assert not audit(document).refuted
    document["questions"][0]["budget"] = "set"
    words = {word for row in audit(document).rows for word in row.refutations}
    assert words == {"a report tells 2.5, above the claimed 0.5", "a report tells 10, above the claimed 2"}


def test_the_epsilon_of_a_level_is_used_up() -> None:
    for channel, micro in zip(survey_of().questions[0].channels, (MICRO // 2, 2 * MICRO), strict=True):
        assert micro - 4 <= channel.micro_epsilon <= micro
