"""From people's scores of how sensitive each value is, to levels, to budgets, to channels that keep them.

Zhang, Zhang, Zhang, Zhang, "Adaptive Personalized Randomized Response Method Based on Local Differential Privacy"
(2024) ask people for scores, cut them into levels 0 … L−1 (0 = open) and give level l the budget
ε_l = 2(L−l)/(L(L−1))·ε. Their channel then keeps value i with p_i = e^{ε_i}/(e^{ε_i}+k−1) (`ValueResponse`). That does
not keep the promise: a report y moves the odds between y and another value j by p_y/q_j, which is more than e^{ε_y}
where ε_j > ε_y, and infinite where j is open (`true_epsilons`). `safe_channel` keeps every promise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pldp.epsilon import Micro, epsilon_text, micro_epsilon_of_ratio
from pldp.errors import EpsilonError

if TYPE_CHECKING:
    from pldp.mechanisms import Channel, ItemResponse

FENCE = 1.5  #: A score further than this many interquartile ranges beyond a quartile is an outlier (Tukey's fences).


def scores_by_value(values: Sequence[str], scores: Sequence[Sequence[float]]) -> dict[str, list[float]]:
    """Turn a matrix of scores, one row per person and one column per value, into the scores of each value.

    >>> scores_by_value(["flu", "HIV"], [[1, 9], [2, 10]])
    {'flu': [1, 2], 'HIV': [9, 10]}
    """
    if len(set(values)) < len(values):
        raise EpsilonError("values must be named once each; some are there twice")
    if any(len(row) != len(values) for row in scores):
        raise EpsilonError(f"every person must score all {len(values)} values; some rows have another length")
    return {value: [row[place] for row in scores] for place, value in enumerate(values)}


def without_outliers(scores: Sequence[float]) -> list[float]:
    """Return the scores within Tukey's fences: at most 1.5 interquartile ranges beyond the quartiles.

    The paper removes outliers without saying how; this is the rule here.

    >>> without_outliers([5, 6, 6, 7, 5, 6, 0])
    [5, 6, 6, 7, 5, 6]
    """
    from statistics import quantiles  # noqa: PLC0415 - devices, which import this package, need none

    lower, _, upper = quantiles(scores, n=4, method="inclusive")
    reach = FENCE * (upper - lower)
    return [score for score in scores if lower - reach <= score <= upper + reach]


def sensitivity_levels(
    scores: Mapping[str, Sequence[float]], *, levels: int = 5, scale: tuple[float, float] = (0, 10)
) -> dict[str, int]:
    """Return the level 0 … levels−1 of each value: the mean score without outliers, on the scale cut into equal parts.

    >>> sensitivity_levels({"flu": [1, 2, 1], "HIV": [9, 10, 9], "sex": [0, 1, 0]}, levels=3)
    {'flu': 0, 'HIV': 2, 'sex': 0}
    """
    lowest, highest = scale
    if not lowest < highest:
        raise EpsilonError(f"scale must be two rising numbers, not {lowest}, {highest}")
    if levels < 2:
        raise EpsilonError(f"levels must be at least 2, not {levels}")
    if not scores:
        raise EpsilonError("nothing to score: give scores for at least one value")
    found = {}
    for value, given in scores.items():
        if len(given) < 2:
            raise EpsilonError(f"value {value!r} must be scored by at least 2 people, not {len(given)}")
        if not all(lowest <= score <= highest for score in given):
            raise EpsilonError(f"scores of {value!r} must be from {lowest} to {highest}; some are not")
        kept = without_outliers(given)
        part = (math.fsum(kept) / len(kept) - lowest) / (highest - lowest)
        found[value] = min(levels - 1, math.floor(part * levels))
    return found


def level_weight(level: int, levels: int) -> Fraction:
    """W_l = 2l/(L(L−1)): the weights of levels 1 … L−1 sum to 1.

    >>> [str(level_weight(level, 5)) for level in range(5)]
    ['0', '1/10', '1/5', '3/10', '2/5']
    """
    if not 0 <= level < levels or levels < 2:
        raise EpsilonError(f"level must be from 0 to {levels - 1} of at least 2 levels, not {level}")
    return Fraction(2 * level, levels * (levels - 1))


def level_budget(total_micro_epsilon: int, level: int, levels: int) -> Micro:
    """ε_l = W_{L−l}·ε, rounded down to micro-ε; `math.inf` for level 0, which is open.

    >>> [level_budget(9_000_000, level, 5) for level in range(5)]
    [inf, 3600000, 2700000, 1800000, 900000]
    """
    if level == 0:
        return math.inf
    return _whole(total_micro_epsilon * level_weight(levels - level, levels), total_micro_epsilon)


def split_budget(micro_epsilon: Micro, values: int = 2) -> tuple[Micro, ...]:
    """Split an attribute's budget over its values, the least sensitive first: the same rule with the values as levels.

    >>> split_budget(3_600_000)                                    # 2/3 for "0", 1/3 for "1"
    (2400000, 1200000)
    """
    if values < 2:
        raise EpsilonError(f"an attribute must have at least 2 values, not {values}")
    if micro_epsilon == math.inf:
        return (math.inf,) * values
    weights = (level_weight(rank, values + 1) for rank in range(values, 0, -1))
    return tuple(_whole(int(micro_epsilon) * weight, int(micro_epsilon)) for weight in weights)


def _whole(share: Fraction, total: int) -> int:
    micro = math.floor(share)
    if micro < 1:
        raise EpsilonError(f"epsilon {epsilon_text(total)} is too small to split: a part is below a millionth")
    return micro


def safe_channel(budgets: Sequence[Micro]) -> ItemResponse:
    """Return the channel that keeps every value's promise and tells the values apart best: item-oriented response.

    Value i is promised Pr(y|i) ≤ e^{ε_i}·Pr(y|j) for all reports y and other values j. Let n_y be the smallest
    probability of report y. Then p_y ≤ e^{ε_y}·n_y and p_y + Σ_{z≠y} n_z ≤ 1, so the contrast c_y = p_y − n_y is at
    most (e^{ε_y}−1)·n_y and 1 − Σn. If all contrasts are at least c, then Σn ≥ c·Σr with r_y = 1/(e^{ε_y}−1), so
    c ≤ 1 − c·Σr: no channel has a smallest contrast above 1/(1+Σr). `ItemResponse` has it for every value: report y
    comes with n_y = r_y/(1+Σr) from every other value, and every promise is used up. Its integer noise is rounded up;
    that lowers p_y and raises n_y, so the weights keep the promises exactly. Noise belongs to the *report*, not to the
    value: a sensitive value is protected by others that are reported as it.

    >>> channel = safe_channel([2_400_000, 1_200_000])
    >>> [round(float(channel.probability(value, value)), 4) for value in range(2)], true_epsilons(channel)
    ([0.7184, 0.9348], (2400000, 1200000))
    """
    from pldp.mechanisms import ItemResponse  # noqa: PLC0415 - nor this one

    return ItemResponse.of(budgets)


def true_epsilons(channel: Channel) -> tuple[Micro, ...]:
    """Return for each value i the exact ln max Pr(y|i)/Pr(y|j) over reports y and other values j, rounded up.

    >>> import math
    >>> from pldp.mechanisms import ValueResponse
    >>> true_epsilons(ValueResponse.of([2_400_000, 1_200_000]))    # promised: 2.4 and 1.2
    (1376447, 2223554)
    >>> true_epsilons(ValueResponse.of([math.inf, 1_200_000]))     # an open "0" gives every "1" away
    (1463283, inf)
    """
    rows = [[channel.probability(output, value) for output in channel.outputs()] for value in range(channel.size)]
    return tuple(
        max(
            micro_epsilon_of_ratio(p.numerator * q.denominator, p.denominator * q.numerator)
            for other in rows
            if other is not row
            for p, q in zip(row, other, strict=True)
        )
        for row in rows
    )
