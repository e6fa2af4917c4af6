"""What the reader offers beside files: dictionaries, suggestions, large totals, a generated schema, short pictures."""

from __future__ import annotations

import json
from decimal import Decimal

import jsonschema
import pytest

from helpers.schema import validate
from pldp import Device, Survey
from pldp.device.kinds import BY_KIND
from pldp.errors import AnswerError, EpsilonError, SurveyError
from pldp.survey import KINDS, loads, make_key, sign, survey_from_mapping
from pldp.survey.schema import PATH, survey_schema

CHOICE = {"name": "mode", "values": ["car", "bus", "bike"]}
CHOICES = {"name": "used", "kind": "choices", "values": ["car", "bus"]}
NUMBER = {"name": "hours", "kind": "number", "low": -0.5, "high": 14.1}
BY_NAME = {"choice": CHOICE, "choices": CHOICES, "number": NUMBER}


def document(*questions: dict, **changes: object) -> dict:
    levels = {"strict": 0.1, "open": {"epsilon": 2.5, "text": "helps"}}
    return {"pldp": 1, "title": "t", "levels": levels, "questions": list(questions) or [CHOICE], **changes}


def test_every_kind_has_an_example_here_and_a_module_on_the_device() -> None:
    assert KINDS.keys() == BY_KIND.keys() == BY_NAME.keys()


def test_floats_of_a_dictionary_mean_what_their_text_means() -> None:
    questions = [{**CHOICE, "fractions": {"car": 0.3}}, CHOICES, NUMBER]
    plain = document(*questions, total_epsilon=7.7)
    survey = survey_from_mapping(plain)
    assert survey == loads(json.dumps(plain)) == Survey.read(plain) == Survey.read(json.dumps(plain))
    question = survey.question("hours")
    assert (question.levels[0].micro_epsilon, question.bounds) == (100_000, ("-0.5", "14.1"))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -0.5, 0.0, True, None])
def test_floats_that_are_no_epsilon_are_refused(number: object) -> None:
    with pytest.raises(SurveyError, match=r"^levels\.a: "):
        survey_from_mapping(document(levels={"a": number}))


def test_a_signed_dictionary_is_checked() -> None:
    private, public = make_key()
    signed = json.loads(sign(Survey.read(document()), private))
    assert Survey.read(signed, trusted_key=public) == Survey.read(document())
    signed["survey"]["title"] = "u"
    with pytest.raises(SurveyError, match="does not fit the survey"):
        Survey.read(signed, trusted_key=public)


def test_one_budget_ends_at_20_and_what_many_answers_cost_at_1000() -> None:
    survey = Survey.read(document(total_epsilon=1000, hide_level={"leak_cap": "1000"}))
    assert (survey.total_micro_epsilon, survey.leak_cap) == (1_000_000_000, 1_000_000_000)
    assert survey.level_micro_epsilon == 20_000_000  # the label is one budget, whatever the cap leaves
    assert loads(survey.canonical.decode()) == survey
    device = Device(survey)
    device.change_cap(1000)
    assert device.ledger.cap == 1_000_000_000
    for broken in (
        document(total_epsilon="1000.000001"),
        document(hide_level={"leak_cap": 1001}),
        document(hide_level={"epsilon": 20.5}),
        document({**CHOICE, "levels": {"open": 21}}),
    ):
        with pytest.raises(SurveyError, match=r"epsilon must be a number above 0 and at most (20|1,000), not"):
            Survey.read(broken)
    with pytest.raises(EpsilonError, match="at most 1,000"):
        Device(survey, cap=1001)


def test_no_question_gets_more_than_20_of_a_large_total() -> None:
    questions = [{"name": str(size), "values": [str(value) for value in range(size)]} for size in (2, 30, 2000)]
    for total, ask in ((50, None), (59.9, None), (1000, None), (1000, 2)):
        levels = {"half": {"fraction": 0.5}, "all": {"fraction": 1}}
        survey = Survey.read(
            document(*questions, levels=levels, total_epsilon=total, **({} if ask is None else {"ask": ask}))
        )
        parts = [question.levels[-1].micro_epsilon for question in survey.questions]
        assert max(parts) <= 20_000_000
        assert sum(parts) == pytest.approx(min(total * 1_000_000, 60_000_000), abs=3)
        assert loads(survey.canonical.decode()) == survey


@pytest.mark.parametrize(
    ("name", "level", "words"),
    [
        ("mod", None, "unknown question 'mod'; did you mean 'mode'? This survey has: mode, hours"),
        ("age", None, "unknown question; this survey has: mode, hours"),
        ("mode", "stric", "unknown level 'stric'; did you mean 'strict'? Question 'mode' has: strict, open"),
        ("mode", "bike", "unknown level; question 'mode' has: strict, open"),
    ],
)
def test_a_misspelled_name_is_answered_with_the_known_ones(name: str, level: str | None, words: str) -> None:
    """A name that is near none is not repeated: with swapped arguments it is the answer."""
    with pytest.raises(AnswerError) as error:
        Device(Survey.read(document(CHOICE, NUMBER))).answer(name, "bike", level)
    assert str(error.value) == words


def test_long_lists_of_known_names_are_cut() -> None:
    survey = Survey.read(document(*({**CHOICE, "name": f"question {number}"} for number in range(30))))
    with pytest.raises(AnswerError, match=r"question 19, and 10 more$"):
        survey.question("age")


def test_the_shipped_schema_is_the_generated_one() -> None:
    assert json.loads(PATH.read_text(encoding="utf-8")) == survey_schema(), "run: python -m pldp.survey.schema"


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_takes_the_keys_of_the_kind_and_no_others(kind: str) -> None:
    good = BY_NAME[kind]
    validate(document(good))
    every = {key for other in KINDS.values() for key in other.keys}
    sample = {
        "low": 0,
        "high": 9,
        "buckets": 4,
        "unit": "h",
        "outside": "clip",
        "purpose": "mean",
        "values": ["x", "y"],
    }
    sample |= {"fractions": {}, "unprotected": [], "budgets": {}, "budget": "set", "at_most": 1}
    sample |= {"exclusive": ["x"], "option_order": "random"}
    sample |= {"ticked": {}, "unticked": {}, "sides": {}}
    broken = [{**good, "kind": "essay"}, {**good, "colour": 1}]
    broken += [{**good, key: sample[key]} for key in every - KINDS[kind].keys.keys()]
    broken += [{key: good[key] for key in good if key != missing} for missing in KINDS[kind].required]
    for question in broken:
        with pytest.raises(jsonschema.ValidationError):
            validate(document(question))


def test_the_schema_takes_large_totals_and_small_budgets() -> None:
    validate(document(total_epsilon=1000, hide_level={"leak_cap": 1000}))
    for broken in (document(total_epsilon=1001), document(levels={"a": 21}), document(hide_level={"epsilon": 21})):
        with pytest.raises(jsonschema.ValidationError):
            validate(broken)


def test_a_survey_shows_itself_in_at_most_five_lines() -> None:
    survey = Survey.read(document(CHOICE, CHOICES, NUMBER, *({**CHOICE, "name": f"q{number}"} for number in range(20))))
    lines = repr(survey).splitlines()
    assert len(lines) == 5
    assert lines[1:] == [
        "  <Choice 'mode': 3 labels; ε of levels: strict 0.1, open 2.5>",
        "  <Choices 'used': 2 labels; ε of levels: strict 0.1, open 2.5>",
        "  <Number 'hours': -0.5 to 14.1 in 256 steps; ε of levels: strict 0.1, open 2.5>",
        "  and 20 more",
    ]
    many = Survey.read(document(levels={f"level {number}": Decimal(number + 1) / 10 for number in range(100)}))
    assert repr(many.question("mode")).endswith("level 5 0.6, 94 more>")


def test_a_notebook_shows_the_questions_and_escapes_their_names() -> None:
    shown = Survey.read(document({**CHOICE, "name": "<b>mode"}, NUMBER, title="a & b"))._repr_html_()
    assert "<h2>a &amp; b</h2>" in shown
    assert (
        ">&lt;b&gt;mode</th><td></td><td>choice</td><td>3 labels</td><td>strict (ε = 0.1), open (ε = 2.5)</td>" in shown
    )
    assert shown.count("<tr>") == 3
