"""Which pages of other origins may use the API (CORS): those on an exact list, none by default, never with cookies."""

from collections.abc import Iterable
from typing import Final

from pldp.collector.http import Request, Response

_VARY: Final = (b"vary", b"origin")


class Origins:
    """The origins that a setting names, separated by spaces.

    >>> Origins("https://app.example.org").allowed
    frozenset({b'https://app.example.org'})
    """

    def __init__(self, text: str) -> None:
        self.allowed = frozenset(origin.encode() for origin in text.split())

    def headers(self, request: Request) -> tuple[tuple[bytes, bytes], ...]:
        """Return what lets the page that sent a request read the answer; nothing of the sort for other pages."""
        origin = request.headers.get(b"origin", b"")
        if origin not in self.allowed:
            return (_VARY,)
        return (
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", b"etag, retry-after"),
            _VARY,
        )

    def asks(self, request: Request) -> bool:
        """Tell whether a browser asks here on behalf of an allowed page whether that may send a request."""
        return (
            request.method == "OPTIONS"
            and b"access-control-request-method" in request.headers
            and request.headers.get(b"origin", b"") in self.allowed
        )

    def grant(self, methods: Iterable[str]) -> Response:
        """Return the answer to that; a path that does not take the method says so itself."""
        headers = (
            (b"access-control-allow-methods", ", ".join(sorted(set(methods))).encode()),
            (b"access-control-allow-headers", b"authorization, content-type, if-none-match"),
            (b"access-control-max-age", b"7200"),
        )
        return Response(b"", status=204, headers=headers)
