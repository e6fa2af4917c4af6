"""Reports whose id came before: the number is right wherever batches end, and every source and output names it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pldp import Survey, Tally, estimate, tally
from pldp.cli import main
from pldp.errors import TallyError
from pldp.reports.columns import from_batch, write_parquet
from pldp.simulate import Population, simulate_reports
from pldp.tallies import Repeats, repeats
from pldp.tallies.frames import frame_table

COMMUTE = "examples/commute.toml"


def reports_of(survey: Survey, people: int = 600) -> pa.Table:
    population = Population.of_shares(survey, people, seed=4)
    return pa.Table.from_batches(simulate_reports(survey, population, seed=4, rows=200))


def again(ids: np.ndarray, rows: int = 1 << 18) -> int:
    found = Repeats()
    for start in range(0, len(ids), rows):
        found.add(ids[start : start + rows])
    return found.count()


def random_ids(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 16), np.uint8)


@given(numbers=st.lists(st.integers(0, 40), max_size=200), rows=st.integers(1, 200), high=st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_number_is_that_of_a_plain_loop_wherever_batches_end(numbers: list[int], rows: int, high: bool) -> None:
    """Also for ids that are not random and differ in one half of their bytes only."""
    words = np.zeros((len(numbers), 2), "<u8")
    words[:, int(high)] = numbers
    expected = sum(count - 1 for count in Counter(numbers).values())
    assert again(words.view(np.uint8), rows) == expected


@pytest.mark.parametrize(
    "source",
    [
        lambda _, table: table,
        lambda _, table: table.to_batches(max_chunksize=77),
        lambda _, table: table.to_reader(),
        lambda _, table: table.to_pandas(),
        lambda survey, table: [report for batch in table.to_batches() for report in from_batch(survey, batch)],
        lambda survey, table: [each.to_json() for batch in table.to_batches() for each in from_batch(survey, batch)],
    ],
    ids=["table", "batches", "reader", "pandas", "reports", "json"],
)
def test_every_report_sent_twice_is_named_whatever_holds_the_reports(source: Any) -> None:
    survey = Survey.load(COMMUTE)
    table = reports_of(survey)
    assert tally(survey, source(survey, table)).repeated == 0  # the twin
    twice = tally(survey, source(survey, pa.concat_tables([table, table])))
    assert (twice.reports, twice.rejected, twice.repeated) == (1200, 0, 600)
    words = "600 reports have an id that came before: were they sent or copied twice? They are counted."
    assert words in repr(twice)
    assert words in twice._repr_html_()
    assert tally(survey, source(survey, pa.concat_tables([table, table])), repeats=False).repeated == 0


def test_rejected_reports_are_not_among_them() -> None:
    survey = Survey.load(COMMUTE)
    frame = pa.concat_tables([reports_of(survey, 50)] * 2).to_pandas()
    frame["late.level"] = frame["late.level"].astype(object)
    frame.loc[60:, "late.level"] = "no such level"
    counted = tally(survey, frame_table(survey, frame))
    assert (counted.reports, counted.repeated) == (60, 10)


def test_the_number_adds_up_and_is_kept_by_the_file(tmp_path: Path) -> None:
    survey = Survey.load(COMMUTE)
    table = reports_of(survey)
    once, twice = tally(survey, table), tally(survey, pa.concat_tables([table, table]))
    assert (once + once).repeated == 0  # what was counted apart is not compared
    assert (twice + twice).repeated == 1200
    assert twice.without(twice).repeated == 0
    twice.save(tmp_path / "twice.tally")
    assert Tally.load(tmp_path / "twice.tally").repeated == 600
    assert b"repeated" not in once.to_bytes()  # as former files
    for wrong in (-1, 601):
        content = Tally(survey, once.counts, once.reports, repeated=wrong).to_bytes()
        with pytest.raises(TallyError, match="cannot have an id that came before"):
            Tally.from_bytes(content)


def test_results_have_a_note() -> None:
    survey = Survey.load(COMMUTE)
    table = reports_of(survey)
    assert "repeated-ids" not in [note.code for note in estimate(tally(survey, table), "late").notes]
    (note,) = (
        note
        for note in estimate(tally(survey, pa.concat_tables([table, table])), "late").notes
        if note.code == "repeated-ids"
    )
    assert note.severity == "warning"
    assert note.text.startswith("600 reports have an id that came before")


def test_the_command_compares_all_files_of_a_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey = Survey.load(COMMUTE)
    table = reports_of(survey)
    for name in ("a", "b"):
        write_parquet(tmp_path / f"{name}.parquet", survey, table.to_batches())
    both = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    out = str(tmp_path / "out.tally")
    assert main(["tally", both[0], "--out", out]) == 0
    assert "came before" not in capsys.readouterr().out
    assert main(["tally", *both, "--out", out]) == 0
    assert "600 reports have an id that came before" in " ".join(capsys.readouterr().out.split())
    assert main(["tally", *both, out, "--out", out, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["repeated"] == 1200
    assert main(["tally", *both, "--engine", "duckdb", "--out", out, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["repeated"] is None  # it does not look


def test_the_number_is_never_above_that_of_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that turn out to be unreadable leave ids behind, and the number is an estimate where ids are many."""
    survey = Survey.load(COMMUTE)
    torn = tmp_path / "torn.parquet"
    pq.write_table(reports_of(survey), torn, row_group_size=100, write_page_checksum=True, use_dictionary=False)
    content = bytearray(torn.read_bytes())
    chunk = pq.read_metadata(torn).row_group(5).column(2)
    content[chunk.data_page_offset + chunk.total_compressed_size - 9] ^= 1
    torn.write_bytes(content)
    out = str(tmp_path / "t.tally")
    assert main(["tally", str(torn), str(torn), "--skip-unreadable", "--out", out, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["reports"], found["rejections"], found["repeated"]) == (0, {"unreadable": 1200}, 0)
    assert Tally.load(out).repeated == 0


@pytest.mark.parametrize("bits", [0, 2])
def test_of_many_reports_a_sample_decides_and_the_number_is_exact(monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    """Limits are small. 3,000 ids that come twice go unnoticed with (31/32)³⁰⁰⁰; every 21st row is looked at."""
    monkeypatch.setattr(repeats, "ALWAYS", 1 << 12)
    monkeypatch.setattr(repeats, "_ROWS", 1 << 10)
    ids = random_ids(20_000)
    assert again(ids, 1000) == 0
    assert again(np.concatenate([ids, ids[:3000]]), 1000 << bits) == 3000
    assert again(np.concatenate([ids, np.repeat(ids[:1], 600, axis=0)]), 1000 << bits) == 600


def test_of_more_ids_than_are_kept_the_number_is_about_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end at least 2¹² of 2¹⁶ ids are followed: 8 % are more than five standard errors of the number."""
    monkeypatch.setattr(repeats, "ALWAYS", 1 << 10)
    monkeypatch.setattr(repeats, "MOST", 1 << 14)
    ids = random_ids(1 << 16)
    assert again(ids, 1000) == 0
    twice = again(np.concatenate([ids, ids]), 1000)
    assert abs(twice / len(ids) - 1) < 0.08
    assert again(np.repeat(ids[:1], 1 << 16, axis=0), 1000) >= 1 << 14
    found = Repeats()
    for start in range(0, len(ids), 1000):
        found.add(ids[start : start + 1000])
        assert sum(map(len, found._parts)) <= 1 << 14
