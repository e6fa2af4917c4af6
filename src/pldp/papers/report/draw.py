"""Figures of the report: small multiples with one key, the paper's methods thin and in colour, ours thick."""

from collections.abc import Sequence
from itertools import cycle
from typing import Any, Final

from pldp.errors import UsageError
from pldp.papers.paper import Panel, Series

_COLOURS: Final = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#8c6d31", "#7f7f7f", "#b2abd2"),
    *("#b30059", "#8fbc3f", "#2b3d7a", "#f0a58f", "#17becf"),  # as many as markers have no divisor in common
)
_OURS: Final = ("#d55e00", "#1b1f24", "#6a3d9a", "#00695c")
_MARKERS: Final = "osv^Dp<>"
_COLUMNS: Final = 3
_WIDTH: Final = 9.6  # inches of a figure, whatever the number of panels


def draw(panels: Sequence[Panel], labels: Sequence[tuple[str, bool]] = ()) -> Any:
    """Return a figure with all panels; `labels` are all methods of a paper, so that each has one colour throughout."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
        from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter  # noqa: PLC0415 - optional
    except ImportError:
        raise UsageError("the report needs matplotlib: pip install 'pldp[plots]'") from None
    columns = min(_COLUMNS, len(panels))
    height = 2.75 * -(-len(panels) // columns) + 0.7
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    grid = figure.subplots(-(-len(panels) // columns), columns, squeeze=False).flat
    known: dict[str, Any] = {}
    styles = _styles(labels or [(series.label, series.ours) for panel in panels for series in panel.series])
    for panel, axes in zip(panels, grid, strict=False):
        names = list(dict.fromkeys(name for series in panel.series for name in series.x))
        for place, series in enumerate(panel.series):
            error = series.error if len(series.error) == len(series.y) else None
            shift = (place - (len(panel.series) - 1) / 2) / len(panel.series)
            x, style = _places(series, names, shift), styles[series.label]
            line: dict[str, Any] = {} if x is series.x else {"linestyle": ""}
            if series.printed:
                line = {"linestyle": ":", "markerfacecolor": "white", "markersize": 6}
            known[series.label] = axes.errorbar(x, series.y, yerr=error, capsize=2, elinewidth=0.8, **(style | line))
        if _has_names(names):
            axes.set_xticks(range(len(names)), [str(name) for name in names])
            axes.set_xlim(-0.5, len(names) - 0.5)
        if panel.log:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:.2g}"))
        axes.set_title(panel.title, loc="left", fontsize=10)
        axes.set_xlabel(panel.x_label, fontsize=9)
        axes.set_ylabel(panel.y_label, fontsize=9)
        axes.tick_params(labelsize=8)
        axes.grid(color="#e4e7ec", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in list(grid):
        axes.set_axis_off()
    figure.legend(known.values(), known.keys(), loc="outside lower center", ncols=5, fontsize=8.5, frameon=False)
    return figure


def _has_names(x: Sequence[Any]) -> bool:
    """Whether points stand side by side above a name: x is no number, or there is only one."""
    return len(set(x)) == 1 or all(isinstance(each, str) for each in x)


def _places(series: Series, names: Sequence[Any], shift: float) -> Sequence[Any]:
    """Where the points of a series stand: at their number, or above their name among those of the panel."""
    return [names.index(name) + 0.6 * shift for name in series.x] if _has_names(names) else series.x


def _styles(known: Sequence[tuple[str, bool]]) -> dict[str, dict[str, Any]]:
    """A label looks the same in all panels."""
    labels = dict.fromkeys(known)
    thin = zip((label for label, ours in labels if not ours), cycle(_COLOURS), cycle(_MARKERS), strict=False)
    thick = zip((label for label, ours in labels if ours), cycle(_OURS), strict=False)
    theirs, our = {"markersize": 4, "linewidth": 1.1, "zorder": 2}, {"markersize": 7, "linewidth": 2.2, "zorder": 3}
    styles = {label: {"color": colour, "marker": marker, **theirs} for label, colour, marker in thin}
    return styles | {label: {"color": colour, "marker": "*", **our} for label, colour in thick}
