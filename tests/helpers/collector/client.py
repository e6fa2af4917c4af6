"""Speaks ASGI to a collector without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from pldp.collector import Collector
from pldp.reports import Report

JSON, LINES = "application/json", "application/x-ndjson"


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        assert self.headers["content-type"] == "application/problem+json"
        assert self.json["status"] == self.status
        return self.json["code"]


async def send(
    app: Collector,
    method: str,
    path: str,
    body: bytes | Sequence[bytes] = b"",
    headers: Mapping[str, str] | None = None,
    *,
    address: str = "192.0.2.1",
    pause: float = 0,
    leave: asyncio.Event | None = None,
) -> Answer:
    """Send one request, its body in one or more parts, and stay until `leave` is set, otherwise until the answer."""
    target, _, query = path.partition("?")
    parts = [body] if isinstance(body, bytes) else list(body)
    scope = {
        "type": "http",
        "method": method,
        "path": unquote(target),
        "raw_path": quote(target, safe="/%", errors="replace").encode(),
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
        "client": (address, 1),
    }
    sent: list[Any] = []
    ended = False

    async def receive() -> Any:
        nonlocal ended
        if ended:
            await (leave or asyncio.Event()).wait()
            return {"type": "http.disconnect"}
        if pause:
            await asyncio.sleep(pause)
        part = parts.pop(0) if parts else b""
        ended = not parts
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def answer(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, answer)
    start, last = sent
    return Answer(start["status"], {name.decode(): value.decode() for name, value in start["headers"]}, last["body"])


def call(
    app: Collector, method: str, path: str, body: Any = b"", kind: str = "", token: str = "", **options: Any
) -> Answer:
    """Send one request and wait for the answer."""
    headers = dict(options.pop("headers", {}))
    if kind:
        headers["content-type"] = kind
    if token:
        headers["authorization"] = f"Bearer {token}"
    return asyncio.run(send(app, method, path, body, headers, **options))


def lines(reports: Sequence[Report]) -> bytes:
    return "\n".join(report.to_json() for report in reports).encode()
