"""Run a collector: listen, tell the addresses, and end without losing what was taken."""

import json
import logging
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from pldp.collector.app import Collector
from pldp.collector.protocol import Protocol
from pldp.collector.settings import Settings
from pldp.collector.store import Store
from pldp.collector.tokens import Tokens
from pldp.errors import UsageError
from pldp.survey import Survey, load


def serve(
    survey_path: str | Path, settings: Settings, ready: Callable[[str], None], stop: Callable[[], bool] = bool
) -> None:
    """Serve a survey until the process is told to end; `ready` is called with the address once it listens.

    In another thread than the first one, `stop` says when to end; it is asked ten times a second.
    """
    survey = load(survey_path)
    store = Store(survey, settings.database, pairs=settings.question_pairs(), step=settings.result_step)
    try:
        app = Collector(
            survey, store, Tokens(settings.database), settings, document=_document(Path(survey_path), survey)
        )
        serve_app(app, settings, ready, stop)
    finally:
        store.close()


def serve_app(app: Collector, settings: Settings, ready: Callable[[str], None], stop: Callable[[], bool]) -> None:
    """Listen where the settings say and serve until the end, as `serve` does; the store stays open."""
    with _listen(settings) as listener:
        host, port = listener.getsockname()[:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        config = uvicorn.Config(
            app,
            http=type("Protocol", (Protocol,), {"patience": settings.body_seconds}),
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
        _Server(config, lambda: ready(address), stop).run([listener])


class _Server(uvicorn.Server):
    """Tells when it serves, and ends when it should."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], stop: Callable[[], bool]) -> None:
        super().__init__(config)
        self._ready = ready
        self._stop = stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self._stop()


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
