"""Two rounds, or two groups, of one question: differences of any kind, and the test whether anything changed."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from statistics import NormalDist
from typing import Any, ClassVar, Final, Protocol, overload

import numpy as np

from pldp.errors import CallError, EstimateError
from pldp.estimates.overlap import shared_people, worst_overlap
from pldp.estimates.results import notes
from pldp.estimates.results.intervals import (
    Interval,
    Label,
    check_confidence,
    fit_reach,
    linear_reach,
    make_rows,
    normal_reach,
)
from pldp.estimates.results.result import Result, Results
from pldp.mechanisms.arrays import FloatArray
from pldp.records import describe


class Compares(Protocol):
    """What a change offers to the test."""

    @property
    def estimates(self) -> FloatArray:
        """The differences."""

    @property
    def statistic(self) -> float:
        """The largest difference in standard errors."""

    @property
    def growing(self) -> bool:
        """Whether results are read while reports come in."""

    def least_error_rate(self) -> float:
        """Return the least 1 − confidence at which an interval excludes 0."""


@dataclass(frozen=True)
class ChangeTest:
    """Test of "nothing changed": the largest difference in standard errors, corrected for all comparisons (Bonferroni).

    It holds however the differences depend on each other, and rejects exactly if a simultaneous interval excludes 0. If
    nothing changed, the probability of such a `statistic` is at most the `p_value`; `level` is the false-alarm rate.
    While a growing round is watched, that is the probability that a p-value is *ever* so small.
    """

    statistic: float
    comparisons: int
    p_value: float
    level: float
    rejected: bool

    @classmethod
    def of(cls, changes: Sequence[Compares], confidence: float) -> ChangeTest:
        """Test all of these changes together."""
        known = [each.statistic for each in changes if not np.isnan(each.statistic)]
        statistic = max(known, default=np.nan)
        comparisons = sum(each.estimates.size for each in changes)
        smallest = 2 * NormalDist().cdf(-statistic)
        if known and any(each.growing for each in changes):
            smallest = min(each.least_error_rate() for each in changes)
        p_value, level = min(comparisons * smallest, 1.0), round(1 - confidence, 12)
        return cls(statistic, comparisons, p_value, level, p_value < level)


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
    """What changed between two rounds: differences with their errors, however many people answered in both.

    The standard error is √(V₁ + V₂) if rounds hold different people; otherwise people of both add the most they can.
    `names` are those of two groups of different people, where it is they that are compared and not rounds.
    """

    kind: ClassVar[str] = "change"

    names: tuple[str, ...] = ()

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
        """Whether the later round is read while its reports come in; the earlier one is closed."""
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
        """Add the names, and the changes that are sure when all are looked at together."""
        ends = self.interval(confidence, simultaneous=True)
        rows = make_rows(self.labels, self.estimates, self.standard_error, ends)
        few = ["too_few" in row for row in self.marked(confidence)]
        pairs = zip(rows, few, strict=True)
        sure = [row._asdict() for row, unsaid in pairs if not unsaid and (row.low > 0 or row.high < 0)]
        reach = float(np.nanmax((ends.high - ends.low) / 2)) if np.isfinite(ends.high).any() else None
        content = {"names": list(self.names), "sure": sure, "unnoticed": reach}
        return {**super()._extras(confidence), **content}


@overload
def change(later: Result, earlier: Result, *, overlap: int | None = None, groups: Sequence[str] = ()) -> Change: ...


@overload
def change(later: Results, earlier: Results, *, overlap: int | None = None, groups: Sequence[str] = ()) -> Results: ...


def change(
    later: Result | Results, earlier: Result | Results, *, overlap: int | None = None, groups: Sequence[str] = ()
) -> Change | Results:
    """Return what changed between two rounds, or the difference of two groups; `later - earlier` has no options.

    Parameters
    ----------
    later, earlier
        Two results of one question, or all results of two rounds.
    overlap
        At most how many people are in both rounds, if that is known. Otherwise the survey's rule says: nobody where
        each person answers once; where people may answer again, or surveys differ, as many as the smaller round has.
    groups
        What the two are called if they are not rounds but groups of different people, in the same order: `("women",
        "men")` for women minus men. Nobody is then in both, unless `overlap` says otherwise.

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
    named = _group_names(groups)
    if isinstance(later, Results) and isinstance(earlier, Results):
        what = "groups" if named else "rounds"
        return by_question(
            [earlier, later], lambda pair: change(pair[1], pair[0], overlap=overlap, groups=groups), what
        )
    if not (isinstance(later, Result) and isinstance(earlier, Result)):
        raise CallError("pldp.change(later, earlier) needs two Result, or two Results, of pldp.estimate")
    if named and overlap is None:
        overlap = 0
    called = reversed(named) if named else ("the earlier round", "the later round")
    fields = compare_rounds([earlier, later], tuple(called), overlap, groups=bool(named))
    variance = np.ravel(later.standard_error) ** 2 + np.ravel(earlier.standard_error) ** 2
    variance += worst_overlap(later, earlier, shared_people(later, earlier, overlap))
    return Change(standard_error=np.sqrt(variance), names=named, **fields)


def _group_names(groups: Sequence[str]) -> tuple[str, ...]:
    named = () if isinstance(groups, str) else tuple(groups)
    if groups and (len(set(named)) != 2 or not all(isinstance(name, str) and name for name in named)):
        raise EstimateError(f'groups must be two different names, such as ("women", "men"), not {groups!r}')
    return named


def compare_rounds(
    rounds: Sequence[Result], names: Sequence[str], overlap: int | None, *, groups: bool = False
) -> dict[str, Any]:
    """Refuse rounds that are not alike; return what a comparison takes over from them: reports, assumptions, notes."""
    check_alike(rounds, "groups" if groups else "rounds")
    if overlap is not None and (isinstance(overlap, bool) or not isinstance(overlap, int) or overlap < 0):
        raise EstimateError(f"overlap must be a number of people, at least 0, not {overlap!r}")
    latest = rounds[-1]
    shared = max(shared_people(one, two, overlap) for one, two in combinations(rounds, 2))
    different = notes.DIFFERENT_GROUPS if groups else notes.DIFFERENT_PEOPLE
    distinct = notes.DISTINCT_GROUPS if groups else notes.DISTINCT
    about = {
        notes.LIVE_CHANGES: latest.live is not None,
        notes.REWORDED: any(each.text != latest.text for each in rounds),
        notes.people_overlap(shared) if shared else different: True,
        notes.WIDE_QUANTILES: not latest.has_normal_error.all(),
        notes.SMOOTH_ERRORS: any(each.assumes_smoothness for each in rounds),
    }
    own = notes.warnings_of(names, [each.notes for each in rounds])
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
        "assumptions": (*assumptions, notes.NOISE_OF_ROUNDS if shared else distinct),
        "notes": (*own, *(note for note, holds in about.items() if holds)),
    }


def check_alike(rounds: Sequence[Result], what: str = "rounds") -> None:
    """Refuse rounds, or groups, that are not of one question, asked and estimated in one way."""
    first = rounds[0]
    for each in rounds:
        if isinstance(each, Compared):
            raise EstimateError("a change has no rounds to subtract: subtract results that pldp.estimate made")
        for name in SHARED:
            one, other = getattr(first, name), getattr(each, name)
            if one != other:
                part = "labels or bounds" if name == "scale" else name
                shown = f"{describe(one)} and {describe(other)}"
                raise EstimateError(f"{what} of {first.question!r} must have the same {part}, not {shown}")


def by_question(rounds: Sequence[Results], compare: Callable[[list[Result]], Result], what: str = "rounds") -> Results:
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
            missing[name] = reasons[0] or f"one of the {what} has no {name!r}"
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
