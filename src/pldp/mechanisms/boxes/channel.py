"""Some of a set's boxes, picked at random, and randomized response over all answers that they can have."""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, Self

from pldp.epsilon import MICRO, Micro
from pldp.errors import AnswerError, EpsilonError
from pldp.mechanisms.channel import Channel, Odds, one_budget
from pldp.mechanisms.contrast import Contrast, grouped, mixed, two_level
from pldp.mechanisms.output import Integers, Output, RandomBytes, as_int
from pldp.mechanisms.ranks import places_of_rank, rank_bytes, rank_of, rank_probability
from pldp.mechanisms.response.channel import RandomizedResponse
from pldp.mechanisms.set_channel import SetChannel, planned_share, support_variance

MOST_BITS: Final = 27
"""Binary digits of an output at most: a collector counts outputs one by one."""

CHOSEN_TABLE: Final = 2**22
"""Outputs of what is built: so many counters are 32 MB."""

LOSS: Final = 0.95
"""Rows are picked instead of any subset where that makes the variance smaller than so many times the other."""


@dataclass(frozen=True, repr=False)
class SampledBoxes(SetChannel):
    """`boxes` of the items, picked uniformly at random, with their 2^s answers after 2^s-ary randomized response.

    A report is one integer, (rank of the pick)·2^s + answer; bit j of the answer is whether the j-th smallest of the
    picked items is in the set. The pick does not depend on the set, hence ε = ln(truth weight / other weight) of the
    answer: it is that of the whole set. `other_weight` is 2⁵³ times the probability of each wrong answer.

    There are C(m, s) `picks`, all subsets; or, where these are too many to count reports one by one, m: s items in a
    row, the first one following the last. Then reports tell about single items only.

    An item that was picked is ticked with p' = p + (2^{s−1}−1)q where the set has it and with q' = 2^{s−1}q where not.
    Its share is (ticked/picked − q')/(p − q), over the reports that picked it: variance m/s·π(1−π)/(p−q)², with
    π = q' + share·(p−q).

    References: Nguyên, Xiao, Yang, Hui, Shin, Shin, "Collecting and Analyzing Data from Smart Device Users with Local
    Differential Privacy" (2016), who pick one; Kairouz, Bonawitz, Ramage, "Discrete Distribution Estimation under Local
    Privacy" (2016).

    >>> channel = SampledBoxes.of(5, 2_000_000)
    >>> channel.boxes, channel.form.count, channel.micro_epsilon
    (2, 40, 2000000)
    >>> SampledBoxes.of(200, 5_000_000).picks
    200
    >>> round(channel.item_variance(0.3), 2)
    1.55
    """

    boxes: int
    other_weight: int
    picks: int

    mechanism = "boxes"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.boxes <= self.size:
            raise EpsilonError(f"boxes must be from 1 to {self.size}, not {self.boxes}")
        if self.boxes > MOST_BITS or self.form.count > 1 << MOST_BITS:
            raise EpsilonError(f"boxes and picks must leave at most 2^{MOST_BITS} outputs")
        if not self.all_subsets and (self.boxes == self.size or self.picks != self.size):
            subsets = math.comb(self.size, self.boxes)
            raise EpsilonError(f"picks must be {subsets:,} or {self.size:,}, subsets or rows, not {self.picks:,}")
        _ = self.answer_channel

    @classmethod
    def of(cls, size: int, micro_epsilon: int, at_most: int | None = None) -> Self:
        """Build the channel of least variance whose true ε is at most the given one."""
        one_budget(cls, micro_epsilon)
        epsilon, share = micro_epsilon / MICRO, planned_share(size, at_most)
        subsets = {boxes: math.comb(size, boxes) for boxes in range(1, min(size, MOST_BITS) + 1)}
        (error, boxes), rows = (
            min(
                (_ideal_variance(size, boxes, epsilon, share), boxes)
                for boxes, picks in some.items()
                if boxes == 1 or picks << boxes <= CHOSEN_TABLE
            )
            for some in (subsets, dict.fromkeys(subsets, size))
        )
        picks = subsets[boxes]
        if rows[0] < LOSS * error:
            boxes, picks = rows[1], size
        return cls(size, boxes, RandomizedResponse.of(1 << boxes, micro_epsilon).other_weight, picks)

    @classmethod
    def hideable_whole(
        cls, size: int, micro_epsilons: Sequence[int], at_most: int | None = None
    ) -> Iterator[tuple[Self, ...]]:
        """Yield channels that pick one number of boxes at all levels: any subset, or boxes in a row if these are many.

        From the number that suits the most open level on, more boxes help no level.
        """
        most = max(cls.of(size, micro, at_most).boxes for micro in micro_epsilons)
        for boxes in range(1, most + 1):
            picks = math.comb(size, boxes)
            picks = picks if picks << boxes <= CHOSEN_TABLE or boxes == size else size
            with suppress(EpsilonError):  # weights are too coarse for this ε, or there are too many outputs
                answers = [RandomizedResponse.of(1 << boxes, micro).other_weight for micro in micro_epsilons]
                yield tuple(cls(size, boxes, other, picks) for other in answers)

    @property
    def preface(self) -> str:
        """How many boxes a report is about."""
        return f"your report is about {self.boxes} of the {self.size} boxes, picked at random whatever you tick;"

    @cached_property
    def answer_channel(self) -> RandomizedResponse:
        """The randomized response over all answers of the picked boxes."""
        return RandomizedResponse(1 << self.boxes, self.other_weight)

    @cached_property
    def all_subsets(self) -> bool:
        """Whether any subset can be picked, or only items in a row."""
        return self.picks == math.comb(self.size, self.boxes)

    def picked(self, rank: int) -> list[int]:
        """Return the picked items, rising."""
        if self.all_subsets:
            return places_of_rank(rank, self.size, self.boxes)
        return sorted((rank + step) % self.size for step in range(self.boxes))

    @cached_property
    def form(self) -> Integers:
        """Picks times answers."""
        return Integers(self.picks << self.boxes)

    @property
    def micro_epsilon(self) -> Micro:
        """ε of the answer's randomized response."""
        return self.answer_channel.micro_epsilon

    def draw(self, value: int, random: RandomBytes) -> int:
        """Return pick and answer as one integer: random bytes for the rank of the pick, then seven for the answer."""
        if not 0 <= value < 1 << self.size:
            raise AnswerError(f"value must be a set of {self.size} items as an integer below 2^{self.size}")
        rank = rank_of(random(rank_bytes(self.picks)), self.picks)
        return rank << self.boxes | self.answer_channel.draw(self._answer(rank, value), random)

    def _answer(self, rank: int, value: int) -> int:
        return sum((value >> place & 1) << bit for bit, place in enumerate(self.picked(rank)))

    def probability(self, output: Output, value: int) -> Fraction:
        """Probability of the pick times that of the answer."""
        rank, answer = divmod(as_int(output), 1 << self.boxes)
        chance = self.answer_channel.probability(answer, self._answer(rank, value))
        return rank_probability(rank, self.picks) * chance

    def best_guess(self, prior: Sequence[float] | None = None) -> float | None:
        """The answer that is reported, and anything for the boxes that were not picked."""
        return None if prior is not None else float(self.answer_channel.truth_support) * 2.0 ** (self.boxes - self.size)

    def contrasts(self) -> tuple[tuple[Contrast, ...], ...]:
        """No box against all of them: every pick tells them apart. Others tick half of the boxes."""
        answers = 1 << self.boxes
        half, subsets = self.size // 2, math.comb(self.size, self.boxes)
        like_one, like_two = math.comb(self.size - half, self.boxes), math.comb(half, self.boxes)
        cases = {(0, 1, 0): like_one, (0, 1, 1): like_two, (0, 1, 2): subsets - like_one - like_two}
        measure = mixed(
            (Fraction(count, subsets), grouped(same, answers, 1)) for same, count in cases.items() if count > 0
        )
        own = self.answer_channel
        inside, outside = own.truth_support * answers, own.other_support * answers
        return ((two_level(measure, inside, outside, third=self.all_subsets and self.size > 1),),)

    def level_odds(self, other: Channel, *, same_value: bool) -> Odds:
        """Picks do not depend on the level: what the answer tells, of one set or of two that differ in a picked box."""
        same_form = isinstance(other, SampledBoxes) and (other.size, other.form) == (self.size, self.form)
        if not same_form or not isinstance(other, SampledBoxes) or other.boxes != self.boxes:
            raise EpsilonError("outputs of different form show the level: there is no finite leak")
        return self.answer_channel.level_odds(other.answer_channel, same_value=same_value)

    def box_chances(self) -> tuple[Fraction, Fraction]:
        """Return how often a picked box is ticked where the set has its item, and where it has not: p' and q'."""
        q = self.answer_channel.other_support * (1 << self.boxes - 1)
        return q + self.answer_channel.truth_support - self.answer_channel.other_support, q

    def item_chances(self, item: int) -> tuple[Fraction, Fraction]:  # noqa: ARG002 - all items are alike
        """p' and q', of the reports that are about the item."""
        p, q = self.box_chances()
        return p * self.boxes / self.size, q * self.boxes / self.size

    def item_variance(self, share: float) -> float:
        """m/s·π(1−π)/(p−q)²."""
        p, q = map(float, self.box_chances())
        return support_variance(p, q, share) * self.size / self.boxes

    @property
    def manipulation(self) -> float:
        """m/s·(1−q')/(p−q): a forged report counts once for each person who was not asked about the item."""
        p, q = self.box_chances()
        return float((1 - q) / (p - q) * self.size / self.boxes)


def _ideal_variance(size: int, boxes: int, epsilon: float, share: float) -> float:
    """Variance of an item's share before weights are rounded."""
    truth, other = RandomizedResponse.ideal_supports(1 << boxes, epsilon)
    q = other * 2 ** (boxes - 1)
    return support_variance(q + truth - other, q, share) * size / boxes
