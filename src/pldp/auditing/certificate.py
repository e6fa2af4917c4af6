"""The certificate of an audit: a JSON file for programs, and a page for people beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

from pldp.auditing.result import Audit, Row
from pldp.errors import AuditError

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.6rem}table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:.3rem .7rem;text-align:left;border-bottom:1px solid #e4e7ec;vertical-align:top}
td.n,th.n{text-align:right}code{overflow-wrap:anywhere}
.holds{color:#0a6b3d}.refuted{color:#b3261e;font-weight:600}
.verdict{padding:.6rem 1rem;border-left:5px solid #0a6b3d;background:#eaf6ef}
.verdict.refuted{border-color:#b3261e;background:#fdecea}.note{color:#57606a}
"""

_LIMITS = (
    "An audit only ever rejects. What holds was not refuted by this one; ε of a channel with public weights is exact.",
    "It says nothing about a device that runs other code than the one that was audited, about what people tell "
    "elsewhere, or about what an observer sees beside the report (addresses, whether somebody answers at all).",
)


def write_certificate(found: Audit, path: str | Path) -> tuple[Path, Path]:
    """Write the certificate as JSON, and the page with the same name and the ending .html; return both paths.

    >>> import tempfile
    >>> from pldp.auditing import audit
    >>> folder = Path(tempfile.mkdtemp())
    >>> [each.name for each in write_certificate(audit("krr", samples=0), folder / "certificate.json")]
    ['certificate.json', 'certificate.html']
    """
    target = Path(path)
    if target.suffix != ".json":
        raise AuditError(
            f"the certificate's file must end in .json (the page is written beside it), not {target.name!r}"
        )
    page = target.with_suffix(".html")
    target.write_text(json.dumps(found.to_mapping(), ensure_ascii=False, indent=1, allow_nan=False) + "\n", "utf-8")
    page.write_text(certificate_page(found), encoding="utf-8")
    return target, page


def certificate_page(found: Audit) -> str:
    """Return the page: no script, no outside resource, every text escaped."""
    title = f"Privacy audit: {found.target}"
    refuted = sum(not row.holds for row in found.rows)
    verdict = f"{refuted} of {len(found.rows)} promises are refuted." if refuted else "No promise was refuted."
    survey = f"<p>Survey <code>{found.survey_hash}</code></p>" if found.survey_hash else ""
    chance = (
        f"Sound mechanisms are refuted by an audit like this with a chance of at most {found.false_alarm:.1e}."
        if found.false_alarm
        else "Nothing was sampled, and nothing here depends on chance."
    )
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1>"
        f'<p class="verdict{" refuted" if refuted else ""}">{verdict}</p>{survey}'
        f"{_table(found.rows)}{_findings(found.rows)}"
        f"<h2>What this can and cannot show</h2>{''.join(f'<p>{escape(text)}</p>' for text in _LIMITS)}"
        f"<p>{chance}</p>"
        f'<p class="note">Made by {escape(versions)}.</p></main></body></html>\n'
    )


def _table(rows: Sequence[Row]) -> str:
    heads = (
        "question",
        "level",
        "mechanism",
        "device",
        "claimed ε",
        "exact ε",
        "sampled ε ≥",
        "detectable ε",
        "verdict",
    )
    numeric = {"claimed ε", "exact ε", "sampled ε ≥", "detectable ε"}
    head = "".join(f'<th scope="col"{_right(name in numeric)}>{name}</th>' for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(map(_row, rows))}</tbody></table>"


def _right(numeric: bool) -> str:  # noqa: FBT001 - a cell is or is not a number
    return ' class="n"' if numeric else ""


def _row(row: Row) -> str:
    words = (row.question or "–", row.level or "–", row.mechanism, row.device)
    bound = row.sampled
    sampled = (None, None) if bound is None else (round(bound.epsilon, 3), round(bound.detectable, 3))
    numbers = (row.claimed, row.exact, *sampled)
    cells = "".join(f"<td>{escape(word)}</td>" for word in words)
    cells += "".join(f'<td class="n">{shown(number)}</td>' for number in numbers)
    kind = "holds" if row.holds else "refuted"
    return f'<tr>{cells}<td class="{kind}">{escape(row.verdict)}</td></tr>'


def shown(number: float | None) -> str:
    """Write a number for people; six decimals are all that an exact ε has."""
    if number is None:
        return "–"
    return "∞" if math.isinf(number) else f"{number:.6f}".rstrip("0").rstrip(".")


def _findings(rows: Sequence[Row]) -> str:
    words = [
        f"<li><b>{escape(' / '.join(filter(None, (row.question, row.level, row.device))))}</b>: {escape(text)}</li>"
        for row in rows
        for text in (*row.refutations, *row.notes)
    ]
    return f"<h2>Findings</h2><ul>{''.join(words)}</ul>" if words else ""
