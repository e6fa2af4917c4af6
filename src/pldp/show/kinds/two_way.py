"""Two or three questions together: the share of every combination of answers."""

from collections.abc import Sequence
from itertools import product

from pldp.show.kinds.kind import Kind, drawn
from pldp.show.markup import table
from pldp.show.numbers import TOO_FEW, brief, count_of, listed
from pldp.show.picture import shades
from pldp.show.table import Mapped, Table


class TwoWay(Kind):
    """A row per value of the first question, a column per value of the second; a table per value of a third."""

    phrase = "questions together"
    heads = ("values", "share")
    noun = "pair"
    listed = False
    picture_is_table = True
    legend = "Each cell is the {confidence} % interval of a share of all people."

    def label(self, row: Mapped) -> str:
        """Name all values."""
        return " and ".join(row["label"])

    def spoken(self, row: Mapped) -> str:
        """Name all values as one thing."""
        return f'"{" + ".join(row["label"])}"'

    def title(self, result: Mapped) -> str:
        """Name the questions."""
        return f"{listed(result['questions'])} together"

    def tables(self, result: Mapped) -> list[Table]:
        """Return the table itself, which a page shows as the picture; of three questions slice by slice."""
        return [*self._slices(result), *_association_table(result)]

    def picture(self, result: Mapped) -> str:
        """Return the tables with shaded cells; the larger a share, the darker."""
        slices = _grids(result)
        every = [[_share(row) for row in drawn(cells_of_row)] for _, cells in slices for cells_of_row in cells]
        dark = iter(shades(every))
        shown = [
            table(content, [[0, *next(dark)] for _ in cells])
            for content, (_, cells) in zip(self._slices(result), slices, strict=True)
        ]
        return "".join([*shown, *map(table, _association_table(result))])

    def says(self, result: Mapped) -> str:
        """Return the largest rows in words, and the association."""
        return "; ".join([super().says(result), *_association_words(result)])

    def _slices(self, result: Mapped, more: int = 0) -> list[Table]:
        first, second, *rest = result["questions"]
        rows, columns, *_ = _values(result)
        write = self.writer(result, more=more)({})

        def cell(row: Mapped) -> str:
            if row.get("too_few"):
                return TOO_FEW
            if row["low"] is None:
                return write.bare(_share(row))
            shown = "–".join(write.ends(row["low"], row["high"]))
            if row.get("smooth_low") is None:
                return shown
            ends = (max(0.0, row["smooth_low"]), min(1.0, row["smooth_high"]))
            return f"{shown} ({'–'.join(write.ends(*ends))} if smooth)"

        def summed(found: Sequence[Mapped], side: int, other: int, place: int) -> str:
            """Write a sum over the values of one side; where people can have several, what the other side is alone."""
            if _exclusive(result, side):
                return write.bare(sum(_share(row) or 0.0 for row in found))
            return "" if rest else write.bare(result["margins"][other]["shares"][place])

        answer = "both" if len(result["questions"]) == 2 else "all of them"
        about = f"{count_of(result['reports'], 'report')} {'answers' if result['reports'] == 1 else 'answer'} {answer}"
        title = f"{about}; {brief(100 * result['confidence'])} % intervals of shares, in %"
        found = []
        for third, cells in _grids(result):
            body = [
                (label, *map(cell, own), summed(own, 1, 0, place))
                for place, (label, own) in enumerate(zip(rows, cells, strict=True))
            ]
            margins = [summed([own[place] for own in cells], 0, 1, place) for place in range(len(columns))]
            adds = _exclusive(result, 0) and _exclusive(result, 1)
            total = sum(_share(row) or 0.0 for own in cells for row in own)
            body.append(("all", *margins, write.bare(total) if adds else ""))
            named = f"{rest[0]}: {third}; " if rest else ""
            found.append(Table(f"{named}{title}", (f"{first} \\ {second}", *columns, "all"), body))
        return found


def _exclusive(result: Mapped, side: int) -> bool:
    """Tell whether people have exactly one value of a question."""
    return "margins" not in result or bool(result["margins"][side]["exclusive"])


def _association_table(result: Mapped) -> list[Table]:
    """Return Cramér's V of every item where one of the questions is a set."""
    found = [each for each in result.get("association") or () if each["label"]]
    rows = [
        (" and ".join(each["label"]), f"{each['estimate']:.2f}", f"{each['low']:.2f} to {each['high']:.2f}")
        for each in found
    ]
    heads = ("item", "Cramér's V", f"{brief(100 * result['confidence'])} % interval")
    return [Table("association: 0 if independent, 1 at most", heads, rows)] if rows else []


def _association_words(result: Mapped) -> list[str]:
    """Return the association of two questions in words; of items the strongest."""
    found = result.get("association") or ()
    if not found:
        return []
    most = max(found, key=lambda each: float(each["estimate"]))
    of = f"strongest association, of {' and '.join(most['label'])}," if most["label"] else "association"
    return [f"{of} V = {most['estimate']:.2f} ({most['low']:.2f} to {most['high']:.2f})"]


def _share(row: Mapped) -> float | None:
    share: float | None = row.get("consistent", row["estimate"])
    return share


def _values(result: Mapped) -> list[list[str]]:
    """Return the values of every question."""
    sides = range(len(result["questions"]))
    return [list(dict.fromkeys(row["label"][side] for row in result["rows"])) for side in sides]


def _grids(result: Mapped) -> list[tuple[str, list[list[Mapped]]]]:
    """Return the cells row by row, for each value of a third question, if there is one."""
    cells = {tuple(row["label"]): row for row in result["rows"]}
    rows, columns, *rest = _values(result)
    return [
        ("".join(third), [[cells[row, column, *third] for column in columns] for row in rows])
        for third in product(*rest)
    ]
