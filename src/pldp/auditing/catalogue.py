"""Every mechanism as a question of a survey, so that each can be audited on a device."""

from typing import Any, Final

from pldp.auditing.kinds import BY_KIND
from pldp.errors import AuditError
from pldp.mechanisms import REGISTRY, family
from pldp.survey import Survey, survey_from_mapping

LABEL: Final = "label"
"""The mechanism that hides the level."""

NAMES: Final = (*REGISTRY, LABEL)
"""Names that can be audited."""

HIDEABLE: Final = "krr"
"""The mechanism of the question whose level is hidden."""


def mechanism_survey(name: str, epsilon: str = "1") -> Survey:
    """Return a survey of one question that uses the mechanism: four labels, or 64 buckets, at one level of this ε.

    >>> mechanism_survey("oue").questions[0].channels[0].mechanism
    'oue'
    """
    if name not in NAMES:
        known = f"mechanism must be one of {', '.join(NAMES)}, not {name[:40]!r}"
        raise AuditError(f"{known}; a survey file is audited by pldp.audit(pldp.Survey.load(path))")
    document: dict[str, Any] = {"pldp": 1, "title": f"Audit of {name}", "levels": {"one": epsilon}}
    if name == LABEL:
        document |= {"levels": {"strict": "0.5", "one": epsilon}, "hide_level": {"epsilon": "0.5"}}
        question = {**BY_KIND["choice"].example(HIDEABLE), "name": LABEL}
    else:
        question = next(kind for kind in BY_KIND.values() if kind.domain == family(name).domain).example(name)
    return survey_from_mapping({**document, "questions": [question]})
