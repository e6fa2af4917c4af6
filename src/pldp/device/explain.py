"""The odds in words, for the person who answers. The word "anonymous" does not occur."""

from __future__ import annotations

import math

from pldp.mechanisms import MICRO, LinearHashing, UnaryEncoding, epsilon_text
from pldp.survey import Question, Survey


def explain_level(survey: Survey, question: Question, level: int) -> str:
    """Say how often a report points at an answer when it is true and when it is not, and what shows of the level."""
    channel = question.channels[level]
    chosen = question.levels[level]
    example = question.values[0]
    if isinstance(channel, UnaryEncoding):
        verb = f'ticks "{example}" among other boxes'
    elif isinstance(channel, LinearHashing):
        verb = f'names a group of answers that contains "{example}"'
    else:
        verb = f'says "{example}"'
    truth = _of_hundred(float(channel.truth_support))
    other = _of_hundred(float(channel.other_support))
    odds = math.exp(chosen.epsilon)
    return (
        f'Level "{chosen.name}", question "{question.name}":\nof 100 people whose answer is "{example}", '
        f"about {truth} send a report that {verb};\n"
        f"of 100 people whose answer is something else, about {other} do.\n"
        f"Whatever your report says, it changes the odds between any two answers at most {odds:.3g} times "
        f"(ε = {epsilon_text(chosen.micro_epsilon)}).\n{_about_the_level(survey, question)}"
    )


def _about_the_level(survey: Survey, question: Question) -> str:
    leak, joint = survey.level_leak(), survey.value_and_level_epsilon(question.name)
    if leak is None or joint is None:
        return "Your report shows the level that you chose."
    answers = "this answer" if len(survey.questions) == 1 else f"all {len(survey.questions)} answers at one level"
    return (
        f"Your level is hidden: label and {answers} together change the odds between any two levels at most "
        f"{math.exp(leak / MICRO):.3g} times (ε = {epsilon_text(leak)});\n"
        f"label and this answer, between any two pairs of answer and level, at most "
        f"{math.exp(joint / MICRO):.3g} times "
        f"(ε = {epsilon_text(joint)})."
    )


def _of_hundred(probability: float) -> str:
    """Write a probability as people of 100, with decimals only where a whole number would say none or all."""
    people = 100 * probability
    return f"{people:.0f}" if 1 <= people <= 99 else f"{people:.2g}" if people < 1 else f"{people:.4g}"
