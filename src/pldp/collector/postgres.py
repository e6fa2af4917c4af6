"""PostgreSQL: the same tables on a server of its own. Needs the extra `postgres`."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus

from pldp.collector.database import Connection, Rows
from pldp.collector.migrations import migrate
from pldp.errors import StoreError, StoreFullError

_LOCK: Final = 0x706C6470  # number of the lock that one collector per database holds


class _Connection:
    def __init__(self, address: str) -> None:
        self._raw = psycopg.connect(address, autocommit=True, connect_timeout=10)

    def execute(self, statement: str, values: Sequence[object] = (), /) -> Rows:
        return self._raw.execute(_with_placeholders(statement), values or None)

    def stream(self, statement: str, values: Sequence[object] = ()) -> Iterator[Any]:
        with self._raw.cursor() as cursor:
            yield from cursor.stream(_with_placeholders(statement), values or None)

    @property
    def in_transaction(self) -> bool:
        return not self._raw.closed and self._raw.info.transaction_status != TransactionStatus.IDLE

    @property
    def broken(self) -> bool:
        return self._raw.closed

    def close(self) -> None:
        self._raw.close()


class Postgres:
    """The database at an address."""

    begin_write = "BEGIN"
    begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    def __init__(self, address: str) -> None:
        self._address = address

    def connect(self) -> _Connection:
        """Connect; the tables are there in their newest form."""
        with self.translate_errors(), ExitStack() as opened:
            connection = opened.enter_context(closing(_Connection(self._address)))
            connection.execute("SET synchronous_commit = on")
            connection.execute("SET client_min_messages = warning")
            migrate(connection, _translate)
            opened.pop_all()
            return connection

    def guard(self) -> _Connection:
        """Hold a lock that the server frees when this process ends, however it ends."""
        with self.translate_errors(), ExitStack() as opened:
            guard = opened.enter_context(closing(_Connection(self._address)))
            guard.execute("SET lock_timeout = '2s'")  # the server may not have noticed yet that the one before has gone
            try:
                guard.execute("SELECT pg_advisory_lock(?)", (_LOCK,))
            except psycopg.errors.LockNotAvailable:
                raise StoreError("the database is in use by another collector") from None
            opened.pop_all()
            return guard

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Turn the database's errors into ours; its address, which may hold a password, is not in them."""
        try:
            yield
        except psycopg.errors.DiskFull as error:
            raise StoreFullError("the store has no room for more") from error
        except psycopg.Error as error:
            raise StoreError(f"the database cannot be used now ({type(error).__name__})") from error

    def erase_log(self, connection: Connection) -> None:
        """Do nothing: the server keeps its log to itself."""

    def backup(self, target: str | Path) -> None:
        """Refuse: the server has better means."""
        raise StoreError(f"{target}: a PostgreSQL database is copied with pg_dump")

    def restore(self, copy: str | Path) -> None:
        """Refuse: the server has better means."""
        raise StoreError(f"{copy}: a PostgreSQL database is restored with pg_restore")


def _with_placeholders(statement: str) -> Any:
    return statement.replace("?", "%s")


def _translate(statement: str) -> str:
    return statement.replace("BLOB", "BYTEA").replace("INTEGER", "BIGINT")
