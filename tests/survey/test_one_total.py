"""One total over choices, sets and numbers: the split is optimal for the channels as built, and says what it chose."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.claims import runs
from helpers.schema import validate
from pldp import Device, Survey
from pldp.errors import SurveyError
from pldp.planning.kinds import BY_KIND
from pldp.survey import dead_ends, loads

TRANSFER = 50_000
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ONE = {"only": "1"}
TWO = {"high": "1/3", "low": "1"}


def choice(size: int, **more: Any) -> dict[str, Any]:
    return {"values": list(LETTERS[:size]), **more}


def choices(size: int, **more: Any) -> dict[str, Any]:
    return {"kind": "choices", "values": list(LETTERS[:size]), **more}


def number(**more: Any) -> dict[str, Any]:
    return {"kind": "number", "low": -5, "high": 15, **more}


SURVEYS: dict[str, tuple[dict[str, str], str, int | None, list[dict[str, Any]]]] = {
    "one of each": (TWO, "4", None, [choice(6), choices(8), number()]),
    "a large total": (ONE, "17", None, [choice(20), choices(12), number(buckets=32), choice(2)]),
    "a small total": (ONE, "0.6", None, [choice(4), choices(3), number()]),
    "weights": (ONE, "5", None, [choice(9, weight=0.2), choices(6), number(weight=30), number(weight="2.5")]),
    "labels that differ": (
        ONE,
        "6",
        None,
        [
            choice(5, fractions={"a": "1/5", "b": "1/2"}, unprotected=["e"]),
            choices(4, fractions={"a": "1/3"}, unprotected=["d"]),
            number(mechanism="pm"),
        ],
    ),
    "an ε for each label": (TWO, "9", None, [choices(5, budget="item"), choices(9, at_most=2), number(mechanism="hm")]),
    "means": (ONE, "3", None, [number(purpose="mean"), number(purpose="mean", mechanism="sr"), choice(3)]),
    "two of five": (ONE, "3", 2, [choice(3), choice(40), choices(8), number(), choices(3, budget="item")]),
    "one level of its own": (TWO, "5", None, [choice(5, levels={"low": 1}), choices(7), number()]),
}


def read(levels: dict[str, str], total: str, ask: int | None, questions: list[dict[str, Any]]) -> Survey:
    named = [{"name": f"q{place}", **question} for place, question in enumerate(questions)]
    fractions = {name: {"fraction": fraction} for name, fraction in levels.items()}
    document = {"pldp": 1, "title": "t", "levels": fractions, "total_epsilon": total, "questions": named}
    return loads(json.dumps(document if ask is None else {**document, "ask": ask}))


def built_variance(levels: dict[str, str], table: dict[str, Any], whole: bool, price: int) -> float:
    """The summed variance of a question that may cost so much, from the arrays of the channels that a survey builds.

    Each level is chosen as often; numbers are scaled to bounds of 0 and 1.
    """
    parts = [Fraction(table.get("fractions", {}).get(name, 1)) for name in table.get("values", ())]
    free = len(table.get("unprotected", ()))
    per_item = table.get("kind") == "choices" and not whole
    epsilon = price / (sum(parts) - free if per_item else 1)
    table = {**table, "budget": "set"} if whole else table
    own = {name: f"{math.floor(epsilon * Fraction(fraction)) / 1e6:.6f}" for name, fraction in levels.items()}
    survey = Survey.read({"pldp": 1, "title": "t", "levels": own, "questions": [{"name": "q", **table}]})
    question = survey.questions[0]
    kind = BY_KIND[question.kind]
    shares = kind.shares(question, "equal")
    reports = [kind.one_report(question, channel, shares) for channel in question.channels]
    variances = [float(np.sum(each.variance)) / kind.reach(question) ** 2 for each in reports]
    return len(variances) / sum(1 / each for each in variances)


def best_transfer(
    levels: dict[str, str], ask: int | None, survey: Survey, questions: list[dict[str, Any]], prices: list[int]
) -> float:
    """How much of the weighted sum of variances the best transfer of 0.05 between two questions saves, as a part."""
    places = [place for place, table in enumerate(questions) if "levels" not in table]
    weights = [float(questions[place].get("weight", 1)) for place in places]
    own = [prices[place] for place in places]

    def cost(at: int, price: int) -> float:
        table, built = questions[places[at]], survey.questions[places[at]]
        return weights[at] * built_variance(levels, table, getattr(built, "whole", False), price)

    now = [cost(at, price) for at, price in enumerate(own)]
    gained = [now[at] - cost(at, price + TRANSFER) for at, price in enumerate(own)]
    lost = [cost(at, price - TRANSFER) - now[at] if price > TRANSFER else math.inf for at, price in enumerate(own)]
    allowed = sum(sorted(own)[-(ask or len(own)) :])
    saved = []
    for taker, giver in itertools.permutations(range(len(own)), 2):
        moved = [price + TRANSFER * ((at == taker) - (at == giver)) for at, price in enumerate(own)]
        if sum(sorted(moved)[-(ask or len(own)) :]) <= allowed:
            saved.append(gained[taker] - lost[giver])
    return max(saved, default=-math.inf) / sum(now)


def prices_of(survey: Survey) -> list[int]:
    return [question.charge(len(question.levels) - 1) for question in survey.questions]


@pytest.mark.parametrize("name", SURVEYS)
def test_no_transfer_between_questions_lowers_the_sum_of_the_built_variances(name: str) -> None:
    levels, total, ask, questions = SURVEYS[name]
    survey = read(*SURVEYS[name])
    prices = prices_of(survey)
    spent = sum(sorted(prices)[-(ask or len(prices)) :])
    assert 0 <= round(float(total) * 1e6) - spent <= 30  # every label of a set is rounded down
    assert best_transfer(levels, ask, survey, questions, prices) <= 0


@pytest.mark.parametrize("name", [name for name in SURVEYS if SURVEYS[name][2] is None])
def test_the_check_finds_a_split_that_is_not_optimal(name: str) -> None:
    levels, _, ask, questions = SURVEYS[name]
    survey = read(*SURVEYS[name])
    prices = prices_of(survey)
    free = [place for place, table in enumerate(questions) if "levels" not in table]
    part = prices[free[0]] // 4
    prices[free[0]] -= part
    prices[free[1]] += part
    assert best_transfer(levels, ask, survey, questions, prices) > 0


@settings(deadline=None, max_examples=runs(6, 200), derandomize=True)
@given(
    st.lists(
        st.one_of(
            st.builds(choice, st.integers(2, 26)),
            st.builds(choices, st.integers(2, 20), budget=st.sampled_from(["set", "item"])),
            st.builds(number, buckets=st.integers(2, 64), mechanism=st.sampled_from(["sw", "pm", "sr"])),
        ),
        min_size=2,
        max_size=4,
    ),
    st.integers(4, 12),
)
def test_any_mix_of_kinds_is_split_so_that_no_transfer_helps(questions: list[dict[str, Any]], total: int) -> None:
    survey = read(ONE, str(total), None, questions)
    assert best_transfer(ONE, None, survey, questions, prices_of(survey)) <= 0


@pytest.mark.parametrize("name", ["one of each", "weights", "labels that differ", "two of five"])
def test_the_spelled_out_document_is_the_same_survey(name: str) -> None:
    survey = read(*SURVEYS[name])
    again = loads(survey.canonical.decode())
    assert again == survey
    assert again.hash == survey.hash
    assert b"weight" not in survey.canonical.replace(b'"weights"', b"")
    validate(json.loads(survey.canonical))


@pytest.mark.parametrize("name", ["one of each", "labels that differ", "an ε for each label"])
def test_a_device_can_answer_everything_at_the_most_open_level(name: str) -> None:
    survey = read(*SURVEYS[name])
    answers = {
        question.name: {"choice": "a", "choices": ["a", "c"], "number": 3}[question.kind]
        for question in survey.questions
    }
    device = Device(survey)
    report = device.answer_all(answers, survey.levels[-1].name)
    assert len(report.answers) == len(survey.questions)
    assert float(device.remaining()) < 4e-5


def test_a_set_gets_one_budget_where_the_file_leaves_the_choice_and_says_so() -> None:
    survey = read(ONE, "2", None, [choices(20), choice(3)])
    question = survey.questions[0]
    assert question.document()["budget"] == "set"
    (line,) = survey.remarks
    assert line.startswith("question 'q0': one ε for the whole set of 20 labels, as the file leaves the choice")
    assert "an ε for each of the 20 labels would have" in line
    named = read(ONE, "9", None, [choices(5, budget="item"), choice(3)])
    assert named.remarks == ()
    assert named.questions[0].budget == "item"


def test_a_budget_for_each_label_that_leaves_them_nothing_is_refused() -> None:
    with pytest.raises(SurveyError) as error:
        read(ONE, "0.9", None, [choices(20, budget="item"), choice(3)])
    words = str(error.value)
    assert words.startswith("total_epsilon: gives question 'q0' 0.")
    assert 'let one ε protect the whole set (budget = "set")' in words


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (choice(3, weight=0), "questions[0] (q0).weight: must be a number above 0 and at most 1,000,000, not 0"),
        (choice(3, weight="much"), "questions[0] (q0).weight: must be a number above 0 and at most 1,000,000, not"),
        (choice(3, weight=True), "questions[0] (q0).weight: must be a number above 0"),
        (
            choice(2, budgets={"only": ["1", "1"]}),
            "questions[0] (q0).budgets: are spelled out in ε, and so must the levels be",
        ),
        (
            choice(4, fractions={"a": "1/2"}, mechanism="aprr"),
            "question q0, level only: weights must keep the promised epsilon",
        ),
    ],
)
def test_one_clear_line(table: dict[str, Any], words: str) -> None:
    with pytest.raises(SurveyError) as error:
        read(ONE, "3", None, [table, number()])
    assert str(error.value).startswith(words)
    assert "\n" not in str(error.value)


def test_what_the_total_does_not_allow_is_named() -> None:
    def warned(total: str, ask: int | None = None, **basket: Any) -> list[str]:
        questions = [choice(2, name="mode"), choice(2, name="late"), choices(4, name="basket", **basket)]
        document = {"pldp": 1, "title": "t", "levels": {"strict": 0.5, "open": 4}, "total_epsilon": total}
        return dead_ends(Survey.read({**document, "questions": questions, **({} if ask is None else {"ask": ask})}))

    assert warned("24") == []
    assert warned("12", budget="set") == []
    lines = warned("3", budget="set")
    assert [line.split(":")[0] for line in lines] == [
        "level 'open' of question 'mode' can never be chosen",
        "level 'open' of question 'late' can never be chosen",
        "level 'open' of question 'basket' can never be chosen",
        "level 'open' cannot be chosen for all questions",
    ]
    assert lines[-1].endswith(
        "mode (4), late (4), basket (4) cost ε = 12 together, and the total is 3; it allows 0 of them"
    )
    crowded = warned("4.5", budget="set")
    assert crowded[0] == (
        "a person who chooses level 'open' (ε = 4) for question 'mode' cannot answer all others, which cost ε = 1 at "
        "their strictest level: the total is 4.5"
    )
    assert warned("8", ask=2, budget="set") == []
    assert warned("7.5", ask=2, budget="set")[0].startswith("level 'open' cannot be chosen for any 2 questions")
