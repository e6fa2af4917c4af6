"""What a survey's reports are worth once they are mixed: every question and level, and the whole report."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from pldp.errors import ShuffleError
from pldp.mechanisms import Channel
from pldp.records import Brief
from pldp.shuffling.amplified import SMALLEST_DELTA, Bounds, Group, amplified
from pldp.shuffling.whole import channel_at, dearest_allowed, too_dear, whole_report
from pldp.survey import Question, Survey

STEP: Final = 50
"""Reports of a level by which a collector's results change, unless it is set otherwise: its `result_step`."""

DELTA: Final = 1e-6
"""The probability aside for which ε holds, unless another one is given."""

LARGEST_PEOPLE: Final = 10**10


@dataclass(frozen=True, repr=False)
class ShuffledRow(Brief):
    """One question at one level, or the whole report where `question` is empty.

    `local` is the ε of the report by itself, `high` and `low` are bounds of its ε among `among` reports; `watched` is
    the bound from above among one step of the collector's results. Where there is no answer, `refusal` says why.
    """

    question: str
    level: str
    local: float
    among: int
    high: float | None = None
    low: float | None = None
    watched: float | None = None
    refusal: str | None = None

    @property
    def sentence(self) -> str:
        """What it is, in words; the bound rounded up."""
        what = f"A report on {self.question!r}" if self.question else "A whole report"
        if self.high is None:
            return f"{what} at level {self.level}: no bound, as {self.refusal}."
        high = math.ceil(self.high * 10_000) / 10_000
        return f"{what} at level {self.level}, among {self.among:,}: ε at most {high:g}, instead of {self.local:g}."


@dataclass(frozen=True, repr=False)
class Shuffled(Brief):
    """What shuffling adds to every report of a survey, and the assumptions behind it."""

    title: str
    people: int
    delta: float
    step: int
    hidden: bool
    asked: int | None
    by: str
    rows: tuple[ShuffledRow, ...]
    limited: tuple[str, ...] = ()  #: Levels at which the survey's total does not allow all answers of a report.

    @property
    def conditions(self) -> tuple[str, ...]:
        """The assumptions, in words: they come before any number."""
        who = f"{self.by} does" if self.by else "This survey names nobody who does"
        crowd = (
            "levels are hidden, so all of them hide each other where outputs allow"
            if self.hidden
            else "reports show their level, so only those of the same level hide each other"
        )
        found = [
            f"A trusted shuffler must hand on all {self.people:,} reports at once, in random order, without names, "
            f"addresses, times or report ids, and must keep no copy. {who}.",
            "Towards the shuffler itself, and towards a collector that sees reports one by one, the ε of the level "
            "holds and nothing less.",
            f"A collector of this system is no shuffler: it stores reports in the order of random ids, and its results "
            f"change in steps of {self.step} reports of a level. Someone who watches them change sees a report among "
            f"{self.step} (last column).",
            f"The others must answer as the survey asks; {crowd}. Forged reports hide nobody.",
            f"ε holds for one round, aside from a probability of δ = {self.delta:g}.",
        ]
        if len({row.question for row in self.rows}) > 1:
            found.append(
                "Lines of single questions hold towards anyone who sees the answers to each question apart, as "
                "tallies; towards anyone who sees whole reports side by side, only the lines of whole reports hold."
            )
        if self.limited:
            found.append(
                f"At {_listed(self.limited)} the survey's total does not allow all answers of a report: a whole report "
                "is the dearest that it allows, and the others must answer the same questions."
            )
        if self.delta * self.people >= 1:
            found.append("δ is not below one in the number of people: that is too much for a promise to each of them.")
        return tuple(found)

    def to_mapping(self) -> dict[str, Any]:
        """Return everything as plain data, conditions first."""
        return {
            "conditions": list(self.conditions),
            "title": self.title,
            "people": self.people,
            "delta": self.delta,
            "step": self.step,
            "levels_hidden": self.hidden,
            "shuffled_by": self.by,
            "rows": [asdict(row) for row in self.rows],
        }


def _listed(levels: Sequence[str]) -> str:
    return f"level{'s' * (len(levels) > 1)} {', '.join(levels)}"


def shuffle_sentences(survey: Survey) -> tuple[str, ...]:
    """Say what shuffling adds where the survey declares who shuffles; nothing else. Assumptions come first."""
    if survey.shuffle is None:
        return ()
    found = shuffle(survey, survey.shuffle.people)
    return (*found.conditions, *(row.sentence for row in found.rows))


def shuffle(
    survey: Survey,
    people: int,
    *,
    delta: float = DELTA,
    level_mix: Mapping[str, float] | None = None,
    step: int = STEP,
    progress: Callable[[float, float], object] | None = None,
) -> Shuffled:
    """Return the ε of every report of a survey towards anyone who sees only the tally or a shuffled batch.

    Parameters
    ----------
    people
        How many reports are shuffled together.
    delta
        The probability aside for which ε holds.
    level_mix
        How often each level is chosen; equally, if not given.
    step
        Reports of a level by which the collector's results change.
    progress
        Called with (done, total) while it runs.

    Examples
    --------
    >>> survey = Survey.load("examples/commute.toml")
    >>> row = shuffle(survey, 10_000).rows[0]
    >>> row.question, row.level, row.local > row.high >= row.low > 0
    ('mode', 'strict', True)
    """
    if type(people) is not int or not 1 <= people <= LARGEST_PEOPLE:
        raise ShuffleError(f"people must be a whole number from 1 to {LARGEST_PEOPLE:,}, not {people}")
    if not SMALLEST_DELTA <= delta < 1:
        raise ShuffleError(f"delta must be at least {SMALLEST_DELTA:g} and below 1, not {delta:g}")
    if type(step) is not int or step < 1:
        raise ShuffleError(f"step must be a whole number of at least 1, not {step}")
    asking = _Asking(survey, people, delta, step, _mix(survey, level_mix))
    jobs = [([question], level.name, False) for question in survey.questions for level in question.levels]
    if len(survey.questions) > 1:
        jobs += [(whole_report(survey, level.name), level.name, True) for level in survey.levels]
    rows = []
    for done, (questions, level, whole) in enumerate(jobs):
        if progress is not None:
            progress(done, len(jobs))
        rows.append(asking.row(questions, level, whole=whole))
    hidden, by = survey.level_channel is not None, survey.shuffle.by if survey.shuffle else ""
    wholes = {level: questions for questions, level, whole in jobs if whole}
    limited = [name for name, asked in wholes.items() if dearest_allowed(survey, asked, name)[0] != asked]
    return Shuffled(survey.title, people, delta, step, hidden, survey.ask, by, tuple(rows), tuple(limited))


def _mix(survey: Survey, level_mix: Mapping[str, float] | None) -> dict[str, float]:
    names = [level.name for level in survey.levels]
    unknown = [name for name in level_mix or {} if name not in names]
    if unknown:
        raise ShuffleError(f"level_mix has no level {unknown[0][:40]!r}: this survey has {', '.join(names)}")
    weights = [1.0 if level_mix is None else float(level_mix.get(name, 0.0)) for name in names]
    if not all(0 <= weight < math.inf for weight in weights) or not sum(weights):
        raise ShuffleError(f"level_mix must give levels weights of at least 0, not all 0 ({', '.join(names)})")
    return {name: weight / sum(weights) for name, weight in zip(names, weights, strict=True)}


@dataclass(frozen=True)
class _Asking:
    """A survey asked of so many people."""

    survey: Survey
    people: int
    delta: float
    step: int
    mix: Mapping[str, float]

    def row(self, questions: Sequence[Question], level: str, *, whole: bool = False) -> ShuffledRow:
        """Return both bounds for these questions together."""
        channels = tuple(channel_at(each, level) for each in questions)
        allowed, local = dearest_allowed(self.survey, list(questions), level)
        name = "" if whole else questions[0].name
        asked = self._asked(len(questions), whole=whole)
        number = self._counted(level, self.people)
        hidden = self.survey.level_channel is not None
        among = math.floor((self.people if hidden else number) * asked)
        if among < 1:
            return ShuffledRow(name, level, local, among, refusal="nobody chooses this level, as --level-mix says")
        if not allowed:
            reason = too_dear(self.survey, questions[0], level)
            return ShuffledRow(name, level, sum(channel.epsilon for channel in channels), among, refusal=reason)
        try:
            found = self._bounds(questions, level, channels, self.people, asked)
            if len(allowed) < len(questions):
                some = tuple(channel_at(each, level) for each in allowed)
                found = found._replace(low=self._bounds(allowed, level, some, self.people, asked).low)
            watched = self._watched(questions, level, channels)
        except ShuffleError as error:
            return ShuffledRow(name, level, local, among, refusal=str(error))
        # Where few labels may be ticked, the two answers that the event tells apart may be none.
        low = found.low if all(_any_answer(each) for each in allowed) else 0.0
        # A report of fewer answers tells at most what one of all of them does, and at most what it tells by itself.
        return ShuffledRow(name, level, local, among, min(found.high, local), min(low, local), min(watched, local))

    def _asked(self, questions: int, *, whole: bool) -> float:
        """How often another person is asked the same."""
        ask, every = self.survey.ask, len(self.survey.questions)
        if ask is None:
            return 1.0
        return 1 / math.comb(every, ask) if whole and questions == ask else ask / every

    def _counted(self, level: str, people: int) -> int:
        return math.floor(people * self.mix[level])

    def _bounds(
        self, questions: Sequence[Question], level: str, channels: tuple[Channel, ...], people: int, asked: float
    ) -> Bounds:
        label = self.survey.level_channel
        if label is None:
            others = max(0, self._counted(level, people) - 1)
            return amplified(Group(0, channels), [Group(others, channels)], self.delta, asked=asked)
        levels = [each.name for each in self.survey.levels]
        groups = [
            Group(
                max(0, self._counted(name, people) - (name == level)),
                tuple(channel_at(each, name) for each in questions),
                tuple(float(label.probability(shown, place)) for shown in range(label.size)),
            )
            for place, name in enumerate(levels)
        ]
        return amplified(groups[levels.index(level)], groups, self.delta, asked=asked)

    def _watched(self, questions: Sequence[Question], level: str, channels: tuple[Channel, ...]) -> float:
        """Bound ε among one step: reports of one level, or, where levels are hidden, of any level."""
        if self.survey.level_channel is not None:
            return self._bounds(questions, level, channels, self.step, 1.0).high
        return amplified(Group(0, channels), [Group(self.step - 1, channels)], self.delta).high


def _any_answer(question: Question) -> bool:
    """Tell whether every value of a question's channels can be answered."""
    if getattr(question, "exclusive", ()):
        return False
    limit = getattr(question, "at_most", None)
    return limit is None or all(getattr(channel, "largest_set", limit) <= limit for channel in question.channels)
