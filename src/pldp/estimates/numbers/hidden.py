"""Numbers where people hide the level they chose: reports carry a perturbed label instead of the level.

With π(τ, x) the share of people who chose level τ and have a number in bucket x, label s comes with output y with the
probability

    P(s, y) = Σ_τ Σ_x π(τ, x) G(s|τ) Q_τ(y|x).

All levels have one output grid, so that the form of a report does not show the level. Two models of π: the choice of a
level does not depend on the number, π(τ, x) = ρ_τ f_x, with one histogram f and the mix ρ that fits it best; or any π,
a histogram over the buckets of all levels, end to end.

**Without smoothness** (`Profile`). X² is that of all cells (s, y). For one f and any mix it is made linear around the
fit, P = Σ_τ (ρ̂_τ + δ_τ) G(s|τ) Q_τ f ≈ P(ρ̂, f) + Σ_τ δ_τ G(s|τ) Q_τ f̂, and δ is free: X² is the least of all δ (see
`misfit`). What is left out, δ·(f − f̂), is small of second order, as all f that fit have about the same Q_τ f. For any π
it is linear as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.likelihood.misfit import Counted, Misfit, Part
from pldp.estimates.likelihood.mixture import PossibleMixes, ShareLikelihood, interior
from pldp.estimates.likelihood.rows import FreeRows, PieceRows
from pldp.estimates.linear.mix import LevelMix, level_mix
from pldp.estimates.results.consistency import norm_sub
from pldp.estimates.results.options import Mix
from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import FloatArray, IntArray, Pieces, piecewise_arrays
from pldp.records import Record
from pldp.survey import Number
from pldp.tallies import OutputCounts, Tally


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

    @property
    def possible_mixes(self) -> PossibleMixes:
        """The mixes of levels that are possible."""
        return PossibleMixes(self.mix.bounds, self.people, self.mix.shares)

    @property
    def likelihood(self) -> ShareLikelihood:
        """The likelihood of the shares of the buckets, if levels do not depend on the number."""
        rows = PieceRows(self.pieces, self.mix.matrix)
        return ShareLikelihood(rows, self.counts.ravel(), self.bounds, mixes=self.possible_mixes)

    @property
    def free_likelihood(self) -> ShareLikelihood:
        """The likelihood of any shares π of levels and buckets, levels end to end."""
        rows = FreeRows(self.pieces, self.mix.matrix)
        return ShareLikelihood(rows, self.counts.ravel(), self.bounds, copies=len(self.channels))

    @cached_property
    def pieces(self) -> tuple[Pieces, ...]:
        """Q of every level."""
        return tuple(piecewise_arrays(channel).pieces() for channel in self.channels)


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
        hidden, counts = self.hidden, self.hidden.counts.ravel().astype(float)
        if apart:
            free = Counted(FreeRows(hidden.pieces, hidden.mix.matrix), counts, np.ones(1))
            return Misfit(self.size, [Part(1.0, [free], hidden.start(self.shares))])
        mixes = hidden.possible_mixes
        known = mixes.known, mixes.known @ (mixes.directions.T @ (hidden.mix.bounds.middle - self.levels))
        counted = Counted(PieceRows(hidden.pieces, hidden.mix.matrix), counts, self.levels, mixes.directions)
        return Misfit(self.size, [Part(1.0, [counted], self.shares, known)])
