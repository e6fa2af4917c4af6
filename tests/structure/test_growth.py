"""A throw-away mechanism and a throw-away kind, added in the places that CONTRIBUTING names and nowhere else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LINES = {
    "mechanisms/registry.py": (
        '    "sue": ("labels"',
        '    "toss": ("labels", "toss.channel", "Toss"),\n    "sue": ("labels"',
    ),
    "auditing/published.py": (
        '    "sue": _unary,',
        '    "toss": lambda size, weights: _krr(size, {"other": weights["wrong"]}),\n    "sue": _unary,',
    ),
}
"""Lines of the throw-away mechanism: file → what stands there, what stands there afterwards."""

CHANNEL = '''
"""The truth, or another value: k-ary randomized response under another name."""

from dataclasses import dataclass
from typing import ClassVar

from pldp.mechanisms.response.channel import RandomizedResponse


@dataclass(frozen=True)
class Toss(RandomizedResponse):
    mechanism: ClassVar[str] = "toss"

    @classmethod
    def published(cls):
        return {"wrong": "other_weight"}

    @classmethod
    def suits(cls, size, *, hidden=False):
        return False
'''

ARRAYS = '''
"""The same over arrays."""

from pldp.mechanisms.response.arrays import ResponseArrays
from pldp.mechanisms.toss.channel import Toss


class TossArrays(ResponseArrays):
    pass


FORMS = {Toss: TossArrays}
'''

KIND_MODULES = {
    "survey": '''
"""A number of points from 1 to at most 9."""

from dataclasses import dataclass
from typing import ClassVar

from pldp.survey.kinds.choice import Choice
from pldp.survey.question import Question


@dataclass(frozen=True, repr=False)
class Points(Choice):
    kind: ClassVar[str] = "points"
    keys: ClassVar = {**Question.keys, "most": {"type": "integer"}}
    required: ClassVar = ("name", "most")

    @classmethod
    def read(cls, entry):
        values = tuple(str(point) for point in range(1, entry.table["most"] + 1))
        budgets = [level.micro_epsilon for level in entry.levels]
        channels = cls.read_channels(entry, len(values), budgets)
        return cls(entry.name, entry.text, entry.levels, channels, values, ())

    def answers_document(self):
        return {"most": len(self.values)}
''',
    "device": """
from pldp.device.kinds import choice


def encode(question, value):
    return choice.encode(question, str(value))


explain = choice.explain
""",
    "simulate": """
from pldp.simulate.kinds.choice import SimulatedChoice


class SimulatedPoints(SimulatedChoice):
    pass
""",
    "estimates": """
from pldp.estimates.kinds.choice import METHODS, estimate

__all__ = ["METHODS", "estimate"]
""",
    "planning": """
from pldp.planning.kinds.choice import PlannedChoice


class PlannedPoints(PlannedChoice):
    pass
""",
    "auditing": """
from pldp.auditing.kinds.choice import AuditedChoice


class AuditedPoints(AuditedChoice):
    def size(self, document):
        return document["most"]
""",
    "show": "from pldp.show.kinds.choice import Choice\n\n\nclass Points(Choice):\n    pass\n",
}

CLASSES = {"simulate": "Simulated", "planning": "Planned", "auditing": "Audited"}
MODULES = ("import choice, choices, number", "import choice, choices, number, points")


def kind_lines(stage: str) -> list[tuple[str, str]]:
    """Return the entry of the throw-away kind in the registry of a stage, and the import it needs: before, after."""
    if stage in {"device", "estimates"}:
        return [('"number": number}', '"number": number, "points": points}'), MODULES]
    prefix = CLASSES.get(stage, "")
    imported = f"import {prefix}Number\n"
    lines = [(imported, f"{imported}from pldp.{stage}.kinds.points import {prefix}Points\n")]
    if stage == "survey":
        return [("(Choice, Choices, Number)", "(Choice, Choices, Number, Points)"), *lines]
    entry = f'    "number": {prefix}Number(),\n'
    return [(entry, f'{entry}    "points": {prefix}Points(),\n'), *lines]


def change(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(before) >= 1, f"{path}: {before!r} is gone"
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


SURVEYS = {
    "coin": (
        'pldp = 1\ntitle = "t"\nlevels = { strict = 1, open = 3 }\n'
        'questions = [{ name = "coin", values = ["a", "b", "c"], mechanism = "toss" }]\n'
    ),
    "stars": (
        'pldp = 1\ntitle = "t"\nlevels = { strict = 1, open = 3 }\n'
        'questions = [{ name = "stars", kind = "points", most = 5 }]\n'
    ),
}
"""A survey with the throw-away mechanism and one of the throw-away kind, each named like its question."""


def copy_package(folder: Path) -> Path:
    """A copy of the package that may be changed."""
    copy = folder / "src" / "pldp"
    shutil.copytree(ROOT / "src" / "pldp", copy, ignore=shutil.ignore_patterns("*.csv", "pages"))
    return copy


COMMANDS = """
import contextlib, io, json, sys
from pldp.cli import main

printed = []
for words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = main(words)
    if code:
        sys.exit(f"{words}: exit code {code}")
    printed.append(out.getvalue())
json.dump(printed, sys.stdout)
"""


def run(package: Path, *commands: str) -> list[str]:
    """Run commands of the changed copy in one process; they must succeed. Return what each printed."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS],
        input=json.dumps([command.split() for command in commands]),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        cwd=package.parent,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def commands_for(survey: str) -> list[str]:
    """From the survey file to the estimate, past plan and audit; a name is that of the survey and of all its files."""
    return [
        f"survey check {survey}.toml",
        f"audit {survey}.toml --samples 0 --json -",
        f"simulate {survey}.toml --people 3000 --out {survey}.parquet --json {survey}-truth.json",
        f"tally {survey}.parquet --out {survey}.tally",
        f"plan {survey}.toml --people 3000 --json {survey}-plan.json",
        f"estimate {survey}.tally --html {survey}.html --json {survey}-estimate.json",
    ]


def write_survey(package: Path, name: str) -> None:
    (package.parent / f"{name}.toml").write_text(SURVEYS[name], encoding="utf-8")


def check_the_way(folder: Path, name: str, checked: str, audited: str) -> dict:
    """What the commands printed and wrote has the question that is named like the survey; return its estimate."""
    assert name in checked
    assert {row["question"] for row in json.loads(audited)["rows"]} == {name}
    assert f">{name}<" in (folder / f"{name}.html").read_text(encoding="utf-8")
    (found,) = json.loads((folder / f"{name}-estimate.json").read_text())["questions"]
    (truth,) = json.loads((folder / f"{name}-truth.json").read_text())["questions"]
    for row, true in zip(found["rows"], truth["rows"], strict=True):
        assert row["label"] == true["label"]
        assert abs(row["estimate"] - true["true"]) < 6 * row["standard_error"]
    return found


def add_mechanism(package: Path) -> None:
    folder = package / "mechanisms" / "toss"
    folder.mkdir()
    (folder / "channel.py").write_text(CHANNEL, encoding="utf-8")
    (folder / "arrays.py").write_text(ARRAYS, encoding="utf-8")
    for path, (before, after) in LINES.items():
        change(package / path, before, after)


def add_kind(package: Path, stages: Iterable[str]) -> None:
    for stage in stages:
        (package / stage / "kinds" / "points.py").write_text(KIND_MODULES[stage].lstrip(), encoding="utf-8")
        for before, after in kind_lines(stage):
            change(package / stage / "kinds" / "__init__.py", before, after)


@pytest.fixture(scope="module")
def estimates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """The estimate of each survey by a package that has both; neither has any part in the other's survey."""
    package = copy_package(tmp_path_factory.mktemp("grown"))
    add_mechanism(package)
    add_kind(package, KIND_MODULES)
    ways = [commands_for(name) for name in SURVEYS]
    for name in SURVEYS:
        write_survey(package, name)
    printed = iter(run(package, *chain.from_iterable(ways)))
    told = {name: [next(printed) for _ in way] for name, way in zip(SURVEYS, ways, strict=True)}
    return {name: check_the_way(package.parent, name, *lines[:2]) for name, lines in told.items()}


def named_numbers(heading: str) -> list[str]:
    """The numbers of files and lines that CONTRIBUTING states below a heading."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"(\w+) new files and (\w+) lines", section)[0]


def test_a_mechanism_is_added_with_two_files_and_two_lines_in_python(estimates: dict[str, dict]) -> None:
    assert {group["mechanism"] for group in estimates["coin"]["groups"]} == {"toss"}
    # JavaScript adds one file and one line to those of Python.
    assert named_numbers("Adding a mechanism") == ("Three", "three")


def test_a_kind_is_added_with_one_file_and_one_line_in_each_stage(estimates: dict[str, dict]) -> None:
    assert [row["label"] for row in estimates["stars"]["rows"]] == ["1", "2", "3", "4", "5"]
    # JavaScript has two more: the device and the survey page.
    assert len(KIND_MODULES) == 7
    assert named_numbers("Adding a kind") == ("Nine", "nine")


def test_a_kind_that_lacks_a_stage_is_missed(tmp_path: Path) -> None:
    package = copy_package(tmp_path)
    add_kind(package, ("survey", "device"))
    write_survey(package, "stars")
    with pytest.raises(AssertionError, match="points"):
        run(package, *commands_for("stars"))
