"""k-ary randomized response: say the truth most often, any other value otherwise."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from pldp.epsilon import Micro, micro_epsilon_of_ratio
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Odds, PureChannel
from pldp.mechanisms.contrast import Contrast, of_subsets, two_level
from pldp.mechanisms.guessing import guess_by_rank
from pldp.mechanisms.output import TOTAL, Output, RandomBytes, draw_53_bits


@dataclass(frozen=True, repr=False)
class RandomizedResponse(PureChannel):
    """k-RR (GRR, KRR; RR for k = 2): the truth with p = e^ε/(e^ε+k−1), every other value with q = 1/(e^ε+k−1).

    Q(y|x) = truth_weight/2⁵³ if y = x, else other_weight/2⁵³, and ε = ln(truth_weight/other_weight). The other weight
    is 2⁵³·q, rounded up, i.e. towards more noise.

    References: Warner, "Randomized Response" (1965); Kairouz, Bonawitz, Ramage, "Discrete Distribution Estimation under
    Local Privacy" (2016).

    >>> channel = RandomizedResponse.of(4, 1_000_000)
    >>> channel.micro_epsilon
    1000000
    >>> round(float(channel.truth_support), 4), round(float(channel.other_support), 4)
    (0.4754, 0.1749)
    >>> import os
    >>> channel.draw(2, os.urandom) in range(4)
    True
    """

    other_weight: int

    mechanism = "krr"
    total = TOTAL

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.other_weight < self.truth_weight:
            raise EpsilonError(f"other_weight must leave the truth the most likely output, not {self.other_weight}")

    @classmethod
    def other_odds(cls, size: int) -> tuple[int, int]:
        """1/(e^ε + k − 1)."""
        return 1, size - 1

    @classmethod
    def suits(cls, size: int, *, hidden: bool = False) -> bool:  # noqa: ARG003
        """It is the best for few values, and always the simplest."""
        return True

    @classmethod
    def of(cls, size: int, micro_epsilon: int) -> Self:
        """Build the most accurate channel whose true ε is at most the given one."""
        return cls(size, cls.whole_weights(size, micro_epsilon)[1])

    @cached_property
    def truth_weight(self) -> int:
        """2⁵³·p: what the other values leave."""
        return int(self.truth_left(self.size, self.other_weight, TOTAL))

    @property
    def micro_epsilon(self) -> Micro:
        """ln(truth_weight/other_weight), rounded up."""
        return micro_epsilon_of_ratio(self.truth_weight, self.other_weight)

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return the value or another one, from seven random bytes, without a branch on the outcome."""
        rest = draw_53_bits(random) - self.truth_weight
        other = rest // self.other_weight
        return (value, other + (other >= value))[rest >= 0]

    def probability(self, output: Output, value: int) -> Fraction:
        """p if the output is the value, else q."""
        return self.truth_support if output == value else self.other_support

    def contrasts(self) -> tuple[tuple[Contrast, ...], ...]:
        """Any two values."""
        measure, size = of_subsets(self.size, 1), self.size
        return ((two_level(measure, self.truth_support * size, self.other_support * size, third=size > 2),),)

    def best_guess(self, prior: Sequence[float] | None = None) -> float:
        """The report itself, unless another value is likelier by far."""
        p, q, size = float(self.truth_support), float(self.other_support), self.size
        return p if prior is None else guess_by_rank(prior, lambda _: 1 / size, p * size, q * size)

    def family_odds(self, other: Any, *, same_value: bool) -> Odds:
        """A report of the truth or of another value, whichever tells most."""
        p, q, other_p, other_q = self.truth_support, self.other_support, other.truth_support, other.other_support
        ratios = (p / other_p, q / other_q) if same_value else (p / other_q, q / other_p, q / other_q)
        return [(max(ratios), 1)]
