"""Shares where people hide the level they chose: reports carry a perturbed label instead of the level.

A person of level i (drawn from the level distribution ρ) sends an output of channel Q_i and a label s from G(s|i).
With the shares f, an observed pair (s, z) has probability

    P(s, z) = Σ_i ρ_i G(s|i) Σ_j f_j Q_i(z|j).

Two estimators: *moments* (AUEM of the PLDP-FEBSF framework) inverts the labels, then the support counts; *joint
likelihood* maximises Σ log P over f and ρ together, with the full likelihood of unary reports. Within one level
Σ_j f_j Q_i(z|j) = base_i(z)·(low_i + step_i·S(z)), where S(z) is the sum of the shares that z supports and base_i
depends on the number of ones only; so the whole model needs one support sum per distinct output, whatever the number
of levels. For k-RR the counts of (label, value) are all it needs: the number of people drops out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.consistency import norm_sub
from pldp.estimates.groups import FloatArray, Group, group
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
from pldp.mechanisms import PureChannel, RandomizedResponse
from pldp.mechanisms.arrays import label_arrays
from pldp.tallies import Counts

LARGEST_HESSIAN = 1200
"""Most unknowns for which the Hessian is built as a matrix."""

COSTLY_PRODUCTS = 2e9
"""Multiplications from which on the block of the shares is computed once per fit."""

AGREE = 1e-6
"""Log-likelihood per report within which two starts are taken to have found the same maximum."""


@dataclass(frozen=True, eq=False)
class HiddenReports:
    """Reports of one question, grouped by the label they show.

    Attributes
    ----------
    channels
        The channel of each level.
    label_channel
        The k-RR that perturbs the level.
    groups
        The reports of each label; a group's own channel only says which form its outputs have.
    """

    channels: tuple[PureChannel, ...]
    label_channel: PureChannel
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, channels: Sequence[PureChannel], label_channel: PureChannel, counts: Sequence[Counts]) -> HiddenReports:
        """Pair the counts of each label with the channels of all levels."""
        if not isinstance(label_channel, RandomizedResponse) or label_channel.size != len(channels):
            raise EstimateError("label_channel must be a k-RR over the levels")
        groups = tuple(group(channel, count) for channel, count in zip(channels, counts, strict=True))
        hidden = cls(tuple(channels), label_channel, groups)
        if hidden.reports == 0:
            raise EstimateError("hidden levels need at least one report, not none")
        return hidden

    @property
    def size(self) -> int:
        """Number of values."""
        return self.channels[0].size

    @property
    def reports(self) -> int:
        """Number of reports."""
        return sum(each.reports for each in self.groups)

    @property
    def label_matrix(self) -> FloatArray:
        """G: row s, column i is the probability that level i shows label s."""
        levels = len(self.channels)
        contrast = float(self.label_channel.truth_support - self.label_channel.other_support)
        return np.asarray(np.eye(levels) * contrast + float(self.label_channel.other_support))

    @property
    def truth_supports(self) -> FloatArray:
        """p of every level."""
        return np.array([float(channel.truth_support) for channel in self.channels])

    @property
    def other_supports(self) -> FloatArray:
        """q of every level."""
        return np.array([float(channel.other_support) for channel in self.channels])

    def label_shares(self) -> FloatArray:
        """Return the share of each label."""
        return np.array([each.reports for each in self.groups]) / self.reports

    def level_shares(self) -> FloatArray:
        """Return the unbiased distribution of levels, ρ̂ = G⁻¹·(share of each label); it may leave the simplex."""
        q = float(self.label_channel.other_support)
        return np.asarray(
            (self.label_shares() - q) / float(self.label_channel.truth_support - self.label_channel.other_support)
        )

    def support(self) -> FloatArray:
        """Return how many reports support each value."""
        return np.asarray(np.sum([each.support() for each in self.groups if each.reports], axis=0))


@dataclass(frozen=True, eq=False)
class Moments:
    """Shares by moments (AUEM) with the distribution of levels they rest on and their covariance."""

    hidden: HiddenReports
    shares: FloatArray
    levels: FloatArray
    projected_levels: bool

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the shares by the delta method, k × k."""
        return _moments_covariance(self.hidden, self.shares, self.levels)


def moments(hidden: HiddenReports) -> Moments:
    """Return approximately unbiased shares: (support/n − Σρ̂q) / Σρ̂(p−q), not divided by their sum.

    Where ρ̂ lies so far outside the simplex that Σρ̂(p−q) is not positive, its projection is used instead.
    The covariance is that of the delta method, with the labels' multinomial covariance and the covariance between a
    person's label and output. (The variance printed in the paper's Theorem 5.3 lacks factors of n and the latter.)

    Reference: AUEM of Wu, Zhu, Zhang, Xie, "Overcoming Challenges in PLDP: A New Paradigm for Protecting Privacy
    Budgets and Enhancing Data Utility".
    """
    levels = hidden.level_shares()
    contrasts = hidden.truth_supports - hidden.other_supports
    projected = bool(levels @ contrasts < 0.1 * contrasts.min())
    if projected:
        levels = norm_sub(levels)
    contrast = float(levels @ contrasts)
    shares = (hidden.support() / hidden.reports - levels @ hidden.other_supports) / contrast
    return Moments(hidden, shares, levels, projected)


def _moments_covariance(hidden: HiddenReports, shares: FloatArray, levels: FloatArray) -> FloatArray:
    """Covariance of AUEM: that of (1[z supports i] − h_i(s)) / Σρ(p−q) per person, over n.

    h_i(s) = Σ_τ (q_τ + f_i d_τ)·(1[s = τ] − q_p)/(p_p − q_p) is what estimating ρ from the labels takes away.
    """
    feasible, rho = norm_sub(shares), norm_sub(levels)
    q, d = hidden.other_supports, hidden.truth_supports - hidden.other_supports
    given_level = q[:, None] + d[:, None] * feasible  # level × value: Pr(supports the value | level)
    taken = _taken_by_labels(hidden, q[:, None] + d[:, None] * shares)
    label = hidden.label_matrix
    both = np.zeros((len(shares), len(shares)))
    for weight, channel in zip(rho, hidden.channels, strict=True):
        if weight > 0:
            both += weight * _support_products(channel, feasible)
    cross = np.einsum("i,si,ij,sk->jk", rho, label, given_level, taken)
    squares = np.einsum("s,sj,sk->jk", label @ rho, taken, taken)
    mean = rho @ given_level - (label @ rho) @ taken
    second = both - cross - cross.T + squares
    contrast = float(levels @ d)
    return np.asarray((second - np.outer(mean, mean)) / (hidden.reports * contrast**2))


def moments_manipulation(hidden: HiddenReports, found: Moments) -> float:
    """Return the people that one forged report can count as: the largest |1[supports i] − h_i(s)| / Σρ(p−q)."""
    q, d = hidden.other_supports, hidden.truth_supports - hidden.other_supports
    taken = _taken_by_labels(hidden, q[:, None] + d[:, None] * found.shares)
    return float(max(1 - taken.min(), taken.max()) / (found.levels @ d))


def _taken_by_labels(hidden: HiddenReports, slopes: FloatArray) -> FloatArray:
    """h, label × value: what estimating ρ from one label takes away from its report, given Pr(supports | level)."""
    label_q = float(hidden.label_channel.other_support)
    label_d = float(hidden.label_channel.truth_support - hidden.label_channel.other_support)
    return np.asarray((slopes - label_q * slopes.sum(axis=0)) / label_d)


def _support_products(channel: PureChannel, shares: FloatArray) -> FloatArray:
    """E[1[supports i]·1[supports j]] of one report of this channel."""
    form = label_arrays(channel)
    support = form.other_support + shares * form.contrast
    return np.asarray(form.covariance(shares) * form.contrast**2 + np.outer(support, support))


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


@dataclass(frozen=True, eq=False)
class HiddenFit:
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
