"""Subset selection with a budget per value: a report names some of the values that are protected alike."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import nsmallest
from itertools import pairwise
from typing import Any, Final, NamedTuple, Self

from pldp.epsilon import MICRO, Micro, checked_budgets, epsilon_text, exp_micro, micro_epsilon_of_ratio
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Channel, Odds, largest_odds
from pldp.mechanisms.contrast import Contrast, Hiding, hidden_among
from pldp.mechanisms.output import TOTAL, Output, RandomBytes, TieredBits, as_int
from pldp.mechanisms.response.values import ItemResponse
from pldp.mechanisms.subset.channel import NOISE_BYTES, SetReports, slack
from pldp.mechanisms.subset.sizes import best_designs

MOST_TIERS: Final = 6
"""Tiers that are compared two by two."""


class Tier(NamedTuple):
    """Values that hide among each other: `chosen` of them make a report, and `other_weight` is that of each."""

    chosen: int
    other_weight: int
    places: tuple[int, ...]

    @property
    def overlap(self) -> Fraction:
        """a = (d−1)/(s−1): how often a set that has one value of the tier has a given other one."""
        return Fraction(self.chosen - 1, max(1, len(self.places) - 1))


@dataclass(frozen=True, repr=False)
class ItemSubset(SetReports):
    """IPRR whose report hides the value that it names among d−1 random ones of the same *tier*.

    Values of equal budget ε form a tier of s values and sets of d. With r = s/d/(e^ε−1) of each tier, r = 0 and
    d = 1 for values without a budget, and S = 1/(1 + Σ r), a set y of the tier has

        Q(y|x) = S·r / C(s, d)  if x is not in y,  whatever its tier,        Q(y|x) = e^ε times that  if x is in y.

    So the promise is that of `ItemResponse`: a report changes the odds between any two values at most e^ε times, ε
    being the budget of the values in it. With d = 1 everywhere it *is* IPRR; with one budget it is subset selection.
    Close budgets may share a tier, which then keeps the smallest of them: with `of`, where that is more accurate.

    `other_weights` are those of the IPRR inside, o = 2⁵³·S/(d(e^ε−1)) rounded up, 2⁵³·S being what they leave; values
    with the same o and d are a tier, and ε = ln(1 + 2⁵³·S/(d·o)). The other values of a set are drawn by Floyd's
    algorithm from d−1 random numbers, which are uniform to within the slack that ε allows for (see `SubsetSelection`).

    References: Li, Zhu, Zhang, Xie, "Item-Oriented Personalized Local Differential Privacy for Discrete Distribution
    Estimation" (2023) for the promise; Ye, Barg, "Optimal Schemes for Discrete Distribution Estimation under Locally
    Differential Privacy" (2018) for the sets.

    >>> channel = ItemSubset.of([500_000] * 8 + [1_000_000] * 8 + [math.inf] * 2)
    >>> channel.chosen[0], channel.chosen[8], channel.chosen[16]
    (3, 3, 1)
    >>> [channel.promised(value) for value in (0, 8, 16)]
    [500000, 1000000, inf]
    """

    chosen: tuple[int, ...]
    other_weights: tuple[int, ...]

    mechanism = "subset_items"
    per_value = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.chosen) != self.size or min(self.chosen) < 1:
            raise EpsilonError(f"chosen must be {self.size} integers of at least 1")
        _ = self.named  # which checks the weights
        for chosen, weight, places in self.tiers:
            if chosen > 1 and (chosen >= len(places) or not weight):
                raise EpsilonError("chosen must leave out a value of each tier, and be 1 for values without a budget")

    @classmethod
    def of(cls, micro_epsilons: Sequence[Micro]) -> Self:
        """Build the most accurate channel whose reports have a true ε within the budget of every value in them."""
        return cls.of_tiers(_best_tiers(checked_budgets(micro_epsilons)))

    @classmethod
    def hideable(cls, size: int, budgets: Sequence[Any]) -> Iterator[tuple[Channel, ...]]:  # noqa: ARG003
        """Yield channels with the same tiers and sizes of sets for all levels: best for one of them, or between two."""
        tried = set()
        between = [
            [a if a == math.inf else math.isqrt(int(a) * int(b)) for a, b in zip(*pair, strict=True)]
            for pair in pairwise(budgets)
            if all((a == math.inf) == (b == math.inf) for a, b in zip(*pair, strict=True))
        ]
        for best in (*budgets, *between):
            designs = _best_tiers(checked_budgets(best))
            places: dict[tuple[Micro, int], list[int]] = {}
            for value, tier in enumerate(designs):
                places.setdefault(tier, []).append(value)
            key = tuple(sorted((tier[1], tuple(own)) for tier, own in places.items()))
            if key in tried:
                continue
            tried.add(key)
            levels = []
            for level in budgets:
                kept = {tier: min(level[value] for value in own) for tier, own in places.items()}
                levels.append([(kept[tier], tier[1]) for tier in designs])
            # Sets of several values need a budget at every level; a value without one at some level shows that level.
            if all(micro < math.inf or chosen == 1 for level in levels for micro, chosen in level):
                yield tuple(map(cls.of_tiers, levels))

    @classmethod
    def of_tiers(cls, tiers: Sequence[tuple[Micro, int]]) -> Self:
        """Build the channel from the budget of each value's tier and the size of its sets."""
        counts = Counter(tiers)
        odds = {tier: _other_odds(*tier, count) for tier, count in counts.items()}
        whole = 1 + sum(odds[tier] * count for tier, count in counts.items())
        weights = {tier: math.ceil(TOTAL * part / whole) for tier, part in odds.items()}
        others = tuple(weights[tier] for tier in tiers)
        if any(others) and sum(others) >= TOTAL:
            raise EpsilonError(f"budgets are too small for {len(tiers)} values: integer weights cannot tell them apart")
        return cls(len(tiers), tuple(chosen for _, chosen in tiers), others)

    @cached_property
    def named(self) -> ItemResponse:
        """The channel of the value that a set is made from."""
        return ItemResponse(self.size, self.other_weights)

    @cached_property
    def tiers(self) -> tuple[Tier, ...]:
        """The values that are protected alike, in the order of their first ones."""
        places: dict[tuple[int, int], list[int]] = {}
        for value, pair in enumerate(zip(self.chosen, self.other_weights, strict=True)):
            places.setdefault(pair, []).append(value)
        return tuple(Tier(*pair, tuple(own)) for pair, own in places.items())

    @cached_property
    def _homes(self) -> tuple[tuple[Tier, int], ...]:
        """The tier of each value and its place there."""
        found = {value: (own, rank) for own in self.tiers for rank, value in enumerate(own.places)}
        return tuple(found[value] for value in range(self.size))

    @cached_property
    def form(self) -> TieredBits:
        """Bits of one tier, as many of them 1 as it has chosen values; tiers of single values are one group."""
        masks: dict[tuple[int, int], int] = {}
        for own in self.tiers:
            key = (own.chosen, own.other_weight * (own.chosen > 1))
            masks[key] = masks.get(key, 0) | sum(1 << place for place in own.places)
        return TieredBits(self.size, tiers=tuple((mask, chosen) for (chosen, _), mask in masks.items()))

    @cached_property
    def _extremes(self) -> Sequence[int]:
        return nsmallest(2, range(self.size), key=lambda value: self.chosen[value] * self.other_weights[value])

    def promised(self, value: int) -> Micro:
        """A budget bounds what a report with the value tells: ln(1 + 2⁵³·S/(d·o)) and what drawing the set adds."""
        own = self._homes[value][0]
        other = own.chosen * own.other_weight
        allowed = slack(len(own.places), own.chosen - 1)
        return micro_epsilon_of_ratio((self.named.kept_weight + other) * allowed.numerator, other * allowed.denominator)

    def _evidence(self, value: int, other: int) -> Micro:  # noqa: ARG002 - the same for all
        """That of the sets that have it."""
        return self.promised(value)

    def output_micro_epsilon(self, output: Output) -> Micro:
        """That of any value in the set."""
        return self.promised(_first(output))

    @property
    def manipulation(self) -> float:
        """(1 − S·r)/S of the value with the smallest weight, as for IPRR."""
        return self.named.manipulation

    @property
    def equal_variance(self) -> float:
        """The mean variance of the shares of one report at equal shares 1/k.

        A set of a tier with overlap a has E ĝ² = ((1−2a)·π + a·Π)/(1−a) for the chance π that a value is named, Π
        being that of its tier.
        """
        kept = self.named.kept_weight / TOTAL
        total = 0.0
        for own in self.tiers:
            count, overlap = len(own.places), float(own.overlap)
            named = kept / self.size + own.other_weight / TOTAL
            total += count * named * ((1 + (count - 2) * overlap) / (1 - overlap) - named)
        return total / (self.size * kept * kept)

    def draw(self, value: int, random: RandomBytes) -> bytes:
        """Return the set from 7·d random bytes of the largest d: a number for the value it is made from, then others.

        The loop is as long for every value; what a smaller set does not need is drawn and dropped.
        """
        noise = random(NOISE_BYTES * max(self.chosen))
        named = self.named.draw(value, lambda count: noise[:count])
        (chosen, _, places), rank = self._homes[named]
        last = len(places) - 1
        bits, taken = 1 << named, 0
        for step, start in enumerate(range(NOISE_BYTES, len(noise), NOISE_BYTES), 1):
            count = last - chosen + 1 + step
            other = (int.from_bytes(noise[start : start + NOISE_BYTES], "little") >> 3) * count >> 53
            other = (other, count - 1)[taken >> other & 1]
            taken |= 1 << other
            bits |= (step < chosen) << places[min(other + (other >= rank), last)]
        return self.form.pack(bits)

    def probability(self, output: Output, value: int) -> Fraction:
        """Return it as if the other values were drawn uniformly; ε allows for how far they are not."""
        own = self._homes[_first(output)][0]
        weight = own.chosen * own.other_weight + self.named.kept_weight * self.supports(output, value)
        return Fraction(weight, TOTAL * math.comb(len(own.places) - 1, own.chosen - 1))

    def contrasts(self) -> tuple[tuple[Contrast, ...], ...]:
        """Two values of each two tiers, and of each tier, where these are few."""
        if len(self.tiers) > MOST_TIERS:
            return ()
        tiers = [Hiding(own.chosen, own.other_weight, len(own.places)) for own in self.tiers]
        places = [(tier, rank) for tier, own in enumerate(tiers) for rank in range(min(3, own.size))]
        firsts = [(tier, rank) for tier, rank in places if rank < 2]
        allowed = max(slack(own.size, own.chosen - 1) for own in tiers) - 1
        return tuple(
            (
                hidden_among(
                    tiers,
                    (one, two, next((each for each in places if each not in {one, two}), two)),
                    self.named.kept_weight,
                    TOTAL,
                    slack=allowed,
                ),
            )
            for one in firsts
            if not one[1]
            for two in firsts
            if two != one and two[1] == (two[0] == one[0])
        )

    def proof_chance(self, value: int) -> Fraction:
        """The truth's own part, where no noise names the value."""
        return Fraction(0) if self.other_weights[value] else Fraction(self.named.kept_weight, TOTAL)

    def family_odds(self, other: Any, *, same_value: bool) -> Odds:
        """A set with the value or without it, as for IPRR; channels of one form draw their sets in the same way.

        Sets with the value are as likely as their drawing makes them, which may differ from uniform by the slack.
        """
        weights = ([d * o for d, o in zip(each.chosen, each.other_weights, strict=True)] for each in (self, other))
        own, others = map(list, weights)
        kept, other_kept = self.named.kept_weight, other.named.kept_weight if same_value else 0
        truths = [
            (one + kept, two + other_kept) for one, two in zip(own, others, strict=True) if same_value or one or two
        ]
        most = max(slack(len(tier.places), tier.chosen - 1) for tier in self.tiers)
        return [*largest_odds((*truths, *zip(own, others, strict=True))), (most, 1)]


def _best_tiers(budgets: Sequence[Micro]) -> list[tuple[Micro, int]]:
    """Return for each value the budget of its tier and the size of its sets, with the least variance."""
    counts = Counter(budgets)
    tiers: dict[float, tuple[Micro, int]] = {}
    for design in best_designs([(micro / MICRO, counts[micro]) for micro in sorted(counts)]):
        smallest = design.budgets[0]
        kept = smallest if smallest == math.inf else round(smallest * MICRO)
        tiers |= dict.fromkeys(design.budgets, (kept, design.chosen))
    return [tiers[micro / MICRO] for micro in budgets]


def _first(output: Output) -> int:
    """Return the lowest value of a set."""
    bits = as_int(output)
    return (bits & -bits).bit_length() - 1


def _other_odds(micro: Micro, chosen: int, count: int) -> Fraction:
    """Return o/(2⁵³·S) of a tier: 1/(d(e^ε−1)), with the ε that drawing the set leaves."""
    if micro == math.inf:
        return Fraction(0)
    left = Fraction(exp_micro(micro)) / slack(count, chosen - 1) - 1
    if left <= 0:
        raise EpsilonError(f"epsilon {epsilon_text(micro)} is too small for sets of {chosen} among {count} values")
    return 1 / (chosen * left)
