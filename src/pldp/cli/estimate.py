"""`pldp estimate`: from a tally to shares with errors."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

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
from pldp.estimates import (
    Density,
    Estimate,
    Itemsets,
    Mean,
    TwoWay,
    baskets_of,
    density,
    frequencies,
    itemsets,
    mean,
    two_way,
)
from pldp.estimates.numbers.number_mapping import number_mapping
from pldp.survey import KINDS, Survey
from pldp.tallies import Tally, fused_of


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
    found = _Found.of(tally, args)
    pictures: list[Estimate | Density] = [*found.shares, *(fitted for _, fitted in found.numbers.values())]
    if args.plot and len(pictures) != 1:
        raise UsageError("--plot draws one choice or number; name it with --question")
    if args.json:
        emit_json({**tally_mapping(tally), **found.to_mapping(args.confidence)}, args.json)
    if args.json != "-":
        found.show(console_for(args), tally.survey, args.confidence)
    if args.html:
        write_page(Path(args.html), tally.survey.title, found.shares, tally=tally, confidence=args.confidence)
    if args.plot:
        pictures[0].plot(args.confidence).figure.savefig(args.plot, dpi=150)


@dataclass(frozen=True, eq=False)
class _Found:
    """What was estimated: shares, frequent sets, numbers and two-way tables, by kind of question."""

    shares: list[Estimate]
    sets: dict[str, Itemsets]
    numbers: dict[str, tuple[Mean, Density]]
    tables: list[TwoWay]

    @classmethod
    def of(cls, tally: Tally, args: argparse.Namespace) -> _Found:
        names = args.question or ([] if args.pair else _answered(tally))
        by_kind = {kind: [name for name in names if tally.survey.question(name).kind == kind] for kind in KINDS}
        numbers = {}
        for name in by_kind["number"]:
            fused = fused_of(tally, name)
            numbers[name] = (mean(fused, target=args.target), density(fused))
        return cls(
            [_estimate(tally, name, args) for name in by_kind["choice"]],
            {
                name: itemsets(*baskets_of(tally, name), args.min_support, largest=args.largest)
                for name in by_kind["choices"]
            },
            numbers,
            [two_way(tally, *pair, pool=args.pool) for pair in args.pair],
        )

    def to_mapping(self, confidence: float) -> dict[str, Any]:
        content: dict[str, Any] = {"questions": [estimate.to_mapping(confidence) for estimate in self.shares]}
        if self.sets:
            content["itemsets"] = [{"name": name, **each.to_mapping(confidence)} for name, each in self.sets.items()]
        if self.numbers:
            content["numbers"] = [
                {"name": name, **number_mapping(*pair, confidence)} for name, pair in self.numbers.items()
            ]
        if self.tables:
            content["pairs"] = [table.to_mapping(confidence) for table in self.tables]
        return content

    def show(self, console: Console, survey: Survey, confidence: float) -> None:
        for estimate in self.shares:
            show_estimate(console, estimate, confidence)
        for name, each in self.sets.items():
            show_itemsets(console, name, each, confidence)
        for name, pair in self.numbers.items():
            show_number(console, survey.question(name), *pair, confidence)
        for table in self.tables:
            show_two_way(console, table, confidence)


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


def _estimate(tally: Tally, name: str, args: argparse.Namespace) -> Estimate:
    with progress_bar(f"estimating {name}") as (progress, task):
        return frequencies(
            tally,
            name,
            method=args.method,
            pool=args.pool,
            target=args.target,
            progress=lambda steps, _: progress.update(task, completed=steps),
        )
