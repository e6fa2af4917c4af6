"""Pictures of shares: points with error bars, readable from 2 to some hundred values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pldp.estimates.picture import BLUE, GREY, ORANGE, new_axes, shorten

if TYPE_CHECKING:
    from pldp.estimates.groups import FloatArray
    from pldp.estimates.result import Result

MOST_ROWS = 60
"""More values than this are cut to the largest ones, and the title says so."""


def plot_shares(result: Result, confidence: float | None, *, truth: FloatArray | None, axes: Any) -> Any:
    """Draw one row per label, in the question's order: point, error bar, zero line, true share if known."""
    labels = result.labels
    shown = np.arange(len(labels))
    if len(shown) > MOST_ROWS:
        shown = np.sort(np.argsort(-result.estimates)[:MOST_ROWS])
    axes = new_axes(7.5, 1.3 + 0.27 * len(shown)) if axes is None else axes
    from matplotlib.ticker import PercentFormatter  # noqa: PLC0415 - optional, and there by now

    places = np.arange(len(shown))[::-1]
    shares = result.estimates[shown]
    low, high = result.interval(confidence)
    axes.barh(places, np.maximum(shares, 0), height=0.62, color=GREY, zorder=1)
    axes.errorbar(
        shares,
        places,
        xerr=[shares - low[shown], high[shown] - shares],
        fmt="o",
        markersize=4,
        capsize=2.5,
        color=BLUE,
        label=f"estimate, {confidence or result.confidence:.0%} interval",
        zorder=3,
    )
    if truth is not None:
        axes.plot(truth[shown], places, "D", markersize=4, color=ORANGE, label="truth", zorder=4)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(places, [shorten(str(labels[index])) for index in shown.tolist()])
    axes.set_ylim(-0.7, len(shown) - 0.3)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(axis="x", color="#e4e7ec", zorder=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    cut = f", the {MOST_ROWS} largest of {len(labels)} values" if len(shown) < len(labels) else ""
    axes.set_title(f"{result.question}: {result.reports:,} reports{cut}", loc="left", fontsize=11)
    axes.legend(loc="lower right", frameon=True, framealpha=0.9, edgecolor="none", fontsize=9)
    return axes
