"""Where reports are kept: appended in chunks, durable when acknowledged, counted once, erased when withdrawn."""

from __future__ import annotations

import hmac
import secrets
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Final

import pyarrow as pa

from pldp.collector.arrivals import Arrivals
from pldp.collector.database import Connection, open_database
from pldp.collector.ledger import Ledger
from pldp.collector.packing import ID_BYTES, Packed, Packing
from pldp.collector.running import Block, Running
from pldp.collector.seen import Seen
from pldp.errors import StoreError
from pldp.reports import Rejection
from pldp.reports.columns import BATCH_ROWS
from pldp.survey import Survey
from pldp.tallies import Tally
from pldp.tallies.pairs import Pair

COMPACT_EVERY: Final = 512
"""Chunks that are joined into one once there are so many."""

LARGEST_JOIN: Final = 1 << 16
"""Reports in chunks that are worth joining, at most."""

STEP: Final = 1 << 20
"""Reports that are counted in one look at the database: it is never held for long."""

_MAC_BYTES: Final = 16
_LOAD_BYTES: Final = 1 << 23
_NO_CHUNK: Final = (0, b"", b"")
_NO_END: Final = 1 << 62


Outcome = Rejection | None
"""Why a report was not taken; `None`: it is stored."""

NO_ROUND: Final = 0
"""Under this number rejections are counted while no round is open."""


@dataclass(frozen=True)
class Round:
    """A time of collection: its number, whether it still takes reports, how many it has and how many went away."""

    number: int
    open: bool
    reports: int
    withdrawn: int


class Store:
    """The reports of one survey. One process at a time; a second one is refused.

    Methods that write are called from one thread, those that read from any.

    Parameters
    ----------
    survey
        The survey.
    where
        An SQLite file, made if it does not exist, or the address of a PostgreSQL database (postgresql://…).
    pairs
        Names of two questions each, to be counted together for two-way tables.

    Attributes
    ----------
    arrivals
        How many reports came in each hour.
    """

    def __init__(self, survey: Survey, where: str | Path, *, pairs: Sequence[Pair] = ()) -> None:
        self.packing = Packing(survey)
        self._survey = survey
        self._database = open_database(where)
        self._reading = Lock()
        self._running = Running(self.packing, pairs)
        self.arrivals = Arrivals()
        self._chunk: tuple[int, bytes, bytes] = _NO_CHUNK
        self._ledger = Ledger()
        self._next = 0
        self._indexed = 0
        self._small_chunks = 0
        self._behind = False
        with ExitStack() as opened:
            self._guard = opened.enter_context(closing(self._database.guard()))
            self._writer = opened.enter_context(closing(self._database.connect()))
            self._reader = opened.enter_context(closing(self._database.connect()))
            with self._transaction() as writer:
                self._check_survey(writer)
                key = _key(writer)
                self._receipts = blake2b(key=key, digest_size=_MAC_BYTES)
                self._seen = Seen(blake2b(key=key, digest_size=32, person=b"seen").digest())
                writer.execute("INSERT INTO rounds (number) SELECT 1 WHERE NOT EXISTS (SELECT * FROM rounds)")
                self._ledger.mix(writer)
            try:
                self._load_index()
                self._behind = True
                self._catch_up()
            except (TypeError, ValueError) as error:
                raise StoreError("the store is damaged: what it holds has another form") from error
            self._keep_index()
            opened.pop_all()

    def _check_survey(self, writer: Connection) -> None:
        writer.execute("INSERT INTO meta VALUES ('survey', ?) ON CONFLICT DO NOTHING", (self._survey.canonical,))
        (kept,) = writer.execute("SELECT value FROM meta WHERE name = 'survey'").fetchone()
        if kept != self._survey.canonical:
            raise StoreError("the store holds reports of another survey, or of another version of it")

    def _catch_up(self) -> None:
        """Read what memory needs and may not know: ids, the next number, the round."""
        if not self._behind:
            return
        pending = bytearray()
        with self._database.typed():
            for first, ids in self._connected().stream(
                "SELECT first, ids FROM chunks WHERE first >= (SELECT coalesce(max(first), 0) FROM chunks "
                "WHERE first <= ?) ORDER BY first",
                (self._next,),
            ):
                pending += ids[max(0, self._next - first) * ID_BYTES :]
                if len(pending) >= _LOAD_BYTES:
                    self._remember(pending)
        self._remember(pending)
        self._round = next((each.number for each in self.rounds() if each.open), None)
        self._behind = False

    def _remember(self, ids: bytearray) -> None:
        self._seen.add_stored(bytes(ids), self._next)
        self._next += len(ids) // ID_BYTES
        ids.clear()

    def _load_index(self) -> None:
        """Read the blocks of the index that were kept."""
        with self._database.typed():
            for first, keys in self._writer.stream("SELECT first, keys FROM seen ORDER BY first"):
                self._next = self._indexed = self._seen.add_block(keys, first)

    def _keep_index(self) -> None:
        """Keep the blocks of the index that are full, so that the next start need not make them again."""
        with suppress(StoreError):  # where there is no room, the next start makes them
            for first, keys in self._seen.blocks(self._indexed):
                with self._transaction() as writer:
                    writer.execute("INSERT INTO seen VALUES (?, ?) ON CONFLICT DO NOTHING", (first, keys))
                self._indexed = first + 1

    def add(
        self, reports: Sequence[Packed], rejections: Mapping[Rejection, int], payers: Sequence[bytes] = ()
    ) -> list[Outcome]:
        """Store reports in one transaction and count what was rejected before; when it returns, all is durable.

        Where there are payers (hashes of tokens, one per report), each report that is new is charged to its payer.
        """
        self._catch_up()
        outcomes: list[Outcome] = []
        fresh: dict[bytes, bytes] = {}
        owed: dict[bytes, bytes] = {}
        found = self._seen.find([report.id for report in reports])
        for report, numbers, payer in zip(reports, found, payers or [b""] * len(reports), strict=True):
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
                if payer:
                    owed[report.id] = payer
        if fresh or rejections or any(outcomes):
            with self._transaction() as writer:
                if owed:
                    refused = self._charge(writer, owed, fresh)
                    judged = zip(reports, outcomes, strict=True)
                    outcomes = [Rejection.OVER_BUDGET if each.id in refused else outcome for each, outcome in judged]
                counts = Counter(rejections) + Counter(outcome for outcome in outcomes if outcome is not None)
                if fresh:
                    chunk = (self._next, self._round, len(fresh), b"".join(fresh), b"".join(fresh.values()))
                    writer.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", chunk)
                    received = (len(fresh), self._round)
                    writer.execute("UPDATE rounds SET received = received + ? WHERE number = ?", received)
                for reason, count in counts.items():
                    writer.execute(
                        "INSERT INTO rejections VALUES (?, ?, ?) "
                        "ON CONFLICT (round, reason) DO UPDATE SET count = rejections.count + excluded.count",
                        (self._round or NO_ROUND, reason.value, count),
                    )
            self._seen.add(list(fresh), self._next)
            self._next += len(fresh)
            self.arrivals.add(len(fresh), counts.total())
            self._keep_index()
            self._small_chunks += bool(fresh)
            if self._small_chunks >= COMPACT_EVERY:
                self._compact()
        return outcomes

    def _charge(self, writer: Connection, owed: Mapping[bytes, bytes], fresh: dict[bytes, bytes]) -> set[bytes]:
        """Charge new reports to their payers; take out those that a budget does not allow and return their ids."""
        costs = {identity: self.packing.cost(fresh[identity]) for identity in owed}
        refused = {each for each, payer in owed.items() if not self._ledger.charge(writer, payer, costs[each])}
        for identity in refused:
            del fresh[identity]
        if self._ledger.due:
            self._ledger.mix(writer)
        return refused

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
            with self._database.typed():
                self._chunk = (
                    self._connected()
                    .execute(
                        "SELECT first, ids, rows FROM chunks WHERE first <= ? ORDER BY first DESC LIMIT 1", (number,)
                    )
                    .fetchone()
                )
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
        self._catch_up()
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
            (number, withdrawn) = writer.execute(
                "SELECT number, withdrawn FROM rounds WHERE number = (SELECT round FROM chunks WHERE first = ?)",
                (first,),
            ).fetchone()
            if number == self._round:
                self._running.withdraw(number, withdrawn, first + place, self._row(place))
        self._chunk = (first, ids, erased)
        self._database.erase_log(self._writer)
        return True

    def close_round(self) -> Round:
        """Close the open round: its tally is kept and never changes again."""
        self._catch_up()
        if self._round is not None:
            frozen = _tally_bytes(self.tally(self._round))
            with self._transaction() as writer:
                writer.execute("UPDATE rounds SET tally = ? WHERE number = ?", (frozen, self._round))
                self._ledger.mix(writer)
            self._round = None
        return self.rounds()[-1]

    def open_round(self) -> Round:
        """Open the next round; the open one stays if there is one."""
        self._catch_up()
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

    def tally(self, number: int | None = None, progress: Callable[[int], None] | None = None) -> Tally:
        """Return the tally of a round, of the latest by default; only what came or went since the last call is counted.

        `progress` is called with the number of reports counted so far.
        """
        while True:
            with self._snapshot() as reader:
                chosen, withdrawn, frozen = _round(reader, number)
                if frozen is not None:
                    return _tally_from_bytes(frozen)
                running = self._running
                running.choose(chosen, withdrawn)
                last = reader.execute("SELECT first + count FROM chunks ORDER BY first DESC LIMIT 1").fetchone()
                end = min(running.end + STEP, last[0] if last else 0)
                running.read(self._blocks(reader, chosen, running.end, end))
                running.end = max(running.end, end)
                counted = running.counted
                if last is None or running.end >= last[0]:
                    rejected = reader.execute("SELECT reason, count FROM rejections WHERE round = ?", (chosen,))
                    return replace(counted, rejections={Rejection(reason): count for reason, count in rejected})
            if progress is not None:
                progress(counted.reports)

    def batches(self, number: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the reports of a round in columns."""
        with self._database.typed(), closing(self._database.connect()) as reader:
            reader.execute(self._database.begin_read)
            chosen, _, _ = _round(reader, number)
            for _, ids, rows in self._blocks(reader, chosen):
                yield self.packing.batch(ids, rows)

    def _blocks(self, reader: Connection, number: int, start: int = 0, end: int = _NO_END) -> Iterator[Block]:
        """Yield what a round has from a number on, in chunks that begin before an end, many at once."""
        found = reader.stream(
            "SELECT first, ids, rows FROM chunks WHERE round = ? AND first < ? AND first + count > ? "
            "AND first >= (SELECT coalesce(max(first), 0) FROM chunks WHERE first <= ?) ORDER BY first",
            (number, end, start, start),
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
        self._database.backup(target)

    def close(self) -> None:
        """Let go of the file; what the ledger wrote is mixed before, if that is possible."""
        if self._ledger.charged:
            with suppress(StoreError), self._transaction() as writer:
                self._ledger.mix(writer)
            self._database.erase_log(self._writer)
        with self._reading:
            for connection in (self._reader, self._writer, self._guard):
                connection.close()

    def _connected(self) -> Connection:
        """Return the connection that writes; if the database was away, a new one, and the lock anew."""
        if self._writer.broken:
            self._guard.close()
            self._guard = self._database.guard()
            self._writer = self._database.connect()
        return self._writer

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """Write all or nothing, durably. After a failure, memory learns what was stored before more is added."""
        with self._database.typed():
            self._connected().execute(self._database.begin_write)
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:  # the commit may have happened all the same
                self._behind, self._chunk = True, _NO_CHUNK
                raise
            finally:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")

    @contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        """Read one state of the store, whatever is written meanwhile."""
        with self._reading, self._database.typed():
            if self._reader.broken:
                self._reader = self._database.connect()
            self._reader.execute(self._database.begin_read)
            try:
                yield self._reader
            finally:
                if self._reader.in_transaction:
                    self._reader.execute("ROLLBACK")


def _key(writer: Connection) -> bytes:
    writer.execute("INSERT INTO meta VALUES ('receipt_key', ?) ON CONFLICT DO NOTHING", (secrets.token_bytes(32),))
    (key,) = writer.execute("SELECT value FROM meta WHERE name = 'receipt_key'").fetchone()
    return bytes(key)


def _join(chunks: Sequence[tuple[int, bytes, bytes]]) -> tuple[int, bytes, bytes]:
    """Join chunks that follow each other."""
    firsts, ids, rows = zip(*chunks, strict=True)
    return firsts[0], b"".join(ids), b"".join(rows)


def _round(reader: Connection, number: int | None) -> tuple[int, int, bytes | None]:
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
