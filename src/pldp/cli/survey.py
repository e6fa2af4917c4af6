"""`pldp survey`: check, compile and sign survey files."""

import argparse
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pldp.budgets import epsilon_text
from pldp.cli.output import add_json_option, emit, file_type, make_table, proof_line, show_prices
from pldp.errors import UsageError
from pldp.mechanisms import MICRO
from pldp.survey import (
    LEVEL_CAP,
    Question,
    Survey,
    affordable_reports,
    dead_ends,
    language_warnings,
    leak_warnings,
    load,
    make_key,
    name_warnings,
    read_logo,
    refuse_unclear,
    repeat_mapping,
    report_epsilon,
    sign,
)
from pldp.words import of_hundred

SIDES: Final = ("ticked_epsilon", "unticked_epsilon")  # what is promised for both sides of a label
UNSIGNED: Final = "the survey is not signed: over its editions, nothing is promised about the level"
PEOPLE: Final = 10_000  # for which ways to hide levels are compared
MOST_SHOWN: Final = 8  # levels up to which a table says how often each is shown
MOST_VALUES: Final = 50  # values whose promises are shown one by one


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="read a survey, compute its true ε and show what it offers")
    words = "write the spelled-out JSON form, with integer weights, for other clients"
    build = actions.add_parser("compile", help=words)
    key = actions.add_parser("key", help="make a key pair for signing")
    signing = actions.add_parser("sign", help="write a signed survey")
    for action in (check, build, signing):
        action.add_argument("survey", help="survey file, TOML or JSON")
    check.add_argument("--trusted-key", metavar="HEX", help="accept only a survey signed with this public key")
    add_json_option(check)
    key.add_argument("--out", required=True, metavar="FILE", help="file for the private key; the public one is printed")
    signing.add_argument("--key", required=True, metavar="FILE", help="file with the private key")
    for action in (build, signing):
        action.add_argument("--out", required=True, type=file_type(".json"), metavar="FILE", help="JSON file to write")
    build.set_defaults(run=lambda args: _load_new(args.survey).save(args.out))
    for action, run in ((check, _check), (key, _key), (signing, _sign)):
        action.set_defaults(run=run)


def _load_new(path: str) -> Survey:
    """Read a survey that people are going to get; a compiled one with names that are not clear is refused, too."""
    survey = load(path)
    refuse_unclear(survey)
    return survey


def _check(args: argparse.Namespace) -> None:
    survey = load(args.survey, trusted_key=args.trusted_key)
    read_logo(survey, args.survey)
    rows = _channels(survey)
    mixed = None if survey.shuffle is None else _shuffled(survey)
    content: dict[str, Any] = {
        "hash": survey.hash,
        "survey": survey.document,
        "channels": rows,
        "whole_report": {level.name: epsilon_text(report_epsilon(survey, level.name)) for level in survey.levels},
        "hidden_level": _hidden(survey),
        "lottery": _drawn(survey),
        "hiding": _ways(survey),
        "repeat": repeat_mapping(survey),
        "shuffle": None if mixed is None else mixed.to_mapping(),
        "remarks": list(survey.remarks),
        "warnings": [*name_warnings(survey), *dead_ends(survey), *leak_warnings(survey), *language_warnings(survey)],
    }
    emit(args, content, lambda console: _show(console, survey, content, mixed))
    sys.stderr.writelines(f"pldp: warning: {line}\n" for line in content["warnings"])


def _channels(survey: Survey) -> list[dict[str, Any]]:
    return [
        {
            "question": question.name,
            "level": level.name,
            "mechanism": channel.mechanism,
            "level_epsilon": epsilon_text(level.micro_epsilon),
            "answer_epsilon": epsilon_text(question.charge(place)),
            # Probabilities that are the same for all values, where the channel has them.
            **{name: _or_none(float, getattr(channel, name, None)) for name in ("truth_support", "other_support")},
            "values": _promises(question, place),
            "proved": [{"label": label, "chance": float(chance)} for label, chance in question.provable(place)],
        }
        for question in survey.questions
        for place, (level, channel) in enumerate(zip(question.levels, question.channels, strict=True))
    ]


def _proofs(question: Question) -> list[str]:
    """Say which answers a report can prove, and how often at each level."""
    chances: dict[str, list[str]] = {}
    for place, level in enumerate(question.levels):
        for label, chance in question.provable(place):
            chances.setdefault(label, []).append(f"{of_hundred(chance)} ({level.name})")
    return [proof_line(question.name, label, ", ".join(known)) for label, known in chances.items()]


def _hidden(survey: Survey) -> dict[str, Any] | None:
    """Return what reports tell about a hidden level, and how many a device sends; `None` if levels are shown."""
    label, leak = survey.level_channel, survey.level_leak()
    if label is None or leak is None:
        return None
    return {
        "label_epsilon": epsilon_text(label.micro_epsilon),
        "level_epsilon": epsilon_text(leak),
        "questions": {
            each.name: {
                "level_epsilon": epsilon_text(survey.level_leak(each.name) or 0),
                "output_epsilon": epsilon_text(each.level_leak),
                "answer_and_level_epsilon": epsilon_text(survey.value_and_level_epsilon(each.name) or 0),
            }
            for each in survey.questions
        },
        "cap": epsilon_text(LEVEL_CAP),
        "reports_within_cap": affordable_reports(survey),
        "signed": bool(survey.signer),
    }


def _ways(survey: Survey) -> str | None:
    """Say how accurate a label, a lottery and one strictest level are; `None` where levels are not hidden."""
    if survey.level_channel is None and survey.lottery is None:
        return None
    from pldp.planning import compare_hiding, hiding_words  # noqa: PLC0415 - other surveys need no NumPy

    found = compare_hiding(survey, PEOPLE)
    return hiding_words(survey, PEOPLE, found) if found else None


def _drawn(survey: Survey) -> dict[str, Any] | None:
    """Return how often people who chose a level show each one, and what that tells; `None` without a lottery."""
    lottery, names = survey.lottery, [level.name for level in survey.levels]
    if lottery is None:
        return None
    law = zip(names, lottery.law(len(names)), strict=True)
    return {
        "epsilon": epsilon_text(lottery.true_micro_epsilon),
        "shown": {chosen: dict(zip(names, row, strict=True)) for chosen, row in law},
        "signed": bool(survey.signer),
    }


def _promises(question: Question, level: int) -> list[dict[str, str]] | None:
    """Return what is promised for each label and what the channel keeps; `None` where one ε is that of the answer."""
    promises = question.promises(level)
    if len(promises) == 1:
        return None
    rows = [
        {"label": str(label), "promised_epsilon": epsilon_text(promised), "true_epsilon": epsilon_text(true)}
        for label, promised, true in zip(question.scale, promises, question.true_epsilons(level), strict=True)
    ]
    sides = [dict(zip(SIDES, map(epsilon_text, pair), strict=True)) for pair in question.side_promises(level)]
    return [row | own for row, own in zip(rows, sides, strict=True)] if sides else rows


def _or_none(convert: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else convert(value)


def _shuffled(survey: Survey) -> Any:
    """Bound what shuffling adds, among as many as the survey declares."""
    from pldp.shuffling import shuffle  # noqa: PLC0415 - other surveys need no NumPy

    return shuffle(survey, survey.shuffle.people if survey.shuffle else 1)


def _show(console: Console, survey: Survey, content: dict[str, Any], mixed: Any) -> None:
    rows = content["channels"]
    console.print(Text.assemble((survey.title, "bold"), f"  {survey.collector}"))
    console.print(f"hash {survey.hash}", soft_wrap=True)
    for question in survey.questions:
        for line in _proofs(question):
            console.print(line, style="bold", markup=False)
    if survey.total_micro_epsilon is not None:
        console.print(f"one person can spend at most ε = {epsilon_text(survey.total_micro_epsilon)}")
    if survey.ask is not None:
        console.print(f"each person is asked {survey.ask} of the {len(survey.questions)} questions, picked at random")
    for words in (*_presentation(survey), *survey.remarks):
        console.print(words)
    console.print(_channels_table(survey, rows))
    whole = ", ".join(f"{level} {epsilon}" for level, epsilon in content["whole_report"].items())
    same = "" if survey.level_channel is None else f"{next(iter(content['whole_report'].values()))} at every level"
    console.print(f"ε of a whole report, all answers at one level: {same or whole}")
    show_prices(console, survey)
    for question in survey.questions:
        promises = {row["level"]: row["values"] for row in rows if row["question"] == question.name and row["values"]}
        if promises:
            console.print(_promises_table(question.name, promises))
    if content["hidden_level"] is not None:
        _show_hidden(console, survey, content["hidden_level"])
    if content["lottery"] is not None:
        _show_drawn(console, content["lottery"])
    if content["hiding"] is not None:
        console.print(content["hiding"])
    if mixed is not None:
        from pldp.cli.worth import show_shuffled  # noqa: PLC0415 - as above

        show_shuffled(console, mixed)


def _show_hidden(console: Console, survey: Survey, hidden: dict[str, Any]) -> None:
    """Print what reports tell about a hidden level, question by question and together, and how many a device sends."""
    for name, told in hidden["questions"].items():
        console.print(
            f"{name}: levels are hidden; label and this answer together tell about the level at most "
            f"ε = {told['level_epsilon']}, about the pair of answer and level ε = {told['answer_and_level_epsilon']}"
            f"{_more_than_label(survey, told)}"
        )
    if len(survey.questions) > 1:
        console.print(f"all answers at one level together tell about the level at most ε = {hidden['level_epsilon']}")
    if hidden["reports_within_cap"] is not None:
        console.print(
            f"a device repeats the label and stops at ε = {hidden['cap']} about the level: editions until the cap: "
            f"{hidden['reports_within_cap']}"
        )
    if not hidden["signed"]:
        console.print(UNSIGNED)


def _show_drawn(console: Console, drawn: dict[str, Any]) -> None:
    """Print how often people who chose a level show each one, and what that tells."""
    strictest, *_, most_open = shown = drawn["shown"]
    if len(shown) <= MOST_SHOWN:
        rows = [(chosen, *(f"{100 * chance:.1f} %" for chance in row.values())) for chosen, row in shown.items()]
        console.print(
            make_table(("level chosen", *(f"shows {name}" for name in shown)), rows, range(1, 1 + len(shown)))
        )
    console.print(
        f"devices draw the level that they use and show, once: who sees {strictest!r} cannot know that it was chosen "
        f"(for a stricter choice, all reports together tell at most ε = {drawn['epsilon']}); who sees {most_open!r} can"
    )
    if not drawn["signed"]:
        console.print(UNSIGNED)


def _presentation(survey: Survey) -> list[str]:
    """Say what else people meet: rules for answers, the closing date, languages."""
    others = ", ".join(each.language for each in survey.languages)
    return [
        *(f"{question.name}: {words}" for question in survey.questions for words in _answering(question)),
        *([f"reports are taken until the end of {survey.closes} (UTC)"] if survey.closes else []),
        *([f"texts are in {survey.language}, and in {others}"] if others else []),
    ]


def _answering(question: Question) -> list[str]:
    """Say what a device asks of answers, beside what they can be."""
    document = question.document()
    return [
        *(["people who are asked it cannot skip it"] if question.is_required else []),
        *([f"labels come in {document['option_order']} order"] if "option_order" in document else []),
        *([f"no other label goes with {', '.join(document['exclusive'])}"] if "exclusive" in document else []),
    ]


def _more_than_label(survey: Survey, told: dict[str, str]) -> str:
    """Say that an answer tells more about the level than the label does, where it does."""
    label = survey.level_channel
    if label is None or float(told["output_epsilon"]) * MICRO <= label.micro_epsilon:
        return ""
    shown = f"ε = {told['output_epsilon']} of it comes from the answer, more than from the label"
    cap = survey.leak_cap
    limit = "set leak_cap to limit both" if cap is None else f"leak_cap limits a report to ε = {epsilon_text(cap)}"
    return f"; {shown} (ε = {epsilon_text(label.micro_epsilon)}); {limit}"


def _channels_table(survey: Survey, rows: list[dict[str, Any]]) -> Table:
    caption = "truth, other: how often a report supports the true value, and any other value"
    cells = []
    for row in rows:
        asked = f"{row['question']} ({survey.question(row['question']).size})"
        odds = ("–" if row[name] is None else f"{row[name]:.4f}" for name in ("truth_support", "other_support"))
        cells.append((asked, row["level"], row["mechanism"], row["answer_epsilon"], *odds))
    heads = ("question (values)", "level", "mechanism", "ε of an answer", "truth", "other")
    return make_table(heads, cells, range(3, 6), caption=caption)


def _promises_table(name: str, promises: dict[str, list[dict[str, str]]]) -> Table:
    values = list(zip(*promises.values(), strict=True))
    cut = f"the first {MOST_VALUES} of {len(values):,} values; --json has all" if len(values) > MOST_VALUES else None
    rows = [(row[0]["label"], *map(_promise, row)) for row in values[:MOST_VALUES]]
    return make_table((f"{name}: ε promised for each value", *promises), rows, range(1, 1 + len(promises)), caption=cut)


def _promise(own: dict[str, str]) -> str:
    promised, true = own["promised_epsilon"], own["true_epsilon"]
    if promised != epsilon_text(math.inf) and SIDES[0] in own:  # a channel that does not keep both is no question's
        return f"ticked {own[SIDES[0]]}, not ticked {own[SIDES[1]]}"
    if promised == epsilon_text(math.inf):
        return "not protected"
    return promised if promised == true else f"{promised} (true {true})"


def _key(args: argparse.Namespace) -> None:
    private, public = make_key()
    try:
        handle = os.open(args.out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"--out: {args.out} exists already; a key is never overwritten") from None
    with os.fdopen(handle, "w") as file:
        file.write(private + "\n")
    sys.stdout.write(public + "\n")


def _sign(args: argparse.Namespace) -> None:
    key = Path(args.key).read_text(encoding="utf-8").strip()
    Path(args.out).write_text(sign(_load_new(args.survey), key), encoding="utf-8")
