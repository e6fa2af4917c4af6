"""How verbs speak: JSON for scripts on standard output, tables for people, progress on standard error."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from pldp.estimates import Density, NumberResult, Sets, Shares
from pldp.estimates import Table as TwoWay
from pldp.plain import json_text
from pldp.tallies import Tally

PICTURES = (".png", ".svg", ".pdf")
"""Endings of picture files."""

MOST_ROWS = 100
"""Values that a table for people shows."""


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Give a verb the option `--json FILE`, with `-` for standard output."""
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="write the result as JSON; - means standard output, and nothing else goes there",
    )


def emit_json(content: Mapping[str, Any], target: str) -> None:
    """Write JSON to a file or to standard output. Numbers that JSON does not know become null."""
    text = json_text(content, indent=1) + "\n"
    if target == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        Path(target).write_text(text, encoding="utf-8")


def console_for(args: argparse.Namespace) -> Console:
    """Return where words for people go: standard output, or standard error where JSON takes the former."""
    return Console(stderr=args.json == "-", highlight=False)


class _Rate(ProgressColumn):
    """How much is done per second."""

    def render(self, task: Task) -> str:
        """Return the rate of the last seconds."""
        return f"{task.speed or 0:,.0f}/s"


@contextmanager
def progress_bar(words: str, total: int | None = None, *, with_rate: bool = False) -> Iterator[tuple[Progress, TaskID]]:
    """Show progress on standard error while the body runs; nothing where that is not a terminal."""
    console = Console(stderr=True)
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    if with_rate:
        columns.append(_Rate())
    progress = Progress(*columns, console=console, transient=True)
    task = progress.add_task(words, total=total)
    if not console.is_terminal:
        yield progress, task
        return
    with progress:
        yield progress, task


def show_estimate(console: Console, estimate: Shares, confidence: float, truth: Any = None) -> None:
    """Print one estimate: warnings first, then a row per value, then what stands behind it."""
    for note in estimate.notes:
        console.print(f"[bold red]Warning:[/] {escape(note.text)}")
    table = Table(title=escape(str(estimate)), title_justify="left", header_style="bold")
    table.add_column("value")
    names = ["truth"] if truth is not None else []
    for name in (*names, "share", "std. error", f"{confidence:.0%} interval", "consistent"):
        table.add_column(name, justify="right")
    rows = estimate.records(confidence)
    shown = sorted(sorted(range(len(rows)), key=lambda place: -rows[place]["estimate"])[:MOST_ROWS])
    for index in shown:
        row = rows[index]
        known = [] if truth is None else [f"{truth[index]:.4f}"]
        interval = f"{row['low']:+.4f} … {row['high']:+.4f}"
        cells = [
            *known,
            f"{row['estimate']:.4f}",
            f"{row['standard_error']:.4f}",
            interval,
            f"{row['consistent']:.4f}",
        ]
        table.add_row(escape(row["label"]), *cells)
    console.print(table)
    if len(shown) < len(rows):
        console.print(f"(the {len(shown)} largest of {len(rows):,} values; --json has all)")
    if estimate.by_size is not None:
        _show_by_size(console, estimate.by_size, confidence, shown)
    if estimate.groups:
        console.print(_groups_table(estimate))
    for level in estimate.levels:
        console.print(
            f"hidden level {level.level} ({level.mechanism}, ε = {level.epsilon:g}): "
            f"estimated to be chosen by {level.share:.1%}",
            markup=False,
        )
    _show_footing(console, estimate)


def _show_by_size(console: Console, estimate: Shares, confidence: float, shown: list[int]) -> None:
    """Print the shares pooled by size beside those that the levels contradict."""
    table = Table(title="the same, pooled by size", title_justify="left", header_style="bold")
    table.add_column("value")
    for name in ("share", "std. error", f"{confidence:.0%} interval"):
        table.add_column(name, justify="right")
    rows = estimate.records(confidence)
    for row in (rows[index] for index in shown):
        interval = f"{row['low']:+.4f} … {row['high']:+.4f}"
        table.add_row(escape(row["label"]), f"{row['estimate']:.4f}", f"{row['standard_error']:.4f}", interval)
    console.print(table)


def _groups_table(estimate: Shares) -> Table:
    table = Table(title="by level", title_justify="left", header_style="bold")
    for name, justify in (
        ("level", "left"),
        ("mechanism", "left"),
        ("ε", "right"),
        ("reports", "right"),
        ("weight", "right"),
    ):
        table.add_column(name, justify="left" if justify == "left" else "right")
    for group in estimate.groups:
        cells = (group.mechanism, f"{group.epsilon:g}", f"{group.reports:,}", f"{group.weight:.3f}")
        table.add_row(escape(group.level), *cells)
    return table


def _show_footing(console: Console, estimate: Shares) -> None:
    if estimate.homogeneity is not None:
        test = estimate.homogeneity
        verdict = "they do NOT agree" if test.rejected else "no sign that they disagree"
        console.print(
            f"Do the levels agree? χ² = {test.statistic:.1f} on {test.degrees}, p = {test.p_value:.2g}: {verdict}."
        )
    if estimate.fit is not None:
        state = "converged" if estimate.fit.converged else "did NOT converge"
        console.print(f"Fit {state}: gap {estimate.fit.gap:.1e} after {estimate.fit.steps} steps.")
    if math.isfinite(estimate.manipulation):
        console.print(f"One forged report can count as {estimate.manipulation:.1f} people.")
    console.print(f"Errors assume: {escape('; '.join(estimate.assumptions))}.", style="dim")


def show_itemsets(console: Console, found: Sets, confidence: float) -> None:
    """Print frequent sets of items with their supports, and the rules between them."""
    frequent = found.sets
    at_least = f"sets that at least {frequent.min_support:g} of the people have"
    title = f"{escape(found.question)}: {found.reports:,} reports; {at_least}"
    grid = Table(title=title, title_justify="left", caption=escape(frequent.promise), caption_justify="left")
    grid.add_column("set")
    for heading in ("support", "standard error", f"{confidence:.0%} interval"):
        grid.add_column(heading, justify="right")
    for row in frequent.rows(confidence)[:MOST_ROWS]:
        cells = (f"{row.estimate:.4f}", f"{row.standard_error:.4f}", f"{row.low:.4f} to {row.high:.4f}")
        grid.add_row(escape(", ".join(row.label)), *cells)
    for note in found.notes:
        console.print(f"! {note.text}", markup=False, style="bold")
    console.print(grid)
    rules = found.rules()
    if rules:
        table = Table(title="rules", title_justify="left")
        for heading in ("if", "then", "confidence", "standard error", "lift"):
            table.add_column(heading)
        for rule in rules[:MOST_ROWS]:
            numbers = (f"{rule.confidence:.3f}", f"{rule.confidence_error:.3f}", f"{rule.lift:.2f}")
            table.add_row(escape(", ".join(rule.antecedent)), escape(", ".join(rule.consequent)), *numbers)
        console.print(table)


def show_number(console: Console, found: NumberResult, confidence: float) -> None:
    """Print the mean of a number, its quantiles, and the fitted density as bars."""
    mean, *quantiles = found.rows(confidence)
    unit = f" {found.unit}" if found.unit else ""
    console.print(
        f"{found.question}: {found.reports:,} reports; mean {mean.estimate:,.5g}{unit}, {confidence:.0%} interval "
        f"{mean.low:,.5g} to {mean.high:,.5g} (standard error {mean.standard_error:.3g})",
        markup=False,
        style="bold",
    )
    for note in found.notes:
        console.print(f"! {note.text}", markup=False)
    if found.by_size is not None:
        console.print(f"! mean pooled by size: {found.by_size.value:,.5g}", markup=False)
    table = Table(header_style="bold")
    for heading in ("share of people below", f"number{unit}", f"{confidence:.0%} interval"):
        table.add_column(heading, justify="right")
    for row in quantiles:
        table.add_row(str(row.label), f"{row.estimate:,.5g}", f"{row.low:,.5g} to {row.high:,.5g}")
    console.print(table)
    for start, end, mass in _coarse(found.density):
        console.print(f"{start:>12,.5g} to {end:<12,.5g} {mass:6.1%} {'█' * round(60 * mass)}", markup=False)


def _coarse(fitted: Density, bars: int = 16) -> Iterator[tuple[float, float, float]]:
    places = [round(place * len(fitted.shares) / bars) for place in range(bars + 1)]
    for first, last in pairwise(places):
        if last > first:
            yield fitted.edges[first], fitted.edges[last], float(fitted.shares[first:last].sum())


def show_two_way(console: Console, table: TwoWay, confidence: float) -> None:
    """Print the consistent shares of a two-way table, each with the reach of its interval."""
    low, high = table.interval(confidence)
    first, second = (escape(margin.question) for margin in table.margins)
    title = f"{first} × {second}: {table.reports:,} reports; consistent share ± {confidence:.0%} reach, in %"
    grid = Table(title=title, title_justify="left")
    grid.add_column(f"{first} \\ {second}")
    for value in table.margins[1].values:
        grid.add_column(escape(value), justify="right")
    grid.add_column("all", justify="right")
    reach, consistent = 50 * (high - low), table.consistent()
    for place, value in enumerate(table.margins[0].values):
        shares = 100 * consistent[place]
        cells = [f"{share:.1f} ± {own:.1f}" for share, own in zip(shares, reach[place], strict=True)]
        grid.add_row(escape(value), *cells, f"{shares.sum():.1f}")
    grid.add_row("all", *(f"{100 * share:.1f}" for share in consistent.sum(axis=0)), "100.0")
    for note in table.notes:
        console.print(f"! {note.text}", markup=False, style="bold")
    console.print(grid)


def show_tally(console: Console, tally: Tally) -> None:
    """Print what was counted and what was rejected."""
    console.print(
        f"{tally.reports:,} reports counted, {tally.rejected:,} rejected ({tally.survey.title})", markup=False
    )
    for reason, count in sorted(tally.rejections.items()):
        console.print(f"  rejected, {reason.value}: {count:,}")


def tally_mapping(tally: Tally) -> dict[str, Any]:
    """Return what was counted as plain data."""
    return {
        "survey": tally.survey.hash,
        "reports": tally.reports,
        "rejected": tally.rejected,
        "rejections": {reason.value: count for reason, count in sorted(tally.rejections.items())},
        "cells": [
            {"question": question, "level": level, "reports": counts.reports}
            for (question, level), counts in tally.counts.items()
        ],
    }
