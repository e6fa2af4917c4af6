"""Many biased bits at once, 64 to a word, each compared with an integer weight."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pldp.mechanisms.unary.channel import BITS

DENSE_ROUNDS = 5
"""Binary digits compared for all words before only the undecided ones are followed."""

DigitMask = Callable[[int, npt.NDArray[np.intp]], np.uint64 | npt.NDArray[np.uint64]]
"""From a binary digit and the places of some words to that digit of the weight of each of their bits."""


def one_weight(weight: int) -> DigitMask:
    """All bits of all words have one weight."""
    return lambda digit, _: np.uint64(2**64 - 1 if weight >> digit & 1 else 0)


def word_weights(weights: npt.NDArray[np.uint64]) -> DigitMask:
    """All bits of a word have the weight of that word."""
    return lambda digit, place: np.uint64(0) - (weights[place] >> np.uint64(digit) & np.uint64(1))


def bernoulli_words(mask: DigitMask, words: int, generator: np.random.Generator) -> npt.NDArray[np.uint64]:
    """Return 64-bit words whose bits are 1 with probability weight/2³².

    Each bit compares its own random 32-bit number with the weight, highest digit first. Half of the bits are decided by
    each digit, so a word needs about seven random words instead of 64 random numbers.
    """
    bits = np.zeros(words, np.uint64)
    open_ = np.full(words, np.uint64(2**64 - 1))
    everywhere = np.arange(words)
    for digit in reversed(range(BITS - DENSE_ROUNDS, BITS)):
        _compare(bits, open_, mask(digit, everywhere), generator)
    left = np.flatnonzero(open_)
    for digit in reversed(range(BITS - DENSE_ROUNDS)):
        if not len(left):
            break
        some_bits, some_open = bits[left], open_[left]
        _compare(some_bits, some_open, mask(digit, left), generator)
        bits[left] = some_bits
        open_[left] = some_open
        left = left[some_open != 0]
    return bits


def _compare(
    bits: npt.NDArray[np.uint64],
    open_: npt.NDArray[np.uint64],
    mask: np.uint64 | npt.NDArray[np.uint64],
    generator: np.random.Generator,
) -> None:
    """Decide one digit in place: a random 0 under digit 1 is below; equal digits stay open."""
    drawn = generator.bit_generator.random_raw(len(bits))
    differ = drawn ^ mask
    differ &= open_
    open_ ^= differ
    differ &= mask
    bits |= differ
