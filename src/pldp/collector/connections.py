"""The connections of one store: one that writes, one that reads, and the lock that keeps other collectors away."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from threading import Lock

from pldp.collector.database import Connection, Database


class Connections:
    """Opens transactions and snapshots, over new connections if the database was away.

    Memory must learn what is stored while it is `in_doubt`: at the start, and after a transaction that failed, as its
    commit may have happened all the same.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.in_doubt = True
        self._reading = Lock()
        with ExitStack() as opened:
            self._guard = opened.enter_context(closing(database.guard()))
            self._writer = opened.enter_context(closing(database.connect()))
            self._reader = opened.enter_context(closing(database.connect()))
            opened.pop_all()

    @property
    def writer(self) -> Connection:
        """The connection that writes; if the database was away, a new one, and the lock anew."""
        if self._writer.broken:
            self._guard.close()
            self._guard = self.database.guard()
            self._writer = self.database.connect()
        return self._writer

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Write all or nothing, durably."""
        with self.database.translate_errors():
            writer = self.writer
            writer.execute(self.database.begin_write)
            try:
                yield writer
                writer.execute("COMMIT")
            except BaseException:
                self.in_doubt = True
                raise
            finally:
                if writer.in_transaction:
                    writer.execute("ROLLBACK")

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

    def erase_log(self) -> None:
        """Take what was overwritten out of the database's own log."""
        self.database.erase_log(self._writer)

    def close(self) -> None:
        """Close all; who reads is waited for."""
        with self._reading:
            for connection in (self._reader, self._writer, self._guard):
                connection.close()
