"""95 % intervals of joined reports cover, with levels shown and hidden."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from helpers.coverage import EPSILONS, PEOPLE, SHAPES, Hits, wrong
from helpers.coverage_fused import FUSED_CASES, FusedCase, FusedCell, judge_fused

LONG = bool(os.environ.get("PLDP_LONG"))
RUNS = 170
"""Runs of a cell in the long form: 2,040 for each case and shape."""

RESULTS = Path(__file__).parents[2] / "build" / "coverage"
TESTS = len(FUSED_CASES) * len(SHAPES) * (len(PEOPLE) * len(EPSILONS) + 1) * 6 * 2
"""Tests in the family of the whole table."""

SHORT = [
    FusedCell(case, *data)
    for number, case in enumerate(FUSED_CASES)
    for data in (("bimodal", 5_000, 2.0), ("exponential", 5_000, 1.0))[number % 2 :: 2]
]


@pytest.mark.skipif(LONG, reason="the long form has these cells")
@pytest.mark.parametrize("cell", SHORT, ids=str)
def test_intervals_cover_in_a_few_cells(cell: FusedCell) -> None:
    runs = 2 if "mean" in cell.case.name else 10  # every run fits a density
    assert list(wrong(judge_fused(cell, runs), TESTS)) == []


@pytest.mark.skipif(not LONG, reason="takes an hour: make test-long")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("case", FUSED_CASES, ids=lambda case: case.name)
def test_intervals_cover(case: FusedCase, shape: str) -> None:
    pooled: Hits = {}
    table, found = [], []
    cells = [FusedCell(case, shape, people, epsilon) for people in PEOPLE for epsilon in EPSILONS]
    for number, cell in enumerate(cells):
        hits = judge_fused(cell, RUNS, first=number * RUNS)
        found += [f"{cell}: {line}" for line in wrong(hits, TESTS)]
        for (label, conservative), covered in hits.items():
            pooled.setdefault((label, conservative), []).extend(covered)
            table.append([cell.people, cell.epsilon, label, conservative, sum(covered), len(covered)])
    RESULTS.mkdir(parents=True, exist_ok=True)
    content = {"case": case.name, "shape": shape, "rows": table}
    number = 1000 + FUSED_CASES.index(case)  # after the cases of one survey
    (RESULTS / f"{number}-{list(SHAPES).index(shape)}.json").write_text(json.dumps(content))
    assert [*found, *(f"all cells: {line}" for line in wrong(pooled, TESTS))] == []


def test_intervals_that_are_half_as_wide_are_found() -> None:
    assert list(wrong(judge_fused(FusedCell(FUSED_CASES[0], "gamma", 2_000, 1.0), 50, narrow=2.0), TESTS))
