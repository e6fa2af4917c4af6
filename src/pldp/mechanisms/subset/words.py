"""Random sets of one size for many people.

A word of independent random bits with w ones is a uniformly random set of w places. So words are drawn, sorted by their
number of ones, and handed out to those who need as many; how many ones fall into which word of a longer row is drawn
first. Sets are drawn from the k−1 other values, as if the true one stood last; then the two change places.
"""

from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from pldp.mechanisms.rows import ByteArray, FloatArray, IntArray, WordArray, popcount

WORD: Final = 64
PIECE: Final = 16
"""All words of so many bits are listed."""

GUIDES: Final = 64
"""Entries of a guide into a distribution function."""

DIGITS: Final = 4
"""Binary digits of the density of random words: any will do that makes words of the wanted weights likely."""

_WORDS_AT_ONCE: Final = 1 << 16


def draw_words(values: npt.NDArray[Any], size: int, chosen: int, truth: Any, generator: Generator) -> ByteArray:
    """Return one packed row of so many ones per person; `truth` has the weight of the true value's bit."""
    length, words = (size + 7) // 8, -(-size // WORD)
    rows = np.empty((len(values), length), np.uint8)
    step = max(1, _WORDS_AT_ONCE // words)
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        own = values[part]
        inside = (generator.bit_generator.random_raw(len(own)) >> np.uint64(11)) < np.asarray(truth(part), np.uint64)
        bits: npt.NDArray[Any]
        if size <= PIECE + 1:
            bits = _short(own, size, chosen, inside, generator)
        else:
            bits = _swapped(_others(chosen - inside, size, generator), own, size, inside)
        rows[part] = bits.view(np.uint8).reshape(len(own), -1)[:, :length]
    return rows


@lru_cache(maxsize=64)
def _by_weight(places: int) -> tuple[npt.NDArray[np.uint32], IntArray, WordArray]:
    """Return all words of so many bits by their number of ones, where each number starts, and how many there are."""
    every = np.arange(1 << places, dtype=np.uint32)
    counts = np.bincount(popcount(every), minlength=places + 1)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return every[np.argsort(popcount(every), kind="stable")], starts, counts.astype(np.uint64)


def _listed(ones: IntArray, places: int, generator: Generator) -> npt.NDArray[np.uint32]:
    """Return a random word with so many ones among so few places that all are listed."""
    table, starts, counts = _by_weight(places)
    drawn = (generator.bit_generator.random_raw(len(ones)) >> np.uint64(16)) * counts[ones] >> np.uint64(48)
    return table[starts[ones] + drawn.astype(np.int64)]


def _short(
    values: npt.NDArray[Any], size: int, chosen: int, inside: npt.NDArray[np.bool_], generator: Generator
) -> npt.NDArray[np.uint32]:
    """Look up a random word of the other values, and let in the bit of the true one."""
    bits = _listed(chosen - inside.astype(np.int64), size - 1, generator)
    place = values.astype(np.uint32)
    below = bits & (np.left_shift(np.uint32(1), place) - np.uint32(1))
    return np.asarray(below | (bits ^ below) << np.uint32(1) | inside.astype(np.uint32) << place)


def _others(ones: npt.NDArray[Any], size: int, generator: Generator) -> WordArray:
    """Return rows of words with so many ones among the first size − 1 places."""
    places = size - 1
    words, last = -(-places // WORD), (places - 1) % WORD + 1
    rows = np.zeros((len(ones), -(-size // WORD)), np.uint64)
    left = ones.astype(np.int64)
    if words > 1:
        counts = np.empty((len(ones), words - 1), np.uint8)
        for word in range(words - 1):
            counts[:, word] = _split(left, WORD, places - WORD * word, generator)
            left -= counts[:, word]
        rows[:, : words - 1] = _words(counts.ravel(), generator).reshape(len(ones), -1)
    rows[:, words - 1] = _in_pieces(left, last, generator)
    return rows


def _split(left: IntArray, first: int, places: int, generator: Generator) -> IntArray:
    """Draw how many of the ones that are left fall into the first ones of so many places: hypergeometric."""
    ends, guide = _split_ends(first, places, min(int(left.max(initial=0)), places))
    drawn = generator.random(len(left))
    cell = guide[left * GUIDES + (drawn * GUIDES).astype(np.int64)]
    late = np.flatnonzero(drawn >= ends[cell])
    while len(late):
        cell[late] += 1
        late = late[drawn[late] >= ends[cell[late]]]
    return np.asarray(cell - left * (first + 1))


@lru_cache(maxsize=256)
def _split_ends(first: int, places: int, most: int) -> tuple[FloatArray, IntArray]:
    """Return the distribution functions for each number of ones r = 0 … most, end to end, and where to begin to look.

    Entry r·GUIDES + g of the guide is the place of the first end above g/GUIDES.
    """
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, places + 1)))])
    ones, inside = np.arange(most + 1)[:, None], np.arange(first + 1)[None, :]
    rest = places - first
    fits = (inside <= ones) & (ones - inside <= rest)
    beyond = np.where(fits, ones - inside, 0)
    log_chance = logs[first] - logs[inside] - logs[first - inside] + logs[rest] - logs[beyond] - logs[rest - beyond]
    chance = np.where(fits, np.exp(log_chance - (logs[places] - logs[ones] - logs[places - ones])), 0.0)
    ends = np.cumsum(chance, axis=1)
    ends = np.where(ends >= ends[:, -1:], 1.0, ends / ends[:, -1:])
    guide = np.searchsorted((ones + ends).ravel(), np.arange((most + 1) * GUIDES) / GUIDES, side="right")
    return ends.ravel(), guide


def _words(ones: ByteArray, generator: Generator) -> WordArray:
    """Return one random word per entry, with so many ones: words of random bits, handed out by their weight."""
    pool = _random_words(float(ones.mean()) / WORD, len(ones) + len(ones) // 8, generator)
    found = popcount(pool)
    by_need, by_found = np.argsort(ones, kind="stable"), np.argsort(found, kind="stable")
    need_counts, found_counts = np.bincount(ones, minlength=WORD + 1), np.bincount(found, minlength=WORD + 1)
    starts = np.cumsum(found_counts) - found_counts
    made = np.empty(len(ones), np.uint64)
    late = []
    first = 0
    for weight in np.flatnonzero(need_counts).tolist():
        needed, served = int(need_counts[weight]), min(int(need_counts[weight]), int(found_counts[weight]))
        made[by_need[first : first + served]] = pool[by_found[starts[weight] : starts[weight] + served]]
        late.append(by_need[first + served : first + needed])
        first += needed
    left = np.concatenate(late)
    made[left] = _in_pieces(ones[left].astype(np.int64), WORD, generator)
    return made


def _random_words(density: float, count: int, generator: Generator) -> WordArray:
    """Return words whose bits are 1 with about this probability, to the nearest of a few binary digits."""
    parts = min(max(round(density * 2**DIGITS), 1), 2**DIGITS - 1)
    words = np.zeros(count, np.uint64)
    for digit in range(DIGITS):  # each digit adds itself to what the lower ones made, and halves both
        if parts >> digit & 1:
            words |= generator.bit_generator.random_raw(count)
        elif parts & ((1 << digit) - 1):
            words &= generator.bit_generator.random_raw(count)
    return words


def _in_pieces(ones: IntArray, places: int, generator: Generator) -> WordArray:
    """Return the same, with so many ones among the lowest places, piece by piece from lists of all short words."""
    made = np.zeros(len(ones), np.uint64)
    left = ones
    for start in range(0, places, PIECE):
        rest = places - start
        here = left if rest <= PIECE else _split(left, PIECE, rest, generator)
        left = left - here
        made |= _listed(here, min(PIECE, rest), generator).astype(np.uint64) << np.uint64(start)
    return made


def _swapped(rows: WordArray, values: npt.NDArray[Any], size: int, inside: npt.NDArray[np.bool_]) -> WordArray:
    """Move the bit at each person's value to the last place, and put the true value's bit in its stead."""
    people, word = np.arange(len(values)), values >> 6
    shift = (values & 63).astype(np.uint64)
    taken = rows[people, word] >> shift & np.uint64(1)
    rows[:, (size - 1) // WORD] |= taken << np.uint64((size - 1) % WORD)  # it is 0 until now
    one = np.uint64(1)
    rows[people, word] = rows[people, word] & ~(one << shift) | inside.astype(np.uint64) << shift
    return rows


def draw_places(
    values: npt.NDArray[Any], size: int, chosen: int, truth: Any, generator: Generator, width: int
) -> ByteArray:
    """Return the places of so many ones per person, rising, in so many bytes each."""
    rows = np.empty((len(values), chosen * width), np.uint8)
    step = max(1, _WORDS_AT_ONCE // chosen)
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        own = values[part].astype(np.int64)
        inside = (generator.bit_generator.random_raw(len(own)) >> np.uint64(11)) < np.asarray(truth(part), np.uint64)
        places = _distinct(len(own), size - 1, chosen, generator)
        places += places >= own[:, None]
        # The true value takes the place of any one of the others.
        dropped = generator.integers(0, chosen, len(own))[inside]
        places[np.flatnonzero(inside), dropped] = own[inside]
        places.sort(axis=1)
        parts = places.astype("<u4")[:, :, None].view(np.uint8)[:, :, :width]
        rows[part] = parts.reshape(len(own), -1)
    return rows


def _distinct(people: int, size: int, chosen: int, generator: Generator) -> IntArray:
    """Return so many different numbers below size per person: those that came before are drawn again."""
    places = generator.integers(0, size, (people, chosen))
    again = np.arange(people)
    while len(again):
        some = np.sort(places[again], axis=1)
        repeated = np.concatenate([np.zeros((len(some), 1), bool), some[:, 1:] == some[:, :-1]], axis=1)
        some[repeated] = generator.integers(0, size, int(repeated.sum()))
        places[again] = some
        again = again[repeated.any(axis=1)]
    return places
