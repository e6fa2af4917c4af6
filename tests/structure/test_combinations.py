"""Every way to ask × every verb works, or is refused with a reason; the page in the docs says the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from playwright.sync_api import expect

from helpers.browsers import Visit, visits
from helpers.collector.servers import Server, running
from helpers.combinations import BUDGETS, COLUMNS, QUESTIONS, ROOT, Way, answer_in_javascript, node, outcome, told, ways
from helpers.machine import lacks
from pldp import Device
from pldp.reports import read_report

LONG = bool(os.environ.get("PLDP_LONG"))


PAGE = told((ROOT / "docs" / "combinations.md").read_text(encoding="utf-8"))
"""What the page says; from it, not by reading sixty surveys, tests know which of them can be read."""

READABLE = [way for way, cells in PAGE.items() if not cells["survey page"]]
SHORT = [Way(question, bool(place % 2), "ask" if place % 2 else "own ε") for place, question in enumerate(QUESTIONS)]
SEEN = READABLE if LONG else [way for way in READABLE if way in SHORT]
"""Ways that a browser sees; in the short form every question once, with levels that show and hidden ones in turn."""

WALKED = [
    way for place, way in enumerate(ways()) if LONG or place % len(BUDGETS) == place // len(BUDGETS) % len(BUDGETS)
]
"""Ways that are walked; in the short form every question is, with levels that show and that are hidden."""


def test_the_page_in_the_docs_has_every_way() -> None:
    assert set(PAGE) == set(ways())
    assert {(way.question, way.hidden) for way in WALKED} == set(product(QUESTIONS, (False, True)))
    assert {way.question for way in SEEN} == set(QUESTIONS)
    text = (ROOT / "docs" / "combinations.md").read_text(encoding="utf-8")
    assert told(text.replace("| yes |", "| [1] |", 1)) != PAGE


@pytest.fixture(scope="module")
def _answered() -> None:
    if not node():
        lacks("the column JavaScript needs Node")
    answer_in_javascript(way for way in WALKED if way in READABLE)


@pytest.mark.usefixtures("_answered")
@pytest.mark.parametrize("way", WALKED, ids=str)
def test_the_page_in_the_docs_is_what_the_software_does(way: Way) -> None:
    assert {verb: outcome(way, verb) for verb in COLUMNS} == PAGE[way]


def test_a_reason_is_no_traceback() -> None:
    reasons = {reason for cells in PAGE.values() for reason in cells.values() if reason}
    assert reasons
    for reason in reasons:
        assert 20 < len(reason) < 400, reason


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("collector"), "--result-step", "1") as started:
        yield started


@pytest.fixture(scope="module")
def one_person(browser: Any) -> Iterator[Visit]:
    """Somebody who is asked in all ways, one after another, and whose device forgets each."""
    with visits(browser) as opener:
        person = opener()
        person.page.add_init_script("crypto.getRandomValues = (bytes) => bytes.fill(255);")
        yield person


@pytest.fixture
def person(one_person: Visit) -> Iterator[Visit]:
    yield one_person
    one_person.forget()
    one_person.page.unroute_all()
    one_person.complaints.clear()


@pytest.mark.parametrize("way", SEEN, ids=str)
def test_the_survey_page_asks_it(person: Visit, server: Server, way: Way) -> None:
    """From the same random bytes, the page makes the report of the Python device."""
    survey = way.survey
    body = survey.canonical
    person.page.route("**/v1/survey", lambda route: route.fulfill(body=body, content_type="application/json"))
    person.page.goto(server.url)
    expect(person.page.locator("#spent")).to_contain_text("ε = 0 ")
    person.page.get_by_label("open").check()
    person.page.get_by_role("button", name="Show the questions").click()
    for name, answer in way.answers.items():
        for group in person.page.get_by_role("group", name=name.capitalize(), exact=True).all():
            if isinstance(answer, float):
                group.get_by_role("spinbutton").fill(str(answer))
            for label in [answer] if isinstance(answer, str) else answer if isinstance(answer, list) else []:
                group.get_by_label(label, exact=True).check()
    person.page.get_by_role("button", name="Show me what will be sent").click()
    expect(person.page.locator("#preview")).to_be_visible()
    report = read_report(survey, person.page.locator("#exact").inner_text())
    device = Device(survey, random=lambda count: b"\xff" * count)
    answered = {each.question: way.answers[each.question] for each in report.answers}
    if survey.ask is None:
        assert set(answered) == set(way.answers)
        assert report.answers == device.answer_all(answered, "open").answers
    else:
        assert len(answered) == survey.ask
    assert not person.complaints
