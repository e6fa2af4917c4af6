"""What one request can cost the others: replays and withdrawals cost the same however large the upload they came in."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from helpers.collector.senders import make_id, receipt_of
from pldp.collector import Packed, Store
from pldp.survey import Survey, loads


def wide() -> Survey:
    labels = ",".join(f'"{number}"' for number in range(400))
    return loads(f'pldp=1\ntitle="t"\nlevels={{a=1}}\nquestions=[{{name="q",values=[{labels}],mechanism="oue"}}]')


def rows_of(survey: Survey, count: int) -> list[Packed]:
    return [Packed(make_id(survey, number), b"\x01" + os.urandom(50)) for number in range(count)]


def seconds(action) -> float:
    begun = time.thread_time()
    action()
    return time.thread_time() - begun


@pytest.fixture(scope="module")
def uploads() -> tuple[Survey, list[Packed]]:
    survey = wide()
    return survey, rows_of(survey, 40_000)


def test_replays_that_jump_between_uploads_cost_little_each(tmp_path: Path, uploads) -> None:
    """1,500 of them, each in another upload of 10,000 than the one before; before, each read a whole upload."""
    survey, rows = uploads
    with closing(Store(survey, tmp_path / "reports.db")) as store:
        for start in range(0, 40_000, 10_000):
            store.add(rows[start : start + 10_000], {})
        jumping = [rows[10_000 * (turn % 4) + 6 * turn] for turn in range(1500)]
        took = seconds(lambda: store.add(jumping, {}))
        assert took / 1500 < 0.0005
        few = seconds(lambda: [store.add([row], {}) for row in jumping[:100]])
        assert few / 100 < 0.001


def test_a_withdrawal_costs_the_same_in_large_and_small_uploads(tmp_path: Path, uploads) -> None:
    """It writes one block of 16 KiB at most; before, it wrote its whole upload."""
    survey, rows = uploads
    written = {}
    for name, size in (("small", 100), ("large", 20_000)):
        with closing(Store(survey, tmp_path / f"{name}.db")) as store:
            for start in range(0, 20_000, size):
                store.add(rows[start : start + size], {})
            assert store.withdraw(receipt_of(rows[0].id))
            assert store.tidy()
            log = tmp_path / f"{name}.db-wal"
            assert all(store.withdraw_all([receipt_of(row.id) for row in rows[100:110]]))
            written[name] = log.stat().st_size
    assert max(written.values()) < 10 * (16_384 + 8 * 4096)


def test_nobody_waits_for_a_reader_and_what_was_erased_leaves_the_log_once_it_has_gone(tmp_path: Path, uploads) -> None:
    survey, rows = uploads
    path = tmp_path / "reports.db"
    with closing(Store(survey, path)) as store, closing(sqlite3.connect(path, isolation_level=None)) as reader:
        store.add(rows[:200], {})
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM blocks").fetchone()
        begun = time.monotonic()
        assert store.withdraw(receipt_of(rows[3].id))
        assert not store.tidy()
        assert store.add(rows[200:300], {}) == [None] * 100
        assert time.monotonic() - begun < 2
        reader.execute("COMMIT")
        assert store.tidy()
        content = b"".join(each.read_bytes() for each in tmp_path.iterdir())
        assert rows[3].row[1:20] not in content
        assert rows[4].row[1:20] in content


def test_what_was_erased_leaves_the_log_while_results_exports_and_copies_are_made(
    tmp_path: Path, uploads, monkeypatch
) -> None:
    """Our own readers look for a moment at a time."""
    monkeypatch.setattr("pldp.collector.store.BATCH_ROWS", 10_000)
    survey, rows = uploads
    path = tmp_path / "reports.db"
    with closing(Store(survey, path)) as store:
        store.add(rows, {})
        exporting = store.batches()
        next(exporting)
        assert store.withdraw(receipt_of(rows[3].id))
        assert store.tidy()
        assert rows[3].row[1:20] not in b"".join(each.read_bytes() for each in tmp_path.iterdir())
        assert sum(batch.num_rows for batch in exporting) > 0
