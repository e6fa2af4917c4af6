"""Unbiased shares from several sources about the same people: weights within a subset of people, and over subsets.

People of subset p gave to the same sources S_p. Their unbiased shares are f_p = Σ_s w_ps f_ps with Σ_s w_ps = 1. As the
reports of one person are independent given the value,

    n_p·Cov(f_p) = Σ_s w_ps² (C_s − M) + M,     M = diag f − f fᵀ,

C_s being the covariance of one report of source s: drawing the person is common to all sources, the noise is not. So
w_ps is the inverse of the mean noise of source s, and over subsets weights are inverse variances (`precision`, if all
subsets have the same shares) or sizes, which assumes nothing about who gave where.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.estimates.agreement import shifts, stricter_half, values_to_test, vector_test
from pldp.estimates.consistency import norm_sub
from pldp.estimates.fused.likelihood import fit_tuples
from pldp.estimates.fused.sources import Chosen, LabelSource, spread
from pldp.estimates.fused.subsets import Subsets
from pldp.estimates.options import Pool, Target
from pldp.estimates.result import Homogeneity
from pldp.estimates.shares.pooling import add_reports
from pldp.estimates.shares.shares import Evidence
from pldp.mechanisms.arrays import FloatArray
from pldp.tallies import Fused

_NO_NOISE: Final = 1e-9
"""Mean noise of a source that hides nothing: it then counts as nearly certain, not as certain."""


@dataclass(frozen=True, eq=False)
class PooledSources(Evidence):
    """Sources, the weight of each within every subset, and the weight of every subset."""

    sources: Sequence[LabelSource]
    subsets: Subsets
    own_shares: FloatArray  #: Subsets × sources × values; no numbers where a subset lacks a source.
    within: FloatArray  #: Subsets × sources.
    weights: FloatArray  #: Of the subsets; they sum to 1.
    noise: FloatArray  #: Mean noise of one person's combined reports, by subset.
    first: FloatArray
    pool: Pool
    target: Target
    fused: Fused

    @classmethod
    def of(
        cls,
        sources: Sequence[LabelSource],
        subsets: Subsets,
        pool: Pool,
        target: Target,
        fused: Fused,
    ) -> PooledSources:
        """Weigh by variances at first-round shares, which all subsets share."""
        people = int(subsets.people.sum())
        first = _first_round(sources, people)
        own = np.stack([source.shares(first) for source in sources], axis=1)
        spread_mean = float((first * (1 - first)).mean())
        noise = np.array([max(float(each.variance(first).mean()) - spread_mean, _NO_NOISE) for each in sources])
        precision = subsets.given / noise
        within = precision / precision.sum(axis=1, keepdims=True)
        left = 1 / precision.sum(axis=1)
        weights = subsets.people / (left + spread_mean) if pool == "precision" else subsets.people.astype(float)
        return cls(sources, subsets, own, within, weights / weights.sum(), left, first, pool, target, fused)

    @cached_property
    def subset_shares(self) -> FloatArray:
        """The unbiased shares of each subset."""
        filled = np.where(np.isnan(self.own_shares), 0.0, self.own_shares)
        return np.asarray((self.within[:, :, None] * filled).sum(axis=1))

    @cached_property
    def shares(self) -> FloatArray:
        """The weighted mean over subsets."""
        return np.asarray(self.weights @ self.subset_shares)

    @property
    def people(self) -> int:
        """Number of people."""
        return int(self.subsets.people.sum())

    def _at(self) -> list[FloatArray]:
        """The shares at which the errors of each subset are computed."""
        if self.pool == "precision":
            return [norm_sub(self.shares)] * len(self.weights)
        pairs = zip(self.subset_shares, self.subsets.people, strict=True)
        # One more report of every value: a value that nobody of a small subset showed is no certainty.
        return [add_reports(own, int(people)) for own, people in pairs]

    def _total(
        self,
        of_report: Callable[[LabelSource, FloatArray, int], FloatArray],
        of_person: Callable[[FloatArray], FloatArray],
    ) -> FloatArray:
        same = self.pool == "precision"
        every, total = self._at(), 0.0 * of_person(self.first)
        kept: dict[int, FloatArray] = {}
        for place, (weight, people, own) in enumerate(zip(self.weights, self.subsets.people, every, strict=True)):
            drawn = of_person(own)
            mine = np.zeros_like(drawn)
            for number in np.flatnonzero(self.subsets.given[place]).tolist():
                if not same or number not in kept or self.sources[number].varies:
                    kept[number] = of_report(self.sources[number], own, place)
                mine += self.within[place, number] ** 2 * (kept[number] - drawn)
            total += weight**2 / people * (mine + drawn)
            if self.target == "respondents" and not same:
                total -= weight**2 / people * drawn
        if self.target == "respondents" and same:
            total -= of_person(every[0]) / self.people
        return np.asarray(total)

    def variance(self) -> FloatArray:
        """Return the variance of each share."""
        return np.maximum(self._total(lambda source, f, subset: source.variance(f, subset), lambda f: f * (1 - f)), 0.0)

    def covariance(self) -> FloatArray:
        """Return the covariance matrix of the shares."""
        return self._total(lambda source, f, subset: source.covariance(f, subset=subset), spread)

    def likely_shares(self) -> FloatArray:
        """Fit all reports at once."""
        return fit_tuples(self.fused)[0].shares[: self.fused.size]

    def subset_covariance(self, place: int, shares: FloatArray, chosen: Chosen) -> FloatArray:
        """Return the covariance of one person's combined reports in a subset if these shares were true."""
        drawn = spread(shares, chosen)
        total = drawn.copy()
        for number in np.flatnonzero(self.subsets.given[place]).tolist():
            own = self.sources[number].covariance(shares, chosen, place)
            total += self.within[place, number] ** 2 * (own - drawn)
        return total

    def source_weights(self) -> FloatArray:
        """Return the weight of each source in the shares; they sum to 1."""
        return np.asarray(self.weights @ self.within)

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as, where it does most harm."""
        forged = np.array([source.manipulation for source in self.sources])
        each = self.weights / self.subsets.people * self.people
        return float((each[:, None] * self.within * forged).max())


def _first_round(sources: Sequence[LabelSource], people: int) -> FloatArray:
    """Return rough shares: every source on its own, weighed by its variance at equal shares."""
    size = sources[0].source.channel.size
    equal = np.full(size, 1 / size)
    found, weights = [], []
    for source in sources:
        own = source.shares(equal)
        here = np.flatnonzero(source.people)
        found.append(np.average(own[here], axis=0, weights=source.people[here]))
        weights.append(source.reports / max(source.equal_noise, _NO_NOISE))
    return add_reports(np.average(found, axis=0, weights=weights), people)


def subset_test(pooled: PooledSources) -> Homogeneity | None:
    """Test whether people of all subsets have the same shares: Cochran's Q for vectors, referred to χ².

    Subsets with too few people for the approximation are left out; `None` if fewer than two remain.
    """
    subsets = pooled.subsets
    tested = [place for place in range(len(subsets.people)) if _enough(pooled, place)]
    if len(tested) < 2:
        return None
    possible = add_reports(pooled.shares, pooled.people)
    shares = norm_sub(pooled.shares)
    chosen = values_to_test(pooled.shares, np.sqrt(pooled.variance()))
    precisions = [
        np.asarray(subsets.people[place] * np.linalg.inv(pooled.subset_covariance(place, shares, chosen)))
        for place in tested
    ]
    people = subsets.people[tested].astype(float)
    stricter = stricter_half(pooled.noise[tested].tolist(), people)
    return vector_test(
        precisions, [pooled.subset_shares[place][chosen] for place in tested], stricter, shifts(possible, chosen)
    )


def _enough(pooled: PooledSources, place: int) -> bool:
    here: npt.NDArray[np.intp] = np.flatnonzero(pooled.subsets.given[place])
    return all(pooled.sources[number].enough(int(pooled.subsets.people[place])) for number in here)
