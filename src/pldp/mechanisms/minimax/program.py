"""The linear program behind `minimax`: the least worst-case variance of an unbiased number, on a grid of points.

A report that is ε-LDP can be taken to have outputs with two weights only, e^ε·m for the points of an interval and m for
all others; such an output counts for a number v. With x_t the points, g(t) = 1 in the interval and e^{−ε} outside,

    minimise s   subject to   Σ m g(t) = 1,   Σ m v g(t) = x_t,   Σ m v² g(t) ≤ s + x_t²   for every t,   m ≥ 0,

over all intervals and numbers v: linear in m, with a continuum of columns. Columns are generated: given the multipliers
λ, μ and ν of the three sorts of rows, the reduced cost of a column is a v² − b v − c with a = Σ ν g, b = Σ μ g and
c = Σ λ g, so that the best number of every interval is b/(2a), exactly. The program is symmetric under x → −x, and so
is its best solution: intervals come in mirrored pairs with numbers v and −v, which halves rows and columns. Numbers are
counted in units of C = (e^ε + 1)/(e^ε − 1), the least reach of an unbiased number: the program is then well scaled for
every ε.

That interval columns lose nothing was checked against the program over all columns with two weights (four to five
digits); the limits for a finer grid, to the third digit, stand in the tests.
"""

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from pldp.errors import EpsilonError
from pldp.mechanisms.channel import too_small
from pldp.mechanisms.minimax.channel import UNIT
from pldp.mechanisms.output import TOTAL

Floats = NDArray[np.float64]

GAP: Final = 1e-5
"""Relative distance to the least variance at which the program is solved: it is bounded by the reduced costs."""

_ABSOLUTE_GAP: Final = 1e-9
_MOST_ROUNDS: Final = 200
_KEPT: Final = 6
"""Columns kept from round to round beside those in use, per point."""
_LEAST_MASS: Final = 1e-10
_LARGEST: Final = 2**53


class _Intervals(NamedTuple):
    """Mirrored pairs of intervals: start and stop of one, and for half the points g(t) + g′(t) of both and the sign.

    The sign is 1 for a point in the one interval, −1 in the other, and 0 in both or none.
    """

    start: NDArray[np.intp]
    stop: NDArray[np.intp]
    both: Floats
    sign: Floats

    @classmethod
    def of(cls, size: int, epsilon: float) -> "_Intervals":
        start, stop = np.triu_indices(size + 1, 1)
        one_side = (start + stop >= size) & (stop - start < size)
        start, stop = start[one_side], stop[one_side]
        point = np.arange((size + 1) // 2)
        own = (start[:, None] <= point) & (point < stop[:, None])
        mirrored = (size - stop[:, None] <= point) & (point < size - start[:, None])
        low = np.exp(-epsilon)
        return cls(start, stop, 2 * low + (1 - low) * (own.astype(float) + mirrored), own.astype(float) - mirrored)


class _Prices(NamedTuple):
    """Multipliers of the rows; reduced costs of columns follow from them."""

    square: Floats
    linear: Floats
    constant: Floats

    def cost(self, which: Any, numbers: Floats) -> Floats:
        return np.asarray((self.square[which] * numbers - self.linear[which]) * numbers - self.constant[which])


@lru_cache(maxsize=64)
def least_variance(size: int, epsilon: float, odds: tuple[int, int]) -> dict[str, tuple[int, ...]]:
    """Return the whole numbers that `minimax` publishes: the intervals are best for ε, the weights have these odds."""
    intervals = _Intervals.of(size, epsilon)
    which, mass, numbers = _merge(*_solve(size, epsilon, intervals))
    inside, outside = _whole_weights(mass, intervals.both[which], odds)
    slopes = intervals.sign[which].T * (inside - outside) / TOTAL
    numbers = _unbiased(_half_points(size), slopes, numbers / np.tanh(epsilon / 2), mass)
    start, stop = intervals.start[which], intervals.stop[which]
    # A mirrored pair is written down by the one that counts for a positive number.
    flip = numbers < 0
    start, stop = np.where(flip, size - stop, start), np.where(flip, size - start, stop)
    value = np.rint(np.abs(numbers) * UNIT)
    if value.max() >= _LARGEST:
        raise too_small(round(epsilon * 1e6), size, "points")
    columns = {"start": start, "stop": stop, "inside": inside, "value": value}
    order = np.lexsort((stop, start))
    return {"odds": odds, **{name: tuple(int(each) for each in column[order]) for name, column in columns.items()}}


def _solve(size: int, epsilon: float, intervals: _Intervals) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Return the interval, mass and number of every column in use."""
    points = _half_points(size)
    half = len(points)
    upper = np.flatnonzero(intervals.stop == size)
    middle = np.flatnonzero(intervals.start + intervals.stop == size)
    # Stochastic rounding is made of the upper intervals with ±C, and no other start reaches the bounds with those.
    which = np.concatenate([upper, upper, middle])
    numbers = np.repeat([1.0, 2.0, 0.0], [len(upper), len(upper), len(middle)])
    for _ in range(_MOST_ROUNDS):
        mass, variance, prices = _solve_columns(points, epsilon, intervals, which, numbers)
        best = prices.linear / (2 * np.maximum(prices.square, 1e-12))
        costs = prices.cost(slice(None), best)
        if -half * (costs / intervals.both.sum(axis=1)).min() <= GAP * variance + _ABSOLUTE_GAP:
            used = mass > _LEAST_MASS
            return which[used], mass[used], numbers[used]
        new = np.argsort(costs)[: 2 * size]
        new = new[costs[new] < 0]
        rank = np.argsort(np.argsort(prices.cost(which, numbers)))
        old = (mass > 0) | (rank < _KEPT * size)
        which, numbers = np.concatenate([which[old], new]), np.concatenate([numbers[old], best[new]])
    raise EpsilonError(f"the best channel for {size} points was not found; name hm, or other buckets")


def _solve_columns(
    points: Floats, epsilon: float, intervals: _Intervals, which: NDArray[np.intp], numbers: Floats
) -> tuple[Floats, float, _Prices]:
    """Solve the program for some columns: their masses, the least variance, and the multipliers."""
    half, count = len(points), len(which)
    both, moved = intervals.both[which].T, intervals.sign[which].T * numbers
    rows = points != 0  # the mean of the middle is 0 by symmetry
    equal = np.zeros((half + rows.sum(), count + 1))
    equal[:half, :count], equal[half:, :count] = both, moved[rows]
    below = np.hstack([both * numbers**2, np.full((half, 1), -1.0)])
    found = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=below,
        b_ub=(points * np.tanh(epsilon / 2)) ** 2,
        A_eq=equal,
        b_eq=np.concatenate([np.ones(half), points[rows] / (1 + np.exp(-epsilon))]),
        bounds=(0, None),
        method="highs",
    )
    if found.status:
        raise EpsilonError("the linear program of minimax was not solved; name hm, or other buckets")
    linear = np.zeros(half)
    linear[rows] = found.eqlin.marginals[half:]
    prices = _Prices(
        -(intervals.both @ found.ineqlin.marginals),
        intervals.sign @ linear,
        intervals.both @ found.eqlin.marginals[:half],
    )
    return found.x[:-1], float(found.fun), prices


def _merge(which: NDArray[np.intp], mass: Floats, numbers: Floats) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Put the columns of one interval together: the mean number has the same mean and less variance."""
    chosen, place = np.unique(which, return_inverse=True)
    total = np.bincount(place, weights=mass)
    return chosen, total.astype(float), np.bincount(place, weights=mass * numbers) / total


def _whole_weights(mass: Floats, both: Floats, odds: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return whole weights in and out of the intervals that leave every value about the same rest of 2⁵³.

    What is left of value t is 1 − σ S_t − r, S_t being the sum of its weights and r at most one 2⁻⁵³ per output, by
    rounding. The rests differ by a factor of at most E = e^ε if σ (E max S − min S) ≤ E − 1 − r (E + 1).
    """
    most, least = odds
    sums, rounding = mass @ both, 4 * len(mass) / TOTAL
    share = (most - least - rounding * (most + least)) / (most * sums.max() - least * sums.min())
    inside = [int(each * share * TOTAL) for each in mass]
    outside = [-(-each * least // most) for each in inside]
    return np.array(inside, float), np.array(outside, float)


def _unbiased(points: Floats, slopes: Floats, numbers: Floats, mass: Floats) -> Floats:
    """Return the numbers, moved by least squares so that their mean is the point of every value."""
    root = np.sqrt(mass)
    for _ in range(3):  # twice more for the digits that the first solution lost
        numbers = numbers + np.linalg.lstsq(slopes / root, points - slopes @ numbers, rcond=None)[0] / root
    return np.asarray(numbers)


def _half_points(size: int) -> Floats:
    return np.asarray((2 * np.arange((size + 1) // 2) + 1 - size) / (size - 1))
