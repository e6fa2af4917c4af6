"""The log of administrative acts: what was done to a store, in which hour and by whom. It names no person.

People who upload are not named: a time beside a name could date their reports. Of an enrolment the log has the number.
"""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Final, NamedTuple

from pldp.collector.database import Connection, Database, open_database

COMMAND_LINE: Final = "command line"
"""Who acts where no token is asked for: anyone who can write the store."""


class Act(NamedTuple):
    """The hour (UTC) in which something was done, what it was, and the name of the token that allowed it."""

    hour: str
    act: str
    who: str


def record(writer: Connection, act: str, who: str = COMMAND_LINE, *, clock: Callable[[], float] = time) -> None:
    """Write an act down, in the transaction that is open if there is one."""
    hour = datetime.fromtimestamp(clock(), UTC).strftime("%Y-%m-%dT%H:00Z")
    writer.execute(
        "INSERT INTO acts (number, hour, act, who) SELECT coalesce(max(number), 0) + 1, ?, ?, ? FROM acts",
        (hour, act, who),
    )


def record_at(where: str | Path | Database, act: str) -> None:
    """Write down what was done to a store at the command line."""
    database = open_database(where)
    with database.translate_errors(), closing(database.connect()) as writer:
        record(writer, act)


def acts_at(where: str | Path | Database) -> list[Act]:
    """Return the acts of a store, oldest first."""
    database = open_database(where)
    with database.translate_errors(), closing(database.connect()) as reader:
        return [Act(*row) for row in reader.execute("SELECT hour, act, who FROM acts ORDER BY number")]
