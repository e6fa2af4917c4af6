"""A claim, whether it holds here, and the numbers that decide."""

from __future__ import annotations

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
