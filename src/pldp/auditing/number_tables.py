"""Tables of mechanisms for numbers, from the integers that a survey publishes; see `pldp.auditing.tables`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pldp.auditing.tables import FEW, NUMBER, Direct


@dataclass(frozen=True)
class Number(Direct):
    """A number on a grid: windows (PM, SW), two outputs (SR), both (HM), or noise (Laplace).

    Noise is cut at the bounds or, with outputs `beyond` them, that far away.
    """

    width: int = 0
    inside: int = 0
    outside: int = 0
    first: int = 0
    step: int = 0
    noise: tuple[int, ...] = ()
    tails: tuple[int, ...] = ()
    beyond: int = 0

    @property
    def windows(self) -> int:
        """Outputs of the window part: all but the two of stochastic rounding."""
        return self.outputs - 2 if self.step else self.outputs

    def weight(self, value: int, output: int) -> int:
        """By the part that the output belongs to."""
        if self.noise:
            distance = abs(output - self.beyond - value)
            if 0 < output < self.outputs - 1:
                return self.noise[distance]
            return self.tails[distance - 1] if distance else NUMBER - self.tails[0]
        if output < self.windows:
            return self.inside if value <= output < value + self.width else self.outside
        window = self.width * self.inside + (self.size - 1) * self.outside if self.width else 0
        upper = self.first + self.step * value
        return upper if output > self.windows else NUMBER - window - upper

    @property
    def kinds(self) -> list[int]:
        """The bounds, the middle and their neighbours."""
        middle = self.size // 2
        return sorted({0, 1, middle, self.size - 2, self.size - 1} & set(range(self.size)))

    def telling(self, values: Iterable[int]) -> Iterable[int]:
        """All outputs: there are a few thousand at most."""
        del values
        return range(self.outputs)

    def _in_column(self, output: int) -> Iterable[int]:
        """Weights change at an edge of the window, at the value itself and at the bounds."""
        if self.size <= FEW:
            return range(self.size)
        edges = (0, output - self.width, output - self.width + 1, output, output + 1, self.size - 1)
        return {value for value in edges if 0 <= value < self.size}

    def check(self) -> str | None:
        """Noise must also become less likely with distance: that is where the extremes are looked for."""
        if any(less > more for more, less in zip(self.noise, self.noise[1:], strict=False)):
            return "the weights of noise do not fall with its distance"
        return super().check()


@dataclass(frozen=True)
class Intervals(Direct):
    """Outputs that speak for an interval of points, each with its mirror image, and one for what is left of 2⁵³."""

    start: tuple[int, ...]
    stop: tuple[int, ...]
    inside: tuple[int, ...]
    outside: tuple[int, ...]

    def weight(self, value: int, output: int) -> int:
        """By the interval of the output; the second half are mirror images."""
        count = len(self.start)
        if output == 2 * count:
            return NUMBER - sum(self.weight(value, each) for each in range(output))
        own, place = (value, output) if output < count else (self.size - 1 - value, output - count)
        return self.inside[place] if self.start[place] <= own < self.stop[place] else self.outside[place]

    @property
    def kinds(self) -> list[int]:
        """All: intervals begin and end everywhere."""
        return list(range(self.size))

    def telling(self, values: Iterable[int]) -> Iterable[int]:
        """All outputs."""
        del values
        return range(self.outputs)
