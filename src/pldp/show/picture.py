"""Pictures in SVG, drawn by hand: they need no library, follow the colours of the page and fit any width.

Widths are in per cent of the picture, so that letters keep their size on a telephone.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import Any, Final

from pldp.show.axis import Axis, round_step
from pldp.show.numbers import Writer, brief
from pldp.show.table import Mapped, largest

MOST_DOTS: Final = 60  # rows that are drawn
ROW, FOOT, HEIGHT = 36, 24, 200  # pixels of a row of dots, of the labels below, and of a curve
FARTHEST: Final = (-1.0, 2.0)  # shares that are drawn: lines of larger errors end at the edge, and the legend says so
SLICES: Final = 40  # a curve's height is the share of people in about one part of so many
BAND: Final = 1.5  # a band is drawn up to so many times the top of its curve
PANEL, LEFT = 116, 0.08  # pixels of a label's picture over rounds, and the part at its left for the axis
MOST_NAMES: Final = 8  # names of rounds that have room below
_LETTERS: Final = 44  # of a label


def dots(
    found: Sequence[Mapped],
    words_of: Callable[[Mapped], tuple[str, str]],
    about: str,
    *,
    unit: str | None = " %",
    around: Sequence[float] = (0.0,),
) -> str:
    """Draw a dot with its interval per row, over a bar to what is consistent; a diamond where the truth is known.

    `words_of` a row are its label and its estimate; `unit` is that of shares on the axis, `None` for other numbers;
    `around` are numbers that are on the axis in any case.
    """
    rows, cut = largest(found, MOST_DOTS)
    farthest = FARTHEST if unit else (-math.inf, math.inf)
    ends = [number for row in rows for name in ("low", "high") if (number := row[name]) is not None]
    beyond = [number for number in ends if not farthest[0] <= number <= farthest[1]]
    inner = (row.get(name) for row in rows for name in ("estimate", "consistent", "true"))
    axis = Axis.around([*around, *inner, *(min(farthest[1], max(farthest[0], number)) for number in ends)])
    height = ROW * len(rows) + FOOT
    tops = range(0, ROW * len(rows), ROW)
    marks = "".join(_words(*words_of(row), top) + _dot(row, axis, top) for row, top in zip(rows, tops, strict=True))
    words = " ".join(filter(None, (cut, "Lines that leave the picture are longer than drawn." if beyond else "")))
    write = Writer(axis.digits(100), unit, 100) if unit else axis.label
    frame = _grid(axis, height - FOOT) + _labels(axis, height, write)
    return _figure(f"{frame}{marks}", height, about, words)


def _words(label: str, estimate: str, top: int) -> str:
    short = label if len(label) <= _LETTERS else label[: _LETTERS - 1] + "…"
    return (
        f'<text x="0" y="{top + 14}">{escape(short)}</text>'
        f'<text class="figure" x="100%" y="{top + 14}" text-anchor="end">{escape(estimate)}</text>'
    )


def _dot(row: Mapped, axis: Axis, top: int) -> str:
    middle = top + 25
    parts = []
    if row.get("consistent") is not None:
        width = axis.place(row["consistent"]) - axis.place(0)
        parts.append(
            f'<rect class="bar" x="{_at(axis, 0)}" y="{middle - 5}" width="{100 * max(0, width):.2f}%" height="10"/>'
        )
    if row["low"] is not None and row["high"] is not None:
        low, high = _at(axis, row["low"]), _at(axis, row["high"])
        parts.append(_line("reach", low, high, middle, middle))
        parts += [_line("reach", end, end, middle - 4, middle + 4) for end in (low, high)]
    if row["estimate"] is not None:
        parts.append(f'<circle class="dot" cx="{_at(axis, row["estimate"])}" cy="{middle}" r="4.5"/>')
    if row.get("true") is not None:
        diamond = f'<path class="truth" d="M0 {middle - 6}L5 {middle}L0 {middle + 6}L-5 {middle}Z"/>'
        parts.append(f'<svg x="{_at(axis, row["true"])}" overflow="visible">{diamond}</svg>')
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
    words = f"Height: share of people per {brief(slice_width)}{f' {unit}' if unit else ''}."
    if reach > rise.high:
        words += f" The band is cut: it reaches {write(reach)}."
    return _figure(body, HEIGHT + FOOT, about, words)


def _rise(axis: Axis, write: Writer, *, at_right: bool) -> str:
    """Draw the upright axis on the side where the curve is low."""
    beside = 'x="100%" text-anchor="end"' if at_right else 'x="2"'
    heights = ((tick, HEIGHT * (1 - axis.place(tick))) for tick in axis.ticks[1:])
    return "".join(
        _line("grid", "0", "100%", y, y) + f'<text class="tick" {beside} y="{y + 13:.1f}">{write(tick)}</text>'
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
    places = [100 * (LEFT + (1 - LEFT) * (place + 0.5) / len(names)) for place in range(len(names))]
    tops = range(0, PANEL * len(labels), PANEL)
    drawn = (
        _words(*words, top) + _panel(rows, places, top + 36, shares=shares)
        for words, rows, top in zip(labels, points, tops, strict=True)
    )
    height = PANEL * len(labels) + FOOT
    below = f'class="tick" y="{height - 8}" text-anchor="middle"'
    every = math.ceil(len(names) / MOST_NAMES)
    foot = "".join(
        f'<text {below} x="{x:.2f}%">{escape(name if len(name) <= 12 else name[:11] + "…")}</text>'
        for x, name in list(zip(places, names, strict=True))[::-every]
    )
    return _figure("".join(drawn) + foot, height, about, "")


def _panel(rows: Sequence[Mapped], places: Sequence[float], top: int, *, shares: bool) -> str:
    numbers = [row[name] for row in rows for name in ("estimate", "low", "high")]
    axis = Axis.around(numbers, 3)
    write = Writer(axis.digits(100), " %", 100) if shares else axis.label

    def height(number: float) -> float:
        return top + (PANEL - 48) * (1 - axis.place(number))

    marks = [
        _line("zero" if tick == 0 else "grid", "0", "100%", height(tick), height(tick))
        + f'<text class="tick" x="0" y="{height(tick) - 3:.1f}">{escape(write(tick))}</text>'
        for tick in axis.ticks
    ]
    known = [(x, row) for x, row in zip(places, rows, strict=True) if row["estimate"] is not None]
    for (x, row), (other, following) in pairwise(known):
        ends = height(row["estimate"]), height(following["estimate"])
        marks.append(_line("course", f"{x:.2f}%", f"{other:.2f}%", *ends))
    for x, row in known:
        at = f"{x:.2f}%"
        if row["low"] is not None and row["high"] is not None:
            marks.append(_line("reach", at, at, height(row["low"]), height(row["high"])))
        marks.append(f'<circle class="dot" cx="{at}" cy="{height(row["estimate"]):.1f}" r="4"/>')
    return "".join(marks)


def shades(numbers: Sequence[Sequence[float | None]]) -> list[list[int]]:
    """Return how dark each cell of a table is, from 0 to 5, the largest darkest.

    >>> shades([[0.1, 0.5], [None, -0.1]])
    [[1, 5], [0, 0]]
    """
    most = max((number for row in numbers for number in row if number is not None), default=0.0)
    return [[round(5 * max(0.0, number or 0.0) / most) if most > 0 else 0 for number in row] for row in numbers]


def _figure(body: str, height: float, about: str, words: str) -> str:
    drawing = f'<svg role="img" aria-label="{escape(about, quote=True)}" width="100%" height="{height}">{body}</svg>'
    return drawing + (f'<p class="note">{escape(words)}</p>' if words else "")


def _grid(axis: Axis, height: float) -> str:
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


def _line(style: str, x1: Any, x2: Any, y1: float, y2: float) -> str:
    return f'<line class="{style}" x1="{x1}" x2="{x2}" y1="{y1:.4g}" y2="{y2:.4g}"/>'


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points)
