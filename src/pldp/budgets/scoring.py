"""From a table of sensitivity scores to a question: levels, budgets, and what the paper's channel and a safe one keep.

The steps are those of `pldp.budgets.sensitivity`. A value of a choice has one budget. A label of a set has one for each
side, split as the paper splits it: two thirds of it for "not ticked" and one third for "ticked", which tells more about
a person.

>>> found = score_values({"HIV": [9, 10, 9], "flu": [2, 3, 2], "cold": [0, 1, 0]}, 9_000_000, levels=5)
>>> [(row.value, row.level, row.budgets) for row in found.rows]
[('HIV', 4, (900000,)), ('flu', 1, (3600000,)), ('cold', 0, (inf,))]
>>> found.rows[0].paper, found.rows[0].safe            # what a report really tells for the value
((inf,), (900000,))
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from pldp.budgets.sensitivity import (
    level_budget,
    level_weight,
    safe_channel,
    sensitivity_levels,
    split_budget,
    true_epsilons,
    without_outliers,
)
from pldp.epsilon import LARGEST_EPSILON, MICRO, Micro, epsilon_text
from pldp.errors import EpsilonError

if TYPE_CHECKING:
    from pldp.mechanisms import Channel

ALLOCATIONS: Final = ("safe", "paper")
SCORED_LEVEL: Final = "scored"
"""Name of the one level of a scored question."""

TICKED, UNTICKED = 0, 1
"""Places of the sides of a label in `ScoredValue.budgets`."""


@dataclass(frozen=True)
class ScoredValue:
    """One value: its scores, its level, and its budgets with what two channels keep; in micro-ε.

    Of a choice there is one budget, of a label of a set one for "ticked" and one for "not ticked".
    """

    value: str
    scores: int
    outliers: int
    mean: float  # without outliers
    level: int
    weight: Fraction
    budgets: tuple[Micro, ...]
    paper: tuple[Micro, ...]
    safe: tuple[Micro, ...]


@dataclass(frozen=True, repr=False)
class Scoring:
    """All values, the budget that was split, and both channels: the paper's and the safe one."""

    total_micro_epsilon: int
    levels: int
    several: bool
    rows: tuple[ScoredValue, ...]
    paper: Channel
    safe: Channel

    def __repr__(self) -> str:
        kind = "labels of a set" if self.several else "values"
        return (
            f"<Scoring of {len(self.rows)} {kind}: {self.levels} levels, ε = {epsilon_text(self.total_micro_epsilon)}>"
        )

    def question(self, name: str, allocation: str = "safe") -> tuple[dict[str, Any], str]:
        """Return the question of a survey file that keeps the budgets, and the ε of its level.

        The paper's channel does not keep them; its question says what it really keeps.
        """
        kind = {"kind": "choices"} if self.several else {}
        values = [row.value for row in self.rows]
        table, most = self._safe_parts() if allocation == ALLOCATIONS[0] else self._paper_parts()
        return {"name": name, **kind, "values": values, **table}, epsilon_text(most)

    def _safe_parts(self) -> tuple[dict[str, Any], int]:
        finite = {row.value: row.budgets for row in self.rows if max(row.budgets) < math.inf}
        most = int(max(map(max, finite.values())))

        def fractions(side: int) -> dict[str, str]:
            return {value: str(Fraction(int(budgets[side]), most)) for value, budgets in finite.items()}

        keys = ("ticked", "unticked") if self.several else ("fractions",)
        table: dict[str, Any] = {key: fractions(side) for side, key in enumerate(keys)}
        unprotected = [row.value for row in self.rows if row.value not in finite]
        return {**table, **({"unprotected": unprotected} if unprotected else {})}, most

    def _paper_parts(self) -> tuple[dict[str, Any], int]:
        """Spell out the weights with the ε that they keep."""
        if self.several:
            bounds: list[Any] = [row.paper for row in self.rows]
        else:
            bounds = [(self.paper.promised(place),) for place in range(self.paper.size)]
        finite = [int(micro) for pair in bounds for micro in pair if micro < math.inf]
        if not finite:
            raise EpsilonError(
                "the paper's allocation keeps no finite epsilon: a value at level 0 gives all others away, so there is "
                "nothing that a survey could promise; use the safe allocation"
            )
        texts = [[epsilon_text(micro) for micro in pair] for pair in bounds]
        spelled = (
            {"sides": {SCORED_LEVEL: texts}}
            if self.several
            else {"budgets": {SCORED_LEVEL: [text for (text,) in texts]}}
        )
        weights = {SCORED_LEVEL: self.paper.weights()}
        return {"mechanism": self.paper.mechanism, **spelled, "weights": weights}, max(finite)


def score_values(
    scores: Mapping[str, Sequence[float]],
    total_micro_epsilon: int,
    *,
    levels: int = 5,
    scale: tuple[float, float] = (0, 10),
    several: bool = False,
) -> Scoring:
    """Return levels, budgets and both channels of a question whose values were scored.

    Parameters
    ----------
    scores
        Of each value, by people; at least two each.
    total_micro_epsilon, levels, scale
        What is split over the levels, how many there are, and between which numbers scores lie.
    several
        Whether values are labels of a set, each ticked or not, instead of the answers of a choice.
    """
    if len(scores) < 2:
        raise EpsilonError(f"a question must have at least 2 values, not {len(scores)}")
    found = sensitivity_levels(scores, levels=levels, scale=scale)
    kept = {value: without_outliers(given) for value, given in scores.items()}
    whole = {value: level_budget(total_micro_epsilon, level, levels) for value, level in found.items()}
    most = max((own for own in whole.values() if own < math.inf), default=0)
    if not 0 < most <= LARGEST_EPSILON * MICRO:
        wrong = (
            f"the largest budget must be at most {LARGEST_EPSILON}, not {epsilon_text(most)}: choose a smaller epsilon"
        )
        none = f"every value is at level 0 of {levels}, which is open: there is nothing to protect"
        raise EpsilonError(wrong if most else none)
    budgets = {
        # The paper counts the least sensitive first, and that is "not ticked".
        value: tuple(reversed(split_budget(own))) if several else (own,)
        for value, own in whole.items()
    }
    paper, safe = (_sets if several else _choices)(list(budgets.values()))
    rows = tuple(
        ScoredValue(
            value,
            len(scores[value]),
            len(scores[value]) - len(kept[value]),
            math.fsum(kept[value]) / len(kept[value]),
            level,
            level_weight(level, levels),
            budgets[value],
            paper[1][place],
            safe[1][place],
        )
        for place, (value, level) in enumerate(found.items())
    )
    return Scoring(total_micro_epsilon, levels, several, rows, paper[0], safe[0])


Kept = tuple["Channel", list[tuple[Micro, ...]]]
"""A channel, and what a report of it tells for each value, or for both sides of each label."""


def _choices(budgets: Sequence[tuple[Micro, ...]]) -> tuple[Kept, Kept]:
    """Return the paper's channel and the safe one of a choice."""
    from pldp.mechanisms import ValueResponse  # noqa: PLC0415 - devices, which import this package, need none

    each = [own for (own,) in budgets]

    def kept(channel: Channel) -> Kept:
        return channel, [(micro,) for micro in true_epsilons(channel)]

    return kept(ValueResponse.of(each)), kept(safe_channel(each))


def _sets(budgets: Sequence[tuple[Micro, ...]]) -> tuple[Kept, Kept]:
    """Return the paper's channel of a set, which keeps either side with e^ε/(e^ε+1) of its own ε, and the safe one."""
    from pldp.mechanisms import ItemSet, ValueResponse  # noqa: PLC0415 - nor these

    open_ = [Fraction(1), Fraction(1)]
    kept = []
    for pair in budgets:
        own = None if max(pair) == math.inf else ValueResponse.of(pair)
        kept.append(open_ if own is None else [own.probability(side, side) for side in (TICKED, UNTICKED)])
    paper = ItemSet.of_probabilities([one for one, _ in kept], [zero for _, zero in kept])
    safe = ItemSet.of_pairs([(ticked, unticked) for ticked, unticked in budgets])

    def told(channel: ItemSet) -> Kept:
        return channel, [channel.item_evidence(item) for item in range(channel.size)]

    return told(paper), told(safe)
