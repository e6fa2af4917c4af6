"""Axes with round ends and few labels, whatever the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pldp.show.numbers import Writer

WIDEST: Final = 36  # letters that fit below a picture on a telephone
_TINY: Final = 1e-9  # what is smaller than this part of its neighbours, or of 1, is drawn as none
_MILLION: Final = 1_000_000


@dataclass(frozen=True)
class Axis:
    """Where numbers are drawn: the ends, and the step between ticks, which are its multiples."""

    low: float
    high: float
    step: float

    @classmethod
    def around(cls, numbers: Iterable[float | None], count: int = 5) -> Axis:
        """Return an axis with round ends around some numbers.

        >>> Axis.around([0, 0.31, None, 0.44]).ticks
        [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
        """
        known = [number for number in numbers if number is not None and math.isfinite(number)] or [0.0, 1.0]
        low, high = min(known), max(known)
        size = max(abs(low), abs(high))
        span = high - low if high - low > _TINY * size else size
        step = round_step(span if span > _TINY else 1.0, count)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        return cls(first * step, max(last, first + 1) * step, step)

    @classmethod
    def between(cls, low: float, high: float) -> Axis:
        """Return an axis with exactly these ends and as many ticks as have room for their labels."""
        for count in (5, 4, 3, 2):
            axis = cls(low, high, round_step((high - low) or 1.0, count))
            if sum(len(axis.label(tick)) + 2 for tick in axis.ticks) <= WIDEST:
                break
        return axis

    @property
    def ticks(self) -> list[float]:
        """Multiples of the step between the ends."""
        first, last = math.ceil(self.low / self.step - 1e-9), math.floor(self.high / self.step + 1e-9)
        digits = 12 - math.ceil(math.log10(max(abs(self.low), abs(self.high), self.step)))
        return [round(place * self.step, digits) + 0.0 for place in range(first, last + 1)]

    def place(self, number: float) -> float:
        """Return where a number is between the ends, 0 to 1; what lies outside is put at the end."""
        return min(1.0, max(0.0, (number - self.low) / ((self.high - self.low) or 1.0)))

    def label(self, tick: float) -> str:
        """Write a tick so that it differs from its neighbours: millions where steps are that large.

        >>> Axis.between(0, 4e6).label(2e6), Axis.between(1e6, 1_000_010).label(1_000_005)
        ('2M', '1,000,005')
        """
        unit, scale = ("M", _MILLION) if self.step >= _MILLION / 10 else ("", 1)
        return Writer(self.digits(1 / scale), unit if tick else "")(tick / scale)

    def digits(self, factor: float = 1.0) -> int:
        """Return the decimals that ticks need if they are multiplied by a factor."""
        return max(0, -math.floor(math.log10(factor * self.step) + 1e-9))


def round_step(span: float, count: int) -> float:
    """Return 1, 2 or 5 times a power of ten, so that about `count` of them make the span.

    >>> round_step(200, 20), round_step(0.7, 5)
    (10.0, 0.2)
    """
    rough = span / count
    power = float(10.0 ** math.floor(math.log10(rough)))
    return next(lead * power for lead in (1, 2, 5, 10) if lead * power >= rough * (1 - 1e-9))
