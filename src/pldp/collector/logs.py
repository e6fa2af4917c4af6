"""Log lines as JSON, one object per line, for programs that collect logs."""

import json
import logging
import sys
from datetime import UTC, datetime


class JsonLines(logging.Formatter):
    """Writes time, level, logger and the first line of the message; never a traceback, which could hold what was sent.

    >>> record = logging.LogRecord("pldp.collector", logging.ERROR, "", 0, "error: %s", ("KeyError",), None)
    >>> record.created = 0.0
    >>> json.loads(JsonLines().format(record))
    {'time': '1970-01-01T00:00:00+00:00', 'level': 'error', 'logger': 'pldp.collector', 'message': 'error: KeyError'}
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds")
        message = (record.getMessage().splitlines() or [""])[0]
        line = {"time": when, "level": record.levelname.lower(), "logger": record.name, "message": message}
        return json.dumps(line | getattr(record, "more", {}), ensure_ascii=False)


def log_json() -> None:
    """Let everything that this process logs go to standard error as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
