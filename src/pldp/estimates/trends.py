"""Rounds of one question beside each other: a trend, whose intervals hold together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, overload

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.combining import alike_of, by_question
from pldp.estimates.results.intervals import Interval, Label, make_rows, mark_too_few
from pldp.estimates.results.result import Result, Results
from pldp.estimates.rounds import Change, ChangeTest, Compared, compare_rounds, difference
from pldp.mechanisms.arrays import FloatArray


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
    needs = "pldp.trend(rounds) needs a list of Result, or of Results, of pldp.estimate"
    return by_question(given, lambda own: _trend(own, named, overlap), needs)


def _trend(rounds: Sequence[Result], names: tuple[str, ...], overlap: int | None) -> Trend:
    return Trend.of(
        compare_rounds(rounds, names, overlap),
        rounds=tuple(rounds),
        names=names,
        changes=tuple(difference(later, earlier, overlap) for earlier, later in pairwise(rounds)),
        since_first=tuple(difference(later, rounds[0], overlap) for later in rounds[1:]),
        standard_error=np.concatenate([np.ravel(each.standard_error) for each in rounds]),
        differ=rounds[0].differ,
        alike=alike_of(rounds, lambda own: _trend(own, names, overlap)),
    )
