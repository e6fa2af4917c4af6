"""`pldp new` in a real browser: what is typed is checked, priced and shown at once, and saved whole."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread
from urllib.parse import urlsplit

from playwright.sync_api import expect

from helpers.browsers import Visit, Visits
from helpers.designers import Caller, designing_here
from pldp.design.summary import look
from pldp.survey import load

ROOT = Path(__file__).parent.parent.parent
PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
WIDE = {"viewport": {"width": 1280, "height": 900}}
COLOUR = "(line) => getComputedStyle(line).color"


def add(person: Visit, kind: str, **fields: str) -> None:
    person.page.get_by_role("button", name=f"Add: {kind}").click()
    card = person.page.locator(".question").last
    for label, text in fields.items():
        card.get_by_label(label.replace("_", " "), exact=True).fill(text)


@contextmanager
def overhearing() -> Iterator[tuple[str, Queue[str]]]:
    """Serve on another port of this machine, as another user could, and give the cookies that browsers send there."""
    heard: Queue[str] = Queue()

    class Overhear(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.put(self.headers.get("cookie", ""))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Overhear)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", heard
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_survey_with_every_kind_is_written_looked_at_and_saved(visit: Visits, tmp_path: Path) -> None:
    with designing_here(tmp_path) as path:
        address = Caller(path).address.netloc
        person = visit(**WIDE)
        page = person.page
        page.goto(path.as_uri())
        expect(page.locator("#pending")).to_be_visible()
        page.get_by_label("Title").fill("Sleep in our town")
        add(person, "one label", Name="hours", Question="How long do you sleep?", Labels="under 5\n5 to 7\nover 7")
        add(person, "any number of labels", Name="had", Labels="headache\npanic")
        add(person, "a number", Name="age", From="16")
        expect(page.locator(".question").last).to_contain_text("Fill this in.")
        assert not person.barriers()
        page.locator(".question").last.get_by_label("To", exact=True).fill("90")
        page.get_by_label("Total ε of a person").fill("3")
        expect(page.locator("#warnings")).to_contain_text("Level 'open' cannot be chosen for all questions")
        expect(page.locator("#errors")).to_contain_text("± ")
        expect(page.locator("#better")).to_contain_text("more than the total allows. Best for this total")
        page.get_by_label("Name of level 3").fill("anonymous")
        expect(page.locator("#warnings")).to_contain_text("speaks of anonymity")
        seen = page.frame_locator("#seen")
        expect(seen.locator("h1")).to_have_text("Sleep in our town")
        expect(seen.get_by_label("anonymous")).to_be_visible()
        page.get_by_label("File name").fill("sleep.toml")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#status")).to_have_text("Saved sleep.toml.")
        assert not person.barriers()
        survey = load(tmp_path / "sleep.toml")
        assert [question.kind for question in survey.questions] == ["choice", "choices", "number"]
        for place, told in enumerate(look(survey)["reveals"]):  # what the page says is what the audit computes
            expect(page.locator(".reveal").nth(place)).to_contain_text(f"at most {told['sure']} sure")
            expect(page.locator(".reveal").nth(place)).to_contain_text(f"(ε = {told['epsilon']},")
            expect(seen.locator(f"#level-{place}-odds")).to_contain_text(f"at most {told['sure']} sure")
        assert not person.complaints
        assert {urlsplit(asked).netloc for _, asked, _ in person.requests} == {"", address}  # the file, and this server


def test_a_lottery_is_offered_first_to_hide_levels(visit: Visits, tmp_path: Path) -> None:
    with designing_here(tmp_path) as path:
        person = visit(**WIDE)
        page = person.page
        page.goto(path.as_uri())
        page.get_by_label("Title").fill("Sleep")
        add(person, "one label", Name="hours", Labels="few\nmany")
        expect(page.locator("#cost")).to_contain_text("Reports show the chosen level.")
        page.get_by_role("button", name="Use the usual choice: ε of the lottery = 1").click()
        expect(page.get_by_label("ε of the lottery")).to_have_value("1")
        expect(page.get_by_label("ε of the lottery")).to_be_focused()
        expect(page.locator("#cost")).to_contain_text("all reports together tell at most ε = 1.")
        assert not person.barriers()
        page.get_by_label("ε of the lottery").fill("")
        page.get_by_label("ε of the label").fill("0.5")
        expect(page.locator("#cost")).to_contain_text("Reports hide the level")
        assert not person.complaints


def test_an_opened_file_keeps_its_keys_and_comments_and_changes_of_others(visit: Visits, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    example = (ROOT / "examples" / "shopping.toml").read_text(encoding="utf-8")
    before = re.sub("^open = .+$", "open = 1.5  # a number alone", example, flags=re.MULTILINE)
    assert before != example
    path.write_text(before, encoding="utf-8")
    with designing_here(tmp_path, "s.toml", people=500) as opening:
        person = visit(**PHONE)
        page = person.page
        page.goto(opening.as_uri())
        expect(page.locator("#kept")).to_contain_text("questions.basket.fractions, questions.reason.fractions")
        expect(page.get_by_label("People who answer")).to_have_value("500")
        page.get_by_label("Title").fill("Another title")
        path.write_text(before + "# by somebody else\n", encoding="utf-8")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#status")).to_contain_text("Not saved: s.toml changed on the disk since it was opened")
        assert path.read_text(encoding="utf-8").endswith("# by somebody else\n")
        page.get_by_role("button", name="Overwrite the file").click()
        expect(page.locator("#status")).to_have_text("Saved s.toml.")
        expect(page.locator(".reveal").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert not person.barriers()
        assert not person.complaints
    text = path.read_text(encoding="utf-8")
    assert tomllib.loads(text) == {**tomllib.loads(before), "title": "Another title"}
    assert "# a number alone" in text


def test_a_reload_keeps_people_and_the_running_collector_with_links_and_stop(visit: Visits, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "commute.toml", tmp_path / "s.toml")
    with designing_here(tmp_path, "s.toml") as path:
        person = visit(**WIDE)
        page = person.page
        links = [page.get_by_role("link", name=name) for name in ("Survey page", "Dashboard")]
        stop = page.get_by_role("button", name="Stop")
        page.goto(path.as_uri())
        with page.expect_response("**/plan") as planned:
            page.get_by_label("People who answer").fill("777")
        assert planned.value.request.post_data_json["people"] == 777
        page.get_by_role("button", name="Start collecting").click()
        expect(stop).to_be_visible()
        addresses = [str(link.get_attribute("href")) for link in links]
        page.reload()
        expect(stop).to_be_visible()
        assert [link.get_attribute("href") for link in links] == addresses
        expect(page.get_by_label("People who answer")).to_have_value("777")
        expect(page.locator("#status")).to_contain_text("Reports go to s.db.")
        page.goto(addresses[1])
        expect(page.locator("#board dl")).to_be_visible()  # the token in the link is valid
        page.go_back()
        stop.click()
        expect(page.locator("#status")).to_have_text("Stopped.")
        page.reload()
        expect(page.locator("#errors table")).to_be_visible()
        expect(stop).to_be_hidden()


def test_an_invalid_survey_is_saved_as_a_draft_and_the_page_says_so_in_red(visit: Visits, tmp_path: Path) -> None:
    missing = "this survey cannot be started yet: question hours.values: fill this in."
    with designing_here(tmp_path) as path:
        person = visit(**WIDE)
        page = person.page
        status = page.locator("#status")
        page.goto(path.as_uri())
        page.get_by_label("Title").fill("Sleep")
        add(person, "one label", Name="hours")
        page.get_by_role("button", name="Save").click()
        expect(status).to_have_text(f"Saved as a draft: {missing}")
        red = page.locator(".trouble:not([hidden])").first.evaluate(COLOUR)
        assert status.evaluate(COLOUR) == red
        assert not person.barriers()
        page.reload()
        expect(status).to_have_text(f"Draft: {missing}")
        page.locator(".question").get_by_label("Labels", exact=True).fill("under 7\nmore")
        page.get_by_role("button", name="Save").click()
        expect(status).to_have_text("Saved survey.toml.")
        assert status.evaluate(COLOUR) != red
    assert load(tmp_path / "survey.toml").title == "Sleep"


def test_leaving_asks_first_only_while_edits_are_not_saved(visit: Visits, tmp_path: Path) -> None:
    with designing_here(tmp_path) as path:
        page = visit(**WIDE).page
        title = page.get_by_label("Title")
        dialogs: list[str] = []

        def leave() -> None:
            page.reload()
            expect(page.locator("#pending")).to_have_text("Correct the marked fields to see this.")  # it is loaded

        page.on("dialog", lambda dialog: (dialogs.append(dialog.type), dialog.accept()))
        page.goto(path.as_uri())
        title.click()
        leave()
        assert dialogs == []  # nothing was edited
        title.fill("Sleep")
        leave()
        assert dialogs == ["beforeunload"]
        expect(title).to_have_value("")
        title.fill("Sleep")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#status")).to_contain_text("Saved")
        leave()
        expect(title).to_have_value("Sleep")
        title.fill("Sleep well")
        title.fill("Sleep")
        leave()
        assert dialogs == ["beforeunload"]  # what was saved, and an edit that was taken back


def test_a_second_use_of_the_file_is_refused_on_a_page_that_says_what_to_do(visit: Visits, tmp_path: Path) -> None:
    with designing_here(tmp_path) as path:
        shutil.copy(path, tmp_path / "copy.html")
        first, second = visit(**WIDE), visit(**PHONE)
        first.page.goto(path.as_uri())
        expect(first.page.get_by_label("Title")).to_be_visible()
        assert urlsplit(first.page.url).path == "/"
        second.page.goto((tmp_path / "copy.html").as_uri())
        expect(second.page.locator("main")).to_contain_text("Use the tab that is already open, or end pldp new")
        assert second.page.evaluate("document.documentElement.scrollWidth") == 390
        assert not second.barriers()
        assert second.context.cookies() == []
        first.page.reload()
        expect(first.page.get_by_label("Title")).to_be_visible()


def test_a_server_on_another_port_gets_the_cookie_which_alone_opens_nothing(visit: Visits, tmp_path: Path) -> None:
    with designing_here(tmp_path) as path, overhearing() as (address, heard):
        caller = Caller(path)
        page = visit(**WIDE).page
        page.goto(path.as_uri())
        expect(page.get_by_label("Title")).to_be_visible()
        key = page.evaluate("localStorage.getItem('pldp-key')")
        page.goto(address)
        caller.cookie = heard.get(timeout=60)
        assert caller.cookie.startswith("pldp-new-")
        assert page.evaluate("localStorage.getItem('pldp-key')") is None
        assert caller.ask("GET", "/state") == 403
        assert caller.ask("POST", "/save", '{"form":{"levels":[]},"name":"s.toml"}') == 403
        caller.key = key
        assert caller.ask("GET", "/state") == 200
