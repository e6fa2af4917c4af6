"""`pldp new --terminal` from piped lines: the same file as the page writes, and one clear line for what is wrong."""

from __future__ import annotations

import io
import tomllib
from decimal import Decimal
from pathlib import Path

import pytest

from pldp.cli import main
from pldp.design import Draft
from pldp.survey import load

ROOT = Path(__file__).parent.parent.parent
SLEEP = """Sleep in our town
Town health office
yes

hours
How long do you sleep?
under 5, 5 to 7, over 7
yes
choices
symptoms
What did you have?
headache, panic
yes
number
age
How old are you?
16
90
no
set total_epsilon
6
"""


def type_in(monkeypatch: pytest.MonkeyPatch, text: str, *words: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    return main(["new", "--terminal", *words])


def test_all_kinds_are_asked_and_the_file_is_the_one_that_the_page_writes(monkeypatch, capsys, tmp_path: Path) -> None:
    path = tmp_path / "sleep.toml"
    assert type_in(monkeypatch, SLEEP + "people 5000\nsave\n", str(path)) == 0
    out = capsys.readouterr().out
    for expected in (
        "what a whole report can reveal",
        "errors to expect of 5,000 people",
        "more than the total allows. Best for",
    ):
        assert expected in out
    survey = load(path)
    assert [question.kind for question in survey.questions] == ["choice", "choices", "number"]
    assert survey.total_micro_epsilon == 6_000_000
    document = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    by_page = Draft.open(tmp_path / "page.toml")
    assert by_page.text(document) == path.read_text(encoding="utf-8")


def test_an_opened_file_keeps_what_is_not_asked(monkeypatch, capsys, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_bytes((ROOT / "examples" / "panel.toml").read_bytes())
    typed = "set title\nAnother\nedit owned\n\nWhich?\n" + "\n" * 10 + "save\n"
    assert type_in(monkeypatch, typed, str(path)) == 0
    assert "no question is asked about them: questions.mode.permanent" in capsys.readouterr().out
    before = tomllib.loads((ROOT / "examples" / "panel.toml").read_text(encoding="utf-8"))
    after = tomllib.loads(path.read_text(encoding="utf-8"))
    assert (after.pop("title"), after["questions"][1].pop("text")) == ("Another", "Which?")
    before.pop("title"), before["questions"][1].pop("text")
    assert after == before
    before_text = (ROOT / "examples" / "panel.toml").read_text(encoding="utf-8")
    assert path.read_text(encoding="utf-8").count("# ") == before_text.count("# ") > 0


def test_an_invalid_survey_is_saved_as_a_draft_only_after_a_yes(monkeypatch, capsys, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    assert type_in(monkeypatch, "T\n\nyes\n\nq\n\nx\nno\nsave\nno\nsave\nyes\n", str(path)) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "as a draft: this survey cannot be started yet: question q.values: must be a list of 2" in out
    assert "Start it with" not in out
    assert path.exists()


def test_what_is_wrong_is_told_and_can_be_mended(monkeypatch, capsys, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    begin = "T\n\nno\na\n1,5\n\n\n\nq\n\nx\nno\n"
    mend = "save\nno\nlevels\na\n1.5\n\n\nedit q\n\n\nx, y\n\n\n\n\n\n"
    typed = f"{begin}{mend}svae\nremove p\nset tite\nsave\n"
    assert type_in(monkeypatch, typed, str(path)) == 0
    out = capsys.readouterr().out
    for expected in (
        "level a.epsilon: ",
        "question q.values: must be a list of 2",
        "Unknown: 'svae'; did you mean 'save'?",
        "unknown question; this survey has: q",
        "There is no key 'tite'; did you mean 'title'?",
    ):
        assert expected in out
    assert load(path).question("q").levels[0].micro_epsilon == 1_500_000


def test_a_number_may_begin_at_0(monkeypatch, capsys, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    typed = "T\n\nyes\nnumber\nhours\nHow long?\n0\n12\nno\nedit hours\n" + "\n" * 11 + "save\n"
    assert type_in(monkeypatch, typed, str(path)) == 0
    assert "fill this in" not in capsys.readouterr().out
    assert load(path).question("hours").bounds == ("0", "12")


def test_prompts_show_what_an_empty_line_means(monkeypatch, capsys, tmp_path: Path) -> None:
    typed = SLEEP + "edit hours\n" + "\n" * 8 + "set language\n\nquit\n"
    assert type_in(monkeypatch, typed, str(tmp_path / "s.toml")) == 0
    out = " ".join(capsys.readouterr().out.split())
    for expected in (
        "keep them? (yes or no) [yes]: ",
        "[choice]: ",
        "Another question? (yes or no) [no]: ",
        "An empty line keeps what is there; a dash empties it.",
        "Short, for files and results. Name [hours]: ",
        "The language of the texts in this file; en if not given. Language",
    ):
        assert expected in out
    assert "One on each line" not in out


def test_what_is_wrong_with_a_question_is_told_once(monkeypatch, capsys, tmp_path: Path) -> None:
    typed = SLEEP + "edit hours\n\n\nx\n" + "\n" * 5 + "\nedit\nremove symtoms\nwat\nquit\n"
    assert type_in(monkeypatch, typed, str(tmp_path / "s.toml")) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.count("question hours.values: must be a list of 2") == 1
    assert "Which question? hours, symptoms, age" in out
    assert "unknown question 'symtoms'; did you mean 'symptoms'?" in out
    assert "Unknown: 'wat'; type help" in out
    assert "Unknown: ''" not in out


def test_a_better_design_can_be_taken(monkeypatch, capsys, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_bytes((ROOT / "examples" / "commute.toml").read_bytes())
    assert type_in(monkeypatch, "better\nsave\n", str(path)) == 0
    assert load(path).ask == 1
    assert "This design is already the best" in capsys.readouterr().out


@pytest.mark.parametrize("typed", ["", "T\n", SLEEP])
def test_input_that_ends_too_early_saves_nothing(monkeypatch, capsys, tmp_path: Path, typed: str) -> None:
    assert type_in(monkeypatch, typed, str(tmp_path / "s.toml")) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("pldp: standard input ended before")
    assert type_in(monkeypatch, SLEEP + "quit\n", str(tmp_path / "s.toml")) == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("\n", {"lottery": 1}),
        ("0.5\n", {"lottery": Decimal("0.5")}),
        ("-\n0.7\n\n", {"epsilon": Decimal("0.7")}),
        ("-\n\n\n", None),
        ("-\n0.7\n\nset hide_level\n\n\n\n", {"epsilon": Decimal("0.7")}),
        ("-\n0.7\n\nset hide_level\n1\n", {"lottery": 1}),
    ],
    ids=["usual", "own", "label", "none", "label kept", "label replaced"],
)
def test_a_lottery_is_offered_first_to_hide_levels(monkeypatch, capsys, tmp_path: Path, typed: str, expected) -> None:
    path = tmp_path / "s.toml"
    begin = "T\n\nyes\n\nq\n\nx, y\nno\nset repeat\nfresh\nset hide_level\n"
    assert type_in(monkeypatch, begin + typed + "save\n", str(path)) == 0
    assert "ε of the lottery [1]: " in capsys.readouterr().out
    assert tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal).get("hide_level") == expected
    assert (load(path).lottery is not None) == (expected is not None and "lottery" in expected)
