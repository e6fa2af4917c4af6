"""How verbs speak: JSON for scripts on standard output, tables for people, progress on standard error."""

import argparse
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from rich import progress
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pldp import show
from pldp.plain import json_text
from pldp.survey import ONCE, Survey, repeat_mapping

Words = str | Text  # of a table: plain, or with a style of their own
_CAPS: Final = ("total_epsilon", "lifetime_cap", "level_cap")
PLAIN: Final[Mapping[str, Any]] = {"box": SIMPLE_HEAD, "padding": (0, 1, 0, 0)}  # style of tables with many rows


KNOWN: Final = {
    ".json": "JSON",
    ".jsonl": "JSON lines",
    ".html": "a page",
    ".htm": "a page",
    ".csv": "CSV",
    ".arrow": "Arrow",
    ".parquet": "Parquet",
    ".tally": "a tally",
    ".toml": "TOML",
    ".png": "a picture",
    ".svg": "a picture",
    ".pdf": "a picture",
}
"""What the endings of file names mean. Names without one of them may hold anything."""


def file_type(*endings: str) -> Callable[[str], str]:
    """Return what reads the name of a file to write; an ending that means something else is refused.

    >>> file_type(".json")("out.json"), file_type(".json")("-"), file_type(".html")("report.2")
    ('out.json', '-', 'report.2')
    """

    def read(name: str) -> str:
        ending = Path(name).suffix.lower()
        if ending in KNOWN and ending not in endings:
            content = KNOWN[endings[0]]
            words = f"{ending} means {KNOWN[ending]}, but this option writes {content}"
            raise argparse.ArgumentTypeError(f"{words}: name the file {Path(name).with_suffix(endings[0]).name}")
        return name

    return read


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Give a verb the option `--json FILE`, with `-` for standard output."""
    words = "write the result as JSON; - means standard output, and nothing else goes there"
    parser.add_argument("--json", type=file_type(".json"), metavar="FILE", help=words)


def add_html_option(parser: argparse.ArgumentParser, content: str = "tables and pictures") -> None:
    """Give a verb the option `--html FILE`."""
    words = f"write one self-contained page with {content}"
    parser.add_argument("--html", type=file_type(".html", ".htm"), metavar="FILE", help=words)


def emit(args: argparse.Namespace, content: Mapping[str, Any], display: Callable[[Console], object]) -> None:
    """Write a result as JSON where that is asked for, and for people unless JSON takes standard output."""
    emit_json(args, content)
    if args.json != "-":
        display(console_for(args))


def emit_json(args: argparse.Namespace, content: Mapping[str, Any]) -> None:
    """Write JSON where `--json` says. Numbers that JSON does not know become null."""
    if args.json == "-":
        sys.stdout.write(json_text(content, indent=1) + "\n")
        sys.stdout.flush()
    elif args.json:
        Path(args.json).write_text(json_text(content, indent=1) + "\n", encoding="utf-8")
        say_written(args, "JSON", args.json)


def write_page(args: argparse.Namespace, page: str) -> None:
    """Write the page of `--html`, and say so."""
    Path(args.html).write_text(page, encoding="utf-8")
    say_written(args, "page", args.html)


def say_written(args: argparse.Namespace, what: str, path: str) -> None:
    """Say what was written where."""
    console_for(args).print(f"{what} written to {path}", soft_wrap=True)


def console_for(args: argparse.Namespace) -> Console:
    """Return where words for people go: standard output, or standard error where JSON takes the former."""
    return Console(stderr=args.json == "-", highlight=False, markup=False)


class _Rate(progress.ProgressColumn):
    def render(self, task: progress.Task) -> str:
        return f"{task.speed or 0:,.0f}/s"


class Bar(NamedTuple):
    """A progress bar."""

    shown: progress.Progress
    task: progress.TaskID

    def reach(self, done: float, total: float | None = None, words: str | None = None) -> None:
        """Show how much is done, of how much if that is known by now, and under which words if they are others."""
        self.shown.update(self.task, completed=done, total=total or None, description=words)

    def advance(self, more: int = 1) -> None:
        """Show that more is done."""
        self.shown.advance(self.task, more)


@contextmanager
def progress_bar(words: str, total: int | None = None, *, with_rate: bool = False) -> Iterator[Bar]:
    """Show progress on standard error while the body runs; nothing where that is not a terminal."""
    console = Console(stderr=True)
    columns = [progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn()]
    rate = [_Rate()] if with_rate else []
    shown = progress.Progress(*columns, progress.TimeElapsedColumn(), *rate, console=console, transient=True)
    bar = Bar(shown, shown.add_task(words, total=total))
    if not console.is_terminal:
        yield bar
        return
    with shown:
        yield bar


def add_details_option(parser: argparse.ArgumentParser) -> None:
    """Give a verb the option `--details`."""
    parser.add_argument(
        "--details", action="store_true", help="show everything: levels, checks, assumptions, all notes"
    )


def show_results(console: Console, results: Iterable[Mapping[str, Any]], args: argparse.Namespace) -> None:
    """Print results: each in few lines, and where more is to be had; with `--details` everything."""
    if args.details:
        for each in results:
            _show_everything(console, each)
        return
    unicode = not (console.legacy_windows or console.options.ascii_only)
    for each in results:
        for line in show.screen(each, strips=unicode):
            console.print(line, soft_wrap=True, style="yellow" if line.startswith("! ") else None)
        console.print()
    console.print("More: --details (levels, checks, assumptions)  --html FILE  --json FILE", style="dim")


def _show_everything(console: Console, result: Mapping[str, Any]) -> None:
    """Print one result of any kind, given as plain data: notes first, then its tables, then what stands behind it."""
    console.print(show.heading(result), style="bold")
    for note in result["notes"]:
        name, style = ("Warning", "bold red") if note["severity"] == "warning" else ("Note", "")
        console.print(f"{name}: {note['text']}", style=style)
    for text in show.conclusions(result):
        console.print(text)
    for table in show.tables(result):
        if table.rows:
            numbers = range(table.left, len(table.heads))
            console.print(make_table(table.heads, table.rows, numbers, title=table.title or None, **PLAIN))
        if table.note:
            console.print(table.note)
    for text in show.footing(result):
        console.print(text)
    console.print(show.assumptions(result) + "\n", style="dim")


def make_table(
    heads: Iterable[str], rows: Iterable[Iterable[Words]], numbers: Container[int] = (), **style: Any
) -> Table:
    """Return a table; columns at the places `numbers` are aligned on the right."""
    table = Table(**{"title_justify": "left", "caption_justify": "left", **style})
    for place, name in enumerate(heads):
        table.add_column(name, justify="right" if place in numbers else "left")
    for row in rows:
        table.add_row(*row)
    return table


def proof_line(question: str, label: str, chances: str) -> str:
    """Say that a report can prove an answer; of 100 reports how many do, by level."""
    return f"{question}: an answer {label!r} can be proved: of 100 reports of people who give it, {chances} do."


def _rounds(count: int | None) -> str:
    return "any number of" if count is None else f"{count:,}"


def show_prices(console: Console, survey: Survey) -> None:
    """Print what asking again costs, and how many rounds the caps allow."""
    found = repeat_mapping(survey)
    console.print(f"repeat = {found['rule']}: {found['words']}")
    if found["rule"] == ONCE:
        return
    caps = {
        name: f"rounds within {name.replace('_', ' ')} {found[name]}" for name in _CAPS if found.get(name) is not None
    }
    heads = ("question", "level", *(f"ε of {what}" for what in found["questions"][0]["prices"]), *caps.values())
    rows = [
        (row["question"], row["level"], *row["prices"].values(), *(_rounds(row["rounds"][name]) for name in caps))
        for row in found["questions"]
    ]
    console.print(make_table(heads, rows, range(2, len(heads)), title="asked again"))
    whole = "everything" if survey.ask is None else f"any {survey.ask} questions"
    for level in found["levels"]:
        allowed = " and ".join(f"{_rounds(level['rounds'][name])} {words}" for name, words in caps.items())
        console.print(f"{whole} at level {level['level']}: {allowed}")
