"""What a reader gets of an estimate: rows, frames, pictures, notebook tables."""

from __future__ import annotations

import json
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pldp import tally
from pldp.errors import EstimateError
from pldp.estimates import Shares, frequencies
from pldp.simulate import Population, simulate_reports
from pldp.survey import loads


def estimate_of(labels: list[str], people: int = 5000, **options) -> Shares:
    document = {
        "pldp": 1,
        "title": "t",
        "levels": {"a": 1, "b": 3},
        "questions": [{"name": "q", "values": labels}],
    }
    survey = loads(json.dumps(document))
    asked = Population.of_shares(survey, people, seed=1)
    return frequencies(tally(survey, simulate_reports(survey, asked, seed=1), patterns=True), "q", **options)


@pytest.fixture
def estimate() -> Shares:
    return estimate_of(["car", "bus", "<script>alert(1)</script>"])


def test_rows_agree_with_the_arrays(estimate: Shares) -> None:
    low, high = estimate.interval(0.9)
    for index, row in enumerate(estimate.rows(0.9)):
        assert row.label == estimate.values[index]
        assert (row.estimate, row.low, row.high) == (estimate.shares[index], low[index], high[index])
    assert json.dumps(estimate.to_mapping())


def test_frames_in_both_libraries_hold_the_same(estimate: Shares) -> None:
    pandas_frame, polars_frame = estimate.to_frame(library="pandas"), estimate.to_frame(library="polars")
    assert isinstance(pandas_frame, pd.DataFrame)
    assert isinstance(polars_frame, pl.DataFrame)
    assert pandas_frame.to_dict("records") == polars_frame.to_dicts()
    beside = {"low_if_alike": row.low, "high_if_alike": row.high} if (row := estimate.alike.rows()[0]) else {}
    assert polars_frame.to_dicts()[0] == estimate.records()[0] | beside
    assert isinstance(estimate.to_frame(), pd.DataFrame)


def test_without_a_frame_library_the_error_says_what_is_missing(estimate: Shares, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(estimate.to_frame(), pl.DataFrame)
    with pytest.raises(EstimateError, match="needs the package pandas"):
        estimate.to_frame(library="pandas")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(EstimateError, match="neither is installed"):
        estimate.to_frame()
    with pytest.raises(EstimateError, match="pandas or polars, not 'excel'"):
        estimate.to_frame(library="excel")


def test_notebooks_get_a_table_with_escaped_labels(estimate: Shares) -> None:
    page = estimate._repr_html_()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page


@pytest.mark.parametrize("size", [2, 42, 200])
def test_a_picture_has_a_readable_row_per_value(size: int) -> None:
    estimate = estimate_of([f"value {number}" for number in range(size)])
    axes = estimate.plot(truth=np.full(size, 1 / size))
    rows = axes.get_yticklabels()
    assert len(rows) == min(size, 60)
    axes.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in rows]
    heights = sorted(boxes, key=lambda box: box.y0)
    assert all(below.y1 <= above.y0 for below, above in pairwise(heights)), "labels overlap"
    if size > 60:
        assert "60 largest of 200" in axes.get_title(loc="left")


def test_pictures_need_matplotlib(estimate: Shares, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(EstimateError, match=r"pip install 'pldp\[plots\]'"):
        estimate.plot()


def test_consistent_shares_by_every_method() -> None:
    estimate = estimate_of([str(number) for number in range(30)], people=3000)
    assert estimate.consistent("norm-sub").sum() == pytest.approx(1)
    assert estimate.consistent("norm-sub").min() >= 0
    for method in ("norm-cut", "base-cut"):
        assert set(estimate.consistent(method)) <= {0.0, *estimate.shares}
    with pytest.raises(EstimateError, match="norm-sub, norm-cut, base-cut, not 'clip'"):
        estimate.consistent("clip")


def test_manipulation_is_what_one_forged_report_can_move() -> None:
    """Add one report that names a value at the level where it does most harm, and compare."""
    survey = loads('pldp=1\ntitle="t"\nlevels={a=1,b=3}\nquestions=[{name="q",values=["x","y","z"],mechanism="krr"}]')
    asked = Population.of_shares(survey, 5000, seed=1)
    counted = tally(survey, simulate_reports(survey, asked, seed=1))
    before = frequencies(counted, "q")
    moved = 0.0
    for level in ("a", "b"):
        forged = {
            "pldp": 1,
            "survey": survey.hash,
            "id": "0" * 32,
            "answers": [{"question": "q", "level": level, "output": 0}],
        }
        after = frequencies(counted + tally(survey, [forged]), "q")
        moved = max(moved, (after.shares[0] - before.shares[0]) * before.reports)
    assert moved <= before.manipulation * 1.001
    assert moved > 0.5 * before.manipulation
