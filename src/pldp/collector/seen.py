"""Which ids are stored, and under which numbers: an index in memory of 10 bytes per report.

Ids are random, so an index on disk would touch another page for every report. This one is made of sorted runs of
consecutive reports. A run that has grown to a block changes no more: the store keeps its bytes, and a start reads them
back instead of making them from the ids. Most ids that are sought are new, and a Bloom filter of the blocks says so for
nearly all of them at once.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from pldp.collector.packing import ID_BYTES

RECENT: Final = 1 << 16  # ids that are kept as they are before they become a sorted run
MANY: Final = 512  # ids of other collectors that become a run at once
BLOCK: Final = 1 << 20  # ids in runs that are joined no more
TOGETHER: Final = 8  # blocks that share a filter: a byte of it has a bit for each, so that one look asks all of them
FILTER_BITS: Final = 24  # binary digits of places in a filter: 16 for each id of a block, two of which are marked
FILTER_SHIFTS: Final = (64 - FILTER_BITS, (BLOCK - 1).bit_length())  # the digits of a hash that choose the places
Keys = npt.NDArray[np.uint64]  # sorted: the upper bits are those of the id's hash, the lower ones the place in the run
Places = npt.NDArray[np.int64]


class _Run(NamedTuple):
    first: int
    keys: Keys

    @property
    def bits(self) -> np.uint64:
        """How many lower bits hold the place."""
        return np.uint64((len(self.keys) - 1).bit_length())

    @property
    def mask(self) -> np.uint64:
        """Ones in these bits."""
        return (np.uint64(1) << self.bits) - np.uint64(1)


class Seen:
    """Finds the numbers under which ids may be stored. Numbers are given in their order, from 0 on.

    Runs are joined up to multiples of `BLOCK`, so that all collectors of a store make the same blocks.

    With a secret of 32 bytes nobody outside can choose ids whose hashes collide.

    >>> seen = Seen(bytes(range(32)))
    >>> seen.add([b"a" * 16, b"b" * 16], 0)
    >>> seen.find([b"b" * 16, b"c" * 16]) == {b"b" * 16: [1]}
    True
    """

    def __init__(self, secret: bytes) -> None:
        self._multipliers = np.frombuffer(secret, "<u8") | np.uint64(1)
        self._recent: dict[bytes, int] = {}
        self._blocks: list[_Run] = []
        self._filters: list[npt.NDArray[np.uint8]] = []  # one for so many blocks `TOGETHER`
        self._runs: list[_Run] = []  # after the blocks

    def add(self, ids: Sequence[bytes], first: int) -> None:
        """Remember ids that are stored under consecutive numbers."""
        room = BLOCK - first % BLOCK
        if len(ids) > room:
            self.add(ids[:room], first)
            self.add(ids[room:], first + room)
            return
        self._recent.update(zip(ids, range(first, first + len(ids)), strict=True))
        if len(self._recent) >= RECENT or len(ids) == room:
            self._push(b"".join(self._recent), next(iter(self._recent.values())))
            self._recent = {}

    def add_stored(self, ids: bytes, first: int) -> None:
        """Remember ids that were read from the store, one after the other."""
        if self._recent and len(ids) < MANY * ID_BYTES:
            self.add([ids[start : start + ID_BYTES] for start in range(0, len(ids), ID_BYTES)], first)
        else:
            if self._recent:
                self._push(b"".join(self._recent), next(iter(self._recent.values())))
                self._recent = {}
            while ids:
                room = BLOCK - first % BLOCK
                self._push(ids[: room * ID_BYTES], first)
                ids, first = ids[room * ID_BYTES :], first + room

    def add_block(self, keys: bytes, first: int) -> int:
        """Remember a block that the store kept; return the number after it."""
        self._keep(_Run(first, np.frombuffer(keys, "<u8")))
        return first + len(self._blocks[-1].keys)

    def blocks(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Yield first number and bytes of the blocks from a number on."""
        for block in self._blocks:
            if block.first >= start:
                yield block.first, block.keys.astype("<u8", copy=False).tobytes()

    def find(self, ids: Sequence[bytes]) -> dict[bytes, list[int]]:
        """Return the numbers that ids may have, of those that have any; the store compares what it finds there."""
        recent = self._recent
        found = {identity: [recent[identity]] for identity in ids if identity in recent}
        if (self._runs or self._blocks) and ids:
            wanted = self._hashes(b"".join(ids))
            order = np.argsort(wanted)  # neighbours are sought in turn, so that most of the run stays in the cache
            wanted = wanted[order]
            for run, possible in self._possible(wanted):
                sought = wanted[possible] >> run.bits
                low = np.searchsorted(run.keys, sought << run.bits)
                met = run.keys[np.minimum(low, len(run.keys) - 1)] >> run.bits == sought
                for place in np.flatnonzero(met & (low < len(run.keys))).tolist():
                    last = np.searchsorted(run.keys, (sought[place] << run.bits) | run.mask, "right")
                    numbers = (run.keys[low[place] : last] & run.mask) + np.uint64(run.first)
                    found.setdefault(ids[order[possible[place]]], []).extend(numbers.tolist())
        return found

    def _possible(self, hashes: Keys) -> Iterator[tuple[_Run, Places]]:
        """Yield every run that may have some of these hashes, with the places of those."""
        for start, marked in zip(range(0, len(self._blocks), TOGETHER), self._filters, strict=True):
            one, two = (marked[_places(hashes, shift)] for shift in FILTER_SHIFTS)
            both = one & two
            for place, block in enumerate(self._blocks[start : start + TOGETHER]):
                possible = np.flatnonzero(both & (1 << place))
                if len(possible):
                    yield block, possible
        for run in self._runs:
            yield run, np.arange(len(hashes))

    def _push(self, ids: bytes, first: int) -> None:
        """Add a run; runs of like size are joined, so that there are few."""
        hashes = self._hashes(ids)
        self._runs.append(_run(first, hashes, np.arange(len(hashes), dtype=np.uint64)))
        while len(self._runs) > 1 and self._belong_together(*self._runs[-2:]):
            one, two = self._runs[-2:]
            places = np.concatenate([one.keys & one.mask, (two.keys & two.mask) + np.uint64(len(one.keys))])
            self._runs[-2:] = [_run(one.first, np.concatenate([one.keys, two.keys]), places, sort="stable")]
        last = self._runs[-1]
        if (last.first + len(last.keys)) % BLOCK == 0:
            self._keep(self._runs.pop())

    def _keep(self, block: _Run) -> None:
        """Add a block, and mark its hashes."""
        place = len(self._blocks) % TOGETHER
        if not place:
            self._filters.append(np.zeros(1 << FILTER_BITS, dtype=np.uint8))
        for shift in FILTER_SHIFTS:
            self._filters[-1][_places(block.keys, shift)] |= 1 << place
        self._blocks.append(block)

    def _belong_together(self, one: _Run, two: _Run) -> bool:
        """Tell whether two runs are of like size and in one block; one that ends a block takes all that is before."""
        full = (two.first + len(two.keys)) % BLOCK == 0
        return one.first // BLOCK == two.first // BLOCK and (full or len(one.keys) < 2 * len(two.keys))

    def _hashes(self, ids: bytes) -> Keys:
        words = np.frombuffer(ids, "<u4").reshape(-1, ID_BYTES // 4).astype(np.uint64)
        hashes: Keys = words @ self._multipliers
        return hashes


def _run(first: int, hashes: Keys, places: Keys, sort: Literal["quicksort", "stable"] = "quicksort") -> _Run:
    """Put the places where the lower bits of the hashes are, and sort; a stable sort merges sorted runs fast."""
    bits = np.uint64((len(hashes) - 1).bit_length())
    keys = (hashes >> bits << bits) | places
    keys.sort(kind=sort)
    return _Run(first, keys)


def _places(hashes: Keys, shift: int) -> Places:
    """Return the places in a filter that some digits of hashes choose; those of keys are the same."""
    return (hashes >> np.uint64(shift)).astype(np.int64) & ((1 << FILTER_BITS) - 1)
