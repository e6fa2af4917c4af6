"""What people read beside the questions: introduction, thanks, contact, notice, closing date, and the logo's name."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

from pldp.survey.question import Schema
from pldp.survey.reading import LONGEST_NAME, fail, read_table, read_text

LONGEST_PASSAGE: Final = 10_000
LOGO_KINDS: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "svg": "image/svg+xml",
}
"""Media types of logos by the ending of their names."""

_DATE: Final = re.compile(r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LOGO: Final = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]*\.({'|'.join(LOGO_KINDS)})")


def _passage(description: str) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": LONGEST_PASSAGE, "description": description}


KEYS: Final[Mapping[str, Schema]] = {
    "introduction": _passage("what the survey is for; shown before the first question"),
    "thanks": _passage("shown once a report is sent"),
    "contact": _passage("whom to ask; addresses of pages and e-mail addresses become links"),
    "notice": _passage("the privacy notice, or where to read it; addresses become links"),
}
"""Keys of `texts` with their JSON Schema; all are optional."""

CLOSES: Final[Schema] = {
    "type": "string",
    "pattern": f"^{_DATE.pattern}$",
    "description": "the last day on which reports are taken, until midnight UTC; in TOML a date",
}
LOGO: Final[Schema] = {
    "type": "string",
    "maxLength": LONGEST_NAME,
    "pattern": f"^{_LOGO.pattern}$",
    "description": "a picture in the folder of the survey file",
}


class Texts(NamedTuple):
    """Passages for people; empty where the file has none."""

    introduction: str = ""
    thanks: str = ""
    contact: str = ""
    notice: str = ""

    def document(self) -> dict[str, str]:
        """Return those that there are."""
        return {name: text for name, text in self._asdict().items() if text}


NO_TEXTS: Final = Texts()


def read_texts(entry: object) -> Texts:
    """Read the table `texts`."""
    if entry is None:
        return NO_TEXTS
    table = read_table(entry, "texts", KEYS)
    return Texts(**{name: read_text(text, f"texts.{name}", LONGEST_PASSAGE) for name, text in table.items()})


def read_closes(entry: object) -> str:
    """Read the closing date, a date of TOML or text such as 2026-12-31; empty where there is none.

    >>> read_closes("2026-12-31")
    '2026-12-31'
    """
    if entry is None:
        return ""
    text = entry.isoformat() if isinstance(entry, date) and not isinstance(entry, datetime) else entry
    if not isinstance(text, str) or not _DATE.fullmatch(text) or not _is_date(text):
        fail("closes", "must be a date such as 2026-12-31", entry)
    return text


def _is_date(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def closing_time(closes: str) -> float:
    """Return the second from which on reports are refused: the end of the closing date in UTC, infinite without one."""
    if not closes:
        return math.inf
    return (datetime.fromisoformat(closes).replace(tzinfo=UTC) + timedelta(days=1)).timestamp()


def read_logo_name(entry: object) -> str:
    """Read the name of the logo's file; empty where there is none."""
    if entry is None:
        return ""
    if not isinstance(entry, str) or len(entry) > LONGEST_NAME or not _LOGO.fullmatch(entry):
        kinds = ", ".join(LOGO_KINDS)
        fail("logo", f"must be the plain name of a file beside the survey file that ends in {kinds}", entry)
    return entry
