"""A result on a screen of letters: the question, one sentence, at most one sharper line, one table, one caveat.

Numbers have the digits that their intervals support: a half interval is at least two units of the last digit, ends are
rounded outwards, and everything is cut at what is possible.
"""

import math
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Final

from pldp.show.kinds import BY_KIND
from pldp.show.kinds.kind import sayable
from pldp.show.numbers import UNKNOWN, Writer, as_sentence, brief, count_of
from pldp.show.sentence import conclusions
from pldp.show.table import Mapped, Table, name_of

WIDTH: Final = 80
PERCENT: Final = " %"
LONGEST: Final = 30  # letters of a label
MOST: Final = 12  # rows of a table; the largest ones are shown
STRIP: Final = 22  # letters of the strip that shows where an interval is
FIRST: Final = (
    "forged-reports",
    "no-convergence",
    "mix-contradicted",
    "not-corrected",
    "levels-disagree",
    "few-reports",
    "rare-labels",
    "conservative-intervals",
    "live-intervals",
)
"""Codes of notes: the first that applies is the caveat."""
SAID: Final = frozenset({"too-few-to-say"})  # notes that the sentence itself says


def screen(result: Mapped, *, strips: bool = True) -> list[str]:
    r"""Return a result in few lines of at most `WIDTH` letters.

    >>> row = {"label": "car", "estimate": 0.4306, "standard_error": 0.03, "low": 0.368, "high": 0.493}
    >>> rows = [row, {**row, "label": "bus", "estimate": 0.2368, "low": 0.176, "high": 0.298}]
    >>> content = {"name": "mode", "text": "How do you get to work?", "kind": "choice", "reports": 5000, "rows": rows}
    >>> print(*screen({**content, "confidence": 0.95, "notes": []}, strips=False), sep="\n")
    How do you get to work?                                     mode · 5,000 reports
         share  95 % interval
      car  43 %        36–50 %
      bus  24 %        17–30 %
    """
    kind = BY_KIND[result["kind"]]
    said = [line for text in conclusions(result)[:2] for line in _wrapped(text)]
    shown = kind.shown(result)
    rows = list[str]()
    if sayable(result["rows"]) and kind.listed:
        rows = [*_rows(shown, strips=strips), *_wrapped(kind.further(shown))]
    elif not kind.listed:
        rows = list(grid(kind.tables(shown)[0]))
    return [*_head(result), *said, *rows, *_caveat(result)]


def _head(result: Mapped) -> list[str]:
    """Return the question at the left, and what it is called and the reports at the right."""
    right = f"{name_of(result)} · {count_of(result['reports'], 'report')}"
    text = result.get("text") or ""
    if len(text) + len(right) + 2 <= WIDTH:
        return [f"{text:<{WIDTH - len(right)}}{right}"]
    return [*_wrapped(text), f"{right:>{WIDTH}}"]


def _wrapped(text: str, indent: str = "") -> list[str]:
    kept = text.replace(" %", "\N{NO-BREAK SPACE}%")  # a number stays with its unit
    lines = wrap(kept, WIDTH, subsequent_indent=indent, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _caveat(result: Mapped) -> list[str]:
    """Return the note that matters most, and how many others there are."""
    notes = [note for note in result["notes"] if note["code"] not in SAID]
    if not notes:
        return []

    def order(note: Mapping[str, str]) -> tuple[bool, int]:
        return note["severity"] != "warning", FIRST.index(note["code"]) if note["code"] in FIRST else len(FIRST)

    first = min(notes, key=order)
    mark = "! " if first["severity"] == "warning" else ""
    more = f" (+{count_of(len(notes) - 1, 'note')}: --details)" if len(notes) > 1 else ""
    return _wrapped(f"{mark}{as_sentence(first['text'])}{more}", "  " if mark else "")


def grid(table: Table) -> Iterator[str]:
    r"""Return the lines of a table; columns that do not fit follow below, each time with the labels.

    >>> rows = [("car", "26–46", "0–16"), ("bus", "13–33", "0–10")]
    >>> print(*grid(Table("shares", ("", "yes", "no"), rows)), sep="\n")
    shares
             yes    no
      car  26–46  0–16
      bus  13–33  0–10
    """
    if table.title:
        yield from _wrapped(table.title)
    lines = [[_shortened(cell) for cell in line] for line in (table.heads, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    first, left = 1, widths[0] + 2
    while first < len(widths):
        last = first + 1
        while last < len(widths) and left + sum(widths[first : last + 1]) + 2 * (last + 1 - first) <= WIDTH:
            last += 1
        for label, *cells in lines:
            numbers = "".join(
                f"  {cell:>{width}}" for cell, width in [*zip(cells, widths[1:], strict=True)][first - 1 : last - 1]
            )
            yield f"  {label:{widths[0]}}{numbers}".rstrip()
        first = last
    if table.note:
        yield from _wrapped(table.note)


def _rows(result: Mapped, *, strips: bool) -> Iterator[str]:
    """Return the lines of a table with a row per label."""
    kind, rows = BY_KIND[result["kind"]], result["rows"]
    kept = sorted(sorted(range(len(rows)), key=lambda at: -abs(rows[at]["estimate"] or 0.0))[:MOST])
    rows = [rows[place] for place in kept]
    shares = result.get("unit", "share") == "share"
    write = kind.writer({**result, "rows": rows})
    cells = [_numbers(row, write(row)) for row in rows]
    labels = [_shortened(kind.label(row)) for row in rows]
    widths = [max(map(len, column)) for column in (labels, *zip(*cells, strict=True))]
    heads = (
        kind.heads_of(result)[1] if shares else result["unit"] or "",
        f"{brief(100 * result['confidence'])} % interval",
    )
    widths[1:] = [max(width, len(head)) for width, head in zip(widths[1:], heads, strict=True)]
    yield f"  {'':{widths[0]}}  {heads[0]:>{widths[1]}}  {heads[1]:>{widths[2]}}"
    ends = [end for row in rows for end in (row["low"], row["high"]) if end is not None and math.isfinite(end)]
    drawn = strips and shares and bool(ends) and 2 + sum(widths) + 4 + 2 + STRIP <= WIDTH
    around = (min(0.0, *ends), max(ends)) if drawn else (0.0, 0.0)
    for label, row, (number, interval) in zip(labels, rows, cells, strict=True):
        strip = f"  {_strip(row, around)}" if drawn and not row.get("too_few") else ""
        yield f"  {label:{widths[0]}}  {number:>{widths[1]}}  {interval:>{widths[2]}}{strip}".rstrip()
    if len(kept) < len(result["rows"]):
        yield f"  and {len(result['rows']) - len(kept):,} with smaller numbers: --details"


def _shortened(label: str) -> str:
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"


def _numbers(row: Mapped, write: Writer) -> tuple[str, str]:
    """Return a number and its interval."""
    if row.get("too_few"):
        return UNKNOWN, "too few"
    write = write if write.unit == PERCENT else write.without_unit
    between = " to " if (row["low"] or 0) < 0 else "–"
    ends = write.ends(row["low"], row["high"])
    return write(row["estimate"]), UNKNOWN if UNKNOWN in ends else f"{between.join(ends)}{write.unit}"


def _strip(row: Mapped, around: tuple[float, float]) -> str:
    """Return a line of letters with the interval and its point."""
    first, last = around
    places = [
        round((row[name] - first) / ((last - first) or 1.0) * (STRIP - 1)) for name in ("low", "estimate", "high")
    ]
    low, point, high = (min(STRIP - 1, max(0, place)) for place in places)
    line = [" "] * low + ["─"] * (high - low + 1)
    line[point] = "●"
    return "".join(line)
