"""Block designs: a report names a block of values, and all blocks that contain the value are equally likely.

The blocks are made of hyperplanes of a finite geometry. The points of the projective space over the field of a prime
q are the vectors whose last coordinate that is not 0 is a 1. They are numbered by their coordinates: the point (1) is
number 0, and (x₀, x₁, …) is number 1 + x₀ + q·(number of (x₁, …)), so that a number does not depend on zeros that
follow, and the numbers of points with j more coordinates than the point h are q^j·h + points(j) … + q^j − 1. A
hyperplane is a point u too; it contains x where Σ u_i x_{t−1−i} = 0 mod q (of t coordinates). Because one of the two
vectors is read backwards, all hyperplanes that contain x are found by solving one coordinate, without a division.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import count, islice
from typing import Any, ClassVar, NamedTuple, Self

from pldp.epsilon import Micro, exp_micro, micro_epsilon_of_ratio, share_rounded_up
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Channel, Odds, PureChannel
from pldp.mechanisms.output import TOTAL, Integers, Output, RandomBytes, as_int
from pldp.mechanisms.subset.channel import best_chosen, spread

INDEX_BITS = 128
"""Random bits from which a block is picked."""

LARGEST_TABLE = 2**27
"""Blocks that a collector counts one by one; orders with more are not used by choice."""

LARGEST_OUTPUT = 2**53
"""Outputs stay exact in JavaScript numbers."""

NEARLY = 1.005
"""Of all orders whose variance is at most so many times the least one, that with the fewest blocks is taken."""

FURTHEST = 1.029
"""Variance over the least one that any channel has, beyond which a larger table is worth it."""


class Design(NamedTuple):
    """How many blocks there are, how many contain a given value, and how many contain two given values."""

    blocks: int
    own: int
    common: int

    def supports(self, truth: Any) -> tuple[Any, Any]:
        """Return p and q if a block contains the value with this probability."""
        strangers = (1 - truth) * (self.own - self.common) / (self.blocks - self.own)
        return truth, truth * self.common / self.own + strangers


@dataclass(frozen=True, repr=False)
class BlockChannel(PureChannel):
    """A report names a block: with weight a = `truth_weight` of 2⁵³ one that contains the value, else one of the rest.

    Of N blocks, c contain a value and λ contain two given values. All that contain the value are equally likely, and so
    are all others: p = a/2⁵³, q = p·λ/c + (1−p)(c−λ)/(N−c). A number of 128 random bits picks the block: ⌊2¹²⁸/c⌋ or
    ⌈2¹²⁸/c⌉ of these numbers stand for a block that contains the value; for the others it is N−c in the place of c.
    Hence ε = ln a⌈2¹²⁸/c⌉ / ((2⁵³−a)⌊2¹²⁸/(N−c)⌋): this rounding is counted.
    """

    order: int
    truth_weight: int

    total = TOTAL
    least_order: ClassVar[int] = 2
    largest_order: ClassVar[int] = LARGEST_TABLE
    least_length: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.least_order <= self.order < LARGEST_TABLE or not is_prime(self.order):
            raise EpsilonError(f"order must be a prime from {self.least_order} to 2^27, not {self.order}")
        if self.design.blocks > LARGEST_OUTPUT:
            raise EpsilonError(f"size must leave outputs below 2^53, not {self.size}")
        if not 0 < self.lower < self.upper:
            raise EpsilonError(
                f"truth must be below 2^53 and make blocks with the value more likely, not {self.truth_weight}"
            )

    @classmethod
    @abstractmethod
    def capacity(cls, order: int, length: int) -> int:
        """Return how many values vectors of this length can stand for."""

    @classmethod
    @abstractmethod
    def design_of(cls, order: int, length: int) -> Design:
        """Count the blocks."""

    @staticmethod
    @abstractmethod
    def ideal_order(odds: float) -> float:
        """Return the order with the least variance for e^ε, if it could be any number."""

    @classmethod
    def suits(cls, size: int, *, hidden: bool = False) -> bool:  # noqa: ARG003
        """Its variance is close to the least one, and its reports are short, whatever the number of values."""
        return True

    @classmethod
    def hideable(cls, size: int, budgets: Sequence[int]) -> Iterator[tuple[Channel, ...]]:
        """Yield channels with one order for all levels: the best of each level, and the small ones."""
        best = {cls.of(size, micro).order for micro in budgets}
        small = set(islice(primes_from(cls.least_order), 4))
        for order in sorted(best | small):
            yield tuple(cls.of(size, micro, order) for micro in budgets)

    @classmethod
    def ideal_supports(cls, size: int, epsilon: float) -> tuple[float, float]:
        """Return p and q of the order with the least variance."""
        odds = math.exp(epsilon)
        found = [_ideal(cls._design(size, order), odds) for order in cls._orders(size, odds)]
        return min(found, key=lambda supports: _variance(size, *supports))

    @classmethod
    def of(cls, size: int, micro_epsilon: int, order: int | None = None) -> Self:
        """Build the channel of nearly the least variance (or of this order) whose true ε is at most the given one."""
        order = order or cls._best_order(max(size, 2), float(exp_micro(micro_epsilon)))
        most, least = _picks(cls._design(size, order))
        rest = share_rounded_up(TOTAL, exp_micro(micro_epsilon) * least / most, 1)
        return cls(size, order, TOTAL - rest)

    @classmethod
    def _best_order(cls, size: int, odds: float) -> int:
        """Of the orders that have nearly the least variance, return that with the fewest blocks.

        None that is further from the optimum than `FURTHEST` is taken if another one is nearer.
        """
        designs = {order: cls._design(size, order) for order in cls._orders(size, odds)}
        variances = {order: _variance(size, *_ideal(design, odds)) for order, design in designs.items()}
        least, epsilon = min(variances.values()), math.log(odds)
        optimum = spread(size, best_chosen(size, epsilon), epsilon)
        most = min(NEARLY * least, max(least, FURTHEST * optimum))
        return min((order for order in designs if variances[order] <= most), key=lambda order: designs[order].blocks)

    @classmethod
    def _orders(cls, size: int, odds: float) -> set[int]:
        """For every length, return the least order, and those on both sides of the ideal one as far as it can be."""
        ideal = cls.ideal_order(odds)
        found = {
            prime
            for low, high in _ranges(cls, size)
            for prime in {low, *_primes_around(min(max(ideal, low), high))}
            if low <= prime <= high
        }
        return found or {cls.least_order}

    @classmethod
    def length_of(cls, size: int, order: int) -> int:
        """Return the smallest length of vectors that can stand for so many values."""
        return next(length for length in count(cls.least_length) if cls.capacity(order, length) >= size)

    @classmethod
    def _design(cls, size: int, order: int) -> Design:
        return cls.design_of(order, cls.length_of(size, order))

    @cached_property
    def length(self) -> int:
        """t, the number of coordinates."""
        return self.length_of(self.size, self.order)

    @cached_property
    def powers(self) -> tuple[int, ...]:
        """1, q, q², … up to the length."""
        return tuple(self.order**place for place in range(self.length + 1))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The number of the first point that has each number of coordinates more than one."""
        return tuple(points(self.order, place) for place in range(self.length + 1))

    @cached_property
    def design(self) -> Design:
        """The numbers of blocks."""
        return self.design_of(self.order, self.length)

    @cached_property
    def form(self) -> Integers:
        """One integer: the number of a block."""
        return Integers(self.design.blocks)

    @cached_property
    def _picks(self) -> tuple[int, int]:
        return _picks(self.design)

    @cached_property
    def upper(self) -> int:
        """2¹⁸¹ times the largest probability of a block that contains the value."""
        return self.truth_weight * self._picks[0]

    @cached_property
    def lower(self) -> int:
        """2¹⁸¹ times the smallest probability of a block that does not."""
        return (TOTAL - self.truth_weight) * self._picks[1]

    @property
    def micro_epsilon(self) -> Micro:
        """The logarithm of the ratio of the two, rounded up."""
        return micro_epsilon_of_ratio(self.upper, self.lower)

    @cached_property
    def other_support(self) -> Fraction:
        """Probability that a block contains a given other value (q), to within 2⁻¹²⁸ per block."""
        return Fraction(self.design.supports(self.truth_support)[1])

    @abstractmethod
    def block(self, value: int, number: int, *, rest: bool) -> int:
        """Return the block of this number among those that contain the value, or among the rest."""

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return a block from 16 + 7 random bytes: its number, and whether it contains the value."""
        noise = random(INDEX_BITS // 8 + 7)
        rest = int.from_bytes(noise[INDEX_BITS // 8 :], "little") >> 3 >= self.truth_weight
        among = (self.design.own, self.design.blocks - self.design.own)[rest]
        number = int.from_bytes(noise[: INDEX_BITS // 8], "little") * among >> INDEX_BITS
        return self.block(value, number, rest=rest)

    @abstractmethod
    def number_of(self, block: int, value: int) -> int:
        """Return the number of a block among those that contain the value, or among the rest: undo `block`."""

    def probability(self, output: Output, value: int) -> Fraction:
        """The share of random numbers that pick the block among its kind, times that of its kind."""
        block, design = as_int(output), self.design
        inside = self.supports(block, value)
        among = design.own if inside else design.blocks - design.own
        number, scale = self.number_of(block, value), 2**INDEX_BITS
        numbers = -(-(number + 1) * scale // among) + (-number * scale // among)
        return Fraction(numbers, scale) * (self.truth_support if inside else 1 - self.truth_support)

    def family_odds(self, other: Any, *, same_value: bool) -> Odds:
        """For one value, a block has the same number in both; for two, the likeliest stands against the least."""
        if self.order != other.order:
            raise EpsilonError("outputs of different orders show the level: there is no finite leak")
        if same_value:
            truth, other_truth = self.truth_support, other.truth_support
            return [(max(truth / other_truth, (1 - truth) / (1 - other_truth)), 1)]
        return [(Fraction(self.upper, other.lower), 1)]


def points(order: int, length: int) -> int:
    """Return the number of points with so many coordinates, (q^t − 1)/(q − 1)."""
    return int(order ** max(length, 0) - 1) // (order - 1)


def vector_of(starts: Sequence[int], powers: Sequence[int], point: int) -> int:
    """Return the coordinates of a point as the digits of one number, the lowest first; its highest digit is a 1."""
    last = bisect_right(starts, point) - 1
    return point - starts[last] + powers[last]


def product(powers: Sequence[int], one: int, two: int, length: int) -> int:
    """Return Σ one_i two_{t−1−i} of the digits of two numbers, with the same steps whatever they are."""
    order, total = powers[1], 0
    for power, opposite in zip(powers[:length], powers[length - 1 :: -1], strict=True):
        total += (one // power % order) * (two // opposite % order)
    return total


@lru_cache(maxsize=4096)
def is_prime(number: int) -> bool:
    """Tell whether a number is prime, by division."""
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def primes_from(number: int) -> Iterator[int]:
    """Yield the primes that are not below a number."""
    return filter(is_prime, count(number))


def _primes_around(number: float) -> set[int]:
    below = next((prime for prime in range(int(number), 1, -1) if is_prime(prime)), 2)
    return {below, next(primes_from(math.ceil(number)))}


@lru_cache(maxsize=256)
def _ranges(cls: type[BlockChannel], size: int) -> tuple[tuple[int, int], ...]:
    """For every length, return the least order that can take the values, and the largest one worth a look."""
    found, high = [], cls.largest_order
    for length in count(cls.least_length):
        orders = range(cls.least_order, high + 1)
        low = orders[0] + bisect_left(orders, size, key=lambda order: cls.capacity(order, length))
        most = orders[0] + bisect_right(orders, LARGEST_TABLE, key=lambda order: cls.design_of(order, length).blocks)
        low = next(primes_from(low))
        found.append((low, min(high, most - 1)))
        high = min(low, high)
        if low == cls.least_order:
            return tuple((low, high) for low, high in found if low <= high)
    raise AssertionError


def _picks(design: Design) -> tuple[int, int]:
    """Return the largest count of random numbers that pick a block with the value, and the smallest for the others."""
    scale = 2**INDEX_BITS
    return -(-scale // design.own), scale // (design.blocks - design.own)


def _ideal(design: Design, odds: float) -> tuple[float, float]:
    """Return p and q before rounding: every block with the value is e^ε times as likely as every other."""
    inside = odds * design.own
    p, q = design.supports(inside / (inside + design.blocks - design.own))
    return p, q


def _variance(size: int, p: float, q: float) -> float:
    """Return the variance of a share of 1/k from one report."""
    support = q + (p - q) / size
    return support * (1 - support) / (p - q) ** 2
