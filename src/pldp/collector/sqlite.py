"""SQLite: one file with its log beside it, durable at every commit."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from pldp.collector.database import Connection
from pldp.collector.migrations import migrate
from pldp.errors import StoreError, StoreFullError
from pldp.files import OWNER_ONLY, atomic_path


class _Connection(sqlite3.Connection):
    broken = False

    def stream(self, statement: str, values: Sequence[object] = ()) -> Iterator[Any]:
        yield from self.execute(statement, tuple(values))


class Sqlite:
    """The database in a file."""

    begin_write = "BEGIN IMMEDIATE"
    begin_read = "BEGIN"

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def connect(self) -> _Connection:
        """Open the file with the settings that durability needs, its tables in their newest form."""
        with self.translate_errors(), ExitStack() as opened:
            connection = opened.enter_context(closing(_open(self._path, timeout=10)))
            for setting in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "temp_store = MEMORY"):
                connection.execute(f"PRAGMA {setting}").fetchall()
            migrate(connection)
            opened.pop_all()
            return connection

    def guard(self) -> _Connection:
        """Hold a lock that the operating system frees when this process ends, however it ends."""
        guard = None
        try:
            guard = _open(f"{self._path}.lock", timeout=0)
            guard.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error:
            if guard is not None:
                guard.close()
            raise StoreError(f"{self._path}: is in use by another collector, or its folder cannot be written") from None
        return guard

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Turn the database's errors into ours."""
        try:
            yield
        except UnicodeDecodeError as error:  # what SQLite says of a damaged file may quote it
            raise StoreError(f"{self._path}: is damaged") from error
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise StoreFullError("the store has no room for more") from error
            raise StoreError(f"{self._path}: cannot be used now ({type(error).__name__}: {error})") from error

    def erase_log(self, connection: Connection) -> None:
        """Empty the log; where it is in use, that happens at a later checkpoint."""
        with suppress(sqlite3.Error):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def backup(self, target: str | Path) -> None:
        """Copy the file, whole or not at all, while it is in use."""
        self._find()
        with (
            atomic_path(target) as fresh,
            self.translate_errors(),
            closing(_open(self._path, timeout=10)) as source,
            closing(_open(fresh, timeout=10)) as copy,
        ):
            source.backup(copy)

    def restore(self, copy: str | Path) -> None:
        """Begin with what a copy holds, once it was checked. A log left there would be written into it: none may be."""
        for left in (self._path, Path(f"{self._path}-wal")):
            if left.exists():
                raise StoreError(f"{left}: is in the way; move {self._path} and the files beside it away first")
        source = Sqlite(copy)
        source.check()
        source.backup(self._path)

    def check(self) -> None:
        """Raise `StoreError` unless the file is a whole store."""
        self._find()
        with self.translate_errors(), closing(_open(self._path, timeout=10)) as connection:
            surveys = connection.execute("SELECT count(*) FROM meta WHERE name = 'survey'").fetchone()
            if surveys != (1,) or connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                raise StoreError(f"{self._path}: is not a whole store")

    def _find(self) -> None:
        if not self._path.is_file():
            raise StoreError(f"{self._path}: there is no such store")


def _open(path: str | Path, timeout: float) -> _Connection:
    with suppress(OSError):  # what is wrong with the path, SQLite tells
        # Never open a file that exists: closing it would release the locks that SQLite holds in this process.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
    with suppress(OSError):
        Path(path).chmod(OWNER_ONLY)  # its log gets the same permissions
    return sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False, factory=_Connection)
