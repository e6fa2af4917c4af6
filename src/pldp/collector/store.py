"""Where reports are kept: durable when acknowledged, counted once, erased when withdrawn; with rounds and budgets."""

import json
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from time import time
from typing import Final

import pyarrow as pa

from pldp.collector.acts import COMMAND_LINE, record
from pldp.collector.arrivals import Arrivals, Hour
from pldp.collector.counting import Counting, in_steps
from pldp.collector.database import Connection, Connections, Database, keep_meta, open_database
from pldp.collector.ledger import Ledger
from pldp.collector.packing import Packed, Packing, Upload
from pldp.collector.published import Published, Version
from pldp.collector.report_log import MIX, ReportLog
from pldp.collector.retention import day_of, look_for_due
from pldp.collector.rounds import Round, deleted_rounds, read_rounds, round_state
from pldp.collector.saved import Counted, Keeper, Progress, forget, save
from pldp.errors import StoreError
from pldp.reports import Rejection, report_id
from pldp.reports.columns import BATCH_ROWS
from pldp.survey import Survey, dearest_report
from pldp.tallies import Pair, Tally

FEW_CHANGES: Final = 8  # transactions of other collectors whose reports are read at once
DELETE_BLOCKS: Final = 200  # blocks whose rows are deleted in one transaction

Outcome = Rejection | None  # why a report was not taken; `None`: it is stored
NO_ROUND: Final = 0  # under this number rejections are counted while no round is open


class Store:
    """The reports of one survey: of one process in an SQLite file, of several on one PostgreSQL database.

    Methods that write are called from one thread, those that read from any. `where` is an SQLite file, made if it does
    not exist, the address of a PostgreSQL database (postgresql://…), or a database; `pairs` are names of two questions
    each, to be counted together for two-way tables; what `shown` returns changes by `step` reports of a level at least.
    `clock` tells the seconds since 1970, for the closing date and for retention.
    `alone`: a store that any other process uses is refused.
    """

    def __init__(
        self,
        survey: Survey,
        where: str | Path | Database,
        *,
        pairs: Sequence[Pair] = (),
        step: int = MIX,
        clock: Callable[[], float] = time,
        alone: bool = False,
    ) -> None:
        self.packing = Packing(survey)
        self.step = step
        self._arrivals = Arrivals(step)
        self._survey = survey.hash
        self._clock = clock
        self.has_closed: Callable[[], bool] = lambda: survey.has_closed(clock())  # what is new is refused then
        self._settings = json.dumps([step, sorted(map(list, pairs))]).encode()
        self._ledger = Ledger(dearest_report(survey))
        self._round: int | None = None
        self._known = (-1, -1)  # changes and erasures of the head that memory knows
        self._erased = False  # whether all that was erased has left the log of the database
        with ExitStack() as opened:
            self._connections = opened.enter_context(closing(Connections(open_database(where))))
            self.shared = self._connections.database.shared
            with self._connections.transaction() as writer:
                if keep_meta(writer, "survey", survey.canonical) != survey.canonical:
                    raise StoreError("the store holds reports of another survey, or of another version of it")
                self._check_others(writer, alone=alone)
                key = keep_meta(writer, "index_key", secrets.token_bytes(32))
                writer.execute("INSERT INTO rounds (number) SELECT 1 WHERE NOT EXISTS (SELECT * FROM rounds)")
                self._ledger.mix(writer)
            secret = blake2b(key=key, digest_size=32, person=b"seen").digest()
            self._log = ReportLog(self._connections, self.packing.width, secret, max(step, MIX))
            secret = blake2b(key=key, digest_size=32, person=b"shown").digest()
            self._counting = Counting(self._connections, self._log, self.packing, pairs, step, secret)
            self._keeper = opened.enter_context(closing(Keeper(self._connections, self._counting.shown)))
            self._published = Published(self._connections, self.packing, step, self._keeper, self._count_shown)
            try:
                self._log.load()
                self._log.catch_up()  # others need not wait for it: what they write meanwhile is learned below
                with self._writing():
                    pass
            except (TypeError, ValueError) as error:
                raise StoreError("the store is damaged: what it holds has another form") from error
            self._log.keep_index()
            self.hours()
            self.versions()  # from here on, withdrawals show in steps
            self.tidy()
            opened.pop_all()

    def _check_others(self, writer: Connection, *, alone: bool = False) -> None:
        """Refuse a collector that would step or pair results otherwise than those that run: both together leak."""
        if not self.shared:
            return
        is_alone = self._connections.database.is_alone(writer)
        if alone and not is_alone:
            raise StoreError("the database is in use by another collector")
        if keep_meta(writer, "settings", self._settings) != self._settings:
            if not is_alone:
                raise StoreError("collectors of one store need the same result_step and pairs, and others run here")
            writer.execute("UPDATE meta SET value = ? WHERE name = 'settings'", (self._settings,))
            writer.execute("DELETE FROM tallies WHERE round IN (SELECT number FROM rounds WHERE deleted = 0)")

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """Write all or nothing; memory first learns what it may not know, such as what other collectors wrote."""
        connections = self._connections
        with connections.transaction() as writer:
            head = connections.head
            if connections.in_doubt or head.changes != self._known[0]:
                if connections.in_doubt:
                    self._check_others(writer)
                erased = connections.in_doubt or head.erased != self._known[1]
                few = not connections.in_doubt and 0 <= head.changes - self._known[0] <= FEW_CHANGES
                self._log.catch_up(erased=erased, few=few)
                self._round = head.open_round
                if erased:
                    self._log.deleted_rounds = deleted_rounds(writer)
                if self.shared:
                    self._ledger.charged = head.charged
                self._known = (head.changes, head.erased)
                connections.in_doubt = False
            yield writer

    def _advance(self, writer: Connection, erased: int = 0, *, received: int = 0) -> None:
        """Tell other collectors that something was written, and what all of them count together.

        So many reports were `received` in the open round: one statement for both, as this is in nearly every upload.
        """
        count, counted = "UPDATE rounds SET received = received + ? WHERE number = ?", (received, self._round)
        if self.shared:
            self._known = (self._known[0] + 1, self._known[1] + erased)
            advance, head = "UPDATE head SET changes = ?, erased = ?, charged = ?", (*self._known, self._ledger.charged)
            both = f"WITH counted AS ({count}) {advance}" if received else advance
            writer.execute(both, (*counted, *head) if received else head)
        elif received:
            writer.execute(count, counted)

    def follow(self) -> None:
        """Learn what other collectors wrote while this one had nothing to write, without keeping anybody waiting."""
        if self.shared:
            with self._connections.database.translate_errors():
                ((changes,),) = self._connections.writer.execute("SELECT changes FROM head")
            if changes != self._known[0]:
                self._known = (-1, -1)  # the tail may have changed in between: the next transaction looks again
                self._log.catch_up()

    def add(
        self, reports: Sequence[Packed], rejections: Mapping[Rejection, int], payers: Sequence[bytes] = ()
    ) -> list[Outcome]:
        """Store reports in one transaction and count what was rejected before; when it returns, all is durable.

        Where there are payers (hashes of tokens, one per report), each report that is new is charged to its payer.
        """
        return self.add_gathered(lambda: Upload(reports, rejections, payers))

    def add_gathered(self, gather: Callable[[], Upload]) -> list[Outcome]:
        """Store what `gather` returns once the transaction has begun: reports that arrived during the wait included."""
        with self._writing() as writer:
            reports, rejections, payers = gather()
            outcomes, fresh, owed = self._judge(reports, payers)
            number = self._round or NO_ROUND
            if owed:
                refused = self._charge(writer, owed, fresh)
                judged = zip(reports, outcomes, strict=True)
                outcomes = [Rejection.OVER_BUDGET if each.id in refused else outcome for each, outcome in judged]
            counts = Counter(rejections)
            counts.update(filter(None, outcomes))
            if fresh:
                blocks = self._log.append(writer, number, fresh)
            for reason, count in (+counts).items():
                writer.execute(
                    "INSERT INTO rejections VALUES (?, ?, ?) "
                    "ON CONFLICT (round, reason) DO UPDATE SET count = rejections.count + excluded.count",
                    (number, reason.value, count),
                )
            if fresh or counts:
                self._advance(writer, received=len(fresh))
        if not self.shared:
            self._arrivals.add(len(fresh), counts.total())
        if fresh:
            self._log.remember(blocks)
        return outcomes

    def _judge(
        self, reports: Sequence[Packed], payers: Sequence[bytes]
    ) -> tuple[list[Outcome], dict[bytes, bytes], dict[bytes, bytes]]:
        """Return the outcome of each report, the rows of new ids, and who pays for them; budgets are asked later."""
        stored = self._log.find([report.id for report in reports])
        closed = self.has_closed()
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
                same = None if row == known or (entry and entry.deleted) else Rejection.CONFLICT
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

    def withdraw(self, receipt: str) -> bool | None:
        """Erase the report whose id is the hash of this receipt; see `withdraw_all`."""
        (found,) = self.withdraw_all([receipt])
        return found

    def withdraw_all(self, receipts: Sequence[str]) -> list[bool | None]:
        """Erase the reports of these receipts in one transaction and return which were found. Again is harmless.

        `None`: retention has deleted the single reports of the round, and this one was not withdrawn before. The log of
        the database keeps what was erased until `tidy`.
        """
        ids = [bytes.fromhex(report_id(self._survey, receipt)) for receipt in receipts]
        outcomes: dict[bytes, bool | None] = dict.fromkeys(ids, False)
        with self._writing() as writer:
            before = gone = int(writer.execute("SELECT sum(withdrawn) FROM rounds").fetchone()[0])
            for identity in outcomes:
                entry = self._log.find([identity]).get(identity)  # a block changes with each that leaves it
                if entry is None:
                    continue
                outcomes[identity] = None if entry.deleted and any(entry.row) else True
                if any(entry.row) and not entry.deleted:
                    gone += 1
                    number = self._log.erase(writer, identity, entry.number, self._round or NO_ROUND, gone)
                    writer.execute("UPDATE rounds SET withdrawn = withdrawn + 1 WHERE number = ?", (number,))
                    forget(writer, number)
            if gone > before:
                self._erased = False
                self._advance(writer, gone - before)
        return [outcomes[identity] for identity in ids]

    def tidy(self) -> bool:
        """Take what was erased out of the log of the database; `False` while a reader is in the way."""
        if not self._erased:
            self._erased = self._connections.erase_log()
        return self._erased

    def close_round(self, who: str = COMMAND_LINE) -> Round:
        """Close the open round: it changes by withdrawals only from then on. `who` goes into the log of acts."""
        blocks = 0
        with self._writing() as writer:
            number = self._round
            if number is not None:
                blocks = self._log.flush(writer, number)
                day = day_of(self._clock())
                writer.execute("UPDATE rounds SET closed = 1, closed_day = ? WHERE number = ?", (day, number))
                forget(writer, number)
                self._ledger.mix(writer)
                record(writer, f"round {number} closed", who)
                self._round = None
                self._advance(writer)
        if blocks:
            self._log.remember(blocks)
        return self.rounds()[-1]

    def open_round(self, who: str = COMMAND_LINE) -> Round:
        """Open the next round; the open one stays if there is one. `who` goes into the log of acts."""
        with self._writing() as writer:
            if self._round is None:
                writer.execute("INSERT INTO rounds (number) SELECT max(number) + 1 FROM rounds")
                (self._round,) = writer.execute("SELECT max(number) FROM rounds").fetchone()
                record(writer, f"round {self._round} opened", who)
                self._advance(writer)
        return self.rounds()[-1]

    def look_for_due(self, days: int) -> list[int]:
        """Note which rounds were closed that long ago, and return those of which a look a day ago noted the same."""
        with self._writing() as writer:
            return look_for_due(writer, days, int(self._clock()))

    def count_rounds(self, numbers: Sequence[int]) -> list[Counted]:
        """Count what readers may see of rounds, without anyone who has withdrawn; it only reads."""
        return [self._counting.shown(number) for number in numbers]

    def decide_to_delete(self, counted: Sequence[Counted]) -> list[int]:
        """Save these tallies and let nobody withdraw from their rounds any more; return which rounds these are.

        A round from which a report was withdrawn after it was counted is left as it is.
        """
        decided = []
        for each in counted:
            number = each.state.number
            with self._writing() as writer:
                if save(writer, each):
                    writer.execute("UPDATE rounds SET deleted = 1 WHERE number = ?", (number,))
                    record(writer, f"single reports of round {number} deleted")
                    self._advance(writer, 1)
                    self._log.deleted_rounds |= {number}
                    decided.append(number)
        return decided

    def delete_some(self) -> bool:
        """Delete some rows of rounds for which that was decided; `False` once none is left."""
        with self._writing() as writer:
            found = writer.execute("SELECT number FROM rounds WHERE deleted = 1 ORDER BY number LIMIT 1").fetchone()
            if found is None:
                return False
            self._erased = False
            if not self._log.delete_rows(writer, found[0], DELETE_BLOCKS):
                writer.execute("UPDATE rounds SET deleted = 2 WHERE number = ?", found)
            self._advance(writer, 1)
        return True

    def rounds(self) -> list[Round]:
        """Return all rounds, oldest first."""
        with self._connections.snapshot() as reader:
            return read_rounds(reader)

    def tally(self, number: int | None = None, progress: Progress | None = None) -> Tally:
        """Return the tally of all reports of a round, of the latest by default; only what is new is counted.

        `progress` is called with the number of reports counted so far. Who reads it twice can subtract: what other
        people look at is `shown`. Of a round whose single reports were deleted, that is what there is.
        """
        deleted = self._counting.deleted(number)
        return self._counting.exact(number, progress).tally if deleted is None else deleted

    def shown(self, number: int | None = None, progress: Progress | None = None) -> Tally:
        """Return what readers may see of a round: it changes in steps, and small levels are not in it."""
        number, shown = self._published.tally(number, progress)
        return replace(shown, rejections=in_steps(self.rejections(number), self.step))

    def _count_shown(self, number: int, progress: Progress | None) -> Tally:
        deleted = self._counting.deleted(number)
        if deleted is not None:
            return deleted
        counted = self._keeper.shown(number, progress) if self.shared else self._counting.shown(number, progress)
        self._log.damaged.update(counted.damaged)
        return counted.tally

    def versions(self) -> dict[int, Version]:
        """Return by round what its results are computed from: `shown` returns the same while it stays the same."""
        return self._published.versions()

    def has_deleted(self, number: int | None = None) -> bool:
        """Tell whether the single reports of a round were deleted."""
        return self._counting.deleted(number) is not None

    def keep(self) -> bool:
        """Count what is new for all collectors of the store if that is this one's part, and tell whether it is."""
        self.hours()
        return self.shared and self._keeper.keep()

    def batches(self, number: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the reports of a round in columns, in an order that tells nothing but, of the latest, that they are."""
        start = 0
        while True:
            with self._connections.snapshot() as reader:
                state = round_state(reader, number)
                if state.deleted:
                    raise StoreError(f"the single reports of round {state.number} were deleted; only its tally is kept")
                last = self._log.end(reader)
                found = [*self._log.blocks(reader, state.number, start, start + BATCH_ROWS)]
                tail = self._log.tail(reader, state.number) if start + BATCH_ROWS >= last else None
            start += BATCH_ROWS
            for block in found if tail is None else [*found, tail]:
                yield self.packing.batch(block.ids, block.rows)
            if start >= last:
                return

    def check_ready(self) -> None:
        """Raise `StoreError` where the store does not answer, the last write failed, or a newer program is needed."""
        self._connections.check_ready()

    def recover(self) -> None:
        """Find out whether the store can be written again, if the last write failed."""
        if self._connections.failure is not None:
            self._connections.try_to_write()

    @property
    def damaged(self) -> list[tuple[int, int]]:
        """First number and count of reports that were read so far and are not what was written; none of them counts."""
        return sorted(self._log.damaged.items())

    def hours(self) -> list[Hour]:
        """Return how many reports came in each hour since this process started, to whichever collector."""
        if self.shared:
            with self._connections.snapshot() as reader:
                ((stored,),) = reader.execute("SELECT sum(received) FROM rounds")
                ((rejected,),) = reader.execute("SELECT coalesce(sum(count), 0) FROM rejections")
            self._arrivals.observe(int(stored), int(rejected))
        return self._arrivals.hours()

    def shown_rounds(self) -> list[Round]:
        """Return all rounds with the numbers that readers may see."""
        return self._published.rounds()

    def shown_rejections(self) -> dict[Rejection, int]:
        """Return how many reports were rejected in all, by reason, as readers may see it."""
        return in_steps(self.rejections(), self.step)

    def rejections(self, number: int | None = None) -> dict[Rejection, int]:
        """Return how many reports were rejected, by reason, in all or in a round."""
        with self._connections.snapshot() as reader:
            where = "WHERE round = coalesce(?, round) GROUP BY reason ORDER BY reason"
            found = reader.execute(f"SELECT reason, sum(count) FROM rejections {where}", (number,)).fetchall()  # noqa: S608
        return {Rejection(reason): count for reason, count in found}

    def close(self) -> None:
        """Let go of the file; what the ledger wrote is mixed before, if that is possible."""
        if self._ledger.charged:
            with suppress(StoreError), self._writing() as writer:
                self._ledger.mix(writer)
                self._advance(writer)
            self._erased = False
        self.tidy()
        self._keeper.close()
        self._connections.close()
