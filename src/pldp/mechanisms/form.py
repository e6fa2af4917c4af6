"""The two forms of what a report carries: an integer, or packed bits."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

Output = int | bytes
"""What one answer of a report carries."""


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
