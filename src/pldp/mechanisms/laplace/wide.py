"""Laplace noise on a grid that reaches far beyond the bounds."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, Final, Self

from pldp.epsilon import Micro, epsilon_text, exp_micro, micro_epsilon_of_ratio
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Channel
from pldp.mechanisms.number import NumberChannel
from pldp.mechanisms.output import TOTAL, Integers, Output, RandomBytes, as_int, draw_53_bits

RARE: Final = 1 << 20
"""Noise that passes the far ends of the grid has a probability of one in so many where there is room for it."""

FARTHEST: Final = 1 << 15
"""Most buckets of the grid beyond each bound."""


@dataclass(frozen=True, repr=False)
class WideLaplace(NumberChannel):
    """The value plus noise with Pr(d) ∝ α^|d|, α = e^{−ε/(size−1)}, on a grid of `beyond` more buckets on both sides.

    Noise that would pass an end of this longer grid is put back to it. How often an output is an end is
    `end_probability`, exactly, and an end counts for itself plus the mean overshoot α/(1−α), so means stay unbiased.
    `laplace`, which cuts at the bounds, tells as much about the value and has the smaller variance; this one is for
    services whose outputs are meant to be averaged as they are. `decay` and `peak` are those of `laplace`.

    Reference: Dwork, McSherry, Nissim, Smith, "Calibrating Noise to Sensitivity in Private Data Analysis" (2006).

    >>> channel = WideLaplace.of(64, 1_000_000)
    >>> channel.micro_epsilon, channel.beyond, channel.form.count, round(float(channel.unbiased(0)), 2)
    (1000000, 874, 1812, -30.25)
    >>> 0 < channel.end_probability(0) < 1 / 10**6
    True
    """

    beyond: int
    decay: int
    peak: int

    mechanism = "laplace_wide"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.beyond <= FARTHEST:
            raise EpsilonError(f"beyond must be from 1 to {FARTHEST:,} buckets, not {self.beyond}")
        if not 0 < self.decay < TOTAL or not 0 < self.peak < TOTAL or self.peak % 2 or self.tails[-1] <= 0:
            raise EpsilonError("weights must satisfy 0 < decay < 2^53 and an even peak that leaves both tails a weight")

    @classmethod
    def hideable(cls, size: int, budgets: Sequence[int]) -> Iterator[tuple[Channel, ...]]:
        """Yield channels with one grid for all levels, which is as long as the strictest one needs it."""
        beyond = max(_far_enough(size, micro) for micro in budgets)
        yield tuple(cls.of(size, micro, beyond) for micro in budgets)

    @classmethod
    def of(cls, size: int, micro_epsilon: int, beyond: int | None = None) -> Self:
        """Build the channel (with so many buckets beyond each bound) whose true ε is at most the given one."""
        alpha = 1 / Fraction(exp_micro(micro_epsilon, size - 1))
        decay = -int(-alpha * TOTAL // 1)
        ideal = int(TOTAL * (1 - alpha) / (1 + alpha))
        beyond = _far_enough(size, micro_epsilon) if beyond is None else beyond
        # Every weight is rounded up, which the tails must make up for: the peak gives way by about as much.
        for shrink in range((size + beyond).bit_length() - 1, 54):
            peak = (ideal - (ideal >> (53 - shrink))) // 2 * 2
            try:
                built = cls(size, beyond, decay, peak)
            except EpsilonError:
                continue
            if built.micro_epsilon <= micro_epsilon:
                return built
        text = f"epsilon {epsilon_text(micro_epsilon)} does not suit {size} buckets"
        raise EpsilonError(f"{text}: integer weights cannot keep it")

    @cached_property
    def form(self) -> Integers:
        """The buckets, and those beyond both bounds; bucket 0 has the number `beyond`."""
        return Integers(self.size + 2 * self.beyond)

    @property
    def farthest(self) -> int:
        """The distance from one bound to the far end beyond the other."""
        return self.size - 1 + self.beyond

    @cached_property
    def noise(self) -> list[int]:
        """Weights of noise 0 … farthest−1 (to one side)."""
        weights = [self.peak]
        for _ in range(self.farthest - 1):
            weights.append(-(-weights[-1] * self.decay // TOTAL))
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

    @cached_property
    def micro_epsilon(self) -> Micro:
        """The largest of the ratios at the ends, beyond the bounds and between them; rounded up."""
        last, noise = self.size - 1, self.noise
        most, least = self.tails[self.beyond - 1], self.tails[-1]
        for near, far in zip(noise, noise[last:], strict=False):
            if near * least > most * far:
                most, least = near, far
        return micro_epsilon_of_ratio(most, least)

    def end_probability(self, value: int) -> Fraction:
        """Return how often noise reaches one of the far ends or would pass it, exactly."""
        return self.probability(0, value) + self.probability(self.form.count - 1, value)

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return an output from seven random bytes."""
        noise = bisect_right(self.thresholds, draw_53_bits(random)) - self.farthest
        return min(max(value + noise + self.beyond, 0), self.form.count - 1)

    def probability(self, output: Output, value: int) -> Fraction:
        """Weight of the noise, or of all noise that reaches the end."""
        reported = as_int(output)
        distance = abs(reported - self.beyond - value)
        if reported not in {0, self.form.count - 1}:
            return Fraction(self.noise[distance], TOTAL)
        return Fraction(self.tails[distance - 1], TOTAL)

    def unbiased(self, output: Output) -> Fraction:
        """The centre of the bucket; at an end also the mean overshoot. Unbiased up to the rounding of the weights."""
        reported = as_int(output)
        overshoot = Fraction(2 * self.decay, (TOTAL - self.decay) * self.size)
        centre = self.centre(reported - self.beyond)
        return centre + overshoot * ((reported == self.form.count - 1) - (reported == 0))

    @property
    def noise_variance(self) -> float:
        """From how often each output comes if all values are as frequent."""
        last, sides = self.size - 1, [0, *accumulate(self.noise)]  # of noise of less than 0, 1, … to one side
        within = [sides[place + 1] + sides[last - place + 1] - self.peak for place in range(self.size)]
        outside = [sides[self.size + distance] - sides[distance] for distance in range(1, self.beyond)]
        end = sum(self.tails[self.beyond - 1 :])
        chances = [end, *reversed(outside), *within, *outside, end]
        return self._without_spread(
            sum(chance * float(self.unbiased(output)) ** 2 for output, chance in enumerate(chances))
            / (self.size * TOTAL)
        )

    def family_odds(self, other: Any, *, same_value: bool) -> Fraction:
        """The largest ratio at any distance, on the grid and at an end; for two values, one that is farther away."""
        (grid, ends), (grids, others) = ((each.noise, each.tails[each.beyond - 1 :]) for each in (self, other))
        pairs = [*zip(grid, grids, strict=True), *zip(ends, others, strict=True)]
        if not same_value:
            pairs += [*zip(grid, grids[self.size - 1 :], strict=False), (ends[0], others[-1])]
        return max(Fraction(*pair) for pair in pairs)

    @property
    def manipulation(self) -> float:
        """The number of an end over the largest true number."""
        return float(self.unbiased(self.form.count - 1) / self.centre(self.size - 1))


def _far_enough(size: int, micro_epsilon: int) -> int:
    """Return how many buckets beyond a bound noise from it passes once in `RARE` times at most; or `FARTHEST`."""
    odds, beyond = exp_micro(micro_epsilon, size - 1), 1
    reach = odds
    while reach < RARE and beyond < FARTHEST:
        reach, beyond = reach * reach, beyond * 2
    low, high = beyond // 2, min(beyond, FARTHEST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if odds**middle >= RARE else (middle, high)
    return high
