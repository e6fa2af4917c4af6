"""Reports whose id came before: found among any number of reports, in bounded memory."""

from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.mechanisms.arrays import ByteArray

ALWAYS: Final = 1 << 20
"""Of so many reports every repeated id is found; of more, ids are sorted only if a sample has one that came before."""

MOST: Final = 1 << 24
"""Ids that are kept, at most, with 8 bytes each; of more reports, a half, a quarter, … of all ids are followed."""

_SAMPLE: Final = 1 << 19  # rows of a sample, about
_SHARE: Final = 4  # bits: a sample of ids is one of 16
_MIXED: Final = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB55], np.uint64)

Keys = npt.NDArray[np.uint64]  # 64 bits of each id: two of 10⁷ different ids share them with a chance of 3 in a million


class Repeats:
    """Counts the reports whose id came before.

    The number is exact up to `MOST` reports, with one exception: of more than `ALWAYS` reports, few repeats may go
    unnoticed. A hundred or more do so with a probability below 1 %: it is (15/16)ʳ for r ids that come twice, and less
    than exp(−r/40) for one id that comes r times, evenly among at most `MOST` reports.

    >>> repeats = Repeats()
    >>> for ids in (b"a" * 16 + b"b" * 16, b"c" * 16 + b"a" * 16):
    ...     repeats.add(np.frombuffer(ids, np.uint8).reshape(-1, 16))
    >>> repeats.count()
    1
    """

    def __init__(self) -> None:
        self._parts: list[Keys] = []
        self._halved = 0  # times that the share of ids which are followed was halved
        self._found = 0  # before the last of them

    def add(self, ids: ByteArray) -> None:
        """Remember the ids of reports, 16 bytes each."""
        self._parts = [*self._parts, self._followed(ids.view("<u8") @ _MIXED)]  # a copy of `self` keeps its own
        if sum(map(len, self._parts)) > MOST:
            keys = self._joined()
            self._found += _again(keys) << self._halved
            self._halved += 1
            self._parts = [self._followed(np.unique(keys))]

    def count(self) -> int:
        """Return how many reports have an id that came before."""
        return self._found + (_again(self._joined()) << self._halved)

    def _followed(self, keys: Keys) -> Keys:
        return keys[keys < np.uint64(1 << 64 - self._halved)] if self._halved else keys

    def _joined(self) -> Keys:
        """Return all keys as one array; parts are freed one by one, so that they are not in memory twice."""
        parts, self._parts = self._parts[::-1], []
        keys = np.empty(sum(map(len, parts)), np.uint64)
        place = 0
        while parts:
            part = parts.pop()
            keys[place : place + len(part)] = part
            place += len(part)
        self._parts = [keys]
        return keys


def _again(keys: Keys) -> int:
    """Count keys that came before. Many are sorted only where a sample, of keys or of rows, has one."""
    if len(keys) > ALWAYS:
        bound = keys.max() >> np.uint64(_SHARE)
        if not _sorted_again(keys[keys < bound]) and not _sorted_again(keys[:: len(keys) // _SAMPLE].copy()):
            return 0
    return _sorted_again(keys)


def _sorted_again(keys: Keys) -> int:
    keys.sort()
    return int(np.count_nonzero(keys[1:] == keys[:-1]))
