"""The only list of mechanisms: names to channels, and the choice among them.

>>> import math
>>> build("krr", 4, 1_000_000).mechanism, build("iprr", 2, [500_000, math.inf]).mechanism
('krr', 'iprr')
>>> read("sw", 1024, build("sw", 1024, 1_000_000).weights()).epsilon
1.0
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from operator import attrgetter
from typing import Final, TypeVar

from pldp.epsilon import Micro
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Channel, Domain
from pldp.mechanisms.output import BLOCK_BYTES
from pldp.words import suggest

SomeChannel = TypeVar("SomeChannel", bound=Channel)

_HOMES: Final[Mapping[str, tuple[Domain, str, str]]] = {
    "krr": ("labels", "response.channel", "RandomizedResponse"),
    "sue": ("labels", "unary.channel", "SymmetricUnaryEncoding"),
    "oue": ("labels", "unary.channel", "OptimisedUnaryEncoding"),
    "subset": ("labels", "subset.channel", "SubsetSelection"),
    "lh": ("labels", "hashing.channel", "LinearHashing"),
    "projective": ("labels", "projective.channel", "ProjectiveResponse"),
    "pairs": ("labels", "projective.pairs", "HashedPairs"),
    "iprr": ("labels", "response.values", "ItemResponse"),
    "subset_items": ("labels", "subset.items", "ItemSubset"),
    "idue": ("labels", "unary.items", "ItemUnaryEncoding"),
    "aprr": ("labels", "response.values", "ValueResponse"),
    "prr": ("labels", "response.values", "WeightedResponse"),
    "item_set": ("sets", "sets.channel", "ItemSet"),
    "boxes": ("sets", "boxes.channel", "SampledBoxes"),
    "privset": ("sets", "privset.channel", "PrivSet"),
    "laplace": ("numbers", "laplace.channel", "DiscreteLaplace"),
    "laplace_wide": ("numbers", "laplace.wide", "WideLaplace"),
    "sr": ("numbers", "rounding.channel", "StochasticRounding"),
    "pm": ("numbers", "window.channel", "PiecewiseMechanism"),
    "hm": ("numbers", "hybrid.channel", "HybridMechanism"),
    "sw": ("numbers", "window.channel", "SquareWave"),
    "minimax": ("numbers", "minimax.channel", "Minimax"),
}
"""What each mechanism is for, and where its class is."""

AUTO: Final = "auto"
"""Stands for the most accurate mechanism."""

ANSWER_BYTES: Final = 512
"""Bytes that an answer takes at most where `auto` chooses, unless a survey says otherwise."""

ALIKE: Final = 1.005
"""Ratio of two variances from which on the smaller one is worth a longer report."""

FOR_DISTRIBUTIONS: Final = "sw"
"""What `auto` stands for where the distribution of a number is wanted."""

FIXED: Final[Mapping[Domain, str]] = {"sets": "item_set", "numbers": FOR_DISTRIBUTIONS}
"""What `auto` stands for where it has nothing to choose: a bit for each item, and the square wave."""

FOR_MEANS: Final = "minimax"
"""What `auto` stands for where only the mean of a number is wanted."""


class _Registry(Mapping[str, type[Channel]]):
    """The classes by name, each loaded when it is first asked for: a device needs those of its survey only."""

    def __getitem__(self, name: str) -> type[Channel]:
        _, module, cls = _HOMES[name]
        found: type[Channel] = getattr(import_module(f"pldp.mechanisms.{module}"), cls)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


REGISTRY: Final[Mapping[str, type[Channel]]] = _Registry()
"""Every mechanism by its name in survey files."""


def names(domain: Domain | None = None, *, per_value: bool | None = None) -> tuple[str, ...]:
    """Return the mechanisms for labels, sets or numbers; those that take a budget per value, or those that do not.

    >>> names("labels", per_value=False)
    ('krr', 'sue', 'oue', 'subset', 'lh', 'projective', 'pairs')
    """
    return tuple(
        name
        for name, (own, _, _) in _HOMES.items()
        if domain in {None, own} and (per_value is None or REGISTRY[name].per_value is per_value)
    )


def family(name: object, domain: Domain | None = None, *, per_value: bool | None = None) -> type[Channel]:
    """Return the class of a mechanism; refuse unknown names and mechanisms for something else."""
    if isinstance(name, str) and name in _HOMES and domain in {None, _HOMES[name][0]}:
        found = REGISTRY[name]
        if per_value in {None, found.per_value}:
            return found
    known = names(domain, per_value=per_value)
    wrong = f"mechanism must be one of {', '.join(known)} or auto, not {str(name)[:40]!r}"
    raise EpsilonError(f"{wrong}{suggest(name, known)}")


def build(
    name: str,
    size: int,
    budgets: Micro | Sequence[Micro],
    *,
    domain: Domain = "labels",
    answer_bytes: int = ANSWER_BYTES,
) -> Channel:
    """Build the named mechanism for so many values; `auto` picks the one of least error.

    For labels that is the least variance at equal shares 1/k among those whose answers are short enough
    (`most_accurate`); with a budget per value, among those that bound what a report tells (IPRR and its sets). For sets
    it is a bit per item, and for numbers the square wave.

    Parameters
    ----------
    name, size
        Of the mechanism, or `auto`; number of values, items or buckets.
    budgets
        Micro-ε of the channel, or of each value; `math.inf` for a value that needs no protection.
    domain, answer_bytes
        What `auto` chooses for, and how long an answer it may choose.

    Examples
    --------
    >>> build("auto", 3, 1_000_000).mechanism, build("auto", 10, 1_000_000).mechanism
    ('krr', 'subset')
    """
    if type(budgets) is int and type(size) is int and size <= _KEPT_SIZE:
        return _build_once(name, size, budgets, domain, answer_bytes)
    return _build(name, size, budgets, domain, answer_bytes)


def _build(name: str, size: int, budgets: Micro | Sequence[Micro], domain: Domain, answer_bytes: int) -> Channel:
    """Build a channel whatever was built before."""
    fixed = FIXED.get(domain)
    if name != AUTO or fixed is not None:
        return family(fixed if name == AUTO and fixed else name).build(size, budgets)
    families = suitable(size, per_value=isinstance(budgets, Sequence))
    return most_accurate(((each.build(size, budgets),) for each in families), answer_bytes)[0]


_KEPT_SIZE: Final = 4096
"""Values up to which channels are kept: larger ones may hold much memory."""

_build_once = lru_cache(maxsize=512)(_build)
"""Questions with as many values and the same ε, of one survey or of many, share a channel: it is never changed."""


def blocks(channels: Sequence[Channel]) -> int:
    """Return how many blocks of bytes the longest answer takes."""
    return -(-max(each.form.bytes for each in channels) // BLOCK_BYTES)


def most_accurate(
    choices: Iterable[Sequence[SomeChannel]],
    answer_bytes: int = ANSWER_BYTES,
    *,
    alike: float = ALIKE,
    rank: Callable[[Sequence[SomeChannel]], Micro] = blocks,
    variance: Callable[[SomeChannel], float] = attrgetter("equal_variance"),
) -> tuple[SomeChannel, ...]:
    """Return the most accurate of several sets of channels, one channel per level, whose answers are short enough.

    That is the least `variance` of a pooled share, by default one of 1/k. Among those that are hardly less accurate
    (a variance of `alike` times the least one) the smallest `rank` counts, then the order of the choices.
    """
    fit = [tuple(channels) for channels in choices if max(each.form.bytes for each in channels) <= answer_bytes]
    if not fit:
        raise EpsilonError(f"answer_bytes must leave room for an answer; none takes only {answer_bytes:,}")
    errors = [1 / sum(1 / variance(each) for each in channels) for channels in fit]
    near = [channels for channels, error in zip(fit, errors, strict=True) if error <= alike * min(errors)]
    return min(near, key=rank)


def read(name: str, size: int, weights: object) -> Channel:
    """Rebuild a channel from the integers that a survey publishes (the inverse of `Channel.weights`)."""
    return family(name).read(size, weights)


def hideable(
    name: str,
    size: int,
    budgets: Sequence[Micro | Sequence[Micro]],
    *,
    domain: Domain = "labels",
    per_value: bool | None = False,
) -> Iterator[tuple[Channel, ...]]:
    """Yield sets of channels, one per level, whose outputs have one form, so that the form does not show the level.

    `budgets` has for each level a budget in micro-ε, or one per value; `auto` tries every mechanism that suits.

    >>> [channels[0].chosen for channels in hideable("subset", 16, (500_000, 1_000_000))]
    [1, 2, 3, 4, 5, 6]
    """
    known = names(domain, per_value=per_value) if name == AUTO else ()
    suited = [each for each in map(REGISTRY.__getitem__, known) if each.suits(size, hidden=True)]
    for each in suited if name == AUTO else [family(name, domain, per_value=per_value)]:
        for channels in each.hideable(size, budgets):
            if len({channel.form for channel in channels}) == 1:
                yield channels


def suitable(size: int, *, per_value: bool = False) -> list[type[Channel]]:
    """Return the mechanisms among which `auto` chooses for so many labels with one budget, or with one each."""
    known = map(REGISTRY.__getitem__, names("labels", per_value=per_value))
    return [each for each in known if each.suits(size)]
