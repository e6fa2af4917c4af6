"""How the same numbers from several services become one: sums over subsets of people and over sources.

Each source s is decoded for itself, so that what it says of the people of subset p, f_ps, is unbiased whatever hidden
levels depend on. Combined it is

    f̂ = Σ_p W_p f_p,     f_p = Σ_s w_ps f_ps,     Σ_p W_p = Σ_s w_ps = 1.

Reports of one person are independent, given what the person has: what sources have in common are the people who were
drawn. Let M be the spread between people: f(1 − f) of a share, diag f − f fᵀ of all shares, the variance of a number.
With the noise N_ps that a report adds to that

    n_p·Cov(f_p) = Σ_s w_ps² N_ps + M.

Where reports of people with other services are pooled first, a person who has what is estimated, or not, adds
c_k(τ)(1 − f) or −c_k(τ) f on average to the error of part k at the level τ, with Σ_τ ρ_τ c_k(τ) = 1. With n_kl people
in the parts k and l, of whom R_kl(τ, τ') chose these levels, the parts have in common

    Cov(f_k, f_l) = n_kl/(n_k n_l) · κ_kl · M,        κ_kl = Σ_ττ' R_kl(τ, τ') c_k(τ) c_l(τ').

Where levels show, or nothing is assumed about the choice of them, c = 1. Careful people are careful everywhere, which
R shows. Of all weights within a subset C⁻¹1/(1ᵀC⁻¹1) have the least variance, C being the covariance of its sources.
Subsets weigh the inverse of theirs (by precision, if all have the same f), or as many people as they have (by size),
which assumes nothing about who gave where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Final, NamedTuple

import numpy as np

from pldp.estimates.fused.services import Part, Subsets
from pldp.estimates.results.options import Target
from pldp.mechanisms.arrays import FloatArray, IntArray

OWN_ERRORS: Final = 100
"""Reports of a subset from which on their own spread is believed."""

_ROUNDING: Final = 1e-15
"""Part of the largest variance that is added to all: parts without any error would have no inverse."""

_TINY: Final = 1e-300


def best_weights(covariance: FloatArray, people: IntArray, differ: float | None) -> FloatArray:
    """Return w_ps W_p with the least variance, subsets × sources × numbers, given that of sources within subsets.

    `covariance` is subsets × sources × sources × numbers; infinite variances count for nothing.
    """
    each = np.moveaxis(covariance, 3, 1)
    variances = np.einsum("pikk->pik", each)
    known = np.isfinite(variances)
    scale = np.where(known, variances, 1.0).max(axis=2)
    matrix = np.where(known[..., None] & known[..., None, :], each, 0.0)
    diagonal = np.where(known, 0.0, 1.0) + np.maximum(scale, _TINY)[..., None] * _ROUNDING
    matrix = matrix + np.eye(covariance.shape[1]) * diagonal[..., None]
    raw = np.swapaxes(np.linalg.solve(matrix, known[..., None] * 1.0)[..., 0], 1, 2)  # C⁻¹1
    if differ != 0:
        total = raw.sum(axis=1, keepdims=True)
        raw = np.divide(raw * people[:, None, None], total, out=np.zeros_like(raw), where=total != 0)
    total = raw.sum(axis=(0, 1))
    return np.asarray(np.divide(raw, total, out=np.zeros_like(raw), where=total != 0))


@dataclass(frozen=True, eq=False)
class Joined:
    """What every source says of the same numbers for the people of every subset, and how much that weighs.

    `means` are f_ps. A report of each source adds so much `noise` to people who differ by `drawn`, M: where there are
    several numbers these are means over them, as all have the same weights.
    """

    subsets: Subsets
    means: Mapping[Part, FloatArray]
    noise: FloatArray
    drawn: float
    differ: float | None

    @cached_property
    def weights(self) -> FloatArray:
        """w_ps W_p, subsets × sources: they sum to 1."""
        alone, people = np.where(self.subsets.given, self.noise, np.inf), self.subsets.people
        together = self.drawn + np.where(np.eye(len(self.noise), dtype=bool), alone[:, :, None], 0.0)
        each = together / people[:, None, None]
        return best_weights(each[..., None], people, self.differ)[..., 0]

    @property
    def of_people(self) -> FloatArray:
        """W: the weight of every subset."""
        return np.asarray(self.weights.sum(axis=1))

    @cached_property
    def of_subsets(self) -> FloatArray:
        """f_p, subsets × numbers."""
        return np.array([*self._within(lambda part, weight: weight * self.means[part])])

    @property
    def estimates(self) -> FloatArray:
        """f̂."""
        return np.asarray(self.of_people @ self.of_subsets)

    def left(self, noise: Callable[[Part], FloatArray], only: Sequence[int] | None = None) -> Iterator[FloatArray]:
        """Yield Σ_s w_ps² N_ps of every subset, or of some only, given the noise of a report of every part."""
        return self._within(lambda part, weight: weight**2 * noise(part), only)

    def _within(
        self, of_part: Callable[[Part, float], FloatArray], only: Sequence[int] | None = None
    ) -> Iterator[FloatArray]:
        """Yield the sum over the sources of every subset of what a part adds with its weight w_ps."""
        within = self.weights / self.of_people[:, None]
        for subset in range(len(within)) if only is None else only:
            here = np.flatnonzero(self.subsets.given[subset]).tolist()
            yield reduce(add, (of_part((subset, source), float(within[subset, source])) for source in here))

    def variance(self, left: Iterable[FloatArray], drawn: FloatArray, target: Target) -> FloatArray:
        """Return Σ_p W_p²(Σ_s w_ps² N_ps + M)/n_p, given what is `left` of noise and M, which respondents do not have.

        By size levels and services may have numbers of their own: what subsets differ by is part of drawing people.
        """
        squares = self.of_people**2 / self.subsets.people
        total = drawn * (float(squares.sum()) - (1 / self.subsets.people.sum() if target == "respondents" else 0.0))
        for square, own in zip(squares.tolist(), left, strict=True):
            total = total + square * own
        return np.asarray(total)

    def forged(self, reach: Callable[[Part], float]) -> float:
        """Return how far one report moves f̂ where it does most harm, given how far it moves what it is all of."""
        one = self.weights / self.subsets.people[:, None]
        return max(float(one[part]) * reach(part) for part in self.means)


class Shared(NamedTuple):
    """People of a subset who gave to two sources: how many, and how often they chose each pair of levels."""

    subset: int
    first: int
    second: int
    people: float
    levels: FloatArray


def common_drawing(
    shared: Sequence[Shared], reports: FloatArray, one: Mapping[Part, FloatArray], two: Mapping[Part, FloatArray]
) -> FloatArray:
    """Return n_kl κ_kl/(n_k n_l) of sources within subsets, subsets × sources × sources × numbers; 0 of one alone.

    `reports` are subsets × sources; `one` and `two` are c of every part in two numbers, numbers × levels.
    """
    found = np.zeros((*reports.shape, reports.shape[1], len(next(iter(one.values())))))
    for subset, first, second, people, levels in shared:
        part = people / (reports[subset, first] * reports[subset, second])
        for here, there, chosen in ((first, second, levels), (second, first, levels.T)):
            both = np.einsum("it,tu,iu->i", one[subset, here], chosen, two[subset, there])
            found[subset, here, there] = part * both
    return found
