"""The npm bundle of the JavaScript device: small, with the hashes it states, and the same device byte for byte."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

import pytest
from make_vectors import CASES, make_mutants, make_vectors

ROOT = Path(__file__).parent.parent.parent
CLIENT = ROOT / "clients" / "js"
LARGEST = 15_000  # bytes, compressed, that a page loads for a signed survey of choices by randomised response
LONG = bool(os.environ.get("PLDP_LONG"))
REPORTS = 500 if LONG else 40
STATIC = r'(?:from|import)"(\.[^"]+)"'
LATER = r'import\("(\.[^"]+)"\)'


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / ".ci/js/node_modules/esbuild").exists() or shutil.which("node") is None:
        reason = "the bundler is not installed; run: make bundler"
        return pytest.fail(reason) if os.environ.get("PLDP_CI") else pytest.skip(reason)
    folder = tmp_path_factory.mktemp("bundle") / "dist"
    subprocess.run([sys.executable, str(ROOT / ".ci/bundle.py"), str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def files(dist: Path) -> dict[str, dict[str, Any]]:
    return dict(json.loads((dist / "integrity.json").read_text())["files"])


def test_every_hash_is_that_of_its_file(dist: Path, files: dict[str, dict[str, Any]]) -> None:
    assert set(files) == {path.relative_to(dist).as_posix() for path in dist.rglob("*.js")}
    for name, told in files.items():
        content = (dist / name).read_bytes()
        assert told["integrity"] == "sha384-" + base64.b64encode(hashlib.sha384(content).digest()).decode()
        assert told["bytes"] == len(content)


def loaded(dist: Path, *names: str) -> set[str]:
    """Files that come with these."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [normpath(join(dirname(name), path)) for path in re.findall(STATIC, (dist / name).read_text())]
    return found


def parts(dist: Path) -> Iterator[str]:
    for name in loaded(dist, "index.js"):
        for path in re.findall(LATER, (dist / name).read_text()):
            yield normpath(join(dirname(name), path))


def test_what_a_page_loads_is_small_and_the_page_tells_the_sizes(dist: Path, files: dict[str, dict[str, Any]]) -> None:
    """A signed survey with one choice by randomised response; the dearest kind and mechanism, hidden or tracked."""
    core = loaded(dist, "index.js")
    named = {re.sub(r"-\w+\.js$", "", path.removeprefix("parts/")): path for path in sorted(set(parts(dist)))}
    assert {"choice", "choices", "number", "signature", "hiding", "stages", "response"} <= set(named)

    def size(*names: str) -> int:
        return sum(files[name]["gzip"] for name in core | loaded(dist, *names))

    extra = {"signature", "hiding", "stages"}
    kinds = {"choice", "choices", "number", "sides", "whole", "budgets"}
    others = set(named) - extra
    simplest = size(named["choice"], named["response"], named["signature"])
    largest = max(
        size(named[kind], named[mechanism], named["signature"], *(named[each] for each in (rule,) if each))
        for kind in kinds
        for mechanism in others - kinds
        for rule in ("", "hiding", "stages")
    )
    single = files["pldp-device.min.js"]["gzip"]
    page = (ROOT / "docs/javascript.md").read_text(encoding="utf-8")
    told = [float(number) for number in re.findall(r"^\| .* \| ([0-9.]+) kB compressed \|$", page, re.MULTILINE)]
    assert told == [round(each / 1000, 1) for each in (simplest, largest, single)]
    assert simplest <= LARGEST


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Surveys that mix all kinds and mechanisms."""
    path = tmp_path_factory.mktemp("vectors") / "vectors.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for case in CASES if LONG else CASES[-1:]:
            for made in (make_vectors(case, REPORTS), make_mutants(case, REPORTS)):
                file.writelines(json.dumps(vector) + "\n" for vector in made)
    return path


def test_every_part_can_be_loaded(dist: Path) -> None:
    (dist / "package.json").write_text('{"type": "module"}')
    script = "".join(f'await import("./{name}");' for name in sorted({"index.js", *parts(dist)}))
    subprocess.run(["node", "--input-type=module", "--eval", script], cwd=dist, check=True)


@pytest.mark.parametrize("entry", ["index.js", "pldp-device.min.js"])
def test_the_bundle_makes_the_reports_of_the_python_device(
    entry: str, dist: Path, vectors: Path, tmp_path: Path
) -> None:
    """Refusals and altered surveys included; in the long form, surveys of every kind and mechanism by itself."""
    for folder in ("src", "vectors"):
        shutil.copytree(CLIENT / folder, tmp_path / folder)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "src" / "index.js").write_text(f'export * from "{(dist / entry).as_uri()}";')
    (dist / "package.json").write_text('{"type": "module"}')
    command = ["node", str(tmp_path / "vectors" / "replay.js"), str(vectors)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    counts = json.loads(done.stdout)
    assert "error" not in counts, counts["error"]
    assert min(counts["once"], counts["fresh"], counts["tracked"], counts["refusals"], counts["refused"]) > 0
