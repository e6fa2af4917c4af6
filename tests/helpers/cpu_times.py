"""CPU seconds of every test, with those of the processes that it starts: a plugin of pytest (`make test-times`).

A browser or a server that outlives a test is charged to the tests during which it computes, since its time is read
from `/proc` while it runs and from the parent's account once it has ended. What measuring itself takes, a few
milliseconds for every test, is left out. Every worker appends to one file.
"""

from __future__ import annotations

import os
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

TICK = os.sysconf("SC_CLK_TCK")
LONGEST = 40
"""How many tests the summary names."""

OPTION = "--cpu-times"


def spent() -> float:
    """Return the CPU seconds of this process, of its ended children and of all its descendants that run."""
    accounts = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(account.ru_utime + account.ru_stime for account in accounts) + _running_descendants()


def _running_descendants() -> float:
    """Return the CPU seconds of the processes below this one, with those of their ended children."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    seconds: dict[int, float] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        children[int(fields[1])].append(int(folder.name))
        seconds[int(folder.name)] = sum(map(int, fields[11:15])) / TICK
    total, below = 0.0, list(children[os.getpid()])
    while below:
        process = below.pop()
        total += seconds[process]
        below += children[process]
    return total


class Times:
    """Writes down what each test costs, its fixtures included.

    The seconds of processes that nobody waits for (Chromium's) vanish with them: a sum that falls counts as no time.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.last, self.measuring = path, 0.0, 0.0

    def pytest_collection_finish(self) -> None:
        """Count imports and collection apart; every worker has them."""
        self._add("(collection)")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Add what has been spent since the test before."""
        result = yield
        self._add(item.nodeid)
        return result

    def _add(self, name: str) -> None:
        start = time.process_time()
        now = spent() - self.measuring
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{max(0.0, now - self.last):.3f}\t{name}\n")
        self.last = now
        self.measuring += time.process_time() - start


class Summary:
    """Prints the sums by folder and by file, then the longest tests."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Read what all workers have written."""
        tests, files, folders = Counter[str](), Counter[str](), Counter[str]()
        for line in self.path.read_text(encoding="utf-8").splitlines():
            seconds, _, test = line.partition("\t")
            file = test.partition("::")[0]
            for table, name in ((tests, test), (files, file), (folders, "/".join(file.split("/")[:2]))):
                table[name] += float(seconds)
        for title, table, most in (("folder", folders, None), ("file", files, LONGEST), ("test", tests, LONGEST)):
            terminalreporter.section(f"CPU seconds by {title}, children included")
            for name, seconds in table.most_common(most):
                terminalreporter.write_line(f"{seconds:8.2f}  {name}")
        terminalreporter.write_line(f"{sum(tests.values()):8.2f}  in all")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file."""
    parser.addoption(OPTION, type=Path, help="append the CPU seconds of every test to this file and print their sums")


def pytest_configure(config: pytest.Config) -> None:
    """Measure in processes that run tests; sum up in the one that prints."""
    path = config.getoption(OPTION)
    if path is None:
        return
    workers = getattr(config.option, "numprocesses", None)
    if hasattr(config, "workerinput") or not workers:
        config.pluginmanager.register(Times(path), "pldp-cpu-times")
    if not hasattr(config, "workerinput"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
        config.pluginmanager.register(Summary(path), "pldp-cpu-times-summary")
