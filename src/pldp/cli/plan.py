"""`pldp plan`: the errors to expect, and the best way to ask, before anybody is asked."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pldp.cli.arguments import read_counts, read_level_mix
from pldp.cli.output import PICTURES, add_json_option, console_for, emit_json
from pldp.errors import UsageError
from pldp.mechanisms import MICRO
from pldp.planning import Plan, plan
from pldp.survey import load

SHOWN_DESIGNS = 5


def add_to(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("plan", help="say what errors to expect, and which design is best, before asking")
    parser.add_argument("survey", help="survey file")
    parser.add_argument("--people", type=int, required=True, metavar="N", help="how many people will report")
    parser.add_argument(
        "--level-mix", metavar="MIX", help="how often each level is chosen: strict=0.5,open=0.5; default equal"
    )
    parser.add_argument(
        "--shares", metavar="FILE", help="CSV with question, value, people of an earlier survey; default equal shares"
    )
    parser.add_argument(
        "--error", type=float, metavar="E", help="tell how many people make every interval at most ± E, such as 0.01"
    )
    parser.add_argument(
        "--hide-level", metavar="EPSILON", help="plan as if levels were hidden behind a label of this ε"
    )
    parser.add_argument("--confidence", type=float, default=0.95, help="of the intervals (default 0.95)")
    parser.add_argument("--plot", metavar="FILE", help="draw error against people and ε (.png, .svg or .pdf)")
    parser.add_argument("--out", metavar="FILE", help="write the survey in its best design, spelled out as JSON")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    survey = load(args.survey)
    if args.plot and Path(args.plot).suffix not in PICTURES:
        raise UsageError(f"--plot: the name must end in {', '.join(PICTURES)}, not {Path(args.plot).suffix!r}")
    mix = read_level_mix(args.level_mix)
    if mix is not None and any(isinstance(weight, dict) for weight in mix.values()):
        raise UsageError("--level-mix: a plan takes one weight per level, not weights per value")
    shares = None if args.shares is None else read_counts(survey, args.shares, "--shares")
    planned = plan(survey, args.people, level_mix=mix, shares=shares, hide_level=args.hide_level)
    needed = None if args.error is None else planned.people_for(args.error, args.confidence)
    content = planned.to_mapping(args.confidence)
    # Whatever can fail comes before anything is printed.
    best = planned.best_survey() if args.out else None
    if args.plot:
        planned.plot(args.confidence).savefig(args.plot, dpi=150)
    if best is not None:
        best.save(args.out)
    if args.json:
        emit_json(content if needed is None else {**content, "people_needed": dict(needed)}, args.json)
    if args.json != "-":
        _show(console_for(args), planned, args, needed)


def _show(console: Console, planned: Plan, args: argparse.Namespace, needed: Any) -> None:
    console.print(_questions_table(planned, args, needed))
    console.print(_levels_table(planned))
    if len(planned.designs) > 1:
        console.print(_designs_table(planned))
    console.print(_advice(planned), markup=False)


def _advice(planned: Plan) -> str:
    if planned.no_designs is not None:
        return f"No design is recommended: {planned.no_designs}."
    best = planned.designs[0]
    if best.split == "given":
        return "Your current design is already the best of these."
    given = next(design for design in planned.designs if design.split == "given")
    gain = (best.squared_error / given.squared_error) ** 0.5
    return (
        f"Best: each person answers {_asked(best.ask, planned)}; errors are {gain:.2f} times those of your current "
        "design (root mean square), for the same total ε. Write that survey with --out FILE."
    )


def _asked(ask: int, planned: Plan) -> str:
    every = len(planned.survey.questions)
    return "all questions" if ask == every else f"{ask} of {every} questions, picked at random"


def _questions_table(planned: Plan, args: argparse.Namespace, needed: Any) -> Table:
    table = Table(title=f"{escape(planned.survey.title)}: {planned.people:,} people", title_justify="left")
    table.add_column("question")
    headings = [
        "estimates",
        "answers",
        "standard error",
        f"widest {args.confidence:.0%} interval",
        "a forged report is",
    ]
    if planned.survey.level_channel is not None:
        headings.append("hiding costs")
    if needed is not None:
        headings.append(f"people for ± {args.error:g}")
    for heading in headings:
        table.add_column(heading, justify="right")
    for each in planned.questions:
        row = [
            each.contents,
            f"{each.reports:,.0f}",
            each.amount((each.standard_error**2).mean() ** 0.5),
            each.half_width(args.confidence),
            f"{each.manipulation:.1f} people",
        ]
        if planned.survey.level_channel is not None:
            row.append(f"× {each.hiding_cost:.2f}")
        if needed is not None:
            row.append(f"{needed[each.question]:,}")
        table.add_row(escape(each.question), *row)
    return table


def _levels_table(planned: Plan) -> Table:
    table = Table(title="levels", title_justify="left")
    for heading in ("question", "level"):
        table.add_column(heading)
    for heading in ("ε", "answers", "standard error alone"):
        table.add_column(heading, justify="right")
    table.add_column("mechanism")
    table.add_column("standard error with the others")
    for each in planned.questions:
        for level in each.levels:
            others = ", ".join(
                f"{name} × {error / level.standard_error:.2f}"
                for name, error in level.mechanisms.items()
                if name != level.mechanism
            )
            row = (f"{level.epsilon:g}", f"{level.reports:,.0f}", each.amount(level.standard_error))
            table.add_row(escape(each.question), escape(level.level), *row, level.mechanism, others)
    return table


def _designs_table(planned: Plan) -> Table:
    table = Table(title="designs with the same total ε per person, best first", title_justify="left")
    table.add_column("each person answers")
    table.add_column("split of ε")
    table.add_column("ε of a question", justify="right")
    table.add_column("root mean squared error", justify="right")
    rows = sum(len(each.rows) for each in planned.questions)
    for place, design in enumerate(planned.designs):
        if place < SHOWN_DESIGNS or design.split != "equal":
            low, high = min(design.budgets) / MICRO, max(design.budgets) / MICRO
            epsilon = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
            error = (design.squared_error / rows) ** 0.5
            table.add_row(_asked(design.ask, planned), design.split, epsilon, f"{error:.4f}")
    return table
