"""Shares with the least expected squared error: the posterior mean under a prior whose strength the data choose.

Shares x with covariance Σ are taken as normal around the true f, and f as drawn from a symmetric Dirichlet
distribution of concentration α, which is itself unknown with density 1/(1+α)² (median 1: all shares equally likely):

    E[f | x] = Σ_α w(α)·E[f | x, α],    w(α) ∝ p(x | α) / (1+α)²    over a geometric grid of α.

A small α fits few large shares, a large α fits equal ones. For each α the posterior, a normal density times Π f_j^(α−1)
on the simplex, has no closed form; expectation propagation replaces each factor f_j^(α−1) by the normal factor
exp(ν_j f_j − τ_j f_j²/2) that gives f_j the right mean and variance, next to all others.

References
----------
James, Stein, "Estimation with Quadratic Loss" (1961) for why a biased answer can be closer; Minka, "Expectation
Propagation for Approximate Bayesian Inference" (2001).
"""

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from pldp.errors import EstimateError
from pldp.estimates import Fit, norm_sub
from pldp.mechanisms.arrays import FloatArray

LARGEST_CONCENTRATION: Final = 64.0
"""End of the grid of α; it starts at 1/k (a prior worth one person) and doubles."""
MOST_SWEEPS: Final = 100
_CLOSE: Final = 1e-3
"""Distance between a mean and its approximation at which sweeps end, in standard deviations."""
_DAMPING: Final = 0.7
_LEAST_VARIANCE: Final = 1e-14
"""Stands for "no noise"."""
_FARTHEST: Final = 100.0
"""Standard deviations that shares can lie outside the simplex; if they lie farther, their covariance is too small."""
_LEAST_PRECISION: Final = 1e-3
"""Stands for "no information": outputs that never came leave directions without curvature."""
_SAME_SUM: Final = 1e-6
"""Variance of the sum, in those of all shares, up to which it counts as always 1: less may be left of rounding."""
_NODES: Final = 200
_REACH: Final = 8.0
"""Points of a numerical integral, and how far it goes in standard deviations."""


def shrink(shares: npt.ArrayLike, covariance: npt.ArrayLike) -> FloatArray:
    """Return the posterior mean of shares that were estimated with this covariance: at least 0, sum 1.

    It is biased towards equal shares, the more the larger the errors are, and has no interval.

    >>> shares, equally_unsure = [0.6, 0.3, 0.15, -0.05], 0.1**2 * np.eye(4)
    >>> shrink(shares, equally_unsure).round(2)
    array([0.56, 0.27, 0.12, 0.05])
    >>> shrink(shares, 100 * equally_unsure).round(2)
    array([0.27, 0.25, 0.24, 0.24])
    """
    centre, spread = _on_the_simplex(np.asarray(shares, np.float64), np.asarray(covariance, np.float64))
    size = len(centre)
    concentrations = 2.0 ** np.arange(np.log2(LARGEST_CONCENTRATION * size)) / size
    means, evidences = zip(*(_posterior(centre, spread, float(each)) for each in concentrations), strict=True)
    # Steps of the grid are even in log α, where the density is α/(1+α)².
    weights = np.array(evidences) + np.log(concentrations) - 2 * np.log1p(concentrations)
    if not np.isfinite(weights.max()):
        raise EstimateError("shares and covariance have no posterior mean: the approximation did not converge")
    weights = np.exp(weights - weights.max())
    mean = np.average(means, axis=0, weights=weights)
    return np.asarray(mean / mean.sum())


def shrink_fit(fit: Fit, information: FloatArray) -> FloatArray:
    """Return the posterior mean for a likelihood fit, by the normal approximation of its likelihood.

    The centre is one Newton step from the fit and lies outside the simplex where fitted shares are 0. Where levels are
    hidden, the information is that given the fitted levels: labels that say little leave the scale of all shares
    unsure, so that errors point along the shares themselves, and a prior that does not know this would shrink the
    shares, not the errors.
    """
    covariance = np.linalg.inv(information + _LEAST_PRECISION * np.eye(len(information)))
    return shrink(fit.shares + covariance @ fit.slope, covariance)


def _on_the_simplex(shares: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Condition on the sum 1 and make every variance along the simplex positive."""
    size = len(shares)
    finite = np.isfinite(shares).all() and np.isfinite(covariance).all()
    if size < 2 or covariance.shape != (size, size) or not finite:
        raise EstimateError("shares and covariance must be finite, of at least two values and of matching shapes")
    along = covariance.sum(axis=1)
    if along.sum() > _SAME_SUM * np.trace(covariance):
        shares = shares - along * (shares.sum() - 1) / along.sum()
        covariance = covariance - np.outer(along, along) / along.sum()
    shares = shares + (1 - shares.sum()) / size
    outside = float(np.linalg.norm(shares - norm_sub(shares)))
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, max(_LEAST_VARIANCE, (outside / _FARTHEST) ** 2))
    vectors = vectors - vectors.mean(axis=0)
    return shares, (vectors * values) @ vectors.T


def _posterior(centre: FloatArray, spread: FloatArray, concentration: float) -> tuple[FloatArray, float]:
    """Return mean of normal × Dirichlet(α) and log p(x | α) up to a constant, by expectation propagation.

    With precisions τ ≥ 0 the approximation always is a density. The first sweep has the moments of the prior.
    """
    size = len(centre)
    tau = np.full(size, size * (size * concentration + 1))
    nu = tau / size
    for _ in range(MOST_SWEEPS):
        joint = np.linalg.solve(np.eye(size) + spread * tau, spread)
        shift = nu - tau * centre
        mean, variance = centre + joint @ shift, np.diag(joint)
        # The rest: the approximation of f_j without its own factor.
        rest_variance = 1 / (1 / variance - tau)
        rest_mean = rest_variance * (mean / variance - nu)
        log_mass, exact_mean, exact_variance = _moments(rest_mean, rest_variance, concentration)
        if (np.abs(exact_mean - mean) < _CLOSE * np.sqrt(variance)).all():
            break
        wanted = np.maximum(1 / exact_variance - 1 / rest_variance, 0.0)
        nu += _DAMPING * (exact_mean * (1 / rest_variance + wanted) - rest_mean / rest_variance - nu)
        tau += _DAMPING * (wanted - tau)
    else:
        return centre, -np.inf
    precision = 1 / rest_variance + tau
    natural = rest_mean / rest_variance + nu
    log_scales = (
        log_mass + (np.log(precision * rest_variance) + rest_mean**2 / rest_variance - natural**2 / precision) / 2
    )
    log_normal = nu @ centre - tau @ centre**2 / 2 + shift @ joint @ shift / 2
    log_normal -= np.linalg.slogdet(np.eye(size) + spread * tau)[1] / 2
    log_prior = gammaln(size * concentration) - size * gammaln(concentration)
    return exact_mean, float(log_scales.sum() + log_normal + log_prior)


def _moments(mean: FloatArray, variance: FloatArray, concentration: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Log of the integral, mean and variance of f^(α−1)·normal(f; mean, variance) over f > 0, per entry.

    Trapezoidal in log f, where the integrand α·log f − (f − mean)²/2·variance has one peak; below the first point it
    is f^α, whose integral is known.
    """
    deviation, root = np.sqrt(variance), np.sqrt(mean**2 + 4 * concentration * variance)
    peak = np.where(mean > 0, (mean + root) / 2, 2 * concentration * variance / (root + np.abs(mean)))
    fall = np.minimum(deviation, 5 * variance / np.maximum(-mean, deviation))
    edge = 1e-3 * np.minimum(fall, peak)
    low, high = np.maximum(peak - _REACH * deviation, edge), peak + _REACH * fall
    width = np.log(high / low)
    logarithm = np.log(low) + np.linspace(0, 1, _NODES)[:, None] * width
    points = np.exp(logarithm)
    exponent = concentration * logarithm - (points - mean) ** 2 / (2 * variance)
    top = exponent.max(axis=0)
    weights = np.exp(exponent - top) * width / (_NODES - 1)
    weights[[0, -1]] /= 2
    weights[0] += np.where(low > edge, 0.0, np.exp(exponent[0] - top) / concentration)
    mass = weights.sum(axis=0)
    found = (weights * points).sum(axis=0) / mass
    spread = (weights * (points - found) ** 2).sum(axis=0) / mass
    return np.log(mass) + top - np.log(2 * np.pi * variance) / 2, found, spread
