"""Stores whose clock a test sets, and which delete what is due."""

from __future__ import annotations

from datetime import UTC, datetime

from pldp.collector import Store

CLOSED = datetime(2026, 11, 1, 9, tzinfo=UTC)  # when rounds are closed


class Clock:
    """Tells the time that a test has set."""

    def __init__(self, start: datetime = CLOSED) -> None:
        self._start = start.timestamp()
        self.wait(0)

    def __call__(self) -> float:
        return self._now

    def wait(self, days: float) -> None:
        """Let it be that many days after the start."""
        self._now = self._start + 86_400 * days


def delete_due(store: Store, days: int) -> list[int]:
    """Look once for rounds that are due, delete the single reports of those that may be, and return which."""
    decided = store.decide_to_delete(store.count_rounds(store.look_for_due(days)))
    while store.delete_some():
        pass
    return decided


def delete_at(store: Store, clock: Clock, days: int) -> list[int]:
    """Look on the day on which rounds are due, and a day later, when their single reports are deleted."""
    clock.wait(days)
    assert delete_due(store, days) == []
    clock.wait(days + 1)
    return delete_due(store, days)
