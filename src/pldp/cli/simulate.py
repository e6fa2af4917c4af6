"""`pldp simulate`: reports of made-up people, for trials and load."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from pldp.cli.arguments import add_engine_options, connected, read_counts, read_level_mix, require_local
from pldp.cli.output import add_json_option, console_for, emit_json, progress_bar
from pldp.errors import UsageError
from pldp.reports.columns import write_parquet
from pldp.simulate import Partitions, Population, simulate_reports
from pldp.survey import Survey, load


def add_to(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("simulate", help="write the reports that simulated people would send")
    parser.add_argument("survey", help="survey file")
    parser.add_argument("--out", required=True, metavar="FILE", help="Parquet file to write; with Spark, a folder")
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--people", type=int, metavar="N", help="so many people, with shares that fall like 1/rank")
    size.add_argument(
        "--counts", metavar="FILE", help="CSV with the columns question, value, people: exactly these people"
    )
    parser.add_argument(
        "--level-mix",
        metavar="MIX",
        help="how people choose levels: strict=0.5,open=0.5, or a JSON file with such weights per value; default equal",
    )
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same reports (default 0)")
    add_engine_options(parser)
    parser.add_argument(
        "--partitions", type=int, metavar="N", help="files to write with Spark, each from a seed of its own"
    )
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    survey = load(args.survey)
    mix = read_level_mix(args.level_mix)
    if args.seed < 0:
        raise UsageError(f"--seed must not be negative, not {args.seed}")
    if args.engine == "spark":
        _run_on_spark(survey, mix, args)
        return
    require_local(args, "--partitions")
    if args.counts:
        population = Population.of_counts(survey, read_counts(survey, args.counts), level_mix=mix, seed=args.seed)
    else:
        population = Population.of_shares(survey, args.people, level_mix=mix, seed=args.seed)
    with progress_bar("simulating", population.size) as (progress, task):

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in simulate_reports(survey, population, seed=args.seed):
                yield batch
                progress.advance(task, batch.num_rows)

        written = write_parquet(args.out, survey, batches())
    if args.json:
        shares = {name: population.shares(survey.question(name)) for name in population.values}
        emit_json(_summary(survey, shares, args.out, written), args.json)
    if args.json != "-":
        console_for(args).print(f"{written:,} reports written to {args.out}", markup=False)


def _run_on_spark(survey: Survey, mix: Any, args: argparse.Namespace) -> None:
    people = read_counts(survey, args.counts) if args.counts else args.people
    partitions = Partitions(survey, people, args.partitions, mix, args.seed)
    folder = Path(args.out).absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"--out: {args.out} must be a new or an empty folder")
    spark = connected(args)
    from pldp.simulate.spark import write_partitions  # noqa: PLC0415 - only those who use Spark install it

    written = write_partitions(spark, partitions, folder)
    if args.json:
        emit_json(_summary(survey, written.shares, args.out, written.reports), args.json)
    if args.json != "-":
        console_for(args).print(f"{written.reports:,} reports written to {args.out}", markup=False)


def _summary(survey: Survey, shares: Mapping[str, Any], path: str, written: int) -> dict[str, Any]:
    questions = [
        {
            "name": name,
            "rows": [
                {"value": value, "true": float(share)}
                for value, share in zip(survey.question(name).values, own, strict=True)
            ],
        }
        for name, own in shares.items()
    ]
    return {"reports": written, "file": path, "survey": survey.hash, "questions": questions}
