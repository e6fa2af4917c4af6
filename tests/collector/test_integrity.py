"""A store knows when it is not what was written to it: what is damaged is named, and the rest is counted."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.collector.places import query
from helpers.collector.senders import make_id, make_reports, packed, receipt_of
from pldp.cli import main
from pldp.collector import Packed, Store, open_database
from pldp.errors import StoreError
from pldp.reports.columns import from_batch
from pldp.survey import Survey
from pldp.tallies import tally


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "reports.db"


def flip(path: Path, table: str, column: str, key: str, at: int) -> None:
    """Change one byte of a blob behind the back of the store."""
    with closing(sqlite3.connect(path)) as connection, connection:
        ((content,),) = connection.execute(f"SELECT {column} FROM {table} WHERE {key}").fetchall()  # noqa: S608
        damaged = bytearray(content)
        damaged[at] ^= 4
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {key}", (bytes(damaged),))  # noqa: S608


def filled(path: Path, survey: Survey, monkeypatch: pytest.MonkeyPatch) -> list:
    """A store with blocks of 16 reports, and some in its tail."""
    monkeypatch.setattr("pldp.collector.report_log.BLOCK_REPORTS", 16)
    reports = make_reports(survey, 85)
    rows = packed(survey, reports)
    with closing(Store(survey, path)) as store:
        store.add(rows[:64], {})
        store.add(rows[64:], {})
    return reports


@pytest.mark.parametrize("column", ["ids", "rows", "digest"])
def test_a_flipped_byte_is_named_and_the_rest_is_counted(path: Path, commute: Survey, monkeypatch, column: str) -> None:
    reports = filled(path, commute, monkeypatch)
    assert open_database(path).check() == []
    in_order = sorted(reports[:64], key=lambda each: each.id)
    flip(path, "blocks", column, "first = 16", 5)
    assert open_database(path).check() == ["round 1: reports 16 to 31 are damaged and count no more"]
    with closing(Store(commute, path)) as store:
        assert store.tally() == tally(commute, [*in_order[:16], *in_order[32:], *reports[64:]])
        assert store.damaged == [(16, 16)]
        left = [each.id for batch in store.batches() for each in from_batch(commute, batch)]
        assert left == [each.id for each in [*in_order[:16], *in_order[32:], *reports[64:]]]
        assert store.add(packed(commute, reports[64:]), {}) == [None] * 21


def test_damage_in_the_tail_and_in_the_index_is_named(path: Path, commute: Survey, monkeypatch) -> None:
    monkeypatch.setattr("pldp.collector.seen.RECENT", 16)
    monkeypatch.setattr("pldp.collector.seen.BLOCK", 32)
    reports = filled(path, commute, monkeypatch)
    flip(path, "tail", "rows", "place = 0", 3)
    flip(path, "seen", "keys", "first = 0", 3)
    assert open_database(path).check() == [
        "round 1: some of the latest reports are damaged and count no more",
        "the index from report 0 on is damaged; the next start makes it again",
    ]
    with closing(Store(commute, path)) as store:
        assert store.tally() == tally(commute, reports[:64])
        assert store.add(packed(commute, reports[:64]), {}) == [None] * 64  # found again: nothing is stored twice
        assert store.rounds()[0].reports == 85
    assert open_database(path).check() == ["round 1: some of the latest reports are damaged and count no more"]


def test_a_withdrawal_does_not_make_damage_look_whole(path: Path, commute: Survey, monkeypatch) -> None:
    reports = filled(path, commute, monkeypatch)
    third = sorted(reports[:64], key=lambda each: each.id)[33]
    flip(path, "blocks", "rows", "first = 32", 0)
    with closing(Store(commute, path)) as store:
        assert store.withdraw(receipt_of(bytes.fromhex(third.id)))
    assert len(open_database(path).check()) == 1


def test_reports_that_are_missing_or_doubled_are_told(path: Path, commute: Survey, monkeypatch) -> None:
    filled(path, commute, monkeypatch)
    query(path, "DELETE FROM blocks WHERE first = 16")
    assert open_database(path).check() == ["round 1: 69 reports are there, 85 were received"]


def test_a_damaged_copy_is_not_restored(path: Path, tmp_path: Path, commute: Survey, monkeypatch) -> None:
    filled(path, commute, monkeypatch)
    assert open_database(path).backup(tmp_path / "copy.db") == []
    assert open_database(tmp_path / "copy.db").check() == []
    flip(tmp_path / "copy.db", "blocks", "rows", "first = 0", 9)
    with pytest.raises(StoreError, match="copy.db: is not a whole store: round 1: reports 0 to 15 are damaged"):
        open_database(tmp_path / "new.db").restore(tmp_path / "copy.db")
    assert not (tmp_path / "new.db").exists()


def test_wherever_a_byte_of_the_file_changes_no_wrong_report_is_counted(
    path: Path, commute: Survey, monkeypatch
) -> None:
    """Pages, pointers and lengths, too: either the store says so, or all that it counts are reports that came."""
    reports = filled(path, commute, monkeypatch)
    whole = path.read_bytes()
    known = {each.id: each for each in reports}
    chance = random.Random(1)  # noqa: S311 - the same bytes every time
    told = 0
    for _ in range(2000 if os.environ.get("PLDP_LONG") else 60):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 1, 50))):
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        for left in ("-wal", "-shm"):
            path.with_name(path.name + left).unlink(missing_ok=True)
        try:
            with closing(Store(commute, path)) as store:
                counted = store.tally()
                found = [each for batch in store.batches() for each in from_batch(commute, batch)]
                told += bool(store.damaged)
        except StoreError:
            told += 1
            continue
        assert len({each.id for each in found}) == len(found)
        assert all(replace(known[each.id]) == each for each in found)
        assert replace(counted, rejections={}) == tally(commute, found)
    assert told


def test_damage_while_it_runs_ends_no_result(path: Path, commute: Survey) -> None:
    """What a two-way table leaves out may lie in what is damaged now."""
    rows = [Packed(make_id(commute, number), bytes([3, number % 6, 1, number % 2])) for number in range(400)]
    with closing(Store(commute, path, pairs=[("mode", "late")])) as store:
        store.add(rows[:300], {})
        assert store.shown().answered == {"mode": 300, "late": 300}
        query(path, "UPDATE blocks SET digest = zeroblob(8)")
        store.add(rows[300:], {})
        assert store.shown().answered == {"mode": 400, "late": 400}
        assert set(store.damaged) <= {(0, 256), (256, 44)}  # those that were read again
    with closing(Store(commute, path)) as store:
        assert store.tally().reports == 100
        assert store.damaged == [(0, 256), (256, 44)]


def test_a_backup_tells_what_is_damaged_in_it(path: Path, tmp_path: Path, commute: Survey, monkeypatch, capsys) -> None:
    filled(path, commute, monkeypatch)
    flip(path, "blocks", "ids", "first = 48", 1)
    assert main(["store", "backup", str(tmp_path / "copy.db"), "--database", str(path)]) == 0
    told = capsys.readouterr().err
    assert told == "pldp: warning: copied as it is: round 1: reports 48 to 63 are damaged and count no more\n"
    with closing(Store(commute, tmp_path / "copy.db")) as copy:
        assert copy.tally().reports == 69


def test_the_command_names_what_is_damaged(path: Path, commute: Survey, monkeypatch, capsys) -> None:
    filled(path, commute, monkeypatch)
    assert main(["store", "check", "--database", str(path)]) == 0
    assert capsys.readouterr().out == "everything is what was written\n"
    flip(path, "blocks", "rows", "first = 0", 9)
    assert main(["store", "check", "--database", str(path), "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out) == {"damage": ["round 1: reports 0 to 15 are damaged and count no more"]}
    with pytest.raises(StoreError, match="there is no such store"):
        open_database(path.with_name("none.db")).check()
