"""Supports of sets of items from perturbed patterns: inversion item by item, variances, pooling over groups.

Item i has p_i = Pr(1|present) and q_i = Pr(1|absent). The report's bit y turns into the weight
w_i(y) = (y − q_i)/(p_i − q_i), whose mean is 1 for a present and 0 for an absent item. Items are perturbed
independently, so the mean over reports of Π_i w_i(y_i) is the support of a set, without bias: this is the inverse of
the Kronecker product of the items' 2 × 2 channels, applied one factor at a time to the counts of the 2^m patterns. The
second moment needs the same contraction with w² in the place of w.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.options import Pool, Target, check_pooling
from pldp.estimates.result import Homogeneity
from pldp.mechanisms import ItemSet
from pldp.mechanisms.arrays import ByteArray, FloatArray, IntArray, SetArrays
from pldp.records import Record
from pldp.tallies import Columns, ItemColumns

Arrays = Sequence[npt.NDArray[Any]]
Places = Sequence[int]


@dataclass(frozen=True, eq=False, repr=False)
class ItemGroup(Record):
    """People who used one channel, and how many they are."""

    channel: ItemSet
    reports: int

    @cached_property
    def arrays(self) -> SetArrays:
        """The array form of the channel."""
        return SetArrays(self.channel)

    def moment(self, sets: IntArray, patterns: npt.NDArray[Any], powers: Sequence[int]) -> FloatArray:
        """Return the mean over reports of Π_j w_j^power_j for each set; powers are those of the set's items."""
        table = patterns / self.reports
        for item in reversed(range(len(powers))):
            weights = self.arrays.bit_weights[sets[:, item]] ** powers[item]
            half = table.shape[1] // 2
            table = weights[:, :1] * table[:, :half] + weights[:, 1:] * table[:, half:]
        return np.asarray(table[:, 0])

    def expected_variance(self, sets: IntArray, item_supports: FloatArray, target: Target) -> FloatArray:
        """Return the variance of the support of each set, were items independent with the given supports."""
        squares = self.arrays.second_moment(item_supports)
        support = item_supports[sets].prod(axis=1)
        known = support**2 if target == "population" else support
        return np.asarray(np.maximum(squares[sets].prod(axis=1) - known, 0) / self.reports)


@dataclass(frozen=True, eq=False, repr=False)
class ItemGroups(Record):
    """All groups of people, and how they are put together.

    Weights by `precision` are inverse variances at the pooled supports of the items, items taken as independent, so
    that a set's weights hardly depend on its own noise. `own_supports` are unbiased, of every item (columns) in every
    group (rows); `columns` are the reports of each group, for counting: no estimate from counts needs them.
    """

    groups: tuple[ItemGroup, ...]
    pool: Pool
    target: Target
    own_supports: FloatArray
    columns: tuple[Columns, ...]

    @classmethod
    def of(
        cls, groups: Sequence[tuple[ItemSet, ByteArray | Columns]], size: int, pool: Pool, target: Target
    ) -> ItemGroups:
        """Pair channels with columns; groups without reports are left out."""
        check_pooling(pool, target)
        for channel, _ in groups:
            if channel.size != size:
                raise EstimateError(f"items must be as many as the channel has bits ({channel.size}), not {size}")
        every = [ItemColumns.of_rows(rows, size) if isinstance(rows, np.ndarray) else rows for _, rows in groups]
        pairs = zip((channel for channel, _ in groups), every, strict=True)
        made = tuple(ItemGroup(channel, own.reports) for channel, own in pairs if own.reports)
        if not made:
            raise EstimateError("groups must hold at least one report, not none")
        columns = tuple(own for own in every if own.reports)
        singles = np.arange(size)[:, None]
        ones = [own.joint_counts(singles) for own in columns]
        counts = [np.stack([own.reports - one, one], axis=1) for own, one in zip(made, ones, strict=True)]
        supports = [own.moment(singles, count, [1]) for own, count in zip(made, counts, strict=True)]
        return cls(made, pool, target, np.array(supports), columns)

    @cached_property
    def reports(self) -> int:
        """Number of reports of all groups."""
        return sum(group.reports for group in self.groups)

    @cached_property
    def sizes(self) -> FloatArray:
        """Share of each group in the reports."""
        return np.array([group.reports / self.reports for group in self.groups])

    @cached_property
    def item_supports(self) -> FloatArray:
        """Supports of all items pooled by size, within 1/n and 1 − 1/n: what expected variances are computed at."""
        return np.clip(self.sizes @ self.own_supports, 1 / self.reports, 1 - 1 / self.reports)

    @cached_property
    def growth(self) -> float:
        """The least factor, at most 1, by which one more item changes an expected standard error."""
        least = min(group.arrays.second_moment(self.item_supports).min() for group in self.groups)
        return min(1.0, float(np.sqrt(least)))

    def weights(self, sets: IntArray) -> FloatArray:
        """Return the weight of every group (rows) in the support of every set; they sum to 1 over the groups."""
        if self.pool == "size" or len(self.groups) == 1:
            return np.repeat(self.sizes[:, None], len(sets), axis=1)
        precisions = self._precisions(sets)
        return np.asarray(precisions / np.sum(precisions, axis=0))

    def _precisions(self, sets: IntArray) -> FloatArray:
        return np.array([1 / own.expected_variance(sets, self.item_supports, "population") for own in self.groups])

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as in an item's support: the largest weight·n/n_g·(1−q)/(p−q)."""
        weights = self.weights(np.arange(self.groups[0].channel.size)[:, None])
        ones = np.array([group.arrays.bit_weights[:, 1] for group in self.groups])
        return float((weights / self.sizes[:, None] * ones).max())

    def expected_error(self, sets: IntArray) -> FloatArray:
        """Return the standard error to expect for each set before it is counted, items taken as independent."""
        parts = [group.expected_variance(sets, self.item_supports, self.target) for group in self.groups]
        return np.asarray(np.sqrt(np.sum(self.weights(sets) ** 2 * parts, axis=0)))

    def estimate(self, sets: IntArray, patterns: Arrays) -> tuple[FloatArray, FloatArray]:
        """Return supports and standard errors of sets of one size from the groups' pattern counts."""
        weights, every = self.weights(sets), range(sets.shape[1])
        support = self.mean(weights, sets, patterns, [1 for _ in every])
        variance = self.covariance(weights, sets, patterns, every, every, (support, support, support))
        return support, np.sqrt(np.maximum(variance, 0))

    def mean(self, weights: FloatArray, sets: IntArray, patterns: Arrays, powers: Places) -> FloatArray:
        """Return the pooled mean of Π w^power."""
        parts = [group.moment(sets, own, powers) for group, own in zip(self.groups, patterns, strict=True)]
        return np.asarray(np.sum(weights * parts, axis=0))

    def covariance(
        self, weights: FloatArray, sets: IntArray, patterns: Arrays, one: Places, two: Places, pooled: Arrays
    ) -> FloatArray:
        """Return the covariance of the supports of two parts of each set (places of their items).

        For a sample of the population a group's covariance is (mean of w_one·w_two − f_one·f_two)/n. For the
        respondents themselves f of the union takes the place of the product, as only the perturbation is random. Where
        groups are pooled by precision, who of the respondents is in which group is random as well: that adds
        Cov(one, two)·(Σ weight²/n_g − 1/n). `pooled` are the pooled supports of one, of two and of their union.
        """
        every = range(sets.shape[1])
        in_one, in_two = ([int(place in part) for place in every] for part in (one, two))
        both = [first + second for first, second in zip(in_one, in_two, strict=True)]
        total = np.zeros(len(sets))
        for group, own, weight in zip(self.groups, patterns, weights, strict=True):
            product = group.moment(sets, own, both)
            if self.target == "respondents":
                known = group.moment(sets, own, [min(power, 1) for power in both])
            else:
                known = group.moment(sets, own, in_one) * group.moment(sets, own, in_two)
            total += weight**2 * (product - known) / group.reports
        if self.target == "respondents" and self.pool == "precision" and len(self.groups) > 1:
            first, second, union = (np.clip(support, 0, 1) for support in pooled)
            sizes = np.array([group.reports for group in self.groups])[:, None]
            total += (union - first * second) * ((weights**2 / sizes).sum(axis=0) - 1 / self.reports)
        return total

    def homogeneity(self) -> Homogeneity | None:
        """Test whether every item has the same support in all groups: the worst item, times the number of items.

        Per item Σ_g (f_g − f̄)²/V_g is referred to χ² with one degree less than groups; Bonferroni's correction holds
        whatever the items have to do with each other.
        """
        if len(self.groups) < 2:
            return None
        shares = self.own_supports
        singles = np.arange(shares.shape[1])[:, None]
        precisions = self._precisions(singles)
        mean = (precisions * shares).sum(axis=0) / precisions.sum(axis=0)
        statistics = (precisions * (shares - mean) ** 2).sum(axis=0)
        return Homogeneity.of(float(statistics.max()), len(self.groups) - 1, len(singles))
