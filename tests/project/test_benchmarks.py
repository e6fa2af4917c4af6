"""Benchmarks stay runnable: every table loads, and its cases do a little of their work."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "benchmarks"
OF_PEERS = {"peers_attributes", "peers_collector", "peers_core"}
OURS = sorted({path.stem for path in FOLDER.glob("*.py")} - OF_PEERS - {"__init__"})
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("core", "krr_server", {"people": 100, "size": 4, "repeats": 1}),
    ("core", "fit", {"mechanism": "oue", "people": 500, "size": 4, "repeats": 1}),
    ("core", "device", {"mechanism": "lh", "size": 4, "people": 2, "repeats": 1}),
    ("core", "hash_server", {"people": 100, "size": 4, "repeats": 1}),
    ("core", "hash_accuracy", {"people": 100, "size": 4, "repeats": 1}),
    ("core", "whole", {"people": 100, "size": 4, "repeats": 1}),
    ("estimates", "estimated", {"name": "choice, k-RR, k=4", "people": 300, "runs": 2}),
    ("limit", "labels", {"sizes": [3, 600], "step": 10, "most": 20}),
    ("limit", "draw", {"size": 8, "draws": 2, "repeats": 1}),
    ("limit", "tallied", {"size": 16, "people": 100}),
    ("limit", "whole", {"mechanism": "auto", "size": 600, "people": 100, "epsilon": 1}),
    ("febsf", "fit", {"mechanism": "sue", "people": 500, "size": 16, "repeats": 1}),
    ("febsf", "plain_em", {"mechanism": "sue", "people": 50, "size": 16, "repeats": 1}),
    ("attributes", "pipeline", {"people": 20, "ask": 3, "repeats": 1, "sizes": [2, 40, 1000]}),
    ("items", "whole", {"size": 20, "people": 500, "repeats": 1}),
    ("items", "optimum", {"model": "opt1", "size": 8, "repeats": 1}),
    ("itemsets", "draw", {"items": 10, "count": 2, "repeats": 1}),
    ("repeat", "rounds", {"mechanism": "lh", "people": 50, "rounds": 2}),
    ("repeat", "device", {"repeat": "tracked", "mechanism": "item_set", "people": 2, "repeats": 1}),
    ("services", "tallied", {"names": ["sr", "pm"], "epsilon": 1, "people": 50}),
]

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the benchmarks are not part of a source distribution")


@pytest.fixture(autouse=True)
def root_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)


@pytest.mark.parametrize("module", OURS)
def test_a_module_loads(module: str) -> None:
    import_module(f"benchmarks.{module}")


def test_every_table_has_a_title_and_rows() -> None:
    for table in import_module("benchmarks.__main__").TABLES:
        module = import_module(f"benchmarks.{table}")
        assert module.TITLE
        assert callable(module.run)


@pytest.mark.parametrize(("module", "case", "arguments"), CASES, ids=[f"{module}-{case}" for module, case, _ in CASES])
def test_a_case_runs_on_a_few_people(module: str, case: str, arguments: dict[str, Any]) -> None:
    measured = getattr(import_module(f"benchmarks.{module}"), case)(**arguments)
    assert measured["count"] > 0


@pytest.mark.parametrize("module", ["core", "items"])
@pytest.mark.parametrize("case", ["krr", "oue"])
def test_a_client_perturbs_the_values_of_a_file(module: str, case: str, tmp_path: Path) -> None:
    np.save(tmp_path / "values.npy", np.arange(128))
    measured = getattr(import_module(f"benchmarks.{module}"), case)(str(tmp_path / "values.npy"), size=128, repeats=1)
    assert measured["count"] == 128


def test_the_accuracy_of_given_people_is_that_of_theory(tmp_path: Path) -> None:
    """Of 100 runs with 7 free errors each, so that 2 is more than 15 standard errors away."""
    module = import_module("benchmarks.limit")
    np.save(tmp_path / "values.npy", np.arange(800) % 8)
    measured = module.accuracy(str(tmp_path / "values.npy"), size=8, epsilon=1.0, repeats=100)
    own, error = module.mean_over(measured["squared_errors"], module.summed_variance(8, 1.0, 800))
    assert error < 0.2
    assert 0.5 < own < 2


def test_every_estimate_draws_a_tally_whose_rows_have_a_truth() -> None:
    """The wide and the slow ones are left to `make bench`; the error of the others is not far above what they state."""
    module = import_module("benchmarks.estimates")
    slow = ("512", "1,0", "4,096", "100", "number, ")
    for name, case in module.CASES_BY_NAME.items():
        if not any(part in name for part in slow):
            counted, truth = module.draw(case, 3000, seed=1)
            rows = module.estimate_of(case, counted)
            assert len(rows) in {len(truth), 1}, name
            wrong = [abs(row.estimate - known) / row.standard_error for row, known in zip(rows, truth, strict=False)]
            assert np.median(wrong) < 3, name


def test_an_estimate_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("benchmarks.estimates")
    monkeypatch.setattr(module, "LONGEST", 0.001)
    measured = module.estimated("table, 6 × 5", people=3000, runs=2)
    assert measured["stopped"] == "> 0.001 s"
    assert not measured["seconds"]


def test_prefix_sums_and_a_dense_matrix_take_the_same_steps() -> None:
    both = import_module("benchmarks.services").em_beside_dense(["sr", "sw", "laplace"], epsilon=1, people=200)
    assert both["difference"] < 1e-12


def test_a_store_is_filled_and_tallied(tmp_path: Path) -> None:
    measured = import_module("benchmarks.collector").store(str(tmp_path / "store.db"), reports=1000)
    assert set(measured["parts"]) == {"store", "first tally", "next tally", "start"}


def test_reports_for_the_cluster_are_counted_on_this_machine(tmp_path: Path) -> None:
    what = {"folder": str(tmp_path / "reports"), "mechanism": "krr", "size": 4, "reports": 200}
    module = import_module("benchmarks.spark")
    module.write(**what)
    assert module.local(**what)["count"] == 200


def test_reports_for_duckdb_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="install 'pldp[sql]'")
    what = {"folder": str(tmp_path / "reports"), "mechanism": "krr", "size": 4, "reports": 200}
    import_module("benchmarks.spark").write(**what)
    module = import_module("benchmarks.scale")
    assert module.duckdb(**what)["sums"] == module.local(**what)["sums"]
