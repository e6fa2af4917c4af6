"""`pldp score`: scores in either form, both allocations side by side, and a survey file that can be used at once."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from pldp import Survey
from pldp.budgets import score_values, true_epsilons
from pldp.cli import main
from pldp.errors import EpsilonError
from pldp.mechanisms import ValueResponse

VALUES = ["HIV", "flu", "depression"]
ROWS = [[9, 3, 6], [10, 4, 7], [9, 3, 6], [9, 3, 7], [1, 3, 5], [10, 4, 6]]  # one person shrugs at HIV
BUDGETS = [900_000, 3_600_000, 1_800_000]


def wide(path: Path, rows: Sequence[Sequence[object]] = ROWS, names: Sequence[str] = VALUES) -> str:
    lines = [names, *rows]
    path.write_text("\n".join(",".join(map(str, line)) for line in lines) + "\n", encoding="utf-8")
    return str(path)


def score(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict:
    assert main(["score", *arguments, "--json", "-"]) == code
    captured = capsys.readouterr()
    return json.loads(captured.out) if code == 0 else {"error": captured.err}


def test_scores_become_levels_budgets_and_true_epsilons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = score(capsys, wide(tmp_path / "s.csv"), "--epsilon", "9", "--question", "ill")
    assert [row["level"] for row in found["values"]] == [4, 1, 3]
    assert [row["weight"] for row in found["values"]] == ["2/5", "1/10", "3/10"]
    assert [row["outliers"] for row in found["values"]] == [1, 0, 0]
    assert (found["people"], found["outliers"]) == (6, 1)
    assert [row["budget"]["value"] for row in found["values"]] == ["0.9", "3.6", "1.8"]
    assert [row["safe_true_epsilon"]["value"] for row in found["values"]] == ["0.9", "3.6", "1.8"]
    exact = true_epsilons(ValueResponse.of(BUDGETS))
    assert [float(row["paper_true_epsilon"]["value"]) for row in found["values"]] == [micro / 1e6 for micro in exact]
    assert [row["paper_keeps_it"] for row in found["values"]] == [False, True, False]


def test_all_forms_of_the_table_are_the_same_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["person", *VALUES]
    with_people = wide(tmp_path / "p.csv", [[f"p{place}", *row] for place, row in enumerate(ROWS)], names)
    triples = [(f"p{place}", value, row[at]) for place, row in enumerate(ROWS) for at, value in enumerate(VALUES)]
    long_form = wide(tmp_path / "l.csv", triples, ["person", "value", "score"])
    columns = {value: [row[at] for row in ROWS] for at, value in enumerate(VALUES)}
    parquet.write_table(pa.table(columns), tmp_path / "s.parquet")
    tables = [wide(tmp_path / "s.csv"), with_people, long_form, str(tmp_path / "s.parquet")]
    found = [score(capsys, table, "--epsilon", "9", "--question", "ill", "--kind", "choices") for table in tables]
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("kind", ["choice", "choices"])
def test_the_safe_file_is_a_survey_that_keeps_every_budget(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, out = wide(tmp_path / "s.csv", [[*row, 0] for row in ROWS], [*VALUES, "cold"]), tmp_path / "q.toml"
    score(capsys, table, "--epsilon", "9", "--question", "ill", "--kind", kind, "--out", str(out))
    question = Survey.load(out).questions[0]
    assert main(["survey", "check", str(out), "--json", "-"]) == 0
    if kind == "choice":
        assert list(question.promises(0)) == [*BUDGETS, math.inf]
        assert list(question.true_epsilons(0)) == [*BUDGETS, math.inf]
    else:
        expected = [(micro // 3, micro * 2 // 3) for micro in BUDGETS]
        assert list(question.side_promises(0)) == [*expected, (math.inf, math.inf)]


@pytest.mark.parametrize("kind", ["choice", "choices"])
def test_the_papers_file_promises_what_its_weights_keep_and_warns(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, out = wide(tmp_path / "s.csv"), tmp_path / "q.toml"
    given = ["score", table, "--epsilon", "9", "--question", "ill", "--kind", kind, "--out", str(out)]
    assert main([*given, "--allocation", "paper", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert "WARNING: the paper's allocation does not keep the budgets of" in captured.err
    question = Survey.load(out).questions[0]
    rows = json.loads(captured.out)["values"]
    if kind == "choices":
        true = [
            (float(row["paper_true_epsilon"]["ticked"]), float(row["paper_true_epsilon"]["not_ticked"])) for row in rows
        ]
        assert [tuple(micro / 1e6 for micro in pair) for pair in question.side_promises(0)] == true
    else:
        assert question.promises(0) == question.true_epsilons(0)
        for row, promised in zip(rows, question.promises(0), strict=True):
            assert promised / 1e6 >= float(row["paper_true_epsilon"]["value"])  # for a value, and against it


@pytest.mark.parametrize(
    ("rows", "names", "more", "words"),
    [
        (
            [[9, 3, 11], ["x", "", 6], [1, 2, "nan"]],
            VALUES,
            (),
            "of 9 scores 1 are outside the scale 0 to 10, 2 are not numbers and 1 are missing; correct them or the",
        ),
        ([[1, 2, 3]], VALUES, (), "value 'HIV' must be scored by at least 2 people, not 1"),
        ([], VALUES, (), "has no scores"),
        ([[1, 2], [1, 2]], VALUES, (), "row 1: must have 3 entries, not 2"),
        (ROWS, ["a", "a", "b"], (), "every column must have a name of its own"),
        (ROWS, VALUES, ("--scale", "5", "5"), "--scale must be two rising numbers, not 5 5"),
        (ROWS, VALUES, ("--levels", "1"), "levels must be at least 2, not 1"),
        ([[0, 0, 0]] * 3, VALUES, ("--out", "x.toml"), "every value is at level 0 of 5, which is open"),
        ([[9, 0, 0]] * 3, VALUES, ("--out", "x.toml", "--allocation", "paper"), "keeps no finite epsilon"),
    ],
)
def test_one_clear_line_with_counts_and_no_scores(
    rows: list, names: list, more: tuple, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = wide(tmp_path / "s.csv", rows, names)
    error = score(capsys, path, "--epsilon", "9", "--question", "q", *more, code=2)["error"]
    assert words in error
    assert error.count("\n") == 1
    assert not Path("x.toml").exists()


def test_invalid_scores_are_left_out_and_counted_where_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = wide(tmp_path / "s.csv", [*ROWS, [12, "x", ""]])
    found = score(capsys, path, "--epsilon", "9", "--question", "q", "--skip-invalid")
    assert found["skipped"] == {"missing": 1, "not_numbers": 1, "outside": 1}
    assert [row["scores"] for row in found["values"]] == [6, 6, 6]


def test_labels_that_toml_would_misread_are_written_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = ['say ""no""', "a.b = c", "ä#"]
    table = tmp_path / "s.csv"
    table.write_text("\n".join([",".join(f'"{name}"' for name in odd), "9,3,6", "9,3,6"]), encoding="utf-8")
    out = tmp_path / "q.toml"
    score(capsys, str(table), "--epsilon", "9", "--question", 'a "b"', "--kind", "choices", "--out", str(out))
    question = Survey.load(out).questions[0]
    assert question.values == ('say "no"', "a.b = c", "ä#")
    assert question.name == 'a "b"'


def test_a_budget_that_no_level_can_have_is_refused() -> None:
    scores = {value: [9.0, 9.0] for value in VALUES}
    with pytest.raises(EpsilonError, match="the largest budget must be at most 20, not 40"):
        score_values(scores | {"cold": [3.0, 3.0]}, 100_000_000)
