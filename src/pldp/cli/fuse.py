"""`pldp fuse`: join the reports of several services about the same people by a key, and estimate from all of them."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from pldp import __version__, show
from pldp.cli.options import add_estimate_options, flag_of, read_estimate_options
from pldp.cli.output import (
    add_details_option,
    add_html_option,
    add_json_option,
    emit,
    make_table,
    progress_bar,
    show_results,
    write_page,
)
from pldp.errors import EstimateError, UsageError
from pldp.estimates import Results, estimate_fused, fused_applies
from pldp.mechanisms import Channel, build, epsilon_text, family, micro_epsilon
from pldp.survey import Survey, load
from pldp.tallies import (
    Asked,
    Fused,
    Keyed,
    Plain,
    join_services,
    read_plain_file,
    read_survey_file,
    require_accepted,
    service_name,
    survey_of,
)
from pldp.words import unknown

PLAIN_OPTIONS: Final = ("mechanism", "epsilon", "labels", "bounds", "buckets")
BUCKETS: Final = 256


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    words = (
        "one file per service: Parquet, CSV (.csv, .tsv) or JSON lines (.jsonl); reports of a pldp survey with one "
        "more column for the key, or a plain table of keys and outputs"
    )
    add("files", nargs="+", metavar="FILE", help=words)
    words = "column with the key of the person, which the services supply: a report of pldp has none"
    add("--key", required=True, metavar="COLUMN", help=words)
    words = (
        "survey file of all services, or one per file in their order; default: the one that a Parquet file carries; "
        "- for a plain table"
    )
    add("--survey", nargs="+", default=[], metavar="SURVEY", help=words)
    add("--question", action="append", metavar="NAME", help="only this question (may be repeated)")
    words = "the largest epsilon that joining may cost a person, the sum over the services that they gave to; required"
    add("--accept-epsilon", metavar="E", help=words)
    words = ", or by its name in the paper on several services: ua, uwa, ule"
    add_estimate_options(parser, joined=True, method=words)
    words = "of plain tables: the mechanism of all of them, or one per file, where it is no column of the file"
    add("--mechanism", nargs="+", metavar="NAME", help=words)
    words = "of plain tables: the epsilon of all of them, or one per file, where it is no column of the file"
    add("--epsilon", nargs="+", metavar="E", help=words)
    add("--labels", metavar="A,B,…", help="of plain tables with labels or items: their names, output 0 first")
    add("--bounds", nargs=2, type=float, metavar=("LOW", "HIGH"), help="of plain tables with numbers")
    add("--buckets", type=int, metavar="COUNT", help=f"of plain tables with numbers (default {BUCKETS})")
    add_html_option(parser)
    add_json_option(parser)
    add_details_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    services = _read(args, _surveys(args))
    fused = join_services(services)
    if args.question:
        fused = {name: _asked(fused, name) for name in args.question}
    price = sum(each.micro_epsilon for each in fused.values())
    require_accepted(price, args.accept_epsilon, "type --accept-epsilon {}")
    rejections = {
        f"{service.name}: {reason.value}": count
        for service in services
        for reason, count in sorted(service.rejected.items())
    }
    results = _estimate(fused, args, rejections)
    if not results:
        raise EstimateError(next(iter(results.missing.values())))
    for name, reason in results.missing.items():
        sys.stderr.write(f"pldp: {name} has no result: {reason}\n")
    content = {"epsilon": epsilon_text(price), "services": _services(fused), **results.to_mapping(args.confidence)}
    emit(args, content, lambda console: _show(console, content, args))
    if args.html:
        closing = f"Joined by a key; a person's reports together cost up to epsilon {epsilon_text(price)}. "
        page = show.results_page(content, closing=f"{closing}Made by pldp {__version__}.")
        write_page(args, page)


def _asked(fused: Mapping[str, Fused], name: str) -> Fused:
    if name not in fused:
        raise UsageError(f"--question: {unknown('question', name, fused, 'these files')}")
    return fused[name]


def _surveys(args: argparse.Namespace) -> list[Survey | None]:
    """Return the survey of each file, `None` for a plain table."""
    named = args.survey * len(args.files) if len(args.survey) == 1 else args.survey
    if named and len(named) != len(args.files):
        raise UsageError(
            f"--survey: give one for all files, or one for each of the {len(args.files)}, not {len(named)}"
        )
    loaded = {path: load(path, running=True) for path in dict.fromkeys(named) if path != "-"}
    surveys = [loaded.get(path) for path in named] or [survey_of(path) for path in args.files]
    given = [option for option in PLAIN_OPTIONS if getattr(args, option) is not None]
    if given and all(survey is not None for survey in surveys):
        raise UsageError(f"--{given[0]} is for plain tables; these files hold reports of a survey, which says it")
    return surveys


def _read(args: argparse.Namespace, surveys: Sequence[Survey | None]) -> list[Keyed]:
    if len({Path(path).resolve() for path in args.files}) < len(args.files):
        raise UsageError("a file is given twice: its noise would count twice; give each service once")
    found = []
    with progress_bar("reading", with_rate=True) as bar:
        done = 0
        for place, (path, survey) in enumerate(zip(args.files, surveys, strict=True)):
            if survey is None:
                found.append(read_plain_file(path, args.key, _plain(args, place)))
            else:
                asked = [name for name in args.question or () if name in [each.name for each in survey.questions]]
                if args.question and not asked:
                    known = [each.name for each in survey.questions]
                    raise UsageError(
                        f"--question: {unknown('question', args.question[0], known, f'the survey of {path}')}"
                    )
                found.append(
                    read_survey_file(
                        path,
                        args.key,
                        survey,
                        questions=asked,
                        progress=lambda rows, base=done: bar.reach(base + rows),  # type: ignore[misc]
                    )
                )
            done += len(found[-1].keys)
    return found


def _plain(args: argparse.Namespace, place: int) -> Plain:
    """Return what the options say of the plain table at this place."""
    path = args.files[place]
    if (args.labels is None) == (args.bounds is None):
        raise UsageError(f"{path} is a plain table: give --labels A,B,… or --bounds LOW HIGH, or its --survey")
    if args.buckets is not None and args.bounds is None:
        raise UsageError("--buckets is for numbers: give --bounds LOW HIGH with it")
    name = (args.question or ["value"])[0]
    if args.bounds is not None:
        bounds = (args.bounds[0], args.bounds[1])
        if not bounds[0] < bounds[1]:
            raise UsageError(f"--bounds: the lower one comes first, not {bounds[0]:g} and {bounds[1]:g}")
        asked, size = Asked(name, limits=bounds), args.buckets or BUCKETS
    else:
        values = tuple(part.strip() for part in args.labels.split(","))
        if len(set(values)) < len(values) or len(values) < 2:
            raise UsageError("--labels must be two or more different names separated by commas")
        asked, size, bounds = Asked(name, values=values), len(values), (-1.0, 1.0)

    def make(mechanism: str, epsilon: str) -> Channel:
        micro = micro_epsilon(epsilon)
        # A number may be asked as one of its buckets; a set of items has a budget for each of them.
        budgets: Any = [micro // size] * size if family(mechanism).domain == "sets" else micro
        return build(mechanism, size, budgets)

    pair = [_one_of(args, option, place) for option in ("mechanism", "epsilon")]
    return Plain(asked, bounds, make, *pair)


def _one_of(args: argparse.Namespace, option: str, place: int) -> str | None:
    given = getattr(args, option)
    if given is None:
        return None
    if len(given) not in {1, len(args.files)}:
        raise UsageError(
            f"--{option}: give one for all files, or one for each of the {len(args.files)}, not {len(given)}"
        )
    return str(given[place if len(given) > 1 else 0])


def _estimate(fused: Mapping[str, Fused], args: argparse.Namespace, rejections: Mapping[str, int]) -> Results:
    options = read_estimate_options(args)
    for name, value in options.items():
        others = [question for question, each in fused.items() if not fused_applies(each, name, value)]
        if len(others) == len(fused):
            raise UsageError(f"{flag_of(name)} {value} does not apply to {', '.join(others)}")
        if others:
            sys.stderr.write(f"pldp: {flag_of(name)} does not apply to {', '.join(others)}\n")
    results, missing = {}, {}
    with progress_bar("estimating") as bar:
        for question, each in fused.items():
            own: Any = {name: value for name, value in options.items() if fused_applies(each, name, value)}
            try:
                results[question] = estimate_fused(each, progress=bar.reach, **own)
            except EstimateError as error:
                missing[question] = str(error)
    people = max(each.people for each in fused.values())
    title = " + ".join(service_name(path) for path in args.files)
    return Results("", title, people, rejections, results, (), missing)


def _services(fused: Mapping[str, Fused]) -> list[dict[str, Any]]:
    """Return, question by question, the sources and how many people gave to which services."""
    return [
        {
            "question": name,
            "people": each.people,
            "epsilon": epsilon_text(each.micro_epsilon),
            "sources": [
                {
                    "name": source.name,
                    "service": source.owner,
                    "mechanism": source.channel.mechanism,
                    "epsilon": epsilon_text(source.micro_epsilon),
                    "reports": source.reports,
                }
                for source in each.sources
            ],
            "subsets": [{"services": list(names), "people": people} for names, people in each.subsets.items()],
        }
        for name, each in fused.items()
    ]


def _show(console: Console, content: Mapping[str, Any], args: argparse.Namespace) -> None:
    rows = [
        (each["question"], " + ".join(subset["services"]), f"{subset['people']:,}")
        for each in content["services"]
        for subset in each["subsets"]
    ]
    console.print(make_table(("question", "gave to", "people"), rows, [2]))
    console.print(f"A person's joined reports cost up to epsilon {content['epsilon']}.")
    for reason, count in content["rejections"].items():
        console.print(f"  rejected, {reason}: {count:,}")
    console.print()
    show_results(console, content["questions"], args)
