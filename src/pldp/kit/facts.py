"""What a privacy notice has to say about a survey, read from the survey and from the exact audit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from pldp.auditing import Audit, write_epsilon
from pldp.design import look
from pldp.mechanisms import epsilon_text
from pldp.survey import LIFETIME_CAP, Survey, repeat_mapping


class About(NamedTuple):
    """What a survey itself does not say: the address of its page, and whom to ask."""

    link: str = ""
    contact: str = ""


NOTHING: Final = About()


@dataclass(frozen=True)
class Facts:
    """Numbers and names for the texts of a kit."""

    survey: Survey
    audit: Audit
    about: About
    reveals: tuple[Mapping[str, Any], ...]
    promises: tuple[tuple[str, str, str, str, str], ...]  # question, level, claimed ε, exact ε, verdict
    dearest: str
    rule: str
    cap: str
    level: Mapping[str, Any] | None  # what reports tell about a hidden level

    @classmethod
    def of(cls, survey: Survey, audit: Audit, about: About = NOTHING) -> "Facts":
        """Collect them."""
        found = look(survey)
        rows = [row for row in audit.rows if row.rounds == 1 and row.exact is not None]
        promises = {
            (row.question, row.level): (write_epsilon(row.claimed), write_epsilon(row.exact), row.verdict)
            for row in sorted(rows, key=lambda row: row.device != "python")
        }
        return cls(
            survey,
            audit,
            about,
            tuple(found["reveals"]),
            tuple((*key, *own) for key, own in promises.items()),
            found["cost"]["dearest_report"],
            repeat_mapping(survey)["rule"],
            epsilon_text(LIFETIME_CAP),
            found["level"],
        )
