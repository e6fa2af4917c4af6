"""Pages and what they load: a table of the files in `pages`, made once, so that no request can name another file."""

import gzip
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from pldp.collector.http import ProblemError, Request, Response, with_etag
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

    def as_problem(self, problem: ProblemError, path: str) -> Response:
        """Return the page in the place of a problem document, for people who asked for this path."""
        # Addresses are relative, so that a proxy can put the collector anywhere.
        body = self.body.replace(b'href="', b'href="' + b"../" * (path.count("/") - 1))
        return problem.response()._replace(body=body, kind=self.kind, headers=(POLICY,))


def assets() -> dict[str, Asset]:
    """Return what is served, by path: `survey.html` as `/`, other pages as `/NAME`, what they load as `/pages/NAME`.

    >>> {"/", "/pages/survey.js", "/pages/device/mechanisms/registry.js"} <= assets().keys()
    True
    """
    pages = Path(__file__).with_name("pages")
    folders = {pages: ""}
    if not (pages / "device").is_dir():  # a wheel has the JavaScript device there, the source tree with other clients
        folders[Path(__file__).parents[3] / "clients" / "js" / "src"] = "device/"
    # Cards look the same everywhere: their style is that of reports and notebooks.
    found = {"/pages/show.css": _asset(style().encode(), ".css")}
    for folder, prefix in folders.items():
        for file in (each for each in folder.rglob("*") if each.suffix in KINDS):
            path = f"/pages/{prefix}{file.relative_to(folder).as_posix()}"
            if file.suffix == ".html":
                path = "/" if file.stem == "survey" else f"/{file.stem}"
            found[path] = _asset(file.read_bytes(), file.suffix)
    return found


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
