"""Laplace noise on a grid, cut at the bounds without loss."""

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, Self

from pldp.epsilon import Micro, epsilon_text, exp_micro, micro_epsilon_of_ratio
from pldp.errors import EpsilonError
from pldp.mechanisms.number import NumberChannel
from pldp.mechanisms.output import TOTAL, Output, RandomBytes, as_int, draw_53_bits


@dataclass(frozen=True, repr=False)
class DiscreteLaplace(NumberChannel):
    """The value plus noise with Pr(d) ∝ α^|d|, α = e^{−ε/(size−1)}, put back to the nearest bucket of the grid.

    Noise beyond a bound says nothing about the value that reaching the bound does not say: its likelihood ratio is the
    same, so cutting there loses no information. Noise has no memory either: an output at a bound counts for the bound
    plus the mean overshoot α/(1−α), which keeps the mean unbiased and makes the variance smaller than that of the
    unbounded noise. `decay` is 2⁵³·α, rounded up: the weight of noise d+1 is that of d times decay/2⁵³, rounded up;
    `peak` is the weight of no noise.

    References: Dwork, McSherry, Nissim, Smith, "Calibrating Noise to Sensitivity in Private Data Analysis" (2006);
    Ghosh, Roughgarden, Sundararajan, "Universally Utility-Maximizing Privacy Mechanisms" (2009) for the cut noise.

    >>> channel = DiscreteLaplace.of(1024, 1_000_000)
    >>> channel.micro_epsilon, channel.form.count, round(float(channel.unbiased(1023)), 3)
    (1000000, 1024, 2.996)
    """

    decay: int
    peak: int

    mechanism = "laplace"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.decay < TOTAL or not 0 < self.peak < TOTAL or self.peak % 2 or self.tails[-1] <= 0:
            raise EpsilonError("weights must satisfy 0 < decay < 2^53 and an even peak that leaves both tails a weight")

    @classmethod
    def of(cls, size: int, micro_epsilon: int) -> Self:
        """Build the channel whose true ε is at most the given one."""
        alpha = 1 / Fraction(exp_micro(micro_epsilon, size - 1))
        decay = -int(-alpha * TOTAL // 1)
        ideal = int(TOTAL * (1 - alpha) / (1 + alpha))
        for shrink in range(54):  # rounding of the weights costs a little of the peak
            peak = (ideal - (ideal >> (53 - shrink))) // 2 * 2
            try:
                built = cls(size, decay, peak)
            except EpsilonError:
                continue
            if built.micro_epsilon <= micro_epsilon:
                return built
        text = f"epsilon {epsilon_text(micro_epsilon)} does not suit {size} buckets"
        raise EpsilonError(f"{text}: integer weights cannot keep it")

    @cached_property
    def noise(self) -> list[int]:
        """Weights of noise 0 … size−2 (to one side)."""
        weights = [self.peak]
        for _ in range(self.size - 2):
            weights.append(-(-weights[-1] * self.decay // TOTAL))
        return weights

    @cached_property
    def tails(self) -> list[int]:
        """Weights of noise of at least 1 … size−1 (to one side)."""
        last = (TOTAL + self.peak) // 2 - sum(self.noise)
        return list(accumulate(reversed(self.noise[1:]), initial=last))[::-1]

    @cached_property
    def thresholds(self) -> list[int]:
        """Weights of noise of at most −(size−1) … size−2: what a random number is compared with."""
        return [*reversed(self.tails), *(TOTAL - tail for tail in self.tails)]

    @property
    def micro_epsilon(self) -> Micro:
        """The larger of the ratios at a bound and inside, between the nearest and the farthest value; rounded up."""
        at_bound = micro_epsilon_of_ratio(TOTAL - self.tails[0], self.tails[-1])
        return at_bound if self.size == 2 else max(at_bound, micro_epsilon_of_ratio(self.noise[0], self.noise[-1]))

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return a bucket from seven random bytes."""
        noise = bisect_right(self.thresholds, draw_53_bits(random)) - (self.size - 1)
        return min(max(value + noise, 0), self.size - 1)

    def probability(self, output: Output, value: int) -> Fraction:
        """Weight of the noise, or of all noise that reaches the bound."""
        reported = as_int(output)
        distance = abs(reported - value)
        if reported not in {0, self.size - 1}:
            return Fraction(self.noise[distance], TOTAL)
        return Fraction(self.tails[distance - 1] if distance else TOTAL - self.tails[0], TOTAL)

    @property
    def noise_variance(self) -> float:
        """From how often each output comes if all values are as frequent."""
        last = self.size - 1
        sides = list(accumulate(self.noise))  # of noise of at most 0, 1, … to one side
        inner = (sides[output] + sides[last - output] - self.peak for output in range(1, last))
        bound = TOTAL - self.tails[0] + sum(self.tails)
        chances = [bound, *inner, bound]
        return self._without_spread(
            sum(chance * float(self.unbiased(output)) ** 2 for output, chance in enumerate(chances))
            / (self.size * TOTAL)
        )

    def unbiased(self, output: Output) -> Fraction:
        """The centre of the bucket; at a bound also the mean overshoot. Unbiased up to the rounding of the weights."""
        reported = as_int(output)
        overshoot = Fraction(2 * self.decay, (TOTAL - self.decay) * self.size)
        return self.centre(reported) + overshoot * ((reported == self.size - 1) - (reported == 0))

    def family_odds(self, other: Any, *, same_value: bool) -> Fraction:
        """The largest ratio at any distance, inside and at a bound; for two values, of nearest to farthest."""
        inside, others = self.noise, other.noise
        bound, bounds = ([TOTAL - each.tails[0], *each.tails] for each in (self, other))
        pairs = [*zip(bound, bounds, strict=True), *(zip(inside, others, strict=True) if self.size > 2 else ())]
        if not same_value:
            pairs += [(bound[0], bounds[-1]), *([(inside[0], others[-1])] if self.size > 2 else [])]
        most = pairs[0]
        for pair in pairs:  # whole numbers are compared much faster than fractions
            most = pair if pair[0] * most[1] > most[0] * pair[1] else most
        return Fraction(*most)
