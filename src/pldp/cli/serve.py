"""`pldp serve`: a collector in one command."""

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

from pldp.cli.arguments import with_extra
from pldp.collector import PREFIX, Settings
from pldp.survey import load


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = f"Flags come before environment variables ({PREFIX}PORT and so on), these before the file."
    parser.add_argument("survey", help="survey file, by custom a signed one")
    parser.add_argument("--config", metavar="FILE", help="TOML file with settings, such as port = 8300")
    add_settings(parser)
    parser.set_defaults(run=_run)


def add_settings(parser: argparse.ArgumentParser, *names: str) -> None:
    """Give a verb the settings of a collector as flags, all or those named."""
    for setting in fields(Settings):
        if not names or setting.name in names:
            shown = f" (default {setting.default})" if setting.default != "" else ""
            flag = f"--{setting.name.replace('_', '-')}"
            parser.add_argument(flag, metavar="VALUE", help=setting.metadata["help"] + shown)


def _run(args: argparse.Namespace) -> None:
    settings = Settings.read(vars(args), file=args.config)
    with with_extra("collector"):
        from pldp.collector import Tokens, serve, warnings  # noqa: PLC0415 - optional

    def tell(address: str) -> None:
        _tell(address)
        for line in warnings(load(args.survey), settings, Tokens(settings.database)):
            sys.stderr.write(f"pldp: {line}\n")
        sys.stderr.flush()

    with _told_to_end():
        serve(args.survey, settings, tell)


@contextmanager
def _told_to_end() -> Iterator[None]:
    """Let SIGTERM end the process as Ctrl-C does, so that the store is closed; the server hands it on when done."""

    def end(*_: object) -> None:
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _tell(address: str) -> None:
    sys.stdout.write(f"survey     {address}/\ndashboard  {address}/dashboard\nAPI        {address}/v1/openapi.json\n")
    sys.stdout.flush()
