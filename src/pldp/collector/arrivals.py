"""How many reports came in each hour, for those who look at a dashboard; never kept on disk."""

from collections.abc import Callable
from time import time
from typing import Final, NamedTuple

HOURS: Final = 7 * 24  # hours whose arrivals are remembered
_HOUR_SECONDS: Final = 3600


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
        self._totals: tuple[int, int] | None = None  # that `observe` was told last
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

    def observe(self, stored: int, rejected: int) -> None:
        """Count what has come since the last call, given how many were stored and rejected in all."""
        before, self._totals = self._totals, (stored, rejected)
        if before is not None:
            self.add(max(0, stored - before[0]), max(0, rejected - before[1]))

    def hours(self) -> list[Hour]:
        """Return every hour since the start, the last week at most; clocks that were set back tell nothing."""
        counts, now = self._counts.copy(), self._hour()
        hours = range(max(self._first, now - HOURS + 1), now + 1)
        return [Hour(hour * _HOUR_SECONDS, *counts.get(hour, (0, 0))) for hour in hours]
