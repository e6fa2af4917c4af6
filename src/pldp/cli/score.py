"""`pldp score`: from people's scores of how sensitive values are to the questions of a survey file."""

import argparse
import csv
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from pldp.budgets import ALLOCATIONS, SCORED_LEVEL, ScoredValue, Scoring, score_values
from pldp.cli.arguments import refuse_broken_csv
from pldp.cli.output import add_json_option, emit, file_type, make_table
from pldp.epsilon import Micro, epsilon_text, micro_epsilon
from pldp.errors import EpsilonError, UsageError
from pldp.survey import SCHEMA, loads

LONG_FORM: Final = ("person", "value", "score")
KINDS: Final = ("choice", "choices")
PARQUET: Final = ".parquet"


@dataclass
class Read:
    """The scores of each value, and how many entries of the table are none."""

    scores: dict[str, list[float]] = field(default_factory=dict)
    people: int = 0
    missing: int = 0
    not_numbers: int = 0
    outside: int = 0

    def add(self, value: str, entry: object, scale: tuple[float, float]) -> None:
        """Count one entry."""
        given = self.scores.setdefault(value, [])
        if entry is None or (isinstance(entry, str) and not entry.strip()):
            self.missing += 1
            return
        try:
            score = math.nan if isinstance(entry, bool) else float(str(entry))
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            self.not_numbers += 1
        elif not scale[0] <= score <= scale[1]:
            self.outside += 1
        else:
            given.append(score)


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("scores", help="CSV or Parquet: a row per person and a column per value, or the columns person, value, score")
    add(
        "--scale",
        type=float,
        nargs=2,
        default=(0.0, 10.0),
        metavar=("LOW", "HIGH"),
        help="of the scores (default 0 10)",
    )
    add("--levels", type=int, default=5, metavar="L", help="levels that the scale is cut into (default 5); 0 is open")
    add("--epsilon", required=True, metavar="E", help="the budget that is split over the levels")
    add("--question", required=True, metavar="NAME", help="name of the question")
    add("--kind", choices=KINDS, default=KINDS[0], help="a choice of one value, or of any number of them")
    add("--allocation", choices=ALLOCATIONS, default=ALLOCATIONS[0], help="which one --out writes (default safe)")
    add("--skip-invalid", action="store_true", help="leave out scores that are no numbers or outside the scale")
    add("--out", type=file_type(".toml"), metavar="FILE", help="write a survey file (TOML) with the question")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    low, high = args.scale
    if not low < high or not math.isfinite(high - low):
        raise UsageError(f"--scale must be two rising numbers, not {low:g} {high:g}")
    read = _read(args.scores, (low, high))
    _check(args, read)
    try:
        scored = score_values(
            read.scores,
            micro_epsilon(args.epsilon),
            levels=args.levels,
            scale=(low, high),
            several=args.kind == KINDS[1],
        )
        text = None if args.out is None else _survey_text(args, scored, read)
    except EpsilonError as error:
        raise UsageError(f"{args.scores}: {error}") from None
    if text is not None:
        loads(text)  # what is written can be read
        Path(args.out).write_text(text, encoding="utf-8")
    emit(args, _mapping(args, scored, read), lambda console: _show(console, args, scored, read))
    if text is not None and args.allocation != ALLOCATIONS[0]:
        sys.stderr.write(f"pldp: WARNING: {_warning(scored)}\n")


def _read(path: str, scale: tuple[float, float]) -> Read:
    """Read a table in either form."""
    try:
        names, rows = _parquet(path) if path.endswith(PARQUET) else _csv(path)
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file") from None
    if len(set(names)) < len(names):
        raise UsageError(f"{path}: every column must have a name of its own")
    read, people = Read(), set()
    long_form = {"value", "score"} <= set(names) <= set(LONG_FORM)
    values = [name for name in names if name != LONG_FORM[0]]
    for number, row in enumerate(rows):
        if len(row) != len(names):
            raise UsageError(f"{path}, row {number + 1}: must have {len(names)} entries, not {len(row)}")
        entries = dict(zip(names, row, strict=True))
        people.add(entries.get(LONG_FORM[0], number))
        if long_form:
            read.add(str(entries["value"]), entries["score"], scale)
        else:
            for value in values:
                read.add(value, entries[value], scale)
    read.people = len(people)
    if not read.scores:
        raise UsageError(f"{path}: has no scores; it must have a row per person and a column per value")
    return read


def _csv(path: str) -> tuple[list[str], list[list[str]]]:
    with Path(path).open(encoding="utf-8-sig", newline="") as file, refuse_broken_csv(path):
        rows = [row for row in csv.reader(file) if row]
    if not rows:
        raise UsageError(f"{path}: is empty")
    return [name.strip() for name in rows[0]], rows[1:]


def _parquet(path: str) -> tuple[list[str], Iterable[Sequence[Any]]]:
    from pyarrow import ArrowException, parquet  # noqa: PLC0415 - a CSV needs none

    try:
        table = parquet.read_table(path)
    except ArrowException:
        raise UsageError(f"{path}: is not a Parquet file") from None
    return table.column_names, zip(*(column.to_pylist() for column in table.columns), strict=True)


def _check(args: argparse.Namespace, read: Read) -> None:
    """Refuse a table with scores that are none, in one line with counts."""
    low, high = args.scale
    if (read.outside or read.not_numbers) and not args.skip_invalid:
        total = read.missing + read.outside + read.not_numbers + sum(map(len, read.scores.values()))
        raise UsageError(
            f"{args.scores}: of {total:,} scores {read.outside:,} are outside the scale {low:g} to {high:g}, "
            f"{read.not_numbers:,} are not numbers and {read.missing:,} are missing; correct them or the --scale, or "
            "leave them out with --skip-invalid"
        )


def _skipped(read: Read) -> str:
    counts = {"missing": read.missing, "not numbers": read.not_numbers, "outside the scale": read.outside}
    return ", ".join(f"{count:,} {words}" for words, count in counts.items() if count) or "none"


def _columns(scored: Scoring) -> tuple[str, ...]:
    return ("ticked", "not ticked") if scored.several else ("",)


def _mapping(args: argparse.Namespace, scored: Scoring, read: Read) -> dict[str, Any]:
    sides = [name.replace(" ", "_") or "value" for name in _columns(scored)]

    def epsilons(micros: tuple[Micro, ...]) -> dict[str, str]:
        return dict(zip(sides, map(epsilon_text, micros), strict=True))

    return {
        "question": args.question,
        "kind": args.kind,
        "epsilon": epsilon_text(scored.total_micro_epsilon),
        "levels": scored.levels,
        "people": read.people,
        "skipped": {"missing": read.missing, "not_numbers": read.not_numbers, "outside": read.outside},
        "outliers": sum(row.outliers for row in scored.rows),
        "values": [
            {
                "value": row.value,
                "scores": row.scores,
                "outliers": row.outliers,
                "mean": row.mean,
                "level": row.level,
                "weight": str(row.weight),
                "budget": epsilons(row.budgets),
                "paper_true_epsilon": epsilons(row.paper),
                "safe_true_epsilon": epsilons(row.safe),
                "paper_keeps_it": _keeps(row),
            }
            for row in scored.rows
        ],
        "written": args.out,
        "allocation": args.allocation if args.out else None,
    }


def _keeps(row: ScoredValue) -> bool:
    return all(true <= budget for true, budget in zip(row.paper, row.budgets, strict=True))


def _show(console: Console, args: argparse.Namespace, scored: Scoring, read: Read) -> None:
    heads = ["value", "scores", "outliers", "mean", "level", "weight"]
    rows = [
        (
            row.value,
            f"{row.scores:,}",
            f"{row.outliers:,}",
            f"{row.mean:.3g}",
            "0 (open)" if row.level == 0 else str(row.level),
            str(row.weight),
        )
        for row in scored.rows
    ]
    title = f"{args.question}: scores of {read.people:,} people"
    console.print(make_table(heads, rows, range(1, len(heads)), title=title))
    console.print(_budgets_table(scored))
    console.print(f"Scores left out: {_skipped(read)}; outliers removed: {sum(row.outliers for row in scored.rows):,}.")
    broken = sum(not _keeps(row) for row in scored.rows)
    if broken:
        many = f"{broken} of {len(scored.rows)} values"
        console.print(f"The paper's allocation breaks the promise of {many}; the safe one of none.")
    if args.out:
        console.print(f"Wrote {args.out} with the {args.allocation} allocation: pldp survey check {args.out}")


def _budgets_table(scored: Scoring) -> Table:
    sides = _columns(scored)
    heads = ["value"]
    for what in ("budget ε", "paper: true ε", "safe: true ε"):
        heads += [f"{what} {side}".strip() for side in sides]
    rows = [
        (
            row.value,
            *("open" if micro == math.inf else epsilon_text(micro) for micro in row.budgets),
            *(_marked(true, budget) for true, budget in zip(row.paper, row.budgets, strict=True)),
            *map(epsilon_text, row.safe),
        )
        for row in scored.rows
    ]
    return make_table(heads, rows, range(1, len(heads)), title="budgets", caption="!: above the budget")


def _marked(true: Micro, budget: Micro) -> str:
    return f"{epsilon_text(true)} !" if true > budget else epsilon_text(true)


def _warning(scored: Scoring) -> str:
    broken = sum(not _keeps(row) for row in scored.rows)
    return (
        f"the paper's allocation does not keep the budgets of {broken} of {len(scored.rows)} values; the file promises "
        "what its weights really keep, which is more than was meant (see `pldp survey check`)"
    )


def _survey_text(args: argparse.Namespace, scored: Scoring, read: Read) -> str:
    """Return a complete survey file."""
    table, epsilon = scored.question(args.question, args.allocation)
    lines = [
        f"# Budgets from the scores of {read.people:,} people (pldp score): {scored.levels} levels, ε = "
        f"{epsilon_text(scored.total_micro_epsilon)}; scores left out: {_skipped(read)}; outliers removed: "
        f"{sum(row.outliers for row in scored.rows):,}.",
    ]
    if args.allocation != ALLOCATIONS[0]:
        lines.append(f"# WARNING: {_warning(scored)}.")
    lines += [
        f"pldp = {SCHEMA}",
        f"title = {_toml(f'Scored question {args.question}')}",
        "",
        "[levels]",
        f"{SCORED_LEVEL} = {_toml(epsilon)}",
        "",
        "[[questions]]",
        *(f"{key} = {_toml(entry)}" for key, entry in table.items()),
    ]
    return "\n".join(lines) + "\n"


def _toml(entry: object) -> str:
    """Write text, whole numbers, lists and tables of them in one line of TOML."""
    if isinstance(entry, Mapping):
        return "{ " + ", ".join(f"{_toml(key)} = {_toml(own)}" for key, own in entry.items()) + " }" if entry else "{}"
    if isinstance(entry, list | tuple):
        return "[" + ", ".join(map(_toml, entry)) + "]"
    if isinstance(entry, int):
        return str(entry)
    return json.dumps(str(entry), ensure_ascii=False).replace("\x7f", "\\u007F")
