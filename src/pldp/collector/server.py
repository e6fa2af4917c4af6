"""Run a collector: listen, tell the address, and end without losing what was taken."""

import asyncio
import json
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from pldp.collector.app import Collector
from pldp.collector.http import Receive, Scope, Send
from pldp.collector.settings import Settings
from pldp.collector.store import Store
from pldp.collector.tokens import Tokens
from pldp.errors import UsageError
from pldp.survey import Survey, load, read_logo

try:
    from uvloop import new_event_loop as _new_event_loop
except ImportError:  # there is none for Windows
    from asyncio import new_event_loop as _new_event_loop  # type: ignore[assignment] # any loop will do

HEADER_BYTES: Final = 128 << 10
"""Largest header, and most of a body that the server reads ahead of the application; more of a header gets 431."""

BACKLOG: Final = 1024  # connections beyond those that are served; they wait in the kernel
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
    survey = load(survey_path)
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
        serve_app(app, settings, ready, stop)
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


def serve_app(app: App, settings: Settings, ready: Callable[[str], None], stop: Callable[[], bool]) -> None:
    """Listen where the settings say and serve until the end, as `serve` does; the store stays open."""
    with _reserve(settings) as reserved, asyncio.Runner(loop_factory=_new_event_loop) as runner:
        runner.run(_serve(app, settings, reserved, ready, stop))


async def _serve(
    app: App,
    settings: Settings,
    reserved: socket.socket,
    ready: Callable[[str], None],
    stop: Callable[[], bool],
) -> None:
    host, port = reserved.getsockname()[:2]
    server = Server(
        app,
        host,
        port,
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        websockets=False,
        backlog=BACKLOG,
        backpressure=settings.connections,
        http1_settings=HTTP1Settings(header_read_timeout=1000 * settings.body_seconds, max_buffer_size=HEADER_BYTES),
        log_enabled=False,
        log_dictconfig=_QUIET,
    )
    ending = threading.Event()
    with _signals(ending.set):
        serving = asyncio.create_task(server.serve())
        upkeep = asyncio.create_task(app.upkeep())
        try:
            await _until_it_listens(serving, host, port)
            reserved.close()
            ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")
            while not (ending.is_set() or stop() or serving.done()):
                await asyncio.wait([serving], timeout=0.1)
        finally:
            ended_by_itself = serving.done()
            upkeep.cancel()
            server.stop()  # type: ignore[no-untyped-call] # granian has no types here
            await asyncio.wait([serving], timeout=GRACE)
            await app.close()
        if ended_by_itself:
            raise UsageError(f"{host}:{port}: the HTTP server ended by itself; start the collector again")


def _reserve(settings: Settings) -> socket.socket:
    """Return a socket that holds the address without listening, until the server listens there.

    The server itself would share a port with whoever allows it (`SO_REUSEPORT`). This socket does not: it is refused
    where anybody listens, and a free port that the kernel picked for it is nobody else's in between.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    reserved = socket.socket(family)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        reserved.bind((settings.host, settings.port))
    except (OSError, OverflowError) as error:
        reserved.close()
        raise UsageError(f"{settings.host}:{settings.port}: cannot listen there ({error})") from None
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
