"""Rounds of one question beside each other: differences of any kind, trends, and the test whether anything changed."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import combinations, pairwise
from statistics import NormalDist
from typing import Any, ClassVar, Final, overload

import numpy as np

from pldp.errors import CallError, EstimateError
from pldp.estimates import notes
from pldp.estimates.change_test import ChangeTest
from pldp.estimates.live import fit_reach, linear_reach
from pldp.estimates.overlap import shared_people, worst_overlap
from pldp.estimates.picture import plot_shares, plot_trend
from pldp.estimates.result import Interval, Label, Result, Results, check_confidence, make_rows, normal_reach
from pldp.estimates.telling import mark_too_few
from pldp.mechanisms.arrays import FloatArray
from pldp.records import describe

SHARED: Final = ("question", "kind", "scale", "target", "method", "confidence")
"""What rounds must have in common."""

_LEAST_RATE: Final = 1e-12
_FARTHEST, _HALVINGS = 7.0, 30  # standard errors up to which the statistic of a quantile is looked for, and the steps


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Compared(Result):
    """Rounds of one question beside each other; `rounds` are their results, oldest first."""

    rounds: tuple[Result, ...]

    @property
    def possible(self) -> tuple[float, float]:
        """Those of one round."""
        return self.rounds[0].possible

    def lead(self, confidence: float | None = None) -> None:
        """Rounds and changes are not ranked."""
        del confidence

    @abstractmethod
    def test(self, confidence: float | None = None) -> ChangeTest:
        """Test whether anything changed, with false alarms at the rate 1 − confidence."""

    def _extras(self, confidence: float) -> dict[str, Any]:
        return {"of": self.rounds[0].kind, "test": asdict(self.test(confidence))}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Change(Compared):
    """What changed between two rounds: differences with their errors, whoever answered in both.

    The standard error is √(V₁ + V₂) if rounds hold different people; otherwise people of both add the most they can.
    """

    kind: ClassVar[str] = "change"

    @property
    def earlier(self) -> Result:
        """What was subtracted."""
        return self.rounds[0]

    @property
    def later(self) -> Result:
        """What it was subtracted from."""
        return self.rounds[1]

    @property
    def labels(self) -> Sequence[Label]:
        """Those of the question."""
        return self.later.labels

    @property
    def estimates(self) -> FloatArray:
        """The differences."""
        return np.ravel(self.later.estimates - self.earlier.estimates)

    def interval(self, confidence: float | None = None, *, simultaneous: bool = False) -> Interval:
        """Return an interval for each difference; with `simultaneous`, for all of them at once (Bonferroni).

        The difference of two quantiles lies between the differences of the ends of their intervals, each with half of
        the error rate: that holds whatever the rounds have in common.
        """
        comparisons = self.estimates.size if simultaneous else 1
        wanted = 1 - (1 - self._confidence(confidence)) / comparisons
        reach = self._reach(wanted) * self.standard_error
        ends = Interval(self.estimates - reach, self.estimates + reach)
        normal = self.later.has_normal_error
        if normal.all():
            return ends
        later, earlier = (each.interval((1 + wanted) / 2) for each in (self.later, self.earlier))
        return Interval(
            np.where(normal, ends.low, later.low - earlier.high), np.where(normal, ends.high, later.high - earlier.low)
        )

    @property
    def growing(self) -> bool:
        """Whether somebody looks at the later round while its reports come; the earlier one is closed."""
        return self.later.live is not None

    def _reach(self, confidence: float) -> float | FloatArray:
        """Return how many standard errors intervals reach.

        While the later round grows, differences d of n and m > n reports have the covariance V₁ + V₂(m) = Var(d at m):
        as for one round, d/Var(d) is a sum whose variance is the information 1/Var(d), and its mixture holds. The
        information at the plan has V₂ of the planned reports.
        """
        check_confidence(confidence)
        later = self.later
        if later.live is None:
            return normal_reach(confidence)
        part = later.reports / later.live
        if later.fitted or self.earlier.fitted:
            return fit_reach(confidence, part)
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.ravel(later.standard_error) ** 2 / self.standard_error**2
        return linear_reach(confidence, np.nan_to_num(1 + (part - 1) * own, nan=1.0))

    def least_error_rate(self) -> float:
        """Return the least 1 − confidence at which an interval excludes 0: a p-value that holds at every look."""
        low, high = _LEAST_RATE, 1.0
        for _ in range(_HALVINGS):
            middle = (low * high) ** 0.5
            ends = self.interval(1 - middle)
            low, high = (low, middle) if bool(((ends.low > 0) | (ends.high < 0)).any()) else (middle, high)
        return high

    @cached_property
    def statistic(self) -> float:
        """The largest difference in standard errors; of a quantile, of those at which its interval ends at 0."""
        normal = self.later.has_normal_error
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = abs(self.estimates / self.standard_error)[normal]
        largest = max(ratios[~np.isnan(ratios)].tolist(), default=np.nan)
        low, high = largest, _FARTHEST
        if normal.all() or not largest < _FARTHEST or not self._excludes_zero(low):
            return largest
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._excludes_zero(middle) else (low, middle)
        return low

    def _excludes_zero(self, reach: float) -> bool:
        """Say whether the interval of a quantile that reaches so many standard errors lies on one side of 0."""
        low, high = self.interval(1 - 2 * NormalDist().cdf(-max(reach, 1e-6)))
        return bool((((low > 0) | (high < 0)) & ~self.later.has_normal_error).any())

    def test(self, confidence: float | None = None) -> ChangeTest:
        """Test whether anything changed, with false alarms at the rate 1 − confidence."""
        return ChangeTest.of([self], self._confidence(confidence))

    def reports_for(self, times: float, confidence: float | None = None) -> float:
        """Return how many reports the smaller round would need for intervals so many times narrower."""
        del confidence
        return min(each.reports for each in self.rounds) * times**2

    @property
    def possible(self) -> tuple[float, float]:
        """Differences of what is possible in one round."""
        low, high = super().possible
        return low - high, high - low

    def marked(self, confidence: float | None = None) -> list[dict[str, Any]]:
        """Return the records; a change from or to a number that says nothing says nothing either."""
        own, rounds = super().marked(confidence), (each.marked(confidence) for each in self.rounds)
        few = [[row.get("too_few", 0) for row in rows] for rows in (own, *rounds)]
        most = [max(each) for each in zip(*few, strict=True)]
        return [{**row, "too_few": needed} if needed else row for row, needed in zip(own, most, strict=True)]

    def _extras(self, confidence: float) -> dict[str, Any]:
        """Add the changes that are sure when all are looked at together."""
        ends = self.interval(confidence, simultaneous=True)
        rows = make_rows(self.labels, self.estimates, self.standard_error, ends)
        few = ["too_few" in row for row in self.marked(confidence)]
        pairs = zip(rows, few, strict=True)
        sure = [row._asdict() for row, unsaid in pairs if not unsaid and (row.low > 0 or row.high < 0)]
        reach = float(np.nanmax((ends.high - ends.low) / 2)) if np.isfinite(ends.high).any() else None
        return {**super()._extras(confidence), "sure": sure, "unnoticed": reach}

    def plot(self, confidence: float | None = None, *, truth: FloatArray | None = None, axes: Any = None) -> Any:
        """Draw the differences with their intervals (needs the extra `plots`); `truth` adds a mark per label."""
        return plot_shares(self, confidence, truth=truth, axes=axes, changes=True)


@overload
def change(later: Result, earlier: Result, *, overlap: int | None = None) -> Change: ...


@overload
def change(later: Results, earlier: Results, *, overlap: int | None = None) -> Results: ...


def change(later: Result | Results, earlier: Result | Results, *, overlap: int | None = None) -> Change | Results:
    """Return what changed between two rounds; `later - earlier` is the same without options.

    Parameters
    ----------
    later, earlier
        Two results of one question, or all results of two rounds.
    overlap
        At most how many people are in both rounds, if that is known. Otherwise the survey's rule says: nobody where
        each person answers once; where people may answer again, or surveys differ, as many as the smaller round has.

    Examples
    --------
    >>> from pldp import Survey, estimate, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/commute.toml")
    >>> def ask(late):
    ...     people = Population.of_counts(survey, {"late": {"yes": late, "no": 5000 - late}}, seed=late)
    ...     return estimate(tally(survey, simulate_reports(survey, people, seed=late)))
    >>> found = ask(2000)["late"] - ask(1500)["late"]
    >>> found.rows()[0].low < 0.1 < found.rows()[0].high, found.test().rejected
    (True, True)
    """
    if isinstance(later, Results) and isinstance(earlier, Results):
        return _by_question([earlier, later], lambda pair: change(pair[1], pair[0], overlap=overlap))
    if not (isinstance(later, Result) and isinstance(earlier, Result)):
        raise CallError("pldp.change(later, earlier) needs two Result, or two Results, of pldp.estimate")
    fields = _compare([earlier, later], ("the earlier round", "the later round"), overlap)
    variance = np.ravel(later.standard_error) ** 2 + np.ravel(earlier.standard_error) ** 2
    variance += worst_overlap(later, earlier, shared_people(later, earlier, overlap))
    return Change(standard_error=np.sqrt(variance), **fields)


def _compare(rounds: Sequence[Result], names: Sequence[str], overlap: int | None) -> dict[str, Any]:
    """Refuse rounds that are not alike; return what a comparison takes over from them: reports, assumptions, notes."""
    _check_alike(rounds)
    if overlap is not None and (isinstance(overlap, bool) or not isinstance(overlap, int) or overlap < 0):
        raise EstimateError(f"overlap must be a number of people, at least 0, not {overlap!r}")
    latest = rounds[-1]
    shared = max(shared_people(one, two, overlap) for one, two in combinations(rounds, 2))
    about = {
        notes.LIVE_CHANGES: latest.live is not None,
        notes.REWORDED: any(each.text != latest.text for each in rounds),
        notes.people_overlap(shared) if shared else notes.DIFFERENT_PEOPLE: True,
        notes.WIDE_QUANTILES: not latest.has_normal_error.all(),
    }
    own = [
        replace(note, text=f"in {name}: {note.text}")
        for name, each in zip(names, rounds, strict=True)
        for note in each.notes
        if note.severity == "warning"
    ]
    assumptions = dict.fromkeys(text for each in rounds for text in each.assumptions)
    return {
        "rounds": tuple(rounds),
        "unit": latest.unit,
        "question": latest.question,
        "text": latest.text,
        "reports": sum(each.reports for each in rounds),
        "method": latest.method,
        "target": latest.target,
        "confidence": latest.confidence,
        "manipulation": max(each.manipulation for each in rounds),
        "assumptions": (*assumptions, notes.NOISE_OF_ROUNDS if shared else notes.DISTINCT),
        "notes": (*own, *(note for note, holds in about.items() if holds)),
    }


def _check_alike(rounds: Sequence[Result]) -> None:
    """Refuse rounds that are not of one question, asked and estimated in one way."""
    first = rounds[0]
    for each in rounds:
        if isinstance(each, Compared):
            raise EstimateError("a change has no rounds to subtract: subtract results that pldp.estimate made")
        for name in SHARED:
            one, other = getattr(first, name), getattr(each, name)
            if one != other:
                what = "labels or bounds" if name == "scale" else name
                shown = f"{describe(one)} and {describe(other)}"
                raise EstimateError(f"rounds of {first.question!r} must have the same {what}, not {shown}")


def _by_question(rounds: Sequence[Results], compare: Callable[[list[Result]], Result]) -> Results:
    """Compare question by question and table by table; what cannot be compared is named with the reason."""
    content = [{**each.results, **{table.question: table for table in each.tables}} for each in rounds]
    latest = rounds[-1]
    found: dict[str, Result] = {}
    missing: dict[str, str] = {}
    for name in dict.fromkeys(name for each in (*content, *(each.missing for each in rounds)) for name in each):
        try:
            found[name] = compare([own[name] for own in content])
        except KeyError:
            reasons = [each.missing.get(name) for each, own in zip(rounds, content, strict=True) if name not in own]
            missing[name] = reasons[0] or f"one of the rounds has no {name!r}"
        except EstimateError as error:
            missing[name] = str(error)
    if not found:
        raise EstimateError(next(iter(missing.values()), "there is no question to compare"))
    tables = {table.question for each in rounds for table in each.tables}
    rejections: Counter[str] = sum((Counter(each.rejections) for each in rounds), Counter())
    return Results(
        latest.survey,
        latest.title,
        sum(each.reports for each in rounds),
        rejections,
        {name: each for name, each in found.items() if name not in tables},
        tuple(each for name, each in found.items() if name in tables),
        missing,
    )


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Trend(Compared):
    """All rounds of a question, with their `names`; intervals hold for all labels and rounds together.

    `changes` are the differences of every round to the one before, `since_first` those to the first.
    """

    kind: ClassVar[str] = "trend"

    names: tuple[str, ...]
    changes: tuple[Change, ...]
    since_first: tuple[Change, ...]

    @property
    def labels(self) -> list[Label]:
        """Label and round, round by round."""
        return [
            (*((label,) if isinstance(label, str) else label), name)
            for name, each in zip(self.names, self.rounds, strict=True)
            for label in each.labels
        ]

    @property
    def estimates(self) -> FloatArray:
        """The numbers of all rounds, round by round."""
        return np.concatenate([np.ravel(each.estimates) for each in self.rounds])

    def interval(self, confidence: float | None = None, *, simultaneous: bool = True) -> Interval:
        """Return intervals for all labels and rounds at once (Bonferroni); without `simultaneous`, for each alone."""
        wanted = self._confidence(confidence)
        own = 1 - (1 - wanted) / len(self.rounds) if simultaneous else wanted
        ends = [each.interval(own, simultaneous=simultaneous) for each in self.rounds]
        return Interval(*(np.concatenate([np.ravel(side) for side in sides]) for sides in zip(*ends, strict=True)))

    def test(self, confidence: float | None = None) -> ChangeTest:
        """Test whether anything changed from any round to the next."""
        return ChangeTest.of(self.changes, self._confidence(confidence))

    def records(self, confidence: float | None = None) -> list[dict[str, Any]]:
        """Return the rows with label and round apart."""
        labels = [label for each in self.rounds for label in each.labels]
        return [
            {"label": label, "round": row.label[-1], **dict(zip(row._fields[1:], row[1:], strict=True))}
            for label, row in zip(labels, self.rows(confidence), strict=True)
        ]

    def marked(self, confidence: float | None = None) -> list[dict[str, Any]]:
        """Return the records, those that say nothing marked by the reports that their round needs."""
        records = self.records(confidence)
        found: list[dict[str, Any]] = []
        for name, each in zip(self.names, self.rounds, strict=True):
            own = [row for row in records if row["round"] == name]
            found += mark_too_few(own, self.possible, partial(each.reports_for, confidence=confidence))
        return found

    def _extras(self, confidence: float) -> dict[str, Any]:
        rounds = [{"name": name, "reports": each.reports} for name, each in zip(self.names, self.rounds, strict=True)]
        return {
            **super()._extras(confidence),
            "rounds": rounds,
            "changes": self._changes(self.changes, self.names[:-1], confidence),
            "since_first": self._changes(self.since_first, self.names[:1] * len(self.since_first), confidence),
        }

    def _changes(self, changes: Sequence[Change], since: Sequence[str], confidence: float) -> list[dict[str, Any]]:
        """Return changes as records; their intervals hold for all of them together."""
        own = 1 - (1 - confidence) / len(changes)
        return [
            {"round": name, "since": before, **row._asdict()}
            for name, before, each in zip(self.names[1:], since, changes, strict=True)
            for row in make_rows(
                each.labels, each.estimates, each.standard_error, each.interval(own, simultaneous=True)
            )
        ]

    def plot(self, confidence: float | None = None, *, truth: FloatArray | None = None, axes: Any = None) -> Any:
        """Draw a line per label over the rounds (needs the extra `plots`); `truth` has rounds × labels."""
        return plot_trend(self, confidence, truth=truth, axes=axes)


@overload
def trend(rounds: Sequence[Result], *, names: Sequence[str] = (), overlap: int | None = None) -> Trend: ...


@overload
def trend(rounds: Sequence[Results], *, names: Sequence[str] = (), overlap: int | None = None) -> Results: ...


def trend(
    rounds: Sequence[Result] | Sequence[Results], *, names: Sequence[str] = (), overlap: int | None = None
) -> Trend | Results:
    """Return rounds beside each other: intervals that hold together, changes, and one test of "nothing changed".

    Parameters
    ----------
    rounds
        Two or more results of one question, or of whole rounds, oldest first; those of whole rounds give `Results` with
        a `Trend` for each question.
    names
        What the rounds are called (round 1, round 2, …).
    overlap
        At most how many people are in two of the rounds, if that is known; see `change`.

    Examples
    --------
    >>> from pldp import Survey, estimate, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/commute.toml")
    >>> def ask(late):
    ...     people = Population.of_counts(survey, {"late": {"yes": late, "no": 5000 - late}}, seed=late)
    ...     return estimate(tally(survey, simulate_reports(survey, people, seed=late)))
    >>> found = trend([ask(1500), ask(1510), ask(2000)])["late"]
    >>> found.names, found.test().comparisons, found.test().rejected
    (('round 1', 'round 2', 'round 3'), 4, True)
    """
    given = [*rounds]
    if len(given) < 2:
        raise EstimateError(f"a trend needs at least two rounds, not {len(given)}")
    named = tuple(names) or tuple(f"round {number}" for number in range(1, len(given) + 1))
    if len(set(named)) != len(given):
        raise EstimateError(f"names must be {len(given)} different ones, one per round, not {', '.join(named)}")
    whole = [each for each in given if isinstance(each, Results)]
    if len(whole) == len(given):
        return _by_question(whole, lambda own: trend(own, names=named, overlap=overlap))
    results = [each for each in given if isinstance(each, Result)]
    if len(results) < len(given):
        raise CallError("pldp.trend(rounds) needs a list of Result, or of Results, of pldp.estimate")
    fields = _compare(results, named, overlap)
    return Trend(
        names=named,
        changes=tuple(change(later, earlier, overlap=overlap) for earlier, later in pairwise(results)),
        since_first=tuple(change(later, results[0], overlap=overlap) for later in results[1:]),
        standard_error=np.concatenate([np.ravel(each.standard_error) for each in results]),
        **fields,
    )
