"""One self-contained page of results: no script, no outside resource, every label escaped."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from pldp import __version__
from pldp.errors import EstimateError
from pldp.estimates import Estimate
from pldp.tallies import Tally

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.2rem}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .8rem;text-align:right;border-bottom:1px solid #e4e7ec}
th:first-child,td:first-child{text-align:left}
.warning{background:#fff1e5;border-left:4px solid #d55e00;padding:.5rem 1rem}
.note{color:#57606a}svg{max-width:100%;height:auto}
"""


def write_page(
    path: Path,
    title: str,
    estimates: Sequence[Estimate],
    *,
    tally: Tally,
    confidence: float = 0.95,
    truths: Sequence[Any] = (),
    introduction: Sequence[str] = (),
) -> None:
    """Write the page."""
    known = list(truths) or [None] * len(estimates)
    sections = "".join(_section(estimate, confidence, truth) for estimate, truth in zip(estimates, known, strict=True))
    rejected = "".join(f"<li>{escape(reason.value)}: {count:,}</li>" for reason, count in tally.rejections.items())
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        f"{''.join(f'<p>{escape(text)}</p>' for text in introduction)}"
        f"<p>{tally.reports:,} reports counted, {tally.rejected:,} rejected.</p>"
        f"{f'<ul>{rejected}</ul>' if rejected else ''}{sections}"
        f'<p class="note">Survey {tally.survey.hash}. Made by pldp {__version__}.</p></body></html>\n'
    )
    path.write_text(page, encoding="utf-8")


def _section(estimate: Estimate, confidence: float, truth: Any) -> str:
    warnings = "".join(f'<p class="warning">{escape(text)}</p>' for text in estimate.warnings)
    assumptions = "; ".join(escape(text) for text in estimate.assumptions)
    forged = f"One forged report can count as {estimate.manipulation:.1f} people. "
    return (
        f"<h2>{escape(estimate.question)}</h2>{warnings}{_picture(estimate, confidence, truth)}"
        f"{_values_table(estimate, confidence, truth)}{_by_size(estimate, confidence, truth)}"
        f"{_levels_table(estimate)}{_agreement(estimate)}"
        f'<p class="note">{forged}Errors assume: {assumptions}.</p>'
    )


def _picture(estimate: Estimate, confidence: float, truth: Any) -> str:
    try:
        axes = estimate.plot(confidence, truth=truth)
    except EstimateError as error:
        return f'<p class="note">No picture: {escape(str(error))}</p>'
    drawing = io.StringIO()
    axes.figure.savefig(drawing, format="svg", metadata={"Date": None})
    svg = drawing.getvalue()
    label = escape(f"Shares of {estimate.question} with error bars; the numbers are in the table below", quote=True)
    return f'<div role="img" aria-label="{label}">{svg[svg.index("<svg") :]}</div>'


def _values_table(estimate: Estimate, confidence: float, truth: Any) -> str:
    heads = [
        "value",
        *([] if truth is None else ["truth"]),
        "share",
        "standard error",
        f"{confidence:.0%} interval",
        "consistent",
    ]
    rows = []
    for index, row in enumerate(estimate.rows(confidence)):
        known = [] if truth is None else [f"{truth[index]:.4f}"]
        interval = f"{row['low']:.4f} … {row['high']:.4f}"
        cells = [
            *known,
            f"{row['estimate']:.4f}",
            f"{row['standard_error']:.4f}",
            interval,
            f"{row['consistent']:.4f}",
        ]
        rows.append(_row([escape(row["value"]), *cells]))
    return _table(heads, rows)


def _by_size(estimate: Estimate, confidence: float, truth: Any) -> str:
    if estimate.by_size is None:
        return ""
    return f"<p>The same, pooled by size:</p>{_values_table(estimate.by_size, confidence, truth)}"


def _levels_table(estimate: Estimate) -> str:
    rows = [
        _row(
            [
                escape(group.level),
                group.mechanism,
                f"{group.epsilon:g}",
                f"{group.reports:,}",
                f"{group.weight:.3f}",
            ]
        )
        for group in estimate.groups
    ]
    return _table(["level", "mechanism", "ε", "reports", "weight"], rows) if rows else ""


def _agreement(estimate: Estimate) -> str:
    test = estimate.homogeneity
    if test is None:
        return ""
    verdict = "They do not agree." if test.rejected else "There is no sign that they disagree."
    return (
        f"<p>Do people of different levels answer alike? χ² = {test.statistic:.1f} on {test.degrees} degrees of "
        f"freedom, p = {test.p_value:.2g}. {verdict}</p>"
    )


def _table(heads: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _row(cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
