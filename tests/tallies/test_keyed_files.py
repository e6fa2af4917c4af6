"""Files with keys: the same tuples from Parquet, CSV and JSON lines, and one line for what cannot be joined."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import pldp
from pldp.errors import PldpError
from pldp.mechanisms import build
from pldp.reports.columns import from_batch, schema
from pldp.simulate import Population, simulate_reports
from pldp.tallies import Asked, Fused, Plain, join_services, keyed_reports, read_plain_file, read_survey_file, survey_of

QUESTIONS = [
    {"name": "mode", "values": ["bus", "bike", "car"], "mechanism": "krr"},
    {"name": "colour", "values": ["red", "blue"], "mechanism": "oue"},
    {"name": "hours", "kind": "number", "low": 0, "high": 10, "buckets": 20},
]
CONTENT = {"pldp": 1, "title": "t", "levels": {"strict": 0.5, "open": 2}, "questions": QUESTIONS}


def reports(seed: int, people: int, **more: Any) -> tuple[pldp.Survey, pa.Table]:
    survey = pldp.Survey.read({**CONTENT, **more})
    made = simulate_reports(survey, Population.of_shares(survey, people, seed=seed), seed=seed)
    return survey, pa.Table.from_batches(list(made))


def write(path: Path, survey: pldp.Survey, table: pa.Table, keys: Any, name: str = "person") -> str:
    table = table.append_column(name, pa.array(keys))
    if path.suffix == ".parquet":
        pq.write_table(table.replace_schema_metadata(schema(survey).metadata), path)
    elif path.suffix == ".csv":
        for place, column in enumerate(table.column_names):
            if column == "id" or column.endswith(".bits"):
                texts = [None if each is None else each.hex() for each in table[column].to_pylist()]
                table = table.set_column(place, column, pa.array(texts))
            elif pa.types.is_dictionary(table[column].type):
                table = table.set_column(place, column, table[column].cast(pa.string()))
        pa.csv.write_csv(table, path)
    else:
        every = (each for batch in table.to_batches() for each in from_batch(survey, batch))
        lines = (json.dumps({**each.to_mapping(), name: key}) for each, key in zip(every, keys, strict=True))
        path.write_text("\n".join(lines))
    return str(path)


def same(one: Fused, other: Fused) -> bool:
    """Tell whether two fused tallies count the same people, in whatever order outputs are listed."""
    counts = [sorted((tuple(map(str, _outputs(each, row))), int(n)) for row, n in _rows(each)) for each in (one, other)]
    return counts[0] == counts[1]


def _rows(fused: Fused) -> Any:
    return zip(fused.cells, fused.counts, strict=True)


def _outputs(fused: Fused, row: Any) -> list[Any]:
    return [
        -1 if cell < 0 else cell if source.listed is None else source.listed.outputs[cell].tolist()
        for source, cell in zip(fused.sources, row, strict=True)
    ]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_every_format_gives_the_same_tuples(tmp_path: Path, ending: str) -> None:
    joined = []
    for kind in ("parquet", ending):
        files = []
        for name, seed, start in (("a", 1, 0), ("b", 2, 100)):
            survey, table = reports(seed, 200)
            keys = [f"person {key}" for key in range(start, start + 200)]
            files.append(read_survey_file(write(tmp_path / f"{name}.{kind}", survey, table, keys), "person", survey))
        joined.append(join_services(files))
    assert joined[0].keys() == joined[1].keys() == {"mode", "colour", "hours"}
    for name in joined[0]:
        assert same(joined[0][name], joined[1][name])
        assert joined[0][name].subsets == {("a",): 100, ("b",): 100, ("a", "b"): 100}


def test_reports_in_memory_are_joined_like_those_of_files(tmp_path: Path) -> None:
    survey, table = reports(1, 300)
    path = write(tmp_path / "a.parquet", survey, table, np.arange(300))
    other, more = reports(2, 300, hide_level={"epsilon": 1}, questions=QUESTIONS[:1])
    shown, hidden = keyed_reports("a", survey, table, range(300)), keyed_reports("b", other, more, range(150, 450))
    found = join_services([shown, hidden])
    assert same(found["mode"], join_services([read_survey_file(path, "person", survey), hidden])["mode"])
    assert found["mode"].people == 450
    assert [source.hidden is not None for source in found["mode"].sources] == [False, False, True]
    assert [source.owner for source in found["colour"].sources] == ["a", "a"]
    assert survey_of(path) == survey
    with pytest.raises(PldpError, match="one key per report, not 299 for 300"):
        keyed_reports("a", survey, table, range(299))


def test_what_a_survey_does_not_accept_is_counted_and_not_joined(tmp_path: Path) -> None:
    survey, table = reports(1, 100)
    place = table.column_names.index("mode.output")
    broken = table.set_column(
        place, "mode.output", pa.array([9] * 10 + table["mode.output"].to_pylist()[10:], pa.uint8())
    )
    found = read_survey_file(write(tmp_path / "a.parquet", survey, broken, range(100)), "person", survey)
    assert {reason.value: count for reason, count in found.rejected.items()} == {"out_of_range": 10}
    assert join_services([found])["mode"].people == 90


def plain(**changes: Any) -> Plain:
    asked = Asked("mode", values=("bus", "bike", "car"))

    def make(mechanism: str, epsilon: str) -> Any:
        return build(mechanism, 3, round(float(epsilon) * 1e6))

    return Plain(asked, (-1.0, 1.0), make)._replace(**changes)


def table_file(path: Path, **columns: Any) -> str:
    pq.write_table(pa.table(columns), path)
    return str(path)


def test_mechanism_and_epsilon_of_a_plain_table_may_differ_from_row_to_row(tmp_path: Path) -> None:
    path = table_file(
        tmp_path / "a.parquet",
        person=[1, 2, 3, 4],
        output=[0, 1, 2, 0],
        mechanism=["krr"] * 4,
        epsilon=[0.5, 2.0, 0.5, 2.0],
    )
    fused = join_services([read_plain_file(path, "person", plain())])["mode"]
    assert [(source.name, source.reports, source.channel.epsilon) for source in fused.sources] == [
        ("a, krr 0.5", 2, 0.5),
        ("a, krr 2.0", 2, 2.0),
    ]
    (tmp_path / "b.csv").write_text("person,output\n1,0\n9,2\n")
    other = read_plain_file(str(tmp_path / "b.csv"), "person", plain(mechanism="krr", epsilon="1"))
    both = join_services([read_plain_file(path, "person", plain()), other])["mode"]
    assert both.subsets == {("a",): 3, ("b",): 1, ("a", "b"): 1}
    (tmp_path / "c.jsonl").write_text('{"person": 1, "output": "03"}\n{"person": 2, "output": "05"}\n')
    rows = read_plain_file(str(tmp_path / "c.jsonl"), "person", plain(mechanism="oue", epsilon="1"))
    assert join_services([rows, other])["mode"].people == 3


GIVEN = {"mechanism": "krr", "epsilon": "1"}
GOOD = {"person": [1, 2], "output": [0, 1]}

BAD: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "there is no column 'person' for the key of a person; it has: output": ({"output": [0]}, GIVEN),
    "there is no column 'output'": ({"person": [1]}, GIVEN),
    "keys must be integers or text, not double": ({"person": [0.5, 1.0], "output": [0, 1]}, GIVEN),
    "is a plain table without a column mechanism: give --mechanism, or --survey": (GOOD, {}),
    "has a column epsilon, so --epsilon must not be given": ({**GOOD, "epsilon": [1, 1]}, GIVEN),
    "every output must be one that krr makes; 1 are missing and 1 impossible of 3": (
        {"person": [1, 2, 3], "output": [0, 3, None]},
        GIVEN,
    ),
    "every report must have a key; 1 of 2 have none": ({"person": [1, None], "output": [0, 1]}, GIVEN),
    "keys must be unique; 1 of 2 reports repeat an earlier key": ({"person": [1, 1], "output": [0, 1]}, GIVEN),
    "keys of all services must be of one type, not int64 and string": ({"person": ["1", "2"], "output": [0, 1]}, GIVEN),
    "krr has no continuous form": ({"person": [1, 2], "output": [0.5, 1.5]}, GIVEN),
    "1 of 2 rows have no epsilon": ({**GOOD, "epsilon": [1.0, None]}, {"mechanism": "krr"}),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_files_get_one_line_with_counts(tmp_path: Path, message: str) -> None:
    columns, given = BAD[message]
    good = table_file(tmp_path / "good.parquet", **GOOD)
    bad = table_file(tmp_path / "bad.parquet", **columns)
    every = ((good, plain(**GIVEN)), (bad, plain(**given)))
    with pytest.raises(PldpError) as error:
        join_services([read_plain_file(path, "person", about) for path, about in every])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_other_bad_files_get_one_line(tmp_path: Path) -> None:
    survey, table = reports(1, 20)
    path = write(tmp_path / "a.parquet", survey, table, range(20))
    other = pldp.Survey.read({**CONTENT, "title": "another"})
    for call, message in (
        (lambda: read_survey_file(path, "id", survey), "must name the column that the service added, not 'id'"),
        (lambda: read_survey_file(path, "key", survey), "there is no column 'key' for the key of a person"),
        (lambda: read_survey_file(path, "person", other), "none of the 20 reports is of the survey 'another'"),
        (lambda: read_survey_file(path, "person", survey, questions=["mod"]), "unknown question 'mod'; did you mean"),
        (lambda: read_survey_file(str(tmp_path / "no.parquet"), "person", survey), "there is no such file"),
        (lambda: read_plain_file(str(tmp_path / "no.csv"), "person", plain(**GIVEN)), "there is no such file"),
        (lambda: join_services([read_survey_file(path, "person", survey)] * 2), "'a' came twice"),
    ):
        with pytest.raises(PldpError) as error:
            call()
        assert message in str(error.value)
        assert "\n" not in str(error.value)
