"""Window mechanisms on a grid: an output near the value is more likely than one far from it, with two weights only.

The outputs are 0 … size+width−2. Value t covers the `width` outputs t … t+width−1; each of them has the weight
`inside`, each of the size−1 others the weight `outside`:

    width·inside + (size−1)·outside = 2⁵³,   ε = ln(inside/outside).

The piecewise mechanism and the square wave are the same family and differ in the width of the window only (scaled to
values on [0, 1], PM has e^{−ε/2}, SW has 2b); width 1 is k-ary randomized response. As a function of the value every
likelihood is constant inside and outside the window [output−width+1, output]: estimates rest on that.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Self

from pldp.epsilon import MICRO, Micro, exp_micro, micro_epsilon_of_ratio
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Channel, too_small
from pldp.mechanisms.number import NumberChannel, extreme_odds
from pldp.mechanisms.output import TOTAL, Integers, Output, RandomBytes, as_int, draw_53_bits

WIDTHS_TRIED: Final = 32
"""Widths tried for all levels together where they are hidden."""


@dataclass(frozen=True, repr=False)
class WindowChannel(NumberChannel):
    """Q(y|t) = inside/2⁵³ if t ≤ y < t+width, else outside/2⁵³."""

    width: int
    inside: int
    outside: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width < 1 or not 0 < self.outside < self.inside:
            raise EpsilonError("weights must satisfy width ≥ 1 and 0 < outside < inside")
        if self.width * self.inside + (self.size - 1) * self.outside != TOTAL:
            raise EpsilonError("weights must sum to 2^53: width·inside + (size−1)·outside")

    @classmethod
    def of(cls, size: int, micro_epsilon: int) -> Self:
        """Build the channel whose window is nearest to the ideal one and whose true ε is at most the given one."""
        width = solvable_width(size, cls.ideal_width(micro_epsilon / 1e6) * (size - 1))
        return cls(size, width, *window_weights(size, width, micro_epsilon, TOTAL))

    @classmethod
    def hideable(cls, size: int, budgets: Sequence[int]) -> Iterator[tuple[Channel, ...]]:
        """Yield channels with one width for all levels, from the best of the most open one to that of the strictest."""
        for width in common_widths(size, [cls.ideal_width(micro / MICRO) for micro in budgets]):
            yield tuple(cls(size, width, *window_weights(size, width, micro, TOTAL)) for micro in budgets)

    @staticmethod
    def ideal_width(epsilon: float) -> float:
        """Width of the continuous mechanism's window, values being scaled to [0, 1]."""
        raise NotImplementedError

    @property
    def micro_epsilon(self) -> Micro:
        """ln(inside/outside), rounded up: every output is inside one value's window and outside another's."""
        return micro_epsilon_of_ratio(self.inside, self.outside)

    @property
    def form(self) -> Integers:
        """size + width − 1."""
        return Integers(self.size + self.width - 1)

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return an output from seven random bytes, without a branch on the outcome."""
        number = draw_53_bits(random)
        rest = number - self.width * self.inside
        other = rest // self.outside
        return (value + number // self.inside, other + self.width * (other >= value))[rest >= 0]

    def probability(self, output: Output, value: int) -> Fraction:
        """Two weights: in the window of the value or not."""
        return Fraction(self.inside if value <= as_int(output) < value + self.width else self.outside, TOTAL)

    @property
    def noise_variance(self) -> float:
        """From the mean square of the outputs of evenly spread values."""
        return self._without_spread(even_square(self.size, self.width, self.inside, self.outside))

    def unbiased(self, output: Output) -> Fraction:
        """(y − middle of all outputs) / slope, in buckets, scaled: exact, as the mean output is linear in the value."""
        slope = Fraction(self.width * (self.inside - self.outside), TOTAL)  # of the mean output, per bucket
        return (2 * as_int(output) + 1 - self.form.count) / (slope * self.size)

    def variance(self, value: int) -> float:
        """Return the variance of the unbiased number of a value, without a look at every output."""
        slope = Fraction(self.width * (self.inside - self.outside), TOTAL)
        square = window_square(self.size, self.width, self.inside, self.outside, value) / (slope * self.size) ** 2
        return float(square - self.centre(value) ** 2)

    def family_odds(self, other: Any, *, same_value: bool) -> Fraction:
        """Both channels have one window: both weights inside, both outside, or one of each for two values."""
        return extreme_odds((self.inside, self.outside), (other.inside, other.outside), same_value=same_value)


@dataclass(frozen=True, repr=False)
class PiecewiseMechanism(WindowChannel):
    """PM on a grid: the window has e^{−ε/2} of the outputs' spread, which minimises the worst variance.

    Reference: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu, "Collecting and Analyzing Multidimensional Data with Local
    Differential Privacy" (2019).

    >>> import os
    >>> channel = PiecewiseMechanism.of(1024, 1_000_000)
    >>> channel.micro_epsilon, channel.width, channel.form.count
    (1000000, 619, 1642)
    >>> 0 <= channel.draw(300, os.urandom) < 1642
    True
    """

    mechanism = "pm"

    @classmethod
    def suits(cls, size: int, *, hidden: bool = False) -> bool:  # noqa: ARG003
        """For means whose levels are hidden."""
        return hidden

    @staticmethod
    def ideal_width(epsilon: float) -> float:
        """e^{−ε/2}."""
        return math.exp(-epsilon / 2)


@dataclass(frozen=True, repr=False)
class SquareWave(WindowChannel):
    """SW on a grid: the window 2b has the most mutual information; b = (εe^ε − e^ε + 1) / (2e^ε(e^ε − 1 − ε)).

    Reference: Li, Wang, Lopuhaä-Zwakenberg, Li, Škorić, "Estimating Numerical Distributions under Local Differential
    Privacy" (2020). (Du, Fu, Ye, Hu, "Privacy for Free" (2025) print e^{ε/2} for e^ε in places: no distribution.)

    >>> SquareWave.of(1024, 1_000_000).weights()["width"]
    524
    """

    mechanism = "sw"

    @staticmethod
    def ideal_width(epsilon: float) -> float:
        """2b; its limits are 1 for ε → 0 and 0 for ε → ∞."""
        if epsilon < 1e-3:
            return 1 - 2 * epsilon / 3
        return (epsilon - 1 + math.exp(-epsilon)) / (math.expm1(epsilon) - epsilon)

    def place(self, output: Output) -> Fraction:
        """The middle of the values that the output speaks for: biased towards the middle."""
        return Fraction(2 * as_int(output) + 1 - self.form.count, self.size)

    @property
    def equal_variance(self) -> float:
        """One over the information of a report about evenly spread numbers, which the ideal width makes largest."""
        inside, outside = self.inside / TOTAL, self.outside / TOTAL
        entropy = self.width * inside * math.log(inside) + (self.size - 1) * outside * math.log(outside)
        return 1 / (math.log(self.form.count) + entropy)


def even_square(size: int, width: int, inside: int, outside: int) -> float:
    """Return the mean square of the unbiased number if all values are as frequent; the weights may have any sum.

    Around the middle of all count = size + width − 1 outputs, Σ(2y+1−count)² is count·(count²−1)/3. Every output has
    the weight `outside`; the windows of the values add inside − outside, and a value's place and its place in the
    window are independent there: (size² − 1 + width² − 1)/3.
    """
    count = size + width - 1
    window = width * (inside - outside)
    total = width * inside + (size - 1) * outside
    squares = outside * count * (count**2 - 1) / 3 + window * (size**2 + width**2 - 2) / 3
    return squares * total / (window * size) ** 2


def solvable_width(size: int, ideal: float) -> int:
    """Return the width nearest to the ideal for which the weights can sum to 2⁵³ exactly."""
    for distance in range(size):
        for width in (round(ideal) - distance, round(ideal) + distance):
            common = math.gcd(width, size - 1)
            if width >= 1 and common & (common - 1) == 0:
                return width
    raise EpsilonError(f"no window fits {size} buckets")  # pragma: no cover - width 1 always fits


def common_widths(size: int, ideals: Sequence[float], most: int = WIDTHS_TRIED) -> list[int]:
    """Return at most so many widths from the least ideal one of a level to the largest."""
    low, high = (end * (size - 1) for end in (min(ideals), max(ideals)))
    return sorted({solvable_width(size, low + (high - low) * step / (most - 1)) for step in range(most)})


def window_square(size: int, width: int, inside: int, outside: int, value: int) -> Fraction:
    """Return the mean square of 2y + 1 − (number of outputs) for a value, weights counted in 2⁵³."""
    count = size + width - 1

    def below(end: int) -> int:
        """Σ (2y + 1 − count)² over the outputs y below an end."""
        return end * (4 * end**2 - 1) // 3 - 2 * count * end**2 + count**2 * end

    near = below(value + width) - below(value)
    return Fraction(inside * near + outside * (below(count) - near), TOTAL)


def window_weights(size: int, width: int, micro_epsilon: int, total: int) -> tuple[int, int]:
    """Return the weights inside and outside with width·inside + (size−1)·outside = total and ε as promised.

    The weight outside is the smallest that is at least total/(e^ε·width + size − 1) and leaves a multiple of the width.
    """
    least = math.ceil(total / (width * Fraction(exp_micro(micro_epsilon)) + size - 1))
    common = math.gcd(width, size - 1)
    step = width // common
    residue = total // common * pow((size - 1) // common, -1, step) % step if step > 1 else 0
    outside = least + (residue - least) % step
    inside, left = divmod(total - (size - 1) * outside, width)
    if left or inside <= outside:
        raise too_small(micro_epsilon, size, "buckets")
    return inside, outside
