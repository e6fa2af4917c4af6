"""The options of estimates on the command line: their flags and help are those that `pldp.estimates.Options` states."""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from pldp.cli.parser import Parser
from pldp.estimates import Options


def add_estimate_options(parser: argparse.ArgumentParser, *, joined: bool = False, **more: str) -> None:
    """Give a verb the flags of all options, or of those that joined reports take; `more` is added to the help of some.

    None has a default here: what is not given is left to the estimate.
    """
    for name, option in Options.stated().items():
        if not option.flag or (joined and not option.joined):
            continue
        parser.add_argument(
            option.flag,
            dest=name,
            action="append" if option.repeated else "store",
            type=option.number or str,
            choices=option.choices,
            metavar=option.metavar,
            help=option.help + more.get(name, ""),
        )
    if isinstance(parser, Parser):
        parser.former |= {f"--{name}": text for name, text in Options.former().items()}


def read_estimate_options(args: argparse.Namespace, **readers: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the options that were given, read; some may have other `readers` here."""
    given = {name: getattr(args, name, None) for name in Options.stated()}
    return {name: _read(name, value, readers) for name, value in given.items() if value is not None}


def _read(name: str, value: object, readers: Mapping[str, Callable[[Any], Any]]) -> Any:
    read = readers.get(name, Options.stated()[name].read)
    return value if read is None else read(value)


def flag_of(name: str) -> str:
    """Return the flag of an option."""
    return Options.stated()[name].flag
