"""What every kind of result shows: its rows as a table, a picture, a sentence."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Final

from pldp.show.numbers import UNKNOWN, Writer, brief, percents
from pldp.show.table import Mapped, Table, largest

NAMED: Final = 3  # rows that a sentence names
_EXTRA: Final = {"true": "truth", "consistent": "consistent"}


class Kind(ABC):
    """How results of one kind look."""

    phrase: str  # the kind in words
    heads: tuple[str, str]  # above the labels, and above the estimates
    legend: str  # what the picture shows; `{confidence}` stands for that of its intervals
    picture_is_table: bool = False  # whether the picture is the first table, with shades

    def writer(self, result: Mapped, *, more: int = 0) -> Callable[[Mapped], Writer]:
        """Return what writes the numbers of a row, with `more` digits than the error has: per cent, all rows alike."""
        write = percents([row["standard_error"] for row in result["rows"]], more=more)
        return lambda _: write

    def legend_of(self, result: Mapped) -> str:  # noqa: ARG002 - others have several pictures
        """Say what the picture of this result shows."""
        return self.legend

    @abstractmethod
    def picture(self, result: Mapped) -> str:
        """Return the picture as markup; empty if there is nothing to draw."""

    def label(self, row: Mapped) -> str:
        """Return what a row is about."""
        return str(row["label"])

    def title(self, result: Mapped) -> str:
        """Return what the result is about."""
        return str(result.get("text") or result["name"])

    def tables(self, result: Mapped) -> list[Table]:
        """Return the rows, and beside them those that assume nothing about who chose which level."""
        found = [self.table(result, result["rows"])]
        if beside := result.get("assumption_free"):
            found.append(self.table(result, beside["rows"], "the same, assuming nothing about who chose which level"))
        return found

    def table(self, result: Mapped, rows: Sequence[Mapped], title: str = "") -> Table:
        """Return rows with estimates, errors and intervals; with the truth where somebody knows it."""
        write = self.writer(result, more=1)
        shown, note = largest(rows)
        extra = {name: head for name, head in _EXTRA.items() if rows and name in rows[0]}
        heads = (*self.heads, f"{brief(100 * result['confidence'])} % interval", "std. error", *extra.values())
        cells = []
        for row in shown:
            own = write(row)
            numbers = (own(row[name]) for name in ("standard_error", *extra))
            cells.append((self.label(row), own(row["estimate"]), own.interval(row["low"], row["high"]), *numbers))
        return Table(title, heads, cells, note=note)

    def bars(self, result: Mapped) -> Table | None:  # noqa: ARG002 - most kinds have none
        """Return a picture made of letters for terminals, where the table alone does not show the shape."""
        return None

    def says(self, result: Mapped) -> str:
        """Return the largest rows in words."""
        write = self.writer(result)
        rows = sorted(result["rows"], key=lambda row: -(row["estimate"] or 0.0))
        parts = [in_words(self.label(row), row, write(row)) for row in rows[:NAMED]]
        more = f" and {len(rows) - NAMED:,} more" if len(rows) > NAMED else ""
        return f"{', '.join(parts)}{more}"

    def influence(self, result: Mapped) -> str:
        """Say how far one forged report can shift the result."""
        people = brief(result.get("manipulation"))
        return "" if people == UNKNOWN else f"One forged report can count as {people} people."


def in_words(label: str, row: Mapped, write: Writer) -> str:
    """Write an estimate with its interval."""
    reach = write.interval(row["low"], row["high"])
    return f"{label} {write(row['estimate'])}" + (f" ({reach})" if row["low"] is not None else "")
