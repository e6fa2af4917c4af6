"""`pldp sql`: print one query that checks and counts reports where they are."""

import argparse
import sys

from pldp.cli.arguments import add_pair_option
from pldp.cli.output import add_json_option, emit_json
from pldp.survey import load
from pldp.tallies.sql import DIALECTS, query


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("survey", metavar="SURVEY", help="survey file")
    add("--dialect", required=True, choices=tuple(DIALECTS), help="the engine that will run the query")
    words = "what follows FROM: a table or view with the columns that `pldp` writes to Parquet"
    add("--table", required=True, metavar="NAME", help=words)
    words = "count two or three questions together, mode,late or mode,late,age, for a table (may be repeated)"
    add_pair_option(parser, words)
    words = "whether ids and packed bits are bytes, or texts of hexadecimal digits (default binary)"
    add("--bytes", choices=("binary", "text"), default="binary", help=words)
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    survey = load(args.survey, running=True)
    text = query(survey, args.table, args.dialect, pairs=args.pair, bytes_as=args.bytes)
    emit_json(args, {"survey": survey.hash, "dialect": args.dialect, "table": args.table, "query": text})
    if args.json != "-":
        sys.stdout.write(text)
