"""Rows of joined reports: a person's tuple of outputs has the product of what its services say.

**Numbers (`PrefixRows`).** As a function of the value t every output of a number channel has the likelihood

    Q(y|t) = base_y · envelope_y(t) · (1 + lift_y · [start_y ≤ t < stop_y]):

windows (PM, SW, k-RR) are constant in and out of an interval; the two outputs of SR, the outputs of Laplace and any
other channel have a smooth *envelope*. The likelihood of a tuple is the product of the envelopes, of which there are
few (the tuples are grouped by them), times a function with at most 2·windows + 1 constant pieces. So the sum over the
buckets is a combination of a few prefix sums,

    L_c·f = Σ_e A_ce P(e),   P_g(e) = Σ_{t<e} envelope_g(t) f_t,

and A is sparse: one entry per end of a window inside the grid. Time is linear in the tuples, whatever the number of
people and of buckets.

**Labels (`tuple_parts`).** L_τc = Π_s Λ_s(l_s|τ_s) Q_sτ(y_s|·), as tables made some tuples at a time. Sources that hide
levels and have people in common have one mix, of the levels τ of a person at all of them: careful people are careful
everywhere, and with a mix per source shares would be wrong by several standard errors. People who show different levels
at other services have mixes of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from pldp.errors import EstimateError
from pldp.estimates.likelihood.mixture import LARGEST_HESSIAN, MixPrior, Mixture, Part, ShareLikelihood
from pldp.estimates.likelihood.rows import cheap, source_pieces
from pldp.estimates.likelihood.solver import Fit, FitProgress, climb_by_em, interior, maximise
from pldp.mechanisms import Bits, Channel
from pldp.mechanisms.arrays import (
    LARGEST_ENVELOPES,
    FloatArray,
    LabelArrays,
    Outputs,
    PieceArrays,
    Pieces,
    arrays,
    label_arrays,
)
from pldp.tallies import ABSENT, Fused, Source

Places = npt.NDArray[np.intp]

_CELLS_AT_ONCE: Final = 1 << 17
_FEW_ENVELOPES: Final = 64
_FEW_BUCKETS: Final = 2048
_FEW_COLUMNS: Final = 32
"""Up to these numbers second derivatives are summed over the tuples first, and from so many columns on it pays."""

_ENTRIES: Final = 1 << 21
"""Entries (tuples × values) of a table that are worked on at a time."""
_TABLE: Final = 1 << 24
"""Most entries of a table that is kept; larger ones are made again at every step."""
_LARGEST_MATRIX: Final = 1 << 22
"""Entries up to which the matrix of a channel with integers is asked for."""

_SAMPLED_CELLS: Final = 100_000
"""Tuples that the observed information is computed from where there are more."""

LARGEST_JOINT: Final = 64
"""Most combinations of the levels of several services that are mixed."""


class PrefixRows:
    """Tuples of numbers by prefix sums; `order` says which tuple of the tally stands where."""

    levels, listed = 1, False

    def __init__(self, fused: Fused) -> None:
        rows = [source_pieces(fused, place) for place in range(len(fused.sources))]
        group, self.envelopes = _envelopes(fused, rows)
        self.size = fused.size
        # Tuples with one envelope stand together: their prefix sums stay in the processor's cache.
        self.order = np.argsort(group, kind="stable") if len(self.envelopes) > 64 else np.arange(len(group))
        self._matrix = _prefix_matrix(fused, rows, group, self.order, len(self.envelopes))
        self._transposed = self._matrix.T.tocsr()
        self.cost = len(self.envelopes) * float(self.size) ** 2
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


def output_rows(channel: Channel, outputs: Outputs) -> tuple[FloatArray, FloatArray]:
    """Return Q(y|·) of these outputs, outputs × values, up to a factor of the output, and the logarithm of that factor.

    The factor of rows of bits is tiny where there are many, and matters only between levels.
    """
    form = arrays(channel)
    if not isinstance(form, PieceArrays):
        raise EstimateError(f"outputs of {channel.mechanism} have no likelihood of single values")
    count, size = channel.form.count, channel.size
    nothing = np.zeros(len(outputs))
    if not isinstance(channel.form, Bits) and count * size <= _LARGEST_MATRIX:
        return np.asarray(form.pieces().table()[outputs.astype(np.int64)]), nothing
    if not isinstance(form, LabelArrays):
        raise EstimateError(f"a channel of {count:,} outputs and {size:,} values is too large to fuse")
    supported = form.supported(outputs).astype(np.float64)
    if not isinstance(channel.form, Bits):
        return np.asarray(form.low + form.step * supported), nothing
    law = form.cell_law(np.ascontiguousarray(outputs.T))
    of_low, of_step = form.value_weights() or (1.0, 1.0)
    low, step = law.low[law.classes, None], law.step[law.classes, None]
    return np.asarray(low * of_low + step * of_step * supported), law.base[law.classes]


def _level_rows(source: Source, cells: Places) -> FloatArray:
    """Return Λ·Q of these cells of a source, levels × cells × values; no report, −1, says nothing."""
    outputs = cells if source.listed is None else source.listed.outputs[cells]
    channels = (source.channel,) if source.hidden is None else source.hidden.channels
    parts = [output_rows(channel, outputs) for channel in channels]
    found = np.stack([rows for rows, _ in parts])
    if source.hidden is not None and source.listed is not None and source.listed.labels is not None:
        logs = np.stack([factor for _, factor in parts])
        chances = label_arrays(source.hidden.label).matrix()[source.listed.labels[cells]]
        found *= (np.exp(logs - logs.max(axis=0)) * chances.T)[:, :, None]
    found[:, cells < 0] = 1.0
    return found


def _level_counts(sources: Sequence[Source]) -> list[int]:
    """Return the number of levels that every source hides; 1 where it shows them."""
    return [1 if source.hidden is None else len(source.hidden.channels) for source in sources]


class TupleRows:
    """Tuples of labels, of people who gave to some of these sources; levels are combinations of those they hide."""

    listed = False

    def __init__(self, sources: Sequence[Source], cells: npt.NDArray[Any]) -> None:
        self.sources, self.cells = sources, cells
        self.shape = _level_counts(sources)
        self.levels, self.size = math.prod(self.shape), sources[0].channel.size
        self.cost = len(cells) * float(self.size) ** 2
        self.dense = cheap(self.size, self.cost)

    @cached_property
    def _factors(self) -> list[tuple[FloatArray, Places] | None]:
        """L of the different outputs of every source, and which of them every tuple has; none where it is too large."""
        factors: list[tuple[FloatArray, Places] | None] = []
        for source, cells, levels in zip(self.sources, self.cells.T, self.shape, strict=True):
            came, place = np.unique(cells, return_inverse=True)
            fits = len(came) * self.size * levels <= _TABLE
            factors.append((_level_rows(source, came), place.ravel()) if fits else None)
        return factors

    def _table(self, part: slice) -> FloatArray:
        """Return L of some tuples, levels × tuples × values."""
        total: FloatArray = np.ones((1, 1, 1))
        for source, cells, factor in zip(self.sources, self.cells[part].T, self._factors, strict=True):
            rows = _level_rows(source, cells) if factor is None else factor[0][:, factor[1][part]]
            total = (total[:, None] * rows).reshape(-1, *rows.shape[1:])
        return total

    @cached_property
    def _whole(self) -> FloatArray | None:
        """L of all tuples, where it is not too large."""
        fits = len(self.cells) * self.size * self.levels <= _TABLE
        return self._table(slice(None)) if fits else None

    def _tables(self) -> Iterator[tuple[slice, FloatArray]]:
        if self._whole is not None:
            yield slice(None), self._whole
            return
        step = max(1, _ENTRIES // (self.size * self.levels))
        for start in range(0, len(self.cells), step):
            yield slice(start, start + step), self._table(slice(start, start + step))

    def forward(self, shares: FloatArray) -> FloatArray:
        return np.concatenate([table @ shares for _, table in self._tables()], axis=1)

    def backward(self, weights: FloatArray, levels: FloatArray) -> FloatArray:
        if levels.ndim > 1:  # sum up over the tuples first: that serves all mixes
            return np.asarray(levels.T @ sum(weights[part] @ table for part, table in self._tables()))
        return np.asarray(sum(weights[..., part] @ np.tensordot(levels, table, 1) for part, table in self._tables()))

    def gram(self, weights: FloatArray, levels: FloatArray, columns: FloatArray | None = None) -> FloatArray:
        total = np.zeros((self.size, self.size))
        for part, table in self._tables():
            moved = np.tensordot(levels, table, 1) * np.sqrt(weights[part])[:, None]
            total += moved.T @ moved
        return np.asarray(total if columns is None else columns.T @ total @ columns)


def _joint_places(fused: Fused) -> list[list[int]]:
    """Return the sources that hide levels, those together that people have in common."""
    given = fused.cells != ABSENT
    joint: list[set[int]] = []
    for place, source in enumerate(fused.sources):
        if source.hidden is not None:
            near = set(np.flatnonzero(given[given[:, place]].any(axis=0)).tolist())
            meet = [each for each in joint if each & near]
            joint = [*(each for each in joint if not each & near), {place}.union(*meet)]
    return [sorted(each) for each in joint]


def _shown_classes(fused: Fused) -> Places:
    """Return the class of each tuple: the levels that people show at services which show them."""
    shown = [place for place, source in enumerate(fused.sources) if source.service and source.hidden is None]
    return np.unique(fused.cells[:, shown] != ABSENT, axis=0, return_inverse=True)[1].ravel()


def joint_levels(fused: Fused) -> int:
    """Return the most combinations of classes and hidden levels that have to be mixed together."""
    counts = _level_counts(fused.sources)
    most = max((math.prod(counts[place] for place in places) for places in _joint_places(fused)), default=0)
    return most * (int(_shown_classes(fused).max(initial=0)) + 1)


class TupleMixture(Mixture):
    """The likelihood of joined reports of labels: a part for every class of people and the joint sources they gave to.

    `gave` has, for every mix, the sources with hidden levels and how many people of its part gave to each.
    """

    def __init__(self, fused: Fused) -> None:
        self.fused, given, joint = fused, fused.cells != ABSENT, _joint_places(fused)
        # A tuple's part: the joint sources that it has a report of (never of several), and its class.
        keys = np.full((2, len(fused.counts)), -1)
        for number, places in enumerate(joint):
            keys[0, given[:, places].any(axis=1)] = number
        keys[1] = np.where(keys[0] < 0, -1, _shown_classes(fused))
        parts: list[Part] = []
        self.gave: list[dict[int, float]] = []
        for key in np.unique(keys, axis=1).T:
            inside = (keys == key[:, None]).all(axis=0)
            counts, used = fused.counts[inside].astype(float), np.flatnonzero(given[inside].any(axis=0))
            rows = TupleRows([fused.sources[place] for place in used], fused.cells[np.ix_(inside, used)])
            parts.append(Part(rows, counts, None if key[0] < 0 else len(self.gave)))
            if key[0] >= 0:
                people = counts @ given[inside]
                self.gave.append({place: float(people[place]) for place in joint[key[0]] if people[place]})
        super().__init__(parts, [MixPrior.free(part.rows.levels) for part in parts if part.mix is not None])
        if self.gave and self.blocks[-1].stop > LARGEST_HESSIAN:
            raise EstimateError(
                f"a likelihood with hidden levels takes at most {LARGEST_HESSIAN:,} values; method unbiased takes more"
            )
        if joint_levels(fused) > LARGEST_JOINT:
            raise EstimateError(
                f"a likelihood takes at most {LARGEST_JOINT} combinations of hidden levels; method unbiased takes more"
            )

    def start(self, shares: FloatArray, mixes: Mapping[int, FloatArray]) -> FloatArray:
        """Return where to start: these shares, and levels at several sources as if independent."""
        joint = [reduce(np.multiply.outer, [mixes[place] for place in places]).ravel() for places in self.gave]
        return np.concatenate([interior(each) for each in (shares, *joint)])

    def mixes_of(self, point: FloatArray) -> dict[int, FloatArray]:
        """Return the mix of levels of the people who gave to each source that hides them."""
        total: dict[int, FloatArray] = {}
        counts = _level_counts(self.fused.sources)
        for mix, gave in zip(self.mixes(point), self.gave, strict=True):
            table = mix.reshape([counts[place] for place in gave])
            for axis, (place, people) in enumerate(gave.items()):
                own = people * table.sum(axis=tuple(other for other in range(table.ndim) if other != axis))
                total[place] = total.get(place, 0.0) + own
        return {place: own / own.sum() for place, own in total.items()}


Start = tuple[FloatArray, Mapping[int, FloatArray]]
"""Shares, and the mix of levels of every source that hides them."""


def fit_tuples(fused: Fused, start: Start | None = None, progress: Any = None) -> tuple[Fit, TupleMixture]:
    """Fit shares, and the mixes of hidden levels, to all tuples; all of them end to end in `shares` of the fit."""
    model = TupleMixture(fused)
    sizes = [block.stop - block.start for block in model.blocks]
    first = np.repeat([1 / size for size in sizes], sizes) if start is None else model.start(*start)
    return maximise(model, first, progress=None if progress is None else lambda steps, _: progress(steps)), model


class FusedLikelihood(ShareLikelihood):
    """The likelihood of the distribution over the buckets from a fused tally of a number.

    `weights` are the shares of the people in each tuple, and `order` says which tuple of the tally stands where.
    """

    def __init__(self, fused: Fused) -> None:
        rows = PrefixRows(fused)
        super().__init__(rows, fused.counts[rows.order], fused.bounds)
        self.fused, self.order = fused, rows.order

    def forward(self, shares: FloatArray) -> FloatArray:
        """Return L·f of every tuple (up to a factor of the tuple)."""
        return self.rows.forward(shares)[0, :]

    @cached_property
    def sampled(self) -> FusedLikelihood:
        """The likelihood of a sample of the tuples: enough for an average such as the information."""
        thinned = self.fused.thin(_SAMPLED_CELLS)
        return self if thinned is self.fused else FusedLikelihood(thinned)


def likelihood_fit(fused: Fused | FusedLikelihood, *, progress: FitProgress | None = None) -> Fit:
    """Fit the distribution over the buckets by maximum likelihood, to a certified gap (ULE, accelerated).

    Without smoothing it over-fits: it puts all weight on a few buckets. See `density` for the default.
    """
    model = fused if isinstance(fused, FusedLikelihood) else FusedLikelihood(fused)
    return maximise(model, model.uniform, progress=progress)


def em(
    fused: Fused | ShareLikelihood,
    *,
    smoothing: bool,
    most_steps: int = 10_000,
    progress: FitProgress | None = None,
) -> Fit:
    """Run EM from equal shares until the log-likelihood changes by less than a thousandth.

    With `smoothing`, shares are averaged with their neighbours by (1, 2, 1)/4 after each step (EMS); that climbs no
    likelihood, and `converged` says only that the rule stopped it.
    """
    model = FusedLikelihood(fused) if isinstance(fused, Fused) else fused
    return climb_by_em(model, model.uniform, smoothing=smoothing, most_steps=most_steps, progress=progress)
