"""Published systems under their own names, run again, with a verdict on each claim: `pldp reproduce NAME`.

A paper is a folder: its system and its rivals, as short compositions of the core, `experiment` (what is measured) and
`claims` (what the paper says, the rules that judge it, and what the report shows of it). `report` and `datasets` serve
all papers and know none of them by name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from pldp import __version__
from pldp.errors import UsageError

if TYPE_CHECKING:
    from pldp.papers.paper import Paper
    from pldp.papers.running import Progress

__all__ = ["PAPERS", "load_paper", "reproduce"]

PAPERS: Final = ("febsf", "mpldp", "multiservice", "ipldp", "aprr")
"""Names of the papers, which are those of their folders."""


def load_paper(name: str) -> Paper:
    """Return a paper by its name; its code is imported only then."""
    if name not in PAPERS:
        raise UsageError(f"unknown paper {name[:40]!r}; choose one of {', '.join(PAPERS)}")
    paper: Paper = import_module(f"{__name__}.{name}.claims").PAPER
    return paper


def reproduce(name: str, *, quick: bool = False, seed: int = 0, progress: Progress | None = None) -> dict[str, Any]:
    """Run the experiment of a paper and return rows and verdicts as plain data."""
    paper = load_paper(name)
    found = paper.run(quick=quick, seed=seed, progress=progress)
    result = {"experiment": name, "version": __version__, "seed": seed, "quick": quick, **found}
    claims = [claim.judge(name, result) | {"number": number} for number, claim in enumerate(paper.claims, 1)]
    return result | {"claims": claims}
