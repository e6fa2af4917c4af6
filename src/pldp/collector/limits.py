"""How many requests one address may send: a token bucket each, in bounded memory."""

import math
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import ip_network
from time import monotonic
from typing import Final

MOST_ADDRESSES: Final = 100_000  # addresses that are remembered; the one not seen for longest is forgotten first


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
