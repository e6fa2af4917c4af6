"""Run a collector: listen, tell the address, and end without losing what was taken."""

import asyncio
import json
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Protocol

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from pldp.collector.app import Collector
from pldp.collector.http import Receive, Scope, Send
from pldp.collector.operations import Operations
from pldp.collector.settings import Settings
from pldp.collector.store import Store
from pldp.collector.tokens import Tokens
from pldp.errors import SurveyError, UsageError
from pldp.survey import Survey, load, read_logo, unclear_texts

try:
    from uvloop import new_event_loop as _new_event_loop
except ImportError:  # there is none for Windows
    from asyncio import new_event_loop as _new_event_loop  # type: ignore[assignment] # any loop will do

HEADER_BYTES: Final = 128 << 10
"""Largest header, and most of a body that the server reads ahead of the application; more of a header gets 431."""

BACKLOG: Final = 1024  # connections beyond those that are served; they wait in the kernel
OPERATORS: Final = 256  # connections at a time on the port for operations
OPERATORS_IDLE: Final = 3  # seconds after which one of them that asks nothing is closed
GRACE: Final = 10.0  # seconds in which requests that are being served may end when the collector does
_QUIET: Final = {"incremental": True, "handlers": {}, "loggers": {}}  # leaves everybody else's loggers alone


def serve(
    survey_path: str | Path,
    settings: Settings,
    ready: Callable[[str], None],
    stop: Callable[[], bool] = bool,
    *,
    preview: bool = False,
) -> None:
    """Serve a survey until the process is told to end; `ready` is called with the address once it listens.

    In another thread than the first one, `stop` says when to end; it is asked ten times a second. In a `preview` the
    people in the store are simulated.
    """
    survey = load(survey_path, running=True)
    unclear = unclear_texts(survey)
    if unclear and Tokens(settings.database).price() is None:  # people who answer it already can go on
        raise SurveyError(f"{survey_path}: {unclear[0]}")
    known = settings.known_shares()
    if known is not None:
        from pldp.estimates import check_known  # noqa: PLC0415 - loading it takes longer than all else at the start

        check_known(survey, known)
    logo = read_logo(survey, survey_path)
    store = Store(survey, settings.database, pairs=settings.question_pairs(), step=settings.result_step)
    try:
        document = _document(Path(survey_path), survey)
        tokens = Tokens(settings.database)
        app = Collector(survey, store, tokens, settings, document=document, preview=preview, logo=logo)
        serve_app(app, settings, ready, stop, app.operations)
    finally:
        store.close()


class App(Protocol):
    """An ASGI application that can be told to end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

    async def upkeep(self) -> None:
        """Do what has to be done now and then, until it is cancelled or nothing is left."""

    async def close(self) -> None:
        """Finish what was begun."""


def serve_app(
    app: App,
    settings: Settings,
    ready: Callable[[str], None],
    stop: Callable[[], bool],
    operations: Operations | None = None,
) -> None:
    """Listen where the settings say and serve until the end, as `serve` does; the store stays open."""
    with ExitStack() as held, asyncio.Runner(loop_factory=_new_event_loop) as runner:
        reserved = held.enter_context(_reserve(settings.host, settings.port))
        doors = [_Door(app, reserved, settings.connections, settings.body_seconds)]
        if settings.metrics_port and operations:
            reserved = held.enter_context(_reserve(settings.metrics_host, settings.metrics_port))
            doors.append(_Door(operations, reserved, OPERATORS, OPERATORS_IDLE))
        runner.run(_serve(app, doors, ready, stop))


class _Door:
    """One application on one address."""

    def __init__(self, app: App | Operations, reserved: socket.socket, connections: int, idle_seconds: int) -> None:
        self._app = app
        self._reserved = reserved
        self._connections = connections
        self._idle_seconds = idle_seconds
        self.host, self.port = reserved.getsockname()[:2]

    async def open(self) -> None:
        """Listen."""
        self._server = Server(
            self._app,
            self.host,
            self.port,
            interface=Interfaces.ASGINL,
            http=HTTPModes.http1,
            websockets=False,
            backlog=BACKLOG,
            backpressure=self._connections,
            http1_settings=HTTP1Settings(header_read_timeout=1000 * self._idle_seconds, max_buffer_size=HEADER_BYTES),
            log_enabled=False,
            log_dictconfig=_QUIET,
        )
        self.serving = asyncio.create_task(self._server.serve())
        await _until_it_listens(self.serving, self.host, self.port)
        self._reserved.close()

    def close(self) -> None:
        """Take no more connections."""
        self._server.stop()  # type: ignore[no-untyped-call] # granian has no types here


async def _serve(
    app: App,
    doors: Sequence[_Door],
    ready: Callable[[str], None],
    stop: Callable[[], bool],
) -> None:
    ending = threading.Event()
    opened: list[_Door] = []
    ended: list[_Door] = []
    with _signals(ending.set):
        upkeep = asyncio.create_task(app.upkeep())
        try:
            for door in doors:
                opened.append(door)
                await door.open()
            host, port = doors[0].host, doors[0].port
            ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")
            serving = [door.serving for door in doors]
            while not (ending.is_set() or stop() or any(each.done() for each in serving)):
                await asyncio.wait(serving, timeout=0.1, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended = [door for door in opened if door.serving.done()]
            upkeep.cancel()
            for door in opened:
                door.close()
            await asyncio.wait([door.serving for door in opened], timeout=GRACE)
            await app.close()
        for door in ended:
            raise UsageError(f"{door.host}:{door.port}: the HTTP server ended by itself; start the collector again")


def _reserve(host: str, port: int) -> socket.socket:
    """Return a socket that holds the address without listening, until the server listens there.

    The server itself would share a port with any process that allows it (`SO_REUSEPORT`). This socket does not: it
    is refused where another process listens, and a free port that the kernel picked for it is nobody else's in between.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    reserved = socket.socket(family)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        reserved.bind((host, port))
    except (OSError, OverflowError) as error:
        reserved.close()
        raise UsageError(f"{host}:{port}: cannot listen there ({error})") from None
    return reserved


async def _until_it_listens(serving: asyncio.Task[None], host: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    while not serving.done():
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as caller:
            caller.setblocking(False)  # noqa: FBT003 - has no name
            try:
                await loop.sock_connect(caller, (_reachable(host), port))
            except OSError:
                await asyncio.sleep(0.01)
            else:
                return


def _reachable(host: str) -> str:
    """Return where a server that listens on all addresses can be reached from here."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - nothing listens here


@contextmanager
def _signals(end: Callable[[], None]) -> Iterator[None]:
    """Let SIGTERM and Ctrl-C end the server well; only the first thread of a process gets them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.signal(each, lambda *_: end()) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _document(path: Path, survey: Survey) -> bytes:
    """Return the signed survey as it is in its file; one without a signature is spelled out."""
    text = path.read_text(encoding="utf-8")
    signed = text.lstrip().startswith("{") and "signature" in json.loads(text)
    return text.encode() if signed else survey.canonical
