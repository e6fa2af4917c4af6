"""Intervals: how many standard errors they reach, and what numbers with such intervals can tell.

**Live intervals** hold however often you look while reports come in: their reach grows with looking. A fixed interval
holds at one number of reports that was chosen beforehand. A reader who looks all the time sees it miss some time far
more often. Both reaches below hold at all looks together; α is the probability that the interval *ever* misses, and
`part` the information so far as a part of the planned one: reports over planned reports. A wrong plan costs width, not
validity: the plan only says where the interval is narrowest.

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

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import lambertw

from pldp.errors import EstimateError
from pldp.mechanisms.arrays import FloatArray

CONFIDENCE = 0.95
"""Confidence of intervals where nobody asks for another."""

CORE: Final = 3  # doublings from the plan on at which the interval of a fit is narrowest
FARTHEST_REACH: Final = 40.0  # no interval reaches so many standard errors
TELLING: Final = 0.1  # half width, as a part of all that is possible, of a telling interval: ± 10 points of a share
UNBELIEVABLE: Final = 4.0  # standard errors by which no estimate lies outside of all that is possible
POWER: Final = 0.8  # probability with which so many more reports would tell two numbers apart
MOST_TIES: Final = 10  # labels that are named
FARTHEST: Final = 100  # times as many reports are too many to speak of

Records = list[dict[str, Any]]
Label = str | tuple[str, ...]


class Row(NamedTuple):
    """One number of a result, with its error and interval."""

    label: Label
    estimate: float
    standard_error: float
    low: float
    high: float


class Interval(NamedTuple):
    """Lower and upper ends, one per number."""

    low: FloatArray
    high: FloatArray


def bias_of_difference(one: Interval | None, other: Interval | None) -> Interval | None:
    """Return what differences of numbers may lack (`Result.bias`), given what each of both may.

    >>> bias_of_difference(Interval(np.array([0.0]), np.array([0.1])), None)
    Interval(low=array([0.]), high=array([0.1]))
    """
    if one is None and other is None:
        return None
    nothing = Interval(np.zeros(1), np.zeros(1))
    (least, most), (other_least, other_most) = (map(np.ravel, each or nothing) for each in (one, other))
    return Interval(least - other_most, most - other_least)


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is none."""
    if not 0 < confidence < 1:
        raise EstimateError(f"confidence must be between 0 and 1, not {confidence}")


def normal_reach(confidence: float, comparisons: int = 1) -> float:
    """Return how many standard errors a normal interval reaches, for one of so many intervals that hold together.

    >>> round(normal_reach(0.95), 2), round(normal_reach(0.95, 10), 2)
    (1.96, 2.81)
    """
    check_confidence(confidence)
    return NormalDist().inv_cdf(1 - (1 - confidence) / 2 / comparisons)


def make_rows(labels: Sequence[Label], estimates: FloatArray, error: FloatArray, interval: Interval) -> list[Row]:
    """Return one row per label."""
    columns = (np.ravel(numbers).tolist() for numbers in (estimates, error, *interval))
    return [Row(label, *numbers) for label, *numbers in zip(labels, *columns, strict=True)]


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
    part = 1 / (CORE + 2)
    if 0 <= doubling < CORE:
        return part
    distance = -doubling if doubling < 0 else doubling - CORE + 1
    return part * 6 / (math.pi * distance) ** 2


@lru_cache(1024)
def _plan_ratio(doubt: float) -> float:
    """Return x = I/I₀ at the plan, where the reach is least: x = ln(1 + x) + doubt."""
    return -1 - float(lambertw(-math.exp(-1 - doubt), -1).real)


@lru_cache(1024)
def _leaving_reach(outside: float) -> float:
    """Return the reach that a standardised Brownian motion leaves with this probability while its time doubles."""
    normal = NormalDist()

    def excess(reach: float) -> float:
        return normal.pdf(reach) * ((reach - 1 / reach) * math.log(2) + 4 / reach) - outside

    return float(brentq(excess, 1, FARTHEST_REACH, xtol=1e-14))  # the probability falls from 1 on


def mark_too_few(records: Records, possible: tuple[float, float], needed: Callable[[float], float]) -> Records:
    """Add `too_few` to rows that say nothing: the number of reports at which the interval would be telling.

    A row says nothing if its interval is as wide as all that is possible. Where an estimate lies outside by half of
    that again, and many standard errors from anything possible, errors were taken from too few reports to be believed,
    and no row says anything. `needed` tells how many reports make an interval so many times narrower.

    >>> rows = [{"estimate": 0.7, "standard_error": 0.3, "low": 0.1, "high": 1.3},
    ...     {"estimate": 0.5, "standard_error": 0.1, "low": 0.3, "high": 0.7}]
    >>> [row.get("too_few") for row in mark_too_few(rows, (0.0, 1.0), lambda times: 100 * times**2)]
    [3600, None]
    """
    low, high = possible
    span = high - low
    outside = [max(low - row["estimate"], row["estimate"] - high, 0.0) for row in records]
    pairs = zip(records, outside, strict=True)
    unbelievable = any(beyond > max(span / 2, UNBELIEVABLE * row["standard_error"]) for row, beyond in pairs)
    found = []
    for row, beyond in zip(records, outside, strict=True):
        width = row["high"] - row["low"]
        says_nothing = unbelievable or width >= span * (1 - 1e-9)
        times = max(width / 2, beyond, span / 2) / (TELLING * span)
        found.append({**row, "too_few": round_up(needed(times))} if says_nothing and times < math.inf else row)
    return found


def reports_for(times: float, reports: int, reach: Callable[[float], float]) -> float:
    """Return how many reports make intervals so many times narrower: errors shrink with the root of their number.

    `reach` is the number of standard errors that an interval reaches, given the reports.

    >>> reports_for(3.0, 100, lambda reports: 1.96)
    900.0
    """
    least = reports * (times / reach(reports)) ** 2
    low, high = float(reports), max(float(reports), least * reach(reports) ** 2)
    while high > low * 1.0001 and low < least * reach(low) ** 2:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if middle < least * reach(middle) ** 2 else (low, middle)
    return round(high, 6)


def round_up(number: float) -> int:
    """Return a number rounded up to two digits.

    >>> round_up(3168.2), round_up(7.3), round_up(120)
    (3200, 8, 120)
    """
    unit: int = 10 ** max(0, math.floor(math.log10(max(number, 1))) - 1)
    return math.ceil(number / unit - 1e-9) * unit


def find_lead(
    labels: Sequence[Any],
    estimates: FloatArray,
    errors: FloatArray,
    reach: float,
    reports: int,
    *,
    ends: Interval | None = None,
    bias: Interval | None = None,
) -> Mapping[str, Any] | None:
    """Return the label of the largest number, and the `ties`: those whose difference to it may be 0, nearest first.

    `errors` are those of the differences, `reach` the standard errors that their intervals reach, unless these have
    other `ends`; `bias` is what each difference may lack. `more` says how many more reports would tell the two apart
    with a probability of 80 % if the estimates are right, n·((reach + 0.84)·error/difference)² − n, where the
    difference is the least that bias leaves of it; it is `None` where that is more than a hundred times as many.

    >>> found = find_lead(("a", "b", "c"), np.array([0.45, 0.40, 0.15]), np.array([0, 0.04, 0.03]), 2.24, 1000)
    >>> found["label"], found["tied"], found["ties"][0]["label"], found["ties"][0]["more"]
    ('a', 1, 'b', 5100)
    """
    top = int(np.argmax(estimates))
    others = np.delete(np.arange(estimates.size), top)
    differences = estimates[top] - estimates
    if not np.isfinite(errors[others]).all():
        return None
    low, high = ends or (differences - reach * errors, differences + reach * errors)
    tied = others[low[others] <= 0]
    nearest = tied[np.argsort(differences[tied], kind="stable")]
    wanted = reach + NormalDist().inv_cdf(POWER)
    ties = []
    for place in nearest[:MOST_TIES].tolist():
        difference, error = float(differences[place]), float(errors[place])
        least = difference if bias is None else difference + float(bias.low[place])
        times = (wanted * error / least) ** 2 if least > 0 else math.inf
        more = round_up(reports * (times - 1)) if times <= FARTHEST else None
        own = {"low": float(low[place]), "high": float(high[place])}
        ties.append({"label": labels[place], "difference": difference, **own, "more": more})
    return {"label": labels[top], "tied": int(tied.size), "of": int(estimates.size), "ties": ties}
