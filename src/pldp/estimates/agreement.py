"""Do people of different levels agree? What the tests of shares, tables and hidden levels have in common.

A test that does not reject says only that differences are not large. How large they would have to be is stated for the
people of the stricter levels against those of the more open ones, half of all people each as nearly as levels allow: it
is the more open levels that count most where levels are pooled by precision, so this is the difference that biases.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.estimates import power
from pldp.estimates.result import Homogeneity
from pldp.mechanisms.arrays import FloatArray

TESTED_VALUES: Final = 256
"""A test looks at this many values at most."""

SURE: Final = 4.0
"""Standard errors above 0 from which on a value is surely there."""


def values_to_test(shares: FloatArray, errors: FloatArray) -> npt.NDArray[np.intp]:
    """Return the values that a test looks at: one less than all (shares sum to 1), `TESTED_VALUES` at most.

    Where values are too many, those that are surely there come first, the largest before others, and the rest in the
    order of the survey. Not the largest of all: among rare values the largest ones are those where chance has added
    most, in one group or the other, so that groups would seem to differ.
    """
    order = np.argsort(-shares, kind="stable")
    most = min(len(shares) - 1, TESTED_VALUES)
    if most == len(shares) - 1:
        return order[:most]
    sure = shares[order] > SURE * errors[order]
    return np.concatenate([order[sure], np.sort(order[~sure])])[:most]


def stricter_half(noise: Sequence[float], people: FloatArray) -> npt.NDArray[np.bool_]:
    """Mark the noisiest groups, so many that their people are as near to half of all as can be; never all or none."""
    order = np.argsort(-np.asarray(noise), kind="stable")
    below = np.cumsum(people[order])[:-1] / people.sum()
    marked = np.zeros(len(order), bool)
    marked[order[: 1 + int(np.abs(below - 0.5).argmin())]] = True
    return marked


def shifts(shares: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
    """Return how shares of the chosen values change if one of them, a column each, gains 1: others lose in proportion.

    >>> shifts(np.array([0.5, 0.3, 0.2]), np.array([0, 1])).round(2)
    array([[ 1.  , -0.71],
           [-0.6 ,  1.  ]])
    """
    some = shares[chosen]
    change = -some[:, None] / (1 - some)
    np.fill_diagonal(change, 1.0)
    return np.asarray(change)


def vector_test(
    precisions: Sequence[FloatArray], means: Sequence[FloatArray], stricter: npt.NDArray[np.bool_], moves: FloatArray
) -> Homogeneity:
    """Test whether vectors with these precision matrices have one mean, and say what difference it would notice.

    If the groups marked in `stricter` differed from all others by Δ times a column m of `moves`, the statistic would be
    noncentral with λ = Δ²·mᵀ(A⁻¹ + B⁻¹)⁻¹m, A and B being the precisions of both sides. `noticed` is the Δ of that
    column where it is hardest to notice.
    """
    total = np.sum(precisions, axis=0)
    mean = np.linalg.solve(total, np.sum([own @ each for own, each in zip(precisions, means, strict=True)], axis=0))
    parts = zip(precisions, means, strict=True)
    statistic = sum(float((each - mean) @ precision @ (each - mean)) for precision, each in parts)
    one, other = (np.sum(np.compress(side, precisions, axis=0), axis=0) for side in (stricter, ~stricter))
    units = np.sum(moves * (one @ np.linalg.solve(total, other @ moves)), axis=0)
    degrees = (len(means) - 1) * len(mean)
    return Homogeneity.of(statistic, degrees, noticed=power.noticed(float(units.min()), degrees))
