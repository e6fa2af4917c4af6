"""Any number of labels on the device: a set, whose labels are protected one by one or all together."""

import math
from collections.abc import Iterable

from pldp.device.wording import MOST_LINES, times, with_rest
from pldp.errors import AnswerError
from pldp.mechanisms import MICRO, Micro, epsilon_text
from pldp.survey import Choices
from pldp.words import of_hundred


def encode(question: Choices, value: object) -> int:
    """Return the set as an integer: bit i stands for label i."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise AnswerError(f"value must be several labels of question {question.name!r}, such as a list; it is not")
    labels = list(value)
    places = {question.value_places.get(label) for label in labels if isinstance(label, str)} - {None}
    if len(places) != len(labels):
        raise AnswerError(
            f"value must be different labels among the {len(question.values)} of question {question.name!r}; "
            "some are not"
        )
    if question.at_most is not None and len(places) > question.at_most:
        raise AnswerError(
            f"value must be at most {question.at_most} labels of question {question.name!r}; there are more"
        )
    found = [place for place in places if place is not None]
    if question.clashes(found):
        raise AnswerError(
            f"value must have no other label beside an exclusive one ({', '.join(question.exclusive)}) of question "
            f"{question.name!r}; it has"
        )
    return sum(1 << place for place in found)


def explain(question: Choices, level: int) -> list[str]:
    """Say for each label how often reports have it ticked, and what all labels cost together."""
    if question.whole:
        return _explain_whole(question, level)
    lines = [
        f"{_chances(question, level, item)} ({_odds(question, level, item)})."
        for item in range(len(question.values))[:MOST_LINES]
    ]
    cost = epsilon_text(question.charge(level))
    return [*with_rest(lines, len(question.values), "boxes"), f"All boxes together cost ε = {cost}."]


def _explain_whole(question: Choices, level: int) -> list[str]:
    """Say what a report is about, how often it has the first label ticked, and what it tells between any two sets."""
    channel = question.channels[level]
    return [
        *filter(None, [channel.preface]),
        f"{_chances(question, level, 0)}, and so for every box.",
        f"Whatever your report says, it changes the odds between any two sets of boxes at most "
        f"{times(channel.micro_epsilon)}.",
    ]


def _chances(question: Choices, level: int, item: int) -> str:
    kept, raised = map(of_hundred, question.channels[level].item_chances(item))
    label = question.values[item]
    return f'of 100 people who tick "{label}", about {kept} reports have it ticked; of 100 who do not, about {raised}'


def _odds(question: Choices, level: int, item: int) -> str:
    if question.sides:
        ticked, unticked = map(_side, question.channels[level].item_evidence(item))
        return f"a report with the tick speaks for it {ticked}, one without it against it {unticked}"
    micro = question.channels[level].promised(item)
    odds = "" if micro == math.inf else f"odds change at most {math.exp(micro / MICRO):.3g} times, "
    return f"{odds}ε = {epsilon_text(micro)}"


def _side(micro: Micro) -> str:
    return "without a limit" if micro == math.inf else f"at most {times(micro)}"
