"""What a channel promises to whom, in sentences with labels: per report and per value."""

import math
from collections.abc import Sequence

from pldp.epsilon import MICRO, Micro, epsilon_text
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import CategoricalChannel, Channel
from pldp.mechanisms.output import Integers, Output

_LISTED = 4
"""Labels named before the rest is counted."""


def label_promises(channel: Channel, labels: Sequence[str], most: int) -> list[str]:
    """Say for the first labels what each report, or each label where reports are bits, can tell."""
    if not isinstance(channel, CategoricalChannel):
        raise EpsilonError(f"{channel.mechanism} does not perturb labels")
    promise = report_promise if isinstance(channel.form, Integers) else value_promise
    return [promise(channel, place, labels) for place in range(channel.size)[:most]]


def report_promise(channel: CategoricalChannel, output: Output, labels: Sequence[str]) -> str:
    """Say what an observer of this report can and cannot conclude, whatever else they know.

    >>> import math
    >>> from pldp.mechanisms import ItemResponse
    >>> channel = ItemResponse.of([100_000, 1_000_000, math.inf])
    >>> for output in channel.outputs():
    ...     print(report_promise(channel, output, ["HIV", "hepatitis", "none"]))
    A report "HIV" changes the odds between any two values at most 1.11 times (ε = 0.1); "HIV" gains on all others.
    A report "hepatitis" changes the odds between any two values at most 2.72 times (ε = 1); "hepatitis" gains on all \
others.
    A report "none" proves the value "none" (ε infinite).
    """
    _check(channel, labels)
    chances = [channel.probability(output, value) for value in range(channel.size)]
    most = max(chances)
    likely = [labels[value] for value, chance in enumerate(chances) if chance == most]
    possible = [labels[value] for value, chance in enumerate(chances) if chance]
    supported = [value for value in range(channel.size) if channel.supports(output, value)]
    if isinstance(channel.form, Integers) and len(supported) == 1:
        name = f'A report "{labels[supported[0]]}"'
    else:
        name = f"A report for {_listed([labels[value] for value in supported]) or 'nothing'}"
    micro = channel.output_micro_epsilon(output)
    if micro == math.inf and len(possible) == 1:
        return f'{name} proves the value "{possible[0]}" (ε infinite).'
    if micro == math.inf:
        excluded = [label for label in labels if label not in possible]
        return f"{name} rules out {_listed(excluded)} (ε infinite)."
    if micro == 0:
        return f"{name} says nothing about the value (ε = 0)."
    gains = f"{_listed(likely)} {'gains' if len(likely) == 1 else 'gain'} on all others"
    odds = f"{_times(micro)} (ε = {epsilon_text(micro)})"
    return f"{name} changes the odds between any two values at most {odds}; {gains}."


def value_promise(channel: CategoricalChannel, value: int, labels: Sequence[str]) -> str:
    """Say how far any report, whichever comes, can speak for and against a person's having this value.

    >>> import math
    >>> from pldp.mechanisms import ItemResponse
    >>> channel = ItemResponse.of([100_000, 1_000_000, math.inf])
    >>> print(value_promise(channel, 0, ["HIV", "hepatitis", "none"]))
    No report speaks for "HIV" against another value by more than 1.11 times (ε = 0.1); against "HIV", one can rule it \
out (ε infinite): "none".
    >>> print(value_promise(ItemResponse.of([1_000_000, 1_000_000]), 0, ["HIV", "none"]))
    No report changes the odds between "HIV" and another value by more than 2.72 times (ε = 1).
    """
    _check(channel, labels)
    label = labels[value]
    speaks_for, worst = channel.evidence_micro_epsilon(value), channel.value_micro_epsilon(value)
    others = [other for other in range(channel.size) if other != value]
    named = _listed([labels[other] for other in others if channel.pair_micro_epsilon(value, other) == worst])
    if speaks_for == math.inf:
        return f'A report can prove "{label}" against another value (ε infinite): {named}.'
    limit = f"by more than {_times(speaks_for)} (ε = {epsilon_text(speaks_for)})"
    if speaks_for == worst:
        return f'No report changes the odds between "{label}" and another value {limit}.'
    denied = (
        "one can rule it out (ε infinite)"
        if worst == math.inf
        else f"one can speak up to {_times(worst)} (ε = {epsilon_text(worst)})"
    )
    return f'No report speaks for "{label}" against another value {limit}; against "{label}", {denied}: {named}.'


def _check(channel: CategoricalChannel, labels: Sequence[str]) -> None:
    if len(labels) != channel.size or len(set(labels)) != channel.size:
        raise EpsilonError(f"labels must be {channel.size} different texts, not {len(set(labels))} of {len(labels)}")


def _times(micro: Micro) -> str:
    return f"{math.exp(micro / MICRO):.3g} times"


def _listed(labels: Sequence[str]) -> str:
    named = ", ".join(f'"{label}"' for label in labels[:_LISTED])
    return named if len(labels) <= _LISTED else f"{named} and {len(labels) - _LISTED} others"
