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
from pldp.estimates.consistency import norm_sub
from pldp.estimates.mix import LevelMix, level_mix
from pldp.estimates.mix_bounds import Mix
from pldp.estimates.numbers.hidden_mix import PossibleMixes
from pldp.estimates.numbers.misfit import Counted, LevelCounts, Misfit, Part
from pldp.estimates.solver.likelihood import interior, minus_log, ratio
from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import FloatArray, IntArray, Pieces, piecewise_arrays
from pldp.records import Record
from pldp.survey import Number
from pldp.tallies import OutputCounts, Tally

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
    def of(cls, tally: Tally, question: Number, known: Mix | None = None) -> HiddenNumbers:
        """Take the reports of a question, and what is known of the mix of levels."""
        mix = level_mix(tally, question.name, known)
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

    @property
    def label_mix(self) -> FloatArray:
        """The mix of levels that labels show, whatever else is known of it."""
        return norm_sub(self.mix.unbiased)

    def start(self, shares: FloatArray) -> FloatArray:
        """Return shares of all levels and buckets from which free ones are fitted, end to end."""
        return np.asarray(np.outer(interior(self.label_mix), shares).ravel())

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
        return np.moveaxis(np.array(found), 0, 1).reshape(*shares.shape[:-1], self.weights.shape[1])

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
        return np.asarray((moved * (np.sqrt(self.weights) / cells)).reshape(len(shares), self.weights.size))


class HiddenLikelihood:
    """The likelihood of the distribution over the buckets, at the mix of levels that fits it best."""

    copies = 1

    def __init__(self, hidden: HiddenNumbers) -> None:
        self.free, self.hidden = FreeLikelihood(hidden), hidden
        self.size, self.people, self.bounds = hidden.size, hidden.people, hidden.bounds
        self.weights = self.free.weights
        self.mixes = PossibleMixes(hidden.mix)
        self._at: FloatArray | None = None
        self._levels: FloatArray = np.zeros(0)
        self._cells: FloatArray = np.zeros(0)
        self._value = 0.0

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
            self._levels, self._value = self.mixes.fit(table, self.weights.ravel())
            self._cells = (table @ self._levels).reshape(self.weights.shape)
            self._at = shares
        return self._levels

    def cells(self, shares: FloatArray) -> FloatArray:
        """P(s, y), label × output."""
        self.levels(shares)
        return self._cells

    def objective(self, point: FloatArray) -> float:
        """Minus the log-likelihood per person, with that of what is known of the mix."""
        self.levels(point)
        return self._value

    def scores(self, point: FloatArray) -> FloatArray:
        """Mean likelihood ratio of each bucket; the mix is the best one, so that its change counts for nothing."""
        cells = self.cells(point)
        return np.asarray(self._levels @ self.free.backward(ratio(self.weights, cells)))

    def information(self, shares: FloatArray, columns: FloatArray) -> FloatArray:
        """Return the observed information per person along the columns, less what the mix is unsure of."""
        levels, cells = self.levels(shares), self._cells
        moved = self.free.changes(levels[:, None] * columns.T[:, None, :], cells)
        unknown = self.free.changes(self.mixes.directions.T[:, :, None] * shares, cells)
        own = unknown @ unknown.T + self.mixes.prior(levels)
        both = moved @ unknown.T
        return np.asarray(moved @ moved.T - both @ np.linalg.solve(own, both.T))

    def information_root(self, shares: FloatArray) -> FloatArray | None:
        """Return R with RᵀR the observed information of the shares, per person; none where the matrix is too large."""
        if self.size > _LARGEST_ROOT:
            return None
        values, vectors = np.linalg.eigh(self.information(shares, np.eye(self.size)))
        seen = values > _UNSEEN * values[-1]
        return np.asarray((vectors[:, seen] * np.sqrt(values[seen])).T)


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
        levels = self.hidden.label_mix if apart else self.levels
        labels = enumerate((self.hidden.mix.matrix @ levels).tolist())
        if apart:
            free = [_FreeCounts(self.hidden, label, chance) for label, chance in labels]
            return Misfit(self.size, [Part(1.0, free, self.hidden.start(self.shares))])
        mixes = PossibleMixes(self.hidden.mix)
        counted: list[Counted] = [
            _MixedCounts(self.hidden, self.levels, mixes.directions, label, chance) for label, chance in labels
        ]
        return Misfit(self.size, [Part(1.0, [*counted, _KnownMix(mixes, self.levels)], self.shares)])


class _MixedCounts(LevelCounts):
    """The reports of one label, whose channel is the mixture of those of all levels that shows this label."""

    def __init__(
        self, hidden: HiddenNumbers, levels: FloatArray, directions: FloatArray, label: int, chance: float
    ) -> None:
        self._chances = hidden.mix.matrix[label] / chance  # of the label given each level, over its own
        self._levels: Sequence[Pieces] = hidden.pieces
        self._directions = directions
        mixed = Pieces.mix(hidden.pieces, levels * self._chances)
        super().__init__(mixed, hidden.counts[label].astype(float), hidden.people * chance)

    def unknown(self, shares: FloatArray) -> FloatArray:
        """Return how chances of outputs change with the mix."""
        outputs = np.array([pieces.forward(shares) for pieces in self._levels])
        return np.asarray((self._chances[:, None] * outputs).T @ self._directions)


class _KnownMix:
    """What is known of the mix, as observations of its place in every direction: they do not depend on shares."""

    reports = 1.0

    def __init__(self, mixes: PossibleMixes, levels: FloatArray) -> None:
        values, vectors = np.linalg.eigh(mixes.known)
        self._table = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        self.shares: FloatArray = self._table @ (mixes.directions.T @ (mixes.mix.bounds.middle - levels))
        self.scale: FloatArray = np.ones(len(values))

    def forward(self, shares: FloatArray) -> FloatArray:
        """Return one variance for all."""
        del shares
        return np.ones(len(self._table))

    def backward(self, numbers: FloatArray) -> FloatArray:
        """Return nothing for any bucket."""
        del numbers
        return np.zeros(1)

    def column(self, place: int) -> FloatArray:
        """Return nothing of any bucket."""
        del place
        return np.zeros(len(self._table))

    def unknown(self, shares: FloatArray) -> FloatArray:
        """Return how the observations change with the mix."""
        del shares
        return np.asarray(self._table)


class _FreeCounts:
    """The reports of one label, for shares of all levels and buckets."""

    def __init__(self, hidden: HiddenNumbers, label: int, chance: float) -> None:
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
        level, bucket = divmod(place, self._levels[0].envelopes.shape[1])
        return np.asarray(self._chances[level] * self._levels[level].column(bucket))

    def unknown(self, shares: FloatArray) -> FloatArray | None:
        """Nothing else is unknown."""
        del shares
        return None
