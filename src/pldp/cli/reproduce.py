"""`pldp reproduce`: run a published experiment again and judge its claims."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from pldp.cli.output import add_json_option, console_for, emit_json, progress_bar
from pldp.errors import UsageError
from pldp.papers import PAPERS, reproduce


def add_to(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("reproduce", help="run a paper's experiments again, with a verdict on each claim")
    parser.add_argument("name", help=f"one of {', '.join(PAPERS)}, or all, which writes one report")
    parser.add_argument("--quick", action="store_true", help="fewer runs and settings: under a minute each")
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="with all: where report.html, report.json and the results go (default: reproduction); a run that was "
        "interrupted goes on from there",
    )
    parser.add_argument("--seed", type=int, default=0, help="of all simulations (default 0)")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    if args.seed < 0:
        raise UsageError(f"--seed must not be negative, not {args.seed}")
    if args.name == "all":
        _run_all(args)
        return
    if args.out:
        raise UsageError("--out goes with all; one experiment is written with --json FILE")
    with progress_bar(f"reproducing {args.name}") as (progress, task):
        result = reproduce(
            args.name,
            quick=args.quick,
            seed=args.seed,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
    if args.json:
        emit_json(result, args.json)
    if args.json != "-":
        _show(console_for(args), result)


def _run_all(args: argparse.Namespace) -> None:
    from pldp.papers.report import reproduce_all  # noqa: PLC0415 - only this needs the drawings

    folder = Path(args.out or "reproduction")
    with progress_bar("reproducing all") as (progress, task):
        report = reproduce_all(
            folder,
            quick=args.quick,
            seed=args.seed,
            progress=lambda name, done, total: progress.update(
                task, description=f"reproducing {name}", completed=done, total=total
            ),
        )
    if args.json:
        emit_json(report, args.json)
    console = console_for(args)
    for paper in report["papers"]:
        held = sum(verdict["holds"] for verdict in paper["verdicts"])
        console.print(f"{paper['experiment']}: {held} of {len(paper['verdicts'])} claims hold", markup=False)
    for name in report["missing"]:
        console.print(f"not here: {name} (pldp datasets --download {name})", markup=False)
    console.print(f"written: {folder / 'report.html'}, {folder / 'report.json'}", markup=False)


def _show(console: Console, result: dict[str, Any]) -> None:
    rows = result["rows"]
    names = dict.fromkeys(name for row in rows for name in row)
    identifying = [name for name in names if not name.endswith("_error")]
    table = Table(title=f"{result['experiment']} ({'quick' if result['quick'] else 'full'})", header_style="bold")
    for name in identifying:
        table.add_column(name, justify="right" if isinstance(rows[0].get(name, 0), float | int) else "left")
    for row in rows:
        table.add_row(*(_cell(row.get(name, "–")) for name in identifying))
    console.print(table)
    for verdict in result["verdicts"]:
        mark = "[green]holds[/]" if verdict["holds"] else "[red]does not hold[/]"
        console.print(f"{mark}: {verdict['claim']}")
        console.print(f"    {verdict['measured']}", style="dim", markup=False)


def _cell(content: object) -> str:
    return f"{content:.3g}" if isinstance(content, float) else str(content)
