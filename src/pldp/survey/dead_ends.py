"""Levels that the total does not allow: questions and levels that nobody can choose together."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from pldp.mechanisms import epsilon_text
from pldp.survey.hidden_prices import dearest_price, report_price
from pldp.survey.repeat import charge

if TYPE_CHECKING:
    from pldp.survey.model import Survey

_LISTED: Final = 4
"""Questions that a line names."""


class _Price(NamedTuple):
    question: str
    micro: int

    def __str__(self) -> str:
        return f"{self.question} ({epsilon_text(self.micro)})"


def dead_ends(survey: "Survey") -> list[str]:
    """Return one line for each choice of levels that the total does not allow; none where all are possible.

    >>> from pldp.survey import Survey
    >>> questions = [{"name": name, "values": ["yes", "no"]} for name in ("late", "ill")]
    >>> levels = {"strict": 1, "open": 4}
    >>> survey = Survey.read({"pldp": 1, "title": "t", "levels": levels, "total_epsilon": 5, "questions": questions})
    >>> print(*dead_ends(survey))
    level 'open' cannot be chosen for all questions: late (4), ill (4) cost ε = 8 together, and the total is 5; it \
allows 1 of them
    """
    total = survey.total_micro_epsilon
    if total is None:
        return [*_required(survey, None)]
    if survey.level_channel is not None:
        return [*_hidden(survey, total)]
    return [
        *_required(survey, total),
        *_alone(survey, total),
        *_with_others(survey, total),
        *_same_level(survey, total),
    ]


def _price(survey: "Survey", question: int, level: int) -> int:
    """Return what a first answer costs."""
    return charge(survey.repeat, survey.questions[question], level, 0)


def _hidden(survey: "Survey", total: int) -> Iterator[str]:
    """Where levels are hidden, a report costs the same at every level."""
    together = dearest_price(survey)
    if together > total:
        cheapest = sorted(survey.questions, key=lambda each: report_price(survey, [each], new_label=True))
        counts = range(1, len(cheapest) + 1)
        allowed = [count for count in counts if report_price(survey, cheapest[:count], new_label=True) <= total]
        what = "all questions" if survey.ask is None else f"any {survey.ask} questions"
        yield (
            f"nobody can answer {what}: together, and with what they tell about a hidden level, they cost "
            f"ε = {epsilon_text(together)}, and the total is {epsilon_text(total)}; it allows "
            f"{max(allowed, default='none')} of them"
        )


def _required(survey: "Survey", total: int | None) -> Iterator[str]:
    """Find levels that nobody can choose, because a required question has no such level, or all of them cost too much.

    A question that does not offer the level is answered at the next stricter one.
    """
    for rank, level in enumerate(survey.levels):
        allowed = [each.name for each in survey.levels[: rank + 1]]
        together = 0
        for place, question in enumerate(survey.questions):
            if not question.is_required:
                continue
            offered = [question.level_index[name] for name in allowed if name in question.level_index]
            if not offered:
                yield (
                    f"level {level.name!r} can never be chosen: question {question.name!r} is required and offers "
                    "neither it nor a stricter one"
                )
                break
            together += _price(survey, place, offered[-1])
        else:
            if total is not None and survey.ask is None and together > total:
                yield (
                    f"level {level.name!r} can never be chosen: the required questions cost ε = "
                    f"{epsilon_text(together)} together, and the total is {epsilon_text(total)}"
                )


def _alone(survey: "Survey", total: int) -> Iterator[str]:
    for place, question in enumerate(survey.questions):
        for index, level in enumerate(question.levels):
            own = _price(survey, place, index)
            if own > total:
                yield (
                    f"level {level.name!r} of question {question.name!r} can never be chosen: an answer costs "
                    f"ε = {epsilon_text(own)}, and the total is {epsilon_text(total)}"
                )


def _with_others(survey: "Survey", total: int) -> Iterator[str]:
    """Compare each choice with what all others that may be asked cost at their strictest level."""
    strictest = [_price(survey, place, 0) for place in range(len(survey.questions))]
    others = (survey.ask or len(survey.questions)) - 1
    for place, question in enumerate(survey.questions):
        rest = sum(sorted(strictest[:place] + strictest[place + 1 :])[len(strictest) - 1 - others :])
        for index, level in enumerate(question.levels):
            own = _price(survey, place, index)
            if own <= total < own + rest:
                yield (
                    f"a person who chooses level {level.name!r} (ε = {epsilon_text(own)}) for question "
                    f"{question.name!r} cannot answer all others, which cost ε = {epsilon_text(rest)} at their "
                    f"strictest level: the total is {epsilon_text(total)}"
                )


def _same_level(survey: "Survey", total: int) -> Iterator[str]:
    """Compare what one level costs for all questions that may be asked together and offer it."""
    for level in survey.levels:
        prices = [
            _Price(question.name, _price(survey, place, question.level_index[level.name]))
            for place, question in enumerate(survey.questions)
            if level.name in question.level_index
        ]
        dearest = sorted(prices, key=lambda each: -each.micro)[: survey.ask]
        together = sum(each.micro for each in dearest)
        if len(dearest) > 1 and together > total:
            what = "all questions" if survey.ask is None else f"any {len(dearest)} questions"
            yield (
                f"level {level.name!r} cannot be chosen for {what}: {_listed(dearest)} cost "
                f"ε = {epsilon_text(together)} together, and the total is {epsilon_text(total)}; it allows "
                f"{_affordable(dearest, total)} of them"
            )


def _listed(prices: Sequence[_Price]) -> str:
    more = f" and {len(prices) - _LISTED} more" if len(prices) > _LISTED else ""
    return ", ".join(map(str, prices[:_LISTED])) + more


def _affordable(prices: Sequence[_Price], total: int) -> int:
    """Return how many answers the total allows, the cheapest first."""
    count = spent = 0
    for each in sorted(prices, key=lambda each: each.micro):
        spent += each.micro
        if spent > total:
            break
        count += 1
    return count
