"""Maximum likelihood over the simplex for reports of any known channels: one solver for every mechanism.

Maximise Σ_c N_c log(L_c·f) over f ≥ 0, Σ f = 1. The function is concave, so a stationary point is the maximum, and
how far a point is from it can be certified: with g_j = (1/n) Σ_c N_c L_cj / (L_c·f),

    log-likelihood per report still to gain  ≤  max_j g_j − 1  =  the gap.

EM multiplies f_j by g_j. Under local privacy most information is missing and EM takes thousands of steps, so EM is
accelerated here by Newton steps: minimise the quadratic model of −log-likelihood + Σ f over f ≥ 0 (the sum then takes
care of itself) by conjugate gradients on the positive values, and search along the line to that point. A step that
does not improve is replaced by an EM step, which always does. Direct encodings need none of this: their maximum has a
formula (`pldp.estimates.solver.separable`), which is certified in the same way.

The same solver serves likelihoods of several unknown distributions at once (`Likelihood.blocks`), such as the shares
and the distribution of hidden levels; those are not concave, and the gap then says how stationary the point is.

References
----------
Dempster, Laird, Rubin (1977) for EM; Lindsay, "The Geometry of Mixture Likelihoods" (1983) for the gap; Kim,
Carbonetto, Stephens, Anitescu, "A Fast Algorithm for Maximum Likelihood Estimation of Mixture Proportions" (2020).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.consistency import norm_sub
from pldp.estimates.groups import Group
from pldp.estimates.solver.separable import separable_maximum
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record

GAP: Final = 1e-8
"""Default tolerance: log-likelihood per report that may remain to be gained."""

_MOST_PRODUCTS: Final = 60
_MOST_PIVOTS: Final = 12
_SMALL: Final = 256
_CHEAP: Final = 5e7
"""Values, and multiplications, up to which a Hessian is built as a matrix."""
_TOGETHER: Final = 10
"""Entries that reach 0 within this factor of the first one are fixed with it."""
_RIDGE: Final = 1e-12
"""Added to the Hessian in products: outputs that never came leave directions without curvature."""

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
    """What the solver needs: one or several unknown distributions, end to end in one array."""

    @property
    def blocks(self) -> Sequence[slice]:
        """The place of each distribution."""

    @property
    def reports(self) -> float:
        """Number of reports, or of people."""

    def objective(self, point: FloatArray) -> float:
        """Return minus the log-likelihood per report."""

    def scores(self, point: FloatArray) -> FloatArray:
        """Return g, minus the gradient of the objective; EM multiplies each entry by its score."""

    def curvature(self, point: FloatArray) -> Product:
        """Return the product with the Hessian of the objective, or with a positive approximation of it."""

    def hessian(self, point: FloatArray) -> FloatArray | None:
        """Return the Hessian as a matrix where it is small and may be ill-conditioned or indefinite, else `None`."""


def maximum_likelihood(
    groups: Sequence[Group], *, gap: float = GAP, most_steps: int = 500, progress: FitProgress | None = None
) -> Fit:
    """Fit the shares to the reports of several groups.

    >>> from pldp.estimates import group
    >>> from pldp.mechanisms import build
    >>> from pldp.tallies import OutputCounts
    >>> counted = group(build("krr", 3, 1_000_000), OutputCounts(np.array([600, 300, 100])))
    >>> fit = maximum_likelihood([counted])
    >>> fit.converged, fit.shares.round(3)
    (True, array([0.861, 0.139, 0.   ]))
    """
    used = [each for each in groups if each.reports > 0]
    if not used:
        raise EstimateError("nothing to fit: maximum likelihood needs at least one report")
    return maximise(_KnownChannels(used), _start(used), gap, most_steps, progress)


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


class _KnownChannels:
    """The likelihood of the shares where everybody's channel is known."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = groups
        self.blocks = (slice(0, groups[0].channel.size),)
        self.reports = sum(group.reports for group in groups)
        self.weights = [group.cells / self.reports for group in groups]
        self._at: FloatArray | None = None
        self._cells: list[FloatArray] = []

    def cells(self, point: FloatArray) -> list[FloatArray]:
        """L·f of every group; the last one is kept, as objective, scores and curvature use the same."""
        if self._at is not point:
            self._cells = [group.forward(point) for group in self.groups]
            self._at = point
        return self._cells

    def objective(self, point: FloatArray) -> float:
        return sum(minus_log(weight, cell) for weight, cell in zip(self.weights, self.cells(point), strict=True))

    def scores(self, point: FloatArray) -> FloatArray:
        """The mean likelihood ratio of each value; 1 where f_j > 0 at the maximum, below 1 elsewhere."""
        parts = zip(self.groups, self.weights, self.cells(point), strict=True)
        return np.asarray(sum(group.backward(ratio(weight, cell)) for group, weight, cell in parts))

    def curvature(self, point: FloatArray) -> Product:
        """The exact Hessian: the cells are linear in the shares."""
        cells = self.cells(point)
        scales = [ratio(ratio(weight, cell), cell) for weight, cell in zip(self.weights, cells, strict=True)]

        def product(vector: FloatArray) -> FloatArray:
            pairs = zip(self.groups, scales, strict=True)
            return np.asarray(sum(group.backward(scale * group.forward(vector)) for group, scale in pairs))

        return product

    def hessian(self, point: FloatArray) -> FloatArray | None:
        """Return the matrix where it is cheap: it may be singular, when some outputs never came."""
        size = len(point)
        if size > _SMALL or size**2 * sum(map(len, self.weights)) > _CHEAP:
            return None
        return np.asarray(sum(group.observed_information(point) for group in self.groups) / self.reports)


def minus_log(weights: FloatArray, cells: FloatArray) -> float:
    """Return −Σ w log(cell) over the cells that have weight; infinite where such a cell is impossible."""
    seen = weights > 0
    if (cells[seen] <= 0).any():
        return float("inf")
    return -float(weights[seen] @ np.log(cells[seen]))


def ratio(weights: FloatArray, cells: FloatArray) -> FloatArray:
    """Return weight/cell, 0 where there is no weight."""
    return np.divide(weights, cells, out=np.zeros_like(cells), where=weights > 0)


def _start(groups: Sequence[Group]) -> FloatArray:
    """Start at the maximum where it has a formula, else at the projected unbiased shares; keep every value possible."""
    if all(group.arrays.separable for group in groups):
        return separable_maximum(groups)
    precision = np.array([1 / group.mean_variance() for group in groups])
    pooled = np.average([group.shares() for group in groups], axis=0, weights=precision)
    return interior(norm_sub(pooled))


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
