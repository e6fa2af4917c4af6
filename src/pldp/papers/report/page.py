"""The report as one self-contained page: what holds at a glance, then every figure with what it decides."""

import csv
import io
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from pldp.papers.paper import Drawn, Exhibit, Table
from pldp.papers.report.draw import draw
from pldp.show import Table as Text
from pldp.show import details, figure, page, paragraph, table

_WORDS: Final = {"holds": "holds", "fails": "does not hold", "undecided": "undecided"}
_SIGNS: Final = {"holds": "●", "fails": "✕", "undecided": "○"}


def report_page(report: Mapping[str, Any], pictures: Mapping[str, Sequence[str]]) -> str:
    """Return the page of a report, with the markup of each paper's exhibits."""
    return page("Papers on personalised local privacy, run again", _body(report, pictures))


def is_about(claim: Mapping[str, Any], label: str) -> bool:
    """Tell whether a claim is judged by the figure or table of this label, which its place names first.

    >>> is_about({"where": "Figure 4, Section 7.2"}, "Figure 4")
    True
    """
    return str(claim["where"]).split(",")[0].strip() == label


def exhibit_markup(
    exhibit: Exhibit,
    found: Drawn,
    reason: str,
    claims: Sequence[Mapping[str, Any]] = (),
    labels: Sequence[tuple[str, bool]] = (),
) -> str:
    """Return an exhibit as a piece of the page with the verdicts that it decides, or the reason why there is none."""
    head = f"<h3>{escape(exhibit.label)}</h3>"
    verdicts = "".join(map(_verdict, claims))
    if reason:
        return head + paragraph(f"{exhibit.caption}: {reason}.", "note") + verdicts
    text = paragraph(exhibit.caption)
    differs = paragraph(f"Not as in the paper: {exhibit.differs}", "note") if exhibit.differs else ""
    data = _download(exhibit.label, found)
    if isinstance(found, Table):
        shown = table(Text("", found.heads, [[_cell(cell) for cell in row] for row in found.rows]))
        return head + text + shown + differs + verdicts + data
    label = f"{exhibit.label}: {exhibit.caption} The numbers are in the file below."
    drawn = figure(draw([panel for panel in found if panel.series], labels), label)
    return head + text + drawn + differs + verdicts + data


def _download(label: str, found: Drawn) -> str:
    """Return a link to the numbers of an exhibit, which are in the page itself."""
    text = io.StringIO()
    writer = csv.writer(text)
    if isinstance(found, Table):
        writer.writerows([found.heads, *found.rows])
    else:
        writer.writerow(("panel", found[0].x_label if found else "x", "measure", "method", "value", "error"))
        for panel in found:
            for series in panel.series:
                errors = series.error if len(series.error) == len(series.y) else [""] * len(series.y)
                writer.writerows(
                    (panel.title, x, panel.y_label, series.label, y, error)
                    for x, y, error in zip(series.x, series.y, errors, strict=True)
                )
    data = b64encode(text.getvalue().encode()).decode()
    name = f"{label.lower().replace(' ', '-')}.csv"
    return f'<p class="note"><a download="{escape(name)}" href="data:text/csv;base64,{data}">{escape(name)}</a></p>'


def _cell(content: Any) -> str:
    if isinstance(content, float):
        return f"{content:g}"
    return f"{content:,}" if isinstance(content, int) else str(content)


def _verdict(claim: Mapping[str, Any]) -> str:
    """Return a claim with its verdict; setting, rule and power can be opened."""
    verdict = claim["verdict"]
    reading = f" Read as: {claim['reading']}." if claim.get("reading") else ""
    whose = "Our own claim. " if claim["ours"] else ""
    about = [("Setting", claim["setting"]), ("Rule", claim["rule"])]
    if claim["power"]:
        about.append(("Power", f"a distance of {claim['power']:.2g} from the limit is decided in 80 % of runs"))
    more = details("How it is judged", "".join(paragraph(f"{name}: {text}", "note") for name, text in about if text))
    return (
        f'<div class="card" id="{_anchor(claim)}"><p><b class="{verdict}">{_WORDS[verdict]}</b> '
        f"{escape(whose)}“{escape(claim['quote'])}” ({escape(claim['where'])}){escape(reading)}</p>"
        f"{paragraph(claim['reason'])}{more}</div>"
    )


def _anchor(claim: Mapping[str, Any]) -> str:
    return f"{claim['paper']}-{claim['number']}"


def _matrix(papers: Sequence[Mapping[str, Any]]) -> str:
    """Return all claims at a glance: a line per paper, a sign per claim, which leads to it."""
    lines = []
    for paper in papers:
        signs = "".join(
            f'<a class="{claim["verdict"]}" href="#{_anchor(claim)}" title="{escape(claim["quote"], quote=True)}: '
            f'{_WORDS[claim["verdict"]]}">{_SIGNS[claim["verdict"]]}</a> '
            for claim in paper["claims"]
            if not claim["ours"]
        )
        counts = Counter(claim["verdict"] for claim in paper["claims"] if not claim["ours"])
        told = ", ".join(f"{counts[verdict]} {words}" for verdict, words in _COUNTED.items())
        name = escape(paper["citation"].split(".")[0])
        lines.append(
            f'<tr><th scope="row"><a href="#{paper["experiment"]}">{name}</a></th>'
            f'<td class="signs">{signs}</td><td>{told}</td></tr>'
        )
    head = '<tr><th scope="col">paper</th><th scope="col">claims</th><th scope="col">verdicts</th></tr>'
    return f'<div class="scroll" tabindex="0"><table><thead>{head}</thead><tbody>{"".join(lines)}</tbody></table></div>'


_COUNTED: Final = {"holds": "hold", "fails": "do not", "undecided": "undecided"}


def _body(report: Mapping[str, Any], pictures: Mapping[str, Sequence[str]]) -> Iterator[str]:
    papers = report["papers"]
    length = "quick: every curve, with fewer runs than the papers" if report["quick"] else "full"
    yield paragraph(
        f"What {len(papers)} papers say, run again in our code. The run was {length}; seed {report['seed']}. A claim "
        "holds (●) or does not hold (✕) only where the sampling errors of this run leave no doubt, and is undecided "
        "(○) otherwise. Thin lines are the papers' methods, thick ones ours, hollow points what the papers print."
    )
    yield _matrix(papers)
    if report["missing"]:
        names = ", ".join(report["missing"])
        yield paragraph(f"Not here: {names}. What needs them says so; pldp datasets tells how to get them.", "warning")
    for paper in papers:
        yield f'<h2 id="{paper["experiment"]}">{escape(paper["citation"])}</h2>'
        for note in paper["notes"]:
            yield paragraph(note, "note")
        yield from pictures[paper["experiment"]]
        drawn = [exhibit["label"] for exhibit in paper["exhibits"]]
        others = [claim for claim in paper["claims"] if not any(is_about(claim, label) for label in drawn)]
        if others:
            yield "<h3>Other claims</h3>"
            yield from map(_verdict, others)
        if paper["elements"]:
            yield details("Everything in this paper, and where it is here", _elements(paper["elements"]))
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    yield paragraph(f"Made by pldp {report['version']} with {versions}.", "note")


def _elements(elements: Sequence[Mapping[str, str]]) -> str:
    rows = [[each["label"], each["what"], each["home"] or each["reason"], each["test"]] for each in elements]
    return table(Text("", ("element", "what", "here", "test"), rows, left=4))
