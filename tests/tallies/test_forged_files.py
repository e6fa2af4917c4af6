"""Tally files that were made to harm: refused before they are unpacked, or because no reports have such numbers."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest

from pldp import Survey, Tally, tally
from pldp.errors import TallyError
from pldp.reports import Rejection
from pldp.simulate import Population, simulate_reports
from pldp.survey import loads
from pldp.tallies.counts import BitCounts, OutputCounts
from pldp.tallies.tally import LARGEST_ROWS

MOST_MEMORY = 16 << 20
PAIR = ("mode", "late")


def with_members(content: bytes, *members: tuple[str, bytes, int]) -> bytes:
    """Return an archive with more members, each with its content and the size that the directory declares."""
    written = io.BytesIO(content)
    with ZipFile(written, "a", ZIP_DEFLATED) as archive:
        for name, data, declared in members:
            archive.writestr(name, data)
            archive.getinfo(name).file_size = declared
    return written.getvalue()


def memory_of(read: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def refusal(content: bytes) -> tuple[str, int]:
    """Return the line that refuses a file, and the bytes of memory that it took."""
    lines = []

    def read() -> None:
        with pytest.raises(TallyError) as caught:
            Tally.from_bytes(content)
        lines.append(str(caught.value))

    memory = memory_of(read)
    assert "\n" not in lines[0]
    return lines[0], memory


@pytest.mark.parametrize("sizes", [(2 << 30,), (LARGEST_ROWS // 2 + (1 << 20),) * 2, ((1 << 32) - 2,)])
def test_a_file_that_would_unpack_to_more_than_a_tally_is_refused_before_it_is_read(
    commute: Survey, sizes: tuple[int, ...]
) -> None:
    """Sizes are summed: many members of a modest size are no better than one."""
    members = [(f"0.more{place}.npy", bytes(1000), size) for place, size in enumerate(sizes)]
    line, memory = refusal(with_members(Tally.empty(commute).to_bytes(), *members))
    assert line.startswith("would unpack to ")
    assert ", but a tally of its survey has at most 268," in line
    assert memory < MOST_MEMORY


def test_a_header_that_would_unpack_to_more_than_a_survey_is_refused_before_it_is_read() -> None:
    written = io.BytesIO()
    ZipFile(written, "w").close()
    line, memory = refusal(with_members(written.getvalue(), ("header.npy", bytes(1000), 1 << 30)))
    assert line.startswith("would unpack to 1,073,741,824 bytes")
    assert memory < MOST_MEMORY


def test_no_more_bytes_are_read_than_are_declared(commute: Survey) -> None:
    content = with_members(Tally.empty(commute).to_bytes(), ("0.more.npy", bytes(32 << 20), 100))
    line, memory = refusal(content)
    assert line == "is not a complete tally file (BadZipFile)"
    assert memory < MOST_MEMORY
    honest = with_members(Tally.empty(commute).to_bytes(), ("0.more.npy", bytes(32 << 20), 32 << 20))
    assert memory_of(lambda: Tally.from_bytes(honest)) > 32 << 20  # what the first file would have cost


def test_the_tally_of_a_large_survey_is_read_however_well_it_packs() -> None:
    """The limit follows the survey: an empty tally of many outputs packs a thousand times."""
    labels = ",".join(f'"{place}"' for place in range(40_000))
    survey = loads(f'pldp=1\ntitle="t"\nlevels={{a=1,b=2}}\nquestions=[{{name="q",mechanism="krr",values=[{labels}]}}]')
    empty = Tally.empty(survey)
    assert Tally.from_bytes(empty.to_bytes()) == empty


def test_rows_that_came_very_often_are_not_repeated_in_memory() -> None:
    survey = loads('pldp=1\ntitle="t"\nlevels={a=1}\nquestions=[{name="q",mechanism="oue",values=["x","y","z"]}]')
    people, rows = 10**12, np.array([[1], [6]], np.uint8)
    counts = BitCounts.of_rows(
        rows, survey.questions[0].channels[0].form, patterns=True, counts=np.array([1, people - 1])
    )
    counted = Tally(survey, {("q", "a"): counts}, people)
    kept = counted.to_bytes()
    assert memory_of(lambda: Tally.from_bytes(kept)) < MOST_MEMORY
    assert Tally.from_bytes(kept) == counted
    forged = replace(counts, pattern_counts=np.array([people + 1, -1]))
    with pytest.raises(TallyError, match="do not fit the survey's channels"):
        Tally.from_bytes(replace(counted, counts={("q", "a"): forged}).to_bytes())


@pytest.fixture
def counted(commute: Survey) -> Tally:
    """All 200 reports answer both questions."""
    return tally(commute, simulate_reports(commute, Population.of_shares(commute, 200, seed=1), seed=1), pairs=[PAIR])


def more_pairs(counted: Tally) -> Tally:
    """A table with one answer more than its questions have."""
    cell = (("mode", "open"), ("late", "open"))
    table = counted.pairs[cell]
    marked = table.marked + (min(counted.counts[side].reports for side in cell) + 1 - table.reports)
    return replace(counted, pairs={**counted.pairs, cell: replace(table, marked=marked)})


@pytest.mark.parametrize(
    ("forge", "line"),
    [
        (lambda own: replace(own, reports=401), "questions mode, late have 400 answers in 401 reports; each report"),
        (lambda own: replace(own, reports=199), "question 'mode' has 200 answers in 199 reports; each answers it at"),
        (lambda own: replace(own, reports=-1), "question 'mode' has 200 answers in -1 reports"),
        (lambda own: replace(own, rejections={Rejection.BAD_ID: -1}), "rejected reports must not be negative"),
        (more_pairs, "answers together, but question 'mode' has "),
    ],
)
def test_numbers_that_no_reports_have_are_refused(counted: Tally, forge: Callable[[Tally], Tally], line: str) -> None:
    assert Tally.from_bytes(counted.to_bytes()) == counted
    assert line in refusal(forge(counted).to_bytes())[0]


def test_reports_with_more_answers_than_are_asked_are_refused() -> None:
    questions = ",".join(f'{{name="{name}",values=["x","y"]}}' for name in "pqr")
    survey = loads(f'pldp=1\ntitle="t"\nlevels={{a=1}}\nask=2\nquestions=[{questions}]')
    fine = Tally(survey, {(name, "a"): OutputCounts(np.array([4, 2])) for name in "pqr"}, 9)
    assert Tally.from_bytes(fine.to_bytes()) == fine
    line, _ = refusal(replace(fine, reports=8).to_bytes())
    assert line == "8 reports have 18 answers; each person is asked 2 questions"


def test_a_tally_of_fewer_answers_than_a_required_question_needs_is_read() -> None:
    """Devices refuse to skip such a question, collectors take reports of other programs that do."""
    survey = loads(
        'pldp=1\ntitle="t"\nlevels={a=1}\nquestions=[{name="p",values=["x","y"],required=true},{name="q",values=["x","y"]}]'
    )
    halves = {("p", "a"): OutputCounts(np.array([1, 0])), ("q", "a"): OutputCounts(np.array([1, 1]))}
    assert Tally.from_bytes(Tally(survey, halves, 2).to_bytes()).answered == {"p": 1, "q": 2}
