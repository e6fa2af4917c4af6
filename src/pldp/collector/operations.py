"""For operators: durations of requests, the build, health and counters on a port of their own.

Counts of requests would date every upload, which results in steps keep from readers (decision 18). So durations are
shown in whole steps, too: those of an address wait until as many have come as a step has, and are then counted all at
once. A duration is the collector's own time, without what it waited for the body: otherwise a slow connection would
tell one person's upload from the others'.
"""

import asyncio
import platform
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterator
from importlib.metadata import version
from itertools import accumulate
from typing import Final

from pldp.collector import http
from pldp.collector.formats import METRICS
from pldp.collector.http import Problem, ProblemError, Request, Response, Route
from pldp.collector.store import Store
from pldp.errors import StoreError, StoreFullError

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the histogram's buckets, in seconds."""

_NAME: Final = "pldp_request_seconds"


class Durations:
    """Histograms of durations by route, in whole steps.

    >>> durations = Durations(step=2)
    >>> durations.add("GET /v1/survey", 0.004)
    >>> list(durations.lines())[1:]
    []
    >>> durations.add("GET /v1/survey", 0.2)
    >>> list(durations.lines())[3]
    'pldp_request_seconds_bucket{route="GET /v1/survey",le="0.005"} 1'
    """

    def __init__(self, step: int) -> None:
        self._step = step
        self._waiting: dict[str, list[float]] = {}
        self._counts: dict[str, list[int]] = {}  # of each bucket, the last one without a bound
        self._sums: dict[str, float] = {}

    def add(self, route: str, seconds: float) -> None:
        """Keep one duration, and count all of a route that wait once they are a step."""
        waiting = self._waiting.setdefault(route, [])
        waiting.append(seconds)
        if len(waiting) < self._step:
            return
        counts = self._counts.setdefault(route, [0] * (len(BOUNDS) + 1))
        for each in waiting:
            counts[bisect_left(BOUNDS, each)] += 1
        self._sums[route] = self._sums.get(route, 0.0) + sum(waiting)
        waiting.clear()

    def lines(self) -> Iterator[str]:
        """Yield the histograms as Prometheus reads them."""
        yield f"# TYPE {_NAME} histogram"
        for route, counts in sorted(self._counts.items()):
            for bound, count in zip((*BOUNDS, "+Inf"), accumulate(counts), strict=True):
                yield f'{_NAME}_bucket{{route="{route}",le="{bound}"}} {count}'
            yield f'{_NAME}_sum{{route="{route}"}} {self._sums[route]:.3f}'
            yield f'{_NAME}_count{{route="{route}"}} {sum(counts)}'


def build_lines() -> list[str]:
    """Return what runs here, as a gauge that is always 1."""
    labels = f'version="{version("pldp")}",python="{platform.python_version()}"'
    return ["# TYPE pldp_build_info gauge", f"pldp_build_info{{{labels}}} 1"]


class Operations:
    """An ASGI application of three addresses, none of which needs a token: `/metrics`, `/healthz`, `/readyz`."""

    def __init__(self, store: Store, counters: Callable[[], Awaitable[bytes]], durations: Durations) -> None:
        self._store = store
        self._counters = counters
        self._durations = durations
        self._router = http.Router(
            (
                Route("GET", "/metrics", "Counters, durations and the build", self._get_metrics),
                Route("GET", "/healthz", "The process lives", self.get_health),
                Route("GET", "/readyz", "The store answers and can be written", self.get_ready),
            )
        )

    async def __call__(self, scope: http.Scope, receive: http.Receive, send: http.Send) -> None:
        """Serve one request, as ASGI asks."""
        if scope["type"] != "http":
            raise NotImplementedError(scope["type"])
        request = Request(scope, receive)
        try:
            response = await self._router.find(request).handler(request)
        except ProblemError as problem:
            response = problem.response()
        except StoreError:
            response = ProblemError(Problem.STORE_UNAVAILABLE).response()
        await http.respond(send, response, with_body=request.method != "HEAD")

    async def _get_metrics(self, _: Request) -> Response:
        lines = [*build_lines(), *self._durations.lines(), ""]
        return Response(await self._counters() + "\n".join(lines).encode(), METRICS)

    async def get_health(self, _: Request) -> Response:
        """Tell that the process lives."""
        return http.json_response({"status": "ok"})

    async def get_ready(self, _: Request) -> Response:
        """Tell whether the store answers and can be written; a full disk is named."""
        try:
            await asyncio.to_thread(self._store.check_ready)
        except StoreFullError as error:
            raise ProblemError(Problem.STORE_UNAVAILABLE, str(error)) from None
        return http.json_response({"status": "ready"})
