"""`pldp new` in a real browser: what is typed is checked, priced and shown at once, and saved whole."""

from __future__ import annotations

import os
import re
import tomllib
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import expect

from helpers.browsers import Visit, Visits
from helpers.designers import designing, designing_here
from pldp.design.summary import look
from pldp.survey import load

ROOT = Path(__file__).parent.parent.parent
PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
WIDE = {"viewport": {"width": 1280, "height": 900}}


def add(person: Visit, kind: str, **fields: str) -> None:
    person.page.get_by_role("button", name=f"Add: {kind}").click()
    card = person.page.locator(".question").last
    for label, text in fields.items():
        card.get_by_label(label.replace("_", " "), exact=True).fill(text)


def status_of(url: str, method: str, path: str, body: str = "", **headers: str) -> int:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=20)
    names = {name.replace("_", "-"): text for name, text in headers.items()}
    connection.request(method, path, body, names)
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_survey_with_every_kind_is_written_looked_at_and_saved(visit: Visits, tmp_path: Path) -> None:
    with designing_here(tmp_path) as url:
        person = visit(**WIDE)
        page = person.page
        page.goto(url)
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
            expect(page.locator(".reveal").nth(place)).to_contain_text(f"exactly ε = {told['epsilon']},")
            expect(seen.locator(f"#level-{place}-odds")).to_contain_text(f"at most {told['sure']} sure")
        assert not person.complaints
        assert {urlsplit(asked).netloc for _, asked, _ in person.requests} == {urlsplit(url).netloc}


def test_an_opened_file_keeps_its_keys_and_comments_and_changes_of_others(visit: Visits, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    example = (ROOT / "examples" / "shopping.toml").read_text(encoding="utf-8")
    before = re.sub("^open = .+$", "open = 1.5  # a number alone", example, flags=re.MULTILINE)
    assert before != example
    path.write_text(before, encoding="utf-8")
    with designing_here(tmp_path, "s.toml", people=500) as url:
        person = visit(**PHONE)
        page = person.page
        page.goto(url)
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


def test_only_who_knows_the_address_gets_anything(tmp_path: Path) -> None:
    with designing(tmp_path) as url:
        path = urlsplit(url).path
        assert urlsplit(url).hostname == "127.0.0.1"
        assert len(path) > 30
        assert status_of(url, "GET", path) == 200
        for wrong in ("/", "/state", f"{path[:-2]}x/state", "/x" * 20):
            assert status_of(url, "GET", wrong) == 404
        assert status_of(url, "GET", path, host="evil.example") == 421
        assert status_of(url, "POST", f"{path}save", "{}", content_type="text/plain") == 415
        assert status_of(url, "POST", f"{path}save", "[]", content_type="application/json") == 400
        assert status_of(url, "POST", f"{path}state", "{}", content_type="application/json") == 405
        assert status_of(url, "GET", f"{path}pages/../new.html") == 404
        for name in ("../s.toml", ".s.toml", "s.txt", ""):
            body = f'{{"form":{{"levels":[]}},"name":"{name}"}}'
            assert status_of(url, "POST", f"{path}save", body, content_type="application/json") == 200
        assert os.listdir(tmp_path) == []  # noqa: PTH208 - also hidden files
