"""One collector writes to a file, whatever name it is opened by; several to a server, in turns and never twice."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from helpers.collector.forks import FORKS, open_store
from helpers.collector.places import empty_schema, frozen, query
from helpers.collector.senders import make_reports, packed
from helpers.collector.servers import SURVEY, running
from pldp.collector import Store, Tokens, open_database
from pldp.errors import StoreError
from pldp.survey import Survey
from pldp.tallies import tally


def start_another(path: Path) -> str:
    """Start a store in a process of its own; return what went wrong."""
    with FORKS.Pool(1) as pool:
        return pool.apply(open_store, (SURVEY, path))


def test_a_symbolic_link_starts_no_second_collector(tmp_path: Path, commute: Survey) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "folder" / "link.db"
    link.symlink_to(tmp_path / "reports.db")
    with closing(Store(commute, tmp_path / "reports.db")):
        assert "in use by another collector" in start_another(link)
        with pytest.raises(StoreError, match="in use by another collector"):  # in the same process, too
            Store(commute, link)
    assert start_another(link) == ""
    assert not (tmp_path / "folder" / "link.db-wal").exists()


def test_a_hard_link_starts_no_second_collector(tmp_path: Path, commute: Survey) -> None:
    with closing(Store(commute, tmp_path / "reports.db")) as store:
        (tmp_path / "link.db").hardlink_to(tmp_path / "reports.db")
        assert "in use by another collector" in start_another(tmp_path / "link.db")
        store.add(packed(commute, make_reports(commute, 3)), {})
    assert "several names (hard links)" in start_another(tmp_path / "link.db")
    (tmp_path / "link.db").unlink()
    assert start_another(tmp_path / "reports.db") == ""


def test_a_bind_mount_starts_no_second_collector(tmp_path: Path, commute: Survey) -> None:
    other = tmp_path / "mounted.db"
    other.touch()
    with closing(Store(commute, tmp_path / "reports.db")):
        mount = shutil.which("mount")
        command = [mount or "mount", "--bind", tmp_path / "reports.db", other]
        if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("this machine allows no bind mounts")
        try:
            assert "in use by another collector" in start_another(other)
        finally:
            subprocess.run(["umount", other], check=True)


def test_a_file_that_was_moved_away_is_written_no_more(tmp_path: Path, commute: Survey) -> None:
    """And whoever opens it under its new name is refused while the first collector lives."""
    rows = packed(commute, make_reports(commute, 4))
    with closing(Store(commute, tmp_path / "reports.db")) as store:
        store.add(rows[:2], {})
        (tmp_path / "reports.db").rename(tmp_path / "moved.db")
        with pytest.raises(StoreError, match="was moved away or replaced"):
            store.add(rows[2:], {})
        assert "in use by another collector" in start_another(tmp_path / "moved.db")
        (tmp_path / "moved.db").rename(tmp_path / "reports.db")
        assert store.add(rows, {}) == [None] * 4


def test_locks_of_sqlite_survive_other_stores_in_the_process(tmp_path: Path, commute: Survey) -> None:
    """Closing any descriptor of a file would end them: another process could then take the log away."""
    tokens = Tokens(tmp_path / "reports.db")
    with closing(Store(commute, tmp_path / "reports.db")) as store:
        for _ in range(3):
            with pytest.raises(StoreError):
                Store(commute, tmp_path / "reports.db")
        tokens.create("ana", "read")
        open_database(tmp_path / "reports.db").backup(tmp_path / "copy.db")
        code = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM meta').fetchall()"
        subprocess.run([sys.executable, "-c", code, tmp_path / "reports.db"], check=True)
        assert (tmp_path / "reports.db-wal").exists()  # the last one to close would have removed it
        store.add(packed(commute, make_reports(commute, 3)), {})
        assert store.tally().reports == 3


def test_stores_that_come_and_go_leave_few_descriptors(tmp_path: Path, commute: Survey) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        pytest.skip("this machine does not list descriptors")
    before = len([*descriptors.iterdir()])
    for number in range(20):
        path = tmp_path / f"{number}.db"
        Store(commute, path).close()
        path.unlink()
    assert len([*descriptors.iterdir()]) - before <= 3


def take_over(where: str | Path) -> None:
    query(where, "UPDATE meta SET value = 'another' WHERE name = 'owner'")


def test_who_lost_the_store_without_knowing_writes_no_more(
    where: str | Path, store: Store, commute: Survey, monkeypatch
) -> None:
    """A file is another collector's then, a database that of a program which shares it in another way."""
    rows = packed(commute, make_reports(commute, 6))
    store.add(rows[:3], {})
    take_over(where)
    for _ in range(2):
        with pytest.raises(StoreError, match="another collector has taken over"):
            store.add(rows, {})
    assert store.rounds()[0].reports == 3


def test_sessions_that_end_alone_let_no_report_count_twice(postgres: str, commute: Survey) -> None:
    """The server ends the sessions that hold locks; a second collector starts; the first one comes back."""
    address = empty_schema(postgres)
    first = Store(commute, address)
    reports = make_reports(commute, 6)
    rows = packed(commute, reports)
    first.add(rows[:3], {})
    with psycopg.connect(postgres.replace("NAME", "postgres"), autocommit=True) as owner:
        owner.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
    second = Store(commute, address)
    assert second.add(rows[:4], {}) == [None] * 4
    with pytest.raises(StoreError):
        first.add(rows[3:5], {})
    assert first.add(rows[3:5], {}) == [None] * 2
    assert second.add(rows, {}) == [None] * 6
    assert first.add(rows, {}) == [None] * 6
    assert second.tally() == first.tally() == tally(commute, reports)
    first.close()
    second.close()


def test_no_process_of_a_killed_server_lives_on(tmp_path: Path, commute: Survey) -> None:
    with running(tmp_path) as server:
        group = os.getpgid(server.process.pid)
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(server.process.pid)], capture_output=True, text=True, check=False
        ).stdout.split()
        assert children == []
        assert group
        server.kill()
        with closing(Store(commute, tmp_path / "reports.db")) as store:
            assert store.add(packed(commute, make_reports(commute, 1)), {}) == [None]


def test_a_frozen_server_is_told_in_time_and_nothing_is_lost(
    postgres: str, tmp_path: Path, commute: Survey, monkeypatch
) -> None:
    monkeypatch.setattr("pldp.collector.postgres.PATIENCE", 1)
    monkeypatch.setattr("pldp.collector.postgres.CONNECT_PATIENCE", 2)
    store = Store(commute, empty_schema(postgres))
    reports = make_reports(commute, 90)
    rows = packed(commute, reports)
    turns = 20 if os.environ.get("PLDP_LONG") else 1
    for turn in range(turns):
        store.add(rows[: turn + 1], {})
        with frozen(postgres):
            begun = time.monotonic()
            with pytest.raises(StoreError):
                store.add(rows[turn + 1 : turn + 60], {})
            assert time.monotonic() - begun < 8
    for _ in range(3):
        try:
            assert store.add(rows, {}) == [None] * 90
            break
        except StoreError:
            time.sleep(1)
    assert store.tally() == tally(commute, reports)
    store.close()


def test_sqlite_itself_still_finds_the_file_whole(tmp_path: Path, commute: Survey) -> None:
    """The lock lies beyond the bytes that SQLite locks, so that other programs still read."""
    with closing(Store(commute, tmp_path / "reports.db")) as store:
        store.add(packed(commute, make_reports(commute, 3)), {})
        with closing(sqlite3.connect(tmp_path / "reports.db")) as reader:
            assert reader.execute("SELECT received FROM rounds").fetchall() == [(3,)]
            assert reader.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
