"""Conditions on one packed output in SQL; `pldp.mechanisms` says of every form which of them make an output.

Bytes are compared as hexadecimal text, two digits per byte in their order: every engine has that, and few agree on
anything else about bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Final

from pldp.tallies.sql.dialects import Dialect

ALWAYS: Final = "1 = 1"
_DIGITS: Final = "0123456789abcdef"
_FULL: Final = 15  # mask of a digit that may be anything


class PackedTests:
    """Tests of a text of the hexadecimal digits of so many bytes; `ones` has the number of bits that are 1."""

    def __init__(self, dialect: Dialect, digits: str, byte_count: int, ones: str) -> None:
        self.dialect, self.digits, self.byte_count, self.number_of_ones = dialect, digits, byte_count, ones

    def within(self, mask: int) -> str:
        """Bits are 1 only where the mask has a 1."""
        masks = [digit for byte in mask.to_bytes(self.byte_count, "little") for digit in (byte >> 4, byte & 15)]
        return self.every(*self._runs(masks))

    def _runs(self, masks: list[int]) -> Iterator[str]:
        """Yield a condition for each run of digits that share a mask."""
        start = 1
        for mask, run in groupby(masks):
            length = len(list(run))
            if mask == 0:
                yield f"SUBSTR({self.digits}, {start}, {length}) = '{'0' * length}'"
            elif mask != _FULL:
                allowed = ", ".join(f"'{digit}'" for value, digit in enumerate(_DIGITS) if value & mask == value)
                places = range(start, start + length)
                yield self.every(*(f"SUBSTR({self.digits}, {place}, 1) IN ({allowed})" for place in places))
            start += length

    def ones(self, number: int) -> str:
        """So many bits are 1."""
        return f"{self.number_of_ones} = {number}"

    def rising(self, width: int, number: int, limit: int) -> str:
        """The output is so many integers of `width` bytes each, lowest byte first, rising, all below a limit."""
        places = [self._integer(width, place) for place in range(number)]
        last = f"{places[-1]} <= '{limit - 1:0{2 * width}x}'"
        return self.every(*(f"{one} < {two}" for one, two in pairwise(places)), last)

    def _integer(self, width: int, place: int) -> str:
        """Return an integer as digits with the highest first, which texts are ordered by."""
        starts = (2 * (width * place + byte) + 1 for byte in reversed(range(width)))
        joined = " || ".join(f"SUBSTR({self.digits}, {start}, 2)" for start in starts)
        return self.dialect.ordered.format(f"({joined})" if width > 1 else joined)

    def every(self, *conditions: str) -> str:
        """All of these hold."""
        told = [condition for condition in conditions if condition != ALWAYS]
        return f"({' AND '.join(told)})" if told else ALWAYS

    def some(self, *conditions: str) -> str:
        """At least one of these holds."""
        return "(" + " OR ".join(conditions) + ")"


def count_ones(digits: str) -> str:
    """Return the number of bits that are 1 from the number of times that each digit occurs."""
    terms = (
        f"{value.bit_count()} * LENGTH(REPLACE({digits}, '{digit}', ''))"
        for value, digit in enumerate(_DIGITS)
        if value
    )
    weight = sum(value.bit_count() for value in range(16))
    return f"({weight} * LENGTH({digits}) - {' - '.join(terms)})"
