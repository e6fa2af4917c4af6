"""Shared by all tests: where we are, a few surveys, and what is started for a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pldp.survey import Survey, loads

ROOT = Path(__file__).parent.parent


@pytest.hookimpl(tryfirst=True)  # before xdist, which reads the marks in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a file on one worker, where no group says otherwise: what they share is then made once."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples are named from the root of the project."""
    monkeypatch.chdir(ROOT)


@pytest.fixture
def commute() -> Survey:
    return Survey.load("examples/commute.toml")


@pytest.fixture
def every_form() -> Survey:
    """One question per form of output, and one whose levels use different forms."""
    return loads(
        """
        pldp = 1
        title = "every form"
        [levels]
        strict = 0.5
        open = 2
        [[questions]]
        name = "direct"
        values = ["a", "b", "c"]
        mechanism = "krr"
        [[questions]]
        name = "bits"
        values = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
        mechanism = "oue"
        [[questions]]
        name = "hashed"
        values = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]
        mechanism = "lh"
        [[questions]]
        name = "mixed"
        values = ["0", "1", "2", "3", "4", "5", "6", "7", "8"]
        mechanism = { strict = "sue", open = "krr" }
        """
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser; see `helpers.browsers`."""
    from helpers.browsers import open_browser  # noqa: PLC0415 - only where pages are tested

    with open_browser() as opened:
        yield opened


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Opens a fresh profile with one empty page: `visit().page.goto(…)`."""
    from helpers.browsers import visits  # noqa: PLC0415

    with visits(browser) as opener:
        yield opener


@pytest.fixture(scope="module")
def seat(browser: Any) -> Iterator[Any]:
    """One page for all who come one after another; see `person`."""
    from helpers.browsers import visits  # noqa: PLC0415

    with visits(browser) as opener:
        yield opener(accept_downloads=True)


@pytest.fixture
def person(seat: Any) -> Iterator[Any]:
    """A visit like a fresh one at half its price: it runs in a warm page, which forgets everything afterwards.

    Not for tests that add a script to every page, take another size or language, or open a second origin or tab.
    """
    yield seat
    seat.start_anew()


@pytest.fixture(scope="module")
def client() -> Any:
    """The JavaScript client that is audited."""
    from helpers.machine import lacks  # noqa: PLC0415 - only where audits are tested
    from pldp.auditing import JavaScript  # noqa: PLC0415

    return JavaScript.find() or lacks("there is no Node here")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Spark session; see `helpers.clusters`. Its tests are one xdist group."""
    from helpers.clusters import cluster  # noqa: PLC0415 - only where Spark is tested

    with cluster(tmp_path_factory.mktemp("cluster")) as session:
        yield session


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make dist` builds; see `helpers.releases`. Its tests are one xdist group."""
    from helpers.releases import release  # noqa: PLC0415 - only where releases are tested

    return release(tmp_path_factory.mktemp("release") / "one", 1_600_000_000, 0o022)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server that these tests start, with NAME where the database goes."""
    from helpers.collector.places import postgres_server  # noqa: PLC0415 - only where stores are tested

    with postgres_server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """An empty place for a store, in each database."""
    from helpers.collector.places import empty_schema  # noqa: PLC0415

    return tmp_path / "reports.db" if request.param == "sqlite" else empty_schema(request.getfixturevalue("postgres"))


@pytest.fixture
def open_store(where: str | Path, commute: Survey) -> Iterator[Any]:
    """A function that starts the store anew, as after a restart; the one before is closed first."""
    from helpers.collector.places import stores_at  # noqa: PLC0415

    with stores_at(where, commute) as start:
        yield start


@pytest.fixture
def store(open_store: Any) -> Any:
    return open_store()
