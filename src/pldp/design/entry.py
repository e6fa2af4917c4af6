"""Let one browser in: a code that works once, in a file that only this user can read.

Every user of a machine can read the arguments of its processes, so the browser is started with the path of a file. The
file posts the code, which is taken once; the answer holds a cookie and a key. Browsers send the cookies of 127.0.0.1 to
every port, also to the server of another user, but separate storage by port. So the page keeps the key in its storage,
and without it nothing is told about the survey's state and nothing is changed. Decision 30 has the reasons.
"""

import secrets
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from pldp.collector.web import POLICY, Request, Response
from pldp.files import OWNER_ONLY, atomic_write

ENTRANCE: Final = "/enter"  # where the code is exchanged
KEY_HEADER: Final = b"pldp-key"
_HTML: Final = "text/html; charset=utf-8"
_FILE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>New survey</title>
<form method="post" action="{address}{entrance}">
<input type="hidden" name="code" value="{code}">
<button>Open the page of pldp new</button>
</form>
<script>document.forms[0].submit()</script>
</html>
"""
# Another load follows: a browser sends no strict cookie with a load that a file began, nor after its redirects.
_INSIDE: Final = """<!doctype html>
<html lang="en" data-key="{key}">
<meta charset="utf-8">
<title>New survey</title>
<script src="/pages/enter.js" defer></script>
</html>
"""
REFUSED: Final = Response(
    b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Not opened</title>
<style>
:root { color-scheme: light dark; font: 1.0625rem/1.5 system-ui, sans-serif }
main { max-width: 38rem; margin: 3rem auto; padding: 0 1rem }
</style>
<main>
<h1>Not opened</h1>
<p>The page of <code>pldp new</code> opens once, in one browser. Use the tab that is already open, or end
<code>pldp new</code> with Ctrl-C and run it again.</p>
</main>
</html>
""",
    _HTML,
    403,
    (
        (POLICY[0], b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
        (b"connection", b"close"),  # the body of the request was not read
    ),
)
"""The answer to everybody else."""


class Entry:
    """The way into one page, for the first browser that shows the code."""

    def __init__(self) -> None:
        self._code = secrets.token_urlsafe(32)  # empty once it was used
        # A name of its own, so that a second `pldp new` does not overwrite the cookie of the first.
        self._cookie = f"pldp-new-{secrets.token_hex(8)}={secrets.token_urlsafe(32)}".encode()
        self._key = secrets.token_urlsafe(32)
        self.preview = f"/preview/{secrets.token_urlsafe(32)}"  # told only to the page's script
        self._folder: TemporaryDirectory[str] | None = None

    def write(self, address: str) -> Path:
        """Write the file that opens the page in a browser, for this user alone, and return its path."""
        self._folder = TemporaryDirectory(prefix="pldp-new-")
        path = Path(self._folder.name) / "open.html"
        with atomic_write(path, permissions=OWNER_ONLY) as file:
            file.write(_FILE.format(address=address, entrance=ENTRANCE, code=self._code).encode())
        return path

    def remove(self) -> None:
        """Delete the file, if it is still there."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def exchange(self, form: bytes) -> Response:
        """Return the cookie and the key for the code, the first time."""
        if not self._code or not secrets.compare_digest(form, f"code={self._code}".encode()):
            return REFUSED
        self._code = ""
        self.remove()
        cookie = self._cookie + b"; Path=/; HttpOnly; SameSite=Strict"
        return Response(_INSIDE.format(key=self._key).encode(), _HTML, headers=(POLICY, (b"set-cookie", cookie)))

    def admits(self, request: Request, *, with_key: bool) -> bool:
        """Tell whether a request comes from the page that was let in; `with_key`: from its script."""
        cookies = [each.strip() for each in request.headers.get(b"cookie", b"").split(b";")]
        has_cookie = any(secrets.compare_digest(each, self._cookie) for each in cookies)
        has_key = secrets.compare_digest(request.headers.get(KEY_HEADER, b""), self._key.encode())
        return _from_this_origin(request) and has_cookie and (has_key or not with_key)

    def admits_preview(self, request: Request) -> bool:
        """Tell whether a request is for the survey page in the frame; it sends no cookies, so its address is secret."""
        start = request.path[: len(self.preview)].encode()
        return _from_this_origin(request) and secrets.compare_digest(start, self.preview.encode())


def _from_this_origin(request: Request) -> bool:
    origin = b"http://" + request.headers.get(b"host", b"")
    site = request.headers.get(b"sec-fetch-site", b"none")  # none: typed into the address bar
    return request.headers.get(b"origin", origin) == origin and site in {b"same-origin", b"none"}
