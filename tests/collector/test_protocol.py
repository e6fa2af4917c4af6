"""Uploads that come whole take a short way through the server: the same answers, in the same order, as the long one."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
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
    head = [f"POST {path} HTTP/{version}", "host: x", "content-type: application/json", *lines]
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
            raw.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
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
    get = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
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


def test_caps_hold_on_the_short_way(server: Server) -> None:
    found, is_open = answers(server, request(b"x" * 90_001))
    assert (found[0][1]["code"], is_open) == ("too_large", False)
    chunk = b"15f91\r\n" + b"x" * 90_001 + b"\r\n0\r\n\r\n"
    found, is_open = answers(server, request(chunk, "transfer-encoding: chunked"))
    assert (found[0][1]["code"], is_open) == ("too_large", False)


@pytest.mark.parametrize(
    "lines",
    [
        "transfer-encoding: chunked",
        "transfer-encoding: chunked\r\ncontent-length: 2",
        "content-length: 2\r\ntransfer-encoding: chunked",
        "content-length: 2\r\ncontent-length: 4",
        "content-length: +2",
        "content length: 2",
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(server: Server, lines: str) -> None:
    """The length of a body is told once and clearly, or nothing behind it is answered."""
    text = f"POST /v1/reports HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{lines}\r\n\r\n".encode()
    with closing(connect(server)) as raw:
        raw.sendall(text + b"{}" + request(b"{}"))
        got = b""
        while part := raw.recv(1 << 16):
            got += part
    assert got.count(b"HTTP/1.1 ") == 1
    assert got.startswith(b"HTTP/1.1 400")


def test_more_connections_than_allowed_get_503(tmp_path: Path, commute: Survey) -> None:
    with local(tmp_path, commute, connections=3) as server, ExitStack() as opened:
        for _ in range(3):
            held = opened.enter_context(closing(connect(server)))
            held.sendall(request(b"{}"))
            assert held.recv(1 << 16).startswith(b"HTTP/1.1 ")  # so the server has seen it
        with closing(connect(server)) as raw:
            raw.sendall(request(report_line(commute)[1]))
            assert raw.recv(1 << 16).startswith(b"HTTP/1.1 503")
