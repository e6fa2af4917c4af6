"""Intervals that hold however often you look while reports come in: reaches in standard errors that grow with looking.

A fixed interval holds at one number of reports that was chosen beforehand. A reader who looks all the time sees it
miss some time far more often. Both reaches below hold at all looks together; α is the probability that the interval
*ever* misses, and `part` the information so far as a part of the planned one: reports over planned reports. A wrong
plan costs width, not validity: the plan only says where the interval is narrowest.

**Linear estimates** (shares, items, means). I·(estimate − truth) is a sum over reports with variance I = 1/SE², and

    reach² = (1 + r)·ln((1 + 1/r)/α²),   r = I₀/I

is Robbins' normal mixture. I₀ is chosen so that the reach is least at the plan: I₀ = planned I / x, where
x = ln(1 + x) + 2·ln(1/α), 8.2 for α = .05. The interval is then 1.55 times as wide as a fixed one at the plan, and
up to 1.61 times until five times the plan.

Reference: Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas, "Time-uniform central limit theory and asymptotic confidence
sequences"; Robbins, "Statistical methods related to the law of the iterated logarithm".

**Fits** (likelihoods, hidden levels, quantiles). A fit may find another model as reports come, so that it is no sum
over all of them. Between two doublings of the reports its error moves like that of a sum; nothing is assumed from one
doubling to the next. Each doubling has a part of α (union bound), and inside it the reach c solves

    φ(c)·((c − 1/c)·ln 2 + 4/c) = α_b,

the probability that a standardised Brownian motion leaves ±c while its time doubles. A fifth of α each is for the three
doublings from the plan on, a fifth for all before and one for all after, falling with the square of the distance.

Reference: Miller, Siegmund, "Maximally selected chi square statistics"; Howard, Ramdas, McAuliffe, Sekhon,
"Time-uniform, nonparametric, nonasymptotic confidence sequences" (stitching).
"""

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np

from pldp.errors import EstimateError
from pldp.mechanisms.arrays import FloatArray

CORE: Final = 3
"""Doublings from the plan on at which the interval of a fit is narrowest: from the plan to eight times as much."""

_SHARE: Final = 1 / (CORE + 2)
_ROUNDS, _FARTHEST = 60, 40.0


def check_plan(planned: int | None) -> None:
    """Refuse a plan that is no number of reports."""
    if planned is not None and (isinstance(planned, bool) or not isinstance(planned, int) or planned < 1):
        raise EstimateError(f"live must be the planned number of reports, a whole number from 1, not {planned!r}")


def linear_reach(confidence: float, part: float | FloatArray) -> FloatArray:
    """Return how many standard errors an interval around a linear estimate must reach to hold at every look.

    >>> [round(float(linear_reach(0.95, part)) / 1.96, 2) for part in (0.1, 1, 5)]
    [1.95, 1.55, 1.61]
    """
    doubt = 2 * math.log(1 / (1 - confidence))
    r = 1 / (_plan_ratio(doubt) * np.asarray(part, float))
    return np.asarray(np.sqrt((1 + r) * (np.log1p(1 / r) + doubt)))


def fit_reach(confidence: float, part: float) -> float:
    """Return how many standard errors an interval around a fit must reach to hold at every look.

    >>> [round(fit_reach(0.95, part) / 1.96, 2) for part in (0.1, 1, 5)]
    [2.07, 1.59, 1.59]
    """
    return _leaving_reach((1 - confidence) * _spent(math.floor(math.log2(part))))


def fit_confidence(confidence: float, part: float) -> float:
    """Return the confidence of a fixed interval that is as wide as one that holds at every look.

    >>> round(fit_confidence(0.95, 1), 4)
    0.9982
    """
    return 1 - 2 * NormalDist().cdf(-fit_reach(confidence, part))


def _spent(doubling: int) -> float:
    """Return the part of α for one doubling, counted from the plan; all parts sum to 1.

    >>> round(sum(map(_spent, range(-100_000, 100_000))), 4)
    1.0
    """
    if 0 <= doubling < CORE:
        return _SHARE
    distance = -doubling if doubling < 0 else doubling - CORE + 1
    return _SHARE * 6 / (math.pi * distance) ** 2


@lru_cache(1024)
def _plan_ratio(doubt: float) -> float:
    """Return x = I/I₀ at the plan, where the reach is least: x = ln(1 + x) + doubt."""
    ratio = doubt
    for _ in range(_ROUNDS):
        ratio = math.log1p(ratio) + doubt
    return ratio


@lru_cache(1024)
def _leaving_reach(outside: float) -> float:
    """Return the reach that a standardised Brownian motion leaves with this probability while its time doubles."""
    low, high = 1.0, _FARTHEST  # the probability falls from 1 on
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        density = math.exp(-(middle**2) / 2) / math.sqrt(2 * math.pi)
        leaves = density * ((middle - 1 / middle) * math.log(2) + 4 / middle)
        low, high = (middle, high) if leaves > outside else (low, middle)
    return high
