"""`shuffle` of surveys: every example and level has an answer or a reason, and assumptions come first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pldp import Survey, audit, plan
from pldp.auditing import write_certificate
from pldp.cli import main
from pldp.errors import ShuffleError
from pldp.shuffling import shuffle
from pldp.shuffling.whole import dearest_allowed

EXAMPLES = sorted(Path("examples").glob("*.toml"))
DECLARED = {
    "pldp": 1,
    "title": "Work",
    "levels": {"strict": 0.5, "open": 2},
    "shuffle": {"by": "Statistics Office", "people": 2000},
    "questions": [{"name": "late", "values": ["yes", "no"]}, {"name": "mode", "values": ["car", "bus", "bike"]}],
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_question_and_level_gets_an_answer_or_a_reason(path: Path) -> None:
    survey = Survey.load(path)
    found = shuffle(survey, 1000)
    single = [(question.name, level.name) for question in survey.questions for level in question.levels]
    assert [(row.question, row.level) for row in found.rows[: len(single)]] == single
    for row in found.rows:
        if row.refusal is None:
            assert 0 <= row.low <= row.high <= row.local
            assert row.high <= row.watched * (1 + 1e-4) or row.among < found.step
        else:
            assert row.local == float("inf")


def test_reports_that_show_their_level_are_hidden_among_that_level_only() -> None:
    survey = Survey.read(DECLARED)
    half = shuffle(survey, 2000).rows[0]
    alone = shuffle(survey, 1000, level_mix={"strict": 1}).rows[0]
    assert (half.among, half.high) == (alone.among, alone.high)


def test_hidden_levels_hide_each_other() -> None:
    alone = {**DECLARED, "questions": DECLARED["questions"][1:]}
    shown, hidden = Survey.read(alone), Survey.read({**alone, "hide_level": {"epsilon": 0.5}})
    named = [{row.level: row for row in shuffle(each, 2000).rows if row.question == "mode"} for each in (shown, hidden)]
    assert named[1]["strict"].high <= named[0]["strict"].high
    assert named[1]["open"].high < 0.9 * named[0]["open"].high


def test_a_whole_report_is_the_dearest_that_the_total_allows() -> None:
    """Three answers at 2.5 cost 7.5, and the total allows 6: two of them, 5, are the most; 3 + 3 of (3, 3, 2) are 6."""
    questions = [{"name": name, "values": ["a", "b", "c"]} for name in ("p", "q", "r")]
    document = {"pldp": 1, "title": "t", "levels": {"strict": 1, "open": 2.5}, "questions": questions}
    free, limited = (shuffle(Survey.read({**document, **more}), 500) for more in ({}, {"total_epsilon": 6}))
    whole = [{row.level: row for row in each.rows if not row.question} for each in (free, limited)]
    assert [(rows["strict"].local, rows["open"].local) for rows in whole] == [(3, 7.5), (3, 5)]
    assert whole[0]["strict"] == whole[1]["strict"]
    assert 0 < whole[1]["open"].low <= whole[1]["open"].high <= min(5, whole[0]["open"].high)
    assert whole[1]["open"].low < whole[0]["open"].low
    assert free.limited == ()
    assert any("At level open the survey's total does not allow" in words for words in limited.conditions)
    dear = Survey.read({**document, "levels": {"strict": 1, "open": 7}, "total_epsilon": 6})
    reasons = {(row.question, row.level): row.refusal for row in shuffle(dear, 500).rows}
    assert reasons["p", "open"] == reasons["", "open"] == "an answer costs ε = 7, and the survey's total is 6"
    assert reasons["", "strict"] is None


@pytest.mark.parametrize(("budgets", "total", "most"), [((3, 3, 2), 6, 6), ((4, 3, 3), 6, 6), ((5, 2, 2, 2), 7.5, 7)])
def test_the_dearest_set_that_is_allowed_is_found(budgets: tuple[int, ...], total: float, most: float) -> None:
    questions = [
        {"name": f"q{place}", "values": ["a", "b"], "levels": {"one": budget}} for place, budget in enumerate(budgets)
    ]
    survey = Survey.read(
        {"pldp": 1, "title": "t", "levels": {"one": 1}, "total_epsilon": total, "questions": questions}
    )
    chosen, found = dearest_allowed(survey, list(survey.questions), "one")
    assert found == pytest.approx(most, abs=1e-5)
    assert sum(each.charge(0) for each in chosen) == most * 1e6


def test_a_level_that_nobody_chooses_gets_a_reason() -> None:
    rows = shuffle(Survey.read(DECLARED), 2000, level_mix={"strict": 1}).rows
    assert [row.refusal for row in rows if row.level == "open"] == [
        "nobody chooses this level, as --level-mix says"
    ] * 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"people": 0}, "people must be a whole number"),
        ({"delta": 0.0}, "delta must be at least 1e-12"),
        ({"delta": 1.0}, "delta must be at least 1e-12"),
        ({"level_mix": {"stict": 1}}, "level_mix has no level 'stict'"),
        ({"level_mix": {"strict": 0}}, "not all 0"),
        ({"step": 0}, "step must be a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict, words: str) -> None:
    with pytest.raises(ShuffleError, match=words):
        shuffle(Survey.read(DECLARED), **{"people": 100, **options})


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    path = tmp_path / "survey.json"
    path.write_text(json.dumps(DECLARED), encoding="utf-8")
    return path


def test_the_command_says_first_what_must_hold(declared: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["shuffle", str(declared)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Assumptions")
    assert shown.index("trusted shuffler") < shown.index("at most")
    assert main(["shuffle", str(declared), "--people", "500", "--json", "-"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert next(iter(content)) == "conditions"
    assert content["people"] == 500
    assert content["shuffled_by"] == "Statistics Office"


def test_without_people_and_without_a_declaration_it_asks_for_them(capsys: pytest.CaptureFixture) -> None:
    assert main(["shuffle", "examples/commute.toml"]) == 2
    assert capsys.readouterr().err == (
        "pldp: --people is missing: say how many reports are shuffled together (the survey does not)\n"
    )


def test_the_picture_is_drawn(declared: Path, tmp_path: Path) -> None:
    target = tmp_path / "shuffle.svg"
    few = ["shuffle", str(declared), "--people", "200"]
    assert main([*few, "--plot", str(target), "--json", str(tmp_path / "out.json")]) == 0
    assert "</svg>" in target.read_text(encoding="utf-8")


def test_plan_check_and_certificate_have_both(declared: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    survey = Survey.load(declared)
    planned = plan(survey, 1000).to_mapping()
    assert planned["shuffle"]["people"] == 1000
    assert {row["question"] for row in planned["guessing"]} == {"late", "mode", ""}
    assert all(row["given"]["chance"] >= row["given"]["blind"] for row in planned["guessing"])
    assert plan(Survey.load("examples/commute.toml"), 1000).to_mapping()["shuffle"] is None
    assert main(["survey", "check", str(declared), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["shuffle"]["people"] == 2000
    found = audit(survey, samples=0)
    assert any("guesses the answer to 'late'" in words for words in found.worth)
    assert any("ε at most" in words for words in found.worth)
    _, page = write_certificate(found, tmp_path / "certificate.json")
    assert "Statistics Office does" in page.read_text(encoding="utf-8")
