"""Files are written whole or not at all."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from pldp.files import OWNER_ONLY, atomic_path, atomic_write


class _Crash(Exception):
    pass


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("name", ["", "kept.txt.new"])
def test_a_crash_in_the_middle_leaves_the_old_file_and_nothing_else(tmp_path: Path, name: str, sync: bool) -> None:
    path = tmp_path / "kept.txt"
    path.write_bytes(b"old")
    with suppress(_Crash), atomic_write(path, name=name, sync=sync) as file:
        file.write(b"half of the n")
        file.flush()
        raise _Crash
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]


def test_a_crash_leaves_nothing_where_nothing_was(tmp_path: Path) -> None:
    with suppress(_Crash), atomic_path(tmp_path / "new.txt") as fresh:
        fresh.write_bytes(b"half")
        raise _Crash
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("sync", [False, True])
def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "kept.txt"
    path.write_bytes(b"old")
    with atomic_write(path, sync=sync) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert [*tmp_path.iterdir()] == [path]


def test_with_sync_the_file_is_on_the_disk_before_its_name_and_then_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def sync(handle: int) -> None:
        steps.append("folder" if Path(f"/proc/self/fd/{handle}").resolve() == tmp_path.resolve() else "file")
        fsync(handle)

    def rename(self: Path, target: Path) -> Path:
        steps.append("rename")
        return replace(self, target)

    monkeypatch.setattr("os.fsync", sync)
    monkeypatch.setattr(Path, "replace", rename)
    with atomic_write(tmp_path / "state.json", sync=True) as file:
        file.write(b"{}")
    assert steps == ["file", "rename", "folder"]


def test_two_who_write_one_file_at_once_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    with ExitStack() as first, ExitStack() as second:
        one, two = first.enter_context(atomic_write(path)), second.enter_context(atomic_write(path))
        one.write(b"one")
        two.write(b"the other")
        second.close()
        assert path.read_bytes() == b"the other"
        first.close()
    assert path.read_bytes() == b"one"
    assert [*tmp_path.iterdir()] == [path]


def test_a_file_that_a_killed_writer_left_is_replaced_not_written_to(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.write_bytes(b"not ours")
    (tmp_path / "state.json.new").symlink_to(elsewhere)
    with atomic_write(tmp_path / "state.json", name="state.json.new", permissions=OWNER_ONLY) as file:
        file.write(b"{}")
    assert elsewhere.read_bytes() == b"not ours"
    assert (tmp_path / "state.json").stat().st_mode & 0o777 == OWNER_ONLY


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "kept.txt"
    with pytest.raises(FileNotFoundError) as raised, atomic_write(path):
        pass
    assert raised.value.filename == str(path)
