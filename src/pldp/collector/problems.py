"""What a request gets that cannot be served: RFC 9457 problem documents with stable codes."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple


class _Kind(NamedTuple):
    status: int
    title: str


class Problem(Enum):
    """The code (the name in small letters), the HTTP status, and what it means."""

    BAD_REQUEST = _Kind(400, "The request breaks a rule")
    BAD_TOKEN = _Kind(401, "A valid token is needed")
    WRONG_SCOPE = _Kind(403, "The token does not allow this")
    NOT_FOUND = _Kind(404, "There is nothing here")
    UNKNOWN_RECEIPT = _Kind(404, "No stored report has this receipt")
    METHOD_NOT_ALLOWED = _Kind(405, "This address does not take this method")
    NOT_ACCEPTABLE = _Kind(406, "This format is not on offer")
    TOO_SLOW = _Kind(408, "The body did not arrive in time")
    NO_ESTIMATE = _Kind(409, "The reports do not allow this estimate")
    TOO_LARGE = _Kind(413, "The body is larger than allowed")
    TOO_MANY_REPORTS = _Kind(413, "The batch has more reports than allowed")
    WRONG_CONTENT_TYPE = _Kind(415, "The body has another content type than this address takes")
    REJECTED = _Kind(422, "The report is rejected")
    TOO_MANY_REQUESTS = _Kind(429, "Too many requests from one address")
    INTERNAL = _Kind(500, "The collector made a mistake")
    OVERLOADED = _Kind(503, "More waits to be stored than the collector takes")
    STORE_UNAVAILABLE = _Kind(503, "The store cannot be written now")
    STORE_FULL = _Kind(507, "The store has no room for more")

    @property
    def code(self) -> str:
        """The stable name."""
        return self.name.lower()


class ProblemError(Exception):
    """Ends a request with a problem; `code` is more precise where a rejection is the reason."""

    def __init__(self, problem: Problem, detail: str = "", *, code: str = "", retry_after: int = 0) -> None:
        super().__init__(problem.code)
        self.problem = problem
        self.detail = detail
        self.code = code or problem.code
        self.retry_after = retry_after

    @property
    def status(self) -> int:
        """HTTP status."""
        return self.problem.value.status

    def document(self) -> dict[str, Any]:
        """Return the problem document.

        >>> ProblemError(Problem.TOO_SLOW).document()
        {'type': 'about:blank', 'title': 'The body did not arrive in time', 'status': 408, 'code': 'too_slow'}
        """
        content: dict[str, Any] = {
            "type": "about:blank",
            "title": self.problem.value.title,
            "status": self.status,
            "code": self.code,
        }
        if self.detail:
            content["detail"] = self.detail
        return content
