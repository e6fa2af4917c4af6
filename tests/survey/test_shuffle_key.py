"""`shuffle` in a survey file: who mixes reports, and that Python, JavaScript and the schema read it alike."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pldp import Survey
from pldp.errors import SurveyError
from pldp.survey.schema import survey_schema

CLIENT = Path(__file__).parents[2] / "clients" / "js" / "src"
LATE = {"name": "late", "values": ["yes", "no"]}


def document(shuffle: Any) -> dict[str, Any]:
    return {"pldp": 1, "title": "Work", "levels": {"strict": 0.5, "open": 2}, "questions": [LATE], "shuffle": shuffle}


def test_the_key_is_kept_and_in_the_hash() -> None:
    survey = Survey.read(document({"by": "Statistics Office", "people": 1000}))
    again = Survey.read(json.loads(survey.canonical))
    other = Survey.read(document({"by": "Statistics Office", "people": 1001}))
    assert again == survey
    assert again.shuffle == ("Statistics Office", 1000)
    assert len({survey.hash, other.hash}) == 2


@pytest.mark.parametrize(
    ("shuffle", "words"),
    [
        ({"by": "Office"}, "shuffle: people is missing"),
        ({"people": 10}, "shuffle: by is missing"),
        ({"by": "", "people": 10}, "shuffle.by"),
        ({"by": "Office", "people": 1}, "shuffle.people: must be a whole number from 2"),
        ({"by": "Office", "people": True}, "shuffle.people: must be a whole number from 2"),
        ({"by": "Office", "people": 10, "delta": 1}, "shuffle.delta: is not a known key"),
        ("Office", "shuffle: must be a table"),
    ],
)
def test_what_is_wrong_gets_one_line(shuffle: Any, words: str) -> None:
    with pytest.raises(SurveyError, match=words):
        Survey.read(document(shuffle))


def test_the_schema_knows_the_key() -> None:
    assert survey_schema()["properties"]["shuffle"]["$ref"].endswith("/shuffle")
    assert survey_schema()["$defs"]["shuffle"]["required"] == ["by", "people"]


def test_javascript_reads_the_same_and_says_the_same_words(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    survey = Survey.read(document({"by": "Statistics Office", "people": 12_345}))
    survey.save(tmp_path / "survey.json")
    wrong = json.loads(survey.canonical)
    wrong["shuffle"]["people"] = 1
    (tmp_path / "wrong.json").write_text(json.dumps(wrong), encoding="utf-8")
    script = f"""
        import {{ readFileSync }} from "node:fs";
        import {{ readSurvey }} from "{(CLIENT / "index.js").as_uri()}";
        import {{ explainShuffle }} from "{(CLIENT / "explain.js").as_uri()}";
        const {{ hash, shuffle }} = await readSurvey(readFileSync("survey.json", "utf8"));
        const refused = await readSurvey(readFileSync("wrong.json", "utf8")).catch(({{ message }}) => message);
        console.log(JSON.stringify([hash, shuffle, explainShuffle(shuffle), refused]));
    """
    run = subprocess.run(
        [node, "--input-type=module", "-e", script], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    hash_, shuffle, words, refused = json.loads(run.stdout)
    assert survey.shuffle is not None
    assert hash_ == survey.hash
    assert shuffle == {"by": "Statistics Office", "people": 12_345}
    assert words == survey.shuffle.words
    assert refused.startswith("shuffle.people")
