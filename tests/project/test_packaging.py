"""What is installed: declared bounds, files in the package, a light import, one version."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import pldp
from pldp.collector.static import assets

ROOT = Path(__file__).parent.parent.parent
FOR_DEVELOPERS = {"test", "lint", "docs"}
PAGES = "collector/pages"
DEVICE = "clients/js/src"


def files_below(folder: Path) -> list[str]:
    return [file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()]


DATA = (
    "py.typed",
    "survey/survey.schema.json",
    "reports/report.schema.json",
    "papers/datasets/adult_education.csv",
    "papers/datasets/education.toml",
    *(f"{PAGES}/{name}" for name in files_below(ROOT / "src/pldp" / PAGES)),
)


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def user_requirements() -> list[Requirement]:
    """What people install: the dependencies and the extras that are not for developers."""
    extras = {name: lines for name, lines in project()["optional-dependencies"].items() if name not in FOR_DEVELOPERS}
    lines = [*project()["dependencies"], *(line for extra in extras.values() for line in extra)]
    return [requirement for requirement in map(Requirement, lines) if requirement.name != "pldp"]


def lower_bounds() -> dict[str, Version]:
    return {
        requirement.name: Version(specifier.version)
        for requirement in user_requirements()
        for specifier in requirement.specifier
        if specifier.operator == ">="
    }


def pins() -> dict[str, Version]:
    found = re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "tests/oldest.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return {name: Version(version) for name, version in found}


def test_the_oldest_versions_that_are_tested_are_the_lower_bounds() -> None:
    """Other pins are allowed: packages that ours need in turn and that must fit the oldest versions."""
    assert {name: pins().get(name) for name in lower_bounds()} == lower_bounds()


def test_every_dependency_has_a_lower_and_an_upper_bound() -> None:
    for requirement in user_requirements():
        assert {specifier.operator for specifier in requirement.specifier} == {">=", "<"}, str(requirement)


def test_every_data_file_is_found_in_the_installed_package() -> None:
    missing = [name for name in DATA if not files("pldp").joinpath(name).is_file()]
    assert not missing


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = ["pip", "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", *command], check=True, capture_output=True, cwd=folder)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_every_data_file_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    content = wheel.namelist()
    assert {f"pldp/{name}" for name in DATA} <= set(content)
    assert {f"pldp/{PAGES}/device/{name}" for name in files_below(ROOT / DEVICE)} <= set(content)
    assert not [name for name in content if not name.startswith(("pldp/", "pldp-"))]


def test_a_wheel_serves_the_pages_of_the_source_tree(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    code = "from pldp.collector import static; print(static.__file__, *sorted(static.assets()), sep='\\n')"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
    place, *served = done.stdout.splitlines()
    assert Path(place).is_relative_to(tmp_path)
    assert served == sorted(assets())


@pytest.mark.parametrize("module", ["pldp", "pldp.device"])
def test_importing_loads_no_numpy(module: str) -> None:
    heavy = "{'numpy', 'threadpoolctl', 'scipy', 'pyarrow', 'rich', 'matplotlib'}"
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_version_is_that_of_the_installed_package_or_of_a_checkout(wheel: zipfile.ZipFile) -> None:
    """The build writes it into the wheel, from the tag; a checkout has the next version, as a pre-release."""
    written = wheel.read("pldp/_version.py").decode()
    (metadata,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    version = re.search(r"^Version: (.+)$", wheel.read(metadata).decode(), re.MULTILINE)
    assert version
    assert written == f'__version__ = "{version[1]}"\n'
    checkout = "0.1.0.dev0"
    assert pldp.__version__ in {checkout, importlib.metadata.version("pldp")}
    assert f'NEXT: Final = "{checkout.removesuffix(".dev0")}"' in (ROOT / ".ci/version.py").read_text(encoding="utf-8")
