"""What numbers can tell: whether their intervals say anything at all, and which of them can be told apart."""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from pldp.mechanisms.arrays import FloatArray

TELLING: Final = 0.1
"""Half width, as a part of all that is possible, at which an interval is called telling: ± 10 points of a share."""

UNBELIEVABLE: Final = 4.0
"""Standard errors by which an estimate does not lie outside of all that is possible, if the errors are right."""

POWER: Final = 0.8
"""Probability with which so many more reports would tell two numbers apart, if the estimates are right."""

MOST_TIES: Final = 10  # labels that are named
FARTHEST: Final = 100  # times as many reports are too many to speak of

Records = list[dict[str, Any]]


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
    labels: Sequence[Any], estimates: FloatArray, errors: FloatArray, reach: float, reports: int
) -> Mapping[str, Any] | None:
    """Return the label of the largest number, and the `ties`: those whose difference to it may be 0, nearest first.

    `errors` are those of the differences, `reach` the standard errors that their intervals reach. `more` says how many
    more reports would tell the two apart with a probability of 80 % if the estimates are right,
    n·((reach + 0.84)·error/difference)² − n; it is `None` where that is more than a hundred times as many.

    >>> found = find_lead(("a", "b", "c"), np.array([0.45, 0.40, 0.15]), np.array([0, 0.04, 0.03]), 2.24, 1000)
    >>> found["label"], found["tied"], found["ties"][0]["label"], found["ties"][0]["more"]
    ('a', 1, 'b', 5100)
    """
    top = int(np.argmax(estimates))
    others = np.delete(np.arange(estimates.size), top)
    differences = estimates[top] - estimates
    if not np.isfinite(errors[others]).all():
        return None
    tied = others[differences[others] <= reach * errors[others]]
    nearest = tied[np.argsort(differences[tied], kind="stable")]
    wanted = reach + NormalDist().inv_cdf(POWER)
    ties = []
    for place in nearest[:MOST_TIES].tolist():
        difference, error = float(differences[place]), float(errors[place])
        times = (wanted * error / difference) ** 2 if difference > 0 else math.inf
        ends = {"low": difference - reach * error, "high": difference + reach * error}
        more = round_up(reports * (times - 1)) if times <= FARTHEST else None
        ties.append({"label": labels[place], "difference": difference, **ends, "more": more})
    return {"label": labels[top], "tied": int(tied.size), "of": int(estimates.size), "ties": ties}
