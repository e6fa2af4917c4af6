"""The one test whether people of different levels are alike: Wald's test of π_τx = f_x ρ_τ.

Under that hypothesis θ_τ = π̂_τ − f̂ ρ̂_τ has the mean 0 for every level τ, with any estimate f̂ that is linear in
reports; one report adds W_τ(s, c) − f V_τ(s, c) − ρ_τ ψ(s, c) to it. With S the covariance of that under the hypothesis

    X² = n·θᵀS⁻θ     is χ² with (levels − 1) degrees of freedom for each number that is tested.

Targets are tested one by one, of which the worst counts (Bonferroni), or together as a vector where the covariance of
all of them is known. Which f̂ is taken does not matter: S⁻ leaves out the direction that it takes off.

A test that does not reject says only that differences are not large. How large they would have to be is stated for the
people of the stricter levels against those of the more open ones, half of all people each as nearly as levels allow: it
is the more open levels that count most where levels are pooled by precision, so this is the difference that biases.

Counts of few reports are skewed: X² is then referred to the χ² that has its second and third cumulants. With y the
standardised θ of one report, d degrees and moments under the hypothesis,

    κ₂ = 2d + (E|y|⁴ − d² − 2d)/n,
    κ₃ = 8d + 12·(κ₂ − 2d) + (6·Σ_k (E |y|² y_k)² + 4·Σ_ijk (E y_i y_j y_k)²)/n + E|y|⁶/n².

Reference: Cohen, "Statistical Power Analysis for the Behavioral Sciences" (1988), for why 80 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import chdtri, chndtr

from pldp.errors import EstimateError
from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.results.consistency import norm_sub
from pldp.estimates.results.facts import TEST_LEVEL, Homogeneity, tail_probability
from pldp.estimates.results.intervals import normal_reach
from pldp.mechanisms.arrays import FloatArray

POWER: Final = 0.8  # probability with which a difference is noticed
TESTED_VALUES: Final = 256  # a test looks at this many values at most
SURE: Final = 4.0  # standard errors above 0 from which on a value is surely there
ENOUGH: Final = 1.0  # reports that every (shown, pattern) of a tested target must expect; cumulants correct the rest
_DARK: Final = 1e-9  # part of the largest eigenvalue of a covariance below which f̂ takes a direction off


@lru_cache(maxsize=1024)  # every table and question of a survey asks for the same few
def noncentrality(degrees: int, level: float = TEST_LEVEL, wanted: float = POWER) -> float:
    """Return the noncentrality at which a χ² test of this false-alarm rate rejects with the wanted probability."""
    critical, above = float(chdtri(degrees, level)), 1.0

    def missing(tried: float) -> float:
        return wanted - (1 - float(chndtr(critical, degrees, tried)))

    while missing(above) > 0:
        above *= 2
    return float(brentq(missing, 0.0, above, xtol=1e-6))


def values_to_test(shares: FloatArray, errors: FloatArray) -> npt.NDArray[np.intp]:
    """Return the values that a test looks at: one less than all (shares sum to 1), `TESTED_VALUES` at most.

    Of too many these are the largest that are surely there, and others in the order of the survey. Not the largest of
    all: of rare values these are the ones where chance has added most, in one group or the other, so that groups would
    seem to differ.
    """
    order = np.argsort(-shares, kind="stable")
    if len(shares) > TESTED_VALUES + 1:
        sure = shares[order] > SURE * errors[order]
        order = np.concatenate([order[sure], np.sort(order[~sure])])
    return order[: min(len(shares) - 1, TESTED_VALUES)]


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
        tested = np.isin(np.arange(len(shares)), chosen)
    smooth = shares.copy()
    for part in (unsure & tested, unsure & ~tested):
        if part.any():
            smooth[part] = max(0.0, float(shares[part].mean()))
    return norm_sub(smooth)


def cumulants_of_counts(variances: FloatArray, reports: FloatArray, chances: FloatArray) -> tuple[float, float]:
    """Return the second and third cumulant of the statistic of labels, from groups × values.

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


def homogeneity_of_groups(
    covariances: Sequence[FloatArray], means: Sequence[FloatArray], stricter: npt.NDArray[np.bool_], moves: FloatArray
) -> Homogeneity:
    """Test whether independent groups of people have one mean vector, given the covariance of each one's estimate.

    Those marked in `stricter` differ from others by a column of `moves`.
    """
    precisions = np.linalg.inv(np.array(covariances))
    moved = np.where(stricter[:, None, None], moves, 0.0)
    every = np.concatenate([np.array(means)[:, :, None], moved], axis=2)
    # Of f_g and of each move: Σ_g (f_g − f̄)ᵀ C_g⁻¹ (f_g − f̄), f̄ the mean of the least variance.
    apart = every - np.linalg.solve(precisions.sum(axis=0), (precisions @ every).sum(axis=0))
    statistic, *units = np.einsum("gam,gab,gbm->m", apart, precisions, apart, optimize=True).tolist()
    return _referred(statistic, min(units), (len(means) - 1) * len(means[0]))


def homogeneity_of_targets(
    evidence: Evidence, noise: Sequence[float], fitted: Linear | None = None
) -> Homogeneity | None:
    """Test every target on its own and take the worst; `None` where there is nothing to compare, or too few reports.

    `noise` says how noisy each level is, to tell stricter levels from more open ones; `fitted` are estimates by
    precision, if they are known.
    """
    degrees = len(evidence.levels) - 1
    if degrees < 1:
        return None
    if fitted is None or evidence.known:
        evidence = replace(evidence, known=())  # a given mix may be wrong, and must not be blamed on levels
        fitted = decode(evidence)
    states, move = fitted.states, level_move(evidence, noise)

    def test(block: slice) -> FloatArray:
        theta, added = contrasts(evidence, block, states[:, -1])
        chances = evidence.expected(block, states, evidence.possible_mix)
        enough = np.where(chances > 0, chances, np.inf).min(axis=1) * evidence.reports >= ENOUGH
        theta, added, chances = theta[enough], added[enough], chances[enough]
        roots = _inverse_roots((added * chances[:, None]) @ np.swapaxes(added, 1, 2), degrees)
        squares = evidence.reports * ((roots @ theta[:, :, None]) ** 2).sum(axis=(1, 2))
        cumulants = _cumulants(roots @ added, chances, evidence.reports)
        units = evidence.reports * ((roots @ move) ** 2).sum(axis=1)
        return np.stack([tail_probability(squares, degrees, *cumulants), squares, *cumulants, units], axis=1)

    tested = evidence.of_blocks(test)
    if not len(tested):
        return None
    _, square, second, third, _ = tested[tested[:, 0].argmin()].tolist()
    return _referred(square, float(tested[:, 4].min()), degrees, (second, third), len(tested))


def homogeneity_of_vector(
    theta: FloatArray, covariance: FloatArray, moves: FloatArray, cumulants: tuple[float, float] | None = None
) -> Homogeneity:
    """Test all numbers together: θ of all levels but one, its covariance, and (a column each) how differences move it.

    The difference that is hardest to notice counts. `cumulants` are those of the statistic if not those of χ².
    """
    inverse = np.linalg.inv(covariance)
    units = np.einsum("am,ab,bm->m", moves, inverse, moves)
    return _referred(float(theta @ inverse @ theta), float(units.min()), len(theta), cumulants)


def _referred(
    statistic: float, unit: float, degrees: int, cumulants: tuple[float, float] | None = None, tests: int = 1
) -> Homogeneity:
    """Refer the worst of so many statistics to χ²; a difference of 1 adds a `unit` to the noncentrality of one."""
    noticed = math.sqrt(noncentrality(degrees, TEST_LEVEL / tests) / unit) if unit > 0 else math.inf
    return Homogeneity.of(statistic, degrees, tests, noticed, cumulants)


def check_bound(evidence: Evidence, differ: float, scale: float = 1.0, unit: str = "points") -> None:
    """Refuse a declared bound on how much levels differ that the reports contradict.

    Targets are shares, or numbers that are `scale` times as large in their `unit`.
    """
    least = least_difference(evidence)
    if least > differ:
        said = f"{100 * differ:.2g} points" if unit == "points" else f"{scale * differ:.3g} {unit}".rstrip()
        told = f"{100 * least:.2g} points" if unit == "points" else f"{scale * least:.3g} {unit}".rstrip()
        raise EstimateError(
            f"declared: people of different levels differ by at most {said}. The reports contradict that: they differ "
            f"by at least {told} (99 % sure). Leave differ out, or declare more"
        )


def least_difference(evidence: Evidence) -> float:
    """Return a bound that the largest difference between levels, in the share of any target, surely exceeds (99 %).

    Of every two levels, and of those that pooling by precision prefers against all, the difference of shares less as
    many errors as chance could make of the largest of all of them. 0 where nothing is sure.
    """
    levels = len(evidence.levels)
    if levels < 2:
        return 0.0
    pairs = [np.eye(levels)[one] - np.eye(levels)[two] for one, two in combinations(range(levels), 2)]
    compared = np.array([*pairs, decode(evidence).level_weights - evidence.mix])
    gained = np.maximum(compared, 0).sum(axis=1, keepdims=True)
    compared = (compared / np.maximum(gained, np.finfo(np.float64).tiny))[gained[:, 0] > 0]
    reach = normal_reach(1 - TEST_LEVEL, len(compared) * max(evidence.targets - 1, 1))

    def surely(block: slice) -> FloatArray:
        own, whole = evidence.weights(block)
        people = evidence.mixes[block, :, None]
        shares = evidence.joint[block, :, -1:] / people
        added = (own[:, :, -1] - shares * whole) / people  # what one report adds to the share of a level
        errors = np.sqrt(((compared @ added) ** 2 @ evidence.flat_shares(block)[:, :, None])[..., 0] / evidence.reports)
        return np.asarray(np.abs(shares[..., 0] @ compared.T) - reach * errors)

    return max(0.0, float(evidence.of_blocks(surely).max()))


def level_move(evidence: Evidence, noise: Sequence[float]) -> FloatArray:
    """Return how π moves, level by level, if a share is larger by 1 in the stricter levels than in the others."""
    rho = evidence.possible_mix
    stricter = stricter_half([noise[level] for level in evidence.levels], rho)
    return np.asarray(rho * np.where(stricter, rho[~stricter].sum(), -rho[stricter].sum()) / rho.sum())


def contrasts(evidence: Evidence, block: slice, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return θ with f̂ by size (targets × levels), and what one report adds to it (targets × levels × cells).

    With f̂ by size, θ_τ = π̂_τ − ρ̂_τ·Σπ̂/Σρ̂: the θ of all levels sum to 0.
    """
    own, whole = evidence.weights(block)
    joint, mix = evidence.joint[block, :, -1], evidence.mixes[block]
    parts = mix / mix.sum(axis=1, keepdims=True)
    apart = own[:, :, -1] - shares[block, None, None] * whole
    theta = joint - parts * joint.sum(axis=1, keepdims=True)
    return theta, apart - parts[:, :, None] * apart.sum(axis=1, keepdims=True)


def _inverse_roots(covariance: FloatArray, degrees: int) -> FloatArray:
    """Return A with AᵀA = S⁻ of every target, degrees × levels: the directions of the largest variances."""
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[:, -degrees:], vectors[:, :, -degrees:]
    known = values > _DARK * np.maximum(values[:, -1:], np.finfo(np.float64).tiny)
    scale = np.where(known, 1 / np.sqrt(np.where(known, values, 1.0)), 0.0)
    return np.asarray(np.swapaxes(vectors * scale[:, None], 1, 2))


def _cumulants(added: FloatArray, chances: FloatArray, reports: float) -> tuple[FloatArray, FloatArray]:
    """Return κ₂ and κ₃ of X², target by target, from the standardised θ of one report."""
    degrees = added.shape[1]
    square = (added**2).sum(axis=1)
    bent = np.maximum(((chances * square**2).sum(axis=1) - degrees**2 - 2 * degrees) / reports, 0.0)
    third = 6 * ((added * (chances * square)[:, None]).sum(axis=2) ** 2).sum(axis=1)
    for along in np.moveaxis(added, 1, 0):  # 4·Σ_ijk (E y_i y_j y_k)², one i at a time
        third += 4 * (((added * (chances * along)[:, None]) @ np.swapaxes(added, 1, 2)) ** 2).sum(axis=(1, 2))
    sixth = (chances * square**3).sum(axis=1) / reports**2
    return 2 * degrees + bent, 8 * degrees + 12 * bent + third / reports + sixth
