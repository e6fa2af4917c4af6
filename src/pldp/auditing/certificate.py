"""The certificate of an audit: a JSON file for programs, and a page for people beside it."""

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from pldp.auditing.result import Audit, Row, write_epsilon
from pldp.errors import AuditError
from pldp.show import page, paragraph

_HEADS = ("question", "level", "mechanism", "device", "claimed ε", "exact ε", "sampled ε ≥", "detectable ε", "verdict")
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
        name = target.name
        raise AuditError(f"the certificate's file must end in .json (the page is written beside it), not {name!r}")
    readable = target.with_suffix(".html")
    target.write_text(json.dumps(found.to_mapping(), ensure_ascii=False, indent=1, allow_nan=False) + "\n", "utf-8")
    readable.write_text(certificate_page(found), encoding="utf-8")
    return target, readable


def certificate_page(found: Audit) -> str:
    """Return the page: no script, no outside resource, every text escaped."""
    refuted = sum(not row.holds for row in found.rows)
    verdict = f"{refuted} of {len(found.rows)} promises are refuted." if refuted else "No promise was refuted."
    survey = f"<p>Survey <code>{found.survey_hash}</code></p>" if found.survey_hash else ""
    chance = (
        f"Sound mechanisms are refuted by an audit like this with a chance of at most {found.false_alarm:.1e}."
        if found.false_alarm
        else "Nothing was sampled, and nothing here depends on chance."
    )
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    body = (
        paragraph(verdict, "warning" if refuted else "holds"),
        survey,
        _table(found.rows),
        _findings(found.rows),
        *(["<h2>What a report is worth to whoever sees it</h2>", *map(paragraph, found.worth)] if found.worth else []),
        "<h2>What this can and cannot show</h2>",
        *map(paragraph, (*_LIMITS, chance)),
        paragraph(f"Made by {versions}.", "note"),
    )
    return page(f"Privacy audit: {found.target}", body)


def _table(rows: Sequence[Row]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in _HEADS)
    body = "".join(map(_row, rows))
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _row(row: Row) -> str:
    bound = row.sampled
    sampled = (None, None) if bound is None else (round(bound.epsilon, 3), round(bound.detectable, 3))
    numbers = (row.claimed, row.exact, *sampled)
    cells = "".join(f"<td>{escape(word)}</td>" for word in row.words)
    cells += "".join(f'<td class="number">{write_epsilon(number)}</td>' for number in numbers)
    kind = "holds" if row.holds else "fails"
    return f'<tr>{cells}<td class="{kind}">{escape(row.verdict)}</td></tr>'


def _findings(rows: Sequence[Row]) -> str:
    words = [
        f"<li><b>{escape(' / '.join(filter(None, (row.question, row.level, row.device))))}</b>: {escape(text)}</li>"
        for row in rows
        for text in (*row.refutations, *row.notes)
    ]
    return f"<h2>Findings</h2><ul>{''.join(words)}</ul>" if words else ""
