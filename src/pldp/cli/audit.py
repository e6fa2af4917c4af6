"""`pldp audit`: try to refute the promises of a survey or of a mechanism."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pldp.auditing import NAMES, Audit, AuditSettings, JavaScript, audit, write_certificate, write_epsilon
from pldp.cli.output import add_json_option, console_for, emit_json, progress_bar
from pldp.errors import AuditError, SurveyError, UsageError
from pldp.survey import load

REFUTED: Final = 1
"""Exit code where a promise is refuted."""


def add_to(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("audit", help="try to refute the privacy that a survey or a mechanism promises")
    parser.add_argument(
        "target",
        nargs="?",
        metavar="SURVEY | MECHANISM",
        help=f"survey file, or one of {', '.join(NAMES)}; every mechanism if left out",
    )
    parser.add_argument(
        "--samples",
        type=int,
        metavar="N",
        help="people per value on a device (default 2,000); 0 audits the published weights only",
    )
    parser.add_argument(
        "--javascript", metavar="FOLDER", help="folder of the JavaScript client (default: clients/js of the sources)"
    )
    parser.add_argument("--certificate", metavar="FILE", help="write a certificate: FILE.json, and the page FILE.html")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    client = JavaScript.find(args.javascript)
    if args.javascript and args.samples == 0:
        raise UsageError("--javascript names a device to sample; --samples 0 samples none")
    if args.javascript and client is None:
        raise UsageError(f"--javascript: {args.javascript} must hold the client, and node must be installed")
    with progress_bar("auditing") as (progress, task):
        settings = AuditSettings(
            javascript=client,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
        found = audit(_target(args.target), samples=args.samples, settings=settings)
    if args.certificate:
        write_certificate(found, args.certificate)
    if args.json:
        emit_json(found.to_mapping(), args.json)
    if args.json != "-":
        _show(console_for(args), found)
    return 0 if found.holds else REFUTED


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
        Console(stderr=True).print(
            f"no device accepts this survey ({error}); its weights alone are audited", markup=False
        )
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
    title = escape(str(found))
    table = Table(title=title, title_justify="left", header_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    sampled = any(row.sampled is not None for row in found.rows)
    for name in ("question, level", "mechanism", "device"):
        table.add_column(name, no_wrap=name != "mechanism")
    for name in ("claimed", "exact", *(("sampled", "detects") if sampled else ())):
        table.add_column(name, justify="right")
    table.add_column("verdict", no_wrap=True)
    for row in found.rows:
        numbers = [write_epsilon(row.claimed), write_epsilon(row.exact)]
        if sampled:
            bound = row.sampled
            numbers += ["–", "–"] if bound is None else [f"{bound.epsilon:.3f}", f"{bound.detectable:.2f}"]
        where = ", ".join(filter(None, (row.question, row.level)))
        colour = "green" if row.holds else "bold red"
        words = (escape(text) for text in (where, row.mechanism, row.device))
        table.add_row(*words, *numbers, f"[{colour}]{row.verdict}[/]")
    console.print(table)
    for row in found.rows:
        for text in (*row.refutations, *row.notes):
            console.print(f"{row.mechanism}, {row.question}, {row.level}, {row.device}: {text}", markup=False)
    if sampled:
        console.print(
            "ε is at least what is sampled; samples would have refuted what they detect, and a sound mechanism with a "
            f"chance of at most {found.false_alarm:.0e}.",
            style="dim",
            markup=False,
        )
    console.print("All numbers are ε. An audit only ever rejects.", style="dim", markup=False)
