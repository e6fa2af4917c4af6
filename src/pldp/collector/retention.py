"""Retention: single reports are deleted some days after their round was closed, and its results stay.

Deleting cannot be undone, and clocks are wrong at times. So it takes two looks, at least a day apart, that both find a
round due. The first one is noted in the store; a look whose clock says that the round is not due takes the note back.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from pldp.collector.database import Connection
from pldp.errors import UsageError

DAY: Final = 86_400  # seconds, also between two looks that decide
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


def day_of(seconds: float) -> str:
    """Return a day in UTC.

    >>> day_of(86_400)
    '1970-01-02'
    """
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def look_for_due(writer: Connection, days: int, now: int) -> list[int]:
    """Note which closed rounds were kept for long enough, and return those that were already a day ago.

    A note from the future is one of a wrong clock: it begins anew.
    """
    last_day = (datetime.fromtimestamp(now, UTC) - timedelta(days)).date().isoformat()
    writer.execute("UPDATE rounds SET due_since = NULL WHERE due_since IS NOT NULL AND closed_day > ?", (last_day,))
    writer.execute(
        "UPDATE rounds SET due_since = ? WHERE closed = 1 AND deleted = 0 AND closed_day <= ? "
        "AND (due_since IS NULL OR due_since > ?)",
        (now, last_day, now),
    )
    due = writer.execute(
        "SELECT number FROM rounds WHERE closed = 1 AND deleted = 0 AND due_since <= ? ORDER BY number", (now - DAY,)
    )
    return [number for (number,) in due.fetchall()]
