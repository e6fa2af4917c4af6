"""How many reports came in each hour, in memory only.

Reports are stored in the order in which they came: counts per hour in the file would date each of them.
"""

from collections.abc import Callable
from time import time
from typing import Final, NamedTuple

HOURS: Final = 7 * 24  # hours that are remembered
_SECONDS: Final = 3600


class Hour(NamedTuple):
    """Start of an hour in Unix time, and the reports stored and rejected in it."""

    start: int
    stored: int
    rejected: int


class Arrivals:
    """Counts since the process started, the last week at most.

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
        return int(self._clock() // _SECONDS)

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
        return [Hour(hour * _SECONDS, *counts.get(hour, (0, 0))) for hour in hours]
