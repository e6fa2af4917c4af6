"""Subset selection: a report names d of the k values, and the true one is among them more often than any other."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from pldp.epsilon import MICRO, Micro, exp_micro, micro_epsilon_of_ratio
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import CategoricalChannel, Channel, Odds, PureChannel, too_small
from pldp.mechanisms.contrast import Contrast, of_subsets, two_level
from pldp.mechanisms.guessing import firsts, guess_by_rank
from pldp.mechanisms.output import BLOCK_BYTES, TOTAL, Bits, Output, Places, RandomBytes

NOISE_BYTES = 7
"""Random bytes of one number below 2⁵³."""

LARGEST_SIZE = 2**20
"""Values at most: products of a number and a count of values stay exact in JavaScript."""


class SetReports(CategoricalChannel):
    """A channel whose reports are sets of values."""

    in_bits = True
    phrase = 'has "{label}" among the ticked boxes'

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size > LARGEST_SIZE:
            raise EpsilonError(f"size must be at most {LARGEST_SIZE:,} values for subsets, not {self.size:,}")

    @classmethod
    def suits(cls, size: int, *, hidden: bool = False) -> bool:  # noqa: ARG003
        """Nothing is more accurate; only its reports can be too long."""
        return size <= LARGEST_SIZE


@dataclass(frozen=True, repr=False)
class SubsetSelection(SetReports, PureChannel):
    """SS: a set of `chosen` values; it contains the true one with probability a/2⁵³, and is else uniformly random.

    Q(y|x) = a/2⁵³ / C(k−1, d−1) if the set y contains x, else (1 − a/2⁵³) / C(k−1, d), so ε = ln a(k−d)/((2⁵³−a)d):
    a set is e^ε times as likely for a value that it contains as for one that it does not. With d near k/(e^ε+1) no
    channel of the same ε has less variance at equal shares; d = 1 is k-ary randomized response.

    The other values in the set are drawn from the k−1 by Floyd's algorithm: for m = k−d … k−1 take number ⌊u·m/2⁵³⌋
    of them, or the m-th if that was taken before (one step less where the true value is in the set). Each number is
    uniform to within a factor 1 + m/(2⁵³−m), for which ε allows. A report has one bit per value, of which d are 1; or,
    where that would be long and this is shorter, the list of their places.

    References: Wang, Huang, Nie, Wang, Xu, Yang, "Mutual Information Optimally Local Private Discrete Distribution
    Estimation" (2016); Ye, Barg, "Optimal Schemes for Discrete Distribution Estimation under Locally Differential
    Privacy" (2018); Bentley, Floyd, "A Sample of Brilliance" (1987).

    >>> import os
    >>> channel = SubsetSelection.of(16, 1_000_000)
    >>> channel.chosen, channel.micro_epsilon, round(float(channel.truth_support), 4)
    (4, 1000000, 0.4754)
    >>> sum(byte.bit_count() for byte in channel.draw(3, os.urandom))
    4
    """

    chosen: int
    truth_weight: int

    mechanism = "subset"
    total = TOTAL

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.chosen < self.size:
            raise EpsilonError(f"chosen must be from 1 to {self.size - 1}, not {self.chosen}")
        if not self.chosen * TOTAL < self.size * self.truth_weight < self.size * TOTAL:
            raise EpsilonError("truth must be below 2^53 and put the true value into the set more often than chance")

    @classmethod
    def of(cls, size: int, micro_epsilon: int, chosen: int | None = None) -> Self:
        """Build the channel of least variance (or with so many chosen values) whose true ε is at most the given one."""
        if size < cls.least[0]:
            return cls(size, 1, 1)  # which says what is wrong
        chosen = best_chosen(size, micro_epsilon / MICRO) if chosen is None else chosen
        rest = (size - chosen) * slack(size, chosen)  # of the weight outside the set, where e^ε·d is that inside
        outside = math.ceil(TOTAL * rest / (Fraction(exp_micro(micro_epsilon)) * chosen + rest))
        if size * (TOTAL - outside) <= chosen * TOTAL:
            raise too_small(micro_epsilon, size)
        return cls(size, chosen, TOTAL - outside)

    @classmethod
    def hideable(cls, size: int, budgets: Sequence[int]) -> Iterator[tuple[Channel, ...]]:
        """Yield channels with one number of chosen values for all levels."""
        most = best_chosen(size, min(budgets) / MICRO)
        for step in range(min(most, SIZES_TRIED)):
            chosen = 1 + step if most <= SIZES_TRIED else round(most ** (step / (SIZES_TRIED - 1)))
            yield tuple(cls.of(size, micro, chosen) for micro in budgets)

    @classmethod
    def ideal_supports(cls, size: int, epsilon: float) -> tuple[float, float]:
        """Return p and q of the best number of chosen values, were it not whole."""
        return _supports(size, max(1.0, size / (math.exp(epsilon) + 1)), epsilon)

    @cached_property
    def form(self) -> Bits:
        """Bits, or the places of the ones where bits would take more than a block and places take less."""
        bits, places = Bits(self.size, self.chosen), Places(self.size, self.chosen)
        return places if bits.bytes > BLOCK_BYTES and places.bytes < bits.bytes else bits

    @property
    def keeps_rows(self) -> bool:
        """Where there are few different sets, a tally that counts each is small and serves the likelihood, too."""
        return self.form.bytes <= SHORT_BYTES

    @property
    def micro_epsilon(self) -> Micro:
        """ln a(k−d)/((2⁵³−a)d) and what drawing the set adds, rounded up."""
        odds = Fraction(self.truth_weight * (self.size - self.chosen), (TOTAL - self.truth_weight) * self.chosen)
        odds *= slack(self.size, self.chosen)
        return micro_epsilon_of_ratio(odds.numerator, odds.denominator)

    @cached_property
    def other_support(self) -> Fraction:
        """Probability that the set contains a given other value (q): d − p of its places, shared by k − 1 values."""
        return (self.chosen - self.truth_support) / (self.size - 1)

    def draw(self, value: int, random: RandomBytes) -> bytes:
        """Return the set from 7(d+1) random bytes: one number for the true value, and one per chosen value."""
        noise = random(NOISE_BYTES * (self.chosen + 1))
        inside = int.from_bytes(noise[:NOISE_BYTES], "little") >> 3 < self.truth_weight
        bits, start = 0, NOISE_BYTES
        read = int.from_bytes
        for count in range(self.size - self.chosen, self.size):
            end = start + NOISE_BYTES
            drawn = 1 << ((read(noise[start:end], "little") >> 3) * count >> 53)
            bits |= (drawn, 1 << count - 1)[bits & drawn != 0]
            if start == NOISE_BYTES:
                bits *= not inside  # the true value takes the place of the first one
            start = end
        below = bits & (1 << value) - 1
        return self.form.pack(below | inside << value | (bits ^ below) << 1)

    def probability(self, output: Output, value: int) -> Fraction:
        """Return it as if the other values were drawn uniformly; ε allows for how far they are not."""
        if self.supports(output, value):
            return self.truth_support / math.comb(self.size - 1, self.chosen - 1)
        return (1 - self.truth_support) / math.comb(self.size - 1, self.chosen)

    def supports(self, output: Output, value: int) -> bool:
        """Tell whether the value is in the set."""
        return bool(self.form.unpack(output) >> value & 1)

    def contrasts(self) -> tuple[tuple[Contrast, ...], ...]:
        """Any two values."""
        share = Fraction(self.chosen, self.size)
        inside, outside = self.truth_support / share, (1 - self.truth_support) / (1 - share)
        allowed = slack(self.size, self.chosen) - 1
        measure = of_subsets(self.size, self.chosen)
        return ((two_level(measure, inside, outside, third=self.size > 2, slack=allowed),),)

    def best_guess(self, prior: Sequence[float] | None = None) -> float:
        """The likeliest value of the set, unless another one is likelier by far."""
        if prior is None:
            return float(self.truth_support / self.chosen)
        share = self.chosen / self.size
        truth = float(self.truth_support)
        chances = firsts(self.size, self.chosen)
        return guess_by_rank(prior, chances.__getitem__, truth / share, (1 - truth) / (1 - share))

    def family_odds(self, other: Any, *, same_value: bool) -> Odds:
        """A set that contains the value or not, whichever tells most; sets of other sizes have another form."""
        p, other_p = self.truth_support, other.truth_support
        ratios = [p / other_p, (1 - p) / (1 - other_p)]
        if not same_value:
            inside = Fraction(self.size - self.chosen, self.chosen)
            ratios += [p / (1 - other_p) * inside, (1 - p) / other_p / inside]
        return [(max(ratios), 1), (slack(self.size, self.chosen), 1)]


SHORT_BYTES = 2
"""Up to this length sets are counted one by one."""

SIZES_TRIED = 24
"""Numbers of chosen values among which hidden levels choose, at most."""


def best_chosen(size: int, epsilon: float) -> int:
    """Return the number of chosen values with the least variance at equal shares: near k/(e^ε+1).

    >>> [best_chosen(16, epsilon) for epsilon in (0.5, 1, 2, 3)]
    [6, 4, 2, 1]
    """
    near = int(size / (math.exp(epsilon) + 1))
    some = {min(max(1, chosen), size - 1) for chosen in range(near, near + 2)}
    return min(sorted(some), key=lambda chosen: spread(size, chosen, epsilon))


def spread(size: int, chosen: int, epsilon: float) -> float:
    """Variance of a share of 1/k, which is supported by d/k of the reports."""
    p, q = _supports(size, chosen, epsilon)
    return chosen * (size - chosen) / (size * (p - q)) ** 2


def _supports(size: int, chosen: float, epsilon: float) -> tuple[float, float]:
    """Return p and q before they are rounded."""
    p = 1 / (1 + (size - chosen) / chosen * math.exp(-epsilon))
    return p, (chosen - p) / (size - 1)


def slack(size: int, chosen: int) -> Fraction:
    """Bound the product of 1 + m/(2⁵³−m) over d numbers below k: how far the chosen values are from uniform."""
    return 1 + Fraction(4 * size * chosen, TOTAL)
