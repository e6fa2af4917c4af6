"""A choice of one label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

from pldp.budgets import Cost, variance_cost
from pldp.mechanisms import AUTO, Channel, Domain, PureChannel, names, pure
from pldp.survey.hiding import hidden_channels
from pldp.survey.labels import LabelQuestion, read_budgets, read_labels
from pldp.survey.question import Budgets, Entry, read_channels


@dataclass(frozen=True, repr=False)
class Choice(LabelQuestion):
    """A question that is answered with one label; a budget protects the label."""

    kind: ClassVar[str] = "choice"
    domain: ClassVar[Domain] = "labels"

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """Build the question; levels that are hidden choose channels of one form, unless the file names several."""
        values = read_labels(entry)
        budgets = read_budgets(entry, values)
        channels = _channels(entry, len(values), budgets)
        return cls(entry.name, entry.text, entry.levels, channels, values, budgets)

    @classmethod
    def cost(cls, table: Mapping[str, Any]) -> Cost:
        """Return the summed variance of all shares, at equal shares."""
        named, values = table.get("mechanism"), table.get("values")
        known = isinstance(named, str) and named in names(cls.domain, per_value=False)
        return variance_cost(str(named) if known else AUTO, max(2, len(values)) if isinstance(values, list) else 2)

    @cached_property
    def pure_channels(self) -> tuple[PureChannel, ...]:
        """The channels, where all values have the same protection."""
        return pure(self.channels)

    def hideable(self) -> str | None:
        """Shares are estimated from hidden levels where all labels have the same protection."""
        if not self.budgets:
            return None
        return (
            "shares cannot be estimated yet where levels are hidden and labels have budgets of their own; "
            "protect all labels alike (no fractions, unprotected or budgets), or let reports show the level"
        )


def _channels(entry: Entry, size: int, budgets: tuple[Budgets, ...]) -> tuple[Channel, ...]:
    if budgets:
        return read_channels(entry, Choice.domain, size, budgets, per_value=True)
    mechanisms = set(entry.mechanisms().values())
    if entry.hiding is not None and len(mechanisms) == 1 and not any(entry.weights().values()):
        return hidden_channels(entry, size, mechanisms.pop(), entry.hiding)
    return read_channels(entry, Choice.domain, size, [level.micro_epsilon for level in entry.levels], per_value=False)
