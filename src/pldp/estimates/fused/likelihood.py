"""The likelihood of joined reports: a tuple of outputs has the product of what its sources say.

    L_c(f, ρ) = Σ_x f_x Π_s Q_s(y_cs | x),

of sources that hide levels  Q(l, y | x) = Σ_τ ρ_τ Π_s G_s(l_s|τ_s) Q_sτ(y_s|x).

Sources that hide levels and have people in common are one factor: τ are the levels of a person at all of them, and ρ is
how often each combination came, together with the levels that other services show. Careful people are careful
everywhere; with a mix per source, of levels that have nothing to do with each other, shares would be wrong by several
standard errors. The shares f and the mixes are fitted together; L is linear in each of them, so first and second
derivatives are sums of products of tables, made some tuples at a time. The number of people drops out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import block_diag

from pldp.errors import EstimateError
from pldp.estimates.fused.sources import level_mix_of
from pldp.estimates.solver.likelihood import Fit, Product, interior, maximise, minus_log, ratio
from pldp.mechanisms import Bits, Channel
from pldp.mechanisms.arrays import FloatArray, LabelArrays, Outputs, PieceArrays, arrays
from pldp.tallies import ABSENT, Fused, Source

_ENTRIES: Final = 1 << 21
"""Entries (tuples × values) that are worked on at a time."""

_TABLE: Final = 1 << 24
"""Most entries of a table outputs × values that is kept; larger ones are made again at every step."""

_LARGEST_HESSIAN: Final = 1200
"""Most unknowns for which the matrix of second derivatives is built."""

LARGEST_JOINT: Final = 64
"""Most combinations of the levels of several services that are mixed."""

_LARGEST_MATRIX: Final = 1 << 22
"""Entries up to which the matrix of a channel with integers is asked for."""


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


class TupleSource(NamedTuple):
    """Tables of a source: per level (one where it is shown) cells × values, times the chance of the label.

    The last row stands for no report: it says nothing. Where tables would be too large there are none.
    """

    source: Source
    levels: int
    tables: FloatArray | None
    chances: FloatArray | None  # cells × levels: G(label of the cell | level)

    @classmethod
    def of(cls, source: Source) -> TupleSource:
        """Make the tables of a source."""
        hidden = source.hidden
        levels = 1 if hidden is None else len(hidden.channels)
        chances = None
        if hidden is not None and source.listed is not None and source.listed.labels is not None:
            mix = level_mix_of(hidden, source.listed.labels, np.zeros(source.count))
            chances = mix.matrix[source.listed.labels]
        found = cls(source, levels, None, chances)
        if (source.count + 1) * source.channel.size * levels > _TABLE:
            return found
        rows = found.rows(np.arange(source.count))
        silent = np.ones((levels, 1, source.channel.size))
        return found._replace(tables=np.concatenate([rows, silent], axis=1))

    def rows(self, cells: Outputs) -> FloatArray:
        """Return Q of these cells, levels × cells × values; no report, −1, says nothing."""
        if self.tables is not None:
            return np.asarray(self.tables[:, cells])
        source = self.source
        outputs = cells if source.listed is None else source.listed.outputs[cells]
        channels = (source.channel,) if source.hidden is None else source.hidden.channels
        parts = [output_rows(channel, outputs) for channel in channels]
        found = np.stack([rows for rows, _ in parts])
        if self.chances is not None:
            logs = np.stack([factor for _, factor in parts])
            found *= (np.exp(logs - logs.max(axis=0)) * self.chances[cells].T)[:, :, None]
        found[:, cells < 0] = 1.0
        return found


class JointSource(NamedTuple):
    """Sources whose levels are mixed together: one, or several that hide levels and have people in common.

    People are of one of several `classes`, each with a mix of its own.
    """

    places: tuple[int, ...]
    parts: tuple[TupleSource, ...]
    classes: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of classes, and of levels of every source."""
        return self.classes, *(part.levels for part in self.parts)

    @property
    def levels(self) -> int:
        """Combinations of a class with levels."""
        return math.prod(self.shape)

    def rows(self, cells: npt.NDArray[Any], classes: npt.NDArray[np.intp]) -> FloatArray:
        """Return Q of these tuples (tuples × all sources) of people of these classes: levels × tuples × values."""
        total = self.parts[0].rows(cells[:, self.places[0]])
        for place, part in zip(self.places[1:], self.parts[1:], strict=True):
            own = part.rows(cells[:, place])
            total = (total[:, None] * own[None]).reshape(-1, *own.shape[1:])
        if self.classes == 1:
            return total
        mine = np.arange(self.classes)[:, None] == classes
        return np.asarray((mine[:, None, :, None] * total[None]).reshape(-1, *total.shape[1:]))


def joint_places(fused: Fused) -> list[tuple[int, ...]]:
    """Return which sources belong together: those that hide levels, if people gave to both; every other one alone."""
    joint: list[set[int]] = []
    given = fused.cells != ABSENT
    for place, source in enumerate(fused.sources):
        near = {
            number
            for number, other in enumerate(fused.sources[:place])
            if None not in {source.hidden, other.hidden} and (given[:, place] & given[:, number]).any()
        }
        meet = [each for each in joint if each & near]
        joint = [*(each for each in joint if not each & near), {place}.union(*meet)]
    return sorted(tuple(sorted(each)) for each in joint)


def shown_classes(fused: Fused) -> npt.NDArray[np.intp]:
    """Return the class of each tuple: the levels that people show at services which show them."""
    shown = [place for place, source in enumerate(fused.sources) if source.service and source.hidden is None]
    return np.unique(fused.cells[:, shown] != ABSENT, axis=0, return_inverse=True)[1].ravel()


def joint_levels(fused: Fused) -> int:
    """Return the most combinations of classes and hidden levels that have to be mixed together."""
    counts = [1 if each.hidden is None else len(each.hidden.channels) for each in fused.sources]
    most = max(math.prod(counts[place] for place in places) for places in joint_places(fused))
    return most * (int(shown_classes(fused).max(initial=0)) + 1)


class TupleLikelihood:
    """The likelihood of shares, and of the mixes of hidden levels, for `maximise`: `point` is (f, ρ, ρ, …)."""

    def __init__(self, fused: Fused) -> None:
        self.fused = fused
        self.reports = self.people = fused.people
        self.size = fused.size
        self.weights: FloatArray = fused.counts / fused.people
        self.classes = shown_classes(fused)
        self.sources = [self._joint(places) for places in joint_places(fused)]
        self.hidden = [place for place, each in enumerate(self.sources) if each.levels > 1]
        ends = np.cumsum([self.size, *(self.sources[place].levels for place in self.hidden)]).tolist()
        self.blocks = tuple(slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True))
        self._at: FloatArray | None = None
        self._cells: FloatArray = np.zeros(0)
        if self.hidden and ends[-1] > _LARGEST_HESSIAN:
            raise EstimateError(
                f"a likelihood with hidden levels takes at most {_LARGEST_HESSIAN:,} values; method unbiased takes more"
            )
        if max(each.levels for each in self.sources) > LARGEST_JOINT:
            raise EstimateError(
                f"a likelihood takes at most {LARGEST_JOINT} combinations of hidden levels; method unbiased takes more"
            )

    def _joint(self, places: tuple[int, ...]) -> JointSource:
        parts = tuple(TupleSource.of(self.fused.sources[place]) for place in places)
        hidden = any(part.levels > 1 for part in parts)
        return JointSource(places, parts, int(self.classes.max(initial=0)) + 1 if hidden else 1)

    def _mixes(self, point: FloatArray) -> dict[int, FloatArray]:
        return {place: point[block] for place, block in zip(self.hidden, self.blocks[1:], strict=True)}

    def start(self, shares: FloatArray, mixes: Mapping[int, FloatArray]) -> FloatArray:
        """Return where to start: these shares, and levels at several services as if independent."""
        classes = np.asarray(np.bincount(self.classes, weights=self.weights), np.float64)
        every: list[FloatArray] = [interior(shares)]
        for number in self.hidden:
            joint = self.sources[number]
            own = [classes if joint.classes > 1 else np.ones(1), *(mixes[place] for place in joint.places)]
            every.append(interior(reduce(np.multiply.outer, own).ravel()))
        return np.concatenate(every)

    def mixes_of(self, point: FloatArray) -> dict[int, FloatArray]:
        """Return the mix of levels of every source that hides them, whatever levels people have elsewhere."""
        found = {}
        for number, mix in self._mixes(point).items():
            joint = self.sources[number]
            table = mix.reshape(joint.shape)
            for axis, place in enumerate(joint.places, 1):
                found[place] = table.sum(axis=tuple(other for other in range(table.ndim) if other != axis))
        return found

    def _chunks(self, point: FloatArray) -> Iterator[tuple[slice, list[FloatArray], list[FloatArray]]]:
        """Yield some tuples: which, the rows of every source (levels × tuples × values), and these mixed."""
        mixes, levels = self._mixes(point), max(each.levels for each in self.sources)
        step = max(1, _ENTRIES // (self.size * levels))
        for start in range(0, len(self.weights), step):
            part = slice(start, min(start + step, len(self.weights)))
            rows = [each.rows(self.fused.cells[part], self.classes[part]) for each in self.sources]
            mixed = [np.tensordot(mixes[place], own, 1) if place in mixes else own[0] for place, own in enumerate(rows)]
            yield part, rows, mixed

    @cached_property
    def _fixed(self) -> FloatArray | None:
        """The products of all sources where nothing is hidden and they fit into memory."""
        if self.hidden or len(self.weights) * self.size > _TABLE * 2:
            return None
        return np.concatenate([_product(mixed) for _, _, mixed in self._chunks(np.zeros(self.size))])

    def _products(self, point: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        fixed = self._fixed
        if fixed is not None:
            yield slice(0, len(self.weights)), fixed
            return
        for part, _, mixed in self._chunks(point):
            yield part, _product(mixed)

    def cells(self, point: FloatArray) -> FloatArray:
        """L of every tuple; the last one is kept."""
        if self._at is not point:
            shares = point[self.blocks[0]]
            self._cells = np.concatenate([product @ shares for _, product in self._products(point)])
            self._at = point
        return self._cells

    def objective(self, point: FloatArray) -> float:
        """Minus the log-likelihood per person, up to a constant of the data."""
        return minus_log(self.weights, self.cells(point))

    def scores(self, point: FloatArray) -> FloatArray:
        """The mean likelihood ratio of every value and level."""
        slopes = ratio(self.weights, self.cells(point))
        if not self.hidden:
            return np.asarray(sum(slopes[part] @ product for part, product in self._products(point)))
        total = np.zeros(len(point))
        for part, gradient, _ in self._gradients(point):
            total += slopes[part] @ gradient
        return total

    def _gradients(self, point: FloatArray) -> Iterator[tuple[slice, FloatArray, list[FloatArray]]]:
        """Yield ∂L of some tuples (tuples × unknowns) and, for every hidden source, levels × tuples × values."""
        shares = point[self.blocks[0]]
        for part, rows, mixed in self._chunks(point):
            columns, parts = [_product(mixed)], []
            for place in self.hidden:
                others = _product([own for number, own in enumerate(mixed) if number != place], like=mixed[0])
                parts.append(rows[place] * others)
                columns.append((parts[-1] @ shares).T)
            yield part, np.concatenate(columns, axis=1), parts

    def hessian(self, point: FloatArray) -> FloatArray | None:
        """Return the exact matrix of second derivatives of the objective, where it is not too large."""
        if len(point) > _LARGEST_HESSIAN:
            return None
        slopes = ratio(self.weights, self.cells(point))
        matrix = self.outer(point)
        if not self.hidden:
            return matrix
        shares = point[self.blocks[0]]
        for part, rows, mixed in self._chunks(point):
            own = slopes[part]
            for number, place in enumerate(self.hidden):
                block = self.blocks[1 + number]
                others = _product([each for other, each in enumerate(mixed) if other != place], like=mixed[0])
                both = np.einsum("c,cx,tcx->xt", own, others, rows[place], optimize=True)
                matrix[self.blocks[0], block] -= both
                matrix[block, self.blocks[0]] -= both.T
                for later in range(number + 1, len(self.hidden)):
                    second = self.hidden[later]
                    rest = _product(
                        [each for other, each in enumerate(mixed) if other not in {place, second}], like=mixed[0]
                    )
                    cross = np.einsum("c,cx,tcx,ucx->tu", own, rest * shares, rows[place], rows[second], optimize=True)
                    matrix[block, self.blocks[1 + later]] -= cross
                    matrix[self.blocks[1 + later], block] -= cross.T
        return matrix

    def outer(self, point: FloatArray) -> FloatArray:
        """Return Σ w ∂L ∂Lᵀ/L²: the observed information per person, without second derivatives of L."""
        scale = np.sqrt(self.weights) / np.maximum(self.cells(point), 1e-300)
        total = np.zeros((len(point), len(point)))
        if not self.hidden:
            for part, product in self._products(point):
                moved = product * scale[part, None]
                total += moved.T @ moved
            return total
        for part, gradient, _ in self._gradients(point):
            moved = gradient * scale[part, None]
            total += moved.T @ moved
        return total

    def curvature(self, point: FloatArray) -> Product:
        """The product with the Hessian of the shares, for more values than a matrix has room for."""
        scale = ratio(ratio(self.weights, self.cells(point)), self.cells(point))

        def product(vector: FloatArray) -> FloatArray:
            return np.asarray(sum((scale[part] * (table @ vector)) @ table for part, table in self._products(point)))

        return product

    def covariance(self, point: FloatArray) -> FloatArray:
        """Return the covariance of the shares: the inverse information along all simplices."""
        starts = [np.eye(block.stop - block.start) for block in self.blocks]
        bases = [np.linalg.qr(np.column_stack([np.ones(len(own)), own[:, 1:]]))[0][:, 1:] for own in starts]
        basis = block_diag(*bases)
        # Combinations of levels that nobody could show have no information, and no part in the shares.
        inverse = np.linalg.pinv(basis.T @ (self.people * self.outer(point)) @ basis, rcond=1e-12, hermitian=True)
        return np.asarray((basis @ inverse @ basis.T)[self.blocks[0], self.blocks[0]])


def _product(factors: Sequence[FloatArray], like: FloatArray | None = None) -> FloatArray:
    """Return the product of tables; 1 of the shape of `like` where there are none."""
    if not factors:
        return np.ones_like(like)
    total = factors[0]
    for factor in factors[1:]:
        total = total * factor
    return np.asarray(total)


Start = tuple[FloatArray, Mapping[int, FloatArray]]
"""Shares, and the mix of levels of every source that hides them."""


def fit_tuples(fused: Fused, start: Start | None = None, progress: Any = None) -> tuple[Fit, TupleLikelihood]:
    """Fit shares, and the mix of every hidden source, to all tuples; all of them end to end in `shares` of the fit."""
    model = TupleLikelihood(fused)
    sizes = [block.stop - block.start for block in model.blocks]
    first = np.repeat([1 / size for size in sizes], sizes) if start is None else model.start(*start)
    told = None if progress is None else lambda steps, _: progress(steps)
    return maximise(model, first, progress=told), model
