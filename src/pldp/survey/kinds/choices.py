"""A choice of any number of labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from pldp.budgets import compose
from pldp.mechanisms import Domain
from pldp.survey.labels import LabelQuestion, read_budgets, read_labels
from pldp.survey.question import Budgets, Entry, read_channels


@dataclass(frozen=True, repr=False)
class Choices(LabelQuestion):
    """A question that is answered with a set of labels; a budget protects each label, ticked or not."""

    kind: ClassVar[str] = "choices"
    domain: ClassVar[Domain] = "sets"

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """Build the question."""
        values = read_labels(entry)
        budgets = read_budgets(entry, values)
        channels = read_channels(
            entry, cls.domain, len(values), budgets or [level.micro_epsilon for level in entry.levels]
        )
        return cls(entry.name, entry.text, entry.levels, channels, values, budgets)

    def promises(self, level: int) -> Budgets:
        """Return the budget of each label."""
        return self.budgets[level] if self.budgets else (self.levels[level].micro_epsilon,) * len(self.values)

    def true_epsilons(self, level: int) -> Budgets:
        """Return what the channel really keeps for each label."""
        return tuple(map(self.channels[level].promised, range(len(self.values))))

    def charge(self, level: int) -> int:
        """Return the sum over all labels; one without protection is not counted: what it reveals has no price."""
        return compose(int(budget) for budget in self.promises(level) if budget < math.inf)

    def hideable(self) -> str | None:
        """Sets are not estimated from hidden levels yet."""
        return (
            "sets of labels cannot be estimated yet where levels are hidden; "
            "ask a choice of one label, or let reports show the level"
        )
