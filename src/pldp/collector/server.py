"""Run a collector: listen, tell the addresses, and end without losing what was taken."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pldp.collector.app import Collector
from pldp.collector.settings import Settings
from pldp.collector.store import Store
from pldp.collector.tokens import Tokens
from pldp.errors import UsageError
from pldp.survey import Survey, load


def serve(survey_path: str | Path, settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve a survey until the process is told to end; `ready` is called with the address once it listens."""
    survey = load(survey_path)
    store = Store(survey, settings.database, pairs=settings.paired())
    try:
        app = Collector(
            survey, store, Tokens(settings.database), settings, document=_document(Path(survey_path), survey)
        )
        with _listen(settings) as listener:
            host, port = listener.getsockname()[:2]
            server = _Server(
                _config(app, settings), lambda: ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")
            )
            logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
            server.run([listener])
    finally:
        store.close()


class _Server(uvicorn.Server):
    """Tells when it serves."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets)
        if self.started:
            self._ready()


class _Protocol(HttpToolsProtocol):
    """Ends connections whose request does not begin, or whose header does not end, in time."""

    patience: float
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        """Expect a request."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._rest()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Expect the rest of the header."""
        super().on_message_begin()
        if self._waiting is None:
            self._expect()

    def on_headers_complete(self) -> None:
        """Leave the body to the application, which has its own patience."""
        self._rest()
        super().on_headers_complete()

    def _expect(self) -> None:
        self._waiting = self.loop.call_later(self.patience, self.transport.close)

    def _rest(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def _config(app: Collector, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=type("Protocol", (_Protocol,), {"patience": settings.body_seconds}),
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxy),
        forwarded_allow_ips=settings.trusted_proxy or None,
        limit_concurrency=settings.connections,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=10,
    )


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise UsageError(f"{settings.host}:{settings.port}: cannot listen there ({error})") from None
    return listener


def _document(path: Path, survey: Survey) -> bytes:
    """Return the signed survey as it is in its file; one without a signature is spelled out."""
    text = path.read_text(encoding="utf-8")
    signed = text.lstrip().startswith("{") and "signature" in json.loads(text)
    return text.encode() if signed else survey.canonical
