"""How likely reports are for people of every level and value: L, as three products that never build it.

A *cell* c is one of the different reports that came, with the label s that it shows: L_τcx = Λ(s|τ) Q_τ(c|x), up to a
factor of the cell. A fit needs of it, with the shares f of the values and a mix ρ of the levels, L̄ = Σ_τ ρ_τ L_τ,

    forward    (L_τ f)_c            the chances of the cells are P = Σ_τ ρ_τ L_τ f = L̄f
    backward   Σ_c w_c L̄_c          the slopes of Σ_c w_c P_c along the shares
    gram       Σ_c w_c L̄_c L̄_cᵀ    their curvature

Where levels show, there is one of them. Here are labels of one question (`LabelRows`) and numbers (`PieceRows`); joined
reports of several services stand in `pldp.estimates.likelihood.tuples`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Final, Protocol

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.linear.numbers import source_mix
from pldp.mechanisms.arrays import (
    LARGEST_ENVELOPES,
    Cells,
    FloatArray,
    LabelArrays,
    Pieces,
    piecewise_arrays,
    require_dense,
)
from pldp.tallies import Fused

_SMALL: Final = 256
_CHEAP: Final = 5e7
"""Values, and multiplications, up to which a matrix of values × values is cheaper than some products."""
_LARGEST_MATRIX: Final = 1024
"""Most buckets of a number for which it is built."""


class Rows(Protocol):
    """L of some cells."""

    levels: int
    size: int  #: Number of values.
    listed: bool  #: Whether the cells are all that can come, so that expected counts can take the place of theirs.
    cost: float  #: Multiplications of `gram`.
    dense: bool  #: Whether it is worth them where shares alone are unknown.

    def forward(self, shares: FloatArray) -> FloatArray:
        """Return (L_τ f)_c, levels × cells."""

    def backward(self, weights: FloatArray, levels: FloatArray) -> FloatArray:
        """Return Σ_c w_c L̄_c; of several rows of weights, or of several columns of levels, a row each."""

    def gram(self, weights: FloatArray, levels: FloatArray, columns: FloatArray | None = None) -> FloatArray:
        """Return Σ_c w_c L̄_c L̄_cᵀ, between all values or along some columns (values × columns)."""


def cheap(size: int, cost: float) -> bool:
    """Tell whether a matrix is cheaper than some products, by its size and multiplications."""
    return size <= _SMALL and cost <= _CHEAP


class LabelRows:
    """The reports that show one label, of a choice of one value.

    With S_c the values that cell c supports and k its class, such as its number of ones,

        L_τcx = low_kτ v_x + step_kτ w_x [x ∈ S_c],

    so that one sum over the supported values per cell serves all levels. Where channels treat values differently, every
    level has its own weights v and w of values (a *profile*), and needs a sum of its own.
    """

    def __init__(self, forms: Sequence[LabelArrays], cells: Cells, chances: FloatArray) -> None:
        """Take the channel of every level, the cells that show one label, and its chance Λ(s|τ) at every level."""
        self.arrays, self.at = forms[0], cells
        laws = [form.cell_law(cells) for form in forms]
        base, low, step = (np.column_stack(rows) for rows in list(zip(*laws, strict=True))[1:])
        scale = np.exp(base - base.max(axis=1, keepdims=True)) * chances
        self.classes, self.low, self.step = laws[0].classes, (scale * low).T, (scale * step).T  # levels × classes
        weights = [each for each in (form.value_weights() for form in forms) if each is not None]
        self.levels, self.size, self.profiles = len(forms), forms[0].channel.size, np.arange(len(forms))
        if len(weights) < self.levels:
            weights, self.profiles = [(np.ones(self.size),) * 2], np.zeros(self.levels, np.intp)
        self.of_low, self.of_step = (np.array(rows) for rows in zip(*weights, strict=True))  # v and w
        self.listed, self.cost = cells is None, len(self.classes) * float(self.of_low.size) ** 2
        self.dense = cheap(self.size, self.cost)

    def forward(self, shares: FloatArray) -> FloatArray:
        sums = np.array([self.arrays.support_sum(own * shares, self.at) for own in self.of_step])
        chances: FloatArray = self.step[:, self.classes] * sums[self.profiles]
        chances += (self.low * (self.of_low @ shares)[self.profiles, None])[:, self.classes]
        return chances

    def _mixed(self, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return low and step of every cell, weighted by the levels, profiles × cells."""
        spread = np.zeros((len(self.of_low), self.levels))
        spread[self.profiles, np.arange(self.levels)] = levels
        return (spread @ self.low)[:, self.classes], (spread @ self.step)[:, self.classes]

    def backward(self, weights: FloatArray, levels: FloatArray) -> FloatArray:
        if levels.ndim > 1:
            return np.array([self.backward(weights, column) for column in levels.T])
        low, step = self._mixed(levels)
        rows = np.atleast_2d(weights)
        slopes: FloatArray = (rows @ low.T) @ self.of_low
        for own, part in zip(self.of_step, step, strict=True):
            slopes += own * np.array([self.arrays.support_total(row * part, self.at) for row in rows])
        return slopes if weights.ndim > 1 else slopes[0, :]

    def gram(self, weights: FloatArray, levels: FloatArray, columns: FloatArray | None = None) -> FloatArray:
        """Multiply out (low v + step w [x ∈ S])(low v + step w [x' ∈ S]) for every two profiles."""
        require_dense(self.size)
        low, step = self._mixed(levels)
        total = self.of_low.T @ ((low * weights) @ low.T) @ self.of_low
        for one, two in product(range(len(low)), repeat=2):
            support = self.arrays.support_total(weights * low[one] * step[two], self.at)
            mixed = np.outer(self.of_low[one], self.of_step[two] * support)
            total += mixed + mixed.T
            if one <= two:
                pairs = self.arrays.pair_support(weights * step[one] * step[two], self.at)
                both = np.outer(self.of_step[one], self.of_step[two]) * pairs
                total += both if one == two else both + both.T
        return np.asarray(total if columns is None else columns.T @ total @ columns)


class PieceRows:
    """The reports of a number: cells are all labels × outputs, end to end, and Λ is labels × levels."""

    listed = True

    def __init__(self, pieces: Sequence[Pieces], chances: FloatArray) -> None:
        self.pieces, self.chances = pieces, chances
        self.levels, self.size = len(pieces), pieces[0].envelopes.shape[1]
        self.cost = len(chances) * len(pieces[0].base) * float(self.size) ** 2
        self.dense = self.size <= _LARGEST_MATRIX

    def forward(self, shares: FloatArray) -> FloatArray:
        outputs = np.array([pieces.forward(shares) for pieces in self.pieces])
        return np.asarray((self.chances.T[:, :, None] * outputs[:, None]).reshape(self.levels, -1))

    def backward(self, weights: FloatArray, levels: FloatArray) -> FloatArray:
        if weights.ndim > 1:
            return np.array([self.backward(row, levels) for row in weights])
        return np.asarray(levels @ self._by_level(weights))

    def _by_level(self, weights: FloatArray) -> FloatArray:
        """Return Σ_c w_c L_τc, levels × buckets."""
        rows = self.chances.T @ weights.reshape(len(self.chances), -1)
        return np.array([pieces.expectation(row) for pieces, row in zip(self.pieces, rows, strict=True)])

    def gram(self, weights: FloatArray, levels: FloatArray, columns: FloatArray | None = None) -> FloatArray:
        roots = np.sqrt(weights)
        if columns is not None:
            moved = self._chances(levels[:, None] * columns.T[:, None, :]) * roots
        else:
            every = np.tensordot(self.chances * levels, self._tables, axes=1)
            moved = np.concatenate(list(every * roots.reshape(len(every), 1, -1)), axis=1)
        return np.asarray(moved @ moved.T)

    @cached_property
    def _tables(self) -> FloatArray:
        """Q of every level as a matrix, bucket × output: a rough fit needs it again and again."""
        return np.array([pieces.table()[:-1].T for pieces in self.pieces])

    def _chances(self, shares: FloatArray) -> FloatArray:
        """Return Σ_τ (L_τ π_τ)_c of many shares π of levels and buckets: many × levels × buckets to many × cells."""
        rows = zip(self.pieces, np.moveaxis(shares, 1, 0), strict=True)
        outputs = np.stack([pieces.forward(own) for pieces, own in rows], axis=1)
        return np.asarray((self.chances @ outputs).reshape(len(shares), -1))

    def column(self, place: int, levels: FloatArray) -> FloatArray:
        """Return L̄ of one bucket, for all cells."""
        outputs = np.array([pieces.column(place) for pieces in self.pieces])
        return np.asarray(((self.chances * levels) @ outputs).ravel())


class FreeRows(PieceRows):
    """The same for shares π of levels and buckets, levels end to end: whatever levels depend on, P is linear in π."""

    def __init__(self, pieces: Sequence[Pieces], chances: FloatArray) -> None:
        super().__init__(pieces, chances)
        self.levels, self.buckets, self.size, self.dense = 1, self.size, self.size * len(pieces), False

    def forward(self, shares: FloatArray) -> FloatArray:
        return self._chances(shares.reshape(1, -1, self.buckets))

    def backward(self, weights: FloatArray, levels: FloatArray) -> FloatArray:
        del levels
        return self._by_level(weights).ravel()

    def gram(self, weights: FloatArray, levels: FloatArray, columns: FloatArray | None = None) -> FloatArray:
        del levels
        wanted = np.eye(self.size) if columns is None else columns
        moved = self._chances(wanted.T.reshape(len(wanted.T), -1, self.buckets)) * np.sqrt(weights)
        return np.asarray(moved @ moved.T)

    def column(self, place: int, levels: FloatArray) -> FloatArray:
        del levels
        level, bucket = divmod(place, self.buckets)
        return super().column(bucket, np.eye(len(self.pieces))[level])


def source_pieces(fused: Fused, place: int) -> Pieces:
    """Return the likelihood of every cell of a source of joined reports of a number; the last row stands for no report.

    Where the source hides its levels, it is Σ_τ ρ_τ G(s|τ) Q_τ(y|·) at the estimated mix.
    """
    source = fused.sources[place]
    if source.listed is None:
        return piecewise_arrays(source.channel).pieces()
    size, count = source.channel.size, source.count
    if (count + 1) * size > LARGEST_ENVELOPES:
        raise EstimateError(f"source {source.name!r}: {count:,} outputs on {size:,} buckets are too many to fuse")
    mix, table = source_mix(fused, place), np.zeros((count, size))
    chances = mix.matrix[source.labels] * mix.shares
    for level, channel in enumerate(source.channels):
        table += chances[:, level, None] * piecewise_arrays(channel).pieces().table()[source.outputs.astype(np.intp)]
    found = Pieces.none(size, count)
    found.envelope[:-1] = np.arange(1, count + 1)
    return replace(found, envelopes=np.concatenate([found.envelopes, table]))
