"""Files that executors open themselves: dealt out fairly, each row group counted once, the same files everywhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pldp import Survey, tally
from pldp.errors import ClusterError, ReportError
from pldp.reports.columns import read_parquet, rows_of_parquet, write_parquet
from pldp.simulate import Partitions

pytestmark = pytest.mark.xdist_group("spark")
FULL = pytest.mark.skipif(not os.environ.get("PLDP_LONG"), reason="in `make test-spark`")
ROUNDS = [
    pytest.param(0, 4, id="two rounds"),
    pytest.param(0, 64, id="one", marks=FULL),
    pytest.param(1 << 26, 64, id="none", marks=FULL),
]
counting = pytest.importorskip("pldp.tallies.spark.counting", reason="install 'pldp[spark]'")
cluster = pytest.importorskip("pldp.tallies.spark.cluster", reason="install 'pldp[spark]'")
engine = pytest.importorskip("pldp.tallies.spark", reason="install 'pldp[spark]'")


@given(st.lists(st.integers(0, 1 << 32), min_size=1, max_size=40), st.integers(1, 1000))
def test_every_share_is_dealt_once_and_no_task_gets_much_more_than_its_part(sizes: list[int], cores: int) -> None:
    given = {f"{place}.parquet": size for place, size in enumerate(sizes)}
    tasks = counting.dealt(given, cores)
    shares = [share for task in tasks for share in task]
    assert len(set(shares)) == len(shares)
    assert {share.file: share.size for share in shares} == given
    for file in given:
        own = [share for share in shares if share.file == file]
        assert [share.place for share in own] == list(range(own[0].of))
    fair = min(max(sum(sizes) / (4 * cores) + 1, counting.LEAST_BYTES), counting.MOST_BYTES)
    read = [sum(share.size / share.of for share in task) for task in tasks]
    assert all(bytes_ <= fair * (1 + 1e-9) for bytes_ in read)
    assert len(tasks) <= 2 * sum(sizes) / fair + 1


@pytest.mark.parametrize("of", [1, 2, 3, 7, 20])
def test_shares_of_a_file_are_all_its_row_groups_once(tmp_path: Path, commute: Survey, of: int) -> None:
    path = cut(tmp_path, commute, reports=1000, rows=100)
    found = [tally(commute, list(counting.kernel.read_share(commute, path, place, of))) for place in range(of)]
    assert counting.Tally.merge(found) == tally(commute, path)
    if of <= 10:
        assert min(part.reports for part in found) > 0


def cut(folder: Path, survey: Survey, *, reports: int, rows: int) -> Path:
    """Write one file of many row groups."""
    Partitions(survey, reports, 1).write(folder, 0)
    (whole,) = folder.glob("*.parquet")
    (batch,) = read_parquet(whole)
    write_parquet(whole, survey, (batch.slice(start, rows) for start in range(0, reports, rows)))
    return whole


@pytest.mark.parametrize(("pending", "width"), ROUNDS)
def test_row_groups_of_one_file_and_many_tiny_files_are_counted_by_many_tasks(
    spark: Any, tmp_path: Path, commute: Survey, monkeypatch: pytest.MonkeyPatch, pending: int, width: int
) -> None:
    (tmp_path / "tiny").mkdir()
    cut(tmp_path, commute, reports=10_000, rows=500)
    tiny = Partitions(commute, 60, 30)
    for place in range(tiny.count):
        tiny.write(tmp_path / "tiny", place)
    monkeypatch.setattr(counting, "LEAST_BYTES", 1)
    monkeypatch.setattr(cluster, "WIDTH", width)
    monkeypatch.setattr(cluster, "PENDING_BYTES", pending)
    sizes = {str(file): file.stat().st_size for file in tmp_path.glob("**/*.parquet")}
    tasks = counting.dealt(sizes, spark.sparkContext.defaultParallelism)
    assert 4 < len(tasks) <= 64
    assert max(map(len, tasks)) > 1
    found = engine.tally_files(commute, spark, [str(tmp_path)])
    assert found == tally(commute, tmp_path)
    assert found.reports == 10_060


def test_all_broken_files_are_found_in_one_pass(
    spark: Any, tmp_path: Path, commute: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Partitions(commute, 400, 4)
    for place in range(4):
        made.write(tmp_path, place)
    broken = [tmp_path / f"part-0000{place}.parquet" for place in (1, 3)]
    for file in broken:
        file.write_bytes(file.read_bytes()[:-20])
    passes = []
    count = counting.tally_shares
    monkeypatch.setattr(counting, "tally_shares", lambda *args, **how: passes.append(1) or count(*args, **how))
    told: list[Any] = []
    found = engine.tally_files(commute, spark, [str(tmp_path)], unreadable=told.append)
    assert [error.path for error in told] == [str(file) for file in broken]
    assert (found.reports, found.rejected, len(passes)) == (200, 2, 2)
    assert rows_of_parquet(broken[0]) is None


@pytest.mark.parametrize("seen", ["no such file", "another file"])
def test_files_that_executors_do_not_see_are_one_line(
    spark: Any, tmp_path: Path, commute: Survey, monkeypatch: pytest.MonkeyPatch, seen: str
) -> None:
    Partitions(commute, 100, 1).write(tmp_path, 0)
    (here,) = tmp_path.glob("*.parquet")
    there = here if seen == "another file" else tmp_path / "none.parquet"
    monkeypatch.setattr(counting, "data_files", lambda *_: {str(there): here.stat().st_size + 1})
    with pytest.raises(ClusterError, match=rf"^{there}: an executor does not see the file that is here; [^\n]+$"):
        engine.tally_files(commute, spark, [str(tmp_path)])


def test_files_of_both_kinds_are_added(spark: Any, tmp_path: Path, commute: Survey) -> None:
    made = Partitions(commute, 200, 2)
    for place in range(2):
        made.write(tmp_path, place)
    paths = [str(tmp_path / "part-00000.parquet"), f"viewfs://here{tmp_path}/part-00001.parquet"]
    assert engine.tally_files(commute, spark, paths) == tally(commute, tmp_path)
    with pytest.raises(ReportError, match=rf"^{tmp_path}/none: there is no such file$"):
        engine.tally_files(commute, spark, [f"file://{tmp_path}/none"])
