"""Pages and what they load: a table of the files in `pages`, made once, so that no request can name another file."""

from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from pldp.collector.http import ProblemError, Request, Response, with_etag
from pldp.show import style

KINDS: Final = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
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
    return Asset(body, f"{KINDS[suffix]}; charset=utf-8", sha256(body).hexdigest())
