"""What an output says about the level of its sender, beside what it says about the value: exact bounds.

Levels use different channels, so the output alone tells something about the level, whatever protects the label. What it
tells is directed: it may favour the open level more than the strict one, or the other way round for another
question. Both tables here have a row for the level τ that an output favours and a column for τ', over which:

    level_evidence     ln max Q_τ(y|x)/Q_τ'(y|x)     over outputs y and values x: the value is known
    pair_evidence      ln max Q_τ(y|x)/Q_τ'(y|x')    over outputs y, protected values x, and any value x'

Evidence of several questions adds up entry by entry; the largest entry of the *sum* is what they tell together, which
the sum of largest entries overstates where questions are worst in different directions. Whatever the mechanism, an
answer tells at least (ε_open − ε_strict)/2 about the level if the open channel uses up its ε.
"""

from collections.abc import Sequence
from typing import Final

from pldp.epsilon import Micro, micro_epsilon_of_powers
from pldp.mechanisms.channel import Channel, Odds
from pldp.mechanisms.set_channel import SetChannel
from pldp.mechanisms.set_limits import SetLimits

LevelPairs = tuple[tuple[Micro, ...], ...]
"""Micro-ε for each ordered pair of levels."""


ANY_SET: Final = SetLimits()


def level_evidence(channels: Sequence[Channel], limits: SetLimits = ANY_SET) -> LevelPairs:
    """Return what an output tells for one level against another about a person whose value is known, rounded up.

    Values that are sets are those within limits.
    """
    return tuple(
        tuple(
            0 if one is two else micro_epsilon_of_powers(_odds(one, two, limits, same_value=True)) for two in channels
        )
        for one in channels
    )


def pair_evidence(channels: Sequence[Channel], limits: SetLimits = ANY_SET) -> LevelPairs:
    """Return what an output tells for one pair of protected value and level against another pair, rounded up.

    For a value without protection only the level counts: that the value itself can be proved is no matter of degree.
    """
    return tuple(
        tuple(
            max(leak, micro_epsilon_of_powers(_odds(one, two, limits, same_value=False)))
            for leak, two in zip(leaks, channels, strict=True)
        )
        for one, leaks in zip(channels, level_evidence(channels, limits), strict=True)
    )


def _odds(one: Channel, two: Channel, limits: SetLimits, *, same_value: bool) -> Odds:
    if isinstance(one, SetChannel):
        return one.limited_odds(two, limits, same_value=same_value)
    return one.level_odds(two, same_value=same_value)


def level_leak(channels: Sequence[Channel], limits: SetLimits = ANY_SET) -> Micro:
    """Return in micro-ε how much an output tells about the level of a person with a known value, rounded up.

    It is infinite where an output can come at some levels only, such as the false report of a value that other levels
    leave unprotected. Where plain ε is infinite, the leak about the level need not be.

    >>> from pldp.mechanisms import build
    >>> strict_and_open = [build("krr", 16, 100_000), build("krr", 16, 1_000_000)]
    >>> level_leak(strict_and_open)                          # ln of the ratio of truth probabilities
    804544
    >>> level_evidence(strict_and_open)                      # less for the strict level than for the open one
    ((0, 95457), (804544, 0))
    >>> level_leak([build("sue", 16, 100_000), build("sue", 16, 1_000_000)]) > 3_000_000
    True
    """
    return max((max(row) for row in level_evidence(channels, limits)), default=0)
