"""The channel for means at the limit: no unbiased report at this ε has a smaller worst-case variance.

The values are `size` points x_t = (2t + 1 − size)/(size − 1) on [−1, 1]. Every output speaks for an interval of points:
its weight is `inside` for a value in start … stop−1 and `outside` for all others, `outside` being the least whole
number with inside/outside ≤ odds₀/odds₁ ≤ e^ε. It counts for the number `value`. Only the outputs of one side are
published, as outputs 0 … K−1: output K+y is the mirror image of output y, with the interval size−stop … size−start−1
and the number −value. The last output, 2K, has what is left of 2⁵³, next to nothing, and counts for 0.

Which intervals, weights and numbers are the best is a linear program (`program.py`), which needs NumPy and SciPy. It is
solved once, when a survey without weights is built; reading the built survey needs the standard library only.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import ClassVar, Final, Self

from pldp.curves import log_cubic
from pldp.epsilon import MICRO, Micro, exp_micro, micro_epsilon_of_ratio
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Channel
from pldp.mechanisms.number import NumberChannel
from pldp.mechanisms.output import TOTAL, Integers, Output, RandomBytes, as_int, draw_53_bits

UNIT: Final = 2**40
"""What `value` counts: 1 on the scale of [−1, 1]."""

BIAS: Final = Fraction(1, 10**12)
"""The most that the mean of an output may differ from the value's point."""

MOST_POINTS: Final = 65
"""Points for which the linear program is solved."""

STIFF: Final = 10.0
"""ε beyond which the intervals stay those of this ε: the noise is below that of rounding, and the program is stiff."""

_POINTS: Final = ((2_500_000, 17), (4_000_000, 33))
_MANY_POINTS: Final = MOST_POINTS


def enough_points(micro_epsilon: Micro) -> int:
    """Return the number of points among which rounding at random adds at most 1 % to the least worst-case variance.

    A number half way between two points that are w apart gains w²/4 of variance. Beyond ε = 6, where the noise is less
    than a tenth of the spread of almost any numbers, it stays at 65 points.

    >>> [enough_points(micro) for micro in (1_000_000, 3_000_000, 6_000_000)]
    [17, 33, 65]
    """
    return [*(points for _, points in _POINTS), _MANY_POINTS][bisect_left([most for most, _ in _POINTS], micro_epsilon)]


_LEAST_NOISE: Final = (
    (0.5, 16.0015), (0.75, 7.1162), (1.0, 3.98988), (1.25, 2.51228), (1.5, 1.69104), (1.75, 1.18951), (2.0, 0.864856),
    (2.25, 0.645174), (2.5, 0.492754), (2.75, 0.384762), (3.0, 0.303898), (3.5, 0.193198), (4.0, 0.126899),
    (4.5, 0.084748), (5.0, 0.0573367), (5.5, 0.0392469), (6.0, 0.027086), (7.0, 0.0131115), (8.0, 0.0064487),
    (9.0, 0.00320097),
)  # fmt: skip
"""ε and the worst-case variance of the channel for it: what solving the program takes seconds for."""

_known_noise: Final = log_cubic(*zip(*_LEAST_NOISE, strict=True))


def least_noise(epsilon: float) -> float:
    """Return the worst-case variance on [−1, 1] of the channel for an ε, by a cubic through known logarithms.

    Below ε = 0.5 it is 4/ε², as for every mechanism at its best; beyond 9 it falls as between 8 and 9.

    >>> round(least_noise(0.1), 3), round(least_noise(1.1), 3)
    (400.0, 3.278)
    """
    return 4 / epsilon**2 if epsilon <= _LEAST_NOISE[0][0] else _known_noise(epsilon)


@dataclass(frozen=True, repr=False)
class Minimax(NumberChannel):
    """The least worst-case variance of an unbiased number on a grid of points.

    ε is the logarithm of the largest inside/outside, or of the largest ratio of what is left. The unbiased numbers are
    checked when the channel is made: their mean is that of the value to 10⁻¹², for every value.

    >>> channel = Minimax.of(17, 1_000_000)
    >>> channel.micro_epsilon, round(channel.worst_variance, 2)
    (1000000, 3.99)
    """

    start: tuple[int, ...]
    stop: tuple[int, ...]
    inside: tuple[int, ...]
    value: tuple[int, ...]
    odds: tuple[int, ...]

    mechanism = "minimax"
    most: ClassVar[int] = MOST_POINTS
    lists: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({len(each) for each in (self.start, self.stop, self.inside, self.value)}) != 1 or len(self.odds) != 2:
            raise EpsilonError("start, stop, inside and value must be lists of one length, and odds two numbers")
        intervals = zip(self.start, self.stop, strict=True)
        if not all(0 <= start < stop <= self.size for start, stop in intervals):
            raise EpsilonError(f"start and stop must be intervals of the {self.size} points")
        if not 0 < self.odds[1] < self.odds[0] < TOTAL or min(self.inside, default=0) <= 0:
            raise EpsilonError("odds and inside must be above 0 and below 2^53, and the first of the odds the larger")
        if not all(0 <= number < TOTAL for number in self.value):
            raise EpsilonError("value must be at least 0 and below 2^53")
        if min(self._left) <= 0:
            raise EpsilonError("weights of each value must leave something of 2^53")
        if max(map(self._bias, range((self.size + 1) // 2))) > BIAS:  # mirror images have the same
            raise EpsilonError("the mean of every value must be its point to 10^-12: these numbers are biased")

    @classmethod
    def of(cls, size: int, micro_epsilon: int) -> Self:
        """Build the channel of least worst-case variance whose true ε is at most the given one."""
        if not 2 <= size <= cls.most:
            raise EpsilonError(f"minimax takes 2 to {MOST_POINTS} points, not {size:,}; name hm for a finer grid")
        try:
            from pldp.mechanisms.minimax.program import least_variance  # noqa: PLC0415 - only who builds needs SciPy
        except ImportError:
            raise EpsilonError(
                "minimax needs NumPy and SciPy where it is built: run `pldp survey compile` once where they are "
                "installed and use the file that it writes, or name hm"
            ) from None
        odds = exp_micro(micro_epsilon)
        least = int(2**52 / odds)
        return cls(size, **least_variance(size, min(micro_epsilon / MICRO, STIFF), (int(least * odds), least)))

    @classmethod
    def noise_at(cls, size: int, micro_epsilon: int) -> float:
        """Return the least worst-case variance as the linear program has it, which is that of nearly all values."""
        return least_noise(micro_epsilon / MICRO) * ((size - 1) / size) ** 2

    @classmethod
    def hideable(cls, size: int, budgets: Sequence[int]) -> Iterator[tuple[Channel, ...]]:  # noqa: ARG003
        """Refuse: every ε has intervals of its own, so that hardly any output of one level can be one of another."""
        raise EpsilonError(
            "minimax has other outputs at every level, so that they would show it; name hm, pm or sr, or leave the "
            "mechanism to auto"
        )

    @cached_property
    def outside(self) -> tuple[int, ...]:
        """Weight of each published output for the values outside its interval, rounded up."""
        most, least = self.odds
        return tuple(-(-weight * least // most) for weight in self.inside)

    @cached_property
    def _outside_inside(self) -> tuple[tuple[int, int], ...]:
        """Both weights of each published output."""
        return tuple(zip(self.outside, self.inside, strict=True))

    def _weights(self, value: int) -> Iterator[int]:
        """Weights of all outputs but the last for a value; those of mirror images are those of the value's mirror."""
        for own in (value, self.size - 1 - value):
            for start, stop, weights in zip(self.start, self.stop, self._outside_inside, strict=True):
                yield weights[start <= own < stop]

    @cached_property
    def _left(self) -> tuple[int, ...]:
        """Weight of the last output for each value, the same for mirror images."""
        half = [TOTAL - sum(self._weights(value)) for value in range((self.size + 1) // 2)]
        return tuple(half + half[self.size // 2 - 1 :: -1])

    def _bias(self, value: int) -> Fraction:
        """How far the mean of the outputs is from the value's point."""
        weights, count = list(self._weights(value)), len(self.value)
        mean = sum(
            number * (own - mirrored)
            for number, own, mirrored in zip(self.value, weights[:count], weights[count:], strict=True)
        )
        return abs(Fraction(mean, UNIT * TOTAL) - Fraction(2 * value + 1 - self.size, self.size - 1))

    @cached_property
    def micro_epsilon(self) -> Micro:
        """The largest ratio of any output, rounded up."""
        ratios = [Fraction(*pair) for pair in zip(self.inside, self.outside, strict=True)]
        worst = max(*ratios, Fraction(max(self._left), min(self._left)))
        return micro_epsilon_of_ratio(worst.numerator, worst.denominator)

    @property
    def form(self) -> Integers:
        """Two of each published output, and the last."""
        return Integers(2 * len(self.start) + 1)

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return an output from seven random bytes: the weights are added up and compared to the end in any case."""
        number = draw_53_bits(random)
        return sum(map(number.__ge__, accumulate(self._weights(value))))

    def probability(self, output: Output, value: int) -> Fraction:
        """By the interval of the output."""
        reported, count = as_int(output), len(self.start)
        if reported == 2 * count:
            return Fraction(self._left[value], TOTAL)
        own, place = (value, reported) if reported < count else (self.size - 1 - value, reported - count)
        inside = self.start[place] <= own < self.stop[place]
        return Fraction((self.outside, self.inside)[inside][place], TOTAL)

    def unbiased(self, output: Output) -> Fraction:
        """The published number or its opposite, on the scale where the outermost points are centres of buckets."""
        reported, count = as_int(output), len(self.start)
        if reported == 2 * count:
            return Fraction(0)
        number = self.value[reported] if reported < count else -self.value[reported - count]
        return Fraction(number * (self.size - 1), UNIT * self.size)

    @cached_property
    def _variances(self) -> tuple[float, ...]:
        """The variance of the unbiased number of each value, the points being scaled to [−1, 1]."""
        squares = [number**2 for number in self.value] * 2
        moments = (
            sum(square * weight for square, weight in zip(squares, self._weights(value), strict=True))
            for value in range(self.size)
        )
        points = (Fraction(2 * value + 1 - self.size, self.size - 1) for value in range(self.size))
        return tuple(float(Fraction(each, TOTAL * UNIT**2) - x * x) for each, x in zip(moments, points, strict=True))

    @property
    def worst_variance(self) -> float:
        """The largest variance of the unbiased number of a value, the points being scaled to [−1, 1]."""
        return max(self._variances)

    @property
    def noise_variance(self) -> float:
        """The mean over all values; the points are the centres of buckets there."""
        return math.fsum(self._variances) / self.size * ((self.size - 1) / self.size) ** 2
