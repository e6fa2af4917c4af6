"""Bodies into reports, in turns: nobody's body keeps the others waiting, whatever is in it."""

import asyncio
from collections.abc import Iterator
from time import monotonic
from typing import Final

from pldp.collector.http import Problem, ProblemError
from pldp.collector.packing import Packed, Packing
from pldp.reports import Rejection, ReportRejected, body_length
from pldp.survey import Survey

TURN: Final = 0.005  # seconds of reading after which other connections get their turn
_PIECE: Final = 1 << 16  # bytes that are split into lines at a time


class Reader:
    """Reads uploads of one survey.

    `longest` is more than any report of the survey needs: four times its longest form, for spaces and escapes. What is
    longer is malformed, and never parsed.
    """

    def __init__(self, survey: Survey, *, most_reports: int) -> None:
        self._packing = Packing(survey)
        self._most_reports = most_reports
        self.longest = 4 * body_length(survey) + 1024

    def read(self, text: bytes) -> Packed:
        """Read one report; `ReportRejected` says why one is not taken."""
        self.check_length(len(text))
        return self._packing.read(text)

    def check_length(self, length: int) -> None:
        """Refuse what is longer than any report of the survey."""
        if length > self.longest:
            raise ReportRejected(Rejection.MALFORMED, f"a report of this survey has at most {self.longest} bytes")

    def count(self, body: bytes) -> int:
        """Return how many reports a batch can have, by its newlines; `ProblemError` if that is too many."""
        lines = body.count(b"\n") + (not body.endswith(b"\n"))
        if lines > self._most_reports and sum(1 for _ in _lines(body)) > self._most_reports:
            raise ProblemError(Problem.TOO_MANY_REPORTS, f"a batch has at most {self._most_reports} reports")
        return min(lines, self._most_reports)

    async def read_many(self, body: bytes) -> list[Packed | Rejection]:
        """Read a batch, one report or rejection for each line that is not empty."""
        read: list[Packed | Rejection] = []
        until = monotonic() + TURN
        parse, longest = self._packing.read, self.longest
        for number, line in enumerate(_lines(body)):
            try:
                read.append(parse(line) if len(line) <= longest else Rejection.MALFORMED)
            except ReportRejected as rejected:
                read.append(rejected.reason)
            if not number % 16 and monotonic() > until:
                await asyncio.sleep(0)
                until = monotonic() + TURN
        return read


def _lines(body: bytes) -> Iterator[bytes]:
    """Yield the lines that are not empty, without a second copy of the whole body."""
    start = 0
    while start < len(body):
        end = body.find(b"\n", start + _PIECE)
        end = len(body) if end < 0 else end
        for line in body[start:end].split(b"\n"):
            if line and not line.isspace():
                yield line
        start = end + 1
