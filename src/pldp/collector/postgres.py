"""PostgreSQL: the same tables on a server of its own. Needs the extra `postgres`."""

import socket
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus

from pldp.collector.database import Connection, Rows
from pldp.collector.integrity import find_damage
from pldp.collector.migrations import migrate
from pldp.errors import StoreError, StoreFullError

PATIENCE: Final = 10  # seconds in which the server must answer a statement
CONNECT_PATIENCE: Final = 5
_LOCK: Final = 0x706C6470  # number of the lock that one collector per database holds
_SETTINGS: Final = (
    "synchronous_commit = on",
    "client_min_messages = warning",
    f"statement_timeout = '{PATIENCE}s'",
    f"lock_timeout = '{PATIENCE // 2}s'",
    f"idle_in_transaction_session_timeout = '{3 * PATIENCE}s'",
)


class _Connection:
    def __init__(self, address: str) -> None:
        self._raw = psycopg.connect(address, autocommit=True, connect_timeout=CONNECT_PATIENCE)
        self.deadline: float | None = None
        _watch(self)

    def execute(self, statement: str, values: Sequence[object] = (), /) -> Rows:
        with self._in_time():
            return self._raw.execute(_with_placeholders(statement), values or None)

    def stream(self, statement: str, values: Sequence[object] = ()) -> Iterator[Any]:
        with self._raw.cursor() as cursor:
            rows = cursor.stream(_with_placeholders(statement), values or None)
            while True:
                with self._in_time():
                    row = next(rows, None)
                if row is None:
                    return
                yield row

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        self.deadline = monotonic() + PATIENCE + 1  # the server's own limits come first, if it still has any
        try:
            yield
        finally:
            self.deadline = None

    def cut(self) -> None:
        """End the connection under the hands of who waits: a server that is frozen ends nothing by itself."""
        with suppress(OSError, psycopg.Error), socket.socket(fileno=socket.dup(self._raw.fileno())) as other:
            other.shutdown(socket.SHUT_RDWR)

    @property
    def in_transaction(self) -> bool:
        return not self._raw.closed and self._raw.info.transaction_status != TransactionStatus.IDLE

    @property
    def broken(self) -> bool:
        return self._raw.closed

    def close(self) -> None:
        self._raw.close()


_watched: weakref.WeakSet[_Connection] = weakref.WeakSet()
_watchers: list[Thread] = []


def _watch(connection: _Connection) -> None:
    """Cut a connection whenever its deadline has passed; one thread looks after all of them."""
    _watched.add(connection)
    if not _watchers:
        _watchers.append(Thread(target=_cut_late, name="pldp-postgres", daemon=True))
        _watchers[0].start()


def _cut_late() -> None:
    while True:
        sleep(0.5)
        now = monotonic()
        for connection in [*_watched]:
            if connection.deadline is not None and connection.deadline < now:
                connection.cut()


class Postgres:
    """The database at an address."""

    begin_write = "BEGIN"
    begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    ask_owner = "SELECT value FROM meta WHERE name = 'owner' FOR SHARE"

    def __init__(self, address: str) -> None:
        self._address = address

    def connect(self) -> _Connection:
        """Connect; the tables are there in their newest form."""
        with self.translate_errors(), ExitStack() as opened:
            connection = opened.enter_context(closing(_Connection(self._address)))
            for setting in _SETTINGS:
                connection.execute(f"SET {setting}")
            migrate(connection, _translate)
            opened.pop_all()
            return connection

    def connect_writer(self) -> _Connection:
        """Connect and hold a lock that the server frees when this connection ends, however it ends."""
        with self.translate_errors(), ExitStack() as opened:
            writer = opened.enter_context(closing(self.connect()))
            try:
                writer.execute("SET lock_timeout = '2s'")  # the server may not have noticed that the one before is gone
                writer.execute("SELECT pg_advisory_lock(?)", (_LOCK,))
                writer.execute(f"SET {_SETTINGS[3]}")
            except psycopg.errors.LockNotAvailable:
                raise StoreError("the database is in use by another collector") from None
            opened.pop_all()
            return writer

    def check_writer(self) -> None:
        """Do nothing: the lock is that of the connection which writes."""

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Turn the database's errors into ours; its address, which may hold a password, is not in them."""
        try:
            yield
        except psycopg.errors.DiskFull as error:
            raise StoreFullError("the store has no room for more") from error
        except psycopg.Error as error:
            raise StoreError(f"the database cannot be used now ({type(error).__name__})") from error

    def erase_log(self, connection: Connection) -> bool:  # noqa: ARG002 - as files need it
        """Do nothing: the server keeps its log to itself."""
        return True

    def check(self) -> list[str]:
        """Return what is damaged, one line each."""
        with self.translate_errors(), closing(self.connect()) as connection:
            return find_damage(self, connection)

    def backup(self, target: str | Path) -> list[str]:
        """Refuse: the server has better means."""
        raise StoreError(f"{target}: a PostgreSQL database is copied with pg_dump")

    def restore(self, copy: str | Path) -> None:
        """Refuse: the server has better means."""
        raise StoreError(f"{copy}: a PostgreSQL database is restored with pg_restore")


def _with_placeholders(statement: str) -> Any:
    return statement.replace("?", "%s")


def _translate(statement: str) -> str:
    return statement.replace("BLOB", "BYTEA").replace("INTEGER", "BIGINT")
