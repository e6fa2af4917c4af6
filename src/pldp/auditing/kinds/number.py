"""Audit a number: both bounds and numbers between, each against all others."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pldp.auditing.kinds.kind import AuditedKind, Comparison, claims_between
from pldp.epsilon import MICRO
from pldp.mechanisms import Domain, Grid
from pldp.survey import Number


class AuditedNumber(AuditedKind[Number]):
    """Between any two numbers the level's ε is claimed."""

    domain: ClassVar[Domain] = "numbers"

    def compare(self, question: Number, level: int) -> Comparison:
        """Return both bounds and three numbers between them."""
        grid: Grid = question.grid
        claimed = question.levels[level].micro_epsilon / MICRO
        low, high = question.limits
        numbers = [low, *(grid.centre(part * grid.size // 4) for part in (1, 2, 3)), high]
        return Comparison(
            numbers, claims_between(5, lambda *_: claimed), [*range(5)], "other numbers were not compared"
        )

    def size(self, document: Mapping[str, Any]) -> int:
        """Count the buckets."""
        return int(document["buckets"])

    def example(self, mechanism: str) -> dict[str, Any]:
        """Return 64 buckets."""
        return {"name": mechanism, "kind": "number", "low": 0, "high": 1, "buckets": 64, "mechanism": mechanism}
