"""What the reports of all levels of a question say together, with levels shown or hidden, and with other levels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pldp.errors import PlanError
from pldp.estimates import bounded_weights
from pldp.mechanisms import LARGEST_EPSILON, MICRO, CategoricalChannel, Channel, RandomizedResponse
from pldp.mechanisms.arrays import FloatArray
from pldp.planning.kinds import BY_KIND
from pldp.planning.kinds.kind import Expected, Hidden, OneReport
from pldp.records import Brief
from pldp.survey import Question, Survey

LevelMix = Mapping[str, float]
"""How often each level is chosen, by name, in any scale."""


def pool_levels(
    question: Question,
    channels: Sequence[Channel],
    reports: FloatArray,
    shares: FloatArray,
    differ: float | None = None,
) -> tuple[Expected, float]:
    """Put the expected reports of a question's levels together: Σ_g w_g z_g, row by row.

    Return what to expect, with the variance Σ_g w_g² V_g/n_g, and the people that one forged report counts as, at the
    level and in the row where it does most harm.
    """
    kind, people = BY_KIND[question.kind], reports.sum()
    levels = [
        (kind.one_report(question, channel, shares), n) for channel, n in zip(channels, reports, strict=True) if n > 0
    ]
    bound = differ and differ * kind.reach(question)
    parts = list(zip(level_weights(levels, bound), levels, strict=True))
    variance = np.asarray(sum(weight**2 * own.variance / n for weight, (own, n) in parts))
    gained = sum(np.maximum(weight - n / people, 0.0) for weight, (_, n) in parts) * (bound or 0.0)
    forged = max(float(np.max(weight * people / n * own.forged)) for weight, (own, n) in parts)
    return Expected(variance, np.broadcast_to(gained, variance.shape)), forged


def level_weights(levels: Sequence[tuple[OneReport, float]], differ: float | None = None) -> FloatArray:
    """Return the weight of every level, given its reports, in every row of the result, or in all of them.

    Levels count for their people where nothing is assumed, and by precision (∝ n/V) if they are alike; if rows differ
    between them by at most so much, weights are those of the shortest intervals.
    """
    reports = np.array([n for _, n in levels])
    parts = (reports / reports.sum())[:, None]
    if differ is None:
        return np.asarray(parts)
    spread = np.array([np.atleast_1d(own.pooled_by) / n for own, n in levels])
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = 1 / spread / (1 / spread).sum(axis=0)
    # Where a level has no error at all, which takes values without protection that nobody or everybody has, any do.
    weights = np.where(np.isfinite(weights), weights, parts)
    for row in np.flatnonzero((spread > 0).all(axis=0)) if differ else ():
        noise = np.diag(spread[:, row] * parts[:, 0] ** 2)
        weights[:, row] = parts[:, 0] * bounded_weights(noise, parts[:, 0], differ)
    return np.asarray(weights)


@dataclass(frozen=True, eq=False)
class Levels:
    """The channels of a question's levels with the reports of each, and the label that hides them, if one does.

    Rows of levels `differ` by at most so much: 0 if people are alike, `None` where nothing is assumed.
    """

    question: Question
    channels: tuple[Channel, ...]
    reports: FloatArray
    label: CategoricalChannel | None
    differ: float | None = None

    @classmethod
    def of(cls, survey: Survey, question: Question, people: int, level_mix: LevelMix | None) -> "Levels":
        """Return what so many people of a survey report on average."""
        asked = people * (survey.ask or len(survey.questions)) / len(survey.questions)
        used = np.array(list(used_mix(survey, question, level_mix).values()))
        return cls(question, question.channels, asked * used, survey.level_channel)

    def expected(self, shares: FloatArray) -> Expected:
        """Return what to expect of each row if these shares are true."""
        if self.label is None:
            return pool_levels(self.question, self.channels, self.reports, shares, self.differ)[0]
        hidden = Hidden(self.channels, self.label, self.reports, self.differ)
        return BY_KIND[self.question.kind].hidden(self.question, hidden, shares)

    def variance(self, shares: FloatArray) -> FloatArray:
        """Return the variance of each row if these shares are true."""
        return self.expected(shares).variance

    def manipulation(self, shares: FloatArray) -> float:
        """Return the people that one forged report can count as, as if levels showed."""
        return pool_levels(self.question, self.channels, self.reports, shares, self.differ)[1]

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
        return replace(self, channels=channels, reports=reports, label=label)


def used_mix(survey: Survey, question: Question, level_mix: LevelMix | None) -> dict[str, float]:
    """Return the share of people who use each of the question's levels: those they choose, or a lottery draws."""
    names = [level.name for level in question.levels]
    weights = np.array([1.0 if level_mix is None else float(level_mix.get(name, 0.0)) for name in names])
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        rule = f"weights of at least 0, not all 0 ({', '.join(level.name for level in survey.levels)})"
        raise PlanError(f"level_mix must give the levels of question {question.name!r} {rule}")
    chosen = weights / weights.sum()
    used = chosen if survey.lottery is None else chosen @ np.array(survey.lottery.law(len(names)))
    return dict(zip(names, used.tolist(), strict=True))


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
