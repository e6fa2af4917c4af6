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
_SPARE_BRACKETS: Final = 64  # beyond those of a whole report, so that one with too many answers gets its own reason


class Reader:
    """Reads uploads of one survey.

    `longest` is more than any report of the survey needs: four times its longest form, for spaces and escapes. What is
    longer, or nested deeper than a report can be, is malformed and never parsed.
    """

    def __init__(self, survey: Survey, *, most_reports: int) -> None:
        self._packing = Packing(survey)
        self._most_reports = most_reports
        self._reading = asyncio.Lock()
        self.longest = 4 * body_length(survey) + 1024
        names = "".join(
            name for each in survey.questions for name in (each.name, *(level.name for level in each.levels))
        )
        self._most_brackets = 2 * len(survey.questions) + _brackets(names.encode()) + _SPARE_BRACKETS

    def read(self, text: bytes) -> Packed:
        """Read one report; `ReportRejected` says why one is not taken."""
        self.check_length(len(text))
        packed = self._packing.read_fast(text)
        if packed is not None:
            return packed
        if _brackets(text) > self._most_brackets:
            raise ReportRejected(Rejection.MALFORMED, "a report has fewer brackets")
        return self._packing.read_slowly(text)

    def _judge(self, line: bytes) -> Packed | Rejection:
        try:
            return self.read(line)
        except ReportRejected as rejected:
            return rejected.reason

    def check_length(self, length: int) -> None:
        """Refuse what is longer than any report of the survey."""
        if length > self.longest:
            raise ReportRejected(Rejection.MALFORMED, f"a report of this survey has at most {self.longest} bytes")

    def count(self, body: bytes) -> int:
        """Return how many lines a batch has, empty ones too; `ProblemError` if those are too many."""
        lines = body.count(b"\n") + (not body.endswith(b"\n"))
        if lines > self._most_reports:
            raise ProblemError(Problem.TOO_MANY_REPORTS, f"a batch has at most {self._most_reports} reports")
        return lines

    async def read_many(self, body: bytes) -> list[Packed | Rejection]:
        """Read a batch, one report or rejection for each line that is not empty; batches are read one by one."""
        read: list[Packed | Rejection] = []
        read_fast, longest = self._packing.read_fast, self.longest
        async with self._reading:
            until = monotonic() + TURN
            for number, line in enumerate(_lines(body)):
                packed = read_fast(line) if len(line) <= longest else None
                read.append(packed or self._judge(line))
                if not number % 16 and monotonic() > until:
                    await asyncio.sleep(0)
                    until = monotonic() + TURN
        return read


def _brackets(text: bytes) -> int:
    return text.count(b"[") + text.count(b"{")


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
