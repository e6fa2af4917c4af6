"""Every mechanism as a question of a survey, so that each can be audited on a device."""

from __future__ import annotations

from typing import Any, Final

from pldp.errors import AuditError
from pldp.mechanisms import REGISTRY, family
from pldp.survey import Survey
from pldp.survey.file import survey_from_mapping

LABEL: Final = "label"
"""The mechanism that hides the level."""

NAMES: Final = (*REGISTRY, LABEL)
"""Names that can be audited."""

_LABELS: Final = ["a", "b", "c", "d"]


def mechanism_survey(name: str, epsilon: str = "1") -> Survey:
    """Return a survey of one question that uses the mechanism: four labels, or 64 buckets, at one level of this ε.

    >>> mechanism_survey("oue").questions[0].channels[0].mechanism
    'oue'
    """
    if name not in NAMES:
        raise AuditError(f"mechanism must be one of {', '.join(NAMES)}, not {name[:40]!r}")
    document: dict[str, Any] = {"pldp": 1, "title": f"Audit of {name}", "levels": {"one": epsilon}}
    question: dict[str, Any] = {"name": name, "values": _LABELS, "mechanism": name}
    if name == LABEL:
        question["mechanism"] = "krr"
        document |= {"levels": {"strict": "0.5", "one": epsilon}, "hide_level": {"epsilon": "0.5"}}
    elif family(name).domain == "numbers":
        question = {"name": name, "kind": "number", "low": 0, "high": 1, "buckets": 64, "mechanism": name}
    elif family(name).domain == "sets":
        question["kind"] = "choices"
    elif family(name).per_value:
        # APRR and PRR do not keep unequal budgets, which no survey therefore takes.
        question["fractions"] = {"a": "1/2" if name in {"iprr", "idue"} else 1}
    document["questions"] = [question]
    return survey_from_mapping(document)
