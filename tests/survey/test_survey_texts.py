"""Texts, closing date, logo, languages and rules for answers: read, refused with one line, and in the hash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.schema import validate
from pldp import Device, Survey, audit
from pldp.auditing import AuditSettings
from pldp.errors import AnswerError, SimulationError, SurveyError
from pldp.simulate import Population
from pldp.survey import dead_ends, language_warnings, loads, read_logo

SETS = {
    "name": "ills",
    "kind": "choices",
    "values": ["cold", "flu", "cough", "none"],
    "exclusive": ["none"],
    "at_most": 2,
    "option_order": "random",
}
MODE = {"name": "mode", "values": ["car", "bus", "bike"], "required": True}
AGE = {"name": "age", "kind": "number", "low": 0, "high": 99, "unit": "years", "buckets": 9}
GERMAN = {
    "title": "Arbeit",
    "texts": {"introduction": "Hallo"},
    "levels": {"strict": "streng", "open": {"name": "offen", "text": "mehr"}},
    "questions": {
        "mode": {"text": "Womit?", "values": {"car": "Auto", "bus": "Bus", "bike": "Rad"}},
        "ills": {"text": "Was?", "values": {"cold": "Schnupfen", "flu": "Grippe", "cough": "Husten", "none": "nichts"}},
        "age": {"text": "Wie alt?", "unit": "Jahre"},
    },
}


def document(**changes: Any) -> dict[str, Any]:
    given = {
        "pldp": 1,
        "title": "Work",
        "levels": {"strict": 0.5, "open": {"epsilon": 2, "text": "more"}},
        "questions": [MODE, SETS, AGE],
        "texts": {"introduction": "Hello\n\nthere"},
        "closes": "2026-12-31",
        "logo": "logo.svg",
        "languages": {"de": GERMAN},
    } | changes
    return {key: value for key, value in given.items() if value is not None}


def test_every_text_is_in_the_hash_and_the_spelled_out_form_reads_the_same() -> None:
    survey = Survey.read(document())
    assert Survey.read(json.loads(survey.canonical)).hash == survey.hash
    validate(document())
    validate(json.loads(survey.canonical))
    changes: list[dict[str, Any]] = [
        {"texts": {"introduction": "Hello\n\nyou"}},
        {"closes": "2027-01-01"},
        {"logo": "logo.png"},
        {"language": "nl"},
        {"languages": {"de": {**GERMAN, "title": "Weg"}}},
    ]
    assert len({survey.hash, *(Survey.read(document(**change)).hash for change in changes)}) == 1 + len(changes)
    # What a device knows a question by does not change with its translation.
    assert survey.question("mode").identity == Survey.read(document(languages=None)).question("mode").identity


WRONG: dict[str, dict[str, Any]] = {
    "closes: must be a date such as 2026-12-31, not '2026-02-30'": {"closes": "2026-02-30"},
    "closes: must be a date such as 2026-12-31, not 20261231": {"closes": 20261231},
    "logo: must be the plain name of a file": {"logo": "../logo.svg"},
    "texts.intro: is not a known key": {"texts": {"intro": "x"}},
    "texts.thanks: must be text of at most 10000 characters, not empty": {"texts": {"thanks": " "}},
    "language: must be a language such as de, fr or pt-BR": {"language": "German"},
    "languages.en: must be another language than that of the survey itself": {"languages": {"en": {"title": "x"}}},
    "languages.de.questions.mod: is not a known key; known are age, ills, mode; did you mean 'mode'?": {
        "languages": {"de": {"questions": {"mod": {"text": "x"}}}}
    },
    "languages.de.questions.mode.unit: is not a known key": {
        "languages": {"de": {"questions": {"mode": {"unit": "x"}}}}
    },
    "languages.de.questions.mode.values: must have distinct labels; 'bus' comes twice": {
        "languages": {"de": {"questions": {"mode": {"values": {"car": "bus"}}}}}
    },
    "languages.de.levels: must have distinct names of levels": {"languages": {"de": {"levels": {"strict": "open"}}}},
    "questions[0] (mode).required: must be true or false": {"questions": [{**MODE, "required": "yes"}]},
    "questions[0] (mode).option_order: must be one of given, random": {"questions": [{**MODE, "option_order": "up"}]},
    "questions[0].exclusive: is not a known key": {"questions": [{**MODE, "exclusive": ["car"]}]},
    "questions[0].option_order: is not a known key": {"questions": [{**AGE, "option_order": "random"}]},
    "questions[0] (ills).exclusive: must be one of the question's labels": {
        "questions": [{**SETS, "exclusive": ["nothing"]}]
    },
    "questions[0] (ills).exclusive: must be a list of 1 to 3": {"questions": [{**SETS, "exclusive": SETS["values"]}]},
    "total_epsilon: must allow all required questions at the strictest level (1)": {
        "questions": [MODE, {**AGE, "required": True}],
        "total_epsilon": 0.8,
    },
}


@pytest.mark.parametrize("words", WRONG)
def test_what_breaks_a_rule_gets_one_line(words: str) -> None:
    with pytest.raises(SurveyError) as caught:
        Survey.read(document(**({"languages": None} | WRONG[words])))
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


def test_a_date_of_toml_is_the_same_as_its_text() -> None:
    start = 'pldp = 1\ntitle = "t"\nlevels = { one = 1 }\nquestions = [{ name = "a", values = ["x", "y"] }]\n'
    assert loads(f"{start}closes = 2026-12-31").hash == loads(f'{start}closes = "2026-12-31"').hash


def test_what_is_not_translated_is_shown_as_it_is_and_named() -> None:
    survey = Survey.read(document(collector="City"))
    shown = survey.shown_in("de")
    assert shown("levels", "open", "name") == "offen"
    assert shown("questions", "age", "unit") == "Jahre"
    assert shown("collector") == "City"
    (line,) = language_warnings(survey)
    assert line == "language de: 1 of 17 texts has no translation and is shown in en: collector"
    assert not language_warnings(Survey.read(document()))
    assert survey.shown_in("fr")("title") == "Work"


SVG = b'<?xml version="1.0"?>\n<!-- x --><svg xmlns="http://www.w3.org/2000/svg"/>'


def test_a_logo_is_what_its_name_says_and_small(tmp_path: Path) -> None:
    survey, file = Survey.read(document()), tmp_path / "survey.toml"
    with pytest.raises(SurveyError, match=r"^logo: .*logo\.svg cannot be read \(FileNotFoundError\)$"):
        read_logo(survey, file)
    for body, words in ((b"\x89PNG\r\n\x1a\n", "must be a picture of the type"), (SVG + b" " * 70_000, "65,536 bytes")):
        (tmp_path / "logo.svg").write_bytes(body)
        with pytest.raises(SurveyError, match=words):
            read_logo(survey, file)
    (tmp_path / "logo.svg").write_bytes(SVG)
    found = read_logo(survey, file)
    assert found is not None
    assert (found.kind, found.body) == ("image/svg+xml", SVG)
    assert read_logo(Survey.read(document(logo=None)), file) is None


def test_a_device_keeps_the_rules_for_answers() -> None:
    device = Device(Survey.read(document()))
    with pytest.raises(AnswerError) as caught:
        device.answer("ills", ["cold"])
    assert str(caught.value) == "question 'mode' is required: answer it in the same report"
    for wrong in (["none", "cold"], ["cold", "flu", "cough"]):
        with pytest.raises(AnswerError):
            device.answer_all({"mode": "car", "ills": wrong})
    assert not device.ledger.spends
    device.answer_all({"mode": "car", "ills": ["none"]})
    device.answer("age", 30.0)  # what is required was answered before


def test_the_order_of_options_is_each_devices_own_and_stays() -> None:
    survey = Survey.read(document())
    orders = set()
    for number in range(30):
        device = Device(survey, random=lambda count, number=number: bytes([number]) * count)
        order = device.options("ills")
        assert order == device.options("ills")
        assert sorted(order) == sorted(SETS["values"])
        assert order[-1] == "none"
        orders.add(order)
    assert len(orders) == 6  # of three labels; each is missed by 30 devices with probability 0.4 %
    assert Device(survey).options("mode") == tuple(MODE["values"])
    assert Device(survey).options("age") == ()


def test_simulated_people_keep_exclusive_labels_alone() -> None:
    survey = Survey.read(document(questions=[SETS], languages=None))
    values = Population.of_shares(survey, 2000, {"ills": [0.4, 0.4, 0.4, 0.3]}, seed=1).values["ills"]
    bits = np.unpackbits(np.asarray(values), axis=1, count=4, bitorder="little")
    alone = bits[:, 3] == 1
    assert (bits[alone].sum(axis=1) == 1).all()
    assert 400 < alone.sum() < 800
    with pytest.raises(SimulationError, match="exclusive"):
        Population.of_values(survey, {"ills": [["cold", "none"]]})


def test_an_audit_asks_what_the_rules_allow() -> None:
    asked = Survey.read(document(questions=[SETS, MODE], languages=None, levels={"open": 2}))
    assert not audit(asked, samples=100, settings=AuditSettings(timed=False)).refuted


def test_a_level_that_a_required_question_rules_out_is_told() -> None:
    late = {**MODE, "levels": {"open": 2}}
    (line,) = dead_ends(Survey.read(document(questions=[late, AGE], languages=None)))
    assert line == (
        "level 'strict' can never be chosen: question 'mode' is required and offers neither it nor a stricter one"
    )
    dear = Survey.read(document(questions=[MODE, {**AGE, "required": True}], languages=None, total_epsilon=3))
    assert any("'open' can never be chosen: the required questions cost ε = 4" in line for line in dead_ends(dear))
