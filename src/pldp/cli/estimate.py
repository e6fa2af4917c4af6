"""`pldp estimate`: from a tally to shares with errors."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pldp.cli.arguments import add_pair_option
from pldp.cli.output import (
    PICTURES,
    add_json_option,
    console_for,
    emit_json,
    progress_bar,
    show_estimate,
    show_itemsets,
    show_number,
    show_two_way,
    tally_mapping,
)
from pldp.cli.page import write_page
from pldp.errors import UsageError
from pldp.estimates import NumberResult, Result, Sets, Shares, Table, estimate, two_way
from pldp.tallies import Tally


def add_to(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("estimate", help="turn a tally into shares with errors and intervals")
    parser.add_argument("tally", help="tally file")
    parser.add_argument("--question", action="append", metavar="NAME", help="only this question (may be repeated)")
    add_pair_option(parser, "the two-way table of two questions that were tallied with --pair (may be repeated)")
    parser.add_argument(
        "--method", choices=("unbiased", "likelihood"), help="default: unbiased; likelihood if levels are hidden"
    )
    parser.add_argument("--pool", choices=("precision", "size"), default="precision", help="how levels are weighted")
    parser.add_argument(
        "--target",
        choices=("population", "respondents"),
        default="population",
        help="whose shares: the population that the respondents are a sample of, or the respondents themselves",
    )
    parser.add_argument("--confidence", type=float, default=0.95, help="of the intervals (default 0.95)")
    parser.add_argument("--html", metavar="FILE", help="write one self-contained page with table and picture")
    parser.add_argument("--plot", metavar="FILE", help="write the picture (.png, .svg or .pdf); one question")
    parser.add_argument(
        "--min-support",
        type=float,
        default=0.1,
        metavar="SHARE",
        help="of frequent sets in questions of kind choices (default 0.1)",
    )
    parser.add_argument(
        "--largest", type=int, default=3, metavar="ITEMS", help="size of the largest frequent sets (default 3)"
    )
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    tally = Tally.load(args.tally)
    if args.plot and Path(args.plot).suffix not in PICTURES:
        raise UsageError(f"--plot: the name must end in {', '.join(PICTURES)}, not {Path(args.plot).suffix!r}")
    names = args.question or ([] if args.pair else _answered(tally))
    found = [_estimate(tally, name, args) for name in names]
    tables = [two_way(tally, *pair, pool=args.pool) for pair in args.pair]
    if args.plot and len(found) + len(tables) != 1:
        raise UsageError("--plot draws one question or pair; name it with --question or --pair")
    if args.json:
        content = {
            **tally_mapping(tally),
            "questions": [each.to_mapping(args.confidence) for each in found],
            "tables": [table.to_mapping(args.confidence) for table in tables],
        }
        emit_json(content, args.json)
    if args.json != "-":
        for each in (*found, *tables):
            _SHOW[type(each)](console_for(args), each, args.confidence)
    if args.html:
        shares = [each for each in found if isinstance(each, Shares)]
        write_page(Path(args.html), tally.survey.title, shares, tally=tally, confidence=args.confidence)
    if args.plot:
        (found or tables)[0].plot(args.confidence).figure.savefig(args.plot, dpi=150)


_SHOW: Mapping[type[Result], Callable[..., None]] = {
    Shares: show_estimate,
    Sets: show_itemsets,
    NumberResult: show_number,
    Table: show_two_way,
}


def _answered(tally: Tally) -> list[str]:
    """Return the questions that have reports, or the first one if none has: its error says so."""
    names = [question.name for question in tally.survey.questions]
    found = [
        name for name in names if any(counts.reports for (asked, _), counts in tally.counts.items() if asked == name)
    ]
    for name in names:
        if found and name not in found:
            sys.stderr.write(f"pldp: question {name!r} has no reports and is left out\n")
    return found or names[:1]


def _estimate(tally: Tally, name: str, args: argparse.Namespace) -> Result:
    options = {"pool": args.pool, "target": args.target}
    for option in _OWN_OPTIONS[tally.survey.question(name).kind]:
        options[option] = getattr(args, option)
    with progress_bar(f"estimating {name}") as (progress, task):
        return estimate(tally, name, progress=lambda steps: progress.update(task, completed=steps), **options)


_OWN_OPTIONS = {"choice": ("method",), "choices": ("min_support", "largest"), "number": ()}
