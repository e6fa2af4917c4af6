"""`pldp new` in a process of its own, on a free port of this machine only."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
