"""Stochastic rounding: one of two outputs, the upper one the more likely the larger the number."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from pldp.epsilon import Micro, exp_micro, micro_epsilon_of_ratio, share_rounded_up
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import too_small
from pldp.mechanisms.number import NumberChannel, extreme_odds
from pldp.mechanisms.output import TOTAL, Integers, Output, RandomBytes, as_int, draw_53_bits


@dataclass(frozen=True, repr=False)
class StochasticRounding(NumberChannel):
    """SR (Duchi et al.): Pr(1 | t) = (first + step·t)/2⁵³, from 1/(e^ε+1) up to e^ε/(e^ε+1).

    The weights are symmetric, 2·first + step·(size−1) = 2⁵³, so ε = ln((2⁵³ − first)/first).

    Reference: Duchi, Jordan, Wainwright, "Minimax Optimal Procedures for Locally Private Estimation" (2018).

    >>> channel = StochasticRounding.of(1024, 1_000_000)
    >>> channel.micro_epsilon, round(float(channel.unbiased(1)), 4)
    (1000000, 2.1618)
    """

    first: int
    step: int

    mechanism = "sr"

    @classmethod
    def suits(cls, size: int, *, hidden: bool = False) -> bool:  # noqa: ARG003
        """For means whose levels are hidden: it has two outputs at every level."""
        return hidden

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.first, self.step) <= 0 or 2 * self.first + self.step * (self.size - 1) != TOTAL:
            raise EpsilonError("weights must be positive and symmetric: 2·first + step·(size−1) = 2^53")

    @classmethod
    def of(cls, size: int, micro_epsilon: int) -> Self:
        """Build the most accurate channel whose true ε is at most the given one."""
        return cls(size, *rounding_weights(size, micro_epsilon, TOTAL))

    @property
    def micro_epsilon(self) -> Micro:
        """Odds of the two extreme buckets, rounded up."""
        return micro_epsilon_of_ratio(TOTAL - self.first, self.first)

    @property
    def form(self) -> Integers:
        """Two."""
        return Integers(2)

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return 0 or 1 from seven random bytes."""
        return int(draw_53_bits(random) < self.first + self.step * value)

    def probability(self, output: Output, value: int) -> Fraction:
        """Linear in the value."""
        upper = self.first + self.step * value
        return Fraction(upper if output == 1 else TOTAL - upper, TOTAL)

    @property
    def noise_variance(self) -> float:
        """C² less the spread of the values, C being the number of both outputs."""
        return self._without_spread((TOTAL / (self.step * self.size)) ** 2)

    def unbiased(self, output: Output) -> Fraction:
        """Plus or minus the same number, 2⁵³/(step·size): (e^ε+1)/(e^ε−1) for the centres of the outermost buckets."""
        return (2 * as_int(output) - 1) * Fraction(TOTAL, self.step * self.size)

    def family_odds(self, other: Any, *, same_value: bool) -> Fraction:
        """A ratio of two probabilities that are linear in the value is largest at a bound."""
        own, others = ((TOTAL - each.first, each.first) for each in (self, other))
        return extreme_odds(own, others, same_value=same_value)


def rounding_weights(size: int, micro_epsilon: int, total: int) -> tuple[int, int]:
    """Return first and step with 2·first + step·(size−1) = total and ε as promised."""
    step = (total - 2 * share_rounded_up(total, exp_micro(micro_epsilon), 1)) // (size - 1)
    step -= (total - step * (size - 1)) % 2
    if step <= 0:
        raise too_small(micro_epsilon, size, "buckets")
    return (total - step * (size - 1)) // 2, step
