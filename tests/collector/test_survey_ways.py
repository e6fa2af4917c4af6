"""The ways through the survey page in a real browser: back and forth, reloading, what is left to spend, invitations."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from helpers.browsers import Visit, Visits
from helpers.collector.servers import Server, running
from pldp import audit
from pldp.collector import Tokens
from pldp.survey import loads

PAGES = Path("src/pldp/collector/pages")
TIGHT = """
pldp = 1
title = "little to spend"
total_epsilon = 3
levels = { strict = 0.5, open = 2 }
questions = [
    { name = "one", values = ["yes", "no"] },
    { name = "two", values = ["a", "b", "c"] },
    { name = "three", kind = "number", low = 0, high = 10, buckets = 10 },
    { name = "four", kind = "choices", values = ["x", "y"], budget = "set" },
]
"""


LONG = bool(os.environ.get("PLDP_LONG"))
SHORT = (("strict", "two"), ("open", "one"), ("open", "three"), ("open", "four"))
"""Level and first question; at the level where the first one is also the last, each kind of question is it once."""


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("tight")
    (folder / "survey.toml").write_text(TIGHT, encoding="utf-8")
    with running(folder, survey=str(folder / "survey.toml")) as started:
        yield started


def begin(person: Visit, server: Server, level: str) -> None:
    person.page.goto(server.url)
    person.page.get_by_label(level).check()
    person.page.get_by_role("button", name="Show the questions").click()


def group(person: Visit, name: str) -> Locator:
    return person.page.get_by_role("group", name=name, exact=True)


def test_no_offered_combination_of_level_and_questions_is_refused(person: Visit, tight: Server) -> None:
    """Level `open` costs 8 for all and the total is 3: whatever is open to be answered is accepted, and no more is."""
    answers = {"one": "yes", "two": "b", "three": "4", "four": "x"}
    every = [(level, first) for level in ("strict", "open") for first in answers]
    for level, first in every if LONG else SHORT:
        begin(person, tight, level)
        given = 0
        for name in [first, *(each for each in answers if each != first)]:
            fields = group(person, name)
            if fields.evaluate("(each) => each.disabled"):
                expect(fields).to_contain_text("more than your other answers leave")
                continue
            if name == "three":
                fields.get_by_role("spinbutton").fill(answers[name])
            else:
                fields.get_by_label(answers[name], exact=True).check()
            given += 1
        assert given == (4 if level == "strict" else 1)
        person.page.get_by_role("button", name="Show me what will be sent").click()
        expect(person.page.locator("#preview")).to_be_visible()
        expect(person.page.get_by_role("alert")).to_be_hidden()
        person.forget()


def test_skipping_one_answer_opens_another_question(person: Visit, tight: Server) -> None:
    begin(person, tight, "open")
    group(person, "one").get_by_label("yes").check()
    expect(group(person, "two")).to_have_js_property("disabled", value=True)
    expect(person.page.locator("#costing")).to_contain_text("answers 1 of 4 questions and costs ε = 2.")
    group(person, "one").get_by_label("I skip this question").check()
    expect(group(person, "two")).to_have_js_property("disabled", value=False)
    expect(person.page.locator("#costing")).to_have_text("You have answered nothing yet.")
    assert not person.barriers()


def test_answers_survive_going_back_and_reloading_and_nothing_else(person: Visit, tight: Server) -> None:
    begin(person, tight, "strict")
    group(person, "two").get_by_label("c").check()
    group(person, "three").get_by_role("spinbutton").fill("7")
    group(person, "four").get_by_label("y").check()
    for back in ("button", "browser"):
        if back == "button":
            person.page.get_by_role("button", name="Back to the levels").click()
        else:
            person.page.go_back()
        expect(person.page.locator("#choosing")).to_be_visible()
        expect(person.page.locator("#answering")).to_be_hidden()
        person.page.go_forward()
        expect(person.page.locator("#answering")).to_be_visible()
    person.page.reload()
    expect(person.page.locator("#answering")).to_be_visible()
    expect(group(person, "two").get_by_label("c")).to_be_checked()
    expect(group(person, "three").get_by_role("spinbutton")).to_have_value("7")
    expect(group(person, "four").get_by_label("y")).to_be_checked()
    assert person.stored()["session"]
    person.page.get_by_role("button", name="Show me what will be sent").click()
    expect(person.page.locator("#preview")).to_be_visible()
    assert person.stored()["session"] == {}
    person.page.go_back()
    expect(person.page.locator("#status")).to_contain_text("Not sent. The report stays on this device.")
    expect(person.page.locator("#said")).to_contain_text("It was not sent.")
    assert not person.complaints


def test_another_level_keeps_no_answers_and_forgetting_forgets(person: Visit, tight: Server) -> None:
    begin(person, tight, "strict")
    group(person, "one").get_by_label("no").check()
    person.page.get_by_role("button", name="Forget my answers").click()
    expect(person.page.locator("#status")).to_have_text("Your answers are forgotten. Nothing was sent.")
    assert person.stored()["session"] == {}
    person.page.get_by_role("button", name="Show the questions").click()
    expect(group(person, "one").get_by_label("no")).not_to_be_checked()


def test_the_page_says_of_the_whole_report_what_the_audit_computes(person: Visit, tight: Server) -> None:
    survey = loads(TIGHT)
    rows = audit(survey, samples=0).rows
    person.page.goto(tight.url)
    for place, level in enumerate(("strict", "open")):
        exact = sum(row.exact for row in rows if row.level == level and row.rounds == 1)
        told = min(exact, 3.0)  # the total ends a report there
        sure = 100 / (1 + math.exp(-told))
        expect(person.page.locator(f"#level-{place}-odds")).to_contain_text(f"at most {sure:.0f} % sure")


def test_an_invitation_is_checked_before_anything_is_asked(visit: Visits, tmp_path: Path) -> None:
    with running(tmp_path, "--uploads", "ledger") as server:
        person = visit()
        person.page.goto(server.url)
        words = person.page.locator("#uninvited")
        expect(words).to_have_text("This survey is for invited people. Please open the link of your invitation.")
        expect(person.page.locator("#choosing")).to_be_hidden()
        person.page.goto(f"{server.url}/#{'x' * 43}")
        person.page.reload()
        expect(words).to_contain_text("Your invitation is not valid, or no longer.")
        expect(person.page.locator("#choosing")).to_be_hidden()
        (token,) = Tokens(server.database).enrol(["anna"], 4_000_000)  # enough for one report
        invited = visit()
        invited.page.goto(f"{server.url}/#{token}")
        expect(invited.page.get_by_label("strict")).to_be_visible()
        expect(invited.page.locator("#uninvited")).to_be_hidden()
        invited.page.get_by_role("button", name="Show the questions").click()
        invited.page.get_by_label("bus").check()
        invited.page.get_by_role("button", name="Show me what will be sent").click()
        invited.page.get_by_role("button", name="Send this report").click()
        expect(invited.page.locator("#status")).to_contain_text("Sent.")
        invited.page.reload()
        expect(invited.page.locator("#uninvited")).to_have_text("Your invitation allows no further report.")
        expect(invited.page.locator("#choosing")).to_be_hidden()


@pytest.mark.parametrize("language", ["en", "de"] if LONG else ["de"])
def test_a_wrong_address_gets_a_page_for_people_and_data_for_programs(
    visit: Visits, tight: Server, language: str
) -> None:
    texts = json.loads((PAGES / "languages" / f"{language}.json").read_text(encoding="utf-8"))
    person = visit(locale=language, viewport={"width": 320, "height": 600})
    answer = person.page.goto(f"{tight.url}/surveys/of/2026")
    assert answer is not None
    assert answer.status == 404
    expect(person.page.locator("html")).to_have_attribute("lang", language)
    expect(person.page.get_by_role("heading")).to_have_text(texts["missing.title"])
    expect(person.page).to_have_title(texts["missing.title"])
    assert person.page.locator("p").first.inner_text() == texts["missing.about"]
    assert not person.barriers()
    person.page.get_by_role("link", name=texts["missing.link"]).click()
    expect(person.page.locator("#choosing")).to_be_visible()
    data = person.page.request.get(f"{tight.url}/surveys", headers={"accept": "application/json"})
    assert data.json()["code"] == "not_found"
