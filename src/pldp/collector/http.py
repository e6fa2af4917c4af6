"""The little of HTTP that the collector needs: bounded bodies, safe headers, problems (RFC 9457), a table of routes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from enum import Enum
from time import perf_counter
from typing import Any, Final, NamedTuple

import msgspec

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]

SAFE: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"server", b"pldp"),  # otherwise the HTTP server names itself
)
"""Headers of every response."""

SWEEP_SECONDS: Final = 0.25  # between two looks for bodies that are late

encode_json = msgspec.json.Encoder().encode  # turns data, dataclasses and structs into JSON


class Problem(Enum):
    """The code (the name in small letters), the HTTP status, and what it means."""

    BAD_REQUEST = 400, "The request breaks a rule"
    BAD_TOKEN = 401, "A valid token is needed"
    WRONG_SCOPE = 403, "The token does not allow this"
    PREVIEW = 403, "This collector shows simulated people and takes no reports"
    NOT_FOUND = 404, "There is nothing here"
    UNKNOWN_RECEIPT = 404, "No stored report has this receipt"
    METHOD_NOT_ALLOWED = 405, "This address does not take this method"
    NOT_ACCEPTABLE = 406, "This format is not on offer"
    TOO_SLOW = 408, "The body did not arrive in time"
    NO_ESTIMATE = 409, "The reports do not allow this estimate"
    REPORTS_DELETED = 410, "The single reports of this round were deleted"
    TOO_LARGE = 413, "The body is larger than allowed"
    TOO_MANY_REPORTS = 413, "The batch has more reports than allowed"
    WRONG_CONTENT_TYPE = 415, "The body has another content type than this address takes"
    WRONG_HOST = 421, "The request is addressed to another host"
    REJECTED = 422, "The report is rejected"
    TOO_MANY_REQUESTS = 429, "Too many requests from one address"
    INTERNAL = 500, "The collector made a mistake"
    OVERLOADED = 503, "More is waiting than the collector takes"
    STORE_UNAVAILABLE = 503, "The store cannot be written now"
    STORE_FULL = 507, "The store has no room for more"

    def __init__(self, status: int, title: str) -> None:
        self.status = status
        self.title = title
        self.code = self.name.lower()


_READ_WHOLE: Final = {
    *(Problem.REJECTED, Problem.NO_ESTIMATE, Problem.UNKNOWN_RECEIPT, Problem.REPORTS_DELETED, Problem.OVERLOADED)
}
"""Problems that come after a body was read to its end, so that the connection can go on."""


class Response(NamedTuple):
    """What a handler returns."""

    body: bytes
    kind: str = "application/json"
    status: int = 200
    headers: Headers = ()


class ProblemError(Exception):
    """Ends a request with a problem; `code` is more precise where a rejection is the reason."""

    def __init__(self, problem: Problem, detail: str = "", *, code: str = "", retry_after: int = 0) -> None:
        super().__init__(problem.code)
        self.problem = problem
        self.detail = {"detail": detail} if detail else {}
        self.code = code or problem.code
        self.retry_after = retry_after

    def forget(self) -> None:
        """Let go of where it was raised: the half of a body, and the connection, which ends with its last reference."""
        self.__traceback__ = self.__context__ = None

    def response(self) -> Response:
        """Return the problem document; where the body may not have been read to its end, the connection is closed.

        >>> ProblemError(Problem.TOO_SLOW).response().body
        b'{"type":"about:blank","title":"The body did not arrive in time","status":408,"code":"too_slow"}'
        """
        status, title = self.problem.value
        document = {"type": "about:blank", "title": title, "status": status, "code": self.code, **self.detail}
        headers: list[tuple[bytes, bytes]] = []
        if self.retry_after:
            headers.append((b"retry-after", b"%d" % self.retry_after))
        if self.problem is Problem.BAD_TOKEN:
            headers.append((b"www-authenticate", b"Bearer"))
        if self.problem not in _READ_WHOLE:
            headers.append((b"connection", b"close"))
        return Response(encode_json(document), "application/problem+json", status, tuple(headers))


class Deadlines:
    """Ends bodies that take too long. One timer looks after all: one for each would cost as much as reading it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._reading: dict[asyncio.Task[Any], float] = {}
        self._late: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> asyncio.Task[Any] | None:
        """Begin to read in the task that runs, which is returned; it is cancelled once it is late."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if self._loop is not loop:
            self._loop, self._reading = loop, {}
            loop.call_later(SWEEP_SECONDS, self._sweep, loop)
        if task is not None:
            self._reading[task] = loop.time() + self.seconds
        return task

    def stop(self, task: asyncio.Task[Any] | None) -> None:
        """End reading, in time or not."""
        self._reading.pop(task, None)  # type: ignore[arg-type] # what is not there is not taken out

    def is_late(self, task: asyncio.Task[Any] | None) -> bool:
        """Tell whether a task was cancelled for being late, and let it go on."""
        if task is None or task not in self._late:
            return False
        self._late.discard(task)
        task.uncancel()
        return True

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Cancel who is late; again in a moment, as long as this is the loop that serves."""
        if loop is not self._loop:
            return
        now = loop.time()
        for task in [task for task, deadline in self._reading.items() if deadline < now]:
            del self._reading[task]
            self._late.add(task)
            task.cancel()
        loop.call_later(SWEEP_SECONDS, self._sweep, loop)


class Request:
    """One request: headers by name, the body once it is asked for."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.parameter = ""  # the end of the path, where the route leaves it open
        self.scope = ""  # what the token of the request allows, once it was checked
        self.caller = ""  # and its name
        self.route = "other"  # whose durations it belongs to
        self.waited = 0.0  # seconds until the body was there
        self.query: bytes = scope.get("query_string", b"")
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        client = scope.get("client")
        self.address: str = client[0] if client else ""
        self._receive = receive

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

    async def body(self, most_bytes: int, deadlines: Deadlines, hold: Callable[[int], object] = int) -> bytes:
        """Read the body; `hold` is told of each part as it arrives, so that no body fills the memory."""
        length = self.headers.get(b"content-length", b"")
        if length and (not length.isdigit() or len(length) > 18 or int(length) > most_bytes):
            raise ProblemError(Problem.TOO_LARGE, f"a body has at most {most_bytes} bytes")
        if self.headers.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
            raise ProblemError(Problem.BAD_REQUEST, "a body has a length, or is chunked once")
        # Once all of a known length is there, asking for the end would cost one more turn.
        expected = int(length or most_bytes + 1)
        parts: list[bytes] = []
        size = 0
        task = deadlines.start()
        try:
            while True:
                start = perf_counter()
                message = await self._receive()
                self.waited += perf_counter() - start
                if message["type"] == "http.disconnect":
                    raise ProblemError(Problem.BAD_REQUEST, "the body breaks off, or its chunks are malformed")
                part = message.get("body", b"")
                size += len(part)
                if size > most_bytes:
                    raise ProblemError(Problem.TOO_LARGE, f"a body has at most {most_bytes} bytes")
                hold(len(part))
                if size >= expected or not message.get("more_body", False):
                    return b"".join((*parts, part)) if parts else part
                parts.append(part)
        except asyncio.CancelledError:
            if not deadlines.is_late(task):
                raise
            raise ProblemError(Problem.TOO_SLOW, f"a body must arrive in {deadlines.seconds:g} seconds") from None
        finally:
            deadlines.stop(task)

    async def disconnect(self) -> None:
        """Return once the client has closed the connection; a body that nobody reads is dropped."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


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


Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Route:
    """One address and method: what it does in words, and who answers a request.

    The end of the path may be a parameter in braces, which may contain slashes. `scope` is what a token must allow
    (empty: none is needed), `takes` and `gives` are the media types of body and answer, `body` names the schema of the
    body, `query` the whole numbers from 1 on that may stand in the query. An answer that is `tagged` has an ETag, and
    is 304 to who has it. `problems` are those that cannot happen everywhere.
    """

    method: str
    path: str
    summary: str
    handler: Handler
    scope: str = ""
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ("application/json",)
    body: str = ""
    query: tuple[str, ...] = ()
    tagged: bool = False
    problems: tuple[Problem, ...] = ()

    @property
    def label(self) -> str:
        """Name the route in histograms of durations; what pages load counts together, and has no summary."""
        return f"{self.method} {self.path}" if self.summary else "pages"


class Router:
    """Finds the route of a request."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._fixed: dict[str, dict[str, Route]] = {}
        self._open: dict[str, dict[str, Route]] = {}  # by the path up to the parameter
        for route in routes:
            start, brace, _ = route.path.partition("{")
            (self._open if brace else self._fixed).setdefault(start, {})[route.method] = route

    def find(self, request: Request) -> Route:
        """Return the route and give the request its parameter; HEAD is answered like GET."""
        methods = self._fixed.get(request.path)
        if methods is None:
            start = next((each for each in self._open if request.path.startswith(each) and request.path != each), "")
            methods, request.parameter = self._open.get(start), request.path.removeprefix(start)
        if methods is None:
            raise ProblemError(Problem.NOT_FOUND)
        route = methods.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            raise ProblemError(Problem.METHOD_NOT_ALLOWED, f"allowed: {', '.join(methods)}")
        return route
