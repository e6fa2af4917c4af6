"""What a report is worth to others, as tables: how well it is guessed, and what hides it in a crowd."""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Final

from rich.console import Console
from rich.table import Table

from pldp.cli.output import make_table
from pldp.shuffling import Guess, GuessRow, Shuffled, ShuffledRow

WHOLE: Final = "whole report"


def guessing_table(rows: Sequence[GuessRow]) -> Table:
    """Return how often the best guess of an answer from one report is right."""
    heads = ("question", "level", "answers equally likely", "answers as assumed")
    cells = [(row.question or WHOLE, row.level, row.equal.words, _words(row.given)) for row in rows]
    return make_table(heads, cells, {2, 3}, title="how often an observer's best guess of an answer is right")


def _words(guess: Guess | None) -> str:
    return "–" if guess is None else guess.words


def show_shuffled(console: Console, found: Shuffled) -> None:
    """Print the assumptions, then the numbers."""
    console.print("Assumptions", style="bold")
    for words in found.conditions:
        console.print(f"- {words}")
    console.print(shuffled_table(found))
    for row in found.rows:
        if row.refusal is not None:
            console.print(f"{row.question or WHOLE}, {row.level}: no answer: {row.refusal}.")


def shuffled_table(found: Shuffled) -> Table:
    """Return the numbers as a table."""
    heads = (
        "question",
        "level",
        "ε alone",
        "among",
        "ε shuffled, at most",
        "at least",
        f"watched in steps of {found.step}",
    )
    title = f"{found.title}: {found.people:,} reports, δ = {found.delta:g}"
    return make_table(heads, map(_cells, found.rows), range(2, 7), title=title)


def _cells(row: ShuffledRow) -> Sequence[str]:
    alone = "infinite" if row.local == math.inf else f"{row.local:.4g}"
    bounds = (rounded(row.high, ROUND_CEILING), rounded(row.low, ROUND_FLOOR), rounded(row.watched, ROUND_CEILING))
    return (row.question or WHOLE, row.level, alone, f"{row.among:,}", *bounds)


def rounded(number: float | None, direction: str) -> str:
    """Write a bound with four digits, rounded so that it stays one; a dash where there is none.

    >>> rounded(0.123421, ROUND_CEILING), rounded(0.123421, ROUND_FLOOR), rounded(None, ROUND_FLOOR)
    ('0.1235', '0.1234', '–')
    """
    return f"{Context(4, direction).create_decimal(number).normalize():f}" if number else "–"
