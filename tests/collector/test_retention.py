"""Retention: single reports go, results stay, and whoever comes too late to withdraw is told so."""

from __future__ import annotations

import asyncio
import random
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from helpers.collector.client import call
from helpers.collector.places import empty_schema, query
from helpers.collector.retaining import Clock, delete_at, delete_due
from helpers.collector.senders import make_id, make_reports, packed, receipt_of
from pldp.cli import main
from pldp.collector import Collector, Packed, Settings, Store, Tokens, open_database
from pldp.errors import StoreError, UsageError
from pldp.reports import Rejection
from pldp.survey import Survey, loads
from pldp.tallies import Tally


def closed(store: Store, survey: Survey, count: int = 130) -> list[Packed]:
    """Fill and close a round, with a withdrawal, and open the next."""
    rows = packed(survey, make_reports(survey, count))
    store.add(rows, {Rejection.MALFORMED: 7})
    assert store.withdraw(receipt_of(rows[0].id))
    store.close_round()
    store.open_round()
    return rows


def test_results_stay_the_same_when_reports_are_deleted(where: str | Path, commute: Survey) -> None:
    clock = Clock()
    with closing(Store(commute, where, step=5, pairs=[("late", "mode")], clock=clock)) as store:
        closed(store, commute)
        before = store.shown(1)
        clock.wait(29)
        assert delete_due(store, 30) == []
        assert delete_at(store, clock, 30) == [1]
        assert delete_due(store, 30) == []
        assert store.shown(1) == before == store.tally(1)
        assert (store.rounds()[0].reports, store.rounds()[0].withdrawn) == (129, 1)
    with closing(Store(commute, where, step=5, pairs=[("late", "mode")])) as store:
        assert store.shown(1) == before
        assert store.shown(2).reports == 0
        with pytest.raises(StoreError, match="single reports of round 1 were deleted"):
            next(store.batches(1))
    assert open_database(where).check() == []
    acts = [act for (act,) in query(where, "SELECT act FROM acts ORDER BY number")]
    assert acts == ["round 1 closed", "round 2 opened", "single reports of round 1 deleted"]


def test_one_start_with_the_clock_ahead_deletes_nothing(where: str | Path, commute: Survey) -> None:
    """The next one finds that the round is not due, and the note of the first look is gone."""
    clock = Clock()
    for days, deleted, noted in ((0, [], False), (31, [], True), (0.1, [], False), (31, [], True), (33, [1], True)):
        with closing(Store(commute, where, step=5, clock=clock)) as store:
            if not days:
                closed(store, commute)
            clock.wait(days)
            assert (delete_due(store, 30), days) == (deleted, days)
        ((since,),) = query(where, "SELECT due_since FROM rounds WHERE number = 1")
        assert (since is not None) == noted


def test_looks_that_decide_are_a_day_apart(where: str | Path, commute: Survey) -> None:
    """However many there are in between; a look from a clock that was ahead does not count."""
    clock = Clock()
    with closing(Store(commute, where, step=5, clock=clock)) as store:
        closed(store, commute)
        clock.wait(90)
        assert delete_due(store, 30) == []
        for days in (30, 30.1, 30.5, 30.999):
            clock.wait(days)
            assert delete_due(store, 30) == []
        clock.wait(31)
        assert delete_due(store, 30) == [1]


def test_a_look_that_decides_alone_would_be_noticed(tmp_path: Path, commute: Survey, monkeypatch: Any) -> None:
    monkeypatch.setattr("pldp.collector.retention.DAY", 0)
    clock = Clock()
    with closing(Store(commute, tmp_path / "reports.db", step=5, clock=clock)) as store:
        closed(store, commute)
        clock.wait(31)
        assert delete_due(store, 30) == [1]


def test_a_collector_whose_clock_is_ahead_does_not_delete_for_the_others(postgres: str, commute: Survey) -> None:
    """It notes the round each time it looks; one that is right takes the note back."""
    place, ahead, right = empty_schema(postgres), Clock(), Clock()
    with closing(Store(commute, place, step=5, clock=ahead)) as wrong:
        closed(wrong, commute)
        with closing(Store(commute, place, step=5, clock=right)) as other:
            for day in range(1, 5):
                ahead.wait(31 + day)
                right.wait(day)
                assert (delete_due(wrong, 30), delete_due(other, 30)) == ([], [])
    assert query(place, "SELECT deleted, due_since FROM rounds WHERE number = 1") == [(0, None)]


def test_the_collector_looks_and_deletes_by_itself(tmp_path: Path, commute: Survey, monkeypatch: Any) -> None:
    """At its first look it notes the round; a day later it deletes."""
    monkeypatch.setattr("pldp.collector.app.UPKEEP_SECONDS", 0.001)
    monkeypatch.setattr("pldp.collector.app.DELETE_SECONDS", 0)
    path, clock, looks = tmp_path / "reports.db", Clock(), []
    with closing(Store(commute, path, step=5, clock=clock)) as store:
        closed(store, commute)
        look = store.look_for_due
        monkeypatch.setattr(store, "look_for_due", lambda days: looks.append(look(days)) or looks[-1])
        app = Collector(commute, store, Tokens(path), Settings(rate_limit=0, retain="30 days"))

        async def keep_up() -> None:
            upkeep = asyncio.create_task(app.upkeep())
            for days in (29, 31):
                clock.wait(days)
                looks.clear()
                while len(looks) < 2:
                    await asyncio.sleep(0.001)
                assert not store.has_deleted(1)
            clock.wait(32)
            while not store.has_deleted(1):
                await asyncio.sleep(0.001)
            upkeep.cancel()
            with suppress(asyncio.CancelledError):
                await upkeep
            await app.close()

        asyncio.run(asyncio.wait_for(keep_up(), 60))


def test_ids_stay_so_that_repeats_and_late_withdrawals_are_known(where: str | Path, commute: Survey) -> None:
    clock = Clock()
    with closing(Store(commute, where, step=5, clock=clock)) as store:
        rows = closed(store, commute)
        assert delete_at(store, clock, 1) == [1]
        assert store.add(rows[:3], {}) == [Rejection.WITHDRAWN, None, None]
        assert store.withdraw_all([receipt_of(row.id) for row in rows[:2]]) == [True, None]
        assert store.withdraw("0" * 64) is False
        fresh = packed(commute, make_reports(commute, 60))
        assert store.add(fresh, {}) == [None] * 60
        assert store.withdraw(receipt_of(fresh[1].id)) is True
        assert store.tally(2).reports == 59


def test_nothing_of_a_deleted_report_is_left_in_the_file(tmp_path: Path) -> None:
    """Wide rows are unique; those of the open round stay."""
    labels = ",".join(f'"{number}"' for number in range(300))
    survey = loads(f'pldp=1\ntitle="t"\nlevels={{a=1}}\nquestions=[{{name="q",values=[{labels}],mechanism="oue"}}]')
    chance = random.Random(1)  # noqa: S311 - the same rows every time
    rows = [Packed(make_id(survey, number), b"\x01" + chance.randbytes(37) + b"\x0f") for number in range(120)]
    clock = Clock()
    with closing(Store(survey, tmp_path / "reports.db", step=50, clock=clock)) as store:
        store.add(rows[:70], {})
        store.close_round()
        store.open_round()
        store.add(rows[70:], {})
        assert delete_at(store, clock, 1) == [1]
        assert store.tidy()
        content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    found = [any(row.row[at : at + 12] in content for at in (1, 13, 25)) for row in rows]
    assert found == [False] * 70 + [True] * 50


def test_deleting_goes_on_where_it_was_interrupted(where: str | Path, commute: Survey, monkeypatch) -> None:
    monkeypatch.setattr("pldp.collector.report_log.BLOCK_REPORTS", 8)
    monkeypatch.setattr("pldp.collector.store.DELETE_BLOCKS", 3)
    clock = Clock()
    with closing(Store(commute, where, step=5, clock=clock)) as store:
        rows = closed(store, commute)
        assert store.decide_to_delete(store.count_rounds([1])) == [1]
        assert store.delete_some()
        assert store.withdraw_all([receipt_of(rows[1].id), receipt_of(rows[129].id)]) == [None, None]
    assert open_database(where).check() == []
    with closing(Store(commute, where, step=5)) as store:
        assert store.add(rows[:2], {}) == [Rejection.WITHDRAWN, None]
        delete_due(store, 1)
    assert query(where, "SELECT number, deleted FROM rounds ORDER BY number") == [(1, 2), (2, 0)]
    assert query(where, "SELECT count(*) FROM blocks WHERE length(rows) > count") == [(0,)]


def test_the_page_knows_beforehand_and_the_late_get_410(tmp_path: Path, commute: Survey) -> None:
    path, clock = tmp_path / "reports.db", Clock()
    with closing(Store(commute, path, clock=clock)) as store:
        app = Collector(commute, store, Tokens(path), Settings(rate_limit=0, retain="30 days"))
        told = call(app, "GET", "/v1/round").json
        assert told["retain_days"] == 30
        assert told["retention"].startswith("You can withdraw your report until 30 days after this round")
        rows = closed(store, commute)
        assert delete_at(store, clock, 30) == [1]
        answer = call(
            app, "POST", "/v1/withdraw", b'{"receipt":"%s"}' % receipt_of(rows[1].id).encode(), "application/json"
        )
        assert (answer.status, answer.json["code"]) == (410, "reports_deleted")
        assert answer.json["detail"].startswith("The single reports of this round were deleted")
        plain = Collector(commute, store, Tokens(path), Settings(rate_limit=0))
        assert "retention" not in call(plain, "GET", "/v1/round").json


def test_the_owner_is_told_that_a_tally_has_steps_only(tmp_path: Path, commute: Survey, capsys) -> None:
    path, target, clock = tmp_path / "reports.db", tmp_path / "all.tally", Clock()
    with closing(Store(commute, path, step=5, clock=clock)) as store:
        closed(store, commute)
        assert delete_at(store, clock, 1) == [1]
        shown = store.shown(1)
    assert main(["store", "tally", str(target), "--database", str(path), "--round", "1"]) == 0
    assert "single reports of this round were deleted" in capsys.readouterr().err
    assert Tally.load(target).counts == shown.counts


@pytest.mark.parametrize("text", ["30", "0 days", "days", "30 hours", "-1 days", "1.5 days"])
def test_only_whole_days_are_taken(text: str) -> None:
    with pytest.raises(UsageError, match="retain must be a number of days such as 30 days"):
        Settings.read({"retain": text}, {})
