"""`pldp audit`: try to refute the promises of a survey or of a mechanism."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from pldp.auditing import NAMES, Audit, AuditSettings, JavaScript, audit, write_certificate, write_epsilon
from pldp.cli.output import PLAIN, Words, add_json_option, emit, make_table, progress_bar
from pldp.errors import AuditError, SurveyError, UsageError
from pldp.survey import load

REFUTED: Final = 1  # exit code where a promise is refuted


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    words = f"survey file, or one of {', '.join(NAMES)}; every mechanism if left out"
    add("target", nargs="?", metavar="SURVEY | MECHANISM", help=words)
    words = "people per value on a device (default 2,000); 0 audits the published weights only"
    add("--samples", type=int, metavar="N", help=words)
    add("--javascript", metavar="FOLDER", help="folder of the JavaScript client (default: clients/js of the sources)")
    words = "only this question, level and device: QUESTION, QUESTION/LEVEL or QUESTION/LEVEL/DEVICE"
    add("--only", metavar="NAME", help=words)
    add("--certificate", metavar="FILE", help="write a certificate: FILE.json, and the page FILE.html")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    client = JavaScript.find(args.javascript)
    if args.javascript and args.samples == 0:
        raise UsageError("--javascript names a device to sample; --samples 0 samples none")
    if args.javascript and client is None:
        raise UsageError(f"--javascript: {args.javascript} must hold the client, and node must be installed")
    with progress_bar("auditing") as bar:
        only = tuple(args.only.split("/")) if args.only else ()
        settings = AuditSettings(javascript=client, progress=bar.reach, only=only)
        found = audit(_target(args.target), samples=args.samples, settings=settings)
    found = replace(found, source=args.target or "")
    if args.certificate:
        write_certificate(found, args.certificate)
    emit(args, found.to_mapping(), lambda console: _show(console, found))
    return REFUTED if found.refuted else 0


def _target(text: str | None) -> Any:
    """Return the name of a mechanism, a survey, or a survey's document where no device would accept it."""
    if text is None or text in NAMES:
        return text
    if not Path(text).exists() and Path(text).suffix not in {".toml", ".json"}:
        raise AuditError(f"{text}: neither a survey file nor a mechanism; mechanisms are {', '.join(NAMES)}")
    try:
        return load(text)
    except SurveyError as error:
        document = _document(text)
        if document is None:
            raise
        words = f"no device accepts this survey ({error}); its weights alone are audited"
        Console(stderr=True).print(words, markup=False)
        return document


def _document(path: str) -> dict[str, Any] | None:
    """Read a spelled-out document; nothing if the file is none."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        document = content.get("survey", content)
        spelled = all("weights" in question for question in document["questions"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return document if spelled else None


def _show(console: Console, found: Audit) -> None:
    sampled = any(row.sampled is not None for row in found.rows)
    bounds = ("sampled", "detects") if sampled else ()
    heads = ("question, level", "mechanism", "device", "claimed", "exact", *bounds, "verdict")
    rows: list[list[Words]] = []
    for row in found.rows:
        where = ", ".join(filter(None, (row.question, row.level)))
        cells: list[Words] = [where, row.channel, row.device, write_epsilon(row.claimed), write_epsilon(row.exact)]
        if sampled:
            bound = row.sampled
            detects = None if bound is None else round(bound.detectable, 2)
            cells += ["–" if bound is None else f"{bound.epsilon:.3f}", write_epsilon(detects)]
        rows.append([*cells, Text(row.verdict, "bold red" if row.refuted else "green")])
    table = make_table(heads, rows, range(3, len(heads) - 1), title=str(found), **PLAIN)
    for column in table.columns:
        column.no_wrap = column.header in {"question, level", "device", "verdict"}
    console.print(table)
    for row in found.rows:
        for text in (*row.refutations, *row.notes):
            console.print(f"{row.channel}, {row.question}, {row.level}, {row.device}: {text}", markup=False)
        if row.refuted:
            console.print(f"  show it: {found.command(row)}", markup=False)
    if sampled:
        words = "ε is at least what is sampled; samples would have refuted what they detect"
        people = f"({found.people:,} people in all; the curve is in the JSON)"
        chance = f"{found.false_alarm:.0e}"
        console.print(f"{words} {people}, and any sound mechanism with a chance of at most {chance}.", style="dim")
    span = next((row.span for row in found.rows if row.span), None)
    if span:
        console.print(f"{span}: all reports of one person over them; claimed is what the ledger charges.", style="dim")
    for words in found.worth:
        console.print(words, markup=False)
    limits = (
        "All numbers are ε. An audit only ever rejects: exact is computed, not refuted means that samples saw nothing."
    )
    console.print(limits, style="dim")
    console.print(f"Not looked at: {'; '.join(found.not_looked_at)}.", style="dim", markup=False)
