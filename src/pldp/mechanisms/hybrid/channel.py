"""The hybrid mechanism: the piecewise mechanism or stochastic rounding, by a coin that the output shows."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Self

from pldp.epsilon import MICRO, Micro, epsilon_text, micro_epsilon_of_ratio
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Channel, one_budget
from pldp.mechanisms.number import NumberChannel, extreme_odds
from pldp.mechanisms.output import TOTAL, Integers, Output, RandomBytes, as_int, draw_53_bits
from pldp.mechanisms.rounding.channel import StochasticRounding, rounding_weights
from pldp.mechanisms.window.channel import (
    PiecewiseMechanism,
    common_widths,
    even_square,
    solvable_width,
    window_square,
    window_weights,
)

LEAST_EPSILON: Final = 0.61
"""Up to this ε the best mixture is stochastic rounding alone."""

WIDTHS_TRIED: Final = 8
"""Widths tried for all levels together where they are hidden, with the coin of each level."""


@dataclass(frozen=True, repr=False)
class HybridMechanism(NumberChannel):
    """HM: PM with probability β = 1 − e^{−ε/2}, SR otherwise; its variance is the least of the three everywhere.

    Outputs 0 … size+width−2 are those of PM, the last two those of SR. Given the coin each part has its own ε, and the
    output shows the coin, so the channel's ε is the larger one. Both numbers are unbiased, so their mixture is. The
    weights of PM's window sum to β, those of SR use what β leaves.

    Reference: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu, "Collecting and Analyzing Multidimensional Data with Local
    Differential Privacy" (2019).

    >>> channel = HybridMechanism.of(1024, 2_000_000)
    >>> channel.micro_epsilon, channel.form.count, round(channel.piecewise_weight / 2**53, 3)
    (2000000, 1401, 0.632)
    """

    width: int
    inside: int
    outside: int
    first: int
    step: int

    mechanism = "hm"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width < 1 or not 0 < self.outside < self.inside or min(self.first, self.step) <= 0:
            raise EpsilonError("weights must be positive, the inside weight larger than the outside one")
        if self.piecewise_weight + 2 * self.first + self.step * (self.size - 1) != TOTAL:
            raise EpsilonError("weights must sum to 2^53")

    @classmethod
    def build(cls, size: int, budgets: Micro | Sequence[Micro]) -> Channel:
        """Build it from one budget; up to ε = 0.61 that is stochastic rounding, which is better there."""
        small = one_budget(cls, budgets) <= LEAST_EPSILON * MICRO
        return StochasticRounding.build(size, budgets) if small else super().build(size, budgets)

    @classmethod
    def of(cls, size: int, micro_epsilon: int) -> Self:
        """Build the channel whose true ε is at most the given one."""
        epsilon = micro_epsilon / MICRO
        if epsilon <= LEAST_EPSILON:
            text = epsilon_text(micro_epsilon)
            raise EpsilonError(f"epsilon of hm must be above {LEAST_EPSILON}, not {text}: sr is better there")
        width = solvable_width(size, PiecewiseMechanism.ideal_width(epsilon) * (size - 1))
        return cls._with(size, micro_epsilon, width, epsilon)

    @classmethod
    def _with(cls, size: int, micro_epsilon: int, width: int, coin: float) -> Self:
        """Build the channel of this ε with this width and the coin of another ε."""
        unit = 2 * math.gcd(width, size - 1)  # what both parts can sum up to exactly
        share = int(-math.expm1(-coin / 2) * TOTAL) // unit * unit
        window = window_weights(size, width, micro_epsilon, share)
        return cls(size, width, *window, *rounding_weights(size, micro_epsilon, TOTAL - share))

    @classmethod
    def suits(cls, size: int, *, hidden: bool = False) -> bool:  # noqa: ARG003
        """For means whose levels are hidden."""
        return hidden

    @classmethod
    def hideable(cls, size: int, budgets: Sequence[int]) -> Iterator[tuple[Channel, ...]]:
        """Yield channels with one width and one coin for all levels, also where stochastic rounding would be better."""
        epsilons = [micro / MICRO for micro in budgets]
        widths = common_widths(size, [PiecewiseMechanism.ideal_width(each) for each in epsilons], WIDTHS_TRIED)
        for width in widths:
            for coin in epsilons:
                yield tuple(cls._with(size, micro, width, coin) for micro in budgets)

    @cached_property
    def piecewise_weight(self) -> int:
        """2⁵³·β."""
        return self.width * self.inside + (self.size - 1) * self.outside

    @property
    def piecewise_outputs(self) -> int:
        """Number of outputs of PM: size + width − 1."""
        return self.size + self.width - 1

    @property
    def form(self) -> Integers:
        """Outputs of PM and two of SR."""
        return Integers(self.piecewise_outputs + 2)

    @property
    def micro_epsilon(self) -> Micro:
        """The larger ε of the two parts."""
        rest = TOTAL - self.piecewise_weight - self.first
        return max(micro_epsilon_of_ratio(self.inside, self.outside), micro_epsilon_of_ratio(rest, self.first))

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return an output from seven random bytes, without a branch on the outcome."""
        number = draw_53_bits(random)
        beyond = number - self.width * self.inside
        other = beyond // self.outside
        rounded = number - self.piecewise_weight
        upper = self.piecewise_outputs + (rounded < self.first + self.step * value)
        window = (value + number // self.inside, other + self.width * (other >= value))[beyond >= 0]
        return (window, upper)[rounded >= 0]

    def probability(self, output: Output, value: int) -> Fraction:
        """Weights of PM, or linear in the value."""
        reported = as_int(output)
        upper = self.first + self.step * value
        if reported >= self.piecewise_outputs:
            lower = TOTAL - self.piecewise_weight - upper
            return Fraction(upper if reported > self.piecewise_outputs else lower, TOTAL)
        return Fraction(self.inside if value <= reported < value + self.width else self.outside, TOTAL)

    @property
    def noise_variance(self) -> float:
        """Both parts, as often as the coin picks them."""
        piecewise, rest = self.piecewise_weight, TOTAL - self.piecewise_weight
        window = even_square(self.size, self.width, self.inside, self.outside)
        rounded = (rest / (self.step * self.size)) ** 2
        return self._without_spread((piecewise * window + rest * rounded) / TOTAL)

    def unbiased(self, output: Output) -> Fraction:
        """The unbiased number of the part that the output belongs to, given the coin."""
        reported = as_int(output)
        if reported >= self.piecewise_outputs:
            sign = 2 * (reported - self.piecewise_outputs) - 1
            return sign * Fraction(TOTAL - self.piecewise_weight, self.step * self.size)
        slope = Fraction(self.width * (self.inside - self.outside), self.piecewise_weight)
        return (2 * reported + 1 - self.piecewise_outputs) / (slope * self.size)

    def variance(self, value: int) -> float:
        """Return the variance of the unbiased number of a value: of both parts, each with the chance of its coin."""
        slope = Fraction(self.width * (self.inside - self.outside), self.piecewise_weight)
        window = window_square(self.size, self.width, self.inside, self.outside, value) / (slope * self.size) ** 2
        rounded = Fraction(TOTAL - self.piecewise_weight, TOTAL) * self.unbiased(self.piecewise_outputs) ** 2
        return float(window + rounded - self.centre(value) ** 2)

    def family_odds(self, other: Any, *, same_value: bool) -> Fraction:
        """The larger ratio of the two parts."""
        pairs = [
            ((each.inside, each.outside), (TOTAL - each.piecewise_weight - each.first, each.first))
            for each in (self, other)
        ]
        return max(extreme_odds(own, others, same_value=same_value) for own, others in zip(*pairs, strict=True))
