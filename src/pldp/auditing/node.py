"""A program that answers line by line, as a process that is started once."""

import contextlib
import os
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Sequence
from typing import IO


class Lines:
    """A program that reads one request per line and answers each with one line; it ends with this object."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[str] | None = None
        self._end: weakref.finalize[..., Lines] | None = None

    def ask(self, line: str, seconds: float) -> tuple[str | None, str]:
        """Return the answer, nothing if there is none within so many seconds, and the last line of its errors.

        The answer is empty where the program ended; the next request starts it anew.
        """
        process, errors = self._start()
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(seconds, stop)
        timer.start()
        answer = _exchange(process, line)
        timer.cancel()
        if answer:
            return answer, ""
        process.wait()
        errors.seek(0)
        last = (errors.read().strip().splitlines() or ["it said nothing"])[-1]
        self.close()
        return (None if late.is_set() else ""), last

    def close(self) -> None:
        """End the program."""
        if self._end is not None:
            self._end()
        self._process = None

    def _start(self) -> tuple[subprocess.Popen[str], IO[str]]:
        if self._process is None or self._errors is None:
            self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - `_end` does
            self._process = subprocess.Popen(  # noqa: S603 - the program that the caller named
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                encoding="utf-8",
            )
            self._end = weakref.finalize(self, _end, self._process, self._errors, os.getpid())
        return self._process, self._errors


def _exchange(process: subprocess.Popen[str], line: str) -> str:
    """Send a line and return the one that comes back; nothing where the program has ended."""
    if process.stdin is None or process.stdout is None:
        return ""
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline()
    except OSError:
        return ""


def _end(process: subprocess.Popen[str], errors: IO[str], owner: int) -> None:
    if os.getpid() != owner:
        return  # a copy of this process that was made by forking
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, errors):
        if stream is not None:
            with contextlib.suppress(OSError):  # of what could not be sent to a program that has ended
                stream.close()
