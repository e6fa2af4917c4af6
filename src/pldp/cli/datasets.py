"""`pldp datasets`: what the experiments need, where it is, and how to get what is missing."""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pldp.cli.output import add_json_option, console_for, emit_json, make_table, progress_bar
from pldp.errors import UsageError
from pldp.papers import PAPERS, load_paper
from pldp.papers.datasets import DATASETS, PUBLISHED, data_file, download


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
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
        with progress_bar(f"fetching {args.download}") as bar:
            path = download(args.download, Path(folder), address=args.source, progress=bar.reach)
        console.print(f"{path} is whole. Experiments find it with PLDP_DATA={folder}")
    elif args.source or args.to:
        raise UsageError("--from and --to go with --download NAME")
    rows = list(_rows())
    emit_json(args, {"datasets": rows})
    if args.json != "-" and not args.download:
        cells = [(row["dataset"], ", ".join(row["experiments"]), row["where"], row["origin"]) for row in rows]
        table = make_table(("dataset", "used by", "where", "what it is"), cells)
        for column in table.columns:
            column.overflow = "fold"
        console.print(table)


def _rows() -> Iterator[dict[str, Any]]:
    papers = [load_paper(name) for name in PAPERS]
    for name in dict.fromkeys(name for paper in papers for name in paper.datasets):
        where, origin = "in the package", DATASETS.get(name)
        if origin is None:
            origin = PUBLISHED[name].origin
            where = str(data_file(PUBLISHED[name].file) or f"missing: pldp datasets --download {name}")
        users = [paper.name for paper in papers if name in paper.datasets]
        yield {"dataset": name, "experiments": users, "where": where, "origin": origin}
