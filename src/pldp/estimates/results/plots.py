"""Pictures of results, with matplotlib, which is optional; colours can be told apart without seeing colours."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError

if TYPE_CHECKING:
    from pldp.estimates.kinds.table import Table
    from pldp.estimates.likelihood.density import Density
    from pldp.estimates.results.intervals import Label
    from pldp.estimates.results.result import Result
    from pldp.estimates.trends import Trend
    from pldp.mechanisms.arrays import FloatArray

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


def _new_axes(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
    except ImportError:
        raise EstimateError("plot needs matplotlib: pip install 'pldp[plots]'") from None
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def _shorten(label: Label, longest: int) -> str:
    text = label if isinstance(label, str) else " × ".join(label)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _measure(axes: Any, along: str, unit: str) -> None:
    """Write numbers along the x or y axis in their unit; shares are per cent."""
    from matplotlib.ticker import PercentFormatter  # noqa: PLC0415 - optional, and there by now

    if unit == "share":
        getattr(axes, f"{along}axis").set_major_formatter(PercentFormatter(1.0))
    else:
        axes.set(**{f"{along}label": unit})
    axes.grid(axis=along, color=PALE, zorder=0)


def plot_shares(
    result: Result, confidence: float | None, *, truth: FloatArray | None, axes: Any, changes: bool = False
) -> Any:
    """Draw one row per label, in the question's order: point, error bar, zero line, true share if known."""
    labels = result.labels
    shown = np.arange(len(labels))
    if len(shown) > MOST_ROWS:
        shown = np.sort(np.argsort(-(abs(result.estimates) if changes else result.estimates))[:MOST_ROWS])
    axes = _new_axes(7.5, 1.3 + 0.27 * len(shown)) if axes is None else axes
    places = np.arange(len(shown))[::-1]
    shares = result.estimates[shown]
    low, high = result.interval(confidence)
    reach = [(shares - low[shown]).tolist(), (high[shown] - shares).tolist()]
    name = f"{'change' if changes else 'estimate'}, {confidence or result.confidence:.0%} interval"
    axes.barh(places, shares if changes else np.maximum(shares, 0), height=0.62, color=GREY, zorder=1)
    axes.errorbar(shares, places, xerr=reach, fmt="o", markersize=4, capsize=2.5, color=BLUE, label=name, zorder=3)
    if truth is not None:
        axes.plot(truth[shown], places, "D", markersize=4, color=ORANGE, label="truth", zorder=4)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(places, [_shorten(labels[index], 32) for index in shown.tolist()])
    axes.set_ylim(-0.7, len(shown) - 0.3)
    _measure(axes, "x", result.unit)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    cut = f", the {MOST_ROWS} largest of {len(labels)} values" if len(shown) < len(labels) else ""
    axes.set_title(f"{result.question}: {result.reports:,} reports{cut}", loc="left", fontsize=11)
    above = (1.0, 1.0) if changes else None  # intervals of changes reach to both sides
    axes.legend(loc="lower right", bbox_to_anchor=above, framealpha=0.9, edgecolor="none", fontsize=9)
    return axes


def plot_trend(trend: Trend, confidence: float | None, *, truth: FloatArray | None, axes: Any) -> Any:
    """Draw a line per label over the rounds, with intervals that hold together; true numbers are dashed."""
    labels, rounds = trend.rounds[0].labels, len(trend.rounds)
    shape = (rounds, len(labels))
    numbers, low, high = (np.reshape(each, shape) for each in (trend.estimates, *trend.interval(confidence)))
    shown = np.sort(np.argsort(-numbers[-1])[:MOST_LINES]).tolist()
    axes = _new_axes(7.5, 4.2) if axes is None else axes
    for order, place in enumerate(shown):
        at = np.arange(rounds) + 0.03 * (order - (len(shown) - 1) / 2)
        middle, style = numbers[:, place], {"marker": MARKS[order], "markersize": 5, "color": COLOURS[order]}
        reach = [middle - low[:, place], high[:, place] - middle]
        axes.errorbar(at, middle, yerr=reach, capsize=2.5, label=_shorten(labels[place], 32), **style)
        if truth is not None:
            axes.plot(at, np.reshape(truth, shape)[:, place], "--", color=COLOURS[order], linewidth=0.9)
    axes.set_xticks(range(rounds), [_shorten(name, 16) for name in trend.names])
    _measure(axes, "y", trend.unit)
    axes.spines[["top", "right"]].set_visible(False)
    cut = f", {len(shown)} of {len(labels)}" if len(shown) < len(labels) else ""
    words = f"{confidence or trend.confidence:.0%} intervals that hold together"
    axes.set_title(f"{trend.question}: {words}{cut}", loc="left", fontsize=11)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    return axes


def plot_table(table: Table, confidence: float | None, *, truth: FloatArray | None, axes: Any) -> Any:
    """Draw the consistent share of every combination with the reach of its interval; `truth` is written below.

    A third question stands side by side: a column for each pair of the second and the third answer.
    """
    first, *others = table.margins
    columns = [" / ".join(values) for values in product(*(margin.values for margin in others))]
    height, width = len(first.values), len(columns)
    axes = _new_axes(2.5 + 0.85 * min(width, 24), 1.6 + 0.5 * min(height, 24)) if axes is None else axes
    shares = table.consistent().reshape(height, width)
    low, high = (each.reshape(height, width) for each in table.interval(confidence))
    axes.imshow(shares, cmap="Blues", vmin=0, aspect="auto")
    axes.set_xticks(range(width), [_shorten(label, 16) for label in columns], rotation=30, ha="right")
    axes.set_yticks(range(height), [_shorten(label, 24) for label in first.values])
    axes.set_xlabel(" / ".join(margin.question for margin in others))
    axes.set_ylabel(first.question)
    dark = shares > 0.6 * max(float(shares.max()), np.finfo(float).tiny)
    true = None if truth is None else np.reshape(truth, (height, width))
    for row, column in np.ndindex(shares.shape) if max(height, width) <= MOST_LABELED else ():
        text = f"{shares[row, column]:.1%}\n± {(high[row, column] - low[row, column]) / 2:.1%}"
        colour = "white" if dark[row, column] else "black"
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
        if true is not None:
            text = f"{true[row, column]:.1%}"
            axes.text(column, row + 0.42, text, ha="center", va="bottom", color=ORANGE, fontsize=7)
    words = f"consistent shares ± {confidence or table.confidence:.0%} reach"
    axes.set_title(f"{table.question}: {table.reports:,} reports, {words}", loc="left", fontsize=10)
    return axes


def plot_density(fitted: Density, confidence: float, *, truth: FloatArray | None, axes: Any) -> Any:
    """Draw the density, a band for each number, a paler one for the whole curve, and true shares if known.

    Where the reports say little the upper end of a band can be any number of times as high as the curve. There the
    background is grey, and the title says where.
    """
    axes = _new_axes(7.5, 4.0) if axes is None else axes
    places = fitted.centres
    needed = float(fitted.density.max())
    if truth is not None:
        needed = max(needed, float(np.max(truth)) / fitted.width)
        axes.stairs(truth / fitted.width, fitted.edges, color=ORANGE, linewidth=0.8, alpha=0.8, label="truth")
    top, reached = HEADROOM * needed, np.zeros(len(places))
    for simultaneous, shade, name in ((True, 0.15, "whole curve"), (False, 0.3, "each number")):
        low, high = fitted.band(confidence, simultaneous=simultaneous)
        reached = np.maximum(reached, high)
        drawn, label = np.where(high > top, np.nan, high), f"{confidence:.0%}, {name}"
        axes.fill_between(places, low, drawn, color=BLUE, alpha=shade, linewidth=0, label=label)
    cut = reached > top
    if cut.any():
        axes.fill_between(places, 0, top, where=cut, step="mid", color=GREY, alpha=0.35, linewidth=0, zorder=0)
    axes.plot(places, fitted.density, color=BLUE, linewidth=1.6, label="density")
    axes.set_xlim(*fitted.bounds)
    axes.set_ylim(0, min(top, 1.05 * max(needed, float(reached.max()))))
    axes.grid(color=PALE, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    kind = "rough density" if fitted.roughness else "density"
    title = f"{kind} from {fitted.people:,} people, {fitted.splines} splines"
    if cut.any():
        title += f"\ngrey: the band reaches above the picture, {_spans(fitted, cut)}"
    axes.set_title(title, loc="left", fontsize=11)
    axes.legend(frameon=True, framealpha=0.9, edgecolor="none", fontsize=9)
    return axes


def _spans(fitted: Density, cut: npt.NDArray[np.bool_], most: int = 3) -> str:
    """Say where buckets are cut, in at most so many spans."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], cut, [False]])))
    spans = [f"{fitted.edges[start]:.4g} to {fitted.edges[end]:.4g}" for start, end in ends.reshape(-1, 2).tolist()]
    return ", ".join(spans[:most]) + (f" and {len(spans) - most} more" if len(spans) > most else "")
