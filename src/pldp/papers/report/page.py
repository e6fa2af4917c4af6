"""The report as one self-contained page: what holds at a glance, then every figure with what it decides."""

import csv
import io
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from pldp.papers.paper import Drawn, Exhibit, Table
from pldp.papers.report.chart import STYLE, chart
from pldp.show import Table as Text
from pldp.show import details, page, paragraph, table

_WORDS: Final = {"holds": "holds", "fails": "does not hold", "undecided": "undecided"}
_SIGNS: Final = {"holds": "●", "fails": "✕", "undecided": "○"}


def report_page(report: Mapping[str, Any], pictures: Mapping[str, Sequence[str]]) -> str:
    """Return the page of a report, with the markup of each paper's exhibits."""
    return page("Five papers on personalised local privacy, run again", _body(report, pictures))


def is_about(claim: Mapping[str, Any], label: str) -> bool:
    """Tell whether a claim is judged by the figure or table of this label, which its place names first.

    >>> is_about({"where": "Figure 4, Section 7.2"}, "Figure 4")
    True
    """
    return str(claim["where"]).split(",")[0].strip() == label


def exhibit_markup(
    paper: str,
    exhibit: Exhibit,
    found: Drawn,
    reason: str,
    claims: Sequence[Mapping[str, Any]] = (),
    labels: Sequence[tuple[str, bool]] = (),
) -> str:
    """Return an exhibit as a piece of the page with the verdicts that it decides, or the reason why there is none."""
    name = f"{paper}-{exhibit.label.lower().replace(' ', '-')}"
    head = f'<h3 id="{escape(name)}">{escape(exhibit.label)}</h3>'
    verdicts = "".join(_cards(claims))
    if reason:
        return head + paragraph(f"{exhibit.caption}: {reason}.", "note") + verdicts
    text = paragraph(exhibit.caption)
    differs = paragraph(f"Not as in the paper: {exhibit.differs}", "note") if exhibit.differs else ""
    if isinstance(found, Table):
        shown = table(Text("", found.heads, [[_cell(cell) for cell in row] for row in found.rows]))
    else:
        label = f"{exhibit.label}: {exhibit.caption} The numbers are in the file below."
        shown = chart([panel for panel in found if panel.series], labels, label)
    return head + text + shown + differs + _download(f"{name}.csv", _lines(found)) + verdicts


def _lines(found: Drawn) -> Iterator[Sequence[Any]]:
    """The numbers of an exhibit as lines of a table, with seven digits."""
    if isinstance(found, Table):
        yield found.heads
        yield from found.rows
        return
    yield "panel", found[0].x_label if found else "x", "measure", "method", "value", "error"
    for panel in found:
        for series in panel.series:
            errors = series.error if len(series.error) == len(series.y) else [None] * len(series.y)
            for x, y, error in zip(series.x, series.y, errors, strict=True):
                yield panel.title, x, panel.y_label, series.label, f"{y:.7g}", "" if error is None else f"{error:.7g}"


def _download(name: str, lines: Iterable[Sequence[Any]]) -> str:
    """Return a link to a table, which is in the page itself."""
    text = io.StringIO()
    csv.writer(text).writerows(lines)
    data = b64encode(text.getvalue().encode()).decode()
    link = f'<a download="{escape(name)}" href="data:text/csv;base64,{data}">{escape(name)}</a>'
    return f'<p class="note">Numbers: {link}</p>'


def _cell(content: Any) -> str:
    if isinstance(content, float):
        return f"{content:g}"
    return f"{content:,}" if isinstance(content, int) else str(content)


def _cards(claims: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Return a card per sentence, with a verdict for each of its readings."""
    sentences: dict[tuple[str, str, bool], list[str]] = {}
    for claim in claims:
        sentences.setdefault((claim["quote"], claim["where"], claim["ours"]), []).append(_verdict(claim))
    for (quote, where, ours), verdicts in sentences.items():
        whose = "Our own claim: " if ours else ""
        head = f"<p>{whose}“{escape(quote)}” <span>{escape(where)}</span></p>"
        yield f'<div class="card claims">{head}{"".join(verdicts)}</div>'


def _verdict(claim: Mapping[str, Any]) -> str:
    """Return the verdict on one reading of a claim; setting, rule and power can be opened."""
    verdict = claim["verdict"]
    reading = f" if read as: {claim['reading']}" if claim.get("reading") else ""
    about = [("Setting", claim["setting"]), ("Rule", claim["rule"])]
    if claim["power"]:
        about.append(("Power", f"a distance of {claim['power']:.2g} from the limit is decided in 80 % of runs"))
    more = details("How it is judged", "".join(paragraph(f"{name}: {text}", "note") for name, text in about if text))
    return (
        f'<section class="{verdict}" id="{_anchor(claim)}">'
        f"<p><b>{_SIGNS[verdict]} {_WORDS[verdict]}</b>{escape(reading)}</p>"
        f"{paragraph(claim['reason'])}{more}</section>"
    )


def _anchor(claim: Mapping[str, Any]) -> str:
    return f"{claim['paper']}-{claim['number']}"


def _matrix(papers: Sequence[Mapping[str, Any]]) -> str:
    """Return all claims at a glance: a block per paper, a sign per claim, which leads to it."""
    blocks = []
    for paper in papers:
        counted = [claim for claim in paper["claims"] if not claim["ours"]]
        signs = " ".join(
            f'<a class="{claim["verdict"]}" href="#{_anchor(claim)}" title="{_about(claim)}"'
            f' aria-label="{_about(claim)}">{_SIGNS[claim["verdict"]]}</a>'
            for claim in counted
        )
        counts = Counter(claim["verdict"] for claim in counted)
        told = ", ".join(f"{counts[verdict]} {words}" for verdict, words in _COUNTED.items())
        blocks.append(
            f'<li><a href="#{paper["experiment"]}">{escape(paper["citation"])}</a>'
            f'<div class="signs">{signs}</div><span>{len(counted)} claims: {told}</span></li>'
        )
    return f'<ul class="matrix">{"".join(blocks)}</ul>'


def _about(claim: Mapping[str, Any]) -> str:
    return escape(f"{_WORDS[claim['verdict']]}: {claim['quote']} ({claim['where']})", quote=True)


_COUNTED: Final = {"holds": "hold", "fails": "do not hold", "undecided": "undecided"}
_COLUMNS: Final = ("paper", "number", "where", "quote", "reading", "ours", "verdict", "reason")


def _body(report: Mapping[str, Any], pictures: Mapping[str, Sequence[str]]) -> Iterator[str]:
    papers = report["papers"]
    length = "quick run (every curve, with fewer runs than the papers)" if report["quick"] else "full run"
    yield f"<style>{STYLE}{_STYLE}</style>"
    yield paragraph(
        f"The experiments of the papers below, made again with our code: {length}, seed {report['seed']}. "
        "Each sign below is a claim in one of its readings; select it to read the sentence and the numbers."
    )
    yield paragraph(
        "● holds, ✕ does not hold, ○ undecided. A claim is decided only if the number that decides it is four standard "
        "errors or more away from the limit. In the figures, thin lines are methods of the papers and thick lines "
        "with stars are ours; dotted lines with hollow points are printed numbers; bars are standard errors."
    )
    yield _matrix(papers)
    claims = [[claim[name] for name in _COLUMNS] for paper in papers for claim in paper["claims"]]
    yield _download("claims.csv", [_COLUMNS, *claims])
    if report["missing"]:
        names = ", ".join(report["missing"])
        yield paragraph(
            f"This run had no {names}. What needs them says so; `pldp datasets` tells how to get them.", "warning"
        )
    for paper in papers:
        yield f'<h2 id="{paper["experiment"]}">{escape(paper["citation"])}</h2>'
        for note in paper["notes"]:
            yield paragraph(note, "note")
        yield from pictures[paper["experiment"]]
        drawn = [exhibit["label"] for exhibit in paper["exhibits"]]
        others = [claim for claim in paper["claims"] if not any(is_about(claim, label) for label in drawn)]
        if others:
            yield "<h3>Other claims</h3>"
            yield from _cards(others)
        if paper["elements"]:
            yield details("Everything in this paper, and where it is here", _elements(paper["elements"]))
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    yield paragraph(f"Made by pldp {report['version']} with {versions}.", "note")


def _elements(elements: Sequence[Mapping[str, str]]) -> str:
    rows = [[each["label"], each["what"], each["home"] or each["reason"], each["test"]] for each in elements]
    return table(Text("", ("element", "what", "here", "test"), rows, left=4))


_STYLE: Final = """
.pldp a{color:var(--accent)}.pldp main>h2{border-top:1px solid var(--line);padding-top:1.2rem}
.pldp .matrix{list-style:none;padding:0}.pldp .matrix li{border-top:1px solid var(--line);padding:.6rem 0}
.pldp .matrix span,.pldp .claims span{color:var(--muted);font-size:.875rem}
.pldp .matrix .signs{line-height:1.7;margin:.2rem 0}
.pldp .matrix .signs a{display:inline-block;min-width:1.35rem;text-align:center}
.pldp a.holds,.pldp .holds b{color:var(--good)}.pldp a.fails,.pldp .fails b{color:var(--wrong)}
.pldp a.undecided,.pldp .undecided b{color:var(--muted)}
.pldp .claims{padding:.7rem .9rem .3rem;margin:.8rem 0}
.pldp .claims>p{margin:0 0 .5rem}.pldp .claims section p{margin:0 0 .2rem}
.pldp .claims section{color:var(--ink);border-left:4px solid var(--muted);padding:0 0 0 .7rem;margin:0 0 .7rem;
  scroll-margin-top:9rem}
.pldp .claims section.holds{border-color:var(--good)}.pldp .claims section.fails{border-color:var(--wrong)}
.pldp .claims section:target{background:color-mix(in srgb,var(--soft) 40%,transparent)}
.pldp .claims summary{font-size:.875rem}.pldp .claims details{margin:.1rem 0}
.pldp details td,.pldp details tbody th{white-space:normal;overflow-wrap:anywhere;min-width:10rem;vertical-align:top}
@media print{.pldp .card,.pldp .chart{break-inside:avoid}}
"""
