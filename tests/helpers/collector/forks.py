"""Processes that run `pldp` as a shell would start them, forked from one that has loaded it already.

Loading NumPy, PyArrow and the collector takes most of a second, and tests start dozens of collectors. A forked one is a
process like any other: it can be killed, frozen and limited, and it has its own output.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from pldp.errors import StoreError

_LOADED = (
    "cli.serve",
    "collector.server",
    "collector.store",
    "collector.sqlite",
    "collector.advice",
    "collector.tokens",
)
FORKS = get_context("forkserver")
FORKS.set_forkserver_preload([f"pldp.{name}" for name in _LOADED])


class Forked:
    """`pldp` with arguments, here and in this environment; as much of `subprocess.Popen` as tests need."""

    def __init__(self, arguments: list[str], errors: Path) -> None:
        printed, printer = FORKS.Pipe(duplex=False)
        told = (arguments, printer, str(errors), str(Path.cwd()), dict(os.environ))
        self._process = FORKS.Process(target=_run, args=told)
        self._process.start()
        printer.close()
        self.stdout = io.BufferedReader(io.FileIO(os.dup(printed.fileno())))
        printed.close()

    @property
    def pid(self) -> int:
        """The number of the process."""
        found = self._process.pid
        assert found is not None
        return found

    def poll(self) -> int | None:
        """Return the exit code, or `None` while it runs; minus the signal that ended it."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once it has ended."""
        self._process.join(timeout)
        code = self.poll()
        assert code is not None, f"process {self.pid} has not ended after {timeout} s"
        return code


def open_store(survey: str, path: Path) -> str:
    """In a forked process: start a store and leave it open; return what went wrong."""
    from pldp.collector import Store  # noqa: PLC0415 - loaded already where this runs
    from pldp.survey import Survey  # noqa: PLC0415

    try:
        Store(Survey.load(survey), path)
    except StoreError as error:
        return str(error)
    return ""


def _run(arguments: list[str], printer: Connection, errors: str, folder: str, environment: dict[str, str]) -> None:
    """In the forked process: put output where it belongs and run the command line."""
    from pldp.cli import main  # noqa: PLC0415 - the parent may not need it

    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.dup2(printer.fileno(), 1)
    printer.close()
    log = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 2)
    os.close(log)
    sys.exit(main(arguments))
