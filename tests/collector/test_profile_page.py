"""What the survey page leaves on the device's disk: nothing of an answer or a hidden level but the report."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from helpers.browsers import LIE, SHELLS, SURVEY_SCRIPT, Visit, find_browser
from helpers.collector.servers import Server, running
from helpers.profiles import BEST_FIRST, FORM_STATE, find_canaries, open_profile, wait_until_written

LONG = bool(os.environ.get("PLDP_LONG"))
NUMBER = "4817.29365"
LABELS = ("wqzkfhxvbn", "ytrlgkjqpd", "mnbvqzxwsd")
BOXES = ("hjkqweuio", "zxmvbqplk")
LEVELS = ("kvwqzstrict", "xjpyqzopen")
SURVEY = f"""
pldp = 1
title = "canaries"
levels = {{ {LEVELS[0]} = 1, {LEVELS[1]} = 1.5 }}
hide_level = {{ epsilon = 0.5 }}
questions = [
    {{ name = "choice", values = {[*LABELS]} }},
    {{ name = "number", kind = "number", low = 0, high = 10000, buckets = 10 }},
    {{ name = "set", kind = "choices", values = {[*BOXES]}, budget = "set" }},
    {{ name = "list", values = {[f"entry {place}" for place in range(20)]} }},
]
"""
FIELDS = [f"question-{place}" for place in range(4)]
CANARIES = [(NUMBER,), (FORM_STATE,), *((field,) for field in FIELDS), LABELS, BOXES, LEVELS[::-1]]
"""The number, saved fields and their names anywhere; a label or level where its file does not have all of them."""

KEEP = "sessionStorage.draft = JSON.stringify([chosen, ...valuesOf(form)])"
DRAFT = (
    ('form.addEventListener("change", settled)', f'form.addEventListener("change", () => {{ settled(); {KEEP}; }})'),
    (
        'for (const id of ["levels", "label"])',
        'sessionStorage.removeItem("draft"); for (const id of ["levels", "label"])',
    ),
)
"""As the page once was: it kept answers in the tab, and forgot them when the report was drawn."""

SAVED = """() => [...document.querySelectorAll("input, select, textarea")]
    .filter(({ autocomplete, form }) => autocomplete !== "off" && form?.autocomplete !== "off")
    .map(({ id }) => id)"""
"""Fields that Chromium saves for restoring a tab; Firefox saves a list unless it says so itself."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("collector")
    (folder / "survey.toml").write_text(SURVEY, encoding="utf-8")
    with running(folder, survey=str(folder / "survey.toml")) as started:
        yield started


def answer(page: Page, server: Server) -> None:
    """Answer everything at the looser level."""
    page.goto(server.url)
    page.evaluate(LIE)  # what the report says is never the truth
    page.get_by_label(LEVELS[1]).check()
    page.get_by_role("button", name="Show the questions").click()
    page.get_by_label(LABELS[0]).check()
    page.get_by_role("spinbutton").press_sequentially(NUMBER)
    page.get_by_label(BOXES[0]).check()
    page.get_by_role("combobox").select_option("entry 17")


def send(page: Page) -> None:
    page.get_by_role("button", name="Show me what will be sent").click()
    page.get_by_role("button", name="Send this report").click()
    expect(page.locator("#status")).to_contain_text("Sent.")


def test_no_answer_and_no_hidden_level_is_ever_on_disk(browser: Browser, server: Server, tmp_path: Path) -> None:
    """While it is answered, after a reload, once it is sent, when the browser is closed, and after another start.

    What the browser has not written yet when the report is sent, it writes when it is closed.
    """
    with open_profile(browser, tmp_path) as person:
        answer(person.page, server)
        wait_until_written(person.page, tmp_path)
        assert find_canaries(tmp_path, CANARIES) == set()
        person.page.reload()
        expect(person.page.get_by_label(LEVELS[0])).to_be_checked()
        answer(person.page, server)
        if LONG:
            person.page.go_back()
            person.page.goto("about:blank")
            person.page.go_back()
            answer(person.page, server)
        send(person.page)
        assert find_canaries(tmp_path, CANARIES) == set()
    assert find_canaries(tmp_path, CANARIES) == set()
    with open_profile(browser, tmp_path) as person:
        person.page.goto(server.url)
        expect(person.page.locator("#said")).to_contain_text(LEVELS[0])  # as LIE drew it
    assert find_canaries(tmp_path, CANARIES) == set()


def test_a_browser_that_is_closed_before_the_report_is_drawn_leaves_and_restores_nothing(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    with open_profile(browser, tmp_path) as person:
        answer(person.page, server)
    assert find_canaries(tmp_path, CANARIES) == set()
    with open_profile(browser, tmp_path) as person:
        person.page.goto(server.url)
        expect(person.page.get_by_label(LEVELS[0])).to_be_checked()
        person.page.get_by_role("button", name="Show the questions").click()
        expect(person.page.get_by_role("spinbutton")).to_have_value("")
        expect(person.page.get_by_label(LABELS[0])).not_to_be_checked()
    assert find_canaries(tmp_path, CANARIES) == set()


def test_a_draft_in_the_tab_is_found_while_answering_after_sending_and_after_closing(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    leak = {NUMBER, LEVELS[1], *FIELDS}
    with open_profile(browser, tmp_path) as person:
        person.alter(SURVEY_SCRIPT, *DRAFT)
        answer(person.page, server)
        wait_until_written(person.page, tmp_path)
        assert find_canaries(tmp_path, CANARIES) == leak
        send(person.page)
        assert person.page.evaluate("Object.keys(sessionStorage)") == ["mark"]
        assert find_canaries(tmp_path, CANARIES) == leak
    assert find_canaries(tmp_path, CANARIES) == leak


def test_saved_fields_are_found(browser: Browser, server: Server, tmp_path: Path) -> None:
    """Where the browser has windows, it writes them within seconds, and when it is closed."""
    if Path(find_browser(BEST_FIRST)).name in SHELLS:
        pytest.skip("a Chromium without windows saves no tabs")
    with open_profile(browser, tmp_path) as person:
        person.alter("/", ('id="choosing" class="card" autocomplete="off"', 'id="choosing" class="card"'))
        answer(person.page, server)
    assert find_canaries(tmp_path, CANARIES) == {FORM_STATE}


def test_no_field_is_one_that_browsers_save_or_check(person: Visit, server: Server) -> None:
    """Not the level either: saved fields are written to disk, and spelling may be checked elsewhere."""
    answer(person.page, server)
    assert person.page.evaluate(SAVED) == []
    assert person.page.locator("select:not([autocomplete=off])").count() == 0
    assert not person.page.get_by_role("spinbutton").evaluate("(field) => field.spellcheck")
    person.alter("/", ('id="choosing" class="card" autocomplete="off"', 'id="choosing" class="card"'))
    person.page.goto(server.url)
    expect(person.page.get_by_label(LEVELS[1])).to_be_visible()
    assert person.page.evaluate(SAVED) == ["level-0", "level-1"]


def test_the_search_reads_both_encodings_and_what_is_packed(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"\0" + "wide".encode("utf-16-le") + gzip.compress(b"packed") + b"plain")
    assert find_canaries(tmp_path, [("wide",), ("packed",), ("plain",), ("missing",)]) == {"wide", "packed", "plain"}
    (tmp_path / "two").write_text("car bus bus")
    assert find_canaries(tmp_path, [("bus", "car"), ("car", "bus")]) == {"bus"}
