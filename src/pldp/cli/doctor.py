"""`pldp doctor`: what this installation has, what it lacks, and how to get it."""

import argparse
import os
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, Literal, NamedTuple

from rich.console import Console
from rich.text import Text

from pldp import __version__
from pldp.cli.output import PLAIN, add_json_option, emit, make_table
from pldp.files import OWNER_ONLY

NEEDED: Final = ("numpy", "scipy", "pyarrow", "rich")
EXTRAS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "plots": (("matplotlib",), "pictures: --plot, --html with pictures"),
    "signing": (("cryptography",), "signed surveys"),
    "collector": (("granian", "msgspec"), "pldp serve"),
    "postgres": (("psycopg",), "a collector on PostgreSQL"),
    "sql": (("duckdb",), "pldp tally --engine duckdb"),
    "spark": (("pyspark", "pandas"), "tallies of reports in Spark"),
}
LEAST_FREE: Final = 1 << 30
"""Bytes that should be free beside a database."""
_SQLITE: Final = b"SQLite format 3\0"
_YEAR: Final = 2025
"""A clock before this is wrong: no version of this package is as old."""

State = Literal["ok", "missing", "problem"]
COLOURS: Final[Mapping[State, str]] = {"ok": "green", "missing": "yellow", "problem": "bold red"}


class Finding(NamedTuple):
    """One thing that was looked at; only a problem makes the command fail."""

    what: str
    state: State
    words: str


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--database", metavar="FILE", help="also look at a collector's database file and its folder")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    found = [*_versions(), *_extras(), _node(), _clock(), _folder("temporary files", Path(tempfile.gettempdir()))]
    if args.database:
        found += _database(args.database)
    problems = sum(each.state == "problem" for each in found)
    content = {"findings": [each._asdict() for each in found], "problems": problems}
    emit(args, content, lambda console: _show(console, found))
    return 1 if problems else 0


def _show(console: Console, found: list[Finding]) -> None:
    rows = [(each.what, Text(each.state, COLOURS[each.state]), each.words) for each in found]
    console.print(make_table(("what", "state", ""), rows, (), **PLAIN))
    states = [each.state for each in found]
    optional = "; what is missing is optional" if "missing" in states else ""
    problems = states.count("problem")
    counted = f"{problems} {'problem' if problems == 1 else 'problems'}" if problems else "No problems"
    console.print(f"{counted}{optional}.")


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _versions() -> Iterator[Finding]:
    yield Finding("pldp", "ok", f"{__version__} in {Path(__file__).parents[1]}")
    running = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield Finding("Python", "ok", f"{running}, {sys.executable}")
    for name in NEEDED:
        own = _installed(name)
        yield Finding(name, "ok", own) if own else Finding(name, "problem", f"missing: pip install {name}")


def _extras() -> Iterator[Finding]:
    for extra, (names, purpose) in EXTRAS.items():
        versions = {name: _installed(name) for name in names}
        lacking = [name for name, own in versions.items() if own is None]
        if lacking:
            yield Finding(extra, "missing", f"needed for {purpose}: pip install 'pldp[{extra}]'")
        else:
            listed = ", ".join(f"{name} {own}" for name, own in versions.items())
            yield Finding(extra, "ok", f"{purpose} ({listed})")


def _node() -> Finding:
    found = shutil.which("node")
    if found is None:
        return Finding("Node", "missing", "needed to audit the JavaScript device: install Node 20 or later")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    return Finding("Node", "ok", f"{said.stdout.strip()}: the JavaScript device can be audited")


def _clock() -> Finding:
    now = datetime.now(UTC)
    if now.year < _YEAR:
        return Finding("clock", "problem", f"it says {now:%Y-%m-%d}: tokens would expire on wrong days")
    return Finding("clock", "ok", f"{now:%Y-%m-%d %H:%M} UTC")


def _folder(what: str, folder: Path) -> Finding:
    if not folder.is_dir():
        return Finding(what, "problem", f"{folder} is not a folder")
    free = shutil.disk_usage(folder).free
    if not os.access(folder, os.W_OK):
        return Finding(what, "problem", f"{folder} cannot be written")
    state: State = "ok" if free >= LEAST_FREE else "problem"
    return Finding(what, state, f"{folder}, {free / 2**30:.1f} GiB free")


def _database(given: str) -> Iterator[Finding]:
    if given.startswith("postgres"):
        yield Finding("database", "ok", "PostgreSQL: pldp store check looks into it")
        return
    path = Path(given)
    yield _folder("database folder", path.parent)
    if not path.parent.is_dir():
        return
    if not path.exists():
        yield Finding("database", "missing", f"{path} is not there yet: pldp serve makes it")
    elif not path.is_file():
        yield Finding("database", "problem", f"{path} is not a file")
    elif os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & ~OWNER_ONLY:
        yield Finding("database", "problem", f"others on this machine may read {path}: chmod 600 {path}")
    elif not os.access(path, os.R_OK | os.W_OK):
        yield Finding("database", "problem", f"{path} cannot be read and written by this user")
    elif not _is_sqlite(path):
        yield Finding("database", "problem", f"{path} is not an SQLite database")
    else:
        yield Finding("database", "ok", f"{path}: pldp store check compares its content with its checksums")


def _is_sqlite(path: Path) -> bool:
    """Whether a file begins as those of SQLite do; an empty one is a database without tables."""
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) in (b"", _SQLITE)
