"""What `make dist` builds, from a copy of the project with other times of files and another umask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from helpers.machine import lacks

ROOT = Path(__file__).parent.parent.parent
BUNDLER = ROOT / ".ci/js/node_modules/@rollup/wasm-node"


def release(folder: Path, when: int, mask: int) -> Path:
    """Build wheel, source archive, npm package and checksums, and return the folder that has them."""
    if not BUNDLER.exists() or shutil.which("node") is None:
        return lacks("the bundler is not installed; run: make bundler")
    folder.mkdir()
    _copy_of_the_project(folder, when)
    code = "import dist, pathlib, sys; dist.build(pathlib.Path(sys.argv[1]), with_sbom=False)"
    environment = {**os.environ, "PYTHONPATH": str(folder / ".ci"), "SOURCE_DATE_EPOCH": "1700000000"}
    command = [sys.executable, "-c", code, str(folder / "dist")]
    subprocess.run(command, check=True, env=environment, cwd=folder, umask=mask)
    return folder / "dist"


def _copy_of_the_project(folder: Path, when: int) -> None:
    """The files of a source archive, with other times; without Git, so that changes here need no commit."""
    for name in ("src", "clients", "examples", "deploy"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "site"))
    (folder / ".ci").mkdir()
    for name in ("version.py", "build_hook.py", "dist.py", "bundle.py"):
        shutil.copy(ROOT / ".ci" / name, folder / ".ci")
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    (folder / ".ci/js").symlink_to(ROOT / ".ci/js")
    for path in folder.rglob("*"):
        os.utime(path, (when, when), follow_symlinks=False)


def unpacked(built: Path, folder: Path) -> Path:
    """Unpack the npm package and return the folder of its bundle."""
    (package,) = built.glob("*.tgz")
    with tarfile.open(package) as tar:
        tar.extractall(folder, filter="data")
    return folder / "package/dist"
