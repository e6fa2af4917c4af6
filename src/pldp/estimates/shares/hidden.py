"""Shares where people hide the level they chose: reports carry a perturbed label instead of the level.

A person of level i (drawn from the level distribution ρ) sends an output of channel Q_i and a label s from G(s|i).
With the shares f, an observed pair (s, z) has probability

    P(s, z) = Σ_i ρ_i G(s|i) Σ_j f_j Q_i(z|j).

*Moments* (AUEM of the PLDP-FEBSF framework), here, inverts the labels, then the support counts; *joint likelihood*
(`pldp.estimates.shares.joint`) maximises Σ log P over f and ρ together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.consistency import norm_sub
from pldp.estimates.groups import Group, group
from pldp.estimates.mix import LevelMix
from pldp.estimates.mix_bounds import MixBounds
from pldp.estimates.rare import Rare
from pldp.mechanisms import CategoricalChannel, PureChannel
from pldp.mechanisms.arrays import FloatArray, label_arrays
from pldp.records import Record
from pldp.tallies import Counts


@dataclass(frozen=True, eq=False, repr=False)
class HiddenReports(Record):
    """Reports of one question, grouped by the label they show, with what labels tell about the mix of levels.

    The channel of a group, that of the level of the same place, only says which form its outputs have.
    """

    channels: tuple[PureChannel, ...]
    mix: LevelMix
    groups: tuple[Group, ...]

    @classmethod
    def of(
        cls,
        channels: Sequence[PureChannel],
        label_channel: CategoricalChannel,
        counts: Sequence[Counts],
        bounds: MixBounds | None = None,
    ) -> HiddenReports:
        """Pair the counts of each label with the channels of all levels, and with what is known of the mix."""
        mix = LevelMix.of(label_channel, [each.reports for each in counts], bounds)
        groups = tuple(group(channel, count) for channel, count in zip(channels, counts, strict=True))
        hidden = cls(tuple(channels), mix, groups)
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
        return self.mix.reports

    @property
    def label_matrix(self) -> FloatArray:
        """G: row s, column i is the probability that level i shows label s."""
        return self.mix.matrix

    @property
    def truth_supports(self) -> FloatArray:
        """p of every level."""
        return np.array([float(channel.truth_support) for channel in self.channels])

    @property
    def other_supports(self) -> FloatArray:
        """q of every level."""
        return np.array([float(channel.other_support) for channel in self.channels])

    @property
    def contrasts(self) -> FloatArray:
        """p − q of every level."""
        return self.truth_supports - self.other_supports

    def rare(self, levels: FloatArray) -> Rare | None:
        """Return the values that few reports speak for, were this the mix of levels; people are drawn."""
        mix, supports = norm_sub(levels), self.support()[None, :]
        absent, present = (np.full(supports.shape, mix @ each) for each in (self.other_supports, self.truth_supports))
        everybody = np.full(supports.shape, float(self.reports))
        return Rare.find(supports, everybody, absent, present, weights=np.ones(supports.shape), sampled=1.0)

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
    def covariance(self) -> FloatArray:
        """Covariance of the shares (delta method): that of (1[z supports i] − h_i(s)) / Σρ(p−q) per person, over n.

        h_i(s) = Σ_τ (q_τ + f_i d_τ)·W_τs is what estimating ρ takes away, W_τs being what a label counts for a level in
        the estimate of ρ; what is known of ρ beforehand may be off by its own covariance.
        """
        hidden, taken = self.hidden, self._taken_by_labels
        feasible, rho = norm_sub(self.shares), norm_sub(self.levels)
        # level × value: Pr(supports the value | level)
        given_level = hidden.other_supports[:, None] + hidden.contrasts[:, None] * feasible
        label = hidden.label_matrix
        both = np.zeros((hidden.size, hidden.size))
        for weight, form in zip(rho, map(label_arrays, hidden.channels), strict=True):
            if weight > 0:
                support = form.other_support + feasible * form.contrast
                both += weight * (form.covariance(feasible) * form.contrast**2 + np.outer(support, support))
        cross = np.einsum("i,si,ij,sk->jk", rho, label, given_level, taken)
        squares = np.einsum("s,sj,sk->jk", label @ rho, taken, taken)
        mean = rho @ given_level - (label @ rho) @ taken
        second = both - cross - cross.T + squares
        contrast = float(self.levels @ hidden.contrasts)
        biased = self._slopes.T @ hidden.mix.bias_covariance @ self._slopes
        return np.asarray(((second - np.outer(mean, mean)) / hidden.reports + biased) / contrast**2)

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as: the largest |1[supports i] − h_i(s)| / Σρ(p−q)."""
        taken = self._taken_by_labels
        return float(max(1 - taken.min(), taken.max()) / (self.levels @ self.hidden.contrasts))

    @cached_property
    def _taken_by_labels(self) -> FloatArray:
        """h, label × value: what estimating ρ from one label takes away from its report."""
        return np.asarray(self.hidden.mix.report_weights.T @ self._slopes)

    @property
    def _slopes(self) -> FloatArray:
        """How often people of a level support a value, levels × values."""
        return np.asarray(self.hidden.other_supports[:, None] + self.hidden.contrasts[:, None] * self.shares)


def moments(hidden: HiddenReports) -> Moments:
    """Return approximately unbiased shares: (support/n − Σρ̂q) / Σρ̂(p−q), not divided by their sum.

    ρ̂ is G⁻¹·(share of each label), weighed with what is known of the mix. Where it lies so far outside the simplex that
    Σρ̂(p−q) is not positive, its projection is used instead.
    The covariance is that of the delta method, with the labels' multinomial covariance and the covariance between a
    person's label and output. (The variance printed in the paper's Theorem 5.3 lacks factors of n and the latter.)

    Reference: AUEM of Wu, Zhu, Zhang, Xie, "Overcoming Challenges in PLDP: A New Paradigm for Protecting Privacy
    Budgets and Enhancing Data Utility".
    """
    levels = hidden.mix.estimate if hidden.mix.bounds.nothing else hidden.mix.shares
    projected = bool(levels @ hidden.contrasts < 0.1 * hidden.contrasts.min())
    if projected:
        levels = hidden.mix.shares
    contrast = float(levels @ hidden.contrasts)
    shares = (hidden.support() / hidden.reports - levels @ hidden.other_supports) / contrast
    return Moments(hidden, shares, levels, projected)
