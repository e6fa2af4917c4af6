"""Two questions together: the share of every pair of values."""

from pldp.show.kinds.kind import Kind, drawn
from pldp.show.markup import table
from pldp.show.numbers import TOO_FEW, brief
from pldp.show.picture import shades
from pldp.show.table import Mapped, Table


class TwoWay(Kind):
    """A row per value of the first question, a column per value of the second."""

    phrase = "two questions together"
    heads = ("values", "share")
    noun = "pair"
    picture_is_table = True
    legend = "Each cell is the consistent share of all people ± the reach of its {confidence} % interval."

    def label(self, row: Mapped) -> str:
        """Name both values."""
        return " and ".join(row["label"])

    def spoken(self, row: Mapped) -> str:
        """Name both values as one thing."""
        return " + ".join(row["label"])

    def title(self, result: Mapped) -> str:
        """Name both questions."""
        first, second = result["questions"]
        return f"{first} and {second} together"

    def tables(self, result: Mapped) -> list[Table]:
        """Return the table itself; a page shows it as the picture."""
        return [self._matrix(result)]

    def picture(self, result: Mapped) -> str:
        """Return the table with shaded cells; the larger a share, the darker."""
        _, _, cells = _grid(result)
        numbers = [[None, *(_share(row) for row in drawn(cells_of_row))] for cells_of_row in cells]
        return table(self._matrix(result), shades(numbers))

    def _matrix(self, result: Mapped) -> Table:
        first, second = result["questions"]
        rows, columns, cells = _grid(result)
        write = self.writer(result, more=1)({})

        def cell(row: Mapped) -> str:
            if row.get("too_few"):
                return TOO_FEW
            reach = None if row["low"] is None else (row["high"] - row["low"]) / 2
            return write.bare(_share(row)) + ("" if reach is None else f" ± {write.bare(reach)}")

        body = [
            (label, *map(cell, found), write.bare(sum(_share(row) or 0.0 for row in found)))
            for label, found in zip(rows, cells, strict=True)
        ]
        margins = [sum(_share(found[place]) or 0.0 for found in cells) for place in range(len(columns))]
        body.append(("all", *map(write.bare, margins), write.bare(sum(margins))))
        title = f"{result['reports']:,} reports answer both; shares ± {brief(100 * result['confidence'])} % reach, in %"
        return Table(title, (f"{first} \\ {second}", *columns, "all"), body)


def _share(row: Mapped) -> float | None:
    share: float | None = row.get("consistent", row["estimate"])
    return share


def _grid(result: Mapped) -> tuple[list[str], list[str], list[list[Mapped]]]:
    """Return the values of both questions, and the cells row by row."""
    cells = {tuple(row["label"]): row for row in result["rows"]}
    rows, columns = (list(dict.fromkeys(pair[side] for pair in cells)) for side in (0, 1))
    return rows, columns, [[cells[row, column] for column in columns] for row in rows]
