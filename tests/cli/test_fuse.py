"""`pldp fuse`: joins files by a key, asks for the ε of the join, and refuses in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pldp
from helpers.claims import Z
from pldp.cli import main
from pldp.reports.columns import schema
from pldp.simulate import Population, simulate_reports

MODE = {"name": "mode", "values": ["bus", "bike", "car"]}
HOURS = {"name": "hours", "kind": "number", "low": 0, "high": 10, "buckets": 16}
BASKET = {"name": "basket", "kind": "choices", "values": ["bread", "milk"]}
PEOPLE = 3000


def write(folder: Path, name: str, mechanism: str, seed: int, **more: Any) -> None:
    """Write the reports of a service and its survey file; all services ask the same people."""
    questions = [{**MODE, "mechanism": mechanism}, *([] if more else [HOURS, BASKET])]
    content = {"pldp": 1, "title": name, "levels": {"strict": 0.5, "open": 2}, "questions": questions, **more}
    survey = pldp.Survey.read(content)
    generator = np.random.default_rng(1)
    truth = {
        "mode": generator.choice(MODE["values"], PEOPLE, p=[0.5, 0.3, 0.2]).tolist(),
        "hours": (10 * generator.beta(2, 5, PEOPLE)).tolist(),
        "basket": [[item for item in BASKET["values"] if generator.random() < 0.5] for _ in range(PEOPLE)],
    }
    people = Population.of_values(survey, {each["name"]: truth[each["name"]] for each in questions}, seed=seed)
    table = pa.Table.from_batches(list(simulate_reports(survey, people, seed=seed)))
    here = np.sort(np.random.default_rng(seed).permutation(PEOPLE)[: PEOPLE * 3 // 4])
    table = table.take(here).append_column("person", pa.array([f"p{key}" for key in here]))
    pq.write_table(table.replace_schema_metadata(schema(survey).metadata), folder / f"{name}.parquet")
    (folder / f"{name}.json").write_text(json.dumps(content))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("fuse")
    write(made, "shop", "krr", 2)
    write(made, "bank", "oue", 3)
    write(made, "gym", "krr", 4, hide_level={"epsilon": 1})
    plain = {"person": [f"p{key}" for key in range(100)], "output": [key % 3 for key in range(100)]}
    pq.write_table(pa.table(plain), made / "plain.parquet")
    return made


def run(capsys: Any, folder: Path, *arguments: str) -> tuple[int, str, str]:
    named = [str(folder / part) if part.endswith((".parquet", ".json", ".html")) else part for part in arguments]
    code = main(["fuse", *named])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


FILES = ("shop.parquet", "bank.parquet", "gym.parquet", "--key", "person")


def test_joining_is_refused_until_its_epsilon_is_accepted(capsys: Any, folder: Path) -> None:
    code, out, err = run(capsys, folder, *FILES)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    needed = err.rstrip().rpartition(" ")[2]
    assert err.endswith(f"type --accept-epsilon {needed}\n")
    assert float(needed) == 2 * 3 + 2 * 2 + 2 * 2 * 2  # mode in three services, hours and both items in two
    code, _, err = run(capsys, folder, *FILES, "--accept-epsilon", "17.9")
    assert code == 2
    assert "17.9 is accepted" in err
    assert run(capsys, folder, *FILES, "--accept-epsilon", needed)[0] == 0


def test_json_has_every_question_with_its_services(capsys: Any, folder: Path) -> None:
    page = folder / "fused.html"
    code, out, err = run(
        capsys, folder, *FILES, "--accept-epsilon", "18", "--largest", "2", "--json", "-", "--html", "fused.html"
    )
    assert code == 0
    assert err.splitlines() == [
        "pldp: --largest does not apply to mode, hours",
        f"page written to {page}",
    ]
    content = json.loads(out)
    assert content["epsilon"] == "18"
    assert [(each["name"], each["kind"]) for each in content["questions"]] == [
        ("mode", "choice"),
        ("hours", "number"),
        ("basket", "choices"),
    ]
    assert content["missing"] == []
    mode = content["questions"][0]
    assert [row["label"] for row in mode["rows"]] == MODE["values"]
    for row, truth in zip(mode["rows"], (0.5, 0.3, 0.2), strict=True):
        assert abs(row["estimate"] - truth) <= Z * row["standard_error"]
    assert mode["method"] == "unbiased, all people count alike, subset by subset of services"  # gym hides its levels
    assert {level["level"] for level in mode["levels"]} == {"gym, strict", "gym, open"}
    services = content["services"][0]
    assert sum(subset["people"] for subset in services["subsets"]) == services["people"]
    assert {source["service"] for source in services["sources"]} == {"shop", "bank", "gym"}
    text = page.read_text(encoding="utf-8")
    assert "Joined by a key" in text
    assert "hours" in text


def test_rejected_reports_are_counted_by_service(capsys: Any, folder: Path) -> None:
    table = pq.read_table(folder / "shop.parquet")
    place = table.column_names.index("schema")
    broken = table.set_column(place, "schema", pa.array([9] * 5 + [1] * (len(table) - 5), pa.uint8()))
    pq.write_table(broken.replace_schema_metadata(table.schema.metadata), folder / "broken.parquet")
    options = ("--key", "person", "--question", "mode", "--accept-epsilon", "2")
    code, out, _ = run(capsys, folder, "broken.parquet", *options)
    assert code == 0
    assert "rejected, broken: wrong_schema: 5" in out
    assert json.loads(run(capsys, folder, "broken.parquet", *options, "--json", "-")[1])["rejected"] == 5


def test_words_for_people_say_who_gave_where(capsys: Any, folder: Path) -> None:
    code, out, _ = run(capsys, folder, *FILES, "--question", "mode", "--method", "unbiased", "--accept-epsilon", "6")
    assert code == 0
    assert "shop + bank + gym" in out
    assert "cost up to epsilon 6" in out
    assert "hours" not in out


def test_a_plain_table_is_joined_with_reports_of_a_survey(capsys: Any, folder: Path) -> None:
    options = ("--labels", "bus,bike,car", "--mechanism", "krr", "--epsilon", "1", "--question", "mode")
    files = ("shop.parquet", "plain.parquet", "--key", "person", "--survey", "shop.json", "-")
    code, out, err = run(capsys, folder, *files, *options, "--accept-epsilon", "3", "--json", "-")
    assert (code, err) == (0, "")
    names = [source["name"] for source in json.loads(out)["services"][0]["sources"]]
    assert names == ["shop, strict", "shop, open", "plain"]


def test_names_of_the_paper_choose_the_method_of_a_mean(capsys: Any, folder: Path) -> None:
    found = {}
    for method in ("ua", "uwa", "ule"):
        options = ("--question", "hours", "--method", method, "--accept-epsilon", "4", "--differ", "0", "--json", "-")
        code, out, _ = run(capsys, folder, "shop.parquet", "bank.parquet", "--key", "person", *options)
        assert code == 0
        found[method] = json.loads(out)["questions"][0]["method"]
    assert len(set(found.values())) == 3


BAD = {
    "unknown question 'mod'; did you mean 'mode'?": (*FILES, "--question", "mod"),
    "there is no column 'id_card' for the key": ("shop.parquet", "--key", "id_card"),
    "a file is given twice": ("shop.parquet", "shop.parquet", "--key", "person"),
    "--survey: give one for all files, or one for each of the 3, not 2": (*FILES, "--survey", "a.json", "b.json"),
    "is a plain table: give --labels A,B,… or --bounds LOW HIGH": ("plain.parquet", "--key", "person"),
    "--buckets is for plain tables; these files hold reports": (*FILES, "--buckets", "3"),
    "--labels must be two or more different names": ("plain.parquet", "--key", "person", "--labels", "a,a"),
    "--bounds: the lower one comes first": ("plain.parquet", "--key", "person", "--bounds", "2", "1"),
    "--method ua does not apply to mode": (*FILES, "--question", "mode", "--method", "ua", "--accept-epsilon", "6"),
    "there is no such file": ("nothing.parquet", "--key", "person"),
    "--epsilon: give one for all files, or one for each of the 1, not 2": (
        "plain.parquet",
        "--key",
        "person",
        "--labels",
        "a,b,c",
        "--mechanism",
        "krr",
        "--epsilon",
        "1",
        "2",
    ),
    "its labels must be those of 'shop'; it lacks 'car' and it has 'train' beyond them": (
        "shop.parquet",
        "plain.parquet",
        "--key",
        "person",
        "--survey",
        "shop.json",
        "-",
        "--labels",
        "bus,bike,train",
        "--mechanism",
        "krr",
        "--epsilon",
        "1",
        "--question",
        "mode",
    ),
    "epsilon must be a number above 0": (*FILES, "--accept-epsilon", "much"),
}


@pytest.mark.parametrize("message", BAD)
def test_what_cannot_be_done_is_one_line(capsys: Any, folder: Path, message: str) -> None:
    code, out, err = run(capsys, folder, *BAD[message])
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
