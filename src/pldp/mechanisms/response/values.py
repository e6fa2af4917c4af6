"""Randomized response with a weight per value: item-oriented (IPRR), or a truth of its own per value (APRR, PRR)."""

import math
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import nsmallest
from itertools import accumulate
from typing import Any, Self

from pldp.epsilon import LARGEST_EPSILON, MICRO, Micro, checked_budgets, exp_micro, noise_weights, share_rounded_up
from pldp.epsilon import micro_epsilon_of_ratio as ratio
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import CategoricalChannel, Odds, SupportChannel, largest_odds
from pldp.mechanisms.contrast import Contrast, Hiding, hidden_among
from pldp.mechanisms.output import TOTAL, Output, RandomBytes, as_int, draw_53_bits


@dataclass(frozen=True, repr=False)
class _Weighted(CategoricalChannel):
    """Randomized response with a weight of a wrong answer for each value; the smallest weights protect least."""

    other_weights: tuple[int, ...]

    per_value = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.other_weights) != self.size or min(self.other_weights) < 0:
            raise EpsilonError(f"other_weights must be {self.size} integers, none negative")
        if not any(self.other_weights):
            raise EpsilonError("budgets must protect at least one value: otherwise every report would be the truth")

    @cached_property
    def _extremes(self) -> Sequence[int]:
        return nsmallest(2, range(self.size), key=self.other_weights.__getitem__)


@dataclass(frozen=True, repr=False)
class ItemResponse(_Weighted, SupportChannel):
    """IPRR: say the truth with probability S, else a value drawn by weights r that do not look at the truth.

    With r_y = 1/(e^{ε_y}−1) for a value of budget ε_y, r_y = 0 for one without, and S = 1/(1 + Σ r):

        Q(y|x) = S·r_y  for x ≠ y,        Q(y|y) = S·(1 + r_y) = e^{ε_y}·S·r_y.

    The promise is about *reports*: a report y changes the odds between any two values at most e^{ε_y} times. For a
    value x it is one-sided: no report speaks *for* x more than e^{ε_x} times (`evidence_micro_epsilon`), but others may
    speak against it as far as their own budgets allow, so between x and x' the larger budget counts
    (`pair_micro_epsilon`). A report of a value without a budget proves that value and rules out all others; plain ε is
    then infinite. Equal budgets for all values give k-RR; one budget for some values and none for the others gives URR.
    The other weights are 2⁵³·S·r of each value, rounded up; 0 for a value without a budget.

    References: Li, Zhu, Zhang, Xie, "Item-Oriented Personalized Local Differential Privacy for Discrete Distribution
    Estimation" (2023); Murakami, Kawamoto, "Utility-Optimized Local Differential Privacy Mechanisms for Distribution
    Estimation" (2019) for URR; Mangat, "An Improved Randomized Response Strategy" (1994) for one value with a budget.

    >>> channel = ItemResponse.of([100_000, 500_000, 1_000_000, math.inf, math.inf])
    >>> [round(float(p), 4) for p in channel.truth_supports]
    [0.8319, 0.2012, 0.1252, 0.0792, 0.0792]
    >>> [channel.output_micro_epsilon(y) for y in range(4)]
    [100000, 500000, 1000000, inf]
    >>> channel.pair_micro_epsilon(0, 1), channel.micro_epsilon
    (500000, inf)
    """

    mechanism = "iprr"
    total = TOTAL

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kept_weight <= 0:
            raise EpsilonError("other_weights must leave the truth something of 2^53: nothing could be estimated")

    @classmethod
    def of(cls, micro_epsilons: Sequence[Micro]) -> Self:
        """Build the most accurate channel whose report y has a true ε within the y-th budget (`math.inf`: no limit).

        Weights are rounded up, so their sum leaves the truth at most 2⁵³·S in addition to its own weight, and the ratio
        of the two weights of a value is at most 1 + 2⁵³·S/(2⁵³·S·r) = e^ε.
        """
        others = noise_weights(TOTAL, checked_budgets(micro_epsilons))
        size = len(others)
        if any(others) and sum(others) >= TOTAL:
            raise EpsilonError(f"budgets are too small for {size} values: integer weights cannot tell them apart")
        return cls(size, others)

    @classmethod
    def utility_optimised(cls, size: int, sensitive: Collection[int], micro_epsilon: int) -> Self:
        """Build URR: one budget for the sensitive values and none for the others.

        >>> channel = ItemResponse.utility_optimised(5, {0, 1}, 1_000_000)
        >>> [channel.output_micro_epsilon(y) for y in range(5)]
        [1000000, 1000000, inf, inf, inf]
        """
        if not all(0 <= value < size for value in sensitive):
            raise EpsilonError(f"sensitive must hold indices from 0 to {size - 1}; some are not")
        chosen = set(sensitive)
        return cls.of([micro_epsilon if value in chosen else math.inf for value in range(size)])

    @cached_property
    def kept_weight(self) -> int:
        """2⁵³·S: the weight of saying the truth on purpose, the same for all values."""
        return TOTAL - sum(self.other_weights)

    @cached_property
    def _ends(self) -> list[int]:
        """Where the weights of the values end, one behind the other, the truth's own being first."""
        return list(accumulate(self.other_weights, initial=self.kept_weight))[1:]

    @cached_property
    def truth_weights(self) -> tuple[int, ...]:
        """2⁵³·S·(1 + r) of each value."""
        return tuple(self.kept_weight + weight for weight in self.other_weights)

    @classmethod
    def suits(cls, size: int, *, hidden: bool = False) -> bool:  # noqa: ARG003
        """It has the shortest reports."""
        return True

    @property
    def equal_variance(self) -> float:
        """The mean of q(1−q)/S² over values, q being how often each is said if all are as frequent."""
        kept = self.kept_weight / TOTAL
        said = (kept / self.size + weight / TOTAL for weight in self.other_weights)
        return sum(q * (1 - q) for q in said) / (self.size * kept * kept)

    @property
    def manipulation(self) -> float:
        """(1 − S·r)/S of the value with the smallest r."""
        return (TOTAL - min(self.other_weights)) / self.kept_weight

    def output_micro_epsilon(self, output: Output) -> Micro:
        """ln(truth weight / other weight) of the reported value."""
        weight = self.other_weights[as_int(output)]
        return ratio(self.kept_weight + weight, weight)

    def _evidence(self, value: int, other: int) -> Micro:  # noqa: ARG002 - the same for all
        """That of its own report."""
        return self.output_micro_epsilon(value)

    def promised(self, value: int) -> Micro:
        """A budget bounds what a report of the value tells."""
        return self.output_micro_epsilon(value)

    def proof_chance(self, value: int) -> Fraction:
        """p, where q is 0."""
        return Fraction(0) if self.other_weights[value] else Fraction(self.kept_weight, TOTAL)

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return the value or one drawn by weight, from seven random bytes.

        The table is searched in any case, and by the random number only: time does not depend on the value. Anyone who
        can see which entries of the table are read (caches, not response times) learns whether the report was drawn.
        """
        number = draw_53_bits(random)
        return (bisect_right(self._ends, number), value)[number < self.kept_weight]

    def probability(self, output: Output, value: int) -> Fraction:
        """p of the output if it is the value, else q of the output."""
        reported = as_int(output)
        return Fraction(self.other_weights[reported] + self.kept_weight * (reported == value), TOTAL)

    def contrasts(self) -> tuple[tuple[Contrast, ...], ...]:
        """The two values that are least often said by chance, in both orders."""
        by_weight = sorted(range(self.size), key=self.other_weights.__getitem__)
        named = [Hiding(1, self.other_weights[value], 1) for value in by_weight[:3]]
        rest = Hiding(1, sum(self.other_weights) - sum(each.weight for each in named), 1)
        third = (len(named) - 1, 0)
        return tuple(
            (hidden_among([*named, rest], (one, two, third if len(named) > 2 else two), self.kept_weight, TOTAL),)
            for one, two in (((0, 0), (1, 0)), ((1, 0), (0, 0)))
        )

    def family_odds(self, other: Any, *, same_value: bool) -> Odds:
        """A report of the truth or of another value; without limit where a value is open at one level only.

        Between different values no report tells more than that of the one, which the other level draws by chance.
        """
        noise = list(zip(self.other_weights, other.other_weights, strict=True))
        truths = zip(self.truth_weights, other.truth_weights if same_value else other.other_weights, strict=True)
        # A value that no level draws by chance has no protection: its report proves it.
        counted = (truth for truth, chance in zip(truths, noise, strict=True) if same_value or any(chance))
        return largest_odds((*counted, *noise))


@dataclass(frozen=True, repr=False)
class ValueResponse(_Weighted):
    """APRR: value x is kept with p_x = e^{ε_x}/(e^{ε_x}+k−1), else replaced by any other one, q_x = (1−p_x)/(k−1) each.

    A value without a budget is always kept (p = 1). **ε_x is not what a report costs**: two values have different q, so
    a report y changes the odds between y and x by p_y/q_x, which is above e^{ε_y} where ε_x > ε_y, and infinite where x
    is always kept. `output_micro_epsilon` and `pair_micro_epsilon` give the true numbers. The other weights are
    2⁵³·q of each value as the *source* of a report, rounded up; 0 for a value that is always kept.

    References: Zhang, Zhang, Zhang, Zhang, "Adaptive Personalized Randomized Response Method Based on Local
    Differential Privacy" (2024) for APRR; Song, Luo, Wang, Li, "Multiple Sensitive Values-Oriented Personalized Privacy
    Preservation Based on Randomized Response" (2020) for PRR.

    >>> channel = ValueResponse.of([2_400_000, 1_200_000])          # promised: 2.4 and 1.2
    >>> [channel.output_micro_epsilon(y) for y in range(2)]          # kept:
    [1376447, 2223554]
    """

    mechanism = "aprr"

    def __post_init__(self) -> None:
        super().__post_init__()
        if max(self.other_weights) * self.size >= TOTAL:
            raise EpsilonError("other_weights must leave the truth the most likely output: nothing could be estimated")

    @classmethod
    def of(cls, micro_epsilons: Sequence[Micro]) -> Self:
        """Build the channel from a budget per value; `math.inf` keeps the value always."""
        budgets = checked_budgets(micro_epsilons)
        size = len(budgets)
        weights = {
            micro: 0 if micro == math.inf else share_rounded_up(TOTAL, exp_micro(micro), size - 1)
            for micro in set(budgets)
        }
        if max(weights.values()) * size >= TOTAL:
            raise EpsilonError(f"budgets are too small for {size} values: integer weights cannot tell them apart")
        return cls(size, tuple(weights[micro] for micro in budgets))

    @cached_property
    def truth_weights(self) -> tuple[int, ...]:
        """2⁵³·p of each value: what its replacements leave."""
        return tuple(TOTAL - (self.size - 1) * other for other in self.other_weights)

    @property
    def manipulation(self) -> float:
        """The largest (1−v)/(p−q) of a value, v being its part in the estimated number of replacements.

        With s = Σ_x f_x q_x the shares are f_y = (m_y − s)/(p_y − q_y) of the outputs' shares m, s = Σ_y v_y m_y.
        """
        contrasts = [truth - other for truth, other in zip(self.truth_weights, self.other_weights, strict=True)]
        parts = [Fraction(other, contrast) for other, contrast in zip(self.other_weights, contrasts, strict=True)]
        whole = 1 + sum(parts)
        return float(max((1 - part / whole) * TOTAL / c for part, c in zip(parts, contrasts, strict=True)))

    def output_micro_epsilon(self, output: Output) -> Micro:
        """ln(p of the reported value / smallest q of another value): no report speaks more for its value."""
        return self.evidence_micro_epsilon(as_int(output))

    def _evidence(self, value: int, other: int) -> Micro:
        return ratio(self.truth_weights[value], self.other_weights[other])

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return the value or another one, from seven random bytes, without a branch on the outcome."""
        rest = draw_53_bits(random) - self.truth_weights[value]
        other = rest // max(self.other_weights[value], 1)
        return (value, other + (other >= value))[rest >= 0]

    def probability(self, output: Output, value: int) -> Fraction:
        """p of the value if the output is the value, else q of the value."""
        return Fraction((self.other_weights, self.truth_weights)[output == value][value], TOTAL)

    @property
    def equal_variance(self) -> float:
        """The mean variance of the shares of one report at equal shares 1/k, with s and v as above."""
        size = self.size
        steps = [(truth - other) / TOTAL for truth, other in zip(self.truth_weights, self.other_weights, strict=True)]
        parts = [other / TOTAL / step for other, step in zip(self.other_weights, steps, strict=True)]
        whole = 1 + sum(parts)
        named = [(sum(self.other_weights) / TOTAL + step) / size for step in steps]
        by_chance = sum(m * part for m, part in zip(named, parts, strict=True)) / whole
        squares = sum(m * part * part for m, part in zip(named, parts, strict=True)) / whole**2
        each = zip(named, parts, steps, strict=True)
        return sum((m * (1 - 2 * v / whole) + squares - (m - by_chance) ** 2) / step**2 for m, v, step in each) / size

    def family_odds(self, other: Any, *, same_value: bool) -> Odds:
        """A report of the truth or of another value; without limit where a value is always kept at one level only.

        Between two values no report tells more than the truth of the one that the other is rarely replaced by.
        """
        if same_value:
            truths = zip(self.truth_weights, other.truth_weights, strict=True)
            return largest_odds((*truths, *zip(self.other_weights, other.other_weights, strict=True)))
        likely, rare = (
            sorted(range(self.size), key=weights.__getitem__)[:2]
            for weights in ([-weight for weight in self.truth_weights], other.other_weights)
        )
        pairs = ((one, two) for one in likely for two in rare if one != two)
        return largest_odds((self.truth_weights[one], other.other_weights[two]) for one, two in pairs)


@dataclass(frozen=True, repr=False)
class WeightedResponse(ValueResponse):
    """PRR: APRR with budgets ε_x = μ/w_x from a sensitivity w_x of each value. It comes with no claim about ε.

    >>> channel = WeightedResponse.of_sensitivities(1_000_000, [1, 2, 4])
    >>> channel == WeightedResponse.of([1_000_000, 500_000, 250_000])
    True
    >>> channel.micro_epsilon
    757068
    """

    mechanism = "prr"

    @classmethod
    def of_sensitivities(cls, micro_epsilon: int, sensitivities: Sequence[float]) -> Self:
        """Build the channel for μ and sensitivities above 0; ε_x is rounded down to whole micro-ε."""
        if not all(0 < sensitivity < float("inf") for sensitivity in sensitivities):
            raise EpsilonError("sensitivities must be finite numbers above 0; some are not")
        budgets = [int(Fraction(micro_epsilon) / Fraction(sensitivity)) for sensitivity in sensitivities]
        return cls.of([min(budget, LARGEST_EPSILON * MICRO) for budget in budgets])
