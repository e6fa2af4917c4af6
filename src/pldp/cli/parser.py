"""Arguments, with suggestions where a verb, an action or an option is mistyped."""

import argparse
import re
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

from pldp.words import suggest

_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """A parser that knows its own options and those of all parsers below it.

    `actions` are the parsers below it by their names.
    """

    def __init__(self, *given: Any, options: set[str] | None = None, **named: Any) -> None:
        self.options: set[str] = set() if options is None else options
        self.actions: dict[str, Parser] = {}
        super().__init__(*given, **named)

    def add_argument(self, *names: Any, **named: Any) -> argparse.Action:
        """Add an argument, and remember the names of options."""
        self.options.update(name for name in names if name.startswith("--"))
        return super().add_argument(*names, **named)

    def add_subparsers(self, **named: Any) -> Any:
        """Add parsers below this one, which share its memory of options."""
        below: Any = partial(type(self), options=self.options)
        made = super().add_subparsers(parser_class=below, **named)
        self.actions = made.choices
        return made

    def read(self, given: Sequence[str]) -> argparse.Namespace:
        """Parse arguments; what nobody knows ends in one line. Words that are no options are not repeated."""
        for word in given:
            name = word.partition("=")[0]
            if name.startswith("--") and not any(option.startswith(name) for option in self.options):
                self.error(f"unknown option {name[:40]}{suggest(name, sorted(self.options))}")
        parsed, rest = self.parse_known_args(given)
        if rest:
            self.error(f"{len(rest)} {'words' if len(rest) > 1 else 'word'} too many on the command line")
        return parsed

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and end with code 2."""
        wrong = _CHOICE.search(message)
        hint = suggest(wrong[1], re.findall(r"[\w-]+", wrong[2])) if wrong else ""
        super().error(message + hint)
