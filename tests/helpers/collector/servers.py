"""Real collectors in processes of their own, on free ports of this machine only."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

from helpers.collector.forks import Forked
from pldp.collector import Collector, Settings, Store, Tokens
from pldp.collector.server import serve_app
from pldp.survey import Survey

SURVEY = "examples/commute.toml"


class Server:
    """A `pldp serve` that can be ended in any way."""

    def __init__(self, folder: Path, *options: str, survey: str = SURVEY, fault: str = "") -> None:
        self.database = folder / "reports.db"
        self.log = folder / "log.txt"
        self.process: Forked | subprocess.Popen[bytes]
        command = ["serve", survey, "--port", "0", "--database", str(self.database), "--rate-limit", "0", *options]
        self.process = _with_fault(fault, command, self.log) if fault else Forked(command, self.log)
        assert self.process.stdout is not None
        self.printed = self.process.stdout.readline().decode()
        found = re.search(r"http://[\d.]+:\d+", self.printed)
        assert found, self.log.read_text()
        self.url = found[0]

    def logged(self) -> str:
        """Return what it wrote to standard error after what it says at the start."""
        return re.sub(r"^(pldp: (warning|note): .*\n)+", "", self.log.read_text())

    def connect(self) -> HTTPConnection:
        parts = urlsplit(self.url)
        return HTTPConnection(parts.hostname or "", parts.port, timeout=10)

    def cpu_seconds(self) -> float:
        """Return the CPU time used so far."""
        spent = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")

    def peak_bytes(self) -> int:
        """Return the most memory used so far."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

    def kill(self) -> None:
        self.process.kill()
        self._end()

    def stop(self) -> int:
        self.process.terminate()
        return self._end()

    def wait(self) -> int:
        """Return the exit code of a server that was told to end."""
        return self._end()

    def _end(self) -> int:
        code = self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def _with_fault(fault: str, command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start another program, whose fault a test must find."""
    program = [sys.executable, "tests/helpers/collector/faulty.py", fault]
    with log.open("ab") as errors:
        return subprocess.Popen([*program, *command], stdout=subprocess.PIPE, stderr=errors, env=dict(os.environ))


@contextmanager
def running(folder: Path, *options: str, survey: str = SURVEY, fault: str = "") -> Iterator[Server]:
    server = Server(folder, *options, survey=survey, fault=fault)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


class Local:
    """A collector in a thread of this process: nothing has to be loaded again."""

    def __init__(self, folder: Path, survey: Survey, **settings: Any) -> None:
        self.database = folder / "reports.db"
        step = settings.setdefault("result_step", 1)
        pairs = settings.pop("pairs", ())
        self.store = Store(survey, self.database, pairs=pairs, step=step)
        chosen = Settings(port=0, rate_limit=0, pairs=",".join(map("+".join, pairs)), **settings)
        app = Collector(survey, self.store, Tokens(self.database), chosen)
        addresses: Queue[str] = Queue()
        self._stop = Event()
        self._thread = Thread(target=serve_app, args=(app, chosen, addresses.put, self._stop.is_set, app.operations))
        self._thread.start()
        self.url = addresses.get(timeout=60)

    def connect(self) -> HTTPConnection:
        parts = urlsplit(self.url)
        return HTTPConnection(parts.hostname or "", parts.port, timeout=60)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self.store.close()


@contextmanager
def local(folder: Path, survey: Survey, **settings: Any) -> Iterator[Local]:
    server = Local(folder, survey, **settings)
    try:
        yield server
    finally:
        server.stop()


def report_line(survey: Survey, identity: str | None = None) -> tuple[str, bytes]:
    """Return a fresh id and a report with it, made fast."""
    identity = identity or secrets.token_hex(16)
    answers = '[{"question":"late","level":"open","output":1}]'
    return identity, f'{{"pldp":1,"survey":"{survey.hash}","id":"{identity}","answers":{answers}}}'.encode()


def stored_ids(path: Path | str, survey: Survey) -> Counter[str]:
    """Return how often each id is in a store."""
    store = Store(survey, path)
    found = Counter(identity.hex() for batch in store.batches() for identity in batch.column("id").to_pylist())
    store.close()
    return found
