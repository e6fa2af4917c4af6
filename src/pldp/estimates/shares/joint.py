"""The joint likelihood of shares and hidden levels, with the full likelihood of unary reports.

Within one level Σ_j f_j Q_i(z|j) = base_i(z)·(low_i(z) + step_i(z)·S(z)), where S(z) is the sum of the shares that z
supports and base, low and step depend on the *class* of z only, such as its number of ones; so the whole model needs
one support sum per distinct output, whatever the number of levels. Where channels treat values differently as the true
ones (APRR, IDUE), values have weights in both terms, and it needs one per level. For k-RR the counts of (label, value)
are all it needs: the number of people drops out. The model is that of `pldp.estimates.shares.hidden`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import block_diag

from pldp.estimates.consistency import norm_sub
from pldp.estimates.groups import Group
from pldp.estimates.shares.hidden import HiddenReports, moments
from pldp.estimates.shares.shrinkage import shrink_fit
from pldp.estimates.solver.likelihood import GAP, Fit, FitProgress, Product, interior, maximise, minus_log, ratio
from pldp.mechanisms.arrays import FloatArray, LabelArrays, require_dense
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
        """Return low and step of every cell, weighted by the levels; or by several columns of them."""
        return (self.low @ levels)[self.classes], (self.step @ levels)[self.classes]


class ValueWeights(NamedTuple):
    """What low and step are multiplied with for each value, a row per *profile*, and the profile of each level.

    Where all values have the same weights, one profile serves all levels, and each cell needs one support sum.
    """

    low: FloatArray
    step: FloatArray
    profiles: npt.NDArray[np.intp]

    @classmethod
    def of(cls, hidden: HiddenReports) -> ValueWeights:
        """Ask the array forms of the levels."""
        weights = [each for each in (form.value_weights() for form in hidden.arrays) if each is not None]
        levels = len(hidden.channels)
        if len(weights) < levels:
            return cls(np.ones((1, hidden.size)), np.ones((1, hidden.size)), np.zeros(levels, np.intp))
        return cls(np.array([low for low, _ in weights]), np.array([step for _, step in weights]), np.arange(levels))

    def spread(self, levels: FloatArray) -> FloatArray:
        """Return levels × profiles: the number of each level, under its profile."""
        found = np.zeros((len(levels), len(self.low)))
        found[np.arange(len(levels)), self.profiles] = levels
        return found


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
        self._labels = [label_cells(each, hidden.arrays, chances) for each, chances in pairs if each.reports]
        self._values = ValueWeights.of(hidden)
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
        return point[self.blocks[0]], self.corners @ point[self.blocks[1]]

    def _support_sums(self, label: LabelCells, shares: FloatArray) -> FloatArray:
        """Return the sum of the weighted shares that every cell supports, cells × profiles."""
        return np.column_stack([label.group.support_sum(weights * shares) for weights in self._values.step])

    def _evaluate(self, point: FloatArray) -> None:
        if self._at is point:
            return
        shares, levels = self.split(point)
        totals, spread = self._values.low @ shares, self._values.spread(levels)
        self._sums, self._cells = [], []
        for label in self._labels:
            low, step = label.mix(spread)
            self._sums.append(self._support_sums(label, shares))
            self._cells.append(low @ totals + np.einsum("ck,ck->c", step, self._sums[-1]))
        self._at = point

    def objective(self, point: FloatArray) -> float:
        """Minus the log-likelihood per report, up to a constant."""
        self._evaluate(point)
        told = minus_log(self._pseudo_weights, self._pseudo_cells(point))
        return sum(map(minus_log, self.weights, self._cells)) + told

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
        """Σ_c w_c ∂P_c/∂(f, σ)."""
        shares, levels = self.split(point)
        spread = self._values.spread(levels)
        by_value, by_level = np.zeros(len(shares)), np.zeros(len(levels))
        for label, weight, sums in zip(self._labels, weights, self._sums, strict=True):
            by_value += self._by_value(label, weight, *label.mix(spread))
            by_level += self._by_level(label, weight, self._values.low @ shares, sums)
        return np.concatenate([by_value, self.corners.T @ by_level])

    def _by_value(self, label: LabelCells, weight: FloatArray, low: FloatArray, step: FloatArray) -> FloatArray:
        """Σ_c w_c ∂P_c/∂f for low and step of every cell, cells × profiles."""
        found = (weight @ low) @ self._values.low
        for profile, weights in enumerate(self._values.step):
            found += weights * label.group.support_total(weight * step[:, profile])
        return np.asarray(found)

    def _by_level(self, label: LabelCells, weight: FloatArray, totals: FloatArray, sums: FloatArray) -> FloatArray:
        """Σ_c w_c ∂P_c/∂ρ."""
        classes, profiles = len(label.low), self._values.profiles
        plain = np.bincount(label.classes, weights=weight, minlength=classes)
        summed = np.column_stack([np.bincount(label.classes, weight * each, classes) for each in sums.T])
        return np.asarray(plain @ label.low * totals[profiles] + (summed[:, profiles] * label.step).sum(axis=0))

    def curvature(self, point: FloatArray) -> Product:
        """The Gauss–Newton Hessian Σ N_c ∇P_c∇P_cᵀ/P_c²; what it leaves out has mean 0 at the truth."""
        self._evaluate(point)
        shares, levels = self.split(point)
        totals, spread = self._values.low @ shares, self._values.spread(levels)
        scales = [ratio(ratio(weight, cell), cell) for weight, cell in zip(self.weights, self._cells, strict=True)]

        def times(vector: FloatArray) -> FloatArray:
            self._evaluate(point)
            change_f, change_rho = self.split(vector)
            weights = []
            for label, scale, sums in zip(self._labels, scales, self._sums, strict=True):
                (low, step), (low_change, step_change) = (
                    label.mix(each) for each in (spread, self._values.spread(change_rho))
                )
                change = low @ (self._values.low @ change_f) + low_change @ totals
                change += np.einsum("ck,ck->c", step, self._support_sums(label, change_f))
                weights.append(scale * (change + np.einsum("ck,ck->c", step_change, sums)))
            found = self._gradient(weights, point)
            found[self.blocks[0]] += self._pseudo_weights.sum() * change_f.sum()
            found[self.blocks[1]] += self._pseudo_products(point, self._pseudo_weights) @ vector[self.blocks[1]]
            return found

        return times

    def hessian(self, point: FloatArray) -> FloatArray | None:
        """Return the exact Hessian per report: Σ N_c (∇P_c∇P_cᵀ/P_c² − ∇²P_c/P_c)/n, where it is small.

        The block of the shares hardly changes from step to step; where it is costly it is computed once.
        """
        if len(point) > LARGEST_HESSIAN:
            return None
        matrix = self._outer(point, self.weights, share_block=self._share_block)
        cells, profiles = sum(len(weight) for weight in self.weights), len(self._values.low)
        if cells * (self.hidden.size * profiles) ** 2 > COSTLY_PRODUCTS and self._share_block is None:
            self._share_block = matrix[self.blocks[0], self.blocks[0]].copy()
        matrix[self.blocks[0], self.blocks[0]] += self._pseudo_weights.sum()
        matrix[self.blocks[1], self.blocks[1]] += self._pseudo_products(point, self._pseudo_weights)
        # ∂²P/∂f_j∂ρ_i = low_ci + step_ci·z_cj, times the weights of values; all other second derivatives are 0.
        mixed = np.zeros((self.hidden.size, len(self.corners)))
        for label, weights, chances in zip(self._labels, self.weights, self._cells, strict=True):
            weight = ratio(weights, chances)
            for level, one in enumerate(np.eye(len(self.corners))):
                mixed[:, level] -= self._by_value(label, weight, *label.mix(self._values.spread(one)))
        self._add_mixed(matrix, mixed)
        return matrix

    def information(self, point: FloatArray) -> FloatArray:
        """Return the information of (f, σ), Σ N_c ∇P_c∇P_cᵀ/P_c², with expected counts where cells can be listed."""
        self._evaluate(point)
        if any(label.group.outputs is not None for label in self._labels):
            found = self.reports * self._outer(point, self.weights)
        else:
            # An output that cannot come, or hardly ever, counts as half a report, not as certainty.
            total = sum(float(cell.sum()) for cell in self._cells)
            cells = [np.maximum(cell, 0.5 * total / self.hidden.reports) for cell in self._cells]
            found = self.hidden.reports * self._outer(point, [cell / total for cell in cells], cells=cells)
        found[self.blocks[1], self.blocks[1]] += self._pseudo_products(point, self.reports * self._pseudo_weights)
        return found

    def _outer(
        self,
        point: FloatArray,
        weights: Sequence[FloatArray],
        *,
        share_block: FloatArray | None = None,
        cells: Sequence[FloatArray] | None = None,
    ) -> FloatArray:
        """Σ w_c ∇P_c∇P_cᵀ/P_c² per report, with the block of the shares as given or computed."""
        self._evaluate(point)
        shares, levels = self.split(point)
        totals, spread, profiles = self._values.low @ shares, self._values.spread(levels), self._values.profiles
        matrix = np.zeros((len(point), len(point)))
        mixed, by_levels = np.zeros((len(shares), len(levels))), np.zeros((len(levels), len(levels)))
        if share_block is not None:
            matrix[self.blocks[0], self.blocks[0]] = share_block
        for label, given, sums, chances in zip(self._labels, weights, self._sums, cells or self._cells, strict=True):
            weight, (low, step) = ratio(ratio(given, chances), chances), label.mix(spread)
            if share_block is None:
                matrix[self.blocks[0], self.blocks[0]] += self._share_products(label, weight, low, step)
            by_level = label.low[label.classes] * totals[profiles] + label.step[label.classes] * sums[:, profiles]
            by_levels += (by_level * weight[:, None]).T @ by_level
            for level, column in enumerate(by_level.T):
                mixed[:, level] += self._by_value(label, weight * column, low, step)
        matrix[self.blocks[1], self.blocks[1]] = self.corners.T @ by_levels @ self.corners
        self._add_mixed(matrix, mixed)
        return matrix

    def _share_products(self, label: LabelCells, weight: FloatArray, low: FloatArray, step: FloatArray) -> FloatArray:
        """Σ w_c (∂P_c/∂f)(∂P_c/∂f)ᵀ for low and step of every cell, cells × profiles."""
        each, values = label.group, self._values
        require_dense(each.channel.size)
        found = values.low.T @ ((low * weight[:, None]).T @ low) @ values.low
        for one, two in product(range(len(values.low)), repeat=2):
            mixed = np.outer(
                values.low[one], values.step[two] * each.support_total(weight * low[:, one] * step[:, two])
            )
            found += mixed + mixed.T
            if one <= two:
                pairs = each.arrays.pair_support(weight * step[:, one] * step[:, two], each.outputs)
                both = np.outer(values.step[one], values.step[two]) * pairs
                found += both if one == two else both + both.T
        return np.asarray(found)

    def _add_mixed(self, matrix: FloatArray, by_level: FloatArray) -> None:
        """Add what belongs to a share and a level, values × levels."""
        mixed = by_level @ self.corners
        matrix[self.blocks[0], self.blocks[1]] += mixed
        matrix[self.blocks[1], self.blocks[0]] += mixed.T


def label_cells(each: Group, forms: Sequence[LabelArrays], chances: FloatArray) -> LabelCells:
    """Pair a label's reports with what the levels say of them (up to a factor per class), times the label's chances."""
    laws = [form.cell_law(each.outputs) for form in forms]
    base, low, step = (np.column_stack(rows) for rows in list(zip(*laws, strict=True))[1:])
    scale = np.exp(base - base.max(axis=1, keepdims=True)) * chances
    return LabelCells(each, laws[0].classes, scale * low, scale * step)


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
    (shares, corners), slope = (best.shares[block] for block in model.blocks), best.slope[model.blocks[0]]
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
