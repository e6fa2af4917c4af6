"""Power cuts and disks that fail: what was acknowledged is stored, whatever happens to what was not."""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from helpers.collector import disk
from helpers.collector.disk import Disk, Step, after_power_cut, watched
from helpers.collector.faults import FaultyDatabase
from helpers.collector.places import query
from helpers.collector.senders import make_id, receipt_of
from pldp.collector import Packed, Store, report_log
from pldp.errors import StoreError, StoreFullError
from pldp.reports import Rejection
from pldp.survey import Survey

LONG = bool(os.environ.get("PLDP_LONG"))
IMAGES = 10_000 if LONG else 120
TWINS, LEAST = (2_000, 500) if LONG else (60, 8)
"""Cuts of a store that does not sync, and how many must lose something: were it 3 of 8, fewer than 8 of 60 would
come once in 10⁵ tries; it is about half."""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that happens after many reports happens after few: blocks of reports, blocks of the index."""
    monkeypatch.setattr("pldp.collector.store.MIX", 6)
    monkeypatch.setattr(report_log, "BLOCK_REPORTS", 8)
    monkeypatch.setattr("pldp.collector.seen.RECENT", 32)
    monkeypatch.setattr("pldp.collector.seen.BLOCK", 128)


@contextmanager
def fast_folder() -> Iterator[Path]:
    """A folder in memory where there is one: images are opened by the thousand."""
    folder = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)  # noqa: S108
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder)


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - the same cuts every time


def made(survey: Survey, chance: random.Random, count: int) -> list[Packed]:
    return [
        Packed(make_id(survey, chance.getrandbits(64)), bytes([3, chance.randrange(6), 0, 0])) for _ in range(count)
    ]


def work(
    survey: Survey, store: Store, acknowledged: Callable[[str, list[Packed]], None], chance: random.Random
) -> None:
    """Do all that a collector does to its store, and tell each time once it was done."""
    for turn in range(40):
        reports = made(survey, chance, chance.choice((1, 3, 30)))
        assert store.add(reports, {Rejection.MALFORMED: turn % 2}) == [None] * len(reports)
        acknowledged("stored", reports)
        if turn % 9 == 5:
            assert store.withdraw(receipt_of(reports[0].id))
            acknowledged("withdrawn", reports[:1])
        if turn == 20:
            store.close_round()
            store.open_round()
            acknowledged("closed", [])


def recorded(survey: Survey, folder: Path, synchronous: str, seed: int) -> list[Step]:
    """Return the steps of a day of work, with a note behind each acknowledgement."""
    database = FaultyDatabase(folder / "reports.db")
    with watched(folder) as seen, closing(Store(survey, database, step=6)) as store:
        for setting in (f"synchronous = {synchronous}", "wal_autocheckpoint = 30"):
            database.writer.execute(f"PRAGMA {setting}").fetchall()
        work(survey, store, lambda what, reports: seen.note((what, reports)), seeded(seed))
        return list(seen.steps)


def lost(survey: Survey, steps: list[Step], chance: random.Random) -> int:
    """Cut the power behind these steps, start a collector from what is left, count what it does not know."""
    with fast_folder() as folder:
        for name, content in after_power_cut(steps, chance).items():
            (folder / name).write_bytes(content)
        stored: dict[bytes, bytes] = {}
        missing = 0
        with closing(Store(survey, folder / "reports.db", step=6)) as store:
            counted = Counter[bytes]()
            for ids, rows in query(
                folder / "reports.db", "SELECT ids, rows FROM blocks UNION ALL SELECT ids, rows FROM tail"
            ):
                names = [ids[place : place + 16] for place in range(0, len(ids), 16)]
                counted.update(names)
                stored |= {name: rows[4 * place : 4 * place + 4] for place, name in enumerate(names)}
            assert max(counted.values(), default=1) == 1
            for step in steps:
                if step.what == "note":
                    what, reports = step.note
                    if what == "closed":
                        missing += store.rounds()[0].open
                    for report in reports:
                        row = stored.get(report.id)
                        gone = row == bytes(4)
                        missing += row != report.row and not gone if what == "stored" else not gone
            again = [Packed(name, row) for name, row in stored.items() if any(row)]
            assert store.add(again, {}) == [None] * len(again)
            assert sum(each.reports for each in store.rounds()) == len(again)
        return missing


def cuts(steps: list[Step], chance: random.Random, count: int) -> Iterator[list[Step]]:
    for _ in range(count):
        yield steps[: chance.randrange(len(steps) + 1)]


def test_power_cuts_lose_nothing_acknowledged(tmp_path: Path, commute: Survey) -> None:
    steps = recorded(commute, tmp_path, "FULL", seed=1)
    done = Counter(step.what for step in steps)
    assert done["sync"] > 40
    assert {"write", "truncate", "open"} <= done.keys()
    assert any(step.what == "write" and step.name == "reports.db" for step in steps[len(steps) // 2 :])
    chance = seeded(2)
    missing = sum(lost(commute, part, chance) for part in cuts(steps, chance, IMAGES))
    sys.stdout.write(f"{IMAGES} power cuts in {len(steps)} steps: {missing} acknowledged lost\n")
    assert missing == 0


def test_the_same_cuts_find_a_store_that_does_not_sync(tmp_path: Path, commute: Survey) -> None:
    steps = recorded(commute, tmp_path, "NORMAL", seed=1)
    chance = seeded(2)
    losing = sum(lost(commute, part, chance) > 0 for part in cuts(steps, chance, TWINS))
    sys.stdout.write(f"synchronous = NORMAL: {losing} of {TWINS} power cuts lose something acknowledged\n")
    assert losing >= LEAST


def failing(seen: Disk, survey: Survey, path: Path, codes: dict[str, int], first: int, length: int) -> int:
    """Work while some steps are refused; check that all that was acknowledged is there, also without a restart."""
    chance = seeded(first)
    acknowledged: set[bytes] = set()
    steps = 0
    refused = 0
    kinds: set[type[StoreError]] = set()

    def refuse(what: str) -> int:
        nonlocal steps, refused
        steps += 1
        if first <= steps < first + length and what in codes:
            refused += 1
            return codes[what]
        return disk.OK

    database = FaultyDatabase(path)
    with closing(Store(survey, database, step=6)) as store:
        database.writer.execute("PRAGMA wal_autocheckpoint = 10").fetchall()
        seen.refuse = refuse
        tries = made(survey, chance, 60)
        for start in range(0, 60, 4):
            reports = tries[start : start + 4]
            try:
                assert store.add(reports, {}) == [None] * 4
                acknowledged.update(report.id for report in reports)
                if start % 24 == 8 and store.withdraw(receipt_of(reports[0].id)):
                    acknowledged.discard(reports[0].id)
            except StoreError as error:
                kinds.add(type(error))
        seen.refuse = lambda _: disk.OK
        assert kinds <= {StoreFullError if disk.FULL in codes.values() else StoreError}
        stored = {name for batch in store.batches() for name in batch.column("id").to_pylist()}
        assert acknowledged <= stored
        outcomes = store.add(tries, {})
        assert set(outcomes) <= {None, Rejection.WITHDRAWN}
        assert store.tally().reports == outcomes.count(None) == store.rounds()[0].reports
    return refused


@pytest.mark.parametrize(
    "codes",
    [
        {"write": disk.FULL},
        {"write": disk.WRITE_ERROR},
        {"sync": disk.SYNC_ERROR},
        {"truncate": disk.TRUNCATE_ERROR, "write": disk.WRITE_ERROR, "sync": disk.SYNC_ERROR},
    ],
    ids=["full", "write", "sync", "all"],
)
def test_a_disk_that_fails_at_any_step_loses_nothing_and_recovers(commute: Survey, codes: dict[str, int]) -> None:
    every = 1 if LONG else 9
    refused = 0
    with fast_folder() as folder, watched(folder) as seen:
        for first in range(1, 160, every):
            for length in (1, 7):
                refused += failing(seen, commute, folder / f"{first}-{length}.db", codes, first, length)
                seen.steps.clear()
    assert refused > 20


def test_databases_elsewhere_are_not_seen(tmp_path: Path, commute: Survey) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here, elsewhere):
        folder.mkdir()
    with closing(Store(commute, elsewhere / "reports.db", step=6)) as other, watched(here) as seen:
        other.add(made(commute, seeded(1), 1), {})
        assert not seen.steps
        with closing(Store(commute, here / "reports.db")):
            opened = len(seen.steps)
            other.add(made(commute, seeded(2), 1), {})
            assert len(seen.steps) == opened > 0
