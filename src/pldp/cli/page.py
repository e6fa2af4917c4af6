"""The page of results: every estimate with its picture, its numbers and what it assumes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from pldp import __version__
from pldp.errors import EstimateError
from pldp.estimates import Shares
from pldp.html import page, paragraph, picture, table
from pldp.tallies import Tally


def write_page(
    path: Path,
    title: str,
    estimates: Sequence[Shares],
    *,
    tally: Tally,
    confidence: float = 0.95,
    truths: Sequence[Any] = (),
    introduction: Sequence[str] = (),
) -> None:
    """Write the page."""
    known = list(truths) or [None] * len(estimates)
    rejected = [(reason.value, f"{count:,}") for reason, count in tally.rejections.items()]
    body = [
        *map(paragraph, introduction),
        paragraph(f"{tally.reports:,} reports counted, {tally.rejected:,} rejected."),
        table(["reason", "reports"], rejected) if rejected else "",
        *(_section(estimate, confidence, truth) for estimate, truth in zip(estimates, known, strict=True)),
        paragraph(f"Survey {tally.survey.hash}. Made by pldp {__version__}.", "note"),
    ]
    path.write_text(page(title, body), encoding="utf-8")


def _section(estimate: Shares, confidence: float, truth: Any) -> str:
    parts = [
        f"<h2>{escape(estimate.question)}</h2>",
        *(paragraph(note.text, "warning") for note in estimate.notes),
        _picture(estimate, confidence, truth),
        _values_table(estimate, confidence, truth),
        _by_size(estimate, confidence, truth),
        _levels_table(estimate),
        _agreement(estimate),
        paragraph(
            f"One forged report can count as {estimate.manipulation:.1f} people. "
            f"Errors assume: {'; '.join(estimate.assumptions)}.",
            "note",
        ),
    ]
    return "".join(parts)


def _picture(estimate: Shares, confidence: float, truth: Any) -> str:
    try:
        axes = estimate.plot(confidence, truth=truth)
    except EstimateError as error:
        return paragraph(f"No picture: {error}", "note")
    label = f"Shares of {estimate.question} with error bars; the numbers are in the table below"
    return picture(axes.figure, label)


def _values_table(estimate: Shares, confidence: float, truth: Any) -> str:
    known = [] if truth is None else ["truth"]
    heads = ["value", *known, "share", "standard error", f"{confidence:.0%} interval", "consistent"]
    rows = [
        [
            row["label"],
            *([] if truth is None else [f"{truth[index]:.4f}"]),
            f"{row['estimate']:.4f}",
            f"{row['standard_error']:.4f}",
            f"{row['low']:.4f} … {row['high']:.4f}",
            f"{row['consistent']:.4f}",
        ]
        for index, row in enumerate(estimate.records(confidence))
    ]
    return table(heads, rows)


def _by_size(estimate: Shares, confidence: float, truth: Any) -> str:
    if estimate.by_size is None:
        return ""
    return f"<p>The same, pooled by size:</p>{_values_table(estimate.by_size, confidence, truth)}"


def _levels_table(estimate: Shares) -> str:
    rows = [
        (group.level, group.mechanism, f"{group.epsilon:g}", f"{group.reports:,}", f"{group.weight:.3f}")
        for group in estimate.groups
    ]
    return table(["level", "mechanism", "ε", "reports", "weight"], rows) if rows else ""


def _agreement(estimate: Shares) -> str:
    test = estimate.homogeneity
    if test is None:
        return ""
    verdict = "They do not agree." if test.rejected else "There is no sign that they disagree."
    return paragraph(
        f"Do people of different levels answer alike? χ² = {test.statistic:.1f} on {test.degrees} degrees of "
        f"freedom, p = {test.p_value:.2g}. {verdict}"
    )
