"""Reading the log of reports: blocks and tail as they are stored, with their checksums compared."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from pldp.collector.database import Connection
from pldp.collector.packing import ID_BYTES
from pldp.errors import StoreError
from pldp.reports.columns import BATCH_ROWS

_NO_END: Final = 1 << 62


class Block(NamedTuple):
    """Reports that follow each other: the number of the first one, ids and rows one after the other."""

    first: int
    ids: bytes
    rows: bytes


def digest(*parts: bytes | int) -> bytes:
    """Return the checksum of what is stored together.

    >>> digest(7, b"ids", b"rows").hex()
    'b7d154369046e02c'
    """
    made = blake2b(digest_size=8)
    for part in parts:
        made.update(part.to_bytes(8, "little") if isinstance(part, int) else part)
    return made.digest()


class LogReader:
    """Reads blocks and tail over any connection, from any thread; `translate_errors` is the database's."""

    def __init__(self, translate_errors: Callable[[], AbstractContextManager[None]]) -> None:
        self._translate_errors = translate_errors
        self.damaged: dict[int, int] = {}  # first number and count of blocks that are not what was written

    def end(self, reader: Connection) -> int:
        """Return the number that the next report in a block gets."""
        last = reader.execute("SELECT first + count FROM blocks ORDER BY first DESC LIMIT 1").fetchone()
        return last[0] if last else 0

    def tail(self, reader: Connection, round_number: int) -> Block | None:
        """Return what a round has in the tail, under the numbers that follow those of the blocks."""
        groups = reader.execute(
            "SELECT place, round, digest, ids, rows FROM tail WHERE round = ? ORDER BY place", (round_number,)
        ).fetchall()
        end = self.end(reader)
        good = [each for each in groups if digest(each[1], each[3], each[4]) == each[2]]
        if len(good) < len(groups):
            self.damaged[end] = sum(len(each[3]) // ID_BYTES for each in groups if each not in good)
        return Block(end, b"".join(each[3] for each in good), b"".join(each[4] for each in good)) if good else None

    def blocks(self, reader: Connection, round_number: int, start: int = 0, end: int = _NO_END) -> Iterator[Block]:
        """Yield what a round has in blocks that begin from a number on and before an end, many at once.

        What is damaged is left out and noted.
        """
        joined: list[Block] = []
        reports = 0
        for first, count, checksum, ids, rows in self._stored(reader, round_number, start, end):
            if digest(first, round_number, ids, rows) != checksum:
                self.damaged[first] = count
                continue
            if joined and (reports >= BATCH_ROWS or first != joined[0].first + reports):
                yield _join(joined)
                joined, reports = [], 0
            joined.append(Block(first, ids, rows))
            reports += count
        if joined:
            yield _join(joined)

    def _stored(self, reader: Connection, round_number: int, start: int, end: int) -> Iterator[Any]:
        """Yield blocks as they are; one that the database cannot read comes without its content."""
        where = "FROM blocks WHERE round = ? AND first >= ? AND first < ? ORDER BY first"
        columns = "first, count, digest, ids, rows"
        translate_errors = self._translate_errors
        try:
            with translate_errors():
                for row in reader.stream(f"SELECT {columns} {where}", (round_number, start, end)):
                    start = row[0] + 1
                    yield row
        except StoreError:
            with translate_errors():  # if it cannot even tell which blocks there are, that is the error
                rest = reader.execute(f"SELECT first, count {where}", (round_number, start, end)).fetchall()
            for first, count in rest:
                try:
                    with translate_errors():
                        yield reader.execute(f"SELECT {columns} FROM blocks WHERE first = ?", (first,)).fetchone()  # noqa: S608
                except StoreError:
                    yield first, count, b"", b"", b""


def _join(blocks: Sequence[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    firsts, ids, rows = zip(*blocks, strict=True)
    return Block(firsts[0], b"".join(ids), b"".join(rows))
