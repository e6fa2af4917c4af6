"""The picture of a fitted distribution: the curve with its pointwise and its simultaneous band."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pldp.errors import EstimateError

if TYPE_CHECKING:
    from pldp.estimates.groups import FloatArray
    from pldp.estimates.numbers.density import Density

_BLUE, _ORANGE = "#0b5394", "#d55e00"


def plot_density(fitted: Density, confidence: float, *, truth: FloatArray | None, axes: Any) -> Any:
    """Draw the density, a band for each number, a paler one for the whole curve, and true shares if known."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
    except ImportError:
        raise EstimateError("plot needs matplotlib: pip install 'pldp[plots]'") from None
    if axes is None:
        axes = Figure(figsize=(7.5, 4.0), layout="constrained").add_subplot()
    places = fitted.centres
    if truth is not None:
        axes.stairs(truth / fitted.width, fitted.edges, color=_ORANGE, linewidth=0.8, alpha=0.8, label="truth")
    for simultaneous, shade, name in ((True, 0.15, "whole curve"), (False, 0.3, "each number")):
        low, high = fitted.band(confidence, simultaneous=simultaneous)
        axes.fill_between(places, low, high, color=_BLUE, alpha=shade, linewidth=0, label=f"{confidence:.0%}, {name}")
    axes.plot(places, fitted.density, color=_BLUE, linewidth=1.6, label="density")
    axes.set_xlim(*fitted.bounds)
    axes.set_ylim(bottom=0)
    axes.grid(color="#e4e7ec", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    kind = "rough density" if fitted.roughness else "density"
    axes.set_title(f"{kind} from {fitted.people:,} people, {fitted.splines} splines", loc="left", fontsize=11)
    axes.legend(frameon=True, framealpha=0.9, edgecolor="none", fontsize=9)
    return axes
