"""Any number of labels on the device, each a bit of its own."""

import math
from collections.abc import Iterable

from pldp.device.wording import MOST_LINES, of_hundred, with_rest
from pldp.errors import AnswerError
from pldp.mechanisms import MICRO, epsilon_text
from pldp.survey import Choices


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
    return sum(1 << place for place in places if place is not None)


def explain(question: Choices, level: int) -> list[str]:
    """Say for each label how often reports have it ticked, and what all labels cost together."""
    lines = [_explain_item(question, level, item) for item in range(len(question.values))[:MOST_LINES]]
    cost = epsilon_text(question.charge(level))
    return [*with_rest(lines, len(question.values), "boxes"), f"All boxes together cost ε = {cost}."]


def _explain_item(question: Choices, level: int, item: int) -> str:
    channel = question.channels[level]
    kept, raised = map(of_hundred, channel.item_chances(item))
    micro = channel.promised(item)
    odds = "" if micro == math.inf else f"odds change at most {math.exp(micro / MICRO):.3g} times, "
    return (
        f'of 100 people who tick "{question.values[item]}", about {kept} reports have it ticked; of 100 who do not, '
        f"about {raised} ({odds}ε = {epsilon_text(micro)})."
    )
