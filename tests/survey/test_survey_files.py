"""Survey files: what is accepted, what is refused and in which words, hash and signature."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.refusals import refused
from helpers.schema import validate
from pldp.budgets import Level
from pldp.errors import SignatureError, SurveyError
from pldp.mechanisms import build, names
from pldp.survey import Choice, Survey, loads, make_key, sign

GOOD = {
    "pldp": 1,
    "title": "t",
    "levels": {"strict": 0.5, "open": {"epsilon": "2", "text": "helps"}},
    "questions": [{"name": "q", "values": ["a", "b", "c"]}],
}


def changed(**changes: object) -> str:
    """The good survey with some keys replaced; `...` removes a key."""
    return json.dumps({key: value for key, value in {**GOOD, **changes}.items() if value is not ...})


def question(**changes: object) -> str:
    return changed(questions=[{**GOOD["questions"][0], **changes}])


BROKEN = {
    "pldp: must be 1": changed(pldp=2),
    "survey: title is missing": changed(title=...),
    "title: must be text": changed(title=3),
    "survey.colector: is not a known key": changed(colector="x"),
    "shuffle, texts, title, total_epsilon; did you mean 'collector'?": changed(colector="x"),
    "levels: must be a table": changed(levels={}),
    "levels.strict: epsilon must be a number above 0": changed(levels={"strict": 0}),
    "levels.strict: epsilon must be a number above 0 and at most 20": changed(levels={"strict": 1000}),
    "levels.strict: must be a number": changed(levels={"strict": None}),
    "levels.strict: epsilon must be at least": changed(levels={"strict": "1e-9"}),
    "questions: must be a list": changed(questions=[]),
    "questions[0]: values is missing": changed(questions=[{"name": "q"}]),
    "questions[0] (q).values: must be a list of 2": question(values=["a"]),
    "questions[0] (q).values: must be a list of 2 to": question(values=[]),
    "questions[0] (q).values: must have distinct labels": question(values=["a", "b", "a"]),
    "questions[0] (q).values[1]: must be text": question(values=["a", " "]),
    "questions[0].kind: must be one of choice, choices, number, not 'essay'": question(kind="essay"),
    "not 'numbr'; did you mean 'number'?": question(kind="numbr"),
    "lh, projective, pairs or auto, not 'our'; did you mean 'oue'?": question(mechanism="our"),
    "the survey's levels: strict, open, not 'stric'; did you mean 'strict'?": question(levels={"stric": 1}),
    "weights: must come with a named mechanism, not 'auto'": question(weights={"open": {"other": 1}}),
    "questions[0] (q), level strict: mechanism must be one of": question(mechanism="laplace"),
    "questions[0] (q).mechanism.none: must be one of the question's levels": question(mechanism={"none": "krr"}),
    "questions[0] (q).levels.none: must be one of the survey's levels": question(levels={"none": 1}),
    "questions: must have distinct names": changed(questions=GOOD["questions"] * 2),
    "total_epsilon: must allow at least one answer": changed(total_epsilon=0.1),
    "hide_level: epsilon is missing": changed(hide_level={}),
    "hide_level: must have at least two levels": changed(levels={"a": 1}, hide_level={"epsilon": 1}),
    "must give reports of one form at every level": changed(
        hide_level={"epsilon": 1}, questions=[{**GOOD["questions"][0], "mechanism": {"strict": "oue", "open": "krr"}}]
    ),
    "hide_level: weights of krr must be integers": changed(hide_level={"epsilon": 1, "weights": {"other": "1"}}),
    "form NFC": changed(title="e\u0301"),
    "without control characters": changed(title="a\x07"),
    "title: must be text in Unicode form NFC": changed(title="\ud800"),
    "title: must be text without direction marks and invisible characters, not 'U+202E'": changed(title="a\u202eb"),
    "title: must be text without direction marks and invisible characters, not 'U+200B'": changed(title="a\u200bb"),
    "question q, level strict: weights must keep the promised epsilon 0.5": question(
        mechanism={"strict": "krr"}, weights={"strict": {"other": 2**40}}
    ),
    "weights of krr must be integers": question(mechanism={"strict": "krr"}, weights={"strict": {"other": 0.5}}),
    "line 1: not valid JSON": '{"pldp": }',
    "not valid TOML": "pldp = ",
    "(at line 2": "pldp = 1\ntitle = \n",
    "survey: must be a table": json.dumps(
        {"signature": {"algorithm": "ed25519", "public_key": "1" * 64, "signature": "0" * 128}}
    ),
    "a number is too long": '{"pldp": ' + "9" * 5000 + "}",
    "not valid TOML: a number is too long": "pldp = " + "9" * 5000,
    "a key comes twice": '{"pldp": 1, "pldp": 1}',
    "levels: must be at most 100": changed(levels={str(number): 1 for number in range(101)}),
    "nested too deeply": '{"a":' + "[" * 100_000,
}


@pytest.mark.parametrize("words", BROKEN)
def test_a_broken_file_gets_one_line_that_names_the_key(words: str) -> None:
    with refused(SurveyError, words):
        loads(BROKEN[words])


def test_errors_name_the_file(tmp_path) -> None:
    with pytest.raises(SurveyError, match="there is no such file"):
        Survey.load(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("pldp = ")
    with pytest.raises(SurveyError, match=r"broken\.toml: not valid TOML"):
        Survey.load(broken)
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(SurveyError, match="is not a survey file, which is UTF-8 text"):
        Survey.load(broken)


def test_levels_are_strictest_first_whatever_their_order_in_the_file() -> None:
    survey = loads(changed(levels={"c": 3, "a": 1, "b": 2}))
    assert [level.name for level in survey.levels] == ["a", "b", "c"]


def test_a_question_can_have_its_own_epsilons() -> None:
    survey = loads(question(levels={"strict": 0.25}))
    assert [level.micro_epsilon for level in survey.question("q").levels] == [250_000]


def test_toml_and_json_of_the_same_survey_have_one_hash() -> None:
    toml = """
    pldp = 1
    title = "t"
    [levels]
    strict = 0.50
    open = { epsilon = 2.0, text = "helps" }
    [[questions]]
    name = "q"
    values = ["a", "b", "c"]
    """
    assert loads(toml).hash == loads(json.dumps(GOOD)).hash


def test_the_spelled_out_form_is_a_survey_with_the_same_hash(commute: Survey, every_form: Survey, tmp_path) -> None:
    for survey in (commute, every_form):
        survey.save(tmp_path / "survey.json")
        assert Survey.load(tmp_path / "survey.json").hash == survey.hash


def test_the_hash_is_pinned(commute: Survey) -> None:
    """The meaning of a survey must never change silently: this constant may change only with the example file."""
    assert commute.hash == "c21931c1e5f0384f367c01ecf16ca6b6c513225f79a3cf9ee5bd143df7f185ca"


def test_a_promise_that_the_weights_do_not_keep_cannot_be_built() -> None:
    with pytest.raises(SurveyError, match=r"weights must keep the promised epsilon 0\.1, not 5"):
        Choice("q", "", (Level("a", 100_000),), (build("krr", 2, 5_000_000),), ("x", "y"))


def test_any_change_of_content_changes_the_hash() -> None:
    variants = [
        changed(),
        changed(title="u"),
        changed(total_epsilon=3),
        changed(levels={"strict": 0.5, "open": 2}),
        changed(hide_level={"epsilon": 1}),
        question(values=["a", "c", "b"]),
        question(text="?"),
        question(mechanism="oue"),
    ]
    assert len({loads(text).hash for text in variants}) == len(variants)


def test_a_signed_survey_is_accepted_only_as_it_was_signed(commute: Survey) -> None:
    private, public = make_key()
    signed = sign(commute, private)
    assert loads(signed, trusted_key=public).hash == loads(signed).hash == commute.hash
    with pytest.raises(SignatureError, match="not the trusted key"):
        loads(signed, trusted_key=make_key()[1])
    with pytest.raises(SignatureError, match="does not fit"):
        loads(signed.replace("Example City", "Another City"), trusted_key=public)
    with pytest.raises(SignatureError, match="is missing"):
        loads(commute.canonical.decode(), trusted_key=public)
    with pytest.raises(SignatureError, match="64 hexadecimal digits"):
        loads(signed, trusted_key="xyz")
    with pytest.raises(SignatureError, match="must be ed25519"):
        loads(signed.replace('"ed25519"', '"none"'))
    with pytest.raises(SignatureError, match="exactly the keys"):
        loads(json.dumps({"survey": commute.document, "signature": {}}))


def survey_schema() -> dict:
    return json.loads(files("pldp.survey").joinpath("survey.schema.json").read_text())


def test_the_json_schema_accepts_what_the_reader_accepts(commute: Survey, every_form: Survey) -> None:
    jsonschema.Draft202012Validator.check_schema(survey_schema())
    for survey in (commute, every_form, loads(changed(hide_level={"epsilon": 1}, total_epsilon=3))):
        validate(json.loads(survey.canonical))
    validate(GOOD)


def test_the_json_schema_refuses_misspelled_and_missing_keys() -> None:
    for text in (
        changed(colector="x"),
        changed(title=...),
        question(values=["a"]),
        changed(levels={}),
        changed(pldp=2),
    ):
        with pytest.raises(jsonschema.ValidationError):
            validate(json.loads(text))


words = st.text("abcåß☂ ", min_size=1).filter(str.strip)
labels = st.lists(words, min_size=2, max_size=12, unique_by=lambda text: " ".join(text.split()))


@given(
    labels,
    st.dictionaries(st.text("xyz", min_size=1, max_size=4), st.integers(1, 20_000_000), min_size=1, max_size=4),
    st.sampled_from([*names("labels", per_value=False), "auto"]),
)
def test_every_survey_survives_the_round_trip(values: list[str], levels: dict[str, int], mechanism: str) -> None:
    document = {
        "pldp": 1,
        "title": "t",
        "levels": {name: f"{micro / 1e6:.6f}" for name, micro in levels.items()},
        "questions": [{"name": "q", "values": values, "mechanism": mechanism}],
    }
    try:
        survey = loads(json.dumps(document))
    except SurveyError as error:
        assert "too small" in str(error)  # noqa: PT017 - a few millionths of ε are beyond 32-bit weights
        return
    again = loads(survey.canonical.decode())
    assert (again.hash, again.document) == (survey.hash, survey.document)


@given(st.text())
def test_no_text_crashes_the_reader(text: str) -> None:
    try:
        loads(text)
    except SurveyError as error:
        assert "\n" not in str(error)  # noqa: PT017
