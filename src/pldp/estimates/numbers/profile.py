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
level (`apart`). Where levels are hidden, X² and both sorts of histograms come from `numbers.hidden`.

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
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri

from pldp.errors import EstimateError
from pldp.estimates.numbers.misfit import Flags, Misfit, Reported
from pldp.estimates.result import CONFIDENCE, check_confidence
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record
from pldp.tallies import ABSENT, Fused

QUANTILE_DEGREES: Final = 4
SHARE_DEGREES: Final = 10
"""Degrees of freedom of the χ² laws whose quantiles limit the profile."""

_FINEST: Final = 1e-6
"""Shares this close to 0 or to 1 are the same."""
_TOLERANCE: Final = 1e-4
"""How exactly an end is found; it is moved outwards by as much."""
_FIRST_STEP: Final = 0.01
_NOTHING: Final = (0.0, math.inf)
"""What is known of a profile at first."""


def limit(confidence: float, degrees: int) -> float:
    """Return the largest T that an interval of this confidence allows.

    >>> round(limit(0.95, QUANTILE_DEGREES), 2)
    9.49
    """
    check_confidence(confidence)
    return float(chdtri(degrees, 1 - confidence))


@dataclass(frozen=True, eq=False, repr=False)
class Profile(Record):
    """Intervals for shares and quantiles of a number that hold whatever its distribution is.

    `fused` is a tally in which each person gave to one source; with `apart` each source has a distribution of its own,
    and shares are those of all people together.

    Examples
    --------
    >>> from pldp.mechanisms import Grid, build
    >>> from pldp.simulate import perturb_numbers, to_buckets
    >>> from pldp.tallies import Service, fuse
    >>> generator = np.random.default_rng(1)
    >>> numbers = 10 * np.where(generator.random(20_000) < 0.3, 0, generator.beta(2, 5, 20_000))
    >>> values = to_buckets(Grid(0, 10, 64), numbers)
    >>> channel = build("sw", 64, 2_000_000)
    >>> reports = perturb_numbers(channel, values, generator)
    >>> profile = Profile(fuse([Service("sw", channel, np.arange(20_000), reports, (0, 10))]))
    >>> low, high = profile.share(np.arange(64) < 1)
    >>> low < 0.3 < high, high - low < 0.2
    (True, True)
    >>> low, high = profile.quantile(0.5)
    >>> low < 1.9 < high, high - low < 1
    (True, True)
    """

    fused: Fused | Reported
    apart: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.fused, Fused) and ((self.fused.cells != ABSENT).sum(axis=1) != 1).any():
            raise EstimateError("a profile needs people who gave to one service each; use the intervals of `density`")

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out what can be computed again."""
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    @property
    def edges(self) -> FloatArray:
        """Ends of the buckets."""
        return np.linspace(*self.fused.bounds, self.fused.size + 1)

    @cached_property
    def _misfit(self) -> Misfit:
        fused = self.fused
        return Misfit.of(fused, apart=self.apart) if isinstance(fused, Fused) else fused.misfit(apart=self.apart)

    @cached_property
    def _known(self) -> dict[tuple[float, int], tuple[float, float]]:
        """Bounds of profiles of cumulative shares: every confidence asks for the same ones."""
        return {}

    def share(self, inside: Flags, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the ends of an interval for the share of people in these buckets."""
        most = limit(confidence, SHARE_DEGREES)
        flags = np.asarray(inside, bool)
        if flags.all() or not flags.any():
            return (float(flags.all()),) * 2
        return self._reach(flags, most, 0.0), self._reach(flags, most, 1.0)

    def range(self, low: float, high: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the ends of an interval for the share of people between two numbers.

        The lower end is that of the buckets that are wholly between them, the upper end that of all that are partly.
        """
        first, last = self.fused.bounds
        # Numbers that should be an edge are one, however they were rounded.
        places = np.round((np.array([low, high]) - first) / (last - first) * self.fused.size, 9)
        buckets = np.arange(self.fused.size)
        within = (buckets >= np.ceil(places[0])) & (buckets < np.floor(places[1]))
        touched = (buckets >= np.floor(places[0])) & (buckets < np.ceil(places[1]))
        least, most = self.share(within, confidence)
        return least, most if (within == touched).all() else self.share(touched, confidence)[1]

    def _reach(self, inside: Flags, most: float, end: float) -> float:
        """Return the share nearest to an end that is possible: from the best one outwards until T is too large.

        √T is nearly linear in the share, so few steps lead there.
        """
        best, side = self._misfit.share(inside), 1 if end else -1
        farthest = abs(end - best) - _FINEST

        def excess(distance: float) -> float:
            return math.sqrt(self._misfit.profile(inside, best + side * distance)[0]) - math.sqrt(most)

        near, far = 0.0, _FIRST_STEP
        while far < farthest and (over := excess(far)) < 0:
            near, far = far, far * min(4.0, 1.1 * math.sqrt(most) / (over + math.sqrt(most) + _FINEST))
        if far >= farthest:
            if farthest <= near or excess(farthest) <= 0:
                return end
            far = farthest
        found = float(brentq(excess, near, far, xtol=_TOLERANCE)) + _TOLERANCE
        return best + side * min(found, farthest)

    def quantile(self, share: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the ends of an interval for the number below which this share of people lies; both are edges."""
        if not 0 < share < 1:
            raise EstimateError(f"share must be between 0 and 1, not {share}")
        most, edges = limit(confidence, QUANTILE_DEGREES), self.edges
        # An edge is below the quantile if "F(edge) ≥ share" is rejected, and above it if "F(edge) ≤ share" is.
        middle = int(np.searchsorted(self._misfit.cumulative, share))
        below = self._halve(share, most, 0, middle)
        above = self._halve(share, most, self.fused.size, middle - 1)
        return float(edges[below]), float(edges[above])

    def _halve(self, share: float, most: float, outer: int, inner: int) -> int:
        """Return the edge next to the quantile, on the side of `outer`, that is certain to be on this side."""
        while abs(outer - inner) > 1:
            place = (outer + inner) // 2
            if self._rejects(share, place, most):
                outer = place
            else:
                inner = place
        return outer

    def _rejects(self, share: float, place: int, most: float) -> bool:
        """Tell whether X² rises by more than `most` if this is the share of people below an edge."""
        low, high = known = self._known.get((share, place), _NOTHING)
        if low <= most < high:
            # A second question at another confidence means that more will follow: then find it exactly.
            decide = most if known is _NOTHING else math.nan
            low, high = self._misfit.profile(np.arange(self.fused.size) < place, share, decide)
            self._known[share, place] = low, high
        return low > most
