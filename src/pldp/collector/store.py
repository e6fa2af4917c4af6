"""Where reports are kept: durable when acknowledged, counted once, erased when withdrawn; with rounds and budgets."""

import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from time import time
from typing import Final, NamedTuple

import pyarrow as pa

from pldp.collector.acts import COMMAND_LINE, record
from pldp.collector.database import Connection, Connections, Database, open_database
from pldp.collector.ledger import Ledger
from pldp.collector.packing import Packed, Packing
from pldp.collector.report_log import ReportLog
from pldp.collector.running import Running
from pldp.errors import StoreError
from pldp.reports import Rejection, report_id
from pldp.survey import Survey, dearest_report
from pldp.tallies import Pair, Tally

STEP: Final = 1 << 20  # reports that are counted in one look at the database: it is never held for long

Outcome = Rejection | None  # why a report was not taken; `None`: it is stored
NO_ROUND: Final = 0  # under this number rejections are counted while no round is open
HOURS: Final = 7 * 24  # hours whose arrivals are remembered
_HOUR_SECONDS: Final = 3600


@dataclass(frozen=True)
class Round:
    """A time of collection: its number, whether it still takes reports, how many it has and how many went away."""

    number: int
    open: bool
    reports: int
    withdrawn: int


class Hour(NamedTuple):
    """Start of an hour in Unix time, and the reports stored and rejected in it."""

    start: int
    stored: int
    rejected: int


class Arrivals:
    """How many reports came in each hour since the process started, the last week at most; in memory only.

    Reports are stored in the order in which they came: counts per hour in the file would date each of them.

    >>> now = 7205.0
    >>> arrivals = Arrivals(clock=lambda: now)
    >>> arrivals.add(10, 1)
    >>> now = 14400.0
    >>> arrivals.add(5, 0)
    >>> arrivals.hours()
    [Hour(start=7200, stored=10, rejected=1), Hour(start=10800, stored=0, rejected=0), \
Hour(start=14400, stored=5, rejected=0)]
    """

    def __init__(self, *, clock: Callable[[], float] = time) -> None:
        self._clock = clock
        self._first = self._hour()
        self._counts: dict[int, tuple[int, int]] = {}

    def _hour(self) -> int:
        return int(self._clock() // _HOUR_SECONDS)

    def add(self, stored: int, rejected: int) -> None:
        """Count reports that were just stored or rejected."""
        hour = self._hour()
        before = self._counts.get(hour, (0, 0))
        self._counts[hour] = (before[0] + stored, before[1] + rejected)
        for old in [each for each in self._counts if each <= hour - HOURS]:
            del self._counts[old]

    def hours(self) -> list[Hour]:
        """Return every hour since the start, the last week at most; clocks that were set back tell nothing."""
        counts, now = self._counts.copy(), self._hour()
        hours = range(max(self._first, now - HOURS + 1), now + 1)
        return [Hour(hour * _HOUR_SECONDS, *counts.get(hour, (0, 0))) for hour in hours]


class Store:
    """The reports of one survey. One process at a time; a second one is refused.

    Methods that write are called from one thread, those that read from any. `where` is an SQLite file, made if it does
    not exist, the address of a PostgreSQL database (postgresql://…), or a database; `pairs` are names of two questions
    each, to be counted together for two-way tables.
    """

    def __init__(self, survey: Survey, where: str | Path | Database, *, pairs: Sequence[Pair] = ()) -> None:
        self.packing = Packing(survey)
        self._survey = survey.hash
        self.arrivals = Arrivals()
        self._running = Running(self.packing, pairs)
        self._ledger = Ledger(dearest_report(survey))
        self._round: int | None = None
        with ExitStack() as opened:
            self._connections = opened.enter_context(closing(Connections(open_database(where))))
            with self._connections.transaction() as writer:
                if _keep(writer, "survey", survey.canonical) != survey.canonical:
                    raise StoreError("the store holds reports of another survey, or of another version of it")
                key = _keep(writer, "index_key", secrets.token_bytes(32))
                writer.execute("INSERT INTO rounds (number) SELECT 1 WHERE NOT EXISTS (SELECT * FROM rounds)")
                self._ledger.mix(writer)
            secret = blake2b(key=key, digest_size=32, person=b"seen").digest()
            self._log = ReportLog(self._connections, self.packing.width, secret)
            try:
                self._log.load()
                self._catch_up()
            except (TypeError, ValueError) as error:
                raise StoreError("the store is damaged: what it holds has another form") from error
            self._log.keep_index()
            opened.pop_all()

    def _catch_up(self) -> None:
        """Learn what memory may not know: the log, and which round is open."""
        if self._connections.in_doubt:
            self._log.catch_up()
            self._round = next((each.number for each in self.rounds() if each.open), None)
            self._connections.in_doubt = False

    def add(
        self, reports: Sequence[Packed], rejections: Mapping[Rejection, int], payers: Sequence[bytes] = ()
    ) -> list[Outcome]:
        """Store reports in one transaction and count what was rejected before; when it returns, all is durable.

        Where there are payers (hashes of tokens, one per report), each report that is new is charged to its payer.
        """
        self._catch_up()
        outcomes, fresh, owed = self._judge(reports, payers or [b""] * len(reports))
        if not (fresh or rejections or any(outcomes)):
            return outcomes
        number = self._round or NO_ROUND
        with self._connections.transaction() as writer:
            if owed:
                refused = self._charge(writer, owed, fresh)
                judged = zip(reports, outcomes, strict=True)
                outcomes = [Rejection.OVER_BUDGET if each.id in refused else outcome for each, outcome in judged]
            counts = Counter(rejections) + Counter(outcome for outcome in outcomes if outcome is not None)
            if fresh:
                self._log.append(writer, number, fresh)
                writer.execute("UPDATE rounds SET received = received + ? WHERE number = ?", (len(fresh), number))
            for reason, count in counts.items():
                writer.execute(
                    "INSERT INTO rejections VALUES (?, ?, ?) "
                    "ON CONFLICT (round, reason) DO UPDATE SET count = rejections.count + excluded.count",
                    (number, reason.value, count),
                )
        self.arrivals.add(len(fresh), counts.total())
        self._log.remember(list(fresh))
        return outcomes

    def _judge(
        self, reports: Sequence[Packed], payers: Sequence[bytes]
    ) -> tuple[list[Outcome], dict[bytes, bytes], dict[bytes, bytes]]:
        """Return the outcome of each report, the rows of new ids, and who pays for them; budgets are asked later."""
        outcomes: list[Outcome] = []
        fresh: dict[bytes, bytes] = {}
        owed: dict[bytes, bytes] = {}
        stored = self._log.find([report.id for report in reports])
        for (identity, row, number), entry, payer in zip(reports, stored, payers, strict=True):
            known = fresh.get(identity) if entry is None else entry.row
            if known is not None:
                same = None if row == known else Rejection.CONFLICT
                outcomes.append(same if any(known) else Rejection.WITHDRAWN)
            elif self._round is None or number not in {0, self._round}:
                outcomes.append(Rejection.CLOSED_ROUND)
            else:
                fresh[identity] = row
                outcomes.append(None)
                if payer:
                    owed[identity] = payer
        return outcomes, fresh, owed

    def _charge(self, writer: Connection, owed: Mapping[bytes, bytes], fresh: dict[bytes, bytes]) -> set[bytes]:
        """Charge new reports to their payers; take out those that a budget does not allow and return their ids."""
        refused = {each for each, payer in owed.items() if not self._ledger.charge(writer, payer)}
        for identity in refused:
            del fresh[identity]
        if self._ledger.due:
            self._ledger.mix(writer)
        return refused

    def withdraw(self, receipt: str) -> bool:
        """Erase the report whose id is the hash of this receipt; `False` if there is none. Again is harmless."""
        self._catch_up()
        identity = bytes.fromhex(report_id(self._survey, receipt))
        (entry,) = self._log.find([identity])
        if entry is None or not any(entry.row):
            return entry is not None
        with self._connections.transaction() as writer:
            number = self._log.erase(writer, entry.number)
            writer.execute("UPDATE rounds SET withdrawn = withdrawn + 1 WHERE number = ?", (number,))
            (withdrawn,) = writer.execute("SELECT withdrawn FROM rounds WHERE number = ?", (number,)).fetchone()
            if number == self._round:
                self._running.withdraw(number, withdrawn, entry.number, entry.row)
        self._connections.erase_log()
        return True

    def close_round(self, who: str = COMMAND_LINE) -> Round:
        """Close the open round: its tally is kept and never changes again. `who` goes into the log of acts."""
        self._catch_up()
        if self._round is not None:
            frozen = self.tally(self._round).to_bytes()
            with self._connections.transaction() as writer:
                writer.execute("UPDATE rounds SET tally = ? WHERE number = ?", (frozen, self._round))
                self._ledger.mix(writer)
                record(writer, f"round {self._round} closed", who)
            self._round = None
        return self.rounds()[-1]

    def open_round(self, who: str = COMMAND_LINE) -> Round:
        """Open the next round; the open one stays if there is one. `who` goes into the log of acts."""
        self._catch_up()
        if self._round is None:
            with self._connections.transaction() as writer:
                writer.execute("INSERT INTO rounds (number) SELECT max(number) + 1 FROM rounds")
                (number,) = writer.execute("SELECT max(number) FROM rounds").fetchone()
                record(writer, f"round {number} opened", who)
            self._round = self.rounds()[-1].number
        return self.rounds()[-1]

    def rounds(self) -> list[Round]:
        """Return all rounds, oldest first."""
        with self._connections.snapshot() as reader:
            found = reader.execute("SELECT number, tally IS NULL, received, withdrawn FROM rounds ORDER BY number")
            return [Round(number, bool(is_open), received - gone, gone) for number, is_open, received, gone in found]

    def tally(self, number: int | None = None, progress: Callable[[int], None] | None = None) -> Tally:
        """Return the tally of a round, of the latest by default; only what came or went since the last call is counted.

        `progress` is called with the number of reports counted so far.
        """
        running = self._running
        while True:
            with self._connections.snapshot() as reader:
                chosen, withdrawn, frozen = _round(reader, number)
                if frozen is not None:
                    return Tally.from_bytes(frozen)
                running.choose(chosen, withdrawn)
                last = self._log.end(reader)
                end = min(running.end + STEP, last)
                running.read(self._log.blocks(reader, chosen, running.end, end))
                running.end = max(running.end, end)
                counted = running.counted
                if running.end >= last:
                    rejected = reader.execute("SELECT reason, count FROM rejections WHERE round = ?", (chosen,))
                    return replace(counted, rejections={Rejection(reason): count for reason, count in rejected})
            if progress is not None:
                progress(counted.reports)

    def batches(self, number: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the reports of a round in columns."""
        database = self._connections.database
        with database.translate_errors(), closing(database.connect()) as reader:
            reader.execute(database.begin_read)
            chosen, _, _ = _round(reader, number)
            for _, ids, rows in self._log.blocks(reader, chosen):
                yield self.packing.batch(ids, rows)

    def rejections(self) -> dict[Rejection, int]:
        """Return how many reports were rejected in all, by reason."""
        with self._connections.snapshot() as reader:
            found = reader.execute("SELECT reason, sum(count) FROM rejections GROUP BY reason").fetchall()
        return {Rejection(reason): count for reason, count in found}

    def close(self) -> None:
        """Let go of the file; what the ledger wrote is mixed before, if that is possible."""
        if self._ledger.charged:
            with suppress(StoreError), self._connections.transaction() as writer:
                self._ledger.mix(writer)
            self._connections.erase_log()
        self._connections.close()


def _keep(writer: Connection, name: str, value: bytes) -> bytes:
    """Store a value unless there is one of this name; return what is stored."""
    writer.execute("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO NOTHING", (name, value))
    (kept,) = writer.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return bytes(kept)


def _round(reader: Connection, number: int | None) -> tuple[int, int, bytes | None]:
    found: tuple[int, int, bytes | None] | None = reader.execute(
        "SELECT number, withdrawn, tally FROM rounds WHERE number = coalesce(?, (SELECT max(number) FROM rounds))",
        (number,),
    ).fetchone()
    if found is None:
        raise StoreError(f"there is no round {number}")
    return found
