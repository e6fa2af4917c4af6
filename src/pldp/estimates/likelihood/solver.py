"""Climb a likelihood over one or several simplices: accelerated EM with a certified gap, plain EM, and a formula.

Maximise Σ_c N_c log P_c over f ≥ 0, Σ f = 1. Where P_c = L_c·f the function is concave, so a stationary point is the
maximum, and how far a point is from it can be certified: with g_j = (1/n) Σ_c N_c L_cj / (L_c·f),

    log-likelihood per report still to gain  ≤  max_j g_j − 1  =  the gap.

**Newton (`maximise`).** EM multiplies f_j by g_j. Under local privacy most information is missing and EM takes
thousands of steps, so EM is accelerated by Newton steps: minimise the quadratic model of −log-likelihood + Σ f over
f ≥ 0 (the sum then takes care of itself) by conjugate gradients on the positive values, or with the Hessian as a
matrix, and search along the line to that point. A step that does not improve is replaced by an EM step, which always
does. With several unknown distributions (`Likelihood.blocks`: shares, and mixes of hidden levels) the likelihood is not
concave, and the gap then says how stationary the point is.

**One multiplier (`separable_maximum`).** A report of a direct encoding (k-RR, URR, IPRR) names one value, so every
share has its own term Σ_g n_gy log(a_gy f_y + b_gy). On the simplex all shares that are not 0 have the same slope λ,

    Σ_g n_gy a_gy / (a_gy f_y + b_gy) = λ,        and  Σ_y f_y(λ) = 1  fixes λ.

With one group f_y = max(0, n_y/λ − b_y/a_y). With several, f_y is the root of a convex falling function; Newton steps
from below never pass it. So k one-dimensional problems and one outer root replace an iteration over k values at once,
which converges slowly where many values are rare and some are not perturbed at all.

References
----------
Dempster, Laird, Rubin (1977) for EM; Lindsay, "The Geometry of Mixture Likelihoods" (1983) for the gap; Kim,
Carbonetto, Stephens, Anitescu, "A Fast Algorithm for Maximum Likelihood Estimation of Mixture Proportions" (2020); Li,
Wang, Lopuhaä-Zwakenberg, Li, Škorić, "Estimating Numerical Distributions under Local Differential Privacy" (2020) for
EM with smoothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
from scipy import optimize

from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record

GAP: Final = 1e-8
"""Default tolerance: log-likelihood per report that may remain to be gained."""

_MOST_PRODUCTS: Final = 60
_MOST_PIVOTS: Final = 12
_TOGETHER: Final = 10
"""Entries that reach 0 within this factor of the first one are fixed with it."""
_RIDGE: Final = 1e-12
"""Added to the Hessian in products: outputs that never came leave directions without curvature."""
_MOST_INNER: Final = 100
"""Newton steps towards the share of one value at a multiplier λ."""

FitProgress = Callable[[int, float], None]
"""Called with the number of steps and the gap."""

Product = Callable[[FloatArray], FloatArray]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Record):
    """A maximum-likelihood fit and how far it can be from the maximum.

    Attributes
    ----------
    gap
        Certified bound on the log-likelihood per report still to gain; where levels are hidden, the bound for the
        shares given the levels and for the levels given the shares.
    log_likelihood
        Log-likelihood at the fit, up to a constant of the data.
    slope
        Slope of the log-likelihood along each share, less that along the positive shares: below 0 where a share is 0
        and would be negative if it could.
    """

    shares: FloatArray
    gap: float
    steps: int
    converged: bool
    log_likelihood: float
    slope: FloatArray


class Likelihood(Protocol):
    """What the solver needs: one or several unknown distributions, end to end in one point.

    `objective` is minus the log-likelihood per report; `scores` are g, minus its gradient; `curvature` is the product
    with its Hessian, or with a positive approximation of it; and `hessian` is that as a matrix where it is small and
    may be ill-conditioned or indefinite.
    """

    blocks: Sequence[slice]  #: The place of each distribution.
    reports: float  #: Number of reports, or of people.

    def objective(self, point: FloatArray) -> float: ...
    def scores(self, point: FloatArray) -> FloatArray: ...
    def curvature(self, point: FloatArray) -> Product: ...
    def hessian(self, point: FloatArray) -> FloatArray | None: ...


def maximise(
    model: Likelihood, point: FloatArray, gap: float = GAP, most_steps: int = 500, progress: FitProgress | None = None
) -> Fit:
    """Climb from the point until the gap is small enough or the steps are used up; fit all distributions end to end."""
    value, scores, steps = model.objective(point), model.scores(point), 0
    while (remaining := float(scores.max()) - 1) > gap and steps < most_steps:
        steps += 1
        if progress is not None:
            progress(steps, remaining)
        point, value = _step(model, point, scores, value)
        scores = model.scores(point)
    log_likelihood, slope = -value * model.reports, model.reports * (scores - 1)
    return Fit(point, max(remaining, 0.0), steps, remaining <= gap, log_likelihood, slope)


def minus_log(weights: FloatArray, cells: FloatArray) -> float:
    """Return −Σ w log(cell) over the cells that have weight; infinite where such a cell is impossible."""
    seen = weights > 0
    if (cells[seen] <= 0).any():
        return float("inf")
    return -float(weights[seen] @ np.log(cells[seen]))


def ratio(weights: FloatArray, cells: FloatArray) -> FloatArray:
    """Return weight/cell, 0 where there is no weight."""
    return np.divide(weights, cells, out=np.zeros_like(cells), where=weights > 0)


def interior(shares: FloatArray) -> FloatArray:
    """Mix in a tenth of equal shares, so that no value is impossible at the start."""
    return np.asarray(0.9 * shares + 0.1 / len(shares))


def _normalised(model: Likelihood, point: FloatArray) -> FloatArray:
    for block in model.blocks:
        point[block] /= point[block].sum()
    return point


def _step(model: Likelihood, point: FloatArray, scores: FloatArray, value: float) -> tuple[FloatArray, float]:
    """Take one Newton step, or an EM step where that does not improve."""
    direction = _newton_target(model, point, scores) - point
    slope = float((1 - scores) @ direction)
    length = 1.0
    while np.isfinite(slope) and slope < 0 and length > 1e-3:
        trial = point + length * direction
        if not all(trial[block].sum() > 0 for block in model.blocks):
            break
        trial = _normalised(model, trial)
        reached = model.objective(trial)
        if reached <= value + 1e-4 * length * slope:
            return trial, reached
        length /= 4
    trial = _normalised(model, point * scores)
    return trial, model.objective(trial)


def _newton_target(model: Likelihood, point: FloatArray, scores: FloatArray) -> FloatArray:
    """Minimise the quadratic model of −log-likelihood + Σ x around the point over x ≥ 0, approximately.

    The model is ½xᵀHx − (H·point + g − 1)ᵀx. Entries that leave the positive range are fixed at 0 and the rest is
    solved again.
    """
    hessian = model.hessian(point)
    if hessian is None:
        curvature = model.curvature(point)
        linear = curvature(point) + scores - 1
        tolerance = min(0.1, max(float(scores.max()) - 1, 1e-12))
    elif len(model.blocks) > 1:
        # What one distribution gains in size another may lose: ½(Σx − 1)² of each, 0 where it matters, forbids that.
        for block in model.blocks:
            hessian[block, block] += 1.0
    free, target = (point > 0) | (scores > 1), point
    for _ in range(_MOST_PIVOTS):
        if hessian is None:
            target = _conjugate_gradients(curvature, linear, np.where(free, target, 0.0), free, tolerance)
        else:
            target = point + _dense_change(hessian, scores - 1, np.where(free, 0.0, -point), free)
        negative = free & (target < 0)
        if not negative.any():
            break
        if len(model.blocks) > 1:
            # A share that nobody has may have no curvature; where it would go must not push a level out as well.
            reach = point[negative] / (point - target)[negative]
            negative[negative] = reach <= _TOGETHER * reach.min()
        free &= ~negative
    return np.maximum(target, 0.0)


def _dense_change(hessian: FloatArray, downhill: FloatArray, fixed: FloatArray, free: Flags) -> FloatArray:
    """Solve with a matrix, whose eigenvalues are made positive: then the step goes down in every direction."""
    wanted = (downhill - hessian @ fixed)[free]
    values, vectors = np.linalg.eigh(hessian[np.ix_(free, free)])
    values = np.maximum(np.abs(values), 1e-10 * np.abs(values).max())
    fixed[free] = vectors @ ((vectors.T @ wanted) / values)
    return fixed


def _conjugate_gradients(
    curvature: Product, linear: FloatArray, solution: FloatArray, free: Flags, tolerance: float
) -> FloatArray:
    """Solve H x = linear on the free entries."""
    residual = np.where(free, linear - curvature(solution), 0.0)
    direction = residual
    size = float(residual @ residual)
    goal = (0.01 * tolerance) ** 2 * size
    for _ in range(_MOST_PRODUCTS):
        if size <= goal or size == 0:
            break
        image = np.where(free, curvature(direction) + _RIDGE * direction, 0.0)
        bend = float(direction @ image)
        if bend <= 0:
            break
        length = size / bend
        solution = solution + length * direction
        residual = residual - length * image
        size, previous = float(residual @ residual), size
        direction = residual + (size / previous) * direction
    return solution


def separable_maximum(counts: FloatArray, offset: FloatArray) -> FloatArray:
    """Return the shares of greatest likelihood from n_gy and b_gy/a_gy, groups × values; every group has reports.

    >>> separable_maximum(np.array([[600.0, 300.0, 100.0]]), np.array([[0.5, 0.5, 0.5]])).round(2)
    array([0.83, 0.17, 0.  ])
    """
    least = float((counts / (1 + offset)).max())
    most = float(counts.sum())

    def excess(multiplier: float) -> float:
        return float(_separate_shares(counts, offset, multiplier).sum() - 1)

    # At the ends the sum is at least and at most 1; rounding may turn them around where all people say one value.
    if excess(least) <= 0 or excess(most) >= 0:
        multiplier = least if excess(least) <= 0 else most
    else:
        multiplier = float(optimize.brentq(excess, least, most, xtol=1e-13 * most, rtol=1e-14))
    shares = _separate_shares(counts, offset, multiplier)
    return np.asarray(shares / shares.sum())


def _separate_shares(counts: FloatArray, offset: FloatArray, multiplier: float) -> FloatArray:
    """Return f(λ): the root of Σ_g n_gy/(f_y + b_gy/a_gy) = λ, or 0 where the sum is below λ even there."""
    shares = np.maximum(counts / multiplier - offset, 0.0).max(axis=0)
    if len(counts) == 1:
        return np.asarray(shares)
    for _ in range(_MOST_INNER):
        place = shares + offset
        term = np.divide(counts, place, out=np.zeros_like(counts), where=counts > 0)
        slope = np.divide(term, place, out=np.zeros_like(counts), where=counts > 0).sum(axis=0)
        rest = term.sum(axis=0) - multiplier
        step = np.divide(rest, slope, out=np.zeros_like(rest), where=(rest > 0) & (slope > 0))
        shares = shares + step
        if step.max() <= 1e-15:
            break
    return np.asarray(shares)
