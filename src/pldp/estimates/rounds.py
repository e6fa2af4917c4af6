"""Two rounds, or two groups, of one question: differences of any kind, and the test whether anything changed.

What people who answer in two rounds do to the error of a difference:

A linear result is F = Σ_i a_i z_i over people i, with E[z_i | x_i] = x_i: x_i is 1 if the person has the value (or the
number itself), z_i − x_i is the noise of the device. Only people of both rounds make F₁ and F₂ depend on each other:

    Var(F₂ − F₁) = V₁ + V₂ − 2 Σ_both a_i b_i (Cov(x₁, x₂) + N),    N = E[Cov(z₁, z₂ | x₁, x₂)]

N ≥ 0, so noise never hurts. *Fresh* noise is independent given the values: N = 0. *Tracked* noise starts from a
permanent draw B of the value, and given B the reports are independent. While the value stays, both have the same mean
g(B), so N = Var(g(B)) ≥ 0; another value has a draw of its own, and N = 0. Where one hash function is kept, that two
values fall into a label's bucket are independent events or one event, as it is linear: N ≥ 0 again.

The values can hurt: Cov(x₁, x₂) < 0 where people move. It is bounded by the margins alone,

    f₁ + f₂ − 1 or 0, whichever is larger, ≤ E[x₁x₂] ≤ f₁ or f₂, whichever is smaller      (shares: Fréchet)
    |Cov(x₁, x₂)| ≤ √((m₁ − low)(high − m₁)(m₂ − low)(high − m₂))                          (means: Bhatia–Davis)

and Σ_both a_i b_i is largest if those with the most weight in one round have the most weight in the other. Where all
people have the same weight it is min(n₁, n₂)/(n₁n₂); pooling by precision gives some people more.

About the *respondents*, the error of F is Σ (a_i − 1/n) x_i + Σ a_i (z_i − x_i): with equal weights only noise is left,
and overlap can only help. The weights |a_i − 1/n| of unequal ones take the place of a_i, and as the signs of the
products are unknown, covariances of both signs count. The change is then that of the mean of those who answered,
no matter who they were.

What is no weighted mean over people, such as a fit, has Cov(F₁, F₂) ≥ −√(V₁V₂), which always holds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from statistics import NormalDist
from typing import Any, ClassVar, Final, overload

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.combining import alike_of, by_question, joint_facts
from pldp.estimates.linear.small_counts import interval_around
from pldp.estimates.results import notes
from pldp.estimates.results.facts import Facts, PersonWeights
from pldp.estimates.results.intervals import (
    Interval,
    Label,
    bias_of_difference,
    check_confidence,
    fit_reach,
    linear_reach,
    make_rows,
    normal_reach,
)
from pldp.estimates.results.result import Result, Results
from pldp.mechanisms.arrays import FloatArray
from pldp.survey import ONCE, Survey


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
    def of(cls, changes: Sequence[Change], confidence: float) -> ChangeTest:
        """Test all of these changes together."""
        known = [each.statistic for each in changes if not np.isnan(each.statistic)]
        statistic = max(known, default=np.nan)
        comparisons = sum(each.estimates.size for each in changes)
        smallest = 2 * NormalDist().cdf(-statistic)
        if known and any(each.later.live is not None for each in changes):
            smallest = min(each.least_error_rate() for each in changes)
        p_value, level = min(comparisons * smallest, 1.0), round(1 - confidence, 12)
        return cls(statistic, comparisons, p_value, level, p_value < level)


_LEAST_RATE: Final = 1e-12
_FARTHEST, _HALVINGS = 7.0, 30  # standard errors up to which the statistic of a quantile is looked for, and the steps


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Compared(Result):
    """Rounds of one question beside each other; `rounds` are their results, oldest first."""

    compares: ClassVar[bool] = True

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
        ends = interval_around(
            self.estimates,
            self.standard_error,
            self._reach(wanted),
            bias=self.bias,
            live=self.later.live is not None,
        )
        normal = self.later.has_normal_error
        if normal.all():
            return ends
        later, earlier = (each.interval((1 + wanted) / 2) for each in (self.later, self.earlier))
        return Interval(
            np.where(normal, ends.low, later.low - earlier.high), np.where(normal, ends.high, later.high - earlier.low)
        )

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
    def _plain(self) -> npt.NDArray[np.bool_]:
        """Whether the interval of each difference is so many standard errors to both sides of it."""
        normal = self.later.has_normal_error
        return normal if self.bias is None else normal & (self.bias.low == 0) & (self.bias.high == 0)

    @cached_property
    def statistic(self) -> float:
        """The largest difference in standard errors; of quantiles, or with bias, those whose interval ends at 0."""
        normal = self._plain
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = abs(self.estimates / self.standard_error)[normal]
        largest = max(ratios[~np.isnan(ratios)].tolist(), default=np.nan if normal.any() else 0.0)
        low, high = largest, _FARTHEST
        if normal.all() or not largest < _FARTHEST or not self._excludes_zero(low):
            return largest
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._excludes_zero(middle) else (low, middle)
        return low

    def _excludes_zero(self, reach: float) -> bool:
        """Say whether the interval of such a number that reaches so many standard errors lies on one side of 0."""
        low, high = self.interval(1 - 2 * NormalDist().cdf(-max(reach, 1e-6)))
        return bool((((low > 0) | (high < 0)) & ~self._plain).any())

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
    if named and overlap is None:
        overlap = 0
    needs = "pldp.change(later, earlier) needs two Result, or two Results, of pldp.estimate"
    what = "groups" if named else "rounds"
    return by_question([earlier, later], lambda pair: difference(pair[1], pair[0], overlap, named), needs, what)


def difference(later: Result, earlier: Result, overlap: int | None, groups: tuple[str, ...] = ()) -> Change:
    """Return what changed between two rounds of one question, or the difference of two groups."""
    names = tuple(reversed(groups)) or ("the earlier round", "the later round")
    facts = compare_rounds([earlier, later], names, overlap, groups=bool(groups))
    variance = np.ravel(later.standard_error) ** 2 + np.ravel(earlier.standard_error) ** 2
    variance += worst_overlap(later, earlier, shared_people(later, earlier, overlap))
    return Change.of(
        facts,
        rounds=(earlier, later),
        names=groups,
        standard_error=np.sqrt(variance),
        differ=later.differ,
        bias=bias_of_difference(later.bias, earlier.bias),
        alike=alike_of([earlier, later], lambda pair: difference(pair[1], pair[0], overlap, groups)),
    )


def _group_names(groups: Sequence[str]) -> tuple[str, ...]:
    named = () if isinstance(groups, str) else tuple(groups)
    if groups and (len(set(named)) != 2 or not all(isinstance(name, str) and name for name in named)):
        raise EstimateError(f'groups must be two different names, such as ("women", "men"), not {groups!r}')
    return named


def compare_rounds(
    rounds: Sequence[Result], names: Sequence[str], overlap: int | None, *, groups: bool = False
) -> Facts:
    """Return what a comparison of rounds states: reports, assumptions and notes."""
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
    facts = joint_facts(rounds, names, latest, about)
    return replace(facts, assumptions=(*facts.assumptions, notes.NOISE_OF_ROUNDS if shared else distinct))


def distinct_people(survey: Survey) -> str:
    """Return the survey's hash where its rounds hold different people; empty where people may answer in several."""
    return survey.hash if survey.repeat == ONCE else ""


def shared_people(one: Result, other: Result, known: int | None) -> int:
    """Return how many people are in both rounds at most: what is known, or what the rule of the survey allows."""
    most = min(one.reports, other.reports)
    if known is not None:
        return min(known, most)
    return 0 if one.distinct and one.distinct == other.distinct else most


def worst_overlap(later: Result, earlier: Result, people: int) -> FloatArray:
    """Return the most that so many people of both rounds can add to the variance of each difference."""
    if not people:
        return np.zeros(later.estimates.size)
    # Whatever the estimates are, their covariance is at most the product of their errors.
    limit = np.ravel(later.standard_error * earlier.standard_error)
    one, two = later.person_weights(), earlier.person_weights()
    if one is None or two is None:
        return 2 * limit
    low, high = (np.ravel(ends) for ends in later.covariance_of_values(earlier))
    against = -low
    if later.target == "respondents":
        one, two = (each._replace(weights=abs(each.weights - 1 / each.people.sum())) for each in (one, two))
        against = np.maximum(-low, high)
    bound = np.minimum(limit, shared_weight(one, two, people) * against)
    return 2 * np.where(later.has_normal_error, bound, limit)


def shared_weight(first: PersonWeights, second: PersonWeights, people: int) -> FloatArray:
    """Return the largest Σ a_i b_i over so many people of both rounds, for each number: the heaviest ones are the same.

    >>> ten, four = (PersonWeights(np.array([n]), np.array([[1 / n]])) for n in (10, 4))
    >>> shared_weight(ten, four, 4), shared_weight(ten, four, 1)  # 1/10 and 1/40
    (array([0.1]), array([0.025]))
    """
    found = []
    for place in range(max(first.weights.shape[1], second.weights.shape[1])):
        steps = []
        for each in (first, second):
            weights = each.weights[:, min(place, each.weights.shape[1] - 1)]
            order = np.argsort(-weights)
            steps.append((np.cumsum(each.people[order]), weights[order]))
        cuts = np.unique(np.minimum(np.concatenate([ends for ends, _ in steps]), people))
        products = np.prod([weights[np.searchsorted(ends, cuts)] for ends, weights in steps], axis=0)
        found.append(np.diff(cuts, prepend=0) @ products)
    return np.array(found)
