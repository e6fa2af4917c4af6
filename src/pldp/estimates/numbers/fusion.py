"""The likelihood of a fused tally in time linear in its tuples, whatever the number of people and of buckets.

As a function of the value t every output of a number channel has the likelihood

    Q(y|t) = base_y · envelope_y(t) · (1 + lift_y · [start_y ≤ t < stop_y]):

windows (PM, SW, k-RR) are constant in and out of an interval; the two outputs of SR, the outputs of Laplace and any
other channel have a smooth *envelope*. The likelihood of a tuple is the product over its services: the product of the
envelopes, of which there are few (the tuples are grouped by them), times a function with at most 2·windows + 1 constant
pieces. So the sum over the buckets is a combination of a few prefix sums,

    L_c·f = Σ_e A_ce P(e),   P_g(e) = Σ_{t<e} envelope_g(t) f_t,

and A is sparse: one entry per end of a window inside the grid. `forward` multiplies by A after one cumulative sum,
`backward` by its transpose before one.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from pldp.errors import EstimateError
from pldp.estimates.numbers.log_density import Likelihood
from pldp.estimates.numbers.sources import source_pieces
from pldp.estimates.solver.likelihood import Fit, FitProgress, Product, maximise, minus_log, ratio
from pldp.mechanisms.arrays import LARGEST_ENVELOPES, FloatArray, Pieces
from pldp.tallies import Fused

_CELLS_AT_ONCE: Final = 1 << 17

_FEW_ENVELOPES: Final = 64
_FEW_BUCKETS: Final = 2048
_FEW_COLUMNS: Final = 32
"""Up to these numbers second derivatives are summed over the tuples first, and from so many columns on it pays."""

_UNSEEN: Final = 1e-14
"""Eigenvalues of the information, relative to the largest, that are rounding errors."""

_EM_CHANGE: Final = 1e-3
"""Log-likelihood, of all people together, at whose change EM stops."""

_SAMPLED_CELLS: Final = 100_000
"""Tuples that the observed information is computed from where there are more."""


def centres(size: int) -> FloatArray:
    """Return the centres of the buckets on [−1, 1]."""
    return np.asarray((2 * np.arange(size) + 1 - size) / size)


class FusedLikelihood:
    """The likelihood of the distribution over the buckets, for `maximise` and for anything else that climbs it.

    `weights` are the shares of the people in each tuple, and `order` says which tuple of the tally stands where.
    """

    def __init__(self, fused: Fused) -> None:
        self.fused = fused
        self.size = fused.size
        self.copies = 1
        self.bounds = fused.bounds
        self.blocks = (slice(0, self.size),)
        self.people = self.reports = fused.people
        rows = [source_pieces(fused, place) for place in range(len(fused.sources))]
        group, self.envelopes = _envelopes(fused, rows)
        # Tuples with one envelope stand together: their prefix sums stay in the processor's cache.
        self.order = np.argsort(group, kind="stable") if len(self.envelopes) > 64 else np.arange(len(group))
        self.weights: FloatArray = fused.counts[self.order] / self.people
        self._matrix = _prefix_matrix(fused, rows, group, self.order, len(self.envelopes))
        self._transposed = self._matrix.T.tocsr()
        self._at: FloatArray | None = None
        self._cells: FloatArray = np.zeros(0)

    def forward(self, shares: FloatArray) -> FloatArray:
        """Return L·f of every tuple (up to a factor of the tuple)."""
        prefix = np.zeros((len(self.envelopes), self.size + 1))
        np.cumsum(self.envelopes * shares, axis=1, out=prefix[:, 1:])
        return np.asarray(self._matrix @ prefix.ravel())

    def backward(self, weights: FloatArray) -> FloatArray:
        """Return Lᵀ·w of every bucket."""
        ends = (self._transposed @ weights).reshape(len(self.envelopes), self.size + 1)[:, 1:]
        return np.asarray((np.cumsum(ends[:, ::-1], axis=1)[:, ::-1] * self.envelopes).sum(axis=0))

    def information(self, shares: FloatArray, columns: FloatArray) -> FloatArray:
        """Return Jᵀ diag(w/(L·f)²) J with J = L·columns: the observed information per person along the columns."""
        cells = self.cells(shares)
        if not self._few:
            moved = np.array([self.forward(column) for column in columns.T]) * (np.sqrt(self.weights) / cells)
            return np.asarray(moved @ moved.T)
        prefix = np.zeros((len(self.envelopes), self.size + 1, columns.shape[1]))
        np.cumsum(self.envelopes[:, :, None] * columns, axis=1, out=prefix[:, 1:])
        sums = prefix.reshape(-1, columns.shape[1])
        if columns.shape[1] > _FEW_COLUMNS:
            return np.asarray(sums.T @ (self._curvature_of_prefixes(self.weights / cells**2) @ sums))
        moved = (self._matrix @ sums) * (np.sqrt(self.weights) / cells)[:, None]
        return np.asarray(moved.T @ moved)

    def information_root(self, shares: FloatArray) -> FloatArray | None:
        """Return R with RᵀR the observed information of the shares, per person; none where the matrix is too large."""
        if not self._few:
            return None
        values, vectors = np.linalg.eigh(self._curvature_matrix(self.weights / self.cells(shares) ** 2))
        seen = values > _UNSEEN * values[-1]
        return np.asarray((vectors[:, seen] * np.sqrt(values[seen])).T)

    def cells(self, point: FloatArray) -> FloatArray:
        """L·f; the last one is kept, as objective, scores and curvature use the same."""
        if self._at is not point:
            self._cells = self.forward(point)
            self._at = point
        return self._cells

    def objective(self, point: FloatArray) -> float:
        """Minus the log-likelihood per person, up to a constant of the data."""
        return minus_log(self.weights, self.cells(point))

    def scores(self, point: FloatArray) -> FloatArray:
        """Mean likelihood ratio of each bucket: EM multiplies by it."""
        return self.backward(ratio(self.weights, self.cells(point)))

    def curvature(self, point: FloatArray) -> Product:
        """The product with the exact Hessian; a step needs hundreds, so the matrix is built where envelopes are few."""
        scale = ratio(ratio(self.weights, self.cells(point)), self.cells(point))
        if not self._few:
            return lambda vector: self.backward(scale * self.forward(vector))
        matrix = self._curvature_matrix(scale)
        return lambda vector: np.asarray(matrix @ vector)

    @property
    def _few(self) -> bool:
        return len(self.envelopes) <= _FEW_ENVELOPES and self.size <= _FEW_BUCKETS

    def _curvature_matrix(self, scale: FloatArray) -> FloatArray:
        """Lᵀ diag(scale) L: two cumulative sums lead from prefix sums to the buckets."""
        ends = self._curvature_of_prefixes(scale)
        total = np.zeros((self.size, self.size))
        for place, envelope in enumerate(self.envelopes):
            block = slice(place * (self.size + 1) + 1, (place + 1) * (self.size + 1))
            sums = ends[block, block].toarray()[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
            total += sums * np.outer(envelope, envelope)
        return total

    def _curvature_of_prefixes(self, scale: FloatArray) -> csr_array:
        """Aᵀ diag(scale) A, which has few entries per tuple."""
        scaled = self._matrix.copy()
        scaled.data *= np.repeat(scale, np.diff(scaled.indptr))
        return self._transposed @ scaled

    def hessian(self, point: FloatArray) -> FloatArray | None:  # noqa: ARG002 - the solver's interface
        """The solver's conjugate gradients suit this matrix: it is positive and may be large."""
        return None

    @cached_property
    def sampled(self) -> FusedLikelihood:
        """The likelihood of a sample of the tuples: enough for an average such as the information."""
        thinned = self.fused.thin(_SAMPLED_CELLS)
        return self if thinned is self.fused else FusedLikelihood(thinned)

    @cached_property
    def uniform(self) -> FloatArray:
        """Equal shares, the start of EM."""
        return np.full(self.size, 1 / self.size)


def _envelopes(fused: Fused, rows: list[Pieces]) -> tuple[npt.NDArray[np.intp], FloatArray]:
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


def _prefix_matrix(
    fused: Fused, rows: list[Pieces], group: npt.NDArray[np.intp], order: npt.NDArray[np.intp], envelopes: int
) -> csr_array:
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


def likelihood_fit(fused: Fused | FusedLikelihood, *, progress: FitProgress | None = None) -> Fit:
    """Fit the distribution over the buckets by maximum likelihood, to a certified gap (ULE, accelerated).

    Without smoothing it over-fits: it puts all weight on a few buckets. See `density` for the default.
    """
    model = fused if isinstance(fused, FusedLikelihood) else FusedLikelihood(fused)
    return maximise(model, model.uniform.copy(), progress=progress)


def em(
    fused: Fused | Likelihood, *, smoothing: bool, most_steps: int = 10_000, progress: FitProgress | None = None
) -> Fit:
    """Run EM from equal shares until the log-likelihood changes by less than a thousandth.

    With `smoothing`, shares are averaged with their neighbours by (1, 2, 1)/4 after each step (EMS); that climbs no
    likelihood, and `converged` says only that the rule stopped it.

    Reference: Li, Wang, Lopuhaä-Zwakenberg, Li, Škorić, "Estimating Numerical Distributions under Local Differential
    Privacy" (2020).
    """
    model = FusedLikelihood(fused) if isinstance(fused, Fused) else fused
    shares, steps, converged = model.uniform, 0, False
    scores, remaining = model.scores(shares), np.inf
    while steps < most_steps and not converged:
        steps += 1
        before, slopes = shares, scores
        shares = shares * scores
        if smoothing:
            padded = np.concatenate([shares[:1], shares, shares[-1:]])
            shares = (padded[:-2] + 2 * shares + padded[2:]) / 4
        shares /= shares.sum()
        scores = model.scores(shares)
        remaining = float(scores.max()) - 1
        if progress is not None:
            progress(steps, remaining)
        # It is concave: slopes at both ends bound its change, and logarithms are only for where that is too wide.
        move = model.people * (shares - before)
        if float(scores @ move) < _EM_CHANGE and float(slopes @ move) > -_EM_CHANGE:
            converged = model.people * abs(model.objective(shares) - model.objective(before)) < _EM_CHANGE
    value = -model.people * model.objective(shares)
    return Fit(shares, remaining, steps, converged, value, slope=model.people * (scores - 1))
