"""The mechanisms for numbers as their papers define them: densities on an interval, for research.

A device uses the exact channels on a grid; these show what the grid costs. Values v lie on [−1, 1] (`domain`; on [0, 1]
for the square wave). For each mechanism: the density of an output, its mean and variance given v, and `unbiased(y)`,
the number whose mean is v.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from pldp.errors import EpsilonError
from pldp.mechanisms.arrays import FloatArray
from pldp.mechanisms.hybrid.channel import LEAST_EPSILON
from pldp.mechanisms.window import channel as window


@dataclass(frozen=True)
class Continuous(ABC):
    """A mechanism on an interval; ε is the logarithm of the largest ratio of two densities of one output."""

    epsilon: float

    domain: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf:
            raise EpsilonError(f"epsilon must be a number above 0, not {self.epsilon}")

    @property
    @abstractmethod
    def reach(self) -> tuple[float, float]:
        """The least and the largest output."""

    @abstractmethod
    def density(self, output: float, value: float) -> float:
        """Density of an output given the value (a probability where outputs are points)."""

    @abstractmethod
    def variance(self, value: float) -> float:
        """Variance of the unbiased number given the value."""

    @abstractmethod
    def draw_many(self, values: FloatArray, generator: np.random.Generator) -> FloatArray:
        """Draw one output per person."""

    @property
    def line(self) -> tuple[float, float] | None:
        """The least and the largest output that a grid of outputs covers; `None` where they do not lie on one line."""
        return self.reach

    def possible(self, outputs: Any) -> Any:
        """Tell which outputs of an array can occur, up to rounding."""
        low, top = self.reach
        slack = 1e-9 * (top - low)
        return (outputs >= low - slack) & (outputs <= top + slack)

    def mean(self, value: float) -> float:
        """Mean of the output given the value."""
        return value

    def unbiased(self, output: float) -> float:
        """The number to count for an output: its mean is the value."""
        return output


@dataclass(frozen=True)
class Laplace(Continuous):
    """v plus noise of density exp(−|x|/b)/2b, b = 2/ε; variance 8/ε²."""

    reach: ClassVar[tuple[float, float]] = (-math.inf, math.inf)

    line: ClassVar[tuple[float, float]] = Continuous.domain
    """Noise beyond the bounds is cut, which loses nothing."""

    def possible(self, outputs: Any) -> Any:
        """All finite numbers."""
        return abs(outputs) < math.inf

    def density(self, output: float, value: float) -> float:
        """ε/4·exp(−ε|y − v|/2)."""
        return self.epsilon / 4 * math.exp(-self.epsilon * abs(output - value) / 2)

    def variance(self, value: float) -> float:  # noqa: ARG002 - the same for all values
        """8/ε²."""
        return 8 / self.epsilon**2

    def draw_many(self, values: FloatArray, generator: np.random.Generator) -> FloatArray:
        """Add noise."""
        return values + generator.laplace(0, 2 / self.epsilon, len(values))


@dataclass(frozen=True)
class StochasticRounding(Continuous):
    """±C with C = (e^ε+1)/(e^ε−1) and Pr(+C) = ½ + v/(2C).

    >>> round(StochasticRounding(1.0).variance(0.0), 4)
    4.6827
    """

    @cached_property
    def reach(self) -> tuple[float, float]:
        """−C and C."""
        return -1 / math.tanh(self.epsilon / 2), 1 / math.tanh(self.epsilon / 2)

    def possible(self, outputs: Any) -> Any:
        """Only the two ends."""
        return abs(abs(outputs) - self.reach[1]) <= 0.02 * self.reach[1]

    def density(self, output: float, value: float) -> float:
        """Probability of an end."""
        return 0.5 + value / (2 * output) if output in self.reach else 0.0

    def variance(self, value: float) -> float:
        """C² − v²."""
        return self.reach[1] ** 2 - value**2

    def draw_many(self, values: FloatArray, generator: np.random.Generator) -> FloatArray:
        """One of the ends."""
        top = self.reach[1]
        return np.where(generator.random(len(values)) < 0.5 + values / (2 * top), top, -top)


@dataclass(frozen=True)
class _Window(Continuous):
    """Density `high` in a window around the value, e^{−ε}·high elsewhere; both ends of the reach can be touched."""

    @property
    @abstractmethod
    def width(self) -> float:
        """Width of the window."""

    @cached_property
    def high(self) -> float:
        """Density in the window: all mass is 1."""
        low, top = self.reach
        return 1 / (self.width + (top - low - self.width) * math.exp(-self.epsilon))

    def start(self, value: Any) -> Any:
        """The lower end of the window: it moves linearly from one end of the reach to the other."""
        least, largest = self.domain
        low, top = self.reach
        return low + (value - least) / (largest - least) * (top - low - self.width)

    def density(self, output: float, value: float) -> float:
        low, top = self.reach
        if not low <= output <= top:
            return 0.0
        inside = self.start(value) <= output <= self.start(value) + self.width
        return self.high * (1.0 if inside else math.exp(-self.epsilon))

    def _moment(self, value: float, power: int) -> float:
        def integral(start: float, stop: float) -> float:
            return (stop ** (power + 1) - start ** (power + 1)) / (power + 1)

        start, outside = self.start(value), self.high * math.exp(-self.epsilon)
        return outside * integral(*self.reach) + (self.high - outside) * integral(start, start + self.width)

    def mean(self, value: float) -> float:
        return self._moment(value, 1)

    @cached_property
    def _line(self) -> tuple[float, float]:
        least, largest = self.domain
        slope = (self.mean(largest) - self.mean(least)) / (largest - least)
        return slope, self.mean(least) - slope * least

    def unbiased(self, output: float) -> float:
        """(y − intercept)/slope of the mean."""
        slope, intercept = self._line
        return (output - intercept) / slope

    def variance(self, value: float) -> float:
        return (self._moment(value, 2) - self._moment(value, 1) ** 2) / self._line[0] ** 2

    def draw_many(self, values: FloatArray, generator: np.random.Generator) -> FloatArray:
        low, top = self.reach
        start = self.start(values)
        inside = generator.random(len(values)) < self.high * self.width
        other = low + generator.random(len(values)) * (top - low - self.width)
        other += np.where(other > start, self.width, 0.0)
        return np.where(inside, start + generator.random(len(values)) * self.width, other)


@dataclass(frozen=True)
class Piecewise(_Window):
    """PM: outputs on [−C, C], C = (e^{ε/2}+1)/(e^{ε/2}−1), window of width C−1.

    >>> round(Piecewise(1.0).variance(0.5), 4)
    4.0675
    """

    @cached_property
    def reach(self) -> tuple[float, float]:
        """−C and C."""
        return -1 / math.tanh(self.epsilon / 4), 1 / math.tanh(self.epsilon / 4)

    @property
    def width(self) -> float:
        """C − 1, the share e^{−ε/2} of how far it moves."""
        return window.PiecewiseMechanism.ideal_width(self.epsilon) * (self.reach[1] + 1)


@dataclass(frozen=True)
class SquareWave(_Window):
    """SW: values on [0, 1], outputs on [−b, 1+b], window v ± b.

    >>> wave = SquareWave(1.0)
    >>> round(wave.width / 2, 4), round(wave.high, 4), round(wave.mean(0.0), 4)
    (0.2561, 1.1363, 0.3161)
    """

    domain: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @cached_property
    def reach(self) -> tuple[float, float]:
        """−b and 1 + b."""
        return -self.width / 2, 1 + self.width / 2

    @property
    def width(self) -> float:
        """2b."""
        return window.SquareWave.ideal_width(self.epsilon)


@dataclass(frozen=True)
class Hybrid(Continuous):
    """HM: PM with probability β = 1 − e^{−ε/2} (0 up to ε = 0.61), SR otherwise; the density is that of the mixture."""

    line: ClassVar[None] = None

    @cached_property
    def _parts(self) -> tuple[Piecewise, StochasticRounding]:
        return Piecewise(self.epsilon), StochasticRounding(self.epsilon)

    @property
    def share(self) -> float:
        """β."""
        return -math.expm1(-self.epsilon / 2) if self.epsilon > LEAST_EPSILON else 0.0

    @property
    def reach(self) -> tuple[float, float]:
        """Those of PM."""
        return self._parts[0].reach

    def density(self, output: float, value: float) -> float:
        """Mixture of PM's density and SR's points."""
        first, second = (part.density(output, value) for part in self._parts)
        return self.share * first + (1 - self.share) * second

    def variance(self, value: float) -> float:
        """Mixture of the two variances: both are unbiased."""
        first, second = (part.variance(value) for part in self._parts)
        return self.share * first + (1 - self.share) * second

    def draw_many(self, values: FloatArray, generator: np.random.Generator) -> FloatArray:
        """Draw both and toss the coin."""
        first, second = (part.draw_many(values, generator) for part in self._parts)
        return np.where(generator.random(len(values)) < self.share, first, second)


CONTINUOUS: Final[dict[str, type[Continuous]]] = {
    "laplace": Laplace,
    "sr": StochasticRounding,
    "pm": Piecewise,
    "hm": Hybrid,
    "sw": SquareWave,
}
"""The mechanisms by the names of their channels on a grid."""
