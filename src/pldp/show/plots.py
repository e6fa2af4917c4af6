"""Pictures of results with matplotlib, which is optional; colours can be told apart without seeing colours.

They are drawn from what `to_mapping()` of a result gives. `truth` is what is true, in the order of the rows, where it
is known; a picture goes into `axes`, or into a figure of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, product
from typing import Any, Final

from pldp.errors import EstimateError
from pldp.show.kinds import BY_KIND
from pldp.show.kinds.kind import REGARDLESS

BLUE: Final = "#0b5394"
ORANGE: Final = "#d55e00"
GREY: Final = "#c9ced6"
PALE: Final = "#e4e7ec"

MOST_ROWS: Final = 60
"""More values than this are cut to the largest ones, and the title says so."""

MOST_LABELED: Final = 12
"""Values per side up to which the cells of a table show their numbers."""

MOST_LINES: Final = 10
"""Labels that are drawn over rounds: those with the largest numbers in the last one."""

COLOURS: Final = (BLUE, ORANGE, "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999", "#7a5195", "#8c564b")
MARKS: Final = "osD^vP*Xhd"

HEADROOM: Final = 2.0
"""The picture of a curve is at most so many times as high as it; a band that reaches higher is not drawn."""

Mapped = Mapping[str, Any]


def plot(content: Mapped, *, truth: Any = None, axes: Any = None) -> Any:
    """Draw a result: rounds as lines, a table as shaded cells, and others with a row per label."""
    content = BY_KIND[content["kind"]].shown(content)
    draw = _plot_trend if "rounds" in content else _plot_table if "margins" in content else _plot_rows
    return draw(content, truth, axes)


def _plot_rows(content: Mapped, truth: Any, axes: Any) -> Any:
    """Draw one row per label, in the question's order: point, error bar, zero line, true share if known."""
    rows = [{**row, "true": true} for row, true in zip(content["rows"], _truths(content, truth), strict=True)]
    changes = content["kind"] == "change"
    shown = _largest(
        [abs(_number(row["estimate"])) if changes else _number(row["estimate"]) for row in rows], MOST_ROWS
    )
    cut = f", the {MOST_ROWS} largest of {len(rows)} values" if len(shown) < len(rows) else ""
    rows = [rows[place] for place in shown]
    axes = _new_axes(7.5, 1.3 + 0.27 * len(rows)) if axes is None else axes
    places = range(len(rows))[::-1]
    numbers, reach = _bars(rows)
    name = f"{'change' if changes else 'estimate'}, {content['confidence']:.0%} interval"
    axes.errorbar(numbers, places, xerr=reach, fmt="o", markersize=4, capsize=2.5, color=BLUE, label=name, zorder=3)
    if any(row.get("low_if_alike") is not None for row in rows):
        ends = [[_number(row.get(end)) for row in rows] for end in ("low_if_alike", "high_if_alike")]
        axes.hlines(places, *ends, color=BLUE, linewidth=5, alpha=0.35, label=REGARDLESS, zorder=2)
    if truth is not None:
        true = [row["true"] for row in rows]
        axes.plot(true, places, "D", markersize=4, color=ORANGE, label="truth", zorder=4)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(places, [_shorten(row["label"], 32) for row in rows])
    axes.set_ylim(-0.7, len(rows) - 0.3)
    _measure(axes, "x", content["unit"])
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_title(f"{content['name']}: {content['reports']:,} reports{cut}", loc="left", fontsize=11)
    above = (1.0, 1.0) if changes else None  # intervals of changes reach to both sides
    axes.legend(loc="lower right", bbox_to_anchor=above, framealpha=0.9, edgecolor="none", fontsize=9)
    return axes


def _plot_trend(content: Mapped, truth: Any, axes: Any) -> Any:
    """Draw a line per label over the rounds, with intervals that hold together; true numbers are dashed."""
    names = [each["name"] for each in content["rounds"]]
    labels = len(content["rows"]) // len(names)
    true = _truths(content, truth)
    shown = _largest([_number(row["estimate"]) for row in content["rows"][-labels:]], MOST_LINES)
    axes = _new_axes(7.5, 4.2) if axes is None else axes
    for order, place in enumerate(shown):
        at = [each + 0.03 * (order - (len(shown) - 1) / 2) for each in range(len(names))]
        rows, colour = content["rows"][place::labels], COLOURS[order]
        numbers, reach = _bars(rows)
        style = {"marker": MARKS[order], "markersize": 5, "color": colour, "label": _shorten(rows[0]["label"], 32)}
        axes.errorbar(at, numbers, yerr=reach, capsize=2.5, **style)
        if truth is not None:
            axes.plot(at, true[place::labels], "--", color=colour, linewidth=0.9)
    axes.set_xticks(range(len(names)), [_shorten(name, 16) for name in names])
    _measure(axes, "y", content["unit"])
    axes.spines[["top", "right"]].set_visible(False)
    cut = f", {len(shown)} of {labels}" if len(shown) < labels else ""
    words = f"{content['confidence']:.0%} intervals that hold together"
    axes.set_title(f"{content['name']}: {words}{cut}", loc="left", fontsize=11)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    return axes


def _plot_table(content: Mapped, truth: Any, axes: Any) -> Any:
    """Draw the consistent share of every combination with the reach of its interval; `truth` is written below.

    A third question stands side by side: a column for each pair of the second and the third answer.
    """
    first, *others = content["margins"]
    columns = [" / ".join(values) for values in product(*(margin["values"] for margin in others))]
    height, width = len(first["values"]), len(columns)
    axes = _new_axes(2.5 + 0.85 * min(width, 24), 1.6 + 0.5 * min(height, 24)) if axes is None else axes
    shares = [row["consistent"] for row in content["rows"]]
    axes.imshow([shares[width * row : width * (row + 1)] for row in range(height)], cmap="Blues", vmin=0, aspect="auto")
    axes.set_xticks(range(width), [_shorten(label, 16) for label in columns], rotation=30, ha="right")
    axes.set_yticks(range(height), [_shorten(label, 24) for label in first["values"]])
    axes.set_xlabel(" / ".join(margin["name"] for margin in others))
    axes.set_ylabel(first["name"])
    if max(height, width) <= MOST_LABELED:
        _write_cells(axes, content["rows"], width, [] if truth is None else _flat(truth))
    words = f"consistent shares ± {content['confidence']:.0%} reach"
    axes.set_title(f"{content['name']}: {content['reports']:,} reports, {words}", loc="left", fontsize=10)
    return axes


def _write_cells(axes: Any, rows: Sequence[Mapped], width: int, truth: Sequence[float]) -> None:
    darkest = max(row["consistent"] for row in rows)
    for place, row in enumerate(rows):
        down, along = divmod(place, width)
        text = f"{row['consistent']:.1%}\n± {(_number(row['high']) - _number(row['low'])) / 2:.1%}"
        colour = "white" if row["consistent"] > 0.6 * darkest else "black"
        axes.text(along, down, text, ha="center", va="center", color=colour, fontsize=8)
        if truth:
            text = f"{truth[place]:.1%}"
            axes.text(along, down + 0.42, text, ha="center", va="bottom", color=ORANGE, fontsize=7)


def plot_density(content: Mapped, *, truth: Any = None, axes: Any = None) -> Any:
    """Draw a density, a band for each number, a paler one for the whole curve, and true shares if known.

    `content` has its `edges`, the `density` between them, the `bands` by name, the paler one first, the `confidence`,
    and what the title says. Where the reports say little the upper end of a band can be any number of times as high as
    the curve. There the background is grey, and the title says where.
    """
    axes = _new_axes(7.5, 4.0) if axes is None else axes
    edges, heights = content["edges"], content["density"]
    places = [(low + high) / 2 for low, high in pairwise(edges)]
    needed = max(heights)
    if truth is not None:
        true = [share / (edges[1] - edges[0]) for share in _flat(truth)]
        needed = max(needed, *true)
        axes.stairs(true, edges, color=ORANGE, linewidth=0.8, alpha=0.8, label="truth")
    top, reached = HEADROOM * needed, 0.0
    cut = [False] * len(places)
    for shade, (name, (lows, ends)) in zip((0.15, 0.3), content["bands"].items(), strict=True):
        highs = [math.inf if high is None else high for high in ends]
        reached, cut = max(reached, *highs), [before or high > top for before, high in zip(cut, highs, strict=True)]
        drawn = [math.nan if high > top else high for high in highs]
        label = f"{content['confidence']:.0%}, {name}"
        axes.fill_between(places, lows, drawn, color=BLUE, alpha=shade, linewidth=0, label=label)
    title = content["title"]
    if any(cut):
        axes.fill_between(places, 0, top, where=cut, step="mid", color=GREY, alpha=0.35, linewidth=0, zorder=0)
        title += f"\ngrey: the band reaches above the picture, {_spans(edges, cut)}"
    axes.plot(places, heights, color=BLUE, linewidth=1.6, label="density")
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, min(top, 1.05 * max(needed, reached)))
    axes.grid(color=PALE, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, loc="left", fontsize=11)
    axes.legend(frameon=True, framealpha=0.9, edgecolor="none", fontsize=9)
    return axes


def _spans(edges: Sequence[float], cut: Sequence[bool], most: int = 3) -> str:
    """Say where buckets are cut, in at most so many spans."""
    ends = [place for place, pair in enumerate(zip([False, *cut], [*cut, False], strict=True)) if pair[0] != pair[1]]
    spans = [f"{edges[start]:.4g} to {edges[end]:.4g}" for start, end in zip(ends[::2], ends[1::2], strict=True)]
    return ", ".join(spans[:most]) + (f" and {len(spans) - most} more" if len(spans) > most else "")


def _new_axes(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
    except ImportError:
        raise EstimateError("plot needs matplotlib: pip install 'pldp[plots]'") from None
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def _measure(axes: Any, along: str, unit: str) -> None:
    """Write numbers along the x or y axis in their unit; shares are per cent."""
    from matplotlib.ticker import PercentFormatter  # noqa: PLC0415 - optional, and there by now

    if unit == "share":
        getattr(axes, f"{along}axis").set_major_formatter(PercentFormatter(1.0))
    else:
        axes.set(**{f"{along}label": unit})
    axes.grid(axis=along, color=PALE, zorder=0)


def _shorten(label: str | Sequence[str], longest: int) -> str:
    text = label if isinstance(label, str) else " × ".join(label)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _bars(rows: Iterable[Mapped]) -> tuple[list[float], list[list[float]]]:
    """Return the numbers of some rows, and how far their intervals reach to both sides."""
    ends = [[_number(row[name]) for name in ("estimate", "low", "high")] for row in rows]
    reach = [[number - low for number, low, _ in ends], [high - number for number, _, high in ends]]
    return [number for number, _, _ in ends], reach


def _largest(numbers: Sequence[float], most: int) -> list[int]:
    """Return the places of the largest numbers, in their order."""
    return sorted(sorted(range(len(numbers)), key=lambda place: -numbers[place])[:most])


def _number(number: float | None) -> float:
    return math.nan if number is None else number


def _truths(content: Mapped, truth: Any) -> list[float]:
    return [math.nan] * len(content["rows"]) if truth is None else _flat(truth)


def _flat(numbers: Any) -> list[float]:
    """Return numbers of any shape in one list."""
    if not hasattr(numbers, "__len__"):
        return [float(numbers)]
    return [number for part in numbers for number in _flat(part)]
