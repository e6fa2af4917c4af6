"""How many people chose each level, where reports show a perturbed label instead of it.

A person of level τ (one of the mix ρ) shows label s with probability G(s|τ). With the outputs of a question, whatever
its kind, a report (s, y) has the probability Σ_τ ρ_τ G(s|τ) P_τ(y), P_τ being what level τ makes of the population. A
result from hidden levels therefore rests on an estimate of ρ, and its error includes that of ρ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.consistency import norm_sub
from pldp.mechanisms import CategoricalChannel, Integers
from pldp.mechanisms.arrays import FloatArray, IntArray, label_arrays
from pldp.records import Record
from pldp.tallies import Tally


@dataclass(frozen=True, eq=False, repr=False)
class LevelMix(Record):
    """The labels that reports show: G[label, level], and how many reports show each label."""

    matrix: FloatArray
    counts: IntArray

    @classmethod
    def of(cls, label_channel: CategoricalChannel, counts: Sequence[int]) -> LevelMix:
        """Take the channel of the label and how many reports show each."""
        if label_channel.form != Integers(len(counts)):
            raise EstimateError(f"labels must be one of {len(counts)}, as the levels are")
        return cls(label_arrays(label_channel).matrix(), np.asarray(counts, np.int64))

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
        """The unbiased share of each level, G⁻¹·(share of each label): it may lie outside 0 to 1."""
        return np.asarray(self.inverse @ (self.counts / self.reports))

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the unbiased shares of the levels, from the multinomial labels."""
        labels = self.matrix @ self.shares
        spread = np.diag(labels) - np.outer(labels, labels)
        return np.asarray(self.inverse @ spread @ self.inverse.T / self.reports)

    @cached_property
    def shares(self) -> FloatArray:
        """The nearest mix that can be true."""
        return norm_sub(self.unbiased)

    @cached_property
    def posterior(self) -> FloatArray:
        """Pr(level | label), label × level, at the nearest mix that can be true."""
        both = self.matrix * self.shares
        return np.asarray(both / both.sum(axis=1, keepdims=True))


def level_mix(tally: Tally, question: str) -> LevelMix | None:
    """Return the labels of the reports that answer a question; `None` where reports show the level.

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
    if channel is None:
        return None
    return LevelMix.of(channel, [tally.counts[question, level.name].reports for level in asked.levels])
