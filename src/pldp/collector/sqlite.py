"""SQLite: one file with its log beside it, durable at every commit."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from pldp.collector.database import Connection, stored_survey
from pldp.collector.file_lock import FileLock, identity
from pldp.collector.integrity import find_damage
from pldp.collector.migrations import migrate, newest
from pldp.errors import StoreError, StoreFullError
from pldp.files import OWNER_ONLY, atomic_path

PATIENCE: Final = 10  # seconds that a statement waits for another process, such as `pldp store token`
_EXISTS: Final = "SELECT count(*) FROM sqlite_master WHERE name = 'version'"
_COPY_BLOCKS: Final = 1000  # blocks that are copied in one look
_SOME_BLOCKS: Final = "SELECT * FROM blocks WHERE first > ? ORDER BY first LIMIT ?"
_LATE_BLOCKS: Final = "SELECT * FROM blocks WHERE first > ? OR touched > ?"
_ENTER_BLOCK: Final = "INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?)"


class _Connection(sqlite3.Connection):
    broken = False
    lock: FileLock | None = None

    def stream(self, statement: str, values: Sequence[object] = ()) -> Iterator[Any]:
        yield from self.execute(statement, tuple(values))

    def close(self) -> None:
        super().close()
        if self.lock is not None:
            self.lock.release()


class Sqlite:
    """The database in a file."""

    begin_write = "BEGIN IMMEDIATE"
    begin_read = "BEGIN"
    shared = False

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path).resolve()  # SQLite names the log after the file that a link points to
        self._shown = path
        self._lock: FileLock | None = None
        self.newest = newest()

    def connect(self) -> _Connection:
        """Open the file with the settings that durability needs, its tables in their newest form."""
        with self.translate_errors(), ExitStack() as opened:
            connection = opened.enter_context(closing(_open(self._path)))
            for setting in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "temp_store = MEMORY"):
                connection.execute(f"PRAGMA {setting}").fetchall()
            migrate(connection, _EXISTS, begin=self.begin_write)
            opened.pop_all()
            return connection

    def connect_writer(self) -> _Connection:
        """Lock the file itself; the operating system frees it when this process ends, however it ends."""
        with suppress(OSError):
            _create(self._path)
        try:
            lock = FileLock(self._path)
        except BlockingIOError:
            raise StoreError(f"{self._shown}: is in use by another collector") from None
        except OSError as error:
            raise StoreError(f"{self._shown}: cannot be used ({error.strerror})") from None
        with ExitStack() as opened:
            opened.callback(lock.release)
            if self._path.stat().st_nlink > 1:
                raise StoreError(
                    f"{self._shown}: the file has several names (hard links), and each would have a log of its own; "
                    "remove the other names"
                )
            connection = self.connect()
            opened.pop_all()
        self._lock = connection.lock = lock
        return connection

    def try_to_keep(self, connection: Connection) -> bool:  # noqa: ARG002 - as servers need it
        """Refuse: one collector has the file, and what it counts is in its memory."""
        return False

    def is_alone(self, writer: Connection) -> bool:  # noqa: ARG002 - as servers need it
        """Say so: the lock lets nobody else in."""
        return True

    def check_writer(self) -> None:
        """Raise `StoreError` where the file was moved away or replaced."""
        try:
            if self._lock is not None and identity(self._path) == self._lock.identity:
                return
        except OSError:
            pass
        raise StoreError(f"{self._shown}: was moved away or replaced while in use; stop the collector, move it back")

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Turn the database's errors into ours."""
        try:
            yield
        except UnicodeDecodeError as error:  # what SQLite says of a damaged file may quote it
            raise StoreError(f"{self._shown}: is damaged") from error
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise StoreFullError("the store has no room for more") from error
            raise StoreError(f"{self._shown}: cannot be used now ({type(error).__name__}: {error})") from error

    def erase_log(self, connection: Connection) -> bool:
        """Empty the log unless a reader is active; never wait."""
        try:
            connection.execute("PRAGMA busy_timeout = 0").fetchall()
            ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error:
            return False
        finally:
            with suppress(sqlite3.Error):
                connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000}").fetchall()
        return not busy

    def backup(self, target: str | Path) -> list[str]:
        """Copy everything, whole or not at all, while it is in use; return what is damaged in it, one line each.

        Blocks are copied some at a time, so that a withdrawal need not wait for the copy to leave the log; those that
        were touched meanwhile are copied again at the end.
        """
        self.find()
        with atomic_path(target) as fresh, self.translate_errors(), closing(_open(self._path)) as source:
            ((touched,),) = source.execute("SELECT coalesce(sum(withdrawn), 0) FROM rounds")
            with closing(Sqlite(fresh).connect()) as copy:
                copy.execute("PRAGMA journal_mode = DELETE").fetchall()
                copy.execute("BEGIN")
                after = -1
                while blocks := source.execute(_SOME_BLOCKS, (after, _COPY_BLOCKS)).fetchall():
                    copy.executemany(_ENTER_BLOCK, blocks)
                    after = blocks[-1][0]
                source.execute("BEGIN")
                copy.executemany(_ENTER_BLOCK, source.execute(_LATE_BLOCKS, (after, touched)))
                for table in _tables(source) - {"blocks", "version", "head"}:  # the copy has the newest version
                    rows = source.execute(f"SELECT * FROM {table}")  # noqa: S608 - our own names
                    columns = [name for name, *_ in rows.description]
                    enter = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' for _ in columns)})"  # noqa: S608
                    copy.executemany(enter, rows)
                source.execute("COMMIT")
                copy.execute("COMMIT")
                return [] if stored_survey(copy) is None else find_damage(self, copy)  # none before it is served

    def restore(self, copy: str | Path) -> None:
        """Begin with what a copy holds, once it was checked. A log left there would be written into it: none may be."""
        for left in (self._path, Path(f"{self._path}-wal")):
            if left.exists():
                raise StoreError(f"{left}: is in the way; move {self._shown} and the files beside it away first")
        source = Sqlite(copy)
        damage = source.check()
        if damage:
            raise StoreError(f"{copy}: is not a whole store: {damage[0]}")
        source.backup(self._path)

    def check(self) -> list[str]:
        """Return what is damaged, one line each."""
        self.find()
        with self.translate_errors(), closing(_open(self._path)) as connection:
            sound = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            pages = [] if sound else ["pages of the file are damaged"]
            ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'blocks'")
            return [*pages, *(find_damage(self, connection) if tables else ["there are no tables for reports"])]

    def find(self) -> None:
        """Raise `StoreError` unless there is a file."""
        if not self._path.is_file():
            raise StoreError(f"{self._shown}: there is no such store")


def _create(path: Path) -> None:
    # Never open a file that exists: closing it would release the locks that SQLite holds in this process.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))


def _open(path: Path) -> _Connection:
    with suppress(OSError):  # what is wrong with the path, SQLite tells
        _create(path)
    with suppress(OSError):
        path.chmod(OWNER_ONLY)  # its log gets the same permissions
    return sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False, factory=_Connection)


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
