"""One report of all experiments: every table and figure of the papers made again, every claim with its verdict.

Results are kept in a folder, one file per experiment, so that a run that was interrupted goes on where it was.
"""

import json
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pldp import __version__
from pldp.files import atomic_write
from pldp.papers import PAPERS, load_paper, reproduce
from pldp.papers.claim import Result
from pldp.papers.datasets import PUBLISHED, data_file
from pldp.papers.paper import Drawn, Exhibit, Paper, Table
from pldp.papers.report.page import exhibit_markup, is_about, report_page
from pldp.plain import json_text

Progress = Callable[[str, int, int], None]
"""Called with an experiment's name, the number of its parts done and the number in all."""


def reproduce_all(
    folder: Path, *, quick: bool = False, seed: int = 0, progress: Progress | None = None
) -> dict[str, Any]:
    """Run what the folder has not yet, and write `report.html` and `report.json` there.

    An experiment counts as run if its file is of the same version, length and seed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    papers = []
    pictures: dict[str, list[str]] = {}
    for paper in map(load_paper, PAPERS):
        result = _result(paper, folder, quick=quick, seed=seed, progress=progress)
        pictures[paper.name], exhibits = [], []
        made = [exhibit.draw(result) if exhibit.draw else () for exhibit in paper.exhibits]
        labels = labels_of(made)
        for exhibit, drawn in zip(paper.exhibits, made, strict=True):
            reason = _reason(exhibit, drawn)
            about = [claim for claim in result["claims"] if is_about(claim, exhibit.label)]
            pictures[paper.name].append(exhibit_markup(paper.name, exhibit, drawn, reason, about, labels))
            plain = asdict(drawn) if isinstance(drawn, Table) else [asdict(panel) for panel in drawn]
            content = {"not_made": reason} if reason else {"content": plain}
            exhibits.append({"label": exhibit.label, "caption": exhibit.caption} | content)
        entry = {"experiment": paper.name, "citation": paper.citation, "notes": list(paper.notes(result))}
        elements = [asdict(element) for element in paper.elements]
        papers.append(entry | {"claims": result["claims"], "exhibits": exhibits, "elements": elements})
    report = {
        "version": __version__,
        "versions": {name: version(name) for name in ("numpy", "scipy", "pyarrow", "matplotlib")}
        | {"python": platform.python_version()},
        "seed": seed,
        "quick": quick,
        "missing": _missing(PUBLISHED),
        "papers": papers,
    }
    _write(folder / "report.json", json_text(report, indent=1) + "\n")
    _write(folder / "report.html", report_page(report, pictures))
    return report


def _result(paper: Paper, folder: Path, *, quick: bool, seed: int, progress: Progress | None) -> Result:
    """Take an experiment's result from the folder, or run it and keep it there."""
    kept = folder / f"{paper.name}.json"
    wanted = {"experiment": paper.name, "version": __version__, "seed": seed, "quick": quick}
    wanted |= {"missing_data": _missing(paper.datasets)}
    try:
        found = json.loads(kept.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if isinstance(found, dict) and all(found.get(key) == value for key, value in wanted.items()):
        return found
    step = partial(progress, paper.name) if progress else None
    result = reproduce(paper.name, quick=quick, seed=seed, progress=step) | wanted
    _write(kept, json_text(result) + "\n")
    return dict(json.loads(kept.read_text(encoding="utf-8")))


def _missing(datasets: Iterable[str]) -> list[str]:
    return [name for name in datasets if name in PUBLISHED and data_file(PUBLISHED[name].file) is None]


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text.encode())


def _reason(exhibit: Exhibit, found: Drawn) -> str:
    """Say why an exhibit has nothing to show; nothing if it has."""
    shown = found.rows if isinstance(found, Table) else any(panel.series for panel in found)
    return "" if shown else exhibit.reason or "this run has nothing to draw it from"


def labels_of(made: Sequence[Drawn]) -> list[tuple[str, bool]]:
    """Return the methods of all figures of a paper, and whether they are ours: each has one colour throughout."""
    panels = [panel for each in made if not isinstance(each, Table) for panel in each]
    return list(dict.fromkeys((series.label, series.ours) for panel in panels for series in panel.series))
