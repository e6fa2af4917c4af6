"""How badly histograms fit the reports, and the one that fits best among those with a given share in some buckets.

X² is quadratic in the histogram, fᵀKf − 2bᵀf and a constant. One that fits best has a few dozen buckets that are
not empty, so an active-set method finds it: the shares of the used buckets solve a linear system of that size; one
that becomes negative leaves, the one that improves the fit most enters. As X² is convex, the slope at any histogram
bounds what is still to gain, and the search stops at a certified gap.

K = Σ_levels Qᵀ diag(n/p) Q is never built: its rows are made when a bucket is first used, by prefix sums (`Pieces`). A
hundred of them are enough for all intervals of a result, whatever the number of buckets.

Reports may depend on something else that is not known exactly: p = Qf + Nδ, with a few numbers δ that are free. Then

    X²(f) = min over δ of X²(f, δ),     K = QᵀΩQ − QᵀΩN (NᵀΩN)⁻¹ NᵀΩQ,     Ω = diag(n/p),

and b in the same way: no histogram fits worse than with the best δ. So hidden levels come in: δ is a change of their
mix, and what is known of it is a term of X² as well.

Reference: Lawson, Hanson, "Solving Least Squares Problems" (1974).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from pldp.estimates.likelihood.mixture import fused_likelihood
from pldp.estimates.likelihood.rows import PieceRows
from pldp.estimates.likelihood.solver import first_fit
from pldp.estimates.linear.numbers import source_cells
from pldp.mechanisms.arrays import FloatArray, piecewise_arrays
from pldp.tallies import Fused

_GAP: Final = 1e-3  # X² that a minimum may be too large by
_MOST_STEPS: Final = 1000
_RIDGE: Final = 1e-10  # relative to the diagonal of K, which it is added to: neighbouring buckets are nearly alike
_SAME: Final = 1e-9  # difference of shares that is a rounding error
_SMOOTH_PART: Final = 0.1
"""Part of the smooth first fit in the weights: where nobody seems to be, the variance of a count is still not 0."""

Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]


class Histogram(NamedTuple):
    """The buckets that are not empty, their shares, and X² up to a constant."""

    places: Places
    shares: FloatArray
    value: float


class Counted:
    """Reports whose cells have the chances p = L̄f + Nδ: how many, the share of each cell, and n/p, which fits set.

    `levels` are the mix in L̄ and `directions` those in which δ can change it; none if it is known.
    """

    def __init__(
        self, rows: PieceRows, counts: FloatArray, levels: FloatArray, directions: FloatArray | None = None
    ) -> None:
        self.rows, self.levels, self.directions = rows, levels, directions
        self.reports = float(counts.sum())
        self.shares: FloatArray = counts / self.reports
        self.scale: FloatArray = np.ones(len(counts))


class Part(NamedTuple):
    """A histogram, which may hold several copies of the buckets, end to end, of people who are not told apart."""

    weight: float  #: The share of all people that it is of.
    counted: Sequence[Counted]  #: The reports that depend on it.
    pilot: FloatArray  #: A smooth first fit.
    known: tuple[FloatArray, FloatArray] | None = None  #: Of δ, a precision and that times its most likely value.


class Misfit:
    """X² of one histogram, or of several, end to end in one array; `size` is the number of buckets."""

    def __init__(self, size: int, parts: Sequence[Part]) -> None:
        self.size = size
        self.count = len(parts)
        self.weights = np.array([part.weight for part in parts])
        pilots = np.array([part.pilot for part in parts])
        self._places = pilots.shape[1]
        self._parts = parts
        self._group = np.repeat(np.arange(self.count), self._places)
        self._rows: dict[int, FloatArray] = {}
        self._weigh(pilots)
        tops = np.arange(self.count) * self._places + pilots.argmax(axis=1)
        self.best, _ = self._minimise(Histogram(tops, np.ones(self.count), math.inf))
        # The smooth fit is too low at spikes, and so is the variance that it gives to counts there: fit once more.
        self._weigh((1 - _SMOOTH_PART) * self.fill(self.best) + _SMOOTH_PART * pilots)
        self.best, _ = self._minimise(self.best)
        self._last = self.best

    @classmethod
    def of(cls, fused: Fused, *, apart: bool) -> Misfit:
        """Return that of one histogram of everybody, or with `apart` of one per source."""
        parts = [fused.only(source.name) for source in fused.sources] if apart else [fused]
        pilots = (first_fit(fused_likelihood(part)) for part in parts)
        pairs = zip(parts, pilots, strict=True)
        return cls(fused.size, [Part(part.people / fused.people, _levels(part), pilot) for part, pilot in pairs])

    def _weigh(self, pilots: FloatArray) -> None:
        """Give every count the variance that it has under these histograms."""
        self._rows.clear()
        self._taken: list[FloatArray] = []
        linear = []
        for part, pilot in zip(self._parts, pilots, strict=True):
            own = np.zeros(self._places)
            for counted in part.counted:
                counted.scale = counted.reports / (counted.levels @ counted.rows.forward(pilot))
                own += counted.rows.backward(counted.scale * counted.shares, counted.levels)
            taken, along = _taken(part, pilot)
            self._taken.append(taken)
            linear.append(own - taken @ along)
        self._linear = np.concatenate(linear)

    def fill(self, histogram: Histogram) -> FloatArray:
        """Return the shares of all places, a row per histogram."""
        shares = np.zeros(self.count * self._places)
        shares[histogram.places] = histogram.shares
        return shares.reshape(self.count, -1)

    @cached_property
    def cumulative(self) -> FloatArray:
        """Share of all people below each edge in the histogram that fits best."""
        shares = (self.weights @ self.fill(self.best)).reshape(-1, self.size).sum(axis=0)
        return np.concatenate([[0.0], np.cumsum(shares)])

    def share(self, inside: Flags) -> float:
        """Return the share of all people in these buckets in the histogram that fits best."""
        return float(self._counted(inside)[self.best.places] @ self.best.shares)

    def profile(self, inside: Flags, share: float, decide: float = math.nan) -> tuple[float, float]:
        """Return bounds for how much larger X² is with this share of people in these buckets.

        They are `_GAP` apart, or on one side of `decide`, where that comes sooner.
        """
        counted = self._counted(inside)
        if abs(share - self.share(inside)) <= _SAME:
            return 0.0, 0.0
        enough = self.best.value + decide
        self._last, gap = self._minimise(self._moved(counted, share), counted, share, enough)
        more = self._last.value - self.best.value
        return max(0.0, more - gap), max(0.0, more + _GAP)

    def floors(self, share: float) -> FloatArray:
        """Return at least how much larger X² is if this share of people is below an edge, for every inner edge.

        X² is convex: no histogram fits better than the tangent at the last one that was tried says.
        """
        last = self._last
        slope = self._slope(last.places, last.shares)
        buckets = slope.reshape(self.count, -1, self.size).min(axis=1)
        below = np.minimum.accumulate(buckets, axis=1)[:, :-1]
        above = np.minimum.accumulate(buckets[:, ::-1], axis=1)[:, -2::-1]
        least = self._least_of(below, above, share)
        return np.asarray(last.value - float(slope[last.places] @ last.shares) + least - self.best.value)

    def _counted(self, inside: Flags) -> FloatArray:
        """Return how much each place adds to the share of people in these buckets: the weight of its level, or 0."""
        return np.asarray(np.outer(self.weights, np.tile(inside, self._places // self.size)).ravel())

    def _moved(self, counted: FloatArray, share: float) -> Histogram:
        """Return the last histogram, some of its people moved to where they hurt least so that the share is right."""
        shares = self.fill(self._last).ravel()
        now = float(counted @ shares)
        more = share > now
        step = (share - now) / (1 - now) if more else (now - share) / now
        slope = self._slope(self._last.places, self._last.shares)
        wanted = np.where((counted > 0) == more, slope, np.inf).reshape(self.count, -1)
        shares *= 1 - step
        shares[np.arange(self.count) * self._places + wanted.argmin(axis=1)] += step
        places = np.flatnonzero(shares > 0)
        return Histogram(places, shares[places], math.inf)

    def _row(self, place: int) -> FloatArray:
        """Return the row of K of a place, within its histogram."""
        if place not in self._rows:
            which, own = divmod(place, self._places)
            row = np.zeros(self._places)
            for counted in self._parts[which].counted:
                column = counted.rows.column(own, counted.levels)
                row += counted.rows.backward(counted.scale * column, counted.levels)
            row[own] *= 1 + _RIDGE
            self._rows[place] = row - self._taken[which] @ self._taken[which][own]
        return self._rows[place]

    def _slope(self, places: Places, shares: FloatArray) -> FloatArray:
        """Return the slope of X² at a histogram with these shares of the used places."""
        curved = np.zeros((self.count, self._places))
        for number, used in self._histograms(places):
            curved[number] = shares[used] @ self._rows_of(places[used])
        return 2 * (curved.ravel() - self._linear)

    def _histograms(self, places: Places) -> Iterator[tuple[int, Places]]:
        """Yield which of the places are of each histogram."""
        for number in range(self.count):
            yield number, np.flatnonzero(self._group[places] == number)

    def _rows_of(self, places: Places) -> FloatArray:
        """Return the rows of K of some places of one histogram."""
        return np.array([self._row(place) for place in places.tolist()])

    def _solve(self, places: Places, counted: FloatArray, share: float) -> tuple[FloatArray, FloatArray]:
        """Minimise fᵀKf − 2bᵀf where every histogram has its sum, and all together the share; return f, and b − Kf.

        With the multiplier μ of the share, histograms do not depend on each other, and f = f₀ + μf₁:
        Kf₀ = b + m₀, Σf₀ = 1 and Kf₁ = counted + m₁, Σf₁ = 0, with a number m for each.
        """
        # In units of K: a system of entries of one size is solved most exactly.
        unit, found, above = float(np.abs(self._linear).max()), np.zeros((len(places), 2)), np.zeros((self.count, 2))
        for number, used in self._histograms(places):
            own = places[used]
            system = np.pad(self._rows_of(own)[:, own - number * self._places] / unit, (0, 1), constant_values=1.0)
            system[:, -1] *= -1
            system[-1, -1] = 0.0
            wanted = np.zeros((len(own) + 1, 2))
            wanted[:-1] = np.column_stack([self._linear[own] / unit, counted[own]])
            wanted[-1, 0] = 1.0
            try:
                solved = np.linalg.solve(system, wanted)
            except np.linalg.LinAlgError:  # few reports cannot tell some buckets apart: any of their shares will do
                solved = np.linalg.lstsq(system, wanted, rcond=None)[0]
            found[used], above[number] = solved[:-1], solved[-1]
        first, moved = counted[places] @ found
        pull = (share - first) / moved if moved > 0 else 0.0
        shift = np.repeat(above @ (1.0, pull), self._places) + pull * counted
        return found @ (1.0, pull), unit * shift

    def _minimise(
        self, start: Histogram, counted: FloatArray | None = None, share: float = 0.0, enough: float = math.nan
    ) -> tuple[Histogram, float]:
        """Return the best histogram, or with `counted` the best with this share, and by how much it may be improved.

        It stops as soon as X² is certain to reach down to `enough`, or not to (NaN is never enough).
        """
        places, shares, _ = start
        for _ in range(_MOST_STEPS):
            target, level = self._solve(places, np.zeros(len(self._group)) if counted is None else counted, share)
            if (target <= 0).any():
                places, shares = _towards(places, shares, target)
                continue
            shares, slope = target, self._slope(places, target)
            gap = float(slope[places] @ shares) - self._least(slope, counted, share)
            value = float(shares @ (slope[places] / 2 - self._linear[places]))
            entering = int((slope - 2 * level).argmin())
            if gap <= _GAP or value <= enough - _GAP or value - gap > enough or entering in places:
                break
            places, shares = np.append(places, entering), np.append(shares, 0.0)
        return Histogram(places, shares, value), max(gap, 0.0)

    def _least(self, slope: FloatArray, counted: FloatArray | None, share: float) -> float:
        """Return the least slopeᵀf of all histograms, or of those with this share.

        It is the greatest, over multipliers μ of the share, of Σ min(slope − μ·counted) + μ·share, one bucket per
        histogram: where buckets that count and that do not are equally good in some histogram.
        """
        parts = slope.reshape(self.count, -1)
        if counted is None:
            return float(parts.min(axis=1).sum())
        counts = counted.reshape(self.count, -1) > 0
        within = np.where(counts, parts, np.inf).min(axis=1)
        without = np.where(counts, np.inf, parts).min(axis=1)
        return float(self._least_of(within[:, None], without[:, None], share)[0])

    def _least_of(self, within: FloatArray, without: FloatArray, share: float) -> FloatArray:
        """Return the same for many sets of buckets, given the least slopes inside and outside, histograms × sets."""
        multipliers = (within - without) / self.weights[:, None]
        cheapest = np.minimum(within - multipliers[:, None] * self.weights[:, None], without)
        return np.asarray((cheapest.sum(axis=1) + multipliers * share).max(axis=0))


class Reported(Protocol):
    """Reports that make their own misfit."""

    @property
    def size(self) -> int: ...
    @property
    def bounds(self) -> tuple[float, float]: ...
    def misfit(self, *, apart: bool) -> Misfit: ...


def _levels(fused: Fused) -> list[Counted]:
    found = []
    for place, source in enumerate(fused.sources):
        rows = PieceRows([piecewise_arrays(source.channel).pieces()], np.ones((1, 1)))
        found.append(Counted(rows, source_cells(fused, place), np.ones(1)))
    return found


def _taken(part: Part, pilot: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what free numbers δ take from K and b: T with TTᵀ taken from K, and u with Tu taken from b."""
    if part.known is None or not part.known[1].size:
        return np.zeros((len(pilot), 0)), np.zeros(0)
    inner, along = part.known
    outer = np.zeros((len(along), len(pilot)))
    for counted in part.counted:
        if counted.directions is not None:
            moved = counted.directions.T @ counted.rows.forward(pilot)  # Nᵀ
            inner = inner + (moved * counted.scale) @ moved.T
            along = along + moved @ (counted.scale * counted.shares)
            outer += counted.rows.backward(moved * counted.scale, counted.levels)
    root = np.linalg.cholesky(inner)
    return solve_triangular(root, outer, lower=True).T, solve_triangular(root, along, lower=True)


def _towards(places: Places, shares: FloatArray, target: FloatArray) -> tuple[Places, FloatArray]:
    """Go towards the target until the first share is 0, and leave its bucket."""
    negative = np.flatnonzero(target <= 0)
    reach = shares[negative] / np.maximum(shares[negative] - target[negative], 1e-300)
    first = int(reach.argmin())
    shares = np.maximum(shares + float(reach[first]) * (target - shares), 0.0)
    kept = np.arange(len(places)) != negative[first]
    return places[kept], shares[kept]
