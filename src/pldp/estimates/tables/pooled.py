"""Tables pooled over levels, shown or hidden: unbiased shares, their variances, and their covariance if asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product

import numpy as np

from pldp.estimates.options import Pool, Target
from pldp.estimates.rare import Rare
from pldp.estimates.result import Homogeneity, PersonWeights
from pldp.estimates.tables.axes import Axis, LabelAxis
from pldp.estimates.tables.groups import (
    TableGroup,
    along,
    homogeneity_test,
    inner,
    mean_products,
    precision_weights,
)
from pldp.mechanisms.arrays import FloatArray
from pldp.tallies import TableCounts

Pick = Callable[[Sequence[Axis]], Sequence[Axis]]
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

    def rare(self, margins: Sequence[FloatArray], target: Target) -> Rare | None:
        """Return the cells that few reports speak for, where that is known: of choices whose levels show."""
        del margins, target
        return None


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

    def _likely(self, margins: Sequence[FloatArray]) -> FloatArray:
        """Return an augmented table that could be true, with these shares of single questions."""
        likely = np.clip(self.decoded, 0, 1)
        for axis, own in enumerate(margins):
            place: list[int | slice] = [-1] * likely.ndim
            place[axis] = slice(None, -1)
            likely[tuple(place)] = np.clip(own, 0, 1)
        likely[(-1,) * likely.ndim] = 1
        return likely

    def variance(self, margins: Sequence[FloatArray]) -> FloatArray:
        likely = self._likely(margins)
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

    def rare(self, margins: Sequence[FloatArray], target: Target) -> Rare | None:
        if not all(isinstance(axis, LabelAxis) for each in self.groups for axis in each.axes):
            return None
        likely, count = self._likely(margins), len(self.groups)
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


Levels = tuple[int, ...]
"""Place of the level, or of the label, of each question."""


def label_chance(matrix: FloatArray, labels: Levels, levels: Levels) -> float:
    """Return how often a report shows these labels if these are the levels of its answers.

    A device draws one label for each level that it uses, whichever questions it is used for, so that several answers
    tell no more about it than one.
    """
    chance, drawn = 1.0, dict[int, int]()
    for label, level in zip(labels, levels, strict=True):
        if drawn.setdefault(level, label) != label:
            return 0.0
    for level, label in drawn.items():
        chance *= float(matrix[label, level])
    return chance


@dataclass(frozen=True, eq=False)
class HiddenTable(PooledTable):
    """Levels are hidden: reports show labels s of their levels τ, with probability Λ(s|τ).

    Λ⁻¹ makes unbiased counts of every combination of levels from those of labels, and the axes of these levels decode
    them: π̂_τ is unbiased for the share of people who have levels τ and are in a cell, whatever levels depend on, and
    ρ̂_τ for that of people who have these levels. The shares are

        f̂ = Σ_τ a_τ π̂_τ / Σ_τ a_τ ρ̂_τ,

    with a = 1 if pooled by size. By precision, a has the least mean variance; it assumes that people of all levels have
    the same table. One report (s, y) adds Σ_τ a_τ Λ⁻¹(τ, s)(w_τ(y) − f) to the error, whose mean square over the
    reports is the variance: it includes that of ρ̂.
    """

    axes: Sequence[Sequence[Axis]]  # question × level
    counts: Mapping[Levels, TableCounts]  # by label
    matrix: FloatArray  # Pr(label | level), label × level
    reports: int
    together: bool

    @classmethod
    def of(
        cls, axes: Sequence[Sequence[Axis]], counts: Mapping[Levels, TableCounts], matrix: FloatArray, pool: Pool
    ) -> HiddenTable:
        """Take the reports of every combination of labels."""
        some = {labels: own for labels, own in counts.items() if own.reports}
        return cls(axes, some, matrix, sum(own.reports for own in some.values()), pool == "precision")

    @cached_property
    def _labels(self) -> list[Levels]:
        return list(self.counts)

    @cached_property
    def _every(self) -> list[Levels]:
        return list(product(*(range(len(own)) for own in self.axes)))

    @cached_property
    def _chances(self) -> FloatArray:
        """Λ: labels × levels, all combinations."""
        every = self._every
        return np.array([[label_chance(self.matrix, labels, levels) for levels in every] for labels in every])

    @cached_property
    def _found(self) -> tuple[list[Levels], FloatArray]:
        """Combinations of levels that the labels that came say anything about, and Λ⁻¹ of both."""
        place = {levels: number for number, levels in enumerate(self._every)}
        inverse = np.asarray(np.linalg.inv(self._chances))[:, [place[labels] for labels in self._labels]]
        some = np.flatnonzero(np.abs(inverse).max(axis=1) > 1e-12)
        return [self._every[number] for number in some], inverse[some]

    @cached_property
    def _shares(self) -> FloatArray:
        """Shares of marks of all labels that came, labels first."""
        return np.array([self.counts[labels].marked for labels in self._labels]) / self.reports

    def _axes(self, levels: Levels) -> list[Axis]:
        return [own[level] for own, level in zip(self.axes, levels, strict=True)]

    @cached_property
    def _apart(self) -> FloatArray:
        """π̂_τ, augmented; the whole of all questions is ρ̂_τ."""
        levels, inverse = self._found
        mixed = np.tensordot(inverse, self._shares, 1)
        steps = ([axis.decode for axis in self._axes(own)] for own in levels)
        return np.array([along(own, step) for own, step in zip(mixed, steps, strict=True)])

    @cached_property
    def _mix(self) -> FloatArray:
        """ρ̂."""
        return np.asarray(self._apart.reshape(len(self._apart), -1)[:, -1])

    @cached_property
    def _spread(self) -> FloatArray:
        """Mean of (w_τ − f)(w_τ′ − f)·Λ⁻¹(τ, s)Λ⁻¹(τ′, s) over the reports, τ × τ′ × cells, at the shares by size."""
        levels, inverse = self._found
        f = inner(self._apart.sum(axis=0))
        found = np.empty((len(levels), len(levels), *f.shape))
        for one, own in enumerate(levels):
            for two in range(one + 1):
                marks = np.tensordot(inverse[one] * inverse[two], self._shares, 1)
                mine, theirs = self._axes(own), self._axes(levels[two])
                pairs = zip(mine, theirs, strict=True)
                crossed = [_with_whole(axis.crossed(other)) for axis, other in pairs]
                square = inner(along(marks, [own_step.__matmul__ for own_step in crossed]))
                singles = [inner(along(marks, [axis.decode for axis in each])) for each in (mine, theirs)]
                whole = float(marks.ravel()[-1])
                found[one, two] = found[two, one] = square - f * (singles[0] + singles[1]) + f**2 * whole
        return found

    @cached_property
    def _weights(self) -> FloatArray:
        """a: how much every combination of levels counts."""
        if not self.together:
            return np.ones(len(self._mix))
        cells = self._spread.reshape(len(self._mix), len(self._mix), -1).mean(axis=2)
        best = np.linalg.pinv(cells, hermitian=True) @ self._mix
        return np.asarray(best / (best @ self._mix))

    @cached_property
    def decoded(self) -> FloatArray:
        return np.asarray(np.tensordot(self._weights, self._apart, 1))

    def variance(self, margins: Sequence[FloatArray]) -> FloatArray:
        del margins
        noise = np.einsum("s,t,st...->...", self._weights, self._weights, self._spread) / self.reports
        axes = [self._axes(levels) for levels in self._found[0]]
        return np.asarray(noise + fit_variance(axes, self._weights * self._mix, self.decoded))

    def covariance(self, shares: FloatArray, pick: Pick) -> FloatArray:
        """Follow from the channels if these shares are true at all levels."""
        levels, inverse = self._found
        place = {own: number for number, own in enumerate(self._every)}
        labels = [place[own] for own in self._labels]
        chances = self._chances[np.ix_(labels, [place[own] for own in levels])] * np.clip(self._mix, 0, None)
        chances /= chances.sum()
        counted = self._weights[:, None] * inverse
        every = [list(pick(self._axes(own))) for own in levels]
        f, total = shares.ravel(), counted.sum(axis=0)
        found = np.outer(f, f) * float(chances.sum(axis=1) @ total**2)
        for true, own in zip(every, chances.T, strict=True):
            for one, first in zip(every, counted, strict=True):
                means = [a.decoder @ t.given[:, :, -1].T for a, t in zip(one, true, strict=True)]
                mixed = float((own * total) @ first) * np.outer(along(shares, [m.__matmul__ for m in means]), f)
                found -= mixed + mixed.T
                for two, second in zip(every, counted, strict=True):
                    axes = zip(one, two, true, strict=True)
                    moments = [a.decoder @ t.given @ b.decoder.T for a, b, t in axes]
                    found += float((own * first) @ second) * mean_products(shares, moments)
        return np.asarray((found + found.T) / 2 / self.reports)

    def homogeneity(self) -> Homogeneity | None:
        """Compare the shares by precision with those by size, cell by cell (Bonferroni).

        Only the former assume that people of all levels have the same table; both come from the same reports.
        """
        if not self.together:
            return None
        apart = self._weights - 1
        difference = inner(np.tensordot(apart, self._apart, 1))
        variance = np.einsum("s,t,st...->...", apart, apart, self._spread) / self.reports
        statistic = difference**2 / np.maximum(variance, 1e-300)
        return Homogeneity.of(float(statistic.max()), 1, tests=statistic.size)

    @property
    def manipulation(self) -> float:
        levels, inverse = self._found
        most = [reduce(float.__mul__, (float(axis.manipulation) for axis in self._axes(own))) for own in levels]
        return float((np.abs(self._weights[:, None] * inverse) * np.array(most)[:, None]).sum(axis=0).max())


def _with_whole(weights: FloatArray) -> FloatArray:
    """Keep the whole behind the indicators."""
    return np.concatenate([weights, np.eye(weights.shape[1])[-1:]])
