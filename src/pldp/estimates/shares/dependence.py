"""Hidden levels that may depend on the value: a test, and shares that hold whatever a level depends on.

With π(τ, x) the share of people who chose level τ and have value x, label s comes with output z with the probability

    P(s, z) = Σ_τ Σ_x π(τ, x) G(s|τ) Q_τ(z|x),

which is linear in π. The joint fit (`pldp.estimates.shares.joint`) takes π(τ, x) = ρ(τ)·f(x); here π is free. Weighted
least squares over all pairs of label and output solve the equations

    mean of h_τx(s, z) = its expectation under π,        h_τx(s, z) = G(s|τ) Q_τ(z|x) / P₀(s, z).

Any positive P₀ gives unbiased π̂; a good guess gives small errors. This P₀ has equal shares and the fitted levels, so
that h depends on an output only through whether it supports x (b_x) and its *class*, the number of ones of a unary
report: h_τx = U_τ + V_τ b_x. Outputs need not be listed then, and the expectation is a matrix of the form

    E h_τx = Σ_τ' (α_ττ' ρ_τ' + β_ττ' π_τ'x),

solved for ρ from the sums over x, then for π value by value, with matrices no larger than the number of levels. For
k-RR and subsets there are as many equations as unknowns, and P₀ makes no difference. Covariances are those of the
reports themselves (sandwich), so that they hold whether or not levels depend on values.

The test is Wald's of π(τ, x) = ρ(τ)·f(x), (levels − 1)·(values − 1) degrees of freedom, linearised at the fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, xlog1py, xlogy

from pldp.errors import EstimateError
from pldp.estimates import power
from pldp.estimates.agreement import TESTED_VALUES, shifts, stricter_half, values_to_test
from pldp.estimates.consistency import norm_sub
from pldp.estimates.result import Homogeneity
from pldp.estimates.shares.hidden import HiddenReports
from pldp.estimates.shares.joint import LabelCells, label_cells
from pldp.estimates.shares.pooling import ENOUGH_SUPPORT, add_reports, sampling_covariance
from pldp.estimates.shares.shares import Evidence
from pldp.estimates.solver.likelihood import interior
from pldp.mechanisms.arrays import FloatArray
from pldp.records import Record

LARGEST_ERROR: Final = 0.5
"""Standard error above which shares that assume nothing say nothing."""

_SINGULAR: Final = 1e10
"""Condition number from which on equations have no solution."""

_CELLS_AT_ONCE: Final = 1 << 13


class _Weights(NamedTuple):
    """Of one label: its cells, the number of values that each supports, and U and V of every class and level."""

    cells: LabelCells
    sizes: FloatArray
    constant: FloatArray
    slope: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Dependence(Record):
    """Free shares π of levels and values, next to those of a fit in which levels do not depend on values."""

    hidden: HiddenReports
    fitted_shares: FloatArray
    fitted_levels: FloatArray

    @classmethod
    def of(cls, hidden: HiddenReports, shares: FloatArray, levels: FloatArray) -> Dependence | None:
        """Start from the fit of shares and levels; `None` where labels and outputs do not determine π."""
        made = cls(hidden, norm_sub(shares), norm_sub(levels))
        known = all(np.isfinite(each).all() and np.linalg.cond(each) < _SINGULAR for each in made._equations())
        return made if known else None

    def _equations(self) -> Sequence[FloatArray]:
        """Return the matrices that must have an inverse."""
        return self._alpha_beta[1], self._sum_matrix

    @cached_property
    def levels(self) -> FloatArray:
        """ρ̂, the shares of the levels."""
        return np.asarray(np.linalg.solve(self._sum_matrix, self._means.sum(axis=1)))

    @cached_property
    def joint(self) -> FloatArray:
        """π̂, levels × values; it sums to `levels` over the values."""
        alpha, beta = self._alpha_beta
        return np.asarray(np.linalg.solve(beta, self._means - (alpha @ self.levels)[:, None]))

    @cached_property
    def shares(self) -> FloatArray:
        """The shares of the values, whatever the choice of a level depends on: Σ_τ π̂."""
        return np.asarray(self.joint.sum(axis=0))

    @cached_property
    def standard_error(self) -> FloatArray:
        """Standard errors of the shares, for a random sample of people."""
        total = np.zeros(self.hidden.size)
        for part, level, slope in self._influence():
            counts, each = part.cells.group.cells, part.cells.group
            total += float(counts @ level**2)
            total += each.support_total(counts * slope * (2 * level + slope))
        return np.sqrt(np.maximum(total / self.hidden.reports - self.shares**2, 0) / self.hidden.reports)

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the shares, for a random sample of people."""
        total = np.zeros((self.hidden.size, self.hidden.size))
        for part, level, slope in self._influence():
            counts, each = part.cells.group.cells, part.cells.group
            products = (counts * level**2, counts * level * slope, counts * slope**2)
            total += each.arrays.weighted_products(*products, each.outputs)
        return np.asarray((total / self.hidden.reports - np.outer(self.shares, self.shares)) / self.hidden.reports)

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as: the most that a report, sent or not, adds to a share, times n."""
        largest = 0.0
        for part, (level, by_size, slope) in zip(self._weights, self._influence_by_class(), strict=True):
            listed = len(level) > 1  # a class is a number of ones, and every number may be sent
            sizes = np.arange(len(level)) if listed else part.sizes
            added = level - by_size * sizes
            largest = max(largest, *(float(np.abs(each).max(initial=0)) for each in (added, added + slope)))
        return largest

    def test(self) -> Homogeneity | None:
        """Test whether levels depend on values; `None` where reports are too few for the approximation.

        `noticed` is the difference in the share of one value between people of the stricter and of the more open
        levels (half of the people each, as nearly as levels allow), for the value where it is hardest to notice.
        """
        hidden, levels = self.hidden, len(self.hidden.channels)
        enough = self._enough()
        if not enough.any():
            return None
        chosen = values_to_test(self.fitted_shares, self.standard_error)
        chosen = chosen[enough[chosen]][: max(1, TESTED_VALUES // (levels - 1))]
        f, rho = self.fitted_shares[chosen], self.fitted_levels
        # θ = π − f₀ρ − ρ₀f + ρ₀f₀ for all levels but the last, values × levels: 0 if levels do not depend on values.
        apart = (np.eye(levels) - rho[:, None])[:-1]
        theta = (apart @ self.joint[:, chosen]).T - f[:, None] * (self.levels - rho)[:-1]
        covariance = self._covariance_of_test(chosen, apart)
        if not np.isfinite(covariance).all() or np.linalg.cond(covariance) > _SINGULAR:
            return None
        noise = [each.mean_variance for each in hidden.arrays]
        stricter = stricter_half(noise, rho)
        difference = rho * np.where(stricter, rho[~stricter].sum(), -rho[stricter].sum()) / rho.sum()
        possible = add_reports(self.fitted_shares, hidden.reports)
        moves = np.kron(shifts(possible, chosen), difference[:-1, None])
        units = np.sum(moves * np.linalg.solve(covariance, moves), axis=0)
        statistic = float(theta.ravel() @ np.linalg.solve(covariance, theta.ravel()))
        return Homogeneity.of(statistic, theta.size, noticed=power.noticed(float(units.min()), theta.size))

    def _enough(self) -> npt.NDArray[np.bool_]:
        """Mark the values whose reports are enough for the approximation behind every label: here all, or none."""
        fewest = min(each.reports for each in self.hidden.groups) * float(_supports(self.hidden)[1].min())
        return np.full(self.hidden.size, fewest >= ENOUGH_SUPPORT)

    def _covariance_of_test(self, chosen: npt.NDArray[np.intp], apart: FloatArray) -> FloatArray:
        """Return the covariance of θ: that of the means of h (their sums over all values first), times its Jacobian."""
        alpha, beta = self._alpha_beta
        by_value = apart @ np.linalg.inv(beta)
        from_sums = np.linalg.inv(self._sum_matrix)
        lost = by_value @ alpha @ from_sums
        sums = [-(lost + share * from_sums[:-1]) for share in self.fitted_shares[chosen]]
        jacobian = np.hstack([np.vstack(sums), np.kron(np.eye(len(chosen)), by_value)])
        return np.asarray(jacobian @ self._second_moments(chosen) @ jacobian.T)

    def _second_moments(self, chosen: npt.NDArray[np.intp]) -> FloatArray:
        """Return the covariance of the means of Σ_x h_τx and of h_τx of the chosen values, values × levels."""
        levels, columns = len(self.hidden.channels), len(chosen) + 1
        factor = np.ones(columns)
        factor[0] = self.hidden.size
        mean = np.zeros((columns, levels))
        second = np.zeros((columns, levels, columns, levels))
        for part in self._weights:
            counts, firsts, seconds = _class_moments(part, self._counts_of_test(part), chosen)
            u, v = part.constant, part.slope
            mean += factor[:, None] * (counts @ u) + firsts.T @ v
            second += np.einsum("a,b,tu->atbu", factor, factor, (u * counts[:, None]).T @ u)
            mixed = np.einsum("a,btu->atbu", factor, np.einsum("ct,cu,cb->btu", u, v, firsts))
            second += mixed + mixed.transpose(2, 3, 0, 1)
            products = np.einsum("ct,cu->tuc", v, v).reshape(levels**2, -1) @ seconds.reshape(len(counts), -1)
            second += products.reshape(levels, levels, columns, columns).transpose(2, 0, 3, 1)
        mean, n = mean.ravel() / self.hidden.reports, self.hidden.reports
        return np.asarray((second.reshape(mean.size, mean.size) / n - np.outer(mean, mean)) / n)

    def _counts_of_test(self, part: _Weights) -> FloatArray:
        """Return how often each cell would come if levels did not depend on values, where cells can be listed.

        Counts that came by chance would make a small error seem smaller: the test would reject a little too often.
        Rows of bits cannot be listed, so that those that came have to do.
        """
        if part.cells.group.outputs is not None:
            return part.cells.group.cells
        low, step = part.cells.mix(self.fitted_levels)
        return np.asarray((low + step * part.cells.group.support_sum(self.fitted_shares)) * self._listed_scale)

    @cached_property
    def _listed_scale(self) -> float:
        total = 0.0
        for part in self._weights:
            low, step = part.cells.mix(self.fitted_levels)
            total += float((low + step * part.cells.group.support_sum(self.fitted_shares)).sum())
        return self.hidden.reports / total

    def _influence(self) -> Iterator[tuple[_Weights, FloatArray, FloatArray]]:
        """Yield, of every label, what a report of each cell adds to a share, and what more if it supports the value."""
        for part, (level, by_size, slope) in zip(self._weights, self._influence_by_class(), strict=True):
            own = part.cells.classes
            yield part, level[own] - by_size[own] * part.sizes, slope[own]

    def _influence_by_class(self) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
        """Yield by label and class what a report adds, what less per value it supports, and what more for those."""
        alpha, beta = self._alpha_beta
        own = np.linalg.solve(beta.T, np.ones(len(beta)))
        taken = np.linalg.solve(self._sum_matrix.T, alpha.T @ own)
        for part in self._weights:
            yield part.constant @ (own - self.hidden.size * taken), part.slope @ taken, part.slope @ own

    @cached_property
    def _weights(self) -> list[_Weights]:
        """U and V of every label."""
        hidden, found = self.hidden, []
        typical = hidden.support().sum() / hidden.reports / hidden.size
        for each, chances in zip(hidden.groups, hidden.label_matrix, strict=True):
            cells = label_cells(each, hidden.arrays, chances)
            share = np.linspace(0, 1, len(cells.low)) if len(cells.low) > 1 else np.array([typical])
            guess = (cells.low + share[:, None] * cells.step) @ interior(self.fitted_levels)
            sizes = each.support_sum(np.ones(hidden.size))
            found.append(_Weights(cells, sizes, cells.low / guess[:, None], cells.step / guess[:, None]))
        return found

    @cached_property
    def _means(self) -> FloatArray:
        """The means of h, levels × values."""
        total = np.zeros((len(self.hidden.channels), self.hidden.size))
        for part in self._weights:
            counts, classes, each = part.cells.group.cells, part.cells.classes, part.cells.group
            for level, (u, v) in enumerate(zip(part.constant.T, part.slope.T, strict=True)):
                total[level] += float(counts @ u[classes]) + each.support_total(counts * v[classes])
        return total / self.hidden.reports

    @cached_property
    def _alpha_beta(self) -> tuple[FloatArray, FloatArray]:
        """α and β: what h_τ is worth on average where a person of level τ' has another value, and what more if not."""
        alpha, beta = np.zeros((2, len(self.hidden.channels), len(self.hidden.channels)))
        for part, chances in zip(self._weights, self.hidden.label_matrix, strict=True):
            chance, other, same = _class_chances(self.hidden, len(part.constant))
            alpha += (part.constant.T @ chance + part.slope.T @ other) * chances
            beta += part.slope.T @ (same - other) * chances
        return alpha, beta

    @property
    def _sum_matrix(self) -> FloatArray:
        alpha, beta = self._alpha_beta
        return np.asarray(beta + self.hidden.size * alpha)


def _supports(hidden: HiddenReports) -> tuple[FloatArray, FloatArray]:
    """Return p and q of every level, which are the same for all values."""
    q, d = hidden.law.constant[:, 0], hidden.law.slope[:, 0]
    return q + d, q


def _class_chances(hidden: HiddenReports, classes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return, class × level: the chance of the class, and with it that another value, or the own one, is supported."""
    (p, q), size = _supports(hidden), hidden.size
    if classes == 1:
        return np.ones((1, len(p))), q[None, :], p[None, :]
    # All bits are independent: that of the value is 1 with p, each other with q; a class is the number of ones.
    ones = np.arange(classes)[:, None]
    same = p * _binomial(ones - 1, size - 1, q)
    chance = same + (1 - p) * _binomial(ones, size - 1, q)
    other = q * (p * _binomial(ones - 2, size - 2, q) + (1 - p) * _binomial(ones - 1, size - 2, q))
    return chance, other, same


def _binomial(found: npt.NDArray[np.int64], trials: int, chance: FloatArray) -> FloatArray:
    """Return the probability of so many successes."""
    possible = (found >= 0) & (found <= trials)
    hits = np.where(possible, found, 0)
    ways = gammaln(trials + 1) - gammaln(hits + 1) - gammaln(trials - hits + 1)
    return np.asarray(possible * np.exp(ways + xlogy(hits, chance) + xlog1py(trials - hits, -chance)))


def _class_moments(
    part: _Weights, cell_counts: FloatArray, chosen: npt.NDArray[np.intp]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return counts, sums and sums of products, by class, of the number of supported values and of chosen supports."""
    cells, classes, columns = part.cells, len(part.constant), len(chosen) + 1
    counts, firsts = np.zeros(classes), np.zeros((classes, columns))
    seconds = np.zeros((classes, columns, columns))
    came = np.flatnonzero(cell_counts)
    came = came[np.argsort(cells.classes[came], kind="stable")]
    for start in range(0, len(came), _CELLS_AT_ONCE):
        some = came[start : start + _CELLS_AT_ONCE]
        outputs = some if cells.group.outputs is None else np.ascontiguousarray(cells.group.outputs[:, some].T)
        supported = np.column_stack([part.sizes[some], cells.group.arrays.supported(outputs)[:, chosen]])
        weighted = supported * cell_counts[some, None]
        edges = np.flatnonzero(np.diff(cells.classes[some], prepend=-1, append=classes))
        for first, last in pairwise(edges.tolist()):
            own = cells.classes[some[first]]
            counts[own] += cell_counts[some[first:last]].sum()
            firsts[own] += weighted[first:last].sum(axis=0)
            seconds[own] += weighted[first:last].T @ supported[first:last]
    return counts, firsts, seconds


@dataclass(frozen=True, eq=False)
class Free(Evidence):
    """Reports with hidden levels, behind shares that assume nothing about who chose which level."""

    free: Dependence
    target: str

    def covariance(self) -> FloatArray:
        """Return the covariance of the shares."""
        if self.target == "population":
            return self.free.covariance
        return self.free.covariance - sampling_covariance(self.free.shares, self.free.hidden.reports)

    def standard_error(self) -> FloatArray:
        """Return the standard errors without a matrix."""
        variance = self.free.standard_error**2
        if self.target == "respondents":
            feasible = norm_sub(self.free.shares)
            variance = variance - feasible * (1 - feasible) / self.free.hidden.reports
        return np.sqrt(np.maximum(variance, 0))

    def likely_shares(self) -> FloatArray:
        """Refuse: the likelihood of hidden levels assumes what these shares do not."""
        raise EstimateError(
            "the likelihood of hidden levels assumes that levels do not depend on values; "
            "shares that assume nothing have none: use norm-sub, norm-cut, base-cut or shrunk"
        )
