"""The whole way through a survey with all kinds of questions: two languages, small and large screens, light and dark.

The long form (`PLDP_LONG=1`) takes every width, theme and language, and leaves a picture of every screen in
`PLDP_PICTURES`, if that names a folder.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from helpers.browsers import SURVEY_SCRIPT, Visit, Visits
from helpers.collector.servers import Server, running
from helpers.screens import PAGE_STATES
from helpers.screens import survey as screens
from pldp import Survey

FOLDER = Path(__file__).parents[1] / "helpers" / "whole_way"
SURVEY = Survey.load(FOLDER / "survey.toml")
PAGES = Path("src/pldp/collector/pages")
CATALOGUES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (PAGES / "languages").glob("*.json")}
LONG = bool(os.environ.get("PLDP_LONG"))
PICTURES = os.environ.get("PLDP_PICTURES", "")
EVERY = tuple(itertools.product((320, 390, 1280), ("light", "dark"), ("en", "de")))
SHORT = ((320, "dark", "de"),)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("collector"), survey=str(FOLDER / "survey.toml")) as started:
        yield started


class Person:
    """Somebody on their way, and what is true of every screen."""

    def __init__(self, visit: Visits, width: int, scheme: str, language: str) -> None:
        self.visit: Visit = visit(viewport={"width": width, "height": 800}, color_scheme=scheme, locale=language)
        self.page, self.language, self.name = self.visit.page, language, f"{language}-{width}-{scheme}"
        self.shown = SURVEY.shown_in(language)

    def says(self, key: str, **values: object) -> str:
        return CATALOGUES[self.language][key].format(**values)

    def press(self, key: str) -> None:
        self.page.get_by_role("button", name=self.says(key), exact=True).first.click()

    def look(self, screen: str, *, like: str = "") -> None:
        """No barrier, nothing wider than the screen, no word of another language.

        In the short form barriers are not looked for on a screen that is like another one but for a sentence.
        """
        if LONG or not like:
            assert self.visit.barriers() == []
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        seen = " ".join(self.page.locator("body").inner_text().split())
        for other in CATALOGUES.keys() - {self.language}:
            plain = (text for text in CATALOGUES[other].values() if len(text) > 20 and "{" not in text)
            assert not [text for text in plain if text in seen]
        if PICTURES:
            self.page.screenshot(path=Path(PICTURES) / f"{self.name}-{screen}.png", full_page=True)


@pytest.mark.parametrize(("width", "scheme", "language"), EVERY if LONG else SHORT)
def test_the_whole_way(visit: Visits, server: Server, width: int, scheme: str, language: str) -> None:
    person = Person(visit, width, scheme, language)
    page = person.page
    page.goto(server.url)
    expect(page.locator("html")).to_have_attribute("lang", language)
    expect(page.get_by_role("heading", level=1)).to_have_text(person.shown("title"))
    expect(page.locator("#introduction")).to_have_text(person.shown("texts", "introduction"))
    expect(page.locator("#logo")).to_have_js_property("naturalWidth", 96)
    person.look("1-levels")
    page.get_by_label(person.shown("levels", "strict", "name")).check()
    person.press("choose.done")
    expect(page.locator("#opening")).to_be_hidden()  # nothing above the questions but the title
    answer_everything(person)
    person.look("2-questions")
    page.go_back()
    expect(page.locator("#choosing")).to_be_visible()
    page.go_forward()
    expect(page.get_by_label(person.shown("questions", "ills", "values", "none of these"))).to_be_checked()
    person.press("answer.done")
    expect(page.locator("#preview")).to_be_visible()
    expect(page.locator("#words li")).to_have_count(3)
    person.look("3-report")
    page.context.set_offline(True)
    person.press("report.send")
    expect(page.locator("#status")).to_have_text(person.says("sent.offline"))
    page.context.set_offline(False)
    expect(page.locator("#status")).to_have_text(person.says("sent.receipt"))
    expect(page.locator("#thanks")).to_have_text(person.shown("texts", "thanks"))
    page.locator("#sharing summary").click()
    expect(page.locator(".code-picture")).to_be_visible()
    page.locator("#notice summary").click()
    person.look("4-sent")
    page.reload()
    expect(page.get_by_role("heading", name=person.says("answered.title"))).to_be_visible()
    expect(page.locator("#answered")).to_contain_text(person.says("answered.once"))
    expect(page.locator("#choosing")).to_be_hidden()
    again = re.sub(r"\(.*", "", person.says("answered.again", price="")).strip()
    page.get_by_role("button", name=again).click()
    person.look("5-withdrawing")
    page.get_by_role("dialog").get_by_role("button", name=person.says("withdraw.yes")).click()
    expect(page.locator("#choosing")).to_be_visible()
    assert not [line for line in person.visit.complaints if "DISCONNECTED" not in line]


def answer_everything(person: Person) -> None:
    """Answer each question, against what the rules allow at first."""
    page, shown = person.page, person.shown
    page.get_by_role("spinbutton").fill("30")
    person.press("answer.done")
    expect(page.locator("#preview")).to_be_hidden()  # what is required is missing
    page.get_by_label(shown("questions", "mode", "values", "bike"), exact=True).check()
    boxes = {
        label: page.get_by_label(shown("questions", "ills", "values", label))
        for label in SURVEY.question("ills").values
    }
    boxes["a cold"].check()
    boxes["headache"].check()
    expect(boxes["back pain"]).to_be_disabled()
    expect(page.locator("#questions")).to_contain_text(person.says("answer.ticked", ticked=2, count=2))
    boxes["none of these"].check()
    expect(boxes["a cold"]).not_to_be_checked()
    boxes["back pain"].check()
    expect(boxes["none of these"]).not_to_be_checked()
    boxes["none of these"].check()


LIKE = {"ended": "closed", "refused": "uninvited", "used": "uninvited"}
SIZES = tuple(itertools.product((320, 390, 1280), ("light", "dark")))


@pytest.mark.parametrize("language", ["en", "de"] if LONG else ["de"])
def test_every_reason_not_to_answer_is_told_on_every_screen(visit: Visits, server: Server, language: str) -> None:
    """Closed, ended, invited or not, over budget, unreachable: the short form takes one size for each state."""
    person = Person(visit, 390, "light", language)
    page, seen = person.page, []
    for place, state in enumerate(screens.be_barred(page, server.url)):
        seen.append(state)
        for part in PAGE_STATES[state]:
            expect(page.locator(f"#{part}")).to_be_visible()
        if state not in {"simulated", "terms"}:
            expect(page.locator("#choosing")).to_be_hidden()
        for width, scheme in SIZES if LONG else SIZES[place % len(SIZES) :][:1]:
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            person.name = f"{language}-{width}-{scheme}"
            person.look(f"7-{state}", like=LIKE.get(state, ""))
    assert sorted(seen) == sorted([*PAGE_STATES][-len(seen) :])


def tab_to(page: Page, selector: str) -> None:
    """Press the tabulator until the focus is there."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"no way to {selector} with the keyboard")


@pytest.mark.parametrize("language", ["en", "de"] if LONG else ["de"])
def test_the_keyboard_is_enough_for_the_whole_way(visit: Visits, server: Server, language: str) -> None:
    """No click anywhere: level, all kinds of questions, report, sending, coming back, withdrawing."""
    person = Person(visit, 390, "light", language)
    page, keyboard = person.page, person.page.keyboard
    page.goto(server.url)
    expect(page.locator("#choosing")).to_be_visible()
    tab_to(page, "#choosing input[type=radio]")
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    expect(page.get_by_role("heading", name=person.says("answer.title"))).to_be_focused()
    tab_to(page, "#questions input[type=radio]")
    keyboard.press("Space")
    tab_to(page, "#questions input[type=checkbox]:not([value='none of these'])")
    keyboard.press("Space")
    tab_to(page, "#questions input[type=number]")
    keyboard.type("30")
    keyboard.press("Enter")
    expect(page.get_by_role("heading", name=person.says("report.title"))).to_be_focused()
    expect(page.locator("#words li")).to_have_count(3)
    tab_to(page, "#send")
    keyboard.press("Enter")
    expect(page.locator("#status")).to_be_focused()
    expect(page.locator("#status")).to_have_text(person.says("sent.receipt"))
    tab_to(page, "#receipts button")
    page.reload()
    expect(page.locator("#answered")).to_be_visible()
    tab_to(page, "#answered button")
    keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name=person.says("withdraw.title"))
    expect(dialog).to_be_visible()
    keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    keyboard.press("Enter")  # the focus is back where it was
    expect(dialog).to_be_visible()
    tab_to(page, "dialog button[value=yes]")
    keyboard.press("Enter")
    expect(page.locator("#choosing")).to_be_visible()


def test_another_language_is_one_choice_away_and_loses_no_answer(visit: Visits, server: Server) -> None:
    person = Person(visit, 390, "light", "en")
    page = person.page
    page.goto(f"{server.url}/?lang=de")
    page.get_by_label("offen").check()
    page.get_by_label("Sprache").select_option("English")
    expect(page.get_by_label("open")).to_be_checked()
    person.look("8-levels", like="levels")
    page.get_by_role("button", name="Show the questions").click()
    page.get_by_label("Language").select_option("Deutsch")
    page.get_by_label("Fahrrad").check()
    page.get_by_label("eine Erkältung").check()
    page.get_by_role("spinbutton").fill("30")
    page.get_by_label("Sprache").select_option("English")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect(page.get_by_label("Language")).to_be_focused()
    for label in ("bike", "a cold"):
        expect(page.get_by_label(label)).to_be_checked()
    expect(page.get_by_role("spinbutton")).to_have_value("30")
    expect(page.locator("#chosen")).to_have_text("Level “open”.")
    person.look("8-questions", like="questions")
    assert page.url.endswith("?lang=en")
    assert [url for _, url, _ in person.visit.requests].count(f"{server.url}/?lang=de") == 1  # the page is loaded once
    assert not [url for _, url, _ in person.visit.requests if url.endswith("?lang=en")]
    page.get_by_role("button", name="Show me what will be sent").click()
    page.get_by_role("button", name="Send this report").click()
    expect(page.locator("#status")).to_contain_text("Sent.")
    page.get_by_label("Language").select_option("Deutsch")
    expect(page.locator("#receipts")).to_contain_text("gesendet")
    person.language = "de"
    person.look("8-sent", like="sent")


def backwards(text: str) -> str:
    """Text of a language that nobody speaks: letters between marks, values as they are."""
    parts = re.split(r"(\{\w+\})", text)
    return "⟦" + "".join(part if part.startswith("{") else re.sub(r"\w", "א", part) for part in parts) + "⟧"


OUTSIDE = """() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const place = node.parentElement;
        const box = document.createRange();
        box.selectNodeContents(node);
        const isShown = node.data.trim() && box.getClientRects().length;
        if (isShown && !place.closest("noscript, script, code, pre, a, .code, option")) found.push(node.data.trim());
    }
    return found;
}"""


def test_right_to_left_everything_turns_and_every_word_is_of_the_catalogue(visit: Visits, server: Server) -> None:
    """Each text of the page goes through the catalogue: in a made-up language none is left without its marks."""
    made_up = {key: backwards(text) for key, text in CATALOGUES["de"].items()} | {"percent": "⟦{number}⟧"}
    texts: dict[str, Any] = json.loads(json.dumps(SURVEY.document["languages"]["de"]), object_hook=marked)
    document = {**SURVEY.document, "languages": {"ar-XB": texts}}
    person = visit(viewport={"width": 390, "height": 800}, locale="ar-XB")
    person.alter(SURVEY_SCRIPT, ('["en", "de"]', '["en", "de", "ar-XB"]'))
    person.page.route("**/languages/ar-XB.json", lambda route: route.fulfill(json=made_up))
    body = Survey.read(document).canonical
    person.page.route("**/v1/survey", lambda route: route.fulfill(body=body, content_type="application/json"))
    page = person.page

    def check(*, scan: bool = LONG) -> None:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert not scan or not person.barriers()
        left = [text for text in page.evaluate(OUTSIDE) if "⟦" not in text and re.search(r"[^\W\d_]{2,}", text)]
        assert not left

    page.goto(f"{server.url}/?lang=ar-XB")
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    expect(page.locator("#choosing")).to_be_visible()
    check()
    page.locator("#choosing button").click()
    page.locator("#question-0-1").check()
    page.locator("#answering summary").first.click()
    check(scan=True)
    page.locator("#answering button.main").click()
    expect(page.locator("#preview")).to_be_visible()
    check()


def marked(table: dict[str, Any]) -> dict[str, Any]:
    return {key: f"⟦{value}⟧" if isinstance(value, str) else value for key, value in table.items()}


def test_a_survey_that_has_ended_says_so_and_asks_nothing(visit: Visits, tmp_path: Path) -> None:
    ended = tmp_path / "survey.json"
    ended.write_text(json.dumps({**SURVEY.document, "closes": "2020-12-31", "logo": "logo.svg"}), encoding="utf-8")
    (tmp_path / "logo.svg").write_bytes((FOLDER / "logo.svg").read_bytes())
    with running(tmp_path, survey=str(ended)) as server:
        person = Person(visit, 390, "light", "de")
        person.page.goto(server.url)
        expect(person.page.locator("#closed")).to_contain_text("Diese Umfrage endete am 31. Dezember 2020.")
        expect(person.page.locator("#choosing")).to_be_hidden()
        person.look("6-ended", like="closed")
        assert "closed at the end of 2020-12-31" in server.log.read_text()


def test_the_page_says_beforehand_how_long_a_report_can_be_withdrawn(visit: Visits, tmp_path: Path) -> None:
    with running(tmp_path, "--retain", "30 days") as server:
        person = visit(locale="en")
        person.page.goto(server.url)
        expect(person.page.locator("#choosing")).to_be_visible()
        expect(person.page.locator("#retention")).to_contain_text("after this round closes: 30. Then single reports")


def test_what_a_phone_loads_is_small(visit: Visits, server: Server) -> None:
    """All bytes that the browser received, headers included; without the logo, which is the survey's own."""
    person = visit(locale="de")
    loaded: dict[str, int] = {}
    paths: dict[str, str] = {}
    events = person.context.new_cdp_session(person.page)
    events.on("Network.requestWillBeSent", lambda said: paths.update({said["requestId"]: said["request"]["url"]}))
    events.on("Network.loadingFinished", lambda said: loaded.update({said["requestId"]: said["encodedDataLength"]}))
    events.send("Network.enable")
    person.page.goto(server.url, wait_until="networkidle")
    expect(person.page.locator("#choosing")).to_be_visible()
    counted = {paths[key].removeprefix(server.url): size for key, size in loaded.items()}
    assert counted.pop("/v1/logo") > 0
    assert {"/", SURVEY_SCRIPT, "/v1/survey", "/pages/languages/de.json"} <= counted.keys()
    assert sum(counted.values()) <= 60_000, counted
    assert len(counted) <= 20, counted
    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    milliseconds = person.page.evaluate(paint)
    sys.stdout.write(
        f"{sum(counted.values()):,} bytes in {len(counted)} responses, painted after {milliseconds:.0f} ms\n"
    )


CODES = {"https://survey.example/": "3ae00668ee7af51b", "https://survey.example/" + "a" * 180: "5a87c6ff9621957f"}


def test_the_qr_code_of_the_page_is_a_known_one(person: Visit, server: Server) -> None:
    """Held once against an encoder in Python; frozen here."""
    person.page.goto(f"{server.url}/missing")
    for text, known in CODES.items():
        script = "(text) => import('/pages/qr.js').then(({ qrModules }) => qrModules(text).map((row) => row.join('')))"
        rows = person.page.evaluate(script, text)
        assert hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16] == known
    assert person.page.evaluate("import('/pages/qr.js').then(({ qrModules }) => qrModules('x'.repeat(1000)))") is None
