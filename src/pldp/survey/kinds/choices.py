"""A choice of any number of labels."""

import math
from dataclasses import dataclass
from typing import ClassVar

from pldp.budgets import compose
from pldp.mechanisms import Channel, Domain
from pldp.survey.labels import LabelQuestion
from pldp.survey.question import Budgets


@dataclass(frozen=True, repr=False)
class Choices(LabelQuestion):
    """A question that is answered with a set of labels; a budget protects each label, ticked or not."""

    kind: ClassVar[str] = "choices"
    domain: ClassVar[Domain] = "sets"

    def promises(self, level: int) -> Budgets:
        """Return the budget of each label."""
        return self.budgets[level] if self.budgets else (self.levels[level].micro_epsilon,) * len(self.values)

    def true_epsilons(self, level: int) -> Budgets:
        """Return what the channel really keeps for each label."""
        return tuple(map(self.channels[level].promised, range(len(self.values))))

    def charge(self, level: int) -> int:
        """Return the sum over all labels; one without protection is not counted: what it reveals has no price."""
        return compose(int(budget) for budget in self.promises(level) if budget < math.inf)

    def price(self, channel: Channel) -> int:
        """Return the sum over all labels that have a price."""
        each = map(channel.promised, range(channel.size))
        return compose(int(micro) for micro in each if micro < math.inf)

    def hideable(self) -> str | None:
        """Sets are not estimated from hidden levels yet."""
        return (
            "sets of labels cannot be estimated yet where levels are hidden; "
            "ask a choice of one label, or let reports show the level"
        )
