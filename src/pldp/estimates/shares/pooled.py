"""The reports of shown levels behind shares: covariance, likelihood and posterior mean when they are asked for."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.groups import LARGEST_DENSE, FloatArray, Group
from pldp.estimates.shares.pooling import pooled_shares, sampling_covariance, sampling_variance
from pldp.estimates.shares.shares import Evidence
from pldp.estimates.shares.shrinkage import shrink_fit
from pldp.estimates.solver.likelihood import Fit, maximum_likelihood


@dataclass(frozen=True, eq=False)
class Pooled(Evidence):
    """Groups and the weights of their unbiased shares.

    For a random sample of people the variance is Σ w_g² V_g. For the respondents themselves the part that comes from
    drawing people goes away: f(1−f)/n in all if levels are chosen independently of the value (pool by precision), and
    w_g² f_g(1−f_g)/n_g of each group otherwise.
    """

    groups: tuple[Group, ...]
    weights: FloatArray
    pool: str
    target: str
    gap: float

    @property
    def reports(self) -> int:
        """Number of reports."""
        return sum(each.reports for each in self.groups)

    @cached_property
    def shares(self) -> FloatArray:
        """The weighted mean of the groups' unbiased shares."""
        return pooled_shares(self.groups, self.weights)

    def _parts(self) -> list[tuple[Group, float, FloatArray]]:
        """Return group, weight and the shares that its variance is computed at."""
        shares = self.shares
        at = [shares if self.pool == "precision" else each.shares() for each in self.groups]
        return list(zip(self.groups, self.weights, at, strict=True))

    def variance(self) -> FloatArray:
        """Return the variance of each share."""
        parts = self._parts()
        variance = np.sum([weight**2 * each.variance(own) for each, weight, own in parts], axis=0)
        if self.target == "respondents" and self.pool == "precision":
            variance = variance - sampling_variance(self.shares, self.reports)
        elif self.target == "respondents":
            sampled = [weight**2 * sampling_variance(own, each.reports) for each, weight, own in parts]
            variance = variance - np.sum(sampled, axis=0)
        return np.asarray(np.maximum(variance, 0.0))

    def covariance(self) -> FloatArray:
        """Return the covariance matrix of the shares."""
        parts = self._parts()
        total = np.sum([weight**2 * each.covariance(own) for each, weight, own in parts], axis=0)
        if self.target == "respondents" and self.pool == "precision":
            total = total - sampling_covariance(self.shares, self.reports)
        elif self.target == "respondents":
            sampled = [weight**2 * sampling_covariance(own, each.reports) for each, weight, own in parts]
            total = total - np.sum(sampled, axis=0)
        return np.asarray(total)

    def likely_shares(self) -> FloatArray:
        """Fit all reports at once."""
        return maximum_likelihood(self.groups, gap=self.gap).shares


@dataclass(frozen=True, eq=False)
class Fitted(Evidence):
    """A likelihood fit and its information; none where there are too many values for a matrix."""

    fit: Fit
    reports: int
    target: str
    information: FloatArray | None

    def covariance(self) -> FloatArray:
        """Return the inverse of the information along the simplex."""
        if self.information is None:
            raise EstimateError(f"a fit of more than {LARGEST_DENSE:,} values has no covariance matrix")
        inverse = np.linalg.pinv(self.information, hermitian=True)
        along = inverse.sum(axis=1)
        covariance = np.asarray(inverse - np.outer(along, along) / along.sum())
        if self.target == "respondents":
            return covariance - sampling_covariance(self.fit.shares, self.reports)
        return covariance

    def likely_shares(self) -> FloatArray:
        """Return the fitted shares."""
        return self.fit.shares

    def shrunk_shares(self, shares: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the posterior mean by the normal approximation of the likelihood."""
        if self.information is None:
            return super().shrunk_shares(shares, covariance)
        return shrink_fit(self.fit, self.information)
