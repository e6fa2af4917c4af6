"""Laplace noise on a grid, cut at the bounds without loss."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, Self

from pldp.epsilon import Micro, micro_epsilon_of_ratio
from pldp.mechanisms.laplace.noise import LaplaceNoise
from pldp.mechanisms.output import TOTAL


@dataclass(frozen=True, repr=False)
class DiscreteLaplace(LaplaceNoise):
    """The value plus noise with Pr(d) ∝ α^|d|, α = e^{−ε/(size−1)}, put back to the nearest bucket of the grid.

    Noise beyond a bound says nothing about the value that reaching the bound does not say: its likelihood ratio is the
    same, so cutting there loses no information. An output at a bound counts for the bound plus the mean overshoot
    α/(1−α), which keeps the mean unbiased and makes the variance smaller than that of the unbounded noise. `decay` and
    `peak` are those of `LaplaceNoise`.

    References: Dwork, McSherry, Nissim, Smith, "Calibrating Noise to Sensitivity in Private Data Analysis" (2006);
    Ghosh, Roughgarden, Sundararajan, "Universally Utility-Maximizing Privacy Mechanisms" (2009) for the cut noise.

    >>> channel = DiscreteLaplace.of(1024, 1_000_000)
    >>> channel.micro_epsilon, channel.form.count, round(float(channel.unbiased(1023)), 3)
    (1000000, 1024, 2.996)
    """

    decay: int
    peak: int

    mechanism = "laplace"

    @classmethod
    def of(cls, size: int, micro_epsilon: int) -> Self:
        """Build the channel whose true ε is at most the given one."""
        return cls.fitted(size, micro_epsilon, lambda decay, peak: cls(size, decay, peak), 0)

    @property
    def micro_epsilon(self) -> Micro:
        """The larger of the ratios at a bound and inside, between the nearest and the farthest value; rounded up."""
        at_bound = micro_epsilon_of_ratio(TOTAL - self.tails[0], self.tails[-1])
        return at_bound if self.size == 2 else max(at_bound, micro_epsilon_of_ratio(self.noise[0], self.noise[-1]))

    @property
    def noise_variance(self) -> float:
        """From how often each output comes if all values are as frequent."""
        last = self.size - 1
        sides = list(accumulate(self.noise))  # of noise of at most 0, 1, … to one side
        inner = (sides[output] + sides[last - output] - self.peak for output in range(1, last))
        bound = TOTAL - self.tails[0] + sum(self.tails)
        return self._variance_of([bound, *inner, bound])

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
