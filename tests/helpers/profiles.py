"""What a browser leaves on disk: a profile that is kept, and a search of all its files for what a person answered.

Browsers write text as UTF-8 or UTF-16, and compress cached files with gzip; the search reads all of these. It misses
text that is encrypted, compressed otherwise (as in LevelDB tables: a profile that has one is refused) or split between
two blocks of a log, and everything outside the profile: swapped memory, crash dumps, deleted files. Chromium without
windows writes no files to restore tabs from; one with windows is preferred.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from playwright.sync_api import Browser, Page

from helpers.browsers import FLAGS, NAMES, SHELLS, Visit, find_browser

GZIP = b"\x1f\x8b\x08"
FORM_STATE = "serialized form state version"
"""Begins what Chromium saves of the fields of a tab, with a tick for every radio button but no text of its label."""

BEST_FIRST = (*(name for name in NAMES if name not in SHELLS), *SHELLS)
LATEST = 90
"""Seconds within which Chromium writes storage to disk: 5 after the first change, then once a minute."""

Canary = tuple[str, ...]
"""A text to find, and others that a survey has in the same places: a file that has all equally often tells nothing."""


@contextmanager
def open_profile(browser: Browser, folder: Path) -> Iterator[Visit]:
    """Start another browser with the profile in this folder, and close it in the end."""
    path = find_browser(BEST_FIRST)
    context = browser.browser_type.launch_persistent_context(folder, executable_path=path, args=list(FLAGS))
    yield Visit(context.pages[0], context)
    context.close()


def wait_until_written(page: Page, profile: Path) -> None:
    """Wait until what the page has stored is on disk: a mark that is stored last."""
    mark = "mjqzvwxk"
    page.evaluate("(mark) => sessionStorage.setItem('mark', mark)", mark)
    for _ in range(10 * LATEST):
        if find_canaries(profile / "Default" / "Session Storage", [(mark,)]):
            return
        page.wait_for_timeout(100)
    raise AssertionError("the browser has not written its storage")


def find_canaries(profile: Path, canaries: Iterable[Canary]) -> set[str]:
    """Return the texts that a file has more often than one of their alternatives has."""
    return {
        text
        for content in contents(profile)
        for text, *others in canaries
        if count(content, text) > min((count(content, other) for other in others), default=0)
    }


def count(content: bytes, text: str) -> int:
    return sum(content.count(text.encode(encoding)) for encoding in ("utf-8", "utf-16-le"))


def contents(profile: Path) -> Iterator[bytes]:
    """Every file, and what is packed in it."""
    assert not [*profile.rglob("*.ldb")], "a table is compressed, and is not searched"
    for path in profile.rglob("*"):
        with suppress(FileNotFoundError):  # a browser that runs may delete it now
            if path.is_file():
                content = path.read_bytes()
                yield b"\n".join([content, *unpack(content)])


def unpack(content: bytes) -> Iterator[bytes]:
    """What is packed by gzip, wherever it begins."""
    start = content.find(GZIP)
    while start >= 0:
        with suppress(zlib.error):
            yield zlib.decompressobj(wbits=31).decompress(content[start:])
        start = content.find(GZIP, start + 1)
