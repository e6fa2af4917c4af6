"""`pldp survey`: check, compile and sign survey files."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pldp.budgets import epsilon_text
from pldp.cli.output import add_json_option, console_for, emit_json
from pldp.errors import UsageError
from pldp.mechanisms import Micro, PureChannel
from pldp.survey import Survey, load, make_key, sign


def add_to(verbs: Any) -> None:
    """Add the verb and its actions."""
    verb = verbs.add_parser("survey", help="check, compile and sign survey files")
    actions = verb.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="read a survey, compute its true ε and show what it offers")
    check.add_argument("survey", help="survey file, TOML or JSON")
    check.add_argument("--trusted-key", metavar="HEX", help="accept only a survey signed with this public key")
    add_json_option(check)
    check.set_defaults(run=_check)
    build = actions.add_parser(
        "compile", help="write the spelled-out JSON form, with integer weights, for other clients"
    )
    build.add_argument("survey", help="survey file, TOML or JSON")
    build.add_argument("--out", required=True, metavar="FILE", help="JSON file to write")
    build.set_defaults(run=lambda args: load(args.survey).save(args.out))
    key = actions.add_parser("key", help="make a key pair for signing")
    key.add_argument("--out", required=True, metavar="FILE", help="file for the private key; the public one is printed")
    key.set_defaults(run=_key)
    signing = actions.add_parser("sign", help="write a signed survey")
    signing.add_argument("survey", help="survey file, TOML or JSON")
    signing.add_argument("--key", required=True, metavar="FILE", help="file with the private key")
    signing.add_argument("--out", required=True, metavar="FILE", help="JSON file to write")
    signing.set_defaults(run=_sign)


def _check(args: argparse.Namespace) -> None:
    survey = load(args.survey, trusted_key=args.trusted_key)
    if args.json:
        emit_json({"hash": survey.hash, "survey": survey.document, "channels": _channels(survey)}, args.json)
    if args.json != "-":
        _show(console_for(args), survey)


def _channels(survey: Survey) -> list[dict[str, Any]]:
    return [
        {
            "question": question.name,
            "level": level.name,
            "mechanism": channel.mechanism,
            "promised_epsilon": epsilon_text(level.micro_epsilon),
            "true_epsilon": epsilon_text(channel.micro_epsilon),
            "truth_support": float(channel.truth_support) if isinstance(channel, PureChannel) else None,
            "other_support": float(channel.other_support) if isinstance(channel, PureChannel) else None,
            "level_leak": _text_or_none(survey.level_leak(question.name)),
            "value_and_level_epsilon": _text_or_none(survey.value_and_level_epsilon(question.name)),
        }
        for question in survey.questions
        for level, channel in zip(question.levels, question.channels, strict=True)
    ]


def _text_or_none(micro: Micro | None) -> str | None:
    return None if micro is None else epsilon_text(micro)


def _show(console: Console, survey: Survey) -> None:
    console.print(f"[bold]{escape(survey.title)}[/]  {escape(survey.collector)}")
    console.print(f"hash {survey.hash}", soft_wrap=True)
    if survey.total_micro_epsilon is not None:
        console.print(f"one person can spend at most ε = {epsilon_text(survey.total_micro_epsilon)}")
    if survey.ask is not None:
        console.print(f"each person is asked {survey.ask} of the {len(survey.questions)} questions, picked at random")
    caption = "truth, other: how often a report supports the true value, and any other value"
    table = Table(header_style="bold", caption=caption, caption_justify="left")
    for name in ("question (values)", "level", "mechanism", "promised ε", "true ε", "truth", "other"):
        table.add_column(name, justify="left" if name in {"question (values)", "level", "mechanism"} else "right")
    for row in _channels(survey):
        asked = survey.question(row["question"])
        values = f"{asked.size} steps" if asked.kind == "number" else f"{asked.size}"
        pair = (row["truth_support"], row["other_support"])
        odds = ("by value", "by value") if None in pair else tuple(f"{support:.4f}" for support in pair)
        cells = (row["mechanism"], row["promised_epsilon"], row["true_epsilon"], *odds)
        table.add_row(f"{escape(row['question'])} ({values})", escape(row["level"]), *cells)
    console.print(table)
    for question in survey.questions:
        leak, joint = survey.level_leak(question.name), survey.value_and_level_epsilon(question.name)
        if leak is not None and joint is not None:
            console.print(
                f"{question.name}: levels are hidden; label and this answer together tell about the level at most "
                f"ε = {epsilon_text(leak)}, about the pair of value and level ε = {epsilon_text(joint)}",
                markup=False,
            )
    total = survey.level_leak()
    if total is not None and len(survey.questions) > 1:
        words = "all answers at one level together tell about the level at most"
        console.print(f"{words} ε = {epsilon_text(total)}", markup=False)


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
    Path(args.out).write_text(sign(load(args.survey), key), encoding="utf-8")
