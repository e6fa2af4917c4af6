"""Group commit: what waits while others write goes into one transaction, and a store that fails tells all who wait."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from helpers.collector.faults import FaultyDatabase
from helpers.collector.senders import make_reports, packed
from pldp.collector import Packed, Store
from pldp.collector.http import ProblemError
from pldp.collector.uploads import Uploads
from pldp.survey import Survey

PATIENCE = 30


class Turn:
    """Lets a transaction begin only once it is told to, and counts those that were committed."""

    def __init__(self, *, fails: bool = False) -> None:
        self.asked, self.comes = Event(), Event()
        self.fails = fails
        self.commits = 0

    def before(self, statement: str) -> None:
        if statement.startswith("BEGIN IMMEDIATE"):
            self.asked.set()
            assert self.comes.wait(PATIENCE)
            if self.fails:
                raise sqlite3.OperationalError("gone")

    def after(self, statement: str) -> None:
        self.commits += statement == "COMMIT"


@pytest.fixture
def database(tmp_path: Path) -> FaultyDatabase:
    return FaultyDatabase(tmp_path / "store.db")


@pytest.fixture
def store(database: FaultyDatabase, commute: Survey) -> Iterator[Store]:
    with closing(Store(commute, database)) as opened:
        yield opened


async def send_while_one_waits(store: Store, turn: Turn, rows: list[Packed]) -> list[object]:
    """Send the first report; send the others, one by one, while it waits for its turn to be written."""
    uploads = Uploads(store, most_waiting=1000)
    sent = [asyncio.create_task(uploads.add(rows[:1], {}))]
    assert await asyncio.to_thread(turn.asked.wait, PATIENCE)
    sent += [asyncio.create_task(uploads.add([row], {})) for row in rows[1:]]
    while uploads.waiting < len(rows):
        await asyncio.sleep(0)
    turn.comes.set()
    found = await asyncio.gather(*sent, return_exceptions=True)
    assert uploads.waiting == 0
    await uploads.drain()
    return list(found)


def test_what_comes_before_the_turn_to_write_is_in_the_same_transaction(
    database: FaultyDatabase, store: Store, commute: Survey
) -> None:
    rows, turn = packed(commute, make_reports(commute, 20)), Turn()
    with database.disturbed(before=turn.before, after=turn.after):
        assert asyncio.run(send_while_one_waits(store, turn, rows)) == [[None]] * 20
    assert turn.commits == 1
    assert store.rounds()[0].reports == 20


def test_a_turn_that_never_comes_is_told_to_all_who_wait_and_nothing_is_stored(
    database: FaultyDatabase, store: Store, commute: Survey
) -> None:
    rows, turn = packed(commute, make_reports(commute, 5)), Turn(fails=True)
    with database.disturbed(before=turn.before, after=turn.after):
        found = asyncio.run(send_while_one_waits(store, turn, rows))
    assert all(isinstance(each, ProblemError) for each in found)
    assert store.rounds()[0].reports == 0
    assert store.add(rows, {}) == [None] * 5
