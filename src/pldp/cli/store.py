"""`pldp store`: what the owner of a collector's file does beside serving it."""

import argparse
import csv
import sys
from pathlib import Path
from typing import Any

from pldp import collector
from pldp.budgets import micro_epsilon
from pldp.cli.arguments import with_extra
from pldp.cli.serve import add_settings
from pldp.collector import Settings
from pldp.errors import UsageError


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    token = actions.add_parser("token", help="make a token; it is printed this once")
    words = "read (estimates, default), upload (reports) or admin (also rounds)"
    token.add_argument("--scope", default="read", help=words)
    enrol = actions.add_parser("enrol", help="give people upload tokens and a budget each; printed this once, as CSV")
    enrol.add_argument("names", nargs="*", metavar="NAME", help="whom to enrol")
    enrol.add_argument("--names", dest="file", metavar="FILE", help="file with a name per line")
    enrol.add_argument("--budget", required=True, metavar="EPSILON", help="the most that all reports of a person cost")
    rotate = actions.add_parser("rotate", help="make a new token of a name; the one before works until the next time")
    revoke = actions.add_parser("revoke", help="end the tokens of a name")
    copy = actions.add_parser("backup", help="copy the store to a file that a collector can start from")
    copy.add_argument("target", help="file to write")
    restore = actions.add_parser("restore", help="check a copy and begin a store with it; none may be there")
    restore.add_argument("copy", help="file that backup wrote")
    for action in (token, rotate, revoke):
        action.add_argument("name", help="whose token it is")
    runs = {
        token: lambda args: _write_line(_open("Tokens", args).create(args.name, args.scope)),
        rotate: lambda args: _write_line(_open("Tokens", args).rotate(args.name)),
        revoke: lambda args: _open("Tokens", args).revoke(args.name),
        enrol: _enrol,
        copy: lambda args: _open("open_database", args).backup(args.target),
        restore: lambda args: _open("open_database", args).restore(args.copy),
    }
    for action, run in runs.items():
        add_settings(action, "database")
        action.set_defaults(run=run)


def _open(part: str, args: argparse.Namespace) -> Any:
    with with_extra("collector"):
        make = getattr(collector, part)
    return make(Settings.read(vars(args)).database)


def _write_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _enrol(args: argparse.Namespace) -> None:
    names = [*args.names, *(Path(args.file).read_text(encoding="utf-8").split() if args.file else [])]
    if not names:
        raise UsageError("name somebody to enrol, or a file with names (--names FILE)")
    made = _open("Tokens", args).enrol(names, micro_epsilon(args.budget))
    csv.writer(sys.stdout, lineterminator="\n").writerows([("name", "token"), *zip(names, made, strict=True)])
