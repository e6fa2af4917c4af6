"""What the published integers say of channels with one budget for a whole set of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import comb
from typing import Any

from pldp.auditing.tables import NUMBER, Hashed, Ratio, Response, Table, larger


@dataclass(frozen=True)
class Picked(Hashed):
    """Some items that are picked at random, public in the output, and k-RR among all answers that they can have."""

    boxes: int
    picks: int

    @property
    def index_bytes(self) -> int:
        """Random bytes that pick them."""
        return rank_bytes(self.picks)

    @property
    def kinds(self) -> list[int]:
        """The empty set and the set of all items: every answer differs."""
        return [0, (1 << self.size) - 1]

    def odds(self, one: int, other: Table, two: int) -> list[Ratio]:
        """The pick does not depend on the set; some pick has an item in which two sets differ."""
        assert isinstance(other, Picked)  # noqa: S101
        return self.buckets.odds(0, other.buckets, int(one != two))

    def check(self) -> str | None:
        """The weights of answers must sum to 2⁵³."""
        if not 0 < self.boxes <= self.size or self.picks not in {self.size, comb(self.size, self.boxes)}:
            return "boxes and picks are not those of some of the items"
        return self.buckets.check()


@dataclass(frozen=True)
class Meeting(Table):
    """A subset of `chosen` places, uniform among those that meet a set of `at_most` members, or among the others."""

    size: int
    at_most: int
    chosen: int
    meets: int

    @property
    def missing(self) -> int:
        """Subsets that have no member of a given set."""
        return comb(self.size, self.chosen)

    @property
    def meeting(self) -> int:
        """Subsets that have one or more."""
        return comb(self.size + self.at_most, self.chosen) - self.missing

    @property
    def kinds(self) -> list[int]:
        """Any two sets: some subset meets one and not the other."""
        return [0, 1]

    def values(self) -> Sequence[int]:
        """Two are like any two."""
        return self.kinds

    def odds(self, one: int, other: Table, two: int) -> list[Ratio]:
        """How much likelier a subset is under the set that it meets, or under the one that it does not."""
        assert isinstance(other, Meeting)  # noqa: S101
        own, others = self.weights, other.weights
        if one == two:  # of one set both levels draw ranks alike
            return [reduce(larger, ((own[each], others[each], 1) for each in (0, 1)))]
        return [reduce(larger, ((mine, theirs, 1) for mine in own for theirs in others))]

    @property
    def weights(self) -> tuple[int, int]:
        """How likely is one subset that meets a set, and one that does not, up to what all levels have alike."""
        return self.meets * self.missing, (NUMBER - self.meets) * self.meeting

    def check(self) -> str | None:
        """There must be subsets of both kinds."""
        inside = 0 < self.chosen <= self.size and 0 < self.at_most <= self.size and 0 < self.meets < NUMBER
        return None if inside else "chosen, at_most and meets are not those of subsets of the items"


def rank_bytes(count: int) -> int:
    """Random bytes that pick one of so many: 16 more than it has."""
    return 16 + (count.bit_length() + 7) // 8


def picked(size: int, answers: Response, weights: Mapping[str, Any]) -> Picked:
    """Read the integers of sampled boxes."""
    return Picked(size, answers, weights["boxes"], weights["picks"])


def meeting(size: int, weights: Mapping[str, Any]) -> Meeting:
    """Read the integers of PrivSet."""
    return Meeting(size, weights["at_most"], weights["chosen"], weights["meets"])
