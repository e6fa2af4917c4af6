"""Reports of one question by level, or by the label that hides the level: unbiased shares and fits beside each other.

The papers, and anyone who compares channels, count reports without a survey: a `Group` is what people of one channel
sent. Where levels are hidden (`HiddenReports`), a person of level i, drawn from the distribution ρ, sends an output of
channel Q_i and a label s from G(s|i). With the shares f, an observed pair (s, z) has the probability

    P(s, z) = Σ_i ρ_i G(s|i) Σ_j f_j Q_i(z|j).

*Moments* (AUEM of the PLDP-FEBSF framework) invert the labels, then the support counts; `joint_likelihood` maximises
Σ log P over f and ρ together, with the fit of the package (`pldp.estimates.likelihood`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates import Fit, LabelFit, LabelReports, LevelMix, MixBounds, fit_labels, norm_sub
from pldp.mechanisms import CategoricalChannel, Channel
from pldp.mechanisms.arrays import ByteArray, FloatArray, LabelArrays, SupportLaw, label_arrays
from pldp.records import Record
from pldp.tallies import Counts


class Group:
    """Reports of one channel: its array form and the counts of its outputs."""

    def __init__(self, arrays: LabelArrays, counts: Counts) -> None:
        self.arrays = arrays
        self.counts = counts
        self.reports = counts.reports

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy channel and counts; what was computed from them is computed again where it is needed."""
        return group, (self.channel, self.counts)

    def __repr__(self) -> str:
        return f"<Group of {self.reports:,} reports: {self.channel!r}>"

    @property
    def channel(self) -> CategoricalChannel:
        """The channel that made them."""
        return self.arrays.channel

    @cached_property
    def outputs(self) -> ByteArray | None:
        """The distinct rows of bits, byte by byte, so that each pass reads memory in order; `None` for integers."""
        self._require_cells()
        return self.counts.cell_rows

    @cached_property
    def cells(self) -> FloatArray:
        """Counts of the distinct outputs, in the order of `forward`'s result."""
        self._require_cells()
        return self.counts.cell_counts.astype(np.float64)

    def _require_cells(self) -> None:
        if not self.counts.has_cells:
            raise EstimateError("the likelihood of unary reports needs whole rows: tally them with patterns")

    @cached_property
    def support(self) -> FloatArray:
        """How many reports support each value."""
        return self.arrays.support(self.counts.tallied)

    def support_sum(self, numbers: FloatArray) -> FloatArray:
        """Return, for every cell, the sum of the numbers of the values that it supports."""
        return self.arrays.support_sum(numbers, self.outputs)

    def support_total(self, weights: FloatArray) -> FloatArray:
        """Return, for every value, the sum of the weights of the cells that support it."""
        return self.arrays.support_total(weights, self.outputs)

    def forward(self, shares: FloatArray) -> FloatArray:
        """Return Σ_j L_cj f_j of every cell (relative likelihood: cells may differ by a constant factor)."""
        return self.arrays.forward(shares, self.outputs)

    def backward(self, weights: FloatArray) -> FloatArray:
        """Return Σ_c w_c L_cj of every value."""
        return self.arrays.backward(weights, self.outputs)

    def packed_rows(self) -> ByteArray:
        """Return one packed row per report, for channels whose outputs are bits: each as often as it came."""
        if self.outputs is None:
            raise EstimateError(f"outputs of {self.channel.mechanism} are not bits")
        return np.repeat(self.outputs.T, self.cells.astype(np.int64), axis=0)

    def observed_information(self, shares: FloatArray) -> FloatArray:
        """Return the observed information of the shares: Σ_c N_c L_c L_cᵀ / (L_c·f)², k × k."""
        return self.arrays.information(self.cells / self.forward(shares) ** 2, self.outputs)

    def mean_variance(self) -> float:
        """Return the mean variance of the shares at equal shares 1/k; it depends on the number of reports only."""
        return self.arrays.mean_variance / self.reports

    def shares(self) -> FloatArray:
        """Return the unbiased shares, without that they sum to 1."""
        if self.reports == 0:
            raise EstimateError("a group without reports has no shares")
        return self.arrays.shares(self.support / self.reports)

    def variance(self, shares: FloatArray) -> FloatArray:
        """Return the variance of the unbiased shares if these were true, for a random sample of people."""
        return np.asarray(self.arrays.variance(shares) / self.reports)

    def covariance(self, shares: FloatArray, chosen: npt.NDArray[np.intp] | None = None) -> FloatArray:
        """Return the covariance of the unbiased shares if these were true, of all values or of the chosen ones."""
        return np.asarray(self.arrays.covariance(shares, chosen) / self.reports)


def group(channel: Channel, counts: Counts) -> Group:
    """Pair a channel with the counts of its outputs."""
    if not counts.fits(channel.form):
        raise EstimateError(f"counts of {type(counts).__name__} do not fit the outputs of {channel.mechanism}")
    return Group(label_arrays(channel), counts)


def precision_weights(groups: Sequence[Group]) -> FloatArray:
    """Return weights ∝ 1/variance at equal shares 1/k. They do not depend on the reports, so pooling adds no bias."""
    return _inverse([group.mean_variance() for group in groups])


def size_weights(groups: Sequence[Group]) -> FloatArray:
    """Return weights ∝ number of reports: unbiased even where the choice of a level depends on the value."""
    sizes = np.array([float(group.reports) for group in groups])
    return np.asarray(sizes / sizes.sum())


def _inverse(variances: Sequence[float]) -> FloatArray:
    precision = 1 / np.array(variances)
    return np.asarray(precision / precision.sum())


def pooled_shares(groups: Sequence[Group], weights: FloatArray) -> FloatArray:
    """Return the weighted mean of the groups' unbiased shares, which need not sum to 1."""
    return np.asarray(weights @ np.array([group.shares() for group in groups]))


def shown(groups: Sequence[Group]) -> LabelReports:
    """Return groups of people who show their levels as the reports of one question."""
    if not any(each.reports for each in groups):
        raise EstimateError("nothing to fit: maximum likelihood needs at least one report")
    forms, counts = tuple(each.arrays for each in groups), tuple(each.counts for each in groups)
    return LabelReports(forms, counts, LevelMix.of(None, [each.reports for each in groups]))


def maximum_likelihood(groups: Sequence[Group], *, gap: float = 1e-8) -> Fit:
    """Fit the shares to the reports of several groups.

    >>> from pldp.mechanisms import build
    >>> from pldp.tallies import OutputCounts
    >>> counted = group(build("krr", 3, 1_000_000), OutputCounts(np.array([600, 300, 100])))
    >>> fit = maximum_likelihood([counted])
    >>> fit.converged, fit.shares.round(3)
    (True, array([0.861, 0.139, 0.   ]))
    """
    reports, used = shown(groups), [each for each in groups if each.reports]
    return fit_labels(reports, pooled_shares(used, precision_weights(used)), gap=gap).fit


@dataclass(frozen=True, eq=False, repr=False)
class HiddenReports(Record):
    """Reports of one question, grouped by the label they show, with what labels tell about the mix of levels.

    The channel of a group, that of the level of the same place, only says which form its outputs have.
    """

    channels: tuple[CategoricalChannel, ...]
    mix: LevelMix
    groups: tuple[Group, ...]

    @classmethod
    def of(
        cls,
        channels: Sequence[CategoricalChannel],
        label_channel: CategoricalChannel,
        counts: Sequence[Counts],
        bounds: MixBounds | None = None,
    ) -> HiddenReports:
        """Pair the counts of each label with the channels of all levels, and with what is known of the mix."""
        mix = LevelMix.of(label_channel, [each.reports for each in counts], bounds)
        groups = tuple(group(channel, count) for channel, count in zip(channels, counts, strict=True))
        hidden = cls(tuple(channels), mix, groups)
        if hidden.reports == 0:
            raise EstimateError("nothing to estimate: hidden levels need at least one report")
        return hidden

    @property
    def size(self) -> int:
        """Number of values."""
        return self.channels[0].size

    @property
    def reports(self) -> int:
        """Number of reports."""
        return self.mix.reports

    @property
    def label_reports(self) -> LabelReports:
        """The same as the package takes them."""
        counts = tuple(each.counts for each in self.groups)
        return LabelReports(self.arrays, counts, self.mix)

    @property
    def label_matrix(self) -> FloatArray:
        """G: row s, column i is the probability that level i shows label s."""
        return self.mix.matrix

    @cached_property
    def arrays(self) -> tuple[LabelArrays, ...]:
        """The channels of the levels over arrays."""
        return tuple(map(label_arrays, self.channels))

    @cached_property
    def law(self) -> SupportLaw:
        """How the statistic of reports bears on values, a row per level."""
        laws = [form.support_law() for form in self.arrays]
        return SupportLaw(*(np.array(rows) for rows in zip(*laws, strict=True)))

    def support(self) -> FloatArray:
        """Return how many reports support each value."""
        return np.asarray(np.sum([each.support for each in self.groups if each.reports], axis=0))


@dataclass(frozen=True, eq=False, repr=False)
class Moments(Record):
    """Shares by moments (AUEM) with the distribution of levels they rest on and their covariance."""

    hidden: HiddenReports
    shares: FloatArray
    levels: FloatArray
    projected_levels: bool

    @cached_property
    def law(self) -> SupportLaw:
        """How statistics bear on values, over all levels."""
        return mixed_law(self.hidden.law, self.levels)

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the shares (delta method): that of J·(t(z) − h(s)) per person, over n, with J of `SupportLaw`.

        h(s) = Σ_τ E(t | τ)·W_τs is what estimating ρ takes away, W_τs being what a label counts for a level in the
        estimate of ρ; what is known of ρ beforehand may be off by its own covariance.
        """
        hidden, taken = self.hidden, self._taken_by_labels
        feasible, rho = norm_sub(self.shares), norm_sub(self.levels)
        # A label without protection that nobody reported counts as half a report, not as certainty.
        by_chance = self.law.constant + self.law.loading @ feasible
        feasible = np.where(by_chance > 0, feasible, np.maximum(feasible, 0.5 / (hidden.reports * self.law.slope)))
        given_level = level_means(hidden.law, feasible)
        label = hidden.label_matrix
        both = np.zeros((hidden.size, hidden.size))
        for weight, form, mean in zip(rho, hidden.arrays, given_level, strict=True):
            if weight > 0:
                both += weight * (form.statistic_covariance(feasible) + np.outer(mean, mean))
        cross = np.einsum("i,si,ij,sk->jk", rho, label, given_level, taken)
        squares = np.einsum("s,sj,sk->jk", label @ rho, taken, taken)
        mean = rho @ given_level - (label @ rho) @ taken
        second = both - cross - cross.T + squares
        biased = self._slopes.T @ hidden.mix.bias_covariance @ self._slopes
        spread = (second - np.outer(mean, mean)) / hidden.reports + biased
        return self.law.solve(self.law.solve(spread).T)

    @cached_property
    def _taken_by_labels(self) -> FloatArray:
        """h, label × value: what estimating ρ from one label takes away from its report."""
        return np.asarray(self.hidden.mix.report_weights.T @ self._slopes)

    @property
    def _slopes(self) -> FloatArray:
        """E(t | level), levels × values."""
        return level_means(self.hidden.law, self.shares)


def level_means(law: SupportLaw, shares: FloatArray) -> FloatArray:
    """Return E(t | level), levels × values, of a law with a row per level."""
    return np.asarray(law.constant + (law.loading @ shares)[:, None] + law.slope * shares)


def mixed_law(law: SupportLaw, levels: FloatArray) -> SupportLaw:
    """Return the law of reports of people with these shares of the levels."""
    return SupportLaw(levels @ law.constant, levels @ law.loading, levels @ law.slope, law.least.min(axis=0))


def moments(hidden: HiddenReports) -> Moments:
    """Return approximately unbiased shares: those whose mean statistic, mixed over ρ̂, is the observed one.

    With the same p and q for all values that is (support/n − Σρ̂q) / Σρ̂(p−q). Shares are not divided by their sum.
    ρ̂ is G⁻¹·(share of each label), weighed with what is known of the mix. Where it lies so far outside the simplex that
    the slope of a value is not positive, its projection is used instead.
    The covariance is that of the delta method, with the labels' multinomial covariance and the covariance between a
    person's label and output. (The variance printed in the paper's Theorem 5.3 lacks factors of n and the latter.)

    Reference: AUEM of Wu, Zhu, Zhang, Xie, "Overcoming Challenges in PLDP: A New Paradigm for Protecting Privacy
    Budgets and Enhancing Data Utility".
    """
    levels = hidden.mix.estimate if hidden.mix.bounds.nothing else hidden.mix.shares
    slopes = hidden.law.slope
    projected = bool((levels @ slopes < 0.1 * slopes.min(axis=0)).any())
    if projected:
        levels = hidden.mix.shares
    law = mixed_law(hidden.law, levels)
    shares = law.solve(hidden.arrays[0].statistic(hidden.support()) / hidden.reports - law.constant)
    return Moments(hidden, shares, levels, projected)


def joint_likelihood(hidden: HiddenReports, *, starts: int = 2) -> LabelFit:
    """Fit shares and level distribution together, from the moments and, to see whether both agree, from equal ones."""
    return fit_labels(hidden.label_reports, moments(hidden).shares, starts=starts)


def information_given_levels(fitted: LabelFit) -> FloatArray:
    """Return the information about the shares if the fitted levels were known."""
    return fitted.model.information(fitted.point)[fitted.model.first, fitted.model.first]
