"""What `make test-times` prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from helpers.cpu_times import Summary, Times, spent

BURN = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"


def test_processes_count_while_they_run_and_after_they_have_ended() -> None:
    before = spent()
    with subprocess.Popen([sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert spent() - before >= 0.29
        child.communicate(b"\n")
    assert spent() - before >= 0.29


class Lines(list[str]):
    """As much of a terminal as the summary needs."""

    def section(self, title: str) -> None:
        self.append(title)

    write_line = list.append


def test_workers_write_to_one_file_and_the_summary_adds_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, clock = tmp_path / "times.tsv", iter([1.0, 3.0, 2.5, 3.0])
    monkeypatch.setattr("helpers.cpu_times.spent", lambda: next(clock))
    times = Times(path)
    times.pytest_collection_finish()
    for name in ("tests/a/test_one.py::test_x", "tests/a/test_one.py::test_y", "tests/b/test_two.py::test_z"):
        times._add(name)  # what a test costs; a sum that falls costs nothing
    told = Lines()
    Summary(path).pytest_terminal_summary(told)
    assert {"    2.00  tests/a", "    2.00  tests/a/test_one.py", "    0.50  tests/b", "    3.50  in all"} <= set(told)
