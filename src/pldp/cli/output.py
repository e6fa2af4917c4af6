"""How verbs speak: JSON for scripts on standard output, tables for people, progress on standard error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from pldp import show
from pldp.plain import json_text
from pldp.tallies import Tally

PICTURES = (".png", ".svg", ".pdf")
"""Endings of picture files."""


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Give a verb the option `--json FILE`, with `-` for standard output."""
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="write the result as JSON; - means standard output, and nothing else goes there",
    )


def emit_json(content: Mapping[str, Any], target: str) -> None:
    """Write JSON to a file or to standard output. Numbers that JSON does not know become null."""
    text = json_text(content, indent=1) + "\n"
    if target == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        Path(target).write_text(text, encoding="utf-8")


def console_for(args: argparse.Namespace) -> Console:
    """Return where words for people go: standard output, or standard error where JSON takes the former."""
    return Console(stderr=args.json == "-", highlight=False)


class _Rate(ProgressColumn):
    """How much is done per second."""

    def render(self, task: Task) -> str:
        """Return the rate of the last seconds."""
        return f"{task.speed or 0:,.0f}/s"


@contextmanager
def progress_bar(words: str, total: int | None = None, *, with_rate: bool = False) -> Iterator[tuple[Progress, TaskID]]:
    """Show progress on standard error while the body runs; nothing where that is not a terminal."""
    console = Console(stderr=True)
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    if with_rate:
        columns.append(_Rate())
    progress = Progress(*columns, console=console, transient=True)
    task = progress.add_task(words, total=total)
    if not console.is_terminal:
        yield progress, task
        return
    with progress:
        yield progress, task


def show_result(console: Console, result: Mapping[str, Any]) -> None:
    """Print one result of any kind, given as plain data: notes first, then its tables, then what stands behind it."""
    console.print(show.heading(result), style="bold", markup=False)
    for note in result["notes"]:
        name, style = ("Warning", "bold red") if note["severity"] == "warning" else ("Note", "")
        console.print(f"{name}: {note['text']}", style=style, markup=False)
    for table in show.tables(result):
        if table.rows:
            console.print(_grid(table))
        if table.note:
            console.print(table.note, markup=False)
    for text in show.footing(result):
        console.print(text, markup=False)
    console.print(show.assumptions(result) + "\n", style="dim", markup=False)


def _grid(table: show.Table) -> Table:
    grid = Table(
        title=escape(table.title) or None,
        title_justify="left",
        header_style="bold",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for place, name in enumerate(table.heads):
        grid.add_column(escape(name), justify="left" if place < table.left else "right")
    for row in table.rows:
        grid.add_row(*map(escape, row))
    return grid


def show_tally(console: Console, tally: Tally) -> None:
    """Print what was counted and what was rejected."""
    console.print(
        f"{tally.reports:,} reports counted, {tally.rejected:,} rejected ({tally.survey.title})", markup=False
    )
    for reason, count in sorted(tally.rejections.items()):
        console.print(f"  rejected, {reason.value}: {count:,}")


def tally_mapping(tally: Tally) -> dict[str, Any]:
    """Return what was counted as plain data."""
    return {
        "survey": tally.survey.hash,
        "reports": tally.reports,
        "rejected": tally.rejected,
        "rejections": {reason.value: count for reason, count in sorted(tally.rejections.items())},
        "cells": [
            {"question": question, "level": level, "reports": counts.reports}
            for (question, level), counts in tally.counts.items()
        ],
    }
