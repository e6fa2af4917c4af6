"""Ways to spend one total ε per person: everybody answers everything, or each person only some questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pldp.budgets import Cost, allocate, variance_cost
from pldp.mechanisms import AUTO, LARGEST_EPSILON, MICRO, epsilon_text
from pldp.records import Brief
from pldp.survey import Question, Survey, survey_from_mapping


@dataclass(frozen=True, repr=False)
class Design(Brief):
    """One way to spend the total, where each person answers `ask` questions."""

    ask: int
    split: str  # `optimal` (least summed variance), `equal`, or `given` (the survey as it is)
    budgets: tuple[int, ...]  # micro-ε of each question at its most open level
    squared_error: float  # Σ of the variances of all shares of all questions: what the design is judged by

    def to_mapping(self, questions: Sequence[str]) -> dict[str, Any]:
        """Return plain data."""
        epsilons = {name: budget / MICRO for name, budget in zip(questions, self.budgets, strict=True)}
        return {"ask": self.ask, "split": self.split, "epsilons": epsilons, "squared_error": self.squared_error}


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
    splits = [(everybody, "optimal", allocate(total, pooled)), (asked, "given", given)]
    splits += [(ask, "equal", [total // ask] * everybody) for ask in range(1, everybody + 1)]
    found = []
    for ask, split, parts in splits:
        budgets = tuple(min(part, LARGEST_EPSILON * MICRO) for part in parts)
        error = sum(cost(budget / MICRO) for cost, budget in zip(pooled, budgets, strict=True))
        found.append(Design(ask, split, budgets, float(error / (people * ask / everybody))))
    return tuple(sorted(found, key=lambda design: design.squared_error))


def _pooled(cost: Cost, question: Question, mix: Mapping[str, float]) -> Cost:
    """Return the cost of one report whose level is drawn from the mix, as a function of the question's budget."""
    most = question.levels[-1].micro_epsilon
    parts = [(mix[level.name], level.micro_epsilon / most) for level in question.levels if mix.get(level.name, 0.0) > 0]
    return lambda epsilon: 1 / sum(share / cost(fraction * epsilon) for share, fraction in parts)


def redesigned(survey: Survey, design: Design) -> Survey:
    """Return the same survey with the budgets and the number of questions asked of another design."""
    questions = list(map(_without_channels, survey.document["questions"]))
    document = {**survey.document, "questions": questions, "ask": design.ask}
    if "hide_level" in document:
        document["hide_level"] = _without_channels(document["hide_level"])
    for entry, question, budget in zip(questions, survey.questions, design.budgets, strict=True):
        most = question.levels[-1].micro_epsilon
        entry["levels"] = {each.name: epsilon_text(each.micro_epsilon * budget // most) for each in question.levels}
    return survey_from_mapping(document)


def hiding(survey: Survey, epsilon: float | str) -> Survey:
    """Return the same survey with levels hidden behind a label of this ε."""
    questions = list(map(_without_channels, survey.document["questions"]))
    return survey_from_mapping({**survey.document, "questions": questions, "hide_level": {"epsilon": str(epsilon)}})


def _without_channels(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in {"mechanism", "weights"}}
