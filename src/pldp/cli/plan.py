"""`pldp plan`: the errors to expect, and the best way to ask, before anybody is asked."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from pldp.cli.arguments import check_plot, read_counts, read_json, read_level_weights
from pldp.cli.output import add_details_option, add_json_option, emit, file_type, make_table, show_prices
from pldp.cli.worth import guessing_table, show_shuffled
from pldp.errors import UsageError
from pldp.mechanisms import MICRO
from pldp.planning import PeopleNeeded, Plan, QuestionPlan, hiding_words, plan, reach_of
from pldp.show import amounts, brief, listed
from pldp.survey import Survey, load

SHOWN_DESIGNS: Final = 5
TARGET: Final = 0.02
"""Margin for which the people needed are named: a share, or a part of the range of a number."""
MOST_ASSUMED: Final = 3
"""Different assumptions about shares that are spelled out."""


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("survey", help="survey file")
    add("--people", type=int, required=True, metavar="N", help="how many people will report")
    add("--level-mix", metavar="MIX", help="how often each level is chosen: strict=0.5,open=0.5; default equal")
    add(
        "--shares",
        metavar="FILE",
        help="plausible shares: JSON that pldp estimate wrote, JSON with shares by question, or CSV with question, "
        "value, people; or the word equal; default a guess, which is shown",
    )
    add(
        "--error",
        action="append",
        metavar="E",
        help="tell how many people make every interval at most ± E, such as 0.01; of a number by name, such as spent=5 "
        "(may be repeated)",
    )
    add("--hide-level", metavar="EPSILON", help="plan as if levels were hidden behind a label of this ε")
    add(
        "--differ",
        type=lambda text: float(text) / 100,
        metavar="POINTS",
        help="plan also for people of different levels who differ by at most so much: percentage points of a share, "
        "per cent of the range of a number",
    )
    add("--confidence", type=float, default=0.95, help="of the intervals (default 0.95)")
    add("--plot", metavar="FILE", help="draw error against people and ε (.png, .svg or .pdf)")
    add(
        "--out",
        type=file_type(".json"),
        metavar="FILE",
        help="write the survey in its best design, spelled out as JSON",
    )
    add_details_option(parser)
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    survey = load(args.survey)
    check_plot(args)
    reach_of(args.confidence)
    mix = read_level_weights(args.level_mix, "a plan")
    planned = plan(
        survey,
        args.people,
        level_mix=mix,
        shares=_read_shares(survey, args.shares),
        hide_level=args.hide_level,
        differ=args.differ,
    )
    errors = _read_errors(planned, args.error)
    needed = planned.people_for(errors, args.confidence) if errors else None
    content = planned.to_mapping(args.confidence) if args.json or args.details else {}
    # Whatever can fail comes before anything is printed.
    best = planned.best_survey() if args.out else None
    if args.plot:
        planned.plot(args.confidence).savefig(args.plot, dpi=150)
    if best is not None:
        best.save(args.out)
    if needed is not None:
        people = {name: {"error": errors[name], **asdict(each)} for name, each in needed.items()}
        content = {**content, "people_needed": people}
    emit(args, content, lambda console: _show(console, planned, content, args))


def _read_shares(survey: Survey, path: str | None) -> Any:
    """Read plausible shares from a file."""
    if path is None or path == "equal":
        return path
    if not path.endswith(".json"):
        return read_counts(survey, path, "--shares")
    found = read_json("--shares", path)
    if not isinstance(found, dict):
        raise UsageError(
            f"--shares: {path} must be what pldp estimate --json writes, or an object of shares by question"
        )
    return found


def _read_errors(planned: Plan, texts: Sequence[str] | None) -> dict[str, float]:
    """Read `0.02` for all questions, and `spent=5` for one of them, in its own unit."""
    errors: dict[str, float] = {}
    for text in sorted(texts or (), key=lambda text: "=" in text):  # those of single questions last
        name, given, number = text.rpartition("=")
        try:
            error = float(number)
        except ValueError:
            raise UsageError(f"--error must look like 0.02 or spent=5, not {text[:40]!r}") from None
        errors |= {name: error} if given else dict.fromkeys((each.question for each in planned.questions), error)
    by_name = {text.rpartition("=")[0] for text in texts or ()}
    for each in planned.questions:
        if each.question in errors and not each.of_shares and each.question not in by_name:
            unit = f" in {each.unit}" if each.unit else ""
            raise UsageError(
                f"--error: question {each.question!r} is a number: add --error {each.question}=E, its error{unit}"
            )
    return errors


def _show(console: Console, planned: Plan, content: Mapping[str, Any], args: argparse.Namespace) -> None:
    console.print(f"Margins to expect with {planned.people:,} people ({brief(100 * args.confidence)} %):")
    console.print(_margins_table(planned, args))
    console.print(_assumed(planned))
    if planned.differ is not None:
        console.print(_declared(planned, reach_of(args.confidence)))
    if planned.hiding:
        console.print(hiding_words(planned.survey, planned.people, planned.hiding, args.confidence))
    for each in planned.questions:
        if each.advice is not None:
            console.print(f"{each.question}: {each.advice}.")
    better = planned.designs and planned.designs[0].split != "given" and not args.out
    console.print(f"{planned.advice}{'  Write it: --out better.json' if better else ''}")
    if args.details:
        _show_everything(console, planned, content, args)
    else:
        console.print("More (levels, designs, guessing, quantiles): --details", style="dim")


def _margins_table(planned: Plan, args: argparse.Namespace) -> Table:
    """Return margins, and the people for the errors asked for, or for a fiftieth of all that is possible."""
    asked = planned.questions
    errors = {each.question: TARGET * each.reach for each in asked} | _read_errors(planned, args.error)
    wanted = [_exactly(each, errors[each.question]) for each in asked]
    needed = [planned.people * (each.half(args.confidence) / errors[each.question]) ** 2 for each in asked]
    one = len(set(wanted)) == 1
    people = [
        f"{amounts(max(own, 10), more=1).bare(own, 1)}{' people' if one else f': {goal}'}"
        for own, goal in zip(needed, wanted, strict=True)
    ]
    target = f"for {wanted[0]}" if one else "people needed"
    columns = {"": [each.question for each in asked], " ": [each.noun for each in asked]}
    margins = [each.margin(each.half(args.confidence)) for each in asked]
    if _several(planned):
        alike = [each.margin(each.alike.half(args.confidence)) for each in asked]
        columns |= {"however levels\nare chosen": margins, "if levels are chosen\nregardless of answers": alike}
        columns |= {f"{target},\nhowever chosen": people}
    else:
        columns |= {"margin": margins, target: people}
    table = make_table(columns, zip(*columns.values(), strict=True), box=None, padding=(0, 0, 0, 2))
    for column in table.columns:
        column.overflow = "fold"  # nothing is cut
    return table


def _several(planned: Plan) -> bool:
    return any(each.if_alike() for each in planned.questions)


def _declared(planned: Plan, reach: float) -> str:
    parts = [(each, each.declared) for each in planned.questions]
    found = [f"{each.question} {each.margin(own.half_width(reach).max())}" for each, own in parts if own is not None]
    return (
        f"If people of different levels differ by at most {100 * (planned.differ or 0):g} points: {', '.join(found)}."
    )


def _exactly(each: QuestionPlan, error: float) -> str:
    if each.of_shares:
        return f"± {brief(100 * error)} point{'' if error == 0.01 else 's'}"
    return f"± {brief(error)} {each.unit}".rstrip()


def _assumed(planned: Plan) -> str:
    """Say how often levels are chosen, and which shares are assumed, if that is said in few words."""
    names: dict[str, list[str]] = {}
    for each in planned.questions:
        names.setdefault(each.assumed, []).append(each.question)
    shares = [f"for {listed(own)}, {words}" for words, own in names.items()] if len(names) > 1 else list(names)
    if len(shares) > MOST_ASSUMED:
        shares = ["for shares, what --details names"]
    mix = f"levels {'equally often' if planned.level_mix is None else 'as often as given'}"
    return f"Assumed: {'; '.join([mix, *shares] if _several(planned) else shares)}."


def _show_everything(console: Console, planned: Plan, content: Mapping[str, Any], args: argparse.Namespace) -> None:
    console.print(_questions_table(planned, args))
    if "people_needed" in content:
        console.print(_people_table(planned, content["people_needed"], args))
    for each in planned.questions:
        console.print(f"{each.question}, plausible: {each.assumed}. Worst: {each.worst.shares}.")
    console.print(_levels_table(planned))
    if any(each.thresholds for each in planned.questions):
        console.print(_thresholds_table(planned))
    if any(each["quantiles"] for each in content["questions"]):
        console.print(_quantiles_table(planned, content, args))
    if len(planned.designs) > 1:
        console.print(_designs_table(planned))
    show_prices(console, planned.survey)
    console.print(guessing_table(planned.guessing))
    if planned.shuffled is not None:
        show_shuffled(console, planned.shuffled)
    for each, entry in zip(planned.questions, content["questions"], strict=True):
        for words in (*each.remarks, entry["no_quantiles"]):
            if words is not None:
                console.print(f"{each.question}: {words}.")


def _questions_table(planned: Plan, args: argparse.Namespace) -> Table:
    asked = planned.questions
    columns = {
        "question": [each.question for each in asked],
        "estimates": [each.contents for each in asked],
        "answers": [f"{each.reports:,.0f}" for each in asked],
        "standard error": [each.typical_error for each in asked],
        f"widest {brief(100 * args.confidence)} % interval": [each.half_width(args.confidence) for each in asked],
        "if levels are chosen regardless of answers": [each.alike.half_width(args.confidence) for each in asked],
        "at the worst shares": [each.worst_half_width(args.confidence) for each in asked],
        "a forged report counts as": [f"{each.manipulation:.1f} people" for each in asked],
    }
    if planned.survey.level_channel is not None:
        columns["hiding costs"] = [f"× {each.hiding_cost:.2f}" for each in asked]
    title = f"{planned.survey.title}: {planned.people:,} people"
    return make_table(columns, zip(*columns.values(), strict=True), range(1, len(columns)), title=title)


def _people_table(planned: Plan, needed: Mapping[str, Any], args: argparse.Namespace) -> Table:
    heads = (
        "question",
        "every interval at most",
        "people at plausible shares",
        "people at the worst shares",
        "plausible, if levels are chosen regardless of answers",
        "worst, then",
    )
    rows = [
        (
            each.question,
            f"± {each.amount(own['error'])}",
            *(f"{own[name.name]:,}" for name in fields(PeopleNeeded)),
        )
        for each in planned.questions
        if (own := needed.get(each.question)) is not None
    ]
    return make_table(heads, rows, range(1, 6), title=f"people needed, {brief(100 * args.confidence)} % intervals")


def _thresholds_table(planned: Plan) -> Table:
    heads = ("question", "threshold", "people needed if stricter levels are dropped", "and all others use this level")
    rows = [
        (each.question, own.level, f"× {own.dropped:.2f}", f"× {own.capped:.2f}")
        for each in planned.questions
        for own in each.thresholds
    ]
    return make_table(heads, rows, {2, 3}, title="a threshold in place of personal levels, for the same interval")


def _quantiles_table(planned: Plan, content: Mapping[str, Any], args: argparse.Namespace) -> Table:
    heads = ("question", "quantile", "plausible", f"expected {brief(100 * args.confidence)} % interval")
    rows = [
        (each.question, row["label"], each.amount(row["assumed"]), f"{each.amount(row['interval_width'])} wide")
        for each, entry in zip(planned.questions, content["questions"], strict=True)
        for row in entry["quantiles"]
    ]
    return make_table(heads, rows, {2, 3}, title="quantiles")


def _levels_table(planned: Plan) -> Table:
    heads = (
        "question",
        "level",
        "ε of an answer",
        "answers",
        "standard error alone",
        "mechanism",
        "standard error with the others",
    )
    rows = [
        (
            each.question,
            level.level,
            f"{level.epsilon:g}",
            f"{level.reports:,.0f}",
            each.amount(level.standard_error),
            level.mechanism,
            ", ".join(
                f"{name} × {error / level.standard_error:.2f}" if level.standard_error else name
                for name, error in level.mechanisms.items()
                if name != level.mechanism
            ),
        )
        for each in planned.questions
        for level in each.levels
    ]
    return make_table(heads, rows, range(2, 5), title="levels")


def _designs_table(planned: Plan) -> Table:
    heads = ("each person answers", "split of ε", "ε of a question", "typical error")
    weights = {question.name: question.weight for question in planned.survey.questions}
    cells = sum(weights[each.question] * len(each.rows) for each in planned.questions)
    rows = []
    for place, design in enumerate(planned.designs):
        if place < SHOWN_DESIGNS or design.split != "equal":
            low, high = min(design.budgets) / MICRO, max(design.budgets) / MICRO
            epsilon = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
            error = (design.squared_error / cells) ** 0.5
            split = design.split if design.fits else f"{design.split}, over the total"
            rows.append((planned.asked(design), split, epsilon, f"{100 * error:.3g} pp"))
    title, caption = "designs with the same total ε per person, best first", _typical_error(planned)
    return make_table(heads, rows, {2, 3}, title=title, caption=caption)


def _typical_error(planned: Plan) -> str:
    """Say what the errors of designs are: of which estimates, in which unit, and at which shares."""
    shares = [each.of_shares for each in planned.questions]
    weighted = "weighted " if len({each.weight for each in planned.survey.questions}) > 1 else ""
    estimates = " and ".join(
        words
        for words, shown in (("shares", any(shares)), ("means (in pp of a number's range)", not all(shares)))
        if shown
    )
    square = f"{weighted}root mean square of the standard errors of all {estimates}"
    return f"typical error: {square}, if all answers are equally common"
