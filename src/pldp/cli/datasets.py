"""`pldp datasets`: what the experiments need, where it is, and how to get what is missing."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from rich.table import Table

from pldp.cli.output import add_json_option, console_for, emit_json, progress_bar
from pldp.errors import UsageError
from pldp.papers import PAPERS, load_paper
from pldp.papers.datasets import DATASETS, PUBLISHED, data_file, download


def add_to(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("datasets", help="list the datasets of the experiments; fetch those that do not ship")
    parser.add_argument("--download", metavar="NAME", help=f"fetch {' or '.join(PUBLISHED)} from its publisher")
    parser.add_argument("--to", metavar="FOLDER", help="where to keep it (default: the folder that PLDP_DATA names)")
    parser.add_argument("--from", metavar="URL", dest="source", help="another address of the same content")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    console = console_for(args)
    if args.download:
        folder = args.to or os.environ.get("PLDP_DATA")
        if not folder:
            raise UsageError("--to must name a folder, or PLDP_DATA must be set")
        with progress_bar(f"fetching {args.download}") as (progress, task):
            path = download(
                args.download,
                Path(folder),
                address=args.source,
                progress=lambda done, total: progress.update(task, completed=done, total=total or None),
            )
        console.print(f"{path} is whole. Experiments find it with PLDP_DATA={folder}", markup=False)
    elif args.source or args.to:
        raise UsageError("--from and --to go with --download NAME")
    rows = list(_rows())
    if args.json:
        emit_json({"datasets": rows}, args.json)
    if args.json != "-" and not args.download:
        table = Table(header_style="bold")
        for head in ("dataset", "used by", "where", "what it is"):
            table.add_column(head, overflow="fold")
        for row in rows:
            table.add_row(row["dataset"], ", ".join(row["experiments"]), row["where"], row["origin"])
        console.print(table)


def _rows() -> Any:
    papers = [load_paper(name) for name in PAPERS]
    for name in dict.fromkeys(name for paper in papers for name in paper.datasets):
        users = [paper.name for paper in papers if name in paper.datasets]
        if name in DATASETS:
            yield {"dataset": name, "experiments": users, "where": "in the package", "origin": DATASETS[name]}
            continue
        published = PUBLISHED[name]
        path = data_file(published.file)
        where = str(path) if path else f"missing: pldp datasets --download {name}"
        yield {"dataset": name, "experiments": users, "where": where, "origin": published.origin}
