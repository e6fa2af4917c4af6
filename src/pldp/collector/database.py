"""What a store needs from a database, and which one an address names."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from pldp.errors import UsageError

Rows = Any
"""What comes back: rows to iterate over, and `rowcount`."""


class Connection(Protocol):
    """One connection; statements are on their own unless between BEGIN and COMMIT. Parameters are written `?`."""

    def execute(self, statement: str, values: Sequence[object] = (), /) -> Rows:
        """Run one statement."""

    def stream(self, statement: str, values: Sequence[object] = ()) -> Iterator[Any]:
        """Yield the rows of one statement without holding all of them."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""

    @property
    def broken(self) -> bool:
        """Whether it can be used no more."""

    def close(self) -> None:
        """End it."""


class Database(Protocol):
    """Makes connections, says how transactions begin, and turns errors into ours."""

    begin_write: str
    begin_read: str

    def connect(self) -> Connection:
        """Return a new connection; the tables are there in their newest form."""

    def guard(self) -> Connection:
        """Return a connection that keeps other collectors away while it is open."""

    def translate_errors(self) -> AbstractContextManager[None]:
        """Turn the database's errors into `StoreError` and `StoreFullError`."""

    def erase_log(self, connection: Connection) -> None:
        """Take what was overwritten out of logs, where the database has them beside its file."""

    def backup(self, target: str | Path) -> None:
        """Copy everything to a new file, whole or not at all, while it is in use."""

    def restore(self, copy: str | Path) -> None:
        """Begin with what a copy holds, once it was checked; nothing may be here yet."""


def open_database(where: str | Path | Database) -> Database:
    """Return PostgreSQL for an address that begins with postgresql://, the SQLite file of another name, or `where`."""
    if not isinstance(where, str | Path):
        return where
    if str(where).startswith(("postgresql://", "postgres://")):
        try:
            from pldp.collector.postgres import Postgres  # noqa: PLC0415 - optional
        except ImportError:
            raise UsageError("PostgreSQL needs the package psycopg: pip install 'pldp[postgres]'") from None
        return Postgres(str(where))
    from pldp.collector.sqlite import Sqlite  # noqa: PLC0415 - loaded when needed

    return Sqlite(where)
