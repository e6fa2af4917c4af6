"""What a report carries, an integer or packed bits, and how weights become probabilities of it.

A device draws one number below 2⁵³ per integer, or one below 2³² per bit.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Final, Protocol

Packed = bytes
"""An output that is no integer."""

Output = int | Packed
"""What one answer of a report carries."""

RandomBytes = Callable[[int], bytes]
"""A source of randomness: `os.urandom` on a device; a seeded one only in tests."""

TOTAL: Final = 2**53
"""Sum of the weights of one value where a device draws one number: exact also in JavaScript numbers."""

BITS: Final = 32
"""Binary digits of a bit's probability."""

BIT_TOTAL: Final = 2**BITS
"""Weight of a bit that is always 1."""

BLOCK_BYTES: Final = 64
"""Lengths of answers are compared in blocks of so many bytes; less is lost in what else a report carries."""


@dataclass(frozen=True)
class Integers:
    """Outputs are the integers from 0 to `count` − 1."""

    count: int

    column = "output"
    """Last part of the name of the column that holds such outputs."""

    @property
    def bytes(self) -> int:
        """Length of the largest output."""
        return bytes_below(self.count)

    def outputs(self) -> Iterator[Output]:
        """Enumerate all outputs."""
        return iter(range(self.count))

    def condition(self, number: str) -> str:
        """Return the condition in SQL and alike that a number is an output."""
        return f"{number} >= 0 AND {number} < {self.count}"


class Tests(Protocol):
    """What can be asked of one packed output where there is no Python, such as in SQL; each answer is a condition."""

    def within(self, mask: int) -> str:
        """Bits are 1 only where the mask has a 1."""

    def ones(self, number: int) -> str:
        """So many bits are 1."""

    def rising(self, width: int, number: int, limit: int) -> str:
        """The output is so many integers of `width` bytes each, rising, all below a limit."""

    def every(self, *conditions: str) -> str:
        """All of these hold."""

    def some(self, *conditions: str) -> str:
        """At least one of these holds."""


@dataclass(frozen=True)
class Bits:
    """Outputs are `length` bits, packed: bit i stands in byte i//8 at place i%8 counted from the lowest.

    That is `int.to_bytes(…, "little")` and NumPy's `bitorder="little"`; unused bits of the last byte are 0. Where every
    output has the same number of ones, that is `ones`.
    """

    length: int
    ones: int | None = None

    column = "bits"

    @property
    def count(self) -> int:
        """2^length, or as many as have so many ones."""
        return 1 << self.length if self.ones is None else math.comb(self.length, self.ones)

    @cached_property
    def bytes(self) -> int:
        """Length of a packed output."""
        return (self.length + 7) // 8

    def pack(self, bits: int) -> Packed:
        """Return the output whose bits are those of an integer."""
        return bits.to_bytes(self.bytes, "little")

    def unpack(self, output: Output) -> int:
        """Return the bits of an output as an integer: the inverse of `pack`."""
        return as_int(output)

    def admits(self, output: Packed) -> bool:
        """Tell whether packed bits of the right length are an output: no spare bit is 1, and as many as there must."""
        bits = as_int(output)
        return not bits >> self.length and self.ones in {None, bits.bit_count()}

    def condition(self, tests: Tests) -> str:
        """Say `admits` in another language."""
        spare = tests.within((1 << self.length) - 1)
        return spare if self.ones is None else tests.every(spare, tests.ones(self.ones))

    def outputs(self) -> Iterator[Output]:
        """Enumerate all outputs."""
        if self.ones is None:
            return map(self.pack, range(1 << self.length))
        return (
            self.pack(sum(1 << place for place in places)) for places in combinations(range(self.length), self.ones)
        )


@dataclass(frozen=True)
class Places(Bits):
    """The same bits, few of them 1, as the places of the ones: rising, each in as many bytes as the largest takes."""

    @cached_property
    def width(self) -> int:
        """Bytes of one place."""
        return bytes_below(self.length)

    @cached_property
    def bytes(self) -> int:
        """Length of all places."""
        return self.width * (self.ones or 0)

    def pack(self, bits: int) -> Packed:
        """Return the places of the ones, one after the other."""
        parts = []
        while bits:
            lowest = bits & -bits
            parts.append((lowest.bit_length() - 1).to_bytes(self.width, "little"))
            bits ^= lowest
        return b"".join(parts)

    def _places(self, output: Output) -> list[int]:
        packed = output.to_bytes(self.bytes, "little") if isinstance(output, int) else output
        starts = range(0, self.bytes, self.width)
        return [int.from_bytes(packed[start : start + self.width], "little") for start in starts]

    def unpack(self, output: Output) -> int:
        """Return the bits as an integer."""
        return sum(1 << place for place in self._places(output))

    def admits(self, output: Packed) -> bool:
        """Tell whether places rise and stay below the length."""
        places = self._places(output)
        return places[-1] < self.length and all(one < two for one, two in pairwise(places))

    def condition(self, tests: Tests) -> str:
        """Say `admits` in another language."""
        return tests.rising(self.width, self.ones or 0, self.length)


@dataclass(frozen=True)
class TieredBits(Bits):
    """Bits of which those that are 1 stand in one *tier* of places: its mask, and how many of them are 1."""

    tiers: tuple[tuple[int, int], ...] = ()

    @property
    def count(self) -> int:
        """As many as all tiers have."""
        return sum(math.comb(mask.bit_count(), ones) for mask, ones in self.tiers)

    def admits(self, output: Packed) -> bool:
        """Tell whether there is a tier that has all the ones, and as many as it must."""
        bits = as_int(output)
        return any(bits & mask == bits and bits.bit_count() == ones for mask, ones in self.tiers)

    def condition(self, tests: Tests) -> str:
        """Say `admits` in another language."""
        return tests.some(*(tests.every(tests.within(mask), tests.ones(ones)) for mask, ones in self.tiers))

    def outputs(self) -> Iterator[Output]:
        """Enumerate all outputs, tier by tier."""
        for mask, ones in self.tiers:
            places = [place for place in range(self.length) if mask >> place & 1]
            for some in combinations(places, ones):
                yield self.pack(sum(1 << place for place in some))


Form = Integers | Bits


def bytes_below(count: int) -> int:
    """Return how many bytes hold every integer below a count."""
    return ((count - 1).bit_length() + 7) // 8 or 1


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
