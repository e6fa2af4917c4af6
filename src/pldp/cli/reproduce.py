"""`pldp reproduce`: run a published experiment again and judge its claims."""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from pldp.cli.arguments import add_seed_option, check_seed
from pldp.cli.output import add_json_option, console_for, emit, emit_json, make_table, progress_bar
from pldp.errors import UsageError
from pldp.papers import PAPERS, reproduce


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("name", help=f"one of {', '.join(PAPERS)}, or all, which writes one report")
    parser.add_argument("--quick", action="store_true", help="fewer runs and settings: under a minute each")
    words = "with all: where report.html, report.json and the results go (default: reproduction); a run that was "
    parser.add_argument("--out", metavar="FOLDER", help=f"{words}interrupted goes on from there")
    add_seed_option(parser, "of all simulations")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    check_seed(args)
    if args.name == "all":
        _run_all(args)
        return
    if args.out:
        raise UsageError("--out goes with all; one experiment is written with --json FILE")
    with progress_bar(f"reproducing {args.name}") as bar:
        result = reproduce(args.name, quick=args.quick, seed=args.seed, progress=bar.reach)
    emit(args, result, lambda console: _show(console, result))


def _run_all(args: argparse.Namespace) -> None:
    from pldp.papers.report import reproduce_all  # noqa: PLC0415 - only this needs the drawings

    folder = Path(args.out or "reproduction")
    with progress_bar("reproducing all") as bar:
        report = reproduce_all(
            folder,
            quick=args.quick,
            seed=args.seed,
            progress=lambda name, done, total: bar.reach(done, total, f"reproducing {name}"),
        )
    emit_json(args, report)
    console = console_for(args)
    for paper in report["papers"]:
        console.print(f"{paper['experiment']}: {_counts(paper['claims'])}")
    for name in report["missing"]:
        console.print(f"not here: {name} (pldp datasets --download {name})")
    console.print(f"written: {folder / 'report.html'}, {folder / 'report.json'}")


def _show(console: Console, result: dict[str, Any]) -> None:
    rows = result["rows"]
    names = dict.fromkeys(name for row in rows for name in row)
    identifying = [name for name in names if not name.endswith("_error")]
    numbers = {place for place, name in enumerate(identifying) if isinstance(rows[0].get(name, 0), float | int)}
    cells = [[_cell(row.get(name, "–")) for name in identifying] for row in rows]
    title = f"{result['experiment']} ({'quick' if result['quick'] else 'full'})"
    console.print(make_table(identifying, cells, numbers, title=title, title_justify="center"))
    for claim in result["claims"]:
        whose = "our own claim, " if claim["ours"] else ""
        reading = f", read as {claim['reading']}" if claim["reading"] else ""
        console.print(
            Text.assemble(_MARKS[claim["verdict"]], f": “{claim['quote']}” ({whose}{claim['where']}{reading})")
        )
        console.print(f"    {claim['reason']}", style="dim")
    console.print(_counts(result["claims"]))


_MARKS: Final = {"holds": ("holds", "green"), "fails": ("does not hold", "red"), "undecided": ("undecided", "yellow")}


def _counts(claims: Sequence[Mapping[str, Any]]) -> str:
    """Count the verdicts on claims of the paper; our own are counted apart."""
    told = []
    for whose, ours in (("claims", False), ("claims of our own", True)):
        counts = Counter(claim["verdict"] for claim in claims if claim["ours"] == ours)
        if counts:
            words = ", ".join(f"{counts[verdict]} {text[0]}" for verdict, text in _MARKS.items() if counts[verdict])
            told.append(f"{sum(counts.values())} {whose}: {words}")
    return "; ".join(told) or "no claims"


def _cell(content: object) -> str:
    return f"{content:.3g}" if isinstance(content, float) else str(content)
