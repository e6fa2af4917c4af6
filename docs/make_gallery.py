"""Take a picture of every screen and write the gallery: .venv/bin/python docs/make_gallery.py [START OF A NAME …]."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images" / "screens"
PAGE = ROOT / "docs" / "screens.md"
LARGEST = 60_000  # bytes of a picture
COLOURS = 64  # enough for pages, and a third of the bytes
sys.path[:0] = [str(ROOT / "tests")]

from PIL import Image  # noqa: E402
from playwright.sync_api import FloatRect, Page  # noqa: E402

from helpers.browsers import Visits, open_browser, visits  # noqa: E402 - they are found where the tests are
from helpers.collector.servers import running  # noqa: E402
from helpers.screens import SCREENS  # noqa: E402
from helpers.screens import pages as others  # noqa: E402
from helpers.screens import survey as states  # noqa: E402

PHONE = {"viewport": {"width": 390, "height": 720}, "locale": "en"}
SMALL = {"viewport": {"width": 320, "height": 640}, "locale": "de", "color_scheme": "dark"}
DESK = {"viewport": {"width": 1000, "height": 760}}
SEEN_FROM = {
    "questions": "#answering",
    "report": "#preview",
    "waiting": "#status",
    "sent": "#status",
    "answered": "#answered",
}
"""Where a picture of the survey page begins, if not at its top."""

GROUPS = {
    "/": "The survey page",
    "notice": "Error pages",
    "/dashboard": "The dashboard",
    "/results": "Public results",
    "/reading": "",
    "new": "`pldp new`",
    "kit": "`pldp kit`",
    "report": "Reports",
    "notebook": "Notebooks",
}
HEAD = """\
# Every screen

Screenshots of everything that participants and operators can see. All names, answers and reports are made up.
`docs/make_gallery.py` takes the screenshots with helpers of the tests (`tests/helpers/screens`), and a test checks
that no page, and no part of a page, is missing.
"""


def main() -> None:
    """Go through all screens."""
    wanted = tuple(sys.argv[1:]) or ("",)
    IMAGES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, open_browser() as browser, visits(browser) as visit:
        seen = []
        for page, name in walk(visit, Path(folder), wanted):
            seen.append(name)
            if name.startswith(wanted):
                keep(page.screenshot(clip=filled(page)), name)
    listed = {screen.name for screen in SCREENS}
    if not listed.issuperset(seen) or ("" in wanted and listed != set(seen)):
        raise SystemExit(f"screens and their list differ: {', '.join(sorted(listed.symmetric_difference(seen)))}")
    PAGE.write_text(gallery(), encoding="utf-8")


def walk(visit: Visits, folder: Path, wanted: tuple[str, ...]) -> Iterator[tuple[Page, str]]:
    """Bring pages to every screen, or to those with such names and what is made together with them."""

    def asked(*starts: str) -> bool:
        return any(each.startswith(start) or start.startswith(each) for each in wanted for start in starts)

    if asked("survey"):
        yield from survey_page(visit, folder / "survey")
    if asked("dashboard", "public", "reading", "notice"):
        yield from collector_pages(visit, folder)
    for start, flow in (("new", others.new), ("kit", others.kit)):
        if asked(start):
            page = visit(**{**DESK, "viewport": {"width": 1280, "height": 860}} if start == "new" else DESK).page
            (folder / start).mkdir()
            yield from ((page, name) for name in flow(page, folder / start))
    if asked("report", "notebook"):
        page = visit(viewport={"width": 1280, "height": 760}).page
        yield from ((page, name) for name in others.written(page, folder))


def survey_page(visit: Visits, folder: Path) -> Iterator[tuple[Page, str]]:
    """All states of the survey page on a phone; some also in German, on paper and without scripts."""
    folder.mkdir()
    with running(folder, survey=str(states.FOLDER / "survey.toml")) as server:
        for flow in (states.answer, states.be_barred):
            page = visit(**PHONE).page
            for name in flow(page, server.url):
                if name in SEEN_FROM:
                    others.scroll_to(page, page.locator(SEEN_FROM[name]))
                yield page, f"survey-{name}"
                if name == "sent":
                    page.emulate_media(media="print")
                    page.evaluate("scrollTo(0, 0)")
                    yield page, "survey-printed"
                    page.emulate_media(media="screen")
        for name, options in (("german", SMALL), ("without-scripts", {**PHONE, "java_script_enabled": False})):
            page = visit(**options).page
            page.goto(server.url)
            page.locator("#choosing:not([hidden])" if name == "german" else "noscript").wait_for(state="attached")
            page.wait_for_load_state("networkidle")
            yield page, f"survey-{name}"


def collector_pages(visit: Visits, folder: Path) -> Iterator[tuple[Page, str]]:
    """The dashboard, and pages for everybody."""
    page = visit(**DESK).page
    with others.collecting(folder / "collector") as (server, token):
        yield from ((page, name) for name in others.open_to_all(page, server))
        page = visit(**DESK).page
        yield from ((page, name) for name in others.dashboard(page, server, token))
    page = visit(**DESK).page
    yield from ((page, name) for name in others.first_reports(page, folder))


def filled(page: Page) -> FloatRect:
    """Return what a page, or a dialog on it, fills of the window, from the top."""
    size = page.viewport_size or {"width": 0, "height": 0}
    parts = "[...document.querySelectorAll('body, dialog[open]')]"
    bottom = page.evaluate(f"8 + Math.max(...{parts}.map((part) => Math.ceil(part.getBoundingClientRect().bottom)))")
    return {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], bottom)}


def keep(picture: bytes, name: str) -> None:
    """Write one picture in few colours."""
    few = Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    few.save(packed, "PNG", optimize=True)
    if len(packed.getvalue()) > LARGEST:
        raise SystemExit(f"{name}: {len(packed.getvalue())} bytes, more than {LARGEST}")
    (IMAGES / f"{name}.png").write_bytes(packed.getvalue())


def gallery() -> str:
    """Return the page that shows all pictures."""
    parts, current = [HEAD], ""
    for screen in SCREENS:
        title = GROUPS[screen.page.partition(":")[0]]
        if title and title != current:
            parts.append(f"## {title}\n")
            current = title
        parts.append(f"**{screen.caption}.**\n\n![{screen.caption}](images/screens/{screen.name}.png)\n")
    return "\n".join(parts)


if __name__ == "__main__":
    main()
