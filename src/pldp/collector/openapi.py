"""The OpenAPI document, made from the same table of routes that serves."""

import json
import re
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from pldp.collector.http import Problem, Route
from pldp.reports import Rejection

_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"enum": [*(problem.code for problem in Problem), *(reason.value for reason in Rejection)]},
        "detail": {"type": "string"},
    },
}


def openapi(routes: Sequence[Route]) -> dict[str, Any]:
    """Return the document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    report = json.loads(files("pldp.reports").joinpath("report.schema.json").read_text(encoding="utf-8"))
    return {
        "openapi": "3.1.0",
        "info": {"title": "pldp collector", "version": version("pldp")},
        "paths": paths,
        "components": {
            "schemas": {"report": report, "problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    problems = {Problem.TOO_MANY_REQUESTS, Problem.WRONG_HOST, *route.problems}
    if route.scope:
        problems |= {Problem.BAD_TOKEN, Problem.WRONG_SCOPE, Problem.STORE_UNAVAILABLE}
    responses: dict[str, Any] = {"200": {"description": "Done", "content": {kind: {} for kind in route.gives}}}
    for status in sorted({problem.status for problem in problems}):
        titles = [problem.title for problem in Problem if problem in problems and problem.status == status]
        content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}}}
        responses[str(status)] = {"description": "; ".join(titles), "content": content}
    operation: dict[str, Any] = {"summary": route.summary, "responses": responses}
    if route.scope:
        operation["security"] = [{"token": []}]
        operation["x-scope"] = route.scope
    if route.takes:
        schema = {"schema": {"$ref": f"#/components/schemas/{route.body}"}} if route.body else {}
        operation["requestBody"] = {"required": True, "content": dict.fromkeys(route.takes, schema)}
    names = re.findall(r"{(\w+)}", route.path)
    parameters = [
        *({"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names),
        *({"name": name, "in": "query", "schema": {"type": "integer", "minimum": 1}} for name in route.query),
    ]
    if parameters:
        operation["parameters"] = parameters
    if route.tagged:
        responses["304"] = {"description": "It has not changed since the one in If-None-Match"}
    return operation
