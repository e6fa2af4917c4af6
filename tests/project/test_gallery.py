"""The gallery shows every screen: every address, every part of a page, every notice, every page of a kit."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from helpers.screens import EVERYWHERE, SCREENS
from pldp.collector.notices import NOTICES
from pldp.collector.static import assets
from pldp.kit.texts import LANGUAGES

IMAGES = Path("docs/images/screens")
NAMES = [screen.name for screen in SCREENS]
HIDDEN = re.compile(r'<(?!iframe|button|option)\w+ id="([\w-]+)"[^>]* hidden\b|<dialog id="([\w-]+)"')
KIT = {name.removesuffix(".html") for each in LANGUAGES for name in (each.notice, each.annex)}


def parts(page: str) -> set[str]:
    """Parts of a page that are not always shown."""
    return {one or two for one, two in HIDDEN.findall(assets()[page].body.decode())}


def shown(page: str) -> set[str]:
    return {part for screen in SCREENS if screen.page == page for part in screen.shows}


def test_every_screen_has_its_picture_and_no_other_picture_is_there() -> None:
    assert len(NAMES) == len(set(NAMES))
    assert sorted(path.name for path in IMAGES.iterdir()) == sorted(f"{name}.png" for name in NAMES)
    for path in IMAGES.iterdir():
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n", path
        assert path.stat().st_size <= 60_000, path


def test_the_page_is_what_the_list_says() -> None:
    made = runpy.run_path("docs/make_gallery.py", run_name="made")
    assert Path("docs/screens.md").read_text(encoding="utf-8") == made["gallery"]()


def test_every_address_for_people_is_in_the_list() -> None:
    pages = {path for path, asset in assets().items() if asset.kind.startswith("text/html")}
    notices = {f"notice:{family}" for family in NOTICES.values()}
    listed = {screen.page for screen in SCREENS}
    assert listed == {*pages, "/results", *notices, "new", "kit", "report", "notebook"}
    kit = {screen.name.removeprefix("kit-") for screen in SCREENS if screen.page == "kit"}
    assert kit == {*KIT, "certificate", "invitations", "verify", "verify-refused"}


def test_every_part_of_a_page_that_is_hidden_at_first_is_shown_on_some_screen() -> None:
    assert len(parts("/")) > 20
    assert parts("/") <= shown("/") | EVERYWHERE
    assert parts("/dashboard") <= shown("/dashboard")
    assert shown("/") - parts("/") <= EVERYWHERE
