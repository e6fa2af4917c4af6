"""Reports in one SQLite file: appended in chunks, durable when acknowledged, counted once."""

from __future__ import annotations

import hmac
import secrets
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Final

import pyarrow as pa

from pldp.collector.migrations import migrate
from pldp.collector.packing import ID_BYTES, Packed, Packing
from pldp.collector.seen import Seen
from pldp.collector.store import NO_ROUND, Outcome, Round
from pldp.errors import StoreError, StoreFullError
from pldp.reports import Rejection
from pldp.reports.columns import BATCH_ROWS
from pldp.survey import Survey
from pldp.tallies import Tally, tally

COMPACT_EVERY: Final = 512
"""Chunks that are joined into one once there are so many."""

LARGEST_JOIN: Final = 1 << 16
"""Reports in chunks that are worth joining, at most."""

_MAC_BYTES: Final = 16
_LOAD_BYTES: Final = 1 << 23
_NO_CHUNK: Final = (0, b"", b"")


class SqliteStore:
    """A store in one file (with its log beside it). One process at a time; a second one is refused.

    Attributes
    ----------
    packing
        How its reports are packed.
    """

    def __init__(self, survey: Survey, path: str | Path) -> None:
        self.packing = Packing(survey)
        self._survey = survey
        self._path = Path(path)
        self._guard = _guard(self._path)
        try:
            with _typed():
                self._writer = connect(self._path)
                self._reader = connect(self._path)
            with self._transaction() as writer:
                self._check_survey(writer)
                self._receipts = blake2b(key=_key(writer), digest_size=_MAC_BYTES)
                writer.execute("INSERT INTO rounds (number) SELECT 1 WHERE NOT EXISTS (SELECT * FROM rounds)")
            self._reading = Lock()
            self._tallied: tuple[tuple[int, int], int, Tally] | None = None
            self._chunk: tuple[int, bytes, bytes] = _NO_CHUNK
            self._load()
        except BaseException:
            self._guard.close()
            raise

    def _check_survey(self, writer: sqlite3.Connection) -> None:
        writer.execute("INSERT OR IGNORE INTO meta VALUES ('survey', ?)", (self._survey.canonical,))
        (kept,) = writer.execute("SELECT value FROM meta WHERE name = 'survey'").fetchone()
        if kept != self._survey.canonical:
            raise StoreError(f"{self._path}: holds reports of another survey, or of another version of it")

    def _load(self) -> None:
        """Read what is needed in memory: the ids, the next number, the round."""
        self._seen = Seen()
        self._next = 0
        self._small_chunks = 0
        pending = bytearray()
        for first, ids in self._writer.execute("SELECT first, ids FROM chunks ORDER BY first"):
            if len(pending) >= _LOAD_BYTES:
                self._seen.add_stored(bytes(pending), self._next - len(pending) // ID_BYTES)
                pending.clear()
            pending += ids
            self._next = first + len(ids) // ID_BYTES
        if pending:
            self._seen.add_stored(bytes(pending), self._next - len(pending) // ID_BYTES)
        self._round = next((each.number for each in self.rounds() if each.open), None)

    def add(self, reports: Sequence[Packed], rejections: Mapping[Rejection, int]) -> list[Outcome]:
        """Store reports in one transaction and count what was rejected before; when it returns, all is durable."""
        outcomes: list[Outcome] = []
        fresh: dict[bytes, bytes] = {}
        found = self._seen.find([report.id for report in reports])
        for report, numbers in zip(reports, found, strict=True):
            known = fresh.get(report.id)
            if known is None and numbers:
                place = self._place(report.id, numbers)
                known = None if place is None else self._row(place)
            if known is not None:
                outcomes.append(self._again(report.row, known))
            elif self._round is None:
                outcomes.append(Rejection.CLOSED_ROUND)
            else:
                fresh[report.id] = report.row
                outcomes.append(None)
        counts = Counter(rejections) + Counter(outcome for outcome in outcomes if outcome is not None)
        if fresh or counts:
            with self._transaction() as writer:
                if fresh:
                    chunk = (self._next, self._round, len(fresh), b"".join(fresh), b"".join(fresh.values()))
                    writer.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", chunk)
                    received = (len(fresh), self._round)
                    writer.execute("UPDATE rounds SET received = received + ? WHERE number = ?", received)
                writer.executemany(
                    "INSERT INTO rejections VALUES (?, ?, ?) "
                    "ON CONFLICT (round, reason) DO UPDATE SET count = count + excluded.count",
                    [(self._round or NO_ROUND, reason.value, count) for reason, count in counts.items()],
                )
            self._seen.add(list(fresh), self._next)
            self._next += len(fresh)
            self._small_chunks += bool(fresh)
            if self._small_chunks >= COMPACT_EVERY:
                self._compact()
        return outcomes

    def _again(self, row: bytes, known: bytes) -> Outcome:
        """Judge a report whose id is stored."""
        if not any(known):
            return Rejection.WITHDRAWN
        return None if row == known else Rejection.CONFLICT

    def _place(self, identity: bytes, numbers: Sequence[int]) -> int | None:
        """Return where in its chunk, which becomes the current one, the report with this id is."""
        for number in numbers:
            first, ids, _ = self._chunk_of(number)
            place = number - first
            if ids[place * ID_BYTES : (place + 1) * ID_BYTES] == identity:
                return place
        return None

    def _row(self, place: int) -> bytes:
        return self._chunk[2][place * self.packing.width : (place + 1) * self.packing.width]

    def _chunk_of(self, number: int) -> tuple[int, bytes, bytes]:
        """Return the chunk that has this report; it is kept, as repeats come in the order of the originals."""
        first, ids, _ = self._chunk
        if not 0 <= number - first < len(ids) // ID_BYTES:
            with _typed():
                self._chunk = self._writer.execute(
                    "SELECT first, ids, rows FROM chunks WHERE first <= ? ORDER BY first DESC LIMIT 1", (number,)
                ).fetchone()
        return self._chunk

    def _compact(self) -> None:
        """Join the latest small chunks, so that reading stays fast where reports come one by one."""
        self._small_chunks, self._chunk = 0, _NO_CHUNK
        with suppress(StoreError), self._transaction() as writer:  # nothing is lost where there is no room for it
            latest = writer.execute(
                "SELECT first, round, count, ids, rows FROM chunks ORDER BY first DESC LIMIT ?", (COMPACT_EVERY,)
            ).fetchall()[::-1]
            if len({chunk[1] for chunk in latest}) > 1 or sum(chunk[2] for chunk in latest) > LARGEST_JOIN:
                return
            firsts, rounds, counts, ids, rows = zip(*latest, strict=True)
            writer.execute("DELETE FROM chunks WHERE first >= ?", (firsts[0],))
            joined = (firsts[0], rounds[0], sum(counts), b"".join(ids), b"".join(rows))
            writer.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", joined)

    def receipt(self, identity: bytes) -> str:
        """Return what the sender of a report withdraws it with: the id and a keyed hash of it."""
        keyed = self._receipts.copy()
        keyed.update(identity)
        return identity.hex() + keyed.hexdigest()

    def withdraw(self, receipt: str) -> bool:
        """Erase the report of a receipt; `False` if there is none. Again is harmless."""
        try:
            identity = bytes.fromhex(receipt)[:ID_BYTES]
        except ValueError:
            return False
        if not hmac.compare_digest(self.receipt(identity).encode(), receipt.encode()):
            return False
        (numbers,) = self._seen.find([identity])
        place = self._place(identity, numbers)
        if place is None or not any(self._row(place)):
            return place is not None
        first, ids, rows = self._chunk
        width = self.packing.width
        erased = rows[: place * width] + bytes(width) + rows[(place + 1) * width :]
        with self._transaction() as writer:
            writer.execute("UPDATE chunks SET rows = ? WHERE first = ?", (erased, first))
            writer.execute(
                "UPDATE rounds SET withdrawn = withdrawn + 1 WHERE number = (SELECT round FROM chunks WHERE first = ?)",
                (first,),
            )
        self._chunk = (first, ids, erased)
        with suppress(sqlite3.Error):  # the log may be in use; it is emptied at the next checkpoint
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return True

    def close_round(self) -> Round:
        """Close the open round: its tally is kept and never changes again."""
        if self._round is not None:
            frozen = _tally_bytes(self.tally(self._round))
            with self._transaction() as writer:
                writer.execute("UPDATE rounds SET tally = ? WHERE number = ?", (frozen, self._round))
            self._round = None
        return self.rounds()[-1]

    def open_round(self) -> Round:
        """Open the next round; the open one stays if there is one."""
        if self._round is None:
            with self._transaction() as writer:
                writer.execute("INSERT INTO rounds (number) SELECT max(number) + 1 FROM rounds")
            self._round = self.rounds()[-1].number
        return self.rounds()[-1]

    def rounds(self) -> list[Round]:
        """Return all rounds, oldest first."""
        with self._snapshot() as reader:
            found = reader.execute("SELECT number, tally IS NULL, received, withdrawn FROM rounds ORDER BY number")
            return [Round(number, bool(is_open), received - gone, gone) for number, is_open, received, gone in found]

    def tally(self, number: int | None = None) -> Tally:
        """Return the tally of a round, of the latest by default; only reports since the last call are counted anew."""
        with self._snapshot() as reader:
            number, withdrawn, frozen = _round(reader, number)
            if frozen is not None:
                return _tally_from_bytes(frozen)
            state, start, counted = self._tallied or ((0, 0), 0, Tally.empty(self._survey))
            if state != (number, withdrawn):
                start, counted = 0, Tally.empty(self._survey)
            end = start
            for first, ids, rows in self._blocks(reader, number, start):
                counted += tally(self._survey, [self.packing.batch(ids, rows)])
                end = first + len(ids) // ID_BYTES
            self._tallied = ((number, withdrawn), end, counted)
            rejected = reader.execute("SELECT reason, count FROM rejections WHERE round = ?", (number,))
            rejections = {Rejection(reason): count for reason, count in rejected}
        return Tally(counted.survey, counted.counts, counted.reports, rejections)

    def batches(self, number: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the reports of a round in columns."""
        with _typed(), closing(connect(self._path)) as reader:
            reader.execute("BEGIN")
            chosen, _, _ = _round(reader, number)
            for _, ids, rows in self._blocks(reader, chosen, 0):
                yield self.packing.batch(ids, rows)

    def _blocks(self, reader: sqlite3.Connection, number: int, start: int) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield first number, ids and rows of what a round has from a number on, many chunks at once."""
        found = reader.execute(
            "SELECT first, ids, rows FROM chunks WHERE round = ? AND first + count > ? "
            "AND first >= (SELECT coalesce(max(first), 0) FROM chunks WHERE first <= ?) ORDER BY first",
            (number, start, start),
        )
        block, reports = [], 0
        for first, ids, rows in found:
            skip = max(0, start - first)
            block.append((first + skip, ids[skip * ID_BYTES :], rows[skip * self.packing.width :]))
            reports += len(ids) // ID_BYTES
            if reports >= BATCH_ROWS:
                yield _join(block)
                block, reports = [], 0
        if block:
            yield _join(block)

    def rejections(self) -> dict[Rejection, int]:
        """Return how many reports were rejected in all, by reason."""
        with self._snapshot() as reader:
            found = reader.execute("SELECT reason, sum(count) FROM rejections GROUP BY reason").fetchall()
        return {Rejection(reason): count for reason, count in found}

    def backup(self, target: str | Path) -> None:
        """Copy everything to a file that a collector can start from, while reports keep coming."""
        backup(self._path, target)

    def close(self) -> None:
        """Let go of the file."""
        for connection in (self._reader, self._writer, self._guard):
            connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all or nothing, durably."""
        with _typed():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            finally:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """Read one state of the store, whatever is written meanwhile."""
        with self._reading, _typed():
            self._reader.execute("BEGIN")
            try:
                yield self._reader
            finally:
                self._reader.execute("ROLLBACK")


def connect(path: str | Path) -> sqlite3.Connection:
    """Open the file with the settings that durability needs, its tables in their newest form."""
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    for setting in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
        connection.execute(f"PRAGMA {setting}").fetchall()
    migrate(connection)
    return connection


def backup(path: str | Path, target: str | Path) -> None:
    """Copy a store to a new file, whole or not at all; the store may be in use."""
    if not Path(path).is_file():
        raise StoreError(f"{path}: there is no such store")
    fresh = Path(f"{target}.new")
    with _typed():
        source = sqlite3.connect(path, timeout=10)
        copy = sqlite3.connect(fresh)
        try:
            source.backup(copy)
        finally:
            copy.close()
            source.close()
    fresh.replace(target)


def _guard(path: Path) -> sqlite3.Connection:
    """Hold a lock that the operating system frees when this process ends, however it ends."""
    guard = None
    try:
        guard = sqlite3.connect(f"{path}.lock", timeout=0, isolation_level=None, check_same_thread=False)
        guard.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error:
        if guard is not None:
            guard.close()
        raise StoreError(f"{path}: is in use by another collector, or its folder cannot be written") from None
    return guard


@contextmanager
def _typed() -> Iterator[None]:
    """Turn the database's errors into ours."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            raise StoreFullError("the store has no room for more") from error
        raise StoreError(f"the store cannot be used now ({type(error).__name__}: {error})") from error


def _key(writer: sqlite3.Connection) -> bytes:
    writer.execute("INSERT OR IGNORE INTO meta VALUES ('receipt_key', ?)", (secrets.token_bytes(32),))
    (key,) = writer.execute("SELECT value FROM meta WHERE name = 'receipt_key'").fetchone()
    return bytes(key)


def _join(chunks: Sequence[tuple[int, bytes, bytes]]) -> tuple[int, bytes, bytes]:
    """Join chunks that follow each other."""
    firsts, ids, rows = zip(*chunks, strict=True)
    return firsts[0], b"".join(ids), b"".join(rows)


def _round(reader: sqlite3.Connection, number: int | None) -> tuple[int, int, bytes | None]:
    found: tuple[int, int, bytes | None] | None = reader.execute(
        "SELECT number, withdrawn, tally FROM rounds WHERE number = coalesce(?, (SELECT max(number) FROM rounds))",
        (number,),
    ).fetchone()
    if found is None:
        raise StoreError(f"round must be the number of one, not {number}")
    return found


def _tally_bytes(counted: Tally) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        counted.save(Path(folder) / "round.tally")
        return (Path(folder) / "round.tally").read_bytes()


def _tally_from_bytes(content: bytes) -> Tally:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "round.tally").write_bytes(content)
        return Tally.load(Path(folder) / "round.tally")
