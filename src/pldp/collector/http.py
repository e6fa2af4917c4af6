"""The little of ASGI that the collector needs: bounded bodies, responses with headers that forbid, problems."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, NamedTuple

import msgspec

from pldp.collector.problems import Problem, ProblemError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

BODY: Final = "pldp.body"
"""Extension of the scope: the body, where it came whole with the header."""

SAFE: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
"""Headers of every response."""


encode_json = msgspec.json.Encoder().encode
"""Turns data, dataclasses and structs into JSON."""


class Gone(Exception):
    """The client left before its request was complete."""


class Response(NamedTuple):
    """What a handler returns."""

    body: bytes
    kind: str = "application/json"
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Request:
    """One request: headers by name, the body once it is asked for."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.parameters: dict[str, str] = {}
        """Parts of the path, by the names that the route gives them."""
        self.scope = ""
        """What the token of the request allows, once it was checked."""
        self.query: bytes = scope.get("query_string", b"")
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        client = scope.get("client")
        self.address: str = client[0] if client else ""
        self._receive = receive
        self._whole: bytes | None = scope.get("extensions", {}).get(BODY)

    def content_type(self) -> str:
        """Return the media type of the body; a compressed body is none that is taken."""
        if self.headers.get(b"content-encoding", b"identity") != b"identity":
            raise ProblemError(Problem.WRONG_CONTENT_TYPE, "bodies must not be compressed")
        kind, _, parameter = self.headers.get(b"content-type", b"").decode("latin-1").lower().partition(";")
        if parameter.strip() not in {"", "charset=utf-8", 'charset="utf-8"'}:
            return ""
        return kind.strip()

    def token(self) -> str:
        """Return the bearer token, empty if there is none."""
        kind, _, token = self.headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        return token if kind.lower() == "bearer" else ""

    async def body(self, most_bytes: int, most_seconds: float) -> bytes:
        """Read the body; it is counted while it arrives, so that a large or slow one never fills the memory."""
        length = self.headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 18 or int(length) > most_bytes:
            raise ProblemError(Problem.TOO_LARGE, f"a body has at most {most_bytes} bytes")
        if self._whole is not None and len(self._whole) <= most_bytes:
            return self._whole
        try:
            async with asyncio.timeout(most_seconds):
                return await self._read(most_bytes)
        except TimeoutError:
            raise ProblemError(Problem.TOO_SLOW, f"a body must arrive in {most_seconds:g} seconds") from None

    async def _read(self, most_bytes: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Gone
            part = message.get("body", b"")
            size += len(part)
            if size > most_bytes:
                raise ProblemError(Problem.TOO_LARGE, f"a body has at most {most_bytes} bytes")
            if not message.get("more_body", False):
                return b"".join((*parts, part)) if parts else part
            parts.append(part)


def json_response(content: Any) -> Response:
    """Return content as JSON."""
    return Response(encode_json(content))


async def respond(send: Send, response: Response, *, with_body: bool = True) -> None:
    """Send a response."""
    headers = [(b"content-type", response.kind.encode()), (b"content-length", b"%d" % len(response.body)), *SAFE]
    if response.headers:
        names = {name for name, _ in response.headers}
        headers = [*(header for header in headers if header[0] not in names), *response.headers]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body if with_body else b""})


def with_etag(request: Request, tag: str, response: Response) -> Response:
    """Return a response under a tag, or 304 if the client has it already; an empty tag is never known."""
    if not tag:
        return response
    quoted = f'"{tag}"'.encode()
    headers = (*response.headers, (b"etag", quoted), (b"cache-control", b"no-cache"))
    if request.headers.get(b"if-none-match") == quoted:
        return Response(b"", response.kind, 304, headers)
    return response._replace(headers=headers)


def problem_response(error: ProblemError) -> Response:
    """Return the problem document; where the body may not have been read to its end, the connection is closed."""
    headers: list[tuple[bytes, bytes]] = []
    if error.retry_after:
        headers.append((b"retry-after", b"%d" % error.retry_after))
    if error.problem is Problem.BAD_TOKEN:
        headers.append((b"www-authenticate", b"Bearer"))
    if error.problem not in {Problem.REJECTED, Problem.NO_ESTIMATE, Problem.UNKNOWN_RECEIPT, Problem.OVERLOADED}:
        headers.append((b"connection", b"close"))
    return Response(encode_json(error.document()), "application/problem+json", error.problem.status, tuple(headers))
