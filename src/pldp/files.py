"""Files that are written whole or not at all: a new file beside the old one takes its place once it is complete.

And what a file holds that was mistaken for another.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from pathlib import Path

OWNER_ONLY: Final = 0o600
ANYBODY: Final = 0o666
"""Permissions before the process's umask takes its part away."""


ARCHIVE: Final = b"PK\x03\x04"
"""First bytes of a tally, and of every other archive."""


def name_contents(content: bytes) -> str:
    """Say what a file holds that was read as something else, and what to do with it; nothing if it is not known.

    >>> name_contents(b"PAR1...")
    'it is a Parquet file; count its reports with pldp tally'
    >>> name_contents(b"0001")
    ''
    """
    if content.startswith(b"PAR1"):
        return "it is a Parquet file; count its reports with pldp tally"
    if content.startswith(ARCHIVE):
        return "it is an archive, perhaps a tally; pldp estimate reads tallies"
    if b"pldp" in content[:400] and content[:1] != b"{":
        return "it is text, perhaps a survey file; simulate or collect reports, and count them with pldp tally"
    return ""


@contextmanager
def atomic_path(path: str | Path, *, name: str = "") -> Iterator[Path]:
    """Give the path of a new file, which replaces `path` when the block ends and is removed when it fails.

    By default its name is hidden and nobody else's, so that two who write the same file at once do not meet. Who holds
    a lock can choose the name: then a process that was killed leaves at most one file, which the next one replaces.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_path(Path(folder) / "a.txt") as fresh:
    ...         _ = fresh.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    from pathlib import Path  # noqa: PLC0415 - a device without files needs none

    target = Path(path)
    fresh = target.with_name(name or f".{target.name}.{os.urandom(8).hex()}.new")
    fresh.unlink(missing_ok=True)
    try:
        yield fresh
        fresh.replace(target)
    except OSError as error:
        if str(error.filename) == str(fresh):
            error.filename = str(target)  # the name that the caller knows
        raise
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def atomic_write(
    path: str | Path, *, name: str = "", permissions: int = ANYBODY, sync: bool = False
) -> Iterator[BinaryIO]:
    """Give a new file to write bytes to; see `atomic_path`. With `sync` it also survives a power cut once this ends."""
    with atomic_path(path, name=name) as fresh:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(fresh, flags, permissions), "wb") as file:
            yield file
            if sync:
                file.flush()
                os.fsync(file.fileno())
    if sync:
        _sync_folder(fresh.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename durable, where folders can be synced."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
