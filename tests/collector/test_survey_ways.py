"""The ways through the survey page in a real browser: back and forth, leaving, what is left to spend, invitations."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Locator, expect

from helpers.browsers import SURVEY_SCRIPT, Visit, Visits
from helpers.collector.servers import Server, running
from pldp import audit
from pldp.collector import Tokens
from pldp.survey import loads

PAGES = Path("src/pldp/collector/pages")
TEXTS = json.loads((PAGES / "languages" / "en.json").read_text(encoding="utf-8"))
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


def nothing_stored(person: Visit) -> bool:
    """Whether no storage that a page writes by itself has anything, and history no more than the step."""
    stored = person.stored()
    return not stored["session"] and not stored["local"] and stored["history"] in (None, {"step": "answering"})


def leave(person: Visit, decide: str) -> None:
    """Reload, and answer what the browser then asks."""
    with person.page.expect_event("dialog") as asked:
        person.page.evaluate("setTimeout(() => location.reload())")
    assert asked.value.type == "beforeunload"
    getattr(asked.value, decide)()


def test_going_back_and_forth_keeps_answers_and_a_reload_asks_first_and_loses_them(
    person: Visit, tight: Server
) -> None:
    begin(person, tight, "open")
    group(person, "three").get_by_role("spinbutton").fill("7")
    leave(person, "dismiss")
    expect(group(person, "three").get_by_role("spinbutton")).to_have_value("7")
    with person.page.expect_navigation():
        leave(person, "accept")
    expect(person.page.locator("#choosing")).to_be_visible()
    expect(person.page.get_by_label("strict")).to_be_checked()
    expect(person.page.locator("#answering")).to_be_hidden()
    person.page.get_by_label("strict").check()
    person.page.get_by_role("button", name="Show the questions").click()
    expect(group(person, "three").get_by_role("spinbutton")).to_have_value("")
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
    expect(group(person, "two").get_by_label("c")).to_be_checked()
    expect(group(person, "three").get_by_role("spinbutton")).to_have_value("7")
    expect(group(person, "four").get_by_label("y")).to_be_checked()
    assert nothing_stored(person)
    person.page.get_by_role("button", name="Show me what will be sent").click()
    expect(person.page.locator("#preview")).to_be_visible()
    assert person.page.locator("#choosing input, #answering input, #answering select").count() == 0
    assert nothing_stored(person)
    person.page.go_back()
    expect(person.page.locator("#status")).to_contain_text("Not sent. The report stays on this device.")
    expect(person.page.locator("#said")).to_contain_text("It was not sent.")
    assert not person.complaints


def test_leaving_asks_only_while_there_are_answers_that_are_not_drawn(person: Visit, tight: Server) -> None:
    asked: list[str] = []

    def note(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    person.page.on("dialog", note)
    begin(person, tight, "strict")
    person.page.reload()
    assert asked == []  # a level is chosen, nothing is answered
    begin(person, tight, "strict")
    group(person, "one").get_by_label("no").check()
    person.page.reload()
    assert asked == ["beforeunload"]
    begin(person, tight, "strict")
    group(person, "one").get_by_label("no").check()
    person.page.get_by_role("button", name="Show me what will be sent").click()
    expect(person.page.locator("#preview")).to_be_visible()
    person.page.reload()
    assert asked == ["beforeunload"]
    person.page.remove_listener("dialog", note)


def test_another_limit_keeps_the_answers_that_it_still_allows(person: Visit, tight: Server) -> None:
    begin(person, tight, "open")
    group(person, "one").get_by_label("no").check()
    person.page.get_by_label("My own limit").fill("19")
    person.page.get_by_role("button", name="Set limit").click()
    expect(person.page.locator("#status")).to_have_text("Your limit is set.")
    expect(group(person, "one").get_by_label("no")).to_be_checked()
    expect(group(person, "two")).to_have_js_property("disabled", value=True)


def test_another_level_keeps_no_answers_and_forgetting_forgets(person: Visit, tight: Server) -> None:
    begin(person, tight, "strict")
    group(person, "one").get_by_label("no").check()
    person.page.get_by_role("button", name="Forget my answers").click()
    expect(person.page.locator("#status")).to_have_text("Your answers are forgotten. Nothing was sent.")
    assert nothing_stored(person)
    person.page.get_by_role("button", name="Show the questions").click()
    expect(group(person, "one").get_by_label("no")).not_to_be_checked()


def test_the_page_says_of_the_whole_report_what_the_audit_computes(person: Visit, tight: Server) -> None:
    """Answers are left out that the total does not allow beside the others."""
    survey = loads(TIGHT)
    rows = audit(survey, samples=0).rows
    person.page.goto(tight.url)
    for place, level in enumerate(("strict", "open")):
        exact = [row.exact for row in rows if row.level == level and row.rounds == 1]
        sums = (sum(some) for count in range(len(exact) + 1) for some in combinations(exact, count))
        sure = 100 / (1 + math.exp(-max(each for each in sums if each <= 3.0)))
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


@pytest.fixture(scope="module")
def inviting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, list[str]]]:
    """A collector for two people, and their tokens."""
    with running(tmp_path_factory.mktemp("inviting"), "--uploads", "ledger") as server:
        yield server, list(Tokens(server.database).enrol(["anna", "ben"], 8_000_000))


def follow(person: Visit, server: Server, token: str) -> None:
    """Open the link of an invitation."""
    person.page.goto("about:blank")  # only another page than before reads what stands behind #
    person.page.goto(f"{server.url}/#{token}")
    expect(person.page).to_have_url(f"{server.url}/")
    assert person.page.evaluate("history.state") is None


def invitation_of(person: Visit) -> str:
    """The token that the browser has, once the page has started."""
    expect(person.page.locator("#about")).to_be_visible()
    contents = [each for database in person.stored()["databases"] for entries in database for each in entries]
    (token,) = [each["token"] for each in contents if "pldp_invitation" in each]
    return str(token)


def test_a_link_that_the_collector_refuses_does_not_replace_an_invitation(
    person: Visit, inviting: tuple[Server, list[str]]
) -> None:
    server, (own, _) = inviting
    follow(person, server, own)
    assert invitation_of(person) == own
    follow(person, server, "x" * 43)
    expect(person.page.locator("#status")).to_have_text(TEXTS["invitation.not replaced"])
    assert invitation_of(person) == own
    expect(person.page.get_by_label("strict")).to_be_visible()  # whoever was invited still is
    person.page.reload()
    assert invitation_of(person) == own


def test_a_link_that_cannot_be_checked_does_not_replace_an_invitation(
    person: Visit, inviting: tuple[Server, list[str]]
) -> None:
    server, (own, other) = inviting
    follow(person, server, own)
    assert invitation_of(person) == own
    for answer in (lambda route: route.abort(), lambda route: route.fulfill(status=503)):
        person.page.route("**/v1/ledger", answer)
        follow(person, server, other)
        expect(person.page.locator("#status")).to_have_text(TEXTS["invitation.unchecked"])
        assert invitation_of(person) == own
        person.page.unroute("**/v1/ledger")


def test_a_person_decides_whether_another_valid_invitation_replaces_theirs(
    person: Visit, inviting: tuple[Server, list[str]]
) -> None:
    server, (own, other) = inviting
    follow(person, server, own)
    assert invitation_of(person) == own
    dialog = person.page.get_by_role("dialog", name=TEXTS["invitation.title"])
    for decide, expected in (("Escape", own), ("Enter", own), ("click", other)):
        follow(person, server, other)
        expect(dialog).to_be_visible()
        expect(dialog.get_by_role("button", name=TEXTS["invitation.no"])).to_be_focused()
        assert not person.barriers()
        if decide == "click":
            dialog.get_by_role("button", name=TEXTS["invitation.yes"]).click()
        else:
            person.page.keyboard.press(decide)
        expect(dialog).to_be_hidden()
        assert invitation_of(person) == expected
    follow(person, server, other)
    assert invitation_of(person) == other
    expect(dialog).to_be_hidden()  # the same link asks nothing


def test_a_page_that_does_not_check_invitations_is_caught(person: Visit, inviting: tuple[Server, list[str]]) -> None:
    """As it was: what the two tests above look at is then another token."""
    server, (own, _) = inviting
    person.alter(SURVEY_SCRIPT, ("linked && !content.token && keep(content)", "linked && keep(content)"))
    follow(person, server, own)
    assert invitation_of(person) == own
    follow(person, server, "x" * 43)
    assert invitation_of(person) == "x" * 43
    expect(person.page.locator("#choosing")).to_be_hidden()


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
