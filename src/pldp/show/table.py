"""Tables of plain text, which terminals and pages show alike."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, Final, NamedTuple

from pldp.errors import EstimateError
from pldp.show.numbers import UNKNOWN, brief

MOST_ROWS: Final = 100  # that are shown to people
REASONS: Final = {
    "malformed": "not a report",
    "wrong_schema": "of another format",
    "wrong_survey": "of another survey",
    "bad_id": "wrong id",
    "no_answer": "without an answer",
    "too_many_answers": "too many answers",
    "unknown_question": "unknown question",
    "repeated_question": "a question twice",
    "unknown_level": "unknown level",
    "wrong_type": "wrong type of output",
    "wrong_length": "wrong length of output",
    "out_of_range": "impossible output",
    "conflict": "another report with the same id",
    "withdrawn": "sent again after withdrawal",
    "closed_round": "the round was closed",
    "closed_survey": "after the closing date",
    "over_budget": "over the person's budget",
}
"""What the codes of rejections mean."""

Mapped = Mapping[str, Any]  # a result, or a part of one, as plain data


class Table(NamedTuple):
    """Rows of text below the heads of their columns; the first `left` columns hold words, the others numbers."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    note: str = ""


def largest(rows: Sequence[Mapped], most: int = MOST_ROWS) -> tuple[list[Mapped], str]:
    """Return the rows with the largest estimates, in their order, and what to say if some are left out.

    >>> largest([{"estimate": 0.2}, {"estimate": 0.1}, {"estimate": 0.7}], 2)
    ([{'estimate': 0.2}, {'estimate': 0.7}], 'The 2 largest of 3.')
    """
    if len(rows) <= most:
        return list(rows), ""
    kept = sorted(sorted(range(len(rows)), key=lambda place: -(rows[place]["estimate"] or 0.0))[:most])
    return [rows[place] for place in kept], f"The {most:,} largest of {len(rows):,}."


def name_of(result: Mapped) -> str:
    """Return the name of the question, or of both questions of a two-way table."""
    return " × ".join(result["questions"]) if "questions" in result else str(result["name"])


def rejections_table(rejections: Mapping[str, int], few: Iterable[str] = (), step: int = 1) -> Table:
    """Return how many reports were rejected for which reason; of those in `few`, only that they are fewer than a step.

    >>> rejections_table({"malformed": 3, "bad_id": 0}, ["closed_round"], 50).rows
    [('not a report', 'malformed', '3'), ('the round was closed', 'closed_round', 'fewer than 50')]
    """
    counted = sorted((each for each in rejections.items() if each[1]), key=lambda each: -each[1])
    told = [
        *((reason, f"{count:,}") for reason, count in counted),
        *((reason, f"fewer than {step:,}") for reason in few),
    ]
    rows = [(REASONS.get(reason, reason), reason, count) for reason, count in told]
    return Table("", ("rejected", "code", "reports"), rows, left=2)


def groups_table(result: Mapped) -> Table | None:
    """Return the levels with their reports; numbers that a collector hides say so."""
    rows = [
        (
            group["level"],
            group["mechanism"],
            "∞" if group["epsilon"] is None else brief(group["epsilon"]),
            "fewer than a step" if group.get("reports") is None else f"{group['reports']:,}",
            UNKNOWN if group.get("weight") is None else f"{group['weight']:.3f}",
        )
        for group in result.get("groups", ())
    ]
    return Table("by level", ("level", "mechanism", "ε", "reports", "weight"), rows, left=2) if rows else None


def make_frame(records: list[dict[str, Any]], library: str | None) -> Any:
    """Return records as a pandas or Polars data frame, whichever is asked for or installed."""
    if library not in (None, "pandas", "polars"):
        raise EstimateError(f"library must be pandas or polars, not {library!r}")
    for name in (library,) if library else ("pandas", "polars"):
        with suppress(ImportError):
            return import_module(name).DataFrame(records)
    lacking = f"the package {library}, which is not" if library else "pandas or Polars, and neither is"
    raise EstimateError(f"to_frame needs {lacking} installed")
