"""Two or three questions together: the share of every combination of answers, with errors and an association.

A report whose answers support value i of the first question (s_i = 1) and value j of the second (t_j = 1) speaks for
the pair. Both answers are perturbed independently, so

    f̂_ij = mean of (s_i − q)(t_j − q') / ((p − q)(p' − q'))

is unbiased, and its variance follows from Pr(s_i), Pr(t_j) and Pr(s_i t_j). Questions of other kinds, and a third
question, have other weights in place of (s_i − q)/(p − q) (`pldp.estimates.tables.axes`, `.ranges`), hidden levels more
of them (`.pooled`). The counts of marks, one by one and together, are all it needs.

Whether people of all combinations of levels have the same table is tested on the table itself: levels can depend on
what answers have to do with each other although they do not depend on any answer alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.kinds import BY_KIND
from pldp.estimates.mix import LevelMix, check_mix, level_mix
from pldp.estimates.mix_bounds import Mix
from pldp.estimates.notes import (
    BY_SIZE,
    CONSERVATIVE,
    MIX_NOT_USED,
    ROUGH_WEIGHTS,
    SAME_SHARES,
    assume,
    bent,
    given_mix,
    levels_disagree,
    no_association,
)
from pldp.estimates.options import Edges, Options, Pool, Target, check_pooling
from pldp.estimates.overlap import distinct_people
from pldp.estimates.result import Note
from pldp.estimates.shares.pooling import add_reports
from pldp.estimates.tables import (
    LARGEST,
    Axis,
    CellAxis,
    HiddenTable,
    LabelAxis,
    PairGroup,
    PooledTable,
    ShownTable,
    Side,
    Spread,
    Table,
    TableGroup,
    bend_test,
    inner,
)
from pldp.survey import Question
from pldp.tallies import Pair, TableCounts, Tally
from pldp.usage import require


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
    counted = _tallied(tally, names)
    edges = dict(ranges or {})
    for name in edges:
        if name not in names:
            raise EstimateError(f"ranges: {name!r} is no question of the table of {' and '.join(map(repr, names))}")
    asked = [tally.survey.question(name) for name in counted]

    def side_of(question: Question, pooled: Pool) -> Side:
        options = Options(pool=pooled, target=target, mix=mix)
        return BY_KIND[question.kind].side(tally, question, options, edges.get(question.name))

    sides = [side_of(each, pool) for each in asked]
    counts = _counts(tally, counted)
    if not any(own.reports for own in counts.values()):
        raise EstimateError(f"no report answers {_all(names)}, so there is nothing to estimate")
    hidden = level_mix(tally, counted[0], mix)
    made, together = _table(tally, sides, counts, hidden, pool, target)
    if together:
        # Margins of hidden levels cannot be pooled by size: those beside are the same.
        beside = sides
        if tally.survey.level_channel is None:
            beside = [own.by_size() or side_of(each, "size") for each, own in zip(asked, sides, strict=True)]
        made = replace(made, assumption_free=_table(tally, beside, counts, hidden, "size", target)[0])
    return _turned(made, [counted.index(name) for name in names], names)


def check_ranges(tally: Tally, ranges: Edges | None) -> None:
    """Refuse ranges of questions that are in no table."""
    tabled = {name for names in tally.paired for name in names}
    for name in ranges or {}:
        asked = tally.survey.question(name)
        if name not in tabled:
            raise EstimateError(f"ranges: {asked.name!r} was tallied in no pair; name it in pairs")


def _all(names: Sequence[str]) -> str:
    """Name the questions that a report must answer."""
    return f"{'both' if len(names) == 2 else 'all of'} {' and '.join(map(repr, names))}"


def _tallied(tally: Tally, names: Pair) -> Pair:
    """Return the order in which these questions were tallied together; refuse others."""
    found = next((own for own in tally.paired if sorted(own) == sorted(names)), None)
    if found is None:
        for name in names:
            tally.survey.question(name)
        listed = " and ".join(map(repr, names))
        raise EstimateError(f"questions {listed} were not tallied as a pair: name them in pairs")
    return names if names in tally.paired else found


def _counts(tally: Tally, names: Pair) -> dict[tuple[int, ...], TableCounts]:
    """Return the counts by the places of the levels (or labels) of every question."""
    asked = [tally.survey.question(name) for name in names]
    found = {}
    for cell, counts in tally.pairs.items():
        if tuple(name for name, _ in cell) == names:
            found[tuple(each.level_index[level] for each, (_, level) in zip(asked, cell, strict=True))] = counts
    return found


def _table(
    tally: Tally,
    sides: Sequence[Side],
    counts: Mapping[tuple[int, ...], TableCounts],
    mix: LevelMix | None,
    pool: Pool,
    target: Target,
) -> tuple[Table, bool]:
    """Return the table, its axes in the order of the sides, and whether levels were pooled by precision."""
    axes = _axes(sides, counts)
    pooled = _pooled(axes, counts, mix, pool)
    margins = [side.margin for side in sides]
    shares, reports = inner(pooled.decoded), pooled.reports
    variance = pooled.variance([margin.shares for margin in margins])
    if target == "respondents":
        variance = np.maximum(variance - np.clip(shares, 0, 1) * (1 - np.clip(shares, 0, 1)) / reports, 0)
    test = pooled.homogeneity()
    own = (note for margin in margins for note in margin.notes)
    spreads = _spreads(pooled, sides)
    about = () if spreads or len(sides) > 2 else (no_association(shares.size),)
    levels = (SAME_SHARES, ROUGH_WEIGHTS) if pooled.together else (BY_SIZE,)
    straight = (line for side, each in zip(sides, axes, strict=True) for line in side.assumptions(each))
    known = () if mix is None else _about_mix(tally, sides, mix, pooled)
    reaches = tuple(side.reach(apart=not pooled.together) for side in sides)
    wide = (CONSERVATIVE,) if any(reaches) else ()
    found = Table(
        question=" × ".join(margin.question for margin in margins),
        margins=tuple(margins),
        decoded=pooled.decoded,
        standard_error=np.sqrt(variance),
        reports=reports,
        method=f"unbiased, {'' if mix is None else 'hidden levels, '}pooled by {pool}",
        target=target,
        assumptions=assume(target, *levels, *known, *straight),
        notes=tuple(dict.fromkeys((*_bent(pooled, sides), *levels_disagree(test, pool), *own, *wide, *about))),
        homogeneity=test,
        people=pooled.people,
        distinct=distinct_people(tally.survey),
        rare=pooled.rare([margin.shares for margin in margins], variance, target),
        manipulation=pooled.manipulation,
        spreads=spreads,
        reaches=reaches,
    )
    return found, pooled.together


def _axes(sides: Sequence[Side], counts: Mapping[tuple[int, ...], TableCounts]) -> list[Sequence[Axis]]:
    """Return the axes of every level of every question.

    Those of a number depend on how many noiseless reports its own are worth, which are fewer where the other answers of
    the table are noisy. How noisy they are is found from rough axes.
    """
    levels = [1 + max(each[place] for each in counts) for place in range(len(sides))]
    people = [
        [sum(own.reports for each, own in counts.items() if each[place] == level) for level in range(number)]
        for place, number in enumerate(levels)
    ]
    rough = [side.axes([float(max(each, 1)) for each in own]) for side, own in zip(sides, people, strict=True)]
    noise = [_mean_square(each, own) for each, own in zip(rough, people, strict=True)]
    others = [math.prod(other for place, other in enumerate(noise) if place != number) for number in range(len(noise))]
    worth = [[max(each / noisy, 1.0) for each in own] for own, noisy in zip(people, others, strict=True)]
    return [side.axes(own) for side, own in zip(sides, worth, strict=True)]


def _mean_square(axes: Sequence[Axis], people: Sequence[int]) -> float:
    """Return the mean square of an indicator's weight, over levels by their precision."""
    squares = np.array([axis.squares(axis.expected(np.append(axis.equal, 1.0)[:, None]))[:-1].mean() for axis in axes])
    return float(np.sum(people) / np.sum(np.array(people) / squares))


def _about_mix(tally: Tally, sides: Sequence[Side], mix: LevelMix, pooled: PooledTable) -> tuple[str, ...]:
    """Return what a table assumes about the mix of hidden levels, where something about it was given."""
    if not pooled.together:
        return () if mix.bounds.nothing else (MIX_NOT_USED,)
    names = [level.name for level in tally.survey.question(sides[0].margin.question).levels]
    return given_mix(names, mix)


def _pooled(
    axes: Sequence[Sequence[Axis]],
    counts: Mapping[tuple[int, ...], TableCounts],
    mix: LevelMix | None,
    pool: Pool,
) -> PooledTable:
    """Return the reports of all levels together."""
    if mix is not None:
        return HiddenTable.of(axes, counts, mix, pool)
    groups = []
    for levels, own in counts.items():
        if own.reports:
            chosen = tuple(each[level] for each, level in zip(axes, levels, strict=True))
            labels = len(chosen) == 2 and all(isinstance(axis, LabelAxis) for axis in chosen)
            groups.append((PairGroup if labels else TableGroup)(chosen, own))
    return ShownTable.of(groups, pool)


def _bent(pooled: PooledTable, sides: Sequence[Side]) -> tuple[Note, ...]:
    """Say so where other answers do not change in straight lines along a number."""
    if not isinstance(pooled, ShownTable):
        return ()
    likely = np.clip(pooled.decoded, 0, 1)
    tests = [bend_test(pooled.groups, pooled.weights, place, likely) for place in range(len(sides))]
    return tuple(
        bent(side.margin.question, test.p_value)
        for side, test in zip(sides, tests, strict=True)
        if test is not None and test.rejected
    )


def _spreads(pooled: PooledTable, sides: Sequence[Side]) -> dict[tuple[str, ...], Spread]:
    """Return what the association of two questions needs, or of every item of a set with the other question."""
    if len(sides) != 2:
        return {}
    every: list[list[int | None]] = [
        [None] if side.margin.exclusive else [*range(len(side.margin.values))] for side in sides
    ]
    found = {}
    for places in product(*every):
        table = pooled.decoded
        for axis, place in enumerate(places):
            if place is not None:
                has = table.take([place], axis=axis)
                whole = table.take([-1], axis=axis)
                table = np.concatenate([has, whole - has, whole], axis=axis)
        if inner(table).size > LARGEST:
            return {}
        own = inner(table)
        likely = add_reports(own.ravel(), pooled.reports).reshape(own.shape)
        label = tuple(side.margin.values[place] for side, place in zip(sides, places, strict=True) if place is not None)
        found[label] = Spread.of(own, pooled.covariance(likely, partial(_single, places)), pooled.reports)
    return found


def _single(places: Sequence[int | None], axes: Sequence[Axis]) -> list[CellAxis]:
    """Return the axes with that of one item in place of a set's."""
    return [axis.cells(place) for axis, place in zip(axes, places, strict=True)]


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
