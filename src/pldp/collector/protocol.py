"""HTTP/1.1 as the collector speaks it: uvicorn's protocol, with patience for headers and a short way for uploads.

An upload that arrives in one piece, as nearly all do, needs none of what uvicorn keeps for bodies and answers in parts.
It goes to the same application with the body in its scope, and its answer is written at once: about half of the time
that a small request takes. Whatever else comes, an upload in parts too, takes uvicorn's own way.
"""

import asyncio
from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pldp.collector.http import BODY, Scope

_PATH: Final = "/v1/reports"
_URL: Final = _PATH.encode()
_STATUS: Final = {each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus}


class Protocol(HttpToolsProtocol):
    """Ends connections whose request does not begin, or whose header does not end, in time."""

    patience: float
    _waiting: asyncio.TimerHandle | None = None
    _in_header = False
    _held = False  # a header was read that uvicorn was not told of yet; the body may come in the same piece

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        """Expect a request."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._rest()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read; what is not whole after this piece is uvicorn's."""
        super().data_received(data)
        if self._in_header and self._waiting is None:
            self._expect()
        if self._held and not self.transport.is_closing():
            self._held = False
            super().on_headers_complete()
            super().on_body(self._body)

    def on_message_begin(self) -> None:
        """Begin a header."""
        super().on_message_begin()
        self._in_header = True

    def on_headers_complete(self) -> None:
        """Leave the body to the application, which has its own patience."""
        self._in_header = False
        self._rest()
        self._held = (
            self.url == _URL
            and self.parser.get_method() == b"POST"
            and (self.cycle is None or self.cycle.response_complete)
            and not (self.expect_100_continue or self.parser.should_upgrade())
            and len(self.connections) < (self.limit_concurrency or len(self.connections) + 1)
        )
        self._body = b""
        if not self._held:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body."""
        if self._held:
            self._body += body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Answer a request that came whole."""
        if not self._held:
            super().on_message_complete()
            return
        self._held = False
        keep_alive = self.parser.get_http_version() != "1.0" and self.parser.should_keep_alive()
        self.cycle = upload = _Upload(self, keep_alive=keep_alive)  # type: ignore[assignment] # a cycle to uvicorn
        scope: Any = self.scope  # gets what uvicorn would add after the header
        scope |= {
            "method": "POST",
            "path": _PATH,
            "raw_path": _URL,
            "query_string": b"",
            "extensions": {BODY: self._body},
        }
        task = self.loop.create_task(upload.run())
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def _expect(self) -> None:
        self._waiting = self.loop.call_later(self.patience, self.transport.close)

    def _rest(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class _Upload:
    """An upload on its way to the application and back; to uvicorn it is the cycle that goes on."""

    def __init__(self, protocol: Protocol, *, keep_alive: bool) -> None:
        self._protocol = protocol
        self._app: Any = protocol.app
        self._scope: Scope = protocol.scope  # type: ignore[assignment] # a mapping
        self._head = b""
        self.keep_alive = keep_alive
        self.disconnected = False
        self.response_complete = False
        self.message_event = self

    def set(self) -> None:
        """Do nothing: uvicorn wakes who waits for the body, and nobody does."""

    async def run(self) -> None:
        try:
            await self._app(self._scope, self._receive, self._send)
        finally:
            if not self.response_complete:
                self._protocol.transport.close()

    async def _receive(self) -> dict[str, Any]:
        return {"type": "http.request", "body": self._scope["extensions"][BODY], "more_body": False}

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = [*self._protocol.server_state.default_headers, *message["headers"]]
            self.keep_alive &= (b"connection", b"close") not in headers
            lines = b"".join([b"%s: %s\r\n" % header for header in headers])
            closing = b"" if self.keep_alive else b"connection: close\r\n"
            self._head = b"".join([_STATUS[message["status"]], lines, closing, b"\r\n"])
            return
        self.response_complete = True
        if self.disconnected:
            return
        self._protocol.transport.write(self._head + message["body"])
        if not self.keep_alive:
            self._protocol.transport.close()
        self._protocol.on_response_complete()
