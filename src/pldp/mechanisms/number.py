"""Numbers in public bounds: the grid they are rounded to, and what a channel for them offers beyond Q(output | value).

A number is rounded to the bucket of a grid that holds it; the *value* of a channel is the index of that bucket, and the
number that stands for a bucket is its *centre*. Channels know the scaled grid on [−1, 1] only:

    centre(t) = (2t + 1 − size) / size,   t = 0 … size−1.

Rounding moves a number by at most half a bucket, (high − low) / (2·size) in the bounds of the survey.

Where only a mean is wanted, numbers are rounded to *points* instead, which are the centres of a grid that reaches half
a bucket beyond the bounds (`Grid.of_points`): at random to one of the two neighbours, so that the mean stays
(`position`, `round_at_random`). The channel perturbs the point. What a report tells about a number is a mixture of what
it tells about the two points, Q(y|x) = Σ_t Pr(t|x) Q(y|t), so no ratio of it is above e^ε either.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from pldp.errors import AnswerError, EpsilonError
from pldp.mechanisms.channel import Channel, Odds
from pldp.mechanisms.output import TOTAL, Output, RandomBytes, draw_53_bits
from pldp.mechanisms.registry import AUTO, FIXED, family
from pldp.records import Brief


@dataclass(frozen=True, repr=False)
class Grid(Brief):
    """So many equal buckets between two public bounds, which both belong to the grid.

    >>> grid = Grid(0, 86_400, 1024)
    >>> grid.index(43_200), grid.centre(512)
    (512, 43242.1875)
    """

    low: float
    high: float
    size: int

    def __post_init__(self) -> None:
        if not 0 < self.high - self.low < float("inf"):
            raise EpsilonError(f"bounds must be two finite numbers, the lower first, not {self.low} and {self.high}")
        if self.size < 2:
            raise EpsilonError(f"size must be at least 2 buckets, not {self.size}")

    @classmethod
    def of_points(cls, low: float, high: float, size: int) -> Self:
        """Return the grid whose centres are so many points from one bound to the other, both included.

        >>> ages = Grid.of_points(18, 90, 73)
        >>> ages.centre(0), ages.centre(23), ages.centre(72)
        (18.0, 41.0, 90.0)
        """
        bounds = cls(low, high, size)  # refuses what are none
        half = (bounds.high - bounds.low) / (size - 1) / 2
        return cls(low - half, high + half, size)

    @property
    def width(self) -> float:
        """Width of a bucket."""
        return (self.high - self.low) / self.size

    def index(self, number: float) -> int:
        """Return the bucket that holds the number; numbers outside the bounds are refused, never repeated."""
        if not self.low <= number <= self.high:
            raise AnswerError(f"a number must lie between {self.low:g} and {self.high:g}")
        return min(int((number - self.low) / self.width), self.size - 1)

    def centre(self, index: int) -> float:
        """Return the number in the middle of a bucket."""
        return self.low + (index + 0.5) * self.width


def position(number: float, low: float, high: float, size: int) -> Fraction:
    """Return where a number lies among so many points from low to high: 0 at the first and size − 1 at the last.

    The three floats are taken as the exact numbers that they are, so every device finds the same.

    >>> position(41.5, 18, 90, 73)
    Fraction(47, 2)
    """
    if not low <= number <= high:
        raise AnswerError(f"a number must lie between {low:g} and {high:g}")
    return (Fraction(number) - Fraction(low)) * (size - 1) / (Fraction(high) - Fraction(low))


def round_at_random(place: Fraction, random: RandomBytes) -> int:
    """Return one of the two whole numbers around a place from seven random bytes, its mean being the place (to 2⁻⁵³).

    >>> round_at_random(Fraction(47, 2), lambda count: bytes(count))
    24
    """
    below, rest = divmod(place.numerator, place.denominator)
    return below + (draw_53_bits(random) * place.denominator < rest * TOTAL)


def noise_variances(channels: Sequence[Channel]) -> list[float]:
    """Return the `noise_variance` of each channel; refuse those that are not for numbers."""
    found = [channel for channel in channels if isinstance(channel, NumberChannel)]
    if len(found) < len(channels):
        raise EpsilonError("channels must be those of numbers")
    return [channel.noise_variance for channel in found]


def noise_at(name: str, size: int, micro_epsilon: int) -> float:
    """Return the `noise_variance` of the named mechanism at an ε, built only where that is quick.

    >>> round(noise_at("minimax", 17, 1_000_000), 2), round(noise_at("auto", 256, 1_000_000), 2)
    (3.53, 4.34)
    """
    found = family(FIXED["numbers"] if name == AUTO else name, "numbers")
    assert issubclass(found, NumberChannel)  # noqa: S101 - the registry says so
    return found.noise_at(size, micro_epsilon)


@dataclass(frozen=True, repr=False)
class NumberChannel(Channel):
    """A channel whose values are the buckets of a grid on [−1, 1] and whose outputs are integers."""

    domain = "numbers"
    least = (2, "buckets")

    def centre(self, value: int) -> Fraction:
        """The number that a bucket stands for, on [−1, 1]."""
        return Fraction(2 * value + 1 - self.size, self.size)

    @property
    def manipulation(self) -> float:
        """The largest unbiased number of an output over the largest true number."""
        return float(max(abs(self.unbiased(output)) for output in self.outputs()) / self.centre(self.size - 1))

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """The variance of the unbiased number given the value, on [−1, 1]: its mean over all values."""

    @classmethod
    def noise_at(cls, size: int, micro_epsilon: int) -> float:
        """Return the same for the channel of an ε; a family that takes long to build knows it beforehand."""
        built = cls.build(size, micro_epsilon)
        assert isinstance(built, NumberChannel)  # noqa: S101 - a mechanism for numbers builds one
        return built.noise_variance

    def _without_spread(self, even_square: float) -> float:
        """Return E[z²] of evenly spread values without what their own spread adds to it."""
        return even_square - (self.size**2 - 1) / (3 * self.size**2)

    @abstractmethod
    def unbiased(self, output: Output) -> Fraction:
        """The number to count for an output: its mean given the value is the value's centre."""

    def place(self, output: Output) -> Fraction:
        """Where the mechanism itself puts an output on the scale of [−1, 1]; biased where it is not `unbiased`."""
        return self.unbiased(output)

    @property
    def biased(self) -> bool:
        """Whether outputs taken at their own place have another mean than the value."""
        return self.place(0) != self.unbiased(0)

    def variance(self, value: int) -> float:
        """Return the variance of the unbiased number of a value."""
        square = sum(self.probability(output, value) * self.unbiased(output) ** 2 for output in self.outputs())
        return float(square - self.centre(value) ** 2)

    @property
    def equal_variance(self) -> float:
        """The largest variance of the unbiased number: that of a bound, or of the middle."""
        return max(self.variance(0), self.variance((self.size - 1) // 2))

    def level_odds(self, other: Channel, *, same_value: bool) -> Odds:
        """Return the largest Q(y|x)/Q'(y|x'), which is known within a family."""
        if self.size != other.size or self.form != other.form:
            raise EpsilonError("outputs of different form show the level: there is no finite leak")
        if not isinstance(other, NumberChannel) or type(other).family_odds is not type(self).family_odds:
            return super().level_odds(other, same_value=same_value)
        return [(self.family_odds(other, same_value=same_value), 1)]

    def family_odds(self, other: Any, *, same_value: bool) -> Fraction:  # noqa: ARG002 - others have an answer
        """Return the same for a channel of one's own family."""
        raise EpsilonError(f"what outputs of {self.mechanism} tell about the level is not known")


def extreme_odds(own: tuple[int, int], other: tuple[int, int], *, same_value: bool) -> Fraction:
    """Return the largest ratio of the weights of two channels, each with its largest and its smallest weight.

    For one value both have their largest or both their smallest weight, or the ratio lies between those two; for two
    values the one may have its largest where the other has its smallest.
    """
    pairs = [*zip(own, other, strict=True), *([] if same_value else [(own[0], other[1])])]
    return max(Fraction(*pair) for pair in pairs)
