"""`pldp estimate`: from a tally to results with errors, or from several rounds to a trend."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from pldp import __version__, show
from pldp.cli.arguments import add_pair_option, check_plot
from pldp.cli.output import add_json_option, emit, progress_bar, show_result
from pldp.errors import EstimateError, UsageError
from pldp.estimates import Result, Results, applies, estimate, trend, two_way
from pldp.tallies import Tally

OPTIONS: Final = ("method", "pool", "target", "live", "min_support", "largest")
"""Options that are passed on if they are given; those that do not apply are refused."""


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("tally", nargs="?", help="tally file")
    words = "two or more tallies, oldest first: every round, what changed, and a test whether anything did"
    add("--rounds", nargs="+", metavar="TALLY", help=words)
    words = "with --rounds: at most how many people are in two of them (default: what the survey's rule allows)"
    add("--overlap", type=int, metavar="PEOPLE", help=words)
    add("--question", action="append", metavar="NAME", help="only this question (may be repeated)")
    add_pair_option(parser, "the two-way table of two questions that were tallied with --pair (may be repeated)")
    words = (
        "unbiased or likelihood for one answer (default: unbiased; likelihood if levels are hidden), "
        "weights, average, posterior or fitted for the mean of a number (default: weights)"
    )
    add("--method", metavar="NAME", help=words)
    add("--pool", choices=("precision", "size"), help="how levels are weighted (default: precision)")
    words = "whose numbers: of the population that the respondents are a sample of (default), or of the respondents"
    add("--target", choices=("population", "respondents"), help=words)
    add("--confidence", type=float, default=0.95, help="of the intervals (default 0.95)")
    words = (
        "for results that are read while reports come: intervals hold however often one looks, and are narrowest from "
        "this planned number of reports on (default: intervals for one look)"
    )
    add("--live", type=int, metavar="REPORTS", help=words)
    add("--html", metavar="FILE", help="write one self-contained page with tables and pictures")
    add("--plot", metavar="FILE", help="write the picture (.png, .svg or .pdf) of one question or pair")
    words = "of frequent sets in questions of kind choices (default 0.1)"
    add("--min-support", type=float, metavar="SHARE", help=words)
    add("--largest", type=int, metavar="ITEMS", help="size of the largest frequent sets (default 3)")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    check_plot(args)
    _check_rounds(args)
    options = {name: getattr(args, name) for name in OPTIONS if getattr(args, name) is not None}
    if args.pair and options.keys() - {"pool"}:
        raise UsageError(f"--{min(options.keys() - {'pool'}).replace('_', '-')} does not apply to two-way tables")
    tallies = [Tally.load(path) for path in args.rounds or [args.tally]]
    if not args.question and not args.pair:
        _name_unaffected(tallies[0], options)
    results = _trend(tallies, args, options) if args.rounds else _estimate(tallies[0], args, options)
    found: list[Result] = [*results.values(), *results.tables]
    if not found:
        raise EstimateError(next(iter(results.missing.values())))
    if args.plot and len(found) != 1:
        raise UsageError("--plot draws one question or pair; name it with --question or --pair")
    for name, reason in results.missing.items():
        sys.stderr.write(f"pldp: {name} has no result: {reason}\n")
    content = results.to_mapping(args.confidence)
    emit(args, content, lambda console: _show(console, content))
    if args.html:
        closing = f"Survey {results.survey}. Made by pldp {__version__}."
        Path(args.html).write_text(show.results_page(content, closing=closing), encoding="utf-8")
    if args.plot:
        found[0].plot(args.confidence).figure.savefig(args.plot, dpi=150)


def _check_rounds(args: argparse.Namespace) -> None:
    """Refuse both a tally and rounds, none of them, and options of the other."""
    if (args.tally is None) == (args.rounds is None):
        raise UsageError("give one tally, or --rounds with two or more of them")
    if args.rounds is None and args.overlap is not None:
        raise UsageError("--overlap is about people in several rounds: use it with --rounds")
    for option in ("min_support", "largest") if args.rounds else ():
        if getattr(args, option) is not None:
            raise UsageError(f"--{option.replace('_', '-')} is about sets of items; --rounds shows single items")


def _trend(tallies: list[Tally], args: argparse.Namespace, options: Mapping[str, Any]) -> Results:
    """Return the trend of every question, or of those that are named; rounds must ask the same."""
    asked = [[(each.name, each.kind, each.text, *each.scale) for each in tally.survey.questions] for tally in tallies]
    for path, questions in zip(args.rounds, asked, strict=True):
        if questions != asked[0]:
            raise UsageError(f"--rounds: {path} is a tally of a survey with other questions than {args.rounds[0]}")
    names = [Path(path).stem for path in args.rounds]
    rounds = [_estimate(tally, args, options) for tally in tallies]
    return trend(rounds, names=names if len(set(names)) == len(names) else (), overlap=args.overlap)


def _show(console: Console, content: Mapping[str, Any]) -> None:
    for result in (*content["questions"], *content["tables"]):
        show_result(console, result)


def _estimate(tally: Tally, args: argparse.Namespace, given: Mapping[str, Any]) -> Results:
    with progress_bar("estimating") as bar:
        options: dict[str, Any] = {**given, "confidence": args.confidence, "progress": bar.reach}
        if not args.question and not args.pair:
            results: Results = estimate(tally, **options)
            return results
        return Results(
            tally.survey.hash,
            tally.survey.title,
            tally.reports,
            {reason.value: count for reason, count in sorted(tally.rejections.items())},
            {name: estimate(tally, name, **options) for name in args.question or ()},
            tuple(two_way(tally, *pair, pool=args.pool or "precision") for pair in args.pair),
        )


def _name_unaffected(tally: Tally, options: Mapping[str, Any]) -> None:
    """Say which questions an option says nothing about; one that applies to no question at all is refused."""
    for name, value in options.items():
        others = [each.name for each in tally.survey.questions if not applies(each, name, value)]
        if others and len(others) < len(tally.survey.questions):
            sys.stderr.write(f"pldp: --{name.replace('_', '-')} does not apply to {', '.join(others)}\n")
