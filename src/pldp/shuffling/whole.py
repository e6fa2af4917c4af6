"""Which answers make a whole report."""

from pldp.mechanisms import Channel
from pldp.survey import Question, Survey


def channel_at(question: Question, level: str) -> Channel:
    """Return a question's channel at the level of this name."""
    names = [own.name for own in question.levels]
    return question.channels[names.index(level)]


def whole_report(survey: Survey, level: str) -> list[Question]:
    """Return the questions of a whole report at a level: all that have it, or as many as one is asked."""
    asked = [each for each in survey.questions if level in {own.name for own in each.levels}]
    asked.sort(key=lambda each: -channel_at(each, level).epsilon)
    return asked[: survey.ask or len(asked)]
