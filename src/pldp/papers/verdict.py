"""A claim, whether it holds here, and the numbers that decide."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """What a paper claims, whether that holds in this run, and what was measured."""

    claim: str
    holds: bool
    measured: str

    def to_mapping(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


def span(numbers: Collection[float], form: str = ".2f") -> str:
    """Return the smallest and the largest number in words.

    >>> span([3, 1, 2], "g")
    '1 to 3'
    """
    return f"{min(numbers):{form}} to {max(numbers):{form}}"


def listing(numbers: Mapping[str, float], form: str) -> str:
    """Return named numbers in words.

    >>> listing({"job": 0.5, "country": 0.25}, ".0%")
    'job 50%, country 25%'
    """
    return ", ".join(f"{name} {number:{form}}" for name, number in numbers.items())
