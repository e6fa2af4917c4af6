"""`pldp simulate`: reports of simulated people, for trials and load."""

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import pyarrow as pa

from pldp.cli import arguments
from pldp.cli.output import add_json_option, emit, file_type, progress_bar
from pldp.cli.send import outcomes_in_words
from pldp.collector import Sender
from pldp.errors import UsageError
from pldp.reports.columns import from_batch, write_parquet
from pldp.simulate import CHANGE, Partitions, Population, simulate_reports, simulate_rounds, truth_mapping
from pldp.survey import ONCE, Survey, load

PLACE: Final = "{round}"  # stands for the number in names of files


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("survey", help="survey file")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "--out", type=file_type(".parquet"), metavar="FILE", help="Parquet file to write; with Spark, a folder"
    )
    target.add_argument(
        "--to", metavar="URL", help=f"address of a collector to send to, with new ids{arguments.TOKEN_HELP}"
    )
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--people", type=int, metavar="N", help="number of people, with shares that fall like 1/rank")
    words = "CSV with the columns question, value, people: exactly these people"
    size.add_argument("--counts", metavar="FILE", help=words)
    words = "how people choose levels: strict=0.5,open=0.5, or a JSON file with such weights per value; default equal"
    parser.add_argument("--level-mix", metavar="MIX", help=words)
    words = "ask the same people in R rounds, by the survey's repeat rule; {round} in --out is its number"
    parser.add_argument("--rounds", type=int, metavar="R", help=words)
    words = f"with --rounds: how likely an answer changes from one round to the next (default {CHANGE})"
    parser.add_argument("--change", type=float, metavar="P", help=words)
    arguments.add_seed_option(parser, "the same seed gives the same reports")
    arguments.add_engine_options(parser)
    words = "files to write with Spark, each from a seed of its own"
    parser.add_argument("--partitions", type=int, metavar="N", help=words)
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    survey = load(args.survey)
    mix = arguments.read_level_mix(args.level_mix)
    arguments.check_seed(args)
    _check_rounds(args)
    if args.engine == "spark":
        words, summary, shares = _write_on_spark(args, survey, mix)
    else:
        arguments.require_local(args, "--partitions")
        if args.counts:
            people = arguments.read_counts(survey, args.counts)
            population = Population.of_counts(survey, people, level_mix=mix, seed=args.seed)
        else:
            population = Population.of_shares(survey, args.people, level_mix=mix, seed=args.seed)
        if args.rounds is not None:
            words, summary = _write_rounds(args, survey, population)
            emit(args, {**summary, "survey": survey.hash}, lambda console: console.print(words))
            return
        words, summary = (_write if args.out else _send)(args, survey, population)
        shares = {name: population.shares(survey.question(name)) for name in population.values}
    content = {**summary, "survey": survey.hash, "questions": truth_mapping(survey, shares)}
    emit(args, content, lambda console: console.print(words))


def _check_rounds(args: argparse.Namespace) -> None:
    if args.rounds is None:
        if args.change is not None:
            raise UsageError("--change is for several rounds: say how many with --rounds")
    elif args.engine == "spark" or not args.out:
        raise UsageError("--rounds writes files on this machine: it goes with --out, not with --to or --engine spark")
    elif PLACE not in args.out:
        raise UsageError(f"--out: {args.out} must contain {PLACE}, such as reports-{PLACE}.parquet: one file per round")


def _write_rounds(args: argparse.Namespace, survey: Survey, population: Population) -> tuple[str, dict[str, Any]]:
    change = CHANGE if args.change is None else args.change
    rounds = []
    with progress_bar("simulating", args.rounds) as bar:
        for each in simulate_rounds(survey, population, args.rounds, change=change, seed=args.seed):
            file = args.out.replace(PLACE, str(each.number))
            written = write_parquet(file, survey, each.batches)
            shares = {name: each.population.shares(survey.question(name)) for name in population.values}
            truth = truth_mapping(survey, shares)
            rounds.append({"round": each.number, "reports": written, "file": file, "questions": truth})
            bar.advance()
    total = sum(each["reports"] for each in rounds)
    who = "every person reports in one round" if survey.repeat == ONCE else "everybody reports in every round"
    words = f"{total:,} reports of {len(rounds)} rounds written to {args.out}; repeat = {survey.repeat}: {who}"
    return words, {"reports": total, "repeat": survey.repeat, "change": change, "rounds": rounds}


def _write(args: argparse.Namespace, survey: Survey, population: Population) -> tuple[str, dict[str, Any]]:
    with progress_bar("simulating", population.size) as bar:

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in simulate_reports(survey, population, seed=args.seed):
                yield batch
                bar.advance(batch.num_rows)

        written = write_parquet(args.out, survey, batches())
    return f"{written:,} reports written to {args.out}", {"reports": written, "file": args.out}


def _write_on_spark(
    args: argparse.Namespace, survey: Survey, mix: Any
) -> tuple[str, dict[str, Any], Mapping[str, Any]]:
    if not args.out:
        raise UsageError("--engine spark writes files: name a folder with --out")
    people = arguments.read_counts(survey, args.counts) if args.counts else args.people
    partitions = Partitions(survey, people, args.partitions, mix, args.seed)
    folder = Path(args.out).absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"--out: {args.out} must be a new or an empty folder")
    spark = arguments.connected(args)
    from pldp.simulate.spark import write_partitions  # noqa: PLC0415 - only those who use Spark install it

    written = write_partitions(spark, partitions, folder)
    words = f"{written.reports:,} reports written to {args.out}"
    return words, {"reports": written.reports, "file": args.out}, written.shares


def _send(args: argparse.Namespace, survey: Survey, population: Population) -> tuple[str, dict[str, Any]]:
    with closing(Sender(args.to, os.environ.get(arguments.VARIABLE, ""))) as sender:
        sender.check(survey)
        seconds = send_people(sender, survey, population, seed=args.seed)
    reports = sender.accepted + sender.rejections.total()
    rate = reports / seconds
    summary = {
        "reports": reports,
        "to": args.to,
        "accepted": sender.accepted,
        "rejections": dict(sender.rejections),
        "seconds": seconds,
        "reports_per_second": rate,
    }
    return f"{outcomes_in_words(sender)} in {seconds:.1f} s ({rate:,.0f}/s)", summary


def send_people(sender: Sender, survey: Survey, people: Population, *, seed: int) -> float:
    """Send everybody's report, and return the seconds that it took."""
    start = perf_counter()
    with progress_bar("sending", people.size, with_rate=True) as bar:
        for batch in simulate_reports(survey, people, seed=seed):
            for _ in sender.send(from_batch(survey, _with_new_ids(batch))):
                bar.advance()
    return perf_counter() - start


def _with_new_ids(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the same reports under ids of their own: a collector would take those of a seed for sent before."""
    size = batch.schema.field("id").type.byte_width
    ids = pa.py_buffer(os.urandom(size * batch.num_rows))
    column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), batch.num_rows, [None, ids])
    columns = [column if field.name == "id" else batch.column(field.name) for field in batch.schema]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
