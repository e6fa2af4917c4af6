"""Two outputs and two values: the truth, over everything that others can answer.

If m of the others say 1 with chance a and the rest with chance b, the number of ones among them, B, is a sum of two
binomials, and with c = a − e^ε b and the person's value being the one whose chance is a,

    δ = max_T [c·Pr(B = T−1) − (e^ε − 1)·Pr(B ≥ T)].

It is taken over all m by branch and bound: whoever also sees the reports of j people knows more, so all m from m₀ to
m₀ + j are bounded by m₀ ones among j people fewer.
"""

import heapq
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from pldp.shuffling.accounting import gaussian_epsilon

FloatArray = npt.NDArray[np.float64]

CLOSE = 5e-4
"""Relative distance between both bounds at which halving ends."""

MOST_HALVINGS = 4000
ERROR = 1e-13
"""More than floating-point numbers change of a probability here."""


class Between(NamedTuple):
    """A bound from below, with the number of ones among the others that shows it, and one from above."""

    low: float
    ones: int
    high: float


class Pair(NamedTuple):
    """The chances of saying 1, of the person's value and of the other one."""

    one: float
    two: float


def epsilon_between(pair: Pair, others: int, delta: float, most: float) -> Between:
    """Return ε at this δ from both sides, for whatever so many others answer."""
    ends = {ones: _epsilon(pair, others, ones, delta, most) for ones in {0, others // 2, others}}
    ones = max(ends, key=ends.__getitem__)
    low = ends[ones]
    if low <= 0:
        low = 0.0
    if low >= most:
        return Between(most, ones, most)
    for close in (CLOSE, 4 * CLOSE, 16 * CLOSE, 64 * CLOSE):
        high = min(most, low * (1 + close) + 1e-12)
        if _holds(pair, others, delta, high):
            return Between(low, ones, high)
    return Between(low, ones, most)


def _law(pair: Pair, ones: int, zeros: int) -> tuple[int, FloatArray]:
    """Return the first number of ones that is not rare and the probabilities from there on."""
    first, second = _binomial(ones, pair.one), _binomial(zeros, pair.two)
    size = first[1].size + second[1].size - 1
    if min(first[1].size, second[1].size) < 64:
        return first[0] + second[0], np.convolve(first[1], second[1])
    length = 1 << (size - 1).bit_length()
    joint = np.fft.irfft(np.fft.rfft(first[1], length) * np.fft.rfft(second[1], length), length)[:size]
    return first[0] + second[0], np.maximum(joint, 0.0)


def _binomial(people: int, chance: float) -> tuple[int, FloatArray]:
    spread = 9.5 * math.sqrt(people * chance * (1 - chance)) + 30
    low, high = max(0, math.floor(people * chance - spread)), min(people, math.ceil(people * chance + spread))
    return low, np.asarray(binom.pmf(np.arange(low, high + 1), people, chance))


def _delta(pair: Pair, law: FloatArray, epsilon: float) -> float:
    """δ of a law of ones, in the direction where ones speak for the person's value or against it."""
    grown = math.exp(epsilon)
    padded = np.concatenate([[0.0], law, [0.0]])
    # Of a number t: chance·Pr(B = t−1) + (1 − chance)·Pr(B = t)
    person, other = (chance * padded[:-1] + (1 - chance) * padded[1:] for chance in pair)
    return float(np.maximum(person - grown * other, 0.0).sum())


def _epsilon(pair: Pair, others: int, ones: int, delta: float, most: float) -> float:
    """ε of one distribution of the others' answers, from below."""
    _, law = _law(pair, ones, others - ones)
    if _delta(pair, law, most) > delta:
        return most
    variance = ones * pair.one * (1 - pair.one) + (others - ones) * pair.two * (1 - pair.two)
    guess, _ = gaussian_epsilon(abs(pair.one - pair.two) / math.sqrt(variance + 0.25), delta)
    low, high = 0.0, most
    at = min(guess, most / 2)
    while high - low > 1e-9 * max(high, 1e-9):
        if _delta(pair, law, at) > delta + ERROR:
            low = at
        else:
            high = at
        at = min(max((low + high) / 2, high * 0.9), low * 1.1) if low > 0 else (low + high) / 2
        if not low < at < high:
            at = (low + high) / 2
            if not low < at < high:
                break
    return low


def _holds(pair: Pair, others: int, delta: float, epsilon: float) -> bool:
    """Tell whether δ is kept at this ε whatever the others answer."""
    parts = [(0.0, 0, others)]
    for _ in range(MOST_HALVINGS):
        if not parts:
            return True
        _, first, last = heapq.heappop(parts)
        found = _delta(pair, _law(pair, first, others - last)[1], epsilon) + ERROR
        if found <= delta:
            continue
        if first == last:
            return False
        middle = (first + last) // 2
        for part in ((first, middle), (middle + 1, last)):
            heapq.heappush(parts, (-found, *part))
    return False
