"""The picture of shuffling: how ε of a report falls with the people in the batch."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pldp.errors import ShuffleError
from pldp.shuffling.survey import Shuffled, shuffle
from pldp.survey import Survey

MOST_LINES: Final = 6
"""More questions and levels than this are cut to those of largest ε, and the title says so."""

FACTORS: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Batches that are drawn, as parts of the one asked for."""

_COLOURS: Final = ("#0b5394", "#d55e00", "#2e7d32", "#8e44ad", "#b7950b", "#00838f")


def plot_shuffled(survey: Survey, found: Shuffled, *, level_mix: Mapping[str, float] | None = None) -> Any:
    """Draw both bounds of ε against the people in the batch, and ε alone as a dotted line."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
    except ImportError:
        raise ShuffleError("plot needs matplotlib: pip install 'pldp[plots]'") from None
    people = sorted({max(2, round(found.people * factor)) for factor in FACTORS})
    tables = [shuffle(survey, each, delta=found.delta, level_mix=level_mix, step=found.step).rows for each in people]
    answered = [place for place, row in enumerate(found.rows) if row.high is not None and row.question]
    shown = sorted(answered, key=lambda place: -(found.rows[place].high or 0))[:MOST_LINES]
    figure = Figure(figsize=(8, 4.4), layout="constrained")
    axes = figure.subplots()
    for colour, place in zip(_COLOURS, shown, strict=False):
        row = found.rows[place]
        highs, lows = (
            np.array([getattr(table[place], side) or np.nan for table in tables], np.float64)
            for side in ("high", "low")
        )
        axes.plot(people, highs, color=colour, label=f"{row.question[:24]}, {row.level[:16]}")
        axes.fill_between(people, lows, highs, color=colour, alpha=0.25, linewidth=0)
        axes.axhline(row.local, color=colour, linewidth=0.8, linestyle=":")
    axes.axvline(found.people, color="#9aa0a6", linewidth=0.8, linestyle="--")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("reports in the shuffled batch, all levels together")
    axes.set_ylabel("ε of one report")
    axes.grid(color="#e4e7ec")
    axes.spines[["top", "right"]].set_visible(False)
    cut = f", the {MOST_LINES} largest of {len(answered)}" if len(answered) > MOST_LINES else ""
    figure.suptitle(
        f"{found.title}: ε among shuffled reports (δ = {found.delta:g}){cut}", x=0.01, ha="left", fontsize=11
    )
    axes.legend(frameon=False, fontsize=9, title="shaded: down to the lower bound; dotted: ε alone", title_fontsize=8)
    return figure
