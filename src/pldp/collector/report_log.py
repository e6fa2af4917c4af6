"""The log of reports: numbered from 0 in the order in which they came, appended in chunks, erased in place.

Ids are found by an index in memory (see `seen`), which learns from the chunks at every start.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from pldp.collector.database import Connection, Connections
from pldp.collector.packing import ID_BYTES
from pldp.collector.running import Block
from pldp.collector.seen import Seen
from pldp.errors import StoreError
from pldp.reports.columns import BATCH_ROWS

COMPACT_EVERY: Final = 512  # chunks that are joined into one once there are so many
LARGEST_JOIN: Final = 1 << 16  # reports in chunks that are worth joining, at most
_LOAD_BYTES: Final = 1 << 23
_NO_CHUNK: Final = (0, b"", b"")
_NO_END: Final = 1 << 62


class Entry(NamedTuple):
    """A report in the log; the row of one that was erased is all zeros."""

    number: int
    row: bytes


class ReportLog:
    """Appends, finds and erases reports. One thread writes; `blocks` and `end` can be called from any.

    What is given a connection happens in the transaction or snapshot that is open there. `width` is the number of bytes
    in the row of a report, `secret` the key of the index (see `Seen`).
    """

    def __init__(self, connections: Connections, width: int, secret: bytes) -> None:
        self._connections = connections
        self._width = width
        self._seen = Seen(secret)
        self._chunk: Block = _NO_CHUNK
        self._next = 0
        self._indexed = 0
        self._small_chunks = 0

    def load(self) -> None:
        """Read the blocks of the index that were kept; `catch_up` learns what came after them."""
        with self._connections.database.translate_errors():
            for first, keys in self._connections.writer.stream("SELECT first, keys FROM seen ORDER BY first"):
                self._next = self._indexed = self._seen.add_block(keys, first)

    def catch_up(self) -> None:
        """Learn what is stored and not known yet."""
        self._chunk = _NO_CHUNK
        pending = bytearray()
        with self._connections.database.translate_errors():
            for first, ids in self._connections.writer.stream(
                "SELECT first, ids FROM chunks WHERE first >= (SELECT coalesce(max(first), 0) FROM chunks "
                "WHERE first <= ?) ORDER BY first",
                (self._next,),
            ):
                pending += ids[max(0, self._next - first) * ID_BYTES :]
                if len(pending) >= _LOAD_BYTES:
                    self._learn(pending)
        self._learn(pending)

    def _learn(self, ids: bytearray) -> None:
        self._seen.add_stored(bytes(ids), self._next)
        self._next += len(ids) // ID_BYTES
        ids.clear()

    def find(self, ids: Sequence[bytes]) -> list[Entry | None]:
        """Return what is stored under each id."""
        return [
            self._entry(identity, numbers) if numbers else None
            for identity, numbers in zip(ids, self._seen.find(ids), strict=True)
        ]

    def _entry(self, identity: bytes, numbers: Sequence[int]) -> Entry | None:
        for number in numbers:
            first, ids, rows = self._chunk_of(number)
            place = number - first
            if ids[place * ID_BYTES : (place + 1) * ID_BYTES] == identity:
                return Entry(number, rows[place * self._width : (place + 1) * self._width])
        return None

    def _chunk_of(self, number: int) -> Block:
        """Return the chunk that has this report; it is kept, as repeats come in the order of the originals."""
        first, ids, _ = self._chunk
        if not 0 <= number - first < len(ids) // ID_BYTES:
            statement = "SELECT first, ids, rows FROM chunks WHERE first <= ? ORDER BY first DESC LIMIT 1"
            with self._connections.database.translate_errors():
                self._chunk = self._connections.writer.execute(statement, (number,)).fetchone()
        return self._chunk

    def append(self, writer: Connection, round_number: int, reports: Mapping[bytes, bytes]) -> None:
        """Write the rows of new ids as one chunk; once that is committed, `remember` must be called."""
        chunk = (self._next, round_number, len(reports), b"".join(reports), b"".join(reports.values()))
        writer.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", chunk)

    def remember(self, ids: Sequence[bytes]) -> None:
        """Know ids that were appended, and tidy up where enough has come."""
        self._seen.add(ids, self._next)
        self._next += len(ids)
        self.keep_index()
        self._small_chunks += bool(ids)
        if self._small_chunks >= COMPACT_EVERY:
            self._compact()

    def erase(self, writer: Connection, number: int) -> int:
        """Overwrite the row of a report with zeros and return its round."""
        first, _, rows = self._chunk_of(number)
        self._chunk = _NO_CHUNK
        start = (number - first) * self._width
        erased = rows[:start] + bytes(self._width) + rows[start + self._width :]
        writer.execute("UPDATE chunks SET rows = ? WHERE first = ?", (erased, first))
        (round_number,) = writer.execute("SELECT round FROM chunks WHERE first = ?", (first,)).fetchone()
        return int(round_number)

    def end(self, reader: Connection) -> int:
        """Return the number that the next report gets."""
        last = reader.execute("SELECT first + count FROM chunks ORDER BY first DESC LIMIT 1").fetchone()
        return last[0] if last else 0

    def blocks(self, reader: Connection, round_number: int, start: int = 0, end: int = _NO_END) -> Iterator[Block]:
        """Yield what a round has from a number on, in chunks that begin before an end, many at once."""
        found = reader.stream(
            "SELECT first, ids, rows FROM chunks WHERE round = ? AND first < ? AND first + count > ? "
            "AND first >= (SELECT coalesce(max(first), 0) FROM chunks WHERE first <= ?) ORDER BY first",
            (round_number, end, start, start),
        )
        block, reports = [], 0
        for first, ids, rows in found:
            skip = max(0, start - first)
            block.append((first + skip, ids[skip * ID_BYTES :], rows[skip * self._width :]))
            reports += len(ids) // ID_BYTES
            if reports >= BATCH_ROWS:
                yield _join(block)
                block, reports = [], 0
        if block:
            yield _join(block)

    def keep_index(self) -> None:
        """Keep the blocks of the index that are full, so that the next start need not make them again."""
        with suppress(StoreError):  # where there is no room, the next start makes them
            for first, keys in self._seen.blocks(self._indexed):
                with self._connections.transaction() as writer:
                    writer.execute("INSERT INTO seen VALUES (?, ?) ON CONFLICT DO NOTHING", (first, keys))
                self._indexed = first + 1

    def _compact(self) -> None:
        """Join the latest small chunks, so that reading stays fast where reports come one by one."""
        self._small_chunks, self._chunk = 0, _NO_CHUNK
        with suppress(StoreError), self._connections.transaction() as writer:  # without room for it nothing is lost
            latest = writer.execute(
                "SELECT first, round, count, ids, rows FROM chunks ORDER BY first DESC LIMIT ?", (COMPACT_EVERY,)
            ).fetchall()[::-1]
            if len({chunk[1] for chunk in latest}) > 1 or sum(chunk[2] for chunk in latest) > LARGEST_JOIN:
                return
            firsts, rounds, counts, ids, rows = zip(*latest, strict=True)
            writer.execute("DELETE FROM chunks WHERE first >= ?", (firsts[0],))
            joined = (firsts[0], rounds[0], sum(counts), b"".join(ids), b"".join(rows))
            writer.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", joined)


def _join(chunks: Sequence[Block]) -> Block:
    firsts, ids, rows = zip(*chunks, strict=True)
    return firsts[0], b"".join(ids), b"".join(rows)
