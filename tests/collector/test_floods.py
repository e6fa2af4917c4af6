"""Floods: huge bodies, slow and many connections, compressed bombs. Caps hold, and others are served meanwhile."""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
import threading
import time
import zlib
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from helpers.collector.servers import Server, report_line, running, stored_ids
from pldp.survey import Survey

LONG = bool(os.environ.get("PLDP_LONG"))
SLOW = 1000 if LONG else 100
HEAD = b"POST /v1/reports HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n"


@pytest.fixture(autouse=True)
def _many_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def raw(server: Server) -> socket.socket:
    return socket.create_connection(server.url.removeprefix("http://").split(":"), timeout=30)


def pour(connection: socket.socket, head: bytes, part: bytes, size: int) -> tuple[int, bytes]:
    """Send a body of that size in parts until the server has had enough; return what went out and the answer."""
    sent = 0
    try:
        connection.sendall(head)
        while sent < size:
            connection.sendall(part)
            sent += len(part)
    except OSError:
        pass
    try:
        return sent, connection.recv(1 << 16)
    except OSError:
        return sent, b""


def all_of(connection: socket.socket) -> bytes:
    """Return what comes until the server closes: an answer may come in parts."""
    parts = []
    while part := connection.recv(1 << 12):
        parts.append(part)
    return b"".join(parts)


def test_caps_hold_and_others_are_served(tmp_path: Path, commute: Survey) -> None:
    gigabyte = 1 << 30
    chunk = b"%x\r\n%s\r\n" % (1 << 16, b"x" * (1 << 16))
    bomb = zlib.compress(b" " * (1 << 26))
    with running(tmp_path, "--body-seconds", "4", "--connections", "2000") as server, ExitStack() as opened:
        memory = server.peak_bytes()
        slow = [opened.enter_context(closing(raw(server))) for _ in range(SLOW)]
        for number, connection in enumerate(slow):
            connection.sendall(HEAD + (b"content-length: 90\r\n\r\n{" if number % 2 else b"x-slow: "))
        results: dict[str, tuple[int, bytes]] = {}

        def attack(name: str, head: bytes, part: bytes, size: int) -> None:
            with closing(raw(server)) as connection:
                results[name] = pour(connection, head, part, size)

        attacks = {
            "told": (HEAD + b"content-length: %d\r\n\r\n" % gigabyte, b"x" * (1 << 16), gigabyte),
            "untold": (HEAD + b"transfer-encoding: chunked\r\n\r\n", chunk, gigabyte),
            "bomb": (HEAD + b"content-encoding: deflate\r\ncontent-length: %d\r\n\r\n" % len(bomb), bomb, len(bomb)),
        }
        threads = [threading.Thread(target=attack, args=(name, *how)) for name, how in attacks.items()]
        for thread in threads:
            thread.start()
        times = []
        connection = opened.enter_context(closing(server.connect()))
        for _ in range(100):
            start = time.perf_counter()
            connection.request("POST", "/v1/reports", report_line(commute)[1], {"content-type": "application/json"})
            response = connection.getresponse()
            assert (response.status, json.loads(response.read())["outcome"]) == (200, "accepted")
            times.append(time.perf_counter() - start)
        for thread in threads:
            thread.join()
        answers = [all_of(connection) for connection in slow]
        grown = server.peak_bytes() - memory
        taken = [sent >> 20 for sent, _ in results.values()]
        sys.stdout.write(
            f"{SLOW} slow connections, 2 bodies of 1 GB, a bomb: others served in {max(times) * 1000:.0f} ms at most, "
            f"{taken} MB taken, memory grew by {grown >> 20} MB\n"
        )
        assert all(b"408" in answer or not answer for answer in answers)
        assert any(b"too_slow" in answer for answer in answers)
        assert all(sent < 1 << 26 for sent, _ in results.values())
        assert b" 415 " in results["bomb"][1]
        assert grown < 100 << 20
    assert server.log.read_text() == ""


def test_a_disk_that_fills_up_is_told_and_recovers_without_a_restart(tmp_path: Path, commute: Survey) -> None:
    """The limit on the size of files stands for the end of the disk: the process is real, and goes on."""
    with running(tmp_path) as server, closing(server.connect()) as connection:
        sent: dict[str, int] = {}

        def upload(count: int) -> int:
            made = [report_line(commute) for _ in range(count)]
            body = b"\n".join(line for _, line in made)
            connection.request("POST", "/v1/reports", body, {"content-type": "application/x-ndjson"})
            response = connection.getresponse()
            content = response.read()
            sent.update(dict.fromkeys((identity for identity, _ in made), response.status))
            assert response.status == 200 or json.loads(content)["code"] in {"store_full", "store_unavailable"}
            assert response.status == 200 or response.headers["retry-after"]
            return response.status

        assert upload(10) == 200
        limits = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        size = (tmp_path / "reports.db-wal").stat().st_size
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size + 20_000, limits[1]))
        statuses = [upload(100) for _ in range(12)]
        assert {503, 507} & set(statuses)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, limits)
        assert upload(100) == 200
        server.kill()
    found = stored_ids(server.database, commute)
    assert {identity for identity, status in sent.items() if status == 200} == found.keys()
    assert max(found.values()) == 1
