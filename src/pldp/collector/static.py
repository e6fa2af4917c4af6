"""Pages and what they load: a table of the files in `pages`, made once, so that no request can name another file."""

import gzip
import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from pldp.collector.bundling import bundle
from pldp.collector.http import Request, Response, with_etag
from pldp.show import style
from pldp.survey import Logo

KINDS: Final = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
"""Media types by the ending of a file's name; other files are not served."""

POLICY: Final = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
)
"""Everything comes from this collector, nothing is inline."""


BARED: Final = (".js", ".css")
"""Files that are compressed without their comments; uncompressed they are sent as they are."""

BUNDLES: Final = "bundle"  # where a page's modules are served as one script, below `/pages`
_SCRIPT: Final = re.compile(r'(<script type="module" src="pages/)((\w+)\.js">)')

TAG: Final = 32  # digits of a hash that tells versions of a file apart

LOGO_TYPES: Final = ("image/jpeg", "image/png", "image/svg+xml", "image/webp")
"""Media types that a logo can have."""

ALONE: Final = (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; sandbox")
"""A picture that is opened by itself loads and runs nothing."""


class Asset(NamedTuple):
    """One file as it is sent."""

    body: bytes
    kind: str
    tag: str
    packed: bytes = b""  # the same compressed, where that is shorter
    policy: tuple[tuple[bytes, bytes], ...] = (POLICY,)

    async def get(self, request: Request) -> Response:
        """Return the file, compressed for those who take that, or that the copy of the browser is still good."""
        headers = (*self.policy, *([(b"vary", b"accept-encoding")] if self.packed else []))
        if self.packed and _takes_gzip(request):
            packed = Response(self.packed, self.kind, headers=(*headers, (b"content-encoding", b"gzip")))
            return with_etag(request, f"{self.tag}-gzip", packed)
        return with_etag(request, self.tag, Response(self.body, self.kind, headers=headers))


def assets() -> dict[str, Asset]:
    """Return what is served, by path: `survey.html` as `/`, other pages as `/NAME`, what they load as `/pages/NAME`.

    A page loads its modules as one script; the modules themselves can be had, too, to be read and for other pages.

    >>> {"/", "/pages/survey.js", "/pages/device/index.js", "/pages/bundle/survey/survey.js"} <= assets().keys()
    True
    """
    return dict(_read_once())


@cache
def _read_once() -> dict[str, Asset]:
    pages = Path(__file__).with_name("pages")
    folders = {pages: ""}
    if not (pages / "device").is_dir():  # a wheel has the JavaScript device there, the source tree with other clients
        folders[Path(__file__).parents[3] / "clients" / "js" / "src"] = "device/"
    # Cards look the same everywhere: their style is that of reports and notebooks.
    files = {"show.css": style().encode()}
    for folder, prefix in folders.items():
        for file in (each for each in folder.rglob("*") if each.suffix in KINDS and each.stem != "notice"):
            files[prefix + file.relative_to(folder).as_posix()] = file.read_bytes()
    for name in [each for each in files if each.endswith(".html")]:
        files |= _with_bundle(name, files)
    return {_path_of(name): _asset(body, Path(name).suffix) for name, body in files.items()}


def _with_bundle(page: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return a page that loads its modules as one script, and that script; a page without modules as it is."""
    found = _SCRIPT.search(text := files[page].decode())
    if found is None:
        return {}
    folder = f"{BUNDLES}/{found[3]}"
    modules = {name: body.decode() for name, body in files.items() if name.endswith(".js")}
    scripts = bundle(modules, f"{found[3]}.js", folder)
    joined = {f"{folder}/{name}": script.encode() for name, script in scripts.items()}
    return {page: _SCRIPT.sub(rf"\g<1>{folder}/\g<2>", text).encode(), **joined}


def _path_of(name: str) -> str:
    stem, dot, kind = name.partition(".")
    if dot + kind != ".html":
        return f"/pages/{name}"
    return "/" if stem == "survey" else f"/{stem}"


def _asset(body: bytes, suffix: str) -> Asset:
    packed = _packed(_without_comments(body) if suffix in BARED else body)
    return Asset(body, f"{KINDS[suffix]}; charset=utf-8", sha256(body).hexdigest()[:TAG], packed)


def picture(logo: Logo) -> Asset:
    """Return a logo as it is sent."""
    return Asset(logo.body, logo.kind, sha256(logo.body).hexdigest()[:TAG], policy=(ALONE,))


def published(document: bytes, tag: str) -> Asset:
    """Return a survey as it is sent: it is public, and the same for everybody."""
    return Asset(document, "application/json", tag, _packed(document), policy=())


def _without_comments(body: bytes) -> bytes:
    r"""Leave out comments that have lines of their own, and indentation: a fifth of what a phone has to load.

    >>> _without_comments(b"/** What it does,\n * and why. */\n\tconst one = 1; // kept\n\n\t// Not kept.\n}\n")
    b'const one = 1; // kept\n}\n'
    """
    lines, inside = [], False
    for line in body.decode().splitlines():
        bare = line.strip()
        if inside or bare.startswith("/*"):
            inside = "*/" not in bare
        elif line.count("`") % 2:  # a text over several lines
            return body
        elif bare and not bare.startswith("//"):
            lines.append(bare)
    return "\n".join([*lines, ""]).encode()


def _packed(body: bytes) -> bytes:
    """Compress a file once, at the start; the same bytes every time, and nothing where it does not help."""
    packed = gzip.compress(body, 9, mtime=0)
    return packed if len(packed) < len(body) else b""


def _takes_gzip(request: Request) -> bool:
    """Tell whether the caller takes gzip; a weight of 0 refuses it."""
    for each in request.headers.get(b"accept-encoding", b"").lower().split(b","):
        name, _, weight = each.partition(b";")
        if name.strip() == b"gzip":
            return weight.replace(b" ", b"").rstrip(b"0").rstrip(b".") != b"q="
    return False
