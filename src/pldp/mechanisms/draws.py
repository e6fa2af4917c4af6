"""How weights become probabilities: one number below 2⁵³ per output, or one below 2³² per bit."""

from collections.abc import Callable, Iterable
from typing import Final

RandomBytes = Callable[[int], bytes]
"""A source of randomness: `os.urandom` on a device; a seeded one only in tests."""

TOTAL: Final = 2**53
"""Sum of the weights of one value where a device draws one number: exact also in JavaScript numbers."""

BITS: Final = 32
"""Binary digits of a bit's probability."""

BIT_TOTAL: Final = 2**BITS
"""Weight of a bit that is always 1."""

DRAW_BYTES: Final = 7


def draw_53_bits(random: RandomBytes) -> int:
    """Return a uniform integer below 2⁵³ from seven random bytes (little-endian, the three lowest bits dropped)."""
    return int.from_bytes(random(DRAW_BYTES), "little") >> 3


def digit_masks(weights: Iterable[int]) -> list[int]:
    """Return the binary digits of the bits' weights side by side, lowest digit first: bit i belongs to weight i."""
    masks = [0] * BITS
    for place, weight in enumerate(weights):
        for digit in range(BITS):
            masks[digit] |= (weight >> digit & 1) << place
    return masks


def draw_bits(noise: bytes, length: int, masks: Iterable[int]) -> int:
    """Compare one 32-bit random number per bit with its weight, all bits side by side; a 1 where it is below.

    Digit by digit from the lowest: below = the majority of (digit of the weight, opposite of the number's digit, below
    so far). A uniform digit may stand for its opposite. `noise` holds 32 digits of `length` bytes each.
    """
    below = start = 0
    read = int.from_bytes
    for mask in masks:
        end = start + length
        drawn = read(noise[start:end], "little")
        below = drawn & below | mask & (drawn ^ below)
        start = end
    return below
