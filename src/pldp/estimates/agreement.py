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
from pldp.estimates.consistency import norm_sub
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


def null_shares(shares: FloatArray, errors: FloatArray, chosen: npt.NDArray[np.intp]) -> FloatArray:
    """Return shares at which the variances of the test are right on average, also where most values are rare.

    Those that are not surely there share their mean; where only some values are tested, tested and others have a mean
    each. Clipped at 0 one by one, they would give most of their mass to a few.
    """
    unsure = shares <= SURE * errors
    tested = np.ones(len(shares), bool)
    if len(chosen) < len(shares) - 1:
        tested[:] = False
        tested[chosen] = True
    smooth = shares.copy()
    for part in (unsure & tested, unsure & ~tested):
        if part.any():
            smooth[part] = max(0.0, float(shares[part].mean()))
    return norm_sub(smooth)


def cumulants_of_counts(variances: FloatArray, reports: FloatArray, chances: FloatArray) -> tuple[float, float]:
    """Return the second and third cumulant of the statistic of `vector_test`, from groups × values.

    `chances` are those with which one of the group's `reports` counts for the value; the standardised shares y_g have
    the skewness γ_g, κ₄ and κ₆ of binomial counts. Of one value the statistic is yᵀAy with A = I − uuᵀ, u_g² the weight
    of the group, and A² = A:

        2·tr A + Σ κ₄ A_gg²   and   8·tr A + 12 Σ κ₄ A_gg² + Σ_gh γ_g γ_h A_gh (6 A_gg A_hh + 4 A_gh²) + Σ κ₆ A_gg³.

    Values are added as if they were independent: where they are not, they are few, their counts are large, and γ and κ
    are small. Neither cumulant is taken to be below that of χ².
    """
    spread = np.maximum(chances * (1 - chances), 1 / reports[:, None])
    counts = reports[:, None] * spread
    skewness = (1 - 2 * chances) / np.sqrt(counts)
    fourth, sixth = (1 - 6 * spread) / counts, (1 - 30 * spread + 120 * spread**2) / counts**2
    precisions = 1 / np.maximum(variances, 1e-300)
    roots = np.sqrt(precisions / precisions.sum(axis=0))
    form = np.eye(len(reports))[:, :, None] - roots[:, None] * roots
    own = np.einsum("ggv->gv", form)
    products = skewness[:, None] * skewness * form * (6 * own[:, None] * own + 4 * form**2)
    degrees, bent = float(own.sum()), float((fourth * own**2).sum())
    third = 12 * bent + float(products.sum() + (sixth * own**3).sum())
    return 2 * degrees + max(0.0, bent), 8 * degrees + max(0.0, third)


def vector_test(
    precisions: Sequence[FloatArray],
    means: Sequence[FloatArray],
    stricter: npt.NDArray[np.bool_],
    moves: FloatArray,
    cumulants: tuple[float, float] | None = None,
) -> Homogeneity:
    """Test whether vectors with these precision matrices have one mean, and say what difference it would notice.

    If the groups marked in `stricter` differed from all others by Δ times a column m of `moves`, the statistic would be
    noncentral with λ = Δ²·mᵀ(A⁻¹ + B⁻¹)⁻¹m, A and B being the precisions of both sides. `noticed` is the Δ of that
    column where it is hardest to notice. `cumulants` are those of the statistic, where they are not
    those of χ².
    """
    total = np.sum(precisions, axis=0)
    mean = np.linalg.solve(total, np.sum([own @ each for own, each in zip(precisions, means, strict=True)], axis=0))
    parts = zip(precisions, means, strict=True)
    statistic = sum(float((each - mean) @ precision @ (each - mean)) for precision, each in parts)
    one, other = (np.sum(np.compress(side, precisions, axis=0), axis=0) for side in (stricter, ~stricter))
    units = np.sum(moves * (one @ np.linalg.solve(total, other @ moves)), axis=0)
    degrees = (len(means) - 1) * len(mean)
    noticed = power.noticed(float(units.min()), degrees)
    return Homogeneity.of(statistic, degrees, noticed=noticed, cumulants=cumulants)
