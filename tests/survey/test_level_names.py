"""A level whose name promises what its ε does not gets one clear line; honest names get none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pldp import Survey
from pldp.cli import main
from pldp.survey import name_warnings

LATE = {"name": "late", "values": ["yes", "no"]}


def warnings(levels: dict[str, float], *questions: dict[str, object]) -> list[str]:
    asked = [LATE, *questions]
    return name_warnings(Survey.read({"pldp": 1, "title": "Names", "levels": levels, "questions": asked}))


PROMISES = (
    "strict", "Strong", "private", "very high", "safest", "secure", "MAX", "hidden", "protected", "top-secret",
    "careful", "cautious", "maximum privacy", "level_strict_2",
)  # fmt: skip


@pytest.mark.parametrize("name", PROMISES)
def test_a_name_that_promises_protection_is_for_an_epsilon_of_at_most_four(name: str) -> None:
    (line,) = warnings({name: 4.1})
    assert line.startswith(f"level {name!r} of question 'late' promises protection, but with ε = 4.1 a report can")
    assert not warnings({name: 4})


@pytest.mark.parametrize(
    "name", ["open", "a", "unprotected", "insecure", "low protection", "not private", "high accuracy"]
)
def test_a_name_that_promises_nothing_may_have_any_epsilon(name: str) -> None:
    assert not warnings({name: 20})


@pytest.mark.parametrize("less", ["open", "low", "relaxed", "public", "basic", "none", "standard", "normal"])
def test_a_name_that_promises_more_must_not_protect_less(less: str) -> None:
    (line,) = warnings({"high": 2, less: 1})
    assert line.startswith(f"level 'high' (ε = 2) of question 'late' protects less than level {less!r} (ε = 1), though")
    assert not warnings({"high": 1, less: 2})
    assert not warnings({"high": 1, less: 1})


@pytest.mark.parametrize("name", ["anonymous", "Anonymised", "not anonymous"])
def test_no_level_may_speak_of_anonymity_whatever_its_epsilon(name: str) -> None:
    (line,) = warnings({name: 0.1})
    assert line.startswith(f"level {name!r} speaks of anonymity")


def test_the_question_where_a_level_protects_least_is_named_once() -> None:
    others = [{**LATE, "name": name, "levels": {"strict": micro}} for name, micro in (("a", 9), ("b", 20), ("c", 5))]
    (line,) = warnings({"strict": 1, "open": 2}, *others)
    assert "of question 'b' promises protection, but with ε = 20 a report can change odds 485,165,195 to 1" in line
    swapped = [{**LATE, "name": name, "levels": {"strict": 3, "open": 2}} for name in "ab"]
    (line,) = warnings({"strict": 1, "open": 2}, *swapped)
    assert "of question 'a' protects less" in line


@pytest.mark.parametrize("path", sorted(Path("examples").glob("*.toml")), ids=lambda path: path.stem)
def test_the_examples_have_honest_names(path: Path, capsys) -> None:
    assert main(["survey", "check", str(path), "--json", "-"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["warnings"] == []
    assert not shown.err


def test_survey_check_warns_on_standard_error_and_in_its_json(tmp_path: Path, capsys) -> None:
    path = tmp_path / "survey.toml"
    path.write_text(
        'pldp = 1\ntitle = "t"\nlevels = { strict = 20, open = 1 }\nquestions = [{ name = "q", values = ["a", "b"] }]',
        encoding="utf-8",
    )
    for option in ([], ["--json", "-"]):
        assert main(["survey", "check", str(path), *option]) == 0
        shown = capsys.readouterr()
        assert [line[:30] for line in shown.err.splitlines()] == ["pldp: warning: level 'strict' "] * 2
        assert "warning" not in re.sub('"warnings"', "", shown.out)
    assert [f"pldp: warning: {line}" for line in json.loads(shown.out)["warnings"]] == shown.err.splitlines()
