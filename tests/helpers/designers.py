"""`pldp new` on a free port of this machine only: in a process of its own, or in a thread of this one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Event, Thread

from pldp.collector import Settings
from pldp.collector.web import serve_app
from pldp.design import Designer


@contextmanager
def designing(folder: Path, *words: str) -> Iterator[str]:
    """Run `pldp new` in a folder and give the address of its page."""
    command = [sys.executable, "-m", "pldp", "new", "--no-browser", *words]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().removeprefix("page").strip()
        finally:
            process.terminate()
            _, complaints = process.communicate()
            assert process.returncode == 0, complaints


@contextmanager
def designing_here(folder: Path, name: str | None = None, *, people: int = 1000) -> Iterator[str]:
    """Give the address of the same page, served by a thread: nothing has to be loaded again."""
    designer = Designer(None if name is None else folder / name, folder=folder, people=people)
    addresses: Queue[str] = Queue()
    stop = Event()
    thread = Thread(target=serve_app, args=(designer, Settings(port=0, rate_limit=0), addresses.put, stop.is_set))
    thread.start()
    try:
        yield f"{addresses.get(timeout=60)}/{designer.secret}/"
    finally:
        stop.set()
        thread.join()
