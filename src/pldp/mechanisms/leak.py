"""What a report says about the level of its sender, beside what it says about the value: exact bounds.

Levels use different channels, so the output alone tells something about the level, whatever protects the label. For a
fixed value x the leak is ln max Q_τ(y|x)/Q_τ'(y|x) over outputs y and levels τ, τ'; a label of its own ε_p adds ε_p,
because label and output are drawn independently. The leak is 0 only if all levels use one channel.
"""

from collections.abc import Sequence
from itertools import permutations

from pldp.epsilon import Micro, micro_epsilon_of_powers
from pldp.mechanisms.channel import Channel


def level_leak(channels: Sequence[Channel]) -> Micro:
    """Return in micro-ε how much an output tells about the level of a person with a known value, rounded up.

    It is infinite where an output can come at some levels only, such as the false report of a value that other levels
    leave unprotected. Where plain ε is infinite, the leak about the level need not be.

    >>> from pldp.mechanisms import build
    >>> strict_and_open = [build("krr", 16, 100_000), build("krr", 16, 1_000_000)]
    >>> level_leak(strict_and_open)                          # ln of the ratio of truth probabilities
    804544
    >>> level_leak([build("sue", 16, 100_000), build("sue", 16, 1_000_000)]) > 3_000_000
    True
    """
    pairs = permutations(channels, 2)
    return max((micro_epsilon_of_powers(one.level_odds(two, same_value=True)) for one, two in pairs), default=0)


def value_and_level_epsilon(channels: Sequence[Channel], label_micro_epsilon: Micro = 0) -> Micro:
    """Return in micro-ε how much output and label tell together about the pair (value, level), rounded up.

    ln max Q_τ(y|x)/Q_τ'(y|x') over outputs, values and levels, plus ε of the label where the levels differ: at least
    the largest ε of the levels.
    """
    alike = (micro_epsilon_of_powers(each.level_odds(each, same_value=False)) for each in channels)
    different = (
        micro_epsilon_of_powers(one.level_odds(two, same_value=False)) for one, two in permutations(channels, 2)
    )
    return max(*alike, level_leak(channels) + label_micro_epsilon, *(leak + label_micro_epsilon for leak in different))
