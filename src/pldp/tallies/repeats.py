"""Reports whose id came before: found among any number of reports, in bounded memory."""

from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.mechanisms.arrays import ByteArray

ALWAYS: Final = 1 << 20  # of so many reports every repeated id is found; of more, samples say whether there are any
MOST: Final = 1 << 24  # ids that are kept, at most; of more, those with a key in the lower half, quarter, … of all
_ROWS, _SHARE = 1 << 18, 5  # samples: so many rows, for single ids that come often; keys of so many zero bits, for more
_ONE, _TWO = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB55], np.uint64)
Keys = npt.NDArray[np.uint64]  # 64 bits of each id: of 10⁷ different ids, two share them once in 300,000 times


class Repeats:
    """Counts the reports whose id came before, with 8 bytes for each report.

    The number is exact up to `MOST` reports, but of more than `ALWAYS`, a few may go unnoticed; with a probability
    below 1 % also 150 ids that come twice, (31/32)¹⁵⁰, or one that comes 500 times.

    >>> repeats = Repeats()
    >>> for ids in (b"a" * 16 + b"b" * 16, b"c" * 16 + b"a" * 16):
    ...     repeats.add(np.frombuffer(ids, np.uint8).reshape(-1, 16))
    >>> repeats.count()
    1
    """

    def __init__(self) -> None:
        self._parts: list[Keys] = []
        self._kept = self._halved = self._found = 0  # what was found before the share of ids was halved last

    def add(self, ids: ByteArray) -> None:
        """Remember the ids of reports, 16 bytes each."""
        words = ids.view("<u8")
        self._keep(words[:, 0] * _ONE + words[:, 1] * _TWO)
        if self._kept > MOST:
            self._found = self.count()
            parts, self._parts, self._kept = self._parts, [], 0
            self._halved += 1
            for part in parts:
                self._keep(np.unique(part))

    def count(self) -> int:
        """Return how many reports have an id that came before."""
        if self._kept > ALWAYS:
            ids = [_below(part, self._halved + _SHARE) for part in self._parts]
            rows = [part[:: -(-self._kept // _ROWS)] for part in self._parts]
            if not _again(np.concatenate(ids)) and not _again(np.concatenate(rows)):
                return self._found
        keys, place = np.empty(self._kept, np.uint64), self._kept
        while self._parts:  # one by one, so that they are not in memory twice
            part = self._parts.pop()
            place -= len(part)
            keys[place : place + len(part)] = part
        self._parts = [keys]
        return self._found + (_again(keys) << self._halved)

    def _keep(self, keys: Keys) -> None:
        self._parts.append(_below(keys, self._halved))
        self._kept += len(self._parts[-1])


def _below(keys: Keys, bits: int) -> Keys:
    """Return the keys that begin with so many zero bits."""
    return keys[keys < np.uint64(1 << (64 - bits))] if bits else keys


def _again(keys: Keys) -> int:
    keys.sort()
    return int(np.count_nonzero(keys[1:] == keys[:-1]))
