"""Audit a choice of several labels: the empty set, single labels and the set of all, each against each."""

from typing import Any, ClassVar

from pldp.auditing.kinds.kind import LABELS, AuditedKind, Comparison, claims_between, label_epsilons, protected
from pldp.mechanisms import Domain
from pldp.survey import Choices


class AuditedChoices(AuditedKind[Choices]):
    """Between two sets the ε of all labels that are in one of them only is claimed."""

    domain: ClassVar[Domain] = "sets"

    def compare(self, question: Choices, level: int) -> Comparison:
        """Return sets of labels with protection; only sets of one label should take the same time."""
        epsilons = label_epsilons(question, level)
        places = protected(epsilons)
        sets = [set[int](), *({place} for place in {*places[:1], *places[-1:]}), set(places)]
        answers = [[question.values[place] for place in sorted(chosen)] for chosen in sets]
        claims = claims_between(len(sets), lambda one, two: sum(epsilons[place] for place in sets[one] ^ sets[two]))
        return Comparison(answers, claims, [place for place, chosen in enumerate(sets) if len(chosen) == 1])

    def example(self, mechanism: str) -> dict[str, Any]:
        """Return four labels."""
        return {"name": mechanism, "values": LABELS, "mechanism": mechanism, "kind": "choices"}
