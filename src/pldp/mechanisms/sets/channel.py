"""A set of items: one bit per item, each perturbed by a channel of its own."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, Self

from pldp.epsilon import (
    Micro,
    checked_budgets,
    micro_epsilon_of_powers,
    micro_epsilon_of_ratio,
    noise_weights,
    scaled_logarithm,
)
from pldp.errors import AnswerError, EpsilonError
from pldp.mechanisms.channel import Channel, Odds, largest_odds, too_small
from pldp.mechanisms.contrast import Contrast
from pldp.mechanisms.guessing import guess_bits
from pldp.mechanisms.output import BIT_TOTAL, BITS, Output, RandomBytes, as_int, digit_masks, draw_bits
from pldp.mechanisms.set_channel import SetChannel
from pldp.mechanisms.set_limits import SetLimits

Pair = tuple[Micro, Micro]
"""Budgets of one item in micro-ε: what a report may tell for "present" and for "absent"; `math.inf` sets no limit."""


class ItemEpsilon(NamedTuple):
    """What an observer learns about one item, in micro-ε rounded up; `math.inf` where a bit proves something."""

    present: Micro
    """ln Pr(1|present)/Pr(1|absent): how far a 1 moves the odds towards "present"."""

    absent: Micro
    """ln Pr(0|absent)/Pr(0|present): how far a 0 moves the odds towards "absent"."""

    @property
    def micro_epsilon(self) -> Micro:
        """The larger of both: the ε of this item's bit."""
        return max(self.present, self.absent)


@dataclass(frozen=True, repr=False)
class ItemSet(SetChannel):
    """A set of items as packed bits; the bit of item i is 1 with p_i if the set has the item, with q_i if not.

    Q(y|x) = Π_i p_i^{y_i}(1−p_i)^{1−y_i} over the items of the set x, with q_i in the place of p_i for the others.
    Items are perturbed independently, so ε of the whole set is the sum over items of ln max(p_i/q_i, (1−q_i)/(1−p_i)).
    A value is the set as an integer: bit i stands for item i (`set_of`); an output is packed as in `UnaryEncoding`.
    `kept` and `raised` are 2³²·p_i and 2³²·q_i of each item; 2³² and 0 where a bit is never perturbed.

    Reference: Rizvi, Haritsa, "Maintaining Data Privacy in Association Rule Mining" (2002), for p_i = 1 − q_i = p.

    >>> import os
    >>> channel = ItemSet.of([1_000_000, 2_000_000, math.inf])
    >>> output = channel.draw(0b101, os.urandom)
    >>> len(output), channel.item_micro_epsilon(0), channel.micro_epsilon
    (1, ItemEpsilon(present=1000000, absent=1000000), inf)
    """

    kept: tuple[int, ...]
    raised: tuple[int, ...]

    mechanism = "item_set"
    per_value = True
    in_bits = True
    keeps_rows = True  # no estimate of sets does without

    def __post_init__(self) -> None:
        super().__post_init__()
        if {len(self.kept), len(self.raised)} != {self.size}:
            lengths = f"{len(self.kept)}, {len(self.raised)}"
            raise EpsilonError(f"kept and raised must hold {self.size} weights, not {lengths}")
        for place, (kept, raised) in enumerate(self.pairs):
            if not 0 <= raised < kept <= BIT_TOTAL:
                rule = "a present item must be reported more often than an absent one: 0 <= raised < kept <= 2^32"
                raise EpsilonError(f"item {place}: {rule}, not {raised}, {kept}")

    @classmethod
    def suits(cls, size: int, *, hidden: bool = False) -> bool:  # noqa: ARG003
        """Nothing else has a budget for every item."""
        return True

    @property
    def pairs(self) -> Iterator[tuple[int, int]]:
        """2³²·p and 2³²·q of each item."""
        return zip(self.kept, self.raised, strict=True)

    @classmethod
    def of(cls, micro_epsilons: Sequence[Micro | Pair]) -> Self:
        """Build the most accurate channel with a budget per item, or one for each of its sides (`of_pairs`).

        One for both sides makes symmetric randomized response; `math.inf` leaves an item as it is.
        """
        return cls.of_pairs([each if isinstance(each, tuple) else (each, each) for each in micro_epsilons])

    @classmethod
    def of_whole(cls, size: int, micro_epsilon: int, at_most: int | None = None) -> Self:  # noqa: ARG003
        """Give every item an equal part of the budget of the whole set."""
        if micro_epsilon < size:
            raise too_small(micro_epsilon, size, "items")
        return cls.of([micro_epsilon // size] * size)

    @classmethod
    def of_pairs(cls, budgets: Sequence[Pair]) -> Self:
        """Build the most accurate channel within a budget for "present" and one for "absent" of every item.

        >>> channel = ItemSet.of_pairs([(1_200_000, 2_400_000)])
        >>> channel.item_micro_epsilon(0)
        ItemEpsilon(present=1200000, absent=2400000)
        """
        weights = [pair_weights(present, absent) for present, absent in budgets]
        return cls(len(weights), tuple(kept for kept, _ in weights), tuple(raised for _, raised in weights))

    @classmethod
    def of_probabilities(cls, one: Sequence[float | Fraction], zero: Sequence[float | Fraction]) -> Self:
        """Build a channel that keeps the 1 of item i with probability one[i] and its 0 with zero[i].

        Probabilities are rounded down to whole 2⁻³², i.e. towards more noise. What the channel promises is computed.

        >>> ItemSet.of_probabilities([0.77], [0.92]).item_micro_epsilon(0)
        ItemEpsilon(present=2264364, absent=1386295)
        """
        if len(one) != len(zero):
            raise EpsilonError(f"one and zero must have one probability per item, not {len(one)} and {len(zero)}")
        if not all(0 <= probability <= 1 for probability in (*one, *zero)):
            raise EpsilonError("probabilities must be between 0 and 1; some are not")
        kept, rest = ([math.floor(Fraction(each) * BIT_TOTAL) for each in numbers] for numbers in (one, zero))
        return cls(len(kept), tuple(kept), tuple(BIT_TOTAL - weight for weight in rest))

    def _odds(self, item: int, one: int) -> tuple[int, int]:
        """Return how likely this bit of an item is from the sets that it speaks for, and from the others."""
        kept, raised = self.kept[item], self.raised[item]
        return (kept, raised) if one else (BIT_TOTAL - raised, BIT_TOTAL - kept)

    def item_micro_epsilon(self, item: int) -> ItemEpsilon:
        """Return what a report tells about one item, exactly."""
        return ItemEpsilon(*(micro_epsilon_of_ratio(*self._odds(item, one)) for one in (1, 0)))

    def item_evidence(self, item: int) -> tuple[Micro, Micro]:
        """The same as a plain pair."""
        present, absent = self.item_micro_epsilon(item)
        return present, absent

    def item_chances(self, item: int) -> tuple[Fraction, Fraction]:
        """p and q of the item."""
        return Fraction(self.kept[item], BIT_TOTAL), Fraction(self.raised[item], BIT_TOTAL)

    def proof_chance(self, value: int) -> Fraction:
        """1 where a bit is never perturbed; a bit that is only never raised proves a present item as often as kept."""
        p, q = self.item_chances(value)
        return Fraction(0) if q else p

    def item_variance(self, share: float) -> float:
        """Mean over items of the noise of the bit, (share·p(1−p) + (1−share)·q(1−q))/(p−q)², and share·(1−share)."""
        chances = [(kept / BIT_TOTAL, raised / BIT_TOTAL) for kept, raised in self.pairs]
        noise = [(share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2 for p, q in chances]
        return sum(noise) / self.size + share * (1 - share)

    def promised(self, value: int) -> Micro:
        """A budget bounds what a report tells about one item, present or absent."""
        return self.item_micro_epsilon(value).micro_epsilon

    @property
    def manipulation(self) -> float:
        """The largest (1−q)/(p−q) of an item."""
        return max((BIT_TOTAL - raised) / (kept - raised) for kept, raised in self.pairs)

    @cached_property
    def micro_epsilon(self) -> Micro:
        """Σ over items of ln max(p/q, (1−q)/(1−p)), rounded up once: what a report tells between any two sets."""
        return _sum(map(self._worst, range(self.size)))

    def pair_micro_epsilon(self, one: int, two: int) -> Micro:
        """Sum over the items in which two sets differ: what any report tells between them."""
        return _sum(self._worst(item) for item in range(self.size) if (one ^ two) >> item & 1)

    def value_micro_epsilon(self, value: int) -> Micro:  # noqa: ARG002 - the same for every set
        """The channel's ε: the set that differs in every item is the easiest to tell apart from any set."""
        return self.micro_epsilon

    def output_micro_epsilon(self, output: Output) -> Micro:
        """Sum over items of what the bit tells: ln p/q for a 1, ln (1−q)/(1−p) for a 0."""
        bits = as_int(output)
        return _sum(self._odds(item, bits >> item & 1) for item in range(self.size))

    def _worst(self, item: int) -> tuple[int, int]:
        (p, q), (absent, lost) = self._odds(item, 1), self._odds(item, 0)
        return (p, q) if p * lost >= q * absent else (absent, lost)

    @cached_property
    def _digits(self) -> list[tuple[int, int]]:
        """For each binary digit, lowest first: the items whose raised weight has it, and where the kept one differs."""
        differ = (kept ^ raised for kept, raised in self.pairs)
        return list(zip(digit_masks(self.raised), digit_masks(differ), strict=True))

    @cached_property
    def _always_kept(self) -> int:
        """2³² itself has no digit among the 32."""
        return sum(1 << item for item, kept in enumerate(self.kept) if kept == BIT_TOTAL)

    def draw(self, value: int, random: RandomBytes) -> bytes:
        """Return the packed bits from 32·⌈size/8⌉ random bytes, in a time that does not depend on the set."""
        if not 0 <= value < 1 << self.size:
            raise AnswerError(f"value must be a set of {self.size} items as an integer below 2^{self.size}")
        length = (self.size + 7) // 8
        weights = [raised ^ differ & value for raised, differ in self._digits]
        below = draw_bits(random(BITS * length), length, weights)
        return (below & (1 << self.size) - 1 | self._always_kept & value).to_bytes(length, "little")

    def best_guess(self, prior: Sequence[float] | None = None) -> float:
        """Item by item."""
        chances = [self.item_chances(item) for item in range(self.size)]
        one, zero = ([float(pair[side]) for pair in chances] for side in (0, 1))
        return guess_bits(one, zero, [0.5] * self.size if prior is None else prior)

    def contrasts(self) -> tuple[tuple[Contrast, ...], ...]:
        """All items against none, item by item, in both orders where that matters; others have every second one."""
        bits = [tuple((chance, 1 - chance) for chance in self.item_chances(item)) for item in range(self.size)]
        alike = all(present == absent[::-1] for present, absent in bits)
        orders = (bits,) if alike else (bits, [pair[::-1] for pair in bits])
        return tuple(
            tuple(
                Contrast(one, two, (one, two)[item % 2], tuple(map(min, one, two)), common=False, loose=not alike)
                for item, (one, two) in enumerate(order)
            )
            for order in orders
        )

    def level_odds(self, other: Channel, *, same_value: bool) -> Odds:
        """Multiply over items: each bit, of a present item or an absent one, speaks as much as it can."""
        return self.limited_odds(other, SetLimits(), same_value=same_value)

    def limited_odds(self, other: Channel, limits: SetLimits, *, same_value: bool) -> Odds:
        """Multiply over items, present or absent as it suits the two sets that a report tells apart best."""
        if not isinstance(other, ItemSet) or other.size != self.size:
            raise EpsilonError("outputs of different form show the level: there is no finite leak")
        both = list(zip(self.pairs, other.pairs, strict=True))
        known = {kind: _bit_odds(*kind, same_value=same_value) for kind in set(both)}
        if any(odds.infinite for odds in known.values()):
            return [(Fraction(0), -1)]  # one item alone may always be ticked
        items = [known[kind] for kind in both]
        gains = [odds.gain for odds in items]
        sets = (limits.best_set(gains), ()) if same_value else limits.best_pair(gains, [odds.loss for odds in items])
        chosen = [odds.neither for odds in items]
        for item in sets[0]:
            chosen[item] = items[item].ours
        for item in sets[1]:
            chosen[item] = items[item].theirs
        return list(Counter(chosen).items())

    def probability(self, output: Output, value: int) -> Fraction:
        """Multiply the probabilities of all bits."""
        bits = as_int(output)
        weights = [kept if value >> item & 1 else raised for item, (kept, raised) in enumerate(self.pairs)]
        chances = ((Fraction(weight, BIT_TOTAL), bits >> item & 1) for item, weight in enumerate(weights))
        return math.prod((one if bit else 1 - one for one, bit in chances), start=Fraction(1))


class _BitOdds(NamedTuple):
    """The largest Q(y|x)/Q'(y|x') of one item's bit, by which sets have the item; 0 where there is no limit."""

    neither: Fraction
    ours: Fraction  #: The first set has it; both have it where they are the same.
    theirs: Fraction  #: The second set has it.

    @property
    def infinite(self) -> bool:
        return not all(self)

    @property
    def gain(self) -> int:
        return scaled_logarithm(self.ours / self.neither)

    @property
    def loss(self) -> int:
        return scaled_logarithm(self.theirs / self.neither)


def _bit_odds(own: tuple[int, int], other: tuple[int, int], *, same_value: bool) -> _BitOdds:
    """Return what the bit of an item tells, from its weights in both channels.

    An item that both sets have is not looked at: whichever bit comes, it would tell more were it in one of them only.
    A bit that both channels leave as it is has no protection: sets are compared that agree in it, and it tells nothing.
    """

    def largest(one: int, two: int) -> Fraction:
        ((ratio, _),) = largest_odds([(one, two), (BIT_TOTAL - one, BIT_TOTAL - two)])
        return ratio

    (kept, raised), (other_kept, other_raised) = own, other
    neither = largest(raised, other_raised)
    if own == other == (BIT_TOTAL, 0):
        return _BitOdds(neither, neither, neither)
    if same_value:
        return _BitOdds(neither, largest(kept, other_kept), neither)
    return _BitOdds(neither, largest(kept, other_raised), largest(raised, other_kept))


def _sum(odds: Iterable[tuple[int, int]]) -> Micro:
    """Σ ln(more/less), rounded up once."""
    kinds = Counter(odds)
    if any(less == 0 for _, less in kinds):
        return math.inf
    return micro_epsilon_of_powers((Fraction(more, less), count) for (more, less), count in kinds.items())


def pair_weights(present: Micro, absent: Micro) -> tuple[int, int]:
    """Return (2³²·p, 2³²·q) of the most accurate bit within a budget for "present" and one for "absent".

    The promises p ≤ e^{ε₁}·q and 1−q ≤ e^{ε₀}·(1−p) are two half-planes in (q, 1−p). Both errors are smallest together
    where both promises are used up: q = (b−1)/(ab−1) and 1−p = (a−1)/(ab−1) with a = e^{ε₁}, b = e^{ε₀}. Every other
    channel that keeps them is this one with noise added. Rounding q and 1−p up keeps both promises: they ask for
    a·q + (1−p) ≥ 1 and q + b·(1−p) ≥ 1. Equal budgets give randomized response; note that the "1" is protected by how
    often a "0" is raised, not by how seldom a "1" is kept.

    >>> kept, raised = pair_weights(1_200_000, 2_400_000)
    >>> round(kept / 2**32, 4), round(raised / 2**32, 4)
    (0.9348, 0.2816)
    """
    lost, raised = noise_weights(BIT_TOTAL, checked_budgets((absent, present)))
    if lost + raised >= BIT_TOTAL:
        raise EpsilonError("budgets are too small: 32-bit weights cannot tell a present item from an absent one")
    return BIT_TOTAL - lost, raised


def set_of(basket: Iterable[str], items: Sequence[str]) -> int:
    """Return a basket as an integer, bit i for items[i]; unknown and repeated items are refused, never repeated.

    >>> bin(set_of(["milk", "beer"], ["beer", "bread", "milk"]))
    '0b101'
    """
    return sum(1 << place for place in places_of(basket, item_places(items)))


def item_places(items: Sequence[str]) -> dict[str, int]:
    """Return the place of each item; refuse an empty list and names that occur twice."""
    places = {name: place for place, name in enumerate(items)}
    if not places:
        raise AnswerError("items must name at least one item; the list is empty")
    if len(places) < len(items):
        twice = next(name for name, count in Counter(items).items() if count > 1)
        raise AnswerError(f"items must be named once each; {twice!r} is there twice")
    return places


def places_of(basket: Iterable[str], places: Mapping[str, int]) -> set[int]:
    """Return the places of a basket's items; refuse unknown and repeated ones without repeating them."""
    if isinstance(basket, str):
        raise AnswerError("a basket must be several item names, not one text")
    named = list(basket)
    found = {places[name] for name in named if name in places}
    if len(found) == len(named):
        return found
    if any(name not in places for name in named):
        unknown = f"some of its {len(named)} are not among {len(places)}"
        raise AnswerError(f"a basket must contain known items only; {unknown}")
    raise AnswerError(f"a basket must name each item once; some of its {len(named)} are there twice")
