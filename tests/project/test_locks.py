"""The lock files: every dependency pinned within its bounds, each file known by its hash, and no index named."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from helpers.modules import load_script

ROOT = Path(__file__).parent.parent.parent
COLLECTOR, ALL = ("collector", "postgres", "signing", "plots"), ("test", "spark", "lint", "docs")
LOCKS = {"requirements.lock": COLLECTOR, "requirements-ci.lock": (*COLLECTOR, *ALL)}

pytestmark = pytest.mark.skipif(
    not (ROOT / "requirements.lock").exists(), reason="the lock files are not part of a source distribution"
)


def entries(name: str) -> dict[str, tuple[Version, int]]:
    """The version of each package, and how many hashes it has."""
    blocks = re.split(r"^(?=[a-z0-9])", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    found = {}
    for block in blocks:
        pin = re.match(r"([\w.-]+)==([^\s;]+)", block)
        assert pin, block[:80]
        found[pin[1]] = (Version(pin[2]), len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", block)))
    return found


def requirements(extras: tuple[str, ...]) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(line for name in extras for line in project["optional-dependencies"][name])]
    return [each for each in map(Requirement, lines) if each.name != "pldp"]


@pytest.mark.parametrize("name", LOCKS)
def test_every_dependency_is_locked_within_its_bounds(name: str) -> None:
    locked = entries(name)
    assert not {
        str(each)
        for each in requirements(LOCKS[name])
        if each.name not in locked or locked[each.name][0] not in each.specifier
    }, "run: make lock"


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_version_has_a_hash_and_no_address(name: str) -> None:
    assert not [package for package, (_, hashes) in entries(name).items() if not hashes]
    assert "://" not in (ROOT / name).read_text(encoding="utf-8")
    assert not re.findall(r"^-.*$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)


def test_both_locks_have_the_same_versions() -> None:
    small, large = (entries(name) for name in LOCKS)
    assert len(small) > 10
    assert {name: large.get(name) for name in small} == small


def package(name: str, *vulnerabilities: str, **more: str) -> dict[str, Any]:
    return {"name": name, "version": "1", "vulns": [{"id": each} for each in vulnerabilities], **more}


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (json.dumps({"dependencies": [package("a"), package("b", "X-1")]}), 1, "b 1: X-1\ndependency audit: 2 of 2"),
        (json.dumps({"dependencies": [package("a"), package("b", skip_reason="unknown")]}), 0, "1 of 2 packages"),
        (json.dumps({"dependencies": [package("a", skip_reason="unknown")]}), 0, "dependency audit skipped"),
        ("", 0, "dependency audit skipped"),
    ],
    ids=["found", "partly", "nothing looked up", "no answer"],
)
def test_the_audit_fails_on_a_vulnerability_and_says_when_it_could_not_look(
    answer: str, code: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Where nothing could be looked up, pip-audit itself says that nothing is known, and succeeds."""
    audit = load_script(ROOT / ".ci/audit.py")
    (tmp_path / "pip-audit").write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\n", encoding="utf-8")
    (tmp_path / "pip-audit").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert audit.main("requirements.lock") == code
    assert words in capsys.readouterr().out
