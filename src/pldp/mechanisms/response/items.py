"""Item-oriented randomized response: a budget per value, or none for values that need no protection."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import ClassVar

from pldp.epsilon import Micro, checked_budgets, micro_epsilon_of_ratio, noise_weights
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import SupportChannel, check_other_weights
from pldp.mechanisms.draws import TOTAL, RandomBytes, draw_53_bits
from pldp.mechanisms.form import Output, as_int


@dataclass(frozen=True, repr=False)
class ItemResponse(SupportChannel):
    """IPRR: say the truth with probability S, else a value drawn by weights r that do not look at the truth.

    With r_y = 1/(e^{ε_y}−1) for a value of budget ε_y, r_y = 0 for one without, and S = 1/(1 + Σ r):

        Q(y|x) = S·r_y  for x ≠ y,        Q(y|y) = S·(1 + r_y) = e^{ε_y}·S·r_y.

    The promise is about *reports*: a report y changes the odds between any two values at most e^{ε_y} times. For a
    value x it is one-sided: no report speaks *for* x more than e^{ε_x} times (`evidence_micro_epsilon`), but others may
    speak against it as far as their own budgets allow, so between x and x' the larger budget counts
    (`pair_micro_epsilon`). A report of a value without a budget proves that value and rules out all others; plain ε is
    then infinite.
    Equal budgets for all values give k-RR; one budget for some values and none for the others gives URR.

    Attributes
    ----------
    size
        k, the number of values.
    other_weights
        2⁵³·S·r of each value, rounded up; 0 for a value without a budget.

    References
    ----------
    Li, Zhu, Zhang, Xie, "Item-Oriented Personalized Local Differential Privacy for Discrete Distribution Estimation"
    (2023); Murakami, Kawamoto, "Utility-Optimized Local Differential Privacy Mechanisms for Distribution Estimation"
    (2019) for URR; Mangat, "An Improved Randomized Response Strategy" (1994) for one value with a budget.

    Examples
    --------
    >>> channel = ItemResponse.of([100_000, 500_000, 1_000_000, math.inf, math.inf])
    >>> [round(float(p), 4) for p in channel.truth_supports]
    [0.8319, 0.2012, 0.1252, 0.0792, 0.0792]
    >>> [channel.output_micro_epsilon(y) for y in range(4)]
    [100000, 500000, 1000000, inf]
    >>> channel.pair_micro_epsilon(0, 1), channel.micro_epsilon
    (500000, inf)
    """

    other_weights: tuple[int, ...]

    mechanism: ClassVar[str] = "iprr"
    per_value: ClassVar[bool] = True
    published: ClassVar[Mapping[str, str]] = {"other": "other_weights"}

    def __post_init__(self) -> None:
        check_other_weights(self.size, self.other_weights)
        if self.kept_weight <= 0:
            raise EpsilonError("other_weights must leave the truth something of 2^53: nothing could be estimated")

    @classmethod
    def of(cls, micro_epsilons: Sequence[Micro]) -> ItemResponse:
        """Build the most accurate channel whose report y has a true ε within the y-th budget (`math.inf`: no limit).

        Weights are rounded up, so their sum leaves the truth at most 2⁵³·S in addition to its own weight, and the ratio
        of the two weights of a value is at most 1 + 2⁵³·S/(2⁵³·S·r) = e^ε.
        """
        budgets = checked_budgets(micro_epsilons)
        others = noise_weights(TOTAL, budgets)
        if any(others) and sum(others) >= TOTAL:
            raise EpsilonError(
                f"budgets are too small for {len(budgets)} values: integer weights cannot tell them apart"
            )
        return cls(len(budgets), others)

    @classmethod
    def utility_optimised(cls, size: int, sensitive: Collection[int], micro_epsilon: int) -> ItemResponse:
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
    def truth_supports(self) -> tuple[Fraction, ...]:
        """S·(1 + r) of each value."""
        return tuple(Fraction(self.kept_weight + weight, TOTAL) for weight in self.other_weights)

    @cached_property
    def other_supports(self) -> tuple[Fraction, ...]:
        """S·r of each value."""
        return tuple(Fraction(weight, TOTAL) for weight in self.other_weights)

    @property
    def manipulation(self) -> float:
        """(1 − S·r)/S of the value with the smallest r."""
        return (TOTAL - min(self.other_weights)) / self.kept_weight

    def _ratio(self, weight: int) -> Micro:
        return micro_epsilon_of_ratio(self.kept_weight + weight, weight)

    @property
    def micro_epsilon(self) -> Micro:
        """The largest ε of a report: infinite where some value has no budget."""
        return self._ratio(min(self.other_weights))

    def output_micro_epsilon(self, output: Output) -> Micro:
        """ln(truth weight / other weight) of the reported value."""
        return self._ratio(self.other_weights[as_int(output)])

    def promised(self, value: int) -> Micro:
        """A budget bounds what a report of the value tells."""
        return self.output_micro_epsilon(value)

    def pair_micro_epsilon(self, one: int, two: int) -> Micro:
        """The larger ε of the two values' reports."""
        return 0 if one == two else self._ratio(min(self.other_weights[one], self.other_weights[two]))

    def value_micro_epsilon(self, value: int) -> Micro:  # noqa: ARG002 - the same for all
        """The channel's ε: another value's report can speak against any value."""
        return self.micro_epsilon

    def evidence_micro_epsilon(self, value: int) -> Micro:
        """The budget of the value: no report speaks for it more than its own does."""
        return self._ratio(self.other_weights[value])

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return the value or one drawn by weight, from seven random bytes.

        The table is searched in any case, and by the random number only: time does not depend on the value. Whoever
        can see which entries of the table are read (caches, not response times) learns whether the report was drawn.
        """
        number = draw_53_bits(random)
        return (bisect_right(self._ends, number), value)[number < self.kept_weight]

    def probability(self, output: Output, value: int) -> Fraction:
        """p of the output if it is the value, else q of the output."""
        reported = as_int(output)
        weight = self.other_weights[reported] + self.kept_weight * (reported == value)
        return Fraction(weight, TOTAL)

    def supports(self, output: Output, value: int) -> bool:
        """Only the value itself is supported."""
        return output == value
