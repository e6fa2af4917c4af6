"""Pictures of estimates: points with error bars, readable from 2 to some hundred values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pldp.errors import EstimateError

if TYPE_CHECKING:
    from pldp.estimates.groups import FloatArray
    from pldp.estimates.shares.estimate import Estimate

MOST_ROWS = 60
"""More values than this are cut to the largest ones, and the title says so."""

_BLUE, _ORANGE, _GREY = "#0b5394", "#d55e00", "#c9ced6"


def plot_shares(estimate: Estimate, confidence: float, *, truth: FloatArray | None, axes: Any) -> Any:
    """Draw one row per value, in the question's order: point, error bar, zero line, true share if known."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
        from matplotlib.ticker import PercentFormatter  # noqa: PLC0415 - optional
    except ImportError:
        raise EstimateError("plot needs matplotlib: pip install 'pldp[plots]'") from None
    shown = np.arange(len(estimate.values))
    if len(shown) > MOST_ROWS:
        shown = np.sort(np.argsort(-estimate.shares)[:MOST_ROWS])
    if axes is None:
        figure = Figure(figsize=(7.5, 1.3 + 0.27 * len(shown)), layout="constrained")
        axes = figure.add_subplot()
    places = np.arange(len(shown))[::-1]
    shares = estimate.shares[shown]
    low, high = estimate.interval(confidence)
    axes.barh(places, np.maximum(shares, 0), height=0.62, color=_GREY, zorder=1)
    axes.errorbar(
        shares,
        places,
        xerr=[shares - low[shown], high[shown] - shares],
        fmt="o",
        markersize=4,
        capsize=2.5,
        color=_BLUE,
        label=f"estimate, {confidence:.0%} interval",
        zorder=3,
    )
    if truth is not None:
        axes.plot(truth[shown], places, "D", markersize=4, color=_ORANGE, label="truth", zorder=4)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(places, [_short(estimate.values[index]) for index in shown])
    axes.set_ylim(-0.7, len(shown) - 0.3)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(axis="x", color="#e4e7ec", zorder=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    cut = f", the {MOST_ROWS} largest of {len(estimate.values)} values" if len(shown) < len(estimate.values) else ""
    axes.set_title(f"{estimate.question}: {estimate.reports:,} reports{cut}", loc="left", fontsize=11)
    axes.legend(loc="lower right", frameon=True, framealpha=0.9, edgecolor="none", fontsize=9)
    return axes


def _short(label: str) -> str:
    return label if len(label) <= 32 else label[:31] + "…"
