"""Unary encoding: one bit per value, each bit flipped on its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from pldp.epsilon import Micro, micro_epsilon_of_ratio
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Odds, PureChannel
from pldp.mechanisms.contrast import Contrast, independent, two_level
from pldp.mechanisms.guessing import largest_mean
from pldp.mechanisms.output import BIT_TOTAL, BITS, Output, RandomBytes, as_int


@dataclass(frozen=True, repr=False)
class UnaryEncoding(PureChannel):
    """One-hot bits; the bit of the true value is sent as 1 with p, every other bit with q.

    Q(z|x) = Π_i q^{z_i}(1−q)^{1−z_i} with p in the place of q for i = x, and ε = ln p(1−q)/(q(1−p)).
    Bit i of the output belongs to value i; the weights are 2³²·p and 2³²·q.

    References: Erlingsson, Pihur, Korolova, "RAPPOR" (2014); Wang, Blocki, Li, Jha, "Locally Differentially Private
    Protocols for Frequency Estimation" (2017).
    """

    truth_weight: int
    other_weight: int

    total = BIT_TOTAL
    in_bits = True
    phrase = 'ticks "{label}" among other boxes'

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.other_weight < self.truth_weight < BIT_TOTAL:
            raise EpsilonError("weights must satisfy 0 < other < truth < 2^32")

    @classmethod
    def of(cls, size: int, micro_epsilon: int) -> Self:
        """Build the most accurate channel whose true ε is at most the given one."""
        return cls(size, *cls.whole_weights(size, micro_epsilon))

    @property
    def micro_epsilon(self) -> Micro:
        """ln p(1−q)/(q(1−p)), rounded up: the odds of the pair of bits in which two values differ."""
        return micro_epsilon_of_ratio(
            self.truth_weight * (BIT_TOTAL - self.other_weight), self.other_weight * (BIT_TOTAL - self.truth_weight)
        )

    @cached_property
    def _other_digits(self) -> list[int]:
        return [self.other_weight >> digit & 1 for digit in range(BITS)]

    def draw(self, value: int, random: RandomBytes) -> bytes:
        """Return the packed bits from 32·⌈k/8⌉ + 4 random bytes; the last four are the number of the true value's bit.

        It is `draw_bits` with one threshold for all bits. Time does not depend on the value or on the outcome of a bit.
        """
        length = (self.size + 7) // 8
        noise = random(BITS * length + 4)
        below, start = 0, 0
        read = int.from_bytes
        for digit in self._other_digits:
            end = start + length
            drawn = read(noise[start:end], "little")
            below = drawn | below if digit else drawn & below
            start = end
        true_bit = read(noise[start:], "little") < self.truth_weight
        below = below & ((1 << self.size) - 1 ^ 1 << value) | true_bit << value
        return below.to_bytes(length, "little")

    def probability(self, output: Output, value: int) -> Fraction:
        """Multiply the probabilities of all bits."""
        bits = as_int(output)
        ones = bits.bit_count()
        true_one = bits >> value & 1
        p, q = self.truth_support, self.other_support
        others = q ** (ones - true_one) * (1 - q) ** (self.size - 1 - ones + true_one)
        return others * (p if true_one else 1 - p)

    def contrasts(self) -> tuple[tuple[Contrast, ...], ...]:
        """Bits of any two values; those of others are as likely for both."""
        p, q = self.truth_support, self.other_support
        third = self.size > 2
        return ((two_level(independent(q), p / q, (1 - p) / (1 - q), third=third, common=False),),)

    def best_guess(self, prior: Sequence[float] | None = None) -> float:
        """The likeliest value whose bit is 1, or that of all if none is."""
        p, q, size = float(self.truth_support), float(self.other_support), self.size
        shares = [1 / size] * size if prior is None else list(prior)
        return largest_mean(
            [q] * size, [p / q * each for each in shares], [(1 - p) / (1 - q) * each for each in shares]
        )

    def family_odds(self, other: Any, *, same_value: bool) -> Odds:
        """Every bit tells as much as it can: those of the two values, and those of all others."""
        p, q, other_p, other_q = self.truth_support, self.other_support, other.truth_support, other.other_support
        if same_value:
            return [(bit_odds(p, other_p), 1), (bit_odds(q, other_q), self.size - 1)]
        return [(bit_odds(p, other_q), 1), (bit_odds(q, other_p), 1), (bit_odds(q, other_q), self.size - 2)]


@dataclass(frozen=True, repr=False)
class SymmetricUnaryEncoding(UnaryEncoding):
    """SUE (Basic RAPPOR, BRR): p = e^{ε/2}/(e^{ε/2}+1) and q = 1−p.

    >>> channel = SymmetricUnaryEncoding.of(16, 1_000_000)
    >>> round(float(channel.truth_support), 4), round(float(channel.other_support), 4), channel.micro_epsilon
    (0.6225, 0.3775, 1000000)
    """

    mechanism = "sue"

    @classmethod
    def other_odds(cls, size: int) -> tuple[int, int]:  # noqa: ARG003
        """1/(e^{ε/2} + 1)."""
        return 2, 1


@dataclass(frozen=True, repr=False)
class OptimisedUnaryEncoding(UnaryEncoding):
    """OUE: p = 1/2 and q = 1/(e^ε+1), the least variance for rare values.

    >>> import os
    >>> channel = OptimisedUnaryEncoding.of(16, 1_000_000)
    >>> len(channel.draw(3, os.urandom)), channel.micro_epsilon
    (2, 1000000)
    """

    mechanism = "oue"

    @classmethod
    def other_odds(cls, size: int) -> tuple[int, int]:  # noqa: ARG003
        """1/(e^ε + 1)."""
        return 1, 1

    @classmethod
    def truth_left(cls, size: int, other: Any, total: float) -> Any:  # noqa: ARG003
        """One half."""
        return total / 2 + 0 * other


def bit_odds(one: Fraction, two: Fraction) -> Fraction:
    """Return the larger ratio of a bit being 1 or 0 with these probabilities."""
    return max(one / two, (1 - one) / (1 - two))
