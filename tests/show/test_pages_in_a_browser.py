"""Pages in a real browser: no barriers, no outside requests, and nothing wider than a small telephone."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import pytest

from helpers import mappings
from pldp import show


@pytest.fixture
def address(tmp_path: Path) -> str:
    results = mappings.results()
    long = "a label that is much longer than any telephone is wide and that has to be broken into lines somewhere"
    results["questions"][0]["rows"][0]["label"] = long
    results["questions"] += [mappings.trend(), mappings.change()]
    path = tmp_path / "page.html"
    path.write_text(show.results_page(results, introduction=[long], closing="Survey " + "0" * 64))
    return path.as_uri()


LONG = bool(os.environ.get("PLDP_LONG"))
SCREENS = tuple(itertools.product((320, 390, 1280), ("light", "dark")))
SCANNED: dict[tuple[int, str], tuple[str, ...]] = (
    dict.fromkeys(SCREENS, ()) if LONG else {(320, "light"): (), (1280, "dark"): ("color-contrast",)}
)
"""Where axe looks for barriers, and by which rules, if not by all."""

COLOURS = {"light": "rgb(247, 247, 245)", "dark": "rgb(20, 23, 26)"}


def test_a_page_fits_every_screen_is_dark_where_wanted_and_keeps_nobody_out(visit: Any, address: str) -> None:
    person = visit(viewport={"width": 320, "height": 800})
    person.page.goto(address)
    person.page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    for width, scheme in SCREENS:
        person.page.set_viewport_size({"width": width, "height": 800})
        person.page.emulate_media(color_scheme=scheme)
        assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert person.page.evaluate("getComputedStyle(document.body).backgroundColor") == COLOURS[scheme]
        if (width, scheme) in SCANNED:
            assert not person.barriers(*SCANNED[width, scheme])
    assert [url for _, url, _ in person.requests] == [address]
    assert not person.complaints


def test_letters_of_a_picture_keep_their_size_on_a_telephone(visit: Any, address: str) -> None:
    heights = []
    person = visit()
    for width in (320, 1280):
        person.page.set_viewport_size({"width": width, "height": 800})
        person.page.goto(address)
        heights.append(person.page.locator("svg text").first.evaluate("(text) => text.getBoundingClientRect().height"))
    assert heights[0] == pytest.approx(heights[1])
    assert heights[0] >= 12
