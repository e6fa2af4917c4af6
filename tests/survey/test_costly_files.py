"""Files that would take long are refused by what can be counted before; surveys of any plausible size are read."""

from __future__ import annotations

import json
import os
import time
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

from helpers.refusals import refused
from pldp.cli import main
from pldp.design.draft import Draft
from pldp.errors import SurveyError
from pldp.survey import load, loads
from pldp.survey.lines import line_of
from pldp.survey.parsing import LONGEST_JSON, LONGEST_TOML, MOST_PARTS, MOST_TABLES

LONG = bool(os.environ.get("PLDP_LONG"))
HEAD = 'pldp = 1\ntitle = "t"\n[levels]\na = 1\n[[questions]]\nname = "q"\n'
DOTTED = ".".join("a" * 20_000)
QUOTED = ".".join(['"a"', "'b'", "c"] * 4)

COSTLY = {
    "a key has at most 10 parts, not 20,000": f"{HEAD}{DOTTED} = 1\n",
    "at most 10 parts, not 11": f"{HEAD}x = {{ {' . '.join('a' * 11)} = 1 }}\n",
    "at most 10 parts, not 12": f"{HEAD}[{QUOTED}]\n",
    "a survey in TOML has at most 1,000,000 characters; write longer ones as JSON": HEAD + "\n" * LONGEST_TOML,
    "a survey in JSON has at most 32,000,000 characters": "{" + " " * LONGEST_JSON,
    "has 4,000,001 entries; a survey has at most 4,000,000": '{"values":[' + "1," * 4_000_001 + "1]}",
    "has 1,000,003 tables and lists; a survey has at most 1,000,000": '{"values":[' + "[]," * MOST_TABLES + "[]]}",
}


@pytest.mark.parametrize("words", COSTLY)
def test_a_costly_file_never_reaches_the_parser(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: object, **__: object) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(tomllib, "loads", parse)
    monkeypatch.setattr(json, "loads", parse)
    path = tmp_path / ("survey.json" if COSTLY[words].startswith("{") else "survey.toml")
    path.write_text(COSTLY[words], encoding="utf-8")
    for read in (load, Draft.open):
        with refused(SurveyError, words):
            read(path)
    with refused(SurveyError, words):
        loads(COSTLY[words])


def test_of_a_file_that_is_too_long_no_more_is_read_than_shows_it() -> None:
    with refused(SurveyError, "/dev/zero: is too long: a survey in TOML has at most 1,000,000 characters"):
        load("/dev/zero")


def test_only_keys_have_parts() -> None:
    """Dots in quotes, comments and lists of numbers are none of a key."""
    dots = "." * 50
    texts = [
        f'introduction = """\n{dots} "a" = b\\" [x]\n"""',
        f"thanks = '''\n{dots} it's\n'''",
        f'contact = "\\"{dots}"',
        f"# {dots}\n[levels]",
    ]
    labels = f"""values = ['{dots}', "#{dots}", "x"] # {dots}\nfractions = {{ '{dots}' = 0.5, "#{dots}" = 0.25 }}\n"""
    survey = loads(HEAD.replace("[levels]", "\n".join(["[texts]", *texts])) + labels)
    assert survey.texts.contact == f'"{dots}'
    assert survey.questions[0].values == (dots, f"#{dots}", "x")
    deepest = ".".join("a" * MOST_PARTS)
    with refused(SurveyError, "survey.a: is not a known key"):
        loads(f"{deepest} = 1\n{HEAD}")


def test_surveys_of_thousands_of_labels_and_questions_are_read() -> None:
    labels = ", ".join(f'"article no. {place}: a name of some length"' for place in range(10_000))
    assert len(loads(f"{HEAD}values = [{labels}]\n").questions[0].values) == 10_000
    questions = "".join(f'[[questions]]\nname = "q{place}"\nvalues = ["a", "b"]\n' for place in range(2000))
    assert len(loads(HEAD.partition("[[")[0] + questions).questions) == 2000


NUMBERS = ("1e-999999999", "1e999999", "0." + "1" * 10_000, "0x" + "f" * 10_000, '"1e-999999999"', '"1/1e99999"')


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:12])
@pytest.mark.parametrize(
    "entry", ["weight = {}", "fractions = {{ x = {} }}", "levels.a = {}"], ids=lambda entry: entry[:6]
)
def test_no_arithmetic_is_done_with_a_number_of_a_billion_digits(
    entry: str, number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compute(number: object) -> Fraction:
        assert number in {0, 1}, "computed"
        return Fraction(number)

    text = f'{HEAD}values = ["x", "y"]\n{entry}\n'
    assert loads(text.format("0.5"))
    for module in ("reading", "entries"):
        monkeypatch.setattr(f"pldp.survey.{module}.Fraction", compute)
    with pytest.raises(SurveyError) as caught:
        loads(text.format(number))
    assert "\n" not in str(caught.value)


class Counted(str):
    """Text that counts how often it is split."""

    __slots__ = ("splits",)

    def splitlines(self, keepends: bool = False) -> list[str]:
        self.splits = getattr(self, "splits", 0) + 1
        return super().splitlines(keepends)


def test_the_line_of_an_error_is_found_in_one_look_at_the_file() -> None:
    text = Counted(HEAD + '[[questions]]\nname = "r"\n' * 50)
    assert line_of(text, "question s.values: is missing") is None
    assert text.splits == 1


DEEP = '{"a":' * 100_000
OPTIONS = {
    "--known": ["estimate", "none.tally", "--known"],
    "--level-mix": ["plan", "examples/commute.toml", "--people", "100", "--level-mix"],
    "--shares": ["plan", "examples/commute.toml", "--people", "100", "--shares"],
}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("content", [DEEP, '{"a": ' + "9" * 5000 + "}", "\ud800"], ids=["deep", "long", "bytes"])
def test_a_file_of_an_option_gets_one_clear_line(
    option: str, content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], commute_tally: str
) -> None:
    path = tmp_path / "given.json"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    words = [commute_tally if word == "none.tally" else word for word in OPTIONS[option]]
    assert main([*words, str(path)]) == 2
    assert capsys.readouterr().err == f"pldp: {option}: {path}: not valid JSON\n"


@pytest.fixture
def commute_tally(tmp_path: Path) -> str:
    """The file of an empty tally."""
    from pldp import Survey, Tally  # noqa: PLC0415 - only these tests need it

    Tally.empty(Survey.load("examples/commute.toml")).save(tmp_path / "t.tally")
    return str(tmp_path / "t.tally")


@pytest.mark.parametrize(
    "words",
    [["plan", "examples/commute.toml", "--people", "9", "--shares"], ["score", "--epsilon", "1", "--question", "q"]],
)
def test_a_table_with_an_endless_cell_gets_one_clear_line(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("question,value,people\n" + "x" * 200_000, encoding="utf-8")
    assert main([*words, str(path)]) == 2
    told = capsys.readouterr().err
    assert "t.csv: is not a valid CSV file (field larger than field limit" in told
    assert told.count("\n") == 1


@pytest.mark.skipif(not LONG, reason="takes some seconds of CPU time")
@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}{'.'.join('a' * 200_000)} = 1\n",
        HEAD + '"""' + '\n\\"""' * 190_000,
        HEAD + '"\\' * 490_000,
        HEAD + "'" * 990_000,
        HEAD + "[ a" + " " * 990_000,
        HEAD + '[[questions]]\nname="q"\n' * 40_000,
        HEAD + "".join(f"[x{place}]\n" for place in range(90_000)),
        HEAD + "values = [" + "1," * 490_000 + "1]\n",
        '{"values": [' + "1.5," * 3_900_000 + "1]}",
    ],
    ids=range(9),
)
def test_any_costly_file_is_refused_within_a_second_or_two(text: str, tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    path.write_text(text, encoding="utf-8")
    start = time.process_time()
    with pytest.raises(SurveyError):
        load(path)
    assert time.process_time() - start < 3  # 1 here; other machines are slower
