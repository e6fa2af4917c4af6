"""What a store needs from a database, which one an address names, and the connections of one store."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple, Protocol

from pldp.errors import StoreError, UsageError

Rows = Any  # what comes back: rows to iterate over, and `rowcount`
SEVERAL: Final = b"several collectors"  # the owner of a store that they share; an older program finds itself replaced
ROOM_BYTES: Final = 1 << 20  # that a store has to take after a write has failed, before it counts as ready
_ASK: Final = (
    "SELECT value, (SELECT max(oldest) FROM version), changes, erased, charged, "
    "(SELECT max(number) FROM rounds WHERE closed = 0) FROM meta, head WHERE name = 'owner'"
)


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

    begin_write: str  # where several collectors share a store, they take turns
    begin_read: str
    shared: bool  # whether several collectors can use one store
    newest: int  # version of the tables that this program makes

    def connect(self) -> Connection:
        """Return a new connection; the tables are there in their newest form."""

    def connect_writer(self) -> Connection:
        """Return a connection that keeps other collectors away while it is open."""

    def try_to_keep(self, connection: Connection) -> bool:
        """Make this connection that of the one collector which keeps the tallies of all; `False` while another is."""

    def is_alone(self, writer: Connection) -> bool:
        """Tell whether no other collector uses the store."""

    def check_writer(self) -> None:
        """Raise `StoreError` where the store is no longer the one that the writer was opened on."""

    def translate_errors(self) -> AbstractContextManager[None]:
        """Turn the database's errors into `StoreError` and `StoreFullError`."""

    def erase_log(self, connection: Connection) -> bool:
        """Take what was overwritten out of logs that the database has beside its file; `False` while one is in use."""

    def check(self) -> list[str]:
        """Return what is damaged, one line each; nothing is changed."""

    def backup(self, target: str | Path) -> list[str]:
        """Copy everything to a new file, whole or not at all, while it is in use; return what is damaged in it."""

    def restore(self, copy: str | Path) -> None:
        """Begin with what a copy holds, once it was checked; nothing may be here yet."""


def stored_survey(reader: Connection) -> bytes | None:
    """Return the survey whose reports a store holds, spelled out; `None` if it was never opened with one."""
    found = reader.execute("SELECT value FROM meta WHERE name = 'survey'").fetchone()
    return None if found is None else bytes(found[0])


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


def _refuse_older(oldest: int, database: Database) -> None:
    if oldest > database.newest:
        raise StoreError(f"the store was migrated to a form that needs version {oldest} of it; update this program")


class Head(NamedTuple):
    """What collectors of one store count together; see the table of this name. And the round that takes reports."""

    changes: int
    erased: int
    charged: int
    open_round: int | None = None


class Connections:
    """Opens transactions and snapshots, over new connections if the database was away.

    Memory must learn what is stored while it is `in_doubt`: at the start, and after a transaction that failed, as its
    commit may have happened all the same; `head` tells what other collectors did. Every transaction checks that this
    program may still write: the lock of a store for one collector can end without this process being told, and a store
    for several can be migrated beyond this program. `failure` is why the last write failed, `None` if it did not.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.in_doubt = True
        self.failure: StoreError | None = None
        self.head = Head(0, 0, 0)
        self._owner = SEVERAL if database.shared else secrets.token_bytes(16)
        self._reading = Lock()
        with ExitStack() as opened:
            self._writer = opened.enter_context(closing(database.connect_writer()))
            self._reader = opened.enter_context(closing(database.connect()))
            with self._begin() as writer:
                take = "INSERT INTO meta VALUES ('owner', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
                writer.execute(take, (self._owner,))
            opened.pop_all()

    @property
    def writer(self) -> Connection:
        """The connection that writes; if the database was away, a new one, and the lock anew."""
        if self._writer.broken:
            self.in_doubt = True
            self._writer = self.database.connect_writer()
        return self._writer

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Write all or nothing, durably, unless this program may write no more."""
        with self._begin() as writer:
            self.database.check_writer()
            told = writer.execute(_ASK).fetchone()
            if told is None:
                raise StoreError("the store is damaged: it does not say who writes to it; restore a backup")
            owner, oldest, *head = told
            if owner != self._owner:
                raise StoreError("another collector has taken over the store; this one writes no more")
            _refuse_older(oldest, self.database)
            self.head = Head(*head)
            yield writer

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        try:
            with self.database.translate_errors():
                writer = self.writer
                try:
                    writer.execute(self.database.begin_write)
                    yield writer
                    writer.execute("COMMIT")
                except BaseException:
                    self.in_doubt = True
                    raise
                finally:
                    if writer.in_transaction:
                        writer.execute("ROLLBACK")
        except StoreError as error:
            self.failure = error
            raise
        self.failure = None

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Read one state of the store, whatever is written meanwhile."""
        with self._reading, self.database.translate_errors():
            if self._reader.broken:
                self._reader = self.database.connect()
            self._reader.execute(self.database.begin_read)
            try:
                yield self._reader
            finally:
                if self._reader.in_transaction:
                    self._reader.execute("ROLLBACK")

    def check_ready(self) -> None:
        """Raise `StoreError` where the store does not answer, the last write failed, or a newer program is needed."""
        with self.snapshot() as reader:
            ((oldest,),) = reader.execute("SELECT max(oldest) FROM version")
        _refuse_older(oldest, self.database)
        failure = self.failure
        if failure is not None:
            raise type(failure)(*failure.args)

    def try_to_write(self) -> None:
        """Write as an upload would, and take it back: nothing else tells whether a full disk has room again."""
        with self.transaction() as writer:
            writer.execute("INSERT INTO meta VALUES ('room', ?)", (secrets.token_bytes(ROOM_BYTES),))
            writer.execute("DELETE FROM meta WHERE name = 'room'")

    def erase_log(self) -> bool:
        """Take what was overwritten out of the database's own log; `False` if that must be tried again."""
        return self.database.erase_log(self._writer)

    def close(self) -> None:
        """Close all; who reads is waited for."""
        with self._reading:
            for connection in (self._reader, self._writer):
                connection.close()


def keep_meta(writer: Connection, name: str, value: bytes) -> bytes:
    """Store a value unless there is one of this name; return what is stored."""
    writer.execute("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO NOTHING", (name, value))
    (kept,) = writer.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return bytes(kept)
