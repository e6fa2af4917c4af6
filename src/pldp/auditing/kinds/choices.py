"""Audit a choice of several labels: the empty set, single labels and the set of all, each against each."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from pldp.auditing.kinds.kind import LABELS, AuditedKind, Comparison, claims_between, label_epsilons, protected, spread
from pldp.epsilon import MICRO
from pldp.mechanisms import Domain, family
from pldp.survey import Choices

MOST_SINGLES: Final = 8  # sets of one label that are compared


class AuditedChoices(AuditedKind[Choices]):
    """Between two sets the ε of all labels that are in one of them only is claimed, or that of the whole set."""

    domain: ClassVar[Domain] = "sets"

    def compare(self, question: Choices, level: int) -> Comparison:
        """Return sets of labels with protection; only sets of one label should take the same time."""
        places = protected(label_epsilons(question, level))
        singles = spread(places, MOST_SINGLES)
        sets = [set[int](), *({place} for place in singles)]
        together = [place for place in places if question.values[place] not in question.exclusive]
        if question.at_most != 1 and len(together) > 1:
            sets.append(set(together[: question.at_most]))
        answers = [[question.values[place] for place in sorted(chosen)] for chosen in sets]
        claims = claims_between(len(sets), lambda one, two: question.between(level, sets[one] ^ sets[two]) / MICRO)
        timed = [place for place, chosen in enumerate(sets) if len(chosen) == 1]
        return Comparison(answers, claims, timed, "most sets of several labels were not compared")

    def example(self, mechanism: str) -> dict[str, Any]:
        """Return four labels, of which two may be ticked where one budget protects the whole set."""
        whole = {} if family(mechanism).per_value else {"budget": "set", "at_most": 2}
        return {"name": mechanism, "values": LABELS, "mechanism": mechanism, "kind": "choices", **whole}

    def whole(self, document: Mapping[str, Any]) -> bool:
        """Tell whether one budget protects the whole set."""
        return document.get("budget") == "set"
