"""What every kind of result shows: its rows as a table, a picture, a sentence."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pldp.show.numbers import TOO_FEW, UNKNOWN, Writer, brief, count_of, listed, percents
from pldp.show.picture import dots
from pldp.show.table import Mapped, Table, largest

NAMED: Final = 3  # rows that a sentence names
_EXTRA: Final = {"true": "truth", "unbiased": "unbiased"}
TELLING: Final = 0.1  # half of an interval, as a part of all that is possible, up to which a sentence begins with it
CLOSER: Final = 0.05  # the half that more answers would make of it
REGARDLESS: Final = "if people chose their level regardless of their answer"


class Kind(ABC):
    """How results of one kind look."""

    phrase: str  # the kind in words
    heads: tuple[str, str]  # above the labels, and above the estimates
    legend: str  # what the picture shows; `{confidence}` stands for that of its intervals
    noun: str = "answer"  # what the rows are
    verb: str = "answer"  # what people do with them
    listed: bool = True  # whether a screen has a line for each row
    picture_is_table: bool = False  # whether the picture has all that the tables have

    def writer(self, result: Mapped, *, more: int = 0) -> Callable[[Mapped], Writer]:
        """Return what writes the numbers of a row: per cent, with the digits of the widest interval or `more`."""
        errors = [error for row in result["rows"] if (error := spread(row)) and not row.get("too_few")]
        write = percents([max(errors, default=0.0)], more=more)
        return lambda _: write

    def heads_of(self, result: Mapped) -> tuple[str, str]:  # noqa: ARG002 - others depend on what is compared
        """Return what stands above the labels and above the estimates."""
        return self.heads

    def legend_of(self, result: Mapped) -> str:  # noqa: ARG002 - others have several pictures
        """Say what the picture of this result shows."""
        return self.legend

    @abstractmethod
    def picture(self, result: Mapped) -> str:
        """Return the picture as markup; empty if there is nothing to draw."""

    def dotted(
        self,
        result: Mapped,
        rows: Sequence[Mapped],
        about: str,
        *,
        unit: str | None = " %",
        around: Sequence[float] = (0.0,),
    ) -> str:
        """Draw rows as dots with intervals, and write them beside."""
        write = self.writer({**result, "rows": rows})

        def words(row: Mapped) -> tuple[str, str, str]:
            own = write(row)
            if row.get("too_few"):
                return self.label(row), TOO_FEW, needed(row)
            # Units other than per cent stand beside the estimate only.
            return self.label(row), own(row["estimate"]), (own if unit else own.without_unit).interval(*_ends(row))

        heads = (*self.heads_of(result), f"{brief(100 * result['confidence'])} % interval")
        return dots(drawn(rows), words, heads, about, unit=unit, around=around)

    def more(self, result: Mapped) -> str:  # noqa: ARG002 - most kinds have one picture
        """Return what stands below the picture as markup."""
        return ""

    def label(self, row: Mapped) -> str:
        """Return what a row is about."""
        return str(row["label"])

    def spoken(self, row: Mapped) -> str:
        """Return what a row is about as part of a sentence."""
        return f'"{self.label(row)}"'

    def possible(self, result: Mapped) -> tuple[float, float]:  # noqa: ARG002 - others have bounds of their own
        """Return the least and the largest number that can be true."""
        return 0.0, 1.0

    def shown(self, result: Mapped) -> Mapped:
        """Return the result with its numbers as people see them: points within intervals, cut at what is possible."""
        low, high = self.possible(result)

        def cut(row: Mapped) -> Mapped:
            ends = {name: min(high, max(low, row[name])) for name in ("low", "high") if row[name] is not None}
            point = row["estimate"] if row.get("point") is None else row["point"]
            point = None if point is None else min(high, max(low, point))
            return {**row, **ends, "estimate": point, "unbiased": row["estimate"]}

        rows, alike = [*map(cut, result["rows"])], result.get("alike")
        if not alike:
            return {**result, "rows": rows}
        beside = [*map(cut, alike["rows"])]
        if alike["said"]:
            ends = ({"low_if_alike": row["low"], "high_if_alike": row["high"]} for row in beside)
            rows = [{**row, **own} for row, own in zip(rows, ends, strict=True)]
        return {**result, "rows": rows, "alike": {**alike, "rows": beside}}

    def title(self, result: Mapped) -> str:
        """Return what the result is about."""
        return str(result.get("text") or result["name"])

    def tables(self, result: Mapped) -> list[Table]:
        """Return the rows and, where there are some, those that hold if people of all levels are alike."""
        found = [self.table(result, result["rows"])]
        if alike := result.get("alike"):
            found.append(self.table(result, alike["rows"], REGARDLESS))
        return found

    def table(self, result: Mapped, rows: Sequence[Mapped], title: str = "") -> Table:
        """Return rows with estimates, errors and intervals; with the truth where it is known."""
        write = self.writer(result, more=1)
        kept, note = largest(rows)
        extra = {name: head for name, head in _EXTRA.items() if rows and name in rows[0]}
        interval = f"{brief(100 * result['confidence'])} % interval"
        heads = (*self.heads_of(result), interval, "std. error", *extra.values())
        cells = []
        for row in kept:
            own = write(row)
            numbers = (own(row[name]) for name in ("standard_error", *extra))
            if row.get("too_few"):
                known = (own(row[name]) if name == "true" else UNKNOWN for name in ("standard_error", *extra))
                cells.append((self.label(row), TOO_FEW, needed(row), *known))
                continue
            cells.append((self.label(row), own(row["estimate"]), own.interval(row["low"], row["high"]), *numbers))
        return Table(title, heads, cells, note=note)

    def bars(self, result: Mapped) -> Table | None:  # noqa: ARG002 - most kinds have none
        """Return a picture made of letters for terminals, where the table alone does not show the shape."""
        return None

    def says(self, result: Mapped) -> str:
        """Return the largest rows in words."""
        return self._told(result, sorted(result["rows"], key=lambda row: -(row["estimate"] or 0.0)))

    def _told(self, result: Mapped, rows: Sequence[Mapped], before: str = "") -> str:
        """Return the first rows in words, and what reports are too few for."""
        write, known, few = self.writer(result), sayable(rows), [row for row in rows if row.get("too_few")]
        if not known:
            return f"{TOO_FEW}, {needed(*rows)}"
        parts = [in_words(self.label(row), row, write(row)) for row in known[:NAMED]]
        more = f" and {len(known) - NAMED:,} more" if len(known) > NAMED else ""
        unsaid = f"; {TOO_FEW} about {listed([self.label(row) for row in few])}, {needed(*few)}" if few else ""
        return f"{before}{', '.join(parts)}{more}{unsaid}"

    def concludes(self, result: Mapped) -> list[str]:
        """Say what can be concluded: the largest number, and what it cannot be told from; first under what condition.

        They are sentences without their capitals and full stops.
        """
        rows, lead = sayable(result["rows"]), result.get("lead")
        if result["rows"] and not rows:
            return [f"too few answers to say anything{_without(result)}; {needed(*result['rows'])}"]
        if not lead:
            return []
        top = self._top(result)
        if top.get("too_few"):
            return [f"too few answers to say which {self.noun} is the largest{_without(result)}; {needed(top)}"]
        said = f"{between(top, self.writer(result)(top))} {self.verb} {self.spoken(top)}"
        half = (top["high"] - top["low"]) / 2 if top["low"] is not None else 0.0
        if half > TELLING:
            more = _rounded(result["reports"] * (half / CLOSER) ** 2)
            return [f"too few answers to say more{_without(result)} ({said}; about {more:,} would give ± 5 points)"]
        return [f"{said}{self._compared(lead)}"]

    def _top(self, result: Mapped) -> Mapped:
        """Return the row that is spoken of: the largest."""
        top: Mapped = max(result["rows"], key=lambda row: row["estimate"])
        return top

    def beside(self, result: Mapped) -> str:
        """Say the same number if people of all levels are alike, and what bias nobody would notice."""
        alike = result["alike"]
        top, (low, high) = self._top(result), self.possible(result)
        row = next(row for row in alike["rows"] if row["label"] == top["label"])
        write = self.writer({**result, "rows": alike["rows"]} if top.get("too_few") else result)(row)
        unseen = row.get("unseen_bias")
        shift = ""
        if unseen:
            size = f"a dependence that shifts this by {self.amount(result, unseen)}"
            shift = f"; the reports could not show {size if unseen < high - low else 'any dependence'}"
        return f"{REGARDLESS}: {self.place(row, write)}{shift}"

    def place(self, row: Mapped, write: Writer) -> str:
        """Say where a number is."""
        return between(row, write)

    def amount(self, result: Mapped, size: float) -> str:  # noqa: ARG002 - others have units of their own
        """Write the size of a difference."""
        return count_of(max(1, round(100 * size)), "point")

    def _compared(self, lead: Mapped) -> str:
        """Go on after the largest number: whether it is surely the largest, and what would tell."""
        if not lead["ties"] and lead.get("unclear"):
            return ""
        if not lead["ties"]:
            return f", more than any other {self.noun}"
        top, *names = map(self.spoken, (lead, *lead["ties"]))
        count = lead["tied"]
        if count == 1:
            said = f"; {top} and {names[0]} cannot be told apart"
        elif count == lead["of"] - 1:
            said = f", but no {self.noun} is surely the largest"
        else:
            said = f"; it cannot be told apart from {listed(names, count=count)}"
        more_answers = lead["ties"][0]["more"]
        if more_answers is None:
            return f"{said}, not even with a hundred times as many answers"
        apart = "" if count == 1 else f" it from {names[0]}"
        return f"{said}; about {count_of(more_answers, 'more answer')} would tell{apart}"

    def further(self, result: Mapped) -> str:  # noqa: ARG002 - most kinds have nothing to add
        """Return what a line below the rows says."""
        return ""

    def influence(self, result: Mapped) -> str:
        """Say how far one forged report can shift the result."""
        people = brief(result.get("manipulation"))
        return "" if people == UNKNOWN else f"One forged report can count as {people} people."


def sayable(rows: Iterable[Mapped]) -> list[Mapped]:
    """Return the rows whose intervals say something."""
    return [row for row in rows if not row.get("too_few")]


def needed(*rows: Mapped) -> str:
    """Say how many reports rows need that have too few."""
    return f"about {max(row['too_few'] for row in rows):,} are needed"


def drawn(rows: Iterable[Mapped]) -> list[Mapped]:
    """Return rows as pictures show them: those that say nothing without their numbers."""
    blank = dict.fromkeys(("estimate", "standard_error", "low", "high", "unbiased", "low_if_alike"))
    return [{**row, **blank} if row.get("too_few") else row for row in rows]


def spread(row: Mapped) -> float | None:
    """Return half of the reach of an interval, whose first digit is the last one that a number has; or the error."""
    low, high = row["low"], row["high"]
    error: float | None = row["standard_error"]
    return error if low is None or high is None else (high - low) / 4


def _without(result: Mapped) -> str:
    """Name the assumption that would make more of few answers, where it is not made."""
    return " without an assumption" if result.get("alike") else ""


def _rounded(number: float) -> int:
    """Round up to two digits."""
    unit: int = 10 ** max(0, math.floor(math.log10(max(number, 1))) - 1)
    return math.ceil(number / unit) * unit


def _ends(row: Mapped) -> tuple[float | None, float | None]:
    return row["low"], row["high"]


def between(row: Mapped, write: Writer, bounds: Sequence[float] = (0.0, 1.0)) -> str:
    """Write an interval as part of a sentence, without ends that are impossible."""
    low, high = row["low"], row["high"]
    if low is None or high is None:
        return f"about {write(row['estimate'])}"
    if low <= bounds[0]:
        return f"at most {write.ends(low, high)[1]}{write.unit}"
    return f"at least {write.ends(low, high)[0]}{write.unit}" if high >= bounds[1] else write.between(low, high)


def in_words(label: str, row: Mapped, write: Writer) -> str:
    """Write an estimate with its interval."""
    if row.get("too_few"):
        return f"{label} {TOO_FEW}, {needed(row)}"
    reach = write.interval(row["low"], row["high"])
    return f"{label} {write(row['estimate'])}" + (f" ({reach})" if row["low"] is not None else "")
