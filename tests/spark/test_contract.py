"""The contract of all engines: the tally is that of a plain loop over the reports, whoever counts them."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.claims import runs
from helpers.engines import Engine, Frames, Local, Spark
from pldp import Device, Survey, Tally
from pldp.errors import ReportError, TallyError, UnreadableError
from pldp.estimates import itemsets, supports
from pldp.mechanisms import Bits, Channel, build
from pldp.reports import Rejection
from pldp.reports.columns import schema, write_parquet
from pldp.simulate import Population, simulate_reports
from pldp.survey import SCHEMA, Question, loads
from pldp.tallies import BitCounts, Service

pytestmark = pytest.mark.xdist_group("spark")
FULL = pytest.mark.skipif(not os.environ.get("PLDP_LONG"), reason="in `make test-spark`")

FORMS = loads(
    """
    pldp = 1
    title = "every form"
    [levels]
    strict = 0.5
    "o`p.en" = 2
    [[questions]]
    name = "direct"
    values = ["a", "b", "c"]
    mechanism = "krr"
    [[questions]]
    name = "mix.ed"
    values = ["0", "1", "2", "3", "4", "5", "6", "7", "8"]
    mechanism = { strict = "sue", "o`p.en" = "krr" }
    """
)


@pytest.fixture(params=["local", "spark", pytest.param("frames", marks=FULL)])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    if request.param == "local":
        return Local(tmp_path)
    return {"spark": Spark, "frames": Frames}[request.param](tmp_path, request.getfixturevalue("spark"))


EVERY = pytest.mark.parametrize("engine", ["local", "spark", "frames"], indirect=True)
"""Also in the short form, where Spark reads the files itself."""
BOTH = pytest.mark.parametrize("engine", ["local", "spark"], indirect=True)
"""For what does not depend on who reads files."""


def write(folder: Path, survey: Survey, *, people: int = 3000, files: int = 3) -> Path:
    for place in range(files):
        drawn = Population.of_shares(survey, people, seed=place)
        write_parquet(folder / f"{place}.parquet", survey, simulate_reports(survey, drawn, seed=place))
    return folder


def named(engine: Engine, name: str) -> str:
    """Return the pattern of the file that a message names; Spark speaks of all files at once."""
    return "" if engine.name == "frames" else rf"\S+/{name}\.parquet: "


def reason_of(used: Channel, output: Any) -> Rejection | None:
    """Say what is wrong with an output, in the words of the wire format."""
    if output is None:
        return Rejection.WRONG_TYPE
    if isinstance(used.form, Bits) and len(output) != used.form.bytes:
        return Rejection.WRONG_LENGTH
    impossible = (
        int.from_bytes(output, "little") >> used.size
        if isinstance(used.form, Bits)
        else output not in range(used.form.count)
    )
    return Rejection.OUT_OF_RANGE if impossible else None


def reasons_of(survey: Survey, row: dict[str, Any]) -> list[Rejection]:
    wrong = [Rejection.WRONG_SCHEMA] * (row["schema"] != SCHEMA) + [Rejection.WRONG_SURVEY] * (
        row["survey"] != survey.hash
    )
    wrong += [Rejection.BAD_ID] * (row["id"] is None or len(row["id"]) != 16)
    given = [(question, row[f"{question.name}.level"]) for question in survey.questions]
    given = [(question, level) for question, level in given if level is not None]
    for question, level in given:
        if level not in question.level_index:
            wrong.append(Rejection.UNKNOWN_LEVEL)
        elif reason := reason_of(*used_and_output(question, level, row)):
            wrong.append(reason)
    return wrong or [Rejection.NO_ANSWER] * (not given)


def used_and_output(question: Question, level: str, row: dict[str, Any]) -> tuple[Channel, Any]:
    used = question.channels[question.level_index[level]]
    return used, row[f"{question.name}.{'bits' if isinstance(used.form, Bits) else 'output'}"]


def plain_loop(survey: Survey, rows: list[dict[str, Any]]) -> tuple[Counter, Counter]:
    """Count rows one by one: question, level and output; reasons to reject."""
    counted, reasons = Counter(), Counter()
    for row in rows:
        if wrong := reasons_of(survey, row):
            reasons[wrong[0]] += 1
            continue
        levels = {question: row[f"{question.name}.level"] for question in survey.questions}
        counted.update(
            (question.name, level, used_and_output(question, level, row)[1])
            for question, level in levels.items()
            if level
        )
    return counted, reasons


def as_counter(tally: Tally) -> Counter:
    found: Counter = Counter()
    for cell, counts in tally.counts.items():
        if isinstance(counts, BitCounts):
            rows, numbers = counts.patterns, counts.pattern_counts
            found.update({(*cell, bytes(row)): int(n) for row, n in zip(rows, numbers, strict=True)})
        else:
            found.update({(*cell, output): int(n) for output, n in enumerate(counts.counts) if n})
    return found


levels = st.sampled_from(["strict", "o`p.en", "o`p.en", "OPEN", "", None])
any_row = st.fixed_dictionaries(
    {
        "schema": st.sampled_from([SCHEMA] * 8 + [0, None]),
        "survey": st.sampled_from([FORMS.hash] * 8 + [FORMS.hash.upper(), "", None]),
        "id": st.sampled_from([bytes(16)] * 8 + [b"short", b"", None]),
        "direct.level": levels,
        "direct.output": st.one_of(st.integers(0, 2), st.integers(0, 2), st.integers(-(2**31), 2**31 - 1), st.none()),
        "mix.ed.level": levels,
        "mix.ed.output": st.one_of(st.integers(0, 8), st.integers(0, 8), st.sampled_from([9, -1, 255, None])),
        "mix.ed.bits": st.one_of(
            st.tuples(st.integers(0, 255), st.integers(0, 1)).map(bytes), st.binary(max_size=3), st.none()
        ),
    }
)
WRITTEN = pa.schema(
    [
        ("schema", pa.int16()),
        ("survey", pa.string()),
        ("id", pa.binary()),
        ("direct.level", pa.string()),
        ("direct.output", pa.int32()),
        ("mix.ed.level", pa.string()),
        ("mix.ed.output", pa.int16()),
        ("mix.ed.bits", pa.binary()),
    ]
)


@settings(
    max_examples=runs(2, 40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(any_row, min_size=1, max_size=60))
def test_any_reports_are_counted_like_a_plain_loop_counts_them(engine: Engine, tmp_path: Path, rows: list) -> None:
    pq.write_table(pa.Table.from_pylist(rows, WRITTEN), tmp_path / "any.parquet", row_group_size=20)
    counted = engine.tally(FORMS, tmp_path / "any.parquet", patterns=True)
    outputs, reasons = plain_loop(FORMS, rows)
    assert as_counter(counted) == outputs
    assert counted.rejections == reasons
    assert counted.reports == len(rows) - reasons.total()


@EVERY
def test_the_tally_is_bit_for_bit_that_of_one_machine(engine: Engine, tmp_path: Path) -> None:
    folder = write(tmp_path, FORMS)
    how = {"patterns": True, "pairs": [("direct", "mix.ed")]}
    parts = [Local(tmp_path).tally(FORMS, folder / f"{place}.parquet", **how) for place in range(3)]
    found = engine.tally(FORMS, folder, **how)
    assert found == Tally.merge(parts)
    assert found.reports == 9000
    found.save(tmp_path / "t.tally")
    assert Tally.load(tmp_path / "t.tally") == found


@BOTH
def test_reports_in_json_are_counted(engine: Engine, tmp_path: Path) -> None:
    texts = [Device(FORMS, random=np.random.default_rng(n).bytes).answer("direct", "b").to_json() for n in range(20)]
    (tmp_path / "r.jsonl").write_text("\n".join([*texts, "garbage"]) + "\n", encoding="utf-8")
    counted = engine.tally_texts(FORMS, tmp_path / "r.jsonl")
    assert (counted.reports, counted.rejections) == (20, {Rejection.MALFORMED: 1})


@pytest.mark.parametrize(
    ("column", "kind"),
    [("direct.output", pa.float64()), ("direct.level", pa.int32()), ("id", pa.string()), ("mix.ed.bits", pa.string())],
)
def test_a_column_of_the_wrong_type_gets_one_clear_line(engine: Engine, tmp_path: Path, column: str, kind: Any) -> None:
    table = pa.Table.from_pylist([{}], WRITTEN)
    place = table.column_names.index(column)
    pq.write_table(table.set_column(place, column, pa.nulls(1, kind)), tmp_path / "r.parquet")
    line = rf"^{named(engine, 'r')}column {column} must [^\n]+, not (double|int32|string)$"
    with pytest.raises(ReportError, match=line):
        engine.tally(FORMS, tmp_path / "r.parquet")


def test_reports_of_another_survey_are_refused_or_rejected(engine: Engine, tmp_path: Path, commute: Survey) -> None:
    folder = write(tmp_path, commute, people=10, files=1)
    with pytest.raises(ReportError, match=rf"^{named(engine, '0')}column direct\.level is missing$"):
        engine.tally(FORMS, folder)
    longer = loads(FORMS.canonical.decode().replace("every form", "every other form"))
    (tmp_path / "own").mkdir()
    assert engine.tally(longer, write(tmp_path / "own", FORMS, people=10)).rejections == {Rejection.WRONG_SURVEY: 30}


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    return content[:2000] + bytes(byte ^ 255 for byte in content[2000:2050]) + content[2050:]


@pytest.mark.parametrize(
    ("spoil", "lost"),
    [
        (flipped, 3000),
        pytest.param(truncated, 1, marks=FULL),
        pytest.param(lambda _: b"", 1, marks=FULL),
    ],
)
def test_a_corrupt_file_is_an_error_unless_asked_to_pass_over_it(
    engine: Engine, tmp_path: Path, spoil: Any, lost: int
) -> None:
    folder = write(tmp_path, FORMS)
    file = folder / "1.parquet"
    file.write_bytes(spoil(file.read_bytes()))
    with pytest.raises(
        UnreadableError, match=r"1\.parquet: is not a complete Parquet file of reports \([^\n]+\)$"
    ) as told:
        engine.tally(FORMS, folder)
    assert told.value.path.removeprefix("viewfs://here") == str(file)
    if engine.name != "local":  # the local engine passes over files in the command line only
        passed: list[UnreadableError] = []
        found = engine.tally(FORMS, folder, unreadable=passed.append)
        assert [error.path for error in passed] == [told.value.path]
        assert (found.reports, found.rejections) == (6000, {Rejection.UNREADABLE: lost})


def test_no_files_get_one_clear_line(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"none: there is no such file$"):
        engine.tally(FORMS, tmp_path / "none")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ReportError, match=r"folder: there is no Parquet file in this folder$"):
        engine.tally(FORMS, tmp_path / "folder")


ROUNDING, WAVE = build("sr", 8, 1_000_000), build("sw", 8, 500_000)
RESPONSE = build("krr", 8, 1_000_000)


def services(kind: type, people: int = 500) -> list[Service]:
    generator = np.random.default_rng(5)
    made = []
    for name, each in zip("abc", (ROUNDING, WAVE, RESPONSE), strict=True):
        keys = generator.permutation(people)[: people - 100].tolist()
        outputs = generator.integers(0, each.form.count, len(keys)).tolist()
        made.append(Service(name, each, [kind(key) for key in keys], outputs))
    return made


@BOTH
@pytest.mark.parametrize("kind", [pytest.param(int, marks=FULL), str])
def test_services_are_fused_bit_for_bit_as_on_one_machine(engine: Engine, tmp_path: Path, kind: type) -> None:
    given = services(kind)
    given[1].outputs[:3] = [None, 10**6, -1]
    found, expected = engine.fuse(given, outside="skip"), Local(tmp_path).fuse(given, outside="skip")
    assert np.array_equal(found.cells, expected.cells)
    assert np.array_equal(found.counts, expected.counts)
    assert found.sources == expected.sources
    assert found.sources[1].skipped == {"missing": 1, "impossible": 2}


@BOTH
@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        pytest.param({"outputs": [0, 2]}, "service 'b': outputs must be below 2; 1 impossible of 2", marks=FULL),
        pytest.param({"outputs": [0.5, 1]}, "service 'b': outputs must be integers; 1 of 2 are not", marks=FULL),
        ({"outputs": ["0", "1"]}, "service 'b': outputs must be integers, not string"),
        pytest.param(
            {"keys": [1, 1]}, "service 'b': keys must be unique; 1 of 2 reports repeat an earlier key", marks=FULL
        ),
        ({"keys": [1, None]}, "service 'b': every report must have a key; 1 have none"),
        ({"keys": ["x", "y"]}, "keys of all services must be of one type, not int64 and string"),
        ({"name": "a"}, "different names"),
    ],
)
def test_services_that_do_not_fit_get_one_clear_line(engine: Engine, spoil: dict, line: str) -> None:
    good = Service("a", ROUNDING, [1, 2], [0, 1])
    with pytest.raises(TallyError, match=line) as told:
        engine.fuse([good, Service(**{"name": "b", "channel": ROUNDING, "keys": [1, 2], "outputs": [0, 1], **spoil})])
    assert "\n" not in str(told.value)


@BOTH
def test_frequent_sets_are_those_of_one_machine(engine: Engine, tmp_path: Path) -> None:
    survey = Survey.load("examples/shopping.toml")
    folder = write(tmp_path, survey, people=4000, files=2)
    expected = itemsets(*Local(tmp_path).baskets(survey, folder, "basket"), 0.1, differ=0)
    found = itemsets(*engine.baskets(survey, folder, "basket"), 0.1, differ=0)
    assert found == expected
    assert len(found.sets) > 3
    with pytest.raises((TallyError, ValueError), match="must be of kind choices"):
        engine.baskets(survey, folder, "reason")


@BOTH
@FULL
def test_supports_of_chosen_sets_are_those_of_one_machine(engine: Engine, tmp_path: Path) -> None:
    survey = Survey.load("examples/shopping.toml")
    folder = write(tmp_path, survey, people=4000, files=2)
    sets = [("bread", "milk"), ("fish", "bread", "beer")]
    found, expected = (supports(*each.baskets(survey, folder, "basket"), sets) for each in (engine, Local(tmp_path)))
    assert found.rows() == expected.rows()


def test_columns_of_reports_are_those_of_the_wire_format() -> None:
    assert schema(FORMS).names == WRITTEN.names
