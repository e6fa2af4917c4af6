"""Who may call the collector, and how often: a token bucket for each address, and the pages of other origins (CORS)."""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable
from ipaddress import ip_network
from time import monotonic
from typing import Final

from pldp.collector.http import Request, Response

MOST_ADDRESSES: Final = 100_000  # addresses that are remembered; the one not seen for longest is forgotten first
_VARY: Final = (b"vary", b"origin")


def sender(address: str) -> str:
    """Return whose requests are counted together: an address, or the 64 bits of an IPv6 network that one sender has.

    >>> sender("192.0.2.1"), sender("2001:db8::1:2"), sender("2001:db8:0:0:9::7")
    ('192.0.2.1', '2001:db8::', '2001:db8::')
    """
    if ":" not in address:
        return address
    try:
        return str(ip_network((address.partition("%")[0], 64), strict=False).network_address)
    except ValueError:
        return address


class RateLimit:
    """Lets `rate` requests per second through for each address, and bursts of as many as come in `burst` seconds.

    >>> now = 0.0
    >>> limit = RateLimit(2, burst=1, clock=lambda: now)
    >>> [limit.wait("one") for _ in range(3)], limit.wait("two")
    ([0, 0, 1], 0)
    """

    def __init__(self, rate: float, *, burst: float = 10, clock: Callable[[], float] = monotonic) -> None:
        self._rate = rate
        self._most = max(1.0, rate * burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, address: str) -> int:
        """Return 0 if a request may pass, otherwise after how many whole seconds to try again."""
        now = self._clock()
        address = sender(address)
        left, then = self._buckets.pop(address, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        allowed = left >= 1
        self._buckets[address] = (left - 1 if allowed else left, now)
        if len(self._buckets) > MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        return 0 if allowed else math.ceil((1 - left) / self._rate)


class Origins:
    """Pages of other origins that may use the API: those that a setting names, separated by spaces; never with cookies.

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
