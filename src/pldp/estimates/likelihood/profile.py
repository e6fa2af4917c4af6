"""Shares and quantiles of a number without smoothness: what every histogram that fits the reports has in common.

The counts of a level's outputs are about normal around n·Qf, so a histogram f over the buckets fits the reports by

    X²(f) = Σ_levels n Σ_y (p̂_y − (Qf)_y)² / p_y,

p̂ the shares of the outputs that came, p those of a first fit. For a set S of buckets the *profile*

    T(c) = min{X²(f) : f ≥ 0, Σf = 1, f(S) = c} − min X²

says how much worse the reports fit if the share of people in S is c. All c with T(c) ≤ `limit(confidence, …)` form the
interval: nothing is assumed about f, so steps, spikes and heaps do it no harm. A quantile lies above an edge unless
some histogram that fits has so many people below it; these hypotheses are nested, so halving over the edges finds the
ends.

The same with one histogram per level, and Σ_levels n_level/n · f_level(S) = c, assumes nothing about who chose which
level (`apart`). Where levels are hidden, X² and both sorts of histograms come from `kinds.number`.

**The limit.** Without f ≥ 0, T would be χ² with one degree of freedom. Beside a spike it is larger: the histogram that
fits best follows the noise to one side of the spike only, and no simple law is known (the "Burrus conjecture", that
χ²₁ is enough, is false). The limits here are calibrated by simulation: quantiles of χ²₄ for quantiles, and of χ²₁₀ for
shares, which may be asked for right beside a spike. Chains of spikes that are exactly as far apart as a channel's
window is wide are the worst case that was found. For smooth numbers both are too large, so intervals are conservative.

References
----------
Rust, Burrus, "Mathematical Programming and the Numerical Solution of Linear Equations" (1972); Batlle, Patil, Stanley,
Kuusela, Owhadi, "Optimization-based frequentist confidence intervals for functionals in constrained inverse problems:
Resolving the Burrus conjecture" (2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import chdtri

from pldp.errors import EstimateError
from pldp.estimates.likelihood.misfit import Flags, Misfit, Reported
from pldp.estimates.results.intervals import CONFIDENCE, check_confidence
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record
from pldp.tallies import ABSENT, Fused

QUANTILE_DEGREES: Final = 4
SHARE_DEGREES: Final = 10
"""Degrees of freedom of the χ² laws whose quantiles limit the profile."""

_FINEST: Final = 1e-6  # shares this close to 0 or to 1 are the same
_TOLERANCE: Final = 1e-4  # how exactly an end is found; it is moved outwards by as much
_FIRST_STEP: Final = 0.01
_GAP: Final = 2e-3  # how exactly a difference of two T is known
_BEYOND: Final = 1.3  # how far beyond an end T is also found out, for intervals of larger confidence
_BEYOND_EDGES: Final = 0.4  # the same for quantiles, as a part of the edges between the end and the best fit


def limit(confidence: float, degrees: int) -> float:
    """Return the largest T that an interval of this confidence allows.

    >>> round(limit(0.95, QUANTILE_DEGREES), 2)
    9.49
    """
    check_confidence(confidence)
    return float(chdtri(degrees, 1 - confidence))


@dataclass(frozen=True, eq=False, repr=False)
class QuantileProfile(Record):
    """How badly the reports fit if the quantiles of these `shares` lie beyond an edge: what intervals are looked up in.

    `floors` are at least T, shares × edges: to the left of `middles`, where the histogram that fits best has the
    quantile, that of its lying below the edge at most, to the right that of its lying above it. They are exact at the
    ends of an interval of the confidence that they were made for; others may be a bucket or two wider than needed.
    """

    bounds: tuple[float, float]
    shares: tuple[float, ...]
    middles: tuple[int, ...]
    floors: npt.NDArray[np.float32]

    def quantile(self, share: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the ends, both edges, of an interval for the number below which this share of people lies."""
        if not 0 < share < 1:
            raise EstimateError(f"share must be between 0 and 1, not {share}")
        most, edges = limit(confidence, QUANTILE_DEGREES), np.linspace(*self.bounds, self.floors.shape[1])
        low, high = [0], [len(edges) - 1]
        for place, own in enumerate(self.shares):
            below, above = self._sides(place, most)
            if own <= share:
                low.append(int(below[-1]))
            if own >= share:
                high.append(int(above[0]))
        return float(edges[max(low)]), float(edges[min(high)])

    def range(self, low: float, high: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the ends of an interval for the share of people between two numbers, from what is known of quantiles.

        All quantiles of a histogram that fits are within their ends together, so these may be subtracted.
        """
        (least_below, most_below), (least, most) = (self._cumulative(number, confidence) for number in (low, high))
        return max(0.0, least - most_below), min(1.0, most - least_below)

    def _cumulative(self, number: float, confidence: float) -> tuple[float, float]:
        """Return between which of `shares` the share of people below a number lies."""
        first, last = self.bounds
        wanted, size = limit(confidence, SHARE_DEGREES), self.floors.shape[1] - 1
        place = round((number - first) / (last - first) * size, 9)
        least, most = float(place >= size), float(place > 0)
        for own, share in enumerate(self.shares):
            below, above = self._sides(own, wanted)
            least = share if above[0] <= place < size else least
            most = min(most, share) if place <= below[-1] else most
        return least, most

    def _sides(self, place: int, most: float) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return the edges that are certain to be below a quantile, and those that are certain to be above it."""
        rejected = np.flatnonzero(self.floors[place] > most)
        split = np.searchsorted(rejected, self.middles[place])
        return rejected[:split], rejected[split:]


@dataclass(frozen=True, eq=False, repr=False)
class ShareEnd(Record):
    """How badly the reports fit if a share lies so far out, on one side of the best: T of some shares, in order.

    The first is the best share, where T is 0; `end` is the last possible one.
    """

    shares: tuple[float, ...]
    floors: tuple[float, ...]
    end: float

    def reach(self, most: float) -> float:
        """Return the end of an interval: no share beyond it has a T of at most this."""
        after = int(np.searchsorted(self.floors, most, side="right"))
        following = self.shares[after] if after < len(self.shares) else self.end
        last, floor = self.shares[after - 1], self.floors[after - 1]
        before = zip(self.shares[: after - 1], self.floors[: after - 1], strict=True)
        # T is convex: beyond a share it rises at least as fast as from the ones before to it.
        slope = max(((floor - own - _GAP) / abs(last - share) for share, own in before), default=0.0)
        if floor == most or slope <= 0:
            return last if floor == most else following
        distance = min((most - floor) / slope, abs(following - last))
        return last + math.copysign(distance, self.end - last)


@dataclass(frozen=True, eq=False, repr=False)
class ShareProfile(Record):
    """Both sides of the share of people between two numbers, exact at the confidence that they were made for."""

    low: ShareEnd
    high: ShareEnd

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the ends of an interval for the share."""
        most = limit(confidence, SHARE_DEGREES)
        return self.low.reach(most), self.high.reach(most)


@dataclass(frozen=True, eq=False)
class Profile:
    """Intervals for shares and quantiles of a number that hold whatever its distribution is.

    `fused` is a tally in which each person gave to one source; with `apart` each source has a distribution of its own,
    and shares are those of all people together.

    >>> from pldp.mechanisms import Grid, build
    >>> from pldp.simulate import perturb_numbers, to_buckets
    >>> from pldp.tallies import Service, fuse
    >>> generator = np.random.default_rng(1)
    >>> numbers = 10 * np.where(generator.random(20_000) < 0.3, 0, generator.beta(2, 5, 20_000))
    >>> channel, values = build("sw", 64, 2_000_000), to_buckets(Grid(0, 10, 64), numbers)
    >>> reports = perturb_numbers(channel, values, generator)
    >>> profile = Profile(fuse([Service("sw", channel, np.arange(20_000), reports, (0, 10))]))
    >>> low, high = profile.range(0, 10 / 64)
    >>> low < 0.3 < high, high - low < 0.2
    (True, True)
    >>> low, high = profile.quantiles((0.5,)).quantile(0.5)
    >>> low < 1.9 < high, high - low < 1
    (True, True)
    """

    fused: Fused | Reported
    apart: bool = False

    @cached_property
    def _misfit(self) -> Misfit:
        fused = self.fused
        if not isinstance(fused, Fused):
            return fused.misfit(apart=self.apart)
        if ((fused.cells != ABSENT).sum(axis=1) != 1).any():
            raise EstimateError("a profile needs people who gave to one service each; use the intervals of `density`")
        return Misfit.of(fused, apart=self.apart)

    def range(self, low: float, high: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the ends of an interval for the share of people between two numbers."""
        return self.between(low, high, confidence).interval(confidence)

    def between(self, low: float, high: float, confidence: float = CONFIDENCE) -> ShareProfile:
        """Return what intervals for the share of people between two numbers are looked up in.

        The lower end is that of the buckets that are wholly between them, the upper that of all that are partly.
        """
        first, last = self.fused.bounds
        # Numbers that should be an edge are one, however they were rounded.
        places = np.round((np.array([low, high]) - first) / (last - first) * self.fused.size, 9)
        buckets = np.arange(self.fused.size)
        within = (buckets >= np.ceil(places[0])) & (buckets < np.floor(places[1]))
        touched = (buckets >= np.floor(places[0])) & (buckets < np.ceil(places[1]))
        most = limit(confidence, SHARE_DEGREES)
        return ShareProfile(self._side(within, most, 0.0), self._side(touched, most, 1.0))

    def _side(self, inside: Flags, most: float, end: float) -> ShareEnd:
        """Return T from the best share outwards: until it is `most`, exactly there, and once farther out."""
        if inside.all() or not inside.any():
            return ShareEnd((float(inside.all()),), (0.0,), float(inside.all()))
        best, side = self._misfit.share(inside), 1 if end else -1
        tried = {0.0: 0.0}

        def excess(distance: float) -> float:
            tried[distance] = self._misfit.profile(inside, best + side * distance)[0]
            return math.sqrt(tried[distance]) - math.sqrt(most)

        farthest = abs(end - best) - _FINEST
        found = _crossing(excess, most, farthest)
        if found is None:  # any share up to the end is possible
            tried[abs(end - best)] = max(tried.values())
        else:
            if _BEYOND * found < farthest:
                excess(_BEYOND * found)
            # The end is rounded outwards: trials just inside it that are rejected by a hair are left out.
            tried = {place: floor for place, floor in tried.items() if place > found or floor < most} | {found: most}
        places = sorted(tried)
        floors = np.maximum.accumulate([tried[place] for place in places]).tolist()
        return ShareEnd(tuple(best + side * place for place in places), tuple(floors), end)

    def quantiles(self, shares: Sequence[float], confidence: float = CONFIDENCE) -> QuantileProfile:
        """Return what intervals of these quantiles are looked up in, exact at this confidence."""
        most = limit(confidence, QUANTILE_DEGREES)
        middles = tuple(int(place) for place in np.searchsorted(self._misfit.cumulative, shares))
        floors = np.array([self._floors(share, most, middle) for share, middle in zip(shares, middles, strict=True)])
        # Rounded down: floors are promises.
        rounded = np.nextafter(floors.astype(np.float32), np.float32(0))
        return QuantileProfile(self.fused.bounds, tuple(shares), middles, np.where(np.isinf(floors), np.inf, rounded))

    def _floors(self, share: float, most: float, middle: int) -> FloatArray:
        """Return at least T of the quantile's lying beyond each edge, and enough of it to tell the ends apart.

        An edge is below the quantile if "F(edge) ≥ share" is rejected, and above it if "F(edge) ≤ share" is. What is
        certain of an edge is certain of those farther out.
        """
        floors = np.zeros(self.fused.size + 1)
        floors[[0, -1]] = np.inf
        for outer, inner in ((0, middle), (self.fused.size, middle - 1)):
            self._search(share, most, floors, outer, inner)
        floors[:middle] = np.maximum.accumulate(floors[:middle][::-1])[::-1]
        floors[middle:] = np.maximum.accumulate(floors[middle:])
        return floors

    def _search(self, share: float, most: float, floors: FloatArray, outer: int, inner: int) -> None:
        """Add what is found out until the outermost edge that is certain is next to one that is not.

        Every trial bounds T at all edges, and stops when it is certain to be on one side of `most`. The last two, at
        the end and beyond it, are exact: intervals of other confidences are looked up beside them.
        """
        step, middle = (1 if inner > outer else -1), inner
        while abs(inner - outer) > 1:
            place = (outer + inner) // 2
            if self._try(share, place, floors, most) > most:
                outer = place
            else:
                inner = place
            between = np.arange(outer + step, inner, step)
            certain = between[floors[between] > most]
            outer = int(certain[-1]) if len(certain) else outer
        beyond = outer - round(_BEYOND_EDGES * (middle - outer))
        for place in (beyond, outer):
            if 0 < place < self.fused.size:
                self._try(share, place, floors)

    def _try(self, share: float, place: int, floors: FloatArray, decide: float = math.nan) -> float:
        """Return at least T if this share of people is below an edge, and raise the floors of all edges by it."""
        low, _ = self._misfit.profile(np.arange(self.fused.size) < place, share, decide)
        floors[1:-1] = np.maximum(floors[1:-1], self._misfit.floors(share))
        floors[place] = max(floors[place], low)
        return low


def _crossing(excess: Callable[[float], float], most: float, farthest: float) -> float | None:
    """Return the distance, rounded outwards, at which √T, nearly linear, is √most; none if it is less everywhere."""
    near, far = 0.0, _FIRST_STEP
    while far < farthest and (over := excess(far)) < 0:
        near, far = far, far * min(4.0, 1.1 * math.sqrt(most) / (over + math.sqrt(most) + _FINEST))
    if far >= farthest:
        if farthest <= near or excess(farthest) <= 0:
            return None
        far = farthest
    return min(float(brentq(excess, near, far, xtol=_TOLERANCE)) + _TOLERANCE, farthest)
