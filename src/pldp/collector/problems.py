"""What a request gets that cannot be served: RFC 9457 problem documents with stable codes."""

from enum import Enum
from typing import Any


class Problem(Enum):
    """The code (the name in small letters), the HTTP status, and what it means."""

    BAD_REQUEST = 400, "The request breaks a rule"
    BAD_TOKEN = 401, "A valid token is needed"
    WRONG_SCOPE = 403, "The token does not allow this"
    NOT_FOUND = 404, "There is nothing here"
    UNKNOWN_RECEIPT = 404, "No stored report has this receipt"
    METHOD_NOT_ALLOWED = 405, "This address does not take this method"
    NOT_ACCEPTABLE = 406, "This format is not on offer"
    TOO_SLOW = 408, "The body did not arrive in time"
    NO_ESTIMATE = 409, "The reports do not allow this estimate"
    TOO_LARGE = 413, "The body is larger than allowed"
    TOO_MANY_REPORTS = 413, "The batch has more reports than allowed"
    WRONG_CONTENT_TYPE = 415, "The body has another content type than this address takes"
    REJECTED = 422, "The report is rejected"
    TOO_MANY_REQUESTS = 429, "Too many requests from one address"
    INTERNAL = 500, "The collector made a mistake"
    OVERLOADED = 503, "More waits to be stored than the collector takes"
    STORE_UNAVAILABLE = 503, "The store cannot be written now"
    STORE_FULL = 507, "The store has no room for more"

    def __init__(self, status: int, title: str) -> None:
        self.status = status
        self.title = title
        self.code = self.name.lower()


class ProblemError(Exception):
    """Ends a request with a problem; `code` is more precise where a rejection is the reason."""

    def __init__(self, problem: Problem, detail: str = "", *, code: str = "", retry_after: int = 0) -> None:
        super().__init__(problem.code)
        self.problem = problem
        self.detail = detail
        self.code = code or problem.code
        self.retry_after = retry_after

    def document(self) -> dict[str, Any]:
        """Return the problem document.

        >>> ProblemError(Problem.TOO_SLOW).document()
        {'type': 'about:blank', 'title': 'The body did not arrive in time', 'status': 408, 'code': 'too_slow'}
        """
        kind = {"type": "about:blank", "title": self.problem.title, "status": self.problem.status, "code": self.code}
        return kind | ({"detail": self.detail} if self.detail else {})
