"""The report as one self-contained page."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from pldp.papers.paper import Drawn, Exhibit, Table
from pldp.papers.report.draw import draw
from pldp.show import Table as Text
from pldp.show import figure, page, paragraph, table


def report_page(report: Mapping[str, Any], pictures: Mapping[str, Sequence[str]]) -> str:
    """Return the page of a report, with the markup of each paper's exhibits."""
    return page("Papers on personalised local privacy, run again", _body(report, pictures))


def exhibit_markup(exhibit: Exhibit, found: Drawn, reason: str) -> str:
    """Return an exhibit as a piece of the page, or the reason why there is none."""
    head = f"<h3>{escape(exhibit.label)}</h3>"
    if reason:
        return head + paragraph(f"{exhibit.caption}: {reason}.", "note")
    text = paragraph(exhibit.caption)
    if isinstance(found, Table):
        return head + text + table(Text("", found.heads, [[_cell(cell) for cell in row] for row in found.rows]))
    label = f"{exhibit.label}: {exhibit.caption} The numbers are in report.json."
    return head + text + figure(draw([panel for panel in found if panel.series]), label)


def _cell(content: Any) -> str:
    if isinstance(content, float):
        return f"{content:g}"
    return f"{content:,}" if isinstance(content, int) else str(content)


def _body(report: Mapping[str, Any], pictures: Mapping[str, Sequence[str]]) -> Iterator[str]:
    verdicts = [verdict for paper in report["papers"] for verdict in paper["verdicts"]]
    held = sum(verdict["holds"] for verdict in verdicts)
    length = "quick: fewer runs and settings than the papers" if report["quick"] else "full"
    yield paragraph(
        f"{len(verdicts)} claims of {len(report['papers'])} papers, {held} of which hold in this run. The run was "
        f"{length}; seed {report['seed']}. Thin lines are the papers' methods in our code, thick lines are ours. The "
        "papers print no numbers for their curves; what they print in tables stands beside what we find."
    )
    if report["missing"]:
        names = ", ".join(report["missing"])
        yield paragraph(f"Not here: {names}. What needs them says so; pldp datasets tells how to get them.", "warning")
    for paper in report["papers"]:
        yield f"<h2>{escape(paper['citation'])}</h2>"
        for note in paper["notes"]:
            yield paragraph(note, "note")
        yield "<ul>"
        for verdict in paper["verdicts"]:
            mark = '<b class="holds">holds</b>' if verdict["holds"] else '<b class="fails">does not hold</b>'
            yield f"<li>{mark}: {escape(verdict['claim'])}{paragraph(verdict['measured'], 'note')}</li>"
        yield "</ul>"
        yield from pictures[paper["experiment"]]
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    yield paragraph(f"Made by pldp {report['version']} with {versions}.", "note")
