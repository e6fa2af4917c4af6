"""Ways to spend one total ε per person: everybody answers everything, or each person only some questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pldp.budgets import allocate
from pldp.mechanisms import MICRO, epsilon_text
from pldp.records import Brief
from pldp.survey import Survey, share_of, survey_from_mapping


@dataclass(frozen=True, repr=False)
class Design(Brief):
    """One way to spend the total, where each person answers `ask` questions."""

    ask: int
    split: str  # `optimal` (least summed variance), `equal`, or `given` (the survey as it is)
    budgets: tuple[int, ...]  # micro-ε that an answer to each question costs at its most open level
    squared_error: float  # Σ of the weighted variances of all questions: what the design is judged by
    fits: bool = True  # whether the total allows the most open level everywhere; if not, nobody gets these errors

    def to_mapping(self, questions: Sequence[str]) -> dict[str, Any]:
        """Return plain data."""
        epsilons = {name: budget / MICRO for name, budget in zip(questions, self.budgets, strict=True)}
        about = {"ask": self.ask, "split": self.split, "epsilons": epsilons, "squared_error": self.squared_error}
        return {**about, "fits": self.fits}

    @property
    def cost(self) -> int:
        """Micro-ε that the dearest questions a person may be asked cost together, at the most open level."""
        return sum(sorted(self.budgets)[-self.ask :])


NEAR: Final = 0.999
"""Part of the squared error of the survey as it is that another design must be below: less is rounding."""

_COMPARED: Final = 3
"""Numbers of questions asked for which the best split is found: those that are best with equal parts."""


def compare_designs(
    survey: Survey, people: int, mixes: Sequence[Mapping[str, float]], *, alike: bool = False
) -> tuple[Design, ...]:
    """Return the designs that spend the same total per person, best first; the survey as it is among them.

    If the survey's total does not allow its own most open levels, the survey as it is comes last (`fits`).

    Each level keeps its fraction of a question's budget, and every level uses the mechanism that `auto` would. The
    error of a design is the weighted sum of all variances: of shares at equal shares, and of the mean of a number whose
    bounds are 0 and 1. They are those of results that assume nothing about levels, or that take people to be `alike`.
    """
    everybody = len(survey.questions)
    asked = survey.ask or everybody
    given = [question.charge(len(question.levels) - 1) for question in survey.questions]
    spent = sum(sorted(given)[-asked:])
    total = spent if survey.total_micro_epsilon is None else min(spent, survey.total_micro_epsilon)
    shares = [share_of(question, mix) for question, mix in zip(survey.questions, mixes, strict=True)]
    costs, largest = [share.smooth_cost(alike=alike) for share in shares], [share.largest for share in shares]

    def design(ask: int, split: str, parts: Sequence[int]) -> Design:
        budgets = tuple(min(part, most) for part, most in zip(parts, largest, strict=True))
        error = sum(cost(budget / MICRO) for cost, budget in zip(costs, budgets, strict=True))
        return Design(ask, split, budgets, float(error / (people * ask / everybody)))

    equal = [design(ask, "equal", [total // ask] * everybody) for ask in range(1, everybody + 1)]
    nearly = sorted(equal, key=lambda each: each.squared_error)[:_COMPARED]
    optimal = [
        design(ask, "optimal", allocate(total, costs, largest=largest, ask=ask))
        for ask in sorted({each.ask for each in nearly} | {everybody})
    ]
    same = {(each.ask, each.budgets) for each in optimal}
    own = replace(design(asked, "given", given), fits=spent == total)
    found = [*optimal, *(each for each in equal if (each.ask, each.budgets) not in same), own]
    return tuple(sorted(found, key=lambda each: (not each.fits, each.squared_error * (NEAR if each is own else 1))))


def redesigned(survey: Survey, design: Design) -> Survey:
    """Return the same survey with the budgets and the number of questions asked of another design."""
    questions = []
    for question, budget in zip(survey.questions, design.budgets, strict=True):
        share = share_of(question)
        levels = share.forms[0].levels(budget, share.levels.fractions)
        own = {level.name: epsilon_text(level.micro_epsilon) for level in levels}
        questions.append({**question.source(), "weight": question.weight, "levels": own})
    document = {**survey.document, "questions": questions, "ask": design.ask}
    if "hide_level" in document:
        document["hide_level"] = _without_channels(document["hide_level"])
    return survey_from_mapping(document)


def hiding(survey: Survey, epsilon: float | str, by: str = "epsilon", *, keep: bool = False) -> Survey:
    """Return the same survey with levels hidden behind a label of this ε, or by a `lottery` of it.

    Its mechanisms are those that `auto` takes then, unless they are to be kept.
    """
    questions = survey.document["questions"] if keep else list(map(_without_channels, survey.document["questions"]))
    return survey_from_mapping({**survey.document, "questions": questions, "hide_level": {by: str(epsilon)}})


def _without_channels(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in {"mechanism", "weights"}}
