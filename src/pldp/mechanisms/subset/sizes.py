"""How many values of each tier make a set, and which budgets share a tier: the least variance at equal shares.

A tier of s values, sets of d and budget ε has r = s/d/(e^ε−1) and 1/S = 1 + Σ r. Of one report, the variances of all
k shares at 1/k sum to

    V = 1/S · Σ (s/k + r)·h − Σ s·(1/k + r/s)²,        h = (1 + d(s−2))/(s−d), and 1 for d = 1.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from pldp.mechanisms.output import TOTAL

MOST_JOINED: Final = 16
"""Different budgets up to which it is tried to put several into one tier."""

JOINED_WITHIN: Final = 2
"""Ratio of two budgets up to which they may share a tier: beyond, the larger one loses more than both gain."""

LEAST_GAIN: Final = 1e-9
"""Part of the variance that must be gained: rounding must not decide."""

SLACK: Final = 4000
"""Sets are so small that drawing them costs at most 1/1000 of ε (see `slack`)."""

Parts = tuple[float, float, float]
"""What a tier adds to the sums of V."""


@dataclass(frozen=True)
class Design:
    """A tier: its budgets, of which it keeps the first and smallest, its number of values, and the size of its sets."""

    budgets: tuple[float, ...]
    count: int
    chosen: int = 1

    @property
    def most(self) -> int:
        """Return the size of the largest sets that are tried."""
        if self.budgets[0] == math.inf:
            return 1
        return max(1, min(self.count - 1, int(self.budgets[0] * TOTAL / (SLACK * self.count))))

    @property
    def alone(self) -> int:
        """Return a size near the best one of a tier that has all values."""
        return 1 if self.most == 1 else min(self.most, 1 + int(self.count / (math.exp(self.budgets[0]) + 1)))

    def parts(self, size: int, chosen: int) -> Parts:
        """Return r, (s/k + r)·h and s·(1/k + r/s)² with sets of a given size."""
        noise = self.count / chosen / math.expm1(self.budgets[0]) if self.budgets[0] < math.inf else 0.0
        named = self.count / size + noise
        spread = (1 + chosen * (self.count - 2)) / (self.count - chosen) if chosen > 1 else 1.0
        return noise, named * spread, named * named / self.count


def summed_variance(tiers: Sequence[Design]) -> float:
    """Return V.

    >>> round(summed_variance([Design((1.0,), 10)]), 2), round(summed_variance([Design((1.0,), 10, 3)]), 2)
    (41.86, 30.0)
    """
    return _variance(_sums(tiers, sum(each.count for each in tiers)), (0.0, 0.0, 0.0))


def _sums(tiers: Iterable[Design], size: int) -> Parts:
    first, second, third = zip((0.0, 0.0, 0.0), *(each.parts(size, each.chosen) for each in tiers), strict=True)
    return sum(first), sum(second), sum(third)


def _variance(some: Parts, more: Parts) -> float:
    return (1 + some[0] + more[0]) * (some[1] + more[1]) - some[2] - more[2]


def best_designs(levels: Sequence[tuple[float, int]]) -> list[Design]:
    """Return the tiers of least variance of budgets, smallest first, each with its number of values.

    Neighbouring budgets are put together as long as that helps. The result is the same every time.

    >>> for tier in best_designs([(0.5, 8), (0.55, 8), (3.0, 16)]):
    ...     print(tier)
    Design(budgets=(0.5, 0.55), count=16, chosen=6)
    Design(budgets=(3.0,), count=16, chosen=3)
    """
    best, least = _with_best_sizes([Design((epsilon,), count) for epsilon, count in levels])
    while len(best) <= MOST_JOINED:
        pairs = combinations(range(len(best)), 2)
        runs = [run for run in pairs if best[run[1]].budgets[-1] <= JOINED_WITHIN * best[run[0]].budgets[0]]
        tried = [_with_best_sizes(_joined(best, *run)) for run in runs]
        tiers, variance = min(tried, key=lambda each: each[1], default=(best, least))
        if variance >= (1 - LEAST_GAIN) * least:
            break
        best, least = tiers, variance
    return best


def _joined(tiers: Sequence[Design], first: int, last: int) -> list[Design]:
    """Put neighbours into one tier."""
    run = tiers[first : last + 1]
    budgets = tuple(epsilon for each in run for epsilon in each.budgets)
    return [*tiers[:first], Design(budgets, sum(each.count for each in run)), *tiers[last + 1 :]]


def _with_best_sizes(tiers: Sequence[Design]) -> tuple[list[Design], float]:
    """Choose the sizes of all sets: the better of what two starts lead to, single values and `alone`."""
    starts = ([replace(each, chosen=1) for each in tiers], [replace(each, chosen=each.alone) for each in tiers])
    return min(map(_descend, starts), key=lambda each: each[1])


def _descend(tiers: list[Design]) -> tuple[list[Design], float]:
    """Improve the sizes of sets one by one, until none can be improved."""
    least = summed_variance(tiers)
    while True:
        for place, own in enumerate(tiers):
            tiers[place] = replace(own, chosen=_best_size(tiers, place))
        before, least = least, summed_variance(tiers)
        if least >= (1 - LEAST_GAIN) * before:
            return tiers, least


def _best_size(tiers: Sequence[Design], place: int) -> int:
    """Return the best size of the sets of one tier, found in steps that get smaller: it has one minimum."""
    own, size = tiers[place], sum(each.count for each in tiers)
    others = _sums((each for each in tiers if each is not own), size)
    chosen, step = own.chosen, own.most // 2
    least = _variance(others, own.parts(size, chosen))
    while step:
        sizes = (max(1, chosen - step), min(own.most, chosen + step))
        variance, nearest = min((_variance(others, own.parts(size, each)), each) for each in sizes)
        if variance < (1 - LEAST_GAIN) * least:
            chosen, least = nearest, variance
        else:
            step //= 2
    return chosen
