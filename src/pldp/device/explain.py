"""The odds in words, for the person who answers. The word "anonymous" does not occur."""

import math

from pldp.device.kinds import BY_KIND
from pldp.device.ledger import Ledger
from pldp.device.wording import times
from pldp.mechanisms import epsilon_text
from pldp.survey import FRESH, ONCE, Question, Survey, prices


def explain_level(survey: Survey, question: Question, level: int) -> str:
    """Say what a level does to an answer, what a report can tell, what shows of the level, and what repeating costs."""
    head = f'Level "{question.levels[level].name}", question "{question.name}":'
    words = BY_KIND[question.kind].explain(question, level)
    return "\n".join([head, *words, _about_the_level(survey, question), _about_repeats(survey, question, level)])


def _about_the_level(survey: Survey, question: Question) -> str:
    leak, joint = survey.level_leak(), survey.value_and_level_epsilon(question.name)
    if leak is None or joint is None:
        return "Your report shows the level that you chose."
    asked = survey.ask or len(survey.questions)
    answers = "this answer" if asked == 1 else f"all {asked} answers at one level"
    pairs = (
        "label and this answer can prove some answers, whatever the level (ε infinite)."
        if joint == math.inf
        else f"label and this answer, between any two pairs of answer and level, at most {times(joint)}."
    )
    return (
        f"Your level is hidden: label and {answers} together change the odds between any two levels at most "
        f"{times(leak)};\n{pairs}"
    )


def _about_repeats(survey: Survey, question: Question, level: int) -> str:
    if survey.repeat == ONCE:
        return "Asked again, you send the same report or none."
    # Where levels are hidden, the dearest one is charged.
    found = prices(survey.repeat, question, level if survey.level_channel is None else len(question.levels) - 1)
    if survey.repeat == FRESH:
        level_too = "" if survey.level_channel is None else " It tells as much about your level again."
        return f"Every round is a new draw and costs ε = {epsilon_text(found[0].micro_epsilon)} again.{level_too}"
    return f"Asked again, you pay: {'; '.join(f'{what} ε = {epsilon_text(micro)}' for what, micro in found)}."


def explain_cap(survey: Survey, ledger: Ledger) -> str:
    """Say where the device stops."""
    whom = "the signer of this survey" if survey.account else "all surveys without a signature that it trusts"
    spent = epsilon_text(ledger.spent_by(survey.account))
    return f"Your device stops at ε = {epsilon_text(ledger.cap)} for {whom}; {spent} is spent."
