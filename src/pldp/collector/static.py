"""Pages and what they load: a table of the files in `pages`, made once, so that no request can name another file."""

from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, NamedTuple

from pldp.collector.http import Request, Response, with_etag

KINDS: Final = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
"""Media types by the ending of a file's name; other files are not served."""

POLICY: Final = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
)
"""Everything comes from this collector, nothing is inline."""


class Asset(NamedTuple):
    """One file as it is sent."""

    body: bytes
    kind: str
    tag: str

    async def get(self, request: Request) -> Response:
        """Return the file, or that the copy of the browser is still good."""
        return with_etag(request, self.tag, Response(self.body, self.kind, headers=(POLICY,)))


def assets() -> dict[str, Asset]:
    """Return what is served, by path: `survey.html` as `/`, other pages as `/NAME`, what they load as `/pages/NAME`.

    >>> {"/", "/pages/survey.js", "/pages/device/mechanisms/registry.js"} <= assets().keys()
    True
    """
    pages = files("pldp.collector") / "pages"
    found = dict(_files_in(pages))
    if not (pages / "device").is_dir():  # a wheel has the JavaScript device there, the source tree with other clients
        found |= _files_in(Path(__file__).parents[3] / "clients" / "js" / "src", "device/")
    return {_path_of(name): _read(file) for name, file in found.items()}


def _files_in(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    """Give every file to serve in a folder and those below it, each with its path."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files_in(entry, f"{prefix}{entry.name}/")
        elif entry.name.rpartition(".")[2] in KINDS:
            yield f"{prefix}{entry.name}", entry


def _path_of(name: str) -> str:
    page, _, ending = name.rpartition(".")
    if ending != "html":
        return f"/pages/{name}"
    return "/" if page == "survey" else f"/{page}"


def _read(file: Traversable) -> Asset:
    body = file.read_bytes()
    kind = KINDS[file.name.rpartition(".")[2]]
    return Asset(body, f"{kind}; charset=utf-8", sha256(body).hexdigest())
