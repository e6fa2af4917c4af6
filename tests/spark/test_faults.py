"""What goes wrong on a cluster: a dead executor changes nothing, everything else is one clear line."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.claims import runs
from helpers.clusters import counters, embedded_java, kill_counters
from pldp import Survey, tally
from pldp.errors import ClusterError, ReportError, UnreadableError
from pldp.simulate import Partitions
from pldp.tallies import kernel

pytestmark = pytest.mark.xdist_group("spark")
cluster = pytest.importorskip("pldp.tallies.spark.cluster", reason="install 'pldp[spark]'")
engine = pytest.importorskip("pldp.tallies.spark", reason="install 'pldp[spark]'")
spark_counting = pytest.importorskip("pldp.tallies.spark.counting", reason="install 'pldp[spark]'")
FULL = pytest.mark.skipif(not os.environ.get("PLDP_LONG"), reason="in `make test-spark`")


def busy_stage(spark: Any) -> int:
    """Return the number of a stage as soon as some of its tasks are done and some are running."""
    tracker = spark.sparkContext.statusTracker()
    for _ in range(2400):
        for number in tracker.getActiveStageIds():
            stage = tracker.getStageInfo(number)
            if stage and stage.numCompletedTasks and stage.numActiveTasks:
                return int(number)
        time.sleep(0.02)
    raise AssertionError("no stage became busy")


@pytest.mark.parametrize("reader", ["executors", pytest.param("spark", marks=FULL)])
def test_a_tally_is_exact_though_those_who_count_are_killed_in_the_middle(
    spark: Any, tmp_path: Path, commute: Survey, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    files = runs(12, 24)
    partitions = Partitions(commute, files * runs(2_000, 20_000), files)
    for place in range(files):
        partitions.write(tmp_path, place)

    def slow(*share: Any) -> Any:
        time.sleep(0.3)
        return kernel.read_share(*share)

    monkeypatch.setattr(spark_counting, "kernel", SimpleNamespace(tally=kernel.tally, read_share=slow))
    monkeypatch.setattr(spark_counting, "LEAST_BYTES", 1)  # a task for each file
    monkeypatch.setattr(spark_counting, "TASKS_PER_CORE", files)
    frame = spark.read.parquet(str(tmp_path)).repartition(files)  # moved before it is counted: more to lose
    how = {
        "executors": (engine.tally_files, commute, spark, [str(tmp_path)]),
        "spark": (engine.tally, commute, frame),
    }
    with ThreadPoolExecutor() as threads:
        for _ in range(runs(1, 5)):
            counting = threads.submit(*how[reader])
            stage = busy_stage(spark)
            killed = kill_counters(spark)
            assert not counting.done()
            assert counting.result() == tally(commute, tmp_path)
            assert spark.sparkContext.statusTracker().getStageInfo(stage).numFailedTasks
            assert not {*killed} & {*counters(spark)}


def python_without(package: str, folder: Path) -> Path:
    """Return a Python that cannot import a package."""
    (folder / "sitecustomize.py").write_text(
        f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError("No module named {package!r}", name=name)
sys.meta_path.insert(0, Missing())
""".replace(f'named {package!r}"', f"named '{package}'\""),
        encoding="utf-8",
    )
    command = folder / "python"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}:$PYTHONPATH" exec {sys.executable} "$@"\n', encoding="utf-8")
    command.chmod(command.stat().st_mode | stat.S_IEXEC)
    return command


def test_executors_without_pldp_are_told_what_to_install(
    spark: Any, tmp_path: Path, commute: Survey, monkeypatch
) -> None:
    Partitions(commute, 100, 1).write(tmp_path, 0)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python_without("pldp", tmp_path)))
    with pytest.raises(
        ClusterError, match=r"^executors lack the Python package pldp: install 'pldp\[spark\]==\S+' there"
    ):
        engine.tally(commute, spark.read.parquet(str(tmp_path / "part-00000.parquet")))


def test_executors_with_another_pldp_are_told_so(spark: Any, tmp_path: Path, commute: Survey, monkeypatch) -> None:
    Partitions(commute, 100, 1).write(tmp_path, 0)
    monkeypatch.setattr(cluster, "VERSION", "9.9")
    with pytest.raises(ClusterError, match=r"^executors have pldp \S+, this machine 9\.9: install the same there$"):
        engine.tally(commute, spark.read.parquet(str(tmp_path)))


def test_a_master_that_does_not_answer_is_one_line_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ClusterError, match=r"^master spark://127\.0\.0\.1:\d+ does not answer \([^\n]+\)[^\n]+$"):
            cluster.connect(f"spark://127.0.0.1:{taken.getsockname()[1]}")


@pytest.mark.parametrize(
    ("told", "kind", "line"),
    [
        ("x\npldp.errors.ReportError: column a is missing\n at", ReportError, "column a is missing"),
        (
            ": o.a.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file "
            "hdfs://host/a%20b/1.parquet.  SQLSTATE: KD001\nCaused by: java.io.EOFException: cut off\n",
            UnreadableError,
            "hdfs://host/a b/1.parquet: is not a complete Parquet file of reports (cut off)",
        ),
        (
            "[FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH] Encountered error while reading file "
            "file:///data/1.parquet. Data type mismatches when reading Parquet column [q.output]. "
            "Expected Spark type smallint, actual Parquet type DOUBLE. SQLSTATE: KD001",
            ReportError,
            "/data/1.parquet: column q.output must be of one type in all files, smallint, not DOUBLE",
        ),
        (
            "[PATH_NOT_FOUND] Path does not exist: file:/data/none. SQLSTATE: 42K03",
            ReportError,
            "/data/none: there is no",
        ),
        ('java.io.IOException: Cannot run program "py": error=2', ClusterError, "executors have no Python at py: name"),
        ("[JAVA_GATEWAY_EXITED] Java gateway process exited", ClusterError, "Java did not start: Spark needs Java 17"),
        ("An error occurred while calling\n: a.b.OddException: odd\n at", ClusterError, "Spark failed: odd"),
        ("", ClusterError, "Spark failed: it did not say why"),
    ],
)
def test_what_spark_says_becomes_one_line(told: str, kind: type, line: str) -> None:
    explained = cluster.explained(told)
    assert type(explained) is kind
    assert str(explained).startswith(line)
    assert "\n" not in str(explained)


def test_java_from_the_wheel_starts_without_the_module_that_it_lacks(tmp_path: Path) -> None:
    java = embedded_java(tmp_path) / "bin" / "java"
    command = [str(java), "--add-modules=jdk.incubator.vector", "-version"]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
