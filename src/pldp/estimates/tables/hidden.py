"""Tables whose levels are hidden: reports show labels, and what is known of the mix of levels counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import product
from typing import NamedTuple

import numpy as np

from pldp.estimates.mix import LevelMix
from pldp.estimates.mix_bounds import MixBounds
from pldp.estimates.options import Pool
from pldp.estimates.result import Homogeneity
from pldp.estimates.tables.axes import Axis
from pldp.estimates.tables.groups import along, inner, mean_products
from pldp.estimates.tables.pooled import Pick, PooledTable, fit_variance, person_square
from pldp.mechanisms.arrays import FloatArray
from pldp.tallies import TableCounts

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


class Known(NamedTuple):
    """What is known of the mix: what each label adds to M ρ̂ (levels × labels, centred), W, and W d."""

    rows: FloatArray
    weight: FloatArray
    off: FloatArray


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

    What is known of the mix (`MixBounds`: its middle m, off by errors with the covariance T) says how far off the
    labels are. With d = M ρ̂ − m, M the mean over questions of the shares of their levels, every cell is corrected by
    what goes along with d: π̃_τ = π̂_τ − K_τ W d, where K_τ is the covariance of π̂_τ − f ρ̂_τ with M ρ̂ and
    W = (Cov(M ρ̂) + T)⁻¹. No linear correction leaves less error, and K_τ W K_τ′ᵀ is what it takes off the covariance of
    levels τ and τ′. As bounds are convex, M ρ is in them if the mix of every question is.
    """

    axes: Sequence[Sequence[Axis]]  # question × level
    counts: Mapping[Levels, TableCounts]  # by label
    matrix: FloatArray  # Pr(label | level), label × level
    reports: int
    together: bool
    bounds: MixBounds

    @classmethod
    def of(
        cls, axes: Sequence[Sequence[Axis]], counts: Mapping[Levels, TableCounts], mix: LevelMix, pool: Pool
    ) -> HiddenTable:
        """Take the reports of every combination of labels; by size, nothing is assumed about the mix."""
        some = {labels: own for labels, own in counts.items() if own.reports}
        bounds = mix.bounds if pool == "precision" else MixBounds.free(len(mix.counts))
        return cls(axes, some, mix.matrix, sum(own.reports for own in some.values()), pool == "precision", bounds)

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
    def _unaware(self) -> HiddenTable:
        """The same reports without what is known of the mix."""
        return replace(self, bounds=MixBounds.free(len(self.matrix)))

    @cached_property
    def _first(self) -> FloatArray:
        """The shares at which errors are computed, augmented: by size, or by precision where a mix is given.

        Corrections by the mix at rough shares would add the error of these to every cell.
        """
        return np.asarray(self._apart.sum(axis=0) if self.bounds.nothing else self._unaware.decoded)

    @cached_property
    def _spread(self) -> FloatArray:
        return self._spread_of(self._shares, inner(self._first))

    def _spread_of(self, shares: FloatArray, f: FloatArray) -> FloatArray:
        """Mean of (w_τ − f)(w_τ′ − f)·Λ⁻¹(τ, s)Λ⁻¹(τ′, s) over reports of these marks, τ × τ′ × cells."""
        levels, inverse = self._found
        found = np.empty((len(levels), len(levels), *f.shape))
        for one, own in enumerate(levels):
            for two in range(one + 1):
                marks = np.tensordot(inverse[one] * inverse[two], shares, 1)
                mine, theirs = self._axes(own), self._axes(levels[two])
                pairs = zip(mine, theirs, strict=True)
                crossed = [_with_whole(axis.crossed(other)) for axis, other in pairs]
                square = inner(along(marks, [own_step.__matmul__ for own_step in crossed]))
                singles = [inner(along(marks, [axis.decode for axis in each])) for each in (mine, theirs)]
                whole = float(marks.ravel()[-1])
                found[one, two] = found[two, one] = square - f * (singles[0] + singles[1]) + f**2 * whole
        return found

    @cached_property
    def _known(self) -> Known | None:
        """What the given mix says about the labels, if anything."""
        if self.bounds.nothing:
            return None
        levels, inverse = self._found
        shown = np.array(
            [[np.mean([each == own for each in every]) for every in levels] for own in range(len(self.matrix))]
        )
        rows, share = shown @ inverse, self._shares.reshape(len(self._labels), -1)[:, -1]
        mean = rows @ share
        covariance = (rows * share) @ rows.T - np.outer(mean, mean) + self.reports * self.bounds.spread
        weight = np.linalg.pinv(covariance, hermitian=True, rcond=1e-9)
        return Known(rows - mean[:, None], np.asarray(weight), np.asarray(weight @ (mean - self.bounds.middle)))

    @cached_property
    def _together(self) -> FloatArray:
        return self._together_of(self._shares, self._first)

    def _together_of(self, shares: FloatArray, f: FloatArray) -> FloatArray:
        """K, augmented: the covariance of every π̂_τ − f ρ̂_τ (first axis) with M ρ̂ (second axis)."""
        levels, inverse = self._found
        found = []
        for own, row in zip(levels, inverse, strict=True):
            steps = [axis.decode for axis in self._axes(own)]
            for each in self._known.rows if self._known else ():
                mixed = along(np.tensordot(row * each, shares, 1), steps)
                found.append(mixed - f * mixed.ravel()[-1])
        return np.array(found).reshape(len(levels), -1, *f.shape)

    @cached_property
    def _corrected(self) -> FloatArray:
        """π̃_τ, augmented."""
        if self._known is None:
            return self._apart
        return np.asarray(self._apart - np.einsum("tl...,l->t...", self._together, self._known.off))

    @cached_property
    def _left(self) -> FloatArray:
        return self._unexplained(self._spread, self._together)

    def _unexplained(self, spread: FloatArray, together: FloatArray) -> FloatArray:
        """Return the spread less what the given mix explains."""
        if self._known is None:
            return spread
        own = np.array([inner(each) for each in together.reshape(-1, *self._apart.shape[1:])])
        own = own.reshape(*together.shape[:2], *spread.shape[2:])
        return np.asarray(spread - np.einsum("sl...,lm,tm...->st...", own, self._known.weight, own))

    def _expected(self, likely: FloatArray) -> FloatArray:
        """Return the shares of marks of the labels that came if this augmented table is that of all levels."""
        levels, _ = self._found
        place = {own: number for number, own in enumerate(self._every)}
        mix = np.clip(self._mix, 0, None) / np.clip(self._mix, 0, None).sum()
        chances = self._chances[np.ix_([place[own] for own in self._labels], [place[own] for own in levels])] * mix
        marks = np.array([along(likely, [axis.expected for axis in self._axes(own)]) for own in levels])
        return np.asarray(np.tensordot(chances, marks, 1))

    @cached_property
    def _weights(self) -> FloatArray:
        """a: how much every combination of levels counts."""
        if not self.together:
            return np.ones(len(self._mix))
        cells = self._left.reshape(len(self._mix), len(self._mix), -1).mean(axis=2)
        best = np.linalg.pinv(cells, hermitian=True) @ self._mix
        return np.asarray(best / (best @ self._mix))

    @cached_property
    def decoded(self) -> FloatArray:
        return np.asarray(np.tensordot(self._weights, self._corrected, 1))

    def variance(self, margins: Sequence[FloatArray]) -> FloatArray:
        # Of a cell that few reports speak for, the reports that came may show next to no spread by chance.
        likely = self.likely(margins)
        expected = self._expected(likely)
        at_likely = self._unexplained(
            self._spread_of(expected, inner(likely)),
            self._together if self._known is None else self._together_of(expected, likely),
        )
        found, least = (
            np.einsum("s,t,st...->...", self._weights, self._weights, each) for each in (self._left, at_likely)
        )
        noise = np.maximum(found, least) / self.reports
        axes = [self._axes(levels) for levels in self._found[0]]
        return np.asarray(noise + fit_variance(axes, self._weights * self._mix, self.decoded))

    @cached_property
    def _likely_chances(self) -> FloatArray:
        """How often reports have each label that came and each combination of levels, labels × levels."""
        number = {own: each for each, own in enumerate(self._every)}
        labels, levels = ([number[own] for own in each] for each in (self._labels, self._found[0]))
        chances = self._chances[np.ix_(labels, levels)] * np.clip(self._mix, 0, None)
        return np.asarray(chances / chances.sum())

    @property
    def _counted(self) -> FloatArray:
        """a_τ Λ⁻¹(τ, s): what the decoded answers of a report with each label count, levels × labels."""
        return np.asarray(self._weights[:, None] * self._found[1])

    def unit(self) -> FloatArray:
        every, counted = [self._axes(own) for own in self._found[0]], self._counted
        total = np.zeros([size - 1 for size in self.decoded.shape])
        for true, own in zip(every, self._likely_chances.T, strict=True):
            for place, one in enumerate(every):
                for other, two in enumerate(every[: place + 1]):
                    times = 1 if other == place else 2
                    total += times * float((own * counted[place]) @ counted[other]) * person_square(true, one, two)
        return np.asarray(total / self.reports)

    def covariance(self, shares: FloatArray, pick: Pick) -> FloatArray:
        """Follow from the channels if these shares are true at all levels."""
        levels, _ = self._found
        chances, counted = self._likely_chances, self._counted
        labels = self._labels
        every = [list(pick(self._axes(own))) for own in levels]
        f, total = shares.ravel(), counted.sum(axis=0)
        found = np.outer(f, f) * float(chances.sum(axis=1) @ total**2)
        rows = np.zeros((0, len(labels))) if self._known is None else self._known.rows
        explained = np.zeros((len(rows), len(f)))
        for true, own in zip(every, chances.T, strict=True):
            for place, (one, first) in enumerate(zip(every, counted, strict=True)):
                means = [a.decoder @ t.given[:, :, -1].T for a, t in zip(one, true, strict=True)]
                expected = along(shares, [m.__matmul__ for m in means]).ravel()
                mixed = float((own * total) @ first) * np.outer(expected, f)
                found -= mixed + mixed.T
                explained += np.outer(rows @ (own * first), expected - f)
                for other in range(place + 1):  # the others are the same, turned around: the end adds both
                    axes = zip(one, every[other], true, strict=True)
                    moments = [a.decoder @ t.given @ b.decoder.T for a, b, t in axes]
                    times = 1 if other == place else 2
                    found += times * float((own * first) @ counted[other]) * mean_products(shares, moments)
        if self._known is not None:
            found -= explained.T @ self._known.weight @ explained
        return np.asarray((found + found.T) / 2 / self.reports)

    def homogeneity(self) -> Homogeneity | None:
        """Compare the shares by precision with those by size, cell by cell (Bonferroni).

        Only the former assume that people of all levels have the same table; both come from the same reports. A mix
        that was given may be wrong, so both do without it.
        """
        if not self.together:
            return None
        if self._known is not None:
            return self._unaware.homogeneity()
        apart = self._weights - 1
        difference = inner(np.tensordot(apart, self._apart, 1))
        variance = np.einsum("s,t,st...->...", apart, apart, self._spread) / self.reports
        statistic = difference**2 / np.maximum(variance, 1e-300)
        return Homogeneity.of(float(statistic.max()), 1, tests=statistic.size)

    @property
    def manipulation(self) -> float:
        levels, inverse = self._found
        most = [reduce(float.__mul__, (float(axis.manipulation) for axis in self._axes(own))) for own in levels]
        counted = (np.abs(self._weights[:, None] * inverse) * np.array(most)[:, None]).sum(axis=0)
        if self._known is not None:
            slopes = np.tensordot(self._weights, self._together, 1).reshape(len(self._known.rows), -1)
            counted = counted + np.abs(slopes.T @ self._known.weight @ self._known.rows).max(axis=0)
        return float(counted.max())


def _with_whole(weights: FloatArray) -> FloatArray:
    """Keep the whole behind the indicators."""
    return np.concatenate([weights, np.eye(weights.shape[1])[-1:]])
