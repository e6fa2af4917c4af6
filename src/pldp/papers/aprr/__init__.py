"""APRR: budgets from the sensitivity of items, and frequent sets of items from what is reported.

Paper: Zhang, Zhang, Zhang, Zhang, "Adaptive Personalized Randomized Response Method Based on Local Differential
Privacy" (2024). A basket is one bit per item. APRR gives every item a level and splits the level's budget over "0" and
"1"; MASK (Rizvi, Haritsa, "Maintaining Data Privacy in Association Rule Mining", 2002) keeps every bit with one
probability; GR-PPFM (Guo, Tong, Su, "Privacy Preserving Frequent Pattern Mining Based on Grouping Randomization", 2021)
has groups of people with a probability each. The paper rebuilds supports of single items; here all three rebuild those
of sets.
"""

import math
from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import NamedTuple

from pldp.budgets import level_budget, split_budget
from pldp.errors import EstimateError
from pldp.estimates import PLAIN_RATES, Baskets, itemsets
from pldp.mechanisms import ItemSet, Micro, ValueResponse


def aprr(item_levels: Sequence[int], total_micro_epsilon: int, levels: int = 5) -> ItemSet:
    """Return the paper's channel: level l has 2(L−l)/(L(L−1))·ε, of which "0" gets 2/3 and "1" gets 1/3; 0 is open.

    The budgets are those that the paper promises; the channel does not keep them (`ItemSet.item_micro_epsilon`).

    >>> aprr([1], 9_000_000).item_micro_epsilon(0)                     # promised: 1.2 to "1" and 2.4 to "0"
    ItemEpsilon(present=2223554, absent=1376447)
    """
    kept = [_kept(split_budget(level_budget(total_micro_epsilon, level, levels))) for level in item_levels]
    return ItemSet.of_probabilities([one for _, one in kept], [zero for zero, _ in kept])


def aprr_safe(item_levels: Sequence[int], total_micro_epsilon: int, levels: int = 5) -> ItemSet:
    """Return the most accurate channel that keeps the budgets of `aprr`.

    >>> aprr_safe([1], 9_000_000).item_micro_epsilon(0)
    ItemEpsilon(present=1200000, absent=2400000)
    """
    budgets = [split_budget(level_budget(total_micro_epsilon, level, levels)) for level in item_levels]
    return ItemSet.of_pairs([(one, zero) for zero, one in budgets])


def _kept(budgets: tuple[Micro, ...]) -> tuple[Fraction, Fraction]:
    """Return the probabilities to keep a "0" and a "1"."""
    if budgets == (math.inf, math.inf):
        return Fraction(1), Fraction(1)
    channel = ValueResponse.of(budgets)
    return channel.probability(0, 0), channel.probability(1, 1)


def mask(items: int, probability: float) -> ItemSet:
    """Return MASK's channel: every bit is kept with one probability."""
    return ItemSet.of_probabilities([probability] * items, [probability] * items)


def gr_ppfm(items: int, probabilities: Sequence[float]) -> list[ItemSet]:
    """Return GR-PPFM's channels, one per group of people: MASK with a probability of its own."""
    return [mask(items, probability) for probability in probabilities]


def frequent_sets(
    groups: Baskets, items: Sequence[str], min_support: float, *, largest: int = 3
) -> set[frozenset[str]]:
    """Return the sets whose rebuilt support is at least min_support, as the papers do: errors are not looked at.

    Every group is rebuilt with its own channel and counts by its size.
    """
    found = itemsets(groups, items, min_support, largest=largest, rates=PLAIN_RATES, target="respondents")
    return {frozenset(names) for names in found.sets}


class IdentityError(NamedTuple):
    """Wrongly identified sets in percent of the truly frequent ones: missed (θ⁻) and wrongly found (θ⁺)."""

    theta_minus: float
    theta_plus: float


def identity_error(truth: Collection[frozenset[str]], found: Collection[frozenset[str]]) -> IdentityError:
    """Compare the sets that were found with the truly frequent ones.

    >>> identity_error([frozenset("a"), frozenset("b")], [frozenset("a"), frozenset("c")])
    IdentityError(theta_minus=50.0, theta_plus=50.0)
    """
    if not truth:
        raise EstimateError("nothing to compare: truth needs at least one frequent set")
    true, seen = set(truth), set(found)
    return IdentityError(100 * len(true - seen) / len(true), 100 * len(seen - true) / len(true))


def privacy(kept: float, support: float, raised: float | None = None) -> float:
    """1 − R₁, where R₁ is the probability that a "1" is rebuilt from its report, for an item of this support.

    R₁ = p²s/(ps + q(1−s)) + (1−p)²s/((1−p)s + (1−q)(1−s)). The paper sets q = 1−p also where its own channel has
    another q; give `raised` for the right value.

    >>> round(privacy(0.84, 0.2708), 4)
    0.4342
    """
    p, s = kept, support
    q = 1 - p if raised is None else raised
    ones, zeros = p * s + q * (1 - s), (1 - p) * s + (1 - q) * (1 - s)
    return 1 - ((p * p * s / ones if ones else 0.0) + ((1 - p) ** 2 * s / zeros if zeros else 0.0))


class Privacy(NamedTuple):
    """The paper's measures over levels: smallest, largest, average by share of the levels, and at the mean p."""

    minimum: float
    maximum: float
    average: float
    overall: float


def privacy_measures(
    kept: Sequence[float],
    shares: Sequence[float],
    support: float,
    mean: float,
    raised: Sequence[float | None] | None = None,
) -> Privacy:
    """Return minPrivacy, maxPrivacy, avgPrivacy and overallPrivacy of levels with these p and shares.

    >>> found = privacy_measures([1, 0.77, 0.71, 0.65, 0.57], [4/11, 2/11, 2/11, 2/11, 1/11], 0.2708, 0.84)
    >>> [round(number, 4) for number in found]
    [0.0, 0.7179, 0.4017, 0.4342]
    """
    of_levels = [privacy(p, support, q) for p, q in zip(kept, raised or [None] * len(kept), strict=True)]
    average = sum(share * own for share, own in zip(shares, of_levels, strict=True))
    return Privacy(min(of_levels), max(of_levels), average, privacy(mean, support))
