"""The tally of the open round, kept up to date: only what is new is counted, and what was withdrawn is taken out."""

from collections.abc import Iterable, Sequence
from typing import Final

from pldp.collector.packing import ID_BYTES, Packing
from pldp.tallies import Pair, Tally, tally

MOST_GONE: Final = 10_000
"""Withdrawn rows that wait to be taken out of the tally; beyond, all reports are counted again."""

Block = tuple[int, bytes, bytes]  # first number, ids and rows of reports that follow each other


class Running:
    """Counts the reports of one round step by step; every step leaves an exact tally of what it has read.

    `counted` is that tally, without reports withdrawn, and `end` the number of the first report that was not read.
    """

    def __init__(self, packing: Packing, pairs: Sequence[Pair] = ()) -> None:
        self._packing = packing
        self._pairs = pairs
        self._gone: dict[tuple[int, int], tuple[int, bytes]] = {}
        self._start(0)

    def _start(self, number: int) -> None:
        self._number, self._withdrawn, self.end = number, 0, 0
        self.counted = Tally.empty(self._packing.survey, pairs=self._pairs)

    def withdraw(self, number: int, withdrawn: int, place: int, row: bytes) -> None:
        """Note a row before its withdrawal is stored: it is the so-many-th of its round, and report number `place`.

        If storing fails, the next withdrawal has the same count and replaces the note.
        """
        if len(self._gone) >= MOST_GONE:
            self._gone.clear()
        self._gone[number, withdrawn] = (place, row)

    def choose(self, number: int, withdrawn: int) -> None:
        """Bring the tally to a round of which so many reports were withdrawn; what cannot be taken out starts anew."""
        if number != self._number:
            self._start(number)
        if self.end:
            noted = [self._gone.get((number, count)) for count in range(self._withdrawn + 1, withdrawn + 1)]
            gone = [note for note in noted if note is not None]
            if len(gone) < len(noted):
                self._start(number)
            rows = [row for place, row in gone if place < self.end]
            if rows:
                self.counted = self.counted.without(self._count(bytes(ID_BYTES * len(rows)), b"".join(rows)))
        self._withdrawn = withdrawn
        for key in [key for key in tuple(self._gone) if key <= (number, withdrawn)]:
            self._gone.pop(key, None)

    def read(self, blocks: Iterable[Block]) -> None:
        """Count what follows."""
        for first, ids, rows in blocks:
            self.counted += self._count(ids, rows)
            self.end = first + len(ids) // ID_BYTES

    def _count(self, ids: bytes, rows: bytes) -> Tally:
        return tally(self._packing.survey, [self._packing.batch(ids, rows)], pairs=self._pairs)
