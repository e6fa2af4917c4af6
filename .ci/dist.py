"""Build what is released, the same bytes every time: `make dist`.

    python .ci/dist.py FOLDER

The folder gets a wheel, a source archive, an npm package, a list of what the collector is made of (CycloneDX), and
`SHA256SUMS`. Times inside the files are that of the last commit (`SOURCE_DATE_EPOCH` chooses another one). The bytes
depend on the files of the project and on the tools in `.ci/tools.txt` and `.ci/js/package-lock.json`, not on the day,
the folder, the user or the machine's `umask`.
"""

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent))
from bundle import ENTRY, ROOT, SINGLE, SOURCE, bundle
from version import version

NPM_NAME: Final = "pldp-device"
_EARLIEST: Final = 315532800  # 1980: archives of wheels know no earlier time
_SEMANTIC: Final = re.compile(r"(\d+\.\d+\.\d+)(?:(a|b|rc)(\d+))?(?:\.(dev)(\d+))?(?:\+(.+))?")


def build(folder: Path, *, with_sbom: bool = True) -> list[Path]:
    """Build all files and return them; refuse a folder that has something in it."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        sys.exit(f"{folder} is not empty; move what is in it away, or choose another folder")
    os.environ["SOURCE_DATE_EPOCH"] = str(commit_time())
    number = version()
    backend = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(backend, cwd=ROOT, check=True, capture_output=True)  # noqa: S603
    _npm_package(folder / f"{NPM_NAME}-{semantic(number)}.tgz", semantic(number))
    if with_sbom:
        _sbom(folder / f"pldp-{number}.cdx.json", number)
    built = sorted(folder.iterdir())
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in built)
    (folder / "SHA256SUMS").write_text(sums, encoding="utf-8")
    return [*built, folder / "SHA256SUMS"]


def commit_time() -> int:
    """Return the time that files in archives get: of the environment, of the last commit, or of no commit, 1980."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not given:
        command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
        try:
            given = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603
        except (OSError, subprocess.CalledProcessError):
            return _EARLIEST
    return max(int(given), _EARLIEST)


def semantic(number: str) -> str:
    """Return a Python version as npm writes it.

    >>> [semantic(each) for each in ("0.2.0", "0.2.0rc1", "0.2.1.dev7+g1a2b3c4d")]
    ['0.2.0', '0.2.0-rc.1', '0.2.1-dev.7+g1a2b3c4d']
    """
    found = _SEMANTIC.fullmatch(number)
    if found is None:
        raise ValueError(f"{number!r} has no form that npm takes")
    release, early, count, dev, commits, local = found.groups()
    before = ".".join(part for part in (early, count, dev, commits) if part)
    return release + (f"-{before}" if before else "") + (f"+{local}" if local else "")


def _npm_package(path: Path, number: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "dist"
        bundle(built, number)
        files = {f"dist/{each.relative_to(built).as_posix()}": each.read_bytes() for each in built.rglob("*.*")}
    files |= {f"src/{_below(each)}": each.read_bytes() for each in (SOURCE / "src").rglob("*.*")}
    files["README.md"] = (SOURCE / "README.md").read_bytes()
    files["LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files["package.json"] = (json.dumps(_described(number), indent="\t") + "\n").encode()
    with (
        path.open("wb") as out,
        gzip.GzipFile("", "wb", 9, out, mtime=0) as packed,
        tarfile.open(None, "w", packed) as tar,
    ):
        for name in sorted(files):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mtime, entry.mode = len(files[name]), commit_time(), 0o644
            tar.addfile(entry, io.BytesIO(files[name]))


def _below(path: Path) -> str:
    return path.relative_to(SOURCE / "src").as_posix()


def _described(number: str) -> dict[str, object]:
    """Return package.json as it is published: the bundle is what is imported, the sources are there to be read."""
    described = json.loads((SOURCE / "package.json").read_text(encoding="utf-8"))
    for name in ("private", "scripts"):
        del described[name]
    types = "./dist/index.d.ts"
    return described | {
        "version": number,
        "exports": {
            ".": {"types": types, "default": f"./dist/{ENTRY}"},
            "./single": {"types": types, "default": f"./dist/{SINGLE}"},
            "./integrity.json": "./dist/integrity.json",
        },
        "files": ["dist", "src"],
    }


def _sbom(path: Path, number: str) -> None:
    program = Path(sys.executable).with_name("cyclonedx-py")
    words = (
        "requirements",
        "requirements.lock",
        "--pyproject",
        "pyproject.toml",
        "--output-reproducible",
        "-o",
        str(path),
    )
    done = subprocess.run([program, *words], cwd=ROOT, check=False, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        sys.exit(f"cyclonedx-py: {done.stderr.strip()}")
    described = json.loads(path.read_text(encoding="utf-8"))
    described["metadata"]["component"]["version"] = number
    path.write_text(json.dumps(described, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for built_file in build(Path(sys.argv[1]).resolve()):
        print(f"{built_file.stat().st_size:>10,}  {built_file.name}")  # noqa: T201
