"""`pldp simulate`: reports of made-up people, for trials and load."""

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

from pldp.cli import arguments
from pldp.cli.output import add_json_option, emit, progress_bar
from pldp.cli.send import outcomes_in_words
from pldp.collector import Sender
from pldp.errors import UsageError
from pldp.reports.columns import from_batch, write_parquet
from pldp.simulate import Partitions, Population, simulate_reports, truth_mapping
from pldp.survey import Survey, load


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("survey", help="survey file")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--out", metavar="FILE", help="Parquet file to write; with Spark, a folder")
    target.add_argument(
        "--to", metavar="URL", help=f"address of a collector to send to, with new ids{arguments.TOKEN_HELP}"
    )
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--people", type=int, metavar="N", help="so many people, with shares that fall like 1/rank")
    words = "CSV with the columns question, value, people: exactly these people"
    size.add_argument("--counts", metavar="FILE", help=words)
    words = "how people choose levels: strict=0.5,open=0.5, or a JSON file with such weights per value; default equal"
    parser.add_argument("--level-mix", metavar="MIX", help=words)
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
    if args.engine == "spark":
        words, summary, shares = _write_on_spark(args, survey, mix)
    else:
        arguments.require_local(args, "--partitions")
        if args.counts:
            people = arguments.read_counts(survey, args.counts)
            population = Population.of_counts(survey, people, level_mix=mix, seed=args.seed)
        else:
            population = Population.of_shares(survey, args.people, level_mix=mix, seed=args.seed)
        words, summary = (_write if args.out else _send)(args, survey, population)
        shares = {name: population.shares(survey.question(name)) for name in population.values}
    content = {**summary, "survey": survey.hash, "questions": truth_mapping(survey, shares)}
    emit(args, content, lambda console: console.print(words))


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
