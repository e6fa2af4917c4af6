"""MPLDP: many attributes, a level of protection for each, and two ways to combine the levels of one attribute.

Paper: Feng, Zhang, "MPLDP: Multi-Level Personalized Local Differential Privacy Method" (2024). Budgets: OBRR
allocation of a total over attributes (`pldp.budgets.allocate` with `unary_cost`), levels as fractions of it
(`fraction_levels`), symmetric unary encoding. Each function below takes the groups of one attribute, one per level.
"""

from collections.abc import Sequence

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates import Group, pooled_shares, size_weights
from pldp.mechanisms.arrays import FloatArray


def brr_sum(groups: Sequence[Group]) -> FloatArray:
    """Shares from adding the estimated counts of all levels: pooling by size, the paper's baseline."""
    used = [each for each in groups if each.reports]
    return pooled_shares(used, size_weights(used))


def oc(groups: Sequence[Group]) -> FloatArray:
    """Optimal combination: weights ∝ n_τ (e^{ε_τ/2}−1)²/e^{ε_τ/2}, inverse variance without the shares' own part."""
    used = [each for each in groups if each.reports]
    roots = np.exp(np.array([each.channel.epsilon for each in used]) / 2)
    weights = np.array([each.reports for each in used]) * (roots - 1) ** 2 / roots
    return pooled_shares(used, weights / weights.sum())


def op(groups: Sequence[Group], reference: FloatArray, *, iterations: int = 10) -> FloatArray:
    """Perturbation method (Algorithm 3): re-fit the weights of the levels against a reference histogram.

    The paper uses the true histogram as the reference, which no collector has; a public or an earlier one can stand
    in. Each iteration fits the levels' shares to a target, finds the largest error against the reference, and moves
    the target there, as far as no other error grows beyond the largest. Two slips of the printed algorithm are mended:
    the denominator pairs every value t with the value k of the largest error, and errors are those against the
    reference (against the moved target, as printed, the iteration diverges).
    """
    used = [each for each in groups if each.reports]
    target = np.array(reference, np.float64)
    if target.shape != (used[0].channel.size,):
        raise EstimateError(f"reference must hold {used[0].channel.size} shares, not {target.size}")
    table = np.array([each.shares() for each in used]).T
    hat = table @ np.linalg.pinv(table)
    for _ in range(iterations):
        signed = reference - hat @ target
        residual = np.abs(signed)
        worst = int(residual.argmax())
        reach = np.abs(hat[:, worst])
        room = np.divide(residual[worst] - residual, reach, out=np.full_like(reach, np.inf), where=reach > 0)
        room[worst] = residual[worst] / reach[worst] if reach[worst] > 0 else np.inf
        step = float(room.min())
        if not np.isfinite(step) or step <= 0:
            break
        target[worst] += step if signed[worst] > 0 else -step
    return np.asarray(hat @ target)
