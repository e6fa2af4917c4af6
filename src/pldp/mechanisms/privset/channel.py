"""PrivSet: a report names d of the items, and is more likely if it has one of the person's own among them."""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, Self

from pldp.epsilon import MICRO, Micro, exp_micro, micro_epsilon_of_ratio
from pldp.errors import AnswerError, EpsilonError
from pldp.mechanisms.channel import Channel, Odds, too_small
from pldp.mechanisms.contrast import Contrast, Pattern, of_counts, two_level
from pldp.mechanisms.output import TOTAL, Bits, Output, RandomBytes, as_int, draw_53_bits
from pldp.mechanisms.ranks import SPARE_BYTES, places_of_rank, rank_bytes, rank_of
from pldp.mechanisms.set_channel import SetChannel, planned_share, support_variance

LARGEST_SIZE: Final = 4096
"""Items and dummies at most: a report is one bit for each."""

SIZES_TRIED: Final = 24
"""Numbers of chosen items among which hidden levels choose, at most."""

_SLACK: Final = 1 + Fraction(4, 1 << 8 * SPARE_BYTES)
"""Bounds the ratio of the probabilities of two ranks, twice: how far subsets of one class are from uniform."""


@dataclass(frozen=True, repr=False)
class PrivSet(SetChannel):
    """A subset of `chosen` of the m items and c dummies, for sets of at most c = `at_most` items.

    A set is filled up with the first dummies to exactly c members. A subset of d of the M = m + c places that meets it
    is e^ε times as likely as one that does not: it meets with probability `meets_weight`/2⁵³, then uniformly. There
    are C(m, d) subsets that do not meet it and W = C(M, d) − C(m, d) that do, whatever the set, so

        ε = ln meets·C(m, d) / ((1 − meets)·W).

    A subset holds an item of the set with p = meets·C(M−1, d−1)/W and any other one with
    q = meets·(C(M−1, d−1) − C(m−1, d−1))/W + (1 − meets)·d/m, whatever else is in the set: shares are
    (held − q)/(p − q). The subset is its rank among those of its class, drawn uniformly to within a factor 1 + 2⁻¹²⁸,
    for which ε allows.

    Reference: Wang, Huang, Nie, Xu, Xu, "PrivSet: Set-Valued Data Analyses with Locale Differential Privacy" (2018).

    >>> channel = PrivSet.of(20, 1_000_000, 2)
    >>> channel.chosen, channel.form.length, channel.micro_epsilon
    (3, 22, 1000000)
    >>> round(channel.item_variance(0.3), 1)
    7.9
    """

    at_most: int
    chosen: int
    meets_weight: int

    mechanism = "privset"
    in_bits = True
    keeps_rows = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.at_most <= self.size:
            raise EpsilonError(f"at_most must be from 1 to {self.size} items, not {self.at_most}")
        if self.places > LARGEST_SIZE:
            raise EpsilonError(f"items and at_most together must be at most {LARGEST_SIZE:,}, not {self.places:,}")
        if not 0 < self.chosen <= self.size:
            raise EpsilonError(f"chosen must be from 1 to {self.size}, not {self.chosen}")
        missing, meeting = self.classes
        if not TOTAL * meeting < self.meets_weight * (meeting + missing) < TOTAL * (meeting + missing):
            raise EpsilonError("meets must be below 2^53 and make subsets that meet the set more likely than others")

    @classmethod
    def of(cls, size: int, micro_epsilon: int, at_most: int | None = None, chosen: int | None = None) -> Self:
        """Build the channel of least variance (or with so many chosen items) whose true ε is at most the given one.

        Without a limit on the items of a set there may be as many as there are.
        """
        at_most = size if at_most is None else at_most
        if chosen is None:
            share, epsilon = planned_share(size, at_most), micro_epsilon / MICRO
            some = range(1, size + 1 if size + at_most <= LARGEST_SIZE else 2)
            chosen = min(some, key=lambda d: _ideal_variance(size, at_most, d, epsilon, share))
        missing = math.comb(size, chosen)
        meeting = math.comb(size + at_most, chosen) - missing
        rest = missing * _SLACK
        misses = math.ceil(TOTAL * rest / (Fraction(exp_micro(micro_epsilon)) * meeting + rest))
        if (TOTAL - misses) * (meeting + missing) <= TOTAL * meeting:
            raise too_small(micro_epsilon, size, "items")
        return cls(size, at_most, chosen, TOTAL - misses)

    @classmethod
    def hideable_whole(
        cls, size: int, micro_epsilons: Sequence[int], at_most: int | None = None
    ) -> Iterator[tuple[Self, ...]]:
        """Yield channels that choose one number of items at all levels."""
        most = max(cls.of(size, micro, at_most).chosen for micro in micro_epsilons)
        for step in range(min(most, SIZES_TRIED)):
            chosen = 1 + step if most <= SIZES_TRIED else round(most ** (step / (SIZES_TRIED - 1)))
            with suppress(EpsilonError):  # weights are too coarse for this ε
                yield tuple(cls.of(size, micro, at_most, chosen) for micro in micro_epsilons)

    @property
    def preface(self) -> str:
        """What a report is."""
        return f"your report ticks up to {self.chosen} of the {self.size} boxes, whatever you tick;"

    @property
    def places(self) -> int:
        """M: items and dummies."""
        return self.size + self.at_most

    @property
    def largest_set(self) -> int:
        """Items of the largest set that is a value."""
        return self.at_most

    @cached_property
    def form(self) -> Bits:
        """One bit per item and dummy, `chosen` of them 1."""
        return Bits(self.places, self.chosen)

    @cached_property
    def classes(self) -> tuple[int, int]:
        """Number of subsets that do not meet a set, and of those that do."""
        missing = math.comb(self.size, self.chosen)
        return missing, math.comb(self.places, self.chosen) - missing

    @cached_property
    def _overlaps(self) -> tuple[tuple[int, int], ...]:
        """For 0, 1, 2, … common members: how many subsets of a set's members, and of the other places, there are."""
        return tuple(
            (math.comb(self.at_most, both), math.comb(self.size, self.chosen - both))
            for both in range(min(self.at_most, self.chosen) + 1)
        )

    @cached_property
    def rank_bytes(self) -> int:
        """Random bytes of a rank, for either class the same."""
        return rank_bytes(sum(self.classes))

    @cached_property
    def micro_epsilon(self) -> Micro:
        """ln of what a subset that meets the set is likelier than one that does not, and what ranks add, rounded up."""
        missing, meeting = self.classes
        odds = Fraction(self.meets_weight * missing, (TOTAL - self.meets_weight) * meeting) * _SLACK
        return micro_epsilon_of_ratio(odds.numerator, odds.denominator)

    def filled(self, value: int) -> int:
        """Return a set with the first dummies as further members, exactly `at_most` in all."""
        members = value.bit_count()
        if not 0 <= value < 1 << self.size or members > self.at_most:
            raise AnswerError(f"value must be a set of at most {self.at_most} of {self.size} items as an integer")
        return value | (1 << self.at_most - members) - 1 << self.size

    def draw(self, value: int, random: RandomBytes) -> bytes:
        """Return the packed subset: seven random bytes for its class, then those of a rank among the larger class."""
        filled = self.filled(value)
        meets = draw_53_bits(random) < self.meets_weight
        rank = rank_of(random(self.rank_bytes), self.classes[meets])
        return self.form.pack(self._subset(filled, rank, meets=meets))

    def _subset(self, filled: int, rank: int, *, meets: bool) -> int:
        """Return the subset of a class with this rank: by the number of common members, then members, then others."""
        both = int(meets)
        inside, outside = self._overlaps[both]
        while rank >= inside * outside:
            rank -= inside * outside
            both += 1
            inside, outside = self._overlaps[both]
        parts: tuple[list[int], list[int]] = ([], [])
        for place in range(self.places):
            parts[filled >> place & 1].append(place)
        own, other = divmod(rank, outside)
        members = (parts[1][place] for place in places_of_rank(own, self.at_most, both))
        others = (parts[0][place] for place in places_of_rank(other, self.size, self.chosen - both))
        return sum(1 << place for place in (*members, *others))

    def probability(self, output: Output, value: int) -> Fraction:
        """Return it as if ranks were drawn uniformly; ε allows for how far they are not."""
        meets = bool(as_int(output) & self.filled(value))
        return Fraction(self.meets_weight if meets else TOTAL - self.meets_weight, TOTAL * self.classes[meets])

    def best_guess(self, prior: Sequence[float] | None = None) -> float | None:
        """Any set that the subset meets, of all sets of at most so many items."""
        if prior is not None:
            return None
        sets = sum(math.comb(self.size, members) for members in range(self.at_most + 1))
        return float(Fraction(self.meets_weight * sum(self.classes), TOTAL * self.classes[1] * sets))

    def contrasts(self) -> tuple[tuple[Contrast, ...], ...]:
        """The first items against no item, whose places are dummies; others tick further items."""
        missing, meeting = self.classes
        every, further = missing + meeting, min(self.at_most, self.size - self.at_most)
        sets = [
            self.filled(value << start)
            for value, start in (((1 << self.at_most) - 1, 0), (0, 0), ((1 << further) - 1, self.at_most))
        ]

        def avoiding(marked: Pattern) -> int:
            taken = 0
            for each, mark in zip(sets, marked, strict=True):
                taken |= each * mark
            return math.comb(self.places - taken.bit_count(), self.chosen)

        chance = Fraction(self.meets_weight, TOTAL)
        inside, outside = chance * every / meeting, (1 - chance) * every / missing
        return ((two_level(of_counts(every, avoiding), inside, outside, third=further > 0, slack=_SLACK - 1),),)

    def level_odds(self, other: Channel, *, same_value: bool) -> Odds:
        """A subset that meets the set or not; of one set, ranks have the same law at both levels."""
        if not isinstance(other, PrivSet) or (other.size, other.form) != (self.size, self.form):
            raise EpsilonError("outputs of different form show the level: there is no finite leak")
        own, others = self.class_chances, other.class_chances
        if same_value:
            return [(max(mine / theirs for mine, theirs in zip(own, others, strict=True)), 1)]
        return [(max(mine / theirs for mine in own for theirs in others), 1), (_SLACK, 1)]

    @property
    def class_chances(self) -> tuple[Fraction, Fraction]:
        """Probability of one subset that misses the set, and of one that meets it."""
        missing, meeting = self.classes
        return Fraction(TOTAL - self.meets_weight, TOTAL * missing), Fraction(self.meets_weight, TOTAL * meeting)

    def held(self, count: int) -> tuple[Fraction, Fraction]:
        """Return how often a subset holds so many given items, if the set has one of them or more, and if it has none.

        It does not matter which of them the set has: a subset that holds one of its items meets it.
        """
        missing, meeting = self.classes
        chance = Fraction(self.meets_weight, TOTAL)
        if count > self.chosen:
            return Fraction(0), Fraction(0)
        every = math.comb(self.places - count, self.chosen - count)
        apart = math.comb(self.size - count, self.chosen - count)
        return chance * every / meeting, chance * (every - apart) / meeting + (1 - chance) * apart / missing

    def item_chances(self, item: int) -> tuple[Fraction, Fraction]:  # noqa: ARG002 - all items are alike
        """p and q."""
        return self.held(1)

    def item_variance(self, share: float) -> float:
        """π(1−π)/(p−q)², π = q + share·(p−q)."""
        p, q = map(float, self.held(1))
        return support_variance(p, q, share)

    @property
    def manipulation(self) -> float:
        """(1−q)/(p−q)."""
        p, q = self.held(1)
        return float((1 - q) / (p - q))


def _ideal_variance(size: int, at_most: int, chosen: int, epsilon: float, share: float) -> float:
    """Variance of an item's share before weights are rounded, from the share of subsets that miss a set."""
    places = size + at_most
    logarithms = (math.lgamma(number + 1) for number in (size, places - chosen, places, size - chosen))
    one, two, three, four = logarithms
    miss = math.exp(one + two - three - four)
    odds = math.exp(epsilon)
    whole = odds * (1 - miss) + miss
    held, apart = chosen / places, miss * chosen / size
    return support_variance(odds * held / whole, (odds * (held - apart) + apart) / whole, share)
