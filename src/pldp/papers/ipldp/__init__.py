"""IPLDP: a budget per item, promised for reports. The paper's mechanism, its rivals, its losses and its bounds.

Paper: Li, Zhu, Zhang, Xie, "Item-Oriented Personalized Local Differential Privacy for Discrete Distribution Estimation"
(2023). The mechanism is `pldp.mechanisms.ItemResponse`; here are its rivals at the same budgets (`item_channels`), the
paper's assignment of budgets to items (`level_budgets`), and Theorems 3 to 6 as functions.

In all of them r_x = 1/(e^{ε_x}−1) for a sensitive item, 0 for a non-sensitive one (`math.inf`), and S = 1/(1+Σ r).

Slips of the paper; a test or a verdict of `pldp reproduce ipldp` shows each one that can be computed:

- Lemma 1 is printed the wrong way round: *larger* budgets give the smaller loss (its proof says so).
- Definition 3, (4), asks for Q(x|x') > 0 and = 0 at once; what is meant is Q(x|x) > 0 for non-sensitive x.
- "For x in D_S it should satisfy ε_x-LDP" and "equivalent protection for inputs and outputs" hold for reports, and for
  values on one side only: no report speaks for x beyond ε_x, but others may speak against it. Between x and x' IPRR
  keeps max(ε_x, ε_x'), and nothing where one of them is non-sensitive. The comparison with IDUE, which keeps
  min(ε_x, ε_x'), is one between different promises.
- B.1: the limit is √(2/π), without n (the n of (14) comes from the factor before it).
- B.3: Jensen's inequality is used as Σ g(f) ≤ g(K Σ f), which is not an equality for K > 1; Σ g(f) ≤ K g(Σ f / K) is
  meant. Lemma 2 is right.
- (22) is typeset with the root over the constants only; and it is an upper bound, not the limit, as Cauchy's inequality
  is strict for unequal budgets.
- Theorem 6 asks for ε_min > ln(|D_N|+1), which is the condition of URR. With unequal budgets it does not suffice for a
  uniform output; (23) and (24) then bound the loss without being reached. (23) lacks the factor 1/n.
- SR·|D| is called the sample count; the number of users is meant.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from pldp.epsilon import Micro
from pldp.errors import EstimateError
from pldp.estimates import norm_sub
from pldp.mechanisms import IDUE_MODELS, MICRO, ItemResponse, ItemUnaryEncoding, RandomizedResponse, SupportChannel
from pldp.mechanisms.arrays import FloatArray
from pldp.papers.groups import Group, maximum_likelihood

Budgets = Sequence[Micro]  #: Micro-ε of each item; `math.inf` for a non-sensitive one.

FIGURE_1: Final[Budgets] = (100_000, 500_000, 1_000_000, math.inf, math.inf)
"""The example of Figure 1: HIV, cancer, hepatitis; flu and none are open."""


def level_budgets(
    items: int, smallest: int, largest: int, *, levels: int = 4, non_sensitive: float = 0.0
) -> tuple[Micro, ...]:
    """Return the budgets of items sorted by falling counts: the first ones none, then from the largest to the smallest.

    The paper's example: six items, half of them non-sensitive, budgets .1 to .3 in three levels.

    >>> level_budgets(6, 100_000, 300_000, levels=3, non_sensitive=0.5)
    (inf, inf, inf, 300000, 200000, 100000)
    """
    open_ = round(items * non_sensitive)
    budgets = [round(micro) for micro in np.linspace(largest, smallest, levels)]
    sizes = [len(part) for part in np.array_split(np.arange(items - open_), levels)]
    sensitive = [budget for budget, size in zip(budgets, sizes, strict=True) for _ in range(size)]
    return (*[math.inf] * open_, *sensitive)


def item_channels(budgets: Budgets) -> dict[str, SupportChannel]:
    """Return IPRR and its rivals at these budgets, by name.

    k-RR and URR know one budget and take the smallest; IDUE (three models) needs a budget for every item and is left
    out otherwise.
    """
    places = [place for place, micro in enumerate(budgets) if micro < math.inf]
    if not places:
        raise EstimateError("budgets is empty: give a budget for at least one item")
    least = int(min(budgets))
    channels: dict[str, SupportChannel] = {
        "iprr": ItemResponse.of(budgets),
        "krr": RandomizedResponse.of(len(budgets), least),
        "urr": ItemResponse.utility_optimised(len(budgets), places, least),
    }
    if len(places) == len(budgets):
        channels |= {f"idue_{model}": ItemUnaryEncoding.of(budgets, model) for model in IDUE_MODELS}
    return channels


ESTIMATORS: Final[Mapping[str, Callable[[Group], FloatArray]]] = {
    "norm_sub": lambda group: norm_sub(group.shares()),
    "mle": lambda group: maximum_likelihood([group]).shares,
}
"""The two estimators of the paper's experiments: unbiased shares, (12), after norm-sub, and those of greatest
likelihood, for which unary reports need whole rows."""


def _noise(budgets: Budgets) -> tuple[FloatArray, float]:
    """r and 1/S."""
    ratios = np.array([0.0 if micro == math.inf else 1 / np.expm1(micro / MICRO) for micro in budgets])
    return ratios, float(1 + ratios.sum())


def _factors(budgets: Budgets, shares: FloatArray) -> FloatArray:
    """f_x = (p_x + r_x)(1/S − (p_x + r_x)): people times the variance of each estimated share."""
    ratios, inverse = _noise(budgets)
    shifted = np.asarray(shares, np.float64) + ratios
    return np.asarray(shifted * (inverse - shifted))


def l2_loss(budgets: Budgets, shares: FloatArray, people: int) -> float:
    """Expected Σ(p̂−p)² of the empirical estimate, (13), for people drawn from the shares.

    For exactly these people, as in the experiments, it is less by Σ p(1−p)/n.

    >>> round(l2_loss([1_000_000, 1_000_000], np.array([0.5, 0.5]), 100), 6)             # k-RR with two items
    0.023413
    """
    return float(_factors(budgets, shares).sum() / people)


def l1_loss(budgets: Budgets, shares: FloatArray, people: int) -> float:
    """Expected Σ|p̂−p| for many people, (14)."""
    return float(np.sqrt(2 / (people * np.pi)) * np.sqrt(_factors(budgets, shares)).sum())


def worst_shares(budgets: Budgets) -> FloatArray:
    """Return p* of Lemma 2, the shares of the largest loss: level out p + r as far as p ≥ 0 allows.

    D* is where p* > 0; for any increasing concave g the same shares maximise Σ g(f_x).

    >>> worst_shares([100_000, math.inf, math.inf])
    array([0. , 0.5, 0.5])
    """
    return norm_sub(-_noise(budgets)[0])


def _outside(budgets: Budgets) -> tuple[float, FloatArray, int, float]:
    """1/S, r outside D*, |D*| and 1/S of D*."""
    ratios, inverse = _noise(budgets)
    inside = worst_shares(budgets) > 0
    return inverse, ratios[~inside], int(inside.sum()), float(1 + ratios[inside].sum())


def l2_bound(budgets: Budgets, people: int) -> float:
    """Largest expected Σ(p̂−p)² over all shares, (19)."""
    inverse, outside, count, inner = _outside(budgets)
    return float(inverse**2 - inner**2 / count - (outside**2).sum()) / people


def l1_bound(budgets: Budgets, people: int) -> float:
    """Largest expected Σ|p̂−p| over all shares for many people, (20)."""
    inverse, outside, count, inner = _outside(budgets)
    spread = np.sqrt(outside * (inverse - outside)).sum() + np.sqrt(inner * (count * inverse - inner))
    return float(np.sqrt(2 / (people * np.pi)) * spread)


def _pairs(budgets: Budgets) -> tuple[int, float]:
    """|D_S| and Σ_x Σ_{x' ≠ x} 1/(ε_x ε_x')."""
    inverse = np.array([MICRO / micro for micro in budgets if micro < math.inf])
    return len(inverse), float(inverse.sum() ** 2 - (inverse**2).sum())


def high_privacy_l2(budgets: Budgets, people: int) -> float:
    """What `l2_bound` tends to for small budgets, (21)."""
    return _pairs(budgets)[1] / people


def high_privacy_l1(budgets: Budgets, people: int) -> float:
    """Bound of `l1_bound` for small budgets, (22) with the root over everything; reached for equal budgets."""
    count, pairs = _pairs(budgets)
    return float(np.sqrt(2 * count * pairs / (people * np.pi)))


def low_privacy_l2(budgets: Budgets, people: int) -> float:
    """(23) with the missing 1/n: never below `l2_bound`, and equal to it where the worst output is uniform."""
    return _noise(budgets)[1] ** 2 * (1 - 1 / len(budgets)) / people


def low_privacy_l1(budgets: Budgets, people: int) -> float:
    """(24): never below `l1_bound`, and equal to it where the worst output is uniform."""
    return float(np.sqrt(2 * (len(budgets) - 1) / (people * np.pi)) * _noise(budgets)[1])
