"""Two or three questions together: the share of every combination of answers, with errors and an association.

A report whose answers support value i of the first question (s_i = 1) and value j of the second (t_j = 1) speaks for
the pair. Both answers are perturbed independently, so

    f̂_ij = mean of (s_i − q)(t_j − q') / ((p − q)(p' − q'))

is unbiased. Questions of other kinds, and a third question, have other patterns (`pldp.estimates.kinds.sides`,
`.ranges`); cells, and what reports of all levels say of them together, are those of the engine (`.cells`).

Whether people of all combinations of levels have the same table is tested on the table itself: levels can depend on
what answers have to do with each other although they do not depend on any answer alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.kinds import BY_KIND
from pldp.estimates.kinds.association import Association, Spread, spreads_of
from pldp.estimates.kinds.cells import Cells, inner, nearest_table, table_counts, tallied_order
from pldp.estimates.kinds.ranges import RangeReach, bend_test, fit_variance
from pldp.estimates.kinds.sides import Margin, Side
from pldp.estimates.linear.evidence import LabelChances, Levels, label_chances
from pldp.estimates.linear.homogeneity import homogeneity_of_targets
from pldp.estimates.linear.mix import LevelMix, check_mix, mix_of
from pldp.estimates.linear.pooling import Linear
from pldp.estimates.linear.small_counts import SmallCounts
from pldp.estimates.overlap import distinct_people
from pldp.estimates.results.consistency import with_margins
from pldp.estimates.results.facts import Note, PersonWeights
from pldp.estimates.results.intervals import Interval, check_confidence
from pldp.estimates.results.notes import (
    CONSERVATIVE,
    assume,
    bent,
    levels_disagree,
    no_association,
)
from pldp.estimates.results.options import Edges, Mix, Options, Pool, Target, check_pooling
from pldp.estimates.results.plots import plot_table
from pldp.estimates.results.result import Result, make_frame
from pldp.mechanisms.arrays import FloatArray
from pldp.survey import Question
from pldp.tallies import Pair, TableCounts, Tally
from pldp.threads import one_thread
from pldp.usage import require


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Table(Result):
    """Unbiased shares of people by their answers to two or three questions, an axis per question.

    An axis has the labels of a choice, the items of a set (people who have it, whatever else they have) or the ranges
    of a number. `margins` are the questions on their own; `reports` those that answer all of them; `people` are those
    of each combination of levels with the weight of one of them, where levels show. `decoded` are the shares with one
    more place on every axis, for everybody: the shares of fewer questions.

    With a number, intervals reach to wherever the share of its range can be (`reaches`), whatever its distribution is,
    and are conservative; with `smooth` they are those of its smooth curve.
    """

    kind: ClassVar[str] = "table"

    margins: tuple[Margin, ...]
    decoded: FloatArray
    people: PersonWeights | None
    spreads: Mapping[tuple[str, ...], Spread] = field(default_factory=dict)
    reaches: tuple[RangeReach | None, ...] = ()

    @property
    def shares(self) -> FloatArray:
        """The shares of all combinations."""
        return inner(self.decoded)

    @property
    def labels(self) -> list[tuple[str, ...]]:
        """The combinations of values, row by row."""
        return list(product(*(margin.values for margin in self.margins)))

    @property
    def estimates(self) -> FloatArray:
        """The shares."""
        return self.shares

    def person_weights(self) -> PersonWeights | None:
        """Return the weight of each person."""
        return self.people

    @property
    def assumes_smoothness(self) -> bool:
        """Whether a number is one of the questions."""
        return any(self.reaches)

    @property
    def conservative(self) -> npt.NDArray[np.bool_]:
        """Whether few reports speak for a combination, or a number is one of the questions."""
        return self.rare_rows() | self.assumes_smoothness

    def interval(
        self, confidence: float | None = None, *, simultaneous: bool = False, smooth: bool = False
    ) -> Interval:
        """Return intervals for each share; those of a number's ranges hold whatever its distribution is.

        A cell's share is that of its range times how often people of the range have the other answers. The interval
        reaches as far as the errors of both: to the ends of where the share of the range can be, and from there as many
        standard errors as any other interval.
        """
        found = super().interval(confidence, simultaneous=simultaneous)
        if smooth or not self.assumes_smoothness:
            return found
        wanted = self._confidence(confidence)
        allowed = self.fit_confidence(1 - (1 - wanted) / (self.estimates.size if simultaneous else 1))
        low, high = (np.asarray(each, np.float64).reshape(self.shares.shape) for each in found)
        for place, reach in enumerate(self.reaches):
            if reach is not None:
                below, above = self._moves(place, reach, allowed)
                low, high = low - below, high + above
        return Interval(low.reshape(found.low.shape), high.reshape(found.high.shape))

    def _moves(self, place: int, reach: RangeReach, confidence: float) -> tuple[FloatArray, FloatArray]:
        """Return by how much every cell can be smaller and larger if the shares of the ranges are at their ends."""
        alone = tuple(slice(None, -1) if axis == place else -1 for axis in range(self.decoded.ndim))
        shares = self.decoded[alone]
        others = np.clip(inner(np.take(self.decoded, -1, axis=place)), 0, 1)
        low, high = reach.ends(confidence)
        ends = (np.maximum(shares - low, 0), np.maximum(high - shares, 0))
        below, above = (np.moveaxis(np.multiply.outer(each, others), 0, place) for each in ends)
        return below, above

    def association(self, confidence: float | None = None) -> list[Association]:
        """Return Cramér's V of two questions with its interval, or that of every item where one is a set.

        It is 0 where answers are independent and 1 where one says what the other is. There is none of three questions,
        and of tables of very many cells.
        """
        wanted = self._confidence(confidence)
        check_confidence(wanted)
        return [Association(label, own.estimate, *own.interval(wanted)) for label, own in self.spreads.items()]

    def consistent(self) -> FloatArray:
        """Return the nearest table that could be true: at least 0, with the consistent shares of every question."""
        return self._consistent.copy()

    @cached_property
    def _consistent(self) -> FloatArray:
        if len(self.margins) == 2 and all(margin.exclusive for margin in self.margins):
            return with_margins(self.shares, *(margin.consistent() for margin in self.margins))
        return nearest_table(self.decoded, self.margins)

    def records(self, confidence: float | None = None) -> list[dict[str, Any]]:
        """Return the rows with the consistent share beside each."""
        rows, consistent = super().records(confidence), self._consistent.ravel().tolist()
        if self.assumes_smoothness:
            smooth = self.interval(confidence, smooth=True)
            ends = zip(np.ravel(smooth.low).tolist(), np.ravel(smooth.high).tolist(), strict=True)
            about = ({"conservative": True, "smooth_low": low, "smooth_high": high} for low, high in ends)
            rows = [{**row, **more} for row, more in zip(rows, about, strict=True)]
        return [{**row, "consistent": share} for row, share in zip(rows, consistent, strict=True)]

    def to_frame(self, confidence: float | None = None, *, library: str | None = None) -> Any:
        """Return the rows as a data frame, with a column of values for each question."""
        names = [margin.question for margin in self.margins]
        records = self.records(confidence)
        return make_frame([{**dict(zip(names, row.pop("label"), strict=True)), **row} for row in records], library)

    def _extras(self, confidence: float) -> dict[str, Any]:
        sides = zip(self.margins, [margin.consistent() for margin in self.margins], strict=True)
        return {
            "questions": [margin.question for margin in self.margins],
            "margins": [
                {"name": own.question, "exclusive": own.exclusive, "values": list(own.values), "shares": shares}
                for own, shares in sides
            ],
            "association": [each._asdict() for each in self.association(confidence)],
        }

    def plot(self, confidence: float | None = None, *, truth: FloatArray | None = None, axes: Any = None) -> Any:
        """Draw the consistent shares as shaded cells with the reach of their intervals (needs the extra `plots`)."""
        return plot_table(self, confidence, truth=truth, axes=axes)


def two_way(
    tally: Tally,
    first: str,
    second: str,
    *,
    pool: Pool = "precision",
    target: Target = "population",
    ranges: Edges | None = None,
    mix: Mix | None = None,
) -> Table:
    """Return the share of every pair of answers to two questions that were tallied as a pair.

    Parameters
    ----------
    tally
        The counted reports, tallied with `pairs=[(first, second)]`.
    first, second
        Names of the questions: rows and columns. A choice has its labels, a set its items (people who have the item,
        whatever else they have), a number ranges.
    pool, target
        See `Options`: how pairs of levels are weighted, and of whom the shares are.
    ranges
        Of numbers, the ends of the ranges from bound to bound, `{"spent": [0, 10, 50, 300]}`; four ranges of equal
        width where it does not say.
    mix
        What is known of the mix of hidden levels, see `Options`.

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
    return cross(tally, (first, second), pool=pool, target=target, ranges=ranges, mix=mix)


def three_way(  # noqa: PLR0913 - one per question and option
    tally: Tally,
    first: str,
    second: str,
    third: str,
    *,
    pool: Pool = "precision",
    target: Target = "population",
    ranges: Edges | None = None,
    mix: Mix | None = None,
) -> Table:
    """Return the share of every combination of answers to three questions that were tallied together.

    It is `two_way` with one more question. The consistent table has the consistent shares of each single question.

    Examples
    --------
    >>> from pldp import Survey, tally
    >>> from pldp.simulate import Population, simulate_reports
    >>> survey = Survey.load("examples/shopping.toml")
    >>> people = Population.of_shares(survey, 20_000, seed=2)
    >>> together = ("reason", "basket", "spent")
    >>> counted = tally(survey, simulate_reports(survey, people, seed=2), pairs=[together])
    >>> three_way(counted, *together, ranges={"spent": [0, 100, 300]}).shares.shape
    (5, 6, 2)
    """
    require(tally, Tally, "pldp.three_way(tally, first, second, third)")
    return cross(tally, (first, second, third), pool=pool, target=target, ranges=ranges, mix=mix)


@one_thread()
def cross(
    tally: Tally,
    names: Pair,
    *,
    pool: Pool = "precision",
    target: Target = "population",
    ranges: Edges | None = None,
    mix: Mix | None = None,
) -> Table:
    """Return the table of two or three questions in this order; see `two_way`."""
    check_pooling(pool, target)
    check_mix(tally.survey, mix)
    if mix is not None and pool == "size":
        raise EstimateError("mix applies to tables that are pooled by precision; by size their mix is not assumed")
    counted = tallied_order(tally, names)
    edges = dict(ranges or {})
    for name in edges:
        if name not in names:
            raise EstimateError(f"ranges: {name!r} is no question of the table of {' and '.join(map(repr, names))}")
    asked = [tally.survey.question(name) for name in counted]

    def side_of(question: Question, pooled: Pool) -> Side:
        options = Options(pool=pooled, target=target, mix=mix)
        return BY_KIND[question.kind].side(tally, question, options, edges.get(question.name))

    sides = [side_of(each, pool) for each in asked]
    reports = Reports.of(tally, counted, mix)
    found = reports.table(sides, pool, target)
    if pool == "precision" and reports.differ:
        beside = sides
        if reports.chances.visible:  # margins of hidden levels cannot be pooled by size: those beside are the same
            beside = [own.by_size() or side_of(each, "size") for each, own in zip(asked, sides, strict=True)]
        found = replace(found, assumption_free=reports.table(beside, "size", target, found))
    return _turned(found, [counted.index(name) for name in names], names)


def check_ranges(tally: Tally, ranges: Edges | None) -> None:
    """Refuse ranges of questions that are in no table."""
    tabled = {name for names in tally.paired for name in names}
    for name in ranges or {}:
        asked = tally.survey.question(name)
        if name not in tabled:
            raise EstimateError(f"ranges: {asked.name!r} was tallied in no pair; name it in pairs")


@dataclass(frozen=True, eq=False)
class Reports:
    """The reports of a table, by the levels (or labels) that they show, and what is known of the mix of hidden ones."""

    tally: Tally
    names: Pair
    counts: Mapping[Levels, TableCounts]
    chances: LabelChances
    mix: LevelMix

    @classmethod
    def of(cls, tally: Tally, names: Pair, mix: Mix | None) -> Reports:
        """Take the reports of questions that were tallied together in this order."""
        counts = table_counts(tally, names)
        if not any(own.reports for own in counts.values()):
            listed = f"{'both' if len(names) == 2 else 'all of'} {' and '.join(map(repr, names))}"
            raise EstimateError(f"no report answers {listed}, so there is nothing to estimate")
        return cls(tally, names, counts, label_chances(tally.survey, names), mix_of(tally, names[0], mix))

    @property
    def differ(self) -> bool:
        """Whether people may have answered at several combinations of levels."""
        return not self.chances.visible or sum(own.reports > 0 for own in self.counts.values()) > 1

    def table(self, sides: Sequence[Side], pool: Pool, target: Target, pooled: Table | None = None) -> Table:
        """Return the table, its axes in the order of the sides; `pooled` is that by precision, if it was made."""
        bounds = None if pool == "size" or self.mix.bounds.nothing else self.mix.bounds
        cells = Cells.of(self._worth(sides), self.chances, self.counts, bounds)
        linear, decoded = cells.decode(pool)
        together = pool == "precision" and self.differ
        margins = tuple(side.margin for side in cells.sides)
        variance = linear.variance(target).reshape(cells.shape) + fit_variance(cells, linear, decoded)
        test = None if pooled is None else pooled.homogeneity
        if pooled is None:
            test = homogeneity_of_targets(linear.evidence, cells.noise.tolist(), linear if together else None)
        spreads, reaches = spreads_of(cells, pool), tuple(side.reach(apart=not together) for side in cells.sides)
        return Table(
            question=" × ".join(margin.question for margin in margins),
            margins=margins,
            decoded=decoded,
            standard_error=np.sqrt(variance),
            reports=int(linear.reports),
            method=f"unbiased, {'' if self.chances.visible else 'hidden levels, '}pooled by {pool}",
            target=target,
            assumptions=self._assumptions(cells, target, together=together),
            notes=_notes(cells, linear, margins, levels_disagree(test, pool), spreads, reaches),
            homogeneity=test,
            people=_people(linear) if self.chances.visible else None,
            distinct=distinct_people(self.tally.survey),
            rare=SmallCounts.of(linear) if target == "population" else None,
            manipulation=linear.manipulation,
            spreads=spreads,
            reaches=reaches,
        )

    def _worth(self, sides: Sequence[Side]) -> list[Side]:
        """Return the sides for as many noiseless reports as theirs are worth: fewer where other answers are noisy."""
        levels = [len(self.tally.survey.question(name).levels) for name in self.names]
        people = [np.zeros(number) for number in levels]
        for shown, own in self.counts.items():
            for place, level in enumerate(shown):
                people[place][level] += own.reports
        noise = [float(own.sum() / (own / side.noise).sum()) for own, side in zip(people, sides, strict=True)]
        others = [math.prod(noise[:place] + noise[place + 1 :]) for place in range(len(noise))]
        worth = [np.maximum(own / noisy, 1.0).tolist() for own, noisy in zip(people, others, strict=True)]
        return [side.for_worth(own) for side, own in zip(sides, worth, strict=True)]

    def _assumptions(self, cells: Cells, target: Target, *, together: bool) -> tuple[str, ...]:
        straight = (line for side in cells.sides for line in side.assumptions())
        return assume(target, *self.mix.assumed("shares", together=together, tested=True), *straight)


def _people(linear: Linear) -> PersonWeights:
    """Return the people of every combination of levels that came, and what one of them counts."""
    evidence = linear.evidence
    people = np.round(evidence.shown[evidence.levels] * evidence.reports)
    return PersonWeights(people, linear.weights[0] / evidence.reports)


def _notes(
    cells: Cells,
    linear: Linear,
    margins: Sequence[Margin],
    disagree: tuple[Note, ...],
    spreads: Mapping[tuple[str, ...], Spread],
    reaches: Sequence[RangeReach | None],
) -> tuple[Note, ...]:
    tests = [(side.margin.question, bend_test(cells, linear, place)) for place, side in enumerate(cells.sides)]
    straight = (bent(name, test.p_value) for name, test in tests if test is not None and test.rejected)
    wide = (CONSERVATIVE,) if any(reaches) else ()
    about = () if spreads or len(margins) > 2 else (no_association(math.prod(cells.shape)),)
    own = (note for margin in margins for note in margin.notes)
    return tuple(dict.fromkeys((*straight, *disagree, *own, *wide, *about)))


def _turned(table: Table, order: Sequence[int], names: Sequence[str]) -> Table:
    """Return the table with its questions in this order."""
    if list(order) == sorted(order):
        return table
    beside = table.assumption_free
    turned: dict[str, Any] = {
        "question": " × ".join(names),
        "margins": tuple(table.margins[place] for place in order),
        "decoded": table.decoded.transpose(order),
        "standard_error": table.standard_error.transpose(order),
        "reaches": tuple(table.reaches[place] for place in order),
        "spreads": {tuple(_reordered(label, table, order)): own for label, own in table.spreads.items()},
        "assumption_free": _turned(beside, order, names) if isinstance(beside, Table) else None,
    }
    if table.rare is not None:
        shape = table.shares.shape
        places = np.unravel_index(table.rare.places, shape)
        moved = np.ravel_multi_index([places[each] for each in order], [shape[each] for each in order])
        turned["rare"] = replace(table.rare, places=np.asarray(moved))
    return replace(table, **turned)


def _reordered(label: tuple[str, ...], table: Table, order: Sequence[int]) -> list[str]:
    """Return the items of an association in the order of the questions."""
    sets = [place for place, margin in enumerate(table.margins) if not margin.exclusive]
    return [label[sets.index(place)] for place in order if place in sets]
