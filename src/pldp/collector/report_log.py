"""The log of reports: numbered from 0, kept in small blocks with checksums, erased in place.

The latest reports are the tail: groups in the order in which they came. Once there are enough of them they become
blocks in the order of their ids, which are random, so that no row tells when it came beyond that. Ids in blocks are
found by an index in memory (see `seen`), which learns from the blocks at every start.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np

from pldp.collector.database import Connection, Connections
from pldp.collector.log_reader import LogReader, digest
from pldp.collector.packing import ID_BYTES
from pldp.collector.seen import Seen
from pldp.errors import StoreError

MIX: Final = 50  # reports that make up blocks, at least
BLOCK_REPORTS: Final = 256  # reports in a block, at most
_BLOCK_BYTES: Final = 1 << 14  # bytes in a block, if it has more than one report
_KEPT_BLOCKS: Final = 256  # blocks that repeats were found in, kept as more of them are likely to follow
_LOAD_BYTES: Final = 1 << 23
_IN_TAIL: Final = -1

_NEW: Final = (
    "SELECT 0 AS tail, first, count, ids, NULL FROM blocks "
    "WHERE first >= coalesce((SELECT max(first) FROM blocks WHERE first <= ?), 0)"
)
_TAIL: Final = "SELECT 1 AS tail, place AS first, 0, ids, rows FROM tail"
_BOTH: Final = f"{_NEW} UNION ALL {_TAIL} ORDER BY tail, first"  # in one statement, where there are few to sort
_FIND: Final = "SELECT first, round, digest, ids, rows FROM blocks WHERE first <= ? ORDER BY first DESC LIMIT 1"


class Entry(NamedTuple):
    """A report in the log; the row of one that was erased is all zeros. The tail has no numbers yet.

    Where retention deleted the rows of a round, one byte is left of each: 1, or 0 if the report was erased before.
    """

    number: int
    row: bytes
    deleted: bool = False


class ReportLog(LogReader):
    """Appends, finds and erases reports. One thread writes; what reads (see `LogReader`) can be called from any.

    What is given a connection happens in the transaction or snapshot that is open there. `width` is the number of bytes
    in the row of a report, `secret` the key of the index (see `Seen`), `mix` how many reports become blocks together.
    """

    def __init__(self, connections: Connections, width: int, secret: bytes, mix: int = MIX) -> None:
        super().__init__(connections.database.translate_errors)
        self._connections = connections
        self._width = width
        self._mix = mix
        self._in_block = max(1, min(BLOCK_REPORTS, _BLOCK_BYTES // (ID_BYTES + width)))
        self._seen = Seen(secret)
        self._kept: OrderedDict[int, Any] = OrderedDict()  # rows of the table of blocks, the latest behind
        self._tail: dict[bytes, bytes] = {}
        self._groups = 0  # in the tail
        self._appended: Mapping[bytes, bytes] = {}
        self._order: list[int] = []  # of what was appended, in blocks
        self._next = 0
        self._indexed = 0
        self.deleted_rounds: set[int] = set()  # whose single reports were deleted or are being deleted

    def load(self) -> None:
        """Read the blocks of the index that were kept, up to one that is damaged; `catch_up` learns what follows."""
        with self._connections.database.translate_errors():
            found = self._connections.writer.stream("SELECT first, digest, keys FROM seen ORDER BY first")
            for first, checksum, keys in found:
                if first != self._next or digest(first, keys) != checksum:
                    break
                self._next = self._indexed = self._seen.add_block(keys, first)

    def catch_up(self, *, erased: bool = True, few: bool = False) -> None:
        """Learn what is stored and not known yet; `erased`: rows of blocks that are known may have changed, too.

        `few`: what is new fits into memory at once, which costs less than a stream.
        """
        if erased:
            self._kept.clear()
        pending, groups = bytearray(), []
        with self._connections.database.translate_errors():
            for in_tail, first, count, ids, rows in self._unknown(few=few):
                if in_tail:
                    groups.append((ids, rows))
                    continue
                known = max(0, self._next + len(pending) // ID_BYTES - first)  # parts of the index end within blocks
                pending += ids[known * ID_BYTES : count * ID_BYTES].ljust((count - known) * ID_BYTES, b"\0")
                if len(pending) >= _LOAD_BYTES:
                    self._learn(pending)
            self._learn(pending)
        self._groups = len(groups)
        self._tail = {identity: row for ids, rows in groups for identity, row in self._pairs(ids, rows)}

    def _unknown(self, *, few: bool) -> Iterator[Any]:
        """Yield blocks that are not known yet, and then the tail."""
        writer, start = self._connections.writer, (self._next,)
        if few:
            yield from writer.execute(_BOTH, start).fetchall()
        else:
            yield from writer.stream(f"{_NEW} ORDER BY first", start)
            yield from writer.execute(f"{_TAIL} ORDER BY first").fetchall()

    def _learn(self, ids: bytearray) -> None:
        self._seen.add_stored(bytes(ids), self._next)
        self._next += len(ids) // ID_BYTES
        ids.clear()

    def _pairs(self, ids: bytes, rows: bytes) -> Iterator[tuple[bytes, bytes]]:
        for place in range(len(ids) // ID_BYTES):
            yield ids[place * ID_BYTES : (place + 1) * ID_BYTES], rows[place * self._width : (place + 1) * self._width]

    def find(self, ids: Sequence[bytes]) -> dict[bytes, Entry]:
        """Return what is stored under ids, of those that are."""
        tail = self._tail
        found = {identity: Entry(_IN_TAIL, tail[identity]) for identity in ids if identity in tail} if tail else {}
        for identity, numbers in self._seen.find(ids).items():
            entry = self._entry(identity, numbers)
            if entry is not None:
                found[identity] = entry
        return found

    def _entry(self, identity: bytes, numbers: Sequence[int]) -> Entry | None:
        for number in numbers:
            first, of_round, _, ids, rows = self._block_of(number)
            place = number - first
            if ids[place * ID_BYTES : (place + 1) * ID_BYTES] == identity:
                if is_deleted(ids, rows):
                    return Entry(number, rows[place : place + 1], deleted=True)
                row = rows[place * self._width : (place + 1) * self._width]
                return Entry(number, row, deleted=of_round in self.deleted_rounds)
        return None

    def _block_of(self, number: int) -> Any:
        """Return first number, round, checksum, ids and rows of the block that has this report."""
        bucket = number // self._in_block
        block = self._kept.get(bucket)
        if block is None or not 0 <= number - block[0] < len(block[3]) // ID_BYTES:
            with self._connections.database.translate_errors():
                block = self._kept[bucket] = self._connections.writer.execute(_FIND, (number,)).fetchone()
            if len(self._kept) > _KEPT_BLOCKS:
                self._kept.popitem(last=False)
        return block

    def append(self, writer: Connection, round_number: int, reports: Mapping[bytes, bytes]) -> int:
        """Write the rows of new ids and return how many became blocks; once committed, `remember` must be called."""
        self._appended = {**self._tail, **reports} if self._tail else reports
        if len(self._appended) >= self._mix:
            return self._write_blocks(writer, round_number)
        ids, rows = b"".join(reports), b"".join(reports.values())
        group = (self._groups, round_number, digest(round_number, ids, rows), ids, rows)
        writer.execute("INSERT INTO tail VALUES (?, ?, ?, ?, ?)", group)
        return 0

    def flush(self, writer: Connection, round_number: int) -> int:
        """Make blocks of the tail, however few reports it has; once committed, `remember` must be called."""
        self._appended = self._tail.copy()
        return self._write_blocks(writer, round_number)

    def _write_blocks(self, writer: Connection, round_number: int) -> int:
        """Write what was appended in the order of the ids; it is in the tail no more."""
        if self._groups:
            writer.execute("DELETE FROM tail")
        ids, rows = b"".join(self._appended), b"".join(self._appended.values())
        order = np.argsort(np.frombuffer(ids, ">u8")[::2], kind="stable")
        ids = np.frombuffer(ids, np.uint8).reshape(-1, ID_BYTES)[order].tobytes()
        rows = np.frombuffer(rows, np.uint8).reshape(-1, self._width)[order].tobytes()
        self._order = order.tolist()
        for start in range(0, len(self._appended), self._in_block):
            first = self._next + start
            some = ids[start * ID_BYTES : (start + self._in_block) * ID_BYTES]
            their = rows[start * self._width : (start + self._in_block) * self._width]
            count = len(some) // ID_BYTES
            block = (first, round_number, count, 0, digest(first, round_number, some, their), some, their)
            writer.execute("INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?)", block)
        return len(self._appended)

    def remember(self, blocks: int) -> None:
        """Know what was appended, of which so many reports became blocks."""
        if not blocks:
            self._tail, self._groups = dict(self._appended), self._groups + 1
            return
        ids = list(self._appended)
        self._seen.add([ids[place] for place in self._order], self._next)
        self._next += blocks
        self._tail, self._groups = {}, 0
        self.keep_index()

    def erase(self, writer: Connection, identity: bytes, number: int, round_number: int, touched: int) -> int:
        """Overwrite the row of a report with zeros and return its round; a block is noted as touched."""
        if number == _IN_TAIL:
            self._tail[identity] = bytes(self._width)
            ids, rows = b"".join(self._tail), b"".join(self._tail.values())
            writer.execute("DELETE FROM tail")
            group = (0, round_number, digest(round_number, ids, rows), ids, rows)
            writer.execute("INSERT INTO tail VALUES (?, ?, ?, ?, ?)", group)
            self._groups = 1
            return round_number
        first, of_round, checksum, ids, rows = self._block_of(number)
        whole = digest(first, of_round, ids, rows) == checksum
        start = (number - first) * self._width
        erased = rows[:start] + bytes(self._width) + rows[start + self._width :]
        checksum = digest(first, of_round, ids, erased) if whole else bytes(len(checksum))  # what is damaged stays so
        change = "UPDATE blocks SET rows = ?, digest = ?, touched = ? WHERE first = ?"
        writer.execute(change, (erased, checksum, touched, first))
        self._kept.clear()
        return int(of_round)

    def keep_index(self) -> None:
        """Keep the blocks of the index that are full, so that the next start need not make them again.

        All collectors make the same blocks, so the first one to come keeps it for all.
        """
        with suppress(StoreError):  # where there is no room, the next start makes them
            for first, keys in self._seen.blocks(self._indexed):
                with self._connections.transaction() as writer:
                    kept = writer.execute("SELECT digest, keys FROM seen WHERE first = ?", (first,)).fetchone()
                    if kept != (digest(first, keys), keys):
                        writer.execute("DELETE FROM seen WHERE first >= ?", (first,))
                        writer.execute("INSERT INTO seen VALUES (?, ?, ?)", (first, digest(first, keys), keys))
                self._indexed = first + 1

    def delete_rows(self, writer: Connection, round_number: int, most: int) -> bool:
        """Delete the rows of some blocks of a round; `False` once there are none left.

        The ids stay, so that no report is taken twice, each with a byte that tells whether the report was erased.
        """
        columns = "SELECT first, digest, ids, rows FROM blocks"
        found = writer.execute(
            f"{columns} WHERE round = ? AND length(rows) > count ORDER BY first LIMIT ?", (round_number, most)
        ).fetchall()
        for first, checksum, ids, rows in found:
            whole = digest(first, round_number, ids, rows) == checksum
            live = bytes(any(row) for _, row in self._pairs(ids, rows))
            made = digest(first, round_number, ids, live) if whole else bytes(len(checksum))
            writer.execute("UPDATE blocks SET rows = ?, digest = ? WHERE first = ?", (live, made, first))
        self._kept.clear()
        return bool(found)


def is_deleted(ids: bytes, rows: bytes) -> bool:
    """Tell whether a block has one byte per report only, as no row of a report has."""
    return len(ids) == len(rows) * ID_BYTES
