"""What a report carries, an integer or packed bits, and how weights become probabilities of it.

A device draws one number below 2⁵³ per integer, or one below 2³² per bit.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

Output = int | bytes
"""What one answer of a report carries."""

RandomBytes = Callable[[int], bytes]
"""A source of randomness: `os.urandom` on a device; a seeded one only in tests."""

TOTAL: Final = 2**53
"""Sum of the weights of one value where a device draws one number: exact also in JavaScript numbers."""

BITS: Final = 32
"""Binary digits of a bit's probability."""

BIT_TOTAL: Final = 2**BITS
"""Weight of a bit that is always 1."""


@dataclass(frozen=True)
class Integers:
    """Outputs are the integers from 0 to `count` − 1."""

    count: int

    column = "output"
    """Last part of the name of the column that holds such outputs."""

    def outputs(self) -> Iterator[Output]:
        """Enumerate all outputs."""
        return iter(range(self.count))


@dataclass(frozen=True)
class Bits:
    """Outputs are `length` bits, packed: bit i stands in byte i//8 at place i%8 counted from the lowest.

    That is `int.to_bytes(…, "little")` and NumPy's `bitorder="little"`; unused bits of the last byte are 0.
    """

    length: int

    column = "bits"

    @property
    def count(self) -> int:
        """2^length."""
        return 1 << self.length

    @cached_property
    def bytes(self) -> int:
        """Length of a packed output."""
        return (self.length + 7) // 8

    def outputs(self) -> Iterator[Output]:
        """Enumerate all outputs."""
        return (bits.to_bytes(self.bytes, "little") for bits in range(self.count))


Form = Integers | Bits


def as_int(output: Output) -> int:
    """Return an output as an integer; bit i of packed bits is bit i of the integer."""
    return output if isinstance(output, int) else int.from_bytes(output, "little")


def draw_53_bits(random: RandomBytes) -> int:
    """Return a uniform integer below 2⁵³ from seven random bytes (little-endian, the three lowest bits dropped)."""
    return int.from_bytes(random(7), "little") >> 3


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
