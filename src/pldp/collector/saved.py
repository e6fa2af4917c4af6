"""Tallies that are saved: those that one of several collectors keeps for all, and those that outlive their reports.

A saved tally is what readers may see, in steps, and nothing more. It is written only while nobody can withdraw, and a
withdrawal deletes that of its round, so that saved and stored together never tell what was withdrawn. See decision 26.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from threading import RLock
from time import monotonic, sleep, thread_time
from typing import Final, NamedTuple

from pldp.collector.database import Connection, Connections
from pldp.collector.log_reader import digest
from pldp.collector.rounds import RoundState, round_state
from pldp.errors import StoreError, TallyError
from pldp.tallies import Tally

Progress = Callable[[int], None]
EVERY: Final = 1.0  # seconds between two counts for all, at least
HANG: Final = 10.0  # seconds after which a collector counts for itself what another one should have counted
SHARE: Final = 0.1  # part of one processor's time that keeping takes, at most
_POLL: Final = 0.05
_SAVE: Final = (
    "INSERT INTO tallies VALUES (?, ?, ?, ?, ?) ON CONFLICT (round) DO UPDATE SET changes = excluded.changes, "
    "facts = excluded.facts, digest = excluded.digest, content = excluded.content"
)


class Counted(NamedTuple):
    """A tally with the state of its round, and of the whole store, in which it was counted."""

    tally: Tally
    state: RoundState
    changes: int
    damaged: dict[int, int]  # first number and count of reports that were left out


class Saved(NamedTuple):
    """A tally as it was saved."""

    tally: Tally
    changes: int
    damaged: dict[int, int]


def read_saved(reader: Connection, number: int) -> Saved | None:
    """Return the saved tally of a round, if there is one; one that is damaged is refused."""
    found = reader.execute("SELECT changes, facts, digest, content FROM tallies WHERE round = ?", (number,)).fetchone()
    if found is None:
        return None
    changes, text, checksum, content = found
    if digest(number, text.encode(), content) != checksum:
        raise StoreError(f"the saved tally of round {number} is damaged")
    try:
        facts = json.loads(text)
        tally = replace(Tally.from_bytes(content), reports=facts["reports"])
        return Saved(tally, changes, dict(facts["damaged"]))
    except TallyError as error:
        raise StoreError(f"the saved tally of round {number} {error}") from None


def consistent(tally: Tally) -> Tally:
    """Return a tally whose number of reports fits its answers, as files need it: steps are those of each level."""
    answers = tally.answered.values()
    return replace(tally, reports=min(max(tally.reports, *answers, 0), sum(answers)))


def save(writer: Connection, counted: Counted) -> bool:
    """Save a tally in a transaction in which nobody else writes; `False` if the round is no longer as it was."""
    number = counted.state.number
    if round_state(writer, number)[:4] != counted.state[:4]:
        return False
    facts = json.dumps({"reports": counted.tally.reports, "damaged": sorted(counted.damaged.items())})
    content = consistent(counted.tally).to_bytes()
    checksum = digest(number, facts.encode(), content)
    writer.execute(_SAVE, (number, counted.changes, facts, checksum, content))
    return True


def forget(writer: Connection, number: int) -> None:
    """Delete the saved tally of a round that changes otherwise than by new reports."""
    writer.execute("DELETE FROM tallies WHERE round = ?", (number,))


class Keeper:
    """Keeps the tallies of all rounds while this collector holds the lock for that, and reads them while another does.

    `count` counts a round in this process.
    """

    def __init__(self, connections: Connections, count: Callable[[int | None, Progress | None], Counted]) -> None:
        self._connections = connections
        self._count = count
        self._busy = RLock()
        self._connection: Connection | None = None
        self._holds = False
        self._rest_until = 0.0
        self._wanted: dict[int, tuple[int, float]] = {}  # by round: changes that another one should count, since when

    def hold(self) -> bool:
        """Tell whether this collector keeps the tallies, and try to if nobody does."""
        database = self._connections.database
        with self._busy:
            if self._connection is not None and self._holds:
                with suppress(StoreError), database.translate_errors():
                    self._connection.execute("SELECT 1")  # a server that was away has given the lock to others
            if self._connection is None or self._connection.broken:
                self._holds = False
                self._connection = database.connect()
            if not self._holds:
                with database.translate_errors():
                    self._holds = database.try_to_keep(self._connection)
            return self._holds

    def shown(self, number: int | None, progress: Progress | None) -> Counted | Saved:
        """Return what readers may see of a round: counted here, or by the collector that keeps the tallies."""
        while True:
            with self._connections.snapshot() as reader:
                state = round_state(reader, number)
                ((changes,),) = reader.execute("SELECT changes FROM head")
                saved = read_saved(reader, state.number)
            last = -1 if saved is None else saved.changes
            if saved is not None and (last >= changes or not state.latest):
                return saved
            if self.hold():
                return self._count_and_save(state.number, progress)
            if self._hangs(state.number, last, changes):
                return self._count(state.number, progress)
            if saved is not None:
                return saved
            sleep(_POLL)

    def counts_here(self, number: int, last: int, changes: int) -> bool:
        """Tell whether this collector counts the latest round itself, given the changes that are saved, and all."""
        return self._holds or (self._connections.database.shared and self._hangs(number, last, changes))

    def _hangs(self, number: int, last: int, changes: int) -> bool:
        """Tell whether the collector that keeps the tallies owes a count of what was there some time ago."""
        wanted, since = self._wanted.get(number, (-1, 0.0))
        if last >= wanted:
            wanted, since = self._wanted[number] = (changes, monotonic())
        return monotonic() - since > HANG

    def _count_and_save(self, number: int, progress: Progress | None = None) -> Counted:
        with self._busy:
            counted = self._count(number, progress)
            connection, database = self._connection, self._connections.database
            if connection is None:
                return counted
            with database.translate_errors():
                try:
                    connection.execute(database.begin_write)
                    save(connection, counted)
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
        return counted

    def keep(self) -> bool:
        """Count what is new in all rounds if it is this collector's part and due; tell whether it is its part."""
        if not self.hold():
            return False
        if monotonic() < self._rest_until:
            return True
        with self._connections.snapshot() as reader:
            ((changes,),) = reader.execute("SELECT changes FROM head")
            rounds = reader.execute(
                "SELECT number, tallies.changes FROM rounds LEFT JOIN tallies ON round = number ORDER BY number DESC"
            ).fetchall()
        begun = thread_time()
        for number, saved in rounds:
            if saved is None or (number == rounds[0][0] and saved < changes):
                self._count_and_save(number)
        self._rest_until = monotonic() + max(EVERY, (thread_time() - begun) / SHARE)
        return True

    def close(self) -> None:
        """Give the lock back."""
        if self._connection is not None:
            self._connection.close()
