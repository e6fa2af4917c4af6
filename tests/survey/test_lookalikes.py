"""New surveys have names that are one line and that people can tell apart; surveys that are running go on."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from helpers.refusals import refused
from pldp import Device, Survey, Tally
from pldp.cli import main
from pldp.collector import Settings, Store, serve, warnings
from pldp.collector.tokens import Tokens
from pldp.design.checking import check_document
from pldp.errors import SurveyError
from pldp.survey import load, loads, make_key, name_warnings, survey_from_mapping
from pldp.survey.lookalikes import unclear_texts

EXAMPLES = sorted(Path("examples").glob("**/*.toml"))
CYRILLIC_CAR = "c\u0430r"


def document(**changes: Any) -> dict[str, Any]:
    questions = [{"name": "mode", "values": ["car", "bus"]}, {"name": "age", "kind": "number", "low": 0, "high": 99}]
    return {"pldp": 1, "title": "t", "levels": {"strict": 1, "open": 2}, "questions": questions} | changes


def labelled(*values: str) -> dict[str, Any]:
    return document(questions=[{"name": "mode", "values": list(values)}])


ALIKE = [
    ("car", CYRILLIC_CAR),
    ("Car", "car"),
    ("\u041d\u0435\u0442", "\u043d\u0435\u0442"),  # one word with and without a capital letter, in Cyrillic
    ("\u0421AR", "CAR"),
    ("\u03a1ete", "Pete"),
    ("0", "O"),
    ("1", "l"),
    ("l0", "I0"),
    ("A|", "AI"),
    ("\uff21", "A"),
    ("\ufb01n", "fin"),
    ("m\u00b2", "m2"),
    ("10\u201320", "10-20"),
    ("a b", "a  b "),
    ("a b", "a\u00a0b"),
    ("a\u200db", "A b".replace(" ", "")),
]


@pytest.mark.parametrize(("left", "right"), ALIKE)
def test_labels_that_look_alike_are_refused_with_both_named(left: str, right: str) -> None:
    with refused(SurveyError, f"questions[0] (mode).values: {left!r} and {right!r} look alike"):
        Survey.read(labelled(left, "bus", right))


@pytest.mark.parametrize(
    "labels",
    [
        ("I10", "L10"),  # codes of diagnoses
        ("Ma\u00dfe", "Masse"),
        ("L", "1", "XL"),
        ("0", "o", "8", "B"),
        ("10", "100", "1000"),
        ("rn", "m"),
        ("\u0433\u043e\u0434", "\u0433\u043e\u0440\u043e\u0434"),
        ("e", "\u00e9", "\u00e8"),
    ],
)
def test_labels_that_people_can_tell_apart_are_accepted(labels: tuple[str, ...]) -> None:
    assert Survey.read(labelled(*labels)).questions[0].values == labels


GERMAN = {"questions": {"mode": {"values": {"car": "Bus"}}}}
UNCLEAR = {
    "title: must be one line, not 'a\\nb'": document(title="a\nb"),
    "collector: must be one line": document(collector="a\u2028b"),
    "shuffle.by: must be one line": document(shuffle={"by": "a\u2029b", "people": 9}),
    "levels: must be one line": document(levels={"a\nb": 1}),
    "questions[0] (mode).values: must be one line": labelled("a\nb", "c"),
    "questions[0] (a b): must be one line": document(questions=[{"name": "a\nb", "values": ["x", "y"]}]),
    "questions[0] (n).unit: must be one line": document(
        questions=[{"name": "n", "kind": "number", "low": 0, "high": 1, "unit": "a\nb"}]
    ),
    "languages.de.title: must be one line": document(languages={"de": {"title": "a\nb"}}),
    "levels: 'open' and 'Open' look alike": document(levels={"open": 1, "Open": 2}),
    "questions: 'q' and 'Q' look alike": document(questions=[{"name": name, "values": ["x", "y"]} for name in "qQ"]),
    "languages.de.levels: 'Open' and 'open' look alike": document(languages={"de": {"levels": {"strict": "Open"}}}),
    "languages.de.questions.mode.values: 'Bus' and 'bus' look alike": document(languages={"de": GERMAN}),
}


@pytest.mark.parametrize("line", UNCLEAR)
def test_an_unclear_name_is_refused_wherever_people_read_it(line: str) -> None:
    with pytest.raises(SurveyError) as caught:
        Survey.read(UNCLEAR[line])
    assert str(caught.value).startswith(line)
    survey, (trouble, *_) = check_document(UNCLEAR[line])
    assert survey is None
    assert "must be one line" in trouble.text or "look alike" in trouble.text


@pytest.mark.parametrize("name", ["a\nb", "a\u2028b", "a\x85b"])
def test_what_is_wrong_is_said_in_one_line_whatever_it_names(name: str) -> None:
    for wrong in (document(**{name: 1}), document(levels={name: 0}), document(questions=[{"name": name, "kind": "x"}])):
        with pytest.raises(SurveyError) as caught:
            Survey.read(wrong)
        assert len(str(caught.value).splitlines()) == 1


def test_passages_have_lines() -> None:
    text = "one\n\ntwo"
    questions = [{"name": "mode", "text": text, "values": ["a", "b"]}]
    texts = dict.fromkeys(("introduction", "thanks", "contact", "notice"), text)
    survey = Survey.read(document(questions=questions, levels={"a": {"epsilon": 1, "text": text}}, texts=texts))
    assert unclear_texts(survey) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=str)
def test_shipped_surveys_are_clear(path: Path) -> None:
    assert unclear_texts(load(path)) == []


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A compiled survey from before the rule."""
    survey = survey_from_mapping(labelled("car", CYRILLIC_CAR, "b\nus"))
    survey.save(tmp_path / "survey.json")
    return tmp_path / "survey.json"


def test_a_compiled_survey_from_before_is_read_by_devices_and_files_with_a_warning(older: Path) -> None:
    survey = Survey.load(older)
    assert Device(survey).answer("mode", CYRILLIC_CAR).survey == survey.hash
    empty = Tally.empty(survey)
    assert Tally.from_bytes(empty.to_bytes()) == empty
    assert [line.partition(":")[0] for line in name_warnings(survey)] == ["questions[0] (mode).values"] * 2


def test_nothing_new_is_made_of_it(older: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (older.parent / "key").write_text(make_key()[0])
    out = ["--out", str(older.parent / "new.json")]
    for words in (["compile", str(older), *out], ["sign", str(older), "--key", str(older.parent / "key"), *out]):
        assert main(["survey", *words]) == 2
        assert "must be one line" in capsys.readouterr().err
        assert not (older.parent / "new.json").exists()
    assert main(["survey", "check", str(older)]) == 0
    assert "look alike (LATIN SMALL LETTER A, CYRILLIC SMALL LETTER A)" in capsys.readouterr().err


@pytest.mark.parametrize("authored", [False, True])
def test_a_collector_goes_on_with_a_survey_that_its_store_holds_and_refuses_it_for_a_new_one(
    older: Path, *, authored: bool
) -> None:
    if authored:
        older.write_text(json.dumps(labelled("car", CYRILLIC_CAR, "b\nus")), encoding="utf-8")
        with pytest.raises(SurveyError, match="must be one line"):
            load(older)
    survey = load(older, running=True)
    settings = Settings(database=str(older.parent / "reports.db"), port=0)
    with refused(SurveyError, f"{older}: questions[0] (mode).values: must be one line"):
        serve(older, settings, lambda _: None)
    Store(survey, settings.database).close()
    ready: list[str] = []
    # Another thread than the first one may be told to end.
    collector = Thread(target=serve, args=(older, settings, ready.append, lambda: bool(ready)))
    collector.start()
    collector.join(60)
    assert ready
    assert not collector.is_alive()
    found = warnings(survey, settings, Tokens(settings.database))
    assert any("look alike" in line and line.startswith("warning: ") for line in found)


def test_a_stored_survey_is_read_from_the_text_that_a_store_keeps(older: Path) -> None:
    survey = load(older)
    assert loads(survey.canonical.decode()).hash == survey.hash
