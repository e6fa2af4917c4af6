"""Tallies: parts equal the whole, every source gives the same counts, broken input is refused or counted."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.draws import seeded_bytes
from pldp import Device, Survey, Tally, tally
from pldp.cli import main
from pldp.errors import ReportError, TallyError
from pldp.reports import Rejection
from pldp.reports.columns import read_parquet, survey_of_parquet, to_batch, write_parquet
from pldp.simulate import Population, simulate_reports
from pldp.survey import loads
from pldp.tallies import BitCounts, OutputCounts
from pldp.tallies.kernel import tally_batch


@pytest.fixture
def batches(every_form: Survey) -> list[pa.RecordBatch]:
    people = Population.of_shares(every_form, 3000, seed=4)
    return list(simulate_reports(every_form, people, seed=4, rows=700))


def with_column(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    columns = {field: batch.column(field) for field in batch.schema.names}
    return pa.RecordBatch.from_pydict({**columns, name: column})


def replaced(batch: pa.RecordBatch, name: str, values: list, kind: pa.DataType | None = None) -> pa.RecordBatch:
    return with_column(batch, name, pa.array(values, kind or batch.schema.field(name).type))


def test_counts_are_those_of_a_plain_loop(every_form: Survey) -> None:
    device_reports = []
    for seed in range(60):
        device = Device(every_form, random=seeded_bytes(seed))
        level = ("strict", "open")[seed % 2]
        device_reports.append(device.answer_all({"direct": "b", "bits": "3", "hashed": "7", "mixed": "1"}, level))
    counted = tally(every_form, device_reports, patterns=True)
    for question in every_form.questions:
        for level, channel in zip(question.levels, question.channels, strict=True):
            outputs = [
                answer.output
                for report in device_reports
                for answer in report.answers
                if (answer.question, answer.level) == (question.name, level.name)
            ]
            counts = counted.counts[question.name, level.name]
            assert counts.reports == len(outputs) == 30
            if isinstance(counts, BitCounts):
                loop = [sum(channel.supports(output, value) for output in outputs) for value in range(channel.size)]
                assert counts.ones.tolist() == loop
                assert sorted(map(bytes, np.repeat(counts.patterns, counts.pattern_counts, axis=0))) == sorted(outputs)
            else:
                assert counts.counts.tolist() == [outputs.count(y) for y in range(len(counts.counts))]


@pytest.mark.parametrize("patterns", [False, True])
def test_tally_of_parts_equals_tally_of_whole(every_form: Survey, batches: list, patterns: bool) -> None:
    whole = tally(every_form, pa.Table.from_batches(batches), patterns=patterns)
    parts = [tally(every_form, batch, patterns=patterns) for batch in batches]
    assert sum(parts[1:], start=parts[0]) == whole
    assert Tally.merge(parts[::-1]) == whole
    assert tally(every_form, iter(batches), patterns=patterns) == whole
    assert whole.reports == 3000
    assert whole + Tally.empty(every_form, patterns=patterns) == whole


def test_every_source_gives_the_same_tally(every_form: Survey, batches: list, tmp_path) -> None:
    whole = tally(every_form, batches)
    assert write_parquet(tmp_path / "r.parquet", every_form, batches) == 3000
    assert tally(every_form, tmp_path / "r.parquet") == whole
    assert tally(every_form, str(tmp_path / "r.parquet")) == whole
    assert survey_of_parquet(tmp_path / "r.parquet").hash == every_form.hash
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    assert tally(every_form, reader) == whole


def test_records_and_columns_agree(every_form: Survey) -> None:
    reports = [
        Device(every_form).answer_all({"direct": "a", "bits": "0", "mixed": "2"}, level)
        for level in ["strict", "open"] * 20
    ]
    assert tally(every_form, reports) == tally(every_form, [report.to_json() for report in reports])
    assert tally(every_form, reports) == tally(every_form, to_batch(every_form, reports))


def test_plain_string_columns_count_like_dictionaries(every_form: Survey, batches: list) -> None:
    """Other engines write strings and variable-length binary; both are read."""
    batch = batches[0]
    for name in ("survey", "direct.level", "bits.level"):
        batch = replaced(batch, name, batch.column(name).to_pylist(), pa.string())
    for name in ("bits.bits", "mixed.bits"):
        batch = replaced(batch, name, batch.column(name).to_pylist(), pa.binary())
    batch = replaced(batch, "direct.output", batch.column("direct.output").to_pylist(), pa.int64())
    batch = replaced(batch, "id", batch.column("id").to_pylist(), pa.binary())
    assert tally(every_form, batch) == tally(every_form, batches[0])


def test_a_slice_of_a_batch_counts_its_own_rows(every_form: Survey, batches: list) -> None:
    batch = batches[0]
    assert tally_batch(every_form, batch.slice(0, 100)) + tally_batch(every_form, batch.slice(100)) == tally_batch(
        every_form, batch
    )


def change(batch: pa.RecordBatch, name: str, row: int, value: object) -> pa.RecordBatch:
    values = batch.column(name).to_pylist()
    values[row] = value
    kind = batch.schema.field(name).type
    if pa.types.is_integer(kind):
        kind = pa.int64()
    if pa.types.is_fixed_size_binary(kind):
        kind = pa.binary()
    return replaced(batch, name, values, pa.string() if pa.types.is_dictionary(kind) else kind)


WRONG_ROWS = [
    ("schema", 2, Rejection.WRONG_SCHEMA),
    ("schema", None, Rejection.WRONG_SCHEMA),
    ("survey", "0" * 64, Rejection.WRONG_SURVEY),
    ("survey", None, Rejection.WRONG_SURVEY),
    ("id", None, Rejection.BAD_ID),
    ("id", b"short", Rejection.BAD_ID),
    ("direct.level", "none", Rejection.UNKNOWN_LEVEL),
    ("direct.output", 3, Rejection.OUT_OF_RANGE),
    ("direct.output", -1, Rejection.OUT_OF_RANGE),
    ("direct.output", None, Rejection.WRONG_TYPE),
    ("hashed.output", 10**6, Rejection.OUT_OF_RANGE),
    ("bits.bits", None, Rejection.WRONG_TYPE),
    ("bits.bits", b"\x00", Rejection.WRONG_LENGTH),
    ("bits.bits", b"\x00\x04", Rejection.OUT_OF_RANGE),
]


@pytest.mark.parametrize(("column", "value", "reason"), WRONG_ROWS)
def test_a_wrong_row_is_counted_under_its_reason(
    every_form: Survey, batches: list, column: str, value: object, reason: Rejection
) -> None:
    batch = change(batches[0], column, 5, value)
    counted = tally(every_form, batch)
    assert counted.rejections == {reason: 1}
    others = pa.Table.from_batches([batches[0].slice(0, 5), batches[0].slice(6)])
    assert {cell: counts.reports for cell, counts in counted.counts.items()} == {
        cell: counts.reports for cell, counts in tally(every_form, others).counts.items()
    }
    assert counted.reports == batch.num_rows - 1


def test_a_row_without_answers_is_rejected(every_form: Survey, batches: list) -> None:
    batch = batches[0].slice(0, 10)
    for question in every_form.questions:
        name = f"{question.name}.level"
        batch = replaced(batch, name, [None] * 3 + batch.column(name).to_pylist()[3:])
    counted = tally(every_form, batch)
    assert (counted.reports, counted.rejections) == (7, {Rejection.NO_ANSWER: 3})


def test_records_of_another_survey_are_rejected_and_counted(every_form: Survey, commute: Survey) -> None:
    reports = [Device(commute).answer("late", "yes").to_json()] * 3 + ["garbage"]
    counted = tally(every_form, reports)
    assert (counted.reports, counted.rejections) == (0, {Rejection.WRONG_SURVEY: 3, Rejection.MALFORMED: 1})


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("direct.output", pa.float64()),
        ("direct.level", pa.int32()),
        ("id", pa.string()),
        ("bits.bits", pa.string()),
        ("survey", pa.int8()),
    ],
)
def test_a_column_of_the_wrong_type_gets_one_clear_line(every_form: Survey, batches: list, column: str, kind) -> None:
    batch = batches[0]
    batch = with_column(batch, column, pa.nulls(batch.num_rows, kind))
    with pytest.raises(ReportError, match=rf"^column {column} must [^\n]+$"):
        tally(every_form, batch)


def test_a_missing_column_is_named(every_form: Survey, batches: list) -> None:
    with pytest.raises(ReportError, match=r"column bits\.bits is missing"):
        tally(every_form, pa.Table.from_batches(batches[:1]).drop_columns(["bits.bits"]))


def test_truncated_and_foreign_files_get_one_clear_line(every_form: Survey, batches: list, tmp_path) -> None:
    path = tmp_path / "r.parquet"
    write_parquet(path, every_form, batches)
    content = path.read_bytes()
    for cut in (0, 3, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(ReportError, match=r"r\.parquet: is not a complete Parquet file[^\n]*$"):
            tally(every_form, path)
        with pytest.raises(ReportError, match="not a complete Parquet file"):
            survey_of_parquet(path)
    with pytest.raises(ReportError, match="no such file"):
        tally(every_form, tmp_path / "none.parquet")
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(ReportError, match="does not carry its survey"):
        survey_of_parquet(path)
    with pytest.raises(ReportError, match="column schema is missing"):
        tally(every_form, path)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_corrupt_parquet_file_never_crashes(tmp_path_factory, data: st.DataObject) -> None:
    survey = Survey.load("examples/commute.toml")
    path = tmp_path_factory.mktemp("corrupt") / "r.parquet"
    people = Population.of_shares(survey, 50, seed=1)
    write_parquet(path, survey, simulate_reports(survey, people, seed=1))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        list(read_parquet(path))
    except ReportError as error:
        assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize("patterns", [False, True])
def test_a_tally_file_gives_the_tally_back(every_form: Survey, batches: list, tmp_path, patterns: bool) -> None:
    counted = tally(every_form, [*batches, change(batches[0], "direct.output", 5, 9)], patterns=patterns)
    counted.save(tmp_path / "t.tally")
    loaded = Tally.load(tmp_path / "t.tally")
    assert loaded == counted
    assert loaded.rejected == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "t.tally"]


def test_a_broken_tally_file_is_refused(every_form: Survey, batches: list, tmp_path) -> None:
    path = tmp_path / "t.tally"
    tally(every_form, batches).save(path)
    content = path.read_bytes()
    for broken in (b"", content[: len(content) // 2], b"x" * 50):
        path.write_bytes(broken)
        with pytest.raises(TallyError, match=r"t\.tally: is not a complete tally file[^\n]*$"):
            Tally.load(path)
    with pytest.raises(TallyError, match="no such file"):
        Tally.load(tmp_path / "none")
    np.savez(tmp_path / "t.npz", header=np.frombuffer(json.dumps({"pldp_tally": 9}).encode(), np.uint8))
    with pytest.raises(TallyError, match="pldp_tally must be 1, not 9"):
        Tally.load(tmp_path / "t.npz")


def test_counts_that_do_not_fit_the_survey_are_refused(commute: Survey, tmp_path) -> None:
    counted = Tally.empty(commute)
    counted.counts["late", "open"] = OutputCounts(np.array([1, 2, 3]))
    counted.save(tmp_path / "t.tally")
    with pytest.raises(TallyError, match="do not fit the survey's channels"):
        Tally.load(tmp_path / "t.tally")


def test_tallies_of_different_surveys_do_not_add(every_form: Survey, commute: Survey) -> None:
    with pytest.raises(TallyError, match="of one survey"):
        Tally.empty(every_form) + Tally.empty(commute)
    with pytest.raises(TallyError, match="need at least one tally"):
        Tally.merge([])
    with pytest.raises(TypeError):
        Tally.empty(commute) + 1


def test_nothing_is_lost_by_adding_to_an_empty_tally(every_form: Survey, batches: list) -> None:
    kept = tally(every_form, batches, patterns=True)
    assert sum([kept], Tally.empty(every_form)) == kept
    assert Tally.empty(every_form) + kept == kept


def test_what_is_no_set_of_reports_gets_one_clear_line(every_form: Survey) -> None:
    report = Device(every_form).answer("direct", "a")
    for single in (report, report.to_mapping(), b"{}", 3):
        with pytest.raises(ReportError, match="reports must be many"):
            tally(every_form, single)
    assert tally(every_form, [1, None, report]).rejections == {Rejection.MALFORMED: 2}


def test_records_and_batches_can_come_together(every_form: Survey, batches: list) -> None:
    report = Device(every_form).answer("direct", "a")
    assert tally(every_form, [report, batches[0], report]).reports == batches[0].num_rows + 2


@pytest.mark.parametrize("seed", range(40))
def test_a_corrupt_tally_file_is_refused_or_harmless(every_form: Survey, batches: list, tmp_path, seed: int) -> None:
    path = tmp_path / "t.tally"
    counted = tally(every_form, batches[:1], patterns=True)
    counted.save(path)
    content, generator = bytearray(path.read_bytes()), np.random.default_rng(seed)
    for place in generator.integers(0, len(content), 4):
        content[place] ^= int(generator.integers(1, 256))
    path.write_bytes(content)
    try:
        loaded = Tally.load(path)
    except TallyError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert loaded == counted


def test_a_large_hash_table_does_not_pile_up_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = json.dumps([str(number) for number in range(2000)])
    monkeypatch.setattr("pldp.tallies.kernel.PENDING_COUNTERS", 300_000)  # two tallies of this survey
    survey = loads(f'pldp=1\ntitle="t"\nlevels={{a=4}}\nquestions=[{{name="q",mechanism="lh",values={labels}}}]')
    reports = list(simulate_reports(survey, Population.of_shares(survey, 240, seed=1), seed=1, rows=10))
    tracemalloc.start()
    try:
        counted = tally(survey, reports)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert counted.reports == 240
    assert most < len(reports) * counted.counts["q", "a"].counts.nbytes  # less than the tallies of all batches


def test_progress_counts_rows(every_form: Survey, batches: list) -> None:
    seen: list[int] = []
    tally(every_form, batches, progress=seen.append)
    assert seen == [700, 1400, 2100, 2800, 3000]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5), st.booleans())
def test_merging_is_associative_and_commutative(seeds: list[int], patterns: bool) -> None:
    survey = Survey.load("examples/commute.toml")
    parts = [
        tally(survey, simulate_reports(survey, Population.of_shares(survey, 20, seed=s), seed=s), patterns=patterns)
        for s in seeds
    ]
    left = parts[0]
    for part in parts[1:]:
        left = left + part
    right = parts[-1]
    for part in parts[-2::-1]:
        right = part + right
    assert left == right == Tally.merge(parts[::-1])


@pytest.mark.parametrize("patterns", [False, True])
def test_what_was_added_can_be_taken_out_again(every_form: Survey, batches: list, patterns: bool) -> None:
    options = {"patterns": patterns, "pairs": [("direct", "bits")]}
    whole, part, rest = (tally(every_form, some, **options) for some in (batches, batches[:2], batches[2:]))
    assert whole.without(part) == rest
    assert whole.without(part) != whole
    assert whole.without(whole).reports == 0


def test_only_tallies_of_one_survey_are_taken_out(every_form: Survey, commute: Survey) -> None:
    with pytest.raises(TallyError, match="same survey"):
        Tally.empty(every_form).without(Tally.empty(commute))


def test_reports_with_two_labels_of_hidden_levels_are_counted_and_told(tmp_path, capsys) -> None:
    """As devices sent them before; a skipped question has no label."""
    survey = loads(
        'pldp=1\ntitle="t"\nhide_level={epsilon=1}\nlevels={a=1,b=1.2}\n'
        'questions=[{name="q",values=["x","y"],mechanism="krr"},{name="r",values=["x","y"],mechanism="krr"}]'
    )
    reports = [
        {"pldp": 1, "survey": survey.hash, "id": f"{number:032x}", "answers": [
            {"question": name, "level": level, "output": 0} for name, level in zip("qr", levels, strict=False)
        ]} for number, levels in enumerate(["aa", "ab", "ba", "b", "bb"])
    ]  # fmt: skip
    counted = tally(survey, reports)
    assert (counted.reports, counted.rejected, counted.two_labels) == (5, 0, 2)
    assert (counted + counted).two_labels == 4
    assert counted.without(tally(survey, reports[:2])).two_labels == 1
    survey.save(tmp_path / "s.json")
    path = tmp_path / "reports.jsonl"
    path.write_text("".join(json.dumps(report) + "\n" for report in reports))
    assert main(["tally", str(path), "--survey", str(tmp_path / "s.json"), "--out", str(tmp_path / "t.tally")]) == 0
    assert "2 reports show two labels of hidden levels" in capsys.readouterr().err
