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
from pldp.collector.database import Connection, Connections, Database, open_database, stored_survey
from pldp.collector.ledger import Ledger
from pldp.collector.packing import Packed, Packing
from pldp.collector.report_log import BLOCK_REPORTS, MIX, Block, ReportLog
from pldp.collector.running import Running, Shown
from pldp.errors import StoreError
from pldp.reports import Rejection, report_id
from pldp.reports.columns import BATCH_ROWS
from pldp.survey import Survey, dearest_report, loads
from pldp.tallies import Pair, Tally

STEP: Final = 1 << 20  # reports that are counted in one look at the database: it is never held for long

Progress = Callable[[int], None]
Outcome = Rejection | None  # why a report was not taken; `None`: it is stored
NO_ROUND: Final = 0  # under this number rejections are counted while no round is open
_OPEN: Final = 0  # key of the open round, whose tally is kept apart from those of closed ones
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

    They are counted in steps, at the time at which a step is full.

    >>> now = 7205.0
    >>> arrivals = Arrivals(5, clock=lambda: now)
    >>> arrivals.add(10, 1)
    >>> now = 14400.0
    >>> arrivals.add(4, 0), arrivals.add(2, 1)
    (None, None)
    >>> arrivals.hours()
    [Hour(start=7200, stored=10, rejected=0), Hour(start=10800, stored=0, rejected=0), \
Hour(start=14400, stored=5, rejected=0)]
    """

    def __init__(self, step: int = 1, *, clock: Callable[[], float] = time) -> None:
        self._step = step
        self._waiting = (0, 0)
        self._clock = clock
        self._first = self._hour()
        self._counts: dict[int, tuple[int, int]] = {}

    def _hour(self) -> int:
        return int(self._clock() // _HOUR_SECONDS)

    def add(self, stored: int, rejected: int) -> None:
        """Count reports that were just stored or rejected."""
        hour = self._hour()
        came = (self._waiting[0] + stored, self._waiting[1] + rejected)
        full, left = zip(*(divmod(number, self._step) for number in came), strict=True)
        self._waiting = (left[0], left[1])
        before = self._counts.get(hour, (0, 0))
        self._counts[hour] = (before[0] + full[0] * self._step, before[1] + full[1] * self._step)
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
    each, to be counted together for two-way tables; what `shown` returns changes by `step` reports of a level at least.
    `clock` tells the seconds since 1970, for the closing date.
    """

    def __init__(
        self,
        survey: Survey,
        where: str | Path | Database,
        *,
        pairs: Sequence[Pair] = (),
        step: int = MIX,
        clock: Callable[[], float] = time,
    ) -> None:
        self.packing = Packing(survey)
        self.step = step
        self.arrivals = Arrivals(step)
        self._survey = survey.hash
        self._ends = survey.has_closed
        self._clock = clock
        self._running = Running(self.packing, pairs)
        self._pairs = pairs
        self._ledger = Ledger(dearest_report(survey))
        self._round: int | None = None
        self._erased = False  # whether all that was erased has left the log of the database
        with ExitStack() as opened:
            self._connections = opened.enter_context(closing(Connections(open_database(where))))
            with self._connections.transaction() as writer:
                if _keep(writer, "survey", survey.canonical) != survey.canonical:
                    raise StoreError("the store holds reports of another survey, or of another version of it")
                key = _keep(writer, "index_key", secrets.token_bytes(32))
                writer.execute("INSERT INTO rounds (number) SELECT 1 WHERE NOT EXISTS (SELECT * FROM rounds)")
                self._ledger.mix(writer)
            secret = blake2b(key=key, digest_size=32, person=b"seen").digest()
            self._secret = blake2b(key=key, digest_size=32, person=b"shown").digest()
            self._shown = {_OPEN: self._show()}
            self._log = ReportLog(self._connections, self.packing.width, secret, max(step, MIX))
            try:
                self._log.load()
                self._catch_up()
            except (TypeError, ValueError) as error:
                raise StoreError("the store is damaged: what it holds has another form") from error
            self._log.keep_index()
            self.tidy()
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
        outcomes, fresh, owed = self._judge(reports, payers)
        if not (fresh or rejections or any(outcomes)):
            return outcomes
        number = self._round or NO_ROUND
        with self._connections.transaction() as writer:
            if owed:
                refused = self._charge(writer, owed, fresh)
                judged = zip(reports, outcomes, strict=True)
                outcomes = [Rejection.OVER_BUDGET if each.id in refused else outcome for each, outcome in judged]
            counts = Counter(rejections)
            counts.update(filter(None, outcomes))
            if fresh:
                blocks = self._log.append(writer, number, fresh)
                writer.execute("UPDATE rounds SET received = received + ? WHERE number = ?", (len(fresh), number))
            for reason, count in (+counts).items():
                writer.execute(
                    "INSERT INTO rejections VALUES (?, ?, ?) "
                    "ON CONFLICT (round, reason) DO UPDATE SET count = rejections.count + excluded.count",
                    (number, reason.value, count),
                )
        self.arrivals.add(len(fresh), counts.total())
        if fresh:
            self._log.remember(blocks)
        return outcomes

    @property
    def has_closed(self) -> bool:
        """Whether the closing date of the survey is past: what is new is refused, and what is stored stays."""
        return self._ends(self._clock())

    def _judge(
        self, reports: Sequence[Packed], payers: Sequence[bytes]
    ) -> tuple[list[Outcome], dict[bytes, bytes], dict[bytes, bytes]]:
        """Return the outcome of each report, the rows of new ids, and who pays for them; budgets are asked later."""
        stored = self._log.find([report.id for report in reports])
        closed = self.has_closed
        if not (stored or payers or closed) and {report.round for report in reports} <= {0, self._round} - {None}:
            fresh = {report.id: report.row for report in reports}
            if len(fresh) == len(reports) and self._round is not None:  # as nearly always
                return [None] * len(reports), fresh, {}
        outcomes: list[Outcome] = []
        fresh, owed = {}, {}
        for (identity, row, number), payer in zip(reports, payers or [b""] * len(reports), strict=True):
            entry = stored.get(identity)
            known = fresh.get(identity) if entry is None else entry.row
            if known is not None:
                same = None if row == known else Rejection.CONFLICT
                outcomes.append(same if any(known) else Rejection.WITHDRAWN)
            elif closed:
                outcomes.append(Rejection.CLOSED_SURVEY)
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
        (found,) = self.withdraw_all([receipt])
        return found

    def withdraw_all(self, receipts: Sequence[str]) -> list[bool]:
        """Erase the reports of these receipts in one transaction and return which were found.

        The log of the database keeps what was erased until `tidy`.
        """
        self._catch_up()
        ids = [bytes.fromhex(report_id(self._survey, receipt)) for receipt in receipts]
        if any(any(entry.row) for entry in self._log.find(ids).values()):
            self._erased = False
            with self._connections.transaction() as writer:
                ((gone,),) = writer.execute("SELECT sum(withdrawn) FROM rounds")
                for identity in dict.fromkeys(ids):
                    entry = self._log.find([identity]).get(identity)  # a block changes with each that leaves it
                    if entry is not None and any(entry.row):
                        gone += 1
                        number = self._log.erase(writer, identity, entry.number, self._round or NO_ROUND, int(gone))
                        writer.execute("UPDATE rounds SET withdrawn = withdrawn + 1 WHERE number = ?", (number,))
        known = self._log.find(ids)
        return [identity in known for identity in ids]

    def tidy(self) -> bool:
        """Take what was erased out of the log of the database; `False` while somebody who reads is in the way."""
        if not self._erased:
            self._erased = self._connections.erase_log()
        return self._erased

    def close_round(self, who: str = COMMAND_LINE) -> Round:
        """Close the open round: it changes by withdrawals only from then on. `who` goes into the log of acts."""
        self._catch_up()
        if self._round is not None:
            with self._connections.transaction() as writer:
                blocks = self._log.flush(writer, self._round)
                writer.execute("UPDATE rounds SET closed = 1 WHERE number = ?", (self._round,))
                self._ledger.mix(writer)
                record(writer, f"round {self._round} closed", who)
            if blocks:
                self._log.remember(blocks)
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
            found = reader.execute("SELECT number, closed, received, withdrawn FROM rounds ORDER BY number").fetchall()
        return [Round(number, not closed, received - gone, gone) for number, closed, received, gone in found]

    def tally(self, number: int | None = None, progress: Progress | None = None) -> Tally:
        """Return the tally of all reports of a round, of the latest by default; only what is new is counted.

        `progress` is called with the number of reports counted so far. Who reads it twice can subtract: what other
        people look at is `shown`.
        """
        running = self._running

        def finish(reader: Connection, chosen: int) -> Tally:
            tail = self._log.tail(reader, chosen)
            return running.counted if tail is None else running.counted + running.count(tail)

        return self._follow(running, number, progress, finish)

    def shown(self, number: int | None = None, progress: Progress | None = None) -> Tally:
        """Return what readers may see of a round: it changes in steps, and small levels are not in it."""
        if self.step == 1:
            return self.tally(number, progress)
        is_open = number is None or number == self._round
        running = self._shown.setdefault(_OPEN if is_open else number or 0, self._show())

        def finish(reader: Connection, chosen: int) -> Tally:
            return running.shown(lambda first, last: self._between(reader, chosen, first, last))

        counted = self._follow(running, number, progress, finish)
        return replace(counted, rejections=self._in_steps(counted.rejections))

    def _show(self) -> Shown:
        return Shown(self.packing, self._pairs, self.step, self._secret)

    def _in_steps(self, rejections: Mapping[Rejection, int]) -> dict[Rejection, int]:
        return {reason: count // self.step * self.step for reason, count in rejections.items()}

    def _between(self, reader: Connection, number: int, first: int, last: int) -> Iterator[Block]:
        return self._log.blocks(reader, number, max(0, first - BLOCK_REPORTS), last + 1)

    def _follow(
        self,
        running: Running,
        number: int | None,
        progress: Progress | None,
        finish: Callable[[Connection, int], Tally],
    ) -> Tally:
        """Count what is new in blocks, some at a time so that nobody waits, and finish within the last look."""
        while True:
            with self._connections.snapshot() as reader:
                chosen, withdrawn = _round(reader, number)
                running.choose(chosen, withdrawn)
                last = self._log.end(reader)
                end = min(running.end + STEP, last)
                running.read(self._log.blocks(reader, chosen, running.end, end))
                running.end = max(running.end, end)
                if running.end >= last:
                    rejected = reader.execute(
                        "SELECT reason, count FROM rejections WHERE round = ?", (chosen,)
                    ).fetchall()
                    counted = finish(reader, chosen)
                    return replace(counted, rejections={Rejection(reason): count for reason, count in rejected})
            if progress is not None:
                progress(running.counted.reports)

    def batches(self, number: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the reports of a round in columns, in an order that tells nothing but, of the latest, that they are."""
        start = 0
        while True:
            with self._connections.snapshot() as reader:
                chosen, _ = _round(reader, number)
                last = self._log.end(reader)
                found = [*self._log.blocks(reader, chosen, start, start + BATCH_ROWS)]
                tail = self._log.tail(reader, chosen) if start + BATCH_ROWS >= last else None
            start += BATCH_ROWS
            for block in found if tail is None else [*found, tail]:
                yield self.packing.batch(block.ids, block.rows)
            if start >= last:
                return

    @property
    def damaged(self) -> list[tuple[int, int]]:
        """First number and count of reports that were read so far and are not what was written; none of them counts."""
        return sorted(self._log.damaged.items())

    def shown_rounds(self) -> list[Round]:
        """Return all rounds with the numbers that readers may see."""
        if self.step == 1:
            return self.rounds()
        with self._connections.snapshot() as reader:
            tails = reader.execute("SELECT round, rows FROM tail").fetchall()
            found = reader.execute("SELECT number, closed, received, withdrawn FROM rounds ORDER BY number").fetchall()
        shown = []
        for number, closed, received, gone in found:
            waiting = sum(self.packing.count(rows) for of_round, rows in tails if of_round == number)
            steps = (received - gone - waiting) // self.step - bool(gone)
            shown.append(Round(number, not closed, max(0, steps) * self.step, gone // self.step * self.step))
        return shown

    def shown_rejections(self) -> dict[Rejection, int]:
        """Return how many reports were rejected in all, by reason, as readers may see it."""
        return self._in_steps(self.rejections())

    def rejections(self, number: int | None = None) -> dict[Rejection, int]:
        """Return how many reports were rejected, by reason, in all or in a round."""
        with self._connections.snapshot() as reader:
            where = "WHERE round = coalesce(?, round) GROUP BY reason ORDER BY reason"
            found = reader.execute(f"SELECT reason, sum(count) FROM rejections {where}", (number,)).fetchall()  # noqa: S608
        return {Rejection(reason): count for reason, count in found}

    def close(self) -> None:
        """Let go of the file; what the ledger wrote is mixed before, if that is possible."""
        if self._ledger.charged:
            with suppress(StoreError), self._connections.transaction() as writer:
                self._ledger.mix(writer)
            self._erased = False
        self.tidy()
        self._connections.close()


def tally_all(where: str | Path, number: int | None = None, pairs: Sequence[Pair] = ()) -> Tally:
    """Return the tally of all reports of a round in a store that no collector serves, such as a backup."""
    database = open_database(where)
    with database.translate_errors(), closing(database.connect()) as reader:
        survey = stored_survey(reader)
    if survey is None:
        raise StoreError(f"{where}: holds no survey yet, so it has no reports")
    with closing(Store(loads(survey.decode()), database, pairs=pairs)) as store:
        return store.tally(number)


def _keep(writer: Connection, name: str, value: bytes) -> bytes:
    """Store a value unless there is one of this name; return what is stored."""
    writer.execute("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO NOTHING", (name, value))
    (kept,) = writer.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return bytes(kept)


def _round(reader: Connection, number: int | None) -> tuple[int, int]:
    found: tuple[int, int] | None = reader.execute(
        "SELECT number, withdrawn FROM rounds WHERE number = coalesce(?, (SELECT max(number) FROM rounds))",
        (number,),
    ).fetchone()
    if found is None:
        raise StoreError(f"there is no round {number}")
    return found
