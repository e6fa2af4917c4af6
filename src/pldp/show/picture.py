"""Pictures in SVG, drawn by hand: they need no library, follow the colours of the page and fit any width.

Widths are in per cent of the picture, so that letters keep their size on a telephone.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import Final

from pldp.show.axis import Axis, round_step
from pldp.show.numbers import Writer, brief
from pldp.show.table import Mapped, largest

MOST_DOTS: Final = 60  # rows that are drawn
FOOT, HEIGHT = 24, 200  # pixels of the labels below a curve, and of the curve
FARTHEST: Final = (-1.0, 2.0)  # shares that are drawn: lines of larger errors end at the edge, and the legend says so
SLICES: Final = 40  # a curve's height is the share of people in about one part of so many
BAND: Final = 1.5  # a band is drawn up to so many times the top of its curve
PANEL, LEFT = 96, 0.14  # pixels of a label's picture over rounds, and the part at its left for the axis
MOST_NAMES: Final = 4  # names of rounds that have room below
_DIAMOND: Final = '<path class="truth" d="M0 -6L5 0L0 6L-5 0Z"/>'


def dots(
    found: Sequence[Mapped],
    words_of: Callable[[Mapped], tuple[str, str, str]],
    heads: tuple[str, str, str],
    about: str,
    *,
    unit: str | None = " %",
    around: Sequence[float] = (0.0,),
) -> str:
    """Draw a table with a dot and its interval per row, a sharper one inside it, and a diamond at the truth.

    `words_of` a row are its label, estimate and interval, below `heads`; `unit` is that of shares on the axis, `None`
    for other numbers; `around` are numbers that are on the axis in any case. The roles keep it a table where a phone
    lays out its rows in another way.
    """
    rows, cut = largest(found, MOST_DOTS)
    farthest = FARTHEST if unit else (-math.inf, math.inf)
    ends = [number for row in rows for name in ("low", "high") if (number := row[name]) is not None]
    beyond = [number for number in ends if not farthest[0] <= number <= farthest[1]]
    inner = (row.get(name) for row in rows for name in ("estimate", "true"))
    axis = Axis.around([*around, *inner, *(min(farthest[1], max(farthest[0], number)) for number in ends)], 4)
    write = Writer(axis.digits(100), unit, 100) if unit else axis.label
    ticks = f'<svg class="axis" aria-hidden="true">{_labels(axis, 20, write)}</svg>'
    head = (escape(heads[0]), f'<span class="unseen">chart</span>{ticks}', *map(escape, heads[1:]))
    lines = [_row("th", head, "columnheader")]
    for row in rows:
        label, *numbers = map(escape, words_of(row))
        drawing = "" if row["estimate"] is None else f'<svg aria-hidden="true">{_dot(row, axis)}</svg>'
        lines.append(_row("td", (label, drawing, *numbers), "cell"))
    words = (cut, "Lines that leave the picture are longer than drawn." if beyond else "")
    body = f'<tbody role="rowgroup">{"".join(lines[1:])}</tbody>'
    return (
        f'<table class="dots" role="table"><caption class="unseen">{escape(about)}</caption>'
        f'<thead role="rowgroup">{lines[0]}</thead>{body}</table>' + _note(words)
    )


def _row(tag: str, cells: Sequence[str], role: str) -> str:
    """Return a row of a table of dots: label, chart, estimate, interval."""
    side = "col" if tag == "th" else "row"
    first = f'<th scope="{side}" role="{"columnheader" if tag == "th" else "rowheader"}">{cells[0]}</th>'
    scope = ' scope="col"' if tag == "th" else ""
    styles = ("chart", "number", "number reach")
    rest = zip(styles, cells[1:], strict=True)
    return (
        f'<tr role="row">{first}'
        + "".join(f'<{tag} class="{style}"{scope} role="{role}">{cell}</{tag}>' for style, cell in rest)
        + "</tr>"
    )


def _dot(row: Mapped, axis: Axis) -> str:
    parts = [_grid(axis, "100%")]
    if row["low"] is not None and row["high"] is not None:
        low, high = _at(axis, row["low"]), _at(axis, row["high"])
        parts.append(_line("reach", low, high, "50%", "50%"))
        parts += [_line("reach", end, end, "35%", "65%") for end in (low, high)]
    if row.get("low_if_alike") is not None:
        low, high = _at(axis, row["low_if_alike"]), _at(axis, row["high_if_alike"])
        parts.append(_line("alike", low, high, "50%", "50%"))
    parts.append(f'<circle class="dot" cx="{_at(axis, row["estimate"])}" cy="50%" r="4.5"/>')
    if row.get("true") is not None:
        parts.append(f'<svg x="{_at(axis, row["true"])}" y="50%" overflow="visible">{_DIAMOND}</svg>')
    return "".join(parts)


def curve(density: Mapped, mean: Mapped, unit: str, about: str) -> str:
    """Draw a density with its band, and the mean with its interval behind it."""
    edges, shares, low, high = ([*density[name]] for name in ("edges", "shares", "low", "high"))
    axis = Axis.between(edges[0], edges[-1])
    slice_width = round_step(axis.high - axis.low, SLICES)
    per = [slice_width / ((right - left) or 1.0) for left, right in pairwise(edges)]
    heights = [share * factor for share, factor in zip(shares, per, strict=True)]
    upper = [share * factor for share, factor in zip(high, per, strict=True) if share is not None]
    reach = max(upper, default=0.0)
    top = min(max(reach, *heights), BAND * max(heights)) or 1.0
    rise = Axis.around([0.0, top], 3)
    middles = [100 * axis.place((left + right) / 2) for left, right in pairwise(edges)]

    def along(numbers: Iterable[float | None]) -> list[tuple[float, float]]:
        found = zip(middles, numbers, per, strict=True)
        return [(x, 100 * (1 - rise.place((share or 0.0) * factor))) for x, share, factor in found]

    band = _path([*along(high), *reversed(along(low))]) + "Z" if upper else ""
    write = Writer(rise.digits(100), " %", 100)
    body = (
        _grid(axis, HEIGHT)
        + _mean(axis, mean)
        + f'<svg width="100%" height="{HEIGHT}" viewBox="0 0 100 100" preserveAspectRatio="none">'
        + f'<path class="band" d="{band}"/><path class="fitted" d="{_path(along(shares))}"/></svg>'
        + _rise(rise, write, at_right=middles[heights.index(max(heights))] < 50)
        + _line("zero", "0", "100%", HEIGHT, HEIGHT)
        + _labels(axis, HEIGHT + FOOT, axis.label)
    )
    words = f"Height: share of people per step of {brief(slice_width)}{f', in {unit}' if unit else ''}."
    if reach > rise.high:
        words += f" The band is cut: it reaches {write(reach)}."
    return _figure(body, HEIGHT + FOOT, about, words)


def _rise(axis: Axis, write: Writer, *, at_right: bool) -> str:
    """Draw the upright axis on the side where the curve is low."""
    beside = 'x="100%" text-anchor="end"' if at_right else 'x="2"'
    heights = ((tick, HEIGHT * (1 - axis.place(tick))) for tick in axis.ticks[1:])
    return "".join(
        _line("grid", "0", "100%", f"{y:.1f}", f"{y:.1f}")
        + f'<text class="tick" {beside} y="{y + 13:.1f}">{write(tick)}</text>'
        for tick, y in heights
    )


def _mean(axis: Axis, mean: Mapped) -> str:
    if mean["estimate"] is None:
        return ""
    middle, around = _at(axis, mean["estimate"]), ""
    if mean["low"] is not None and mean["high"] is not None:
        width = max(0.3, 100 * (axis.place(mean["high"]) - axis.place(mean["low"])))
        box = f'x="{_at(axis, mean["low"])}" y="0" width="{width:.2f}%" height="{HEIGHT}"'
        around = f'<rect class="around" {box}/>'
    return around + _line("mean", middle, middle, 0, HEIGHT)


def panels(
    labels: Sequence[tuple[str, str]],
    points: Sequence[Sequence[Mapped]],
    names: Sequence[str],
    about: str,
    *,
    shares: bool,
) -> str:
    """Draw a small picture per label: its estimates over the rounds with their intervals, on an axis of its own.

    `labels` are what stands at the left and at the right above each, `points` its rows, one per round.
    """
    drawn = "".join(
        f'<div class="course"><p><span>{escape(label)}</span> <span class="note">{escape(value)}</span></p>'
        f'<svg role="img" aria-label="{escape(f"{label}: {about}", quote=True)}" width="100%" height="{PANEL + FOOT}">'
        f"{_panel(rows, names, shares=shares)}</svg></div>"
        for (label, value), rows in zip(labels, points, strict=True)
    )
    return f'<div class="courses">{drawn}</div>'


def _panel(rows: Sequence[Mapped], names: Sequence[str], *, shares: bool) -> str:
    axis = Axis.around([row[name] for row in rows for name in ("estimate", "low", "high")], 3)
    write = Writer(axis.digits(100), " %", 100) if shares else axis.label
    places = [f"{100 * (LEFT + (1 - LEFT) * (place + 0.5) / len(names)):.2f}%" for place in range(len(names))]

    def height(number: float) -> str:
        return f"{16 + (PANEL - 16) * (1 - axis.place(number)):.1f}"

    marks = [
        _line("zero" if tick == 0 else "grid", "0", "100%", height(tick), height(tick))
        + f'<text class="tick" x="0" y="{float(height(tick)) - 3:.1f}">{escape(write(tick))}</text>'
        for tick in axis.ticks
    ]
    known = [(x, row) for x, row in zip(places, rows, strict=True) if row["estimate"] is not None]
    for (x, row), (other, following) in pairwise(known):
        marks.append(_line("course", x, other, height(row["estimate"]), height(following["estimate"])))
    for x, row in known:
        if row["low"] is not None and row["high"] is not None:
            marks.append(_line("reach", x, x, height(row["low"]), height(row["high"])))
        marks.append(f'<circle class="dot" cx="{x}" cy="{height(row["estimate"])}" r="4"/>')
    below = f'class="tick" y="{PANEL + FOOT - 6}" text-anchor="middle"'
    every = math.ceil(len(names) / MOST_NAMES)
    marks += [
        f'<text {below} x="{x}">{escape(name if len(name) <= 12 else name[:11] + "…")}</text>'
        for x, name in list(zip(places, names, strict=True))[::-every]
    ]
    return "".join(marks)


def columns(hours: Sequence[Mapped], about: str) -> str:
    """Draw a bar per hour, what was rejected on top of what was stored; the table beside says the same."""
    most = max((hour["stored"] + hour["rejected"] for hour in hours), default=0)
    width = 100 / max(len(hours), 12)
    marks = []
    for place, hour in enumerate(hours):
        top = 0.0
        for name in ("stored", "rejected"):
            height = 100 * hour[name] / (most or 1)
            top += height
            box = f'x="{(place + 0.1) * width:.2f}%" width="{0.8 * width:.2f}%"'
            marks.append(f'<rect class="{name}" {box} y="{100 - top:.2f}%" height="{height:.2f}%"/>' if height else "")
    marks.append(_line("zero", "0", "100%", "100%", "100%"))
    return _figure("".join(marks), HEIGHT / 2, about, f"{most:,} in an hour at most." if most else "No reports yet.")


def shades(numbers: Sequence[Sequence[float | None]]) -> list[list[int]]:
    """Return how dark each cell of a table is, from 0 to 5, the largest darkest.

    >>> shades([[0.1, 0.5], [None, -0.1]])
    [[1, 5], [0, 0]]
    """
    most = max((number for row in numbers for number in row if number is not None), default=0.0)
    return [[round(5 * max(0.0, number or 0.0) / most) if most > 0 else 0 for number in row] for row in numbers]


def _figure(body: str, height: float, about: str, words: str) -> str:
    drawing = f'<svg role="img" aria-label="{escape(about, quote=True)}" width="100%" height="{height}">{body}</svg>'
    return drawing + _note([words])


def _note(words: Iterable[str]) -> str:
    text = " ".join(filter(None, words))
    return f'<p class="note">{escape(text)}</p>' if text else ""


def _grid(axis: Axis, height: float | str) -> str:
    lines = ((("zero" if tick == 0 else "grid"), _at(axis, tick)) for tick in axis.ticks)
    return "".join(_line(style, x, x, 0, height) for style, x in lines)


def _labels(axis: Axis, height: float, write: Callable[[float], str]) -> str:
    def anchor(tick: float) -> str:
        place = axis.place(tick)
        return "start" if place < 0.06 else "end" if place > 0.94 else "middle"

    below = f'class="tick" y="{height - 6}"'
    return "".join(
        f'<text {below} x="{_at(axis, tick)}" text-anchor="{anchor(tick)}">{escape(write(tick))}</text>'
        for tick in axis.ticks
    )


def _at(axis: Axis, number: float) -> str:
    return f"{100 * axis.place(number):.2f}%"


def _line(style: str, x1: str, x2: str, y1: float | str, y2: float | str) -> str:
    return f'<line class="{style}" x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}"/>'


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points)
