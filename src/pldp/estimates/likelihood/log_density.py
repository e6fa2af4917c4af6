"""A log-density made of a smooth curve and, where the reports ask for it, of a roughness of its own in every bucket.

The shares of the buckets are f = exp(η)/Σexp(η), η = Bβ + r, where B holds cubic B-splines with equal knots, and

    log-likelihood(f) − λ/2·|Dβ|² − |r|²/(2v)

is maximised by Gauss–Newton steps. D takes first or second differences (`order`), so that equal shares or an
exponential cost nothing, each times the fourth root of a first density there: between Good and Gaskins' roughness,
which is proportional to the density, and one that is as strong where nobody is. The r of different buckets are
independent with variance v; v = 0 leaves the smooth curve alone, a large v lets single buckets hold many people: heaped
answers, a few exact values, everybody at 0. λ and v maximise the marginal likelihood in Laplace's approximation,
between the steps by that of the quadratic model.

With H = UΛUᵀ the observed information of η (under local privacy few directions are seen well, and only the sum of Λ is
kept of those hardly seen), the rough part is eliminated by formulas in Λ,

    information of β given v:   M = Bᵀ U diag(Λ/(1+Λv)) Uᵀ B
    log-evidence:               ℓ − penalties + ½ log|λP|₊ − ½ log|M + λP| − ½ Σ log(1 + Λv),    P = DᵀD.

References
----------
Good, Gaskins, "Nonparametric Roughness Penalties for Probability Densities" (1971); Eilers, Marx, "Flexible Smoothing
with B-splines and Penalties" (1996); Wood, "Fast Stable Restricted Maximum Likelihood and Marginal Likelihood
Estimation of Semiparametric Generalized Linear Models" (2011); Nychka, "Bayesian Confidence Intervals for Smoothing
Splines" (1988) for the errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import block_diag
from scipy.linalg.lapack import dposv, dpstrf
from scipy.optimize import minimize, minimize_scalar
from scipy.sparse import csr_array

from pldp.estimates.likelihood.mixture import ShareLikelihood
from pldp.mechanisms.arrays import FloatArray

_DEGREE: Final = 3
_TYPICAL: Final = 1 / 16
_SPREAD: Final = 1.5
"""The prior of λ of 12 splines: log-normal around this, with this standard deviation of the logarithm. It decides where
few reports leave λ open and the evidence is nearly as great for equal shares (λ = ∞) as for a fair curve."""
_EMPTY: Final = 0.02  # density, relative to equal shares, below which the penalty does not get weaker
_WEAKEST: Final = 1e-4  # precision of a weak prior of β: channels with two outputs (SR) say nothing but the mean
_ROUGH_RATE: Final = 2.0  # √v has an exponential prior of this rate
_ROUGHNESS: Final = (2.0, 4.0, 8.0)
_HINT: Final = 1.5
_STARTS: Final = (1.0, 3.0)
"""√v of the first look for roughness, the gain in evidence that makes it worth a search, and where searches start, as
there may be several hills."""
_SMOOTH: Final = 0.3  # √v below which a search is given up
_SAME_HILL: Final = 0.4  # difference of log v, and half of that of log λ, within which two searches end at one maximum
_LEAST, _MOST = -14.0, 7.0
"""Logarithms between which v is sought."""
_FAINT: Final = 1e-2  # Λv of directions of which only the sum of Λ counts: log(1 + Λv) is Λv there
_PIVOT: Final = 0.1
"""Part of `_FAINT` that a pivoted factorisation may leave. With .5 the evidence of zero-heavy numbers fell by 1."""
_FARTHEST: Final = 1.5  # change of the logarithms of λ and v in one step, at most
_ROUGHLY: Final = {"maxiter": 8, "ftol": 1e-6}
_CLOSE: Final = {"xatol": 0.01}  # how closely λ and v are chosen in one step
_MOST_STEPS: Final = 80
_HELD_STEPS: Final = 6
"""Steps before v is chosen anew: near the smooth curve single buckets seem to need less than they do."""
_FRESH_STEPS: Final = 6  # steps after which the information is computed anew; between them it only follows the shares
_LOG_SMOOTHNESS: Final = np.linspace(-9, 6, 31)
"""Logarithms of λ, relative to the best one, over which errors are averaged."""
_TOLERANCE: Final = 1e-4
_SETTLED: Final = 1e-2
"""Log-likelihood (of all people together), and evidence of other λ and v, that may remain to be gained."""

DensityProgress = Callable[[int, int], None]  #: Called with the number of splines and of steps.


def spline_basis(size: int, splines: int) -> FloatArray:
    """Return cubic B-splines with equal knots at the centres of the buckets, size × splines."""
    inner = splines - _DEGREE
    knots = np.arange(-_DEGREE, inner + _DEGREE + 1) / inner
    places = (np.arange(size) + 0.5) / size
    return np.asarray(BSpline.design_matrix(places, knots, _DEGREE).toarray())


class LogDensity:
    """One number of splines, with or without roughness: the climb to the best β (`curve`), r (`rough`), λ and v.

    It starts at these shares, or at those of another fit of this order, and about as smooth as that.
    """

    def __init__(
        self, model: ShareLikelihood, splines: int, order: int, start: FloatArray, like: LogDensity | None
    ) -> None:
        self.model, self.splines, self.order = model, splines, order
        splines_of_one = spline_basis(model.size // model.copies, splines)
        self.basis: FloatArray = block_diag(*[splines_of_one] * model.copies)
        self.sparse_basis = csr_array(self.basis)
        differences = block_diag(*map(self._differences, start.reshape(model.copies, -1)))
        self.penalty: FloatArray = differences.T @ differences
        self.rank = len(differences)
        # The logarithm of the product of the penalty's eigenvalues, and of normal priors of its free directions.
        self.log_penalty = float(np.linalg.slogdet(differences @ differences.T)[1]) - model.copies * order * np.log(
            2 * np.pi * splines
        )
        logs = np.log(np.maximum(start if like is None else like.shares, 1e-4 / model.size))
        self.curve: FloatArray = np.linalg.lstsq(self.basis, logs - logs.mean(), rcond=None)[0]
        self.rough: FloatArray = np.zeros(model.size)
        # K splines give one curve K differences of size K⁻ᵒʳᵈᵉʳ: its penalty is proportional to K to the 1 − 2·order.
        self.typical = _TYPICAL * (splines / 12) ** (2 * order - 1)
        self.smoothness: float = self.typical if like is None else like.smoothness * self.typical / like.typical
        self.variance = 0.0
        self.bucket_information: FloatArray | None = None
        self.converged = False
        self.shares: FloatArray
        self.shares, self.value = self._evaluate(self.curve, self.rough)

    def _differences(self, start: FloatArray) -> FloatArray:
        """D: differences of β, weighted by the fourth root of the density of these shares (1 if all are equal)."""
        size = len(start)
        places = np.minimum(np.arange(size) * self.splines // size, self.splines - 1)
        density = np.bincount(places, start, self.splines) / np.maximum(np.bincount(places, minlength=self.splines), 1)
        plain = np.diff(np.eye(self.splines), self.order, axis=0)
        here = (plain != 0) @ density * size / (start.sum() * (self.order + 1))
        return np.asarray(np.maximum(here, _EMPTY)[:, None] ** 0.25 * plain)

    def roughened(self, start: FloatArray) -> list[LogDensity]:
        """Return fits from these shares that may be rough; none where nothing hints at it, whatever the prior."""
        looked = copy(self)
        looked.bucket_information = self.model.sampled.information_matrix(self.shares)
        if looked.bucket_information is None:
            return []
        looked.variance = max(_STARTS) ** 2
        local = _Quadratic(looked)
        smooth = local.evidence(self.smoothness, 0.0)
        hints = [local.evidence(self.smoothness, each**2) + _ROUGH_RATE * each - smooth for each in _ROUGHNESS]
        worth = _STARTS if max(hints) >= _HINT else ()
        fits = [LogDensity(self.model, self.splines, self.order, start, None) for _ in worth]
        for fit, deviation in zip(fits, _STARTS, strict=False):
            fit.bucket_information, fit.variance = looked.bucket_information, deviation**2
        return fits

    @property
    def given_up(self) -> bool:
        """Whether a fit that might be rough is on its way to a smooth one."""
        return 0 < self.variance < _SMOOTH**2

    def joins(self, others: Sequence[LogDensity]) -> bool:
        """Whether λ and v of a rough fit are close to those where another fit ended."""
        return any(
            abs(math.log(self.variance / other.variance)) < _SAME_HILL
            and abs(math.log(self.smoothness / other.smoothness)) < 2 * _SAME_HILL
            for other in others
        )

    def _evaluate(self, curve: FloatArray, rough: FloatArray) -> tuple[FloatArray, float]:
        logs = self.basis @ curve + rough
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        return shares, self.model.objective(shares) * self.model.people

    def _penalised(self, curve: FloatArray, rough: FloatArray, value: float) -> float:
        own = float(rough @ rough) / self.variance if self.variance else 0.0
        return value + 0.5 * (float(curve @ self._pull() @ curve) + own)

    def climb(self, steps: int, progress: DensityProgress | None, others: Sequence[LogDensity] = ()) -> int:
        """Take Gauss–Newton steps, choosing λ and v anew before each, until nothing is left to gain.

        A rough fit also stops where one of the others has been: it would end where that one did.
        """
        part, last = 1.0, np.zeros(2)
        for own in range(_MOST_STEPS):
            steps += 1
            if progress is not None:
                progress(self.splines, steps)
            if own % _FRESH_STEPS == _FRESH_STEPS - 1:
                self._look_again()
            local = _Quadratic(self)
            before = np.log([self.smoothness, self.variance or 1.0])
            best = local.best(before, held=own < _HELD_STEPS)
            settled = local.evidence(*self.choices(best)) - local.evidence(*self.choices(before)) < _SETTLED
            # Steps and choices answer each other: where they turn around they go on with half the change, and later
            # changes count less, so that they settle.
            part = part / 2 if float((best - before) @ last) < 0 else min(1.2 * part, 1 / (1 + own / 20))
            last = part * (best - before)
            self.smoothness, self.variance = self.choices(before + last)
            curve, rough = local.aim(self.smoothness, self.variance)
            moved, gain = self._search(local, curve - self.curve, rough - self.rough)
            if settled and (gain < _TOLERANCE or not moved):
                self.converged = gain < 10 * _TOLERANCE
                break
            if self.given_up or (own > _HELD_STEPS and self.joins(others)):
                break
        self._look_again()
        return steps

    def choices(self, logs: FloatArray) -> tuple[float, float]:
        """Return λ and v; v stays 0 where it is."""
        return math.exp(logs[0]), math.exp(logs[1]) if self.variance else 0.0

    def _look_again(self) -> None:
        """Compute the information at the present shares."""
        if self.bucket_information is not None:
            self.bucket_information = self.model.sampled.information_matrix(self.shares)

    def _search(self, local: _Quadratic, curve: FloatArray, rough: FloatArray) -> tuple[bool, float]:
        """Go along the step while the penalised likelihood improves; return whether it did, and the promised gain."""
        slope = curve @ (self.basis.T @ local.downhill + self._pull() @ self.curve) + rough @ local.downhill
        if self.variance:
            slope += rough @ self.rough / self.variance
        gain = -float(slope) / 2
        length = min(1.0, 3.0 / float(np.abs(self.basis @ curve + rough).max() + 1e-12))
        here = self._penalised(self.curve, self.rough, self.value)
        while length > 1e-4:
            aim = self.curve + length * curve, self.rough + length * rough
            shares, value = self._evaluate(*aim)
            if self._penalised(*aim, value) <= here - 1e-4 * length * gain:
                (self.curve, self.rough), self.shares, self.value = aim, shares, value
                return True, gain
            length /= 3
        return False, gain

    def _pull(self) -> FloatArray:
        return self.smoothness * self.penalty + _WEAKEST * np.eye(len(self.penalty))

    def doubt(self, smoothness: float, variance: float) -> float:
        """Minus the logarithm of the prior of λ and v."""
        away = math.log(smoothness / self.typical) / _SPREAD
        return away**2 / 2 + _ROUGH_RATE * math.sqrt(variance)

    @cached_property
    def evidence(self) -> float:
        """The marginal log-likelihood, up to what all fits share."""
        local = _Quadratic(self)
        return float(
            -self._penalised(self.curve, self.rough, self.value)
            + 0.5 * (self.rank * math.log(self.smoothness) + self.log_penalty)
            - self.doubt(self.smoothness, self.variance)
            - 0.5 * local.log_determinant(self.smoothness, self.variance)
        )

    @cached_property
    def error_root(self) -> FloatArray:
        """W with WWᵀ the covariance of the log-shares of a smooth fit, size × splines.

        It is averaged over the λ that are possible: around the maximum, a parabola, each has its β(λ) and covariance.
        """
        local = _Quadratic(self)
        target = local.precision(self.smoothness, 0.0) @ self.curve
        evidences, covariances = [], []
        for smoothness in self.smoothness * np.exp(_LOG_SMOOTHNESS):
            covariance = np.linalg.inv(local.precision(smoothness, 0.0))
            curve = covariance @ target
            away = curve - self.curve
            evidences.append(
                0.5 * float(target @ curve)
                + 0.5 * self.rank * math.log(smoothness)
                + 0.5 * float(np.linalg.slogdet(covariance)[1])
                - self.doubt(smoothness, 0.0)
            )
            covariances.append(covariance + np.outer(away, away))
        weights = np.exp(np.array(evidences) - max(evidences))
        mixed = np.tensordot(weights / weights.sum(), covariances, axes=1)
        return local.slopes(self.basis) @ np.linalg.cholesky((mixed + mixed.T) / 2)


class _Held(NamedTuple):
    """What the evidence of a v needs, whatever λ: a search along λ asks for it ten times."""

    information: FloatArray  #: M.
    target: FloatArray  #: What (M + λP)⁻¹ turns into the best β.
    reached: float  #: What r adds to the height of the parabola's top.
    log_determinant: float  #: Σ log(1 + Λv).


class _Quadratic:
    """The likelihood around a fit as a parabola in η, −½ηᵀHη + bᵀη, with the rough part in the directions of H.

    `downhill` are slopes of minus the log-likelihood; `strength`, `directions` and `along` are Λ, Uᵀ and UᵀB of the
    directions that r is seen in, none for a fit that is not rough.
    """

    def __init__(self, fit: LogDensity) -> None:
        self.fit, model, shares = fit, fit.model, fit.shares
        self.downhill: FloatArray = -model.people * shares * (model.scores(shares) - 1)
        self.strength: FloatArray = np.zeros(0)
        self.directions: FloatArray = np.zeros((0, model.size))
        self._faint = 0.0
        if fit.bucket_information is None:
            columns = shares[:, None] * self.slopes(fit.basis)
            self._information: FloatArray = model.people * model.sampled.information(shares, columns)
            self._aim_curve: FloatArray = self._information @ fit.curve - fit.basis.T @ self.downhill
        else:
            self._hessian: FloatArray = log_share_information(fit.bucket_information, shares, model.people)
            self._aim: FloatArray = self._hessian @ (fit.basis @ fit.curve + fit.rough) - self.downhill
            self._decompose(fit.variance)
            # A bucket is in four splines at most, so products with the sparse basis cost next to nothing.
            self._information = fit.sparse_basis.T @ (fit.sparse_basis.T @ self._hessian).T
            self._aim_curve = fit.basis.T @ self._aim
        self.along: FloatArray = self.directions @ fit.sparse_basis
        # Directions that reports say nothing about get a curvature of their own.
        self._floor: FloatArray = 1.0 + _WEAKEST * np.eye(len(fit.penalty))
        self._last: dict[float, _Held] = {}

    def _decompose(self, variance: float) -> None:
        """Find the directions in which r is seen; of the faint ones only the sum of Λ is kept.

        Of a thousand some 150 are seen: a pivoted Cholesky factorisation H ≈ RᵀR, stopped where all that is left on the
        diagonal is faint, has few rows, and the small RRᵀ has the eigenvalues of RᵀR.
        """
        root = pivoted_root(self._hessian, _PIVOT * _FAINT / variance)
        values, vectors = np.linalg.eigh(root @ root.T)
        kept = values * variance > _FAINT
        self.strength = values[kept]
        self.directions = (vectors[:, kept] / np.sqrt(self.strength)).T @ root
        self._faint = float(self._hessian.trace() - self.strength.sum())
        self._aim_along: FloatArray = self.directions @ self._aim
        self._aim_rest: FloatArray = self._aim - self.directions.T @ self._aim_along

    def slopes(self, columns: FloatArray) -> FloatArray:
        """Derivatives of the log-shares along changes of η."""
        return np.asarray(columns - self.fit.shares @ columns)

    def shrunk(self, variance: float) -> FloatArray:
        """Λv/(1+Λv): the part of each direction that r takes."""
        return np.asarray(self.strength * variance / (1 + self.strength * variance))

    def _held(self, variance: float) -> _Held:
        """Return what does not depend on λ; that of the last v is kept."""
        if variance not in self._last:
            self._last = {variance: self._hold(variance)}
        return self._last[variance]

    def _hold(self, variance: float) -> _Held:
        if not variance:
            return _Held(self._information, self._aim_curve, 0.0, 0.0)
        shrunk = self.shrunk(variance)
        along = float(self._aim_along**2 @ (1 - shrunk))
        return _Held(
            self._information - (self.along.T * (self.strength * shrunk)) @ self.along,
            self._aim_curve - self.along.T @ (shrunk * self._aim_along),
            variance * (float(self._aim_rest @ self._aim_rest) + along),
            float(np.log1p(self.strength * variance).sum()) + variance * self._faint,
        )

    def precision(self, smoothness: float, variance: float) -> FloatArray:
        """M + λP: the precision of β."""
        return np.asarray(self._held(variance).information + smoothness * self.fit.penalty + self._floor)

    def _solve(self, smoothness: float, variance: float) -> tuple[FloatArray, float]:
        """Return the best β and log|M + λP|, by one Cholesky factorisation of M + λP."""
        # LAPACK itself: what SciPy's functions check around it takes longer than the few dozen splines.
        factor, curve, failed = dposv(self.precision(smoothness, variance), self._held(variance).target)
        if failed:
            raise np.linalg.LinAlgError("the precision of the curve is not positive")
        return np.asarray(curve), 2 * float(np.log(factor.diagonal()).sum())

    def log_determinant(self, smoothness: float, variance: float) -> float:
        """log|M + λP| + Σ log(1 + Λv)."""
        return self._solve(smoothness, variance)[1] + self._held(variance).log_determinant

    def aim(self, smoothness: float, variance: float) -> tuple[FloatArray, FloatArray]:
        """Return the β and r at the top of the penalised parabola."""
        curve, _ = self._solve(smoothness, variance)
        if not variance:
            return curve, np.zeros(self.fit.model.size)
        left = self._aim - self._hessian @ (self.fit.basis @ curve)
        taken = self.directions.T @ (self.shrunk(variance) * (self.directions @ left))
        return curve, variance * (left - taken)

    def evidence(self, smoothness: float, variance: float) -> float:
        """The marginal log-likelihood of λ and v, up to a constant, were the likelihood this parabola."""
        held, (curve, log_determinant) = self._held(variance), self._solve(smoothness, variance)
        reached = float(held.target @ curve) + held.reached
        spread = self.fit.rank * math.log(smoothness) - log_determinant - held.log_determinant
        return 0.5 * (reached + spread) - self.fit.doubt(smoothness, variance)

    def best(self, start: FloatArray, *, held: bool) -> FloatArray:
        """Return the logarithms of the λ and v of greatest evidence near the start, or with v held."""
        near = [(each - _FARTHEST, each + _FARTHEST) for each in start]
        near[1] = (max(_LEAST, near[1][0]), min(_MOST, near[1][1]))

        def lacking(logs: FloatArray) -> float:
            return -self.evidence(*self.fit.choices(logs))

        if held or not self.fit.variance:
            one = minimize_scalar(
                lambda log: lacking(np.array([log, start[1]])), bounds=near[0], method="bounded", options=_CLOSE
            )
            return np.array([one.x, start[1]])
        found = minimize(lacking, start, method="L-BFGS-B", bounds=near, options=_ROUGHLY)
        return np.asarray(found.x)


def log_share_information(information: FloatArray, shares: FloatArray, people: int) -> FloatArray:
    """Return H, the information of all people about the log-shares η, from that of one person about the shares f.

    df = f·(dη − Σf dη), so with C = people·diag(f)·information·diag(f), H = (I − f1ᵀ)·C·(I − 1fᵀ).
    """
    hessian = information * (people * shares)
    hessian *= shares[:, None]
    sums = hessian.sum(axis=1)
    both = np.stack([shares, sums - sums.sum() / 2 * shares], axis=1)
    hessian -= both @ both[:, ::-1].T
    return np.asarray(hessian)


def pivoted_root(matrix: FloatArray, left: float) -> FloatArray:
    """Return R, with as few rows as leave less than this anywhere on the diagonal of matrix − RᵀR."""
    # The transpose of a symmetric matrix is the same one, in the order of memory that LAPACK reads without a copy.
    factor, pivots, rank, _ = dpstrf(matrix.T, tol=left, lower=1)
    root = np.zeros((rank, len(matrix)))
    root[:, pivots - 1] = np.tril(factor[:, :rank]).T
    return root
