"""A database that can be disturbed: statements that fail, answers that are lost, settings that make it run full."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pldp.collector import open_database
from pldp.collector.database import Connection, Database

Disturb = Callable[[str], None]


class FaultyConnection:
    """A connection whose statements pass by the faults of its database; all else is the real one's."""

    def __init__(self, database: FaultyDatabase, real: Connection) -> None:
        self._database = database
        self._real = real

    def execute(self, statement: str, *values: Any) -> Any:
        self._database.before(statement)
        done = self._real.execute(statement, *values)
        self._database.after(statement)
        return done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class FaultyDatabase:
    """The real database, with what happens before and after each statement: an error raised there is the database's."""

    def __init__(self, where: str | Path) -> None:
        self._real: Database = open_database(where)
        self._connections: list[FaultyConnection] = []
        self.before: Disturb = _nothing
        self.after: Disturb = _nothing

    def connect(self) -> FaultyConnection:
        self._connections.append(FaultyConnection(self, self._real.connect()))
        return self._connections[-1]

    def connect_writer(self) -> FaultyConnection:
        self._connections.insert(0, FaultyConnection(self, self._real.connect_writer()))
        return self._connections[0]

    @property
    def writer(self) -> FaultyConnection:
        """The connection that a store opens first: the one that writes."""
        return self._connections[0]

    @contextmanager
    def disturbed(self, *, before: Disturb | None = None, after: Disturb | None = None) -> Iterator[None]:
        self.before, self.after = before or _nothing, after or _nothing
        try:
            yield
        finally:
            self.before = self.after = _nothing

    @contextmanager
    def full(self) -> Iterator[None]:
        """Let an SQLite file grow no more."""
        (pages,) = self.writer.execute("PRAGMA page_count").fetchone()
        self.writer.execute(f"PRAGMA max_page_count = {pages}")
        yield
        self.writer.execute("PRAGMA max_page_count = 100000")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _nothing(statement: str) -> None:
    pass


def failing(error: Exception, start: str) -> Disturb:
    """Raise an error at every statement that begins like this."""

    def fail(statement: str) -> None:
        if statement.startswith(start):
            raise error

    return fail
