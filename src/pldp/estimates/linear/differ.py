"""People of different levels differ by at most a bound Δ: weights of levels, their largest bias, and its interval.

With weights a_τ, Σ a_τ ρ_τ = 1, an estimate Σ a_τ π̂_τ has the mean Σ a_τ ρ_τ θ_τ, θ_τ being the share among people of
level τ. If no two of these differ by more than Δ, it is off by at most

    Δ·t,        t = Σ ((a_τ − 1) ρ_τ)₊,

reached where all levels that count for more than their people have a share that is larger by Δ. An interval that holds
for every such bias is f̂ ± s·cv(Δt/s): cv(b) bounds |N(b, 1)| with the wanted confidence. The weights are those with
the shortest interval; s is the root of aᵀSa/n, S the covariance of π̂ − f ρ̂ of one report. Δ = 0 is pooling by precision
(with one weight for all states), a bound that nothing can reach is pooling by size. The length is convex in a.

Reference: Armstrong, Kolesár, "Optimal inference in a class of regression models" (2018); Donoho, "Statistical
Estimation and Optimal Recovery" (1994).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.optimize import minimize
from scipy.special import chndtrix, ndtr, ndtri

from pldp.mechanisms.arrays import FloatArray

REACH: Final = float(ndtri(0.975))
"""Standard errors of the intervals that weights are best for."""

_FAR: Final = 12.0
"""Bias in standard errors from which on only one side of an interval can miss."""

_CERTAIN: Final = 7.0
"""Standard errors from which on what lies beyond is lost in rounding: there the bias is added as it is."""

_MOST_LEVELS: Final = 24
"""Levels, or combinations of them, up to which the best weights are sought; of more, the best between both ends."""

_ON_THE_LINE: Final = 33


def biased_reach(reach: float, bias: FloatArray) -> FloatArray:
    """Return how many standard errors an interval reaches to hold as often as ± `reach` does without the bias.

    `bias` is the largest one, in standard errors.

    >>> biased_reach(1.96, np.array([0.0, 1.0, 20.0])).round(3)
    array([ 1.96 ,  2.646, 21.645])
    """
    bias = np.asarray(bias, np.float64)
    if reach > _CERTAIN:
        return reach + bias
    near = np.minimum(bias, _FAR)
    biased = np.sqrt(chndtrix(1 - 2 * ndtr(-reach), 1, near**2)) + bias - near
    return np.where(bias > 0, biased, reach)


def bounded_weights(covariance: FloatArray, people: FloatArray, bound: float) -> FloatArray:
    """Return the weights a of levels with the shortest interval if their shares differ by at most `bound`.

    `covariance` is that of π̂ − f ρ̂ of all reports together, `people` is ρ̂.

    >>> people = np.array([0.5, 0.5])
    >>> noise = np.diag([4e-4, 1e-4])  # of π̂: the share among people of the second level is known twice as well
    >>> [bounded_weights(noise, people, bound).round(2).tolist() for bound in (0.0, 0.02, 1.0)]
    [[0.4, 1.6], [0.5, 1.5], [1.0, 1.0]]
    """
    spread = covariance / np.outer(people, people)  # of the shares among people of each level
    inverse = np.linalg.pinv(spread, hermitian=True).sum(axis=1)
    precise = inverse / inverse.sum()
    if bound <= 0:
        return np.asarray(precise / people)
    scale = float(np.sqrt(people @ spread @ people))
    spread, bound = spread / scale**2, bound / scale
    line = [people + part * (precise - people) for part in np.linspace(0, 1, _ON_THE_LINE)]
    parts = min(line, key=lambda parts: _length(parts, people, spread, bound))
    if len(people) <= _MOST_LEVELS:
        parts = min(
            parts, _shortest(parts, people, spread, bound), key=lambda each: _length(each, people, spread, bound)
        )
    return np.asarray(parts / people)


def _length(parts: FloatArray, people: FloatArray, spread: FloatArray, bound: float) -> float:
    """Return half the length of the interval of Σ u_τ θ̂_τ, u = aρ."""
    error = float(np.sqrt(parts @ spread @ parts))
    bias = bound * float(np.maximum(parts - people, 0.0).sum())
    return error * float(biased_reach(REACH, np.array(bias / error)))


def _shortest(start: FloatArray, people: FloatArray, spread: FloatArray, bound: float) -> FloatArray:
    """Return the u of the shortest interval: u = ρ + gained − lost, with as much lost as gained."""
    levels = len(people)

    def length(moved: FloatArray) -> tuple[float, FloatArray]:
        parts, gained = people + moved[:levels] - moved[levels:], float(moved[:levels].sum())
        error = float(np.sqrt(parts @ spread @ parts))
        bias = bound * gained / error
        reach = float(biased_reach(REACH, np.array(bias)))
        near, far = np.exp(-((reach - bias) ** 2) / 2), np.exp(-((reach + bias) ** 2) / 2)
        slope = (near - far) / (near + far)  # of the reach by the bias
        by_part = (reach - bias * slope) * (spread @ parts) / error
        return error * reach, np.concatenate([by_part + bound * slope, -by_part])

    first = start - people
    moved = minimize(
        length,
        np.concatenate([np.maximum(first, 0), np.maximum(-first, 0)]),
        jac=True,
        bounds=[(0, None)] * (2 * levels),
        constraints={
            "type": "eq",
            "fun": lambda moved: moved[:levels].sum() - moved[levels:].sum(),
            "jac": lambda _: np.repeat([1.0, -1.0], levels),
        },
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 300},
    ).x
    parts = people + moved[:levels] - moved[levels:]
    return np.asarray(parts / parts.sum())
