"""What errors to expect from a survey, and how to ask better, before anybody is asked."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from pldp.errors import EpsilonError, PlanError
from pldp.mechanisms import LARGEST_EPSILON, MICRO, Channel, RandomizedResponse, build_stages
from pldp.mechanisms.arrays import FloatArray
from pldp.planning.designs import Design, compare_designs, hiding, redesigned
from pldp.planning.kinds import BY_KIND
from pldp.planning.kinds.kind import SHARE, Given, OneReport
from pldp.records import Brief, Record
from pldp.show import Table, panel
from pldp.survey import ONCE, Question, Survey, repeat_mapping
from pldp.usage import require

LevelMix = Mapping[str, float]

_SHOWN = 3
"""Questions in the short form of a plan."""


@dataclass(frozen=True, repr=False)
class LevelPlan(Brief):
    """One level of a question, with the standard error to expect from its reports alone.

    That is the error of a share 1/k, of the share of a label among several (root mean square), or of a mean.
    `mechanisms` has it for each mechanism, best first. For shares `auto` is within half a percent of the first;
    for numbers it is the one that shows the distribution best, which may not be the best for the mean.
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


@dataclass(frozen=True, eq=False, repr=False)
class QuestionPlan(Record):
    """What to expect of one question: rows (the share of each label, or the mean) with their values and errors."""

    question: str
    kind: str
    unit: str  # of the rows: `share`, or the unit of a number
    reach: float  # how far apart two values can be
    shares: FloatArray  # those assumed, of labels or buckets
    rows: Mapping[str, float]  # what is estimated, with its value if those shares are true
    reports: float
    standard_error: FloatArray
    hiding_cost: float  # how many times larger errors (root mean square) are than with labels that tell the level
    manipulation: float  # people that one forged report can count as; of a mean, the largest true number, so many times
    levels: tuple[LevelPlan, ...]
    advice: str | None = None  # what would be better, in words

    def interval_width(self, confidence: float = 0.95) -> FloatArray:
        """Return the expected width of each interval (both sides together)."""
        return np.asarray(2 * _z(confidence) * self.standard_error)

    @property
    def contents(self) -> str:
        """What is estimated, in words."""
        return f"{len(self.rows):,} shares" if self.unit == SHARE else ", ".join(self.rows)

    @property
    def typical_error(self) -> str:
        """The standard error in words: of shares the root mean square, of numbers that of each row."""
        if self.unit == SHARE:
            return self.amount(float(np.sqrt((self.standard_error**2).mean())))
        return ", ".join(self.amount(error) for error in self.standard_error.tolist())

    def half_width(self, confidence: float = 0.95) -> str:
        """Return the widest interval in words.

        >>> from pldp import Survey
        >>> plan(Survey.load("examples/shopping.toml"), 1000).questions[2].half_width()
        '± 18.3 euros'
        """
        return f"± {self.amount(float(self.interval_width(confidence).max()) / 2)}"

    def amount(self, number: float) -> str:
        """Write an error for people, with its unit where it is not a share."""
        return f"{number:.4f}" if self.unit == SHARE else f"{number:.3g} {self.unit}".strip()

    def to_mapping(self, confidence: float = 0.95) -> dict[str, Any]:
        """Return plain data."""
        widths = self.interval_width(confidence)
        names = ("question", "kind", "unit", "reports", "hiding_cost", "manipulation", "advice")
        of_level = ("level", "epsilon", "mechanism", "best", "reports", "standard_error", "mechanisms")
        return {
            **{name: getattr(self, name) for name in names},
            "rows": [
                {"label": label, "assumed": value, "standard_error": float(error), "interval_width": float(width)}
                for (label, value), error, width in zip(self.rows.items(), self.standard_error, widths, strict=True)
            ],
            "levels": [{name: getattr(level, name) for name in of_level} for level in self.levels],
        }


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Record):
    """Errors to expect from a survey of so many people, and the designs that spend the same total ε."""

    survey: Survey
    people: int
    level_mix: LevelMix | None
    questions: tuple[QuestionPlan, ...]

    @cached_property
    def no_designs(self) -> str | None:
        """Why other designs are not compared, in words; `None` where they are."""
        if self.survey.repeat != ONCE:
            rule = self.survey.repeat
            return f"other designs spend the total in one round, and this survey asks again (repeat = {rule})"
        found = ((question.name, BY_KIND[question.kind].special(question)) for question in self.survey.questions)
        special = next((f"question {name!r} {words}" for name, words in found if words is not None), None)
        known = "choices of one label with one budget for all of them"
        return None if special is None else f"other designs are compared for {known}; {special}"

    @cached_property
    def designs(self) -> tuple[Design, ...]:
        """Other ways to spend the same total ε per person, best first, the survey as it is among them.

        There are none where a question has budgets per value or is of another kind than `choice`: see `no_designs`.
        """
        if self.no_designs is not None:
            return ()
        mixes = [_mix(self.survey, question, self.level_mix) for question in self.survey.questions]
        return compare_designs(self.survey, self.people, mixes)

    def best_survey(self) -> Survey:
        """Return the survey in the best design."""
        if self.no_designs is not None:
            raise PlanError(f"there is no best design: {self.no_designs}")
        best = self.designs[0]
        return self.survey if best.split == "given" else redesigned(self.survey, best)

    def people_for(self, error: float, confidence: float = 0.95) -> Mapping[str, int]:
        """Return how many people each question needs so that every interval is within ± error, a share.

        >>> from pldp import Survey
        >>> planned = plan(Survey.load("examples/commute.toml"), 10_000)
        >>> planned.people_for(0.02)
        {'mode': 12066, 'late': 8439}
        """
        if not 0 < error < 1:
            raise PlanError(f"error must be a share above 0 and below 1, not {error}")
        other = next((each for each in self.questions if each.unit != SHARE), None)
        if other is not None:
            instead = "is a number: compare plans of different numbers of people instead"
            raise PlanError(f"error must be one of shares; question {other.question!r} {instead}")
        wanted = {each.question: _z(confidence) * float(each.standard_error.max()) / error for each in self.questions}
        return {name: math.ceil(self.people * ratio**2) for name, ratio in wanted.items()}

    def to_mapping(self, confidence: float = 0.95) -> dict[str, Any]:
        """Return the plan as plain data; `no_designs` says why there are no designs where there are none."""
        names = [question.name for question in self.survey.questions]
        return {
            "people": self.people,
            "confidence": confidence,
            "questions": [each.to_mapping(confidence) for each in self.questions],
            "designs": [design.to_mapping(names) for design in self.designs],
            "no_designs": self.no_designs,
            "repeat": repeat_mapping(self.survey),
        }

    def plot(self, confidence: float = 0.95) -> Any:
        """Draw the error of each question against people and against ε, and return the Matplotlib figure."""
        from pldp.planning.plot import plot_plan  # noqa: PLC0415 - Matplotlib is optional

        return plot_plan(self, confidence)

    def __repr__(self) -> str:
        lines = [f"Plan of {self.survey.title!r}: {self.people:,} people, {len(self.questions)} questions"]
        lines += [f"  {each.question}: {each.half_width()}" for each in self.questions[:_SHOWN]]
        return "\n".join([*lines, *(["  …"] if len(self.questions) > _SHOWN else [])])

    def _repr_html_(self) -> str:
        """Show the expected errors in notebooks."""
        heads = ("question", "answers", "95 % interval", "a forged report counts as")
        counts = ((each, f"{each.reports:,.0f}", f"{each.manipulation:.1f}") for each in self.questions)
        rows = [(each.question, answers, each.half_width(), forged) for each, answers, forged in counts]
        return panel(self.survey.title, f"{self.people:,} people", Table("", heads, rows))


def plan(
    survey: Survey,
    people: int,
    *,
    level_mix: LevelMix | None = None,
    shares: Mapping[str, Given] | None = None,
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
        Shares of each question assumed to be true, in order or by label, for example from an earlier survey. By default
        labels have equal shares, each label of several is had by half of the people, and numbers are spread evenly.
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
    require(survey, Survey, "pldp.plan(survey, people)")
    if type(people) is not int or people < 1:
        raise PlanError(f"people must be a whole number of at least 1, not {people!r}")
    for option, given, what, known in (
        ("level_mix", level_mix, "levels", survey.levels),
        ("shares", shares, "questions", survey.questions),
    ):
        unknown = set(given or ()) - {each.name for each in known}
        if unknown:
            raise PlanError(f"{option} must name {what} of the survey; {min(unknown)[:40]!r} is none")
    planned = survey if hide_level is None else hiding(survey, hide_level)
    questions = tuple(
        _question_plan(planned, each, people, level_mix, (shares or {}).get(each.name)) for each in planned.questions
    )
    return Plan(planned, people, level_mix, questions)


def _question_plan(
    survey: Survey, question: Question, people: int, level_mix: LevelMix | None, given: Given
) -> QuestionPlan:
    kind = BY_KIND[question.kind]
    mix = np.array(list(_mix(survey, question, level_mix).values()))
    reports = people * (survey.ask or len(survey.questions)) / len(survey.questions)
    shares = kind.shares(question, given)
    chosen = [place for place, share in enumerate(mix) if share > 0]
    levels = tuple(_level_plan(question, place, reports * float(mix[place]), shares) for place in chosen)
    cost = 1.0
    variance, manipulation = pool_levels(question, question.channels, reports * mix, shares)
    if survey.level_channel is not None:
        told = RandomizedResponse.of(len(mix), LARGEST_EPSILON * MICRO)
        variance, if_told = (
            kind.hidden_variance(question, label, mix, reports, shares) for label in (survey.level_channel, told)
        )
        cost = float(np.sqrt(variance.mean() / if_told.mean()))
    return QuestionPlan(
        question=question.name,
        kind=question.kind,
        unit=kind.unit(question),
        reach=kind.reach(question),
        shares=shares,
        rows=kind.rows(question, shares),
        reports=reports,
        standard_error=np.sqrt(variance),
        hiding_cost=cost,
        manipulation=manipulation,
        levels=levels,
        advice=kind.advice(question, [level.mechanisms for level in levels]),
    )


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


def _mix(survey: Survey, question: Question, level_mix: LevelMix | None) -> dict[str, float]:
    """Return the share of each of the question's levels."""
    names = [level.name for level in question.levels]
    weights = np.array([1.0 if level_mix is None else float(level_mix.get(name, 0.0)) for name in names])
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        rule = f"weights of at least 0, not all 0 ({', '.join(level.name for level in survey.levels)})"
        raise PlanError(f"level_mix must give the levels of question {question.name!r} {rule}")
    return dict(zip(names, (weights / weights.sum()).tolist(), strict=True))


def _level_plan(question: Question, place: int, reports: float, shares: FloatArray) -> LevelPlan:
    kind, level, own = BY_KIND[question.kind], question.levels[place], question.channels[place]
    channels = {own.mechanism: own}
    for name in (each for each in kind.rivals(question, own) if each != own.mechanism):
        with suppress(EpsilonError):  # integer weights of this mechanism cannot keep so small or so large an ε
            channels[name] = (
                build_stages(name, own.size, level.micro_epsilon, domain=own.domain).channel
                if question.stages  # others cannot be tracked
                else kind.rival(question, name, place)
            )
    variances = {name: kind.one_report(question, each, shares).pooled_by for name, each in channels.items()}
    errors = {name: math.sqrt(float(np.mean(variance)) / reports) for name, variance in variances.items()}
    return LevelPlan(
        level=level.name,
        epsilon=level.epsilon,
        mechanism=own.mechanism,
        reports=reports,
        standard_error=errors[own.mechanism],
        mechanisms=dict(sorted(errors.items(), key=lambda entry: entry[1])),
    )


def _z(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise PlanError(f"confidence must be above 0 and below 1, not {confidence}")
    return NormalDist().inv_cdf((1 + confidence) / 2)
