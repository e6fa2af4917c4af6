"""Retention: single reports are deleted so many days after their round was closed, and its results stay."""

import re
from datetime import date, timedelta
from typing import Final

from pldp.collector.database import Connection
from pldp.errors import UsageError

FORM: Final = (r"([1-9][0-9]{0,4} days?)?", "must be a number of days such as 30 days")
TOO_LATE: Final = (
    "The single reports of this round were deleted and only its totals are kept; one report cannot be taken out of "
    "them any more."
)
"""What a person is told whose report can no longer be withdrawn."""


def retained_days(text: str) -> int | None:
    """Return for how many days reports are kept after their round was closed; `None`: for good.

    >>> retained_days("30 days"), retained_days("1 day"), retained_days("")
    (30, 1, None)
    """
    if not re.fullmatch(FORM[0], text):
        raise UsageError(f"retain {FORM[1]}, not {text[:40]!r}")
    return int(text.split(maxsplit=1)[0]) if text else None


def promise(days: int) -> str:
    """Say beforehand until when a report can be withdrawn.

    >>> promise(30)[:78]
    'You can withdraw your report until 30 days after this round of answers closes.'
    """
    return (
        f"You can withdraw your report until {days} day{'s' if days > 1 else ''} after this round of answers closes. "
        "Then single reports are deleted and only totals are kept, and nothing can be taken out of those."
    )


def due_rounds(reader: Connection, days: int, today: date) -> list[int]:
    """Return the closed rounds whose reports have been kept for long enough."""
    last = (today - timedelta(days)).isoformat()
    found = reader.execute(
        "SELECT number FROM rounds WHERE closed = 1 AND deleted = 0 AND closed_day <= ? ORDER BY number", (last,)
    )
    return [number for (number,) in found.fetchall()]
