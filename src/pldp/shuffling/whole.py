"""Which answers make a whole report, and which of them the survey's total allows together."""

from typing import Final

from pldp.epsilon import MICRO, epsilon_text
from pldp.mechanisms import Channel
from pldp.survey import Question, Survey, charge

MOST_SUMS: Final = 10_000
"""Different costs of some of the questions up to which the dearest set that the total allows is looked for."""


def channel_at(question: Question, level: str) -> Channel:
    """Return a question's channel at the level of this name."""
    names = [own.name for own in question.levels]
    return question.channels[names.index(level)]


def whole_report(survey: Survey, level: str) -> list[Question]:
    """Return the questions of a whole report at a level: all that have it, or as many as one is asked."""
    asked = [each for each in survey.questions if level in {own.name for own in each.levels}]
    asked.sort(key=lambda each: -channel_at(each, level).epsilon)
    return asked[: survey.ask or len(asked)]


def price(survey: Survey, question: Question, level: str) -> int:
    """Return in micro-ε what an answer costs; where levels are hidden that of the dearest one."""
    hidden = survey.level_channel is not None
    return charge(survey.repeat, question, len(question.levels) - 1 if hidden else question.find_level(level), 0)


def too_dear(survey: Survey, question: Question, level: str) -> str | None:
    """Say why nobody can answer a question at a level, if the total does not allow it."""
    own, total = price(survey, question, level), survey.total_micro_epsilon
    if total is None or own <= total:
        return None
    return f"an answer costs ε = {epsilon_text(own)}, and the survey's total is {epsilon_text(total)}"


def dearest_allowed(survey: Survey, questions: list[Question], level: str) -> tuple[list[Question], float]:
    """Return the questions that tell most of those that the total allows together, and a bound of what any such tell.

    Where sums are too many to go through, the questions are some that are allowed, and the bound is the total.
    """
    epsilons = [channel_at(each, level).epsilon for each in questions]
    prices, total = [price(survey, each, level) for each in questions], survey.total_micro_epsilon
    if total is None or sum(prices) <= total:
        return questions, sum(epsilons)
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    cut = False
    for place, (own, epsilon) in enumerate(zip(prices, epsilons, strict=True)):
        for cost, (told, chosen) in list(best.items()):
            found = (told + epsilon, (*chosen, place))
            if cost + own <= total and found[0] > best.get(cost + own, (-1.0, ()))[0]:
                best[cost + own] = found
        if len(best) > MOST_SUMS:
            cut, best = True, dict(sorted(best.items(), key=lambda each: -each[1][0])[: MOST_SUMS // 2])
    most, chosen = max(best.values())
    kept = all(own >= epsilon * MICRO - 1 for own, epsilon in zip(prices, epsilons, strict=True))
    return [questions[place] for place in chosen], (total / MICRO if kept else sum(epsilons)) if cut else most
