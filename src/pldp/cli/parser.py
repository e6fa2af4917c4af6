"""Arguments, with suggestions where a verb, an action or an option is mistyped."""

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from pldp.words import suggest

_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """A parser that knows its own options and those of all parsers below it, `actions`, by their names."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self.actions: dict[str, Parser] = {}
        self.values: dict[str, tuple[str, ...]] = {}
        self.former: dict[str, str] = {}  # options that there are no more, and what took their place
        super().__init__(*given, **named)

    def add_argument(self, *names: Any, **named: Any) -> argparse.Action:
        """Add an argument, and keep the values it can have: `values` by option, and of arguments by the empty name."""
        made = super().add_argument(*names, **named)
        if made.choices is not None:
            option = next((name for name in made.option_strings if name.startswith("--")), "")
            self.values[option] = tuple(map(str, made.choices))
        return made

    def add_subparsers(self, **named: Any) -> Any:
        """Add parsers below this one."""
        made = super().add_subparsers(**named)
        self.actions = made.choices
        return made

    @property
    def options(self) -> set[str]:
        """The options that the help of this parser and of those below it names."""
        own = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", self.format_help()))
        return own.union(*(below.options for below in self.actions.values()))

    def read(self, given: Sequence[str]) -> argparse.Namespace:
        """Parse arguments; what nobody knows ends in one line. Words that are no options are not repeated."""
        options = self.options
        for name in (word.partition("=")[0] for word in given):
            for parser in (self, *self.actions.values()):
                if name in parser.former:
                    self.error(parser.former[name])
            if name.startswith("--") and not any(option.startswith(name) for option in options):
                self.error(f"unknown option {name[:40]}{suggest(name, sorted(options))}")
        parsed, rest = self.parse_known_args(given)
        if rest:
            self.error(f"{len(rest)} {'words' if len(rest) > 1 else 'word'} too many on the command line")
        return parsed

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and end with code 2."""
        wrong = _CHOICE.search(message)
        hint = suggest(wrong[1], re.findall(r"[\w-]+", wrong[2])) if wrong else ""
        super().error(message + hint)
