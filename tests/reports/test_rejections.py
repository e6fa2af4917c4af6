"""Every way a report can be wrong has its reason; nothing else is raised."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pldp import Device, Survey
from pldp.reports import Rejection, ReportRejected, read_report


@pytest.fixture
def good(every_form: Survey) -> dict:
    values = {"direct": "a", "bits": "3", "hashed": "7", "mixed": "8"}
    return Device(every_form).answer_all(values, "strict").to_mapping()


def with_answer(report: dict, place: int, **changes: object) -> dict:
    answers = [dict(answer) for answer in report["answers"]]
    answers[place] |= changes
    return {**report, "answers": answers}


WRONG = {
    "malformed": [
        lambda r: "not json",
        lambda r: b"\xff",
        lambda r: "[]",
        lambda r: {**r, "more": 1},
        lambda r: {k: v for k, v in r.items() if k != "id"},
        lambda r: {**r, "answers": {}},
        lambda r: {**r, "answers": ["x"]},
        lambda r: with_answer(r, 0, level=3),
        lambda r: with_answer(r, 0, extra=3),
        lambda r: "[" * 100_000,
    ],
    "wrong_schema": [lambda r: {**r, "pldp": 2}, lambda r: {**r, "pldp": True}, lambda r: {**r, "pldp": "1"}],
    "wrong_survey": [lambda r: {**r, "survey": "0" * 64}, lambda r: {**r, "survey": None}],
    "bad_id": [lambda r: {**r, "id": "0" * 31}, lambda r: {**r, "id": "A" * 32}, lambda r: {**r, "id": 5}],
    "no_answer": [lambda r: {**r, "answers": []}],
    "unknown_question": [lambda r: with_answer(r, 0, question="age")],
    "repeated_question": [
        lambda r: {**r, "answers": r["answers"][:1] * 2},
        lambda r: {**r, "answers": r["answers"] * 2},
    ],
    "unknown_level": [lambda r: with_answer(r, 0, level="none")],
    "wrong_type": [
        lambda r: with_answer(r, 0, output="1"),
        lambda r: with_answer(r, 0, output=1.0),
        lambda r: with_answer(r, 0, output=True),
        lambda r: with_answer(r, 0, output=None),
        lambda r: with_answer(r, 1, output=3),
        lambda r: with_answer(r, 1, output="zzzz"),
        lambda r: with_answer(r, 1, output="AB00"),
    ],
    "wrong_length": [lambda r: with_answer(r, 1, output="00"), lambda r: with_answer(r, 1, output="000000")],
    "out_of_range": [
        lambda r: with_answer(r, 0, output=3),
        lambda r: with_answer(r, 0, output=-1),
        lambda r: with_answer(r, 0, output=10**30),
        lambda r: with_answer(r, 1, output="0004"),
        lambda r: with_answer(r, 2, output=10**6),
    ],
}


@pytest.mark.parametrize(
    ("reason", "case"), [(reason, n) for reason, cases in WRONG.items() for n in range(len(cases))]
)
def test_each_fault_has_its_reason(every_form: Survey, good: dict, reason: str, case: int) -> None:
    with pytest.raises(ReportRejected) as caught:
        read_report(every_form, WRONG[reason][case](good))
    assert caught.value.reason == Rejection(reason)
    assert "\n" not in str(caught.value)


def test_every_reason_occurs() -> None:
    elsewhere = {"too_many_answers"}  # needs a survey with `ask`: tests/survey/test_many_questions.py
    elsewhere |= {
        "conflict",
        "closed_round",
        "closed_survey",
        "withdrawn",
    }  # need a store: tests/collector/test_store.py
    elsewhere |= {"over_budget"}  # needs a ledger: tests/collector/test_ledger.py
    elsewhere |= {"unreadable"}  # needs a broken file: tests/spark/test_commands.py
    assert set(WRONG) | elsewhere == {reason.value for reason in Rejection}


def test_a_good_report_survives_the_wire(every_form: Survey, good: dict) -> None:
    report = read_report(every_form, json.dumps(good))
    assert report.to_mapping() == good
    assert read_report(every_form, report.to_json().encode()) == report


def test_the_json_schema_accepts_reports_and_refuses_others(good: dict) -> None:
    schema = json.loads(files("pldp.reports").joinpath("report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(good, schema)
    for wrong in ({**good, "id": "x"}, {**good, "more": 1}, with_answer(good, 0, output=1.5), {**good, "answers": []}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.binary() | st.text() | json_values.map(json.dumps))
def test_any_bytes_are_read_or_rejected_with_a_reason(content: str | bytes) -> None:
    survey = Survey.load("examples/commute.toml")
    with pytest.raises(ReportRejected):
        read_report(survey, content)


@given(st.sampled_from(["pldp", "survey", "id", "answers"]), json_values)
def test_any_change_of_one_key_is_read_or_rejected(key: str, value: object) -> None:
    survey = Survey.load("examples/commute.toml")
    report = {**Device(survey).answer("late", "yes").to_mapping(), key: value}
    try:
        read_report(survey, json.dumps(report))
    except ReportRejected as rejected:
        assert rejected.reason in Rejection  # noqa: PT017
