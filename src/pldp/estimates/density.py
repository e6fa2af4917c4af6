"""The distribution of a number: a smooth log-density whose smoothness and detail are chosen from the reports.

The shares of the buckets are f = exp(Bθ)/Σexp(Bθ), B holding cubic B-splines with equal knots, and

    log-likelihood(f) − λ/2 · |D³θ|²

is maximised by Gauss–Newton steps (D³: third differences; a log-density that is a parabola costs nothing). λ and the
number of splines maximise the marginal likelihood in Laplace's approximation,

    V = ℓ(θ̂) − λ/2·|D³θ̂|² + ½ log|λP|₊ − ½ log|H + λP|,   P = D³ᵀD³,

λ by the fixed point of Fellner and Schall between the steps, the number of splines by trying a few. With
H, the observed information, (H + λP)⁻¹ is the covariance of θ, from which come bands, quantiles and their errors.

References
----------
Eilers, Marx, "Flexible Smoothing with B-splines and Penalties" (1996); Wood, Fasiolo, "A Generalized Fellner-Schall
Method for Smoothing Parameter Optimization" (2017); Nychka, "Bayesian Confidence Intervals for Smoothing Splines"
(1988) for the errors; Sun, Loader, "Simultaneous Confidence Bands for Linear Regression and Smoothing" (1994).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq

from pldp.errors import EstimateError
from pldp.estimates.estimate import Interval
from pldp.estimates.fusion import FusedLikelihood, em
from pldp.estimates.groups import FloatArray
from pldp.tallies.fusion import Fused

SPLINES: Final = (24, 48, 96, 192, 384)
"""Numbers of splines tried, up to half the number of buckets; those above 96 only where 96 is the best so far."""

_ALWAYS: Final = 96

_ORDER: Final = 3
_RATE: Final = 0.02
"""λ of 12 splines has an exponential prior of this rate: hardly any log-density is an exact parabola (λ = ∞)."""
_WEAKEST: Final = 1e-4
"""Precision of a weak prior of θ: channels with two outputs (SR) say nothing but the mean."""
_MOST_STEPS: Final = 100
_FREE_STEPS: Final = 4
_START_STEPS: Final = 20
_LOG_SMOOTHNESS: Final = np.linspace(-9, 6, 31)
"""Logarithms of λ, relative to the best one, over which errors are averaged."""
_TOLERANCE: Final = 1e-4
"""Log-likelihood (of all people together) that may remain to be gained."""

DensityProgress = Callable[[int, int], None]
"""Called with the number of splines and of steps."""


@dataclass(frozen=True, eq=False)
class Density:
    """A fitted distribution over the buckets, with errors.

    Attributes
    ----------
    bounds
        The numbers that the ends of the grid stand for.
    shares
        Share of each bucket; positive, sums to 1.
    people
        Number of people behind it.
    splines, smoothness
        What was chosen: number of splines and λ.
    evidence
        The marginal log-likelihood of every number of splines tried.
    converged, steps
        Whether the chosen fit reached its maximum, and the number of steps of all fits.
    """

    bounds: tuple[float, float]
    shares: FloatArray
    people: int
    splines: int
    smoothness: float
    evidence: dict[int, float]
    converged: bool
    steps: int
    _covariance: FloatArray = field(repr=False)
    _slopes: FloatArray = field(repr=False)

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
    def log_standard_error(self) -> FloatArray:
        """Standard error of the logarithm of each share."""
        return _errors(self._slopes, self._covariance)

    @cached_property
    def cumulative_standard_error(self) -> FloatArray:
        """Standard error of `cumulative`."""
        return np.concatenate([[0.0], _errors(self._mass_slopes.cumsum(axis=0), self._covariance)])

    @property
    def _mass_slopes(self) -> FloatArray:
        return np.asarray(self.shares[:, None] * self._slopes)

    def band(self, confidence: float = 0.95, *, simultaneous: bool = False) -> Interval:
        """Return a band around `density`: for each bucket, or with `simultaneous` for the whole curve.

        The band is symmetric on the logarithmic scale. For the whole curve the reach solves Sun and Loader's tube
        formula, κ/π·e^{−c²/2} + 2(1−Φ(c)) = 1 − confidence, κ being the length of the standardised curve.
        """
        _check(confidence)
        reach = self._tube_reach(1 - confidence) if simultaneous else NormalDist().inv_cdf((1 + confidence) / 2)
        factor = np.exp(reach * self.log_standard_error)
        return Interval(self.density / factor, self.density * factor)

    def _tube_reach(self, outside: float) -> float:
        root = np.linalg.cholesky(self._covariance)
        curve = self._slopes @ root
        curve /= np.linalg.norm(curve, axis=1, keepdims=True)
        length = float(np.linalg.norm(np.diff(curve, axis=0), axis=1).sum())

        def excess(reach: float) -> float:
            return length / np.pi * math.exp(-(reach**2) / 2) + 2 * (1 - NormalDist().cdf(reach)) - outside

        return float(brentq(excess, 0, 40))

    def quantile(self, share: float, confidence: float = 0.95) -> tuple[float, float, float]:
        """Return the number below which this share of people lies, and the ends of its interval.

        The ends are where the cumulative curve, moved by its error, crosses the share: they need no density.
        """
        _check(confidence)
        if not 0 < share < 1:
            raise EstimateError(f"share must be between 0 and 1, not {share}")
        reach = NormalDist().inv_cdf((1 + confidence) / 2) * self.cumulative_standard_error
        ends = (self.cumulative, self.cumulative + reach, self.cumulative - reach)
        found = [float(np.interp(share, np.maximum.accumulate(curve), self.edges)) for curve in ends]
        return found[0], found[1], found[2]

    @property
    def mean(self) -> float:
        """Mean of the fitted distribution."""
        return float(self.shares @ self.centres)

    @property
    def mean_standard_error(self) -> float:
        """Standard error of the mean, for the people who reported.

        The delta method gives the error for the population they came from; the variance of the numbers themselves over
        the number of people is what sampling adds to it.
        """
        total = float(_errors((self.centres @ self._mass_slopes)[None], self._covariance)[0] ** 2)
        spread = float(self.shares @ self.centres**2) - self.mean**2
        return float(np.sqrt(max(total - spread / self.people, 0.0)))

    def plot(self, confidence: float = 0.95, *, truth: FloatArray | None = None, axes: Any = None) -> Any:
        """Draw the density with both bands (needs the extra `plots`); `truth` adds true shares of the buckets."""
        from pldp.estimates.plot_density import plot_density  # noqa: PLC0415 - matplotlib is optional

        return plot_density(self, confidence, truth=truth, axes=axes)


def _check(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise EstimateError(f"confidence must be between 0 and 1, not {confidence}")


def _errors(slopes: FloatArray, covariance: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.maximum(((slopes @ covariance) * slopes).sum(axis=1), 0.0)))


def density(
    fused: Fused | FusedLikelihood, *, splines: int | None = None, progress: DensityProgress | None = None
) -> Density:
    """Fit a smooth distribution to a fused tally.

    Parameters
    ----------
    fused
        The tally.
    splines
        The number of splines; chosen from the data if it is not given.
    progress
        Called with the number of splines and of steps.

    Examples
    --------
    >>> from pldp.mechanisms import Grid, number_channel
    >>> from pldp.simulate import perturb_numbers, to_buckets
    >>> from pldp.tallies import Service, fuse
    >>> generator = np.random.default_rng(1)
    >>> values = to_buckets(Grid(0, 1, 64), generator.beta(2, 5, 20_000))
    >>> channels = [number_channel(name, 64, 1_000_000) for name in ("pm", "sw")]
    >>> keys = np.arange(20_000)
    >>> services = [Service(c.mechanism, c, keys, perturb_numbers(c, values, generator), (0, 1)) for c in channels]
    >>> fitted = density(fuse(services))
    >>> fitted.splines, round(fitted.mean, 2), round(fitted.quantile(0.5)[0], 2)
    (24, 0.28, 0.27)
    """
    if isinstance(fused, Fused) and fused.people < 10:
        raise EstimateError(f"a density needs at least 10 people, not {fused.people}")
    if splines is not None and splines < 4:
        raise EstimateError(f"splines must be at least 4, not {splines}")
    model = fused if isinstance(fused, FusedLikelihood) else FusedLikelihood(fused)
    most = max(4, model.size // 2)
    tried = [splines] if splines is not None else [number for number in SPLINES if number <= most] or [most]
    start = em(model.sampled, smoothing=True, most_steps=_START_STEPS).shares
    fits: list[_Fit] = []
    steps = 0
    for number in tried:
        if number > _ALWAYS and _best(fits).splines < _ALWAYS:
            break
        fit = _Fit(model, number, _best(fits).shares if fits else start)
        steps = fit.climb(steps, progress)
        fits.append(fit)
    return _best(fits).result(model, {fit.splines: fit.evidence for fit in fits}, steps)


def _best(fits: Sequence[_Fit]) -> _Fit:
    return max(fits, key=lambda fit: fit.evidence)


def spline_basis(size: int, splines: int) -> FloatArray:
    """Return cubic B-splines with equal knots at the centres of the buckets, size × splines."""
    inner = splines - _ORDER
    knots = np.arange(-_ORDER, inner + _ORDER + 1) / inner
    places = (np.arange(size) + 0.5) / size
    return np.asarray(BSpline.design_matrix(places, knots, _ORDER).toarray())


class _Fit:
    """One number of splines: the climb to the best θ and λ."""

    def __init__(self, model: FusedLikelihood, splines: int, start: FloatArray) -> None:
        self.model, self.splines = model, splines
        self.basis = spline_basis(model.size, splines)
        differences = np.diff(np.eye(splines), _ORDER, axis=0)
        self.penalty: FloatArray = differences.T @ differences
        self.rank = splines - _ORDER
        # The logarithm of the product of the penalty's eigenvalues, and what a unit of its free directions measures.
        self.log_penalty = float(np.linalg.slogdet(differences @ differences.T)[1]) - _ORDER * np.log(splines)
        logs = np.log(np.maximum(start, 1e-4 / model.size))
        self.theta: FloatArray = np.linalg.lstsq(self.basis, logs - logs.mean(), rcond=None)[0]
        self.smoothness = 1.0
        # K splines give one curve K third differences of size K⁻³: its penalty is proportional to K⁻⁵.
        self.rate = _RATE * (12 / splines) ** 5
        self.converged = False
        self.shares, self.value = self._evaluate(self.theta)

    def _evaluate(self, theta: FloatArray) -> tuple[FloatArray, float]:
        logs = self.basis @ theta
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        return shares, self.model.objective(shares) * self.model.people

    def _penalised(self, theta: FloatArray, value: float) -> float:
        return value + 0.5 * float(theta @ (self.smoothness * self.penalty + _WEAKEST * np.eye(len(theta))) @ theta)

    def _slopes(self) -> FloatArray:
        """Derivatives of the log-shares with respect to θ."""
        return np.asarray(self.basis - self.shares @ self.basis)

    def _curvature(self) -> FloatArray:
        """Observed information of θ; directions that reports say nothing about get a curvature of their own."""
        observed = self.model.sampled.information(self.shares, self.shares[:, None] * self._slopes())
        return np.asarray(self.model.people * observed + 1.0 + _WEAKEST * np.eye(self.splines))

    def climb(self, steps: int, progress: DensityProgress | None) -> int:
        """Take Gauss–Newton steps, choosing λ anew before each, until nothing is left to gain."""
        for own in range(_MOST_STEPS):
            steps += 1
            if progress is not None:
                progress(self.splines, steps)
            slopes = self.basis.T @ (self.shares * (self.model.scores(self.shares) - 1))
            gradient = _WEAKEST * self.theta - self.model.people * slopes
            information = self._curvature()
            before = self.smoothness
            chosen = self._best_smoothness(gradient, information)
            # Steps and λ answer each other: later changes count less and less, so that they settle.
            part = 1 / (2 + own - _FREE_STEPS) if own >= _FREE_STEPS else 1.0
            self.smoothness = before ** (1 - part) * chosen**part
            step, decrement = self._step(gradient, information)
            settled = abs(math.log(self.smoothness / before)) < 0.01
            moved = self._search(step, decrement)
            if settled and (decrement < _TOLERANCE or not moved):
                self.converged = decrement < 10 * _TOLERANCE
                break
        return steps

    def _best_smoothness(self, gradient: FloatArray, information: FloatArray) -> float:
        """Return the λ that suits the minimum of the quadratic model, which depends on λ."""
        smoothness = self.smoothness
        for _ in range(30):
            factor = cho_factor(information + smoothness * self.penalty)
            aim = self.theta - cho_solve(factor, gradient + smoothness * self.penalty @ self.theta)
            used = self.rank - smoothness * float(np.trace(cho_solve(factor, self.penalty)))
            fresh = max(used / (float(aim @ self.penalty @ aim) + 2 * self.rate), 1e-9)
            change, smoothness = abs(math.log(fresh / smoothness)), fresh
            if change < 1e-3:
                break
        return smoothness

    def _step(self, gradient: FloatArray, information: FloatArray) -> tuple[FloatArray, float]:
        """Return the step to the minimum of the quadratic model and what it promises to gain."""
        slope = gradient + self.smoothness * self.penalty @ self.theta
        step = -cho_solve(cho_factor(information + self.smoothness * self.penalty), slope)
        return step, -float(step @ slope) / 2

    def _search(self, step: FloatArray, decrement: float) -> bool:
        """Go along the step as far as the penalised likelihood improves; never so far that logs leave their range."""
        length = min(1.0, 3.0 / float(np.abs(step).max() + 1e-12))
        here = self._penalised(self.theta, self.value)
        while length > 1e-4:
            theta = self.theta + length * step
            shares, value = self._evaluate(theta)
            if self._penalised(theta, value) <= here - 1e-4 * length * decrement:
                self.theta, self.shares, self.value = theta, shares, value
                return True
            length /= 3
        return False

    @cached_property
    def evidence(self) -> float:
        """The marginal log-likelihood, up to what all numbers of splines share."""
        precision = self._curvature() + self.smoothness * self.penalty
        return float(
            -self._penalised(self.theta, self.value)
            + 0.5 * (self.rank * math.log(self.smoothness) + self.log_penalty)
            - self.rate * self.smoothness
            - 0.5 * float(np.linalg.slogdet(precision)[1])
        )

    def result(self, model: FusedLikelihood, evidence: dict[int, float], steps: int) -> Density:
        """Return the fit with its covariance."""
        covariance = self._covariance()
        return Density(
            model.bounds,
            self.shares,
            model.people,
            self.splines,
            self.smoothness,
            evidence,
            self.converged,
            steps,
            covariance,
            self._slopes(),
        )

    def _covariance(self) -> FloatArray:
        """Return the covariance of θ around θ̂, averaged over the λ that the data leave possible.

        Around the maximum the likelihood is a parabola: every λ then has its own θ(λ), covariance and evidence.
        """
        information = self._curvature()
        target = (information + self.smoothness * self.penalty) @ self.theta
        evidences, covariances = [], []
        for smoothness in self.smoothness * np.exp(_LOG_SMOOTHNESS):
            covariance = np.linalg.inv(information + smoothness * self.penalty)
            theta = covariance @ target
            away = theta - self.theta
            evidences.append(
                0.5 * float(target @ theta)
                + 0.5 * self.rank * math.log(smoothness)
                + 0.5 * float(np.linalg.slogdet(covariance)[1])
                - self.rate * smoothness
            )
            covariances.append(covariance + np.outer(away, away))
        weights = np.exp(np.array(evidences) - max(evidences))
        mixed = np.tensordot(weights / weights.sum(), covariances, axes=1)
        return np.asarray((mixed + mixed.T) / 2)
