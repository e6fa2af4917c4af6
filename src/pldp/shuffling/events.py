"""The ε of one report in a shuffled batch at a given δ, from below: an event that an observer can look for.

All others hold a third value z. Every output y gets a whole number, in proportion to (Q(y|x) − e^ε Q(y|x'))/Q(y|z),
and the event is that the numbers of all reports add up to at least T. Its probability is that of a sum of independent
numbers, so for any numbers and any T

    ε ≥ ln (Pr(event | x) − δ) / Pr(event | x').
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pldp.shuffling.accounting import RARE, ROUNDING, fast_length, fourier_error, transform
from pldp.shuffling.crowd import Logarithm, polar

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

LARGEST_LATTICE = 3 << 19
ADDED = 2e-3
"""Rounding of the numbers may add this part to their variance: the event is then a little worse than the best."""


TINY, UNHEARD = 1e-300, 100.0
MOST_THRESHOLDS = 4000
LEAST_MISSED = 1e-9
"""Thresholds that are tried, from the one that is missed so seldom on."""


@dataclass(frozen=True)
class View:
    """Classes of outputs as one observer sees them: of a person with either value, and of groups of others."""

    one: FloatArray
    two: FloatArray
    others: Sequence[tuple[int, FloatArray]]  #: So many people whose outputs have these probabilities.


def epsilon_below(view: View, delta: float, guess: float) -> float:
    """Return an ε that is not above the true one at this δ, from the event that is best if ε is near `guess`."""
    total = sum(people for people, _ in view.others)
    if not total:
        return _alone(view, delta)
    crowd = np.sum([people * law for people, law in view.others], axis=0) / total
    gain = view.one - math.exp(guess) * view.two
    # What nobody else says speaks for itself: any large number will do.
    gain = gain / np.where(crowd > 0, crowd, np.maximum(np.maximum(view.one, view.two), TINY) / UNHEARD)
    scores = _scores(gain, crowd, total)
    low, length, exponents = _range(scores, view)
    size: FloatArray = np.zeros(length // 2 + 1)
    turn: FloatArray = np.asarray(-np.arange(length // 2 + 1) * (2 * np.pi / length) * low, np.float64)
    inexact: FloatArray = np.zeros(size.size)
    for people, law in view.others:
        points, place = np.unique(scores, return_inverse=True)
        less_one, exactness = transform(points, np.bincount(place.ravel(), law).astype(np.float64), length)
        single = Logarithm.of(less_one)
        size += people * single.size
        turn += people * single.angle
        inexact += people * (exactness + ROUNDING * np.abs(single.angle))
    spectrum = polar(size, turn)
    error = fourier_error(spectrum, inexact + 64 * ROUNDING, length) * math.sqrt(length) + 2 * exponents
    pmf = np.fft.irfft(np.conj(spectrum), length)
    above = np.concatenate([np.cumsum(pmf[::-1])[::-1], [0.0]])
    return _best_threshold(above, scores - int(scores.min()), view, delta, error)


def _alone(view: View, delta: float) -> float:
    """There is nobody else: the event of single outputs."""
    order = np.argsort(-(view.one + 1e-300) / (view.two + 1e-300))
    one, two = np.cumsum(view.one[order]), np.cumsum(view.two[order])
    return _ratio(one, two, delta, ROUNDING * 16)


def _scores(gain: FloatArray, law: FloatArray, total: int) -> IntArray:
    """Round to the coarsest whole numbers that change little."""
    largest = float(np.abs(gain).max())
    variance = float(law @ gain**2) - float(law @ gain) ** 2
    width = 2 * math.sqrt(2 * RARE * variance * total) + 2 * RARE * largest
    finest = max(1, int(LARGEST_LATTICE * largest / width) - 1)
    parts = 1
    while True:
        found = np.rint(gain / largest * parts)
        error = gain - found * largest / parts
        if float(law @ error**2) - float(law @ error) ** 2 <= ADDED * variance or parts >= finest:
            return found.astype(np.int64)
        parts = min(finest, max(parts + 1, int(parts * 1.2)))


def _range(scores: IntArray, view: View) -> tuple[int, int, float]:
    """Return where sums begin and how many numbers they span but for a probability of e^−RARE on either side."""
    spread = math.sqrt(sum(people * float(law @ scores**2.0) for people, law in view.others)) or 1.0
    scale = np.geomspace(0.1, 30, 60) / spread

    def furthest(values: FloatArray) -> float:
        tilted = np.outer(scale, values)
        usable = tilted.max(axis=1) < 600
        moments = np.expm1(tilted[usable])
        exponent = sum(people * np.log1p(moments @ law) for people, law in view.others)
        return float(np.min((exponent + RARE) / scale[usable]))

    high, low = furthest(scores.astype(float)), -furthest(-scores.astype(float))
    margin = int(scores.max() - scores.min()) + 2
    first = math.floor(low) - margin
    return first, fast_length(math.ceil(high) + margin - first), math.exp(-RARE)


def _best_threshold(above: FloatArray, shifts: IntArray, view: View, delta: float, error: float) -> float:
    """Add the person's own number to the sums of the others and take the best T."""
    first = int(np.searchsorted(-above, -(1 - LEAST_MISSED)))
    last = int(np.searchsorted(-above, -delta / 2))
    largest = int(shifts.max())
    step = max(1, (last + largest - first) // MOST_THRESHOLDS)  # any T will do
    thresholds = np.arange(max(first, largest), min(last + largest, above.size - 1), step)
    numbers, place = np.unique(shifts, return_inverse=True)
    chances = [np.bincount(place.ravel(), law) for law in (view.one, view.two)]
    one, two = np.zeros((2, thresholds.size))
    for shift, first_chance, second_chance in zip(numbers, *chances, strict=True):
        part = above[thresholds - shift]
        one += first_chance * part
        two += second_chance * part
    return _ratio(one, two, delta, error)


def _ratio(one: FloatArray, two: FloatArray, delta: float, error: float) -> float:
    """Return the largest ln (Pr(event | x) − δ)/Pr(event | x'), rounded down by what the numbers may be wrong."""
    safe, sure = one - delta - error, np.maximum(two, 0.0) + error
    usable = safe > 0
    return max(0.0, float(np.max(np.log(safe[usable] / sure[usable]), initial=0.0)))
