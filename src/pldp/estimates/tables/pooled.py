"""Tables pooled over levels that show: unbiased shares, their variances, and their covariance if asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pldp.estimates.options import Pool, Target
from pldp.estimates.rare import ENOUGH, Rare
from pldp.estimates.result import Homogeneity, PersonWeights
from pldp.estimates.tables.axes import Axis, CellAxis, LabelAxis
from pldp.estimates.tables.groups import (
    TableGroup,
    homogeneity_test,
    inner,
    precision_weights,
)
from pldp.mechanisms.arrays import FloatArray

Pick = Callable[[Sequence[Axis]], Sequence[CellAxis]]
"""From the axes of a table to those of a part of it: of single items."""


class PooledTable(ABC):
    """Unbiased shares of a table; `decoded` is augmented, `margins` are the shares of the questions on their own."""

    reports: int
    together: bool
    """Whether it assumes that people of all levels have the same table."""

    @cached_property
    @abstractmethod
    def decoded(self) -> FloatArray:
        """The shares, augmented."""

    def likely(self, margins: Sequence[FloatArray]) -> FloatArray:
        """Return an augmented table that could be true, with these shares of single questions."""
        likely = np.clip(self.decoded, 0, 1)
        for axis, own in enumerate(margins):
            place: list[int | slice] = [-1] * likely.ndim
            place[axis] = slice(None, -1)
            likely[tuple(place)] = np.clip(own, 0, 1)
        likely[(-1,) * likely.ndim] = 1
        return likely

    @abstractmethod
    def variance(self, margins: Sequence[FloatArray]) -> FloatArray:
        """Return the variance of every share."""

    @abstractmethod
    def covariance(self, shares: FloatArray, pick: Pick) -> FloatArray:
        """Return the covariance of the shares of a table of exclusive cells if these were true."""

    @property
    @abstractmethod
    def manipulation(self) -> float:
        """People that one forged report can count as."""

    @property
    def people(self) -> PersonWeights | None:
        """People of each combination of levels with the weight of one of them; `None` where levels are hidden."""
        return None

    def homogeneity(self) -> Homogeneity | None:
        """Test whether people of all levels have the same table; `None` where it cannot be tested."""
        return None

    @abstractmethod
    def unit(self) -> FloatArray:
        """Return by how much the variance of every share grows with the share itself: what one person counts."""

    def rare(self, margins: Sequence[FloatArray], variance: FloatArray, target: Target) -> Rare | None:
        """Return the cells of a population that few reports speak for, given the variances.

        The law of what reports count is not known in closed form. It is taken for that of a Poisson number of people
        in units of what one of them counts, with the same mean, variance and growth of the variance.
        """
        if target != "population":
            return None
        reports, unit = float(self.reports), self.unit().ravel()
        shares, likely = (inner(each).ravel() for each in (self.decoded, self.likely(margins)))
        # Reports that would seem to speak for a cell that nobody is in.
        nobody = np.maximum(variance.ravel() / unit - likely, 0.0) / unit
        places = np.flatnonzero(nobody < min(4 * ENOUGH, reports / 2))
        counted, absent = np.maximum(shares / unit + nobody, 0.0), nobody / reports
        present = np.minimum(absent + 1 / (unit * reports), 1.0)
        found = Rare.find(
            counted[None, places],
            np.full((1, len(places)), reports),
            absent[None, places],
            present[None, places],
            weights=np.ones((1, len(places))),
            sampled=1.0,
        )
        return Rare.joined([(places, found)])


@dataclass(frozen=True, eq=False)
class ShownTable(PooledTable):
    """Levels show: a group per combination of levels, weighted."""

    groups: Sequence[TableGroup]
    weights: FloatArray
    reports: int
    together: bool

    @classmethod
    def of(cls, groups: Sequence[TableGroup], pool: Pool) -> ShownTable:
        """Weigh by the number of reports, or by precision at first-round shares."""
        people = np.array([each.reports for each in groups])
        reports = int(people.sum())
        weights = people / reports if pool == "size" else precision_weights(groups, reports)
        return cls(groups, weights, reports, pool == "precision" and len(groups) > 1)

    @cached_property
    def _parts(self) -> list[tuple[TableGroup, float]]:
        return list(zip(self.groups, self.weights, strict=True))

    @cached_property
    def decoded(self) -> FloatArray:
        return np.asarray(np.sum([weight * each.decoded for each, weight in self._parts], axis=0))

    def variance(self, margins: Sequence[FloatArray]) -> FloatArray:
        likely = self.likely(margins)
        noise = np.sum([weight**2 * each.variance(likely) for each, weight in self._parts], axis=0)
        return np.asarray(noise + fit_variance([each.axes for each in self.groups], self.weights, likely))

    def covariance(self, shares: FloatArray, pick: Pick) -> FloatArray:
        parts = [weight**2 * each.covariance_at(shares, pick(each.axes)) for each, weight in self._parts]
        return np.asarray(np.sum(parts, axis=0))

    @property
    def manipulation(self) -> float:
        return max(weight * self.reports / each.reports * each.manipulation for each, weight in self._parts)

    @property
    def people(self) -> PersonWeights:
        people = np.array([each.reports for each in self.groups])
        return PersonWeights(people, (self.weights / people)[:, None])

    def homogeneity(self) -> Homogeneity | None:
        return homogeneity_test(self.groups, self.weights)

    def unit(self) -> FloatArray:
        parts = [weight**2 / each.reports * person_square(*[each.axes] * 3) for each, weight in self._parts]
        return np.asarray(np.sum(parts, axis=0))

    def rare(self, margins: Sequence[FloatArray], variance: FloatArray, target: Target) -> Rare | None:
        if not all(isinstance(axis, LabelAxis) for each in self.groups for axis in each.axes):
            return super().rare(margins, variance, target)
        likely, count = self.likely(margins), len(self.groups)
        people = np.array([float(each.reports) for each in self.groups])[:, None]
        chances = np.array([each.chances(likely) for each in self.groups]).reshape(count, 2, -1)
        supports = np.array([inner(each.counts.marked) for each in self.groups], np.float64).reshape(count, -1)
        alone = float((self.weights**2 / people[:, 0]).sum())
        return Rare.find(
            supports,
            np.broadcast_to(people, supports.shape),
            chances[:, 0],
            chances[:, 1],
            weights=np.broadcast_to(self.weights[:, None], supports.shape),
            sampled=1.0 if target == "population" else max(0.0, round(1 - 1 / (people.sum() * alone), 9)),
        )


def person_square(true: Sequence[Axis], one: Sequence[Axis], two: Sequence[Axis]) -> FloatArray:
    """Return the mean of w·w′ of every cell for people in it, by the axes of their level and of both weights."""
    table = np.ones(())
    for own, first, second in zip(true, one, two, strict=True):
        people = np.concatenate([np.eye(own.size), np.ones((1, own.size))])
        table = np.multiply.outer(table, (first.crossed(second) * own.expected(people).T).sum(axis=1))
    return table


def fit_variance(axes: Sequence[Sequence[Axis]], weights: FloatArray, likely: FloatArray) -> FloatArray:
    """Return what errors of fitted distributions of numbers add to the variance of every cell.

    `axes` are those of every combination of levels, which count so much; `likely` is the augmented table.
    """
    total = np.zeros([size - 1 for size in likely.shape])
    for place in range(likely.ndim):
        moves = [(weight, each[place].unexplained) for each, weight in zip(axes, weights, strict=True)]
        known = [weight * own for weight, own in moves if own is not None]
        if known:
            others = np.take(likely, -1, axis=place)[(slice(None, -1),) * (likely.ndim - 1)]
            own = (np.sum(known, axis=0) ** 2).sum(axis=1)
            total += np.moveaxis(np.multiply.outer(own, others**2), 0, place)
    return total
