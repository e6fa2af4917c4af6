"""Several collectors on one PostgreSQL: what each of them stores, all of them know, once and for good."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random

import psycopg
import pytest

from helpers.collector.places import empty_schema, query
from helpers.collector.senders import make_reports, packed, receipt_of
from pldp.collector import Packed, Store, Tokens, migrations, open_database, saved
from pldp.collector.tokens import token_hash
from pldp.errors import StoreError
from pldp.reports import Rejection
from pldp.survey import Survey
from pldp.tallies import tally


@pytest.fixture
def place(postgres: str) -> str:
    return empty_schema(postgres)


@pytest.fixture
def trio(place: str, commute: Survey) -> Iterator[list[Store]]:
    with ExitStack() as opened:
        yield [opened.enter_context(closing(Store(commute, place, step=5))) for _ in range(3)]


def test_a_report_counts_once_whichever_collector_gets_it(trio: list[Store], commute: Survey) -> None:
    """From the tail, from blocks, and within one batch; another report under the same id is a conflict everywhere."""
    reports, chance = make_reports(commute, 160), Random(1)  # noqa: S311
    rows, start = packed(commute, reports), 0
    while start < len(rows):
        some = rows[max(0, start - 7) : start + chance.randrange(1, 30)]
        assert chance.choice(trio).add(some, {}) == [None] * len(some)
        start = rows.index(some[-1]) + 1
    for store in trio:
        assert store.add(rows, {}) == [None] * 160
        assert store.add([Packed(rows[0].id, rows[1].row)], {}) == [Rejection.CONFLICT]
        counted = store.tally()
        assert (counted.counts, counted.reports) == (tally(commute, reports).counts, 160)
    assert trio[0].rounds()[0].reports == 160


def test_a_withdrawal_through_one_is_known_to_all(trio: list[Store], commute: Survey) -> None:
    one, two, three = trio
    reports = make_reports(commute, 70)
    rows = packed(commute, reports)
    one.add(rows[:60], {})
    two.add(rows[60:], {})
    assert three.add(rows, {}) == [None] * 70  # these rows are in its memory now
    for store, place in zip(trio, (3, 40, 65), strict=True):
        assert store.withdraw(receipt_of(rows[place].id))
    for store in trio:
        assert [store.add([rows[place]], {}) for place in (3, 40, 65)] == [[Rejection.WITHDRAWN]] * 3
        assert store.withdraw(receipt_of(rows[3].id))
    left = [each for place, each in enumerate(reports) if place not in {3, 40, 65}]
    assert all(store.tally().counts == tally(commute, left).counts for store in trio)
    assert one.rounds()[0].withdrawn == 3


def test_rounds_close_and_open_for_all_at_once(trio: list[Store], commute: Survey) -> None:
    one, two, three = trio
    rows = packed(commute, make_reports(commute, 12))
    one.add(rows[:4], {})
    assert two.close_round().number == 1
    assert three.add(rows[:5], {}) == [None] * 4 + [Rejection.CLOSED_ROUND]
    assert (three.open_round().number, one.open_round().number) == (2, 2)
    assert two.add(rows[4:], {}) == [None] * 8
    assert [each.reports for each in one.rounds()] == [4, 8]
    assert one.rejections() == {Rejection.CLOSED_ROUND: 1}


def test_one_keeps_the_tallies_and_another_takes_over(trio: list[Store], place: str, commute: Survey) -> None:
    """All show the same; the counts of the first are read by the others, which count nothing themselves."""
    rows = packed(commute, make_reports(commute, 180))
    assert [store.keep() for store in trio] == [True, False, False]
    trio[1].add(rows[:100], {})
    first = trio[0].shown()
    assert trio[1].shown() == trio[2].shown() == first
    assert first.reports == 100
    trio[1].withdraw(receipt_of(rows[0].id))
    assert query(place, "SELECT * FROM tallies") == []  # what was saved of the round is gone
    assert [store.shown() for store in trio] == [first] * 3  # and still shown until a step of them has gathered
    trio[2].withdraw_all([receipt_of(row.id) for row in rows[1:5]])
    fewer = trio[0].shown()
    assert fewer != first
    assert trio[1].shown() == trio[2].shown() == fewer
    trio[0].close()
    patience = time.monotonic() + 30
    while not trio[2].keep() and time.monotonic() < patience:
        time.sleep(0.02)  # the database gives the lock back once it has noticed that the connection is closed
    assert [trio[2].keep(), trio[1].keep()] == [True, False]
    trio[1].add(rows[100:], {})
    assert trio[2].shown() == trio[1].shown()
    assert trio[1].shown().reports == 170


def test_a_saved_tally_is_never_older_than_a_withdrawal(place: str, commute: Survey) -> None:
    """Somebody withdraws while the keeper counts: what it counted is not saved."""
    rows = packed(commute, make_reports(commute, 60))
    with closing(Store(commute, place, step=5)) as one, closing(Store(commute, place, step=5)) as two:
        one.add(rows, {})
        one.close_round()
        (counted,) = one.count_rounds([1])
        assert two.withdraw(receipt_of(rows[0].id))
        assert one.decide_to_delete([counted]) == []
        assert query(place, "SELECT * FROM tallies") == []


def test_a_keeper_that_hangs_keeps_nobody_from_counting(trio: list[Store], commute: Survey, monkeypatch) -> None:
    monkeypatch.setattr(saved, "HANG", 0.2)
    assert trio[0].keep()
    rows = packed(commute, make_reports(commute, 60))
    trio[1].add(rows, {})
    assert trio[1].shown().reports == 0  # what was saved last
    time.sleep(0.3)
    assert trio[1].shown().reports == 60
    trio[1].withdraw(receipt_of(rows[0].id))
    assert trio[2].shown().reports == 50


def test_hours_count_what_came_to_any_of_them(trio: list[Store], commute: Survey) -> None:
    trio[0].add(packed(commute, make_reports(commute, 60)), {})
    assert [sum(hour.stored for hour in store.hours()) for store in trio] == [60, 60, 60]


def test_collectors_that_step_results_otherwise_are_refused(trio: list[Store], place: str, commute: Survey) -> None:
    with pytest.raises(StoreError, match="need the same result_step and pairs"):
        Store(commute, place, step=6)
    with pytest.raises(StoreError, match="need the same result_step and pairs"):
        Store(commute, place, step=5, pairs=[("late", "mode")])
    with pytest.raises(StoreError, match="in use by another collector"):
        Store(commute, place, step=5, alone=True)
    for store in trio:
        store.close()
    Store(commute, place, step=6).close()


def test_a_collector_with_other_settings_that_started_meanwhile_stops_the_first(place: str, commute: Survey) -> None:
    """The server ended all sessions of the first, so that the second found itself alone."""
    first = Store(commute, place, step=5)
    rows = packed(commute, make_reports(commute, 3))
    with psycopg.connect(place, autocommit=True) as owner:
        owner.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
    with closing(Store(commute, place, step=6)):
        for _ in range(3):
            with pytest.raises(StoreError):
                first.add(rows, {})
    first.close()


def test_a_race_of_64_spends_no_more_than_the_budget(trio: list[Store], place: str, commute: Survey) -> None:
    """Over three stores in threads; over four processes in `test_four_collectors`."""
    tokens = Tokens(place)
    (ana,) = tokens.enrol(["ana"], 10 * (tokens.price() or 0))
    rows = packed(commute, make_reports(commute, 64))
    outcomes: list[object] = []

    def spend(store: Store, mine: list[Packed]) -> None:
        for row in mine:
            outcomes.extend(store.add([row], {}, [token_hash(ana)]))

    threads = [threading.Thread(target=spend, args=(store, rows[place::3])) for place, store in enumerate(trio)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(None) == 10
    assert outcomes.count(Rejection.OVER_BUDGET) == 54
    account = tokens.account(ana)
    assert account is not None
    assert account.spent == account.budget
    assert trio[0].rounds()[0].reports == 10


def test_the_ledger_is_mixed_after_charges_of_all_collectors(place: str, commute: Survey, monkeypatch) -> None:
    """Five through each of two collectors: the tenth writes all rows anew, so that no stamp joins them to reports."""
    monkeypatch.setattr("pldp.collector.ledger.MIX_AT_LEAST", 10)
    with closing(Store(commute, place)) as one, closing(Store(commute, place)) as two:
        tokens = Tokens(place)
        people = tokens.enrol([f"p{number}" for number in range(8)], 9 * (tokens.price() or 0))
        rows = packed(commute, make_reports(commute, 10))
        for number, row in enumerate(rows):
            (one, two)[number % 2].add([row], {}, [token_hash(people[number % 8])])
            stamps = query(place, "SELECT count(DISTINCT xmin::text) FROM ledger")
            assert stamps == [(1,)] or number < 9
        assert query(place, "SELECT charged FROM head") == [(0,)]


STOP = (
    "import sys, os, signal, pldp, pldp.collector as c\n"
    "store = c.Store(pldp.Survey.load(sys.argv[1]), sys.argv[2])\n"
    "with store._connections.transaction():\n"
    "    print('in', flush=True)\n"
    "    os.kill(os.getpid(), signal.SIGSTOP)\n"
)


def test_a_collector_that_freezes_in_its_turn_does_not_hold_the_others_up(place: str, commute: Survey) -> None:
    rows = packed(commute, make_reports(commute, 2))
    with closing(Store(commute, place)) as store:
        command = [sys.executable, "-c", STOP, "examples/commute.toml", place]
        frozen = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            assert frozen.stdout is not None
            frozen.stdout.readline()
            for _ in range(5):
                try:
                    assert store.add(rows, {}) == [None, None]
                    break
                except StoreError:  # told in time
                    time.sleep(0.5)
            else:
                pytest.fail("the frozen collector keeps its turn")
        finally:
            os.kill(frozen.pid, signal.SIGKILL)
            frozen.wait()
            frozen.stdout.close()


ADDED = migrations.Migration("ALTER TABLE rounds ADD COLUMN colour TEXT", oldest=8)
BROKEN = migrations.Migration("ALTER TABLE rounds RENAME COLUMN colour TO color", oldest=migrations.newest() + 2)


def test_collectors_are_updated_one_after_the_other(place: str, commute: Survey, monkeypatch) -> None:
    """A newer program adds to the tables and the older one goes on; where it cannot, it stops and says why."""
    rows = packed(commute, make_reports(commute, 8))
    old = Store(commute, place)
    old.add(rows[:2], {})
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, ADDED))
    with closing(Store(commute, place)) as new:
        assert new.add(rows[:4], {}) == [None] * 4
        assert old.add(rows[:6], {}) == [None] * 6
        old.check_ready()
        monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, BROKEN))
        with closing(Store(commute, place)) as newest:
            assert newest.add(rows, {}) == [None] * 8
            for refused in (old, new):
                with pytest.raises(StoreError, match="update this program"):
                    refused.add(rows, {})
                with pytest.raises(StoreError, match="update this program"):
                    refused.check_ready()
            assert newest.tally().reports == 8
    old.close()
    monkeypatch.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:-1])
    with pytest.raises(StoreError, match="newer than this program"):
        Store(commute, place)


def test_collectors_that_start_at_once_make_the_tables_once(place: str, commute: Survey) -> None:
    failed: list[Exception] = []

    def start() -> None:
        try:
            open_database(place).connect().close()
        except StoreError as error:
            failed.append(error)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    numbers = [number for (number,) in query(place, "SELECT number FROM version ORDER BY number")]
    assert numbers == list(range(migrations.FIRST, migrations.newest() + 1))


def test_parts_of_the_index_are_the_same_whoever_makes_them(place: str, commute: Survey, monkeypatch) -> None:
    monkeypatch.setattr("pldp.collector.seen.RECENT", 16)
    monkeypatch.setattr("pldp.collector.seen.BLOCK", 64)
    rows = packed(commute, make_reports(commute, 300))
    with closing(Store(commute, place)) as one, closing(Store(commute, place)) as two:
        for start in range(0, 300, 60):
            (one, two)[start // 60 % 2].add(rows[start : start + 60], {})
        before = query(place, "SELECT first, digest FROM seen ORDER BY first")
        assert [first for first, _ in before] == [0, 64, 128, 192]
        assert one.add(rows, {}) == two.add(rows, {}) == [None] * 300
    with closing(Store(commute, place)) as three:
        assert three.add(rows, {}) == [None] * 300
    assert query(place, "SELECT first, digest FROM seen ORDER BY first") == before


def test_a_file_is_still_for_one_collector(tmp_path: Path, commute: Survey) -> None:
    with closing(Store(commute, tmp_path / "reports.db")) as store:
        assert not store.shared
        assert not store.keep()
        with pytest.raises(StoreError, match="in use by another collector"):
            Store(commute, tmp_path / "reports.db")
