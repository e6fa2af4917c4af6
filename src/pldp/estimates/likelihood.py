"""Maximum likelihood over the simplex for reports of any known channels: one solver for every mechanism.

Maximise Σ_c N_c log(L_c·f) over f ≥ 0, Σ f = 1. The function is concave, so a stationary point is the maximum, and
how far a point is from it can be certified: with g_j = (1/n) Σ_c N_c L_cj / (L_c·f),

    log-likelihood per report still to gain  ≤  max_j g_j − 1  =  the gap.

EM multiplies f_j by g_j. Under local privacy most information is missing and EM takes thousands of steps, so EM is
accelerated here by Newton steps: minimise the quadratic model of −log-likelihood + Σ f over f ≥ 0 (the sum then takes
care of itself) by conjugate gradients on the positive values, and search along the line to that point. A step that
does not improve is replaced by an EM step, which always does.

References
----------
Dempster, Laird, Rubin (1977) for EM; Lindsay, "The Geometry of Mixture Likelihoods" (1983) for the gap; Kim,
Carbonetto, Stephens, Anitescu, "A Fast Algorithm for Maximum Likelihood Estimation of Mixture Proportions" (2020).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.consistency import norm_sub
from pldp.estimates.groups import FloatArray, Group

GAP: Final = 1e-8
"""Default tolerance: log-likelihood per report that may remain to be gained."""

MOST_STEPS: Final = 500
_MOST_PRODUCTS: Final = 60
_MOST_PIVOTS: Final = 12

FitProgress = Callable[[int, float], None]
"""Called with the number of steps and the gap."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A maximum-likelihood fit and how far it can be from the maximum.

    Attributes
    ----------
    shares
        The fitted shares; they are at least 0 and sum to 1.
    gap
        Certified bound on the log-likelihood per report still to gain.
    steps
        Number of steps taken.
    converged
        Whether the gap is within the tolerance asked for.
    log_likelihood
        Log-likelihood at the fit, up to a constant of the data.
    """

    shares: FloatArray
    gap: float
    steps: int
    converged: bool
    log_likelihood: float


def maximum_likelihood(
    groups: Sequence[Group],
    *,
    start: FloatArray | None = None,
    gap: float = GAP,
    most_steps: int = MOST_STEPS,
    progress: FitProgress | None = None,
) -> Fit:
    """Fit the shares to the reports of several groups.

    >>> from pldp.mechanisms import channel
    >>> from pldp.tallies import OutputCounts
    >>> from pldp.estimates.groups import group
    >>> counted = group(channel("krr", 3, 1_000_000), OutputCounts(np.array([600, 300, 100])))
    >>> fit = maximum_likelihood([counted])
    >>> fit.converged, fit.shares.round(3)
    (True, array([0.861, 0.139, 0.   ]))
    """
    used = [each for each in groups if each.reports > 0]
    if not used:
        raise EstimateError("maximum likelihood needs at least one report, not none")
    model = _Model(used)
    shares = _start(used) if start is None else np.asarray(start, np.float64)
    value, scores, steps = model.objective(shares), model.scores(shares), 0
    while (remaining := float(scores.max()) - 1) > gap and steps < most_steps:
        steps += 1
        if progress is not None:
            progress(steps, remaining)
        shares, value = _step(model, shares, scores, value)
        scores = model.scores(shares)
    return Fit(shares, max(remaining, 0.0), steps, remaining <= gap, -value * model.reports)


class _Model:
    """The likelihood of all groups together, per report."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = groups
        self.reports = sum(group.reports for group in groups)
        self.weights = [group.cells / self.reports for group in groups]
        self._at: FloatArray | None = None
        self._cells: list[FloatArray] = []

    def cells(self, shares: FloatArray) -> list[FloatArray]:
        """L·f of every group; the last one is kept, as objective, scores and curvature use the same."""
        if self._at is not shares:
            self._cells = [group.forward(shares) for group in self.groups]
            self._at = shares
        return self._cells

    def objective(self, shares: FloatArray) -> float:
        """Minus the log-likelihood per report."""
        total = 0.0
        for weight, cell in zip(self.weights, self.cells(shares), strict=True):
            seen = weight > 0
            if (cell[seen] <= 0).any():
                return np.inf
            total -= float(weight[seen] @ np.log(cell[seen]))
        return total

    def scores(self, shares: FloatArray) -> FloatArray:
        """g_j: the mean likelihood ratio of value j; 1 where f_j > 0 at the maximum, below 1 elsewhere."""
        parts = zip(self.groups, self.weights, self.cells(shares), strict=True)
        return np.asarray(sum(group.backward(_ratio(weight, cell)) for group, weight, cell in parts))

    def curvature(self, shares: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return the product with the Hessian of the objective at these shares."""
        scales = [
            _ratio(_ratio(weight, cell), cell) for weight, cell in zip(self.weights, self.cells(shares), strict=True)
        ]

        def product(vector: FloatArray) -> FloatArray:
            pairs = zip(self.groups, scales, strict=True)
            return np.asarray(sum(group.backward(scale * group.forward(vector)) for group, scale in pairs))

        return product


def _ratio(weight: FloatArray, cell: FloatArray) -> FloatArray:
    return np.divide(weight, cell, out=np.zeros_like(weight), where=weight > 0)


def _start(groups: Sequence[Group]) -> FloatArray:
    """Project the precision-weighted unbiased shares onto the simplex; keep every value possible."""
    size = groups[0].channel.size
    precision = np.array([1 / group.variance(np.array([1 / size]))[0] for group in groups])
    pooled = np.average([group.shares() for group in groups], axis=0, weights=precision)
    return np.asarray(0.9 * norm_sub(pooled) + 0.1 / size)


def _step(model: _Model, shares: FloatArray, scores: FloatArray, value: float) -> tuple[FloatArray, float]:
    """Take one Newton step, or an EM step where that does not improve."""
    target = _quadratic_minimum(model.curvature(shares), shares, scores)
    direction = target - shares
    slope = float((1 - scores) @ direction)
    length = 1.0
    while slope < 0 and length > 1e-3:
        trial = shares + length * direction
        trial /= trial.sum()
        reached = model.objective(trial)
        if reached <= value + 1e-4 * length * slope:
            return trial, reached
        length /= 4
    trial = shares * scores
    trial /= trial.sum()
    return trial, model.objective(trial)


def _quadratic_minimum(
    curvature: Callable[[FloatArray], FloatArray], shares: FloatArray, scores: FloatArray
) -> FloatArray:
    """Minimise ½xᵀHx − (2g−1)ᵀx over x ≥ 0, approximately: the model of −log-likelihood + Σ x around the shares.

    (H f = g, which gives the linear term.) Values that leave the positive range are fixed at 0 and the rest is solved
    again.
    """
    linear = 2 * scores - 1
    free = (shares > 0) | (scores > 1)
    target = shares.copy()
    tolerance = min(0.1, max(float(scores.max()) - 1, 1e-12))
    for _ in range(_MOST_PIVOTS):
        target = _conjugate_gradients(curvature, linear, np.where(free, target, 0.0), free, tolerance)
        negative = free & (target < 0)
        if not negative.any():
            break
        free &= ~negative
    return np.maximum(target, 0.0)


def _conjugate_gradients(
    curvature: Callable[[FloatArray], FloatArray],
    linear: FloatArray,
    start: FloatArray,
    free: np.ndarray[tuple[int], np.dtype[np.bool_]],
    tolerance: float,
) -> FloatArray:
    """Solve H x = linear on the free values."""
    solution = start
    residual = np.where(free, linear - curvature(solution), 0.0)
    direction = residual
    size = float(residual @ residual)
    goal = (0.01 * tolerance) ** 2 * size
    for _ in range(_MOST_PRODUCTS):
        if size <= goal or size == 0:
            break
        image = np.where(free, curvature(direction), 0.0)
        bend = float(direction @ image)
        if bend <= 0:
            break
        length = size / bend
        solution = solution + length * direction
        residual = residual - length * image
        size, previous = float(residual @ residual), size
        direction = residual + (size / previous) * direction
    return solution
