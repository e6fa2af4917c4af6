"""`pldp tally`: count reports into one small file."""

from __future__ import annotations

import argparse
from typing import Any

import pyarrow.parquet as pq

from pldp.cli.arguments import add_pair_option, read_lines
from pldp.cli.output import add_json_option, console_for, emit_json, progress_bar, show_tally, tally_mapping
from pldp.errors import UsageError
from pldp.reports.columns import survey_of_parquet
from pldp.survey import Survey, load
from pldp.tallies import Tally, tally


def add_to(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("tally", help="count reports, or add up tallies, into one small file")
    parser.add_argument(
        "reports",
        nargs="+",
        metavar="REPORTS",
        help="Parquet (.parquet), JSON lines (.jsonl, or - ), or tallies (.tally)",
    )
    parser.add_argument("--survey", metavar="FILE", help="survey file; default: the one that a Parquet file carries")
    parser.add_argument("--out", required=True, metavar="FILE", help="tally file to write, by custom .tally")
    parser.add_argument(
        "--patterns",
        action="store_true",
        help="keep whole rows of unary reports, for maximum likelihood (larger file)",
    )
    add_pair_option(parser, "count these two questions together, for a two-way table (may be repeated)")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    survey = load(args.survey) if args.survey else None
    parts = []
    with progress_bar("counting", _rows(args.reports)) as (progress, task):
        done = 0
        for path in args.reports:
            part = _tally_file(
                path,
                survey,
                args,
                lambda rows, base=done: progress.update(task, completed=base + rows),
            )
            done += part.reports + part.rejected
            survey = survey or part.survey
            parts.append(part)
    result = Tally.merge(parts)
    result.save(args.out)
    if args.json:
        emit_json(tally_mapping(result), args.json)
    if args.json != "-":
        show_tally(console_for(args), result)


def _rows(paths: list[str]) -> int | None:
    """Return the number of rows if the files tell."""
    try:
        return sum(int(pq.read_metadata(path).num_rows) for path in paths)
    except (OSError, ValueError):
        return None


def _tally_file(path: str, survey: Survey | None, args: argparse.Namespace, progress: Any) -> Tally:
    if path.endswith(".tally"):
        loaded = Tally.load(path)
        if survey is not None and loaded.survey.hash != survey.hash:
            raise UsageError(f"{path}: is a tally of another survey")
        return loaded
    if path == "-" or path.endswith((".jsonl", ".ndjson", ".json")):
        if survey is None:
            raise UsageError(f"--survey is needed to read {path}")
        return tally(survey, read_lines(path), patterns=args.patterns, pairs=args.pair, progress=progress)
    survey = survey or survey_of_parquet(path)
    return tally(survey, path, patterns=args.patterns, pairs=args.pair, progress=progress)
