"""Plan a number: its mean, and what its distribution will show."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from scipy.optimize import brentq

from pldp.errors import PlanError
from pldp.estimates import expected_mean
from pldp.mechanisms import Channel, Grid, names
from pldp.mechanisms.arrays import FloatArray, piecewise_arrays
from pldp.planning.kinds.kind import (
    Expected,
    Family,
    Given,
    Hidden,
    OneReport,
    PlannedKind,
    as_numbers,
    earlier_rows,
    normalise,
)
from pldp.survey import Number
from pldp.tallies import OutputCounts

STEEPEST: Final = 40.0
"""Logarithm of how many times more people one bucket has than the next, at most: of a mean at a bound all are there."""


class PlannedNumber(PlannedKind[Number]):
    """The mean."""

    def shares(self, question: Number, given: Given) -> FloatArray:
        """Return the shares of the buckets: equal by default, given, or as even as a given mean allows."""
        grid: Grid = question.grid
        if given is None or isinstance(given, str):
            shares = np.full(grid.size, 1.0)
            if (
                question.for_mean
            ):  # numbers between the bounds are rounded to points, and both bounds have one side only
                shares[[0, -1]] = 0.5
            return np.asarray(shares / shares.sum())
        if not isinstance(given, Mapping):
            return normalise(question, given, grid.size)
        if given.keys() == {"mean"}:
            return _tilted(question, grid, float(as_numbers(question, given["mean"])))
        if given.keys() == {"edges", "shares"}:
            return _rebinned(question, grid, *(as_numbers(question, given[key]) for key in ("edges", "shares")))
        rule = "a list with one weight per bucket, or its mean, as in {'mean': 40}: it has no labels"
        raise PlanError(f"shares of {question.name} must be {rule}")

    def guess(self, question: Number) -> str:
        """Few numbers are spread more than evenly."""
        return "numbers are spread evenly between the bounds"

    def earlier(self, question: Number, entry: Mapping[str, Any]) -> Given:
        """Return the density of an earlier result on its own grid, or its mean where that is all there is."""
        rows, curve, (low, high) = earlier_rows(question, entry), entry.get("density"), question.limits
        if isinstance(curve, Mapping) and "edges" in curve and "shares" in curve:
            return {"edges": curve["edges"], "shares": curve["shares"]}
        if "mean" not in rows:
            raise PlanError(f"shares of {question.name}: the earlier result must have a density or a mean")
        return {"mean": min(high, max(low, rows["mean"]))}  # by chance it may be past a bound

    def families(self, question: Number) -> Sequence[Family]:
        """Half of the people at two numbers as far from the middle: from both bounds to the middle.

        The variance E[z²] − E[z]² is concave in the shares, and mirroring a population does not change it: so none is
        worse than one that is its own mirror image. Of those E[z] is the middle, the rest is linear in the shares, and
        these pairs are the corners. Several levels are worst at the same pair unless their mechanisms differ.
        """
        grid: Grid = question.grid

        def place(part: float) -> int:
            return round((1 - part) * (grid.size - 1) / 2)

        def shares(part: float) -> FloatArray:
            found = np.zeros(grid.size)
            for bucket in (place(part), grid.size - 1 - place(part)):
                found[bucket] += 0.5
            return found

        def words(part: float) -> str:
            low, high = (
                grid.low + (bucket + 0.5) * grid.width for bucket in (place(part), grid.size - 1 - place(part))
            )
            ends = place(part) == 0
            return f"half of the people {'at each bound' if ends else f'at {low:.3g} and half at {high:.3g}'}"

        return [Family(shares, words)]

    def rows(self, question: Number, shares: FloatArray) -> dict[str, float]:
        """Return the mean."""
        grid: Grid = question.grid
        return {"mean": float(shares @ (grid.low + (np.arange(grid.size) + 0.5) * grid.width))}

    def one_report(self, question: Number, channel: Channel, shares: FloatArray) -> OneReport:
        """Return the variance of the unbiased number of a random person's report.

        E[z²] − E[z]² holds both the noise and the spread of the numbers themselves; z is on [−1, 1].
        """
        squares, means, forged = _moments(channel)
        grid: Grid = question.grid
        variance = np.array([squares @ shares - (means @ shares) ** 2]) * ((grid.high - grid.low) / 2) ** 2
        return OneReport(variance, variance, forged)

    def expected_counts(self, question: Number, channel: Channel, reports: float, shares: FloatArray) -> Any:
        """Return the mean count of every output, in whole numbers whose running sums are off by less than one."""
        if question.for_mean:
            return None
        chances = piecewise_arrays(channel).pieces().table()[:-1] @ shares
        sums = np.concatenate([[0.0], np.cumsum(chances / chances.sum())]) * reports
        return OutputCounts(np.diff(np.round(sums)).astype(np.int64))

    def hidden(self, question: Number, levels: Hidden, shares: FloatArray) -> Expected:
        """Return what to expect of the mean, the error of the mix of levels included."""
        bound = levels.differ and 2 * levels.differ  # on [−1, 1]
        found = expected_mean(levels.channels, levels.label, levels.mix, shares, bound, levels.counted)
        return Expected.decoded(found, levels.people, (question.grid.high - question.grid.low) / 2)

    def rivals(self, question: Number, channel: Channel) -> tuple[str, ...]:
        """Return all mechanisms for numbers."""
        return names(channel.domain)

    def unit(self, question: Number) -> str:
        """Return the unit of the number, which may be empty."""
        return str(question.unit)

    def reach(self, question: Number) -> float:
        """Return the distance between the bounds."""
        low, high = question.limits
        return high - low


@lru_cache(maxsize=64)
def _moments(channel: Channel) -> tuple[FloatArray, FloatArray, float]:
    """Return E[z²] and E[z] of every bucket, and what a forged report counts as: the same whatever the shares are."""
    form = piecewise_arrays(channel)
    numbers = form.unbiased()
    squares, means = (form.pieces().expectation(each) for each in (numbers**2, numbers))
    return squares, means, channel.manipulation


def _tilted(question: Number, grid: Grid, mean: float) -> FloatArray:
    """Return the shares of largest entropy with this mean: exp(s·t)/Σ, with the slope s that gives it."""
    low, high = question.limits
    if not low <= mean <= high:
        raise PlanError(f"shares of {question.name}: the mean must be from {low:g} to {high:g}")
    places = np.arange(grid.size)
    wanted = (mean - grid.low) / grid.width - 0.5

    def shares(slope: float) -> FloatArray:
        logs = slope * places
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())

    ends = [float(shares(slope) @ places) for slope in (-STEEPEST, STEEPEST)]
    if not ends[0] < wanted < ends[1]:
        return shares(-STEEPEST if wanted < grid.size / 2 else STEEPEST)
    return shares(float(brentq(lambda slope: float(shares(slope) @ places) - wanted, -STEEPEST, STEEPEST)))


def _rebinned(question: Number, grid: Grid, edges: FloatArray, shares: FloatArray) -> FloatArray:
    """Return a density on other buckets; refuse one that is not between the same bounds."""
    fits = shares.ndim == 1 and edges.shape == (len(shares) + 1,) and bool((np.diff(edges) > 0).all())
    if not fits or not np.isclose([edges[0], edges[-1]], [grid.low, grid.high], rtol=0, atol=grid.width / 2).all():
        rule = f"must go from {grid.low:g} to {grid.high:g}, as the question does"
        raise PlanError(f"shares of {question.name}: the earlier density {rule}")
    cumulative = np.concatenate([[0.0], np.cumsum(normalise(question, shares.tolist(), len(shares)))])
    wanted = grid.low + np.arange(grid.size + 1) * grid.width
    return normalise(question, np.diff(np.interp(wanted, edges, cumulative)).tolist(), grid.size)
