"""The picture of a plan: how the error of each question falls with people and with ε."""

import math
from typing import Any, Final

import numpy as np

from pldp.errors import EpsilonError, PlanError
from pldp.mechanisms import LARGEST_EPSILON, MICRO, Channel
from pldp.planning.kinds import BY_KIND
from pldp.planning.levels import pool_levels
from pldp.planning.plan import Plan
from pldp.planning.question import QuestionPlan, reach_of
from pldp.show import brief
from pldp.survey import Question

MOST_LINES: Final = 8
"""More questions than this are cut to those with the largest errors, and the title says so."""

SCALES: Final = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
"""Factors by which all ε are multiplied."""

_COLOURS: Final = ("#0b5394", "#d55e00", "#2e7d32", "#8e44ad", "#b7950b", "#00838f", "#c2185b", "#5d4037")


def plot_plan(plan: Plan, confidence: float) -> Any:
    """Draw the widest interval (±) of each question, left against people, right against ε.

    Lines are at the assumed shares; on the left, shades reach up to the worst shares.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
        from matplotlib.ticker import PercentFormatter  # noqa: PLC0415 - optional
    except ImportError:
        raise PlanError("plot needs matplotlib: pip install 'pldp[plots]'") from None
    shown = sorted(plan.questions, key=lambda each: -each.half(confidence) / each.reach)[:MOST_LINES]
    figure = Figure(figsize=(9.5, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    people = plan.people * np.geomspace(0.1, 10, 21)
    for colour, each in zip(_COLOURS, shown, strict=False):
        error = each.half(confidence) / each.reach
        fewer = np.sqrt(plan.people / people)
        left.plot(people, error * fewer, color=colour, label=_label(each))
        worst = reach_of(confidence) * each.worst.standard_error / each.reach
        left.fill_between(people, error * fewer, worst * fewer, color=colour, alpha=0.12, linewidth=0)
        right.plot(SCALES, [error * _relative(plan, each, scale) for scale in SCALES], color=colour)
    for axes, planned, words in ((left, plan.people, "people"), (right, 1, "all ε multiplied by")):
        axes.axvline(planned, color="#9aa0a6", linewidth=0.8, linestyle="--")
        axes.set_xscale("log")
        axes.set_xlabel(words)
        axes.grid(color="#e4e7ec")
        axes.spines[["top", "right"]].set_visible(False)
    right.set_xticks([0.25, 0.5, 1, 2, 4], ["¼", "½", "as planned", "2", "4"])
    right.minorticks_off()
    left.set_yscale("log")
    left.yaxis.set_major_formatter(PercentFormatter(1.0))
    left.set_ylabel(f"widest {brief(100 * confidence)} % interval, ±")
    asked = len(plan.questions)
    cut = f", the {MOST_LINES} least accurate of {asked} questions" if asked > MOST_LINES else ""
    figure.suptitle(f"{plan.survey.title}: {plan.people:,} people{cut}", x=0.01, ha="left", fontsize=11)
    left.legend(frameon=False, fontsize=9, title="shaded: up to the worst shares", title_fontsize=8)
    return figure


def _label(each: QuestionPlan) -> str:
    return each.question[:32] if each.of_shares else f"{each.question[:32]}, of {each.reach:g} {each.unit}".strip()


def _relative(plan: Plan, each: QuestionPlan, factor: float) -> float:
    """Return the error with all ε scaled, relative to the error as planned (levels shown in both), or no number."""
    question = plan.survey.question(each.question)
    reports = {level.level: level.reports for level in each.levels}
    counts = np.array([reports.get(level.name, 0.0) for level in question.levels])
    try:
        scaled = [_scale_channel(question, level, factor) for level in range(len(question.levels))]
    except EpsilonError:  # the mechanism has no channel of such an ε, and the line has a gap
        return float("nan")
    before, after = (
        float(pool_levels(question, channels, counts, each.shares)[0].variance.max())
        for channels in (question.channels, scaled)
    )
    return float(np.sqrt(after / before)) if before > 0 else 1.0


def _scale_channel(question: Question, level: int, factor: float) -> Channel:
    """Build the channel of a level again with all its budgets scaled; what has no limit has none then, too."""
    own, most = question.channels[level], LARGEST_EPSILON * MICRO
    scaled = tuple(
        micro if micro == math.inf else min(most, max(1000, round(micro * factor)))
        for micro in question.promises(level)
    )
    return BY_KIND[question.kind].rescale(question, own, scaled)
