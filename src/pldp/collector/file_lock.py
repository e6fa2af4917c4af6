"""A lock on a file itself, whatever name it is opened by: one process at a time holds it.

Closing any descriptor of a file ends the locks that SQLite holds on it in this process. So the descriptor that a lock
needs stays open until the file is deleted, and is used again where the same file is locked again.
"""

import os
import struct
from pathlib import Path
from threading import Lock
from typing import Final

try:
    import fcntl
except ImportError:  # another operating system
    fcntl = None  # type: ignore[assignment]

_KNOWN: Final = hasattr(fcntl, "F_OFD_SETLK")  # elsewhere the check with every write must do
_BYTE: Final = 1 << 62  # far behind those that SQLite locks
_FLOCK: Final = "hhqqi4x"  # kind, whence, start, length, process

Identity = tuple[int, int]  # device and number of a file
_guard = Lock()
_descriptors: dict[Identity, int] = {}
_held: set[Identity] = set()


class FileLock:
    """A lock that ends with `release` or with the process, however that ends. `BlockingIOError`: another has it."""

    def __init__(self, path: Path) -> None:
        with _guard:
            _close_deleted()
            self.identity = identity(path)
            if self.identity in _held:
                raise BlockingIOError
            if _KNOWN:
                if self.identity not in _descriptors:
                    _descriptors[self.identity] = os.open(path, os.O_RDWR | os.O_CLOEXEC)
                _set(_descriptors[self.identity], fcntl.F_WRLCK)
            _held.add(self.identity)

    def release(self) -> None:
        """Let others have it."""
        with _guard:
            if self.identity in _held:
                _held.discard(self.identity)
                if _KNOWN:
                    _set(_descriptors[self.identity], fcntl.F_UNLCK)


def identity(path: Path) -> Identity:
    """Return what a file is known by under every name."""
    found = os.stat(path)  # noqa: PTH116 - with every write
    return found.st_dev, found.st_ino


def _set(descriptor: int, kind: int) -> None:
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, kind, os.SEEK_SET, _BYTE, 1, 0))


def _close_deleted() -> None:
    for known, descriptor in [*_descriptors.items()]:
        if known not in _held and not os.fstat(descriptor).st_nlink:
            os.close(_descriptors.pop(known))
