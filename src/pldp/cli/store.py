"""`pldp store`: what the owner of a collector's file does beside serving it."""

import argparse
import csv
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pldp import collector
from pldp.budgets import epsilon_text, micro_epsilon
from pldp.cli.arguments import check_link, with_extra
from pldp.cli.output import add_json_option, emit, make_table
from pldp.cli.serve import add_settings
from pldp.collector import Settings
from pldp.errors import StoreError, UsageError
from pldp.mechanisms import LARGEST_TOTAL

EXPORT_SECONDS: Final = 10.0


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    token = actions.add_parser("token", help="make a token; it is printed this once")
    words = "read (estimates, default), upload (reports) or admin (also rounds)"
    token.add_argument("--scope", default="read", help=words)
    tokens = actions.add_parser("tokens", help="list the tokens: scope, when made, last day, last used")
    enrol = actions.add_parser("enrol", help="give people upload tokens and a budget each; printed this once, as CSV")
    enrol.add_argument("names", nargs="*", metavar="NAME", help="whom to enrol")
    enrol.add_argument("--names", dest="file", metavar="FILE", help="file with a name per line")
    words = "for all reports of a person; each costs as much as the dearest one that the survey allows"
    enrol.add_argument("--budget", required=True, metavar="EPSILON", help=words)
    words = "the survey page's address, https://…: prints links that people can open beside their tokens"
    enrol.add_argument("--link", metavar="ADDRESS", help=words)
    rotate = actions.add_parser("rotate", help="make a new token of a name; the one before works until the next time")
    revoke = actions.add_parser("revoke", help="end the tokens of a name")
    log = actions.add_parser("log", help="list what was done to the store: tokens, enrolments, rounds, backups")
    check = actions.add_parser("check", help="compare what is stored with its checksums; names what is damaged")
    count = actions.add_parser("tally", help="count all reports of a store that is not served, such as a backup")
    count.add_argument("target", help="tally file to write, for pldp estimate")
    count.add_argument("--round", type=int, metavar="N", help="count this round (default: the latest)")
    export = actions.add_parser("export", help="write reports to a folder of Parquet files, one folder per round")
    export.add_argument("folder", help="folder to write to; what is there already is not written again")
    export.add_argument("--follow", action="store_true", help="go on until it is interrupted")
    words = f"with --follow: seconds between two passes (default {EXPORT_SECONDS})"
    export.add_argument("--every", type=float, metavar="SECONDS", help=words)
    copy = actions.add_parser("backup", help="copy the store to a file that a collector can start from")
    copy.add_argument("target", help="file to write")
    restore = actions.add_parser("restore", help="check a copy and begin a store with it; none may be there")
    restore.add_argument("copy", help="file that backup wrote")
    for action in (token, rotate, revoke):
        action.add_argument("name", help="whose token it is")
    for action, otherwise in ((token, "until it is revoked"), (enrol, "until revoked"), (rotate, "as long as before")):
        words = f"valid for N days after today (default: {otherwise})"
        action.add_argument("--days", type=int, metavar="N", help=words)
    for action in (tokens, log, check, export):
        add_json_option(action)
    runs = {
        token: _make_token,
        tokens: _list_tokens,
        rotate: lambda args: _write_line(_open("Tokens", args).rotate(args.name, args.days)),
        revoke: lambda args: _open("Tokens", args).revoke(args.name),
        enrol: _enrol,
        log: _list_acts,
        check: _check,
        count: _tally,
        export: _export,
        copy: _backup,
        restore: _restore,
    }
    for action, run in runs.items():
        add_settings(action, "database", *(("pairs",) if action is count else ()))
        action.set_defaults(run=run)


def _part(name: str) -> Any:
    with with_extra("collector"):
        return getattr(collector, name)


def _where(args: argparse.Namespace) -> str:
    return Settings.read(vars(args)).database


def _open(part: str, args: argparse.Namespace) -> Any:
    return _part(part)(_where(args))


def _write_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _make_token(args: argparse.Namespace) -> None:
    _say_if_new(args)
    _write_line(_open("Tokens", args).create(args.name, args.scope, args.days))


def _say_if_new(args: argparse.Namespace) -> None:
    """Say so where tokens go into a file that no collector has used: it may be meant for another one."""
    where = _where(args)
    if not where.startswith("postgres") and not Path(where).exists():
        words = "is a new database: the token works for a collector that is started with it"
        sys.stderr.write(f"pldp: note: {where} {words} (pldp serve SURVEY --database {where})\n")


def _list_tokens(args: argparse.Namespace) -> None:
    tokens = _open("Tokens", args)
    listed = [{**each._asdict(), "expired": tokens.has_expired(each.expires)} for each in tokens.all()]
    heads = ("name", "scope", "made", "expires", "last used")
    rows = [
        (
            each["name"],
            each["scope"],
            each["made"] or "unknown",
            f"{each['expires'] or 'never'}{' (expired)' if each['expired'] else ''}",
            "not kept" if each["scope"] == "upload" else each["used"] or "never",
        )
        for each in listed
    ]
    emit(args, {"tokens": listed}, lambda console: console.print(make_table(heads, rows)))


def _list_acts(args: argparse.Namespace) -> None:
    acts = _open("acts_at", args)
    content = {"acts": [each._asdict() for each in acts]}
    emit(args, content, lambda console: console.print(make_table(("hour (UTC)", "act", "who"), acts)))


def _check(args: argparse.Namespace) -> int:
    damage = _open("open_database", args).check()
    told = damage or ["everything is what was written"]
    emit(args, {"damage": damage}, lambda console: console.print("\n".join(told), markup=False, highlight=False))
    return int(bool(damage))


def _tally(args: argparse.Namespace) -> None:
    settings = Settings.read(vars(args))
    if not (settings.database.startswith("postgres") or Path(settings.database).is_file()):
        raise UsageError(f"{settings.database}: there is no such store")

    def note(line: str) -> None:
        sys.stderr.write(f"pldp: note: {line}\n")

    _part("tally_all")(settings.database, args.round, settings.question_pairs(), note=note).save(args.target)


def _export(args: argparse.Namespace) -> int:
    where = _where(args)
    if not (where.startswith("postgres") or Path(where).is_file()):
        raise UsageError(f"{where}: there is no such store")
    if args.every is not None and not (args.follow and args.every > 0):
        raise UsageError("--every must be a number of seconds above 0, and goes with --follow")
    lake = _part("Lake")(where, args.folder)
    exported = lake.export()
    _part("record_at")(where, "export of reports followed" if args.follow else "reports exported")
    _tell_export(args, exported)
    while args.follow:
        time.sleep(args.every or EXPORT_SECONDS)
        try:
            exported = lake.export()
        except StoreError as error:
            sys.stderr.write(f"pldp: warning: {error}; trying again\n")
        else:
            if exported.files:
                _tell_export(args, exported)
    return int(bool(exported.missing))


def _tell_export(args: argparse.Namespace, exported: Any) -> None:
    for line in exported.missing:
        sys.stderr.write(f"pldp: warning: {line}\n")
    words = f"{exported.files:,} files written, {exported.reports:,} reports in them"
    emit(args, exported._asdict(), lambda console: console.print(words, markup=False, highlight=False))


def _backup(args: argparse.Namespace) -> None:
    for line in _open("open_database", args).backup(args.target):
        sys.stderr.write(f"pldp: warning: copied as it is: {line}\n")
    _part("record_at")(_where(args), "backup made")


def _restore(args: argparse.Namespace) -> None:
    _open("open_database", args).restore(args.copy)
    _part("record_at")(_where(args), "restored from a backup")


def _enrol(args: argparse.Namespace) -> None:
    names = [*args.names, *(Path(args.file).read_text(encoding="utf-8").split() if args.file else [])]
    if not names:
        raise UsageError("name someone to enrol, or a file with names (--names FILE)")
    check_link(args.link)
    _say_if_new(args)
    tokens, budget = _open("Tokens", args), micro_epsilon(args.budget, largest=LARGEST_TOTAL)
    made = tokens.enrol(names, budget, args.days)
    links = {"link": [invitation_link(args.link, token) for token in made]} if args.link else {}
    columns = {"name": names, "token": made, **links}
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerows([tuple(columns), *zip(*columns.values(), strict=True)])
    sys.stderr.write(f"pldp: note: {_allowance(tokens.price(), budget)}\n")


def invitation_link(page: str, token: str) -> str:
    """Return the link with which a person answers; browsers send what is behind # to nobody."""
    return f"{page.rstrip('/')}/#{token}"


def make_links(args: argparse.Namespace, names: Sequence[str]) -> list[str]:
    """Enrol people and return their links."""
    if not names:
        raise UsageError("--names: the file has no names")
    _say_if_new(args)
    budget = micro_epsilon(args.budget, largest=LARGEST_TOTAL)
    made = _open("Tokens", args).enrol(names, budget, args.days)
    return [invitation_link(args.link, token) for token in made]


def _allowance(price: int | None, budget: int) -> str:
    """Say how many reports a budget allows."""
    if price is None:
        return "this store was not served yet, so its survey is unknown; a budget below one report allows none"
    reports = budget // price
    return f"each may send {reports:,} report{'s' if reports > 1 else ''}, at epsilon = {epsilon_text(price)} each"
