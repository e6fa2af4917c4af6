"""Send reports to a collector in batches; sending again is harmless, so whatever fails is sent again."""

import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

from pldp.errors import ReportError, UsageError
from pldp.reports import Report, ReportRejected, body_length, read_report
from pldp.survey import Survey, survey_from_mapping

BATCH: Final = 1000
BATCH_BYTES: Final = 4 << 20  # of a batch, at most, unless one report has more
TRIES: Final = 8  # how often a batch is sent before giving up: about a minute with the waits between
_AGAIN: Final = {408, 429, 502, 503, 504, 507}
_LONGEST_WAIT: Final = 30.0


@dataclass
class Sender:
    """Sends reports and counts the outcomes; all lines have the one length of reports of the collector's survey.

    `url` is the address of the collector, such as `http://127.0.0.1:8300`; `token` is sent along where that takes
    reports with a token only; `round` is the one that reports were made for, 0 for any; `wait` waits so many seconds
    before another try.
    """

    url: str
    token: str = field(default="", repr=False)
    round: int = 0
    wait: Callable[[float], None] = time.sleep
    accepted: int = 0
    rejections: Counter[str] = field(default_factory=Counter)
    _connection: HTTPConnection | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UsageError("the address of a collector must look like https://example.org or http://127.0.0.1:8300")
        if not re.fullmatch(r"[\x21-\x7e]*", self.token):
            raise UsageError("token must be one word of ASCII characters, without spaces")

    def send(self, reports: Iterable[Report | str | bytes]) -> Iterator[str]:
        """Send reports (also as JSON text, one line each) and yield the ids of those that are stored."""
        rest = self._lines(reports)
        path = f"/v1/reports?round={self.round}" if self.round else "/v1/reports"
        while batch := list(islice(rest, max(1, min(BATCH, BATCH_BYTES // self._length)))):
            for outcome in json.loads(self._ask("POST", path, b"\n".join(batch)))["outcomes"]:
                if outcome["outcome"] == "accepted":
                    self.accepted += 1
                    yield outcome["id"]
                else:
                    self.rejections[outcome["code"]] += 1

    def check(self, survey: Survey) -> None:
        """Raise `ReportError` where another survey is collected than this one."""
        if survey.hash != self._survey.hash:
            raise ReportError(f"{self.url}: collects another survey, or another version of it")

    @cached_property
    def _survey(self) -> Survey:
        """The survey that is collected; who signed it changes no length."""
        content = self._ask("GET", "/v1/survey")
        try:
            document = json.loads(content)
            return survey_from_mapping(document.get("survey", document))
        except (ValueError, AttributeError):
            raise ReportError(f"{self.url}: gives no survey that can be read; is it a collector?") from None

    @cached_property
    def _length(self) -> int:
        return body_length(self._survey)

    def _lines(self, reports: Iterable[Report | str | bytes]) -> Iterator[bytes]:
        """Yield each report as a line of the one length; what cannot have it is no report, and is rejected here."""
        for report in reports:
            line = _line(report)
            if len(line) > self._length:  # spaces or escapes that `to_json` would not write, or another survey
                try:
                    line = _line(read_report(self._survey, line))
                except ReportRejected as rejected:
                    self.rejections[rejected.reason.value] += 1
                    continue
            yield line.ljust(self._length)

    def _ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Send a request, again if need be, and return the answer."""
        problem = ""
        for number in range(TRIES):
            wait = min(_LONGEST_WAIT, 0.1 * 2**number) * random.uniform(0.5, 1)  # noqa: S311 - spreads load only
            try:
                response, content = self._request(method, path, body)
            except (OSError, HTTPException) as error:
                problem = f"{type(error).__name__}: {error}"
                self.close()
            else:
                if response.status == 200:
                    return content
                problem = f"status {response.status}"
                if response.status not in _AGAIN:
                    raise ReportError(f"{self.url}: does not take the reports ({problem})")
                wait = max(wait, _seconds(response.getheader("retry-after")))
            self.wait(wait)
        raise ReportError(f"{self.url}: does not answer after {TRIES} tries ({problem})")

    def _request(self, method: str, path: str, body: bytes) -> tuple[HTTPResponse, bytes]:
        parts = urlsplit(self.url)
        if self._connection is None:
            kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
            self._connection = kind(parts.hostname or "", parts.port, timeout=60)
        headers = {"content-type": "application/x-ndjson"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        self._connection.request(method, parts.path.rstrip("/") + path, body, headers)
        response = self._connection.getresponse()
        return response, response.read()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _line(report: Report | str | bytes) -> bytes:
    text = report.to_json() if isinstance(report, Report) else report
    return (text.encode() if isinstance(text, str) else text).strip().replace(b"\n", b" ")


def _seconds(header: str | None) -> float:
    return min(_LONGEST_WAIT, float(header)) if header and header.isascii() and header.isdigit() else 0.0
