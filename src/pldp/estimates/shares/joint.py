"""The joint likelihood of shares and hidden levels, with the full likelihood of unary reports.

Within one level Σ_j f_j Q_i(z|j) = base_i(z)·(low_i + step_i·S(z)), where S(z) is the sum of the shares that z supports
and base_i depends on the number of ones only; so the whole model needs one support sum per distinct output, whatever
the number of levels. For k-RR the counts of (label, value) are all it needs: the number of people drops out. The model
is that of `pldp.estimates.shares.hidden`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pldp.estimates.consistency import norm_sub
from pldp.estimates.groups import FloatArray, Group
from pldp.estimates.shares.hidden import HiddenReports, moments
from pldp.estimates.shares.shrinkage import shrink_fit
from pldp.estimates.solver.likelihood import (
    GAP,
    MOST_STEPS,
    Fit,
    FitProgress,
    Product,
    interior,
    maximise,
    minus_log,
    ratio,
)
from pldp.mechanisms import PureChannel
from pldp.mechanisms.arrays import label_arrays
from pldp.records import Record

LARGEST_HESSIAN = 1200
"""Most unknowns for which the Hessian is built as a matrix."""

COSTLY_PRODUCTS = 2e9
"""Multiplications from which on the block of the shares is computed once per fit."""

AGREE = 1e-6
"""Log-likelihood per report within which two starts are taken to have found the same maximum."""


class HiddenLikelihood:
    """The joint likelihood of shares and level distribution, per report; `point` is (f, ρ) end to end."""

    def __init__(self, hidden: HiddenReports) -> None:
        self.hidden = hidden
        self.reports = hidden.reports
        self.groups = [each for each in hidden.groups if each.reports]
        self.blocks = (slice(0, hidden.size), slice(hidden.size, hidden.size + len(hidden.channels)))
        self.weights = [each.cells / self.reports for each in self.groups]
        places = [place for place, each in enumerate(hidden.groups) if each.reports]
        self._classes: list[npt.NDArray[np.intp]] = []
        self._low: list[FloatArray] = []
        self._step: list[FloatArray] = []
        for place, each in zip(places, self.groups, strict=True):
            classes, low, step = _level_tables(each, hidden.channels)
            self._classes.append(classes)
            self._low.append(low * hidden.label_matrix[place])
            self._step.append(step * hidden.label_matrix[place])
        self._share_block: FloatArray | None = None
        self._at: FloatArray | None = None
        self._sums: list[FloatArray] = []
        self._cells: list[FloatArray] = []

    def split(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return shares and level distribution."""
        return point[self.blocks[0]], point[self.blocks[1]]

    def _evaluate(self, point: FloatArray) -> None:
        if self._at is point:
            return
        shares, levels = self.split(point)
        self._sums = [each.support_sum(shares) for each in self.groups]
        self._cells = [
            (low @ levels)[classes] * shares.sum() + (step @ levels)[classes] * sums
            for low, step, classes, sums in zip(self._low, self._step, self._classes, self._sums, strict=True)
        ]
        self._at = point

    def objective(self, point: FloatArray) -> float:
        """Minus the log-likelihood per report, up to a constant."""
        self._evaluate(point)
        return sum(minus_log(weight, cell) for weight, cell in zip(self.weights, self._cells, strict=True))

    def scores(self, point: FloatArray) -> FloatArray:
        """The mean likelihood ratio of every value and of every level."""
        self._evaluate(point)
        return self._gradient(
            [ratio(weight, cell) for weight, cell in zip(self.weights, self._cells, strict=True)], point
        )

    def _gradient(self, weights: Sequence[FloatArray], point: FloatArray) -> FloatArray:
        """Σ_c w_c ∂P_c/∂(f, ρ)."""
        shares, levels = self.split(point)
        total = np.zeros(len(point))
        for place, each in enumerate(self.groups):
            low, step, classes = self._low[place], self._step[place], self._classes[place]
            weight = weights[place]
            supported = each.support_total(weight * (step @ levels)[classes])
            total[self.blocks[0]] += supported + float(weight @ (low @ levels)[classes])
            plain = np.bincount(classes, weights=weight, minlength=len(low))
            summed = np.bincount(classes, weights=weight * self._sums[place], minlength=len(low))
            total[self.blocks[1]] += plain @ low * shares.sum() + summed @ step
        return total

    def _tangent(self, vector: FloatArray, point: FloatArray) -> list[FloatArray]:
        """The change of every cell for a change of the point."""
        shares, levels = self.split(point)
        change_f, change_rho = self.split(vector)
        changes = []
        for place, each in enumerate(self.groups):
            low, step, classes = self._low[place], self._step[place], self._classes[place]
            along = (low @ levels)[classes] * change_f.sum() + (step @ levels)[classes] * each.support_sum(change_f)
            along += (low @ change_rho)[classes] * shares.sum() + (step @ change_rho)[classes] * self._sums[place]
            changes.append(along)
        return changes

    def curvature(self, point: FloatArray) -> Product:
        """The Gauss–Newton Hessian Σ N_c ∇P_c∇P_cᵀ/P_c²; what it leaves out has mean 0 at the truth."""
        self._evaluate(point)
        scales = [ratio(ratio(weight, cell), cell) for weight, cell in zip(self.weights, self._cells, strict=True)]

        def product(vector: FloatArray) -> FloatArray:
            self._evaluate(point)
            changes = self._tangent(vector, point)
            return self._gradient([scale * change for scale, change in zip(scales, changes, strict=True)], point)

        return product

    def hessian(self, point: FloatArray) -> FloatArray | None:
        """Return the exact Hessian per report: Σ N_c (∇P_c∇P_cᵀ/P_c² − ∇²P_c/P_c)/n, where it is small.

        The block of the shares hardly changes from step to step; where it is costly it is computed once.
        """
        if len(point) > LARGEST_HESSIAN:
            return None
        matrix = self._outer(point, self.weights, share_block=self._share_block)
        costly = sum(len(weight) for weight in self.weights) * self.hidden.size**2 > COSTLY_PRODUCTS
        if costly and self._share_block is None:
            self._share_block = matrix[self.blocks[0], self.blocks[0]].copy()
        # ∂²P/∂f_j∂ρ_i = low_ci + step_ci·z_cj; all other second derivatives are 0.
        for place, each in enumerate(self.groups):
            weight = ratio(self.weights[place], self._cells[place])
            classes = self._classes[place]
            for level in range(len(self.hidden.channels)):
                low, step = self._low[place][classes, level], self._step[place][classes, level]
                mixed = each.support_total(weight * step) + float(weight @ low)
                matrix[self.blocks[0], self.blocks[1].start + level] -= mixed
                matrix[self.blocks[1].start + level, self.blocks[0]] -= mixed
        return matrix

    def information(self, point: FloatArray) -> FloatArray:
        """Return the information of (f, ρ), Σ N_c ∇P_c∇P_cᵀ/P_c², with expected counts where cells can be listed."""
        self._evaluate(point)
        if any(each.ones() is not None for each in self.groups):
            return self.reports * self._outer(point, self.weights)
        total = sum(float(cell.sum()) for cell in self._cells)
        return self.reports * self._outer(point, [cell / total for cell in self._cells])

    def _outer(
        self, point: FloatArray, weights: Sequence[FloatArray], *, share_block: FloatArray | None = None
    ) -> FloatArray:
        """Σ w_c ∇P_c∇P_cᵀ/P_c² per report, with the block of the shares as given or computed."""
        self._evaluate(point)
        shares, levels = self.split(point)
        matrix = np.zeros((len(point), len(point)))
        if share_block is not None:
            matrix[self.blocks[0], self.blocks[0]] = share_block
        for place, each in enumerate(self.groups):
            low, step, classes = self._low[place], self._step[place], self._classes[place]
            weight = ratio(ratio(weights[place], self._cells[place]), self._cells[place])
            a, b = (low @ levels)[classes], (step @ levels)[classes]
            if share_block is None:
                products = each.weighted_products(weight * a * a, weight * a * b, weight * b * b)
                matrix[self.blocks[0], self.blocks[0]] += products
            by_level = low[classes] * shares.sum() + step[classes] * self._sums[place][:, None]
            matrix[self.blocks[1], self.blocks[1]] += (by_level * weight[:, None]).T @ by_level
            for level in range(len(levels)):
                column = weight * by_level[:, level]
                mixed = each.support_total(column * b) + float(column @ a)
                matrix[self.blocks[0], self.blocks[1].start + level] += mixed
                matrix[self.blocks[1].start + level, self.blocks[0]] += mixed
        return matrix


def _level_tables(each: Group, channels: Sequence[PureChannel]) -> tuple[npt.NDArray[np.intp], FloatArray, FloatArray]:
    """Return the class of every cell and, per class and level, base·low and base·step (up to a factor per class)."""
    twins = [label_arrays(channel) for channel in channels]
    low, step = np.array([twin.low for twin in twins]), np.array([twin.step for twin in twins])
    ones = each.ones()
    if ones is None:
        return np.zeros(len(each.cells), np.intp), low[None, :], step[None, :]
    q = np.array([twin.other_support for twin in twins])
    count = np.arange(each.channel.size + 1)[:, None]
    logarithm = count * np.log(q) + (each.channel.size - count) * np.log1p(-q)
    base = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
    return ones, base * low, base * step


@dataclass(frozen=True, eq=False, repr=False)
class HiddenFit(Record):
    """A joint fit: shares with convergence, the level distribution, their covariance, and whether all starts agreed."""

    model: HiddenLikelihood
    fit: Fit
    levels: FloatArray
    starts_agree: bool

    @property
    def shares(self) -> FloatArray:
        """The fitted shares."""
        return self.fit.shares

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the shares from the information, k × k."""
        return _joint_covariance(self.model, self._point)

    @cached_property
    def shrunk(self) -> FloatArray:
        """Posterior mean of the shares, given the fitted levels.

        Where labels say little, the levels leave the scale of all shares unsure, so that the errors point along the
        shares themselves; a prior that does not know this would shrink the shares, not the errors.
        """
        shares = self.model.blocks[0]
        return shrink_fit(self.fit, self.model.information(self._point)[shares, shares])

    @property
    def _point(self) -> FloatArray:
        return np.concatenate([self.fit.shares, self.levels])


def joint_likelihood(
    hidden: HiddenReports,
    *,
    gap: float = GAP,
    most_steps: int = MOST_STEPS,
    starts: int = 2,
    progress: FitProgress | None = None,
) -> HiddenFit:
    """Fit shares and level distribution together.

    The likelihood is not concave in both, so the climb starts from the projected moments and, to see whether another
    maximum exists, from equal shares and levels as well; the best is returned.
    """
    model = HiddenLikelihood(hidden)
    first = moments(hidden)
    levels = len(hidden.channels)
    beginnings = [
        np.concatenate([interior(norm_sub(first.shares)), interior(norm_sub(first.levels))]),
        np.concatenate([np.full(hidden.size, 1 / hidden.size), np.full(levels, 1 / levels)]),
    ]
    found = [maximise(model, start, gap=gap, most_steps=most_steps, progress=progress) for start in beginnings[:starts]]
    best = min(found, key=lambda optimum: optimum.objective)
    agree = all(other.objective - best.objective <= AGREE for other in found)
    return HiddenFit(model, best.fit(model.blocks[0], model.reports), best.point[model.blocks[1]].copy(), agree)


def expected_covariance(hidden: HiddenReports, shares: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the covariance that a joint fit of so many reports would have if these shares and levels were true."""
    return _joint_covariance(HiddenLikelihood(hidden), np.concatenate([shares, levels]))


def _joint_covariance(model: HiddenLikelihood, point: FloatArray) -> FloatArray:
    """Return the covariance of the shares: the inverse information along both simplices."""
    information = model.information(point)
    basis = np.zeros((len(point), len(point) - len(model.blocks)))
    column = 0
    for block in model.blocks:
        length = block.stop - block.start
        # Columns that are orthogonal to the constant vector of the block.
        frame = np.linalg.qr(np.column_stack([np.ones(length), np.eye(length)[:, 1:]]))[0][:, 1:]
        basis[block, column : column + length - 1] = frame
        column += length - 1
    inverse = np.linalg.pinv(basis.T @ information @ basis, hermitian=True)
    return np.asarray((basis @ inverse @ basis.T)[model.blocks[0], model.blocks[0]])
