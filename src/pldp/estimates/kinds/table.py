"""Two or three questions together: the share of every combination of answers, with errors and an association.

A report whose answers support value i of the first question (s_i = 1) and value j of the second (t_j = 1) speaks for
the pair. Both answers are perturbed independently, so

    f̂_ij = mean of (s_i − q)(t_j − q') / ((p − q)(p' − q'))

is unbiased. Questions of other kinds, and a third question, have other patterns (`pldp.estimates.kinds.sides`);
cells, and what reports of all levels say of them together, are those of the engine (`.cells`).

Whether people of all combinations of levels have the same table is tested on the table itself: levels can depend on
what answers have to do with each other although they do not depend on any answer alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.kinds import BY_KIND
from pldp.estimates.kinds.association import Association, Spread, spreads_of
from pldp.estimates.kinds.cells import Cells, bend_tests, fit_variance, inner, nearest_table, table_counts, with_knots
from pldp.estimates.kinds.sides import Margin, Side
from pldp.estimates.likelihood.profile import ShareProfile
from pldp.estimates.linear.evidence import label_chances
from pldp.estimates.linear.homogeneity import homogeneity_of_targets
from pldp.estimates.linear.mix import LevelMix, mix_of
from pldp.estimates.linear.small_counts import SmallCounts
from pldp.estimates.results import notes
from pldp.estimates.results.facts import Homogeneity, PersonWeights
from pldp.estimates.results.intervals import Interval, check_confidence
from pldp.estimates.results.options import (
    NO_BOUND,
    Edges,
    Mix,
    Options,
    TableOptions,
    Target,
    check_options,
    pooling_words,
)
from pldp.estimates.results.result import Result
from pldp.estimates.rounds import distinct_people
from pldp.mechanisms.arrays import FloatArray
from pldp.show import make_frame
from pldp.tallies import Pair, Tally
from pldp.threads import one_thread
from pldp.usage import require


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Table(Result):
    """Unbiased shares of people by their answers to two or three questions, an axis per question.

    An axis has the labels of a choice, the items of a set (people who have it, whatever else they have) or the ranges
    of a number. `margins` are the questions on their own; `reports` those that answer all of them; `people` are those
    of each combination of levels with the weight of one of them, where levels show. `decoded` are the shares with one
    more place on every axis, for everybody: the shares of fewer questions.

    With a number, intervals reach to wherever the share of its range can be (`reaches`) and are conservative.
    """

    kind: ClassVar[str] = "table"

    margins: tuple[Margin, ...]
    decoded: FloatArray
    people: PersonWeights | None
    spreads: Mapping[tuple[str, ...], Spread] = field(default_factory=dict)
    reaches: tuple[tuple[ShareProfile, ...], ...] = ()

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
        return super().conservative | self.assumes_smoothness

    def interval(
        self, confidence: float | None = None, *, simultaneous: bool = False, smooth: bool = False
    ) -> Interval:
        """Return intervals for each share; unless `smooth`, those of a number's ranges assume nothing about its curve.

        A cell's share is that of its range times how often people of the range have the other answers. The interval
        reaches as far as the errors of both: to the ends of where the share of the range can be, and from there as many
        standard errors as any other interval.
        """
        found = super().interval(confidence, simultaneous=simultaneous)
        if smooth or not self.assumes_smoothness:
            return found
        wanted = self._confidence(confidence)
        allowed = self.fit_confidence(1 - (1 - wanted) / (self.estimates.size if simultaneous else 1))
        low, high = (np.reshape(each, self.shares.shape) for each in found)
        for place, reach in enumerate(self.reaches):
            if reach:
                first, last = np.array([own.interval(allowed) for own in reach]).T
                alone = self.decoded[tuple(slice(None, -1) if axis == place else -1 for axis in range(low.ndim))]
                others = np.clip(inner(np.take(self.decoded, -1, axis=place)), 0, 1)
                below, above = (np.maximum(each, 0) for each in (alone - first, last - alone))
                low = low - np.moveaxis(np.multiply.outer(below, others), 0, place)
                high = high + np.moveaxis(np.multiply.outer(above, others), 0, place)
        return Interval(low.reshape(found.low.shape), high.reshape(found.high.shape))

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
        return {
            "questions": [margin.question for margin in self.margins],
            "margins": [
                {"name": own.question, "exclusive": own.exclusive, "values": list(own.values), "shares": own.possible}
                for own in self.margins
            ],
            "association": [each._asdict() for each in self.association(confidence)],
        }


def two_way(tally: Tally, first: str, second: str, **options: Unpack[TableOptions]) -> Table:
    """Return the share of every pair of answers to two questions that were tallied as a pair.

    Parameters
    ----------
    tally
        The counted reports, tallied with `pairs=[(first, second)]`.
    first, second
        Names of the questions: rows and columns, see `Table`.
    options
        `differ` (0, or nothing), `target`, `ranges` (`{"spent": [0, 10, 50, 300]}`) and `mix`, see `Options`.

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
    return cross(tally, (first, second), **options)


def three_way(tally: Tally, first: str, second: str, third: str, **options: Unpack[TableOptions]) -> Table:
    """Return the share of every combination of answers to three questions that were tallied together.

    It is `two_way` with one more question. The consistent table has the consistent shares of each single question.
    """
    require(tally, Tally, "pldp.three_way(tally, first, second, third)")
    return cross(tally, (first, second, third), **options)


@one_thread()
def cross(
    tally: Tally,
    names: Pair,
    *,
    differ: float | None = None,
    target: Target = "population",
    ranges: Edges | None = None,
    mix: Mix | None = None,
) -> Table:
    """Return the table of two or three questions in this order; see `two_way`."""
    check_options(differ, target)
    if differ:
        raise EstimateError(NO_BOUND.format("tables of several questions"))
    known = mix_of(tally, names[0], mix)
    counts = table_counts(tally, names)
    if not counts:
        asked = " and ".join(repr(tally.survey.question(name).name) for name in names)
        raise EstimateError(f"questions {asked} were not tallied as a pair: name them in pairs")
    for name in ranges or {}:
        if name not in names:
            raise EstimateError(f"ranges: {name!r} is no question of the table of {' and '.join(map(repr, names))}")
        question = tally.survey.question(name)
        if question.domain != "numbers":
            raise EstimateError(f"ranges are for numbers; question {name!r} is of kind {question.kind}")
    options = Options(differ=0, target=target, ranges=ranges, mix=mix)
    sides = _sides(tally, names, options)
    if not any(own.reports for own in counts.values()):
        listed = f"{'both' if len(names) == 2 else 'all of'} {' and '.join(map(repr, names))}"
        raise EstimateError(f"no report answers {listed}, so there is nothing to estimate")
    chances = label_chances(tally.survey, names)
    alike = _table(tally, Cells.of(sides, chances, counts, known.bounds), known, options)
    if chances.visible and sum(own.reports > 0 for own in counts.values()) < 2:
        return alike  # of one combination of levels
    alike = replace(alike, differ=0)
    if differ == 0:
        return alike
    options = replace(options, differ=None)
    cells = Cells.of(_sides(tally, names, options), chances, counts, known.bounds)
    return replace(_table(tally, cells, known, options, alike.homogeneity), alike=alike)


def check_ranges(tally: Tally, ranges: Edges | None) -> None:
    """Refuse ranges of questions that are in no table."""
    for asked in map(tally.survey.question, ranges or {}):
        if not any(asked.name in names for names in tally.paired):
            raise EstimateError(f"ranges: {asked.name!r} was tallied in no pair; name it in pairs")


def _sides(tally: Tally, names: Iterable[str], options: Options) -> tuple[Side, ...]:
    asked = (tally.survey.question(name) for name in names)
    return tuple(BY_KIND[each.kind].side(tally, each, options) for each in asked)


def _table(tally: Tally, cells: Cells, mix: LevelMix, options: Options, tested: Homogeneity | None = None) -> Table:
    """Return the table of these cells, by one way to count levels; `tested` is their test."""
    cells, margins, differ = with_knots(cells), tuple(side.margin for side in cells.sides), options.differ
    linear, decoded = cells.decode(differ)
    evidence = linear.evidence
    together = differ == 0 and len(evidence.levels) > 1
    test = tested or homogeneity_of_targets(evidence, cells.noise.tolist(), linear if together else None)
    people = None
    if mix.visible:
        counts = np.round(evidence.shown[evidence.levels] * evidence.reports)
        people = PersonWeights(counts, linear.weights[0] / evidence.reports)
    assumed = mix.assumed("shares", together=together)
    straight = (line for side in cells.sides for line in side.assumptions())
    variance = linear.variance(options.target).reshape(cells.shape) + fit_variance(cells, linear, decoded)
    spreads, reaches = spreads_of(cells, differ), tuple(side.reach(apart=not together) for side in cells.sides)
    said = (
        *(notes.bent(name, each.p_value) for name, each in bend_tests(cells, linear).items() if each.rejected),
        *notes.levels_disagree(test, differ if together else None),
        *(note for margin in margins for note in margin.notes),
        *((notes.CONSERVATIVE,) if any(reaches) else ()),
        *(() if spreads or len(margins) > 2 else (notes.no_association(math.prod(cells.shape)),)),
    )
    return Table(
        question=" × ".join(margin.question for margin in margins),
        margins=margins,
        decoded=decoded,
        standard_error=np.sqrt(variance),
        reports=int(linear.reports),
        method=f"unbiased, {mix.words}{pooling_words(differ if together else None)}",
        target=options.target,
        assumptions=notes.assume(options.target, *assumed, *straight),
        notes=tuple(dict.fromkeys(said)),
        homogeneity=test,
        people=people,
        distinct=distinct_people(tally.survey),
        rare=SmallCounts.of(linear) if options.target == "population" else None,
        manipulation=linear.manipulation,
        spreads=spreads,
        reaches=reaches,
    )
