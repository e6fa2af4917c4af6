"""The mechanisms for numbers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Final

from pldp.epsilon import MICRO
from pldp.errors import EpsilonError
from pldp.mechanisms.hybrid.channel import LEAST_EPSILON, HybridMechanism
from pldp.mechanisms.laplace.channel import DiscreteLaplace
from pldp.mechanisms.number import NumberChannel
from pldp.mechanisms.rounding.channel import StochasticRounding
from pldp.mechanisms.window.channel import PiecewiseMechanism, SquareWave

_BUILDERS: Final[Mapping[str, Callable[[int, int], NumberChannel]]] = {
    "laplace": DiscreteLaplace.of,
    "sr": StochasticRounding.of,
    "pm": PiecewiseMechanism.of,
    "hm": HybridMechanism.of,
    "sw": SquareWave.of,
}
_CLASSES: Final[Mapping[str, type[NumberChannel]]] = {
    "laplace": DiscreteLaplace,
    "sr": StochasticRounding,
    "pm": PiecewiseMechanism,
    "hm": HybridMechanism,
    "sw": SquareWave,
}

NUMBER_MECHANISMS: Final = tuple(_BUILDERS)
"""Names of the mechanisms for numbers."""


def number_channel(mechanism: str, size: int, micro_epsilon: int) -> NumberChannel:
    """Build the named mechanism for a grid of so many buckets; `"hm"` is `"sr"` up to ε = 0.61, where that is better.

    >>> number_channel("sw", 1024, 300_000).output_count, number_channel("hm", 1024, 300_000).mechanism
    (1861, 'sr')
    """
    if mechanism not in _BUILDERS:
        raise EpsilonError(f"mechanism must be one of {', '.join(NUMBER_MECHANISMS)}, not {mechanism!r}")
    if mechanism == "hm" and micro_epsilon <= LEAST_EPSILON * MICRO:
        mechanism = "sr"
    return _BUILDERS[mechanism](size, micro_epsilon)


def number_channel_from_weights(mechanism: str, size: int, weights: Mapping[str, int]) -> NumberChannel:
    """Rebuild a channel from the integers that define it (the inverse of `Channel.weights`).

    >>> channel = number_channel("pm", 64, 1_000_000)
    >>> number_channel_from_weights("pm", 64, channel.weights()) == channel
    True
    """
    if mechanism not in _CLASSES:
        raise EpsilonError(f"mechanism must be one of {', '.join(NUMBER_MECHANISMS)}, not {mechanism!r}")
    try:
        return _CLASSES[mechanism](size, **weights)
    except TypeError:
        names = ", ".join(each.name for each in fields(_CLASSES[mechanism]) if each.name != "size")
        raise EpsilonError(f"weights of {mechanism} must be exactly {names}") from None
