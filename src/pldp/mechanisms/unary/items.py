"""Unary encoding with bit probabilities per value: a budget per value that holds between any two values."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import groupby, islice, product
from math import ceil, floor
from typing import Any, Final, Self

from pldp.epsilon import MICRO, Micro, checked_budgets, epsilon_text, micro_epsilon_of_ratio
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Odds, SupportChannel, micro_epsilon_between
from pldp.mechanisms.contrast import Contrast
from pldp.mechanisms.guessing import largest_mean
from pldp.mechanisms.output import BIT_TOTAL, BITS, Output, RandomBytes, as_int, digit_masks, draw_bits
from pldp.mechanisms.unary.channel import bit_odds
from pldp.mechanisms.unary.optimum import Model, idue_optimum

MOST_EXTREMES: Final = 8
"""Values that are compared two by two."""


@dataclass(frozen=True, repr=False)
class ItemUnaryEncoding(SupportChannel):
    """IDUE: one-hot bits; bit i is sent as 1 with a_i if i is the value, else with b_i.

    Two values x and x' differ in two bits, so a report changes the odds between them at most by the larger of
    a_x(1−b_x')/(b_x(1−a_x')) and the same with x and x' exchanged. `of` keeps this within the *smaller* of the two
    budgets (MinID-LDP): a value's budget holds against every other value, whatever is reported. Plain ε is therefore at
    most twice the smallest budget. The weights are 2³²·a and 2³²·b; outputs are packed as in `UnaryEncoding`.

    Reference: Gu, Li, Xiong, Cao, "Providing Input-Discriminative Protection for Local Differential Privacy" (2020).

    >>> channel = ItemUnaryEncoding.of([500_000, 1_000_000, 2_000_000, 2_000_000], "opt1")
    >>> channel.pair_micro_epsilon(0, 3), channel.pair_micro_epsilon(2, 3), channel.micro_epsilon
    (500000, 590540, 590540)
    """

    truth_weights: tuple[int, ...]
    other_weights: tuple[int, ...]

    mechanism = "idue"
    total = BIT_TOTAL
    per_value = True
    in_bits = True
    phrase = 'ticks "{label}" among other boxes'

    def __post_init__(self) -> None:
        super().__post_init__()
        if not len(self.truth_weights) == len(self.other_weights) == self.size:
            raise EpsilonError(f"weights must be {self.size} integers each")
        if not all(0 < b < a < BIT_TOTAL for a, b in self._bits):
            raise EpsilonError("weights of every value must satisfy 0 < other < truth < 2^32")

    @classmethod
    def of(cls, micro_epsilons: Sequence[Micro], model: Model = "opt0") -> Self:
        """Build the channel of least error whose true ε between two values is at most the smaller of their budgets.

        Probabilities come from `idue_optimum`; a is rounded down and b up, and both steps lower every ratio above. The
        bounds are then checked on the integers.
        """
        budgets = [int(micro) for micro in checked_budgets(micro_epsilons) if micro < math.inf]
        if len(budgets) < len(micro_epsilons):
            raise EpsilonError("budgets must be given for every value for idue; iprr takes values without one")
        count = Counter(budgets)
        levels = sorted(count)
        found = _optimum(tuple(micro / MICRO for micro in levels), tuple(count[micro] for micro in levels), model)
        weights = {m: (floor(a * BIT_TOTAL), ceil(b * BIT_TOTAL)) for m, (a, b) in zip(levels, found, strict=True)}
        for one, two in product(levels, repeat=2):
            kept = _micro_epsilon(weights[one], weights[two])
            if kept > min(one, two):
                raise EpsilonError(f"epsilon {epsilon_text(min(one, two))} is too small for 32-bit weights to keep it")
        return cls(len(budgets), tuple(weights[m][0] for m in budgets), tuple(weights[m][1] for m in budgets))

    @cached_property
    def _bits(self) -> list[tuple[int, int]]:
        return list(zip(self.truth_weights, self.other_weights, strict=True))

    @cached_property
    def _extremes(self) -> Sequence[int]:
        """Two values, where there are so many, of each pair of weights."""
        places = sorted(range(self.size), key=self._bits.__getitem__)
        return [place for _, same in groupby(places, self._bits.__getitem__) for place in islice(same, 2)]

    def _evidence(self, value: int, other: int) -> Micro:
        return _micro_epsilon(self._bits[value], self._bits[other])

    def output_micro_epsilon(self, output: Output) -> Micro:
        """The odds of the value that the bits speak for most against the one they speak for least."""
        kinds = set(zip(self._bits, self._ones(output), strict=True))
        ratios = [Fraction(a, b) if one else Fraction(BIT_TOTAL - a, BIT_TOTAL - b) for (a, b), one in kinds]
        return micro_epsilon_between(min(ratios), max(ratios))

    def _ones(self, output: Output) -> list[int]:
        bits = as_int(output)
        return [bits >> value & 1 for value in range(self.size)]

    @cached_property
    def _other_digits(self) -> list[int]:
        return digit_masks(self.other_weights)

    def draw(self, value: int, random: RandomBytes) -> bytes:
        """Return the packed bits from 32·⌈k/8⌉ + 4 random bytes, as `UnaryEncoding.draw` with a threshold per bit."""
        length = (self.size + 7) // 8
        noise = random(BITS * length + 4)
        below = draw_bits(noise, length, self._other_digits)
        true_bit = int.from_bytes(noise[BITS * length :], "little") < self.truth_weights[value]
        below = below & ((1 << self.size) - 1 ^ 1 << value) | true_bit << value
        return below.to_bytes(length, "little")

    def probability(self, output: Output, value: int) -> Fraction:
        """Multiply the probabilities of all bits."""
        rates = [*self.other_supports[:value], self.truth_supports[value], *self.other_supports[value + 1 :]]
        ones = self._ones(output)
        return math.prod((rate if one else 1 - rate for rate, one in zip(rates, ones, strict=True)), start=Fraction(1))

    @property
    def equal_variance(self) -> float:
        """The mean of π(1−π)/(a−b)² over values, π = b + (a−b)/k."""
        total = 0.0
        for truth, other in self._bits:
            contrast = (truth - other) / BIT_TOTAL
            support = other / BIT_TOTAL + contrast / self.size
            total += support * (1 - support) / contrast**2
        return total / self.size

    def contrasts(self) -> tuple[tuple[Contrast, ...], ...]:
        """Two values of each two pairs of weights, where these are few."""
        extremes = self._extremes
        if len(extremes) > MOST_EXTREMES:
            return ()
        least = min(Fraction(BIT_TOTAL - a, BIT_TOTAL - b) for a, b in set(self._bits))
        return tuple(
            (
                self._contrast(
                    (one, two, next((each for each in range(self.size) if each not in {one, two}), two)), least
                ),
            )
            for one in extremes
            for two in extremes
            if one != two
        )

    def _contrast(self, values: tuple[int, int, int], least: Fraction) -> Contrast:
        """Bits of three values; `least` is how much less likely any bits are for some value than by chance."""
        named = tuple(dict.fromkeys(values))
        columns: list[list[Fraction]] = [[], [], [], []]
        for ones in product((0, 1), repeat=len(named)):
            chance = [
                self.other_supports[value] if one else 1 - self.other_supports[value]
                for value, one in zip(named, ones, strict=True)
            ]
            base = math.prod(chance, start=Fraction(1))
            odds = {
                value: (self.truth_supports[value] if one else 1 - self.truth_supports[value]) / own
                for value, one, own in zip(named, ones, chance, strict=True)
            }
            for column, factor in zip(columns, [*(odds[value] for value in values), least], strict=True):
                column.append(base * factor)
        one, two, third, blanket = map(tuple, columns)
        return Contrast(one, two, third, blanket, common=False)

    def best_guess(self, prior: Sequence[float] | None = None) -> float:
        """The value whose bit speaks for it most, in view of its share."""
        shares = [1 / self.size] * self.size if prior is None else list(prior)
        pairs = list(zip(map(float, self.truth_supports), map(float, self.other_supports), shares, strict=True))
        high, low = [a / b * each for a, b, each in pairs], [(1 - a) / (1 - b) * each for a, b, each in pairs]
        return largest_mean([b for _, b, _ in pairs], high, low)

    def family_odds(self, other: Any, *, same_value: bool) -> Odds:
        """Every bit tells as much as it can: those of the two values, and those of all others."""
        kinds = Counter(zip(self._bits, other._bits, strict=True))  # noqa: SLF001 - of its own family
        noise = {kind: _odds(kind[0][1], kind[1][1]) for kind in kinds}
        found = [(odds, kinds[kind]) for kind, odds in noise.items()]
        # What the bits of the true values tell more than they would tell as bits of others.
        if same_value:
            return [*found, (max(_odds(kind[0][0], kind[1][0]) / noise[kind] for kind in kinds), 1)]
        ones = {kind: _odds(kind[0][0], kind[1][1]) / noise[kind] for kind in kinds}
        twos = {kind: _odds(kind[0][1], kind[1][0]) / noise[kind] for kind in kinds}
        pairs = (ones[one] * twos[two] for one, two in product(kinds, repeat=2) if one != two or kinds[one] > 1)
        return [*found, (max(pairs), 1)]


def _odds(one: int, two: int) -> Fraction:
    """Return the larger ratio of a bit being 1 or 0 with these weights."""
    return bit_odds(Fraction(one, BIT_TOTAL), Fraction(two, BIT_TOTAL))


@lru_cache(256)
def _optimum(epsilons: tuple[float, ...], values: tuple[int, ...], model: Model) -> tuple[tuple[float, float], ...]:
    """Return a and b of each level. It takes tenths of a second, and the same survey is often read again."""
    return tuple(zip(*idue_optimum(epsilons, values, model), strict=True))


def _micro_epsilon(one: tuple[int, int], two: tuple[int, int]) -> Micro:
    """ln a(1−b')/(b(1−a')): how much a report with bit 1 of the one and bit 0 of the other speaks for the one."""
    return micro_epsilon_of_ratio(one[0] * (BIT_TOTAL - two[1]), one[1] * (BIT_TOTAL - two[0]))
