"""Combine groups that used different channels, and test whether they may be combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.agreement import (
    cumulants_of_counts,
    null_shares,
    shifts,
    stricter_half,
    values_to_test,
    vector_test,
)
from pldp.estimates.consistency import norm_sub
from pldp.estimates.decoder import Decoder
from pldp.estimates.groups import Group
from pldp.estimates.options import Pool, Target
from pldp.estimates.rare import Rare
from pldp.estimates.result import Homogeneity
from pldp.estimates.shares.shares import Evidence
from pldp.estimates.shares.shrinkage import shrink_fit
from pldp.estimates.solver.likelihood import GAP, Fit, maximum_likelihood
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray

ENOUGH_SUPPORT: Final = 5
"""Supporting reports that chance alone must give each value for normal approximations to be used."""


def precision_weights(groups: Sequence[Group]) -> FloatArray:
    """Return weights ∝ 1/variance at equal shares 1/k. They do not depend on the reports, so pooling adds no bias."""
    return _inverse([group.mean_variance() for group in groups])


def size_weights(groups: Sequence[Group]) -> FloatArray:
    """Return weights ∝ number of reports: unbiased even where the choice of a level depends on the value."""
    sizes = np.array([float(group.reports) for group in groups])
    return np.asarray(sizes / sizes.sum())


def _inverse(variances: Sequence[float]) -> FloatArray:
    precision = 1 / np.array(variances)
    return np.asarray(precision / precision.sum())


def pooled_shares(groups: Sequence[Group], weights: FloatArray) -> FloatArray:
    """Return the weighted mean of the groups' unbiased shares, which need not sum to 1."""
    return np.asarray(weights @ np.array([group.shares() for group in groups]))


def first_round(groups: Sequence[Group]) -> FloatArray:
    """Return rough shares that say how precise each group is: pooled by the weights of equal shares, made possible."""
    return add_reports(pooled_shares(groups, precision_weights(groups)), sum(each.reports for each in groups))


def add_reports(shares: FloatArray, reports: int) -> FloatArray:
    """Return the nearest shares that could be true with one more report of every value, so that none is impossible."""
    return np.asarray((norm_sub(shares) * reports + 1) / (reports + len(shares)))


def sampling_covariance(shares: FloatArray, reports: int) -> FloatArray:
    """Return what drawing the people at random adds: (diag f − f fᵀ)/n."""
    feasible = norm_sub(shares)
    return np.asarray((np.diag(feasible) - np.outer(feasible, feasible)) / reports)


def _sampling_variance(shares: FloatArray, reports: int) -> FloatArray:
    feasible = norm_sub(shares)
    return np.asarray(feasible * (1 - feasible) / reports)


def has_enough_support(group: Group) -> bool:
    """Tell whether chance alone gives every value enough supporting reports; where chance gives none, all count."""
    by_chance = group.reports * group.arrays.chance_support()
    return bool(np.where(by_chance > 0, by_chance, group.support).min() >= ENOUGH_SUPPORT)


def support_chances(group: Group, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how often a report supports each value for people who do not have it, and for those who do.

    Where that depends on which other value people have, these shares tell.
    """
    found = group.arrays.support_range()
    others = np.maximum(1 - shares, 1 / group.reports)
    absent = (group.arrays.expected_support(shares) - shares * found.high) / others
    return np.clip(absent, found.low, found.high), found.high


def homogeneity_test(pooled: Pooled) -> Homogeneity | None:
    """Test whether all groups have the same shares: Cochran's Q for vectors, referred to χ².

    Q = Σ_g (f_g − f̄)ᵀ Σ_g⁻¹ (f_g − f̄) with f̄ the matrix-weighted mean and covariances at the pooled shares.
    Groups with too few reports for the approximation are left out; `None` if fewer than two remain.
    """
    tested = [each for each in pooled.groups if has_enough_support(each)]
    if len(tested) < 2:
        return None
    # Pooled by precision: differences between groups are then independent of what chooses the tested values.
    if pooled.pool != "precision" or len(tested) < len(pooled.groups):
        pooled = Pooled.of(tested, "precision")
    errors = np.sqrt(pooled.variance())
    chosen = values_to_test(pooled.shares, errors)
    assumed = null_shares(pooled.shares, errors, chosen)
    pairs = list(zip(tested, pooled.decoders, strict=True))
    precisions = [
        np.asarray(each.reports * np.linalg.inv(decoder.covariance(assumed, chosen))) for each, decoder in pairs
    ]
    stricter = stricter_half(
        [each.arrays.mean_variance for each in tested], np.array([each.reports for each in tested])
    )
    possible = add_reports(pooled.shares, sum(each.reports for each in tested))
    variances = np.array([decoder.variance(assumed)[chosen] / each.reports for each, decoder in pairs])
    chances = np.array([each.arrays.expected_support(assumed)[chosen] for each in tested])
    cumulants = cumulants_of_counts(variances, np.array([float(each.reports) for each in tested]), chances)
    own = [shares[chosen] for shares in pooled.own_shares]
    return vector_test(precisions, own, stricter, shifts(possible, chosen), cumulants)


@dataclass(frozen=True, eq=False)
class Pooled(Evidence):
    """Groups, how each is decoded, and the weights of their unbiased shares.

    For a random sample of people the variance is Σ w_g² V_g, and where groups may differ (pool by size) also
    Σ w_g (f_g − f)²/n: how many people choose each level is drawn as well. For the respondents themselves the part that
    comes from drawing people goes away: f(1−f)/n in all if levels are chosen independently of the value (pool by
    precision), and w_g² f_g(1−f_g)/n_g of each group otherwise.
    """

    groups: tuple[Group, ...]
    decoders: tuple[Decoder, ...]
    weights: FloatArray
    pool: Pool
    target: Target
    gap: float

    @classmethod
    def of(cls, groups: Sequence[Group], pool: Pool, target: Target = "population", gap: float = GAP) -> Pooled:
        """Pool by precision: decoders and weights of least variance at first-round shares, which all groups share.

        Weights that depend on the reports add a bias, but one of order 1/n beside errors of order 1/√n. Pool by size:
        each group has first-round shares of its own, and weights do not depend on the reports.
        """
        if pool == "size":
            decoders = [each.decoder(first_round([each])) for each in groups]
            return cls(tuple(groups), tuple(decoders), size_weights(groups), pool, target, gap)
        first = first_round(groups)
        decoders = [each.decoder(first) for each in groups]
        variances = [own.least_variance / each.reports for own, each in zip(decoders, groups, strict=True)]
        return cls(tuple(groups), tuple(decoders), _inverse(variances), pool, target, gap)

    @cached_property
    def own_shares(self) -> list[FloatArray]:
        """The unbiased shares of each group; all sum to 1."""
        pairs = zip(self.decoders, self.groups, strict=True)
        return [decoder.shares(each.support / each.reports) for decoder, each in pairs]

    @cached_property
    def shares(self) -> FloatArray:
        """The weighted mean of the groups' unbiased shares."""
        return np.asarray(self.weights @ np.array(self.own_shares))

    def _total(
        self,
        of_report: Callable[[Decoder, FloatArray], FloatArray],
        by_sampling: Callable[[FloatArray, int], FloatArray],
        square: Callable[[FloatArray], FloatArray],
    ) -> FloatArray:
        """Return variances or covariances of the shares, given those of one report and those of drawing people.

        `square` is what a difference of shares adds to them.
        """
        same = self.pool == "precision"
        true = [self.shares] * len(self.groups) if same else self.own_shares
        parts = list(zip(self.groups, self.decoders, self.weights, true, strict=True))
        total = np.sum([w**2 / each.reports * of_report(decoder, own) for each, decoder, w, own in parts], axis=0)
        if self.target == "respondents" and same:
            total = total - by_sampling(self.shares, sum(each.reports for each in self.groups))
        elif self.target == "respondents":
            total = total - np.sum([w**2 * by_sampling(own, each.reports) for each, _, w, own in parts], axis=0)
        elif not same:
            between = [w * square(own - self.shares) for _, _, w, own in parts]
            total = total + np.sum(between, axis=0) / sum(each.reports for each in self.groups)
        return np.asarray(total)

    def variance(self) -> FloatArray:
        """Return the variance of each share.

        A label without protection that nobody reported would have none. It gets that of shares with one more report of
        every value: what never came is no certainty about a population.
        """
        found = np.maximum(self._total(Decoder.variance, _sampling_variance, np.square), 0.0)
        if self.target == "respondents" or (found > 0).all():
            return found
        parts = zip(self.groups, self.decoders, self.weights, self.own_shares, strict=True)
        possible = [
            w**2 / each.reports * decoder.variance(add_reports(own, each.reports)) for each, decoder, w, own in parts
        ]
        return np.where(found > 0, found, np.sum(possible, axis=0))

    def rare(self) -> Rare | None:
        """Return the labels that few reports speak for, judged by the reports that support each."""
        feasible, reports = norm_sub(self.shares), np.array([[float(each.reports)] for each in self.groups])
        chances = [support_chances(each, feasible) for each in self.groups]
        weights = np.repeat(self.weights[:, None], len(feasible), axis=1)
        alone = float((self.weights**2 / reports[:, 0]).sum())
        fixed = alone if self.pool == "size" else 1 / float(reports.sum())
        return Rare.find(
            np.array([each.support for each in self.groups]),
            np.broadcast_to(reports, weights.shape),
            *(np.array(each) for each in zip(*chances, strict=True)),
            weights=weights,
            sampled=1.0 if self.target == "population" else max(0.0, round(1 - fixed / alone, 9)),
        )

    def covariance(self) -> FloatArray:
        """Return the covariance matrix of the shares."""
        return self._total(Decoder.covariance, sampling_covariance, lambda shares: np.outer(shares, shares))

    def likely_shares(self) -> FloatArray:
        """Fit all reports at once."""
        return maximum_likelihood(self.groups, gap=self.gap).shares


@dataclass(frozen=True, eq=False)
class Fitted(Evidence):
    """A likelihood fit and its information; none where there are too many values for a matrix."""

    fit: Fit
    people: int
    target: str
    information: FloatArray | None

    def covariance(self) -> FloatArray:
        """Return the inverse of the information along the simplex."""
        if self.information is None:
            raise EstimateError(f"a fit of more than {LARGEST_DENSE:,} values has no covariance matrix")
        inverse = np.linalg.pinv(self.information, hermitian=True)
        along = inverse.sum(axis=1)
        sampled = sampling_covariance(self.fit.shares, self.people) if self.target == "respondents" else 0.0
        return np.asarray(inverse - np.outer(along, along) / along.sum() - sampled)

    def likely_shares(self) -> FloatArray:
        """Return the fitted shares."""
        return self.fit.shares

    def shrunk_shares(self, shares: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the posterior mean by the normal approximation of the likelihood."""
        if self.information is None:
            return super().shrunk_shares(shares, covariance)
        return shrink_fit(self.fit, self.information)
