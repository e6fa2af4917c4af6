"""`pldp plan`: the errors to expect, and the best way to ask, before anybody is asked."""

import argparse
from typing import Any

from rich.console import Console
from rich.table import Table

from pldp.cli.arguments import check_plot, read_counts, read_level_mix
from pldp.cli.output import add_json_option, emit, make_table, show_prices
from pldp.errors import UsageError
from pldp.mechanisms import MICRO
from pldp.planning import Plan, plan
from pldp.survey import load

SHOWN_DESIGNS = 5


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("survey", help="survey file")
    add("--people", type=int, required=True, metavar="N", help="how many people will report")
    add("--level-mix", metavar="MIX", help="how often each level is chosen: strict=0.5,open=0.5; default equal")
    add("--shares", metavar="FILE", help="CSV with question, value, people of an earlier survey; default equal shares")
    add("--error", type=float, metavar="E", help="tell how many people make every interval at most ± E, such as 0.01")
    add("--hide-level", metavar="EPSILON", help="plan as if levels were hidden behind a label of this ε")
    add("--confidence", type=float, default=0.95, help="of the intervals (default 0.95)")
    add("--plot", metavar="FILE", help="draw error against people and ε (.png, .svg or .pdf)")
    add("--out", metavar="FILE", help="write the survey in its best design, spelled out as JSON")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    survey = load(args.survey)
    check_plot(args)
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
    if needed is not None:
        content = {**content, "people_needed": dict(needed)}
    emit(args, content, lambda console: _show(console, planned, args, needed))


def _show(console: Console, planned: Plan, args: argparse.Namespace, needed: Any) -> None:
    console.print(_questions_table(planned, args, needed))
    console.print(_levels_table(planned))
    if len(planned.designs) > 1:
        console.print(_designs_table(planned))
    show_prices(console, planned.survey)
    for each in planned.questions:
        if each.advice is not None:
            console.print(f"{each.question}: {each.advice}.")
    console.print(_advice(planned))


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
    asked = planned.questions
    columns = {
        "question": [each.question for each in asked],
        "estimates": [each.contents for each in asked],
        "answers": [f"{each.reports:,.0f}" for each in asked],
        "standard error": [each.typical_error for each in asked],
        f"widest {args.confidence:.0%} interval": [each.half_width(args.confidence) for each in asked],
        "a forged report is": [f"{each.manipulation:.1f} people" for each in asked],
    }
    if planned.survey.level_channel is not None:
        columns["hiding costs"] = [f"× {each.hiding_cost:.2f}" for each in asked]
    if needed is not None:
        columns[f"people for ± {args.error:g}"] = [f"{needed[each.question]:,}" for each in asked]
    title = f"{planned.survey.title}: {planned.people:,} people"
    return make_table(columns, zip(*columns.values(), strict=True), range(1, len(columns)), title=title)


def _levels_table(planned: Plan) -> Table:
    heads = ("question", "level", "ε", "answers", "standard error alone", "mechanism", "standard error with the others")
    rows = [
        (
            each.question,
            level.level,
            f"{level.epsilon:g}",
            f"{level.reports:,.0f}",
            each.amount(level.standard_error),
            level.mechanism,
            ", ".join(
                f"{name} × {error / level.standard_error:.2f}"
                for name, error in level.mechanisms.items()
                if name != level.mechanism
            ),
        )
        for each in planned.questions
        for level in each.levels
    ]
    return make_table(heads, rows, range(2, 5), title="levels")


def _designs_table(planned: Plan) -> Table:
    heads = ("each person answers", "split of ε", "ε of a question", "root mean squared error")
    cells = sum(len(each.rows) for each in planned.questions)
    rows = []
    for place, design in enumerate(planned.designs):
        if place < SHOWN_DESIGNS or design.split != "equal":
            low, high = min(design.budgets) / MICRO, max(design.budgets) / MICRO
            epsilon = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
            error = (design.squared_error / cells) ** 0.5
            rows.append((_asked(design.ask, planned), design.split, epsilon, f"{error:.4f}"))
    return make_table(heads, rows, {2, 3}, title="designs with the same total ε per person, best first")
