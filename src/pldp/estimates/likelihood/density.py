"""The distribution of a number: a log-density whose smoothness, detail and roughness are chosen from the reports.

The fits are those of `log_density`: smooth curves of two orders and a few numbers of splines and, beside the best of
them, the same with a roughness of its own in every bucket. The one of greatest marginal likelihood is taken; the rough
one only if it is far more likely, as hardly any number needs it. Around it the log-shares are about normal, from which
come bands, quantiles and their errors.

References
----------
Sun, Loader, "Simultaneous Confidence Bands for Linear Regression and Smoothing" (1994).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from scipy.optimize import brentq

from pldp.errors import EstimateError
from pldp.estimates.likelihood.log_density import DensityProgress, LogDensity, spline_basis
from pldp.estimates.likelihood.mixture import ShareLikelihood, fused_likelihood
from pldp.estimates.likelihood.solver import first_fit
from pldp.estimates.results.facts import Homogeneity, Note
from pldp.estimates.results.intervals import CONFIDENCE, Interval, normal_reach
from pldp.estimates.results.notes import services_disagree
from pldp.mechanisms.arrays import FloatArray
from pldp.plain import plain
from pldp.records import Record
from pldp.show import plot_density
from pldp.tallies import Fused

SPLINES: Final = (24, 48, 96, 192, 384)
"""Numbers of splines tried, up to half the number of buckets; those above 96 only where 96 is the best so far."""
_ALWAYS: Final = 96
ORDERS: Final = (1, 2)
"""Orders of the differences whose size is held down."""
_DOUBT: Final = 2.0  # logarithm of how much more likely a rough density must be
FEWEST: Final = 10
"""People that a density needs."""
NO_DENSITY: Final = 'a distribution needs a question with purpose = "distribution"; this one is asked for its mean only'

_evidence = attrgetter("evidence")


@dataclass(frozen=True, eq=False, repr=False)
class LogErrors(Record):
    """A root of the covariance of log-shares in coefficients of splines: Σ_t diag(part_t)·B·root_t.

    A curve has one term, whose part is 1. Terms that are `apart`, as those of different people, have own columns.
    """

    parts: FloatArray  # terms × buckets
    roots: tuple[FloatArray, ...]  # splines × columns each
    apart: bool = False

    @classmethod
    def of(cls, root: FloatArray, splines: int, copies: int) -> LogErrors:
        """Take the root of the curves of all copies of the buckets, end to end: its columns are sums of splines."""
        curves = root.reshape(copies, len(root) // copies, -1)
        basis = spline_basis(curves.shape[1], splines)
        roots = (np.linalg.lstsq(basis, curve, rcond=None)[0] for curve in curves)
        return cls(np.ones(curves.shape[:2]), tuple(np.asarray(own, np.float64) for own in roots))

    def root(self) -> FloatArray:
        """Return the root, buckets × columns."""
        pairs = zip(self.parts, self.roots, strict=True)
        terms = [part[:, None] * (spline_basis(len(part), len(own)) @ own) for part, own in pairs]
        return np.concatenate(terms, axis=1) if self.apart else np.sum(terms, axis=0)


@dataclass(frozen=True, eq=False, repr=False)
class Density(Record):
    """A fitted distribution over the buckets of a grid between these bounds, with errors.

    It has so many `splines`, whose differences of this `order` have the penalty λ = `smoothness`; `roughness` is √v, 0
    where the curve is enough. `evidence` are the marginal log-likelihoods of every number of splines that was tried,
    `rough_evidence` that with roughness, where it helped.

    Where it is rough, `smooth` is the best smooth one, from which all errors are taken: a spike has a height and a
    place, a normal law around its log-shares knows only of the height, and the smooth curve is as wide as the place is
    unsure. `homogeneity` tests whether people of different levels, or of different services, have this distribution.
    """

    bounds: tuple[float, float]
    shares: FloatArray
    people: int
    splines: int
    order: int
    smoothness: float
    roughness: float
    evidence: dict[int, float]
    rough_evidence: float | None
    converged: bool
    steps: int
    errors: LogErrors = field(repr=False)
    smooth: Density | None = field(default=None, repr=False)
    homogeneity: Homogeneity | None = None

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say so where people who gave to different services differ."""
        return services_disagree(self.homogeneity)

    @property
    def width(self) -> float:
        """Width of a bucket."""
        return (self.bounds[1] - self.bounds[0]) / len(self.shares)

    @property
    def edges(self) -> FloatArray:
        """Ends of the buckets."""
        return np.linspace(*self.bounds, len(self.shares) + 1)

    @property
    def centres(self) -> FloatArray:
        """Middles of the buckets."""
        return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)

    @property
    def density(self) -> FloatArray:
        """Shares per unit of the number."""
        return np.asarray(self.shares / self.width)

    @property
    def cumulative(self) -> FloatArray:
        """Share of people at most at each edge: from 0 to 1."""
        return np.concatenate([[0.0], np.cumsum(self.shares)])

    @cached_property
    def log_root(self) -> FloatArray:
        """A root of the covariance of the logarithms of the shares."""
        return self.errors.root()

    @cached_property
    def log_standard_error(self) -> FloatArray:
        """Standard error of the logarithm of each share."""
        return np.asarray(np.linalg.norm(self.log_root, axis=1))

    @cached_property
    def cumulative_standard_error(self) -> FloatArray:
        """Standard error of `cumulative`."""
        if self.smooth is not None:
            return self.smooth.cumulative_standard_error
        share_root = self.shares[:, None] * self.log_root
        return np.concatenate([[0.0], np.linalg.norm(share_root.cumsum(axis=0), axis=1)])

    def band(self, confidence: float = CONFIDENCE, *, simultaneous: bool = False) -> Interval:
        """Return a band around `density`, symmetric on the logarithmic scale: for each bucket, or for the whole curve.

        For the whole curve the reach c solves Sun and Loader's tube formula, κ/π·e^{−c²/2} + 2(1−Φ(c)) =
        1 − confidence, κ the length of the standardised curve. A rough density has the smooth one's, out to its spikes.
        """
        if self.smooth is not None:
            low, high = self.smooth.band(confidence, simultaneous=simultaneous)
            return Interval(np.minimum(low, self.density), np.maximum(high, self.density))
        reach = self._tube_reach(1 - confidence) if simultaneous else normal_reach(confidence)
        with np.errstate(over="ignore"):  # where nobody is, the upper end may be infinite
            factor = np.exp(reach * self.log_standard_error)
        return Interval(self.density / factor, self.density * factor)

    def _tube_reach(self, outside: float) -> float:
        curve = self.log_root / self.log_standard_error[:, None]
        length = float(np.linalg.norm(np.diff(curve, axis=0), axis=1).sum())

        def excess(reach: float) -> float:
            return length / np.pi * math.exp(-(reach**2) / 2) + 2 * (1 - NormalDist().cdf(reach)) - outside

        return float(brentq(excess, 0, 40))

    def quantile(self, share: float, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
        """Return the number below which this share of people lies, and the ends of its interval.

        The ends are where the cumulative curve, moved by its error, crosses the share.
        """
        if not 0 < share < 1:
            raise EstimateError(f"share must be between 0 and 1, not {share}")
        base = self.smooth or self
        reach = normal_reach(confidence) * self.cumulative_standard_error
        curves = (self.cumulative, base.cumulative + reach, base.cumulative - reach)
        found, low, high = (float(np.interp(share, np.maximum.accumulate(curve), self.edges)) for curve in curves)
        return found, min(low, found), max(high, found)

    def share(self, low: float, high: float) -> tuple[float, float]:
        """Return the share of people between two numbers, and its standard error; people are even within a bucket."""
        ends = np.clip((np.array([low, high]) - self.bounds[0]) / self.width, 0, len(self.shares))
        inside = np.diff(np.clip(ends[:, None] - np.arange(len(self.shares)), 0, 1), axis=0)[0]
        share = float(inside @ self.shares)
        if self.smooth is not None:
            return share, self.smooth.share(low, high)[1]
        return share, float(np.linalg.norm((inside * self.shares) @ self.log_root))

    @property
    def mean(self) -> float:
        """Mean of the fitted distribution."""
        return float(self.shares @ self.centres)

    @property
    def mean_standard_error(self) -> float:
        """Standard error of the mean, for the people who reported: sampling them adds the variance of their numbers."""
        if self.smooth is not None:
            return self.smooth.mean_standard_error
        total = float(np.sum((self.centres @ (self.shares[:, None] * self.log_root)) ** 2))
        spread = float(self.shares @ self.centres**2) - self.mean**2
        return float(np.sqrt(max(total - spread / self.people, 0.0)))

    def plot(self, confidence: float = CONFIDENCE, *, truth: FloatArray | None = None, axes: Any = None) -> Any:
        """Draw the density with both bands (needs the extra `plots`); `truth` adds true shares of the buckets."""
        content = {
            "edges": self.edges,
            "density": self.density,
            "bands": {"whole curve": self.band(confidence, simultaneous=True), "each number": self.band(confidence)},
            "confidence": confidence,
            "title": f"{'rough density' if self.roughness else 'density'} from {self.people:,} people, "
            f"{self.splines} splines",
        }
        return plot_density(plain(content), truth=truth, axes=axes)


def fit_density(
    fused: Fused | ShareLikelihood, *, splines: int | None = None, progress: DensityProgress | None = None
) -> Density:
    """Fit a distribution, with so many splines if they are given, without testing whether everybody has the same."""
    if isinstance(fused, Fused) and fused.mean_only:
        raise EstimateError(NO_DENSITY)
    if isinstance(fused, Fused) and fused.people < FEWEST:
        raise EstimateError(f"a density needs at least {FEWEST} people, not {fused.people}")
    if splines is not None and splines < 4:
        raise EstimateError(f"splines must be at least 4, not {splines}")
    model = fused_likelihood(fused) if isinstance(fused, Fused) else fused
    return _Search(model, progress).run(splines)


def sum_densities(model: ShareLikelihood, start: FloatArray, splines: int) -> Density:
    """Return the distribution of all copies of a model together, each of which has a smooth curve of its own.

    A logarithm of the sum moves by the copies' parts in it: d log f = Σ_c f_c/f · d log f_c.
    """
    search = _Search(model, None, start)
    search.run(splines)
    fitted = search.result(search.best)
    shares = fitted.shares.reshape(model.copies, -1)
    total = shares.sum(axis=0)
    return replace(fitted, shares=total, errors=replace(fitted.errors, parts=shares / total))


def pool_densities(parts: Sequence[Density], weights: FloatArray) -> Density:
    """Return the distribution of groups of people, who make up these shares of all, together: as `sum_densities`."""
    shares = weights @ np.array([part.shares for part in parts])
    within = [weight * part.shares / shares * part.errors.parts for weight, part in zip(weights, parts, strict=True)]
    roots = tuple(root for part in parts for root in part.errors.roots)
    rough = any(part.smooth is not None for part in parts)
    return replace(
        parts[0],
        shares=shares,
        people=sum(part.people for part in parts),
        splines=max(part.splines for part in parts),
        roughness=max(part.roughness for part in parts),
        evidence={},
        rough_evidence=None,
        converged=all(part.converged for part in parts),
        steps=sum(part.steps for part in parts),
        errors=LogErrors(np.concatenate(within), roots, apart=True),
        smooth=pool_densities([part.smooth or part for part in parts], weights) if rough else None,
    )


class _Search:
    """The fits that are tried, and the choice among them."""

    def __init__(
        self, model: ShareLikelihood, progress: DensityProgress | None, start: FloatArray | None = None
    ) -> None:
        self.model, self.progress = model, progress
        self.start = first_fit(model.sampled) if start is None else start
        self.smooth: list[LogDensity] = []
        self.rough: list[LogDensity] = []
        self.steps = 0

    def run(self, splines: int | None) -> Density:
        """Try so many splines, or all that may be best, and return the best density."""
        if splines is not None:
            self._try_smooth(splines)
            return self.result(self.best)
        most = max(4, self.model.size // 2)
        tried = [number for number in SPLINES if number <= most] or [most]
        few = [number for number in tried if number <= _ALWAYS]
        for number in few:
            self._try_smooth(number)
        for fit in self.best.roughened(self.start):
            self.steps = fit.climb(self.steps, self.progress, self.rough)
            if not fit.given_up and not fit.joins(self.rough):
                self.rough.append(fit)
        rough = max(self.rough, key=_evidence, default=None)
        if rough is not None and rough.evidence > self.best.evidence + _DOUBT:
            return self.result(rough, self.result(self.best))
        for number in tried[len(few) :]:
            if self.best.splines == self.smooth[-1].splines:
                self._try_smooth(number)
        return self.result(self.best)

    @property
    def best(self) -> LogDensity:
        """The most likely smooth fit."""
        return max(self.smooth, key=_evidence)

    def _try_smooth(self, splines: int) -> None:
        for order in ORDERS:
            like = [fit for fit in self.smooth if fit.order == order]
            fit = LogDensity(self.model, splines, order, self.start, max(like, key=_evidence, default=None))
            self.steps = fit.climb(self.steps, self.progress)
            self.smooth.append(fit)

    def result(self, fit: LogDensity, smooth: Density | None = None) -> Density:
        """Return the density of a fit."""
        return Density(
            self.model.bounds,
            fit.shares,
            self.model.people,
            fit.splines,
            fit.order,
            fit.smoothness,
            math.sqrt(fit.variance),
            {each.splines: each.evidence for each in sorted(self.smooth, key=_evidence)},
            max(map(_evidence, self.rough), default=None),
            fit.converged,
            self.steps,
            LogErrors.of(self.best.error_root, self.best.splines, self.model.copies),
            smooth,
        )
