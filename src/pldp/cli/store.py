"""`pldp store`: what the owner of a collector's file does beside serving it."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import Any

from pldp.budgets import micro_epsilon
from pldp.cli.arguments import with_extra
from pldp.cli.serve import add_settings
from pldp.collector import Settings
from pldp.errors import UsageError


def add_to(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("store", help="tokens and copies of a collector's store, also while it is served")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    token = actions.add_parser("token", help="make a token; it is printed this once")
    token.add_argument(
        "--scope", default="read", help="read (estimates, default), upload (reports) or admin (also rounds)"
    )
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
    runs = {token: _token, rotate: _rotate, revoke: _revoke, enrol: _enrol, copy: _backup, restore: _restore}
    for action, run in runs.items():
        if action in {token, rotate, revoke}:
            action.add_argument("name", help="whose token it is")
        add_settings(action, "database")
        action.set_defaults(run=run)


def _tokens(args: argparse.Namespace) -> Any:
    with with_extra("collector"):
        from pldp.collector import Tokens  # noqa: PLC0415 - optional
    return Tokens(Settings.read(vars(args)).database)


def _token(args: argparse.Namespace) -> None:
    sys.stdout.write(_tokens(args).create(args.name, args.scope) + "\n")


def _enrol(args: argparse.Namespace) -> None:
    listed = Path(args.file).read_text(encoding="utf-8").split() if args.file else []
    names = [*args.names, *listed]
    if not names:
        raise UsageError("name somebody to enrol, or a file with names (--names FILE)")
    made = _tokens(args).enrol(names, micro_epsilon(args.budget))
    csv.writer(sys.stdout, lineterminator="\n").writerows([("name", "token"), *zip(names, made, strict=True)])


def _rotate(args: argparse.Namespace) -> None:
    sys.stdout.write(_tokens(args).rotate(args.name) + "\n")


def _revoke(args: argparse.Namespace) -> None:
    _tokens(args).revoke(args.name)


def _database(args: argparse.Namespace) -> Any:
    with with_extra("collector"):
        from pldp.collector import open_database  # noqa: PLC0415 - optional
    return open_database(Settings.read(vars(args)).database)


def _backup(args: argparse.Namespace) -> None:
    _database(args).backup(args.target)


def _restore(args: argparse.Namespace) -> None:
    _database(args).restore(args.copy)
