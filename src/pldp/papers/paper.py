"""What the folder of a paper tells everybody else: its experiment, a verdict on each claim, and what it shows.

Tables and figures are made again from the rows of a run.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

from pldp.papers.claim import Claim, Result

Row = Mapping[str, Any]

ILLUSTRATION: Final = "an illustration without data"
NOTATION: Final = "a list of symbols"


@dataclass(frozen=True)
class Series:
    """One line of a figure; `ours` marks a method that the paper does not have, `printed` numbers that it prints."""

    label: str
    x: Sequence[float | str]
    y: Sequence[float]
    error: Sequence[float] = ()
    ours: bool = False
    printed: bool = False


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

    `draw` makes it from a result, and may find nothing to draw, where data are not here, say; where there is no
    `draw`, `reason` says why it is not made again. `differs` says in one line what is not as in the paper: data,
    people, runs, parameters.
    """

    label: str
    caption: str
    draw: Callable[[Result], Drawn] | None = None
    reason: str = ""
    differs: str = ""


@dataclass(frozen=True)
class Curves:
    """Draws rows as lines: one panel per title and per column of `y`, one line per method.

    `x`, `panel` and `method` tell a row's place, the title of its panel and its method; `y` has the labels of columns,
    `methods` and `ours` those of the methods of the paper and of our own. Where a method has several rows at a place,
    the best one is drawn. Where places are names, `order` has them in their order.
    """

    x: Callable[[Row], Any]
    x_label: str
    y: Mapping[str, str]
    methods: Mapping[str, str]
    ours: Mapping[str, str] = field(default_factory=dict)
    panel: Callable[[Row], str] = lambda _: ""
    where: Callable[[Row], bool] = lambda _: True
    method: Callable[[Row], str] = itemgetter("method")
    order: Sequence[str] = ()
    log: bool = True

    def __call__(self, result: Result) -> Sequence[Panel]:
        """Return the panels."""
        rows = [row for row in result["rows"] if self.where(row)]
        if self.order:
            rows.sort(key=lambda row: self.order.index(self.x(row)))
        panels = []
        for title in dict.fromkeys(map(self.panel, rows)):
            for y, label in self.y.items():
                here = [row for row in rows if y in row and self.panel(row) == title]
                panels.append(Panel(words(title), self.x_label, label, list(self._lines(here, y)), self.log))
        return panels

    def _lines(self, rows: Sequence[Row], y: str) -> Iterator[Series]:
        for method, label in {**self.methods, **self.ours}.items():
            points: dict[Any, list[tuple[float, float | None]]] = defaultdict(list)
            for row in rows:
                if self.method(row) == method:
                    points[self.x(row)].append((row[y], row.get(f"{y}_error")))
            if points:
                named = isinstance(next(iter(points)), str)
                places = list(points) if named else sorted(points)
                best = [min(points[place]) for place in places]
                errors = [error for _, error in best if error is not None]
                x = list(map(words, places)) if named else places
                yield Series(label, x, [value for value, _ in best], errors, method in self.ours)


def words(name: str) -> str:
    """Return a name of the rows as people would write it."""
    return name.replace("_", " ")


@dataclass(frozen=True)
class Element:
    """A definition, algorithm, theorem, baseline, metric, dataset, table or figure of a paper, and where it is here.

    `home` is the dotted name of the code (or a survey key, or a command), `test` the test that holds it to the paper,
    as file::function below tests/. Where there is none, `reason` says why.
    """

    label: str
    what: str
    home: str = ""
    test: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper by the name of its folder, with its exhibits in their order.

    `datasets` are the data of real people that `run` uses: what ships and what has a publisher. `run` returns `rows`
    and whatever else is measured, as plain data; `claims` and `notes` (what a reader must know of the data, and what
    was left out) are judged and made from what it returned. `elements` lists everything that the paper has.
    """

    name: str
    citation: str
    datasets: Sequence[str]
    run: Callable[..., dict[str, Any]]
    claims: Sequence[Claim]
    exhibits: Sequence[Exhibit]
    elements: Sequence[Element] = ()
    notes: Callable[[Result], Sequence[str]] = lambda _: ()


def span(numbers: Collection[float], form: str = ".2f") -> str:
    """Return the smallest and the largest number in words.

    >>> span([3, 1, 2], "g"), span([])
    ('1 to 3', 'nothing')
    """
    if not numbers:
        return "nothing"
    return f"{min(numbers):{form}} to {max(numbers):{form}}"


def listing(numbers: Mapping[str, float], form: str) -> str:
    """Return named numbers in words.

    >>> listing({"job": 0.5, "country": 0.25}, ".0%")
    'job 50%, country 25%'
    """
    return ", ".join(f"{name} {number:{form}}" for name, number in numbers.items())
