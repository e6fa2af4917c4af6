"""HTTP on the wire: whole or in parts, in order, told once how long, and never two requests where one was sent."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import BinaryIO

import pytest

from helpers.collector.servers import Local, Server, local, report_line, running
from pldp.survey import Survey


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(Path(__file__).parent.parent.parent)
        with running(tmp_path_factory.mktemp("server"), "--body-seconds", "2", "--body-bytes", "90000") as server:
            yield server
        assert server.logged() == ""


def connect(server: Server | Local) -> socket.socket:
    return socket.create_connection(server.url.removeprefix("http://").split(":"), timeout=60)


def request(body: bytes, *lines: str, path: str = "/v1/reports", version: str = "1.1") -> bytes:
    head = [f"POST {path} HTTP/{version}", "host: localhost", "content-type: application/json", *lines]
    if not any(line.startswith("transfer-encoding") for line in lines):
        head.append(f"content-length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode() + body


def read_answer(stream: BinaryIO) -> tuple[int, dict] | None:
    """Return status and content of the next answer, without word that the body may come; `None` at the end."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline()
        if not line:
            return None
        head += line
    status = int(head.split()[1])
    if status == 100:
        return read_answer(stream)
    assert b"\r\ndate: " in head
    return status, json.loads(stream.read(int(re.search(rb"content-length: (\d+)", head)[1])))


def answers(
    server: Server, *pieces: bytes, count: int = 1, pause: float = 0.05
) -> tuple[list[tuple[int, dict] | None], bool]:
    """Send pieces; return so many answers, and whether the connection takes another request after them."""
    with closing(connect(server)) as raw, raw.makefile("rb") as stream:
        for piece in pieces:
            raw.sendall(piece)
            time.sleep(pause)
        found = [read_answer(stream) for _ in range(count)]
        try:
            raw.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            after = read_answer(stream)
        except ConnectionError:
            after = None
    assert after in (None, (200, {"status": "ok"})), "an answer to nothing"
    return found, after is not None


def receipts(found: list[tuple[int, dict]]) -> list[str]:
    return [content["id"] for status, content in found if status == 200]


def test_whole_and_in_parts_get_the_same_answer(server: Server, commute: Survey) -> None:
    identity, line = report_line(commute)
    whole, open_after = answers(server, request(line))
    assert (receipts(whole), open_after) == ([identity], True)
    for cut in (1, 40, len(request(line)) - len(line), len(request(line)) - 1):
        text = request(line)
        assert answers(server, text[:cut], text[cut:]) == (whole, True)
    assert (
        answers(server, request(b"%x\r\n%s\r\n0\r\n\r\n" % (len(line), line), "transfer-encoding: chunked"))[0] == whole
    )
    assert answers(server, request(line, "expect: 100-continue"))[0] == whole


def test_pipelined_requests_are_answered_in_their_order(server: Server, commute: Survey) -> None:
    made = [report_line(commute) for _ in range(6)]
    texts = [request(line) for _, line in made]
    found, _ = answers(server, b"".join(texts), count=6)
    assert receipts(found) == [identity for identity, _ in made]
    found, _ = answers(server, *texts, count=6, pause=0)
    assert receipts(found) == [identity for identity, _ in made]
    get = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
    found, _ = answers(server, texts[0] + get + texts[1] + texts[2][:50], texts[2][50:] + get, count=5)
    assert [status for status, _ in found] == [200] * 5
    assert [content.get("status", "report") for _, content in found] == ["report", "ok", "report", "report", "ok"]


def test_a_connection_ends_when_it_should(server: Server, commute: Survey) -> None:
    _, line = report_line(commute)
    for ending in (request(line, "connection: close"), request(line, version="1.0")):
        found, is_open = answers(server, ending)
        assert ([status for status, _ in found], is_open) == ([200], False)
    found, is_open = answers(server, request(b"{}", "content-encoding: gzip"))
    assert ([status for status, _ in found], is_open) == ([415], False)
    found, is_open = answers(server, request(b"{}"))
    assert ([content["code"] for _, content in found], is_open) == (["malformed"], True)


def test_caps_hold_whether_the_length_is_told_or_not(server: Server) -> None:
    found, is_open = answers(server, request(b"x" * 90_001))
    assert (found[0][1]["code"], is_open) == ("too_large", False)
    chunk = b"15f91\r\n" + b"x" * 90_001 + b"\r\n0\r\n\r\n"
    for kind, code in (("x-ndjson", "too_large"), ("json", "malformed")):
        text = request(chunk, "transfer-encoding: chunked").replace(b"application/json", f"application/{kind}".encode())
        found, is_open = answers(server, text)
        assert (found[0][1]["code"], is_open) == (code, False)


def all_of(raw: socket.socket) -> bytes:
    """Return what comes until the server closes."""
    got = b""
    while part := raw.recv(1 << 16):
        got += part
    return got


BEHIND = b"GET /v1/round HTTP/1.1\r\nhost: localhost\r\n\r\n"


@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
@pytest.mark.parametrize(
    "lines",
    [
        "transfer-encoding: chunked",
        "transfer-encoding: chunked\r\ncontent-length: 2",
        "content-length: 2\r\ntransfer-encoding: chunked",
        "transfer-encoding: gzip, chunked",
        "transfer-encoding: chunked, gzip",
        "transfer-encoding: xchunked",
        "transfer-encoding: identity",
        "transfer-encoding : chunked",
        "content-length: 2\r\ncontent-length: 4",
        "content-length: 2, 2",
        "content-length: +2",
        "content-length: 0x2",
        "content-length:",
        "content length: 2",
        "x-folded: a\r\n b\r\ncontent-length: 2",
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(server: Server, lines: str, apart: bool) -> None:
    """The length of a body is told once and clearly, or nothing behind it is answered."""
    head = f"POST /v1/reports HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{lines}\r\n\r\n".encode()
    with closing(connect(server)) as raw:
        raw.sendall(head)
        if apart:
            time.sleep(0.02)
        with suppress(ConnectionError):
            raw.sendall(b"{}" + BEHIND)
        got = all_of(raw)
    assert got.count(b"HTTP/1.1 ") == 1
    assert got.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("first", ["transfer-encoding: chunked", "content-length: 2"])
def test_nothing_is_answered_behind_a_body_with_two_lengths(server: Server, first: str) -> None:
    second = "content-length: 2" if first.startswith("transfer") else "transfer-encoding: chunked"
    with closing(connect(server)) as raw:
        raw.sendall(f"POST /v1/reports HTTP/1.1\r\nhost: localhost\r\n{first}\r\n{second}\r\n\r\n0\r\n\r\n".encode())
        raw.sendall(BEHIND)
        assert all_of(raw).count(b"HTTP/1.1 ") == 1


def test_chunked_twice_is_refused(server: Server) -> None:
    found, is_open = answers(server, request(b"0\r\n\r\n", "transfer-encoding: chunked, chunked"))
    assert (found[0][1]["code"], is_open) == ("bad_request", False)


@pytest.mark.parametrize(
    "lines",
    [
        ("connection: upgrade, http2-settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQAAP__"),
        (
            "connection: upgrade",
            "upgrade: websocket",
            "sec-websocket-version: 13",
            "sec-websocket-key: MTIzNDU2Nzg5MDEyMzQ1Ng==",
        ),
        ("connection: upgrade", "upgrade: TLS/1.0"),
    ],
    ids=["h2c", "websocket", "tls"],
)
def test_a_body_behind_an_upgrade_is_not_the_next_request(
    server: Server, commute: Survey, lines: tuple[str, ...]
) -> None:
    """The body, in a segment of its own, is a request to somebody who believes in the upgrade; here it is a body."""
    smuggled = BEHIND.ljust(200)
    text = request(smuggled, *lines)
    found, is_open = answers(server, text[: -len(smuggled)], smuggled)
    assert ([content["code"] for _, content in found], is_open) == (["malformed"], True)
    identity, line = report_line(commute)
    text = request(line, *lines)
    assert receipts(answers(server, text[: -len(line)], line)[0]) == [identity]


@pytest.mark.parametrize(
    "text",
    [
        b"GET  /v1/round HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /v1/round HTTP/1.1\r\nhost: localhost\r\na\0b: 1\r\n\r\n",
        b"GET /v1/round HTTP/1.1\r\nhost: localhost\r\na: \n b\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /v1/round\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_no_request_is_refused(server: Server, text: bytes) -> None:
    with closing(connect(server)) as raw:
        raw.sendall(text + BEHIND)
        got = all_of(raw)
    assert (got[:12], got.count(b"HTTP/1.1 ")) == (b"HTTP/1.1 400", 1)


def test_lines_that_end_without_a_carriage_return_are_read_once(server: Server) -> None:
    found, is_open = answers(server, b"GET /v1/round HTTP/1.1\nhost: localhost\n\n")
    assert (found, is_open) == ([(200, {"round": 1, "open": True})], True)


def test_the_answer_names_no_server_and_has_no_body_where_it_must_not(server: Server) -> None:
    with closing(server.connect()) as connection:
        tag = ""
        for method, status in (("HEAD", 200), ("GET", 200), ("GET", 304)):
            headers = {"if-none-match": tag} if status == 304 else {}
            connection.request(method, "/v1/survey", headers=headers)
            response = connection.getresponse()
            body, tag = response.read(), response.headers["etag"]
            assert (response.status, bool(body)) == (status, method == "GET" and status == 200)
            assert response.headers["server"] == "pldp"


def test_more_connections_than_allowed_wait_for_one_that_ends(tmp_path: Path, commute: Survey) -> None:
    with local(tmp_path, commute, connections=3) as server, ExitStack() as opened:
        for _ in range(3):
            held = opened.enter_context(closing(connect(server)))
            held.sendall(request(b"{}"))
            assert held.recv(1 << 16).startswith(b"HTTP/1.1 ")  # so the server has seen it
        with closing(connect(server)) as raw:
            raw.sendall(request(report_line(commute)[1]))
            raw.settimeout(0.3)
            with pytest.raises(TimeoutError):
                raw.recv(1 << 16)
            held.close()
            raw.settimeout(10)
            assert raw.recv(1 << 16).startswith(b"HTTP/1.1 200")
