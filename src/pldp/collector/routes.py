"""The table of routes: which address takes which method, from whom, and what it takes and gives."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from pldp.collector.http import Request, Response
from pldp.collector.problems import Problem, ProblemError

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Route:
    """One address and method: what it does in words, and who answers a request.

    A part of the path in braces is a parameter, the last of which may contain slashes. `scope` is what a token must
    allow (empty: none is needed), `takes` and `gives` are the media types of body and answer, `body` names the schema
    of the body, `query` the whole numbers from 1 on that may stand in the query. An answer that is `tagged` has an
    ETag, and is 304 to who has it. `problems` are those that cannot happen everywhere.
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
        return re.findall(r"\{(\w+)\}", self.path)


class Router:
    """Finds the route of a request."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._fixed: dict[str, dict[str, Route]] = {}
        self._templates: dict[tuple[str, ...], dict[str, Route]] = {}
        for route in routes:
            if route.parameters:
                self._templates.setdefault(tuple(route.path.split("/")), {})[route.method] = route
            else:
                self._fixed.setdefault(route.path, {})[route.method] = route

    def find(self, request: Request) -> Route:
        """Return the route and give the request its parameters; HEAD is answered like GET."""
        methods = self._fixed.get(request.path) or self._match(request)
        if methods is None:
            raise ProblemError(Problem.NOT_FOUND)
        route = methods.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            raise ProblemError(Problem.METHOD_NOT_ALLOWED, f"allowed: {', '.join(methods)}")
        return route

    def _match(self, request: Request) -> dict[str, Route] | None:
        segments = request.segments()
        for template, methods in self._templates.items():
            parameters = match(template, segments)
            if parameters is not None:
                request.parameters = parameters
                return methods
        return None


def match(template: Sequence[str], segments: Sequence[str]) -> dict[str, str] | None:
    """Return the parameters of a path that fits a template, both split at slashes; none of them is empty.

    >>> match(["", "v1", "{name}"], ["", "v1", "a/b"]), match(["", "v1", "{name}"], ["", "v1", ""])
    ({'name': 'a/b'}, None)
    """
    last = len(template) - 1
    if len(segments) > last and template[last].startswith("{"):
        segments = [*segments[:last], "/".join(segments[last:])]
    if len(segments) != len(template):
        return None
    parameters = {}
    for wanted, segment in zip(template, segments, strict=True):
        if wanted.startswith("{") and segment:
            parameters[wanted[1:-1]] = segment
        elif wanted != segment:
            return None
    return parameters
