"""The table of routes: which address takes which method, from whom, and what it takes and gives."""

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final

from pldp.collector.http import Request, Response
from pldp.collector.problems import Problem, ProblemError

Handler = Callable[[Request], Awaitable[Response]]

_PARAMETER: Final = re.compile(r"\{(\w+)\}$")


@dataclass(frozen=True)
class Route:
    """One address and method: what it does in words, and who answers a request.

    The end of the path may be a parameter in braces, which may contain slashes. `scope` is what a token must allow
    (empty: none is needed), `takes` and `gives` are the media types of body and answer, `body` names the schema of the
    body, `query` the whole numbers from 1 on that may stand in the query. An answer that is `tagged` has an ETag, and
    is 304 to who has it. `problems` are those that cannot happen everywhere.
    """

    method: str
    path: str
    summary: str
    handler: Handler
    scope: str = ""
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ("application/json",)
    body: str = ""
    query: tuple[str, ...] = ()
    tagged: bool = False
    problems: tuple[Problem, ...] = ()

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters in the path.

        >>> async def nothing(request: Request) -> Response: ...
        >>> Route("GET", "/v1/estimates/{question}", "", nothing).parameters
        ['question']
        """
        return _PARAMETER.findall(self.path)


class Router:
    """Finds the route of a request."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._fixed: dict[str, dict[str, Route]] = {}
        self._patterns: list[tuple[re.Pattern[str], Route]] = []
        for route in routes:
            if route.parameters:
                self._patterns.append((re.compile(_PARAMETER.sub(r"(?P<\1>(?s:.+))", route.path)), route))
            else:
                self._fixed.setdefault(route.path, {})[route.method] = route

    def find(self, request: Request) -> Route:
        """Return the route and give the request its parameters; HEAD is answered like GET."""
        methods = self._fixed.get(request.path) or self._match(request)
        if not methods:
            raise ProblemError(Problem.NOT_FOUND)
        route = methods.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            raise ProblemError(Problem.METHOD_NOT_ALLOWED, f"allowed: {', '.join(methods)}")
        return route

    def _match(self, request: Request) -> dict[str, Route]:
        methods = {}
        for pattern, route in self._patterns:
            if found := pattern.fullmatch(request.path):
                request.parameters = found.groupdict()
                methods[route.method] = route
        return methods
