"""Reports whose id came before: found among any number of reports, in bounded memory."""

from collections.abc import Iterator
from copy import copy
from typing import Final

import numpy as np
import numpy.typing as npt

from pldp.mechanisms.arrays import ByteArray

ALWAYS: Final = 1 << 20
"""Of so many reports every repeated id is found; of more, all ids are compared only if those of a sample repeat."""

MOST: Final = 1 << 24
"""Ids that are kept, at most, with 8 bytes each; of more reports, a half, a quarter, … of all ids are followed."""

_ROWS: Final = 1 << 18  # of a sample of reports, about
_SHARE: Final = 5  # bits: a sample of ids is one of 32
_PARTS: Final = 1 << 12  # that are joined: small batches would need more memory than their ids
_ONE, _TWO = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB55], np.uint64)

Keys = npt.NDArray[np.uint64]  # 64 bits of each id: any two of 10⁷ ids share them with a chance of 3 in a million


class Repeats:
    """Counts the reports whose id came before, exactly up to `MOST` reports, but for one thing.

    Of more than `ALWAYS` reports, a few repeats may go unnoticed; with a probability below 1 % also 150 ids that come
    twice, (31/32)¹⁵⁰, or one that comes 500 times in places that do not depend on the sample.

    >>> repeats = Repeats()
    >>> for ids in (b"a" * 16 + b"b" * 16, b"c" * 16 + b"a" * 16):
    ...     repeats.add(np.frombuffer(ids, np.uint8).reshape(-1, 16))
    >>> repeats.count()
    1
    """

    def __init__(self) -> None:
        self._parts: list[Keys] = []
        self._kept = 0
        self._halved = 0  # how often the share of ids that are followed was halved
        self._found = 0  # before it was halved last

    def copy(self) -> "Repeats":
        """Return another that has seen the same ids."""
        twin = copy(self)
        twin._parts = list(self._parts)
        return twin

    def add(self, ids: ByteArray) -> None:
        """Remember the ids of reports, 16 bytes each."""
        words = ids.view("<u8")
        self._parts.append(self._followed(words[:, 0] * _ONE + words[:, 1] * _TWO))
        self._kept += len(self._parts[-1])
        if len(self._parts) > _PARTS:
            self._join()
        if self._kept > MOST:
            again = self._again()
            self._found += again << self._halved
            self._halved += 1
            parts = [np.unique(self._join())] if again else self._parts
            self._parts = [self._followed(part) for part in parts]
            self._kept = sum(map(len, self._parts))

    def count(self) -> int:
        """Return how many reports have an id that came before."""
        return self._found + (self._again() << self._halved)

    def _followed(self, keys: Keys) -> Keys:
        return keys[keys < np.uint64(1 << (64 - self._halved))] if self._halved else keys

    def _again(self) -> int:
        if self._kept > ALWAYS and not any(map(_count_again, self._samples())):
            return 0
        return _count_again(self._join())

    def _samples(self) -> Iterator[Keys]:
        """Yield a sample for many ids that come twice, and one for single ids that come often."""
        bound = np.uint64(1 << (64 - self._halved - _SHARE))
        yield np.concatenate([part[part < bound] for part in self._parts])
        yield np.concatenate([part[:: -(-self._kept // _ROWS)] for part in self._parts])

    def _join(self) -> Keys:
        """Make one array of the parts, which are freed one by one: keys are not in memory twice."""
        parts, place = self._parts[::-1], 0
        keys = np.empty(self._kept, np.uint64)
        self._parts = [keys]
        while parts:
            part = parts.pop()
            keys[place : place + len(part)] = part
            place += len(part)
        return keys


def _count_again(keys: Keys) -> int:
    keys.sort()
    return int(np.count_nonzero(keys[1:] == keys[:-1]))
