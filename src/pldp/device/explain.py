"""The odds in words, for the person who answers. The word "anonymous" does not occur."""

from pldp.device.kinds import BY_KIND
from pldp.device.wording import times
from pldp.survey import Question, Survey


def explain_level(survey: Survey, question: Question, level: int) -> str:
    """Say what a level does to an answer, what a report can tell, and what shows of the level."""
    head = f'Level "{question.levels[level].name}", question "{question.name}":'
    return "\n".join([head, *BY_KIND[question.kind].explain(question, level), _about_the_level(survey, question)])


def _about_the_level(survey: Survey, question: Question) -> str:
    leak, joint = survey.level_leak(), survey.value_and_level_epsilon(question.name)
    if leak is None or joint is None:
        return "Your report shows the level that you chose."
    asked = survey.ask or len(survey.questions)
    answers = "this answer" if asked == 1 else f"all {asked} answers at one level"
    return (
        f"Your level is hidden: label and {answers} together change the odds between any two levels at most "
        f"{times(leak)};\nlabel and this answer, between any two pairs of answer and level, at most {times(joint)}."
    )
