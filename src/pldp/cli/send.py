"""`pldp send`: reports from files to a collector."""

import argparse
import os
from collections.abc import Iterator
from contextlib import ExitStack, closing

from pldp.cli.arguments import TOKEN_HELP, VARIABLE, read_lines
from pldp.cli.output import add_json_option, emit, progress_bar
from pldp.collector import Sender
from pldp.reports import Report
from pldp.reports.columns import from_batch, read_parquet, survey_of_parquet


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("reports", nargs="+", metavar="REPORTS", help="Parquet (.parquet) or JSON lines (.jsonl, or - )")
    add("--to", required=True, metavar="URL", help=f"address of the collector{TOKEN_HELP}")
    add("--round", type=int, default=0, metavar="N", help="the round that the reports were made for (default: any)")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    with ExitStack() as stack:
        sender = stack.enter_context(closing(Sender(args.to, os.environ.get(VARIABLE, ""), args.round)))
        bar = stack.enter_context(progress_bar("sending", with_rate=True))
        for path in args.reports:
            for _ in sender.send(_reports(path)):
                bar.advance()
    content = {"accepted": sender.accepted, "rejections": dict(sender.rejections)}
    emit(args, content, lambda console: console.print(outcomes_in_words(sender)))


def outcomes_in_words(sender: Sender) -> str:
    """Say how many reports were accepted, and how many rejected for which reason."""
    rejected = "".join(f", {count:,} {reason}" for reason, count in sorted(sender.rejections.items()))
    return f"{sender.accepted:,} reports accepted{rejected}"


def _reports(path: str) -> Iterator[Report | bytes]:
    if not path.endswith(".parquet"):
        yield from read_lines(path)
        return
    survey = survey_of_parquet(path)
    for batch in read_parquet(path):
        yield from from_batch(survey, batch)
