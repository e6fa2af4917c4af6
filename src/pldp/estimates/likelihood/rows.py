"""How likely reports are for people of every level and value: L, as three products that never build it.

A *cell* c is one of the different reports that came, with the label s that it shows: L_τcx = Λ(s|τ) Q_τ(c|x), up to a
factor of the cell. A fit needs of it, with the shares f of the values and a mix ρ of the levels, L̄ = Σ_τ ρ_τ L_τ,

    forward    (L_τ f)_c            the chances of the cells are P = Σ_τ ρ_τ L_τ f = L̄f
    backward   Σ_c w_c L̄_c          the slopes of Σ_c w_c P_c along the shares
    gram       Σ_c w_c L̄_c L̄_cᵀ    their curvature

Where levels show, there is one of them. `LabelRows` are the reports of a choice, `PieceRows` those of a number. Of
several services, a person's tuple of outputs has the product of what each says: L_τc = Π_s Λ_s(l_s|τ_s) Q_sτ(y_s|·) as
tables for labels (`TupleRows`), and for numbers

**by prefix sums (`PrefixRows`).** As a function of the value t every output of a number channel has the likelihood

    Q(y|t) = base_y · envelope_y(t) · (1 + lift_y · [start_y ≤ t < stop_y]):

windows (PM, SW, k-RR) are constant in and out of an interval; the two outputs of SR, the outputs of Laplace and any
other channel have a smooth *envelope*. The likelihood of a tuple is the product of the envelopes, of which there are
few (the tuples are grouped by them), times a function with at most 2·windows + 1 constant pieces. So the sum over the
buckets is a combination of a few prefix sums,

    L_c·f = Σ_e A_ce P(e),   P_g(e) = Σ_{t<e} envelope_g(t) f_t,

and A is sparse: one entry per end of a window inside the grid, so that time is linear in the tuples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from pldp.errors import EstimateError
from pldp.estimates.linear.mix import source_mix
from pldp.estimates.linear.numbers import source_cells
from pldp.mechanisms import Bits, Channel
from pldp.mechanisms.arrays import (
    LARGEST_ENVELOPES,
    Cells,
    FloatArray,
    LabelArrays,
    Outputs,
    PieceArrays,
    Pieces,
    arrays,
    label_arrays,
    piecewise_arrays,
    require_dense,
)
from pldp.tallies import Fused, Source

Places = npt.NDArray[np.intp]

_SMALL: Final = 256
_CHEAP: Final = 5e7
"""Values, and multiplications, up to which a matrix of values × values is cheaper than some products."""
_LARGEST_GRID: Final = 1024  # most buckets of a number for which it is built
_LARGEST_MATRIX: Final = 1 << 22  # entries up to which the matrix of a channel with integers is asked for
_ENTRIES: Final = 1 << 21
_TABLE: Final = 1 << 24
"""Entries (tuples × values) of a table that are made at a time, and that are kept: more are made again at each step."""
_CELLS_AT_ONCE: Final = 1 << 17
_FEW_ENVELOPES: Final = 64
_FEW_BUCKETS: Final = 2048
_FEW_COLUMNS: Final = 32
"""Up to these numbers second derivatives are summed over the tuples first, and from so many columns on it pays."""


class Rows(Protocol):
    """L of some cells, for a likelihood of shares and mixes; curves of numbers need the three products alone."""

    levels: int
    size: int  #: Number of values.
    listed: bool  #: Whether the cells are all that can come, so that expected counts can take the place of theirs.
    cost: float  #: Multiplications of `gram`.
    dense: bool  #: Whether it is worth them where shares alone are unknown.

    def forward(self, shares: FloatArray) -> FloatArray:
        """Return (L_τ f)_c, levels × cells."""

    def backward(self, weights: FloatArray, levels: FloatArray) -> FloatArray:
        """Return Σ_c w_c L̄_c; of several rows of weights, or of several columns of levels, a row each."""

    def gram(self, weights: FloatArray, levels: FloatArray) -> FloatArray:
        """Return Σ_c w_c L̄_c L̄_cᵀ between all values; for curves of numbers also along columns, values × columns."""


def _cheap(size: int, cost: float) -> bool:
    return size <= _SMALL and cost <= _CHEAP


class LabelRows:
    """The reports of a choice that show one label, of which each level has the chance Λ(s|τ).

    With S_c the values that cell c supports and k its class, such as its number of ones,

        L_τcx = low_kτ v_x + step_kτ w_x [x ∈ S_c],

    so that one sum over the supported values per cell serves all levels. Where channels treat values differently, every
    level has its own weights v and w of values (a *profile*), and needs a sum of its own.
    """

    def __init__(self, forms: Sequence[LabelArrays], cells: Cells, chances: FloatArray) -> None:
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
        self.dense = _cheap(self.size, self.cost)

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

    def gram(self, weights: FloatArray, levels: FloatArray) -> FloatArray:
        # (low v + step w [x ∈ S])(low v + step w [x' ∈ S]) for every two profiles.
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
        return np.asarray(total)


class PieceRows:
    """The reports of a number: cells are all labels × outputs, end to end; the `chances` Λ are labels × levels."""

    def __init__(self, pieces: Sequence[Pieces], chances: FloatArray) -> None:
        self.pieces, self.chances, self.size = pieces, chances, pieces[0].envelopes.shape[1]
        self.dense = self.size <= _LARGEST_GRID

    def forward(self, shares: FloatArray) -> FloatArray:
        outputs = np.array([pieces.forward(shares) for pieces in self.pieces])
        return np.asarray((self.chances.T[:, :, None] * outputs[:, None]).reshape(len(self.pieces), -1))

    def backward(self, weights: FloatArray, levels: FloatArray) -> FloatArray:
        if weights.ndim > 1:
            return np.array([self.backward(row, levels) for row in weights])
        return np.asarray(levels @ self._by_level(weights))

    def _by_level(self, weights: FloatArray) -> FloatArray:
        """Return Σ_c w_c L_τc, levels × buckets."""
        rows = self.chances.T @ weights.reshape(len(self.chances), -1)
        return np.array([pieces.expectation(row) for pieces, row in zip(self.pieces, rows, strict=True)])

    def gram(self, weights: FloatArray, levels: FloatArray, columns: FloatArray | None = None) -> FloatArray:
        if columns is None:
            moved = np.concatenate(list(np.tensordot(self.chances * levels, self._tables, axes=1)), axis=1)
        else:
            moved = self._chances(self._joint(columns.T, levels))
        moved = moved * np.sqrt(weights)
        return np.asarray(moved @ moved.T)

    def _joint(self, shares: FloatArray, levels: FloatArray) -> FloatArray:
        """Return shares π of levels and buckets, many × levels × buckets, of many shares of the values."""
        return np.asarray(levels[:, None] * shares[:, None, :])

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
        self.buckets, self.size, self.dense = self.size, self.size * len(pieces), False

    def forward(self, shares: FloatArray) -> FloatArray:
        return self._chances(self._joint(shares[None], np.ones(1)))

    def backward(self, weights: FloatArray, levels: FloatArray) -> FloatArray:
        del levels
        return self._by_level(weights).ravel()

    def gram(self, weights: FloatArray, levels: FloatArray, columns: FloatArray | None = None) -> FloatArray:
        return super().gram(weights, levels, np.eye(self.size) if columns is None else columns)

    def _joint(self, shares: FloatArray, levels: FloatArray) -> FloatArray:
        del levels
        return shares.reshape(len(shares), -1, self.buckets)

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
    mix, table = source_mix(source, source_cells(fused, place)), np.zeros((count, size))
    chances = mix.matrix[source.labels] * mix.shares
    for level, channel in enumerate(source.channels):  # one at a time: each may be large
        table += chances[:, level, None] * _output_rows(channel, source.outputs)[0]
    found = Pieces.none(size, count)
    found.envelope[:-1] = np.arange(1, count + 1)
    return replace(found, envelopes=np.concatenate([found.envelopes, table]))


def _output_rows(channel: Channel, outputs: Outputs) -> tuple[FloatArray, FloatArray]:
    """Return Q(y|·), outputs × values, up to a factor of the output, and its logarithm: it matters between levels."""
    form = arrays(channel)
    if not isinstance(form, PieceArrays):
        raise EstimateError(f"outputs of {channel.mechanism} have no likelihood of single values")
    nothing, listed = np.zeros(len(outputs)), not isinstance(channel.form, Bits)
    if not isinstance(form, LabelArrays) or (listed and channel.form.count * channel.size <= _LARGEST_MATRIX):
        return np.asarray(form.pieces().table()[outputs.astype(np.int64)]), nothing
    supported = form.supported(outputs).astype(np.float64)
    if listed:
        return np.asarray(form.low + form.step * supported), nothing
    law = form.cell_law(np.ascontiguousarray(outputs.T))
    of_low, of_step = form.value_weights() or (1.0, 1.0)
    low, step = law.low[law.classes, None], law.step[law.classes, None]
    return np.asarray(low * of_low + step * of_step * supported), law.base[law.classes]


def _level_rows(source: Source, cells: Places) -> FloatArray:
    """Return Λ·Q of these cells of a source, levels × cells × values; no report, −1, says nothing."""
    outputs = cells if source.listed is None else source.listed.outputs[cells]
    found, logs = (
        np.stack(each) for each in zip(*(_output_rows(one, outputs) for one in source.channels), strict=True)
    )
    if source.label_channel is not None:
        chances = label_arrays(source.label_channel).matrix()[source.labels[cells]]
        found *= (np.exp(logs - logs.max(axis=0)) * chances.T)[:, :, None]
    found[:, cells < 0] = 1.0
    return found


class TupleRows:
    """Tuples of labels, of people who gave to some of these sources; levels are combinations of those they hide."""

    listed = False

    def __init__(self, sources: Sequence[Source], cells: npt.NDArray[Any]) -> None:
        self.sources, self.cells = sources, cells
        self.levels, self.size = math.prod(len(source.channels) for source in sources), sources[0].channel.size
        self.cost = len(cells) * float(self.size) ** 2
        self.dense = _cheap(self.size, self.cost)
        self._kept: dict[int, FloatArray] = {}

    def _tables(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield L of some tuples at a time, levels × tuples × values."""
        step = max(1, _ENTRIES // (self.size * self.levels))
        for start in range(0, len(self.cells), step):
            part = slice(start, start + step)
            table = self._kept[start] if start in self._kept else self._table(part)
            if len(self.cells) * self.size * self.levels <= _TABLE:
                self._kept[start] = table
            yield part, table

    def _table(self, part: slice) -> FloatArray:
        total: FloatArray = np.ones((1, 1, 1))
        for source, cells in zip(self.sources, self.cells[part].T, strict=True):
            different, place = np.unique(cells, return_inverse=True)
            rows = _level_rows(source, different)[:, place.ravel()]
            total = (total[:, None] * rows).reshape(-1, *rows.shape[1:])
        return total

    def forward(self, shares: FloatArray) -> FloatArray:
        return np.concatenate([table @ shares for _, table in self._tables()], axis=1)

    def backward(self, weights: FloatArray, levels: FloatArray) -> FloatArray:
        if levels.ndim > 1:  # sum up over the tuples first: that serves all mixes
            return np.asarray(levels.T @ sum(weights[part] @ table for part, table in self._tables()))
        return np.asarray(sum(weights[..., part] @ np.tensordot(levels, table, 1) for part, table in self._tables()))

    def gram(self, weights: FloatArray, levels: FloatArray) -> FloatArray:
        total = np.zeros((self.size, self.size))
        for part, table in self._tables():
            moved = np.tensordot(levels, table, 1) * np.sqrt(weights[part])[:, None]
            total += moved.T @ moved
        return total


class PrefixRows:
    """Tuples of numbers by prefix sums; `order` says which tuple of the tally stands where."""

    def __init__(self, fused: Fused) -> None:
        rows = [source_pieces(fused, place) for place in range(len(fused.sources))]
        group, self.envelopes = _envelopes(fused, rows)
        self.size = fused.size
        # Tuples with one envelope stand together: their prefix sums stay in the processor's cache.
        self.order = np.argsort(group, kind="stable") if len(self.envelopes) > 64 else np.arange(len(group))
        self._matrix = _prefix_matrix(fused, rows, group, self.order, len(self.envelopes))
        self._transposed = self._matrix.T.tocsr()
        self.dense = len(self.envelopes) <= _FEW_ENVELOPES and self.size <= _FEW_BUCKETS

    def forward(self, shares: FloatArray) -> FloatArray:
        prefix = np.zeros((len(self.envelopes), self.size + 1))
        np.cumsum(self.envelopes * shares, axis=1, out=prefix[:, 1:])
        return np.asarray(self._matrix @ prefix.ravel())[None]

    def backward(self, weights: FloatArray, levels: FloatArray) -> FloatArray:
        del levels
        ends = (self._transposed @ weights).reshape(len(self.envelopes), self.size + 1)[:, 1:]
        return np.asarray((np.cumsum(ends[:, ::-1], axis=1)[:, ::-1] * self.envelopes).sum(axis=0))

    def gram(self, weights: FloatArray, levels: FloatArray, columns: FloatArray | None = None) -> FloatArray:
        del levels
        if columns is None:
            return self._gram_matrix(self._gram_of_prefixes(weights))
        if not self.dense:
            moved = np.concatenate([self.forward(column) for column in columns.T]) * np.sqrt(weights)
            return np.asarray(moved @ moved.T)
        prefix = np.zeros((len(self.envelopes), self.size + 1, columns.shape[1]))
        np.cumsum(self.envelopes[:, :, None] * columns, axis=1, out=prefix[:, 1:])
        sums = prefix.reshape(-1, columns.shape[1])
        if columns.shape[1] > _FEW_COLUMNS:
            return np.asarray(sums.T @ (self._gram_of_prefixes(weights) @ sums))
        moved = (self._matrix @ sums) * np.sqrt(weights)[:, None]
        return np.asarray(moved.T @ moved)

    def _gram_of_prefixes(self, weights: FloatArray) -> csr_array:
        """Aᵀ diag(w) A, which has few entries per tuple."""
        scaled = self._matrix.copy()
        scaled.data *= np.repeat(weights, np.diff(scaled.indptr))
        return self._transposed @ scaled

    def _gram_matrix(self, ends: csr_array) -> FloatArray:
        """Two cumulative sums lead from prefix sums to the buckets."""
        total = np.zeros((self.size, self.size))
        for place, envelope in enumerate(self.envelopes):
            block = slice(place * (self.size + 1) + 1, (place + 1) * (self.size + 1))
            sums = ends[block, block].toarray()[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
            total += sums * np.outer(envelope, envelope)
        return total


def _envelopes(fused: Fused, rows: list[Pieces]) -> tuple[Places, FloatArray]:
    """Return the envelope of every tuple and the table of envelopes, products over the services."""
    code = np.zeros(len(fused.counts), np.int64)
    used = [(each, place) for place, each in enumerate(rows) if len(each.envelopes) > 1]
    for each, place in used:
        code = code * len(each.envelopes) + each.envelope[fused.cells[:, place]]
    found, first, group = np.unique(code, return_index=True, return_inverse=True)
    if len(found) * fused.size > LARGEST_ENVELOPES:
        raise EstimateError(
            f"{len(found):,} combinations of outputs without windows (laplace, lh) on {fused.size:,} buckets are too "
            "many: use fewer buckets or leave a service out"
        )
    table = np.ones((len(found), fused.size))
    for each, place in used:
        table *= each.envelopes[each.envelope[fused.cells[first, place]]]
    return group, table / table.max(axis=1, keepdims=True)


def _prefix_matrix(fused: Fused, rows: list[Pieces], group: Places, order: Places, envelopes: int) -> csr_array:
    """Return A, tuples × (envelopes · (size+1)): what the module's first lines describe."""
    size = fused.size
    windows = [(each, place) for place, each in enumerate(rows) if each.lift.any()]
    indptr, indices, data = [np.zeros(1, np.int64)], [], []
    for begin in range(0, len(order), _CELLS_AT_ONCE):
        chosen = order[begin : begin + _CELLS_AT_ONCE]
        events, factors = [], []
        for each, place in windows:
            outputs = fused.cells[chosen, place]  # ABSENT is −1: the last row of Pieces
            rise = np.log1p(each.lift[outputs])
            events += [each.start[outputs], each.stop[outputs]]
            factors += [rise, -rise]
        # Pieces start at the sorted events; the last event is the end of the grid.
        at = np.stack([*events, np.full(len(chosen), size)], axis=1).astype(np.int32)
        logs = np.stack([*factors, np.zeros(len(chosen))], axis=1)
        sorting = np.argsort(at, axis=1, kind="stable")
        at = np.take_along_axis(at, sorting, axis=1)
        heights = np.exp(np.cumsum(np.take_along_axis(logs, sorting, axis=1), axis=1))
        before = np.concatenate([np.ones((len(chosen), 1)), heights[:, :-1]], axis=1)
        drop = before - heights
        # Where several windows end together one entry is enough; the end of the grid takes what is left.
        last = at == size
        drop[last] = 0
        drop[:, -1] = np.where(last, 0, heights - before).sum(axis=1) + 1
        same = at[:, :-1] == at[:, 1:]
        for column in range(at.shape[1] - 1):
            move = same[:, column] & (at[:, column] < size)
            drop[move, column + 1] += drop[move, column]
            drop[move, column] = 0
        drop[at == 0] = 0
        kept = drop != 0
        data.append(drop[kept])
        indices.append((at + (group[chosen] * (size + 1))[:, None])[kept].astype(np.int32))
        indptr.append(indptr[-1][-1] + np.cumsum(kept.sum(axis=1)))
    shape = (len(order), envelopes * (size + 1))
    ends = np.concatenate(indptr)
    # Places as short as they may be: products read less memory.
    ends = ends.astype(np.int32) if ends[-1] < 1 << 31 else ends
    return csr_array((np.concatenate(data), np.concatenate(indices), ends), shape=shape)
