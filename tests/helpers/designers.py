"""`pldp new` on a free port of this machine only: in a process of its own, or in a thread of this one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

from pldp.collector import Settings
from pldp.collector.web import serve_app
from pldp.design import Designer


@contextmanager
def designing_process(folder: Path, *words: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Run `pldp new` in a folder and give the process and the file that opens its page; the test may kill it."""
    command = [sys.executable, "-m", "pldp", "new", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=folder, stdout=pipe, stderr=pipe, text=True, env={**os.environ, **environment}
    ) as process:
        try:
            assert process.stdout is not None
            yield process, Path(process.stdout.readline().removeprefix("page").strip())
        finally:
            process.terminate()
            _, complaints = process.communicate()
        assert process.returncode in {0, -9}, complaints


@contextmanager
def designing(folder: Path, *words: str) -> Iterator[Path]:
    """Run `pldp new` in a folder and give the file that opens its page, once."""
    with designing_process(folder, "--no-browser", *words) as (_, path):
        yield path


@contextmanager
def designing_here(folder: Path, name: str | None = None, *, people: int = 1000) -> Iterator[Path]:
    """Give the file that opens the same page, served by a thread: nothing has to be loaded again."""
    designer = Designer(None if name is None else folder / name, folder=folder, people=people)
    addresses: Queue[str] = Queue()
    stop = Event()
    thread = Thread(target=serve_app, args=(designer, Settings(port=0, rate_limit=0), addresses.put, stop.is_set))
    thread.start()
    try:
        yield designer.entry.write(addresses.get(timeout=60))
    finally:
        stop.set()
        thread.join()


class Caller:
    """A program that asks the server of `pldp new`, with what a browser would send or without."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        self.address = urlsplit(re.findall(r'action="(.+?)"', text)[0])
        (self.code,) = re.findall(r'value="(.+?)"', text)
        self.cookie = self.key = ""

    def enter(self) -> tuple[int, str]:
        """Exchange the code; whatever is given for it is kept."""
        status, text, headers = self.call("POST", self.address.path, f"code={self.code}", {"origin": "null"})
        self.cookie = headers.get("set-cookie", "").partition(";")[0] or self.cookie
        self.key = "".join(re.findall(r'data-key="(.+?)"', text)) or self.key
        return status, text

    def call(self, method: str, path: str, body: str = "", headers: dict[str, str] | None = None) -> Any:
        """Give status, text and headers of the answer."""
        connection = HTTPConnection(self.address.netloc, timeout=60)
        connection.request(method, path, body.encode(), headers or {})
        answer = connection.getresponse()
        found = (answer.status, answer.read().decode(), {name.lower(): text for name, text in answer.getheaders()})
        connection.close()
        return found

    def ask(self, method: str, path: str, body: str = "", **changes: str) -> int:
        """Ask as the page does, but for some headers (`sec_fetch_site="cross-site"`), and give the status."""
        headers = self._headers | {name.replace("_", "-"): text for name, text in changes.items()}
        return int(self.call(method, path, body, headers)[0])

    def state(self) -> Any:
        """Give what the page asks for when it loads."""
        return json.loads(self.call("GET", "/state", "", self._headers)[1])

    def do(self, what: str, **content: Any) -> Any:
        """Do what a button of the page does, and give the answer."""
        return json.loads(self.call("POST", f"/{what}", json.dumps(content), self._headers)[1])

    @property
    def _headers(self) -> dict[str, str]:
        return {"cookie": self.cookie, "pldp-key": self.key, "content-type": "application/json"}
