"""What the reports of all levels of a question say together, with levels shown or hidden, and with other levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pldp.mechanisms import LARGEST_EPSILON, MICRO, CategoricalChannel, Channel, RandomizedResponse
from pldp.mechanisms.arrays import FloatArray
from pldp.planning.kinds import BY_KIND
from pldp.planning.kinds.kind import OneReport
from pldp.records import Brief
from pldp.survey import Question


def pool_levels(
    question: Question, channels: Sequence[Channel], reports: FloatArray, shares: FloatArray
) -> tuple[FloatArray, float]:
    """Put the expected reports of a question's levels together: Σ_g w_g z_g with w_g ∝ n_g/V_g, row by row.

    Return the variance of each row, Σ_g w_g² V_g/n_g, and the people that one forged report counts as, at the level
    and in the row where it does most harm.
    """
    kind, people = BY_KIND[question.kind], reports.sum()
    levels = [
        (kind.one_report(question, channel, shares), n) for channel, n in zip(channels, reports, strict=True) if n > 0
    ]
    parts = list(zip(level_weights(levels), levels, strict=True))
    variance = np.asarray(sum(weight**2 * own.variance / n for weight, (own, n) in parts))
    return variance, max(float(np.max(weight * people / n * own.forged)) for weight, (own, n) in parts)


def level_weights(levels: Sequence[tuple[OneReport, float]]) -> FloatArray:
    """Return the weight of every level, given its reports, in every row of the result, or in all of them."""
    reports = np.array([n for _, n in levels])
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.array([n / np.atleast_1d(own.pooled_by) for own, n in levels])
        weights = precision / precision.sum(axis=0)
    # Where a level has no error at all, which takes values without protection that nobody or everybody has, any do.
    return np.asarray(np.where(np.isfinite(weights), weights, (reports / reports.sum())[:, None]))


@dataclass(frozen=True, eq=False)
class Levels:
    """The channels of a question's levels with the reports of each, and the label that hides them, if one does."""

    question: Question
    channels: tuple[Channel, ...]
    reports: FloatArray
    label: CategoricalChannel | None

    def variance(self, shares: FloatArray) -> FloatArray:
        """Return the variance of each row if these shares are true."""
        if self.label is None:
            return pool_levels(self.question, self.channels, self.reports, shares)[0]
        return BY_KIND[self.question.kind].hidden_variance(
            self.question, self.channels, self.label, self.reports, shares
        )

    def widest(self, shares: FloatArray) -> float:
        """Return the largest variance of any row."""
        return float(self.variance(shares).max())

    def told(self) -> "Levels":
        """Return the same with labels that tell the level, estimated in the same way as hidden levels."""
        return self._with(
            self.channels, self.reports, RandomizedResponse.of(len(self.channels), LARGEST_EPSILON * MICRO)
        )

    def dropped(self, level: int) -> "Levels":
        """Return what is left where only this level and more open ones count."""
        rest = len(self.channels) - level
        if self.label is None or rest == len(self.channels):
            return self._with(self.channels[level:], self.reports[level:], self.label)
        if rest == 1:
            return self.capped(level)
        label = RandomizedResponse.of(rest, int(self.label.micro_epsilon))
        return self._with(self.channels[level:], self.reports[level:], label)

    def capped(self, level: int) -> "Levels":
        """Return what is left where only this level and more open ones count, and all of them use this level."""
        people = self.reports[level:].sum()
        if self.label is None:
            return self._with((self.channels[level],), np.array([people]), None)
        # Nothing is left to hide; two equal halves whose labels tell them apart are estimated as hidden levels are.
        label = RandomizedResponse.of(2, LARGEST_EPSILON * MICRO)
        return self._with((self.channels[level],) * 2, np.full(2, people / 2), label)

    def _with(self, channels: tuple[Channel, ...], reports: FloatArray, label: CategoricalChannel | None) -> "Levels":
        return Levels(self.question, channels, reports, label)


@dataclass(frozen=True, repr=False)
class Threshold(Brief):
    """What a threshold in place of personal levels would cost, in people for the same widest interval.

    Both are relative to letting every level count: 2 means that twice as many people have to be asked. `dropped`: only
    people of this level and of more open ones count, each at the level they chose; `capped`: the same people, all at
    this level. Capping at the strictest level drops nobody.
    """

    level: str
    dropped: float
    capped: float

    def to_mapping(self) -> dict[str, Any]:
        """Return plain data."""
        return {"level": self.level, "dropped": self.dropped, "capped": self.capped}


def compare_thresholds(levels: Levels, shares: FloatArray) -> tuple[Threshold, ...]:
    """Return what a threshold at each level that people choose would cost; none where there is no error at all."""
    own = levels.widest(shares)
    chosen = [place for place, reports in enumerate(levels.reports) if reports > 0]
    if own <= 0 or len(chosen) < 2:
        return ()
    return tuple(
        Threshold(
            levels.question.levels[place].name,
            levels.dropped(place).widest(shares) / own,
            levels.capped(place).widest(shares) / own,
        )
        for place in chosen
    )
