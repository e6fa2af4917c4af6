"""Pages in a real browser: no barriers, no outside requests, and nothing wider than a small telephone."""

from __future__ import annotations

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
    path = tmp_path / "page.html"
    path.write_text(show.results_page(results, introduction=[long], closing="Survey " + "0" * 64))
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_a_page_fits_the_screen_and_keeps_nobody_out(visit: Any, address: str, width: int, scheme: str) -> None:
    person = visit(viewport={"width": width, "height": 800}, color_scheme=scheme)
    person.page.goto(address)
    for summary in person.page.locator("summary").all():
        summary.click()
    assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not person.barriers()
    assert [url for _, url, _ in person.requests] == [address]
    assert not person.complaints


def test_pages_are_dark_where_the_reader_wants_it(visit: Any, address: str) -> None:
    colours = []
    for scheme in ("light", "dark"):
        person = visit(color_scheme=scheme)
        person.page.goto(address)
        colours.append(person.page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(247, 247, 245)", "rgb(20, 23, 26)"]


def test_letters_of_a_picture_keep_their_size_on_a_telephone(visit: Any, address: str) -> None:
    heights = []
    for width in (320, 1280):
        person = visit(viewport={"width": width, "height": 800})
        person.page.goto(address)
        heights.append(person.page.locator("svg text").first.evaluate("(text) => text.getBoundingClientRect().height"))
    assert heights[0] == pytest.approx(heights[1])
    assert heights[0] >= 12
