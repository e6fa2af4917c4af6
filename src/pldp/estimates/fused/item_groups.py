"""Reports of sets from several services, put together: who was drawn is common to the services that a person gave to.

The reports of people of one subset (`Subsets`) through one source are a group. Groups of the same people share who was
drawn: for two parts A and B of a set, the supports of groups g ≠ h of one subset have the covariance

    (f_{A ∪ B} − f_A f_B) / n,

and those of different subsets none. The rest is as for levels: unbiased weights, pooled by precision or by size.

In `FusedFree` some services hide levels, which may depend on anything. Their reports count as in `FreeGroups`, with the
mean 1 for people who have all items and 0 for others at *every* level. So the covariance above holds there too, even
if the levels of a person at several services go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pldp.estimates.options import Target
from pldp.estimates.result import Homogeneity
from pldp.estimates.sets.groups import Arrays, ItemGroup, ItemGroups, Places
from pldp.estimates.sets.hidden import FreeGroups
from pldp.mechanisms.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class FusedGroups(ItemGroups):
    """Groups of reports, some of the same people: `subset` says of which, `people` how many each subset has."""

    subset: npt.NDArray[np.intp] = field(kw_only=True)
    people: IntArray = field(kw_only=True)

    @cached_property
    def reports(self) -> int:
        """Number of people."""
        return int(self.people.sum())

    @cached_property
    def sizes(self) -> FloatArray:
        """Share of each group, were every report of a person worth the same."""
        several = np.bincount(self.subset)[self.subset]
        return np.asarray(self.people[self.subset] / self.reports / several)

    def weights(self, sets: IntArray) -> FloatArray:
        """Return the weight of every group in the support of every set; by size, subsets weigh what their people do."""
        if len(self.groups) == 1:
            return np.ones((1, len(sets)))
        precisions = self._precisions(self.item_supports, sets)
        if self.pool == "size":
            return self._by_size(precisions)
        total = precisions.sum(axis=0)
        return np.asarray(np.where(total > 0, precisions / np.maximum(total, 1e-300), self.sizes[:, None]))

    def _by_size(self, precisions: FloatArray) -> FloatArray:
        """Return weights by precision within subsets that weigh what their people do."""
        within = np.zeros_like(precisions)
        for place, people in enumerate(self.people):
            own = self.subset == place
            total = precisions[own].sum(axis=0)
            share = np.where(total > 0, precisions[own] / np.maximum(total, 1e-300), 1 / max(own.sum(), 1))
            within[own] = share * people / self.reports
        return within

    def _common(self, weights: FloatArray) -> FloatArray:
        """Return Σ over pairs of different groups of one subset of w_g w_h / n."""
        total = np.zeros(weights.shape[1])
        for place, people in enumerate(self.people):
            own = weights[self.subset == place]
            total += (own.sum(axis=0) ** 2 - (own**2).sum(axis=0)) / people
        return total

    def drawn(self, sets: IntArray, patterns: Arrays) -> FloatArray:
        """Return how many times f(1 − f) drawing people adds to the variance of each set."""
        return np.asarray(super().drawn(sets, patterns) + self._common(self.told_weights(sets, patterns)))

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as in an item's support, where it does most harm."""
        weights = self.weights(np.arange(self.groups[0].channel.size)[:, None])
        forged = np.array([group.arrays.forged / group.reports for group in self.groups])
        return float((weights * forged).max() * self.reports)

    def expected_error(self, sets: IntArray) -> FloatArray:
        """Return the error to expect: that of independent groups, and what drawing the same people adds."""
        apart = super().expected_error(sets)
        if self.target == "respondents":
            return apart
        support = self.item_supports[sets].prod(axis=1)
        return np.asarray(np.sqrt(apart**2 + self._common(self.weights(sets)) * support * (1 - support)))

    def _of_drawing(self, weights: FloatArray, pooled: Arrays) -> FloatArray:
        """Return what drawing the same people adds to a covariance; see the module.

        For respondents only noise is random, and who of them is in which subset where these are taken to be alike.
        """
        f_one, f_two, union = (np.clip(support, 0, 1) for support in pooled)
        drawn = np.maximum(union - f_one * f_two, 0)
        if self.target == "population":
            return np.asarray(self._common(weights) * drawn)
        if self.pool == "size":
            return np.zeros(weights.shape[1])
        of_subset = np.array([weights[self.subset == place].sum(axis=0) for place in range(len(self.people))])
        return np.asarray(drawn * ((of_subset**2 / self.people[:, None]).sum(axis=0) - 1 / self.reports))

    def homogeneity(self) -> Homogeneity | None:
        """Test whether all subsets have the same supports, each by its most precise source: such groups are apart."""
        if len(self.people) < 2:
            return None
        singles = np.arange(self.groups[0].channel.size)[:, None]
        precision = self._precisions(self.item_supports, singles).mean(axis=1)
        best = [
            max(np.flatnonzero(self.subset == place), key=lambda group: float(precision[group]))
            for place in range(len(self.people))
        ]
        chosen = tuple(self.groups[group] for group in best)
        return ItemGroups(chosen, "precision", self.target, self.own_supports[best], ()).homogeneity()


@dataclass(frozen=True, eq=False, repr=False)
class _FreeBlock(ItemGroup):
    """People of one subset who gave to a service that hides levels."""

    free: FreeGroups

    def expected_variance(self, sets: IntArray, item_supports: FloatArray, target: Target) -> FloatArray:
        """Return the variance of the support of each set, were items independent with the given supports."""
        alike = np.tile(item_supports, (len(self.free.groups), 1))
        return np.asarray(replace(self.free, own_supports=alike, target=target).expected_error(sets) ** 2)

    def tails(self, supports: FloatArray) -> FloatArray:
        """Return the third central moment over the variance of each item's support."""
        singles, moments = np.arange(len(supports))[:, None], np.zeros((2, len(supports)))
        for group, size in zip(self.free.groups, self.free.sizes, strict=True):
            apart = group.arrays.pattern_weights(singles, 1) - supports[:, None]
            chances = size * group.arrays.pattern_chances(singles, supports)
            moments += [(chances * apart**power).sum(axis=1) for power in (2, 3)]
        return np.asarray(moments[1] / np.maximum(moments[0], 1e-300) / (self.reports * self.arrays.telling(1)))


@dataclass(frozen=True, eq=False, repr=False)
class FusedFree(FusedGroups):
    """Groups whose numbers hold whatever levels depend on: `blocks` are people of one subset and source each.

    A block of a service that hides levels has a group for every label. `subset` is that of every block.
    """

    blocks: tuple[ItemGroups, ...] = field(kw_only=True)

    @classmethod
    def of_blocks(cls, blocks: Sequence[ItemGroups], subset: Sequence[int], people: IntArray, target: Target) -> Self:
        """Put the blocks together."""
        groups = tuple(group for block in blocks for group in block.groups)
        columns = tuple(own for block in blocks for own in block.columns)
        bare = tuple(replace(block, columns=()) for block in blocks)
        about: dict[str, Any] = {"blocks": bare, "subset": np.array(subset, np.intp), "people": people}
        return cls.together(groups, columns, "size", target, **about)

    @cached_property
    def of_group(self) -> npt.NDArray[np.intp]:
        """The block of every group."""
        return np.repeat(np.arange(len(self.blocks)), [len(block.groups) for block in self.blocks])

    @cached_property
    def _made(self) -> tuple[ItemGroup, ...]:
        """Every block as one group."""
        return tuple(
            _FreeBlock(block.groups[0].channel, block.reports, block)
            if isinstance(block, FreeGroups)
            else block.groups[0]
            for block in self.blocks
        )

    @cached_property
    def _within(self) -> FloatArray:
        """The share of every group in its block."""
        return np.concatenate([block.sizes for block in self.blocks])

    @cached_property
    def sizes(self) -> FloatArray:
        """Share of each group, were every report of a person worth the same."""
        several = np.bincount(self.subset)[self.subset]
        return np.asarray((self.people[self.subset] / self.reports / several)[self.of_group] * self._within)

    def block_weights(self, sets: IntArray) -> FloatArray:
        """Return the weight of every block in the support of every set."""
        supports = self.item_supports
        return self._by_size(np.array([1 / own.expected_variance(sets, supports, "population") for own in self._made]))

    def weights(self, sets: IntArray) -> FloatArray:
        """Return the weight of every group in the support of every set."""
        return np.asarray(self.block_weights(sets)[self.of_group] * self._within[:, None])

    def _parts(self, rows: Any) -> list[Any]:
        """Return what belongs to the groups of every block."""
        ends = np.cumsum([0, *(len(block.groups) for block in self.blocks)]).tolist()
        return [rows[start:end] for start, end in pairwise(ends)]

    def estimate(self, sets: IntArray, patterns: Arrays) -> tuple[FloatArray, FloatArray]:
        """Return supports and standard errors of sets of one size; a block that tells nothing does not count."""
        each = [block.estimate(sets, own) for block, own in zip(self.blocks, self._parts(patterns), strict=True)]
        own, errors = (np.array(both) for both in zip(*each, strict=True))
        told = np.isfinite(errors)
        weights = self.block_weights(sets) * told
        weights /= np.maximum(weights.sum(axis=0), 1e-300)
        support = (weights * np.where(told, own, 0)).sum(axis=0)
        variance = (weights**2 * np.where(told, errors, 0) ** 2).sum(axis=0)
        variance += self._of_drawing(weights, (support, support, support))
        untold = ~told.any(axis=0)
        support[untold], variance[untold] = np.nan, np.inf
        return support, np.sqrt(np.maximum(variance, 0))

    def covariance(
        self, weights: FloatArray, sets: IntArray, patterns: Arrays, one: Places, two: Places, pooled: Arrays
    ) -> FloatArray:
        """Return the covariance of the supports of two parts of each set."""
        of_block = np.array([own.sum(axis=0) for own in self._parts(weights)])
        total, union = self._of_drawing(of_block, pooled), sorted({*one, *two})
        parts = zip(self.blocks, of_block, self._parts(weights), self._parts(patterns), strict=True)
        for block, weight, within, own in parts:
            inside = within / np.where(weight == 0, 1, weight)
            supports = [block.mean(inside, sets, own, part) for part in (one, two, union)]
            total = total + weight**2 * block.covariance(inside, sets, own, one, two, supports)
        return np.asarray(total)

    def expected_error(self, sets: IntArray) -> FloatArray:
        """Return the standard error to expect for each set before it is counted, items taken as independent."""
        weights, supports = self.block_weights(sets), self.item_supports
        parts = np.array([own.expected_variance(sets, supports, self.target) for own in self._made])
        variance = np.where(weights > 0, weights**2 * parts, 0).sum(axis=0)
        if self.target == "population":
            support = supports[sets].prod(axis=1)
            variance += self._common(weights) * support * (1 - support)
        return np.asarray(np.sqrt(np.where(np.isfinite(parts).any(axis=0), variance, np.inf)))

    def drawn(self, sets: IntArray, patterns: Arrays) -> FloatArray:
        """Return how many times f(1 − f) drawing people adds to the variance of each set."""
        return np.asarray(ItemGroups.drawn(self, sets, patterns) + self._common(self.block_weights(sets)))

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as in an item's support."""
        singles = np.arange(self.groups[0].channel.size)[:, None]
        each = self.block_weights(singles) / np.array([[block.reports] for block in self.blocks])
        forged = np.array([block.manipulation for block in self.blocks])
        return float(self.reports * (each * forged[:, None]).max())

    def rare(self, sets: IntArray, patterns: Arrays) -> None:
        """No set is one that few reports speak for: by its label every report counts, whether it shows a set or not."""

    def homogeneity(self) -> Homogeneity | None:
        """Test whether all subsets have the same supports, each by its most precise source."""
        supports = np.array([block.sizes @ block.own_supports for block in self.blocks])
        alone = FusedGroups(self._made, "precision", self.target, supports, (), subset=self.subset, people=self.people)
        return alone.homogeneity()
