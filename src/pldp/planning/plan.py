"""What errors to expect from a survey, and how to ask better, before anybody is asked."""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pldp.errors import EpsilonError, EstimateError, PlanError
from pldp.estimates import Row, check_differ, estimate
from pldp.mechanisms import MICRO, build_stages, epsilon_text
from pldp.mechanisms.arrays import FloatArray, label_arrays
from pldp.planning.assumed import Assumed, AssumedShares, assume_shares
from pldp.planning.designs import Design, compare_designs, hiding, redesigned
from pldp.planning.hiding import Errors, compare_hiding
from pldp.planning.kinds import BY_KIND
from pldp.planning.levels import LevelMix, Levels, used_mix
from pldp.planning.question import LevelPlan, PeopleNeeded, QuestionPlan
from pldp.records import Record
from pldp.show import Table, panel
from pldp.shuffling import GuessRow, Shuffled, guesses, shuffle
from pldp.survey import ONCE, Question, Survey, repeat_mapping
from pldp.tallies import Tally
from pldp.usage import require

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six")

_SHOWN = 3
"""Questions in the short form of a plan."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Record):
    """Errors to expect from a survey of so many people, and the designs that spend the same total ε."""

    survey: Survey
    people: int
    level_mix: LevelMix | None
    questions: tuple[QuestionPlan, ...]
    differ: float | None = None

    @cached_property
    def no_designs(self) -> str | None:
        """Why other designs are not compared, in words; `None` where they are."""
        if self.survey.repeat != ONCE:
            rule = self.survey.repeat
            return f"other designs spend the total in one round, and this survey asks again (repeat = {rule})"
        for question in self.survey.questions:
            if not question.charge(len(question.levels) - 1):
                return f"question {question.name!r} has no price, as nothing protects it, and no part of a total"
        found = ((question.name, BY_KIND[question.kind].special(question)) for question in self.survey.questions)
        special = next((f"question {name!r} {words}" for name, words in found if words is not None), None)
        return None if special is None else f"other designs keep every level's fraction of the budget, and {special}"

    @cached_property
    def designs(self) -> tuple[Design, ...]:
        """Other ways to spend the same total ε per person, best first, the survey as it is among them.

        There are none where people are asked again, or labels have other fractions of ε at other levels: see
        `no_designs`.
        """
        if self.no_designs is not None:
            return ()
        mixes = [used_mix(self.survey, question, self.level_mix) for question in self.survey.questions]
        return compare_designs(self.survey, self.people, mixes)

    @cached_property
    def guessing(self) -> tuple[GuessRow, ...]:
        """How often an observer of a report guesses its answers right: all equally likely, or at the assumed shares."""
        return guesses(self.survey, {each.question: each.shares.tolist() for each in self.questions})

    @cached_property
    def shuffled(self) -> Shuffled | None:
        """What shuffling adds if all planned people's reports are mixed; nothing unless the survey says who mixes."""
        if self.survey.shuffle is None:
            return None
        return shuffle(self.survey, self.people, level_mix=self.level_mix)

    @cached_property
    def hiding(self) -> Errors:
        """Errors by question with a label, a lottery and a single strictest level, where levels are hidden."""
        assumed = {each.question: Assumed(each.shares, each.assumed) for each in self.questions}
        return compare_hiding(self.survey, self.people, assumed, self.level_mix)

    @property
    def advice(self) -> str:
        """What would be better for the same total ε, as a sentence that names the change.

        >>> from pldp import Survey
        >>> print(plan(Survey.load("examples/commute.toml"), 5000).advice)
        Better for the same ε: ask each person one of the two questions, at random: margins shrink to 0.70 of these.
        """
        if self.no_designs is not None:
            return f"No design is recommended: {self.no_designs}."
        best, given = self.designs[0], next(design for design in self.designs if design.split == "given")
        if best is given:
            return "This design is already the best of those compared."
        if not given.fits:
            costs = f"The dearest levels cost ε = {epsilon_text(given.cost)} together, more than the total allows"
            return f"{costs}. Best for this total: {self._change(best)}."
        gain = (best.squared_error / given.squared_error) ** 0.5
        return f"Better for the same ε: {self._change(best)}: margins shrink to {gain:.2f} of these."

    def asked(self, design: Design) -> str:
        """Say how many questions each person answers in a design."""
        every = len(self.survey.questions)
        return "all questions" if design.ask == every else f"{design.ask} of {every} questions, picked at random"

    def _change(self, design: Design) -> str:
        """Say how to ask in another design."""
        every = len(self.survey.questions)
        if design.ask < every:
            asked, whole = (_NUMBERS[each] if each < len(_NUMBERS) else each for each in (design.ask, every))
            return f"ask each person {asked} of the {whole} questions, at random"
        parts = zip(design.budgets, self.survey.questions, strict=True)
        return f"ask all, with ε {', '.join(f'{budget / MICRO:.2g} for {each.name}' for budget, each in parts)}"

    def best_survey(self) -> Survey:
        """Return the survey in the best design."""
        if self.no_designs is not None:
            raise PlanError(f"there is no best design: {self.no_designs}")
        best = self.designs[0]
        return self.survey if best.split == "given" else redesigned(self.survey, best)

    def people_for(self, error: float | Mapping[str, float], confidence: float = 0.95) -> Mapping[str, PeopleNeeded]:
        """Return how many people make every interval of a question at most ± error: at plausible, and at worst shares.

        The fields `alike` and `alike_worst` need that people choose their level regardless of their answer.

        Parameters
        ----------
        error
            A share, for all questions; or an error by question, in its own unit: only these are then answered.
        confidence
            Of the intervals.

        Examples
        --------
        >>> from pldp import Survey
        >>> planned = plan(Survey.load("examples/commute.toml"), 10_000)
        >>> planned.people_for(0.02)["mode"]
        PeopleNeeded(plausible=49251, worst=51313, alike=18293, alike_worst=20551)
        >>> plan(Survey.load("examples/shopping.toml"), 10_000).people_for({"spent": 5})["spent"].plausible
        37040
        """
        asked = {each.question: each for each in self.questions}
        wanted = error if isinstance(error, Mapping) else dict.fromkeys(asked, error)
        for name, own in wanted.items():
            _check_error(asked, name, own, by_name=isinstance(error, Mapping))
        return {name: asked[name].people_for(own, confidence, self.people) for name, own in wanted.items()}

    def quantiles(self, question: str, confidence: float = 0.95) -> tuple[Row, ...]:
        """Return the quantiles of a number with the intervals to expect; none for other questions.

        They are the rows of an estimate whose reports came exactly as often as they do on average at the assumed
        shares, the *Asimov data set* of Cowan, Cranmer, Gross and Vitells, "Asymptotic Formulae for Likelihood-based
        Tests of New Physics" (2011). Single collections have narrower and wider ones.

        >>> from pldp import Survey
        >>> rows = plan(Survey.load("examples/shopping.toml"), 10_000).quantiles("spent")
        >>> [row.label for row in rows]
        ['5 %', '25 %', '50 %', '75 %', '95 %']
        >>> all(0 < row.high - row.low < 100 for row in rows)
        True
        """
        asked, planned = (
            self.survey.question(question),
            next(each for each in self.questions if each.question == question),
        )
        kind, reports = BY_KIND[asked.kind], {level.level: level.reports for level in planned.levels}
        shown = self.survey.level_channel
        labels = np.eye(len(asked.levels)) if shown is None else label_arrays(shown).matrix()
        counts: dict[tuple[str, str], Any] = {}
        for label, chances in zip(asked.levels, labels.tolist(), strict=True):
            # Where levels are hidden, people of every level show this label.
            parts = [
                kind.expected_counts(asked, channel, reports.get(level.name, 0.0) * chance, planned.shares)
                for level, channel, chance in zip(asked.levels, asked.channels, chances, strict=True)
                if chance > 0
            ]
            if any(each is None for each in parts):
                return ()
            counts[question, label.name] = type(parts[0]).merge(parts)
        people = sum(each.reports for each in counts.values())
        try:
            found = estimate(Tally(self.survey, counts, people), question, confidence=confidence)
        except EstimateError as error:
            raise PlanError(f"quantiles of {question}: {error}") from None
        return tuple(row for row in found.rows(confidence) if row.label not in planned.rows)

    def to_mapping(self, confidence: float = 0.95) -> dict[str, Any]:
        """Return the plan as plain data; `no_designs` says why there are no designs where there are none."""
        names = [question.name for question in self.survey.questions]
        return {
            "people": self.people,
            "confidence": confidence,
            "questions": [
                {**each.to_mapping(confidence), **self._quantiles_mapping(each.question, confidence)}
                for each in self.questions
            ],
            "hiding": self.hiding,
            "designs": [design.to_mapping(names) for design in self.designs],
            "no_designs": self.no_designs,
            "repeat": repeat_mapping(self.survey),
            "guessing": [row.to_mapping() for row in self.guessing],
            "shuffle": None if self.shuffled is None else self.shuffled.to_mapping(),
        }

    def _quantiles_mapping(self, question: str, confidence: float) -> dict[str, Any]:
        try:
            rows, reason = self.quantiles(question, confidence), None
        except PlanError as error:
            rows, reason = (), str(error)
        columns = ((row.label, row.estimate, row.high - row.low) for row in rows)
        names = ("label", "assumed", "interval_width")
        return {"quantiles": [dict(zip(names, each, strict=True)) for each in columns], "no_quantiles": reason}

    def plot(self, confidence: float = 0.95) -> Any:
        """Draw the error of each question against people and against ε, and return the Matplotlib figure."""
        from pldp.planning.plot import plot_plan  # noqa: PLC0415 - Matplotlib is optional

        return plot_plan(self, confidence)

    def __repr__(self) -> str:
        lines = [f"Plan of {self.survey.title!r}: {self.people:,} people, {len(self.questions)} questions"]
        lines += [
            f"  {each.question}: {each.half_width()}, at worst {each.worst_half_width()}{each.if_alike()}"
            for each in self.questions[:_SHOWN]
        ]
        return "\n".join([*lines, *(["  …"] if len(self.questions) > _SHOWN else [])])

    def _repr_html_(self) -> str:
        """Show the expected errors in notebooks."""
        heads = (
            "question",
            "answers",
            "widest 95 % interval",
            "at the worst shares",
            "if levels are chosen regardless of answers",
            "a forged report counts as",
        )
        rows = [
            (
                each.question,
                f"{each.reports:,.0f}",
                each.half_width(),
                each.worst_half_width(),
                each.alike.half_width(),
                f"{each.manipulation:.1f} people",
            )
            for each in self.questions
        ]
        return panel(self.survey.title, f"{self.people:,} people", Table("", heads, rows))


def plan(
    survey: Survey,
    people: int,
    *,
    level_mix: LevelMix | None = None,
    shares: AssumedShares = None,
    hide_level: float | str | None = None,
    differ: float | None = None,
) -> Plan:
    """Return the errors to expect if so many people take part.

    They are those of results that assume nothing about levels; `alike` of a question has those that hold if people
    choose their level regardless of their answer.

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
        Shares that are plausible: `Results` of an earlier survey; or by question, in order or by label, a `Result`, or
        the mean of a number as in `{"spent": {"mean": 40}}`; or `"equal"`. By default one label has half of the people
        and the others share the rest (of labels with budgets the least protected one), each label of several is had by
        half of the people, and numbers are spread evenly. Errors at the worst shares stand beside.
    hide_level
        Plan as if levels were hidden behind a label of this ε.
    differ
        Plan also for a declared bound on how people of different levels differ, as `differ` of `estimate`.

    Examples
    --------
    >>> from pldp import Survey
    >>> planned = plan(Survey.load("examples/commute.toml"), 10_000)
    >>> planned.questions[1].question, planned.questions[1].standard_error.round(4)
    ('late', array([0.0139, 0.0139]))
    >>> planned.designs[0].ask                    # of the two questions, with the same total ε for each person
    1
    """
    require(survey, Survey, "pldp.plan(survey, people)")
    if type(people) is not int or people < 1:
        raise PlanError(f"people must be a whole number of at least 1, not {people!r}")
    unknown = set(level_mix or ()) - {level.name for level in survey.levels}
    if unknown:
        raise PlanError(f"level_mix must name levels of the survey; {min(unknown)[:40]!r} is none")
    check_differ(differ)
    planned = survey if hide_level is None else hiding(survey, hide_level)
    assumed = assume_shares(planned, shares)
    questions = tuple(
        _question_plan(planned, each, people, level_mix, assumed[each.name], differ) for each in planned.questions
    )
    return Plan(planned, people, level_mix, questions, differ)


def _question_plan(
    survey: Survey,
    question: Question,
    people: int,
    level_mix: LevelMix | None,
    assumed: Assumed,
    differ: float | None,
) -> QuestionPlan:
    kind, shares = BY_KIND[question.kind], assumed.shares
    levels = Levels.of(survey, question, people, level_mix)
    plans = tuple(
        _level_plan(question, place, reports, shares)
        for place, reports in enumerate(levels.reports.tolist())
        if reports > 0
    )
    return QuestionPlan(
        question=question.name,
        kind=question.kind,
        unit=kind.unit(question),
        reach=kind.reach(question),
        shares=shares,
        rows=kind.rows(question, shares),
        reports=float(levels.reports.sum()),
        standard_error=np.sqrt(levels.variance(shares)),
        manipulation=levels.manipulation(shares),
        levels=plans,
        assumed=assumed.words,
        remarks=kind.remarks(question),
        advice=kind.advice(question, [level.mechanisms for level in plans]),
        differ=differ,
        design=levels,
    )


def _check_error(asked: Mapping[str, QuestionPlan], name: str, error: float, *, by_name: bool) -> None:
    """Refuse an error of a question that is none, or that is not in its unit."""
    if name not in asked:
        raise PlanError(f"error must name questions of the survey; {name[:40]!r} is none")
    planned = asked[name]
    if planned.of_shares and not 0 < error < 1:
        raise PlanError(f"error must be a share above 0 and below 1, not {error}")
    if not planned.of_shares and not by_name:
        unit = f"in {planned.unit}" if planned.unit else "in its own unit"
        raise PlanError(f"error is a share, and question {name!r} is a number: give its error by name, {unit}")
    if not 0 < error < math.inf:
        raise PlanError(f"error of question {name!r} must be above 0 and finite, not {error}")


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
        epsilon=question.answer_epsilon(place),
        mechanism=own.mechanism,
        reports=reports,
        standard_error=errors[own.mechanism],
        mechanisms=dict(sorted(errors.items(), key=lambda entry: entry[1])),
    )
