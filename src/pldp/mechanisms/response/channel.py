"""k-ary randomized response: say the truth most often, any other value otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from pldp.epsilon import epsilon_text, exp_micro, micro_epsilon_of_ratio, share_rounded_up
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Output, PureChannel, RandomBytes

TOTAL = 2**53
"""Sum of the weights of one value: one draw of 53 bits, exact also in JavaScript numbers."""

DRAW_BYTES = 7


def draw_53_bits(random: RandomBytes) -> int:
    """Return a uniform integer below 2⁵³ from seven random bytes (little-endian, the three lowest bits dropped)."""
    return int.from_bytes(random(DRAW_BYTES), "little") >> 3


@dataclass(frozen=True)
class RandomizedResponse(PureChannel):
    """k-RR (GRR, KRR; RR for k = 2): the truth with p = e^ε/(e^ε+k−1), every other value with q = 1/(e^ε+k−1).

    Q(y|x) = truth_weight/2⁵³ if y = x, else other_weight/2⁵³, and ε = ln(truth_weight/other_weight).

    Attributes
    ----------
    size
        k, the number of values.
    other_weight
        2⁵³·q, rounded up, i.e. towards more noise.

    References
    ----------
    Warner, "Randomized Response" (1965); Kairouz, Bonawitz, Ramage, "Discrete Distribution Estimation under Local
    Privacy" (2016).

    Examples
    --------
    >>> channel = RandomizedResponse.of(4, 1_000_000)
    >>> channel.micro_epsilon
    1000000
    >>> round(float(channel.truth_support), 4), round(float(channel.other_support), 4)
    (0.4754, 0.1749)
    >>> import os
    >>> channel.draw(2, os.urandom) in range(4)
    True
    """

    other_weight: int

    mechanism: ClassVar[str] = "krr"

    def __post_init__(self) -> None:
        if self.size < 2:
            raise EpsilonError(f"size must be at least 2 values, not {self.size}")
        if not 0 < self.other_weight < self.truth_weight:
            raise EpsilonError(f"other_weight must leave the truth the most likely output, not {self.other_weight}")

    @classmethod
    def of(cls, size: int, micro_epsilon: int) -> RandomizedResponse:
        """Build the most accurate channel whose true ε is at most the given one."""
        other_weight = share_rounded_up(TOTAL, exp_micro(micro_epsilon), size - 1)
        if TOTAL - (size - 1) * other_weight <= other_weight:
            raise EpsilonError(
                f"epsilon {epsilon_text(micro_epsilon)} is too small for {size} values: "
                "integer weights cannot tell them apart"
            )
        return cls(size, other_weight)

    @cached_property
    def truth_weight(self) -> int:
        """2⁵³·p: what the other values leave."""
        return TOTAL - (self.size - 1) * self.other_weight

    @property
    def micro_epsilon(self) -> int | None:
        """ln(truth_weight/other_weight), rounded up."""
        return micro_epsilon_of_ratio(self.truth_weight, self.other_weight)

    @cached_property
    def truth_support(self) -> Fraction:
        """Probability of the truth (p)."""
        return Fraction(self.truth_weight, TOTAL)

    @cached_property
    def other_support(self) -> Fraction:
        """Probability of each other value (q)."""
        return Fraction(self.other_weight, TOTAL)

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return the value or another one, from seven random bytes, without a branch on the outcome."""
        rest = draw_53_bits(random) - self.truth_weight
        other = rest // self.other_weight
        return (value, other + (other >= value))[rest >= 0]

    def probability(self, output: Output, value: int) -> Fraction:
        """p if the output is the value, else q."""
        return self.truth_support if output == value else self.other_support

    def supports(self, output: Output, value: int) -> bool:
        """Only the value itself is supported."""
        return output == value

    def outputs(self) -> Iterator[int]:
        """Enumerate 0 … k−1."""
        return iter(range(self.size))

    def weights(self) -> Mapping[str, int]:
        """Return `other`; the truth has what is left of 2⁵³."""
        return {"other": self.other_weight}
