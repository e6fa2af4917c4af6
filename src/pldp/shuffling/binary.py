"""Two outputs and two values: the truth, over everything that others can answer.

If m of the others say 1 with chance a and the rest with chance b, the number of ones among them, B, is a sum of two
binomials, and with c = a − e^ε b and the person's value being the one whose chance is a,

    δ = max_T [c·Pr(B = T−1) − (e^ε − 1)·Pr(B ≥ T)].

It is taken over all m by branch and bound: an observer who also sees the reports of j people knows more, so all m
from m₀ to m₀ + j are bounded by m₀ ones among j people fewer.
"""

import heapq
import math
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pldp.shuffling.accounting import RARE, ROUNDING, fast_length, gaussian_epsilon
from pldp.shuffling.crowd import Logarithm, polar

FloatArray = npt.NDArray[np.float64]

CLOSE: Final = (1e-3, 4e-3, 1.6e-2, 6.4e-2)
"""Relative distances between both bounds that are tried one after the other …"""

MANY: Final = (2_000_000, 20_000_000)
"""… from the second or third on for more people than this."""

MOST_PARTS: Final = 4000
"""Parts of the others' answers that are looked at before a distance is given up."""


class Between(NamedTuple):
    """A bound from below, with the number of ones among the others that shows it, and one from above."""

    low: float
    ones: int
    high: float


class Pair(NamedTuple):
    """The chances of saying 1: of the person's value, and of the other one."""

    one: float
    two: float


class TwoOutputs:
    """A person with one of two values among so many others."""

    def __init__(self, pair: Pair, others: int) -> None:
        self.pair, self.others = pair, others
        variance = others * max(chance * (1 - chance) for chance in pair)
        # Bernstein's inequality: sums are further away with a probability below e^−RARE only.
        self.reach = math.ceil(RARE / 3 + math.sqrt((RARE / 3) ** 2 + 2 * RARE * variance)) + 2
        self.length = fast_length(2 * self.reach + 2)

    @cached_property
    def turns(self) -> FloatArray:
        """Angles of the transform."""
        return np.asarray(np.arange(self.length // 2 + 1) * (2 * np.pi / self.length), np.float64)

    @cached_property
    def single(self) -> tuple[Logarithm, Logarithm]:
        """Logarithms of the transforms of one report, of either value."""
        step = -2 * np.sin(self.turns / 2) ** 2 + 1j * np.sin(self.turns)
        one, two = (Logarithm.of(chance * step) for chance in self.pair)
        return one, two

    def law(self, ones: int, zeros: int) -> tuple[FloatArray, float]:
        """Return the probabilities of the numbers of ones around their mean, and how wrong they are in all."""
        one, two = self.single
        low = math.floor(ones * self.pair.one + zeros * self.pair.two) - self.reach
        size = ones * one.size + zeros * two.size
        spectrum = polar(size, low * self.turns - ones * one.angle - zeros * two.angle)
        inexact = np.exp(size) * (4 * ROUNDING * (ones + zeros) * self.turns + 64 * ROUNDING)
        error = math.sqrt(2 * float(inexact @ inexact)) + 2 * math.exp(-RARE)
        return np.maximum(np.fft.irfft(spectrum, self.length), 0.0), error

    def delta(self, law: FloatArray, epsilon: float) -> float:
        """Return δ for one law of ones among the others."""
        before = np.roll(law, 1)
        person, other = (chance * before + (1 - chance) * law for chance in self.pair)
        return float(np.maximum(person - math.exp(epsilon) * other, 0.0).sum())

    def epsilon(self, ones: int, delta: float, most: float) -> float:
        """Return ε at δ if so many of the others have the person's value, from below."""
        law, error = self.law(ones, self.others - ones)
        if self.delta(law, most) - 3 * error > delta:
            return most
        noise = abs(self.pair.one - self.pair.two) / math.sqrt(self._variance(ones) + 0.25)
        low, high = 0.0, most
        at = min(gaussian_epsilon(noise, delta)[0], most / 2)
        while high - low > 1e-9 * high:
            low, high = (at, high) if self.delta(law, at) - 3 * error > delta else (low, at)
            middle = (low + high) / 2
            at = min(middle, low * 1.05) if low > 0 else max(middle, high * 0.95)
            at = at if low < at < high else middle
        return low

    def _variance(self, ones: int) -> float:
        first, second = (chance * (1 - chance) for chance in self.pair)
        return ones * first + (self.others - ones) * second

    def holds(self, epsilon: float, delta: float) -> bool:
        """Tell whether δ is kept at this ε whatever the others answer, as far as so many parts show."""
        parts = [(0.0, 0, self.others)]
        for _ in range(MOST_PARTS):
            if not parts:
                return True
            _, first, last = heapq.heappop(parts)
            law, error = self.law(first, self.others - last)
            found = self.delta(law, epsilon) + 3 * error
            if found > delta:
                if first == last:
                    return False
                middle = (first + last) // 2
                heapq.heappush(parts, (-found, first, middle))
                heapq.heappush(parts, (-found, middle + 1, last))
        return False


def epsilon_between(pair: Pair, others: int, delta: float, most: float) -> Between:
    """Return ε at this δ from both sides, for whatever so many others answer."""
    person = TwoOutputs(pair, others)
    ends = {ones: person.epsilon(ones, delta, most) for ones in (0, others)}
    ones = max(ends, key=ends.__getitem__)
    low = ends[ones]
    for close in CLOSE[sum(others > many for many in MANY) :]:
        high = low * (1 + close) + 1e-9
        if high >= most:
            break
        if person.holds(high, delta):
            return Between(low, ones, high)
    return Between(low, ones, most)
