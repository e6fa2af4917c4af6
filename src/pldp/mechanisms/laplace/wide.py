"""Laplace noise on a grid that reaches far beyond the bounds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, Final, Self

from pldp.epsilon import Micro, exp_micro, micro_epsilon_of_ratio
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Channel
from pldp.mechanisms.laplace.noise import LaplaceNoise
from pldp.mechanisms.output import Integers

RARE: Final = 1 << 20
"""Noise that passes the far ends of the grid has a probability of one in so many where there is room for it."""

FARTHEST: Final = 1 << 15
"""Most buckets of the grid beyond each bound."""


@dataclass(frozen=True, repr=False)
class WideLaplace(LaplaceNoise):
    """The value plus noise with Pr(d) ∝ α^|d|, α = e^{−ε/(size−1)}, on a grid of `beyond` more buckets on both sides.

    Noise that would pass an end of this longer grid is put back to it. How often an output is an end is
    `end_probability`, exactly, and an end counts for itself plus the mean overshoot α/(1−α), so means stay unbiased.
    `laplace`, which cuts at the bounds, tells as much about the value and has the smaller variance; this one is for
    services whose outputs are meant to be averaged as they are. `decay` and `peak` are those of `LaplaceNoise`.

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
        if not 0 < self.beyond <= FARTHEST:
            raise EpsilonError(f"beyond must be from 1 to {FARTHEST:,} buckets, not {self.beyond}")
        super().__post_init__()

    @classmethod
    def hideable(cls, size: int, budgets: Sequence[int]) -> Iterator[tuple[Channel, ...]]:
        """Yield channels with one grid for all levels, which is as long as the strictest one needs it."""
        beyond = max(_far_enough(size, micro) for micro in budgets)
        yield tuple(cls.of(size, micro, beyond) for micro in budgets)

    @classmethod
    def of(cls, size: int, micro_epsilon: int, beyond: int | None = None) -> Self:
        """Build the channel (with so many buckets beyond each bound) whose true ε is at most the given one."""
        far = _far_enough(size, micro_epsilon) if beyond is None else beyond
        # Every weight is rounded up, which the tails must make up for: the peak gives way by about as much.
        least = (size + far).bit_length() - 1
        return cls.fitted(size, micro_epsilon, lambda decay, peak: cls(size, far, decay, peak), least)

    @cached_property
    def form(self) -> Integers:
        """The buckets, and those beyond both bounds; bucket 0 has the number `beyond`."""
        return Integers(self.size + 2 * self.beyond)

    @property
    def margin(self) -> int:
        """Buckets of the grid beyond each bound."""
        return self.beyond

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

    @property
    def noise_variance(self) -> float:
        """From how often each output comes if all values are as frequent."""
        last, sides = self.size - 1, [0, *accumulate(self.noise)]  # of noise of less than 0, 1, … to one side
        within = [sides[place + 1] + sides[last - place + 1] - self.peak for place in range(self.size)]
        outside = [sides[self.size + distance] - sides[distance] for distance in range(1, self.beyond)]
        end = sum(self.tails[self.beyond - 1 :])
        return self._variance_of([end, *reversed(outside), *within, *outside, end])

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
