"""What SQLite does to its files, one step after the other; steps can be refused, and power cuts made from them.

No other program is needed: the method table of each file that SQLite opens is copied, and writing, truncating and
syncing go through Python. Every other method stays SQLite's own, and so do the files. The library is the one that the
module `sqlite3` uses, so these tests see exactly what the collector does.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, c_char_p, c_int, c_int64, c_void_p
from pathlib import Path
from typing import NamedTuple

SECTOR = 512
OK, FULL, WRITE_ERROR, SYNC_ERROR, TRUNCATE_ERROR = 0, 13, 778, 1034, 1546

_WRITE, _TRUNCATE, _SYNC = 2, 3, 4
"""Places in the table of methods of a file."""

_File = POINTER(c_void_p)
_OpenType = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, _File, c_int, c_void_p)  # SQLite keeps the pointer to the path
_DeleteType = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)
_WriteType = ctypes.CFUNCTYPE(c_int, _File, c_void_p, c_int, c_int64)
_TruncateType = ctypes.CFUNCTYPE(c_int, _File, c_int64)
_SyncType = ctypes.CFUNCTYPE(c_int, _File, c_int)


class _Methods(ctypes.Structure):
    _fields_ = (("version", c_int), ("methods", c_void_p * 18))


class _System(ctypes.Structure):
    _fields_ = (
        ("version", c_int),
        ("file_size", c_int),
        ("longest_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", c_void_p),
        ("delete", c_void_p),
    )


class Step(NamedTuple):
    """One thing done to a file, or a note in between."""

    what: str
    name: str = ""
    at: int = 0
    data: bytes = b""
    note: object = None


class Disk:
    """Sees all steps that this process's SQLite does to the files of a folder, and below it, while it is watched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.steps: list[Step] = []
        self.refuse: Callable[[str], int] = lambda _: OK

    def note(self, note: object) -> None:
        self.steps.append(Step("note", note=note))

    def holds(self, path: Path) -> bool:
        """Tell its own files from those of databases that some other test left open."""
        return path.is_relative_to(self.folder)

    def take(self, step: Step) -> int:
        refused = self.refuse(step.what)
        if refused == OK:
            self.steps.append(step)
        return refused


_watching: list[Disk] = []
_kept: list[object] = []  # callbacks live as long as files that use them, so as long as the process


@contextmanager
def watched(folder: Path) -> Iterator[Disk]:
    """See the steps of files of the folder that are opened from here on."""
    if not _kept:
        _install()
    disk = Disk(folder)
    _watching.append(disk)
    try:
        yield disk
    finally:
        _watching.remove(disk)


def _install() -> None:
    library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
    library.sqlite3_vfs_find.restype = POINTER(_System)
    system = library.sqlite3_vfs_find(None).contents
    paths: dict[int, Path] = {}
    tables: dict[int, _Methods] = {}
    real_open, real_delete = _OpenType(system.open), _DeleteType(system.delete)

    def path_of(path: int | None) -> Path | None:
        return Path(ctypes.string_at(path).decode()).resolve() if path else None

    def watching(path: Path | None) -> Disk | None:
        return _watching[-1] if _watching and path and _watching[-1].holds(path) else None

    def take(file: _File, make: Callable[[str], Step]) -> int:
        path = paths.get(ctypes.addressof(file.contents))
        disk = watching(path)
        return disk.take(make(path.name)) if disk and path else OK

    def table(address: int) -> _Methods:
        found = tables.get(address)
        if found is None:
            found = tables[address] = _Methods.from_buffer_copy(_Methods.from_address(address))
            real_write = _WriteType(found.methods[_WRITE])
            real_truncate, real_sync = _TruncateType(found.methods[_TRUNCATE]), _SyncType(found.methods[_SYNC])

            @_WriteType
            def write(file: _File, data: int, size: int, at: int) -> int:
                return take(file, lambda name: Step("write", name, at, ctypes.string_at(data, size))) or real_write(
                    file, data, size, at
                )

            @_TruncateType
            def truncate(file: _File, size: int) -> int:
                return take(file, lambda name: Step("truncate", name, size)) or real_truncate(file, size)

            @_SyncType
            def sync(file: _File, flags: int) -> int:
                return take(file, lambda name: Step("sync", name)) or real_sync(file, flags)

            for place, method in ((_WRITE, write), (_TRUNCATE, truncate), (_SYNC, sync)):
                found.methods[place] = ctypes.cast(method, c_void_p).value
                _kept.append(method)
        return found

    @_OpenType
    def open_(system: int, path: int | None, file: _File, flags: int, flags_out: int) -> int:
        code = real_open(system, path, file, flags, flags_out)
        if code == OK and file.contents.value:
            address, opened = ctypes.addressof(file.contents), path_of(path)
            paths.pop(address, None)  # of a file that was here before
            disk = watching(opened)
            if disk and opened:
                paths[address] = opened
                disk.steps.append(Step("open", opened.name))
            file.contents.value = ctypes.addressof(table(file.contents.value))
        return code

    @_DeleteType
    def delete(system: int, path: int, sync_folder: int) -> int:
        deleted = path_of(path)
        disk = watching(deleted)
        if disk and deleted:
            disk.steps.append(Step("delete", deleted.name, sync_folder))
        return real_delete(system, path, sync_folder)

    system.open = ctypes.cast(open_, c_void_p).value
    system.delete = ctypes.cast(delete, c_void_p).value
    _kept.extend([open_, delete, real_open, real_delete, tables])


def after_power_cut(steps: Sequence[Step], chance: random.Random) -> dict[str, bytes]:
    """Return the files as they may be after a power cut behind these steps.

    What was synced is there. Of what was not, each sector of each write is there or not, whatever came before it.
    """
    files: dict[str, bytearray] = {}
    loose: dict[str, list[Step]] = {}
    for step in steps:
        if step.what == "open":
            files.setdefault(step.name, bytearray())
        elif step.what in {"write", "truncate"}:
            loose.setdefault(step.name, []).append(step)
        elif step.what == "sync":
            for done in loose.pop(step.name, ()):
                _do(files[step.name], done)
        elif step.what == "delete":
            loose.pop(step.name, None)
            files.pop(step.name, None)
    kept = chance.choice((0, 0.1, 0.5, 0.9, 1))
    for name, undone in loose.items():
        for step in undone:
            for part in _sectors(step):
                if chance.random() < kept:
                    _do(files[name], part)
    return {name: bytes(content) for name, content in files.items()}


def _do(content: bytearray, step: Step) -> None:
    if step.what == "truncate":
        del content[step.at :]
    else:
        content.extend(bytes(max(0, step.at - len(content))))
        content[step.at : step.at + len(step.data)] = step.data


def _sectors(step: Step) -> Iterator[Step]:
    if step.what == "truncate":
        yield step
        return
    start, end = step.at, step.at + len(step.data)
    while start < end:
        stop = min(end, start - start % SECTOR + SECTOR)
        yield step._replace(at=start, data=step.data[start - step.at : stop - step.at])
        start = stop
