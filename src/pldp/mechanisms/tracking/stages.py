"""Two draws instead of one: the *permanent* output of a value is kept for ever, and every report perturbs it anew.

Both stages are channels with whole weights, and so is the channel that they make together: the weights of a stage are
multiples of 2²⁷ and 2²⁶ (of 2¹⁶ for bits), so that the products of both are whole numbers again. One report is
therefore a report of an ordinary channel, and is tallied, estimated and audited as one. With A = e^ε of the permanent
stage, B = e^ε of one report and g outputs, the ε of a report given the permanent output is that of

    (B(A+g−2) − (g−1)) / (A − B),

and equals the permanent ε at A = B + √((B−1)(B+g−1)), which is what a survey gets that does not say.

References
----------
Erlingsson, Pihur, Korolova, "RAPPOR: Randomized Aggregatable Privacy-Preserving Ordinal Response" (2014); Arcolezi,
Pinzón, Palamidessi, Gambs, "Frequency Estimation of Evolving Data Under Local Differential Privacy" (2023).
"""

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final, Self

from pldp.epsilon import LARGEST_EPSILON, MICRO, Micro, epsilon_text
from pldp.errors import EpsilonError
from pldp.mechanisms.channel import Channel, Domain, PureChannel, one_budget
from pldp.mechanisms.hashing.channel import INDEX_BITS, LinearHashing
from pldp.mechanisms.output import BIT_TOTAL, TOTAL, Output, RandomBytes, as_int
from pldp.mechanisms.registry import AUTO, names
from pldp.mechanisms.response.channel import RandomizedResponse
from pldp.mechanisms.rounding.channel import StochasticRounding, rounding_weights
from pldp.mechanisms.sets.channel import ItemSet
from pldp.records import Brief

PERMANENT_UNIT: Final = 2**27
INSTANT_UNIT: Final = TOTAL // PERMANENT_UNIT
BIT_UNIT: Final = 2**16
"""What the weights of a stage are multiples of; the products of both units are the totals 2⁵³ and 2³²."""

_WHOLE: Final = "two stages with whole weights"

KeptBytes = Callable[[str, int], bytes]
"""So many random bytes under a name that are always the same on one device, and known to nobody else."""


Table = list[list[Fraction]]
"""Q of a channel: one row per value, one column per output."""


def table_of(channel: Channel) -> Table:
    """Return Q of a channel for one of several values."""
    return [[channel.probability(output, value) for output in channel.outputs()] for value in range(channel.size)]


@dataclass(frozen=True, repr=False)
class Stages(Brief, ABC):
    """The channels of both stages; `channel` is what they make together."""

    permanent: Channel
    instant: Channel

    def __post_init__(self) -> None:
        """Refuse stages that do not fit each other, or whose products are not whole."""
        _ = self.channel

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """What one report is drawn from."""

    @classmethod
    @abstractmethod
    def build(cls, size: int, budgets: Micro | Sequence[Micro], permanent: int | None = None) -> Self:
        """Build the most accurate stages whose one report keeps the budgets, and the permanent output its own ε."""

    @classmethod
    @abstractmethod
    def read(cls, size: int, weights: Mapping[str, object]) -> Self:
        """Rebuild the stages from the integers that a survey publishes: the inverse of `weights`."""

    def weights(self) -> dict[str, dict[str, int | list[int]]]:
        """Return the integers that define both stages."""
        return {"permanent": self.permanent.weights(), "instant": self.instant.weights()}

    def parts(self) -> Iterator[tuple[Table, Table]]:
        """Yield Q of both stages, values × outputs, of every part that is drawn on its own."""
        yield table_of(self.permanent), table_of(self.instant)

    @abstractmethod
    def settle(self, value: int, kept: KeptBytes) -> Output:
        """Return the permanent output of a value."""

    @abstractmethod
    def renew(self, settled: Output, random: RandomBytes) -> Output:
        """Draw a report from a permanent output."""


@dataclass(frozen=True, repr=False)
class ResponseStages(Stages):
    """k-RR over k-RR.

    >>> stages = ResponseStages.build(16, 1_000_000, 2_000_000)
    >>> stages.channel.micro_epsilon, stages.permanent.micro_epsilon, stages.instant.micro_epsilon
    (1000000, 2000000, 2223160)
    """

    permanent: RandomizedResponse
    instant: RandomizedResponse

    @cached_property
    def channel(self) -> RandomizedResponse:
        """k-RR again: either stage may change the value, or both, back or to a third one."""
        size, (p, q), (kept, other) = self.permanent.size, _weights(self.permanent), _weights(self.instant)
        return RandomizedResponse(size, _whole(p * other + q * kept + (size - 2) * q * other, TOTAL))

    @classmethod
    def build(cls, size: int, budgets: Micro | Sequence[Micro], permanent: int | None = None) -> Self:
        """Build both stages."""
        micro = one_budget(RandomizedResponse, budgets)
        limit = _permanent_budget(micro, permanent, size)
        weight = _multiple(RandomizedResponse.of(size, limit).other_weight, PERMANENT_UNIT)
        if weight * size >= TOTAL:
            raise EpsilonError(f"epsilon {epsilon_text(micro)} is too small for {_WHOLE}")
        settled = RandomizedResponse(size, weight)
        other = _least(
            lambda number: cls(settled, RandomizedResponse(size, number * INSTANT_UNIT)).channel,
            micro,
            TOTAL // INSTANT_UNIT // size,
        )
        return cls(settled, RandomizedResponse(size, other * INSTANT_UNIT))

    @classmethod
    def read(cls, size: int, weights: Mapping[str, object]) -> Self:
        """Rebuild both stages."""
        return cls(*(RandomizedResponse.read(size, weights[name]) for name in ("permanent", "instant")))

    def settle(self, value: int, kept: KeptBytes) -> int:
        """Draw once for every value."""
        return self.permanent.draw(value, lambda count: kept(str(value), count))

    def renew(self, settled: Output, random: RandomBytes) -> int:
        """Perturb it again."""
        return self.instant.draw(as_int(settled), random)


@dataclass(frozen=True, repr=False)
class HashingStages(Stages):
    """LH with one hash function for ever: its bucket is what is drawn twice.

    The hash function is part of every report, so reports of one device can be linked.
    """

    permanent: LinearHashing
    instant: RandomizedResponse

    @cached_property
    def buckets(self) -> ResponseStages:
        """The stages of the bucket."""
        return ResponseStages(self.permanent.bucket_channel, self.instant)

    @cached_property
    def channel(self) -> LinearHashing:
        """LH again."""
        return LinearHashing(self.permanent.size, self.permanent.buckets, self.buckets.channel.other_weight)

    @classmethod
    def build(cls, size: int, budgets: Micro | Sequence[Micro], permanent: int | None = None) -> Self:
        """Build both stages with the number of buckets that is best for one report."""
        micro = one_budget(LinearHashing, budgets)
        buckets = LinearHashing.of(size, micro).buckets
        stages = ResponseStages.build(buckets, micro, permanent)
        return cls(LinearHashing(size, buckets, stages.permanent.other_weight), stages.instant)

    @classmethod
    def read(cls, size: int, weights: Mapping[str, object]) -> Self:
        """Rebuild both stages."""
        settled = LinearHashing.read(size, weights["permanent"])
        return cls(settled, RandomizedResponse.read(settled.buckets, weights["instant"]))

    def parts(self) -> Iterator[tuple[Table, Table]]:
        """The bucket; the hash function does not depend on the value."""
        return self.buckets.parts()

    def settle(self, value: int, kept: KeptBytes) -> int:
        """Draw once for every bucket, not for every value: a change within a bucket does not show."""
        channel = self.permanent
        index = channel.index_of(kept("hash", INDEX_BITS // 8))
        return index * channel.buckets + self.buckets.settle(channel.bucket(index, value), kept)

    def renew(self, settled: Output, random: RandomBytes) -> int:
        """Perturb the bucket again."""
        index, bucket = divmod(as_int(settled), self.permanent.buckets)
        return index * self.permanent.buckets + self.instant.draw(bucket, random)


@dataclass(frozen=True, repr=False)
class SetStages(Stages):
    """A bit per item, each drawn twice: its 1 and its 0 have a permanent output each."""

    permanent: ItemSet
    instant: ItemSet

    @cached_property
    def channel(self) -> ItemSet:
        """A bit per item again."""
        first, second = (list(zip(each.kept, each.raised, strict=True)) for each in (self.permanent, self.instant))
        kept, raised = (
            tuple(
                _whole(bits[side] * one + (BIT_TOTAL - bits[side]) * zero, BIT_TOTAL)
                for bits, (one, zero) in zip(first, second, strict=True)
            )
            for side in (0, 1)
        )
        return ItemSet(self.permanent.size, kept, raised)

    @classmethod
    def build(cls, size: int, budgets: Micro | Sequence[Micro], permanent: int | None = None) -> Self:
        """Build both stages; an item without protection is sent as it is."""
        each = budgets if isinstance(budgets, Sequence) else (budgets,) * size
        noise = [(0, 0) if micro == math.inf else _bit_noise(int(micro), permanent) for micro in each]
        return cls(*map(_symmetric_set, zip(*noise, strict=True)))

    @classmethod
    def read(cls, size: int, weights: Mapping[str, object]) -> Self:
        """Rebuild both stages."""
        return cls(*(ItemSet.read(size, weights[name]) for name in ("permanent", "instant")))

    def parts(self) -> Iterator[tuple[Table, Table]]:
        """Every item."""
        for item in range(self.permanent.size):
            first, second = (
                [[1 - absent, absent], [1 - present, present]]
                for present, absent in (self.permanent.item_chances(item), self.instant.item_chances(item))
            )
            yield first, second

    def settle(self, value: int, kept: KeptBytes) -> bytes:
        """Draw for a set that has every item and for one that has none; take of each what the answer says."""
        channel, everything = self.permanent, (1 << self.permanent.size) - 1
        ones = as_int(channel.draw(everything, lambda count: kept("1", count)))
        zeros = as_int(channel.draw(0, lambda count: kept("0", count)))
        return (ones & value | zeros & ~value & everything).to_bytes((channel.size + 7) // 8, "little")

    def renew(self, settled: Output, random: RandomBytes) -> bytes:
        """Perturb every bit again."""
        return self.instant.draw(as_int(settled), random)


@dataclass(frozen=True, repr=False)
class RoundingStages(Stages):
    """Stochastic rounding to one of two outputs, then randomized response over these."""

    permanent: StochasticRounding
    instant: RandomizedResponse

    @cached_property
    def channel(self) -> StochasticRounding:
        """Stochastic rounding again: both weights shrink alike."""
        kept, other = _weights(self.instant)
        first = _whole(self.permanent.first * kept + (TOTAL - self.permanent.first) * other, TOTAL)
        return StochasticRounding(self.permanent.size, first, _whole(self.permanent.step * (kept - other), TOTAL))

    @classmethod
    def build(cls, size: int, budgets: Micro | Sequence[Micro], permanent: int | None = None) -> Self:
        """Build both stages."""
        micro = one_budget(StochasticRounding, budgets)
        limit = _permanent_budget(micro, permanent, 2)
        weights = rounding_weights(size, limit, TOTAL // PERMANENT_UNIT)
        settled = StochasticRounding(size, *(weight * PERMANENT_UNIT for weight in weights))
        other = _least(
            lambda number: cls(settled, RandomizedResponse(2, number * INSTANT_UNIT)).channel,
            micro,
            TOTAL // INSTANT_UNIT // 2,
        )
        return cls(settled, RandomizedResponse(2, other * INSTANT_UNIT))

    @classmethod
    def read(cls, size: int, weights: Mapping[str, object]) -> Self:
        """Rebuild both stages."""
        settled = StochasticRounding.read(size, weights["permanent"])
        return cls(settled, RandomizedResponse.read(2, weights["instant"]))

    def settle(self, value: int, kept: KeptBytes) -> int:
        """Draw once for every bucket of the grid."""
        return self.permanent.draw(value, lambda count: kept(str(value), count))

    def renew(self, settled: Output, random: RandomBytes) -> int:
        """Perturb it again."""
        return self.instant.draw(as_int(settled), random)


STAGES: Final[Mapping[str, type[Stages]]] = {
    "krr": ResponseStages,
    "lh": HashingStages,
    "item_set": SetStages,
    "sr": RoundingStages,
}
"""The mechanisms that can be drawn in two stages."""


def build_stages(
    name: str, size: int, budgets: Micro | Sequence[Micro], *, domain: Domain, permanent: int | None = None
) -> Stages:
    """Build the stages of a mechanism; `auto` takes the least variance of one report at equal shares.

    >>> build_stages("auto", 16, 1_000_000, domain="labels").channel.mechanism
    'lh'
    """
    known = [each for each in names(domain) if each in STAGES]
    if name not in {AUTO, *known}:
        raise EpsilonError(f"answers that are tracked need one of the mechanisms {', '.join(known)}, not {name[:40]!r}")
    built = [STAGES[each].build(size, budgets, permanent) for each in known if name in {AUTO, each}]
    return min(built, key=lambda each: each.channel.variance(1 / size) if isinstance(each.channel, PureChannel) else 0)


def read_stages(name: str, size: int, weights: object) -> Stages:
    """Rebuild stages from the integers that a survey publishes."""
    if name not in STAGES or not isinstance(weights, Mapping) or weights.keys() != {"permanent", "instant"}:
        raise EpsilonError(f"stages must be permanent and instant weights of {', '.join(STAGES)}")
    return STAGES[name].read(size, weights)


def balanced_budget(micro: int, outputs: int) -> int:
    """Return the permanent ε at which a report tells as much about the permanent output as that about the value.

    >>> balanced_budget(1_000_000, 2)
    1657454
    """
    odds = math.exp(micro / MICRO)
    return math.floor(math.log(odds + math.sqrt((odds - 1) * (odds + outputs - 1))) * MICRO)


def _permanent_budget(micro: int, permanent: int | None, outputs: int) -> int:
    limit = balanced_budget(micro, outputs) if permanent is None else permanent
    if not micro < limit <= LARGEST_EPSILON * MICRO:
        rule = (
            f"permanent must be above the epsilon of one report ({epsilon_text(micro)}) and at most {LARGEST_EPSILON}"
        )
        raise EpsilonError(f"{rule}, not {epsilon_text(limit)}")
    return limit


def _weights(channel: RandomizedResponse) -> tuple[int, int]:
    return channel.truth_weight, channel.other_weight


def _whole(product: int, total: int) -> int:
    weight, rest = divmod(product, total)
    if rest:
        raise EpsilonError("weights of the stages must be such that their products are whole weights")
    return weight


def _multiple(weight: int, unit: int) -> int:
    """Round up, i.e. towards more noise."""
    return -(-weight // unit) * unit


def _least(make: Callable[[int], Channel], micro: int, most: int) -> int:
    """Return the least noise of the second stage with which both stages together keep the ε of one report."""

    def fits(number: int) -> bool:
        try:
            return make(number).micro_epsilon <= micro
        except EpsilonError:  # so much noise that outputs say nothing
            return True

    number = bisect_left(range(most + 1), 1, lo=1, key=fits)
    try:
        make(number)
    except EpsilonError:
        raise EpsilonError(f"epsilon {epsilon_text(micro)} is too small for {_WHOLE}") from None
    return number


@lru_cache(maxsize=256)
def _bit_noise(micro: int, permanent: int | None) -> tuple[int, int]:
    """Return how often either stage turns a bit around, times 2³²."""
    limit = _permanent_budget(micro, permanent, 2)
    first = _multiple(ItemSet.of((limit,)).raised[0], BIT_UNIT)

    def make(number: int) -> ItemSet:
        return SetStages(_symmetric_set((first,)), _symmetric_set((number * BIT_UNIT,))).channel

    return first, _least(make, micro, BIT_TOTAL // BIT_UNIT // 2) * BIT_UNIT


def _symmetric_set(raised: Sequence[int]) -> ItemSet:
    return ItemSet(len(raised), tuple(BIT_TOTAL - weight for weight in raised), tuple(raised))
