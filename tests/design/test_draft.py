"""Survey files that are written again: nothing that was in them is lost, and nobody's changes are overwritten."""

from __future__ import annotations

import json
import tomllib
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pldp.design import ChangedError, Draft
from pldp.design.comments import read_comments
from pldp.design.draft import to_json
from pldp.design.writing import LOST, write_toml
from pldp.errors import SurveyError
from pldp.survey import load, loads, make_key, sign

ROOT = Path(__file__).parent.parent.parent
SURVEYS = [*sorted((ROOT / "examples").glob("*.toml")), *sorted((ROOT / "tests" / "structure").glob("*.toml"))]
SMALL = """# A file of mine.
pldp = 1
title = "Work"   # shown first
[levels]
# the only one
open = 1
[[questions]]
# how they come
name = "mode"
values = ["car", # with petrol
  "bus"]
[[questions]]
name = "late"
values = ["yes", "no"]
# the end
"""


def comments(text: str) -> list[str]:
    return sorted(line for lines in read_comments(text).values() for line in lines)


@pytest.mark.parametrize("path", SURVEYS, ids=lambda path: path.stem)
def test_a_file_that_is_written_again_is_the_same_survey_with_every_comment(path: Path) -> None:
    draft = Draft.open(path)
    text = draft.text(json.loads(to_json(draft.document), parse_float=Decimal))  # by way of the page
    assert loads(text).hash == load(path).hash
    assert comments(text) == comments(path.read_text(encoding="utf-8"))
    again = write_toml(tomllib.loads(text, parse_float=Decimal), read_comments(text), {})
    assert again == text  # a second time changes nothing


def test_comments_of_what_is_removed_are_kept_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SMALL, encoding="utf-8")
    draft = Draft.open(tmp_path / "s.toml")
    draft.save({**draft.document, "questions": draft.document["questions"][1:]})
    text = (tmp_path / "s.toml").read_text(encoding="utf-8")
    assert text.endswith(f"# {LOST}\n# how they come\n# with petrol\n# the end\n")
    assert comments(text) == sorted([*comments(SMALL), LOST])


def test_keys_of_a_new_file_are_explained_and_those_of_an_old_one_are_not(tmp_path: Path) -> None:
    draft = Draft.open(tmp_path / "new.toml")
    draft.save({**draft.document, "title": "t", "questions": [{"name": "q", "values": ["a", "b"]}]})
    text = (tmp_path / "new.toml").read_text(encoding="utf-8")
    assert "# Protections that people can choose." in text
    (tmp_path / "s.toml").write_text(SMALL, encoding="utf-8")
    old = Draft.open(tmp_path / "s.toml")
    assert comments(old.text({**old.document, "total_epsilon": 3})) == sorted(
        [*comments(SMALL), "The most that one person can spend on this survey, in ε."]
    )


def test_a_file_that_changed_meanwhile_is_overwritten_only_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SMALL, encoding="utf-8")
    draft = Draft.open(path)
    path.write_text(SMALL + "# by somebody else\n", encoding="utf-8")
    with pytest.raises(ChangedError, match=r"s\.toml changed on the disk since it was opened"):
        draft.save(draft.document)
    assert path.read_text(encoding="utf-8").endswith("# by somebody else\n")
    draft.save(draft.document, overwrite=True)
    assert "somebody else" not in path.read_text(encoding="utf-8")
    draft.save({**draft.document, "title": "Again"})  # what it wrote itself is no change of somebody else
    with pytest.raises(ChangedError, match="exists already"):
        Draft(path).save(draft.document)
    assert [each.name for each in tmp_path.iterdir()] == ["s.toml"]


def test_dates_stay_dates_unless_they_are_changed(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SMALL.replace("[levels]", "closes = 2026-12-31\n[levels]"), encoding="utf-8")
    draft = Draft.open(path)
    by_page = json.loads(to_json(draft.document))
    assert by_page["closes"] == "2026-12-31"
    draft.save(by_page)
    assert tomllib.loads(path.read_text(encoding="utf-8"))["closes"] == date(2026, 12, 31)
    draft.save({**by_page, "closes": "2027-01-01"})
    assert tomllib.loads(path.read_text(encoding="utf-8"))["closes"] == "2027-01-01"


def test_json_files_stay_json_and_signed_ones_are_refused(tmp_path: Path) -> None:
    survey = load(ROOT / "examples" / "commute.toml")
    survey.save(tmp_path / "s.json")
    draft = Draft.open(tmp_path / "s.json")
    draft.save({**draft.document, "title": "Another"})
    assert load(tmp_path / "s.json").title == "Another"
    (tmp_path / "signed.json").write_text(sign(survey, make_key()[0]), encoding="utf-8")
    with pytest.raises(SurveyError, match="is signed, and no change would keep the signature"):
        Draft.open(tmp_path / "signed.json")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("s.txt", b"", "must end in .toml or .json"),
        ("s.toml", b"a = ", "not valid TOML"),
        ("s.json", b"[]", "must be a table"),
        ("s.toml", b"\xff", "cannot be read as UTF-8"),
    ],
)
def test_a_file_that_is_no_survey_gets_one_clear_line(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SurveyError, match=words) as error:
        Draft.open(tmp_path / name)
    assert "\n" not in str(error.value)


TEXTS = st.text("abé\"'\\\n\t# =[{.\x7f\u2028", max_size=6)
SIMPLE = st.one_of(
    TEXTS, st.integers(-99, 99), st.booleans(), st.decimals(-9, 9, allow_nan=False, places=3), st.dates()
)
BELOW = SIMPLE | st.lists(SIMPLE, max_size=2) | st.dictionaries(TEXTS, SIMPLE, max_size=2)
WHATEVER = BELOW | st.lists(st.dictionaries(TEXTS, BELOW, max_size=2), max_size=2) | st.lists(BELOW, max_size=2)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(TEXTS, WHATEVER, max_size=3))
def test_whatever_is_written_reads_back(document: dict[str, Any]) -> None:
    assert tomllib.loads(write_toml(document, {}, {}), parse_float=Decimal) == document
