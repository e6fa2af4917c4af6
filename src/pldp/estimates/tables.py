"""Two questions together: the share of every pair of values, with errors, and a table that fits the margins.

A report whose answers support value i of the first question (s_i = 1) and value j of the second (t_j = 1) speaks for
the pair. Both answers are perturbed independently, so

    f̂_ij = mean of (s_i − q)(t_j − q') / ((p − q)(p' − q'))

is unbiased, and its variance follows from Pr(s_i), Pr(t_j) and Pr(s_i t_j). The counts of supports, one by one and in
pairs, are all it needs: what a channel makes of counts (`shares`, `squares`) is linear in them, so it is applied to
every column of the pairs, then that of the other question to every row.

Whether people of all pairs of levels have the same table is tested on the table itself: levels can depend on what both
answers have to do with each other although they do not depend on either answer alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.agreement import shifts, stricter_half, values_to_test, vector_test
from pldp.estimates.consistency import norm_sub, with_margins
from pldp.estimates.frames import make_frame
from pldp.estimates.notes import BY_SIZE, ROUGH_WEIGHTS, SAME_SHARES, assume, levels_disagree
from pldp.estimates.options import Pool, Target, check_pooling
from pldp.estimates.overlap import distinct_people
from pldp.estimates.picture import plot_table
from pldp.estimates.rare import Rare
from pldp.estimates.result import Homogeneity, PersonWeights, Result
from pldp.estimates.shares.frequencies import frequencies
from pldp.estimates.shares.pooling import ENOUGH_SUPPORT, add_reports
from pldp.estimates.shares.shares import Shares
from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import FloatArray, LabelArrays, label_arrays
from pldp.tallies import PairCounts, Tally
from pldp.usage import require

ENOUGH_PAIRS: Final = 4 * ENOUGH_SUPPORT
"""Reports that chance alone must give each pair for the test: products of two supports have longer tails than one."""

LARGEST_PRODUCTS: Final = 1 << 24
"""Products (values × tested pairs²) that the test of a table holds at most; fewer pairs are tested where it is more."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Table(Result):
    """Unbiased shares of pairs of values, those of the first question × those of the second.

    `margins` are the shares of both questions on their own: rows and columns of the table; `reports` those that answer
    both; and `people` are those of each pair of levels with the weight of one of them.
    """

    kind: ClassVar[str] = "table"

    margins: tuple[Shares, Shares]
    shares: FloatArray
    people: PersonWeights

    @property
    def labels(self) -> list[tuple[str, str]]:
        """The pairs of values, row by row."""
        rows, columns = self.margins
        return [(first, second) for first in rows.values for second in columns.values]

    @property
    def estimates(self) -> FloatArray:
        """The shares."""
        return self.shares

    def person_weights(self) -> PersonWeights:
        """Return the weight of each person."""
        return self.people

    def consistent(self) -> FloatArray:
        """Return the nearest table that could be true: at least 0, with the consistent margins of both questions."""
        return self._consistent.copy()

    @cached_property
    def _consistent(self) -> FloatArray:
        return with_margins(self.shares, *(margin.consistent() for margin in self.margins))

    def records(self, confidence: float | None = None) -> list[dict[str, Any]]:
        """Return the rows with the consistent share beside each."""
        rows, consistent = super().records(confidence), self._consistent.ravel().tolist()
        return [{**row, "consistent": share} for row, share in zip(rows, consistent, strict=True)]

    def to_frame(self, confidence: float | None = None, *, library: str | None = None) -> Any:
        """Return the rows as a data frame, with a column of values for each question."""
        names = [margin.question for margin in self.margins]
        records = self.records(confidence)
        return make_frame([{**dict(zip(names, row.pop("label"), strict=True)), **row} for row in records], library)

    def _extras(self, confidence: float) -> dict[str, Any]:
        del confidence
        return {"questions": [margin.question for margin in self.margins]}

    def plot(self, confidence: float | None = None, *, truth: FloatArray | None = None, axes: Any = None) -> Any:
        """Draw the consistent shares as shaded cells with the reach of their intervals (needs the extra `plots`)."""
        return plot_table(self, confidence, truth=truth, axes=axes)


def two_way(tally: Tally, first: str, second: str, *, pool: Pool = "precision", target: Target = "population") -> Table:
    """Return the share of every pair of values of two questions that were tallied as a pair.

    Parameters
    ----------
    tally
        The counted reports, tallied with `pairs=[(first, second)]`.
    first, second
        Names of the questions: rows and columns.
    pool, target
        See `Options`: how pairs of levels are weighted, and of whom the shares are.

    Examples
    --------
    >>> from pldp import Survey, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/commute.toml")
    >>> people = Population.of_shares(survey, 50_000, seed=2)
    >>> counted = tally(survey, simulate_reports(survey, people, seed=2), pairs=[("late", "mode")])
    >>> table = two_way(counted, "late", "mode")
    >>> table.shares.shape, bool(np.allclose(table.consistent().sum(axis=1), table.margins[0].consistent()))
    ((2, 6), True)
    """
    require(tally, Tally, "pldp.two_way(tally, first, second)")
    check_pooling(pool, target)
    turned = (second, first) in tally.paired
    if not turned and (first, second) not in tally.paired:
        tally.survey.question(first), tally.survey.question(second)
        raise EstimateError(f"questions {first!r} and {second!r} were not tallied as a pair: name them in pairs")
    rows, columns = (frequencies(tally, name, pool=pool, target=target) for name in (first, second))
    margins = (columns, rows) if turned else (rows, columns)
    groups = pair_groups(tally, *(margin.question for margin in margins))
    if not groups:
        raise EstimateError(f"no report answers both {first!r} and {second!r}, so there is nothing to estimate")
    people = np.array([each.counts.reports for each in groups])
    reports = int(people.sum())
    weights = people / reports if pool == "size" else precision_weights(groups, reports)
    parts = list(zip(groups, weights, strict=True))
    shares = np.sum([weight * each.shares() for each, weight in parts], axis=0)
    given = [margin.shares for margin in margins]
    variance = np.sum([weight**2 * each.variance(shares, *given) for each, weight in parts], axis=0)
    if target == "respondents":
        variance = np.maximum(variance - np.clip(shares, 0, 1) * (1 - np.clip(shares, 0, 1)) / reports, 0)
    test = _homogeneity(groups)
    notes = tuple(dict.fromkeys((*levels_disagree(test, pool), *rows.notes, *columns.notes)))
    together = pool == "precision" and len(groups) > 1
    return Table(
        question=f"{first} × {second}",
        margins=(rows, columns),
        shares=shares.T if turned else shares,
        standard_error=np.sqrt(variance.T if turned else variance),
        reports=reports,
        method=f"unbiased, pooled by {pool}",
        target=target,
        assumptions=assume(target, *((SAME_SHARES, ROUGH_WEIGHTS) if together else (BY_SIZE,))),
        notes=notes,
        homogeneity=test,
        people=PersonWeights(people, (weights / people)[:, None]),
        distinct=distinct_people(tally.survey),
        assumption_free=two_way(tally, first, second, pool="size", target=target) if together else None,
        rare=_rare(groups, weights, shares, (given[0], given[1]), target=target, turned=turned),
        manipulation=max(  # both answers of a report can be forged
            float(weight) * reports / each.counts.reports * (each.first.manipulation * each.second.manipulation)
            for each, weight in parts
        ),
    )


@dataclass(frozen=True, eq=False)
class PairGroup:
    """Reports of one pair of levels with both channels."""

    first: Channel
    second: Channel
    counts: PairCounts

    @cached_property
    def forms(self) -> tuple[LabelArrays, LabelArrays]:
        """The array forms of both channels."""
        return label_arrays(self.first), label_arrays(self.second)

    def turned(self) -> PairGroup:
        """Return the same with the second question first."""
        counts = self.counts
        return PairGroup(
            self.second, self.first, PairCounts(counts.reports, counts.second, counts.first, counts.both.T)
        )

    def shares(self) -> FloatArray:
        """Return the unbiased share of every pair of values."""
        n, (first, second) = self.counts.reports, self.forms
        both, one, two = self.counts.both / n, self.counts.first / n, self.counts.second / n
        return second.shares(first.shares(both, two).T, first.shares(one)).T

    def variance(self, shares: FloatArray, rows: FloatArray, columns: FloatArray) -> FloatArray:
        """Return the variance of the unbiased shares if these shares and margins were true."""
        first, second = self.forms
        f, rows, columns = (np.clip(given, 0, 1) for given in (shares, rows, columns))
        one, two = first.expected_support(rows), second.expected_support(columns)
        both = second.expected_support(first.expected_support(f, columns).T, one).T
        square = second.squares(first.squares(both, two).T, first.squares(one)).T
        return np.asarray((square - f**2) / self.counts.reports)

    def chances(self, shares: FloatArray, rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how often a report supports both values of each pair, for people who have not both, and who have.

        The former may have one of them: shares and margins tell how many.
        """
        first, second = self.forms
        f, rows, columns = (np.clip(given, 0, 1) for given in (shares, rows, columns))
        f = np.minimum(f, np.minimum(rows[:, None], columns))
        both = second.expected_support(first.expected_support(f, columns).T, first.expected_support(rows)).T
        present = np.outer(*(form.support_range().high for form in self.forms))
        absent = (both - f * present) / np.maximum(1 - f, 1 / self.counts.reports)
        return np.clip(absent, 0, present), present

    @property
    def mean_variance(self) -> float:
        """The mean variance of the shares of one report at equal shares."""
        first, second = (form.channel.size for form in self.forms)
        equal = np.full(first, 1 / first), np.full(second, 1 / second)
        return float(self.variance(np.outer(*equal), *equal).mean() * self.counts.reports)

    def has_enough_support(self) -> bool:
        """Tell whether chance alone gives every pair enough supporting reports for a normal approximation."""
        first, second = (form.chance_support() for form in self.forms)
        by_chance = self.counts.reports * np.outer(first, second)
        return bool(np.where(by_chance > 0, by_chance, self.counts.both).min() >= ENOUGH_PAIRS)

    def covariance(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
        """Return the covariance of the unbiased shares of chosen pairs (row by row) if these shares were true.

        Given both values x and y, answers are independent: the mean of a product of four unbiased supports is
        Σ_xy f_xy S(x)_ii' T(y)_jj', where S(x) = Cov(x) + e_x e_xᵀ are those of one answer.
        """
        places = np.unravel_index(chosen, shares.shape)
        first, second = map(_products, self.forms, places)
        means = np.einsum("xab,xab->ab", first, np.tensordot(shares, second, axes=1))
        expected = shares.ravel()[chosen]
        return np.asarray((means - np.outer(expected, expected)) / self.counts.reports)


def _rare(
    groups: list[PairGroup],
    weights: FloatArray,
    shares: FloatArray,
    margins: tuple[FloatArray, FloatArray],
    *,
    target: Target,
    turned: bool,
) -> Rare | None:
    """Return the pairs that few reports speak for, judged by the reports that support both values."""
    people = np.array([float(each.counts.reports) for each in groups])[:, None]
    chances = np.array([each.chances(shares, *margins) for each in groups])
    supports = np.array([each.counts.both for each in groups], float)
    absent, present, both = (
        (each.swapaxes(1, 2) if turned else each).reshape(len(groups), -1)
        for each in (chances[:, 0], chances[:, 1], supports)
    )
    alone = float((weights**2 / people[:, 0]).sum())
    return Rare.find(
        both,
        np.broadcast_to(people, both.shape),
        absent,
        present,
        weights=np.broadcast_to(weights[:, None], both.shape),
        sampled=1.0 if target == "population" else max(0.0, round(1 - 1 / (people.sum() * alone), 9)),
    )


def _products(form: LabelArrays, places: npt.NDArray[np.intp]) -> FloatArray:
    """Return the mean product of the unbiased supports of any two places, given each value (first axis)."""
    some, back = np.unique(places, return_inverse=True)
    units = np.eye(form.channel.size)
    found = [form.covariance(unit, some) + np.outer(unit[some], unit[some]) for unit in units]
    return np.array(found)[:, back[:, None], back]


def _homogeneity(groups: list[PairGroup]) -> Homogeneity | None:
    """Test whether people of all pairs of levels have the same table, as `pldp.estimates.shares` does for shares."""
    tested = [each for each in groups if each.has_enough_support()]
    if len(tested) < 2:
        return None
    people = np.array([each.counts.reports for each in tested])
    reports, shape = int(people.sum()), tested[0].counts.both.shape
    weights, own = precision_weights(tested, reports), [each.shares() for each in tested]
    pooled = np.average(own, axis=0, weights=weights)
    feasible = norm_sub(pooled.ravel()).reshape(shape)
    margins = feasible.sum(axis=1), feasible.sum(axis=0)
    variance = np.sum(
        [w**2 * each.variance(feasible, *margins) for each, w in zip(tested, weights, strict=True)], axis=0
    )
    most = math.isqrt(LARGEST_PRODUCTS // max(shape))
    chosen = values_to_test(pooled.ravel(), np.sqrt(variance.ravel()))[:most]
    precisions = [np.asarray(np.linalg.inv(each.covariance(feasible, chosen))) for each in tested]
    stricter = stricter_half([each.mean_variance for each in tested], people)
    moves = shifts(add_reports(pooled.ravel(), reports), chosen)
    return vector_test(precisions, [each.ravel()[chosen] for each in own], stricter, moves)


def precision_weights(groups: list[PairGroup], reports: int) -> FloatArray:
    """Return weights of least variance at first-round shares, which are pooled by the weights of equal shares."""
    shape = groups[0].counts.both.shape
    weights = _weights_at(groups, np.full(shape, 1 / np.prod(shape)))
    first = np.sum([weight * each.shares() for each, weight in zip(groups, weights, strict=True)], axis=0)
    return _weights_at(groups, add_reports(first.ravel(), reports).reshape(shape))


def _weights_at(groups: list[PairGroup], shares: FloatArray) -> FloatArray:
    """Return weights ∝ 1/mean variance of a pair if these shares were true."""
    margins = shares.sum(axis=1), shares.sum(axis=0)
    precision = np.array([1 / each.variance(shares, *margins).mean() for each in groups])
    return np.asarray(precision / precision.sum())


def pair_groups(tally: Tally, *names: str) -> list[PairGroup]:
    """Return the reports of every pair of levels of two questions, in the order in which they were tallied."""
    first, second = (tally.survey.question(name) for name in names)
    return [
        PairGroup(first.channels[first.level_index[level]], second.channels[second.level_index[other]], counts)
        for ((one, level), (two, other)), counts in tally.pairs.items()
        if (one, two) == names and counts.reports
    ]
