"""A number: its mean, quantiles and density, in the question's unit; or its mean alone."""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from pldp.show.axis import Axis
from pldp.show.kinds.kind import Kind, between, in_words, needed
from pldp.show.numbers import UNKNOWN, Writer, amounts, brief, listed
from pldp.show.picture import curve, dots
from pldp.show.table import Mapped, Table

BARS, LONGEST = 16, 30  # bars of a density in a terminal, and the letters of the longest one
_MEDIAN: Final = "50 %"
_DOT: Final = "The dot is the mean, the line its {confidence} % interval, between the bounds of the question."


class Number(Kind):
    """The first row is the mean, the others are quantiles; those and a density are not always there."""

    phrase = "a number"
    heads = ("statistic", "estimate")
    legend = (
        "The curve is the fitted distribution, the band holds it with {confidence} % at each place; "
        "the upright line is the mean with its interval."
    )

    def label(self, row: Mapped) -> str:
        """Name quantiles by what lies below them."""
        name = str(row["label"])
        return "median" if name == _MEDIAN else f"{name} below" if name.endswith("%") else name

    def writer(self, result: Mapped, *, more: int = 0) -> Callable[[Mapped], Writer]:
        """Write amounts with the digits of their own errors."""

        def of(row: Mapped) -> Writer:
            error, low, high = row["standard_error"], row["low"], row["high"]
            if error is None and low is not None and high is not None:
                error = (high - low) / 4
            return amounts(error, result.get("unit", ""), more=more, size=row["estimate"] or 1.0)

        return of

    def legend_of(self, result: Mapped) -> str:
        """Name the dot where there is no density."""
        return super().legend_of(result) if result.get("density") else _DOT

    def picture(self, result: Mapped) -> str:
        """Draw the density, or the mean between the bounds of the question where that is all."""
        if result["rows"][0].get("too_few"):
            return ""
        if not result.get("density"):
            return self._dot(result) if result.get("bounds") else ""
        about = f"Distribution of {result['name']} with its mean; the numbers are in the table below"
        return curve(result["density"], result["rows"][0], result.get("unit", ""), about)

    def _dot(self, result: Mapped) -> str:
        write = self.writer(result)
        about = f"Mean of {result['name']} with its interval; the numbers are in the table below"
        words = lambda row: (self.label(row), write(row)(row["estimate"]))  # noqa: E731
        return dots(result["rows"], words, about, unit=None, around=result["bounds"])

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

    def concludes(self, result: Mapped) -> list[str]:
        """Say where mean and median are, beside each other and beside the bounds."""
        write = self.writer(result)
        rows = {self.label(row): row for row in result["rows"] if self.label(row) in {"mean", "median"}}
        few = {name: row for name, row in rows.items() if row.get("too_few")}
        known = {name: row for name, row in rows.items() if name not in few and row["low"] is not None}
        bounds = result.get("bounds") or (-math.inf, math.inf)
        places = [f"the {name} is {between(row, write(row), bounds)}" for name, row in known.items()]
        found = [", ".join(places)] if places else []
        found += [f"too few reports to say anything about the {name}; {needed(row)}" for name, row in few.items()]
        if len(known) == 2:
            mean, median = known["mean"], known["median"]
            if mean["low"] > median["high"]:
                found.append("the mean lies above the median: some numbers are much larger than most")
            elif mean["high"] < median["low"]:
                found.append("the mean lies below the median: some numbers are much smaller than most")
        for bound, side in zip(bounds, ("low", "high"), strict=True):
            names = [name for name, row in known.items() if not bounds[0] < row[side] < bounds[1]]
            if names:
                place = f"{brief(bound)} {result.get('unit', '')}".rstrip()
                found.append(f"the {listed(names)} may lie at the bound of {place}")
        return found

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
