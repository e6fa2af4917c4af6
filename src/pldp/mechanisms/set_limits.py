"""Which sets of items may be answered, and which of them gain most: exact, in time that hardly grows with the items.

What a report tells between two sets is a sum over items: an item that only the first set has adds its gain, one that
only the second has adds its loss, and of an item that both have nothing is gained that neither would not gain as well.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

N = TypeVar("N", float, Fraction)

Places = tuple[int, ...]  #: Items of a set.


@dataclass(frozen=True)
class SetLimits:
    """Sets of at most so many items, in which an exclusive item is the only one; by default any set.

    >>> SetLimits(at_most=1).best_pair([3, 5, 4], [3, 5, 1])              # two sets that differ in two items
    ((2,), (1,))
    >>> SetLimits(exclusive=frozenset({1})).best_pair([3, 5, 4], [3, 5, 4])
    ((1,), (2, 0))
    """

    at_most: int | None = None
    exclusive: frozenset[int] = frozenset()

    def best_set(self, gains: Sequence[N]) -> Places:
        """Return the set whose items gain most together."""
        shared, alone = self._parts(gains)
        return max(_largest(shared, gains, self.at_most), _largest(alone, gains, 1), key=lambda each: _sum(each, gains))

    def best_pair(self, gains: Sequence[N], losses: Sequence[N]) -> tuple[Places, Places]:
        """Return the two sets without a common item whose gains and losses are most together."""
        (shared, alone), most = self._parts(gains), self.at_most
        pairs = (
            _best_split(shared, gains, losses, most),
            _best_split(alone, gains, losses, 1),
            (_largest(alone, gains, 1), _largest(shared, losses, most)),
            (_largest(shared, gains, most), _largest(alone, losses, 1)),
        )
        return max(pairs, key=lambda pair: _sum(pair[0], gains) + _sum(pair[1], losses))

    def largest_difference(self, gains: Sequence[N], losses: Sequence[N]) -> N | int:
        """Return the most that two sets differ by."""
        one, two = self.best_pair(gains, losses)
        return _sum(one, gains) + _sum(two, losses)

    def _parts(self, gains: Sequence[N]) -> tuple[list[int], list[int]]:
        """Return the items that may be together with others, and the exclusive ones."""
        places = range(len(gains))
        return [each for each in places if each not in self.exclusive], [
            each for each in places if each in self.exclusive
        ]


def _sum(places: Places, gains: Sequence[N]) -> N | int:
    return sum(gains[place] for place in places)


def _largest(places: Sequence[int], gains: Sequence[N], most: int | None) -> Places:
    """Return the items that gain most, and anything at all."""
    return tuple(
        sorted((each for each in places if gains[each] > 0), key=lambda each: gains[each], reverse=True)[:most]
    )


def _best_split(
    places: Sequence[int], gains: Sequence[N], losses: Sequence[N], most: int | None
) -> tuple[Places, Places]:
    """Return two sets of at most so many items each that share none.

    In the order of gain less loss, the items of the first set come before those of the second: an item of each in the
    other order could be exchanged. So one of the places between two items parts the best two sets.
    """
    order = sorted(places, key=lambda each: losses[each] - gains[each])
    before = _running(order, gains, most)
    after = _running(order[::-1], losses, most)[::-1]
    split = max(range(len(order) + 1), key=lambda count: before[count] + after[count])
    return _largest(order[:split], gains, most), _largest(order[split:], losses, most)


def _running(order: Sequence[int], gains: Sequence[N], most: int | None) -> list[N | int]:
    """Return for the first 0, 1, 2, … items the most that so many of them gain."""
    kept: list[N] = []
    total: N | int = 0
    sums: list[N | int] = [0]
    for place in order:
        if gains[place] > 0:
            heapq.heappush(kept, gains[place])
            total += gains[place]
            if most is not None and len(kept) > most:
                total -= heapq.heappop(kept)
        sums.append(total)
    return sums
