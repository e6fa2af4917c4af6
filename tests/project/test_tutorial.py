"""The tutorial, done literally in a real browser: from `pldp new` to the static report.

Its lines "Type `…` into **…**", "Press **…**", "Choose **…**" and "Open **…**" are read from the page and done, and so
are the commands between them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page, expect

from helpers.browsers import Visit, Visits
from helpers.designers import designing
from pldp.cli import main
from pldp.survey import load, loads

TUTORIAL = Path(__file__).parent.parent.parent / "docs" / "tutorial.md"
STEP = re.compile(
    r"^- (?P<verb>Type|Press|Choose|Open) (?P<words>.+)$|^(?P<command>pldp (?:simulate|store|estimate) .+)$"
)
ADDRESS = "http://127.0.0.1:8300"


def steps() -> Iterator[tuple[str, str, list[str]]]:
    """Yield what to do in order: the verb, the name of the field, button or link, and the texts to type."""
    text = TUTORIAL.read_text(encoding="utf-8")
    for line in text.splitlines():
        found = STEP.match(line)
        if found and found["command"]:
            yield "Run", found["command"], []
        elif found:
            (name,) = re.findall(r"\*\*(.+?)\*\*", found["words"])
            yield found["verb"], name, re.findall(r"`(.+?)`", found["words"])


class Reader:
    """Somebody who does what the tutorial says."""

    def __init__(self, person: Visit, url: str) -> None:
        self.person, self.form = person, person.page
        self.page: Page = self.form
        self.form.goto(url)
        self.survey = ""
        self.done: list[str] = []

    def do(self, verb: str, name: str, texts: list[str]) -> None:
        getattr(self, verb.lower())(name, texts)
        self.done.append(f"{verb} {name}")

    def type(self, name: str, texts: list[str]) -> None:
        fields = self.page.get_by_label(name, exact=True)
        fields.last.fill("\n".join(texts))

    def press(self, name: str, _: list[str]) -> None:
        if name == "Stop":
            assert not self.person.complaints  # afterwards the open dashboard says that nobody answers
            self.page = self.form
        self.page.get_by_role("button", name=name, exact=True).click()
        if name == "Save":
            expect(self.page.locator("#status")).to_have_text("Saved sleep.toml.")
        if name == "Stop":
            expect(self.page.locator("#status")).to_have_text("Stopped.")
        if name == "Start collecting":
            expect(self.page.locator("#status")).to_contain_text("Reports go to sleep.db.")
            assert not self.person.barriers()

    def choose(self, name: str, _: list[str]) -> None:
        """Choose a level, which is described by more than its name, or an answer."""
        answering = "Press Show the questions" in self.done
        self.page.get_by_label(name, exact=answering).check()

    def open(self, name: str, _: list[str]) -> None:
        with self.person.context.expect_page() as opened:
            self.form.get_by_role("link", name=name, exact=True).click()
        self.page = opened.value
        if name == "Survey page":
            self.survey = self.page.url.rstrip("/")
            expect(self.page.locator("#choosing")).to_be_visible()
        if name == "Dashboard":
            expect(self.page.locator("#results, main").first).to_contain_text("How long do you sleep", timeout=60_000)

    def run(self, command: str, _: list[str]) -> None:
        words = shlex.split(command.replace(ADDRESS, self.survey))
        if "--to" in words or "all.tally" in command:  # the others are run by the test of all pages
            expect(self.page.locator("#status").first).to_be_attached()
            assert main(words[1:]) == 0, command


def test_the_tutorial_leads_from_new_to_a_report(visit: Visits, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    with designing(tmp_path, "sleep.toml") as path:
        reader = Reader(visit(viewport={"width": 1280, "height": 900}), path.as_uri())
        for step in steps():
            reader.do(*step)
            if step[:2] == ("Press", "Send this report"):
                expect(reader.page.locator(".receipt")).to_be_visible()
    assert len(reader.done) > 25
    block = re.search(r"Save this as `sleep.toml`.+?```toml\n(.+?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    assert load(tmp_path / "sleep.toml").hash == loads(block[1]).hash
    report = visit(viewport={"width": 390, "height": 844}, color_scheme="dark")
    report.page.goto((tmp_path / "report.html").as_uri())
    expect(report.page.locator("main")).to_contain_text("5,001 reports counted, 0 rejected.")
    assert report.page.evaluate("document.documentElement.scrollWidth") == 390
    assert not report.barriers()
    assert not report.complaints
