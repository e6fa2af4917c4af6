"""Figures of the report: one drawing per panel, the papers' methods thin and in colour, ours thick."""

from collections.abc import Mapping, Sequence
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
_SIZE: Final = (3.5, 2.55)  # inches of a panel; the page makes it as wide as there is room
_PRINTED: Final = {"linestyle": ":", "markerfacecolor": "white", "markersize": 6}

Style = Mapping[str, Any]
"""Colour, marker and line of a method, in the words of matplotlib."""


def styles_of(labels: Sequence[tuple[str, bool]]) -> dict[str, Style]:
    """Return how each method looks in all panels, from the labels of the methods and whether they are ours."""
    known = dict.fromkeys(labels)
    thin = zip((label for label, ours in known if not ours), cycle(_COLOURS), cycle(_MARKERS), strict=False)
    thick = zip((label for label, ours in known if ours), cycle(_OURS), strict=False)
    theirs, our = {"markersize": 4, "linewidth": 1.1, "zorder": 2}, {"markersize": 7, "linewidth": 2.2, "zorder": 3}
    styles: dict[str, Style] = {label: {"color": colour, "marker": marker, **theirs} for label, colour, marker in thin}
    return styles | {label: {"color": colour, "marker": "*", **our} for label, colour in thick}


def draw(panel: Panel, styles: Mapping[str, Style]) -> Any:
    """Return a panel as a figure of matplotlib, with standard errors as bars."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
        from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter  # noqa: PLC0415 - optional
    except ImportError:
        raise UsageError("the report needs matplotlib: pip install 'pldp[plots]'") from None
    figure = Figure(figsize=_SIZE, layout="constrained")
    axes = figure.subplots()
    names = list(dict.fromkeys(name for series in panel.series for name in series.x))
    for place, series in enumerate(panel.series):
        error = series.error if len(series.error) == len(series.y) else None
        shift = (place - (len(panel.series) - 1) / 2) / len(panel.series)
        x = _places(series, names, shift)
        line = _PRINTED if series.printed else {} if x is series.x else {"linestyle": ""}
        axes.errorbar(x, series.y, yerr=error, elinewidth=1, **{**styles[series.label], **line})
    if _has_names(names):
        axes.set_xticks(range(len(names)), [str(name) for name in names])
        axes.set_xlim(-0.5, len(names) - 0.5)
    if panel.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.set_title(panel.title, loc="left", fontsize=10)
    axes.set_xlabel(panel.x_label, fontsize=9)
    axes.set_ylabel(panel.y_label, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(color="#e4e7ec", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _has_names(x: Sequence[Any]) -> bool:
    """Whether points stand side by side above a name: x is no number, or there is only one."""
    return len(set(x)) == 1 or all(isinstance(each, str) for each in x)


def _places(series: Series, names: Sequence[Any], shift: float) -> Sequence[Any]:
    """Where the points of a series stand: at their number, or above their name among those of the panel."""
    return [names.index(name) + 0.6 * shift for name in series.x] if _has_names(names) else series.x
