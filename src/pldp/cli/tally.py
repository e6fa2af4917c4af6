"""`pldp tally`: count reports into one small file."""

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from pldp.cli.arguments import add_engine_options, add_pair_option, connected, read_lines, require_local, with_extra
from pldp.cli.output import add_json_option, emit, file_type, progress_bar
from pldp.errors import ReportError, UnreadableError, UsageError
from pldp.reports import Rejection
from pldp.reports.columns import parquet_files, rows_of_parquet, survey_of_parquet
from pldp.survey import Survey, load
from pldp.tallies import Repeats, Tally, tally, unreadable_reports
from pldp.tallies.sql import read_counts


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    words = "Parquet (.parquet), JSON lines (.jsonl, or - ), CSV (.csv, with --engine duckdb), or tallies (.tally)"
    add("reports", nargs="*", metavar="REPORTS", help=words)
    words = "result of the query of `pldp sql`, as CSV, JSON lines or Parquet (may be repeated)"
    add("--from-counts", action="append", default=[], metavar="FILE", help=words)
    add("--survey", metavar="FILE", help="survey file; default: the one that a Parquet file carries")
    add("--out", required=True, type=file_type(".tally"), metavar="FILE", help="tally file to write, usually .tally")
    words = "keep whole rows of unary reports, for maximum likelihood (larger file)"
    add("--patterns", action="store_true", help=words)
    words = "count two or three questions together, mode,late or mode,late,age, for a table (may be repeated)"
    add_pair_option(parser, words)
    words = "count the reports of truncated or corrupt Parquet files as rejected and go on; default: stop"
    add("--skip-unreadable", action="store_true", help=words)
    add_engine_options(parser, duckdb="DuckDB on this machine")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    survey = load(args.survey, running=True) if args.survey else None
    _check(args)
    if args.skip_unreadable and all(path.endswith((".tally", ".csv")) or _is_text(path) for path in args.reports):
        raise UsageError("--skip-unreadable is for Parquet files; there are none here")
    if args.engine != "spark":
        require_local(args)
    counted = [_read_counts(path, survey, args) for path in args.from_counts]
    if args.reports:
        counted.append(_ENGINES[args.engine](survey, args))
    result = Tally.merge(counted)
    if not result.reports and set(result.rejections) == {Rejection.WRONG_SURVEY}:
        raise ReportError(f"none of the {result.rejected:,} reports is of the survey {result.survey.title!r}")
    result.save(args.out)
    if result.two_labels:
        sys.stderr.write(
            f"pldp: warning: {result.two_labels:,} reports show two labels of hidden levels, which proves that their "
            "levels differ; they are counted, and devices no longer send such reports\n"
        )
    rejections = {reason.value: count for reason, count in sorted(result.rejections.items())}
    cells = [
        {"question": question, "level": level, "reports": counts.reports}
        for (question, level), counts in result.counts.items()
    ]
    content: dict[str, Any] = {"survey": result.survey.hash, "reports": result.reports, "rejected": result.rejected}
    looked = args.engine == "local" and not args.from_counts
    content["repeated"] = result.repeated if looked or result.repeated else None
    emit(args, {**content, "rejections": rejections, "cells": cells}, lambda console: _show(console, result))


def _check(args: argparse.Namespace) -> None:
    """Refuse files that are missing, or that the engine does not read."""
    if not args.reports and not args.from_counts:
        raise UsageError("nothing to count: name files of reports or tallies, or --from-counts FILE")
    surveys = [path for path in args.reports if path.endswith(".toml")]
    if surveys:
        raise UsageError(f"{surveys[0]}: is a survey file, not reports; name it with --survey {surveys[0]}")
    sheets = [path for path in args.reports if path.endswith(".csv")]
    if sheets and args.engine != "duckdb":
        raise UsageError(f"{sheets[0]}: CSV files of reports are counted with --engine duckdb")


def _read_counts(path: str, survey: Survey | None, args: argparse.Namespace) -> Tally:
    if survey is None:
        raise UsageError("--survey is needed with --from-counts: the result of a query does not carry its survey")
    counted = read_counts(survey, path, patterns=args.patterns)
    _require_pairs(path, counted, args)
    return counted


def _show(console: Console, counted: Tally) -> None:
    console.print(f"{counted.reports:,} reports counted, {counted.rejected:,} rejected ({counted.survey.title})")
    for reason, count in sorted(counted.rejections.items()):
        console.print(f"  rejected, {reason.value}: {count:,}")
    if counted.repeated:
        console.print(f"  {counted.repeated_words}")


def _tally_here(survey: Survey | None, args: argparse.Namespace) -> Tally:
    parts, repeats = [], Repeats()
    paths = [str(file) for path in args.reports for file in ([path] if _is_text(path) else parquet_files(path))]
    with progress_bar("counting", _rows(paths)) as bar:
        done = 0
        for path in paths:
            part = _tally_file(path, survey, args, repeats, lambda rows, base=done: bar.reach(base + rows))
            done += part.reports + part.rejected
            survey = survey or part.survey
            parts.append(part)
    counted = Tally.merge(parts)
    return replace(counted, repeated=min(counted.reports, counted.repeated + repeats.count()))


def _tally_on_spark(survey: Survey | None, args: argparse.Namespace) -> Tally:
    tallies = [_load_tally(path, survey, args) for path in args.reports if path.endswith(".tally")]
    texts = [path for path in args.reports if _is_text(path)]
    files = [path for path in args.reports if path not in texts and not path.endswith(".tally")]
    if "-" in texts:
        raise UsageError("- : a cluster cannot read standard input")
    survey = survey or (tallies[0].survey if tallies else _survey_of(files[0] if files else texts[0]))
    spark = connected(args)
    from pldp.tallies import spark as engine  # noqa: PLC0415 - only those who use Spark install it

    how = {"patterns": args.patterns, "pairs": args.pair}
    if texts:
        tallies.append(engine.tally(survey, spark.read.text([_address(path) for path in texts]), **how))
    if files:
        unreadable = _say_unreadable if args.skip_unreadable else None
        addresses = [_address(path) for path in files]
        tallies.append(engine.tally_files(survey, spark, addresses, unreadable=unreadable, **how))
    return Tally.merge(tallies)


def _tally_by_duckdb(survey: Survey | None, args: argparse.Namespace) -> Tally:
    tallies = [_load_tally(path, survey, args) for path in args.reports if path.endswith(".tally")]
    files = [path for path in args.reports if not path.endswith(".tally")]
    if "-" in files:
        raise UsageError("- : DuckDB reads files; count standard input with --engine local")
    if not files:
        return Tally.merge(tallies)
    survey = survey or (tallies[0].survey if tallies else _survey_of(files[0]))
    with with_extra("sql"):
        from pldp.tallies.sql import tally_files  # noqa: PLC0415 - only those who use DuckDB install it
    unreadable = _say_unreadable if args.skip_unreadable else None
    with progress_bar("counting with DuckDB"):
        found = tally_files(survey, files, unreadable=unreadable, patterns=args.patterns, pairs=args.pair)
    return Tally.merge([*tallies, found])


_ENGINES: Final[Mapping[str, Callable[[Survey | None, argparse.Namespace], Tally]]] = {
    "local": _tally_here,
    "duckdb": _tally_by_duckdb,
    "spark": _tally_on_spark,
}
"""What counts files, by the name of the engine."""


def _address(path: str) -> str:
    """Name a file of this machine in full: Spark may have another working folder."""
    return str(Path(path).absolute()) if Path(path).exists() else path


def _survey_of(path: str) -> Survey:
    if _is_text(path) or path.endswith(".csv") or "://" in path:
        raise UsageError(f"--survey is needed to read {path}")
    return survey_of_parquet(path)


def _say_unreadable(error: UnreadableError) -> None:
    sys.stderr.write(f"pldp: {error}: its reports are rejected\n")


def _is_text(path: str) -> bool:
    return path == "-" or path.endswith((".jsonl", ".ndjson", ".json"))


def _rows(paths: list[str]) -> int | None:
    rows = [rows_of_parquet(path) for path in paths]
    return sum(number for number in rows if number is not None) if None not in rows else None


def _load_tally(path: str, survey: Survey | None, args: argparse.Namespace) -> Tally:
    """Read a tally; refuse one of another survey, or without what the options ask for, which would be lost for all."""
    loaded = Tally.load(path)
    if survey is not None and loaded.survey.hash != survey.hash:
        raise UsageError(f"{path}: is a tally of another survey")
    _require_pairs(path, loaded, args)
    if args.patterns and not all(counts.has_cells for counts in loaded.counts.values() if counts.reports):
        raise UsageError(f"--patterns: {path} was counted without whole rows; count its reports again")
    return loaded


def _require_pairs(path: str, loaded: Tally, args: argparse.Namespace) -> None:
    for pair in map(tuple, args.pair):
        if pair not in loaded.paired:
            missing = f"the pair {', '.join(pair)}"
            raise UsageError(f"--pair: {path} was counted without {missing}; count its reports again")


def _tally_file(path: str, survey: Survey | None, args: argparse.Namespace, repeats: Repeats, progress: Any) -> Tally:
    if path.endswith(".tally"):
        return _load_tally(path, survey, args)
    survey = survey or _survey_of(path)
    reports = read_lines(path) if _is_text(path) else path
    try:
        return tally(survey, reports, patterns=args.patterns, pairs=args.pair, progress=progress, repeats=repeats)
    except UnreadableError as error:
        if not args.skip_unreadable:
            raise
        _say_unreadable(error)
        return unreadable_reports(survey, rows_of_parquet(path) or 1)
