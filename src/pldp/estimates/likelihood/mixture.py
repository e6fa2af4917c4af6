"""One likelihood for all reports, whether levels are shown or hidden and services fused.

A report with label s is in cell c with the chance

    P(s, c) = Σ_τ ρ_τ Λ(s|τ) (L_τ f)_c,

with the shares f of the values, the mix ρ of the levels and `Rows`, which have Λ in them. Shown levels have one level
and no mix; fused tuples have products of services as rows, and people of several sorts a mix each. What is known of a
mix is ρ = C·σ, the columns of C the corners of the possible mixes, with some reports that count for the corners.

- `Mixture` takes f and the σ as unknown together, for `maximise`. P is linear in each of them, so with g = ∂P and N_c
  reports in a cell the Hessian is Σ_c N_c g gᵀ/P² − Σ_c N_c ∂²P/P, where ∂²P_c/∂f∂ρ_τ = L_τc is all of the second term.
- `ShareLikelihood` is one of f alone, for curves, at the mix that fits best: a small concave problem, solved each time.
  What ρ is unsure of is taken from the information about f, I_ff − I_fρ (I_ρρ + prior)⁻¹ I_ρf, the Schur complement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import block_diag

from pldp.estimates.likelihood.rows import PieceRows, PrefixRows, Rows
from pldp.estimates.linear.mix import MixBounds, PseudoReports
from pldp.mechanisms.arrays import FloatArray
from pldp.tallies import Fused

Product = Callable[[FloatArray], FloatArray]

LARGEST_HESSIAN: Final = 1200
"""Most unknowns, with a mix among them, for which the Hessian is built as a matrix."""
_COSTLY: Final = 2e9
"""Multiplications from which on the block of the shares, which hardly changes, is computed once per fit."""
_HALF: Final = 0.5  # reports of each corner that a mix beside a curve has in advance: it keeps every mix possible
_SETTLED: Final = 1e-9  # log-likelihood of all people together that such a mix may lack
_MOST_STEPS: Final = 60
_SHORTEST: Final = 1e-9
_SAMPLED_CELLS: Final = 100_000  # tuples that the observed information is computed from where there are more
_FLAT: Final = 1e-9  # width of the possible mixes in a direction, relative to the widest, that is a rounding error


def minus_log(weights: FloatArray, cells: FloatArray) -> float:
    """Return −Σ w log(cell) over the cells that have weight; infinite where such a cell is impossible."""
    seen = weights > 0
    if (cells[seen] <= 0).any():
        return float("inf")
    return -float(weights[seen] @ np.log(cells[seen]))


def ratio(weights: FloatArray, cells: FloatArray) -> FloatArray:
    """Return weight/cell, 0 where there is no weight."""
    return np.divide(weights, cells, out=np.zeros_like(cells), where=weights > 0)


def interior(shares: FloatArray) -> FloatArray:
    """Mix in a tenth of equal shares, so that no value is impossible at the start."""
    return np.asarray(0.9 * shares + 0.1 / len(shares))


class Part(NamedTuple):
    """Reports: rows, how many are in each cell, and the place of the mix of their levels; none with one level."""

    rows: Rows
    counts: FloatArray
    mixes: tuple[int, ...] = ()


class Mixture:
    """The likelihood of shares and mixes, per report; a point is (f, σ, σ', …) end to end."""

    def __init__(self, parts: Sequence[Part], bounds: Sequence[MixBounds] = ()) -> None:
        self.parts, self.bounds = parts, bounds
        ends = np.cumsum([0, parts[0].rows.size, *(each.corners.shape[1] for each in bounds)]).tolist()
        self.blocks: Sequence[slice] = tuple(map(slice, ends[:-1], ends[1:]))
        self.first, self.others = self.blocks[0], self.blocks[1:]
        self.mixed = slice(self.first.stop, ends[-1])
        known = [each.pseudo_reports for each in bounds]
        self.reports = float(sum(part.counts.sum() for part in parts) + sum(each.counts.sum() for each in known))
        self.weights = [part.counts / self.reports for part in parts]
        self._beside = [self._reports_beside(number, known) for number in range(-1, len(bounds))]
        self._corners = list(map(self._corners_of, parts))  # C: ρ = fixed + Cσ for all mixes, end to end
        self._fixed = [np.full(part.rows.levels, float(not part.mixes)) for part in parts]
        self._shares_block: FloatArray | None = None
        self._at: FloatArray | None = None
        self._levels: list[FloatArray] = []  # ρ of every part
        self._by_level: list[FloatArray] = []  # L_τ f
        self._cells: list[FloatArray] = []  # P

    def _reports_beside(self, mix: int, known: Sequence[PseudoReports]) -> PseudoReports:
        """Return what bears on one block alone, a mix or the shares (−1): its chances at each entry, and weights.

        These are the reports that stand for what is known of a mix. All reports that do not depend on the block count
        as log Σσ = 0, so that the scores of σ are 1 at the maximum as well.
        """
        silent = sum(float(each.counts.sum()) for number, each in enumerate(known) if number != mix)
        silent += sum(float(part.counts.sum()) for part in self.parts if mix >= 0 and mix not in part.mixes)
        ones = np.ones((1, self.blocks[mix + 1].stop - self.blocks[mix + 1].start))
        chances, counts = known[mix] if mix >= 0 else (ones[:0], np.zeros(0))
        return PseudoReports(np.concatenate([ones, chances]), np.append(silent, counts) / self.reports)

    def _corners_of(self, part: Part) -> FloatArray:
        corners = np.zeros((part.rows.levels, self.blocks[-1].stop))
        for mix in part.mixes:
            corners[:, self.others[mix]] = self.bounds[mix].corners
        return corners[:, self.mixed]

    def mixes(self, point: FloatArray) -> list[FloatArray]:
        """Return ρ of every mix."""
        return [np.asarray(each.corners @ point[block]) for each, block in zip(self.bounds, self.others, strict=True)]

    def cells(self, point: FloatArray) -> list[FloatArray]:
        """Return P of all cells of every part; the last ones are kept."""
        if self._at is not point:
            pairs = zip(self._fixed, self._corners, strict=True)
            self._levels = [fixed + corners @ point[self.mixed] for fixed, corners in pairs]
            self._by_level = [part.rows.forward(point[self.first]) for part in self.parts]
            self._cells = [levels @ rows for levels, rows in zip(self._levels, self._by_level, strict=True)]
            self._at = point
        return self._cells

    def objective(self, point: FloatArray) -> float:
        """Return minus the log-likelihood per report, up to a constant of the data."""
        total = sum(map(minus_log, self.weights, self.cells(point)))
        for (chances, weights), block in zip(self._beside, self.blocks, strict=True):
            total += minus_log(weights, chances @ point[block])
        return total

    def scores(self, point: FloatArray) -> FloatArray:
        """Return the mean likelihood ratio of every value and corner."""
        total = self._gradient(map(ratio, self.weights, self.cells(point)))
        for (chances, weights), block in zip(self._beside, self.blocks, strict=True):
            total[block] += ratio(weights, chances @ point[block]) @ chances
        return total

    def _gradient(self, weights: Iterable[FloatArray]) -> FloatArray:
        """Return Σ_c w_c g_c: ∂P/∂f = L̄ and ∂P/∂σ = Cᵀ(L_τ f)_τ."""
        total = np.zeros(self.blocks[-1].stop)
        parts = zip(self.parts, weights, self._levels, self._by_level, self._corners, strict=True)
        for part, weight, levels, by_level, corners in parts:
            total[self.first] += part.rows.backward(weight, levels)
            total[self.mixed] += (by_level @ weight) @ corners
        return total

    def _bent_beside(self, point: FloatArray) -> FloatArray:
        """Return the curvature of what bears on one block alone."""
        matrix = np.zeros((len(point),) * 2)
        for (chances, weights), block in zip(self._beside, self.blocks, strict=True):
            scaled = chances / (chances @ point[block])[:, None]
            matrix[block, block] += (scaled * weights[:, None]).T @ scaled
        return matrix

    def curvature(self, point: FloatArray) -> Product:
        """Return that of Σ N_c g gᵀ/P², exact for shares alone; what it leaves out has mean 0 at the truth."""
        cells = self.cells(point)
        scales = list(map(ratio, map(ratio, self.weights, cells), cells))
        beside = self._bent_beside(point) if self.bounds else None

        def times(vector: FloatArray) -> FloatArray:
            self.cells(point)
            parts, changes = zip(self.parts, self._levels, self._by_level, self._corners, strict=True), []
            for part, levels, by_level, corners in parts:
                mixed = (corners @ vector[self.mixed]) @ by_level
                changes.append(levels @ part.rows.forward(vector[self.first]) + mixed)
            total = self._gradient(map(np.multiply, scales, changes))
            return total if beside is None else total + beside @ vector

        return times

    def hessian(self, point: FloatArray) -> FloatArray | None:
        """Return the exact Hessian, where it is small: it may be singular, when some outputs never came."""
        if not (len(point) <= LARGEST_HESSIAN if self.bounds else all(part.rows.dense for part in self.parts)):
            return None
        matrix = self.outer(point, self.weights, self.cells(point), self._shares_block)
        if self._shares_block is None and sum(part.rows.cost for part in self.parts) > _COSTLY:
            self._shares_block = matrix[self.first, self.first].copy()
        parts = zip(self.parts, self.weights, self.cells(point), self._corners, strict=True)
        for part, weight, cell, corners in parts if self.bounds else ():
            second = part.rows.backward(ratio(weight, cell), np.eye(part.rows.levels))
            self._add_mixed(matrix, corners.T @ -second)  # −N ∂²P/P
        return matrix + self._bent_beside(point)

    def outer(
        self,
        point: FloatArray,
        weights: Sequence[FloatArray],
        cells: Sequence[FloatArray],
        shares_block: FloatArray | None = None,
    ) -> FloatArray:
        """Return Σ w g gᵀ/P², with these P, and the block of the shares as given or computed."""
        self.cells(point)
        matrix = np.zeros((len(point),) * 2)
        if shares_block is not None:
            matrix[self.first, self.first] = shares_block
        parts = zip(self.parts, weights, cells, self._levels, self._by_level, self._corners, strict=True)
        for part, own, chances, levels, by_level, corners in parts:
            scale = ratio(ratio(own, chances), chances)
            if shares_block is None:
                matrix[self.first, self.first] += part.rows.gram(scale, levels)
            matrix[self.mixed, self.mixed] += corners.T @ ((by_level * scale) @ by_level.T) @ corners
            if self.bounds:
                self._add_mixed(matrix, corners.T @ part.rows.backward(by_level * scale, levels))
        return matrix

    def _add_mixed(self, matrix: FloatArray, both: FloatArray) -> None:
        """Add what belongs to a corner and a share, corners × values."""
        matrix[self.mixed, self.first] += both
        matrix[self.first, self.mixed] += both.T

    def information(self, point: FloatArray) -> FloatArray:
        """Return Σ N_c g gᵀ/P² of all reports, with expected counts n·P_c of people whose cells can be listed.

        An output that never came then does not pass for certainty; one that cannot come counts as half a report.
        """
        cells, weights = list(self.cells(point)), list(self.weights)
        sorts: dict[tuple[int, ...], list[int]] = {}
        for place, part in enumerate(self.parts):
            sorts.setdefault(part.mixes or (-1 - place,), []).append(place)
        for places in sorts.values():
            if all(self.parts[place].rows.listed for place in places):
                people = sum(float(self.parts[place].counts.sum()) for place in places)
                total = sum(float(cells[place].sum()) for place in places)
                for place in places:
                    cells[place] = np.maximum(cells[place], 0.5 * total / people)
                    weights[place] = cells[place] * (people / total / self.reports)
        matrix = self.reports * self.outer(point, weights, [np.maximum(cell, 1e-300) for cell in cells])
        return matrix + self.reports * self._bent_beside(point)

    def covariance(self, point: FloatArray) -> FloatArray:
        """Return the covariance of the shares: the inverse information along all simplices."""
        basis = block_diag(*(differences(block.stop - block.start) for block in self.blocks))
        # Levels that nobody could show have no information, and no part in the shares.
        inverse = np.linalg.pinv(basis.T @ self.information(point) @ basis, rcond=1e-12, hermitian=True)
        return np.asarray((basis @ inverse @ basis.T)[self.first, self.first])


def differences(count: int) -> FloatArray:
    """Return directions in which so many shares can change while they sum to 1, orthonormal, count × (count − 1)."""
    start = np.column_stack([np.ones(count), np.eye(count)[:, 1:]])
    return np.asarray(np.linalg.qr(start)[0][:, 1:])


class PossibleMixes:
    """The mixes ρ = C·σ that are possible for so many people; half a report of every corner counts in advance."""

    def __init__(self, bounds: MixBounds, people: int, start: FloatArray) -> None:
        self.bounds, self.people, self.corners = bounds, people, bounds.corners
        count = self.corners.shape[1]
        self._last = interior(start) if bounds.nothing else np.full(count, 1 / count)
        self._rows = np.concatenate([bounds.pseudo_reports.chances, np.eye(count)])
        self._weights = np.append(bounds.pseudo_reports.counts, np.full(count, _HALF)) / people

    @cached_property
    def directions(self) -> FloatArray:
        """Orthonormal directions in which the mix can change, levels × directions; none where it is known."""
        vectors, widths, _ = np.linalg.svd(self.corners - self.corners.mean(axis=1, keepdims=True))
        return np.asarray(vectors[:, : int((widths > _FLAT * max(1.0, widths.max(initial=0.0))).sum())])

    @cached_property
    def known(self) -> FloatArray:
        """What is known of the mix, as a precision along the directions; of all people together."""
        if self.bounds.nothing or self.bounds.known:
            return np.zeros((self.directions.shape[1],) * 2)
        return np.asarray(self.directions.T @ np.linalg.pinv(self.bounds.spread, hermitian=True) @ self.directions)

    def prior(self, levels: FloatArray) -> FloatArray:
        """Return the precision of the mix without any report, per person, along the directions."""
        if not self.bounds.nothing:
            return self.known / self.people
        return np.asarray(self.directions.T @ (_HALF / self.people / levels[:, None] ** 2 * self.directions))

    def fit(self, by_level: FloatArray, weights: FloatArray) -> tuple[FloatArray, float]:
        """Return the ρ that maximises Σ_c w_c log Σ_τ ρ_τ(L_τ f)_c with what is known, and minus that sum.

        Newton's method over σ, which the half reports keep above 0.
        """
        rows = np.concatenate([by_level.T @ self.corners, self._rows])
        weighed = np.concatenate([weights, self._weights])
        mix, moves = self._last, differences(len(self._last))
        value = minus_log(weighed, rows @ mix)
        for _ in range(_MOST_STEPS if moves.size else 0):
            cells = rows @ mix
            slope = moves.T @ (rows.T @ ratio(weighed, cells))
            moved = (rows @ moves) * (np.sqrt(weighed) / cells)[:, None]
            step = moves @ np.linalg.solve(moved.T @ moved, slope)
            gain = float(step @ moves @ slope)
            if gain * self.people < _SETTLED:
                break
            falls = step < 0
            length = min(1.0, 0.95 * float((mix[falls] / -step[falls]).min(initial=np.inf)))
            while length > _SHORTEST and (
                (tried := minus_log(weighed, rows @ (mix + length * step))) > value - 1e-4 * length * gain
            ):
                length /= 3
            if length <= _SHORTEST:
                break
            mix, value = mix + length * step, tried
        self._last = mix
        return np.asarray(self.corners @ mix), value


class ShareLikelihood:
    """The likelihood per person of the shares of a grid's buckets, at the mix of levels that fits them best.

    There may be several `copies` of the buckets, end to end: shares of people of several sorts that sum to 1 together.
    """

    def __init__(
        self,
        rows: PieceRows | PrefixRows,
        counts: npt.NDArray[Any],
        bounds: tuple[float, float],
        *,
        mixes: PossibleMixes | None = None,
        copies: int = 1,
        sample: Callable[[], ShareLikelihood] | None = None,
    ) -> None:
        self.rows, self.bounds, self.mixes, self.copies, self._sample = rows, bounds, mixes, copies, sample
        self.size, self.people = rows.size, int(counts.sum())
        self.weights: FloatArray = counts / float(counts.sum())
        self.uniform: FloatArray = np.full(self.size, 1 / self.size)
        self._at: FloatArray | None = None
        self._levels, self._by_level, self._cells, self._value = np.ones(1), np.zeros((1, 0)), np.zeros(0), 0.0

    @cached_property
    def sampled(self) -> ShareLikelihood:
        """The likelihood of a sample of the reports, where the information of all takes long."""
        return self if self._sample is None else self._sample()

    def levels(self, shares: FloatArray) -> FloatArray:
        """Return the mix that makes the reports most likely if these are the shares; the last one is kept."""
        if self._at is not shares:
            self._at, self._by_level = shares, self.rows.forward(shares)
            if self.mixes is None:
                self._cells = self._by_level[0]
            else:
                self._levels, self._value = self.mixes.fit(self._by_level, self.weights)
                self._cells = self._levels @ self._by_level
        return self._levels

    def objective(self, point: FloatArray) -> float:
        """Return minus the log-likelihood per person."""
        self.levels(point)
        return minus_log(self.weights, self._cells) if self.mixes is None else self._value

    def scores(self, point: FloatArray) -> FloatArray:
        """Return the mean likelihood ratio of each bucket at the best mix."""
        levels = self.levels(point)
        return self.rows.backward(ratio(self.weights, self._cells), levels)

    def information(self, shares: FloatArray, columns: FloatArray | None = None) -> FloatArray:
        """Return the observed information per person along the columns, less what the mix is unsure of."""
        levels = self.levels(shares)
        scale = ratio(ratio(self.weights, self._cells), self._cells)
        along = self.rows.gram(scale, levels, columns)
        if self.mixes is None or not self.mixes.directions.size:
            return along
        unknown = self.mixes.directions.T @ self._by_level
        own = (unknown * scale) @ unknown.T + self.mixes.prior(levels)
        both = self.rows.backward(unknown * scale, levels)
        both = both if columns is None else both @ columns
        return np.asarray(along - both.T @ np.linalg.solve(own, both))

    def information_matrix(self, shares: FloatArray) -> FloatArray | None:
        """Return the observed information of the shares, per person; none where the matrix is too large."""
        return self.information(shares) if self.rows.dense else None


def fused_likelihood(fused: Fused) -> ShareLikelihood:
    """Return the likelihood of the distribution over the buckets from a fused tally of a number."""
    rows, thinned = PrefixRows(fused), fused.thin(_SAMPLED_CELLS)
    sample = None if thinned is fused else partial(fused_likelihood, thinned)
    return ShareLikelihood(rows, fused.counts[rows.order], fused.bounds, sample=sample)
