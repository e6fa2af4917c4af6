"""The states of the survey page, one after another, by whatever language it speaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Route, expect

from pldp.survey import Survey

FOLDER = Path(__file__).parents[1] / "whole_way"
INVITED = "#" + "x" * 43


def answer(page: Page, url: str) -> Iterator[str]:
    """The whole way of a person who answers, is offline, comes back, and withdraws."""
    page.goto(url)
    page.locator("#choosing").wait_for()
    yield "levels"
    page.locator("#choosing button").click()
    page.locator("#answering input[type=radio]").first.check()
    page.locator("#answering input[type=checkbox]").last.check()
    page.get_by_role("spinbutton").fill("30")
    yield "questions"
    page.locator("#answering button.main").click()
    page.locator("#preview").wait_for()
    yield "report"
    page.context.set_offline(True)
    page.locator("#send").click()
    expect(page.locator("#receipts li")).to_have_count(1)
    expect(page.locator("#status")).not_to_be_empty()
    yield "waiting"
    page.context.set_offline(False)
    page.locator(".receipt").wait_for()
    page.locator("#thanks").wait_for()
    yield "sent"
    page.reload()
    page.locator("#answered").wait_for()
    page.locator("#sharing summary").click()
    page.locator(".code-picture").wait_for()
    yield "answered"
    page.locator("#answered button").last.click()
    page.locator("#confirming").wait_for()
    yield "withdrawing"
    page.keyboard.press("Escape")


def be_barred(page: Page, url: str) -> Iterator[str]:
    """All that keeps a person from answering, as the collector tells it, and what some surveys say in addition."""
    told: dict[str, Any] = {}
    account: dict[str, Any] = {}
    page.route("**/v1/round", lambda route: route.fulfill(json={"round": 1, "open": True, **told}))
    page.route("**/v1/ledger", lambda route: _tell_account(route, account))
    for name, facts, shown in (
        ("closed", {"open": False}, "closed"),
        ("ended", {"ended": True}, "closed"),
        ("simulated", {"preview": True}, "simulated"),
        ("uninvited", {"invitation": True}, "uninvited"),
    ):
        told.clear()
        told.update(facts)
        page.goto(url)
        page.locator(f"#{shown}").wait_for()
        page.locator("#about").wait_for()
        yield name
    for name, amounts in (("refused", {}), ("used", {"budget": "4", "spent": "4", "price": "4"})):
        account.clear()
        account.update(amounts)
        page.goto("about:blank")  # only another page than before reads what stands behind #
        page.goto(url + INVITED)
        page.locator("#about").wait_for()
        page.locator("#uninvited").wait_for()
        yield name
    page.goto("about:blank")
    page.goto(url + INVITED.replace("x", "y"))
    page.locator("#replacing").wait_for()
    yield "replacing"
    page.keyboard.press("Escape")
    told.clear()
    told.update(retain_days=30)
    page.route(
        "**/v1/survey", lambda route: route.fulfill(body=_with_terms().canonical, content_type="application/json")
    )
    page.goto(url)
    page.locator("#mixing").wait_for()
    page.locator("#introduction-details summary").click()
    yield "terms"
    page.unroute("**/v1/survey")
    told.clear()
    page.goto(url)
    page.locator("#cap").fill("0.1")
    page.locator("#limiting button").click()
    page.locator("#spent-out").wait_for()
    yield "spent"
    page.route("**/v1/survey", lambda route: route.abort())
    page.goto(url)
    page.locator("#error").wait_for()
    yield "unreachable"


def _tell_account(route: Route, account: dict[str, Any]) -> None:
    if account:
        route.fulfill(json=account)
    else:
        route.fulfill(status=401, json={"code": "bad_token"})


def _with_terms() -> Survey:
    """The survey with a long introduction in every language, and reports that are shuffled."""
    document = json.loads(Survey.load(FOLDER / "survey.toml").canonical)
    document["shuffle"] = {"by": "Statistics Office", "people": 10_000}
    del document["logo"]
    for texts in (document["texts"], *(each["texts"] for each in document["languages"].values())):
        texts["introduction"] = " ".join([texts["introduction"]] * 6)
    return Survey.read(document)
