"""The report of the full run that ships with the docs, read from its page: verdicts, and the numbers of exhibits."""

from __future__ import annotations

import csv
import io
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from html import unescape
from pathlib import Path
from typing import Final, TypeVar

REPORT: Final = Path(__file__).parents[2] / "docs" / "research" / "report.html"

_CARD = re.compile(r'<div class="card claims"><p>(Our own claim: )?“.*?” <span>(.*?)</span></p>(.*?)</div>', re.DOTALL)
_VERDICT = re.compile(
    r'<section class="(?P<verdict>\w+)" id="(?P<anchor>[a-z]+-\d+)">'
    r"<p><b>[^<]*</b>(?: if read as: (?P<reading>.*?))?</p><p>(?P<reason>.*?)</p>",
    re.DOTALL,
)
_FILE = re.compile(r'<a download="([^"]+)" href="data:text/csv;base64,([^"]+)"')


Test = TypeVar("Test", bound=Callable[..., object])


def again(*anchors: str) -> Callable[[Test], Test]:
    """Mark a test as a second computation of claims that do not hold, by their anchors in the report."""

    def mark(test: Test) -> Test:
        test.again = anchors  # type: ignore[attr-defined]
        return test

    return mark


@dataclass(frozen=True)
class Judged:
    """A claim as the page shows it; `anchor` is its place there, such as febsf-6."""

    anchor: str
    where: str
    reading: str
    verdict: str
    reason: str
    ours: bool

    @property
    def paper(self) -> str:
        """Name of the paper's folder."""
        return self.anchor.split("-")[0]


@cache
def judged() -> Mapping[str, Judged]:
    """Return all claims of the shipped report by their anchors."""
    found = {}
    for ours, where, verdicts in _CARD.findall(REPORT.read_text(encoding="utf-8")):
        for verdict in _VERDICT.finditer(verdicts):
            told = {name: unescape(text or "") for name, text in verdict.groupdict().items()}
            found[told["anchor"]] = Judged(**told, where=unescape(where), ours=bool(ours))
    return found


@cache
def exhibit(paper: str, name: str) -> tuple[Mapping[str, str], ...]:
    """Return the rows of the file that the page offers below an exhibit, such as figure-7.csv."""
    text = REPORT.read_text(encoding="utf-8")
    section = text[text.index(f'<h2 id="{paper}"') :]
    data = next(data for label, data in _FILE.findall(section) if unescape(label) == f"{paper}-{name}")
    return tuple(csv.DictReader(io.StringIO(b64decode(data).decode())))
