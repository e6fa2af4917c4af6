"""The only list of mechanisms: names to channels, and the choice among them.

>>> import math
>>> build("krr", 4, 1_000_000).mechanism, build("iprr", 2, [500_000, math.inf]).mechanism
('krr', 'iprr')
>>> read("sw", 1024, build("sw", 1024, 1_000_000).weights()).epsilon
1.0
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from pldp.epsilon import Micro
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import CategoricalChannel, Channel, Domain, PureChannel
from pldp.mechanisms.hashing.channel import LinearHashing
from pldp.mechanisms.hybrid.channel import HybridMechanism
from pldp.mechanisms.laplace.channel import DiscreteLaplace
from pldp.mechanisms.response.channel import RandomizedResponse
from pldp.mechanisms.response.items import ItemResponse
from pldp.mechanisms.response.values import ValueResponse, WeightedResponse
from pldp.mechanisms.rounding.channel import StochasticRounding
from pldp.mechanisms.sets.channel import ItemSet
from pldp.mechanisms.unary.channel import OptimisedUnaryEncoding, SymmetricUnaryEncoding
from pldp.mechanisms.unary.items import ItemUnaryEncoding
from pldp.mechanisms.window.channel import PiecewiseMechanism, SquareWave

REGISTRY: Final[Mapping[str, type[Channel]]] = {
    family.mechanism: family
    for family in (
        RandomizedResponse,
        SymmetricUnaryEncoding,
        OptimisedUnaryEncoding,
        LinearHashing,
        ItemResponse,
        ItemUnaryEncoding,
        ValueResponse,
        WeightedResponse,
        ItemSet,
        DiscreteLaplace,
        StochasticRounding,
        PiecewiseMechanism,
        HybridMechanism,
        SquareWave,
    )
}
"""Every mechanism by its name in survey files."""

AUTO: Final = "auto"
"""Stands for the most accurate mechanism."""


def names(domain: Domain | None = None, *, per_value: bool | None = None) -> tuple[str, ...]:
    """Return the mechanisms for labels, sets or numbers; those that take a budget per value, or those that do not.

    >>> names("labels", per_value=False)
    ('krr', 'sue', 'oue', 'lh')
    """
    return tuple(
        name
        for name, family in REGISTRY.items()
        if domain in {None, family.domain} and per_value in {None, family.per_value}
    )


def family(name: object, domain: Domain | None = None, *, per_value: bool | None = None) -> type[Channel]:
    """Return the class of a mechanism; refuse unknown names and mechanisms for something else."""
    known = names(domain, per_value=per_value)
    if isinstance(name, str) and name in known:
        return REGISTRY[name]
    near = get_close_matches(name, known, 1) if isinstance(name, str) else []
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise EpsilonError(f"mechanism must be one of {', '.join(known)} or auto, not {str(name)[:40]!r}{hint}")


def build(
    name: str, size: int, budgets: Micro | Sequence[Micro], *, domain: Domain = "labels", hidden: bool = False
) -> Channel:
    """Build the named mechanism for so many values; `auto` picks the most accurate for the domain.

    Parameters
    ----------
    name
        Of the mechanism, or `auto`.
    size
        Number of values, items or buckets.
    budgets
        Micro-ε of the channel, or of each value; `math.inf` for a value that needs no protection.
    domain, hidden
        What `auto` chooses for.

    Examples
    --------
    >>> build("auto", 100, 1_000_000).mechanism, build("auto", 5000, 1_000_000).mechanism
    ('oue', 'lh')
    """
    if name == AUTO:
        return automatic(size, budgets, domain=domain, hidden=hidden)
    return family(name).build(size, budgets)


def read(name: str, size: int, weights: object) -> Channel:
    """Rebuild a channel from the integers that a survey publishes (the inverse of `Channel.weights`)."""
    return family(name).read(size, weights)


def automatic(
    size: int, budgets: Micro | Sequence[Micro], *, domain: Domain = "labels", hidden: bool = False
) -> Channel:
    """Return the channel of least error for this domain and these budgets.

    For labels with one budget that is the least variance at equal shares 1/k (few values: k-RR; dozens: OUE; thousands:
    LH); with a budget per value IPRR, for sets a bit per item, and for numbers the square wave.
    """
    if domain == "sets":
        return ItemSet.build(size, budgets)
    if domain == "numbers":
        return SquareWave.build(size, budgets)
    if isinstance(budgets, Sequence):
        return ItemResponse.build(size, budgets)
    built = (family.build(size, budgets) for family in _suitable(size, hidden=hidden))
    return min((each for each in built if isinstance(each, PureChannel)), key=lambda each: each.variance(1 / size))


def hideable(name: str, size: int, micro_epsilons: Sequence[int]) -> Iterator[tuple[PureChannel, ...]]:
    """Yield sets of channels, one per level, whose outputs have one form, so that the form does not show the level.

    >>> [channels[0].mechanism for channels in hideable("auto", 16, (500_000, 1_000_000))]
    ['krr', 'sue', 'oue']
    """
    chosen = _suitable(size, hidden=True) if name == AUTO else [family(name, "labels", per_value=False)]
    for each in chosen:
        if issubclass(each, CategoricalChannel):
            for channels in each.hideable(size, micro_epsilons):
                yield tuple(channel for channel in channels if isinstance(channel, PureChannel))


def _suitable(size: int, *, hidden: bool) -> list[type[CategoricalChannel]]:
    found = (family for family in REGISTRY.values() if issubclass(family, CategoricalChannel))
    return [family for family in found if family.suits(size, hidden=hidden)]
