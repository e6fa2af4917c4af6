"""How many reports of others come from the blanket, and what that makes of the sum of their L and the person's."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

STEP = 2e-4
"""Numbers of reports are rounded down by at most this part of themselves."""

FEW = 256
"""So many numbers are never rounded at all."""

LEAST_CUT = 1e-30
"""Whatever is rarer than this is not looked for."""


class Others(NamedTuple):
    """So many people whose report is one of the blanket's with this chance, each on their own.

    Or so many groups of people whose reports come from the blanket all together.
    """

    people: int
    chance: float
    size: int = 1


class Logarithm(NamedTuple):
    """The logarithm of 1 + z, exact also where z is small: of its size, and its angle."""

    size: FloatArray
    angle: FloatArray

    @classmethod
    def of(cls, less_one: ComplexArray) -> "Logarithm":
        """Take it."""
        real, imaginary = less_one.real, less_one.imag
        with np.errstate(divide="ignore"):  # of 0, which stays 0 to any power
            size = np.log1p(np.maximum(2 * real + real**2 + imaginary**2, -1.0)) / 2
        return cls(size, np.arctan2(imaginary, 1 + real))

    def power(self, number: float) -> ComplexArray:
        """Return (1 + z)^number."""
        return polar(number * self.size, number * self.angle)


def polar(size: FloatArray, angle: FloatArray) -> ComplexArray:
    """Return the complex numbers of which these are the logarithms."""
    length = np.exp(size)
    found: ComplexArray = length * np.cos(angle) + 1j * (length * np.sin(angle))
    return found


@dataclass(frozen=True)
class Alike:
    """All others have the same chance γ: with n people, (1/(m+1))·E over m is that of n people over nγ."""

    people: int
    chance: float

    lost = 0.0

    @property
    def mean(self) -> float:
        """The mean number of reports from the blanket, the person's own among them."""
        return self.people * self.chance

    @property
    def largest(self) -> int:
        """As many as can come."""
        return self.people

    @property
    def scale(self) -> float:
        """What sums are divided by at least."""
        return self.mean

    def exponent(self, less_one: FloatArray) -> FloatArray:
        """Return ln E e^{tS}, given E e^{tL} − 1."""
        found: FloatArray = self.people * np.log1p(self.chance * less_one)
        return found

    def transform(self, less_one: ComplexArray) -> ComplexArray:
        """Return E e^{iθS}/(m+1), given E e^{iθL} − 1; a sum of none is 0 and does not count."""
        return Logarithm.of(self.chance * less_one).power(self.people) / self.mean


@dataclass(frozen=True)
class Counted:
    """At least start + i·step reports come from the blanket with probability weight i; `lost`: fewer than that."""

    start: int
    step: int
    weight: FloatArray
    lost: float

    @property
    def largest(self) -> int:
        """The largest number, the person's own report among them."""
        return self.start + self.step * (self.weight.size - 1) + 1

    @property
    def mean(self) -> float:
        """The mean number."""
        return float(self.start + 1 + self.step * (self.weight @ np.arange(self.weight.size)))

    @property
    def scale(self) -> float:
        """What sums are divided by at least."""
        return self.start + 1.0

    def exponent(self, less_one: FloatArray) -> FloatArray:
        """Return ln E e^{tS} of whichever number makes it largest."""
        single = np.log1p(less_one)
        found: FloatArray = np.maximum((self.start + 1) * single, self.largest * single)
        return found

    def transform(self, less_one: ComplexArray) -> ComplexArray:
        """Return E e^{iθS}/(m+1), by Horner's rule."""
        single = Logarithm.of(less_one)
        weights = self.weight / (self.start + 1.0 + self.step * np.arange(self.weight.size))
        found = np.full(less_one.size, complex(weights[-1]))
        if weights.size > 1:
            stride = single.power(self.step)
            for weight in weights[-2::-1]:
                found *= stride
                found += weight
        found *= single.power(self.start + 1)
        return found


Crowd = Alike | Counted
"""Others, as a person's report is hidden among them."""


def crowd_of(others: Sequence[Others], allowed: float) -> Crowd:
    """Return the others as a crowd; numbers below what comes but with probability `allowed` are cut off."""
    counted = [each for each in others if each.people > 0 and each.chance > 0]
    if len({each.chance for each in counted}) == 1 and all(each.size == 1 for each in counted):
        return Alike(sum(each.people for each in counted) + 1, counted[0].chance)
    low, high = _reach(counted, allowed)
    pmf = _pmf(counted, low, high)
    pmf[-1] += max(0.0, 1 - pmf.sum())  # what lies above counts as little as the largest number
    step = max(1, int(low * STEP)) if pmf.size > FEW else 1
    weight = np.add.reduceat(pmf, np.arange(0, pmf.size, step))
    return Counted(low, step, weight, allowed if low else 0.0)


def fewest(others: Sequence[Others], allowed: float) -> int:
    """Return how many come at least, but for a probability of `allowed`."""
    return _reach(others, allowed)[0]


def _reach(others: Sequence[Others], allowed: float) -> tuple[int, int]:
    """Return between which numbers a sum of trials lies, but for a probability of `allowed` on either side.

    By Bernstein's inequality a sum of independent trials that count up to b and have variance v is t below its mean
    with probability at most exp(−t²/(2v + 2bt/3)).
    """
    mean = sum(each.people * each.chance * each.size for each in others)
    variance = sum(each.people * each.chance * (1 - each.chance) * each.size**2 for each in others)
    rare = -math.log(max(allowed, LEAST_CUT)) * max(each.size for each in others)
    reach = rare / 3 + math.sqrt((rare / 3) ** 2 + 2 * variance * -math.log(max(allowed, LEAST_CUT)))
    most = sum(each.people * each.size for each in others)
    return max(0, math.floor(mean - reach)), min(most, math.ceil(mean + reach))


def _pmf(others: Sequence[Others], low: int, high: int) -> FloatArray:
    """Return the probabilities of low … high; what is beyond wraps around and only adds to them."""
    width = high - low + 1
    length = 1 << (width - 1).bit_length() if width > 1 else 2
    angle = 2 * np.pi * np.arange(length // 2 + 1) / length
    size, turn = np.zeros(angle.size), -angle * low
    for people, chance, counted in others:
        less_one = -2 * np.sin(counted * angle / 2) ** 2 + 1j * np.sin(counted * angle)
        single = Logarithm.of(chance * less_one)
        size += people * single.size
        turn += people * single.angle
    found: FloatArray = np.fft.irfft(polar(size, -turn), length)
    return np.maximum(found[:width], 0.0)
