"""What several verbs read from their arguments."""

import argparse
import csv
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

from pldp.errors import ReportError, UsageError
from pldp.known import parse_known, parse_shares
from pldp.survey import Survey

VARIABLE: Final = "PLDP_TOKEN"  # holds the token to send reports with; other people on a machine can read flags
PICTURES: Final = (".png", ".svg", ".pdf")  # endings of picture files
TOKEN_HELP: Final = f"; where it takes reports with a token only, put that into {VARIABLE}"


def add_pair_option(parser: argparse.ArgumentParser, words: str) -> None:
    """Give a verb the option `--pair QUESTION,OTHER[,THIRD]`, which may be repeated."""
    parser.add_argument("--pair", type=read_pair, action="append", default=[], metavar="NAMES", help=words)


def read_pair(text: str) -> tuple[str, ...]:
    """Read the names of questions that belong together.

    >>> read_pair("mode,late"), read_pair("mode, late, age")
    (('mode', 'late'), ('mode', 'late', 'age'))
    """
    names = tuple(name.strip() for name in text.split(","))
    if len(names) < 2 or not all(names):
        raise argparse.ArgumentTypeError(f"must be names separated by commas, such as mode,late, not {text[:60]!r}")
    return names


def add_engine_options(parser: argparse.ArgumentParser, **more: str) -> None:
    """Give a verb the options that say where its work is done; `more` are engines that it has besides, with words."""
    add = parser.add_argument
    words = ", ".join(["this machine", *more.values(), "or a Spark cluster"])
    add("--engine", choices=("local", *more, "spark"), default="local", help=words)
    add("--master", metavar="URL", help="of the Spark cluster, such as spark://host:7077 (default local[*])")
    add("--conf", action="append", default=[], metavar="NAME=VALUE", help="a setting for Spark (may be repeated)")


def add_seed_option(parser: argparse.ArgumentParser, words: str) -> None:
    """Give a verb the option `--seed`."""
    parser.add_argument("--seed", type=int, default=0, help=f"{words} (default 0)")


def check_seed(args: argparse.Namespace) -> None:
    """Refuse a negative `--seed`."""
    if args.seed < 0:
        raise UsageError(f"--seed must not be negative, not {args.seed}")


def check_plot(args: argparse.Namespace) -> None:
    """Refuse a `--plot` that is not the name of a picture."""
    if args.plot and Path(args.plot).suffix not in PICTURES:
        raise UsageError(f"--plot: the name must end in {', '.join(PICTURES)}, not {Path(args.plot).suffix!r}")


def check_link(link: str | None) -> None:
    """Refuse a `--link` that is no https address; of this machine neither, as other people open it.

    >>> check_link("http://localhost:8300")
    Traceback (most recent call last):
    ...
    pldp.errors.UsageError: --link must be the address of the survey page and begin with https://, also for localhost
    """
    if link and not re.fullmatch(r"https://[^/?#\s\x00-\x1f][^\s\x00-\x1f]*", link):
        raise UsageError("--link must be the address of the survey page and begin with https://, also for localhost")


def connected(args: argparse.Namespace) -> Any:
    """Return a session on the cluster that the options name."""
    settings = {}
    for setting in args.conf:
        name, found, value = setting.partition("=")
        if not found:
            raise UsageError(f"--conf must look like spark.executor.memory=4g, not {setting[:60]!r}")
        settings[name] = value
    with with_extra("spark"):
        from pldp.tallies.spark import connect  # noqa: PLC0415 - only those who use Spark install it
    return connect(args.master or "local[*]", settings)


def require_local(args: argparse.Namespace, *more: str) -> None:
    """Refuse options of a cluster where there is none."""
    given = [option for option in ("--master", "--conf", *more) if getattr(args, option.removeprefix("--"))]
    if given:
        raise UsageError(f"{given[0]} is for --engine spark")


@contextmanager
def with_extra(name: str) -> Iterator[None]:
    """Say how to install an extra of this package that the body needs."""
    try:
        yield
    except ImportError as error:
        raise UsageError(f"this needs the package {error.name}: pip install 'pldp[{name}]'") from None


def read_lines(path: str) -> Iterator[bytes]:
    """Yield the lines of a file, or of standard input for `-`, without empty ones."""
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as file:
            yield from (line for line in file if line.strip())
    except FileNotFoundError:
        raise ReportError(f"{path}: there is no such file") from None


def read_json(option: str, path: str) -> Any:
    """Read the JSON file that an option names."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{option}: {path}: there is no such file") from None
    except (ValueError, RecursionError) as error:
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UsageError(f"{option}: {path}{line}: not valid JSON") from None


def read_level_mix(text: str | None) -> Any:
    """Read `strict=0.5,open=0.5`, or a JSON file with such weights, or with such weights per value."""
    if text is None:
        return None
    if text.endswith(".json"):
        mix = read_json("--level-mix", text)
        if not _is_mix(mix):
            raise UsageError(f"--level-mix: {text} must be an object of numbers, or of such objects per value")
        return mix
    mix = {}
    for part in text.split(","):
        name, _, weight = part.partition("=")
        try:
            mix[name.strip()] = float(weight)
        except ValueError:
            raise UsageError(f"--level-mix must look like strict=0.5,open=0.5, not {text[:60]!r}") from None
    return mix


def read_level_weights(text: str | None, who: str) -> dict[str, float] | None:
    """Read the same for a verb that takes one weight per level, whatever the value."""
    mix: dict[str, Any] | None = read_level_mix(text)
    if mix is not None and any(isinstance(weight, dict) for weight in mix.values()):
        raise UsageError(f"--level-mix: {who} takes one weight per level, not weights per value")
    return mix


def read_known(text: str, *, groups: bool = False) -> Any:
    """Read the known shares of a question's labels, or of groups: as text, or from a JSON file."""
    if not text.endswith(".json"):
        return parse_shares(text) if groups else parse_known(text)
    return read_json("--known", text)


def _is_mix(mix: object) -> bool:
    """Tell whether this is {level: number} or {value: {level: number}}."""
    return isinstance(mix, dict) and all(
        isinstance(entry, int | float) or (isinstance(entry, dict) and _is_mix(entry)) for entry in mix.values()
    )


@contextmanager
def refuse_broken_csv(where: str) -> Iterator[None]:
    """Say in one line why a table cannot be read, such as a cell that is longer than any text here."""
    try:
        yield
    except csv.Error as error:
        raise UsageError(f"{where}: is not a valid CSV file ({error})") from None


def read_counts(survey: Survey, path: str, option: str = "--counts") -> dict[str, dict[str, int]]:
    """Read a CSV with the columns question, value, people."""
    counts: dict[str, dict[str, int]] = {}
    with Path(path).open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        with refuse_broken_csv(f"{option}: {path}"):
            rows = list(reader)
        if not {"value", "people"} <= set(reader.fieldnames or ()):
            raise UsageError(f"{option}: {path} must have the columns question, value, people")
        for line, row in enumerate(rows, start=2):
            question = row.get("question") or survey.questions[0].name
            if not re.fullmatch("[0-9]{1,12}", row["people"] or ""):
                raise UsageError(f"{option}: {path}, line {line}: people must be a whole number")
            if row["value"] in counts.setdefault(question, {}):
                raise UsageError(f"{option}: {path}, line {line}: this value has come before")
            counts[question][row["value"]] = int(row["people"])
    if len({sum(each.values()) for each in counts.values()}) > 1:
        raise UsageError(f"{option}: {path} must have the same number of people for every question")
    return counts
