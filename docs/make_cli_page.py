"""Write `docs/cli.md` from the command's own help: `python docs/make_cli_page.py`.

The page is never edited by hand; a test compares it with what this file makes now.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from pldp.cli import VERBS, make_parser
from pldp.cli.parser import Parser

PAGE = Path(__file__).parent / "cli.md"
WIDTH = "100"

_HEAD = """# Command line

The verbs of `pldp` follow the data: `survey`, `simulate`, `tally`, `estimate`. `demo` does all of that at once.

- `--json -` writes the result as JSON to standard output and nothing else there. Words for people then go to standard
  error.
- Progress is shown on standard error, and only on a terminal.
- Bad input gets one line on standard error and exit code 2. So does a wrong option. Ctrl-C gives exit code 130.

This page is made from `--help` by `docs/make_cli_page.py`.

## From a survey to shares

Simulated people stand in for devices. The survey travels inside the Parquet file and inside the tally, so only the
first two commands name it.

```console
$ pldp survey check examples/commute.toml
$ pldp simulate examples/commute.toml --people 100000 --seed 1 --out reports.parquet
$ pldp tally reports.parquet --out commute.tally
$ pldp estimate commute.tally --question mode --html commute.html
$ pldp estimate commute.tally --question mode --json - > mode.json
```

`estimate` prints few lines per question ([how to read them](estimates.md)): a sentence that holds no matter who chose
which level, at most one line that begins with "If", a table, and the note that matters most. `--details` prints the
rest. If you know that people of different levels differ little, declare it: `--differ 5` for at most 5 percentage
points, `--differ 0` if they are alike.

## Two days, added up

Count each day on its own and add the tallies; the result is that of all reports together. `--patterns` keeps the rows
that the likelihood needs where a level uses unary encoding. A likelihood takes people of all levels to be alike, so it
asks for `--differ 0`.

```console
$ pldp simulate examples/commute.toml --people 20000 --seed 1 --out monday.parquet
$ pldp simulate examples/commute.toml --people 30000 --seed 2 --level-mix strict=0.7,open=0.3 --out tuesday.parquet
$ pldp tally monday.parquet --patterns --out monday.tally
$ pldp tally tuesday.parquet --patterns --out tuesday.tally
$ pldp tally monday.tally tuesday.tally --out both.tally
$ pldp estimate both.tally --method likelihood --differ 0 --target respondents
```

Reports of real devices come as JSON lines, one report per line. They do not carry the survey:
`pldp tally reports.jsonl --survey examples/commute.toml --out commute.tally`.
"""


def make_page() -> str:
    """Return the page: the hand-written head, then the help of every verb and action."""
    # Python 3.14 would colour the help on a terminal.
    with mock.patch.dict(os.environ, {"COLUMNS": WIDTH, "NO_COLOR": "1", "PYTHON_COLORS": "0"}):
        sections = [
            f"{'#' * (2 + depth)} {parser.prog}\n\n```text\n{parser.format_help().rstrip()}\n```\n"
            for depth, parser in _parsers(make_parser(*VERBS), 0)
        ]
    return "\n".join([_HEAD, *sections])


def _parsers(parser: Parser, depth: int) -> Iterator[tuple[int, Parser]]:
    """Yield the parser and all parsers below it; a verb is a section, an action a subsection of it."""
    yield max(depth - 1, 0), parser
    for below in parser.actions.values():
        yield from _parsers(below, depth + 1)


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
