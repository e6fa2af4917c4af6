"""Start a saved survey: `pldp serve` on it in a process of its own, which ends with the page that started it.

It ends when its standard input does. The other end of that pipe is held by this process alone, so it also ends, with
everything stored, when this process is killed.
"""

import subprocess
import sys
from functools import cached_property
from pathlib import Path
from threading import Thread
from typing import Any, Final

from pldp.collector import Tokens
from pldp.errors import UsageError

NAME: Final = "pldp-new"  # of the token with which the dashboard is opened


class Started:
    """A collector of a survey, or a preview of it with simulated people."""

    def __init__(self, survey: Path, *, preview: bool) -> None:
        self.preview = preview
        self.database = survey.with_suffix(".db")
        options = ["--preview"] if preview else ["--database", str(self.database)]
        words = ["serve", str(survey), *options]
        self.command = " ".join(["pldp", *(f'"{word}"' if " " in word else word for word in words)])
        self._process = subprocess.Popen(  # noqa: S603 - this program itself, with the file that was saved
            [sys.executable, "-m", "pldp", *words, "--port", "0", "--until-input-ends"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addresses = self._addresses()
        for stream in (self._process.stdout, self._process.stderr):
            Thread(target=_drain, args=(stream,), name="pldp-new-output", daemon=True).start()

    def _addresses(self) -> dict[str, str]:
        """Wait until it listens; whatever ends it before is told in one line."""
        found: dict[str, str] = {}
        for line in self._process.stdout or ():
            name, _, address = line.partition(" ")
            if address.strip().startswith("http"):
                found[name] = address.strip()
            if "dashboard" in found:
                return found
        _, words = self._process.communicate()
        raise UsageError((words.strip().splitlines() or ["the collector did not start"])[-1].removeprefix("pldp: "))

    @cached_property
    def links(self) -> dict[str, Any]:
        """Where it is; the dashboard's address carries a token to read and run rounds, which is made once."""
        dashboard = self.addresses["dashboard"]
        if not self.preview:
            dashboard += f"#{_token(self.database)}"
        return {
            "survey": self.addresses["survey"],
            "dashboard": dashboard,
            "command": self.command,
            "preview": self.preview,
            "database": None if self.preview else self.database.name,
        }

    @property
    def running(self) -> bool:
        """Whether it still serves."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End it and wait; what it took is stored."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def _drain(stream: Any) -> None:
    with stream:
        for _ in stream:
            pass


def _token(database: Path) -> str:
    tokens = Tokens(database)
    if NAME in {token.name for token in tokens.all()}:
        return tokens.rotate(NAME)
    return tokens.create(NAME, "admin")
