"""What a paper shows, table by table and figure by figure, and how each is made again from the rows of a run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

Result = Mapping[str, Any]
"""What an experiment returned."""

Row = Mapping[str, Any]

ILLUSTRATION: Final = "an illustration without data"
NOTATION: Final = "a list of symbols"


@dataclass(frozen=True)
class Series:
    """One line of a figure; `ours` marks a method that the paper does not have."""

    label: str
    x: Sequence[float | str]
    y: Sequence[float]
    error: Sequence[float] = ()
    ours: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    log: bool = True


@dataclass(frozen=True)
class Table:
    """Heads and rows of a table."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]


Drawn = Sequence[Panel] | Table


@dataclass(frozen=True)
class Exhibit:
    """One table or figure of a paper, under the number that the paper gives it.

    `draw` makes it from a result, and may find nothing to draw (a quick run has fewer settings); where there is no
    `draw`, `reason` says why it is not made again.
    """

    label: str
    caption: str
    draw: Callable[[Result], Drawn] | None = None
    reason: str = ""


@dataclass(frozen=True)
class Curves:
    """Draws rows as lines: one panel per value of the column `panel` and per column of `y`, one line per method.

    `x` is a column and its label, `y` has the labels of its columns, `methods` and `ours` those of the methods of the
    paper and of our own. A row must have what `where` says: a value, or one that passes a test. Where the values of x
    are names, `order` has them in their order.
    """

    x: tuple[str, str]
    y: Mapping[str, str]
    methods: Mapping[str, str]
    ours: Mapping[str, str] = field(default_factory=dict)
    panel: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)
    log: bool = True
    order: Sequence[str] = ()

    def __call__(self, result: Result) -> Sequence[Panel]:
        """Return the panels."""
        rows = [row for row in result["rows"] if _fits(row, self.where)]
        column, x_label = self.x
        if self.order:
            rows.sort(key=lambda row: self.order.index(row[column]))
        panels = []
        for name in dict.fromkeys(row[self.panel] if self.panel else "" for row in rows):
            here = [row for row in rows if not self.panel or row[self.panel] == name]
            title = f"n = {name:,}" if self.panel == "n" else words(name)
            for y, y_label in self.y.items():
                series = [*lines(here, column, y, self.methods), *lines(here, column, y, self.ours, ours=True)]
                panels.append(Panel(title, x_label, y_label, series, self.log))
        return panels


def _fits(row: Row, where: Mapping[str, Any]) -> bool:
    return all(test(row[name]) if callable(test) else row[name] == test for name, test in where.items())


def lines(rows: Iterable[Row], x: str, y: str, methods: Mapping[str, str], *, ours: bool = False) -> list[Series]:
    """Return a line per method that has rows."""
    found = []
    for method, label in methods.items():
        own = [row for row in rows if row["method"] == method and y in row]
        if own and not isinstance(own[0][x], str):
            own.sort(key=lambda row: row[x])
        if own:
            errors = [row[f"{y}_error"] for row in own if f"{y}_error" in row]
            places = [words(row[x]) if isinstance(row[x], str) else row[x] for row in own]
            found.append(Series(label, places, [row[y] for row in own], errors, ours))
    return found


def words(name: Any) -> str:
    """Return a name of the rows as people would write it."""
    return str(name).replace("_", " ")
