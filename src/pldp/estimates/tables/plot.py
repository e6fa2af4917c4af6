"""The picture of a two-way table: cells shaded by their share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pldp.estimates.picture import ORANGE, new_axes, shorten

if TYPE_CHECKING:
    from pldp.estimates.groups import FloatArray
    from pldp.estimates.tables.table import Table

MOST_LABELED = 12
"""Values per side up to which cells show their numbers."""


def plot_table(table: Table, confidence: float | None, *, truth: FloatArray | None, axes: Any) -> Any:
    """Draw the consistent share of every pair with the reach of its interval; `truth` is written below, if known."""
    first, second = table.margins
    height, width = table.shares.shape
    axes = new_axes(2.5 + 0.85 * min(width, 24), 1.6 + 0.5 * min(height, 24)) if axes is None else axes
    shares = table.consistent()
    low, high = table.interval(confidence)
    axes.imshow(shares, cmap="Blues", vmin=0, aspect="auto")
    axes.set_xticks(range(width), [shorten(label, 16) for label in second.values], rotation=30, ha="right")
    axes.set_yticks(range(height), [shorten(label, 24) for label in first.values])
    axes.set_xlabel(second.question)
    axes.set_ylabel(first.question)
    if max(height, width) <= MOST_LABELED:
        dark = shares > 0.6 * max(float(shares.max()), np.finfo(float).tiny)
        for row, column in np.ndindex(shares.shape):
            reach = float(high[row, column] - low[row, column]) / 2
            colour = "white" if dark[row, column] else "black"
            axes.text(
                column,
                row,
                f"{shares[row, column]:.1%}\n± {reach:.1%}",
                ha="center",
                va="center",
                color=colour,
                fontsize=8,
            )
            if truth is not None:
                axes.text(
                    column, row + 0.42, f"{truth[row, column]:.1%}", ha="center", va="bottom", color=ORANGE, fontsize=7
                )
    words = f"consistent shares ± {confidence or table.confidence:.0%} reach"
    axes.set_title(f"{table.question}: {table.reports:,} reports, {words}", loc="left", fontsize=10)
    return axes
