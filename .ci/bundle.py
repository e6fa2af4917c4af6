"""Bundle the JavaScript device for npm and for pages: minified modules, one file with everything, types, hashes.

    python .ci/bundle.py FOLDER

`index.js` has what most surveys need and loads the other parts with the first survey that needs them;
`pldp-device.min.js` is one file with everything. `integrity.json` has the hash of each file as browsers check it
(Subresource Integrity), its bytes and its bytes compressed by gzip. Bundler and minifier are tools of the build
(`npm ci` in `.ci/js`): the files hold none of them.
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
TOOLS: Final = Path(__file__).resolve().parent / "js"
ENTRY: Final = "index.js"
SINGLE: Final = "pldp-device.min.js"


def bundle(folder: Path, version: str) -> dict[str, dict[str, Any]]:
    """Write the files and return what `integrity.json` says of them."""
    folder.mkdir(parents=True)
    _run(str(folder), f"/*! pldp-device {version}, Apache-2.0 */")
    shutil.copyfile(SOURCE / "src" / "index.d.ts", folder / "index.d.ts")
    described = {path.relative_to(folder).as_posix(): _describe(path) for path in sorted(folder.rglob("*.js"))}
    text = json.dumps({"version": version, "files": described}, indent="\t")
    (folder / "integrity.json").write_text(text + "\n", encoding="utf-8")
    return described


def _run(*words: str) -> None:
    if not (TOOLS / "node_modules" / "@rollup" / "wasm-node").exists():
        sys.exit("the bundler is not installed; run: npm ci --ignore-scripts --prefix .ci/js")
    node = shutil.which("node")
    if node is None:
        sys.exit("the bundle needs Node 20 or newer")
    subprocess.run([node, str(TOOLS / "bundle.mjs"), *words], check=True)  # noqa: S603


def _describe(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    digest = base64.b64encode(hashlib.sha384(content).digest()).decode()
    compressed = len(gzip.compress(content, 9, mtime=0))
    return {"integrity": f"sha384-{digest}", "bytes": len(content), "gzip": compressed}


if __name__ == "__main__":
    bundle(Path(sys.argv[1]).resolve(), "0.0.0")
