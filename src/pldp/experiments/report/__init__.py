"""One report of all experiments: every table and figure of the papers made again, every claim with its verdict.

Results are kept in a folder, one file per experiment, so that a run that was interrupted goes on where it was.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pldp import __version__
from pldp.datasets import data_file
from pldp.datasets.published import PUBLISHED
from pldp.experiments import NEEDS, reproduce
from pldp.experiments.report.draw import draw
from pldp.experiments.report.exhibits import Drawn, Exhibit, Paper, Result, Table
from pldp.experiments.report.papers import PAPERS
from pldp.files import atomic_write
from pldp.html import page, paragraph, picture, table
from pldp.plain import json_text

__all__ = ["PAPERS", "reproduce_all"]

Progress = Callable[[str, int, int], None]
"""Called with an experiment's name, the number of its parts done and the number in all."""

QUICK = "this run was quick and left its settings out"


def reproduce_all(
    folder: Path, *, quick: bool = False, seed: int = 0, progress: Progress | None = None
) -> dict[str, Any]:
    """Run what the folder has not yet, and write `report.html` and `report.json` there.

    An experiment counts as run if its file is of the same version, length and seed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    papers = []
    pictures: dict[str, list[str]] = {}
    for paper in PAPERS:
        result = _result(paper.experiment, folder, quick=quick, seed=seed, progress=progress)
        drawn = [(exhibit, exhibit.draw(result) if exhibit.draw else ()) for exhibit in paper.exhibits]
        pictures[paper.experiment] = [_markup(*each) for each in drawn]
        papers.append(_entry(paper, result, drawn))
    report = {
        "version": __version__,
        "versions": {name: version(name) for name in ("numpy", "scipy", "pyarrow", "matplotlib")}
        | {"python": platform.python_version()},
        "seed": seed,
        "quick": quick,
        "missing": _missing(),
        "papers": papers,
    }
    _write(folder / "report.json", json_text(report, indent=1) + "\n")
    _write(
        folder / "report.html", page("Five papers on personalised local privacy, run again", _body(report, pictures))
    )
    return report


def _result(name: str, folder: Path, *, quick: bool, seed: int, progress: Progress | None) -> Result:
    """Take an experiment's result from the folder, or run it and keep it there."""
    kept = folder / f"{name}.json"
    wanted = {"experiment": name, "version": __version__, "seed": seed, "quick": quick, "missing_data": _missing(name)}
    try:
        found = json.loads(kept.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if isinstance(found, dict) and all(found.get(key) == value for key, value in wanted.items()):
        return found
    step = None if progress is None else lambda done, total: progress(name, done, total)
    result = reproduce(name, quick=quick, seed=seed, progress=step) | wanted
    _write(kept, json_text(result) + "\n")
    return dict(json.loads(kept.read_text(encoding="utf-8")))


def _missing(experiment: str | None = None) -> list[str]:
    """Name the datasets that are not here."""
    needed = NEEDS[experiment] if experiment else tuple(PUBLISHED)
    return [name for name in needed if name in PUBLISHED and data_file(PUBLISHED[name].file) is None]


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with atomic_write(path) as file:
        file.write(text.encode())


def _entry(paper: Paper, result: Result, drawn: Sequence[tuple[Exhibit, Drawn]]) -> dict[str, Any]:
    return {
        "experiment": paper.experiment,
        "citation": paper.citation,
        "notes": _notes(result),
        "verdicts": result["verdicts"],
        "exhibits": [
            {"label": exhibit.label, "caption": exhibit.caption}
            | ({"not_made": exhibit.reason or QUICK} if _empty(found) else {"content": _content(found)})
            for exhibit, found in drawn
        ],
    }


def _notes(result: Result) -> list[str]:
    """What a run says about its data and what it left out."""
    notes = [result["baskets"]] if "baskets" in result else []
    for words, key in (("Left out", "left_out"), ("Not at hand", "missing")):
        notes += [f"{words}: {text}" for text in result.get(key, [])]
    if isinstance(result.get("adult"), str):
        notes.append(f"Adult: {result['adult']}")
    return notes


def _content(found: Drawn) -> Any:
    return asdict(found) if isinstance(found, Table) else [asdict(panel) for panel in found]


def _empty(found: Drawn) -> bool:
    return not (found.rows if isinstance(found, Table) else any(panel.series for panel in found))


def _markup(exhibit: Exhibit, found: Drawn) -> str:
    """An exhibit as a piece of the page."""
    head = f"<h3>{escape(exhibit.label)}</h3>"
    if _empty(found):
        return head + paragraph(f"{exhibit.caption}: {exhibit.reason or QUICK}.", "note")
    text = paragraph(exhibit.caption)
    if isinstance(found, Table):
        return head + text + table(found.heads, [[_cell(cell) for cell in row] for row in found.rows])
    label = f"{exhibit.label}: {exhibit.caption} The numbers are in report.json."
    return head + text + picture(draw([panel for panel in found if panel.series]), label)


def _cell(content: Any) -> str:
    if isinstance(content, float):
        return f"{content:g}"
    return f"{content:,}" if isinstance(content, int) else str(content)


def _body(report: Mapping[str, Any], pictures: Mapping[str, Sequence[str]]) -> Iterator[str]:
    verdicts = [verdict for paper in report["papers"] for verdict in paper["verdicts"]]
    held = sum(verdict["holds"] for verdict in verdicts)
    length = "quick: fewer runs and settings than the papers" if report["quick"] else "full"
    yield paragraph(
        f"{len(verdicts)} claims of five papers, {held} of which hold in this run. The run was {length}; seed "
        f"{report['seed']}. Thin lines are the papers' methods in our code, thick lines are ours. The papers print no "
        "numbers for their curves; what they print in tables stands beside what we find."
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
