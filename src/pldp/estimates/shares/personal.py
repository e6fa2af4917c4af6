"""Shares where every person has an ε of their own, known to the collector: no levels, plain NumPy arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.assumptions import HONEST_DEVICES, SAMPLE, UNTESTED_EPSILON
from pldp.estimates.groups import FloatArray
from pldp.estimates.shares.estimate import Estimate
from pldp.mechanisms import LARGEST_EPSILON, MICRO
from pldp.mechanisms.response.channel import TOTAL as RESPONSE_TOTAL
from pldp.mechanisms.unary.channel import TOTAL as UNARY_TOTAL
from pldp.tallies.counts import BIT_OF_BYTE

PERSONAL = ("krr", "sue", "oue")
"""Mechanisms with an ε per person."""


def personal_support(mechanism: str, size: int, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each person's p and q, in whole weights of 2⁻⁵³ (k-RR) or 2⁻³² (unary), as floats that are exact.

    The weights are rounded towards more noise, as in `pldp.mechanisms`.
    """
    if mechanism == "krr":
        other = np.exp(epsilon)
        other += size - 1
        np.divide(RESPONSE_TOTAL, other, out=other)
        np.ceil(other, out=other)
        truth = RESPONSE_TOTAL - (size - 1) * other
        if len(truth) and bool((truth <= other).any()):
            raise EstimateError(f"epsilon is too small for {size:,} values: integer weights cannot tell them apart")
        return truth, other
    if mechanism == "sue":
        other = np.ceil(UNARY_TOTAL / (np.exp(epsilon / 2) + 1))
        return UNARY_TOTAL - other, other
    if mechanism == "oue":
        other = np.ceil(UNARY_TOTAL / (np.exp(epsilon) + 1))
        return np.full_like(other, UNARY_TOTAL / 2), other
    raise EstimateError(f"mechanism must be one of {', '.join(PERSONAL)}, not {mechanism!r}")


def checked_epsilons(epsilon: npt.ArrayLike, people: int) -> FloatArray:
    """Return one ε per person, all above 0 and not absurd."""
    budgets = np.asarray(epsilon, np.float64)
    if budgets.shape != (people,):
        raise EstimateError(f"epsilon must hold one number per person, {people:,} in all, not shape {budgets.shape}")
    # NaN fails the comparison as well.
    if people and not (float(budgets.min()) >= 1 / MICRO and float(budgets.max()) <= LARGEST_EPSILON):
        raise EstimateError(f"epsilon must be above 0 and at most {LARGEST_EPSILON} for every person; some are not")
    return budgets


def personal_frequencies(
    mechanism: str,
    outputs: npt.ArrayLike,
    epsilon: npt.ArrayLike,
    values: int | tuple[str, ...],
    *,
    name: str = "value",
) -> Estimate:
    """Return shares from outputs whose ε differs from person to person.

    Each person's unbiased contribution (support − q_u)/(p_u − q_u) gets the weight 1/variance at equal shares,
    which does not depend on the reports. Assumes that ε does not depend on the value.

    Parameters
    ----------
    mechanism
        `krr` (outputs are integers), `sue` or `oue` (outputs are packed rows, people × bytes).
    outputs, epsilon
        One output and one ε per person.
    values
        The labels, or their number.

    Examples
    --------
    >>> from pldp.simulate import perturb_personal
    >>> generator = np.random.default_rng(7)
    >>> truth, epsilon = generator.integers(0, 4, 100_000), generator.uniform(0.5, 3, 100_000)
    >>> estimate = personal_frequencies("krr", perturb_personal("krr", truth, 4, epsilon, generator), epsilon, 4)
    >>> bool((abs(estimate.shares - 0.25) < 5 * estimate.standard_error).all())
    True
    """
    labels = tuple(map(str, range(values))) if isinstance(values, int) else values
    size = len(labels)
    reported = np.asarray(outputs)
    people = len(reported)
    if people == 0:
        raise EstimateError("outputs must hold at least one report, not none")
    budgets = checked_epsilons(epsilon, people)
    truth, other = personal_support(mechanism, size, budgets)
    total = RESPONSE_TOTAL if mechanism == "krr" else UNARY_TOTAL
    other /= total
    contrast = truth / total - other
    level = other + contrast / size
    gain = contrast / (level * (1 - level))  # weight / contrast, the weight being contrast² / (level (1 − level))
    scale = float(gain @ contrast)
    gain /= scale
    support = _weighted_support(mechanism, reported, gain, size)
    shares = support - float(gain @ other)
    return Estimate(
        question=name,
        values=labels,
        shares=shares,
        standard_error=np.sqrt(_variance(gain, other, contrast, np.clip(shares, 0.0, 1.0))),
        reports=people,
        method=f"unbiased, {mechanism} with an ε per person, weighted by precision",
        target="population",
        groups=(),
        manipulation=float(people * np.max(gain * (1 - other))),
        homogeneity=None,
        assumptions=(SAMPLE, UNTESTED_EPSILON, HONEST_DEVICES),
        warnings=(),
    )


def _weighted_support(
    mechanism: str, outputs: npt.NDArray[np.unsignedinteger], gain: FloatArray, size: int
) -> FloatArray:
    if mechanism == "krr":
        if (
            outputs.ndim != 1
            or (outputs.dtype.kind not in "iu")
            or int(outputs.min()) < 0
            or int(outputs.max()) >= size
        ):
            raise EstimateError(f"outputs must be integers from 0 to {size - 1}; some are not")
        return np.asarray(np.bincount(outputs, weights=gain, minlength=size), np.float64)
    if outputs.shape[1:] != ((size + 7) // 8,) or outputs.dtype != np.uint8:
        raise EstimateError(f"outputs must be packed rows of {(size + 7) // 8} bytes, not shape {outputs.shape}")
    columns = np.ascontiguousarray(outputs.T)
    sums = [np.bincount(column, weights=gain, minlength=256) @ BIT_OF_BYTE for column in columns]
    return np.concatenate(sums)[:size]


def _variance(gain: FloatArray, other: FloatArray, contrast: FloatArray, shares: FloatArray) -> FloatArray:
    """Σ_u gain_u² π_u(1−π_u) with π_u = q_u + f·d_u, as a quadratic in f."""
    squared = gain * gain
    constant = float(squared @ (other * (1 - other)))
    linear = float(squared @ (contrast * (1 - 2 * other)))
    square = float(squared @ (contrast * contrast))
    return np.asarray(constant + linear * shares - square * shares * shares)
