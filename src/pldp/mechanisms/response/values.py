"""Randomized response whose truth probability depends on the value: APRR, and PRR before it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from pldp.epsilon import (
    LARGEST_EPSILON,
    MICRO,
    Micro,
    checked_budgets,
    exp_micro,
    micro_epsilon_of_ratio,
    share_rounded_up,
)
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import CategoricalChannel, check_other_weights
from pldp.mechanisms.draws import TOTAL, RandomBytes, draw_53_bits
from pldp.mechanisms.form import Output, as_int


@dataclass(frozen=True, repr=False)
class ValueResponse(CategoricalChannel):
    """APRR: value x is kept with p_x = e^{ε_x}/(e^{ε_x}+k−1), else replaced by any other one, q_x = (1−p_x)/(k−1) each.

    A value without a budget is always kept (p = 1). **ε_x is not what a report costs**: two values have different q, so
    a report y changes the odds between y and x by p_y/q_x, which is above e^{ε_y} where ε_x > ε_y, and infinite where x
    is always kept. `output_micro_epsilon` and `pair_micro_epsilon` give the true numbers.

    Attributes
    ----------
    size
        k, the number of values.
    other_weights
        2⁵³·q of each value as the *source* of a report, rounded up; 0 for a value that is always kept.

    References
    ----------
    Zhang, Zhang, Zhang, Zhang, "Adaptive Personalized Randomized Response Method Based on Local Differential Privacy"
    (2024) for APRR; Song, Luo, Wang, Li, "Multiple Sensitive Values-Oriented Personalized Privacy Preservation Based on
    Randomized Response" (2020) for PRR.

    Examples
    --------
    >>> channel = ValueResponse.of([2_400_000, 1_200_000])          # promised: 2.4 and 1.2
    >>> [channel.output_micro_epsilon(y) for y in range(2)]          # kept:
    [1376447, 2223554]
    """

    other_weights: tuple[int, ...]

    mechanism: ClassVar[str] = "aprr"
    per_value: ClassVar[bool] = True
    published: ClassVar[Mapping[str, str]] = {"other": "other_weights"}

    def __post_init__(self) -> None:
        check_other_weights(self.size, self.other_weights)
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
        others = tuple(weights[micro] for micro in budgets)
        if max(others) * size >= TOTAL:
            raise EpsilonError(f"budgets are too small for {size} values: integer weights cannot tell them apart")
        return cls(size, others)

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

    @cached_property
    def _smallest(self) -> tuple[int, int]:
        """The two values that are replaced least, as a report rules them out most."""
        order = sorted(range(self.size), key=self.other_weights.__getitem__)
        return order[0], order[1]

    @property
    def micro_epsilon(self) -> Micro:
        """The largest ε of a report."""
        return max(self.output_micro_epsilon(output) for output in range(self.size))

    def output_micro_epsilon(self, output: Output) -> Micro:
        """ln(p of the reported value / smallest q of another value)."""
        reported = as_int(output)
        least = self._smallest[self._smallest[0] == reported]
        return micro_epsilon_of_ratio(self.truth_weights[reported], self.other_weights[least])

    def pair_micro_epsilon(self, one: int, two: int) -> Micro:
        """The larger of ln(p_x/q_x') and ln(p_x'/q_x)."""
        if one == two:
            return 0
        return max(
            micro_epsilon_of_ratio(self.truth_weights[x], self.other_weights[other])
            for x, other in ((one, two), (two, one))
        )

    def value_micro_epsilon(self, value: int) -> Micro:
        """That between the value and the other one that is replaced least."""
        return self.pair_micro_epsilon(value, self._smallest[self._smallest[0] == value])

    def evidence_micro_epsilon(self, value: int) -> Micro:
        """That of its own report: every other one is less likely from this value than from the value it names."""
        return self.output_micro_epsilon(value)

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return the value or another one, from seven random bytes, without a branch on the outcome."""
        rest = draw_53_bits(random) - self.truth_weights[value]
        other = rest // max(self.other_weights[value], 1)
        return (value, other + (other >= value))[rest >= 0]

    def probability(self, output: Output, value: int) -> Fraction:
        """p of the value if the output is the value, else q of the value."""
        return Fraction((self.other_weights, self.truth_weights)[output == value][value], TOTAL)

    def supports(self, output: Output, value: int) -> bool:
        """Only the value itself is supported."""
        return output == value


@dataclass(frozen=True, repr=False)
class WeightedResponse(ValueResponse):
    """PRR: APRR with budgets ε_x = μ/w_x from a sensitivity w_x of each value. It comes with no claim about ε.

    >>> channel = WeightedResponse.of_sensitivities(1_000_000, [1, 2, 4])
    >>> channel == WeightedResponse.of([1_000_000, 500_000, 250_000])
    True
    >>> channel.micro_epsilon
    757068
    """

    mechanism: ClassVar[str] = "prr"

    @classmethod
    def of_sensitivities(cls, micro_epsilon: int, sensitivities: Sequence[float]) -> Self:
        """Build the channel for μ and sensitivities above 0; ε_x is rounded down to whole micro-ε."""
        if not all(0 < sensitivity < float("inf") for sensitivity in sensitivities):
            raise EpsilonError("sensitivities must be finite numbers above 0; some are not")
        budgets = [int(Fraction(micro_epsilon) / Fraction(sensitivity)) for sensitivity in sensitivities]
        return cls.of([min(budget, LARGEST_EPSILON * MICRO) for budget in budgets])
