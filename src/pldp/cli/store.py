"""`pldp store`: what the owner of a collector's file does beside serving it."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pldp.cli.arguments import with_extra
from pldp.cli.serve import add_settings
from pldp.collector.settings import Settings


def add_to(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("store", help="tokens and copies of a collector's store, also while it is served")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    token = actions.add_parser("token", help="make a token; it is printed this once")
    token.add_argument("--scope", default="read", help="read (estimates, default) or admin (also rounds)")
    rotate = actions.add_parser("rotate", help="make a new token of a name; the one before works until the next time")
    revoke = actions.add_parser("revoke", help="end the tokens of a name")
    copy = actions.add_parser("backup", help="copy the store to a file that a collector can start from")
    copy.add_argument("target", help="file to write")
    for action, run in ((token, _token), (rotate, _rotate), (revoke, _revoke), (copy, _backup)):
        if action is not copy:
            action.add_argument("name", help="whose token it is")
        add_settings(action, "database")
        action.set_defaults(run=run)


def _tokens(args: argparse.Namespace) -> Any:
    with with_extra("collector"):
        from pldp.collector import Tokens  # noqa: PLC0415 - optional
    return Tokens(Settings.read(vars(args)).database)


def _token(args: argparse.Namespace) -> None:
    sys.stdout.write(_tokens(args).create(args.name, args.scope) + "\n")


def _rotate(args: argparse.Namespace) -> None:
    sys.stdout.write(_tokens(args).rotate(args.name) + "\n")


def _revoke(args: argparse.Namespace) -> None:
    _tokens(args).revoke(args.name)


def _backup(args: argparse.Namespace) -> None:
    with with_extra("collector"):
        from pldp.collector import open_database  # noqa: PLC0415 - optional
    open_database(Settings.read(vars(args)).database).backup(args.target)
