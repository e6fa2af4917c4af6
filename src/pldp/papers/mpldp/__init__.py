"""MPLDP: many attributes, a level of protection for each, and two ways to combine the levels of one attribute.

Paper: Feng, Zhang, "MPLDP: Multi-Level Personalized Local Differential Privacy Method" (2024). Budgets: OBRR
allocation of a total over attributes (`pldp.budgets.allocate` with `unary_cost`), levels as fractions of it
(`fraction_levels`), symmetric unary encoding. `brr_sum`, `oc` and `op` take the groups of one attribute, one per level;
the formulas take the number of people per level, n_τ, and their ε, along the last axis.

Slips of the paper; a test or a verdict of `pldp reproduce mpldp` shows each one that can be computed:

- Table 2 prints the headings of k and ε swapped, and its rows spend half of ε.
- Least squares on one collection, (24), is not Theorem 2: its weights do not sum to 1 and shrink all counts.
- (26) and Algorithm 3 divide by the leverage of j with itself; the proof, (32) to (35), needs that of j with k.
- Algorithm 3 measures errors against the target that it has moved; they grow. Theorem 3 is about the true histogram.
- OP takes the true histogram. No collector has it, and what uses it is no post-processing of reports (Theorem 5).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.mechanisms.arrays import FloatArray
from pldp.papers.groups import Group, pooled_shares, size_weights
from pldp.papers.mpldp.perturbation import hat_matrix, move_targets


def brr_sum(groups: Sequence[Group]) -> FloatArray:
    """Shares from adding the estimated counts of all levels: pooling by size, the paper's baseline."""
    used = [each for each in groups if each.reports]
    return pooled_shares(used, size_weights(used))


def oc(groups: Sequence[Group]) -> FloatArray:
    """Optimal combination: weights ∝ n_τ (e^{ε_τ/2}−1)²/e^{ε_τ/2}, inverse variance without the shares' own part."""
    used = [each for each in groups if each.reports]
    epsilons = [each.channel.epsilon for each in used]
    return pooled_shares(used, oc_weights([each.reports for each in used], epsilons))


def op(groups: Sequence[Group], reference: FloatArray, *, iterations: int = 10) -> FloatArray:
    """Perturbation method (Algorithm 3): re-fit the weights of the levels against a reference histogram.

    The paper uses the true histogram as the reference, which no collector has; a public or an earlier one can stand
    in. Each iteration fits the levels' shares to a target, finds the largest error against the reference, and moves
    the target there, as far as no other error grows beyond the largest (`move_targets`, which has the printed forms
    as well).
    """
    used = [each for each in groups if each.reports]
    target = np.array(reference, np.float64)
    if target.shape != (used[0].channel.size,):
        raise EstimateError(f"reference must hold {used[0].channel.size} shares, not {target.size}")
    hats = hat_matrix(np.array([each.shares() for each in used]).T[None])
    *_, moved = move_targets(hats, target, iterations)
    return np.asarray(hats[0] @ moved[0])


def precision(reports: npt.ArrayLike, epsilons: npt.ArrayLike) -> FloatArray:
    """D_τ of Theorem 2: n_τ (e^{ε_τ/2}−1)²/e^{ε_τ/2}."""
    roots = np.exp(np.asarray(epsilons, np.float64) / 2)
    return np.asarray(np.asarray(reports) * (roots - 1) ** 2 / roots)


def oc_weights(reports: npt.ArrayLike, epsilons: npt.ArrayLike) -> FloatArray:
    """ω_τ = D_τ/Σ D, Theorem 2.

    >>> oc_weights([1000, 1000, 1000], [0.1, 0.15, 0.3]).round(3)
    array([0.082, 0.183, 0.735])
    """
    found = precision(reports, epsilons)
    return np.asarray(found / found.sum(-1, keepdims=True))


def combined_mse(size: int, weights: npt.ArrayLike, reports: npt.ArrayLike, epsilons: npt.ArrayLike) -> FloatArray:
    """Squared error of all counts of an attribute with these weights ω, (8): k n² Σ ω²/D."""
    people = np.asarray(reports).sum(-1)
    return np.asarray(size * people**2 * (np.asarray(weights) ** 2 / precision(reports, epsilons)).sum(-1))


def least_mse(size: int, reports: npt.ArrayLike, epsilons: npt.ArrayLike) -> FloatArray:
    """k n²/Σ D, (11): what OC reaches."""
    return np.asarray(size * np.asarray(reports).sum(-1) ** 2 / precision(reports, epsilons).sum(-1))


def summed_mse(size: int, reports: npt.ArrayLike, epsilons: npt.ArrayLike) -> FloatArray:
    """Bound of (56): what adding the levels up has.

    >>> round(float(least_mse(5, [9, 9, 9], [1, 2, 3]) / summed_mse(5, [9, 9, 9], [1, 2, 3])), 3)
    0.427
    """
    return np.asarray(size * (np.asarray(reports) ** 2 / precision(reports, epsilons)).sum(-1))
