"""Stores and reports for the collector's tests. Every store runs the same contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pldp.collector import SqliteStore, Store
from pldp.survey import Survey

Open = Callable[[], Store]


@pytest.fixture(params=["sqlite"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path, commute: Survey) -> Iterator[Open]:
    """A function that starts the store anew, as after a restart; the one before is closed first."""
    opened: list[Store] = []

    def start() -> Store:
        if opened:
            opened[-1].close()
        opened.append(SqliteStore(commute, tmp_path / "reports.db"))
        return opened[-1]

    yield start
    if opened:
        opened[-1].close()


@pytest.fixture
def store(open_store: Open) -> Store:
    return open_store()
