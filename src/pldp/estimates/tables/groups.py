"""Reports of one combination of levels with the axes of their questions, and how combinations are pooled.

Tables of shares are *augmented*: an axis of k indicators has k + 1 places, the last of which, the whole, stands for
everybody, so that one array holds the shares of all combinations of fewer questions as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from pldp.estimates.agreement import shifts, stricter_half, values_to_test, vector_test
from pldp.estimates.consistency import norm_sub
from pldp.estimates.result import Homogeneity
from pldp.estimates.shares.pooling import ENOUGH_SUPPORT, add_reports
from pldp.estimates.tables.axes import Axis, CellAxis, LabelAxis
from pldp.mechanisms.arrays import FloatArray, IntArray, LabelArrays, label_arrays
from pldp.tallies import TableCounts, Tally

ENOUGH_PAIRS: Final = 4 * ENOUGH_SUPPORT
"""Reports that chance alone must give each pair for the test: products of two supports have longer tails than one."""

LARGEST_PRODUCTS: Final = 1 << 24
"""Products (values × tested pairs²) that the test of a table holds at most; fewer pairs are tested where it is more."""

Step = Callable[[FloatArray], FloatArray]
Table = TypeVar("Table", FloatArray, IntArray)


def along(table: FloatArray, steps: Sequence[Step]) -> FloatArray:
    """Apply a step to every axis in turn; a step takes and returns arrays with that axis first."""
    for axis, step in enumerate(steps):
        first = table.swapaxes(0, axis)
        found = step(first.reshape(len(first), -1))
        table = found.reshape(len(found), *first.shape[1:]).swapaxes(0, axis)
    return table


def inner(table: Table) -> Table:
    """Return the numbers of an augmented table that are about all questions."""
    return table[(slice(None, -1),) * table.ndim]


def augment(shares: FloatArray) -> FloatArray:
    """Add the sums of every axis: right where every person has exactly one indicator of each question."""
    for axis in range(shares.ndim):
        shares = np.concatenate([shares, shares.sum(axis=axis, keepdims=True)], axis=axis)
    return shares


def independent(margins: Sequence[FloatArray]) -> FloatArray:
    """Return the augmented table of questions that have nothing to do with each other."""
    return reduce(np.multiply.outer, [np.append(own, 1.0) for own in margins])


@dataclass(frozen=True, eq=False)
class TableGroup:
    """Reports of one combination of levels, with an axis per question."""

    axes: tuple[Axis, ...]
    counts: TableCounts

    @property
    def exclusive(self) -> bool:
        """Whether every person is in exactly one cell."""
        return all(axis.exclusive for axis in self.axes)

    @property
    def reports(self) -> int:
        """Number of reports."""
        return self.counts.reports

    @cached_property
    def decoded(self) -> FloatArray:
        """The unbiased shares, augmented."""
        return along(self.counts.marked / self.reports, [axis.decode for axis in self.axes])

    def shares(self) -> FloatArray:
        """Return the unbiased share of every cell."""
        return inner(self.decoded)

    def variance(self, likely: FloatArray) -> FloatArray:
        """Return the variance of the unbiased shares if this augmented table were true."""
        expected = along(likely, [axis.expected for axis in self.axes])
        squares = along(expected, [axis.squares for axis in self.axes])
        return np.asarray((inner(squares) - inner(likely) ** 2) / self.reports)

    def covariance_at(self, shares: FloatArray, axes: Sequence[CellAxis] | None = None) -> FloatArray:
        """Return the covariance of the shares of exclusive cells, all of them, if these (not augmented) were true.

        Given the true values, answers are independent: the mean of a product of weights is that of single questions.
        """
        cells = [axis.cells(None) for axis in self.axes] if axes is None else axes
        moments = [axis.decoder @ axis.given @ axis.decoder.T for axis in cells]
        return (mean_products(shares, moments) - np.outer(shares, shares)) / self.reports

    def chances(self, likely: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how often a report of choices supports all values of a cell, for people not in it, and in it.

        The former may have some of them: the augmented table tells how many.
        """
        shares = inner(likely)
        for axis in range(likely.ndim):
            shares = np.minimum(shares, inner(np.repeat(likely.take([-1], axis=axis), likely.shape[axis], axis=axis)))
        augmented = likely.copy()
        augmented[(slice(None, -1),) * likely.ndim] = shares
        both = inner(along(augmented, [axis.expected for axis in self.axes]))
        tops = [axis.form.support_range().high for axis in self.axes if isinstance(axis, LabelAxis)]
        present = reduce(np.multiply.outer, tops)
        absent = (both - shares * present) / np.maximum(1 - shares, 1 / self.reports)
        return np.clip(absent, 0, present), present

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as: all its answers can be forged."""
        return math.prod(axis.manipulation for axis in self.axes)

    @property
    def equal(self) -> FloatArray:
        """The augmented table to weigh levels by before anything is known."""
        return independent([axis.equal for axis in self.axes])


def mean_products(shares: FloatArray, moments: Sequence[FloatArray]) -> FloatArray:
    """Return the mean of the product of any two cells' weights, cells × cells.

    `moments` are, for every question, the mean products of two indicators' weights given the true one (first axis).
    """
    found = shares
    for own in moments:
        found = np.tensordot(found, own, axes=([0], [0]))  # the next question comes first, products behind
    order = [*range(0, 2 * len(moments), 2), *range(1, 2 * len(moments), 2)]
    return np.asarray(found.transpose(order).reshape(shares.size, shares.size))


@dataclass(frozen=True, eq=False)
class PairGroup(TableGroup):
    """Reports of one pair of levels of two choices of one label."""

    @classmethod
    def of(cls, forms: Sequence[LabelArrays], counts: TableCounts) -> PairGroup:
        """Take the array forms of both channels."""
        return cls(tuple(LabelAxis(form) for form in forms), counts)

    @property
    def forms(self) -> tuple[LabelArrays, ...]:
        """The array forms of both channels."""
        return tuple(axis.form for axis in self.axes if isinstance(axis, LabelAxis))

    @property
    def margins(self) -> tuple[IntArray, IntArray]:
        """How many reports support each value of the first question, and of the second."""
        return self.counts.marked[:-1, -1], self.counts.marked[-1, :-1]

    def turned(self) -> PairGroup:
        """Return the same with the second question first."""
        return PairGroup(self.axes[::-1], TableCounts(self.counts.marked.T))

    @property
    def mean_variance(self) -> float:
        """The mean variance of the shares of one report at equal shares."""
        return float(self.variance(self.equal).mean() * self.reports)

    def has_enough_support(self) -> bool:
        """Tell whether chance alone gives every pair enough supporting reports for a normal approximation."""
        first, second = (form.chance_support() for form in self.forms)
        by_chance = self.reports * np.outer(first, second)
        return bool(np.where(by_chance > 0, by_chance, inner(self.counts.marked)).min() >= ENOUGH_PAIRS)

    def covariance(self, shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
        """Return the covariance of the unbiased shares of chosen pairs (row by row) if these shares were true.

        Given both values x and y, answers are independent: the mean of a product of four unbiased supports is
        Σ_xy f_xy S(x)_ii' T(y)_jj', where S(x) = Cov(x) + e_x e_xᵀ are those of one answer.
        """
        places = np.unravel_index(chosen, shares.shape)
        first, second = map(_products, self.forms, places)
        means = np.einsum("xab,xab->ab", first, np.tensordot(shares, second, axes=1))
        expected = shares.ravel()[chosen]
        return np.asarray((means - np.outer(expected, expected)) / self.reports)


def _products(form: LabelArrays, places: npt.NDArray[np.intp]) -> FloatArray:
    """Return the mean product of the unbiased supports of any two places, given each value (first axis)."""
    some, back = np.unique(places, return_inverse=True)
    units = np.eye(form.channel.size)
    found = [form.covariance(unit, some) + np.outer(unit[some], unit[some]) for unit in units]
    return np.array(found)[:, back[:, None], back]


def homogeneity_test(groups: Sequence[TableGroup], weights: FloatArray) -> Homogeneity | None:
    """Test whether people of all combinations of levels have the same table."""
    pairs = [each for each in groups if isinstance(each, PairGroup)]
    return _vector_test(pairs) if len(pairs) == len(groups) else _worst_cell(groups, weights)


def _vector_test(groups: Sequence[PairGroup]) -> Homogeneity | None:
    """Test two choices of one label as `pldp.estimates.shares` does for shares."""
    tested = [each for each in groups if each.has_enough_support()]
    if len(tested) < 2:
        return None
    people = np.array([each.reports for each in tested])
    reports, own = int(people.sum()), [each.shares() for each in tested]
    shape, weights = own[0].shape, precision_weights(tested, reports)
    pooled = np.average(own, axis=0, weights=weights)
    feasible = norm_sub(pooled.ravel()).reshape(shape)
    parts = zip(tested, weights, strict=True)
    variance = np.sum([w**2 * each.variance(augment(feasible)) for each, w in parts], axis=0)
    most = math.isqrt(LARGEST_PRODUCTS // max(shape))
    chosen = values_to_test(pooled.ravel(), np.sqrt(variance.ravel()))[:most]
    precisions = [np.asarray(np.linalg.inv(each.covariance(feasible, chosen))) for each in tested]
    stricter = stricter_half([each.mean_variance for each in tested], people)
    moves = shifts(add_reports(pooled.ravel(), reports), chosen)
    return vector_test(precisions, [each.ravel()[chosen] for each in own], stricter, moves)


def _worst_cell(groups: Sequence[TableGroup], weights: FloatArray) -> Homogeneity | None:
    """Test every cell on its own and take the worst (Bonferroni): of other kinds only the cells' variances are known.

    Combinations of few reports have no normal shares and are left out.
    """
    tested = [(each, w) for each, w in zip(groups, weights, strict=True) if each.reports >= ENOUGH_REPORTS]
    if len(tested) < 2:
        return None
    likely = np.clip(np.average([each.decoded for each, _ in tested], axis=0, weights=[w for _, w in tested]), 0, 1)
    own = np.array([each.shares() for each, _ in tested])
    precision = 1 / np.array([each.variance(likely) for each, _ in tested])
    mean = (precision * own).sum(axis=0) / precision.sum(axis=0)
    statistic = (precision * (own - mean) ** 2).sum(axis=0)
    return Homogeneity.of(float(statistic.max()), len(tested) - 1, tests=statistic.size)


ENOUGH_REPORTS: Final = 500
"""Reports of a combination of levels that the test of single cells needs."""


def precision_weights(groups: Sequence[TableGroup], reports: int) -> FloatArray:
    """Return weights of least variance at first-round shares, which are pooled by the weights of equal shares."""
    weights = _weights_at(groups, groups[0].equal)
    parts = list(zip(groups, weights, strict=True))
    if groups[0].exclusive:
        first = np.sum([weight * each.shares() for each, weight in parts], axis=0)
        return _weights_at(groups, augment(add_reports(first.ravel(), reports).reshape(first.shape)))
    pooled = np.sum([weight * each.decoded for each, weight in parts], axis=0)
    return _weights_at(groups, np.clip(pooled, 1 / reports, 1))


def _weights_at(groups: Sequence[TableGroup], likely: FloatArray) -> FloatArray:
    """Return weights ∝ 1/mean variance of a cell if this augmented table were true."""
    precision = np.array([1 / each.variance(likely).mean() for each in groups])
    return np.asarray(precision / precision.sum())


def pair_groups(tally: Tally, *names: str) -> list[PairGroup]:
    """Return the reports of every pair of levels of two choices, in the order in which they were tallied."""
    asked = [tally.survey.question(name) for name in names]
    groups = []
    for cell, counts in tally.pairs.items():
        if tuple(name for name, _ in cell) == names and counts.reports:
            levels = (level for _, level in cell)
            channels = [each.channels[each.level_index[level]] for each, level in zip(asked, levels, strict=True)]
            groups.append(PairGroup.of([label_arrays(channel) for channel in channels], counts))
    return groups
