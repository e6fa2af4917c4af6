"""PostgreSQL: the same tables on a server of its own, for one collector or several. Needs the extra `postgres`.

Collectors write in turns: each write transaction holds an advisory lock from its beginning to its end. The statement
that waits for the lock stands alone, as a statement sees what was committed before it began. All locks end with the
transaction or session that holds them, however that ends. See decision 26.
"""

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
from pldp.collector.migrations import migrate, newest
from pldp.errors import StoreError, StoreFullError

PATIENCE: Final = 10  # seconds in which the server must answer a statement
CONNECT_PATIENCE: Final = 5
TURN_PATIENCE: Final = 4  # seconds that a collector may be silent while the others wait for their turn
_WRITE, _KEEP, _PRESENT, _MIGRATE = range(0x706C6400, 0x706C6404)  # kinds of locks, each of one schema
_SETTINGS: Final = (
    "synchronous_commit = on",
    "client_min_messages = warning",
    f"statement_timeout = '{PATIENCE}s'",
    f"lock_timeout = '{PATIENCE // 2}s'",
    f"idle_in_transaction_session_timeout = '{3 * PATIENCE}s'",
)
_EXISTS: Final = "SELECT count(*) FROM pg_class WHERE oid = to_regclass('version')"


class _Connection:
    def __init__(self, address: str) -> None:
        self._raw = psycopg.connect(address, autocommit=True, connect_timeout=CONNECT_PATIENCE)
        self.deadline: float | None = None
        _watch(self)

    def execute(self, statement: str, values: Sequence[object] = (), /) -> Rows:
        with self._in_time():
            prepare = False if ";" in statement else None  # many statements at once cannot be prepared
            binary = statement.startswith("SELECT")  # bytes come as they are, not as text
            return self._raw.execute(_with_placeholders(statement), values or None, prepare=prepare, binary=binary)

    def stream(self, statement: str, values: Sequence[object] = ()) -> Iterator[Any]:
        with self._raw.cursor(binary=True) as cursor:
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


def _lock(function: str, kind: int) -> str:
    """Return a statement that asks for a lock, or gives it back; stores in different schemas have different ones."""
    return f"SELECT {function}({kind}, hashtext(current_schema()))"


class Postgres:
    """The database at an address."""

    begin_write = f"BEGIN; {_lock('pg_advisory_xact_lock', _WRITE)}"
    begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    shared = True

    def __init__(self, address: str) -> None:
        self._address = address
        self.newest = newest()

    def connect(self) -> _Connection:
        """Connect; the tables are there in their newest form."""
        with self.translate_errors(), ExitStack() as opened:
            connection = opened.enter_context(closing(_Connection(self._address)))
            for setting in _SETTINGS:
                connection.execute(f"SET {setting}")
            migrate(connection, _EXISTS, _translate, f"BEGIN; {_lock('pg_advisory_xact_lock', _MIGRATE)}")
            opened.pop_all()
            return connection

    def connect_writer(self) -> _Connection:
        """Connect, and show other collectors for as long as the connection lasts that this one is there."""
        with self.translate_errors(), ExitStack() as opened:
            writer = opened.enter_context(closing(self.connect()))
            writer.execute(f"SET idle_in_transaction_session_timeout = '{TURN_PATIENCE}s'")
            writer.execute(_lock("pg_advisory_lock_shared", _PRESENT))
            opened.pop_all()
            return writer

    def try_to_keep(self, connection: Connection) -> bool:
        """Hold the lock of the one who keeps the tallies for as long as this connection lasts, if nobody does."""
        ((held,),) = connection.execute(_lock("pg_try_advisory_lock", _KEEP))
        return bool(held)

    def is_alone(self, writer: Connection) -> bool:
        """Tell whether no other collector shows that it is there."""
        ((alone,),) = writer.execute(_lock("pg_try_advisory_lock", _PRESENT))
        if alone:
            writer.execute(_lock("pg_advisory_unlock", _PRESENT))
        return bool(alone)

    def check_writer(self) -> None:
        """Do nothing: a transaction holds the lock itself."""

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
