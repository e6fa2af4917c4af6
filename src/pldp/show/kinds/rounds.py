"""Rounds of a question beside each other, whatever its kind: labels and numbers look as they do in one round."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pldp.show.kinds.kind import NAMED, Kind, drawn, needed, sayable
from pldp.show.numbers import TOO_FEW, Writer, listed
from pldp.show.picture import panels
from pldp.show.table import MOST_ROWS, Mapped, Table, largest

MOST_PANELS: Final = 12  # labels that are drawn over rounds
_SHARE, _POINTS = "share", " pp"


class Change(Kind):
    """Differences of two rounds; those of shares are percentage points."""

    phrase = "change between two rounds"
    listed = False
    legend = "The dot is the change, the line its {confidence} % interval; pp are percentage points."

    def __init__(self, one_round: Mapping[str, Kind]) -> None:
        self.one_round = one_round

    def named(self, result: Mapped, rows: Sequence[Mapped]) -> list[dict[str, Any]]:
        """Return rows with their labels as one round shows them."""
        label = self.one_round[result["of"]].label
        return [{**row, "label": label(row)} for row in rows]

    def writer(self, result: Mapped, *, more: int = 0) -> Callable[[Mapped], Writer]:
        """Write differences with a digit more than other numbers: their ends, rounded outwards, must not become 0."""
        write = self.one_round[result["of"]].writer(result, more=max(more, 1))
        return lambda row: replace(write(row), unit=_POINTS) if result["unit"] == _SHARE else write(row)

    def legend_of(self, result: Mapped) -> str:
        """Say what was subtracted where groups are compared."""
        names = result.get("names")
        legend = super().legend_of(result)
        return legend.replace("the change,", f"the difference, {names[0]} minus {names[1]},") if names else legend

    def heads_of(self, result: Mapped) -> tuple[str, str]:
        """Name the labels as one round does."""
        return self.one_round[result["of"]].heads[0], "difference" if result.get("names") else "change"

    def tables(self, result: Mapped) -> list[Table]:
        """Return the differences."""
        return [self.table(result, self.named(result, result["rows"]))]

    def picture(self, result: Mapped) -> str:
        """Draw a dot per label."""
        what = "Differences" if result.get("names") else "Changes"
        rows, unit = self.named(result, result["rows"]), _POINTS if result["unit"] == _SHARE else None
        return self.dotted(result, rows, f"{what} of {result['name']} with their intervals", unit=unit)

    def says(self, result: Mapped) -> str:
        """Return the largest changes in words."""
        rows = sorted(self.named(result, result["rows"]), key=lambda row: -round(abs(row["estimate"] or 0.0), 9))
        names = result.get("names")
        return self._told(result, rows, f"{names[0]} minus {names[1]}: " if names else "changes of ")

    def possible(self, result: Mapped) -> tuple[float, float]:
        """Changes are not cut; rounds are, as each of them is."""
        return (-math.inf, math.inf) if result["kind"] == "change" else self.one_round[result["of"]].possible(result)

    def beside(self, result: Mapped) -> str:
        """Say nothing: rounds are compared no matter who chose which level."""
        del result
        return ""

    def concludes(self, result: Mapped) -> list[str]:
        """Say what surely changed, and how large a change may go unnoticed."""
        sure, names, count = self.named(result, result.get("sure", ())), result.get("names"), len(result["rows"])
        write = self.writer(result)
        if not sayable(result["rows"]):
            what = "whether the groups differ" if names else "whether anything changed"
            return [f"too few reports to say {what}; {needed(*result['rows'])}"]
        if sure:
            every = "taking both together, " if count == 2 else f"taking all {count:,} together, " if count > 2 else ""
            where = f" in {names[0]} than in {names[1]}" if names else ""
            return [f"{every}{listed([self._moved(row, write(row), apart=bool(names)) for row in sure])}{where}"]
        reach, what = result.get("unnoticed"), "difference" if names else "change"
        limit = f": {what}s of up to {write(result['rows'][0])(reach)} may go unnoticed" if reach else ""
        return [f"no {what} is sure{limit}"]

    def _moved(self, row: Mapped, write: Writer, *, apart: bool = False) -> str:
        """Say how far a row moved; of groups apart, how much higher or lower it is."""
        amount = write.between(*sorted(map(abs, (row["low"], row["high"]))))
        if apart:
            return f"{self.label(row)} is {amount} {'higher' if row['low'] > 0 else 'lower'}"
        return f"{self.label(row)} {'rose' if row['low'] > 0 else 'fell'} by {amount}"


class Trend(Change):
    """A small picture per label, and a column per round."""

    phrase = "over rounds"
    legend = (
        "The dots are the estimates of the rounds; all lines are {confidence} % intervals that hold together, "
        "for every label and round."
    )

    def tables(self, result: Mapped) -> list[Table]:
        """Return the rounds, and the changes to the round before and to the first."""
        names = [each["name"] for each in result["rounds"]]
        plain = self.one_round[result["of"]].writer(result, more=1)
        together = "estimates, with intervals that hold for all rounds together"
        found = [self._columns(result, result["rows"], names, plain, together)]
        since_first = [row for row in result["since_first"] if row["round"] != names[1]]
        changes = {"change to the round before": result["changes"], f"change since {names[0]}": since_first}
        for title, rows in changes.items():
            if rows:
                write = self.writer({**result, "rows": rows}, more=1)
                heads = [*dict.fromkeys(f"{row['since']} → {row['round']}" for row in rows)]
                found.append(self._columns(result, rows, heads, write, f"{title} (* without 0 in its interval)"))
        return found

    def _columns(
        self,
        result: Mapped,
        rows: Sequence[Mapped],
        heads: Sequence[str],
        writer: Callable[[Mapped], Writer],
        title: str,
    ) -> Table:
        """Return a row per label with a cell per round or pair of rounds; changes that are sure are marked."""

        def cell(row: Mapped) -> str:
            if row.get("too_few"):
                return TOO_FEW
            write = replace(writer(row), unit="")
            if row["low"] is None or row["high"] is None:
                return write(row["estimate"])
            sure = " *" if "since" in row and not row["low"] <= 0 <= row["high"] else ""
            return f"{write(row['estimate'])} ({write.interval(row['low'], row['high'])}){sure}"

        found, note = self._by_label(result, rows, MOST_ROWS)
        unit = writer(rows[0]).unit.strip()
        title = f"{title}, in {unit}" if unit else title
        return Table(
            title, (self.heads_of(result)[0], *heads), [(label, *map(cell, own)) for label, own in found], note=note
        )

    def _by_label(
        self, result: Mapped, rows: Sequence[Mapped], most: int
    ) -> tuple[list[tuple[str, list[Mapped]]], str]:
        """Return each label with its rows, those with the largest numbers of the last round."""
        found: dict[str, list[Mapped]] = {}
        for row in self.named(result, rows):
            found.setdefault(row["label"], []).append(row)
        last = {row["label"]: row for row in self.named(result, result["rows"])}
        kept, note = largest([*last.values()], most)
        return [(row["label"], found[row["label"]]) for row in kept if row["label"] in found], note

    def picture(self, result: Mapped) -> str:
        """Draw a small picture per label."""
        found, note = self._by_label(result, result["rows"], MOST_PANELS)
        write = self.one_round[result["of"]].writer(result)
        labels = [
            (label, TOO_FEW if rows[-1].get("too_few") else write(rows[-1])(rows[-1]["estimate"]))
            for label, rows in found
        ]
        about = f"{result['name']} over rounds with intervals; the numbers are in the table below"
        names, shares = [each["name"] for each in result["rounds"]], result["unit"] == _SHARE
        drawing = panels(labels, [drawn(rows) for _, rows in found], names, about, shares=shares)
        return drawing + (f'<p class="note">{note}</p>' if note else "")

    def says(self, result: Mapped) -> str:
        """Return the numbers of the last round in words, and what they were in the first."""
        write = self.one_round[result["of"]].writer(result)
        found, _ = self._by_label(result, result["rows"], NAMED)
        parts = (
            f"{label} {' → '.join(write(row)(row['estimate']) for row in (rows[0], rows[-1]))}" for label, rows in found
        )
        return f"{', '.join(parts)} from {result['rounds'][0]['name']} to {result['rounds'][-1]['name']}"

    def concludes(self, result: Mapped) -> list[str]:
        """Say what surely changed from one round to the next, all rounds and labels together."""
        named = self.named(result, result["changes"])
        sure = [row for row in named if row["low"] is not None and not row["low"] <= 0 <= row["high"]]
        if not sure:
            return ["no change from a round to the next is sure"]
        write = self.writer({**result, "rows": result["changes"]})
        moves = [f"{self._moved(row, write(row))} from {row['since']} to {row['round']}" for row in sure]
        return [f"taking all rounds together, {listed(moves)}"]
