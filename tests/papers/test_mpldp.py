"""MPLDP: the combinations do what the paper says, and what it claims is judged."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from helpers.claims import mean_is, runs
from pldp.cli import main
from pldp.errors import EstimateError
from pldp.papers import load_paper, mpldp
from pldp.papers.datasets import data_file
from pldp.papers.mpldp.experiment import SIZES, _collect, adult_coverage, allocations

TRUTH = np.full(10, 0.1)


def collected(seed: int):
    return _collect(3000, 10, 1_500_000, np.random.default_rng(seed))


def test_adding_up_and_combining_are_unbiased_and_combining_is_better() -> None:
    added, combined = [], []
    for seed in range(200):
        groups = collected(seed)
        added.append(mpldp.brr_sum(groups) - TRUTH)
        combined.append(mpldp.oc(groups) - TRUTH)
    assert mean_is(np.array(added)[:, 0], 0.0)
    assert mean_is(np.array(combined)[:, 0], 0.0)
    assert np.mean(np.square(combined)) < 0.65 * np.mean(np.square(added))


def test_op_never_raises_the_largest_error_against_its_reference() -> None:
    generator = np.random.default_rng(1)
    for seed in range(20):
        groups = collected(seed)
        reference = generator.dirichlet(np.full(10, 5.0))
        errors = [np.abs(mpldp.op(groups, reference, iterations=steps) - reference).max() for steps in (0, 1, 2, 5, 10)]
        assert all(later <= earlier + 1e-12 for earlier, later in pairwise(errors))


def test_a_reference_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(EstimateError, match="reference must hold 10 shares, not 3"):
        mpldp.op(collected(1), np.ones(3) / 3)


def test_table_2_spends_half_and_one_row_fits_nothing() -> None:
    rows = allocations()
    misfits = [(row["epsilon"], row["n"]) for row in rows if not row["fits_half"]]
    assert misfits == [(1.0, 10_000)]
    assert all(sum(row["optimum"]) == pytest.approx(row["epsilon"]) for row in rows)
    assert all(len(row["printed"]) == len(SIZES) for row in rows)


def test_reproduce_prints_rows_and_verdicts(capsys, monkeypatch) -> None:
    """Without data on Adult its rows are a reason; with them, one run: the next test looks at coverage."""
    monkeypatch.setattr("pldp.papers.mpldp.experiment.QUICK_RUNS", runs(30, 100))
    monkeypatch.setattr("pldp.papers.mpldp.experiment.QUICK_ADULT_RUNS", runs(1, 10))
    assert main(["reproduce", "mpldp", "--quick", "--json", "-"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert {row["method"] for row in result["rows"]} == {"brr_sum", "oc", "op_truth", "op_reference"}
    assert {"n", "epsilon", "method", "log10_nse", "log10_max_error", "runs"} == result["rows"][0].keys()
    judged = {each["claim"]: (each["holds"], each["measured"]) for each in result["verdicts"]}
    assert load_paper("mpldp").judge(result) == judged
    verdicts = {verdict["claim"]: verdict["holds"] for verdict in result["verdicts"]}
    assert verdicts["OP lowers the maximum error, the true histogram being at hand"]
    assert not verdicts["OP lowers the maximum error for a collector, who has an earlier histogram only"]
    assert isinstance(result["adult"], str) == (data_file("adult.parquet") is None)


@pytest.mark.skipif(data_file("adult.parquet") is None, reason="needs adult.parquet in PLDP_DATA")
def test_intervals_of_all_categorical_columns_of_adult_cover() -> None:
    """Three levels per column: 95 % intervals cover 93.5 to 96.5 % (104 values × runs)."""
    rows = adult_coverage(runs(25, 300), 1)
    assert len(rows) == 9
    values = sum(row["values"] for row in rows)
    assert 0.935 <= sum(row["coverage"] * row["values"] for row in rows) / values <= 0.965


def test_what_is_missing_is_named(monkeypatch) -> None:
    monkeypatch.delenv("PLDP_DATA", raising=False)
    assert adult_coverage(1, 1) == "not run: adult.parquet is not in the folder that PLDP_DATA names"
