"""Export to Parquet: every stored report once, no withdrawn one, however often it is run or interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from helpers.collector.retaining import Clock, delete_at
from helpers.collector.senders import make_reports, packed, receipt_of
from pldp.cli import main
from pldp.collector import Exported, Lake, Store, lake
from pldp.errors import StoreError
from pldp.survey import Survey, loads
from pldp.tallies import tally


def test_an_export_has_each_report_of_each_round_once(where: str | Path, commute: Survey, tmp_path: Path) -> None:
    """While a collector has the store. Few late reports wait until they are in blocks."""
    reports = make_reports(commute, 190)
    rows, folder = packed(commute, reports), tmp_path / "lake"
    with closing(Store(commute, where)) as store:
        store.add(rows[:60], {})
        store.close_round()
        store.open_round()
        store.add(rows[60:120], {})
        assert Lake(where, folder).export() == Exported(2, 120, [])
        assert Lake(where, folder).export() == Exported(0, 0, [])
        store.add(rows[120:180], {})
        store.add(rows[180:], {})
        assert Lake(where, folder).export() == Exported(1, 120, [])
        assert tally(commute, folder / "round=1") == tally(commute, reports[:60])
        assert tally(commute, folder / "round=2") == tally(commute, reports[60:180])
        store.close_round()
        Lake(where, folder).export()
    assert tally(commute, folder) == tally(commute, reports)
    ids = pq.read_table(folder / "round=2" / "part-000000.parquet", partitioning=None)["id"].to_pylist()
    assert ids == sorted(ids)


def test_what_is_withdrawn_leaves_the_export(where: str | Path, commute: Survey, tmp_path: Path, monkeypatch) -> None:
    """Only the file that had it is written again; also if the store deletes the other reports in between."""
    reports = make_reports(commute, 240)
    rows, folder = packed(commute, reports), tmp_path / "lake"
    clock = Clock()
    with closing(Store(commute, where, clock=clock)) as store:
        store.add(rows[:120], {})
        store.close_round()
        store.open_round()
        store.add(rows[120:], {})
        Lake(where, folder).export()
        assert store.withdraw(receipt_of(rows[3].id))
        assert Lake(where, folder).export() == Exported(1, 119, [])
        assert store.withdraw(receipt_of(rows[4].id))
        assert delete_at(store, clock, 1) == [1]
        assert Lake(where, folder).export() == Exported(1, 118, [])
        assert tally(commute, folder / "round=1") == tally(commute, [*reports[:3], *reports[5:120]])
        assert Lake(where, folder).export() == Exported(0, 0, [])
        late = Lake(where, tmp_path / "late").export()
    assert (late.files, late.reports) == (1, 120)
    assert late.missing == ["round=1/part-000000.parquet: the single reports of round 1 were deleted before the export"]


def test_a_lost_state_or_file_is_made_again(tmp_path: Path, commute: Survey) -> None:
    path, folder = tmp_path / "reports.db", tmp_path / "lake"
    with closing(Store(commute, path)) as store:
        store.add(packed(commute, make_reports(commute, 60)), {})
    Lake(path, folder).export()
    part = folder / "round=1" / "part-000000.parquet"
    whole = part.read_bytes()
    for lose in (part.unlink, (folder / lake.STATE).unlink, lambda: (folder / lake.STATE).write_text("{")):
        lose()
        assert Lake(path, folder).export() == Exported(1, 60, [])
        assert part.read_bytes() == whole
    other = loads('pldp=1\ntitle="t"\nlevels={a=1}\nquestions=[{name="q",values=["x","y"]}]')
    Store(other, tmp_path / "other.db").close()
    with pytest.raises(StoreError, match="reports of another survey"):
        Lake(tmp_path / "other.db", folder).export()


def test_damaged_reports_are_left_out_and_named(tmp_path: Path, commute: Survey) -> None:
    from helpers.collector.places import query  # noqa: PLC0415

    path = tmp_path / "reports.db"
    with closing(Store(commute, path)) as store:
        store.add(packed(commute, make_reports(commute, 60)), {})
    query(path, "UPDATE blocks SET digest = x'00'")
    exported = Lake(path, tmp_path / "lake").export()
    assert exported.missing == ["round=1/part-000000.parquet: reports 0 to 59 are damaged and left out"]


def test_the_command_exports_once_or_goes_on(tmp_path: Path, commute: Survey, capsys) -> None:
    path, folder = tmp_path / "reports.db", tmp_path / "lake"
    command = ["store", "export", str(folder), "--database", str(path)]
    assert main(command) == 2
    assert "there is no such store" in capsys.readouterr().err
    reports = make_reports(commute, 120)
    rows = packed(commute, reports)
    with closing(Store(commute, path)) as store:
        store.add(rows[:60], {})
        assert main([*command, "--every", "2"]) == 2
        assert "goes with --follow" in capsys.readouterr().err
        assert main([*command, "--json", "-"]) == 0
        assert json.loads(capsys.readouterr().out) == {"files": 1, "reports": 60, "missing": []}
        program = [sys.executable, "-m", "pldp", *command, "--follow", "--every", "0.05"]
        following = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert following.stdout is not None
        following.stdout.readline()
        store.add(rows[60:], {})
        assert following.stdout.readline() == b"1 files written, 120 reports in them\n"
        following.send_signal(signal.SIGKILL)
        following.communicate()
    assert tally(commute, folder) == tally(commute, reports)
