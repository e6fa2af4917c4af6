"""`pldp estimate`: every question of every kind in every output, or a reason why not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pldp import Survey, Tally, tally
from pldp.cli import main
from pldp.simulate import Population, simulate_reports

TEXTS = {
    "basket": "What did you buy this week?",
    "reason": "Why did you go to the doctor last?",
    "spent": "How much did you spend on food this week?",
}


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tally with all kinds of questions and a pair."""
    path = tmp_path_factory.mktemp("shop") / "t.tally"
    survey = Survey.load("examples/shopping.toml")
    assert {question.name: question.text for question in survey.questions} == TEXTS
    people = Population.of_shares(survey, 4000, seed=1)
    tally(survey, simulate_reports(survey, people, seed=1)).save(path)
    return path


@pytest.fixture(scope="module")
def partial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tally in which one of two questions has reports."""
    path = tmp_path_factory.mktemp("commute") / "t.tally"
    survey = Survey.load("examples/commute.toml")
    people = Population.of_counts(survey, {"late": {"yes": 500, "no": 500}}, seed=1)
    tally(survey, simulate_reports(survey, people, seed=1)).save(path)
    return path


def run(capsys: Any, *arguments: object) -> tuple[int, str, str]:
    code = main(["estimate", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_json_has_every_question_in_the_order_of_the_survey(capsys: Any, counted: Path) -> None:
    code, out, err = run(capsys, counted, "--json", "-")
    content = json.loads(out)
    assert (code, err) == (0, "")
    assert {"survey", "title", "reports", "rejected", "rejections", "questions", "tables", "missing"} == content.keys()
    assert [(each["name"], each["kind"]) for each in content["questions"]] == [
        ("basket", "choices"),
        ("reason", "choice"),
        ("spent", "number"),
    ]
    for question in content["questions"]:
        assert all(row["low"] < row["estimate"] < row["high"] for row in question["rows"])
    assert len(content["questions"][2]["density"]["shares"]) == 256


def test_live_intervals_are_asked_for_by_the_planned_number_of_reports(capsys: Any, counted: Path) -> None:
    once, live = (json.loads(run(capsys, counted, *more, "--json", "-")[1]) for more in ((), ("--live", "2000")))
    for one, other in zip(once["questions"], live["questions"], strict=True):
        assert (one["live"], other["live"]) == (None, 2000)
        assert other["notes"][-1]["code"] == "live-intervals"
        for narrow, wide in zip(one["rows"], other["rows"], strict=True):
            assert wide["low"] <= narrow["low"] <= narrow["high"] <= wide["high"]
    code, _, words = run(capsys, counted, "--live", "0")
    assert (code, words) == (2, "pldp: live must be the planned number of reports, a whole number from 1, not 0\n")
    _, out, _ = run(capsys, counted)
    assert once["questions"][2]["conclusions"][0] in " ".join(out.split())


def test_the_page_shows_sets_and_numbers_too(capsys: Any, counted: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run(capsys, counted, "--html", page)[0] == 0
    content = page.read_text()
    for text in TEXTS.values():
        assert f"<h2>{text}</h2>" in content
    assert content.count('<table class="dots"') >= 3
    assert content.count('class="fitted"') == 1
    assert "No set of two or more" in content
    assert "median" in content


@pytest.mark.parametrize("name", TEXTS)
def test_the_page_of_one_question_of_any_kind_is_not_empty(
    capsys: Any, counted: Path, tmp_path: Path, name: str
) -> None:
    page = tmp_path / "page.html"
    code, out, _ = run(capsys, counted, "--question", name, "--html", page)
    assert code == 0
    assert re.findall("<h2>(.*?)</h2>", page.read_text()) == [TEXTS[name]]
    assert f"{name} · 4,000 reports" in out.splitlines()[0]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_every_kind_of_question_can_be_drawn(
    capsys: Any, counted: Path, tmp_path: Path, name: str, ending: str
) -> None:
    picture = tmp_path / f"picture.{ending}"
    assert run(capsys, counted, "--question", name, "--plot", picture)[0] == 0
    assert picture.stat().st_size > 1000


def test_the_terminal_shows_every_question_in_few_lines_with_units_and_intervals(capsys: Any, counted: Path) -> None:
    code, out, _ = run(capsys, counted)
    assert code == 0
    for words in (
        "basket · ",
        "reason · ",
        "spent · ",
        "No two boxes",
        "median",
        "euros",
        "95 % interval",
        "--details",
    ):
        assert words in out
    assert max(map(len, out.splitlines())) <= 80
    assert len(out.splitlines()) <= 50


def test_details_show_everything(capsys: Any, counted: Path) -> None:
    code, out, _ = run(capsys, counted, "--details")
    assert code == 0
    for words in ("basket: ", "reason: ", "spent: ", "No set of two or more", "median", "euros", "█", "95 % interval"):
        assert words in out
    for words in ("Do people of different levels answer alike?", "One forged report", "Errors assume:"):
        assert words in out


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("options", [("--differ", "0"), ("--target", "respondents")])
def test_differ_and_target_reach_every_kind(capsys: Any, counted: Path, name: str, options: tuple[str, str]) -> None:
    """The twin without the option gives other standard errors."""
    asked, plain = (
        json.loads(run(capsys, counted, "--question", name, "--json", "-", *more)[1])["questions"][0]
        for more in (options, ())
    )
    assert (asked["assumes_about_levels"], asked["target"]) != (plain["assumes_about_levels"], plain["target"])
    assert asked["rows"][0]["standard_error"] != plain["rows"][0]["standard_error"]


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("basket", ("--method", "likelihood"), "method applies to questions of kind choice and number"),
        ("spent", ("--method", "likelihood"), "method must be one of"),
        ("reason", ("--method", "fitted"), "method must be one of"),
        ("reason", ("--min-support", "0.2"), "min_support applies to questions of kind choices"),
        ("spent", ("--largest", "2"), "largest applies to questions of kind choices"),
    ],
)
def test_options_that_do_not_apply_are_refused(
    capsys: Any, counted: Path, name: str, options: tuple[str, str], words: str
) -> None:
    code, out, err = run(capsys, counted, "--question", name, *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


def test_the_former_option_pool_names_the_one_that_took_its_place(capsys: Any, counted: Path) -> None:
    with pytest.raises(SystemExit):
        run(capsys, counted, "--pool", "size")
    assert "differ=0 (--differ 0)" in capsys.readouterr().err


def test_options_that_apply_to_some_questions_name_the_others(capsys: Any, counted: Path) -> None:
    code, _, err = run(capsys, counted, "--min-support", "0.2", "--json", "-")
    assert (code, err) == (0, "pldp: --min-support does not apply to reason, spent\n")
    code, out, err = run(capsys, counted, "--method", "likelihood", "--differ", "0", "--json", "-")
    assert (code, err) == (0, "pldp: --method does not apply to basket, spent\n")
    assert json.loads(out)["missing"] == []


def test_what_has_no_reports_is_named_in_every_output(capsys: Any, partial: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, out, err = run(capsys, partial, "--html", page, "--json", "-")
    assert code == 0
    (missing,) = json.loads(out)["missing"]
    assert missing["name"] == "mode"
    assert missing["reason"] in err
    assert re.search(r"<h2>mode</h2><p>[^<]+</p></section>", page.read_text())


def test_options_do_not_vanish_in_two_way_tables(capsys: Any, tmp_path: Path) -> None:
    survey = Survey.load("examples/commute.toml")
    people = Population.of_shares(survey, 2000, seed=1)
    reports = simulate_reports(survey, people, seed=1)
    tally(survey, reports, pairs=[("late", "mode")]).save(tmp_path / "t.tally")
    page = tmp_path / "page.html"
    code, out, _ = run(capsys, tmp_path / "t.tally", "--html", page, "--json", "-")
    assert code == 0
    assert [table["questions"] for table in json.loads(out)["tables"]] == [["late", "mode"]]
    assert "late and mode together" in page.read_text()
    pair = ("--pair", "late,mode")
    assert run(capsys, tmp_path / "t.tally", *pair, "--plot", tmp_path / "p.png")[0] == 0
    code, out, _ = run(capsys, tmp_path / "t.tally", *pair, "--target", "respondents", "--json", "-")
    assert (code, [table["target"] for table in json.loads(out)["tables"]]) == (0, ["respondents"])
    code, _, err = run(capsys, tmp_path / "t.tally", *pair, "--method", "likelihood")
    assert (code, err) == (2, "pldp: --method does not apply to tables of several questions\n")


def test_a_tally_without_any_reports_gets_one_line(capsys: Any, tmp_path: Path) -> None:
    Tally.empty(Survey.load("examples/commute.toml")).save(tmp_path / "t.tally")
    code, out, err = run(capsys, tmp_path / "t.tally", "--json", "-")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no reports" in err


@pytest.fixture(scope="module")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Tallies of three rounds: more people are late in the third."""
    folder, survey = tmp_path_factory.mktemp("weeks"), Survey.load("examples/commute.toml")
    paths = []
    for week, late in enumerate((900, 900, 1500), start=1):
        counts = {"late": {"yes": late, "no": 3000 - late}, "mode": [1200, 700, 400, 300, 200, 200]}
        people = Population.of_counts(survey, counts, seed=week)
        paths.append(folder / f"week{week}.tally")
        tally(survey, simulate_reports(survey, people, seed=week), pairs=[("late", "mode")]).save(paths[-1])
    return paths


def test_rounds_are_shown_with_what_changed_and_a_test(capsys: Any, weeks: list[Path], tmp_path: Path) -> None:
    page, picture = tmp_path / "page.html", tmp_path / "p.png"
    code, out, err = run(capsys, "--rounds", *weeks, "--details", "--html", page)
    assert (code, err) == (0, "")
    for words in ("week2 → week3", "change since week1", "mode: ", "late × mode: ", "yes, at the 5 % level."):
        assert words in " ".join(out.split())
    assert page.read_text().count('<div class="courses">') == 3
    assert "Did anything change?" in page.read_text()
    assert run(capsys, "--rounds", *weeks, "--pair", "late,mode", "--plot", picture)[0] == 0
    assert picture.stat().st_size > 1000


def test_rounds_of_one_question_are_data(capsys: Any, weeks: list[Path]) -> None:
    asked = ("--rounds", *weeks, "--question", "late", "--confidence", "0.9", "--json", "-")
    code, out, _ = run(capsys, *asked)
    (late,) = json.loads(out)["questions"]
    assert (code, late["kind"], late["of"], late["confidence"]) == (0, "trend", "choice", 0.9)
    assert [each["name"] for each in late["rounds"]] == ["week1", "week2", "week3"]
    assert late["test"]["rejected"]
    assert late["test"]["level"] == 0.1
    sure = {(row["since"], row["round"]) for row in late["changes"] if not row["low"] <= 0 <= row["high"]}
    assert ("week2", "week3") in sure
    (other,) = json.loads(run(capsys, *asked, "--overlap", "3000")[1])["questions"]
    assert other["changes"][0]["standard_error"] > late["changes"][0]["standard_error"]
    assert other["rows"] == late["rows"]


@pytest.mark.parametrize("rule", ["fresh", "tracked"])
def test_rounds_of_a_survey_that_asks_again_allow_for_the_same_people(capsys: Any, tmp_path: Path, rule: str) -> None:
    survey = Survey.read(Path("examples/commute.toml").read_text().replace("pldp = 1", f'pldp = 1\nrepeat = "{rule}"'))
    paths = [tmp_path / f"{number}.tally" for number in (1, 2)]
    for seed, path in enumerate(paths):
        people = Population.of_shares(survey, 2000, seed=seed)
        tally(survey, simulate_reports(survey, people, seed=seed)).save(path)
    errors = []
    for options in ((), ("--overlap", "0")):
        code, out, err = run(capsys, "--rounds", *paths, *options, "--json", "-")
        assert (code, err) == (0, "")
        mode = json.loads(out)["questions"][0]
        assert [note["code"] for note in mode["notes"]][-1] == ("different-people" if options else "people-overlap")
        errors.append([row["standard_error"] for row in mode["changes"]])
    assert all(allowing > apart for allowing, apart in zip(*errors, strict=True))


def test_an_option_that_says_nothing_about_some_questions_is_told_once(capsys: Any, counted: Path) -> None:
    code, _, err = run(capsys, "--rounds", counted, counted, "--method", "average", "--json", "-")
    assert (code, err) == (0, "pldp: --method does not apply to basket, reason\n")


def test_what_does_not_apply_to_rounds_is_refused(capsys: Any, weeks: list[Path], counted: Path) -> None:
    refused = {
        ("--rounds", weeks[0]): "a trend needs at least two rounds, not 1",
        (weeks[0], "--rounds", weeks[1]): "give one tally, or --rounds or --groups with two or more of them",
        (): "give one tally, or --rounds or --groups with two or more of them",
        (weeks[0], "--overlap", "3"): "--overlap is about people in several rounds: use it with --rounds",
        ("--rounds", *weeks, "--overlap", "-3"): "overlap must be a number of people, at least 0, not -3",
        ("--rounds", *weeks, "--largest", "2"): "--largest is about sets of items; --rounds shows single items",
        ("--rounds", *weeks, "--plot", "p.png"): "--plot draws one question or pair",
        ("--rounds", weeks[0], counted): f"{counted} is a tally of a survey with other questions than {weeks[0]}",
    }
    for arguments, words in refused.items():
        code, out, err = run(capsys, *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1), arguments
        assert words in err


def test_rounds_of_surveys_with_the_same_questions_are_compared(capsys: Any, weeks: list[Path], tmp_path: Path) -> None:
    """Another title is another survey: its rounds may hold the same people."""
    text = Path("examples/commute.toml").read_text().replace("How people get to work", "Commuting")
    survey = Survey.read(text)
    people = Population.of_shares(survey, 500, seed=1)
    tally(survey, simulate_reports(survey, people, seed=1)).save(tmp_path / "other.tally")
    code, out, _ = run(capsys, "--rounds", weeks[0], tmp_path / "other.tally", "--question", "late", "--json", "-")
    assert code == 0
    assert [note["code"] for note in json.loads(out)["questions"][0]["notes"]] == ["people-overlap"]
