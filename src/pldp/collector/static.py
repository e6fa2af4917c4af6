"""Pages and what they load: a table of the files in `pages`, made once, so that no request can name another file."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, NamedTuple

from pldp.collector.http import Request, Response

KINDS: Final = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
"""Media types by the ending of a file's name; other files are not served."""

HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"cache-control", b"no-cache"),
)
"""Everything comes from this collector, nothing is inline; a copy is used only after asking if it is the newest."""


class Asset(NamedTuple):
    """One file as it is sent."""

    body: bytes
    kind: str
    tag: bytes

    async def get(self, request: Request) -> Response:
        """Return the file, or that the copy of the browser is still good."""
        headers = (*HEADERS, (b"etag", self.tag))
        if request.headers.get(b"if-none-match") == self.tag:
            return Response(b"", self.kind, 304, headers)
        return Response(self.body, self.kind, headers=headers)


def assets() -> dict[str, Asset]:
    """Return what is served, by path: `survey.html` as `/`, other pages as `/NAME`, what they load as `/pages/NAME`.

    >>> {"/", "/pages/survey.js", "/pages/device/index.js"} <= assets().keys()
    True
    """
    found = {_path_of(file.name): _read(file) for file in _known(_pages())}
    return found | {f"/pages/device/{file.name}": _read(file) for file in _known(_device())}


def _pages() -> Traversable:
    return files("pldp.collector") / "pages"


def _device() -> Traversable:
    """Where the device in JavaScript is: in the wheel below the pages, in the source tree with the other clients."""
    inside = _pages() / "device"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "clients" / "js" / "src"


def _known(folder: Traversable) -> Iterator[Traversable]:
    return (file for file in folder.iterdir() if file.name.rpartition(".")[2] in KINDS)


def _path_of(name: str) -> str:
    page, _, ending = name.rpartition(".")
    if ending != "html":
        return f"/pages/{name}"
    return "/" if page == "survey" else f"/{page}"


def _read(file: Traversable) -> Asset:
    body = file.read_bytes()
    kind = KINDS[file.name.rpartition(".")[2]]
    return Asset(body, f"{kind}; charset=utf-8", f'"{sha256(body).hexdigest()}"'.encode())
