"""Everything at once: slow, idle and flooding clients, replays, withdrawals and a backup, while people upload."""

from __future__ import annotations

import json
import os
import resource
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from http.client import HTTPConnection, HTTPException
from itertools import cycle
from pathlib import Path

import pytest

from helpers.collector.servers import Server, report_line, running, stored_ids
from helpers.collector.workers import working
from pldp.collector import open_database
from pldp.reports import report_id
from pldp.survey import Survey

LONG = bool(os.environ.get("PLDP_LONG"))
SLOW, IDLE, SECONDS = (300, 1000, 40) if LONG else (30, 60, 3)
MEGABYTE = 1 << 20
HEAD = b"POST /v1/reports HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
FLOODS: tuple[Callable[[], bytes], ...] = (
    lambda: b"GET /healthz HTTP/1.1\r\n" + b"x-long: " + b"a" * 4 * MEGABYTE,
    lambda: b"GET /healthz HTTP/1.1\r\n" + b"x: y\r\n" * 100_000,
    lambda: b"GET /" + b"a" * MEGABYTE + b" HTTP/1.1\r\n\r\n",
    lambda: HEAD + b"content-length: %d\r\n\r\n" % (4 * MEGABYTE) + b"[" * 4 * MEGABYTE,
    lambda: HEAD.replace(b"/json", b"/x-ndjson") + b"content-length: 30000\r\n\r\n" + b"{}\n" * 10_000,
    lambda: HEAD + b"content-length: %d\r\n\r\n" % (8 * MEGABYTE) + b"x" * 7 * MEGABYTE,  # and waits
)


@pytest.fixture(autouse=True)
def _many_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def connect(server: Server, source: str) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=30, source_address=(source, 0))


def flood(server: Server, stop: threading.Event) -> None:
    """Send one attack after the other from one address, without waiting for answers longer than a moment."""
    for make in cycle(FLOODS):
        if stop.is_set():
            return
        try:
            with closing(connect(server, "127.0.0.9")) as connection:
                connection.settimeout(1)
                connection.sendall(make())
                connection.recv(1000)
        except OSError:
            pass


class Uploads:
    """People who upload one report each, some a second, and how long each waited."""

    def __init__(self, survey: Survey, server: Server) -> None:
        self.survey, self.server = survey, server
        self.waits: list[float] = []
        self.health: list[float] = []
        self.receipts: list[str] = []
        self.acknowledged: set[str] = set()
        self.failed = 0

    def upload(self, stop: threading.Event, number: int) -> None:
        connection = HTTPConnection(*self._address(), timeout=30, source_address=(f"127.0.1.{number}", 0))
        while not stop.is_set():
            receipt = secrets.token_hex(32)
            identity, body = report_line(self.survey, report_id(self.survey.hash, receipt))
            begun = time.monotonic()
            try:
                connection.request("POST", "/v1/reports", body, {"content-type": "application/json"})
                response = connection.getresponse()
                if response.status == 200 and response.read():
                    self.acknowledged.add(identity)
                    self.receipts.append(receipt)
                else:
                    self.failed += 1
            except (OSError, HTTPException):
                self.failed += 1
                connection.close()
            self.waits.append(time.monotonic() - begun)
            begun = time.monotonic()
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            self.health.append(time.monotonic() - begun)
            time.sleep(0.05)
        connection.close()

    def withdraw(self, stop: threading.Event) -> None:
        connection = HTTPConnection(*self._address(), timeout=30, source_address=("127.0.2.1", 0))
        while not stop.is_set():
            if self.receipts:
                body = json.dumps({"receipt": self.receipts.pop(0)})
                connection.request("POST", "/v1/withdraw", body, {"content-type": "application/json"})
                assert connection.getresponse().read() == b'{"outcome":"withdrawn"}'
            time.sleep(0.02)
        connection.close()

    def _address(self) -> tuple[str, int]:
        host, port = self.server.url.removeprefix("http://").split(":")
        return host, int(port)


def late(waits: list[float]) -> float:
    """Return the 99th percentile in milliseconds."""
    return 1000 * sorted(waits)[int(len(waits) * 0.99)]


def test_people_are_served_while_everything_attacks(tmp_path: Path, commute: Survey) -> None:
    with running(tmp_path, "--body-seconds", "60", "--connections", "2000") as server, ExitStack() as opened:
        people = Uploads(commute, server)
        for number in range(SLOW + IDLE):
            held = opened.enter_context(closing(connect(server, f"127.0.3.{number % 200 + 1}")))
            if number < SLOW:
                held.sendall(HEAD + b"content-length: 200\r\n\r\n{")

        def back_up(stop: threading.Event) -> None:
            while not stop.is_set():
                open_database(server.database).backup(tmp_path / "copy.db")
                time.sleep(0.5)

        uploading = [lambda stop, number=number: people.upload(stop, number) for number in range(1, 5)]
        with working(*uploading, people.withdraw, back_up, lambda stop: flood(server, stop)):
            time.sleep(SECONDS)
        peak = server.peak_bytes()
        assert server.logged() == ""
    found = stored_ids(server.database, commute)
    sys.stdout.write(
        f"{SLOW} slow, {IDLE} idle, one flooding, withdrawals, backups: {len(people.waits)} uploads, "
        f"{people.failed} failed, p99 {late(people.waits):.0f} ms, /healthz p99 {late(people.health):.0f} ms, "
        f"memory {peak / MEGABYTE:.0f} MB\n"
    )
    assert len(people.acknowledged) > 5 * SECONDS
    assert people.failed == 0
    assert set(found) <= people.acknowledged
    assert peak < 400 * MEGABYTE
    assert late(people.waits) < (200 if LONG else 2000)
    assert late(people.health) < (100 if LONG else 2000)
