"""Ways to spend one total ε per person: everybody answers everything, or each person only some questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pldp.budgets import Cost, allocate, variance_cost
from pldp.mechanisms import AUTO, LARGEST_EPSILON, MICRO, epsilon_text
from pldp.records import Brief
from pldp.survey import Question, Survey, survey_from_mapping


@dataclass(frozen=True, repr=False)
class Design(Brief):
    """One way to spend the total.

    Attributes
    ----------
    ask
        Questions that each person answers.
    split
        `optimal` (least summed variance), `equal`, or `given` (the survey as it is).
    budgets
        Micro-ε of each question at its most open level.
    squared_error
        Σ of the variances of all shares of all questions: what the design is judged by.
    """

    ask: int
    split: str
    budgets: tuple[int, ...]
    squared_error: float


def compare_designs(survey: Survey, people: int, mixes: Sequence[Mapping[str, float]]) -> tuple[Design, ...]:
    """Return the designs that spend the same total per person, best first; the survey as it is among them.

    All questions are choices of one label. Each level keeps its fraction of a question's budget, and every level uses
    the mechanism that `auto` would. Shares are taken to be equal, as in the weights of the estimate.
    """
    asked = survey.ask or len(survey.questions)
    given = [question.levels[-1].micro_epsilon for question in survey.questions]
    total = survey.total_micro_epsilon or sum(sorted(given)[-asked:])
    costs = [variance_cost(AUTO, question.channels[0].size) for question in survey.questions]
    pooled = [_pooled(cost, question, mix) for cost, question, mix in zip(costs, survey.questions, mixes, strict=True)]
    everybody = len(survey.questions)
    splits = [(everybody, "optimal", _capped(allocate(total, pooled))), (asked, "given", given)]
    splits += [(ask, "equal", _capped([total // ask] * everybody)) for ask in range(1, everybody + 1)]
    found = [_judge(survey, people, *split, pooled) for split in splits]
    return tuple(sorted(found, key=lambda design: design.squared_error))


def _capped(budgets: Sequence[int]) -> list[int]:
    return [min(budget, LARGEST_EPSILON * MICRO) for budget in budgets]


def _pooled(cost: Cost, question: Question, mix: Mapping[str, float]) -> Cost:
    """Return the cost of one report whose level is drawn from the mix, as a function of the question's budget."""
    most = question.levels[-1].micro_epsilon
    parts = [(mix[level.name], level.micro_epsilon / most) for level in question.levels if mix.get(level.name, 0.0) > 0]
    return lambda epsilon: 1 / sum(share / cost(fraction * epsilon) for share, fraction in parts)


def _judge(survey: Survey, people: int, ask: int, split: str, budgets: Sequence[int], pooled: Sequence[Cost]) -> Design:
    reports = people * ask / len(survey.questions)
    error = sum(cost(budget / MICRO) for cost, budget in zip(pooled, budgets, strict=True)) / reports
    return Design(ask, split, tuple(budgets), float(np.float64(error)))


def redesigned(survey: Survey, design: Design) -> Survey:
    """Return the same survey with the budgets and the number of questions asked of another design."""
    questions: list[dict[str, Any]] = []
    for question, budget in zip(survey.document["questions"], design.budgets, strict=True):
        own = survey.question(question["name"])
        most = own.levels[-1].micro_epsilon
        levels = {level.name: epsilon_text(level.micro_epsilon * budget // most) for level in own.levels}
        kept = {key: entry for key, entry in question.items() if key not in {"mechanism", "weights"}}
        questions.append({**kept, "levels": levels})
    return survey_from_mapping({**_without_label_weights(survey), "questions": questions, "ask": design.ask})


def hiding(survey: Survey, epsilon: float | str) -> Survey:
    """Return the same survey with levels hidden behind a label of this ε."""
    kept = [
        {key: entry for key, entry in question.items() if key not in {"mechanism", "weights"}}
        for question in survey.document["questions"]
    ]
    return survey_from_mapping({**survey.document, "questions": kept, "hide_level": {"epsilon": str(epsilon)}})


def _without_label_weights(survey: Survey) -> dict[str, Any]:
    document = dict(survey.document)
    if "hide_level" in document:
        document["hide_level"] = {
            key: entry for key, entry in document["hide_level"].items() if key in {"epsilon", "leak_cap"}
        }
    return document
