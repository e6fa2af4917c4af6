"""Counting the rounds of a store: every report for its owner, whole steps for readers; only what is new is read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pldp.collector.database import Connection, Connections
from pldp.collector.log_reader import Block
from pldp.collector.packing import Packing
from pldp.collector.report_log import BLOCK_REPORTS, ReportLog
from pldp.collector.rounds import round_state
from pldp.collector.running import Running, Shown
from pldp.collector.saved import Counted, Progress, read_saved
from pldp.reports import Rejection
from pldp.tallies import Pair, Tally

STEP: Final = 1 << 20  # reports that are counted in one look at the database: it is never held for long


def in_steps(rejections: Mapping[Rejection, int], step: int) -> dict[Rejection, int]:
    """Return numbers of rejected reports as readers may see them."""
    return {reason: count // step * step for reason, count in rejections.items()}


class Counting:
    """Counts the rounds of one store in memory; one thread at a time."""

    def __init__(
        self,
        connections: Connections,
        log: ReportLog,
        packing: Packing,
        pairs: Sequence[Pair],
        step: int,
        secret: bytes,
    ) -> None:
        self._connections = connections
        self._log = log
        self._step = step
        self._packing = packing
        self._pairs = pairs
        self._secret = secret
        self._running = Running(packing, pairs)
        self._shown: dict[int, Running] = {}  # by round

    def _make_shown(self) -> Running:
        if self._step == 1:
            return Running(self._packing, self._pairs)
        return Shown(self._packing, self._pairs, self._step, self._secret)

    def deleted(self, number: int | None) -> Tally | None:
        """Return what is left of a round whose single reports were deleted; `None` if they were not."""
        with self._connections.snapshot() as reader:
            state = round_state(reader, number)
            saved = read_saved(reader, state.number) if state.deleted else None
        return None if saved is None else saved.tally

    def exact(self, number: int | None, progress: Progress | None) -> Counted:
        """Count every report of a round."""
        return self._follow(self._running, number, progress)

    def shown(self, number: int | None = None, progress: Progress | None = None) -> Counted:
        """Count what readers may see of a round."""
        with self._connections.snapshot() as reader:
            number = round_state(reader, number).number
        counted = self._follow(self._shown.setdefault(number, self._make_shown()), number, progress)
        rejections = in_steps(counted.tally.rejections, self._step)
        return counted._replace(tally=replace(counted.tally, rejections=rejections), damaged=dict(self._log.damaged))

    def _follow(self, running: Running, number: int | None, progress: Progress | None) -> Counted:
        """Count what is new in blocks, some at a time so that nobody waits, and finish within the last look."""
        while True:
            with self._connections.snapshot() as reader:
                state = round_state(reader, number)
                running.choose(state.number, state.withdrawn)
                last = self._log.end(reader)
                end = min(running.end + STEP, last)
                running.read(self._log.blocks(reader, state.number, running.end, end))
                running.end = max(running.end, end)
                if running.end >= last:
                    rejected = reader.execute(
                        "SELECT reason, count FROM rejections WHERE round = ?", (state.number,)
                    ).fetchall()
                    ((changes,),) = reader.execute("SELECT changes FROM head")
                    counted = self._finish(running, reader, state.number)
                    counted = replace(counted, rejections={Rejection(reason): count for reason, count in rejected})
                    return Counted(counted, state, changes, {})
            if progress is not None:
                progress(running.counted.reports)

    def _finish(self, running: Running, reader: Connection, number: int) -> Tally:
        def between(first: int, last: int) -> Iterator[Block]:
            return self._log.blocks(reader, number, max(0, first - BLOCK_REPORTS), last + 1)

        if isinstance(running, Shown):
            return running.shown(between)
        tail = self._log.tail(reader, number)
        return running.counted if tail is None else running.counted + running.count(tail)
