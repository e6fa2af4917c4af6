"""A number: its mean, quantiles and density, in the question's unit; or its mean alone."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from pldp.show.axis import Axis
from pldp.show.kinds.kind import Kind, between, in_words, needed, spread
from pldp.show.numbers import UNKNOWN, Writer, amounts, brief, listed
from pldp.show.picture import curve
from pldp.show.table import Mapped, Table

BARS, LONGEST = 16, 30  # bars of a density in a terminal, and the letters of the longest one
_MEDIAN: Final = "50 %"
_IF_SMOOTH: Final = "if smooth"
_DOT: Final = "The dot is the mean, the line its {confidence} % interval."
_DOTS: Final = "The dots are quantiles, the lines their {confidence} % intervals."


class Number(Kind):
    """The first row is the mean, the others are quantiles; those and a density are not always there."""

    phrase = "a number"
    heads = ("statistic", "estimate")
    legend = (
        "The curve is the fitted distribution, the band holds it with {confidence} % at each place if it is smooth; "
        "the upright line is the mean with its interval."
    )

    def label(self, row: Mapped) -> str:
        """Name quantiles by what lies below them."""
        name = str(row["label"])
        return "median" if name == _MEDIAN else f"{name} below" if name.endswith("%") else name

    def writer(self, result: Mapped, *, more: int = 0) -> Callable[[Mapped], Writer]:
        """Write amounts with the digits of their own intervals."""

        def of(row: Mapped) -> Writer:
            return amounts(spread(row), result.get("unit", ""), more=more, size=row["estimate"] or 1.0)

        return of

    def legend_of(self, result: Mapped) -> str:
        """Name the dots where there is no density, or none that says anything."""
        if not result.get("density"):
            return _DOT
        return _DOTS if result["rows"][0].get("too_few") else super().legend_of(result)

    def picture(self, result: Mapped) -> str:
        """Draw the density and the rows below it, or the mean between the bounds of the question where that is all."""
        density, mean = result.get("density"), result["rows"][0]
        about = f"Distribution of {result['name']} with its mean; the numbers are in the table below"
        drawing = ""
        if density and not mean.get("too_few"):
            drawing = curve(density, mean, result.get("unit", ""), about)
        rows, around = result["rows"], () if density else result.get("bounds") or ()
        return drawing + self.dotted(result, rows, f"Numbers of {result['name']}", unit=None, around=around)

    def table(self, result: Mapped, rows: Sequence[Mapped], title: str = "") -> Table:
        """Return the rows; beside conservative intervals those that hold if the distribution is a smooth curve."""
        unit = result.get("unit", "")
        found = super().table({**result, "unit": ""}, rows, title)
        name, estimate, *others = found.heads
        heads, cells = (name, f"{estimate}, {unit}" if unit else estimate, *others), found.rows
        if any(row.get("conservative") for row in rows):
            write = self.writer({**result, "unit": ""}, more=1)
            heads = (*heads, _IF_SMOOTH)
            cells = [
                (*cell, write(row).interval(row.get("smooth_low"), row.get("smooth_high")))
                for cell, row in zip(cells, rows, strict=True)
            ]
        return found._replace(heads=heads, rows=cells)

    def bars(self, result: Mapped) -> Table | None:
        """Return the density in steps of its axis."""
        if not result.get("density") or result["rows"][0].get("too_few"):
            return None
        found = list(_steps(result["density"]["edges"], result["density"]["shares"]))
        most = max((mass for *_, mass in found), default=0.0) or 1.0
        rows = [
            (f"{start} to {end}", "█" * round(LONGEST * max(0.0, mass) / most), Writer(1, " %", 100)(mass))
            for start, end, mass in found
        ]
        return Table("distribution", (result.get("unit") or "from, to", "", "share"), rows, left=2)

    def says(self, result: Mapped) -> str:
        """Return mean and median."""
        write = self.writer(result)
        mean, *quantiles = result["rows"]
        told = [mean, *(row for row in quantiles if row["label"] == _MEDIAN)]
        return ", ".join(in_words(self.label(row), row, write(row)) for row in told)

    def possible(self, result: Mapped) -> tuple[float, float]:
        """Return the bounds of the question."""
        low, high = result.get("bounds") or (-math.inf, math.inf)
        return low, high

    def concludes(self, result: Mapped) -> list[str]:
        """Say where mean and median are."""
        write, bounds = self.writer(result), self.possible(result)
        rows = {self.label(row): row for row in result["rows"] if self.label(row) in {"mean", "median"}}
        few = {name: row for name, row in rows.items() if row.get("too_few")}
        known = {name: row for name, row in rows.items() if name not in few and row["low"] is not None}
        places = [f"the {name} is {between(row, write(row), bounds)}" for name, row in known.items()]
        if few:
            places.append(f"too few answers to say anything about the {listed([*few])}; {needed(*few.values())}")
        return ["; ".join(places)] if places else []

    def _top(self, result: Mapped) -> Mapped:
        """Return the mean."""
        mean: Mapped = result["rows"][0]
        return mean

    def place(self, row: Mapped, write: Writer) -> str:
        """Say where the mean is."""
        return f"the mean is {between(row, write, (-math.inf, math.inf))}"

    def amount(self, result: Mapped, size: float) -> str:
        """Write an amount in the unit of the question."""
        return f"{float(f'{size:.2g}'):g} {result.get('unit', '')}".rstrip()

    def influence(self, result: Mapped) -> str:
        """Say how far one forged report can move the mean."""
        moves, unit = brief(result.get("moves")), result.get("unit", "")
        if moves == UNKNOWN:
            return super().influence(result)
        return f"One forged report can move the mean by up to {moves} {unit}".rstrip() + "."


def _steps(edges: list[float], shares: list[float]) -> Iterator[tuple[str, str, float]]:
    """Give coarse steps of a density: from, to, share of people."""
    axis = Axis.between(edges[0], edges[-1])
    write = Writer(axis.digits() + 1 if axis.step < 10 else 0)
    places = [round(place * len(shares) / BARS) for place in range(BARS + 1)]
    for first, last in pairwise(places):
        if last > first:
            yield write(edges[first]), write(edges[last]), sum(shares[first:last])
