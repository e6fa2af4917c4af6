"""Results that are made on request: one question in one format, or everything as files."""

import re
from typing import TYPE_CHECKING, Final

from pldp.collector.formats import archive, encode
from pldp.collector.http import Problem, ProblemError, Request, encode_json
from pldp.collector.settings import Settings
from pldp.collector.store import Store
from pldp.plain import plain
from pldp.show import by_level_part

if TYPE_CHECKING:
    from pldp.collector.answers import Reading


def encoded(store: Store, settings: Settings, question: str, kind: str, number: int | None) -> bytes:
    """Return the result of a question in a format."""
    from pldp.collector.answers import estimate  # noqa: PLC0415 - it loads slowly

    return encode(estimate(store.shown(number), question, store.step, _reading(settings)), kind)


COMPARED: Final = ("json", "html")
"""Formats of a comparison."""


def compared(store: Store, question: str, kind: str, number: int | None) -> bytes:
    """Return a question by level: all numbers as JSON, or what a dashboard shows as markup."""
    from pldp.collector.groups import by_level  # noqa: PLC0415 - it loads slowly

    content = by_level(store.shown(number), question, store.step)
    return encode_json(plain(content)) if kind == "json" else by_level_part(plain(content)).encode()


def everything(store: Store, settings: Settings, number: int | None, overview: bytes) -> bytes:
    """Return all results of a round and its overview as files."""
    from pldp.collector.answers import everything as every  # noqa: PLC0415 - it loads slowly

    return archive(*every(store.shown(number), store.step, _reading(settings)), overview)


def _reading(settings: Settings) -> "Reading":
    from pldp.collector.answers import Reading  # noqa: PLC0415 - it loads slowly

    return Reading(settings.known_shares(), settings.planned_reports or None)


def round_number(request: Request) -> int | None:
    """Return the number of the round that a request is about, if it names one."""
    if not request.query:
        return None
    asked = re.fullmatch(rb"round=([1-9][0-9]{0,8})", request.query)
    if asked is None:
        raise ProblemError(Problem.BAD_REQUEST, "the query must be round=N")
    return int(asked[1])


def reads_pages(request: Request) -> bool:
    """Tell whether a browser asks, and not a program for data."""
    return not request.path.startswith("/v1/") and b"text/html" in request.headers.get(b"accept", b"")
