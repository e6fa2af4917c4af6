"""Which ids are stored, and where: an index in memory that grows by 16 bytes per report.

Ids are random, so an index on disk would touch another page for every report. This one is rebuilt at start from the
ids in the store, which are read in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.collector.packing import ID_BYTES

RECENT: Final = 1 << 16
"""Ids that are kept as they are before they become a sorted run."""

IntArray = npt.NDArray[np.int64]


class Seen:
    """Finds the numbers under which ids may be stored.

    >>> seen = Seen()
    >>> seen.add([b"a" * 16, b"b" * 16], 0)
    >>> seen.find([b"b" * 16, b"c" * 16])
    [[1], []]
    """

    def __init__(self) -> None:
        self._recent: dict[bytes, int] = {}
        self._runs: list[tuple[IntArray, IntArray]] = []

    def add(self, ids: Sequence[bytes], first: int) -> None:
        """Remember ids that are stored under consecutive numbers."""
        self._recent.update(zip(ids, range(first, first + len(ids)), strict=True))
        if len(self._recent) >= RECENT:
            self._push(_hashes(list(self._recent)), np.fromiter(self._recent.values(), np.int64, len(self._recent)))
            self._recent = {}

    def add_stored(self, ids: bytes, first: int) -> None:
        """Remember ids that were read from the store, one after the other."""
        hashes = _hashes([ids[start : start + ID_BYTES] for start in range(0, len(ids), ID_BYTES)])
        self._push(hashes, np.arange(first, first + len(hashes)))

    def find(self, ids: Sequence[bytes]) -> list[list[int]]:
        """Return for each id the numbers that it may have; the store compares the id that it finds there."""
        found = [[self._recent[identity]] if identity in self._recent else [] for identity in ids]
        if self._runs:
            wanted = _hashes(ids)
            for hashes, numbers in self._runs:
                low = np.searchsorted(hashes, wanted)
                hits = np.flatnonzero(hashes[np.minimum(low, len(hashes) - 1)] == wanted)
                for place in hits.tolist():
                    high = np.searchsorted(hashes, wanted[place], "right")
                    found[place].extend(numbers[low[place] : high].tolist())
        return found

    def _push(self, hashes: IntArray, numbers: IntArray) -> None:
        """Add a run; runs of like size are merged, so that there are few."""
        self._runs.append(_sorted(hashes, numbers))
        while len(self._runs) > 1 and len(self._runs[-2][0]) < 2 * len(self._runs[-1][0]):
            (one, its), (two, others) = self._runs[-2:]
            self._runs[-2:] = [_sorted(np.concatenate([one, two]), np.concatenate([its, others]))]


def _sorted(hashes: IntArray, numbers: IntArray) -> tuple[IntArray, IntArray]:
    order = np.argsort(hashes, kind="stable")
    return hashes[order], numbers[order]


def _hashes(ids: Sequence[bytes]) -> IntArray:
    """Hash ids with the interpreter's keyed hash: nobody outside can choose ids that collide."""
    return np.fromiter(map(hash, ids), np.int64, len(ids))
