"""The odds in words, for the person who answers. The word "anonymous" does not occur."""

from __future__ import annotations

import math

from pldp.errors import AnswerError
from pldp.mechanisms import (
    BIT_TOTAL,
    MICRO,
    Bits,
    CategoricalChannel,
    ItemSet,
    Micro,
    PureChannel,
    epsilon_text,
    report_promise,
    value_promise,
)
from pldp.survey import Question, Survey

MOST_LINES = 8
"""Labels that are explained one by one; the rest is counted."""

LARGEST_NUMBER = 700 * MICRO
"""Above this ε, e^ε is too large for a number."""


def explain_level(survey: Survey, question: Question, level: int) -> str:
    """Say what a level does to an answer, what a report can tell, and what shows of the level."""
    head = f'Level "{question.levels[level].name}", question "{question.name}":'
    return "\n".join([head, *_about_the_answer(question, level), _about_the_level(survey, question)])


def _about_the_answer(question: Question, level: int) -> list[str]:
    channel = question.channels[level]
    if isinstance(channel, ItemSet):
        return _several(question, level, channel)
    if question.grid is not None:
        return _number(question, level)
    if isinstance(channel, PureChannel):
        return _one(question, level, channel)
    if isinstance(channel, CategoricalChannel):
        return _by_value(question, channel)
    raise AnswerError(f"question {question.name!r} cannot be explained")


def _one(question: Question, level: int, channel: PureChannel) -> list[str]:
    """One label, all labels protected alike."""
    example = question.values[0]
    verb = channel.phrase.format(label=example)
    truth, other = (_of_hundred(float(support)) for support in (channel.truth_support, channel.other_support))
    return [
        f'of 100 people whose answer is "{example}", about {truth} send a report that {verb};',
        f"of 100 people whose answer is something else, about {other} do.",
        f"Whatever your report says, it changes the odds between any two answers at most {_odds(question, level)}.",
    ]


def _by_value(question: Question, channel: CategoricalChannel) -> list[str]:
    """One label, with a budget per label: what each report, or each label, can tell."""
    if isinstance(channel.form, Bits):
        lines = [value_promise(channel, value, question.values) for value in range(channel.size)[:MOST_LINES]]
    else:
        lines = [report_promise(channel, output, question.values) for output in range(channel.size)[:MOST_LINES]]
    rest = channel.size - len(lines)
    return [*lines, f"({rest} more answers are protected in the same way.)"] if rest else lines


def _several(question: Question, level: int, channel: ItemSet) -> list[str]:
    """Any number of labels, each a bit of its own."""
    lines = []
    for place, label in list(enumerate(question.values))[:MOST_LINES]:
        kept, raised = (_of_hundred(weights[place] / BIT_TOTAL) for weights in (channel.kept, channel.raised))
        micro = channel.promised(place)
        times = "" if micro == math.inf else f"odds change at most {math.exp(micro / MICRO):.3g} times, "
        lines.append(
            f'of 100 people who tick "{label}", about {kept} reports have it ticked; of 100 who do not, about {raised} '
            f"({times}ε = {epsilon_text(micro)})."
        )
    if len(question.values) > MOST_LINES:
        lines.append(f"({len(question.values) - MOST_LINES} more boxes are protected in the same way.)")
    return [*lines, f"All boxes together cost ε = {epsilon_text(question.charge(level))}."]


def _number(question: Question, level: int) -> list[str]:
    """A number, rounded and then replaced by a random one near it or anywhere."""
    low, high = question.bounds
    size = 0 if question.grid is None else question.grid.size
    unit = f" {question.unit}" if question.unit else ""
    return [
        f"your number is rounded to one of {size} steps between {low} and {high}{unit}, and a random number is sent "
        "that is only a little more likely to be near it.",
        f"Whatever your report says, it changes the odds between any two numbers at most {_odds(question, level)}.",
    ]


def _odds(question: Question, level: int) -> str:
    return _times(question.levels[level].micro_epsilon)


def _times(micro: Micro) -> str:
    """Write e^ε as a number, or as a power where it is too large for one."""
    odds = f"{math.exp(micro / MICRO):.3g}" if micro < LARGEST_NUMBER else f"e^{epsilon_text(micro)}"
    return f"{odds} times (ε = {epsilon_text(micro)})"


def _about_the_level(survey: Survey, question: Question) -> str:
    leak, joint = survey.level_leak(), survey.value_and_level_epsilon(question.name)
    if leak is None or joint is None:
        return "Your report shows the level that you chose."
    asked = survey.ask or len(survey.questions)
    answers = "this answer" if asked == 1 else f"all {asked} answers at one level"
    return (
        f"Your level is hidden: label and {answers} together change the odds between any two levels at most "
        f"{_times(leak)};\nlabel and this answer, between any two pairs of answer and level, at most {_times(joint)}."
    )


def _of_hundred(probability: float) -> str:
    """Write a probability as people of 100, with decimals only where a whole number would say none or all."""
    people = 100 * probability
    return f"{people:.0f}" if 1 <= people <= 99 else f"{people:.2g}" if people < 1 else f"{people:.4g}"
