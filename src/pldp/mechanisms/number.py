"""Numbers in public bounds: the grid they are rounded to, and what a channel for them offers beyond Q(output | value).

A number is rounded to the bucket of a grid that holds it; the *value* of a channel is the index of that bucket, and the
number that stands for a bucket is its *centre*. Channels know the scaled grid on [−1, 1] only:

    centre(t) = (2t + 1 − size) / size,   t = 0 … size−1.

Rounding moves a number by at most half a bucket, (high − low) / (2·size) in the bounds of the survey.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from pldp.errors import AnswerError, EpsilonError
from pldp.mechanisms.channel import Channel
from pldp.mechanisms.output import Output
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
