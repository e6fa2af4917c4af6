"""Who may call the collector, and how much of it: addresses, hosts, rates, held bytes, other origins (CORS)."""

import math
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from ipaddress import ip_address, ip_network
from time import monotonic
from typing import Final, Self

from pldp.collector.http import Problem, ProblemError, Request, Response
from pldp.collector.settings import Settings

MOST_ADDRESSES: Final = 100_000  # addresses that are remembered; the one not seen for longest is forgotten first
SHARE: Final = 4  # one address may hold one part in so many of all bytes that are held
_VARY: Final = (b"vary", b"origin")
_HERE: Final = ("localhost", "127.0.0.1", "[::1]")
_HOST: Final = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]*?)\.?(?::[0-9]*)?")


def address_of(request: Request, proxy: str) -> str:
    """Return where a request comes from: of a trusted proxy what it says last, of everybody else their own address."""
    if not proxy or plain_address(request.address) != proxy:
        return request.address
    told = request.headers.get(b"x-forwarded-for", b"").decode("latin-1").rpartition(",")[2].strip()
    return plain_address(told) or request.address


def plain_address(text: str) -> str:
    """Return an IP address in its one usual form, empty if it is none; an IPv4 address in an IPv6 one is taken out.

    >>> plain_address("::ffff:192.0.2.1"), plain_address("2001:DB8:0::1"), plain_address("unknown")
    ('192.0.2.1', '2001:db8::1', '')
    """
    try:
        address = ip_address(text)
    except ValueError:
        return ""
    return str(getattr(address, "ipv4_mapped", None) or address)


def sender(address: str) -> str:
    """Return whose requests are counted together: an address, or the 64 bits of an IPv6 network that one sender has.

    >>> sender("192.0.2.1"), sender("::ffff:192.0.2.1"), sender("2001:db8::1:2"), sender("2001:db8:0:0:9::7")
    ('192.0.2.1', '192.0.2.1', '2001:db8::', '2001:db8::')
    """
    if ":" not in address:
        return address
    plain = plain_address(address.partition("%")[0])
    if ":" not in plain:
        return plain or address
    return str(ip_network((plain, 64), strict=False).network_address)


class Hosts:
    """Names that requests may be addressed to, so that no page of another name can read here (DNS rebinding).

    Those that the settings give; if they give none, any, but on loopback without a proxy only this machine's own.
    A request that names no host at all, as no browser sends, passes.

    >>> hosts = Hosts(Settings())
    >>> [hosts.allow(name) for name in (b"localhost:8300", b"127.0.0.1", b"[::1]:80", b"evil.example:8300", b"")]
    [True, True, True, False, True]
    """

    def __init__(self, settings: Settings) -> None:
        local = settings.host == "localhost" or is_loopback(settings.host)
        names = settings.hosts.split()
        self._any = not names and (not local or bool(settings.trusted_proxy))
        own = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._names = frozenset(name.lower().encode() for name in (*names, *_HERE, own))
        self._last = b""  # that was allowed: nearly all requests name the same

    def allow(self, host: bytes) -> bool:
        """Tell whether a header `Host` is one of them, with any port."""
        if self._any or not host or host == self._last:
            return True
        found = _HOST.fullmatch(host.lower())
        if found is None or found[1] not in self._names:
            return False
        self._last = host
        return True


def is_loopback(text: str) -> bool:
    """Tell whether an address is this machine's own and can be reached from no other."""
    plain = plain_address(text)
    return bool(plain) and ip_address(plain).is_loopback


class Held:
    """Bytes of bodies that came and whose reports are not stored yet: so many in all, a quarter of them of one sender.

    >>> held = Held(8)
    >>> with held.of("one") as mine:
    ...     mine.add(2)
    ...     held.total
    2
    >>> held.total
    0
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._share = max(1, most // SHARE)
        self._senders: Counter[str] = Counter()
        self.total = 0

    def of(self, address: str) -> "HeldBody":
        """Begin a body; what it holds is free again when the block ends."""
        return HeldBody(self, sender(address))

    def change(self, sender: str, count: int) -> None:
        """Take so many bytes or, below zero, give them back; `ProblemError` says that there is no room."""
        if count > 0 and self.total + count > self._most:
            raise ProblemError(Problem.OVERLOADED, retry_after=1)
        if count > 0 and self._senders[sender] + count > self._share:
            detail = f"bodies of one address that are not stored yet have at most {self._share} bytes"
            raise ProblemError(Problem.TOO_MANY_REQUESTS, detail, retry_after=1)
        self.total += count
        self._senders[sender] += count
        if not self._senders[sender]:
            del self._senders[sender]


class HeldBody:
    """What one body holds."""

    __slots__ = ("_all", "_sender", "count")

    def __init__(self, every: Held, sender: str) -> None:
        self._all, self._sender, self.count = every, sender, 0

    def add(self, count: int) -> None:
        """Hold so many bytes more."""
        self._all.change(self._sender, count)
        self.count += count

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.count:
            self._all.change(self._sender, -self.count)


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
