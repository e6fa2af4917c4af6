"""Maximum likelihood of direct encodings (k-RR, URR, IPRR), exactly, by one multiplier.

A report that names one value has log-likelihood Σ_g Σ_y n_gy log(a_gy f_y + b_gy): every share has its own term. On the
simplex all shares that are not 0 have the same slope λ,

    Σ_g n_gy a_gy / (a_gy f_y + b_gy) = λ,        and  Σ_y f_y(λ) = 1  fixes λ.

With one group f_y = max(0, n_y/λ − b_y/a_y). With several, f_y is the root of a convex falling function; Newton steps
from below never pass it. So k one-dimensional problems and one outer root replace an iteration over k values at once,
which converges slowly where many values are rare and some are not perturbed at all.
"""

from collections.abc import Sequence

import numpy as np
from scipy import optimize

from pldp.estimates.groups import Group
from pldp.mechanisms.arrays import FloatArray

_MOST_INNER = 100


def separable_maximum(groups: Sequence[Group]) -> FloatArray:
    """Return the shares of greatest likelihood for groups that are all `separable` and have reports.

    >>> import math
    >>> from pldp.mechanisms import ItemResponse
    >>> from pldp.estimates.groups import group
    >>> from pldp.tallies import OutputCounts
    >>> counted = group(ItemResponse.of([500_000, 1_000_000, math.inf]), OutputCounts(np.array([500, 300, 200])))
    >>> separable_maximum([counted]).round(3)
    array([0.02 , 0.355, 0.625])
    """
    size = groups[0].channel.size
    counts = np.array([each.cells for each in groups])
    offset = np.array([np.broadcast_to(each.arrays.low / each.arrays.step, (size,)) for each in groups])
    least = float((counts / (1 + offset)).max())
    most = float(counts.sum())

    def excess(multiplier: float) -> float:
        return float(_shares(counts, offset, multiplier).sum() - 1)

    # At the ends the sum is at least and at most 1; rounding may turn them around where all people say one value.
    if excess(least) <= 0 or excess(most) >= 0:
        multiplier = least if excess(least) <= 0 else most
    else:
        multiplier = float(optimize.brentq(excess, least, most, xtol=1e-13 * most, rtol=1e-14))
    shares = _shares(counts, offset, multiplier)
    return np.asarray(shares / shares.sum())


def _shares(counts: FloatArray, offset: FloatArray, multiplier: float) -> FloatArray:
    """Return f(λ): the root of Σ_g n_gy/(f_y + b_gy/a_gy) = λ, or 0 where the sum is below λ even there."""
    shares = np.maximum(counts / multiplier - offset, 0.0).max(axis=0)
    if len(counts) == 1:
        return np.asarray(shares)
    for _ in range(_MOST_INNER):
        place = shares + offset
        term = np.divide(counts, place, out=np.zeros_like(counts), where=counts > 0)
        slope = np.divide(term, place, out=np.zeros_like(counts), where=counts > 0).sum(axis=0)
        rest = term.sum(axis=0) - multiplier
        step = np.divide(rest, slope, out=np.zeros_like(rest), where=(rest > 0) & (slope > 0))
        shares = shares + step
        if step.max() <= 1e-15:
            break
    return np.asarray(shares)
