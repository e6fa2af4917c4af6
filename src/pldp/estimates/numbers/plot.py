"""The picture of a fitted distribution: the curve with its pointwise and its simultaneous band."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from pldp.estimates.picture import BLUE, GREY, ORANGE, new_axes

if TYPE_CHECKING:
    from pldp.estimates.groups import FloatArray
    from pldp.estimates.numbers.density import Density

HEADROOM: Final = 2.0
"""The picture is at most so many times as high as the curve; a band that reaches higher is not drawn."""


def plot_density(fitted: Density, confidence: float, *, truth: FloatArray | None, axes: Any) -> Any:
    """Draw the density, a band for each number, a paler one for the whole curve, and true shares if known.

    Where the reports say little the upper end of a band can be any number of times as high as the curve. There the
    background is grey, and the title says where.
    """
    axes = new_axes(7.5, 4.0) if axes is None else axes
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
    axes.grid(color="#e4e7ec", zorder=0)
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
