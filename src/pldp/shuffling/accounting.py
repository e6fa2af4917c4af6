"""The ε of one report in a shuffled batch at a given δ, from above.

If m of the others' reports come from the blanket ω, their m reports and the person's one are, in random order,
Σ_j R(y_j)/(m+1) times as likely as m+1 reports from ω. So with L = R − e^ε R' and iid L_j under ω

    δ(ε) = E_m [ E (L_1 + … + L_{m+1})₊ / (m+1) ],

and the truth is not above it, as an observer who does not know which reports come from the blanket knows less. The sum
is computed on a lattice: every atom of L is split between its two neighbours so that its mean stays, which makes the
mean of a convex function larger, never smaller. What lies outside the window of the Fourier transform is bounded by
Chernoff's inequality, and what rounding of floating-point numbers can change is added.

References: Balle, Bell, Gascón, Nissim, "The Privacy Blanket of the Shuffle Model" (2019); Su, Cheng, Wang,
"Decomposition-Based Optimal Bounds for Privacy Amplification via Shuffling" (2025).
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from pldp.shuffling.crowd import Crowd
from pldp.shuffling.laws import Law

FloatArray = npt.NDArray[np.float64]

RARE = 38.0
"""Sums outside the window have at most the probability e^−RARE, on either side."""

COARSE, FINE = 1e-2, 1.5e-4
"""The lattice may make the variance of L larger by this part: while ε is searched for, and in the end."""

LARGEST_LATTICE = 3 << 19
LARGEST_EXPONENT = 600.0
ROUNDING = 2.0**-52

RANGE, CLOSE = 2e-3, 3e-5
"""Relative distances at which the search for ε ends: with the coarse lattice, and with the fine one."""

FEW_POINTS = 64
"""Lattice points of L up to which the transform is summed directly, which is more exact."""


Crowds = Sequence[tuple[float, Crowd]]
"""Crowds in which a report is hidden, and how often in each."""


class Window(NamedTuple):
    """Where sums of L lie but for e^−RARE, and what that leaves out of the mean of their positive part."""

    low: float
    high: float
    beyond: float


def delta_above(epsilon: float, law: Law, crowd: Crowd, added: float = FINE) -> float:
    """Return a δ that is not below the true one for this ε."""
    factor = math.exp(epsilon) * (1 - law.slack) / (1 + law.slack)
    gain = law.one - factor * law.two
    shown = float(np.maximum(law.shown_one - factor * law.shown_two, 0).sum())
    tail = 0.0
    if gain.max() > 0:
        window = _window(gain, law.mass, crowd)
        tail = _mean_positive(gain, law.mass, crowd, window, added) + window.beyond / crowd.scale
    return (1 + law.slack) * (tail + shown) + crowd.lost


def _window(gain: FloatArray, mass: FloatArray, crowd: Crowd) -> Window:
    """Chernoff: Pr(S > b) ≤ E e^{tS} e^{−tb}, and (s − b)₊ ≤ e^{t(s−b)}/(et)."""
    spread = math.sqrt(float(mass @ gain**2) * crowd.mean)
    scale = np.geomspace(0.1, 30, 60) / spread

    def furthest(values: FloatArray) -> tuple[float, float]:
        tilted = np.outer(scale, values)
        usable = tilted.max(axis=1) < LARGEST_EXPONENT
        reach = (crowd.exponent(np.expm1(tilted[usable]) @ mass) + RARE) / scale[usable]
        best = int(np.argmin(reach))
        return float(reach[best]), float(scale[best])

    high, tilt = furthest(gain)
    low, _ = furthest(-gain)
    high = max(high, 0.0)
    return Window(-low, high, math.exp(-RARE) * (high + 1 / (math.e * tilt)))


def _lattice(
    gain: FloatArray, mass: FloatArray, width: float, allowed: float
) -> tuple[float, npt.NDArray[np.int64], FloatArray]:
    """Return the spacing, the points and their masses: the coarsest lattice that adds little variance."""
    largest = float(np.abs(gain).max())
    variance = float(mass @ gain**2) - float(mass @ gain) ** 2
    parts, finest = 1, max(1, int(LARGEST_LATTICE * largest / width) - 1)
    while True:
        spacing = largest / parts
        below = np.floor(gain / spacing)
        rest = gain / spacing - below
        if float(mass @ (rest * (1 - rest))) * spacing**2 <= allowed * variance or parts >= finest:
            break
        parts = min(finest, max(parts + 1, int(parts * 1.2)))
    points = np.concatenate([below, below + 1]).astype(np.int64)
    unique, place = np.unique(points, return_inverse=True)
    masses = np.bincount(place.ravel(), np.concatenate([mass * (1 - rest), mass * rest])).astype(np.float64)
    kept = masses > 0
    return spacing, unique[kept], masses[kept]


def _mean_positive(gain: FloatArray, mass: FloatArray, crowd: Crowd, window: Window, added: float) -> float:
    """Return E S₊/(m+1) within the window from above."""
    spacing, points, masses = _lattice(gain, mass, window.high - window.low, added)
    first = math.floor(window.low / spacing) - 1
    length = fast_length(math.ceil(window.high / spacing) + 2 - first)
    less_one, exactness = transform(points, masses, length)
    turn = np.arange(less_one.size) * (2 * np.pi / length)
    spectrum = crowd.transform(less_one)
    angle = np.abs(np.angle(1 + less_one))
    error = fourier_error(spectrum, crowd.largest * (exactness + ROUNDING * angle) + 64 * ROUNDING, length)
    positive = np.maximum((np.arange(length) + first) * spacing, 0.0)
    found = np.fft.irfft(np.conj(spectrum * np.exp(-1j * turn * first)), length)
    return float(np.maximum(found, 0.0) @ positive) + error * float(np.linalg.norm(positive))


@lru_cache(maxsize=4)
def _half_turns(length: int) -> tuple[FloatArray, FloatArray]:
    """Return sines and cosines of half of all angles: one search asks for the same length again and again."""
    half = np.arange(length) * (np.pi / length)
    return np.sin(half), np.cos(half)


def transform(
    points: npt.NDArray[np.int64], masses: FloatArray, length: int
) -> tuple[npt.NDArray[np.complex128], FloatArray | float]:
    """Return E e^{iθX} − 1 of a law on whole numbers at all angles θ, and how exact it is."""
    if points.size <= FEW_POINTS:
        place = np.arange(length // 2 + 1, dtype=np.int64)
        found = np.zeros(place.size, np.complex128)
        sines, cosines = _half_turns(length)
        for point, weight in zip(points, masses, strict=True):
            half = np.remainder(int(point) * place, length)
            sine = sines[half]
            found.real -= 2 * weight * sine**2
            found.imag += 2 * weight * sine * cosines[half]
        return found, 8 * ROUNDING * np.abs(found)
    wrapped = np.bincount(np.remainder(points, length), masses, minlength=length)
    return np.conj(np.fft.rfft(wrapped)) - masses.sum(), 8 * ROUNDING * math.log2(length)


def fourier_error(spectrum: npt.NDArray[np.complex128], relative: FloatArray | float, length: int) -> float:
    """Return a bound of the Euclidean error of the inverse transform, given relative errors of the transform."""
    inexact = np.abs(spectrum) * (relative + 8 * ROUNDING * math.log2(length))
    return math.sqrt(2 * float(inexact @ inexact) / length)


def fast_length(least: int) -> int:
    """Return a length that the transform is fast for: a power of two, or three or five times one."""
    return min(base << max(0, math.ceil(math.log2(least / base))) for base in (2, 6, 10))


def epsilon_above(law: Law, crowds: Crowds, delta: float, most: float) -> float:
    """Return an ε that is not below the true one at this δ, at most `most`, which holds without a crowd.

    A report is hidden in one of the crowds, each with a probability of its own; which one it is, everybody sees.
    """

    def delta_with(added: float) -> Callable[[float], float]:
        return lambda epsilon: sum(part * delta_above(epsilon, law, crowd, added) for part, crowd in crowds)

    square = float(law.mass @ (law.one - law.two) ** 2)
    noise = math.sqrt(square / sum(part * crowd.mean for part, crowd in crowds))
    near, slope = _falling_root(delta_with(COARSE), delta, gaussian_epsilon(noise, delta), most, RANGE)
    if near >= most:
        return most
    return _falling_root(delta_with(FINE), delta, (near * (1 - COARSE / 2), slope), most, CLOSE)[0]


def gaussian_epsilon(noise: float, delta: float) -> tuple[float, float]:
    """Return the ε at δ of two normal laws so far apart, and how fast ln δ falls there: where searches start."""

    def log_delta(epsilon: float) -> float:
        left, right = log_ndtr(-epsilon / noise + noise / 2), epsilon + log_ndtr(-epsilon / noise - noise / 2)
        return float(left + math.log(max(-math.expm1(right - left), 1e-12)))

    low, high = 0.0, noise * noise + 40 * noise
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle) > math.log(delta) else (low, middle)
    return high, math.exp(high + float(log_ndtr(-high / noise - noise / 2))) / delta


def _falling_root(
    delta_of: Callable[[float], float], delta: float, start: tuple[float, float], most: float, close: float
) -> tuple[float, float]:
    """Return an ε whose δ is small enough, within a part `close` of the smallest such, and the slope of ln δ there."""
    (at, slope), target = start, math.log(delta)
    low, high = (0.0, math.nan), (most, math.nan)
    at = min(at, most * (1 - CLOSE))
    for _ in range(40):
        found = math.log(max(delta_of(at), 1e-300)) - target
        if found <= 0:
            high = (at, found)
            if found >= -close * at * slope or at - low[0] <= close * at:
                break
        else:
            low = (at, found)
            if high[0] - at <= close * at:
                break
        if not math.isnan(low[1]) and not math.isnan(high[1]):
            slope = (low[1] - high[1]) / (high[0] - low[0])
            at = low[0] + low[1] / slope
        else:
            at += found / slope
        at += close * at / 2
        margin = 0.01 * (high[0] - low[0])
        if not low[0] + margin < at < high[0] - margin:
            at = min(max(at, low[0] + margin), high[0] - margin)
    return high[0], slope
