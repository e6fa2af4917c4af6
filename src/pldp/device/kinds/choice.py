"""One label on the device."""

from pldp.device.wording import MOST_LINES, times, with_rest
from pldp.mechanisms import label_promises
from pldp.survey import Choice
from pldp.words import of_hundred


def encode(question: Choice, value: object) -> int:
    """Return the place of the label."""
    return question.value_index(value)


def explain(question: Choice, level: int) -> list[str]:
    """Say how often a report tells the truth, or, with a budget per label, what each label or report can tell."""
    if question.budgets:
        lines = label_promises(question.channels[level], question.values, MOST_LINES)
        return with_rest(lines, len(question.values), "answers")
    channel, example = question.pure_channels[level], question.values[0]
    verb = channel.phrase.format(label=example)
    truth, other = of_hundred(channel.truth_support), of_hundred(channel.other_support)
    odds = times(question.levels[level].micro_epsilon)
    return [
        f'of 100 people whose answer is "{example}", about {truth} send a report that {verb};',
        f"of 100 people whose answer is something else, about {other} do.",
        f"Whatever your report says, it changes the odds between any two answers at most {odds}.",
    ]
