"""The mechanisms by name, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from pldp.errors import EpsilonError
from pldp.mechanisms.channel import CategoricalChannel, PureChannel
from pldp.mechanisms.hashing.channel import PRIMES, LinearHashing
from pldp.mechanisms.response.channel import RandomizedResponse
from pldp.mechanisms.response.items import ItemResponse
from pldp.mechanisms.response.values import ValueResponse, WeightedResponse
from pldp.mechanisms.unary.channel import OptimisedUnaryEncoding, SymmetricUnaryEncoding
from pldp.mechanisms.unary.items import ItemUnaryEncoding

_BUILDERS: Final[Mapping[str, Callable[[int, int], PureChannel]]] = {
    "krr": RandomizedResponse.of,
    "sue": SymmetricUnaryEncoding.of,
    "oue": OptimisedUnaryEncoding.of,
    "lh": LinearHashing.of,
}
_READERS: Final[Mapping[str, Callable[[int, Mapping[str, int]], PureChannel]]] = {
    "krr": lambda size, w: RandomizedResponse(size, w["other"]),
    "sue": lambda size, w: SymmetricUnaryEncoding(size, w["truth"], w["other"]),
    "oue": lambda size, w: OptimisedUnaryEncoding(size, w["truth"], w["other"]),
    "lh": lambda size, w: LinearHashing(size, w["buckets"], w["other"]),
}

_ITEM_BUILDERS: Final[Mapping[str, Callable[[Sequence[int | None]], CategoricalChannel]]] = {
    "iprr": ItemResponse.of,
    "idue": ItemUnaryEncoding.of,
    "aprr": ValueResponse.of,
    "prr": WeightedResponse.of,
}
_ITEM_READERS: Final[Mapping[str, Callable[[Mapping[str, tuple[int, ...]]], CategoricalChannel]]] = {
    "iprr": lambda w: ItemResponse(len(w["other"]), w["other"]),
    "idue": lambda w: ItemUnaryEncoding(len(w["other"]), w["truth"], w["other"]),
    "aprr": lambda w: ValueResponse(len(w["other"]), w["other"]),
    "prr": lambda w: WeightedResponse(len(w["other"]), w["other"]),
}

MECHANISMS: Final = tuple(_BUILDERS)
"""Names that a survey file may use: one budget for all values."""

ITEM_MECHANISMS: Final = tuple(_ITEM_BUILDERS)
"""Names of mechanisms that take a budget per value."""

LARGE_DOMAIN = 1000
"""From this many values on, `auto` prefers one hashed integer to a bit per value."""


def channel(mechanism: str, size: int, micro_epsilon: int) -> PureChannel:
    """Build the named mechanism for so many values at this budget; `"auto"` picks the most accurate.

    >>> channel("krr", 4, 1_000_000).mechanism, channel("auto", 4, 1_000_000).mechanism
    ('krr', 'krr')
    >>> channel("auto", 100, 1_000_000).mechanism, channel("auto", 5000, 1_000_000).mechanism
    ('oue', 'lh')
    """
    if mechanism == "auto":
        return most_accurate(size, micro_epsilon)
    if mechanism not in _BUILDERS:
        raise EpsilonError(f"mechanism must be one of {', '.join(MECHANISMS)} or auto, not {mechanism!r}")
    return _BUILDERS[mechanism](size, micro_epsilon)


def channel_from_weights(mechanism: str, size: int, weights: Mapping[str, int]) -> PureChannel:
    """Rebuild a channel from the integers that define it (the inverse of `PureChannel.weights`)."""
    if mechanism not in _READERS:
        raise EpsilonError(f"mechanism must be one of {', '.join(MECHANISMS)}, not {mechanism!r}")
    try:
        built = _READERS[mechanism](size, weights)
    except KeyError as missing:
        raise EpsilonError(f"weights of {mechanism} must name {missing.args[0]!r}") from None
    if dict(built.weights()) != dict(weights):
        raise EpsilonError(f"weights of {mechanism} must be exactly {', '.join(built.weights())}")
    return built


def item_channel(mechanism: str, micro_epsilons: Sequence[int | None]) -> CategoricalChannel:
    """Build the named mechanism from a budget per value; `None` stands for a value that needs no protection.

    >>> item_channel("iprr", [500_000, None]).mechanism
    'iprr'
    """
    if mechanism not in _ITEM_BUILDERS:
        raise EpsilonError(f"mechanism must be one of {', '.join(ITEM_MECHANISMS)}, not {mechanism!r}")
    return _ITEM_BUILDERS[mechanism](micro_epsilons)


def item_channel_from_weights(
    mechanism: str, weights: Mapping[str, Sequence[int]], *, size: int | None = None
) -> CategoricalChannel:
    """Rebuild a channel with a budget per value from the integers that define it (the inverse of its `weights`).

    With `size`, refuse weights of any other number of values.
    """
    if mechanism not in _ITEM_READERS:
        raise EpsilonError(f"mechanism must be one of {', '.join(ITEM_MECHANISMS)}, not {mechanism!r}")
    if not all(
        isinstance(numbers, list | tuple) and all(type(number) is int for number in numbers)
        for numbers in weights.values()
    ):
        raise EpsilonError(f"weights of {mechanism} must be lists of integers")
    lists = {name: tuple(numbers) for name, numbers in weights.items()}
    try:
        built = _ITEM_READERS[mechanism](lists)
    except KeyError as missing:
        raise EpsilonError(f"weights of {mechanism} must name {missing.args[0]!r}") from None
    if built.weights().keys() != weights.keys():
        raise EpsilonError(f"weights of {mechanism} must be exactly {', '.join(built.weights())}")
    if size is not None and built.size != size:
        raise EpsilonError(f"weights of {mechanism} must be those of {size} values, not {built.size}")
    return built


def most_accurate(size: int, micro_epsilon: int) -> PureChannel:
    """Return the channel with the least variance at equal shares 1/k (small domains: k-RR; middle: OUE; large: LH)."""
    names = ("krr", "oue") if size < LARGE_DOMAIN else ("krr", "lh")
    return min((_BUILDERS[name](size, micro_epsilon) for name in names), key=lambda built: built.variance(1 / size))


def hideable_channels(mechanism: str, size: int, micro_epsilons: Sequence[int]) -> Iterator[tuple[PureChannel, ...]]:
    """Yield sets of channels, one per level, whose outputs have one form, so that the form does not show the level.

    `"auto"` yields a set for each mechanism that suits the size; linear hashing yields one per number of buckets.

    >>> [channels[0].mechanism for channels in hideable_channels("auto", 16, (500_000, 1_000_000))]
    ['krr', 'sue', 'oue']
    """
    if mechanism == "auto":
        for name in ("krr", "sue", "oue") if size < LARGE_DOMAIN else ("krr", "lh"):
            yield from hideable_channels(name, size, micro_epsilons)
    elif mechanism == "lh":
        for buckets in PRIMES[:6]:
            yield tuple(LinearHashing.of(size, micro, buckets) for micro in micro_epsilons)
    else:
        yield tuple(channel(mechanism, size, micro) for micro in micro_epsilons)
