"""The joint likelihood of shares and hidden levels, with the full likelihood of unary reports.

Within one level Σ_j f_j Q_i(z|j) = base_i(z)·(low_i + step_i·S(z)), where S(z) is the sum of the shares that z supports
and base_i depends on the number of ones only; so the whole model needs one support sum per distinct output, whatever
the number of levels. For k-RR the counts of (label, value) are all it needs: the number of people drops out. The model
is that of `pldp.estimates.shares.hidden`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import block_diag

from pldp.estimates.consistency import norm_sub
from pldp.estimates.groups import Group
from pldp.estimates.shares.hidden import HiddenReports, moments
from pldp.estimates.shares.shrinkage import shrink_fit
from pldp.estimates.solver.likelihood import GAP, Fit, FitProgress, Product, interior, maximise, minus_log, ratio
from pldp.mechanisms import PureChannel
from pldp.mechanisms.arrays import FloatArray, label_arrays
from pldp.records import Record

LARGEST_HESSIAN = 1200
"""Most unknowns for which the Hessian is built as a matrix."""

COSTLY_PRODUCTS = 2e9
"""Multiplications from which on the block of the shares is computed once per fit."""

AGREE = 1e-6
"""Log-likelihood per report within which two starts are taken to have found the same maximum."""


class LabelCells(NamedTuple):
    """The reports that show one label: the class of every cell and, per class and level, G·base·low and G·base·step."""

    group: Group
    classes: npt.NDArray[np.intp]
    low: FloatArray
    step: FloatArray

    def mix(self, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return low and step of every cell, weighted by the levels."""
        return (self.low @ levels)[self.classes], (self.step @ levels)[self.classes]

    def at_corners(self, corners: FloatArray) -> LabelCells:
        """Return the same for mixes of levels (columns) instead of single levels."""
        return self._replace(low=self.low @ corners, step=self.step @ corners)


class HiddenLikelihood:
    """The joint likelihood of shares and level distribution, per report; `point` is (f, σ) end to end.

    σ is a distribution over the corners of the mixes that are possible: over the levels themselves, where nothing is
    known of the mix. Reports that stand for what is known (`MixBounds.pseudo_reports`) count with the others.
    """

    def __init__(self, hidden: HiddenReports) -> None:
        self.hidden = hidden
        self.corners = hidden.mix.bounds.corners
        self.blocks = (slice(0, hidden.size), slice(hidden.size, hidden.size + self.corners.shape[1]))
        pairs = zip(hidden.groups, hidden.label_matrix, strict=True)
        labels = (label_cells(each, hidden.channels, chances) for each, chances in pairs if each.reports)
        self._labels = [label.at_corners(self.corners) for label in labels]
        self._pseudo, pseudo = hidden.mix.bounds.pseudo_reports
        self.reports = hidden.reports + float(pseudo.sum())
        self.weights = [label.group.cells / self.reports for label in self._labels]
        self._pseudo_weights = pseudo / self.reports
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
        self._sums, self._cells = [], []
        for label in self._labels:
            low, step = label.mix(levels)
            self._sums.append(label.group.support_sum(shares))
            self._cells.append(low * shares.sum() + step * self._sums[-1])
        self._at = point

    def objective(self, point: FloatArray) -> float:
        """Minus the log-likelihood per report, up to a constant."""
        self._evaluate(point)
        return sum(map(minus_log, self.weights, self._cells)) + minus_log(
            self._pseudo_weights, self._pseudo_cells(point)
        )

    def _pseudo_cells(self, point: FloatArray) -> FloatArray:
        return np.asarray(self._pseudo @ point[self.blocks[1]])

    def scores(self, point: FloatArray) -> FloatArray:
        """The mean likelihood ratio of every value and of every corner."""
        self._evaluate(point)
        found = self._gradient(list(map(ratio, self.weights, self._cells)), point)
        found[self.blocks[0]] += self._pseudo_weights.sum()  # they say nothing about the shares
        found[self.blocks[1]] += ratio(self._pseudo_weights, self._pseudo_cells(point)) @ self._pseudo
        return found

    def _pseudo_products(self, point: FloatArray, counts: FloatArray) -> FloatArray:
        """Return Σ counts·∇p∇pᵀ/p² of the pseudo-reports, corners × corners."""
        scaled = self._pseudo / self._pseudo_cells(point)[:, None]
        return np.asarray((scaled * counts[:, None]).T @ scaled)

    def _gradient(self, weights: Sequence[FloatArray], point: FloatArray) -> FloatArray:
        """Σ_c w_c ∂P_c/∂(f, ρ)."""
        shares, levels = self.split(point)
        total = np.zeros(len(point))
        for label, weight, sums in zip(self._labels, weights, self._sums, strict=True):
            low, step = label.mix(levels)
            total[self.blocks[0]] += label.group.support_total(weight * step) + float(weight @ low)
            plain = np.bincount(label.classes, weights=weight, minlength=len(label.low))
            summed = np.bincount(label.classes, weights=weight * sums, minlength=len(label.low))
            total[self.blocks[1]] += plain @ label.low * shares.sum() + summed @ label.step
        return total

    def curvature(self, point: FloatArray) -> Product:
        """The Gauss–Newton Hessian Σ N_c ∇P_c∇P_cᵀ/P_c²; what it leaves out has mean 0 at the truth."""
        self._evaluate(point)
        shares, levels = self.split(point)
        scales = [ratio(ratio(weight, cell), cell) for weight, cell in zip(self.weights, self._cells, strict=True)]

        def product(vector: FloatArray) -> FloatArray:
            self._evaluate(point)
            change_f, change_rho = self.split(vector)
            weights = []
            for label, scale, sums in zip(self._labels, scales, self._sums, strict=True):
                (low, step), (low_change, step_change) = label.mix(levels), label.mix(change_rho)
                change = low * change_f.sum() + step * label.group.support_sum(change_f)
                change += low_change * shares.sum() + step_change * sums
                weights.append(scale * change)
            found = self._gradient(weights, point)
            found[self.blocks[0]] += self._pseudo_weights.sum() * change_f.sum()
            found[self.blocks[1]] += self._pseudo_products(point, self._pseudo_weights) @ change_rho
            return found

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
        matrix[self.blocks[0], self.blocks[0]] += self._pseudo_weights.sum()
        matrix[self.blocks[1], self.blocks[1]] += self._pseudo_products(point, self._pseudo_weights)
        # ∂²P/∂f_j∂ρ_i = low_ci + step_ci·z_cj; all other second derivatives are 0.
        for label, weights, cells in zip(self._labels, self.weights, self._cells, strict=True):
            weight = ratio(weights, cells)
            for level in range(self.corners.shape[1]):
                low, step = label.low[label.classes, level], label.step[label.classes, level]
                self._add_mixed(matrix, level, -(label.group.support_total(weight * step) + float(weight @ low)))
        return matrix

    def information(self, point: FloatArray) -> FloatArray:
        """Return the information of (f, ρ), Σ N_c ∇P_c∇P_cᵀ/P_c², with expected counts where cells can be listed."""
        self._evaluate(point)
        if any(label.group.outputs is not None for label in self._labels):
            found = self.reports * self._outer(point, self.weights)
        else:
            total = sum(float(cell.sum()) for cell in self._cells)
            found = self.hidden.reports * self._outer(point, [cell / total for cell in self._cells])
        found[self.blocks[1], self.blocks[1]] += self._pseudo_products(point, self.reports * self._pseudo_weights)
        return found

    def _outer(
        self, point: FloatArray, weights: Sequence[FloatArray], *, share_block: FloatArray | None = None
    ) -> FloatArray:
        """Σ w_c ∇P_c∇P_cᵀ/P_c² per report, with the block of the shares as given or computed."""
        self._evaluate(point)
        shares, levels = self.split(point)
        matrix = np.zeros((len(point), len(point)))
        if share_block is not None:
            matrix[self.blocks[0], self.blocks[0]] = share_block
        for label, given, sums, cells in zip(self._labels, weights, self._sums, self._cells, strict=True):
            each, weight, (low, step) = label.group, ratio(ratio(given, cells), cells), label.mix(levels)
            if share_block is None:
                products = (weight * low * low, weight * low * step, weight * step * step)
                matrix[self.blocks[0], self.blocks[0]] += each.arrays.weighted_products(*products, each.outputs)
            by_level = label.low[label.classes] * shares.sum() + label.step[label.classes] * sums[:, None]
            matrix[self.blocks[1], self.blocks[1]] += (by_level * weight[:, None]).T @ by_level
            for level in range(len(levels)):
                column = weight * by_level[:, level]
                self._add_mixed(matrix, level, each.support_total(column * step) + float(column @ low))
        return matrix

    def _add_mixed(self, matrix: FloatArray, level: int, mixed: FloatArray) -> None:
        matrix[self.blocks[0], self.blocks[1].start + level] += mixed
        matrix[self.blocks[1].start + level, self.blocks[0]] += mixed


def label_cells(each: Group, channels: Sequence[PureChannel], chances: FloatArray) -> LabelCells:
    """Pair a label's reports with what the levels say of them (up to a factor per class), times the label's chances."""
    twins = [label_arrays(channel) for channel in channels]
    low, step = np.array([twin.low for twin in twins]), np.array([twin.step for twin in twins])
    ones, size = each.arrays.ones(each.outputs), each.channel.size
    if ones is None:
        return LabelCells(each, np.zeros(len(each.cells), np.intp), low[None, :] * chances, step[None, :] * chances)
    q = np.array([twin.other_support for twin in twins])
    count = np.arange(size + 1)[:, None]
    logarithm = count * np.log(q) + (size - count) * np.log1p(-q)
    base = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
    return LabelCells(each, ones, base * low * chances, base * step * chances)


@dataclass(frozen=True, eq=False, repr=False)
class HiddenFit(Record):
    """A joint fit: shares with convergence, the weights of the corners of possible mixes, and whether starts agreed."""

    model: HiddenLikelihood
    fit: Fit
    corners: FloatArray
    starts_agree: bool

    @property
    def shares(self) -> FloatArray:
        """The fitted shares."""
        return self.fit.shares

    @property
    def levels(self) -> FloatArray:
        """The fitted distribution of levels."""
        return np.asarray(self.model.corners @ self.corners)

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
        return np.concatenate([self.fit.shares, self.corners])


def joint_likelihood(
    hidden: HiddenReports, *, gap: float = GAP, starts: int = 2, progress: FitProgress | None = None
) -> HiddenFit:
    """Fit shares and level distribution together.

    The likelihood is not concave in both, so the climb starts from the projected moments and, to see whether another
    maximum exists, from equal shares and levels as well; the best is returned.
    """
    model = HiddenLikelihood(hidden)
    first = moments(hidden)
    equal = np.full(model.corners.shape[1], 1 / model.corners.shape[1])
    levels = interior(norm_sub(first.levels)) if hidden.mix.bounds.nothing else equal
    beginnings = [
        np.concatenate([interior(norm_sub(first.shares)), levels]),
        np.concatenate([np.full(hidden.size, 1 / hidden.size), equal]),
    ]
    found = [maximise(model, start, gap, progress=progress) for start in beginnings[:starts]]
    best = max(found, key=lambda fit: fit.log_likelihood)
    agree = all(best.log_likelihood - other.log_likelihood <= AGREE * model.reports for other in found)
    (shares, corners), slope = model.split(best.shares), best.slope[model.blocks[0]]
    return HiddenFit(model, replace(best, shares=shares.copy(), slope=slope), corners.copy(), agree)


def expected_covariance(hidden: HiddenReports, shares: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the covariance that a joint fit of so many reports would have if these shares and levels were true."""
    return _joint_covariance(HiddenLikelihood(hidden), np.concatenate([shares, levels]))


def _joint_covariance(model: HiddenLikelihood, point: FloatArray) -> FloatArray:
    """Return the covariance of the shares: the inverse information along both simplices."""
    # Columns that are orthogonal to the constant vector of each block.
    starts = [np.eye(block.stop - block.start) for block in model.blocks]
    basis = block_diag(*(np.linalg.qr(np.column_stack([np.ones(len(own)), own[:, 1:]]))[0][:, 1:] for own in starts))
    inverse = np.linalg.pinv(basis.T @ model.information(point) @ basis, hermitian=True)
    return np.asarray((basis @ inverse @ basis.T)[model.blocks[0], model.blocks[0]])
