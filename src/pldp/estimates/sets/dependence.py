"""Does the hidden level depend on having an item? A test per item, and the difference that it would have noticed.

With π(τ, x) the share of people who chose level τ and have the item (x = 1) or not, the means of

    u_τ(s, y) = G⁻¹(τ, s)·W_τ(y)   and   r_τ(s) = G⁻¹(τ, s)

over the reports that tell about the item are π(τ, 1) and ρ_τ without bias, whatever depends on what. If the level does
not depend on the item, θ_τ = π(τ, 1) − ρ_τ f is 0 for every level. Linearised at the fitted f₀ and ρ₀, θ is the mean of

    u_τ − f₀ r_τ − ρ₀_τ Σ u + ρ₀_τ f₀,

whose covariance is that of the 2·labels cells of (label, bit) that the fit expects. Wald's statistic is referred to χ²
with one degree less than levels, and the worst item counts, times the number of items (Bonferroni).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from pldp.estimates import power
from pldp.estimates.agreement import stricter_half
from pldp.estimates.mix import LevelMix
from pldp.estimates.result import Homogeneity
from pldp.mechanisms.arrays import FloatArray, IntArray, SetArrays

ENOUGH: Final = 5.0
"""Reports that every cell of an item must expect."""

_SINGULAR: Final = 1e10
"""Condition number from which on a covariance has no inverse."""


def item_dependence(
    mix: LevelMix, levels: Sequence[SetArrays], counts: IntArray, supports: FloatArray
) -> Homogeneity | None:
    """Test all items with enough reports, given counts of (label, item, bit); `None` where there is none.

    `noticed` is the difference in the support of one item between people of the stricter and of the more open levels,
    for the item where it is hardest to notice.
    """
    singles, rho = np.arange(len(supports))[:, None], mix.shares
    stricter = stricter_half([float(level.variance(supports).mean()) for level in levels], rho)
    move = rho * np.where(stricter, rho[~stricter].sum(), -rho[stricter].sum())
    had = np.stack([1 - supports, supports], axis=1)
    shown = np.array([level.shown(singles, had) for level in levels])  # level × item × bit
    counted = np.array([np.broadcast_to(each.pattern_weights(singles, 1), had.shape) for each in levels])
    statistics, units = [], []
    for item, support in enumerate(supports.tolist()):
        chances = np.einsum("st,ty->sy", mix.matrix * rho, shown[:, item])
        reports = int(counts[:, item].sum())
        if reports * chances.min() < ENOUGH:
            continue
        found = _wald(mix.inverse, counted[:, item], counts[:, item] / reports, chances, (support, rho, move))
        if found is not None:
            statistics.append(found[0] * reports)
            units.append(found[1] * reports)
    if not statistics:
        return None
    degrees, tests = len(levels) - 1, len(statistics)
    return Homogeneity.of(max(statistics), degrees, tests, power.noticed(min(units), degrees, tests))


def _wald(
    inverse: FloatArray,
    counted: FloatArray,
    came: FloatArray,
    chances: FloatArray,
    fit: tuple[float, FloatArray, FloatArray],
) -> tuple[float, float] | None:
    """Return the statistic of one report, and what one unit of difference would add to it; `None` where singular.

    `counted` is W of every level and bit; `came` and `chances` are the shares of (label, bit) that came and that the
    fit expects; the fit is support, mix, and how far a difference of 1 moves θ.
    """
    support, rho, move = fit
    own = inverse[:, :, None] * counted[:, None, :]  # level × label × bit
    each = own - support * inverse[:, :, None] - rho[:, None, None] * own.sum(axis=0) + (rho * support)[:, None, None]
    parts = each[:-1].reshape(len(rho) - 1, -1)
    spread, mean = chances.ravel(), parts @ came.ravel()
    covariance = (parts * spread) @ parts.T - np.outer(parts @ spread, parts @ spread)
    if not np.isfinite(covariance).all() or np.linalg.cond(covariance) > _SINGULAR:
        return None
    moved = move[:-1]
    return float(mean @ np.linalg.solve(covariance, mean)), float(moved @ np.linalg.solve(covariance, moved))
