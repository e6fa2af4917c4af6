"""`pldp estimate`: from a tally to results with errors, from rounds to a trend, from groups to a population."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from pldp import __version__, show
from pldp.cli.arguments import add_pair_option, check_plot, read_known
from pldp.cli.options import add_estimate_options, flag_of, read_estimate_options
from pldp.cli.output import (
    add_details_option,
    add_html_option,
    add_json_option,
    emit,
    progress_bar,
    say_written,
    show_results,
    write_page,
)
from pldp.errors import EstimateError, UsageError
from pldp.estimates import Options, Result, Results, applies, change, combine, cross, estimate, trend
from pldp.tallies import Tally


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("tally", nargs="?", help="tally file")
    words = "two or more tallies, oldest first: every round, what changed, and a test whether anything did"
    add("--rounds", nargs="+", metavar="TALLY", help=words)
    words = "with --rounds: at most how many people are in two of them (default: what the survey's rule allows)"
    add("--overlap", type=int, metavar="PEOPLE", help=words)
    words = (
        "tallies of different people, each with its name: the population that they make up, if --known gives their "
        "shares, or the difference of two groups, the first minus the second"
    )
    add("--groups", nargs="+", metavar="NAME=TALLY", help=words)
    add("--question", action="append", metavar="NAME", help="only this question (may be repeated)")
    words = "the table of two or three questions, mode,late, that were tallied with --pair (may be repeated)"
    add_pair_option(parser, words)
    words = "; with --groups, the share of each group, women=0.51,men=0.49; or a JSON file with either"
    add_estimate_options(parser, known=words)
    add_html_option(parser)
    add("--plot", metavar="FILE", help="write the picture (.png, .svg or .pdf) of one question or pair")
    add_json_option(parser)
    add_details_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    check_plot(args)
    _check_rounds(args)
    options = _options(args)
    named = _group_paths(args.groups or ())
    tallies = [Tally.load(path) for path in args.rounds or [*named.values()] or [args.tally]]
    if not args.question and not args.pair:
        _name_unaffected(tallies[0], options)
    if named:
        results = _groups(dict(zip(named, tallies, strict=True)), args, options)
    else:
        results = _trend(tallies, args, options) if args.rounds else _estimate(tallies[0], args, options)
    found: list[Result] = [*results.values(), *results.tables]
    if not found:
        raise EstimateError(next(iter(results.missing.values())))
    if args.plot and len(found) != 1:
        raise UsageError("--plot draws one question or pair; name it with --question or --pair")
    for name, reason in results.missing.items():
        sys.stderr.write(f"pldp: {name} has no result: {reason}\n")
    content = results.to_mapping(args.confidence)
    emit(args, content, lambda console: _show(console, content, args))
    if args.html:
        closing = f"Survey {results.survey}. Made by pldp {__version__}."
        write_page(args, show.results_page(content, closing=closing))
    if args.plot:
        found[0].plot(args.confidence).figure.savefig(args.plot, dpi=150)
        say_written(args, "picture", args.plot)


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options that were given, read; refuse what does not apply to the tables that are asked for."""
    options = read_estimate_options(args, known=partial(read_known, groups=bool(args.groups)))
    if args.groups:
        options.pop("known", None)
    if args.ranges and args.question and not args.pair:
        raise UsageError("--ranges is about tables: name one with --pair")
    others = [name for name in options if not Options.stated()[name].tables]
    if args.pair and others:
        raise UsageError(f"{flag_of(min(others))} does not apply to tables of several questions")
    return options


def _check_rounds(args: argparse.Namespace) -> None:
    """Refuse more than one of a tally, rounds and groups, none of them, and options of the others."""
    if sum(given is not None for given in (args.tally, args.rounds, args.groups)) != 1:
        raise UsageError("give one tally, or --rounds or --groups with two or more of them")
    if args.rounds is None and args.overlap is not None:
        raise UsageError("--overlap is about people in several rounds: use it with --rounds")
    several = "--rounds" if args.rounds else "--groups"
    for option in () if args.tally else ("min_support", "largest"):
        if getattr(args, option) is not None:
            raise UsageError(f"{flag_of(option)} is about sets of items; {several} shows single items")


def _group_paths(given: Sequence[str]) -> dict[str, str]:
    """Return the tally of each group by name."""
    paths = dict(part.split("=", 1) for part in given if "=" in part)
    if given and (len(paths) != len(given) or len(paths) < 2 or not all((*paths, *paths.values()))):
        raise UsageError("--groups must be two or more different names with their tallies: women=w.tally men=m.tally")
    return paths


def _groups(tallies: Mapping[str, Tally], args: argparse.Namespace, options: Mapping[str, Any]) -> Results:
    """Return the population that groups make up, or the difference of two."""
    if args.known is None and len(tallies) > 2:
        shares = ",".join(f"{name}=…" for name in tallies)
        raise UsageError(f"--groups of more than two need the share of each in the population: --known {shares}")
    results = {name: _estimate(tally, args, options) for name, tally in tallies.items()}
    if args.known is not None:
        return combine(results, read_known(args.known, groups=True))
    return change(*results.values(), groups=(*results,))


def _trend(tallies: list[Tally], args: argparse.Namespace, options: Mapping[str, Any]) -> Results:
    """Return the trend of every question, or of those that are named; rounds must ask the same."""
    asked = [[(each.name, each.kind, each.text, *each.scale) for each in tally.survey.questions] for tally in tallies]
    for path, questions in zip(args.rounds, asked, strict=True):
        if questions != asked[0]:
            raise UsageError(f"--rounds: {path} is a tally of a survey with other questions than {args.rounds[0]}")
    names = [Path(path).stem for path in args.rounds]
    rounds = [_estimate(tally, args, options) for tally in tallies]
    return trend(rounds, names=names if len(set(names)) == len(names) else (), overlap=args.overlap)


def _show(console: Console, content: Mapping[str, Any], args: argparse.Namespace) -> None:
    """Print the questions; tables only where they are asked for."""
    asked = args.pair or args.details or not content["questions"]
    show_results(console, [*content["questions"], *(content["tables"] if asked else ())], args)
    if any("questions" in table for table in content["tables"]) and not asked:
        pairs = " ".join(
            f"--pair {','.join(table['questions'])}" for table in content["tables"] if "questions" in table
        )
        console.print(f"Also counted together: {pairs}", style="dim", soft_wrap=True)


def _estimate(tally: Tally, args: argparse.Namespace, given: Mapping[str, Any]) -> Results:
    with progress_bar("estimating") as bar:
        options: dict[str, Any] = {**given, "progress": bar.reach}
        if not args.question and not args.pair:
            results: Results = estimate(tally, **options)
            return results
        return Results(
            tally.survey.hash,
            tally.survey.title,
            tally.reports,
            {reason.value: count for reason, count in sorted(tally.rejections.items())},
            {name: estimate(tally, name, **_of_questions(options)) for name in args.question or ()},
            tuple(_cross(tally, pair, **given) for pair in args.pair),
        )


def _of_questions(options: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what only tables take."""
    return {name: value for name, value in options.items() if Options.stated()[name].kinds != ()}


def _cross(
    tally: Tally,
    pair: tuple[str, ...],
    *,
    confidence: float | None = None,
    ranges: Mapping[str, Any] | None = None,
    **options: Any,
) -> Result:
    """Return a table; ranges of questions that are not in it are those of another one that is asked for."""
    edges = {name: own for name, own in (ranges or {}).items() if name in pair}
    table = cross(tally, pair, ranges=edges, **options)
    return table if confidence is None else replace(table, confidence=confidence)


def _name_unaffected(tally: Tally, options: Mapping[str, Any]) -> None:
    """Say which questions an option says nothing about; one that applies to no question at all is refused."""
    for name, value in _of_questions(options).items():
        others = [each.name for each in tally.survey.questions if not applies(each, name, value)]
        if others and len(others) < len(tally.survey.questions):
            sys.stderr.write(f"pldp: {flag_of(name)} does not apply to {', '.join(others)}\n")
