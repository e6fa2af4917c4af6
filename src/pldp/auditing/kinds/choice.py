"""Audit a choice of one label: each against all others."""

from typing import Any, ClassVar

from pldp.auditing.kinds.kind import (
    LABELS,
    AuditedKind,
    Comparison,
    claims_between,
    label_epsilons,
    left_out,
    protected,
    spread,
)
from pldp.auditing.published import read_table
from pldp.epsilon import MICRO
from pldp.mechanisms import Domain, build, family
from pldp.survey import Choice


class AuditedChoice(AuditedKind[Choice]):
    """Between two labels the level's ε is claimed, or one of their budgets."""

    domain: ClassVar[Domain] = "labels"

    def compare(self, question: Choice, level: int) -> Comparison:
        """Return the labels with protection; of many, some."""
        epsilons, channel = label_epsilons(question, level), question.channels[level]
        places = protected(epsilons)
        chosen = spread(places)
        # Where a budget is that of a report, the larger one counts between two values. Others promise the smaller.
        table = read_table(channel.mechanism, channel.size, channel.weights())
        pick = max if table.by_output else min
        claims = claims_between(len(chosen), lambda one, two: pick(epsilons[chosen[one]], epsilons[chosen[two]]))
        answers = [question.values[place] for place in chosen]
        return Comparison(answers, claims, list(range(len(chosen))), left_out(places, chosen))

    def example(self, mechanism: str) -> dict[str, Any]:
        """Return four labels; a mechanism with a budget per value gets one that differs, if it keeps such budgets."""
        question = {"name": mechanism, "values": LABELS, "mechanism": mechanism}
        if not family(mechanism).per_value:
            return question
        budgets = (MICRO // 2, MICRO, MICRO, MICRO)
        channel = build(mechanism, len(budgets), budgets)
        kept = all(channel.promised(value) <= budget for value, budget in enumerate(budgets))
        return {**question, "fractions": {LABELS[0]: "1/2" if kept else 1}}
