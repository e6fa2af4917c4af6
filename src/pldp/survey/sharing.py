"""What a question needs to get its part of a total: its error by what it may cost, and how its levels come of that."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from pldp.budgets import Cost, Level, fraction_levels, tabulate
from pldp.errors import EpsilonError
from pldp.mechanisms import LARGEST_EPSILON, MICRO

_MOST: Final = LARGEST_EPSILON * MICRO  #: The largest ε of a level; what is left of a larger total is not spent.


@dataclass(frozen=True)
class Form:
    """One way to build a question from a part of a total."""

    variances: Callable[[tuple[Level, ...]], Sequence[float]]
    """The summed variance of all that is estimated from one report of each level, with the channels as built."""

    price: Fraction = Fraction(1)
    """What an answer costs for each ε of its level: of a set whose labels have budgets of their own, their sum."""

    ideal: Cost | None = None
    """The same variance by the ε of a level, as a formula, where there is one."""

    keys: Mapping[str, Any] = field(default_factory=dict)
    """What the question's table must say to be built so."""

    words: str = ""
    """What the form is, where a file leaves the choice."""

    def levels(self, part: int, fractions: Mapping[str, Fraction]) -> tuple[Level, ...]:
        """Return the levels of a question that may cost this much, in micro-ε, strictest first."""
        return fraction_levels(min(_MOST, int(part / self.price)), fractions)

    def cost(self, levels: "Levels", weight: float, *, alike: bool = True) -> Cost:
        """Return the weighted variance by what the question may cost, with the channels as they are built."""

        def cost(epsilon: float) -> float:
            built = self.variances(self.levels(round(epsilon * MICRO), levels.fractions))
            return weight * pooled(built, list(levels.mix.values()), alike=alike)

        return cost

    def smooth_cost(self, levels: "Levels", weight: float, *, alike: bool = True) -> Cost:
        """Return a smooth curve near the same: what `allocate` needs."""
        if self.ideal is None:
            return tabulate(self.cost(levels, weight, alike=alike))
        ideal, price, mix = self.ideal, float(self.price), list(levels.mix.values())
        parts = [float(fraction) / price for fraction in levels.fractions.values()]
        return tabulate(lambda epsilon: weight * pooled([ideal(part * epsilon) for part in parts], mix, alike=alike))


@dataclass(frozen=True)
class Levels:
    """The levels of a question as fractions of its budget, strictest first, and how often each is chosen."""

    fractions: Mapping[str, Fraction]
    mix: Mapping[str, float]

    @classmethod
    def of(cls, fractions: Mapping[str, Fraction], mix: Mapping[str, float] | None = None) -> "Levels":
        """Put levels in order and leave out those that nobody chooses; by default each is chosen as often."""
        chosen = {name: 1.0 if mix is None else mix[name] for name in fractions if mix is None or mix[name] > 0}
        ordered = sorted(chosen, key=lambda name: fractions[name])
        return cls({name: fractions[name] for name in ordered}, {name: chosen[name] for name in ordered})


def pooled(variances: Sequence[float], mix: Sequence[float], *, alike: bool = True) -> float:
    """Return the variance of one report whose level is drawn from a mix.

    If people of all levels are `alike`, levels are weighted by precision, and otherwise by their people.

    >>> pooled([1.0, 4.0], [1, 1]), pooled([1.0, 4.0], [1, 1], alike=False)
    (1.6, 2.5)
    """
    parts = list(zip(mix, variances, strict=True))
    if not alike:
        return math.fsum(share * variance for share, variance in parts) / math.fsum(mix)
    return math.fsum(mix) / math.fsum(share / variance if variance else math.inf for share, variance in parts)


def least_cost(costs: Sequence[Cost]) -> Cost:
    """Return the least of the costs of several forms; an ε that only some can be built with is theirs."""

    def cost(epsilon: float) -> float:
        found, wrong = [], None
        for each in costs:
            try:
                found.append(each(epsilon))
            except EpsilonError as error:
                wrong = error
        if not found and wrong is not None:
            raise wrong
        return min(found)

    return cost if len(costs) > 1 else costs[0]
