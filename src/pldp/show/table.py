"""Tables of plain text, which terminals and pages show alike."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from pldp.show.numbers import UNKNOWN, brief

MOST_ROWS: Final = 100  # that are shown to people
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


def groups_table(result: Mapped) -> Table | None:
    """Return the levels with their reports; numbers that a collector hides say so."""
    rows = [
        (
            group["level"],
            group["mechanism"],
            "∞" if group["epsilon"] is None else brief(group["epsilon"]),
            "hidden" if group.get("reports") is None else f"{group['reports']:,}",
            UNKNOWN if group.get("weight") is None else f"{group['weight']:.3f}",
        )
        for group in result.get("groups", ())
    ]
    return Table("by level", ("level", "mechanism", "ε", "reports", "weight"), rows, left=2) if rows else None
