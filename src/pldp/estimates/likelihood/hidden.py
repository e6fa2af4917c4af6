"""Shares where people hide the level they chose: reports carry a perturbed label instead of the level.

A person of level i (drawn from the level distribution ρ) sends an output of channel Q_i and a label s from G(s|i).
With the shares f, an observed pair (s, z) has probability

    P(s, z) = Σ_i ρ_i G(s|i) Σ_j f_j Q_i(z|j).

Channels are whatever a choice of one label can have, with the same protection for all values or with a budget each.
*Moments* (AUEM of the PLDP-FEBSF framework), here, inverts the labels, then the support counts; *joint likelihood*
(`pldp.estimates.likelihood.labels`) maximises Σ log P over f and ρ together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.likelihood.groups import Group, group
from pldp.estimates.linear.mix import LevelMix, MixBounds
from pldp.estimates.results.consistency import norm_sub
from pldp.mechanisms import CategoricalChannel
from pldp.mechanisms.arrays import FloatArray, LabelArrays, SupportLaw, label_arrays
from pldp.records import Record
from pldp.tallies import Counts


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
