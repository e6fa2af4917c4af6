"""Two values of a channel side by side: outputs in classes, as a crowd of reports in random order hides them.

An observer of a shuffled batch looks for one person's report among those of others. All outputs that speak in the same
way for one value against another, and are as likely for whatever else others answer, are one *class*. The *blanket* of
an output is its smallest probability over all values: so much of everybody's report does not depend on the answer.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

Pattern = tuple[bool, bool, bool]
"""Whether an output contains the one value, the other one, and a third."""

_BOTH = (False, True)
PATTERNS: tuple[Pattern, ...] = tuple(product(_BOTH, _BOTH, _BOTH))
"""All of them."""


class Contrast(NamedTuple):
    """Probabilities of the classes of outputs, each adding up to 1, except that of the blanket."""

    one: tuple[Fraction, ...]  #: If the person has the one value.
    two: tuple[Fraction, ...]  #: If the person has the other value.
    third: tuple[Fraction, ...]  #: If another person has a third value; `two` again where there is none.
    blanket: tuple[Fraction, ...]  #: At least so much, whatever value a person has.
    common: bool = True  #: Whether channels of one form have the same blanket but for its size.
    slack: Fraction = Fraction(0)  #: How far true probabilities are from these at most: a factor 1 ± slack.
    aligned: bool = False  #: Whether channels of one form have the same classes in the same order.
    loose: bool = (
        False  #: Whether only the two columns by themselves bound all pairs of values, not how they go together.
    )


def two_level(
    measure: Mapping[Pattern, Fraction],
    inside: Fraction,
    outside: Fraction,
    *,
    third: bool = True,
    common: bool = True,
    slack: Fraction = Fraction(0),
) -> Contrast:
    """Contrast two values of a channel whose outputs are `inside` times a measure if they contain the value.

    Others are `outside` times the measure, which is the blanket. Pairs of values that more outputs have both of are no
    easier to tell apart: take `measure` of those that the fewest have both of.
    """
    kept = {pattern: weight for pattern, weight in measure.items() if weight}
    columns = [
        tuple(weight * (inside if pattern[place] else outside) for pattern, weight in kept.items())
        for place in range(3)
    ]
    blanket = tuple(weight * outside for weight in kept.values())
    return Contrast(columns[0], columns[1], columns[2 if third else 1], blanket, common, slack, aligned=True)


def independent(chance: Fraction) -> dict[Pattern, Fraction]:
    """Outputs contain each value with this chance, whatever else they contain."""
    ways = {True: chance, False: 1 - chance}
    return {pattern: math.prod((ways[each] for each in pattern), start=Fraction(1)) for pattern in PATTERNS}


def of_subsets(size: int, chosen: int) -> dict[Pattern, Fraction]:
    """Outputs are the subsets of so many values, all equally likely.

    >>> of_subsets(4, 1)[True, False, False], of_subsets(4, 1)[True, True, False]
    (Fraction(1, 4), Fraction(0, 1))
    """
    named = min(3, size)
    every = math.comb(size, chosen)
    return {
        pattern: Fraction(math.comb(size - named, chosen - sum(pattern)), every)
        if sum(pattern) <= chosen and not any(pattern[named:])
        else Fraction(0)
        for pattern in PATTERNS
    }


def of_counts(every: int, avoiding: Callable[[Pattern], int]) -> dict[Pattern, Fraction]:
    """Outputs are equally likely; `avoiding` says how many contain none of the marked values."""
    found = {}
    for pattern in PATTERNS:
        outside = [place for place in range(3) if not pattern[place]]
        inside = [place for place in range(3) if pattern[place]]
        total = 0
        for marks in product((False, True), repeat=len(inside)):
            avoided = {*outside, *(place for place, mark in zip(inside, marks, strict=True) if mark)}
            total += (-1) ** sum(marks) * avoiding((0 in avoided, 1 in avoided, 2 in avoided))
        found[pattern] = Fraction(total, every)
    return found


def mixed(parts: Iterable[tuple[Fraction, Mapping[Pattern, Fraction]]]) -> dict[Pattern, Fraction]:
    """Mix measures."""
    found = dict.fromkeys(PATTERNS, Fraction(0))
    for weight, measure in parts:
        for pattern, mass in measure.items():
            found[pattern] += weight * mass
    return found


def grouped(same: tuple[int, int, int], groups: int, named: int) -> dict[Pattern, Fraction]:
    """Outputs name so many of the groups, all choices equally likely; the three values stand in these groups."""
    every = math.comb(groups, named)

    def avoiding(marked: Pattern) -> int:
        return math.comb(groups - len({group for group, mark in zip(same, marked, strict=True) if mark}), named)

    return of_counts(every, avoiding)


class Hiding(NamedTuple):
    """Values that hide among each other: `chosen` of them make an output; `weight` is what each has by chance."""

    chosen: int
    weight: int
    size: int


def hidden_among(
    tiers: Sequence[Hiding],
    places: tuple[tuple[int, int], tuple[int, int], tuple[int, int]],
    kept: int,
    total: int,
    *,
    slack: Fraction = Fraction(0),
) -> Contrast:
    """Contrast values of such tiers, each given by its tier and its rank there; outputs with a value weigh `kept` more.

    The third may be the second again.
    """
    columns: list[list[Fraction]] = [[], [], [], []]
    for number, (chosen, weight, size) in enumerate(tiers):
        ranks = sorted({rank for tier, rank in places if tier == number})
        every = math.comb(size, chosen)
        mass = Fraction(weight * size, total)
        for ones in product((False, True), repeat=len(ranks)):
            if not 0 <= chosen - sum(ones) <= size - len(ranks):
                continue
            part = Fraction(math.comb(size - len(ranks), chosen - sum(ones)), every)
            held = {(number, rank) for rank, one in zip(ranks, ones, strict=True) if one}
            for column, place in zip(columns, places, strict=False):
                column.append(part * mass + part * Fraction(kept * size, total * chosen) * (place in held))
            columns[3].append(part * mass)
    one, two, third, blanket = map(tuple, columns)
    return Contrast(one, two, third, blanket, common=False, slack=slack)
