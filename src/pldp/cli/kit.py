"""`pldp kit`: what people need to judge a survey, in one folder."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pldp.cli.arguments import check_link, with_extra
from pldp.cli.output import add_json_option, emit, make_table, progress_bar
from pldp.cli.store import make_links
from pldp.errors import UsageError
from pldp.survey import load


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("survey", help="survey file")
    add("--out", required=True, metavar="DIR", help="folder to make; it must not exist")
    add("--key", metavar="FILE", help="sign the survey with the private key in this file")
    add("--link", default="", metavar="ADDRESS", help="the survey page's address, https://…, for the QR codes")
    add("--contact", default="", metavar="TEXT", help="whom to ask, for the privacy notice")
    words = "people per value that answer in the audit (default 2,000); 0 audits the published weights only"
    add("--samples", type=int, metavar="N", help=words)
    add("--names", metavar="FILE", help="invite the people in this file, a name per line; needs the next two")
    add("--budget", metavar="EPSILON", help="with --names: for all reports of a person")
    add("--database", metavar="FILE", help="with --names: the collector's database, in which they are enrolled")
    add("--days", type=int, metavar="N", help="with --names: links stay valid for N days after today")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    with with_extra("collector"):
        from pldp.auditing import AuditSettings  # noqa: PLC0415 - loads slowly
        from pldp.kit import About, make_kit  # noqa: PLC0415 - optional
    given = [name for name in ("budget", "database", "days") if getattr(args, name) is not None]
    if args.names and not (args.budget and args.database and args.link):
        raise UsageError("--names invites people: add --budget, --database and --link")
    if given and not args.names:
        raise UsageError(f"--{given[0]} goes with --names FILE")
    check_link(args.link)
    survey = load(args.survey)
    key = None if args.key is None else Path(args.key).read_text(encoding="utf-8").strip()
    with progress_bar("auditing") as bar:
        made = make_kit(
            survey,
            args.out,
            key=key,
            about=About(args.link, args.contact),
            samples=args.samples,
            invite=(lambda: _invitations(args)) if args.names else None,
            settings=AuditSettings(progress=bar.reach),
        )
    emit(args, made.to_mapping(), lambda console: _show(console, made))


def _invitations(args: argparse.Namespace) -> Sequence[Any]:
    from pldp.kit import Invitation  # noqa: PLC0415 - optional

    names = Path(args.names).read_text(encoding="utf-8").split()
    return [Invitation(*each) for each in zip(names, make_links(args, names), strict=True)]


def _show(console: Any, made: Any) -> None:
    console.print(make_table(("file", "what it is"), made.files.items(), title=f"{made.folder}: {made.audit}"))
    for name, points in made.open_points.items():
        console.print(f"{name}: fill in {len(points)} {'places' if len(points) > 1 else 'place'} in square brackets.")
    if "invitations.csv" in made.files:
        console.print("Keep invitations.csv and invitations.html to yourself: they hold the links of single people.")
