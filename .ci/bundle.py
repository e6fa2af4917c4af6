"""Bundle the JavaScript device for npm and for pages: minified modules, one file with everything, types, hashes.

    python .ci/bundle.py FOLDER

`index.js` loads the parts of a mechanism or a kind with the first survey that needs them; `pldp-device.min.js` is one
file with everything. `integrity.json` has the hash of each file as browsers check it (Subresource Integrity), its bytes
and its bytes compressed by gzip. The bundler is a tool of the build (`npm ci` in `.ci/js`): the files hold none of it.
"""

import base64
import gzip
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCE: Final = ROOT / "clients" / "js"
BUNDLER: Final = Path(__file__).resolve().parent / "js" / "node_modules" / "esbuild" / "bin" / "esbuild"
ENTRY: Final = "index.js"
SINGLE: Final = "pldp-device.min.js"
_COMMON: Final = ("--bundle", "--minify", "--format=esm", "--target=es2022", "--charset=utf8", "--log-level=warning")


def bundle(folder: Path, version: str) -> dict[str, dict[str, Any]]:
    """Write the files and return what `integrity.json` says of them."""
    folder.mkdir(parents=True)
    banner = f"--banner:js=/*! pldp-device {version}, Apache-2.0 */"
    _run("src/index.js", *_COMMON, "--splitting", "--chunk-names=parts/[name]-[hash]", f"--outdir={folder}")
    _run("src/index.js", *_COMMON, banner, f"--outfile={folder / SINGLE}")
    shutil.copyfile(SOURCE / "src" / "index.d.ts", folder / "index.d.ts")
    described = {path.relative_to(folder).as_posix(): _describe(path) for path in sorted(folder.rglob("*.js"))}
    text = json.dumps({"version": version, "files": described}, indent="\t")
    (folder / "integrity.json").write_text(text + "\n", encoding="utf-8")
    return described


def _run(*words: str) -> None:
    if not BUNDLER.exists():
        sys.exit("the bundler is not installed; run: npm ci --ignore-scripts --prefix .ci/js")
    node = shutil.which("node")
    if node is None:
        sys.exit("the bundle needs Node 20 or newer")
    subprocess.run([node, str(BUNDLER), *words], cwd=SOURCE, check=True)  # noqa: S603


def _describe(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    digest = base64.b64encode(hashlib.sha384(content).digest()).decode()
    compressed = len(gzip.compress(content, 9, mtime=0))
    return {"integrity": f"sha384-{digest}", "bytes": len(content), "gzip": compressed}


if __name__ == "__main__":
    bundle(Path(sys.argv[1]).resolve(), "0.0.0")
