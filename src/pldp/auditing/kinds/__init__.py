"""What an audit asks of each kind of question: answers to compare, the ε claimed between them, sizes, examples."""

from collections.abc import Mapping
from typing import Any, Final

from pldp.auditing.kinds.choice import AuditedChoice
from pldp.auditing.kinds.choices import AuditedChoices
from pldp.auditing.kinds.kind import AuditedKind, Comparison
from pldp.auditing.kinds.number import AuditedNumber

BY_KIND: Final[Mapping[str, AuditedKind[Any]]] = {
    "choice": AuditedChoice(),
    "choices": AuditedChoices(),
    "number": AuditedNumber(),
}
"""The only list of kinds in this stage."""

__all__ = ["BY_KIND", "AuditedKind", "Comparison"]
