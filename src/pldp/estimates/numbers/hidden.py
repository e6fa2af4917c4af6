"""Numbers where people hide the level they chose: reports carry a perturbed label instead of the level.

With π(τ, x) the share of people who chose level τ and have a number in bucket x, label s comes with output y with the
probability

    P(s, y) = Σ_τ Σ_x π(τ, x) G(s|τ) Q_τ(y|x).

All levels have one output grid, so that the form of a report does not show the level. Two models of π:

- the choice of a level does not depend on the number, π(τ, x) = ρ_τ f_x (`HiddenLikelihood`). For every f the mix of
  levels ρ that makes the reports most likely is a small concave problem; it is solved each time, so that a fit of f
  climbs the likelihood of both. What ρ is unsure of is taken from the information about f (its Schur complement), so
  that errors of curves include it.
- any π (`FreeLikelihood`): a histogram over the buckets of all levels, end to end.

**Without smoothness** (`Profile`). X² is that of all cells (s, y). For one f and any mix it is made linear around the
fit, P = Σ_τ (ρ̂_τ + δ_τ) G(s|τ) Q_τ f ≈ P(ρ̂, f) + Σ_τ δ_τ G(s|τ) Q_τ f̂, and δ is free: X² is the least of all δ (see
`misfit`). What is left out, δ·(f − f̂), is small of second order, as all f that fit have about the same Q_τ f. For any π
it is linear as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.mix import LevelMix, level_mix
from pldp.estimates.numbers.misfit import LevelCounts, Misfit, Part
from pldp.estimates.solver.likelihood import interior, minus_log, ratio
from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import FloatArray, IntArray, Pieces, piecewise_arrays
from pldp.records import Record
from pldp.survey import Number
from pldp.tallies import OutputCounts, Tally

HALF: Final = 0.5
"""Reports of each level that a fitted mix has in advance: it keeps every level possible."""

_SETTLED: Final = 1e-9
"""Log-likelihood of all people together that a fitted mix may lack."""
_MOST_STEPS: Final = 60
_LARGEST_ROOT: Final = 1024
"""Most buckets for which the information is built as a matrix."""
_UNSEEN: Final = 1e-14
"""Eigenvalues of the information, relative to the largest, that are rounding errors."""


@dataclass(frozen=True, eq=False, repr=False)
class HiddenNumbers(Record):
    """Reports of a number by the label that they show: counts, label × output, and the channels of all levels."""

    channels: tuple[Channel, ...]
    mix: LevelMix
    counts: IntArray
    bounds: tuple[float, float]
    mean_only: bool = False

    @classmethod
    def of(cls, tally: Tally, question: Number) -> HiddenNumbers:
        """Take the reports of a question."""
        mix = level_mix(tally, question.name)
        if mix is None:
            raise EstimateError(f"question {question.name!r} has levels that are shown")
        if not mix.reports:
            raise EstimateError(f"question {question.name!r} has no reports, so there is nothing to estimate")
        parts = [tally.counts[question.name, level.name] for level in question.levels]
        counts = np.array([part.counts for part in parts if isinstance(part, OutputCounts)])
        bounds = question.grid.low, question.grid.high
        return cls(question.channels, mix, counts, bounds, question.for_mean)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out what can be computed again."""
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    @property
    def people(self) -> int:
        """Number of reports."""
        return self.mix.reports

    @property
    def size(self) -> int:
        """Number of buckets."""
        return self.channels[0].size

    @cached_property
    def pieces(self) -> tuple[Pieces, ...]:
        """Q of every level."""
        return tuple(piecewise_arrays(channel).pieces() for channel in self.channels)


class FreeLikelihood:
    """The likelihood of any shares π of levels and buckets, levels end to end: linear in π, so concave."""

    def __init__(self, hidden: HiddenNumbers) -> None:
        self.hidden, self.pieces, self.labels = hidden, hidden.pieces, hidden.mix.matrix
        self.copies = len(hidden.channels)
        self.size = hidden.size * self.copies
        self.people, self.bounds = hidden.people, hidden.bounds
        self.weights: FloatArray = hidden.counts / self.people

    @property
    def sampled(self) -> FreeLikelihood:
        """All reports: cells are few, whatever the number of people."""
        return self

    @cached_property
    def uniform(self) -> FloatArray:
        """Equal shares."""
        return np.full(self.size, 1 / self.size)

    def outputs(self, shares: FloatArray) -> FloatArray:
        """Return Σ_x Q_τ(y|x) π_τx, level × output, of shares level × bucket; of many, each."""
        rows = np.moveaxis(shares.reshape(-1, self.copies, shares.shape[-1]), 1, 0)
        found = [pieces.forward(own) for pieces, own in zip(self.pieces, rows, strict=True)]
        return np.moveaxis(np.array(found), 0, 1).reshape(*shares.shape[:-1], -1)

    def forward(self, point: FloatArray) -> FloatArray:
        """Return P(s, y), label × output."""
        return np.asarray(self.labels @ self.outputs(point.reshape(self.copies, -1)))

    def backward(self, weights: FloatArray) -> FloatArray:
        """Return Σ_sy w_sy G(s|τ) Q_τ(y|x), level × bucket."""
        rows = self.labels.T @ weights
        return np.array([pieces.expectation(row) for pieces, row in zip(self.pieces, rows, strict=True)])

    def objective(self, point: FloatArray) -> float:
        """Minus the log-likelihood per person."""
        return minus_log(self.weights.ravel(), self.forward(point).ravel())

    def scores(self, point: FloatArray) -> FloatArray:
        """Mean likelihood ratio of each level and bucket."""
        return self.backward(ratio(self.weights, self.forward(point))).ravel()

    def information(self, shares: FloatArray, columns: FloatArray) -> FloatArray:
        """Return the observed information per person along the columns."""
        moved = self.changes(columns.T.reshape(-1, self.copies, self.hidden.size), self.forward(shares))
        return np.asarray(moved @ moved.T)

    def information_root(self, shares: FloatArray) -> None:
        """Free shares are fitted by smooth curves only."""
        del shares

    def changes(self, shares: FloatArray, cells: FloatArray) -> FloatArray:
        """Return how cells change along shares (directions × level × bucket), each over the error of its count."""
        moved = self.labels @ self.outputs(shares)
        return np.asarray((moved * (np.sqrt(self.weights) / cells)).reshape(len(shares), -1))


class HiddenLikelihood:
    """The likelihood of the distribution over the buckets, at the mix of levels that fits it best."""

    copies = 1

    def __init__(self, hidden: HiddenNumbers) -> None:
        self.free, self.hidden = FreeLikelihood(hidden), hidden
        self.size, self.people, self.bounds = hidden.size, hidden.people, hidden.bounds
        self.weights = self.free.weights
        self._at: FloatArray | None = None
        self._levels: FloatArray = interior(hidden.mix.shares)
        self._cells: FloatArray = np.zeros(0)

    @property
    def sampled(self) -> HiddenLikelihood:
        """All reports: cells are few, whatever the number of people."""
        return self

    @cached_property
    def uniform(self) -> FloatArray:
        """Equal shares."""
        return np.full(self.size, 1 / self.size)

    def levels(self, shares: FloatArray) -> FloatArray:
        """Return the mix of levels that makes the reports most likely if these are the shares of the buckets."""
        if self._at is not shares:
            outputs = self.free.outputs(np.tile(shares, (self.free.copies, 1)))
            table = np.einsum("st,ty->syt", self.free.labels, outputs).reshape(-1, self.free.copies)
            self._levels = fit_mix(table, self.weights.ravel(), self._levels, self.people)
            self._cells = (table @ self._levels).reshape(self.weights.shape)
            self._at = shares
        return self._levels

    def cells(self, shares: FloatArray) -> FloatArray:
        """P(s, y), label × output."""
        self.levels(shares)
        return self._cells

    def objective(self, point: FloatArray) -> float:
        """Minus the log-likelihood per person, with that of half a report of every level."""
        prior = float(np.log(self.levels(point)).sum()) * HALF / self.people
        return minus_log(self.weights.ravel(), self._cells.ravel()) - prior

    def scores(self, point: FloatArray) -> FloatArray:
        """Mean likelihood ratio of each bucket; the mix is the best one, so that its change counts for nothing."""
        cells = self.cells(point)
        return np.asarray(self._levels @ self.free.backward(ratio(self.weights, cells)))

    def information(self, shares: FloatArray, columns: FloatArray) -> FloatArray:
        """Return the observed information per person along the columns, less what the mix is unsure of."""
        levels, cells, copies = self.levels(shares), self._cells, self.free.copies
        moved = self.free.changes(levels[:, None] * columns.T[:, None, :], cells)
        mixes = differences(copies)
        unknown = self.free.changes(mixes.T[:, :, None] * shares, cells)
        own = unknown @ unknown.T + mixes.T @ (HALF / self.people / levels[:, None] ** 2 * mixes)
        both = moved @ unknown.T
        return np.asarray(moved @ moved.T - both @ np.linalg.solve(own, both.T))

    def information_root(self, shares: FloatArray) -> FloatArray | None:
        """Return R with RᵀR the observed information of the shares, per person; none where the matrix is too large."""
        if self.size > _LARGEST_ROOT:
            return None
        values, vectors = np.linalg.eigh(self.information(shares, np.eye(self.size)))
        seen = values > _UNSEEN * values[-1]
        return np.asarray((vectors[:, seen] * np.sqrt(values[seen])).T)


def differences(count: int) -> FloatArray:
    """Return directions in which so many shares can change while they sum to 1, orthonormal, count × (count − 1)."""
    start = np.column_stack([np.ones(count), np.eye(count)[:, 1:]])
    return np.asarray(np.linalg.qr(start)[0][:, 1:])


def fit_mix(table: FloatArray, weights: FloatArray, start: FloatArray, people: int) -> FloatArray:
    """Return the mix ρ that maximises Σ_c w_c log (table·ρ)_c, with half a report of every level in advance.

    Newton's method: the logarithms of the half reports keep every share above 0.
    """
    prior, mixes, mix = HALF / people, differences(len(start)), start

    def lacking(tried: FloatArray) -> float:
        return minus_log(weights, table @ tried) - prior * float(np.log(tried).sum())

    value = lacking(mix)
    for _ in range(_MOST_STEPS):
        cells = table @ mix
        slope = mixes.T @ (table.T @ ratio(weights, cells) + prior / mix)
        moved = (table @ mixes) * (np.sqrt(weights) / cells)[:, None]
        step = mixes @ np.linalg.solve(moved.T @ moved + mixes.T @ (prior / mix[:, None] ** 2 * mixes), slope)
        gain = float(step @ mixes @ slope)
        if gain * people < _SETTLED:
            break
        falls = step < 0
        length = min(1.0, 0.95 * float((mix[falls] / -step[falls]).min(initial=np.inf)))
        while length > 1e-9 and (tried := lacking(mix + length * step)) > value - 1e-4 * length * gain:
            length /= 3
        if length <= 1e-9:
            break
        mix, value = mix + length * step, tried
    return mix


@dataclass(frozen=True, eq=False, repr=False)
class HiddenMisfit(Record):
    """Reports around a fit, as `Profile` takes them: the mix of levels and the shares of the buckets that fit."""

    hidden: HiddenNumbers
    levels: FloatArray
    shares: FloatArray

    @property
    def size(self) -> int:
        """Number of buckets."""
        return self.hidden.size

    @property
    def bounds(self) -> tuple[float, float]:
        """The numbers that the grid's ends stand for."""
        return self.hidden.bounds

    def misfit(self, *, apart: bool) -> Misfit:
        """Return X² of one histogram and any mix, or with `apart` of any histogram over levels and buckets."""
        labels = self.hidden.mix.matrix @ self.levels
        kind = _FreeCounts if apart else _MixedCounts
        counted = [kind(self.hidden, self.levels, label, float(chance)) for label, chance in enumerate(labels)]
        pilot = np.outer(self.levels, self.shares).ravel() if apart else self.shares
        return Misfit(self.size, [Part(1.0, counted, pilot)])


class _MixedCounts(LevelCounts):
    """The reports of one label, whose channel is the mixture of those of all levels that shows this label."""

    def __init__(self, hidden: HiddenNumbers, levels: FloatArray, label: int, chance: float) -> None:
        self._chances = hidden.mix.matrix[label] / chance  # of the label given each level, over its own
        self._levels: Sequence[Pieces] = hidden.pieces
        mixed = Pieces.mix(hidden.pieces, levels * self._chances)
        super().__init__(mixed, hidden.counts[label].astype(float), hidden.people * chance)

    def unknown(self, shares: FloatArray) -> FloatArray:
        """Return how chances of outputs change with the mix."""
        outputs = np.array([pieces.forward(shares) for pieces in self._levels])
        return np.asarray((self._chances[:, None] * outputs).T @ differences(len(outputs)))


class _FreeCounts:
    """The reports of one label, for shares of all levels and buckets."""

    def __init__(self, hidden: HiddenNumbers, levels: FloatArray, label: int, chance: float) -> None:
        del levels
        self._chances, self._levels = hidden.mix.matrix[label] / chance, hidden.pieces
        self.reports = hidden.people * chance
        self.shares: FloatArray = hidden.counts[label] / self.reports
        self.scale: FloatArray = np.ones(len(self.shares))

    def forward(self, shares: FloatArray) -> FloatArray:
        """Return the chances of the outputs."""
        rows = zip(self._chances, self._levels, shares.reshape(len(self._levels), -1), strict=True)
        return np.asarray(sum(chance * pieces.forward(own) for chance, pieces, own in rows))

    def backward(self, numbers: FloatArray) -> FloatArray:
        """Return the mean of these numbers for every level and bucket."""
        rows = zip(self._chances, self._levels, strict=True)
        return np.concatenate([chance * pieces.expectation(numbers) for chance, pieces in rows])

    def column(self, place: int) -> FloatArray:
        """Return the chances for one level and bucket."""
        level, bucket = divmod(place, self._levels[0].patterns.shape[1])
        return np.asarray(self._chances[level] * self._levels[level].column(bucket))

    def unknown(self, shares: FloatArray) -> FloatArray | None:
        """Nothing else is unknown."""
        del shares
