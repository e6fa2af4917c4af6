"""The rules that judge what the paper on several services says about distributions."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from scipy.stats import norm, t

from pldp.papers.claim import SURE, Finding, Result, all_of, at_least, at_most, between, most_of, no_data, some_of
from pldp.papers.multiservice.exhibits import DATASETS
from pldp.papers.multiservice.experiment import SMOOTH_EPSILON, UNEQUAL_THREE
from pldp.papers.multiservice.mean_rules import SINGLES
from pldp.papers.paper import Row, span


def _error(row: Row, name: str) -> float:
    """Return a standard error, wider where it comes from few runs: as sure by Student's t as SURE is by the normal."""
    return float(row[f"{name}_error"] * t.isf(norm.sf(SURE), row["runs"] - 1) / SURE)


def _gap_error(one: Row, other: Row, name: str) -> float:
    return math.hypot(_error(one, name), _error(other, name))


def _shapes(result: Result, figure: str, estimator: str) -> Iterator[Row]:
    rows = (row for row in result["rows"] if row["figure"] == figure and row.get("estimator") == estimator)
    yield from rows


def _alone(result: Result, figure: str, estimator: str) -> list[Row]:
    return [row for row in _shapes(result, figure, estimator) if "ule_ratio" in row]


Judged = Sequence[tuple[Row, Finding]]

_GIVEN: Final = {("4e–h", "beta"), ("5e–h", "beta")}
"""Figures and datasets that the paper describes fully; all others stand in for its own."""


def _all_hold(judged: Judged, words: str) -> Finding:
    """Decide whether all findings hold; what fails only on data that stand in for the paper's decides nothing."""
    found = all_of([part for _, part in judged], words)
    lost = {(row["figure"], row["dataset"]) for row, part in judged if part.verdict == "fails"}
    if found.verdict == "fails" and not lost & _GIVEN:
        names = ", ".join(DATASETS[name] for name in sorted({dataset for _, dataset in lost}))
        return replace(found, verdict="undecided", reason=f"{words}; lost on a stand-in for their data only ({names})")
    return found


def _ule_words(rows: Sequence[Row]) -> str:
    by_method = {name: [row["ule_ratio"] for row in rows if row["method"] == name] for name in SINGLES}
    told = [f"{name.upper()} {span(ratios)}" for name, ratios in by_method.items() if ratios]
    return f"divergence of ULE over that of {', '.join(told) or 'nobody in this run'}"


def ule_wins(figure: str, estimator: str, *, most: bool = False) -> Callable[[Result], Finding]:
    """ULE is better than every single service, everywhere or in most places."""

    def decide(result: Result) -> Finding:
        rows = _alone(result, figure, estimator)
        parts = [at_most(row["ule_ratio"], _error(row, "ule_ratio"), 1.0) for row in rows]
        if not most:
            failing = sum(part.verdict == "fails" for part in parts)
            undecided = sum(part.verdict == "undecided" for part in parts)
            counts = f"; of {len(parts)} comparisons {failing} are lost, {undecided} undecided"
            return _all_hold(list(zip(rows, parts, strict=True)), _ule_words(rows) + counts)
        groups: dict[object, list[Finding]] = defaultdict(list)
        for row, part in zip(rows, parts, strict=True):
            groups[row["place"]].append(part)
        found = most_of([all_of(group) for group in groups.values()], _ule_words(rows))
        return found if found.verdict == "holds" else replace(found, verdict="undecided")

    return decide


def ule_range(figure: str, estimator: str, limits: Mapping[str, tuple[float, float]]) -> Callable[[Result], Finding]:
    """ULE gains what is printed over each mechanism."""

    def decide(result: Result) -> Finding:
        rows = _alone(result, figure, estimator)
        judged = [
            (row, between(1 - row["ule_ratio"], _error(row, "ule_ratio"), *limits[row["method"]])) for row in rows
        ]
        return _all_hold(judged, _ule_words(rows))

    return decide


def shape_falls(figure: str, estimator: str) -> Callable[[Result], Finding]:
    """Every divergence falls from place to place."""

    def decide(result: Result) -> Finding:
        lines: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in _shapes(result, figure, estimator):
            lines[row["dataset"], row["method"]].append(row)
        judged = []
        for line in lines.values():
            for earlier, later in pairwise(sorted(line, key=lambda row: float(row["place"]))):
                error = _gap_error(earlier, later, "js")
                judged.append((later, at_most(later["js"] - earlier["js"], error, 0.0)))
        held, failed = (sum(part.verdict == verdict for _, part in judged) for verdict in ("holds", "fails"))
        return _all_hold(judged, f"of {len(judged)} steps, {held} fall and {failed} rise beyond doubt")

    return decide


def sr_worst(estimator: str) -> Callable[[Result], Finding]:
    """SR has the largest divergence."""

    def decide(result: Result) -> Finding:
        cells: dict[object, dict[str, Row]] = defaultdict(dict)
        for row in _alone(result, "4e–h", estimator):
            cells[row["dataset"], row["place"]][row["method"]] = row
        judged, ratios = [], []
        for cell in cells.values():
            for other in ("pm", "sw"):
                error = _gap_error(cell["sr"], cell[other], "js")
                judged.append((cell["sr"], at_least(cell["sr"]["js"] - cell[other]["js"], error, 0.0)))
                ratios.append(cell["sr"]["js"] / cell[other]["js"])
        return _all_hold(judged, f"divergence of SR over that of PM and SW: {span(ratios)}" if ratios else "")

    return decide


def larger_budget_wins(estimator: str, *, modest: bool) -> Callable[[Result], Finding]:
    """In C1, C2 and C4: the one of PM and SW with ε .3 is better, or ULE gains less over it than over the other."""

    def decide(result: Result) -> Finding:
        cells: dict[tuple[str, str], dict[str, Row]] = defaultdict(dict)
        for row in _alone(result, "5e–h", estimator):
            cells[row["dataset"], row["place"]][row["method"]] = row
        judged, words = [], []
        for (_, place), cell in cells.items():
            budgets = dict(zip(("sr", "pm", "sw"), UNEQUAL_THREE[place], strict=True))
            ahead, behind = sorted(("pm", "sw"), key=lambda name: -budgets[name])
            if budgets[ahead] == 0.3:
                name = "ule_ratio" if modest else "js"
                error = _gap_error(cell[ahead], cell[behind], name)
                gap = cell[ahead][name] - cell[behind][name]
                judged.append((cell[ahead], (at_least if modest else at_most)(gap, error, 0.0)))
                words.append(1 - cell[ahead]["ule_ratio"])
        return _all_hold(judged, f"gain of ULE over the one with ε .3: {span(words)}" if words else "")

    return decide


def scales(estimator: str) -> Callable[[Result], Finding]:
    """ULE gains with the number of services."""

    def decide(result: Result) -> Finding:
        rows = [row for row in _shapes(result, "7b", estimator) if row["method"] == "ule"]
        rows.sort(key=lambda row: row["place"])
        if not rows:
            return Finding("undecided", "this run has nothing to judge by")
        few, many = rows[0], rows[-1]
        error = _gap_error(few, many, "js")
        words = f"divergence of ULE with {few['place']} services {few['js']:.3f}, with {many['place']} {many['js']:.3f}"
        return at_most(many["js"] - few["js"], error, 0.0, words)

    return decide


def minimal_gain(estimator: str) -> Callable[[Result], Finding]:
    """Some group of two services gains little."""

    def decide(result: Result) -> Finding:
        rows = [row for row in _alone(result, "8d", estimator) if len(row["epsilons"]) == 2]
        parts = [at_least(row["ule_ratio"], _error(row, "ule_ratio"), 0.9) for row in rows]
        return some_of(parts, "groups of two services: " + _ule_words(rows))

    return decide


def taobao(estimator: str) -> Callable[[Result], Finding]:
    """Nothing can be said without the data."""

    def decide(result: Result) -> Finding:
        rows = _alone(result, "6d", estimator)
        instead = f"; on Beta(2, 5) instead: {_ule_words(rows)}" if rows else ""
        return Finding("undecided", no_data("taobao").reason.split(" (")[0] + instead)

    return decide


def seconds(result: Result) -> Finding:
    """Times are not judged."""
    times = [row["cpu_seconds"] for row in result["rows"] if "cpu_seconds" in row]
    ours = f"; here {span(times)} CPU seconds" if times else ""
    return Finding("undecided", f"times are those of a program and a machine, and say nothing about a method{ours}")


def smooth_wins(result: Result) -> Finding:
    """Our density is closer to the truth than EMS."""
    rival = {
        row["dataset"]: row
        for row in _shapes(result, "4e–h", "ems")
        if row["method"] == "ule" and row["place"] == SMOOTH_EPSILON
    }
    parts, ratios = [], []
    for row in result["rows"]:
        if row["figure"] == "ours" and row["dataset"] in rival:
            other = rival[row["dataset"]]
            error = _gap_error(row, other, "js")
            parts.append(at_most(row["js"] - other["js"], error, 0.0))
            ratios.append(row["js"] / other["js"])
    return all_of(parts, f"divergence of the smooth density / EMS: {span(ratios)}" if ratios else "")
