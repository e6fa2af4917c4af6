"""What `pldp plan` and `pldp survey check` say on a screen: few lines, nothing cut, and the change that would help."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pldp import Survey, plan
from pldp.cli import main
from pldp.planning.designs import hiding
from pldp.survey import survey_from_mapping

EXAMPLES = sorted(Path("examples").glob("*.toml"))
COMMUTE = "examples/commute.toml"


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["plan", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def flat(text: str) -> str:
    return " ".join(text.split())


def test_a_plan_is_a_short_screen(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, COMMUTE, "--people", 5000)
    assert len(shown.splitlines()) <= 15
    assert [line.split() for line in shown.splitlines()[3:5]] == [
        ["mode", "6", "answers", "±", "6", "points", "±", "4", "points", "50,000", "people"],
        ["late", "2", "answers", "±", "4", "points", "±", "3", "points", "19,000", "people"],
    ]
    heads = [line.split("  ") for line in shown.splitlines()[1:3]]
    assert [each.strip() for each in heads[0] if each.strip()] == [
        "however levels",
        "if levels are chosen",
        "for ± 2 points,",
    ]
    assert [each.strip() for each in heads[1] if each.strip()] == [
        "are chosen",
        "regardless of answers",
        "however chosen",
    ]
    for words in (
        "Assumed: levels equally often; for mode, one label has half of the people",
        "Better for the same ε: ask each person one of the two questions, at random: margins shrink to 0.70 of these.",
        "Write it: --out better.json",
        "--details",
    ):
        assert words in flat(shown)
    everything = printed(capsys, COMMUTE, "--people", 5000, "--details")
    for words in ("Worst: one label has 96 %", "best first", "threshold", "best guess", "forged"):
        assert words not in shown
        assert words in flat(everything)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_no_screen_is_wider_than_a_terminal_or_cut(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, path, "--people", 20_000, "--differ", 5)
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    assert "nan" not in shown
    assert "differ by at most 5 points" in flat(shown)
    assert "answers all questions" not in flat(shown)  # no advice to do what is done already
    for each in plan(Survey.load(path), 20_000).questions:
        assert each.question in shown


def test_people_for_a_margin_are_those_of_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    needed = plan(Survey.load(COMMUTE), 5000).people_for(0.01)
    assert [each.plausible for each in needed.values()] == [197_001, 73_877]
    shown = printed(capsys, COMMUTE, "--people", 5000, "--error", 0.01)
    assert "for ± 1 point," in shown
    assert "200,000 people" in shown
    assert "74,000 people" in shown
    found = json.loads(printed(capsys, COMMUTE, "--people", 5000, "--error", 0.01, "--json", "-"))
    assert found["people_needed"]["mode"] == {"error": 0.01, **vars(needed["mode"])}
    assert found["people_needed"]["mode"]["alike"] < 0.5 * found["people_needed"]["mode"]["plausible"]


def test_where_one_split_is_better_it_is_named() -> None:
    questions = [
        {"name": "a", "values": ["x", "y"], "levels": {"open": 8}},
        {"name": "b", "values": [f"v{place}" for place in range(9)], "levels": {"open": 3}},
    ]
    survey = survey_from_mapping({"pldp": 1, "title": "t", "levels": {"open": 8}, "questions": questions})
    advice = plan(survey, 1000).advice
    assert advice.startswith("Better for the same ε: ask all, with ε ")
    assert " for a, " in advice
    assert plan(plan(survey, 1000).best_survey(), 1000).advice == "This design is already the best of those compared."


@pytest.mark.parametrize("way", ["epsilon", "lottery"])
def test_a_check_compares_ways_to_hide_levels(way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hidden.json"
    hiding(Survey.load(COMMUTE), 1, way).save(path)
    assert main(["survey", "check", str(path)]) == 0
    shown = flat(capsys.readouterr().out)
    assert (
        "Margins of mode with 10,000 people and nothing assumed: label ± 9, lottery ± 5, everybody strictest ± 7"
        in shown
    )
    assert "the lottery is more accurate here; it shows that nothing stricter was chosen." in shown
    assert main(["survey", "check", COMMUTE, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["hiding"] is None


def test_of_one_level_nothing_is_said_about_choosing_and_no_name_is_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "a_question_with_a_very_long_name_indeed"
    path = tmp_path / "one.toml"
    for levels, several in (("only = 1", False), ("strict = 1, open = 2", True)):
        head = f'pldp = 1\ntitle = "t"\nlevels = {{ {levels} }}\n[[questions]]\n'
        path.write_text(f'{head}name = "{name}"\nvalues = ["x", "y", "z"]\n')
        shown = printed(capsys, path, "--people", 800)
        assert ("chosen" in shown) == ("levels equally often" in shown) == several
        folded = "".join(line[2:18].strip() for line in shown.splitlines()[1:9])  # the first column
        assert name in folded or name in shown
        assert "…" not in shown
        assert max(map(len, shown.splitlines())) <= 80
