"""Unary encoding: one bit per value, each bit flipped on its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from pldp.epsilon import epsilon_text, exp_micro, micro_epsilon_of_ratio, share_rounded_up
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Output, PackedBits, PureChannel, RandomBytes, as_int

BITS = 32
"""Binary digits of a bit's probability: thresholds are integers below 2³²."""

TOTAL = 2**BITS


@dataclass(frozen=True)
class UnaryEncoding(PackedBits, PureChannel):
    """One-hot bits; the bit of the true value is sent as 1 with p, every other bit with q.

    Q(z|x) = Π_i q^{z_i}(1−q)^{1−z_i} with p in the place of q for i = x, and ε = ln p(1−q)/(q(1−p)).
    The output is packed: bit i of the output belongs to value i and stands in byte i//8 at place i%8 counted from
    the lowest (`int.to_bytes(…, "little")`, NumPy's `bitorder="little"`); unused bits of the last byte are 0.

    Attributes
    ----------
    size
        k, the number of values and of bits.
    truth_weight, other_weight
        2³²·p and 2³²·q.

    References
    ----------
    Erlingsson, Pihur, Korolova, "RAPPOR" (2014); Wang, Blocki, Li, Jha, "Locally Differentially Private Protocols for
    Frequency Estimation" (2017).
    """

    truth_weight: int
    other_weight: int

    mechanism: ClassVar[str] = "unary"

    def __post_init__(self) -> None:
        if self.size < 2:
            raise EpsilonError(f"size must be at least 2 values, not {self.size}")
        if not 0 < self.other_weight < self.truth_weight < TOTAL:
            raise EpsilonError("weights must satisfy 0 < other < truth < 2^32")

    @property
    def micro_epsilon(self) -> int | None:
        """ln p(1−q)/(q(1−p)), rounded up: the odds of the pair of bits in which two values differ."""
        return micro_epsilon_of_ratio(
            self.truth_weight * (TOTAL - self.other_weight), self.other_weight * (TOTAL - self.truth_weight)
        )

    @cached_property
    def truth_support(self) -> Fraction:
        """Probability that the bit of the true value is 1 (p)."""
        return Fraction(self.truth_weight, TOTAL)

    @cached_property
    def other_support(self) -> Fraction:
        """Probability that the bit of another value is 1 (q)."""
        return Fraction(self.other_weight, TOTAL)

    @cached_property
    def _other_digits(self) -> list[int]:
        """Binary digits of the other bits' threshold, lowest first."""
        return [self.other_weight >> digit & 1 for digit in range(BITS)]

    def draw(self, value: int, random: RandomBytes) -> bytes:
        """Return the packed bits from 32·⌈k/8⌉ + 4 random bytes.

        The comparisons "32-bit random number below the threshold" of all bits run side by side, one binary digit at
        a time from the lowest: where the threshold's digit is 1, a number is below if its digit is 0 or the digits so
        far are below; where it is 0, if both hold. (A uniform digit may stand for its opposite.) The last four bytes
        are the number of the true value's bit. Time does not depend on the value or on the outcome of a bit.
        """
        length = self.output_bytes
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

    def supports(self, output: Output, value: int) -> bool:
        """A value is supported when its bit is 1."""
        return bool(as_int(output) >> value & 1)

    def weights(self) -> Mapping[str, int]:
        """Return `truth` and `other`, in units of 2⁻³²."""
        return {"other": self.other_weight, "truth": self.truth_weight}


@dataclass(frozen=True)
class SymmetricUnaryEncoding(UnaryEncoding):
    """SUE (Basic RAPPOR, BRR): p = e^{ε/2}/(e^{ε/2}+1) and q = 1−p.

    >>> channel = SymmetricUnaryEncoding.of(16, 1_000_000)
    >>> round(float(channel.truth_support), 4), round(float(channel.other_support), 4), channel.micro_epsilon
    (0.6225, 0.3775, 1000000)
    """

    mechanism: ClassVar[str] = "sue"

    @classmethod
    def of(cls, size: int, micro_epsilon: int) -> SymmetricUnaryEncoding:
        """Build the most accurate channel whose true ε is at most the given one."""
        other_weight = share_rounded_up(TOTAL, exp_micro(micro_epsilon, 2), 1)
        return cls(size, _above(TOTAL - other_weight, other_weight, micro_epsilon), other_weight)


@dataclass(frozen=True)
class OptimisedUnaryEncoding(UnaryEncoding):
    """OUE: p = 1/2 and q = 1/(e^ε+1), the least variance for rare values.

    >>> import os
    >>> channel = OptimisedUnaryEncoding.of(16, 1_000_000)
    >>> len(channel.draw(3, os.urandom)), channel.micro_epsilon
    (2, 1000000)
    """

    mechanism: ClassVar[str] = "oue"

    @classmethod
    def of(cls, size: int, micro_epsilon: int) -> OptimisedUnaryEncoding:
        """Build the most accurate channel whose true ε is at most the given one."""
        other_weight = share_rounded_up(TOTAL, exp_micro(micro_epsilon), 1)
        return cls(size, _above(TOTAL // 2, other_weight, micro_epsilon), other_weight)


def _above(truth_weight: int, other_weight: int, micro_epsilon: int) -> int:
    if truth_weight <= other_weight:
        raise EpsilonError(
            f"epsilon {epsilon_text(micro_epsilon)} is too small: 32-bit weights cannot keep it apart from 0"
        )
    return truth_weight
