"""The npm bundle of the JavaScript device: small, with the hashes it states, and the same device byte for byte."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

import pytest
from make_vectors import CASES, make_mutants, make_vectors

from helpers.modules import with_imports
from helpers.releases import unpacked
from pldp import Survey

pytestmark = pytest.mark.xdist_group("release")
ROOT = Path(__file__).parent.parent.parent
CLIENT = ROOT / "clients" / "js"
LARGEST = 15_000
"""Bytes that a page loads: the entry by gzip, and by Brotli all files for one survey."""
EVERYTHING = "wellbeing"
"""Every kind, one budget per set, label and side, hidden levels: more than three quarters of the device."""
EXAMPLES = sorted([*ROOT.glob("examples/*.toml"), *ROOT.glob("examples/cases/*.toml")], key=lambda path: path.stem)
TRACE = """
import { readFileSync } from "node:fs";
import { brotliCompressSync } from "node:zlib";
const { readSurvey, openDevice } = await import("./index.js");
const survey = await readSurvey(readFileSync(process.argv[1], "utf8"));
(await openDevice(survey)).explain();
const compressed = (name) => brotliCompressSync(readFileSync(process.argv[2] + "/" + name)).length;
const sizes = globalThis.loaded.map((name) => [name, compressed(name)]);
console.log(JSON.stringify(Object.fromEntries(sizes)));
"""
LONG = bool(os.environ.get("PLDP_LONG"))
REPORTS = 500 if LONG else 40
STATIC = r'(?:from|import)"(\.[^"]+)"'
LATER = r'import\("(\.[^"]+)"\)'


@pytest.fixture(scope="module")
def dist(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle in the npm package."""
    return unpacked(released, tmp_path_factory.mktemp("npm"))


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
    return with_imports(names, STATIC, lambda name: (dist / name).read_text())


def parts(dist: Path) -> Iterator[str]:
    for name in loaded(dist, "index.js"):
        for path in re.findall(LATER, (dist / name).read_text()):
            yield normpath(join(dirname(name), path))


@pytest.fixture(scope="module")
def transfers(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    """For every example survey the files that its page loads, with their bytes by Brotli."""
    traced = tmp_path_factory.mktemp("traced")
    (traced / "package.json").write_text('{"type": "module"}')
    for path in dist.rglob("*.js"):
        name = path.relative_to(dist).as_posix()
        copy = traced / name
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(
            f'(globalThis.loaded ??= []).push("{name}");{path.read_text(encoding="utf-8")}', encoding="utf-8"
        )
    found = {}
    for example in EXAMPLES:
        compiled = traced / f"{example.stem}.json"
        Survey.load(example).save(compiled)
        command = ["node", "--input-type=module", "--eval", TRACE, str(compiled), str(dist)]
        done = subprocess.run(command, cwd=traced, check=True, capture_output=True, text=True)
        found[example.stem] = dict(json.loads(done.stdout))
    return found


def test_what_a_page_loads_for_any_example_is_small(
    files: dict[str, dict[str, Any]], transfers: dict[str, dict[str, int]]
) -> None:
    """The entry also checks signatures, so that a signed survey loads no more than this."""
    assert files["index.js"]["gzip"] <= LARGEST
    totals = {name: sum(sizes.values()) for name, sizes in transfers.items()}
    assert len(totals) >= 8
    assert {name for name, total in totals.items() if total > LARGEST} == {EVERYTHING}
    assert max(len(sizes) for name, sizes in transfers.items() if name != EVERYTHING) <= 5


def test_the_page_tells_the_sizes(files: dict[str, dict[str, Any]], transfers: dict[str, dict[str, int]]) -> None:
    """Within a tenth of a kilobyte: other versions of the compressors differ by a few bytes."""
    page = (ROOT / "docs/javascript.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .*?`(\S+?)(?:\.toml)?`.* \| ([0-9.]+) kB \| ([0-9.]+) kB \| (\d+) \|$", page, re.MULTILINE)
    told = {name: (int(count), float(zipped), float(brotli)) for name, zipped, brotli, count in rows}
    assert set(transfers) | {"index.js", "pldp-device.min.js"} == set(told)
    for name, (count, zipped, brotli) in told.items():
        sizes = transfers.get(name, {name: None})
        assert count == len(sizes)
        assert sum(files[each]["gzip"] for each in sizes) / 1000 == pytest.approx(zipped, abs=0.1)
        if name in transfers:
            assert sum(transfers[name].values()) / 1000 == pytest.approx(brotli, abs=0.1)


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
