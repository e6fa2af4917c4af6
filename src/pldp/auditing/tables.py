"""Q(output | value) once more, from the integers that a survey publishes and from nothing else.

The classes of `pldp.mechanisms` state their own ε. A check of that statement must not ask them, so these tables
rest on the published weights and the rules of the wire format alone: which integer stands for which probability.

A table answers one question: by how much can one output speak for value `one` under this table against value `two`
under another (`odds`). With one table and two values that is what a report tells between two answers; with the tables
of two levels and one value it is what a report tells about the level.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import product
from typing import Final

from pldp.auditing.geometry import Contains
from pldp.epsilon import scaled_logarithm
from pldp.errors import AuditError
from pldp.mechanisms import SetLimits

NUMBER: Final = 2**53  # weights of one output sum to this where a device draws one number
BIT: Final = 2**32  # weights of a bit are out of this
INDEX: Final = 2**128  # random numbers that pick one of many alike
NEITHER: Final = (False, False)  # of two sets, none has an item
FEW: Final = 64  # up to so many values every pair is looked at; beyond, one or two of each kind of value

Ratio = tuple[int, int, int]
"""(numerator, denominator, power): a factor of a likelihood ratio."""


class Table(ABC):
    """What the published integers of one channel say."""

    size: int

    by_output: bool = False
    """Whether the weight of a wrong answer belongs to the output, so that a budget is that of a report."""

    @abstractmethod
    def odds(self, one: int, other: Table, two: int) -> list[Ratio]:
        """The largest Q(y | one) / Q'(y | two) over outputs y, as factors; a denominator of 0 means without limit."""

    @property
    @abstractmethod
    def kinds(self) -> list[int]:
        """Values of which at least two of each kind are there: extremes over all values are reached among these."""

    def values(self) -> Sequence[int]:
        """All values where they are few, else some of each kind."""
        return range(self.size) if self.size <= FEW else self.kinds

    def plain(self) -> list[Ratio]:
        """The most that a report tells between any two values, as factors."""
        pairs = product(self.values(), repeat=2)
        return [reduce(larger, (self.odds(one, self, two)[0] for one, two in pairs if one != two))]

    def level_odds(self, other: Table, *, values: bool) -> set[tuple[Ratio, ...]]:
        """What outputs tell between this level and another one, of one value or, with `values`, of any two."""
        own = self.values()
        # A value that a report can prove has no protection: for it only the level counts.
        proved = {
            one for one in own for two in own if one != two and any(not each[1] for each in self.odds(one, self, two))
        }
        pairs = ((one, two) for one in own for two in (own if values and one not in proved else (one,)))
        return {tuple(self.odds(one, other, two)) for one, two in pairs if other is not self or one != two}

    def limited(self, limits: SetLimits) -> Table:  # noqa: ARG002 - sets of items have some
        """Return the table for the sets that may be answered."""
        return self

    def check(self) -> str | None:
        """Say what is wrong with the integers themselves, if anything: probabilities that do not sum to 1."""
        return None


class Alike(Table):
    """A table in which any two values are like any other two."""

    @property
    def kinds(self) -> list[int]:
        """Any two values."""
        return [0, self.size - 1]

    def values(self) -> Sequence[int]:
        """Two are like any two."""
        return self.kinds


@dataclass(frozen=True)
class Direct(Table):
    """One output of a list, from one number below 2⁵³."""

    size: int
    outputs: int

    @abstractmethod
    def weight(self, value: int, output: int) -> int:
        """2⁵³·Q(output | value)."""

    @abstractmethod
    def telling(self, values: Iterable[int]) -> Iterable[int]:
        """Outputs among which the extremes are reached for these values."""

    def odds(self, one: int, other: Table, two: int) -> list[Ratio]:
        """Look at the outputs one by one."""
        assert isinstance(other, Direct)  # noqa: S101 - tables of one question and form
        outputs = self.telling((one, two))
        ratios = ((self.weight(one, output), other.weight(two, output), 1) for output in outputs)
        return [reduce(larger, ratios, (1, 1, 1))]

    def column(self, output: int) -> Ratio:
        """What seeing one output tells between the values that are most and least likely to give it."""
        weights = [self.weight(value, output) for value in self._in_column(output)]
        return max(weights), min(weights), 1

    def plain(self) -> list[Ratio]:
        """Look at the outputs one by one."""
        return [reduce(larger, map(self.column, self.telling(self.values())))]

    def _in_column(self, output: int) -> Iterable[int]:
        return self.values() if self.size <= FEW else {*self.kinds, min(output, self.size - 1)}

    def check(self) -> str | None:
        """Weights of a value must be at least 0 and sum to 2⁵³."""
        for value in self.kinds:
            weights = [self.weight(value, output) for output in range(self.outputs)]
            if min(weights) < 0 or sum(weights) != NUMBER:
                return f"the weights of value number {value} do not sum to 2^53"
        return None


@dataclass(frozen=True)
class Response(Direct):
    """The value itself or another one: k-RR, IPRR, APRR, PRR."""

    truth: tuple[int, ...]
    other: tuple[int, ...]
    by_output: bool

    def weight(self, value: int, output: int) -> int:
        """The truth's weight, or that of a wrong answer, which the output (IPRR) or the value (APRR) has."""
        return self.truth[value] if value == output else self.other[output if self.by_output else value]

    @cached_property
    def kinds(self) -> list[int]:
        """Two values of each pair of weights."""
        return _two_of_each(self.truth, self.other)

    def telling(self, values: Iterable[int]) -> Iterable[int]:
        """The values themselves, and any third one of each kind."""
        return {*values, *(range(self.outputs) if self.size <= FEW else self.kinds)}

    def check(self) -> str | None:
        """The same, in time that does not grow with the square of the values."""
        if self.size <= FEW:
            return super().check()
        all_others = sum(self.other)
        for value in self.kinds:
            others = all_others - self.other[value] if self.by_output else (self.size - 1) * self.other[value]
            if self.truth[value] + others != NUMBER or self.other[value] < 0:
                return f"the weights of value number {value} do not sum to 2^53"
        return None


@dataclass(frozen=True)
class Bits(Table):
    """One bit per value or item, each drawn on its own: a 1 with weight `raised`, or `kept` where the truth is 1."""

    size: int
    kept: tuple[int, ...]
    raised: tuple[int, ...]

    @property
    def kinds(self) -> list[int]:
        """Two values of each pair of weights."""
        return _two_of_each(self.kept, self.raised)

    def one(self, value: int, bit: int) -> int:
        """2³² times the probability that this bit is 1, where the value is one of the bits."""
        return self.kept[bit] if value == bit else self.raised[bit]

    def odds(self, one: int, other: Table, two: int) -> list[Ratio]:
        """Multiply over the bits: each speaks as much as it can."""
        assert isinstance(other, Bits)  # noqa: S101
        if other is self:
            first, second = (bit_odds(self.one(one, bit), self.one(two, bit)) for bit in (one, two))
            return [(first[0] * second[0], first[1] * second[1], 1)]
        found = Counter((self.one(one, bit), other.one(two, bit)) for bit in range(self.size))
        return [(*bit_odds(*pair)[:2], count) for pair, count in found.items()]


@dataclass(frozen=True)
class Sets(Bits):
    """One bit per item of a set."""

    limits: SetLimits = field(default=SetLimits(), kw_only=True)

    def item_odds(self, item: int) -> Ratio:
        """What a report tells about the presence of one item of a set, for it and against it, the larger."""
        return larger(bit_odds(self.kept[item], self.raised[item]), bit_odds(self.raised[item], self.kept[item]))

    def limited(self, limits: SetLimits) -> Table:
        """The same bits, of sets within limits."""
        return replace(self, limits=limits)

    def level_odds(self, other: Table, *, values: bool) -> set[tuple[Ratio, ...]]:
        """Multiply over items; the two sets, or the one, have those with which a report speaks for them most."""
        assert isinstance(other, Sets)  # noqa: S101
        items = [_bit_states(*both, values=values) for both in zip(self.weights, other.weights, strict=True)]
        proof = next((odds for states in items for odds in states.values() if not odds[1]), None)
        if proof is not None:  # any item may be the only one of a set
            return {(proof,)}

        def gains(state: tuple[bool, bool]) -> list[int]:
            return [scaled_logarithm(_over(states.get(state, states[NEITHER]), states[NEITHER])) for states in items]

        if values:
            one, two = map(set, self.limits.best_pair(gains((True, False)), gains((False, True))))
        else:
            one = two = set(self.limits.best_set(gains((True, True))))
        found = Counter(states[item in one, item in two] for item, states in enumerate(items))
        return {tuple((more, less, count) for (more, less, _), count in found.items())}

    @property
    def weights(self) -> list[tuple[int, int]]:
        """2³² times the probability that the bit of each item is 1, where a set lacks it and where it has it."""
        return list(zip(self.raised, self.kept, strict=True))

    def side_odds(self, item: int) -> tuple[Ratio, Ratio]:
        """What a 1 tells for the presence of an item, and a 0 for its absence."""
        kept, raised = self.kept[item], self.raised[item]
        return (kept, raised, 1), (BIT - raised, BIT - kept, 1)

    def plain(self) -> list[Ratio]:
        """What a report tells between a set and the set of all other items."""
        return [self.item_odds(item) for item in range(self.size)]


@dataclass(frozen=True)
class Subset(Alike):
    """`chosen` of the values, the true one among them with weight `inside`, all others alike."""

    size: int
    chosen: int
    inside: int

    def weights(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """How likely is one set with the value, and one without, as a fraction of what both sorts share."""
        return (self.inside * (self.size - self.chosen), NUMBER * self.chosen), (NUMBER - self.inside, NUMBER)

    def odds(self, one: int, other: Table, two: int) -> list[Ratio]:
        """Sets have the values or not; the numbers that pick the other values are not quite uniform."""
        assert isinstance(other, Subset)  # noqa: S101
        pairs = list(product(self.weights(), other.weights()))
        same = [pairs[0], pairs[3]]
        ratios = ((a * d, b * c, 1) for (a, b), (c, d) in (same if one == two else pairs))
        least = NUMBER // (self.size - 1)  # random numbers of one of the other values; of another, one more
        return [reduce(larger, ratios), (least + 2 * self.chosen, least, 1)]

    def plain(self) -> list[Ratio]:
        """Any two values are like any other two."""
        return self.odds(0, self, 1)

    def check(self) -> str | None:
        """A set has the true value more often than chance, and not always."""
        fits = 0 < self.chosen < self.size and self.chosen * NUMBER < self.size * self.inside < self.size * NUMBER
        return None if fits else "the weights are none of sets that favour the true value"


@dataclass(frozen=True)
class Tiers(Table):
    """A value, named as by IPRR, among others with the same two integers, so many in all."""

    size: int
    chosen: tuple[int, ...]
    other: tuple[int, ...]
    by_output = True

    @cached_property
    def kept(self) -> int:
        """The weight of naming the truth on purpose."""
        return NUMBER - sum(self.other)

    @cached_property
    def kinds(self) -> list[int]:
        """Two values of each tier."""
        return _two_of_each(self.chosen, self.other)

    def tier(self, value: int) -> list[int]:
        """The values that hide among each other, one of which is this."""
        own = (self.chosen[value], self.other[value])
        return [place for place, pair in enumerate(zip(self.chosen, self.other, strict=True)) if pair == own]

    def column(self, value: int) -> Ratio:
        """What seeing a set with this value tells; the numbers that pick the other values are not quite uniform."""
        noise = self.chosen[value] * self.other[value]
        least = NUMBER // max(1, self.count[self.chosen[value], self.other[value]] - 1)
        return (self.kept + noise) * (least + 2 * self.chosen[value] - 2), noise * least, 1

    @cached_property
    def count(self) -> Counter[tuple[int, int]]:
        """How many values each tier has."""
        return Counter(zip(self.chosen, self.other, strict=True))

    def odds(self, one: int, other: Table, two: int) -> list[Ratio]:
        """A set with the one value and not the other; without both it tells nothing, unless the levels differ."""
        if other is self:
            return [self.column(one)] if one != two else [(1, 1, 1)]
        assert isinstance(other, Tiers)  # noqa: S101
        if self.chosen != other.chosen:
            raise AuditError("sets of different sizes show the level")
        ratios = []
        for value in range(self.size):
            noise, again = (each.chosen[value] * each.other[value] for each in (self, other))
            least = NUMBER // max(1, self.count[self.chosen[value], self.other[value]] - 1)
            uneven = least + 2 * self.chosen[value] - 2
            ratios.append((noise, again, 1))  # a set of this value's tier, without both
            if value == one:
                ratios.append(((self.kept + noise) * uneven, (again + other.kept * (one == two)) * least, 1))
        return [reduce(larger, (ratio for ratio in ratios if ratio[0]), (1, 1, 1))]

    def check(self) -> str | None:
        """Weights must leave the truth something, and sets must leave out some value of their tier."""
        fits = len(self.chosen) == len(self.other) == self.size and min(self.other) >= 0 < self.kept < NUMBER
        sets = all(chosen == 1 or (1 < chosen < count and other) for (chosen, other), count in self.count.items())
        return None if fits and sets else "the weights are none of sets that favour the true value"


@dataclass(frozen=True)
class Hashed(Alike):
    """A random linear function, public in the output, and k-RR among its buckets; some function tells any two apart."""

    size: int
    buckets: Response

    @property
    def index_bytes(self) -> int:
        """Random bytes that pick the function."""
        return 16

    def odds(self, one: int, other: Table, two: int) -> list[Ratio]:
        """The function does not depend on the value; the buckets of two values are equal or any two."""
        assert isinstance(other, Hashed)  # noqa: S101
        count = range(self.buckets.size)
        pairs = [(a, b) for a, b in product(count, count) if a == b or one != two]
        return [reduce(larger, (self.buckets.odds(a, other.buckets, b)[0] for a, b in pairs))]


@dataclass(frozen=True)
class Blocks(Alike):
    """A block of values: with weight `truth` of 2⁵³ one that contains the value, else another; 128 bits pick which."""

    size: int
    truth: int
    blocks: int
    own: int
    contains: Contains

    def odds(self, one: int, other: Table, two: int) -> list[Ratio]:
        """A block that contains one value and not the other; of one value, any block, which has one number in both."""
        assert isinstance(other, Blocks)  # noqa: S101
        if one == two:
            return [larger((self.truth, other.truth, 1), (NUMBER - self.truth, NUMBER - other.truth, 1))]
        most = self.truth * -(-INDEX // self.own)
        return [(most, (NUMBER - other.truth) * (INDEX // (other.blocks - other.own)), 1)]

    def check(self) -> str | None:
        """Blocks with the value must be the more likely ones."""
        if 0 < self.truth < NUMBER and self.truth * (self.blocks - self.own) > (NUMBER - self.truth) * self.own:
            return None
        return "blocks that contain the value are not more likely than others"


def bit_odds(one: int, two: int) -> Ratio:
    """The larger ratio of a bit that is 1 with these two weights."""
    return larger((one, two, 1), (BIT - one, BIT - two, 1))


def _bit_states(own: Sequence[int], others: Sequence[int], *, values: bool) -> dict[tuple[bool, bool], Ratio]:
    """What a bit tells, by whether the first set and the second have its item; `own` has its weight if absent first."""
    # A bit that is never perturbed has no protection: sets are compared that agree in it.
    differ = values and not (own == others == (0, BIT))
    states = ((one, two) for one in (False, True) for two in (False, True) if one == two or differ)
    return {(one, two): _possible_odds(own[one], others[two]) for one, two in states}


def _possible_odds(one: int, two: int) -> Ratio:
    """The larger ratio over the bits that can come."""
    return reduce(larger, (odds for odds in ((one, two, 1), (BIT - one, BIT - two, 1)) if odds[0]))


def _over(one: Ratio, two: Ratio) -> Fraction:
    return Fraction(one[0] * two[1], one[1] * two[0])


def larger(first: Ratio, second: Ratio) -> Ratio:
    """The larger of two ratios."""
    return first if first[0] * second[1] >= second[0] * first[1] else second


def _two_of_each(truth: Sequence[int], other: Sequence[int]) -> list[int]:
    """Two values of each pair of weights, where there are two, and the first and the last value."""
    seen, found = Counter[tuple[int, int]](), {0, len(truth) - 1}
    for value, pair in enumerate(zip(truth, other, strict=True)):
        seen[pair] += 1
        if seen[pair] <= 2:
            found.add(value)
    return sorted(found)
