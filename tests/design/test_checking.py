"""What is wrong with a survey stands beside its field, all of it at once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pldp.design import Designer, check_document, kept_keys, question_fields, survey_fields
from pldp.design.checking import document_of, form_of
from pldp.design.fields import OWN, SPELLED, _fields
from pldp.survey import KINDS
from pldp.survey.schema import survey_schema

GOOD: dict[str, Any] = {
    "pldp": 1,
    "title": "Work",
    "levels": {"strict": 0.5, "open": {"epsilon": 2, "text": "more"}},
    "questions": [
        {"name": "mode", "values": ["car", "bus", "bike"]},
        {"name": "bag", "kind": "choices", "values": ["pen", "book"]},
        {"name": "age", "kind": "number", "low": 16, "high": 90},
    ],
}


def changed(**keys: Any) -> dict[str, Any]:
    return {**GOOD, **keys}


def asked(place: int, **keys: Any) -> dict[str, Any]:
    questions = [dict(question) for question in GOOD["questions"]]
    questions[place] |= keys
    return {**GOOD, "questions": questions}


@pytest.mark.parametrize(
    ("document", "where"),
    [
        (changed(title=""), ("title",)),
        ({key: value for key, value in GOOD.items() if key != "title"}, ("title",)),
        (changed(levels={"strict": 0, "open": 2}), ("levels", 0, "epsilon")),
        (changed(levels={"strict": 1, "open": "2,5"}), ("levels", 1, "epsilon")),
        (changed(levels={}), ("levels",)),
        (changed(total_epsilon="x"), ("total_epsilon",)),
        (changed(total_epsilon=0.1), ("total_epsilon",)),
        (changed(ask=9), ("ask",)),
        (changed(repeat="often"), ("repeat",)),
        (changed(hide_level={"epsilon": 30}), ("hide_level", "epsilon")),
        (changed(questions=[]), ("questions",)),
        (changed(unheard=1), ("unheard",)),
        (asked(0, name=""), ("questions", 0, "name")),
        (asked(1, name="mode"), ("questions", 1, "name")),
        (asked(0, values=["car"]), ("questions", 0, "values")),
        (asked(0, values=["car", "car"]), ("questions", 0, "values")),
        (asked(1, budget="box"), ("questions", 1, "budget")),
        (asked(1, at_most=9), ("questions", 1, "at_most")),
        (asked(2, low="x"), ("questions", 2, "low")),
        (asked(2, buckets=1), ("questions", 2, "buckets")),
        (asked(2, levels={"lax": 1}), ("questions", 2, "levels", "lax")),
        (asked(0, mechanism="sw"), ("questions", 0, "levels")),
    ],
)
def test_an_error_is_found_at_its_field(document: dict[str, Any], where: tuple[str | int, ...]) -> None:
    survey, troubles = check_document(document)
    assert survey is None
    assert where in [trouble.where for trouble in troubles]
    assert all(trouble.text and "\n" not in trouble.text for trouble in troubles)
    assert len({trouble.where for trouble in troubles}) == len(troubles)  # one line for a field


def test_a_good_survey_has_no_trouble() -> None:
    survey, troubles = check_document(GOOD)
    assert troubles == []
    assert survey is not None
    assert check_document(document_of(form_of(GOOD))[0])[0] == survey


def test_several_errors_are_told_at_once() -> None:
    wrong = asked(0, values=["car"]) | {"title": "", "levels": {"strict": 0, "open": "x"}}
    wrong["questions"][2] = {"name": "age", "kind": "number", "low": 1}
    found = {trouble.where for trouble in check_document(wrong)[1]}
    assert {("title",), ("levels", 0, "epsilon"), ("levels", 1, "epsilon")} <= found
    found = {trouble.where for trouble in check_document({**wrong, "title": "t", "levels": {"open": 1}})[1]}
    assert {("questions", 0, "values"), ("questions", 2, "high")} <= found


def test_two_levels_of_one_name_are_told() -> None:
    _, troubles = document_of({"levels": [["a", 1], ["b", 1], ["a", 2]]})
    assert [trouble.where for trouble in troubles] == [("levels", 2, "name")]


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_of_a_kind_is_a_field_or_named_as_kept(kind: str) -> None:
    shown = {field.key for field in question_fields(kind)}
    table = {key: {"strict": 1} for key in KINDS[kind].keys if key not in shown | OWN}
    kept = kept_keys({"questions": [{"name": "q", "kind": kind, **table}]})
    assert kept == [f"questions.q.{key}" for key in table]
    assert set(KINDS[kind].required) <= shown


def test_a_new_key_of_the_schema_becomes_a_field_without_code() -> None:
    schema = {
        "slogan": {"type": "string", "maxLength": 9000, "description": "said loudly"},
        "open_until": {"type": "integer"},
        "loud": {"type": "boolean"},
        "words": {"type": "array", "items": {"type": "string"}},
        "size": {"enum": ["small", "large"]},
        "deep": {"type": "object", "properties": {"colour": {"type": "string"}}},
        "odd": {"type": "object", "additionalProperties": {"type": "integer"}},
    }
    found = {field.key: field for field in _fields(schema, ["loud"])}
    assert {key: field.form for key, field in found.items()} == {
        "slogan": "passage", "open_until": "integer", "loud": "switch", "words": "lines", "size": "one_of",
        "deep": "group",
    }  # fmt: skip
    assert found["slogan"].help == "said loudly"
    assert found["open_until"].label == "Open until"
    assert found["loud"].required


def test_keys_that_no_field_shows_are_known_to_the_schema() -> None:
    keys = {key for kind in KINDS.values() for key in kind.keys}
    assert SPELLED - {"languages"} <= keys | survey_schema()["$defs"]["hide_level"]["properties"].keys()
    assert {"title", "total_epsilon", "repeat", "hide_level"} <= {field.key for field in survey_fields()}


def test_a_logo_that_is_not_there_is_told_before_a_collector_fails_to_start(tmp_path: Path) -> None:
    designer = Designer(folder=tmp_path)
    content = {"form": form_of({**GOOD, "logo": "logo.svg"})}
    told = asyncio.run(designer._check(content))["troubles"]
    assert [trouble["where"] for trouble in told] == [["logo"]]
    (tmp_path / "logo.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", encoding="utf-8")
    assert asyncio.run(designer._check(content))["troubles"] == []
    assert designer._logo is not None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"questions": []}, "questions: add a question"),
        ({"questions": [3]}, "question 1: must be a table, not 3"),
        ({"logo": "logo.svg"}, "logo: "),
    ],
)
def test_saving_says_whether_the_file_is_a_draft_and_so_does_opening_it(tmp_path: Path, change, reason) -> None:
    content = {"form": form_of({**GOOD, **change}), "name": "s.json"}
    saved = asyncio.run(Designer(folder=tmp_path)._save(content))
    opened = Designer(tmp_path / "s.json", folder=tmp_path)._state()
    assert saved["draft"] == opened["draft"]
    assert saved["draft"] is None if reason is None else saved["draft"].startswith(reason)
