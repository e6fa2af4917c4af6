"""What all channels with Laplace noise on a grid share: the weights of the noise, and what an output counts."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Self

from pldp.epsilon import epsilon_text, exp_micro
from pldp.errors import EpsilonError
from pldp.mechanisms.number import NumberChannel
from pldp.mechanisms.output import TOTAL, Output, RandomBytes, as_int, draw_53_bits


class LaplaceNoise(NumberChannel):
    """The value plus noise with Pr(d) ∝ α^|d|, α = e^{−ε/(size−1)}, put back to the ends of a grid.

    `decay` is 2⁵³·α, rounded up: the weight of noise d+1 is that of d times decay/2⁵³, rounded up; `peak` is the weight
    of no noise. Noise has no memory: an output at an end counts for the end plus the mean overshoot α/(1−α).
    """

    decay: int
    peak: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.decay < TOTAL or not 0 < self.peak < TOTAL or self.peak % 2 or self.tails[-1] <= 0:
            raise EpsilonError("weights must satisfy 0 < decay < 2^53 and an even peak that leaves both tails a weight")

    @classmethod
    def fitted(cls, size: int, micro_epsilon: int, make: Callable[[int, int], Self], least: int) -> Self:
        """Return the channel of the largest peak whose true ε is at most the given one: rounding costs some of it.

        `make` takes decay and peak; the peak gives way by 2^shrink/2⁵³ of itself, `least` being the first shrink to
        try. With the peak every weight falls and the last tail grows. Since the decay is rounded up, weights of noise
        keep ε by themselves; so the ratios of the tails decide, which fall with it, and bisection finds the largest.
        """
        alpha = 1 / Fraction(exp_micro(micro_epsilon, size - 1))
        decay = -int(-alpha * TOTAL // 1)
        ideal = int(TOTAL * (1 - alpha) / (1 + alpha))
        built: dict[int, Self] = {}

        def keeps(shrink: int) -> bool:
            try:
                built[shrink] = make(decay, (ideal - (ideal >> (53 - shrink))) // 2 * 2)
            except EpsilonError:
                return False
            return built[shrink].micro_epsilon <= micro_epsilon

        shrinks = range(least, 53)
        place = bisect_left(shrinks, 1, key=keeps)
        if place == len(shrinks):
            text = f"epsilon {epsilon_text(micro_epsilon)} does not suit {size} buckets"
            raise EpsilonError(f"{text}: integer weights cannot keep it")
        return built[shrinks[place]]

    @property
    def margin(self) -> int:
        """Buckets of the grid beyond each bound."""
        return 0

    @property
    def farthest(self) -> int:
        """The distance from one bound to the end of the grid beyond the other."""
        return self.size - 1 + self.margin

    @cached_property
    def noise(self) -> list[int]:
        """Weights of noise 0 … farthest−1 (to one side)."""
        weight, less = self.peak, -self.decay
        weights = [weight]
        for _ in range(self.farthest - 1):
            weight = -(weight * less >> 53)
            weights.append(weight)
        return weights

    @cached_property
    def tails(self) -> list[int]:
        """Weights of noise of at least 1 … farthest (to one side)."""
        last = (TOTAL + self.peak) // 2 - sum(self.noise)
        return list(accumulate(reversed(self.noise[1:]), initial=last))[::-1]

    @cached_property
    def thresholds(self) -> list[int]:
        """Weights of noise of at most −farthest … farthest−1: what a random number is compared with."""
        return [*reversed(self.tails), *(TOTAL - tail for tail in self.tails)]

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return an output from seven random bytes."""
        noise = bisect_right(self.thresholds, draw_53_bits(random)) - self.farthest
        return min(max(value + noise + self.margin, 0), self.form.count - 1)

    def probability(self, output: Output, value: int) -> Fraction:
        """Weight of the noise, or of all noise that reaches the end."""
        reported = as_int(output)
        distance = abs(reported - self.margin - value)
        if reported not in {0, self.form.count - 1}:
            return Fraction(self.noise[distance], TOTAL)
        return Fraction(self.tails[distance - 1] if distance else TOTAL - self.tails[0], TOTAL)

    def unbiased(self, output: Output) -> Fraction:
        """The centre of the bucket; at an end also the mean overshoot. Unbiased up to the rounding of the weights."""
        reported = as_int(output)
        overshoot = Fraction(2 * self.decay, (TOTAL - self.decay) * self.size)
        centre = self.centre(reported - self.margin)
        return centre + overshoot * ((reported == self.form.count - 1) - (reported == 0))

    def _variance_of(self, chances: Iterable[int]) -> float:
        """Return the variance of the noise, given how often each output comes if all values are as frequent."""
        return self._without_spread(
            sum(chance * float(self.unbiased(output)) ** 2 for output, chance in enumerate(chances))
            / (self.size * TOTAL)
        )
