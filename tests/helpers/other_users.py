"""What another user of this machine can read: the process list, and files. Run as a program, it is that other user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

NOBODY = 65534
CAN_CHANGE_USER = hasattr(os, "geteuid") and os.geteuid() == 0


def places_read_by_others(texts: Iterable[str], folder: Path) -> set[str]:
    """Give arguments or environments of processes, and files in a folder, where another user finds one of the texts.

    Where this process cannot become another user, it searches the process list as itself, which sees more of it; files
    are then not searched, as it may read its own.
    """
    asked = json.dumps({"texts": list(texts), "folders": [str(folder)] if CAN_CHANGE_USER else []})
    answer = subprocess.run([sys.executable, __file__], input=asked, capture_output=True, text=True, check=True)
    return set(json.loads(answer.stdout))


def _search(texts: list[bytes], folders: list[str]) -> Iterator[str]:
    processes = [path for path in Path("/proc").iterdir() if path.name.isdigit() and path.name != str(os.getpid())]
    files = [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]
    for path in [*(each / name for each in processes for name in ("cmdline", "environ")), *files]:
        with suppress(OSError):
            content = path.read_bytes()
            if any(text in content for text in texts):
                yield content.decode(errors="replace") if path.name == "cmdline" else str(path)


if __name__ == "__main__":
    request = json.load(sys.stdin)
    if CAN_CHANGE_USER:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    json.dump(list(_search([text.encode() for text in request["texts"]], request["folders"])), sys.stdout)
