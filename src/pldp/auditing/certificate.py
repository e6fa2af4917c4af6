"""The certificate of an audit: a JSON file for programs, and a page for people beside it."""

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from pldp.auditing.result import Audit, Row, write_epsilon
from pldp.errors import AuditError
from pldp.show import page, paragraph

_HEADS = ("question", "level", "mechanism", "device", "claimed ε", "exact ε", "sampled ε ≥", "detectable ε", "verdict")
_WORDS = (
    "An audit only ever rejects. Exact: ε was computed from the published integers, and the code draws by them. Not "
    "refuted: samples showed nothing, and could have shown what is said below. Refuted: shown to be false.",
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
    refuted = sum(row.refuted for row in found.rows)
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
        _findings(found),
        _reach(found.rows),
        *(["<h2>What a report tells an observer</h2>", *map(paragraph, found.worth)] if found.worth else []),
        "<h2>What this can and cannot show</h2>",
        *map(paragraph, (*_WORDS, chance)),
        "<h2>What was not looked at</h2>",
        _list(found.not_looked_at),
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
    kind = "fails" if row.refuted else "holds"
    return f'<tr>{cells}<td class="{kind}">{escape(row.verdict)}</td></tr>'


def _findings(found: Audit) -> str:
    words = []
    for row in found.rows:
        texts = [*row.refutations, *row.notes, *([f"show it: {found.command(row)}"] if row.refuted else [])]
        words += [f"<b>{escape(_where(row))}</b>: {escape(text)}" for text in texts]
    return f"<h2>Findings</h2>{_list(words, escaped=True)}" if words else ""


def _reach(rows: Sequence[Row]) -> str:
    """What samples would have found: for each row in words, and the whole curve in the JSON file."""
    words = [f"<b>{escape(_where(row))}</b>: {escape(row.reach)}" for row in rows if row.reach]
    return f"<h2>What would have been found</h2>{_list(words, escaped=True)}" if words else ""


def _where(row: Row) -> str:
    return " / ".join(filter(None, (row.question, row.level, row.device, row.span)))


def _list(words: Sequence[str], *, escaped: bool = False) -> str:
    return f"<ul>{''.join(f'<li>{text if escaped else escape(text)}</li>' for text in words)}</ul>"
