"""Floods: headers, bodies, sockets, slow and deaf clients, ugly JSON. Caps hold, and others are served meanwhile."""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from helpers.collector.servers import Server, report_line, running, stored_ids
from pldp.survey import Survey

LONG = bool(os.environ.get("PLDP_LONG"))
SLOW = 1000 if LONG else 100
PROMPT = 0.1 if LONG else 0.4  # seconds for `/healthz`; short forms run beside other tests
HEAD = b"POST /v1/reports HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n"


@pytest.fixture(autouse=True)
def _many_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def raw(server: Server) -> socket.socket:
    return socket.create_connection(server.url.removeprefix("http://").split(":"), timeout=30)


def health_times(server: Server, done: threading.Event) -> list[float]:
    """Ask for `/healthz` on one connection until it is done; return how long each answer took."""
    times = []
    with closing(raw(server)) as connection:
        while not done.is_set():
            start = time.perf_counter()
            connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            answer = b""
            while not answer.endswith(b"}"):
                answer += connection.recv(1 << 16)
            assert answer.startswith(b"HTTP/1.1 200")
            times.append(time.perf_counter() - start)
            time.sleep(0.002)
    return times


@contextmanager
def watched(server: Server) -> Iterator[list[float]]:
    """Yield a list that has, after the block, how long each `/healthz` took meanwhile."""
    done, times = threading.Event(), list[float]()
    thread = threading.Thread(target=lambda: times.extend(health_times(server, done)))
    thread.start()
    try:
        yield times
    finally:
        done.set()
        thread.join()
    assert times
    sys.stdout.write(f"/healthz: {max(times) * 1000:.0f} ms at most\n")


def post(body: bytes, kind: str = "application/x-ndjson") -> bytes:
    head = f"POST /v1/reports HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


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
    assert server.logged() == ""


def test_headers_without_end_cost_little_memory(tmp_path: Path) -> None:
    """Each connection is told 431 once 128 KiB have come, however many lines or however long a line or an address."""
    size = (200 << 20) if LONG else (20 << 20)
    heads = {
        "lines": (b"GET / HTTP/1.1\r\nhost: localhost\r\n", b"x-flood: " + b"x" * 1000 + b"\r\n"),
        "short lines": (b"GET / HTTP/1.1\r\nhost: localhost\r\n", b"a:b\r\n" * 200),
        "line": (b"GET / HTTP/1.1\r\nx-flood: ", b"x" * 1000),
        "address": (b"GET /", b"x" * 1000),
    }
    with running(tmp_path) as server, watched(server) as times:
        memory = server.peak_bytes()
        for head, part in heads.values():
            with closing(raw(server)) as connection:
                sent, answer = pour(connection, head, part * 64, size)
            assert sent < 8 << 20  # what the kernel's buffers took
            assert answer[:12] in {b"HTTP/1.1 431", b"HTTP/1.1 414", b""}  # empty: it was closed while it still sent
        grown = [server.peak_bytes() - memory]
        with ExitStack() as opened:
            for _ in range(1000 if LONG else 200):  # held open, just below the cap
                connection = opened.enter_context(closing(raw(server)))
                connection.sendall(heads["line"][0] + b"x" * 60_000)
            time.sleep(0.2)
            grown.append(server.peak_bytes() - memory)
    assert grown[0] < 16 << 20
    assert grown[1] < (110 << 20 if LONG else 40 << 20)
    assert max(times) < PROMPT


def hold_bodies(server: Server, addresses: list[str], count: int, opened: ExitStack) -> tuple[Counter[bytes], int]:
    """Send bodies of 8 MB that lack their last byte; return the answers that came at once, and the memory they took."""
    memory, answers = server.peak_bytes(), Counter[bytes]()
    held = []
    host, port = server.url.removeprefix("http://").split(":")
    for number in range(count):
        source = (addresses[number % len(addresses)], 0)
        connection = opened.enter_context(closing(socket.create_connection((host, port), 30, source)))
        with suppress(OSError):
            connection.sendall(post(b"x" * (8 << 20))[:-1])
        held.append(connection)
    time.sleep(0.3)
    for connection in held:
        connection.setblocking(False)
        with suppress(OSError):
            answers[connection.recv(12)[9:12]] += 1
    return answers, server.peak_bytes() - memory


@pytest.mark.parametrize("addresses", [1, 8])
def test_bodies_that_are_held_have_one_budget(tmp_path: Path, commute: Survey, addresses: int) -> None:
    """One address holds a quarter of it, all together hold the whole; others are served meanwhile."""
    count = 60 if LONG else 20
    sources = [f"127.0.0.{number + 2}" for number in range(addresses)]
    with running(tmp_path, "--body-seconds", "20") as server, ExitStack() as opened, watched(server) as times:
        answers, grown = hold_bodies(server, sources, count, opened)
        connection = opened.enter_context(closing(server.connect()))
        connection.request("POST", "/v1/reports", report_line(commute)[1], {"content-type": "application/json"})
        status = connection.getresponse().status
    assert status == 200  # single reports are bounded by the connections
    assert set(answers) - {b""} == ({b"429"} if addresses == 1 else {b"503"})
    assert sum(answers.values()) >= count - (3 if addresses == 1 else 8)
    assert grown < (60 << 20 if addresses == 1 else 160 << 20)
    assert max(times) < PROMPT


def test_what_was_held_is_free_again(tmp_path: Path, commute: Survey) -> None:
    """Whether it was stored, refused, too slow or given up."""
    with running(tmp_path, "--held-bytes", "200000", "--body-seconds", "1") as server:
        good = post(b"\n".join(report_line(commute)[1] for _ in range(100)))
        for _ in range(4):
            with closing(raw(server)) as connection, closing(raw(server)) as other:
                connection.sendall(good)
                assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
                connection.sendall(post(b"x" * 40_000)[:-1])  # too slow
                time.sleep(0.1)
                other.sendall(post(b"x" * 40_000)[:-1])  # more than one address may hold
                assert other.recv(1 << 16).startswith(b"HTTP/1.1 429")
                assert connection.recv(1 << 16).startswith(b"HTTP/1.1 408")
        with closing(raw(server)) as connection:
            connection.sendall(post(b"x" * 40_000)[:-1])
        time.sleep(0.1)
        with closing(raw(server)) as connection:
            connection.sendall(post(b"x" * 45_000))
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")


def ugly(line: bytes) -> dict[str, bytes]:
    """Return bodies that are slow to read for who reads them naively."""
    size = 8 << 20
    return {
        "nested": b"[" * (size - 10),
        "nested lines": b"\n".join([b"[" * 800] * 10_000),
        "nested objects": b"\n".join([b'{"a":[' * 130] * 10_000),
        "malformed lines": b"\n".join([b"{x"] * 10_000),
        "huge integers": b"\n".join([line.replace(b'"output":1', b'"output":' + b"9" * 600)] * 9_000),
        "long strings": b"\n".join([line.replace(b'"output":1', b'"output":"' + b"x" * 600 + b'"')] * 9_000),
        "duplicate keys": b"\n".join([b'{"pldp":1,' * 60 + b'"x":1}'] * 10_000),
        "many lists": (b"[[],[]," * (size // 7)),
        "empty lines": b"\n" * (size - 10),
        "short lines": b"1\n" * (size // 2 - 10),
    }


def test_no_body_is_slow_to_read(tmp_path: Path, commute: Survey) -> None:
    with running(tmp_path) as server:
        for name, body in ugly(report_line(commute)[1]).items():
            before = server.cpu_seconds()
            with watched(server) as times, closing(raw(server)) as connection:
                with suppress(OSError):
                    connection.sendall(post(body))
                answer = connection.recv(1 << 16)
            assert answer[9:12] in {b"200", b"413"}, name
            assert (max(times) < PROMPT, server.cpu_seconds() - before < 0.6) == (True, True), (name, max(times))
        with closing(raw(server)) as connection:
            with suppress(OSError):
                connection.sendall(post(b"[" * ((8 << 20) - 10), "application/json"))
            assert b'"malformed"' in connection.recv(1 << 16)


def test_many_ugly_bodies_at_once_are_read_in_turns(tmp_path: Path, commute: Survey) -> None:
    bodies = [post(b"\n".join([b"{x" * 100] * 2_000)) for _ in range(16)]
    with running(tmp_path) as server, ExitStack() as opened, watched(server) as times:
        connections = [opened.enter_context(closing(raw(server))) for _ in bodies]
        for connection, body in zip(connections, bodies, strict=True):
            connection.sendall(body)
        assert {connection.recv(12) for connection in connections} == {b"HTTP/1.1 200"}
    assert max(times) < PROMPT


def test_sockets_are_bounded_and_their_places_come_back(tmp_path: Path) -> None:
    """More sockets than places: those beyond wait, memory stays flat, and after the timeout all is as before."""
    places, count = (2000, 2050) if LONG else (100, 150)
    with running(tmp_path, "--connections", str(places), "--body-seconds", "2") as server, ExitStack() as opened:
        memory = server.peak_bytes()
        for number in range(count):
            connection = opened.enter_context(closing(raw(server)))
            if number % 2:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nhost:")
        sockets = sum(1 for _ in Path(f"/proc/{server.process.pid}/fd").iterdir())
        start = time.perf_counter()
        with closing(raw(server)) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 200"
        assert time.perf_counter() - start < 4
        assert sockets < places + 60
        assert server.peak_bytes() - memory < (64 << 20 if LONG else 16 << 20)


def test_a_client_that_reads_no_answer_holds_one_answer(tmp_path: Path) -> None:
    """It is not answered further until it reads; what it costs is its place and some buffers."""
    asked = b"GET /v1/openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" * 2_000
    count = 100 if LONG else 20
    with running(tmp_path) as server, ExitStack() as opened, watched(server) as times:
        memory = server.peak_bytes()
        deaf = [opened.enter_context(closing(raw(server))) for _ in range(count)]
        for connection in deaf:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.setblocking(False)
        for _ in range(10):
            for connection in deaf:
                with suppress(BlockingIOError):
                    connection.send(asked)
            time.sleep(0.05)
        grown = server.peak_bytes() - memory
    assert grown < count << 19
    assert max(times) < PROMPT


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
