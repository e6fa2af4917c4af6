"""Run the benchmarks: `python -m benchmarks [--only core] [--peers PYTHON] [--json -] [--quick]`.

A table is one module of this folder, named in `TABLES`, with a `TITLE` and a function `run(context)` that yields lists
of rows. A missed target is shown and changes nothing else; only work that cannot be done at all ends with an error.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from datetime import UTC, datetime
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import PEERS, ROOT, ChildError, Context, Row

TABLES = (
    "core",
    "estimates",
    "limit",
    "choice",
    "febsf",
    "attributes",
    "items",
    "services",
    "repeat",
    "collector",
    "spark",
    "scale",
)
"""Names of the modules that each make one table."""

COLUMNS = ("what", "ours", "best peer", "ratio", "target", "met", "peak memory")
"""Headings; a table may have others (`COLUMNS` of its module)."""

RESULTS = ROOT / "benchmarks" / "results"


def main(arguments: list[str] | None = None) -> int:
    """Run the tables asked for, print them, keep the raw numbers."""
    options = _options(arguments)
    unknown = [name for name in options.only if name not in TABLES]
    if unknown:
        print(f"unknown table {', '.join(unknown)}; known tables: {', '.join(TABLES)}", file=sys.stderr)
        return 2
    peers = _peers_python(options.peers)
    failed = False
    documents = []
    with tempfile.TemporaryDirectory() as folder:
        context = Context(peers, options.quick, Path(folder), options.former)
        facts = _facts(context)
        for name in options.only or TABLES:
            rows, error = _run_table(context, name)
            failed |= error is not None
            document = {**facts, "table": name, "rows": [row.to_mapping() for row in rows], "error": error}
            _keep(name, document, quick=options.quick)
            documents.append(document)
            if options.json != "-":
                _show(name, rows, quick=options.quick)
    text = json.dumps(documents if len(documents) > 1 else documents[0], indent=1, ensure_ascii=False)
    if options.json == "-":
        print(text)
    elif options.json:
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    return int(failed)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Compare pldp with its peers.")
    parser.add_argument("--only", nargs="+", default=[], metavar="TABLE", help=f"some of: {', '.join(TABLES)}")
    parser.add_argument("--peers", metavar="PYTHON", help="the Python that has benchmarks/peers.txt installed")
    parser.add_argument(
        "--former", metavar="REVISION", default="", help="measure this revision beside (collector, estimates)"
    )
    parser.add_argument("--json", metavar="FILE", help="also write the raw numbers here; - prints them and no table")
    parser.add_argument("--quick", action="store_true", help="ten times fewer people")
    return parser.parse_args(arguments)


def _peers_python(given: str | None) -> Path | None:
    """Return the peers' Python as it was named (a link into its environment), or say what to do."""
    if given is not None and Path(given).exists():
        return Path(given).absolute()
    missing = "no --peers given" if given is None else f"{given} is missing"
    print(f"{missing}: pldp runs alone; `make bench` installs the peers and names their Python", file=sys.stderr)
    return None


def _run_table(context: Context, name: str) -> tuple[list[Row], str | None]:
    """Return the rows of a table and, if it could not be finished, why."""
    context.say(f"{name}:")
    rows: list[Row] = []
    try:
        for section in import_module(f"benchmarks.{name}").run(context):
            rows += section
    except ChildError as error:
        context.say(f"{name}: stopped, our side failed: {error}")
        return rows, str(error)
    return rows, None


def _facts(context: Context) -> dict[str, Any]:
    """Return when, on what machine and with which versions."""
    ours = {name: metadata.version(name) for name in ("pldp", "numpy", "scipy", "pyarrow")}
    found = [context.peer("benchmarks.peers_core", "versions", peer) for peer in PEERS]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": context.quick,
        "machine": {
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
            "system": platform.system(),
            "processor": platform.machine(),
            "python": platform.python_version(),
        },
        "versions": {"ours": ours, "peers": {name: text for part in found if part for name, text in part.items()}},
    }


def _keep(name: str, document: dict[str, Any], *, quick: bool) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}{'-quick' if quick else ''}.json"
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _show(name: str, rows: list[Row], *, quick: bool) -> None:
    """Print one table."""
    module = import_module(f"benchmarks.{name}")
    title = module.TITLE + (" (quick: a tenth of the people)" if quick else "")
    table = Table(title=title, title_justify="left", show_lines=True)
    for place, column in enumerate(getattr(module, "COLUMNS", COLUMNS)):
        table.add_column(column, justify="right" if COLUMNS[place] == "ratio" else "left")
    for row in rows:
        ratio = "–" if row.ratio is None else f"{row.ratio:,.3g} ×" if row.ratio < 1000 else f"{row.ratio:,.0f} ×"
        met = {True: "[green]yes[/]", False: "[bold red]no[/]", None: "–"}[row.met]
        table.add_row(row.what, row.ours, row.peer, ratio, row.target, met, row.memory)
    console = Console()
    console = console if console.is_terminal else Console(width=170)
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
