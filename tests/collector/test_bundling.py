"""One script from many modules is the same code as the modules."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.browsers import SURVEY_SCRIPT
from pldp.collector.bundling import bundle
from pldp.collector.static import assets

SOURCES = {
    path.removeprefix("/pages/"): asset.body.decode()
    for path, asset in assets().items()
    if path.endswith(".js") and "/bundle/" not in path
}
COMPARE = r"""
import * as joined from "./bundle/index.js";
const text = (value) => String(value).replace(/(import|\$load)\("[^"]*"\)/g, "later");
const shape = (module) => Object.entries(module).map(([name, value]) => [name, text(value)]).sort();
const differs = [];
for (const name of NAMES) {
    const apart = await import(`./${name}`);
    if (!(name in joined.$modules)) await import(`./bundle/${name}`);
    if (JSON.stringify(shape(apart)) !== JSON.stringify(shape(joined.$modules[name]))) differs.push(name);
}
const { $modules } = joined;
const { check } = $modules["reading.js"];
let caught = null;
try { check(false, "key", "rule"); } catch (error) { caught = error; }
const choice = await $modules["kinds/registry.js"].KINDS.get("choices")(new Map([["sides", 1]]));
console.log(JSON.stringify({
    differs,
    oneClass: caught instanceof $modules["index.js"].PldpError,
    loadedLater: choice === $modules["kinds/sides.js"] && choice.read === $modules["kinds/choices.js"].read,
}));
"""


def written(folder: Path, sources: dict[str, str]) -> None:
    for name, text in sources.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def test_every_module_of_the_device_exports_the_same_in_one_script(tmp_path: Path) -> None:
    """All modules, those that are loaded later too; what both parts need exists once."""
    device = {name.removeprefix("device/"): text for name, text in SOURCES.items() if name.startswith("device/")}
    joined = bundle(device, "index.js", "bundle")
    assert len(joined) < len(device) / 2
    compare = COMPARE.replace("NAMES", json.dumps(sorted(device)))
    scripts = {f"bundle/{name}": text for name, text in joined.items()}
    written(tmp_path, {**device, **scripts, "compare.js": compare, "package.json": '{"type": "module"}'})
    node = shutil.which("node") or pytest.skip("Node is not installed")
    done = subprocess.run([node, tmp_path / "compare.js"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"differs": [], "oneClass": True, "loadedLater": True}


def test_the_survey_page_has_every_module_once_and_its_code_unchanged() -> None:
    scripts = bundle(SOURCES, "survey.js", "bundle/survey")
    assert {f"/pages/bundle/survey/{name}" for name in scripts} <= assets().keys()
    assert assets()[SURVEY_SCRIPT].body.decode() == scripts["survey.js"]
    whole = "".join(scripts.values())
    names = re.findall(r"^/\* (\S+) \*/$", whole, re.MULTILINE)
    assert len(names) == len(set(names))
    assert {name for name in SOURCES if name.startswith("device/")} <= set(names)
    assert set(re.findall(r'\$load\("([^"]+)"\)', whole)) <= set(names)
    for name in names:
        lines = [line for line in SOURCES[name].splitlines() if not re.match(r"import|export|\s*$", line)]
        code = [line for line in lines if not re.search(r"\bimport[(.]", line)]
        assert all(f"\n{line}\n" in whole for line in code), name


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('import one from "./b.js";', "'import'"),
        ('import "./b.js";', "'import'"),
        ("export default 1;", "'export'"),
        ("export let one = 1;", "'export'"),
        ("const load = (name) => import(name);", r"'import\('"),
        ("const here = import.meta.dirname;", r"'import\.'"),
        ("const $modules = 1;", r"'\$modules'"),
    ],
)
def test_a_form_of_imports_that_is_not_rewritten_is_refused(text: str, named: str) -> None:
    with pytest.raises(ValueError, match=rf"^a\.js cannot be joined with other modules: it has {named}"):
        bundle({"a.js": text, "b.js": ""}, "a.js", "bundle")


def test_modules_that_import_each_other_are_refused() -> None:
    sources = {"a.js": 'import { b } from "./b.js";', "b.js": 'import { a } from "./a.js";'}
    with pytest.raises(ValueError, match=r"^a\.js imports itself, by way of a\.js, b\.js$"):
        bundle(sources, "a.js", "bundle")
