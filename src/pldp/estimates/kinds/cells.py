"""Cells of a table of two or three questions: from counts of marks to evidence, and what is decoded from it.

A target is a cell, a combination of values; its states are those of every question, its patterns those that all answers
show. Answers are perturbed independently of each other, so laws, and what patterns count, are products over questions.
Reports show a combination of levels, or of labels of them (`LabelChances`).

Where levels show, combinations are pooled by one weight each, what one person of it counts in every cell; where labels
mix them, all states of a cell are pooled together (matrix weights), as other states then say much of the wanted one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, product

import numpy as np

from pldp.estimates.kinds.sides import Margin, RangeSide, Side
from pldp.estimates.linear.evidence import Evidence, LabelChances, Levels
from pldp.estimates.linear.known import given_mix
from pldp.estimates.linear.mix import MixBounds
from pldp.estimates.linear.patterns import Patterns, cross_patterns
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.results.consistency import nearest_tables
from pldp.estimates.results.facts import Homogeneity
from pldp.mechanisms.arrays import FloatArray
from pldp.tallies import Pair, TableCounts, Tally

Counts = Mapping[Levels, TableCounts]
"""The counts of marks of several questions, by what reports show of levels."""


def inner(table: FloatArray) -> FloatArray:
    """Return the numbers of an augmented table that are about all questions."""
    return table[(slice(None, -1),) * table.ndim]


@dataclass(frozen=True, eq=False)
class Cells:
    """Reports that answer all of some questions: `marked` counts them by what they show, an axis of marks per question.

    `places` are those of the sides among the questions of the combinations of `chances`.
    """

    sides: tuple[Side, ...]
    chances: LabelChances
    marked: Mapping[Levels, FloatArray]
    bounds: MixBounds | None
    places: tuple[int, ...]

    @classmethod
    def of(cls, sides: Sequence[Side], chances: LabelChances, counts: Counts, bounds: MixBounds | None) -> Cells:
        """Take the reports that came, and what is known of the mix of levels."""
        marked = {shown: own.marked.astype(np.float64) for shown, own in counts.items() if own.reports}
        return cls(tuple(sides), chances, marked, bounds, tuple(range(len(sides))))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of every question."""
        return tuple(side.size for side in self.sides)

    def only(self, kept: Sequence[int]) -> Cells:
        """Return the same reports without what they say of other questions."""
        index = tuple(slice(None) if axis in kept else -1 for axis in range(len(self.sides)))
        return replace(
            self,
            sides=tuple(self.sides[axis] for axis in kept),
            marked={shown: own[index] for shown, own in self.marked.items()},
            places=tuple(self.places[axis] for axis in kept),
        )

    def levels(self, axis: int) -> list[int]:
        """Return the level of a question in every combination."""
        return [levels[self.places[axis]] for levels in self.chances.combinations]

    @cached_property
    def _patterns(self) -> Patterns:
        found = cross_patterns([side.patterns.chosen(self.levels(axis)) for axis, side in enumerate(self.sides)])
        if not self.chances.visible:
            return found
        return replace(found, weights=np.stack([found.whole - found.weights[:, -1], found.weights[:, -1]], axis=1))

    def evidence(self, margins: FloatArray) -> Evidence:
        """Return the counts of patterns, given likely shares of fewer questions (an augmented table)."""
        chances, patterns = self.chances, self._patterns
        counts = np.zeros((len(chances.matrix), math.prod(self.shape), patterns.whole.shape[2]))
        for number, shown in enumerate(chances.combinations):
            if shown in self.marked:
                levels = [shown[place] for place in self.places]
                reads = [partial(side.read, level=level) for side, level in zip(self.sides, levels, strict=True)]
                counts[number] = _crossed(self.marked[shown], reads)
        known = () if self.bounds is None or self.bounds.nothing else (given_mix(self.bounds, chances.members),)
        likely = partial(self._states, margins, float(counts.sum(axis=(0, 2)).max()))
        return Evidence(
            counts, patterns, chances.matrix, chances.visible, exclusive=False, likely_states=likely, known=known
        )

    def _states(self, margins: FloatArray, reports: float, shares: FloatArray) -> FloatArray:
        """Return shares of states that could be true, none impossible: cells × states."""
        augmented, own = margins.copy(), np.clip(shares, 1 / reports, 1 - 1 / reports).reshape(self.shape)
        few = own
        for axis in range(own.ndim):  # a cell has no more people than it has without one of its questions
            few = np.minimum(few, np.expand_dims(inner(np.take(margins, -1, axis)), axis))
        inner(augmented)[...] = few
        states = self.states_of(augmented)
        rest, last = np.maximum(states[:, :-1], 0) + 1 / reports, own.reshape(-1, 1)
        return np.concatenate([rest / rest.sum(axis=1, keepdims=True) * (1 - last), last], axis=1)

    def states_of(self, augmented: FloatArray) -> FloatArray:
        """Return the shares of the states of every cell, cells × states, given an augmented table."""
        return _crossed(augmented, [side.states for side in self.sides])

    @property
    def noise(self) -> FloatArray:
        """The mean square of what a report counts for a cell, at every combination of levels."""
        parts = [side.noise[self.levels(axis)] for axis, side in enumerate(self.sides)]
        return np.asarray(np.prod(parts, axis=0))

    def decode(self, differ: float | None) -> tuple[Linear, FloatArray]:
        """Return the shares of all cells, and the augmented table of them and of fewer questions."""
        count = len(self.sides)
        decoded, likely = np.ones((2, *(size + 1 for size in self.shape)))
        for kept in (each for number in range(1, count + 1) for each in combinations(range(count), number)):
            part, place = self.only(kept), tuple(slice(None) if axis in kept else -1 for axis in range(count))
            own = tuple(slice(None, -1) if axis in kept else -1 for axis in range(count))
            linear = decode(part.evidence(likely[place]), differ)
            decoded[own] = linear.estimates.reshape(part.shape)
            likely[own] = np.clip(self.sides[kept[0]].margin.shares if len(kept) == 1 else decoded[own], 0, 1)
        return linear, decoded


def with_knots(cells: Cells) -> Cells:
    """Take as many knots as the reports of a table are worth: fewer where other answers are noisy."""
    sides, reports = list(cells.sides), [own.flat[-1] for own in cells.marked.values()]
    levels = zip(*cells.marked, strict=True)
    people = [np.bincount(own, reports, len(side.noise)) for own, side in zip(levels, sides, strict=True)]
    noise = [float(own.sum() / (own / side.noise).sum()) for own, side in zip(people, sides, strict=True)]
    for place, side in enumerate(sides):
        if isinstance(side, RangeSide):
            sides[place] = side.for_reports(np.maximum(people[place] * noise[place] / math.prod(noise), 1.0))
    return replace(cells, sides=tuple(sides))


def fit_variance(cells: Cells, linear: Linear, augmented: FloatArray) -> FloatArray:
    """Return what errors of fitted distributions of numbers add to the variance of every cell.

    An error δ moves "level τ, in range i" by ρ_τ·u_τi δ, and "not in range i" by as much the other way.
    """
    total, states = np.zeros(cells.shape), [side.patterns.states for side in cells.sides]
    missing = math.prod(states) - linear.weights.shape[2]  # states that count for nothing
    weights = np.pad(linear.weights, ((0, 0), (0, 0), (missing, 0))).reshape(*cells.shape, -1, *states)
    for place, side in enumerate(cells.sides):
        if isinstance(side, RangeSide):
            others = cells.only([axis for axis in range(len(cells.sides)) if axis != place])
            beside = others.states_of(np.clip(np.take(augmented, -1, axis=place), 0, 1))
            ends = np.moveaxis(weights, (place, len(cells.sides) + 1 + place), (0, -1))
            more = (ends[..., 1] - ends[..., 0]).reshape(side.size, len(beside), -1, beside.shape[1])
            levels = [cells.levels(place)[level] for level in linear.evidence.levels]
            moves = side.unfollowed[levels] @ side.root
            error = np.einsum("iolx,ox,l,lic->ioc", more, beside, linear.evidence.mix, moves, optimize=True)
            total += np.moveaxis((error**2).sum(axis=2).reshape(side.size, *others.shape), 0, place)
    return total


def bend_tests(cells: Cells, linear: Linear) -> dict[str, Homogeneity]:
    """Test, number by number, whether shares of other answers change in a straight line along it.

    With about twice as many knots the same reports make other, noisier shares. Where the assumption holds, the
    difference of both has the mean 0, and its variance is that of the difference of their ψ. The worst cell counts
    (Bonferroni).
    """
    tests, plain = {}, replace(cells, bounds=None)
    for place, side in enumerate(cells.sides):
        if isinstance(side, RangeSide):
            finer = replace(side, knots=2 * side.knots - 1)
            sides = (*cells.sides[:place], finer, *cells.sides[place + 1 :])
            own, other = (each.decode(linear.differ)[0] for each in (plain, replace(plain, sides=sides)))
            evidence = own.evidence
            apart = np.swapaxes(other.psi - own.psi, 0, 1).reshape(evidence.targets, -1)
            chances = evidence.expected(slice(0, evidence.targets), own.states, evidence.possible_mix)
            variance = (chances * apart**2).sum(axis=1) / own.reports
            statistic = (other.plain - own.plain) ** 2 / np.maximum(variance, np.finfo(np.float64).tiny)
            tests[side.margin.question] = Homogeneity.of(float(statistic.max()), 1, tests=statistic.size)
    return tests


def table_counts(tally: Tally, names: Pair) -> Counts:
    """Return the counts of questions by the levels (or labels) of each, in whatever order they were tallied together.

    There are none if they were not.
    """
    tallied, found = [own for own in tally.paired if sorted(own) == sorted(names)], {}
    chosen = names if names in tallied else (*tallied, names)[0]
    asked, order = [tally.survey.question(name) for name in names], [chosen.index(name) for name in names]
    for cell, counts in tally.pairs.items():
        if tuple(name for name, _ in cell) == chosen:
            levels = tuple(each.level_index[cell[place][1]] for each, place in zip(asked, order, strict=True))
            found[levels] = TableCounts(counts.marked.transpose(order))
    return found


def _crossed(table: FloatArray, steps: Sequence[Callable[[FloatArray], FloatArray]]) -> FloatArray:
    """Turn every axis in turn into two, values and what belongs to each, and return values × all that belongs."""
    for step in steps:
        found, rest = step(table.reshape(len(table), -1)), table.shape[1:]
        # The next axis comes first, values and what belongs to them last.
        table = np.moveaxis(found.reshape(*found.shape[:2], *rest), (0, 1), (-2, -1))
    order = [*range(0, table.ndim, 2), *range(1, table.ndim, 2)]
    return table.transpose(order).reshape(math.prod(table.shape[::2]), -1)


def nearest_table(decoded: FloatArray, margins: Sequence[Margin]) -> FloatArray:
    """Return the nearest possible shares: of each combination of items, those of a table of who has them or not."""
    axes = [[*zip(_own_values(margin), margin.alone(), strict=True)] for margin in margins]
    chosen, tables = list(product(*axes)), []
    for own in chosen:
        table = decoded
        for values, _ in own:
            table = np.tensordot(table, values, axes=(0, 1))  # the next axis comes first
        tables.append(table)
    sums = [np.array([margin.possible for _, margin in axis]) for axis in zip(*chosen, strict=True)]
    found = nearest_tables(np.array(tables), sums)
    kept = found[(slice(None), *(slice(None) if margin.exclusive else slice(1) for margin in margins))]
    every = kept.reshape(*map(len, axes), *kept.shape[1:])  # an axis has one table of all values, or one per item
    order = [place for axis in range(len(axes)) for place in (axis, axis + len(axes))]
    return every.transpose(order).reshape([len(margin.values) for margin in margins])


def _own_values(margin: Margin) -> list[FloatArray]:
    """Return the values of each of `margin.alone` as sums of those of the question and everybody: values × both."""
    units, everybody = np.split(np.eye(len(margin.values) + 1), [-1])
    return [units] if margin.exclusive else [np.stack([one, everybody[0] - one]) for one in units]
