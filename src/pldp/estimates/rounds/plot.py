"""Pictures of rounds: changes with error bars, and a line per label over the rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pldp.estimates.picture import BLUE, ORANGE, new_axes, shorten

if TYPE_CHECKING:
    from pldp.estimates.groups import FloatArray
    from pldp.estimates.result import Label, Result
    from pldp.estimates.rounds.change import Change
    from pldp.estimates.rounds.trend import Trend

MOST_CHANGES = 60
MOST_LINES = 10
"""Labels that are drawn: those that changed most, and those with the largest numbers in the last round."""

COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999", "#7a5195", "#8c564b")
MARKS = "osD^vP*Xhd"


def plot_change(change: Change, confidence: float | None, *, truth: FloatArray | None, axes: Any) -> Any:
    """Draw one row per label: the change with its interval, and a line at none."""
    shown = np.sort(np.argsort(-abs(change.estimates))[:MOST_CHANGES])
    axes = new_axes(7.5, 1.3 + 0.27 * len(shown)) if axes is None else axes
    places, middle = np.arange(len(shown))[::-1], change.estimates[shown]
    ends = [side[shown] for side in change.interval(confidence)]
    words = f"change, {confidence or change.confidence:.0%} interval"
    reach = [middle - ends[0], ends[1] - middle]
    axes.errorbar(middle, places, xerr=reach, fmt="o", markersize=4, capsize=2.5, color=BLUE, label=words)
    if truth is not None:
        axes.plot(truth[shown], places, "D", markersize=4, color=ORANGE, label="truth")
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(places, [_name(change.labels[index]) for index in shown.tolist()])
    _finish(
        axes, axes.xaxis, change, f"{change.question}: change between two rounds", len(shown), change.estimates.size
    )
    return axes


def plot_trend(trend: Trend, confidence: float | None, *, truth: FloatArray | None, axes: Any) -> Any:
    """Draw a line per label over the rounds, with intervals that hold together; true numbers are dashed."""
    labels, rounds = trend.results[0].labels, len(trend.results)
    shape = (rounds, len(labels))
    numbers, low, high = (np.reshape(each, shape) for each in (trend.estimates, *trend.interval(confidence)))
    shown = np.sort(np.argsort(-numbers[-1])[:MOST_LINES]).tolist()
    axes = new_axes(7.5, 4.2) if axes is None else axes
    for order, place in enumerate(shown):
        at = np.arange(rounds) + 0.03 * (order - (len(shown) - 1) / 2)
        colour, middle = COLOURS[order], numbers[:, place]
        reach = [middle - low[:, place], high[:, place] - middle]
        style = {"marker": MARKS[order], "markersize": 5, "capsize": 2.5, "color": colour}
        axes.errorbar(at, middle, yerr=reach, label=_name(labels[place]), **style)
        if truth is not None:
            axes.plot(at, np.reshape(truth, shape)[:, place], "--", color=colour, linewidth=0.9)
    axes.set_xticks(range(rounds), [shorten(name, 16) for name in trend.names])
    words = f"{trend.question}: {confidence or trend.confidence:.0%} intervals that hold together"
    _finish(axes, axes.yaxis, trend, words, len(shown), len(labels))
    return axes


def _name(label: Label) -> str:
    return shorten(label if isinstance(label, str) else " × ".join(label))


def _finish(axes: Any, scale: Any, result: Result, title: str, shown: int, every: int) -> None:
    from matplotlib.ticker import PercentFormatter  # noqa: PLC0415 - optional, and there by now

    if result.unit == "share":
        scale.set_major_formatter(PercentFormatter(1.0))
    elif scale is axes.yaxis:
        axes.set_ylabel(result.unit)
    else:
        axes.set_xlabel(result.unit)
    axes.grid(axis="x" if scale is axes.xaxis else "y", color="#e4e7ec", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    cut = f", {shown} of {every}" if shown < every else ""
    axes.set_title(f"{title}{cut}", loc="left", fontsize=11)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
