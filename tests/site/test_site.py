"""The built pages in a real browser: the search finds guides first, and every page fits a desk and a phone.

`make docs` runs this after the build (PLDP_SITE=site); the pages are not there in `make test`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from helpers.browsers import Visits
from helpers.folders import served

SITE = Path(os.environ["PLDP_SITE"]).resolve()
FIRST = {
    "epsilon": "docs/epsilon.html",
    "number question": "docs/how-to/number-question.html",
    "hidden level": "docs/hidden-levels.html",
    "sample size": "docs/how-to/sample-size.html",
    "nginx": "docs/how-to/nginx.html",
    "withdraw": "docs/how-to/withdraw.html",
    "glossary": "docs/glossary.html",
}
"""What people type, and the page that must come first."""

SYMBOLS = {"RandomizedResponse": "docs/api/pldp.mechanisms.html", "two_way": "docs/api/pldp.estimates.html"}
"""Names of the code that only the reference has as such: the page that must be among the results."""

CONCEPTS = (
    *("local-privacy", "epsilon", "comparison", "asking-again", "hidden-levels", "item-budgets", "itemsets", "numbers"),
    *(
        "estimates",
        "planning",
        "mechanisms",
        "fusing",
        "shuffling",
        "audit",
        "threat-model",
        "known-limits",
        "glossary",
    ),
    *("choose-levels", "kit", "new", "collector", "tutorial", "tutorial-rounds", "tutorial-app", "tutorial-mechanism"),
)
"""Pages that explain something and must have a picture."""

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
FITS = """() => {
    const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    const images = [...document.querySelectorAll("article img")];
    return {
        wide,
        images: images.length,
        missing: images.filter((image) => image.complete && !image.naturalWidth).map((image) => image.src),
        heading: document.querySelector("article h1, .jp-RenderedHTML h1")?.textContent ?? "",
        header: [...document.querySelectorAll(".sidebar-brand-text, .header-center .brand")]
            .filter((brand) => brand.offsetParent).map((brand) => brand.textContent.trim()),
    };
}"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(SITE) as url:
        yield url


def pages() -> list[str]:
    """Built pages; the report of the papers is a file of its own, with tests of its own."""
    built = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
    return [path for path in built if not re.match(r"(_|index|docs/research/report)", path)]


def search(page: Page, address: str, words: str) -> list[str]:
    page.goto(f"{address}/search.html?q={words}")
    results = page.locator("ul.search li > a")
    expect(results.first).to_be_visible()
    expect(page.locator("#search-progress, .search-summary").first).to_contain_text(re.compile("finished|found"))
    found = [
        link.partition("#")[0].partition("?")[0] for link in results.evaluate_all("(all) => all.map((a) => a.href)")
    ]
    return [link.removeprefix(f"{address}/") for link in found]


def test_the_search_gives_the_right_guide_first(address: str, visit: Visits) -> None:
    page = visit(viewport=DESK).page
    assert {words: search(page, address, words)[0] for words in FIRST} == FIRST


def test_the_search_still_finds_symbols(address: str, visit: Visits) -> None:
    page = visit(viewport=DESK).page
    for name, home in SYMBOLS.items():
        assert home in search(page, address, name)


def test_every_page_fits_a_desk_and_a_phone_and_has_its_pictures(address: str, visit: Visits) -> None:
    """One visit for all: a page is loaded once and then made narrow."""
    page = visit(viewport=DESK).page
    options = (SITE / "_static" / "documentation_options.js").read_text(encoding="utf-8")
    version = "pldp " + re.findall(r"VERSION: '(\d+\.\d+[\w.]*)'", options)[0]
    wrong = []
    seen = pages()
    assert len(seen) > 100
    for name in seen:
        page.set_viewport_size(DESK)
        page.goto(f"{address}/{name}")
        page.evaluate("() => { for (const image of document.images) image.loading = 'eager'; }")
        page.wait_for_function("() => [...document.images].every((image) => image.complete)")
        for width in (DESK, PHONE):
            page.set_viewport_size(width)
            found = page.evaluate(FITS)
            wrong += [f"{name} at {width['width']}: {found['wide']} px too wide"] * (found["wide"] > 0)
            wrong += [f"{name}: missing picture {source}" for source in found["missing"]]
            wrong += [f"{name} at {width['width']}: no version in the header"] * (version not in found["header"])
        concept = name.removeprefix("docs/").removesuffix(".html")
        wrong += [f"{name}: no picture"] * (concept in CONCEPTS and not found["images"])
    assert not wrong, "\n".join(wrong)


def test_all_concepts_are_pages() -> None:
    assert {f"docs/{name}.html" for name in CONCEPTS} <= set(pages())


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("<article><h1>t</h1><pre style='width: 900px'>x</pre></article>", "wide"),
        ("<article><h1>t</h1><img src='nowhere.png'></article>", "missing"),
    ],
)
def test_what_is_too_wide_or_missing_would_be_noticed(body: str, told: str, address: str, visit: Visits) -> None:
    page = visit(viewport=PHONE).page
    page.goto(f"{address}/genindex.html")
    page.set_content(f"<meta name=viewport content='width=device-width'>{body}")
    page.wait_for_function("() => [...document.images].every((image) => image.complete)")
    assert page.evaluate(FITS)[told]
