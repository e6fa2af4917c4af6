"""Local hashing with linear hash functions: one small integer per report, whatever the number of values."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from pldp.epsilon import Micro, exp_micro
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Channel, Odds, PureChannel
from pldp.mechanisms.contrast import Contrast, grouped, independent, mixed, two_level
from pldp.mechanisms.output import TOTAL, Integers, Output, RandomBytes, as_int
from pldp.mechanisms.response.channel import RandomizedResponse

INDEX_BITS = 128
"""Random bits from which a hash function is picked: its probability is uniform to within 2⁻¹²⁸."""

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61)
"""Numbers of buckets on offer; beyond 61 (ε above 4) randomized response or unary encoding serve better."""

LARGEST_TABLE = 2**27
"""Outputs that a collector counts one by one; more buckets than that allows are not used by choice."""

LARGEST_OUTPUT = 2**53
"""Outputs stay exact in JavaScript numbers."""


@dataclass(frozen=True, repr=False)
class LinearHashing(PureChannel):
    """LH: hash the value into one of g buckets with a random linear function, then perturb the bucket with k-RR.

    Write the value as t digits x_1 … x_t in base g (g prime, g^t ≥ k) and pick a random vector a of t digits.
    The bucket is ⟨a, x⟩ = Σ a_i x_i mod g; the report is a and the bucket after g-ary randomized response, together
    one integer: (index of a)·g + bucket. For x ≠ x' the buckets agree for exactly one vector in g, so
    p = e^ε/(e^ε+g−1), q = 1/g, and with g near e^ε+1 the variance is that of optimal local hashing (OLH).
    g = 2 is the Hadamard response. Because the hash is linear, a collector adds up the reports of each output and
    finds the support of *all* values with one fast transform, instead of hashing every value for every report.

    The vector a does not depend on the value, hence ε = ln(truth weight / other weight) of the bucket; the other weight
    is 2⁵³ times the probability of each wrong bucket.

    References: Wang, Blocki, Li, Jha, "Locally Differentially Private Protocols for Frequency Estimation" (2017);
    Acharya, Sun, Zhang, "Hadamard Response" (2019); Feldman, Nelson, Nguyen, Talwar, "Private Frequency Estimation via
    Projective Geometry" (2022).

    >>> channel = LinearHashing.of(1000, 1_000_000)
    >>> channel.buckets, channel.digits, channel.form.count
    (3, 7, 6561)
    >>> channel.micro_epsilon
    1000000
    """

    buckets: int
    other_weight: int

    mechanism = "lh"
    total = TOTAL
    phrase = 'names a group of answers that contains "{label}"'

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.buckets not in PRIMES:
            raise EpsilonError(f"buckets must be a prime of at most {PRIMES[-1]}, not {self.buckets}")
        if self.form.count > LARGEST_OUTPUT:
            raise EpsilonError(f"size must leave outputs below 2^53, not {self.size}")
        RandomizedResponse(self.buckets, self.other_weight)

    @classmethod
    def suits(cls, size: int, *, hidden: bool = False) -> bool:  # noqa: ARG003
        """Its reports are short whatever the number of values."""
        return True

    @classmethod
    def hideable(cls, size: int, budgets: Sequence[int]) -> Iterator[tuple[Channel, ...]]:
        """Yield channels with one number of buckets for all levels."""
        for buckets in PRIMES[:6]:
            yield tuple(cls.of(size, micro, buckets) for micro in budgets)

    @classmethod
    def ideal_supports(cls, size: int, epsilon: float) -> tuple[float, float]:  # noqa: ARG003
        """Return p and q of the best number of buckets, whatever the number of values."""
        buckets = _best_buckets(PRIMES, math.exp(epsilon))
        return RandomizedResponse.ideal_supports(buckets, epsilon)[0], 1 / buckets

    @classmethod
    def of(cls, size: int, micro_epsilon: int, buckets: int | None = None) -> Self:
        """Build the channel with the least variance (or so many buckets) whose true ε is at most the given one."""
        if buckets is None:
            small = [g for g in PRIMES if _outputs(g, size) <= LARGEST_TABLE] or [PRIMES[0]]
            buckets = _best_buckets(small, float(exp_micro(micro_epsilon)))
        return cls(size, buckets, RandomizedResponse.of(buckets, micro_epsilon).other_weight)

    @cached_property
    def bucket_channel(self) -> RandomizedResponse:
        """The randomized response that perturbs the bucket."""
        return RandomizedResponse(self.buckets, self.other_weight)

    @cached_property
    def digits(self) -> int:
        """t, the number of base-g digits of a value."""
        return _digits(self.buckets, self.size)

    @cached_property
    def form(self) -> Integers:
        """g^t vectors times g buckets."""
        return Integers(_outputs(self.buckets, self.size))

    @property
    def micro_epsilon(self) -> Micro:
        """ε of the bucket's randomized response."""
        return self.bucket_channel.micro_epsilon

    @cached_property
    def truth_support(self) -> Fraction:
        """Probability that the bucket is the value's own (p)."""
        return self.bucket_channel.truth_support

    @cached_property
    def other_support(self) -> Fraction:
        """Probability that the bucket is that of a given other value: 1/g."""
        return Fraction(1, self.buckets)

    def bucket(self, index: int, value: int) -> int:
        """⟨a, x⟩ mod g of the vector with this index and of the value."""
        total = 0
        for _ in range(self.digits):
            index, a = divmod(index, self.buckets)
            value, x = divmod(value, self.buckets)
            total += a * x
        return total % self.buckets

    def index_of(self, noise: bytes) -> int:
        """Return the index of the vector that 16 random bytes pick."""
        return int(int.from_bytes(noise, "little") * self.buckets**self.digits >> INDEX_BITS)

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return vector and bucket as one integer, from 16 + 7 random bytes."""
        index = self.index_of(random(INDEX_BITS // 8))
        return int(index * self.buckets + self.bucket_channel.draw(self.bucket(index, value), random))

    def probability(self, output: Output, value: int) -> Fraction:
        """Probability of the vector times that of the bucket."""
        index, bucket = divmod(as_int(output), self.buckets)
        vectors = self.buckets**self.digits
        scale = 2**INDEX_BITS
        numbers = -(-(index + 1) * scale // vectors) + (-index * scale // vectors)
        return Fraction(numbers, scale) * self.bucket_channel.probability(bucket, self.bucket(index, value))

    def supports(self, output: Output, value: int) -> bool:
        """All values that fall into the reported bucket are supported."""
        index, bucket = divmod(as_int(output), self.buckets)
        return self.bucket(index, value) == bucket

    def contrasts(self) -> tuple[tuple[Contrast, ...], ...]:
        """Values 0, 1 and g: their buckets are independent. With one digit: 0, 1 and 2, alike for the vector 0 only."""
        buckets = self.buckets
        inside, outside = (each * buckets for each in (self.truth_support, self.bucket_channel.other_support))
        measure = independent(Fraction(1, buckets))
        if self.digits == 1:
            alike = Fraction(1, buckets)
            apart = grouped((0, 1, 2 % buckets), buckets, 1)
            measure = mixed([(alike, grouped((0, 0, 0), buckets, 1)), (1 - alike, apart)])
        return ((two_level(measure, inside, outside, third=self.size > 2),),)

    def family_odds(self, other: Any, *, same_value: bool) -> Odds:
        """The vector does not depend on the value: what the bucket tells."""
        return self.bucket_channel.level_odds(other.bucket_channel, same_value=same_value)


def _best_buckets(primes: Sequence[int], odds: float) -> int:
    return min(primes, key=lambda g: (odds + g - 1) ** 2 / (g - 1))


def _digits(buckets: int, size: int) -> int:
    digits = 1
    while buckets**digits < size:
        digits += 1
    return digits


def _outputs(buckets: int, size: int) -> int:
    return int(buckets ** (_digits(buckets, size) + 1))
