"""Subsets by number: a subset of so many places is its rank among all of them, and ranks are drawn uniformly.

The rank of the places a < b < c … is C(a, 1) + C(b, 2) + C(c, 3) + …: subsets are ordered by their largest place, then
by the next one.
"""

import math
from fractions import Fraction
from typing import Final

SPARE_BYTES: Final = 16
"""Random bytes beyond those that a rank needs: every rank is as likely as any other to within a factor 1 + 2⁻¹²⁸."""


def rank_bytes(count: int) -> int:
    """Return how many random bytes pick a rank below a count."""
    return SPARE_BYTES + (count.bit_length() + 7) // 8


def rank_of(noise: bytes, count: int) -> int:
    """Return the rank below a count that random bytes pick: ⌊noise·count/2^bits⌋."""
    return int.from_bytes(noise, "little") * count >> 8 * len(noise)


def rank_probability(rank: int, count: int) -> Fraction:
    """Return the exact probability of a rank below a count, picked with `rank_bytes(count)` random bytes.

    >>> rank_probability(0, 4), float(rank_probability(2, 3))
    (Fraction(1, 4), 0.3333333333333333)
    """
    numbers = 1 << 8 * rank_bytes(count)
    return Fraction(-(-(rank + 1) * numbers // count) + (-rank * numbers // count), numbers)


def places_of_rank(rank: int, size: int, chosen: int) -> list[int]:
    """Return the places of the subset with this rank, rising, of so many chosen among `size`.

    >>> [places_of_rank(rank, 4, 2) for rank in range(6)]
    [[0, 1], [0, 2], [1, 2], [0, 3], [1, 3], [2, 3]]
    """
    places = []
    below = math.comb(size - 1, chosen)  # subsets without the place
    for place in range(size - 1, -1, -1):
        if not chosen:
            break
        taken = rank >= below
        if taken:
            places.append(place)
            rank -= below
        below = below * (chosen if taken else place - chosen) // place if place else 0
        chosen -= taken
    return places[::-1]
