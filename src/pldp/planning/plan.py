"""What errors to expect from a survey, and how to ask better, before anybody is asked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from pldp.errors import EpsilonError, PlanError
from pldp.estimates.groups import FloatArray
from pldp.mechanisms import (
    LARGEST_EPSILON,
    MICRO,
    CategoricalChannel,
    PureChannel,
    RandomizedResponse,
    build,
    names,
)
from pldp.planning.designs import Design, compare_designs, hiding, redesigned
from pldp.planning.expected import alone, hidden_variance, pooled_variance
from pldp.survey import Question, Survey

LevelMix = Mapping[str, float]


@dataclass(frozen=True)
class LevelPlan:
    """One level of a question.

    Attributes
    ----------
    level, epsilon, mechanism
        The level and the channel that the survey gives it.
    reports
        Expected number of reports.
    standard_error
        Of a share 1/k from this level's reports alone.
    mechanisms
        The same standard error with each mechanism, best first: the first is what `auto` should be.
    """

    level: str
    epsilon: float
    mechanism: str
    reports: float
    standard_error: float
    mechanisms: Mapping[str, float]

    @property
    def best(self) -> str:
        """The most accurate mechanism."""
        return next(iter(self.mechanisms))


@dataclass(frozen=True, eq=False)
class QuestionPlan:
    """What to expect of one question.

    Attributes
    ----------
    question, values, shares
        Name, labels and the shares assumed.
    reports
        Expected number of answers.
    standard_error
        Expected standard error of each share.
    hiding_cost
        How many times larger hiding the level makes the standard errors (root mean square) than the same fit has with
        labels that tell the level; 1 where levels show.
    manipulation
        People that one forged report can count as.
    levels
        The levels on offer.
    """

    question: str
    values: tuple[str, ...]
    shares: FloatArray
    reports: float
    standard_error: FloatArray
    hiding_cost: float
    manipulation: float
    levels: tuple[LevelPlan, ...]

    def interval_width(self, confidence: float = 0.95) -> FloatArray:
        """Return the expected width of each interval (both sides together)."""
        return np.asarray(2 * _z(confidence) * self.standard_error)


@dataclass(frozen=True, eq=False)
class Plan:
    """Errors to expect from a survey of so many people, and the designs that spend the same total ε.

    Attributes
    ----------
    survey, people, level_mix
        What was planned.
    questions
        What to expect of each question.
    """

    survey: Survey
    people: int
    level_mix: LevelMix | None
    questions: tuple[QuestionPlan, ...]

    @cached_property
    def designs(self) -> tuple[Design, ...]:
        """Other ways to spend the same total ε per person, best first, the survey as it is among them.

        Where questions have budgets per value, other kinds than `choice`, or mechanisms of their own for them, there
        is only the survey as it is.
        """
        mixes = [_mix(self.survey, question, self.level_mix) for question in self.survey.questions]
        return compare_designs(self.survey, self.people, mixes)

    def best_survey(self) -> Survey:
        """Return the survey in the best design."""
        best = self.designs[0]
        return self.survey if best.split == "given" else redesigned(self.survey, best)

    def people_for(self, error: float, confidence: float = 0.95) -> Mapping[str, int]:
        """Return how many people each question needs so that every interval is within ± error.

        >>> from pldp import Survey
        >>> planned = plan(Survey.load("examples/commute.toml"), 10_000)
        >>> planned.people_for(0.02)
        {'mode': 12312, 'late': 8439}
        """
        if not 0 < error < 1:
            raise PlanError(f"error must be a share above 0 and below 1, not {error}")
        z = _z(confidence)
        return {
            each.question: math.ceil(self.people * (z * float(each.standard_error.max()) / error) ** 2)
            for each in self.questions
        }

    def to_mapping(self, confidence: float = 0.95) -> dict[str, Any]:
        """Return the plan as plain data."""
        return {
            "people": self.people,
            "confidence": confidence,
            "questions": [_question_mapping(each, confidence) for each in self.questions],
            "designs": [
                {
                    "ask": design.ask,
                    "split": design.split,
                    "epsilons": {
                        question.name: budget / 1e6
                        for question, budget in zip(self.survey.questions, design.budgets, strict=True)
                    },
                    "squared_error": design.squared_error,
                }
                for design in self.designs
            ],
        }

    def plot(self, confidence: float = 0.95) -> Any:
        """Draw the error of each question against people and against ε, and return the Matplotlib figure."""
        from pldp.planning.plot import plot_plan  # noqa: PLC0415 - Matplotlib is optional

        return plot_plan(self, confidence)


def plan(
    survey: Survey,
    people: int,
    *,
    level_mix: LevelMix | None = None,
    shares: Mapping[str, Sequence[float]] | None = None,
    hide_level: float | str | None = None,
) -> Plan:
    """Return the errors to expect if so many people take part.

    Parameters
    ----------
    survey
        The survey as it is now.
    people
        Number of people who will report.
    level_mix
        How often each level is chosen, in any scale; equal by default. A question that offers only some levels gets the
        mix of those.
    shares
        Shares of each question assumed to be true, for example from an earlier survey; equal shares by default.
    hide_level
        Plan as if levels were hidden behind a label of this ε.

    Examples
    --------
    >>> from pldp import Survey
    >>> planned = plan(Survey.load("examples/commute.toml"), 10_000)
    >>> planned.questions[1].question, planned.questions[1].standard_error.round(4)
    ('late', array([0.0094, 0.0094]))
    >>> planned.designs[0].ask                    # of the two questions, with the same total ε for each person
    1
    """
    if type(people) is not int or people < 1:
        raise PlanError(f"people must be a whole number of at least 1, not {people}")
    unknown = set(level_mix or ()) - {level.name for level in survey.levels}
    if unknown:
        raise PlanError(f"level_mix must name levels of the survey; {min(unknown)[:40]!r} is none")
    unknown = set(shares or ()) - {question.name for question in survey.questions}
    if unknown:
        raise PlanError(f"shares must name questions of the survey; {min(unknown)[:40]!r} is none")
    other = next((question.name for question in survey.questions if question.kind != "choice"), None)
    if other is not None:
        raise PlanError(f"questions must be choices of one label to be planned; {other!r} is not")
    planned = survey if hide_level is None else hiding(survey, hide_level)
    questions = tuple(_question_plan(planned, each, people, level_mix, shares or {}) for each in planned.questions)
    return Plan(planned, people, level_mix, questions)


def _question_plan(
    survey: Survey,
    question: Question,
    people: int,
    level_mix: LevelMix | None,
    given: Mapping[str, Sequence[float]],
) -> QuestionPlan:
    mix = _mix(survey, question, level_mix)
    reports = people * (survey.ask or len(survey.questions)) / len(survey.questions)
    per_level = np.array([mix[level.name] for level in question.levels])
    shares = _shares(question, given.get(question.name))
    if survey.level_channel is None:
        cost, variance = 1.0, pooled_variance(question.channels, reports * per_level, shares)
    else:
        told = RandomizedResponse.of(len(per_level), LARGEST_EPSILON * MICRO)
        variance, if_told = (
            hidden_variance(question.pure_channels, label, per_level, reports, shares)
            for label in (survey.level_channel, told)
        )
        cost = float(np.sqrt(variance.mean() / if_told.mean()))
    return QuestionPlan(
        question=question.name,
        values=question.values,
        shares=shares,
        reports=reports,
        standard_error=np.sqrt(variance),
        hiding_cost=cost,
        manipulation=_manipulation(question, reports * per_level, reports),
        levels=tuple(
            _level_plan(question, place, reports * share) for place, share in enumerate(per_level) if share > 0
        ),
    )


def _mix(survey: Survey, question: Question, level_mix: LevelMix | None) -> dict[str, float]:
    """Return the share of each of the question's levels."""
    names = [level.name for level in question.levels]
    weights = np.array([1.0 if level_mix is None else float(level_mix.get(name, 0.0)) for name in names])
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        known = ", ".join(level.name for level in survey.levels)
        raise PlanError(
            f"level_mix must give the levels of question {question.name!r} weights of at least 0, not all 0 ({known})"
        )
    return dict(zip(names, (weights / weights.sum()).tolist(), strict=True))


def _shares(question: Question, given: Sequence[float] | None) -> FloatArray:
    size = len(question.values)
    if given is None:
        return np.full(size, 1 / size)
    shares = np.asarray(given, np.float64)
    if shares.shape != (size,) or not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
        raise PlanError(f"shares of {question.name} must be {size} finite numbers, none negative, not all zero")
    return np.asarray(shares / shares.sum())


def _level_plan(question: Question, place: int, reports: float) -> LevelPlan:
    level, own = question.levels[place], question.channels[place]
    errors = {own.mechanism: alone(own, reports)}
    for name in names("labels", per_value=False) if isinstance(own, PureChannel) else ():
        try:
            errors[name] = alone(build(name, own.size, level.micro_epsilon), reports)
        except EpsilonError:  # integer weights of this mechanism cannot keep so small or so large an ε
            continue
    return LevelPlan(
        level=level.name,
        epsilon=level.epsilon,
        mechanism=own.mechanism,
        reports=reports,
        standard_error=errors[own.mechanism],
        mechanisms=dict(sorted(errors.items(), key=lambda entry: entry[1])),
    )


def _manipulation(question: Question, per_level: FloatArray, reports: float) -> float:
    """People that one forged report counts as, at the level where it does most harm (levels pooled by precision)."""
    pairs = [
        (own, n)
        for own, n in zip(question.channels, per_level, strict=True)
        if n > 0 and isinstance(own, CategoricalChannel)
    ]
    precision = [alone(own, n) ** -2 for own, n in pairs]
    return max(
        float(weight / sum(precision) * reports / n * own.manipulation)
        for weight, (own, n) in zip(precision, pairs, strict=True)
    )


def _z(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise PlanError(f"confidence must be above 0 and below 1, not {confidence}")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _question_mapping(each: QuestionPlan, confidence: float) -> dict[str, Any]:
    widths = each.interval_width(confidence)
    return {
        "question": each.question,
        "reports": each.reports,
        "hiding_cost": each.hiding_cost,
        "manipulation": each.manipulation,
        "rows": [
            {"value": value, "share": float(share), "standard_error": float(error), "interval_width": float(width)}
            for value, share, error, width in zip(each.values, each.shares, each.standard_error, widths, strict=True)
        ],
        "levels": [
            {
                "level": level.level,
                "epsilon": level.epsilon,
                "mechanism": level.mechanism,
                "best": level.best,
                "reports": level.reports,
                "standard_error": level.standard_error,
                "mechanisms": dict(level.mechanisms),
            }
            for level in each.levels
        ],
    }
