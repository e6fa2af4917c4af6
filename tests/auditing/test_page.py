"""The survey page in a real browser: the requests that leave it, as the collector gets them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Request, expect

from helpers.browsers import Visit, Visits
from helpers.claims import runs
from helpers.collector.servers import Server, running
from pldp import Survey
from pldp.auditing import audit_observed, draw_values
from pldp.auditing.columns import columns_of
from pldp.auditing.devices import observe_requests

PEOPLE = runs(2, 240)
"""Browsers that answer: one of each answer shows everything that always depends on it, many what often does."""
ANSWERS = ({"mode": "on foot", "late": "yes"}, {"mode": "car", "late": "no"})
LEVEL = "strict"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("collector")) as started:
        yield started


def leave(visit: Visit, server: Server, commute: Survey, answers: dict[str, str]) -> list[dict[str, Any]]:
    """Answer on the page and return every request that was made once the questions were there."""
    page, made = visit.page, list[Request]()
    page.goto(server.url)
    page.get_by_label(LEVEL).check()
    page.get_by_role("button", name="Show the questions").click()
    visit.context.on("request", lambda request: made.append(request))  # noqa: PLW0108 - it must be a function
    for name, label in answers.items():
        page.get_by_role("group", name=commute.question(name).text).get_by_label(label, exact=True).check()
    page.get_by_role("button", name="Show me what will be sent").click()
    page.get_by_role("button", name="Send this report").click()
    expect(page.locator("#status")).to_contain_text("Sent.")
    return [
        {
            "url": f"{request.method} {request.url}",
            "headers": [[each["name"], each["value"]] for each in request.headers_array()],
            "body": request.post_data or "",
        }
        for request in made
    ]


@pytest.fixture
def left(visit: Visits, server: Server, commute: Survey) -> tuple[list[int], list[list[dict[str, Any]]]]:
    who = draw_values(2, PEOPLE // 2)
    who[:2] = [0, 1]  # both answers, also among few people
    return who, [leave(visit(), server, commute, ANSWERS[own]) for own in who]


def may_vary(name: str) -> bool:
    """Whether a part of the requests may differ between people: the id, and the outputs, wherever they stand."""
    return "report.id" in name or ".output" in name or name.startswith(("sent.body[", "piece of"))


def varied(requests: list[list[dict[str, Any]]]) -> set[str]:
    columns = columns_of([{"sent": observe_requests(sent)} for sent in requests])
    return {column.name for column in columns if column.family not in {"id", "parity"} and not may_vary(column.name)}


def test_nothing_but_id_and_outputs_differs_between_people(left) -> None:
    """Address, headers, their order, number of requests, length and keys are the same for all browsers."""
    who, requests = left
    assert varied(requests) == set()
    assert {len(sent) for sent in requests} == {1}
    assert len({len(sent[0]["body"]) for sent in requests}) == 1
    assert any(name == "content-type" for name, _ in requests[0][0]["headers"])
    leaky = [
        [{**sent[0], "headers": sent[0]["headers"][:: 1 - 2 * own]}] for own, sent in zip(who, requests, strict=True)
    ]
    assert any("headers" in name for name in varied(leaky))
    if len(who) >= 200:  # enough to search for what is only likely
        assert not audit_observed(who, requests, epsilon=2 * 0.5).refuted  # two answers at this level
