"""What channels for sets of items have in common, and the choice among them where one budget protects a whole set.

A budget is that of every *item*, so that what a report tells about the whole set is a sum over items, or that of the
*set*: then no report tells any two sets apart by more than ε, however many items they differ in.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from pldp.epsilon import Micro
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Channel, Domain, Odds, too_small
from pldp.mechanisms.registry import ANSWER_BYTES, AUTO, REGISTRY, family, names
from pldp.mechanisms.set_limits import SetLimits


@dataclass(frozen=True, repr=False)
class SetChannel(Channel):
    """A channel whose values are sets of `size` items: bit i of the integer stands for item i."""

    domain: ClassVar[Domain] = "sets"
    least = (1, "item")

    @classmethod
    def of_whole(cls, size: int, micro_epsilon: int, at_most: int | None = None) -> Self:
        """Build the most accurate channel with one budget for a whole set, of at most so many items."""
        of: Callable[..., Self] = getattr(cls, "of")  # noqa: B009 - abstract channels have none
        return of(size, micro_epsilon, at_most)

    @classmethod
    def hideable(cls, size: int, budgets: Sequence[Any]) -> Iterator[tuple[Channel, ...]]:
        """Yield channels of one form, one per level: with a budget for each item, or with one for the whole set."""
        return super().hideable(size, budgets) if cls.per_value else cls.hideable_whole(size, budgets)

    @classmethod
    def hideable_whole(
        cls, size: int, micro_epsilons: Sequence[int], at_most: int | None = None
    ) -> Iterator[tuple[Self, ...]]:
        """Yield channels of one form with one budget for a whole set, one channel per level."""
        yield tuple(cls.of_whole(size, micro, at_most) for micro in micro_epsilons)

    @property
    def equal_variance(self) -> float:
        """The mean variance of an item's share, at `planned_share`."""
        return self.item_variance(planned_share(self.size, self.largest_set))

    @property
    def preface(self) -> str:
        """What a person is told about reports before anything else; empty where there is nothing to say."""
        return ""

    @property
    def largest_set(self) -> int:
        """Items of the largest set that is a value."""
        return self.size

    @abstractmethod
    def item_chances(self, item: int) -> tuple[Fraction, Fraction]:
        """Return how often an item is in the report of a person whose set has it, and of one whose set has not."""

    def item_evidence(self, item: int) -> tuple[Micro, Micro]:
        """Return in micro-ε how far any report speaks for an item's being in the set, and for its not being there."""
        return self.promised(item), self.promised(item)

    def limited_odds(self, other: Channel, limits: SetLimits, *, same_value: bool) -> Odds:  # noqa: ARG002
        """Return `level_odds` over sets within limits; of most channels no larger sets tell more than small ones."""
        return self.level_odds(other, same_value=same_value)

    @abstractmethod
    def item_variance(self, share: float) -> float:
        """Return the variance of the unbiased share of an item from one report: the mean over items."""

    def promised(self, value: int) -> Micro:  # noqa: ARG002 - others have one promise per item
        """A budget bounds what a report tells between any two sets."""
        return self.micro_epsilon


def planned_share(size: int, at_most: int | None) -> float:
    """Return the share of an item at which variances are compared: a half, or less where fewer labels may be ticked.

    >>> planned_share(20, None), planned_share(20, 2)
    (0.5, 0.1)
    """
    return 0.5 if at_most is None else min(0.5, at_most / size)


def support_variance(p: float, q: float, share: float) -> float:
    """Return π(1−π)/(p−q)², π = q + share·(p−q): of an unbiased share from a bit that is 1 with p and with q."""
    if p <= q:
        return math.inf
    support = q + share * (p - q)
    return support * (1 - support) / (p - q) ** 2


def summed_variances(channels: Sequence[Channel], share: float) -> list[float]:
    """Return for each channel the variance of all items' shares from one report, summed, if each is this share."""
    found = [channel for channel in channels if isinstance(channel, SetChannel)]
    if len(found) < len(channels):
        raise EpsilonError("channels must be those of sets")
    return [channel.item_variance(share) * channel.size for channel in found]


def build_whole_set(
    name: str, size: int, micro_epsilon: int, at_most: int | None = None, *, answer_bytes: int = ANSWER_BYTES
) -> Channel:
    """Build the named mechanism with one budget for a whole set; `auto` takes the least variance of an item's share.

    Variances are compared at `planned_share`, of mechanisms whose answers take so many bytes at most.

    >>> build_whole_set("auto", 20, 1_000_000).mechanism, build_whole_set("auto", 20, 1_000_000, at_most=2).mechanism
    ('boxes', 'privset')
    """
    if name != AUTO:
        return _whole(family(name, "sets"), size, micro_epsilon, at_most)
    built = []
    for each in names("sets", per_value=False):  # parts of the budget for every item are never better
        with suppress(EpsilonError):  # there are too many items for it, or its weights are too coarse for this ε
            built.append(_whole(REGISTRY[each], size, micro_epsilon, at_most))
    fit = [channel for channel in built if channel.form.bytes <= answer_bytes]
    if not fit:
        raise too_small(micro_epsilon, size, "items")
    return min(fit, key=lambda channel: channel.item_variance(planned_share(size, at_most)))


def hideable_whole_sets(
    name: str, size: int, micro_epsilons: Sequence[int], at_most: int | None = None
) -> Iterator[tuple[Channel, ...]]:
    """Yield channels of one form with one budget for a whole set, one per level; `auto` tries every mechanism.

    >>> found = hideable_whole_sets("auto", 20, (500_000, 4_000_000))
    >>> sorted({channels[0].form.count for channels in found if channels[0].mechanism == "boxes"})[0]
    40
    """
    families = [family(name, "sets")] if name != AUTO else [REGISTRY[each] for each in names("sets")]
    for each in families:
        assert issubclass(each, SetChannel)  # noqa: S101 - the registry says so
        with suppress(EpsilonError) if name == AUTO else nullcontext():  # there may be too many items for it
            yield from each.hideable_whole(size, micro_epsilons, at_most)


def _whole(cls: type[Channel], size: int, micro_epsilon: int, at_most: int | None) -> SetChannel:
    assert issubclass(cls, SetChannel)  # noqa: S101 - the registry says so
    return cls.of_whole(size, micro_epsilon, at_most)
