"""What readers may see of a store, and when that changes: in whole steps, of arrivals and of withdrawals alike.

A withdrawn report leaves the store at once. What readers see follows when a step of reports was withdrawn or has
arrived, or when the round is closed: figures that followed at once would date every withdrawal, and two looks would
differ by it. What was shown meanwhile is kept in memory only, because a stored tally and the stored rows together would
give the withdrawn report back. So a collector that starts counts what is there (decision 18).
"""

from collections.abc import Callable
from typing import NamedTuple

from pldp.collector.database import Connections
from pldp.collector.packing import Packing
from pldp.collector.rounds import Round
from pldp.collector.saved import Keeper, Progress
from pldp.errors import StoreError
from pldp.tallies import Tally


class Version(NamedTuple):
    """What the results of a round are computed from; they stay the same while it does."""

    open: bool
    deleted: bool  # whether a saved tally is all that is left
    withdrawn: int
    stored: int  # reports that wait for no others, withdrawn ones included
    counted: int  # the same without withdrawn ones
    saved: bytes | None  # checksum of the saved tally, where this collector does not count by itself

    def gate(self, step: int) -> tuple[bool, bool, int, int]:
        """Return what has to change before a withdrawal shows."""
        return self.open, self.deleted, self.withdrawn // step, self.stored // step


class Published:
    """Tallies and numbers of reports as readers see them; `count` counts what may be shown of a round now."""

    def __init__(
        self,
        connections: Connections,
        packing: Packing,
        step: int,
        keeper: Keeper,
        count: Callable[[int, Progress | None], Tally],
    ) -> None:
        self._connections = connections
        self._packing = packing
        self._step = step
        self._keeper = keeper
        self._count = count
        self._versions: dict[int, Version] = {}
        self._tallies: dict[int, tuple[Version, Tally]] = {}

    def versions(self) -> dict[int, Version]:
        """Return the version of every round, oldest round first."""
        with self._connections.snapshot() as reader:
            tail = reader.execute("SELECT round, rows FROM tail").fetchall() if self._step > 1 else []
            rounds = reader.execute(
                "SELECT number, received, withdrawn, closed, deleted, digest, coalesce(tallies.changes, -1), "
                "head.changes FROM rounds LEFT JOIN tallies ON round = number CROSS JOIN head ORDER BY number"
            ).fetchall()
            for number, received, withdrawn, closed, deleted, digest, *changes in rounds:
                waiting = b"".join(rows for of_round, rows in tail if of_round == number)
                stored = received - len(waiting) // self._packing.width
                counted = received - withdrawn - self._packing.count(waiting)
                counts = number == rounds[-1][0] and self._keeper.counts_here(number, *changes)
                saved = None if counts else digest
                now = Version(not closed, deleted > 0, withdrawn, stored, counted, saved)
                shown = self._versions.get(number, now)
                if shown.withdrawn == withdrawn or shown.gate(self._step) != now.gate(self._step):
                    self._versions[number] = now
            return {number: self._versions[number] for number, *_ in rounds}

    def rounds(self) -> list[Round]:
        """Return all rounds with the numbers that readers may see."""
        step, shown = self._step, []
        for number, version in self.versions().items():
            left_out = version.withdrawn > 0 and step > 1
            reports = max(0, version.counted // step - left_out) * step
            shown.append(Round(number, version.open, reports, version.withdrawn // step * step))
        return shown

    def tally(self, number: int | None, progress: Progress | None) -> tuple[int, Tally]:
        """Return the number of a round, of the latest by default, and its tally, counted anew for a new version."""
        versions = self.versions()
        number = max(versions) if number is None else number
        if number not in versions:
            raise StoreError(f"there is no round {number}")
        kept = self._tallies.get(number)
        if kept is None or kept[0] != versions[number]:
            kept = self._tallies[number] = (versions[number], self._count(number, progress))
        return number, kept[1]
