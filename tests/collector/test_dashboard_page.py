"""The dashboard in a real browser: what a reader sees, what changes while they look, and what no label can do."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from playwright.sync_api import Page, Route, expect

from helpers.browsers import Visit, Visits, visits
from helpers.collector.senders import receipt_of, with_receipts
from helpers.collector.servers import Local, local
from pldp import show
from pldp.collector import Sender, Tokens
from pldp.reports import Report
from pldp.reports.columns import from_batch
from pldp.simulate import Population, simulate_reports
from pldp.survey import Survey, loads

LONG = bool(os.environ.get("PLDP_LONG"))


@cache
def shopping() -> Survey:
    """All kinds of questions; in the short form the number has few buckets, so that it is estimated soon."""
    text = Path("examples/shopping.toml").read_text(encoding="utf-8")
    return loads(text if LONG else text.replace("high = 300", "high = 300\nbuckets = 16"))


def reports_of(survey: Survey, people: int, seed: int, level_mix: Any = None) -> list[Report]:
    population = Population.of_shares(survey, people, level_mix=level_mix, seed=seed)
    return [report for batch in simulate_reports(survey, population, seed=seed) for report in from_batch(survey, batch)]


def upload(server: Local, reports: list[Report]) -> None:
    sender = Sender(server.url)
    list(sender.send(reports))
    sender.close()


def post(server: Local, path: str, body: bytes = b"", token: str = "") -> Any:
    connection = server.connect()
    connection.request("POST", path, body, {"content-type": "application/json", "authorization": f"Bearer {token}"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def get(server: Local, path: str, token: str) -> bytes:
    connection = server.connect()
    connection.request("GET", path, headers={"authorization": f"Bearer {token}"})
    body = connection.getresponse().read()
    connection.close()
    return body


def enter(person: Visit, server: Local, token: str) -> Page:
    page = person.page
    page.goto(f"{server.url}/dashboard")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Show the dashboard").click()
    return page


def tile(page: Page, name: str) -> Any:
    return page.locator(".headline > div", has=page.get_by_text(name, exact=True)).locator("dd")


def card(page: Page, text: str) -> Any:
    return page.get_by_role("region", name=text, exact=True)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Local, str]]:
    """A collector with all kinds of questions and 3000 reports, and a token to read."""
    survey = shopping()
    with local(tmp_path_factory.mktemp("shop"), survey) as server:
        upload(server, reports_of(survey, 3000, seed=1))
        yield server, Tokens(server.database).create("reader", "read")


@pytest.fixture
def commuting(tmp_path: Path, commute: Survey) -> Iterator[Local]:
    with local(tmp_path, commute) as server:
        yield server


@pytest.fixture(scope="module")
def reader(browser: Any, shop: tuple[Local, str]) -> Iterator[Visit]:
    """Somebody who looks at the dashboard of the shop all the time, and changes nothing."""
    with visits(browser) as opener:
        person = opener(accept_downloads=True)
        enter(person, *shop)
        yield person


def test_every_question_is_shown_with_its_intervals(reader: Visit, shop: tuple[Local, str]) -> None:
    """The numbers are those of the API, to the digits that are shown."""
    server, token = shop
    person, page = reader, reader.page
    expect(tile(page, "Reports")).to_contain_text("3,000")
    shown = json.loads(get(server, "/v1/overview", token))
    for question in shown["questions"]:
        rows = card(page, question["text"]).locator(".dots tbody tr")
        unit = 1 if question["kind"] == "number" else 100
        for place, row in enumerate(question["rows"]):
            cells = rows.nth(place).locator("th, td.number").all_inner_texts()
            numbers = [float(text) for text in re.findall(r"-?[\d.]+", " ".join(cells[1:]).replace("−", "-"))]
            least, most = (0, 100) if unit == 100 else (-math.inf, math.inf)
            wanted = [min(most, max(least, unit * row[name])) for name in ("point", "low", "high")]
            digits = max(1.0, 0.1 * (wanted[2] - wanted[1]))  # ends are rounded outwards
            assert numbers == pytest.approx(wanted, abs=digits)
            if question["kind"] != "number":
                assert cells[0] == row["label"]
        expect(card(page, question["text"])).to_contain_text("One forged report can")
    expect(card(page, "How much did you spend on food this week?").locator("path.fitted")).to_be_visible()
    assert all(url.startswith((server.url, "blob:")) for _, url, _ in person.requests)
    assert not person.complaints


def test_a_number_that_is_asked_for_its_mean_is_shown_as_its_mean_alone(person: Visit, tmp_path: Path) -> None:
    question = {"name": "age", "text": "How old are you?", "kind": "number", "low": 18, "high": 90, "purpose": "mean"}
    survey = Survey.read({"pldp": 1, "title": "Ages", "levels": {"open": 2}, "questions": [question]})
    with local(tmp_path, survey) as server:
        token = Tokens(server.database).create("reader", "read")
        upload(server, reports_of(survey, 200, seed=1))
        page = enter(person, server, token)
        told = card(page, "How old are you?")
        expect(told.locator("table.dots").first.locator("tbody tr")).to_have_count(1)
        expect(told).to_contain_text("The dot is the mean")
        expect(told.locator("path.fitted")).to_have_count(0)
        expect(told).to_contain_text("asked for its mean only")


def test_too_few_reports_are_said_in_words_and_conclusions_stand_on_the_card(
    person: Visit, reader: Visit, shop: tuple[Local, str], tmp_path: Path
) -> None:
    survey = shopping()
    with local(tmp_path, survey) as server:
        token = Tokens(server.database).create("reader", "read")
        upload(server, reports_of(survey, 20, seed=1))
        page = enter(person, server, token)
        told = card(page, "What did you buy this week?")
        expect(told).to_contain_text("too few to say")
        expect(told).to_contain_text(re.compile(r"about [\d,]+ needed"))
        shown = json.loads(get(server, "/v1/overview", token))["questions"][0]
        for place, row in enumerate(shown["rows"]):
            text = told.locator(".dots tbody tr").nth(place).inner_text()
            assert ("too few to say" in text) == ("too_few" in row)
    server, token = shop
    page = reader.page
    for question in json.loads(get(server, "/v1/overview", token))["questions"]:
        for text in question["conclusions"]:
            expect(card(page, question["text"])).to_contain_text(text)
        expect(card(page, question["text"])).to_contain_text("hold however often you look")


def test_shares_corrected_to_known_ones_stand_beside_those_of_who_answered(
    person: Visit, tmp_path: Path, commute: Survey
) -> None:
    told = {"pairs": [("mode", "late")], "known": "late:yes=0.2,no=0.8"}
    with local(tmp_path, commute, **told) as server:
        token = Tokens(server.database).create("reader", "read")
        upload(server, reports_of(commute, 4000, seed=1))
        shown = card(enter(person, server, token), "How do you usually get to work?")
        expect(shown.get_by_role("heading", name="Corrected for who answered")).to_be_visible()
        expect(shown.locator("table.dots")).to_have_count(2)
        expect(shown).to_contain_text("those who reported are like those who did not")
        assert not person.complaints


def test_new_reports_and_withdrawals_show_while_one_looks_and_what_is_open_stays_open(
    person: Visit, commuting: Local, commute: Survey
) -> None:
    reports = with_receipts(commute, reports_of(commute, 700, seed=2))
    upload(commuting, reports[:600])
    page = enter(person, commuting, Tokens(commuting.database).create("reader", "read"))
    expect(tile(page, "Reports")).to_contain_text("600")
    levels, mechanism = page.get_by_text("Levels", exact=True).first, page.get_by_role("columnheader", name="mechanism")
    levels.click()
    expect(mechanism.first).to_be_visible()
    estimates = card(page, "How do you usually get to work?").locator(".dots tbody").first
    before = estimates.inner_text()
    upload(commuting, reports[600:])
    expect(tile(page, "Reports")).to_contain_text("700")
    expect(estimates).not_to_have_text(before, use_inner_text=True)
    expect(mechanism.first).to_be_visible()
    expect(levels).to_be_focused()
    for report in reports[:50]:
        receipt = json.dumps({"receipt": receipt_of(report.id)}).encode()
        assert post(commuting, "/v1/withdraw", receipt) == {"outcome": "withdrawn"}
    expect(tile(page, "Reports")).to_contain_text("650")
    expect(tile(page, "Withdrawn")).to_contain_text("50")


def test_only_what_changed_is_sent_and_only_while_somebody_looks(visit: Visits, shop: tuple[Local, str]) -> None:
    """A token behind the address opens the dashboard and leaves the address."""
    server, token = shop
    person = visit()
    page, statuses = person.page, list[int]()
    page.on("response", lambda got: statuses.append(got.status) if "/v1/overview" in got.url else None)
    page.goto(f"{server.url}/dashboard#{token}")
    expect(tile(page, "Reports")).to_contain_text("3,000")
    assert page.url == f"{server.url}/dashboard"
    assert not [url for _, url, _ in person.requests if token in url.partition("#")[0]]
    drawn = page.locator(".dots").first.element_handle()
    with page.expect_response(lambda got: got.status == 304):
        pass
    assert drawn.is_visible()
    assert statuses == [200, 304]
    page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true })")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    asked = len(person.requests)
    page.wait_for_timeout(2500)
    assert len(person.requests) == asked


@pytest.fixture
def stepping(tmp_path: Path, commute: Survey) -> Iterator[Local]:
    """A collector as it is by default: results change in steps of 50 reports per level."""
    with local(tmp_path, commute, result_step=50) as server:
        yield server


def test_reports_and_rejections_are_counted_in_whole_steps_and_fewer_not_at_all(
    person: Visit, stepping: Local, commute: Survey
) -> None:
    """The twins: once there are 50 of a kind, their number shows."""
    opened = reports_of(commute, 50, seed=5, level_mix={"open": 1})
    strict = reports_of(commute, 50, seed=6, level_mix={"strict": 1})
    upload(stepping, opened[:49])
    for _ in range(3):
        assert post(stepping, "/v1/reports", b"{")["code"] == "malformed"
    page = enter(person, stepping, Tokens(stepping.database).create("reader", "read"))
    words = "Results change in steps of 50 reports per level; a level with fewer is not counted yet."
    expect(page.locator(".steps")).to_contain_text(words)
    nothing = page.get_by_text("Nothing to show yet: results begin with 50 reports of one level.")
    expect(nothing).to_be_visible()
    expect(page.locator(".dots")).to_have_count(0)
    expect(tile(page, "Reports")).to_contain_text("0")
    rejected = card(page, "Rejections").locator("tbody tr")
    expect(rejected).to_have_count(1)
    expect(rejected).to_contain_text("not a report")
    expect(rejected.locator("td")).to_have_text(["malformed", "fewer than 50"])
    expect(page.get_by_text("No report of this round was rejected.")).to_be_hidden()
    upload(stepping, opened[49:])
    expect(page.locator(".dots")).to_have_count(2)
    expect(nothing).to_be_hidden()
    for _ in range(47):
        post(stepping, "/v1/reports", b"{")
    expect(rejected.locator("td").last).to_have_text("50")
    upload(stepping, reports_of(commute, 250, seed=4, level_mix={"standard": 1}))
    upload(stepping, strict[:49])
    told = card(page, "How do you usually get to work?")
    told.get_by_text("Levels", exact=True).click()
    level, others = (told.get_by_role("row", name=re.compile(f"^{name}")) for name in ("strict", "standard"))
    expect(others.locator("td").nth(2)).to_have_text("250")
    expect(level.locator("td").nth(2)).to_have_text("fewer than a step")
    counted = told.locator("details[open] tr td:nth-child(4)").all_inner_texts()
    assert counted == ["fewer than a step", "250", "50"]
    upload(stepping, strict[49:])
    expect(level.locator("td").nth(2)).to_have_text("50")


def test_damaged_reports_are_told_above_all_numbers(person: Visit, commuting: Local, commute: Survey) -> None:
    upload(commuting, reports_of(commute, 300, seed=6))
    with closing(sqlite3.connect(commuting.database)) as connection, connection:
        connection.execute("UPDATE blocks SET digest = zeroblob(8) WHERE first = 0")
        (count,) = connection.execute("SELECT count FROM blocks WHERE first = 0").fetchone()
    page = enter(person, commuting, Tokens(commuting.database).create("reader", "read"))
    expect(page.locator(".damaged")).to_have_text(f"{count} reports are damaged and left out; run pldp store check.")


def test_a_preview_shows_simulated_people_says_so_and_takes_no_answers(person: Visit, tmp_path: Path) -> None:
    """From the command to the page: what it prints can be opened as it is, and its store is gone at the end."""
    command = [sys.executable, "-m", "pldp", "serve", "examples/commute.toml", "--preview", "--port", "0"]
    command += ["--people", "900"]
    here = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=here) as process:
        assert process.stdout is not None
        first, survey, dashboard = (process.stdout.readline().split() for _ in range(3))
        assert first[0] == "900"
        assert len(list(tmp_path.iterdir())) == 1
        try:
            page = person.page
            page.goto(dashboard[1])
            banner = "Simulated people. Nobody has answered yet; answers sent here are refused."
            expect(page.get_by_text(banner)).to_be_visible()
            expect(tile(page, "Reports")).to_contain_text("900")
            expect(page.locator(".dots")).to_have_count(2)
            page.goto(survey[1])
            expect(page.get_by_text(banner)).to_be_visible()
            page.get_by_role("button", name="Show the questions").click()
            page.get_by_label("bike").check()
            page.get_by_role("button", name="Show me what will be sent").click()
            page.get_by_role("button", name="Send this report").click()
            told = "This is a preview with simulated people: the collector takes no answers."
            expect(page.get_by_role("alert")).to_have_text(told)
        finally:
            process.terminate()
    assert process.returncode == 0
    assert not list(tmp_path.iterdir())


def test_a_wrong_token_gets_one_clear_line(person: Visit, shop: tuple[Local, str]) -> None:
    page = enter(person, shop[0], "guessed")
    words = "This token is not valid. Make one with the command that pldp serve printed"
    expect(page.get_by_role("alert")).to_contain_text(words)
    expect(page.locator("#board")).to_be_hidden()
    expect(page.get_by_label("Token")).to_be_focused()
    assert person.page.evaluate("[sessionStorage.length, localStorage.length, document.cookie]") == [0, 0, ""]
    page.get_by_label("Token").fill(shop[1])
    page.keyboard.press("Enter")
    expect(tile(page, "Reports")).to_contain_text("3,000")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_the_token_is_kept_for_this_tab_only(visit: Visits, shop: tuple[Local, str]) -> None:
    server, token = shop
    person = visit()
    page = enter(person, server, token)
    expect(tile(page, "Reports")).to_contain_text("3,000")
    page.reload()
    expect(tile(page, "Reports")).to_contain_text("3,000")
    stored = person.stored()
    assert list(stored["session"].values()) == [token]
    assert token not in json.dumps({**stored, "session": None})
    assert not [url for _, url, _ in person.requests if token in url]
    other = person.context.new_page()
    other.goto(f"{server.url}/dashboard")
    expect(other.get_by_label("Token")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    assert person.page.evaluate("sessionStorage.length") == 0
    expect(page.locator("#board")).to_be_hidden()


def close_and_open(server: Local) -> None:
    admin = Tokens(server.database).create("admin", "admin")
    for what in ("close", "open"):
        post(server, f"/v1/rounds/{what}", token=admin)


def test_rounds_are_drawn_with_the_test_of_change_and_keep_nobody_out(visit: Visits, tmp_path: Path) -> None:
    """The page says the same as the API; axe sees a light form to sign in, and the whole dashboard in the dark."""
    person = visit(viewport={"width": 360, "height": 740})
    survey = shopping()
    with local(tmp_path, survey) as server:
        token = Tokens(server.database).create("reader", "read")
        upload(server, reports_of(survey, 400, seed=1))
        person.page.goto(f"{server.url}/dashboard")
        expect(person.page.get_by_label("Token")).to_be_visible()
        assert not person.barriers()
        page = enter(person, server, token)
        expect(tile(page, "Reports")).to_contain_text("400")
        expect(page.get_by_role("heading", name="Over rounds")).to_have_count(0)
        close_and_open(server)
        upload(server, reports_of(survey, 300, seed=2))
        expect(tile(page, "Reports")).to_contain_text("300")
        expect(page.get_by_role("heading", name="Over rounds")).to_have_count(3)
        shown = json.loads(get(server, "/v1/overview", token))
        for question, trend in zip(shown["questions"], shown["trends"], strict=True):
            told = card(page, question["text"])
            expect(told).to_contain_text(trend["says"])
            drawn = [row["label"] for row in trend["rows"] if "too_few" not in row]
            assert told.locator(".course circle").count() == len(drawn)
            told.get_by_text("Rounds as a table").click()
            cells = told.locator("details", has_text="Rounds as a table").locator("td").first.inner_text()
            unit = 1 if question["kind"] == "number" else 100
            numbers = [float(text) for text in re.findall(r"-?[\d.]+", cells.replace("−", "-"))]
            least, most = (0, 100) if unit == 100 else (-math.inf, math.inf)
            wanted = [min(most, max(least, unit * trend["rows"][0][name])) for name in ("estimate", "low", "high")]
            few = "too_few" in trend["rows"][0]
            assert (
                cells == "too few to say"
                if few
                else numbers == pytest.approx(wanted, abs=max(1.0, 0.1 * (wanted[2] - wanted[1])))
            )
        expect(card(page, "How much did you spend on food this week?").locator(".courses")).to_contain_text("median")
        upload(server, reports_of(survey, 10, seed=3))
        expect(tile(page, "Reports")).to_contain_text("310")
        opened = page.locator("details", has_text="Rounds as a table").first
        expect(opened.locator("table").first).to_be_visible()  # what is open stays open
        for summary in page.locator("details:not([open]) > summary").all()[::-1]:  # from the last, as the list shrinks
            summary.click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.emulate_media(color_scheme="dark")
        assert not person.barriers()
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1200, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert not LONG or not person.barriers()


MARKUP = '<img src=x onerror="window.ran = true"><b>bold</b>'
HOSTILE = f"""
pldp = 1
title = {json.dumps(MARKUP)}
collector = {json.dumps(MARKUP)}
[levels]
"<b>" = 2
[[questions]]
name = "<i>/?#"
text = {json.dumps(MARKUP)}
values = [{json.dumps(MARKUP)}, "no"]
[[questions]]
name = "=1+1"
kind = "choices"
values = [{json.dumps(MARKUP)}, "</table>"]
[[questions]]
name = "</h2>"
values = [{json.dumps(MARKUP)}, "</td>"]
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Local, str]]:
    survey = loads(HOSTILE)
    with local(tmp_path_factory.mktemp("hostile"), survey, pairs=[("<i>/?#", "</h2>")]) as server:
        upload(server, reports_of(survey, 200, seed=5))
        close_and_open(server)
        upload(server, reports_of(survey, 300, seed=6))
        yield server, Tokens(server.database).create("reader", "read")


FOUND = "[window.ran ?? false, document.querySelectorAll('main img, main b, h1 img, .top b').length]"


def test_labels_are_text_wherever_they_are_shown(person: Visit, hostile: tuple[Local, str]) -> None:
    page = enter(person, *hostile)
    expect(page.get_by_role("heading", level=1)).to_have_text(MARKUP)
    for summary in page.locator("summary").all():
        summary.click()
    expect(page.locator(".dots tbody th").first).to_have_text(MARKUP)
    with page.expect_download() as started:
        page.get_by_role("button", name="Download <i>/?# as CSV").click()
    assert re.fullmatch(r"[\w.-]+\.csv", started.value.suggested_filename)
    assert page.evaluate(FOUND) == [False, 0]
    assert not person.complaints


def test_a_page_that_takes_labels_for_markup_is_caught(visit: Visits, hostile: tuple[Local, str]) -> None:
    """The policy keeps the script from running even then."""
    person = visit()

    def unescape(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=html.unescape(answer.text()))

    person.page.route("**/v1/overview.html", unescape)
    page = enter(person, *hostile)
    expect(page.locator(".headline")).to_be_visible()
    expect(page.locator("main b").first).to_be_attached()
    ran, found = page.evaluate(FOUND)
    assert (ran, found > 0) == (False, True)
    assert [complaint for complaint in person.complaints if "Content Security Policy" in complaint]


def test_downloads_are_what_the_api_gives(reader: Visit, shop: tuple[Local, str]) -> None:
    server, token = shop
    page = reader.page
    for kind in ("csv", "json", "arrow"):
        with page.expect_download() as started:
            page.get_by_role(
                "button", name=f"Download reason as {'Arrow' if kind == 'arrow' else kind.upper()}"
            ).click()
        content = Path(started.value.path()).read_bytes()
        assert content == get(server, f"/v1/estimates/reason.{kind}", token)
        assert started.value.suggested_filename == f"reason-round-1.{kind}"
        if kind == "csv":
            assert len(list(csv.DictReader(io.StringIO(content.decode())))) == 5
        if kind == "arrow":
            assert pa.ipc.open_stream(content).read_all().num_rows == 5


def test_frequent_sets_are_searched_for_when_asked(reader: Visit, shop: tuple[Local, str]) -> None:
    server, token = shop
    page = reader.page
    expect(tile(page, "Reports")).to_contain_text("3,000")
    assert not [url for _, url, _ in reader.requests if "estimates/basket" in url]
    page.get_by_text("Frequent sets").click()
    sets = page.locator("details", has_text="Frequent sets")
    expect(sets).to_contain_text("The probability that any")
    found = json.loads(get(server, "/v1/estimates/basket", token))["sets"]
    expect(sets.locator("tbody tr")).to_have_count(sum(len(row["items"]) > 1 for row in found))
    assert [url for _, url, _ in reader.requests if "estimates/basket" in url]


def test_an_administrator_closes_and_opens_rounds_and_a_reader_cannot(
    person: Visit, commuting: Local, commute: Survey
) -> None:
    reports = reports_of(commute, 150, seed=7)
    upload(commuting, reports[:100])
    tokens = Tokens(commuting.database)
    page = enter(person, commuting, tokens.create("reader", "read"))
    expect(tile(page, "Reports")).to_contain_text("100")
    expect(page.get_by_role("button", name="Close the open round")).to_have_count(0)
    person.forget()
    page = enter(person, commuting, tokens.create("admin", "admin"))
    expect(page.get_by_role("button", name="Open the next round")).to_be_disabled()
    page.get_by_role("button", name="Close the open round").click()
    expect(page.get_by_role("dialog")).to_contain_text("its results change only when a report is withdrawn")
    page.get_by_role("button", name="Keep it open").click()
    page.get_by_role("button", name="Close the open round").click()
    page.get_by_role("button", name="Close it").click()
    expect(page.get_by_role("status")).to_have_text("Round 1 is closed.")
    page.get_by_role("button", name="Open the next round").click()
    expect(page.get_by_role("status")).to_have_text("Round 2 is open.")
    upload(commuting, reports[100:])
    expect(tile(page, "Reports")).to_contain_text("50")
    page.get_by_label("Round", exact=True).select_option("1")
    expect(tile(page, "Reports")).to_contain_text("100")
    expect(tile(page, "Reports")).to_contain_text("round 1, closed")


def test_where_levels_disagree_that_is_said(person: Visit, commuting: Local, commute: Survey) -> None:
    for seed, level, shares in ((8, "strict", [1, 0, 0, 0, 0, 0]), (9, "open", [0, 0, 0, 0, 0, 1])):
        people = Population.of_shares(commute, 1500, {"mode": shares}, level_mix={level: 1}, seed=seed)
        for batch in simulate_reports(commute, people, seed=seed):
            upload(commuting, list(from_batch(commute, batch)))
    page = enter(person, commuting, Tokens(commuting.database).create("reader", "read"))
    told = card(page, "How do you usually get to work?")
    expect(told).to_contain_text("People of different levels answer differently")
    expect(told).not_to_contain_text("regardless of their answer:")
    expect(page.get_by_role("region", name="Read this first")).to_have_count(0)


def test_counting_and_lost_connections_are_told(person: Visit, shop: tuple[Local, str]) -> None:
    server, token = shop
    page = person.page
    body = show.board({"scope": "read", "counted": 3_000_000, "reports": 10_000_000})
    page.route("**/v1/overview.html", lambda route: route.fulfill(body=body, content_type="text/html"))
    page.goto(f"{server.url}/dashboard")
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Counting: 3,000,000 of 10,000,000 reports")).to_be_visible()
    page.unroute("**/v1/overview.html")
    page.route("**/v1/overview.html", lambda route: route.abort())
    expect(page.get_by_role("alert")).to_have_text("The collector cannot be reached. Trying again …")
    page.unroute("**/v1/overview.html")
    expect(tile(page, "Reports")).to_contain_text("3,000")
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.get_by_role("status")).to_have_text("Connected again.")


def test_the_scan_of_the_dashboard_finds_what_it_looks_for(person: Visit, shop: tuple[Local, str]) -> None:
    person.alter("/pages/show.css", ("--muted:#56616c", "--muted:#c0c0c0"))
    person.alter("/dashboard", ('<label class="small" for="round">', '<label class="small" for="none">'))
    page = enter(person, *shop)
    expect(tile(page, "Reports")).to_contain_text("3,000")
    assert {finding.split(":")[0] for finding in person.barriers()} == {"color-contrast", "select-name"}
