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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from pldp.estimates.fused.services import Part, Subsets
from pldp.estimates.results.options import Pool, Target
from pldp.mechanisms.arrays import FloatArray, IntArray
from pldp.records import Record

OWN_ERRORS: Final = 100
"""Reports of a subset from which on their own spread is believed."""

_ROUNDING: Final = 1e-12
"""Part of the largest variance that is added to all: parts without any error would have no inverse."""

_TINY: Final = 1e-300


def best_weights(covariance: FloatArray, people: IntArray, pool: Pool) -> FloatArray:
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
    if pool == "size":
        total = raw.sum(axis=1, keepdims=True)
        raw = np.divide(raw * people[:, None, None], total, out=np.zeros_like(raw), where=total != 0)
    total = raw.sum(axis=(0, 1))
    return np.asarray(np.divide(raw, total, out=np.zeros_like(raw), where=total != 0))


@dataclass(frozen=True, eq=False, repr=False)
class Joined(Record):
    """What the reports of every source weigh for the people of every subset: `parts`, w_ps W_p, sum to 1."""

    people: IntArray
    parts: FloatArray

    @classmethod
    def of(cls, subsets: Subsets, noise: FloatArray, drawn: float, pool: Pool) -> Joined:
        """Return the weights where reports of each source add so much `noise` to people who differ by `drawn`, M."""
        alone = np.where(subsets.given, noise, np.inf)
        together = drawn + np.where(np.eye(len(noise), dtype=bool), alone[:, :, None], 0.0)
        each = together / subsets.people[:, None, None]
        return cls(subsets.people, best_weights(each[..., None], subsets.people, pool)[..., 0])

    @cached_property
    def subsets(self) -> FloatArray:
        """W: the weight of every subset."""
        return np.asarray(self.parts.sum(axis=1))

    @cached_property
    def within(self) -> FloatArray:
        """w: the weights of sources within every subset, subsets × sources."""
        return np.asarray(self.parts / self.subsets[:, None])

    def left(self, noise: FloatArray) -> FloatArray:
        """Return Σ_s w_ps² N_s, the noise of one person's reports together, given that of each source."""
        return np.asarray(self.within**2 @ noise)

    def variance(self, noise: Iterable[FloatArray], drawn: FloatArray, target: Target) -> FloatArray:
        """Return Σ_p W_p²(Σ_s w_ps² N_ps + M)/n_p, given the noise of subsets and M, which respondents do not have.

        By size levels and services may have numbers of their own: what subsets differ by is part of drawing people.
        """
        squares = self.subsets**2 / self.people
        total = drawn * (float(squares.sum()) - (1 / self.people.sum() if target == "respondents" else 0.0))
        for square, own in zip(squares.tolist(), noise, strict=True):
            total = total + square * own
        return np.asarray(total)

    def forged(self, reach: FloatArray) -> float:
        """Return how far one report moves the numbers where it does most harm: `reach` of a part of only one report."""
        return float((self.parts / self.people[:, None] * reach).max())


class Shared(NamedTuple):
    """People of a subset who gave to two sources: how many, and how often they chose each pair of levels."""

    subset: int
    first: int
    second: int
    people: float
    levels: FloatArray


def common_drawing(
    shared: Sequence[Shared], reports: FloatArray, contrasts: Mapping[Part, FloatArray]
) -> FloatArray:
    """Return n_kl κ_kl/(n_k n_l) of sources within subsets, subsets × sources × sources × numbers; 0 of one alone.

    `reports` are subsets × sources, and `contrasts` c of every part, numbers × levels.
    """
    numbers = len(next(iter(contrasts.values())))
    found = np.zeros((*reports.shape, reports.shape[1], numbers))
    for subset, one, two, people, levels in shared:
        together = np.einsum("it,tu,iu->i", contrasts[subset, one], levels, contrasts[subset, two])
        found[subset, one, two] = people / (reports[subset, one] * reports[subset, two]) * together
        found[subset, two, one] = found[subset, one, two]
    return found
