"""How many people chose each level, where reports show a perturbed label instead of it.

A person of level τ (one of the mix ρ) shows label s with probability G(s|τ). With the outputs of a question, whatever
its kind, a report (s, y) has the probability Σ_τ ρ_τ G(s|τ) P_τ(y), P_τ being what level τ makes of the population. A
result from hidden levels therefore rests on an estimate of ρ, and its error includes that of ρ.

What is known of ρ beforehand (`MixBounds`) counts too. `estimate` weighs it with the labels, `report_weights` is what
one report then counts for each level, and `covariance` the error that is left: none where ρ is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.consistency import norm_sub
from pldp.estimates.mix_bounds import Mix, MixBounds
from pldp.mechanisms import CategoricalChannel, Integers
from pldp.mechanisms.arrays import FloatArray, IntArray, label_arrays
from pldp.records import Record
from pldp.survey import Survey
from pldp.tallies import Tally


@dataclass(frozen=True, eq=False, repr=False)
class LevelMix(Record):
    """The labels that reports show: G[label, level], how many reports show each label, and what is known of the mix."""

    matrix: FloatArray
    counts: IntArray
    bounds: MixBounds

    @classmethod
    def of(cls, label_channel: CategoricalChannel, counts: Sequence[int], bounds: MixBounds | None = None) -> LevelMix:
        """Take the channel of the label, how many reports show each, and what is known of the mix."""
        if label_channel.form != Integers(len(counts)):
            raise EstimateError(f"labels must be one of {len(counts)}, as the levels are")
        matrix = label_arrays(label_channel).matrix()
        return cls(matrix, np.asarray(counts, np.int64), bounds or MixBounds.free(len(counts)))

    @property
    def reports(self) -> int:
        """Number of reports."""
        return int(self.counts.sum())

    @cached_property
    def inverse(self) -> FloatArray:
        """G⁻¹: what one report counts for each level (row) if it shows a label (column)."""
        return np.asarray(np.linalg.inv(self.matrix))

    @cached_property
    def unbiased(self) -> FloatArray:
        """The unbiased share of each level from the labels alone: it may lie outside 0 to 1."""
        return np.asarray(self.inverse @ (self.counts / self.reports))

    @cached_property
    def label_covariance(self) -> FloatArray:
        """Covariance of `unbiased`, from the multinomial labels."""
        labels = self.matrix @ norm_sub(self.unbiased)
        spread = np.diag(labels) - np.outer(labels, labels)
        return np.asarray(self.inverse @ spread @ self.inverse.T / self.reports)

    @cached_property
    def _gain(self) -> FloatArray:
        """The part of `unbiased` in `estimate`: all of it where nothing is known, none of it where the mix is."""
        if self.bounds.nothing:
            return np.eye(len(self.counts))
        both = self.bounds.spread + self.label_covariance
        return np.asarray(self.bounds.spread @ np.linalg.pinv(both, hermitian=True, rcond=1e-12))

    @property
    def report_weights(self) -> FloatArray:
        """What one report counts for each level (row) in `estimate` if it shows a label (column)."""
        return np.asarray(self._gain @ self.inverse)

    @property
    def estimate(self) -> FloatArray:
        """The share of each level from the labels and what is known: it may lie outside 0 to 1."""
        return np.asarray(self.bounds.middle + self._gain @ (self.unbiased - self.bounds.middle))

    @cached_property
    def bias_covariance(self) -> FloatArray:
        """The part of `covariance` that labels have no part in: how far off the middle of the bounds may be."""
        if self.bounds.nothing:
            return np.zeros_like(self.matrix)
        rest = np.eye(len(self.counts)) - self._gain
        return np.asarray(rest @ self.bounds.spread @ rest.T)

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of `estimate`; within bounds, the largest mean squares of its errors."""
        return np.asarray(self._gain @ self.label_covariance @ self._gain.T + self.bias_covariance)

    @cached_property
    def shares(self) -> FloatArray:
        """The nearest mix that can be true."""
        return norm_sub(self.unbiased) if self.bounds.nothing else self.bounds.nearest(self.estimate)

    def contradicts(self, level: float) -> bool:
        """Tell whether labels contradict what is known, in a test with this false-alarm rate over all levels."""
        outside = np.maximum(self.bounds.low - self.unbiased, self.unbiased - self.bounds.high)
        reach = NormalDist().inv_cdf(1 - level / (2 * len(outside)))
        within = self.matrix @ self.bounds.nearest(self.unbiased)
        spread = self.inverse @ (np.diag(within) - np.outer(within, within)) @ self.inverse.T / self.reports
        return not self.bounds.nothing and bool((outside > reach * np.sqrt(np.diag(spread))).any())

    @cached_property
    def posterior(self) -> FloatArray:
        """Pr(level | label), label × level, at the nearest mix that can be true."""
        both = self.matrix * self.shares
        return np.asarray(both / both.sum(axis=1, keepdims=True))


def check_mix(survey: Survey, mix: Mix | None) -> None:
    """Refuse a known mix of levels where reports show the level."""
    if mix is not None and survey.level_channel is None:
        raise EstimateError("mix applies to hidden levels; reports of this survey show the level, so leave it out")


def level_mix(tally: Tally, question: str, mix: Mix | None = None) -> LevelMix | None:
    """Return the labels of the reports that answer a question; `None` where reports show the level.

    `mix` has what is known of the shares of the levels: of some a share, or two bounds of it.

    >>> from pldp import Survey, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.read({
    ...     "pldp": 1, "title": "Work", "levels": {"strict": 0.5, "open": 2}, "hide_level": {"epsilon": 1},
    ...     "questions": [{"name": "late", "values": ["yes", "no"]}],
    ... })
    >>> people = Population.of_shares(survey, 20_000, seed=1)
    >>> mix = level_mix(tally(survey, simulate_reports(survey, people, seed=1)), "late")
    >>> mix.reports, bool(abs(mix.shares - 0.5).max() < 4 * mix.covariance[0, 0] ** 0.5)
    (20000, True)
    """
    channel, asked = tally.survey.level_channel, tally.survey.question(question)
    check_mix(tally.survey, mix)
    if channel is None:
        return None
    names = [level.name for level in asked.levels]
    return LevelMix.of(channel, [tally.counts[question, name].reports for name in names], MixBounds.read(mix, names))
