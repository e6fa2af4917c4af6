"""Combine groups that used different channels, and test whether they may be combined."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from pldp.estimates.consistency import norm_sub
from pldp.estimates.groups import FloatArray, Group
from pldp.estimates.notes import TEST_LEVEL
from pldp.estimates.result import Homogeneity

TESTED_VALUES: Final = 256
"""The test looks at this many of the largest values at most."""

ENOUGH_SUPPORT: Final = 5
"""Supporting reports that chance alone must give each value for normal approximations to be used."""


def precision_weights(groups: Sequence[Group]) -> FloatArray:
    """Return weights ∝ 1/variance at equal shares 1/k. They do not depend on the reports, so pooling adds no bias."""
    precision = np.array([1 / group.mean_variance() for group in groups])
    return np.asarray(precision / precision.sum())


def size_weights(groups: Sequence[Group]) -> FloatArray:
    """Return weights ∝ number of reports: unbiased even where the choice of a level depends on the value."""
    sizes = np.array([float(group.reports) for group in groups])
    return np.asarray(sizes / sizes.sum())


def pooled_shares(groups: Sequence[Group], weights: FloatArray) -> FloatArray:
    """Return the weighted mean of the groups' unbiased shares."""
    return np.asarray(weights @ np.array([group.shares() for group in groups]))


def sampling_covariance(shares: FloatArray, reports: int) -> FloatArray:
    """Return what drawing the people at random adds: (diag f − f fᵀ)/n."""
    feasible = norm_sub(shares)
    return np.asarray((np.diag(feasible) - np.outer(feasible, feasible)) / reports)


def sampling_variance(shares: FloatArray, reports: int) -> FloatArray:
    """Return the diagonal of `sampling_covariance`: f(1−f)/n."""
    feasible = norm_sub(shares)
    return np.asarray(feasible * (1 - feasible) / reports)


def has_enough_support(group: Group) -> bool:
    """Tell whether chance alone gives every value enough supporting reports."""
    return bool(group.chance_support().min() >= ENOUGH_SUPPORT)


def homogeneity_test(groups: Sequence[Group]) -> Homogeneity | None:
    """Test whether all groups have the same shares: Cochran's Q for vectors, referred to χ².

    Q = Σ_g (f_g − f̄)ᵀ Σ_g⁻¹ (f_g − f̄) with f̄ the matrix-weighted mean and covariances at the pooled shares.
    Groups with too few reports for the approximation are left out; `None` if fewer than two remain.
    """
    tested = [group for group in groups if has_enough_support(group)]
    if len(tested) < 2:
        return None
    # Pooled by precision: differences between groups are then independent of what chooses the tested values.
    shares = pooled_shares(tested, precision_weights(tested))
    feasible = norm_sub(shares)
    # One value less than all: the shares of k-RR sum to 1 exactly.
    chosen: npt.NDArray[np.intp] = np.argsort(-shares, kind="stable")[: min(len(shares) - 1, TESTED_VALUES)]
    precisions = [np.linalg.inv(group.covariance(feasible, chosen)) for group in tested]
    found = [group.shares()[chosen] for group in tested]
    total = np.sum([precision @ share for precision, share in zip(precisions, found, strict=True)], axis=0)
    mean = np.linalg.solve(np.sum(precisions, axis=0), total)
    statistic = sum(
        float((share - mean) @ precision @ (share - mean)) for precision, share in zip(precisions, found, strict=True)
    )
    degrees = (len(tested) - 1) * len(chosen)
    p_value = float(special.chdtrc(degrees, statistic))
    return Homogeneity(statistic, degrees, p_value, p_value < TEST_LEVEL)
