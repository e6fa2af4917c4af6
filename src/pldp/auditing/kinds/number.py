"""Audit a number: both bounds and the middle, each against each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pldp.auditing.kinds.kind import AuditedKind, Comparison, claims_between
from pldp.epsilon import MICRO, Micro
from pldp.mechanisms import Domain, Grid


class AuditedNumber(AuditedKind[Any]):
    """Between any two numbers the level's ε is claimed."""

    domain: ClassVar[Domain] = "numbers"

    def compare(self, question: Any, level: int) -> Comparison:
        """Return both bounds and the middle."""
        grid: Grid = question.grid
        claimed = question.levels[level].micro_epsilon / MICRO
        numbers = [grid.low, grid.centre(grid.size // 2), grid.high]
        return Comparison(numbers, claims_between(3, lambda *_: claimed), [0, 1, 2])

    def budgets(self, question: Any, level: int) -> Sequence[Micro]:
        """All numbers have the level's ε."""
        del question, level
        return ()

    def size(self, document: Mapping[str, Any]) -> int:
        """Count the buckets."""
        return int(document["buckets"])

    def example(self, mechanism: str) -> dict[str, Any]:
        """Return 64 buckets."""
        return {"name": mechanism, "kind": "number", "low": 0, "high": 1, "buckets": 64, "mechanism": mechanism}
