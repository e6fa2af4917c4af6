"""The survey page in a real browser: what a person sees and does, and what leaves the device."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pytest
from playwright.sync_api import expect

from helpers.browsers import LIE, SURVEY_SCRIPT, Visit, Visits
from helpers.collector.senders import make_reports
from helpers.collector.servers import Server, running
from pldp import Device, Survey
from pldp.budgets import epsilon_text
from pldp.collector import Sender, Tokens
from pldp.collector.static import assets
from pldp.reports import Answer, body_length, read_report
from pldp.survey import KINDS, Question, loads, make_key, report_price, sign

ANSWERS = {"mode": "on foot", "late": "yes"}
"""None of these labels is ever on the wire: reports carry places in the lists of labels."""

LONG = bool(os.environ.get("PLDP_LONG"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("collector"), "--result-step", "1") as started:
        yield started


def choose(visit: Visit, server: Server, level: str = "strict", random: str = "() => {}") -> None:
    visit.page.goto(server.url)
    visit.page.evaluate(random)
    visit.page.get_by_label(level).check()
    visit.page.get_by_role("button", name="Show the questions").click()


def answer(visit: Visit, commute: Survey, answers: dict[str, str]) -> None:
    for name, label in answers.items():
        question = visit.page.get_by_role("group", name=commute.question(name).text)
        question.get_by_label(label, exact=True).check()
    visit.page.get_by_role("button", name="Show me what will be sent").click()
    expect(visit.page.locator("#preview")).to_be_visible()


def send(visit: Visit) -> str:
    """Send the report and return the receipt."""
    visit.page.get_by_role("button", name="Send this report").click()
    expect(visit.page.locator("#status")).to_contain_text("Sent.")
    return visit.page.locator(".receipt").first.inner_text()


def really(visit: Visit) -> None:
    """Confirm that a report is to be withdrawn."""
    visit.page.get_by_role("dialog").get_by_role("button", name="Withdraw it").click()


def everything_in(content: Any) -> Iterator[object]:
    if isinstance(content, dict):  # numbers of formats are no answers
        content = [*content, *(value for key, value in content.items() if not key.startswith("pldp"))]
    if isinstance(content, list):
        for each in content:
            yield from everything_in(each)
    else:
        yield content


def leaks(visit: Visit, commute: Survey, answers: dict[str, str]) -> list[str]:
    """Tell where a raw answer is: its label anywhere, or its place in the list of labels as a value of its own."""
    places = {commute.question(name).values.index(label) for name, label in answers.items()} - {0}
    bodies = [json.loads(body) for body in visit.sent()]
    addresses = [unquote(url) for _, url, _ in visit.requests]
    content = {"bodies": bodies, "addresses": addresses, "store": visit.stored()}
    found = [f"{name} storage: {key}" for name in ("session", "local") for key in content["store"][name]]
    for where, kept in content.items():
        text = json.dumps(kept)
        found += [f"{where}: {label}" for label in answers.values() if label in text]
        found += [f"{where}: {place}" for place in places if {place, str(place)} & set(everything_in(kept))]
    return found


@pytest.mark.parametrize("level", ["strict", "standard", "open"] if LONG else ["strict", "open"])
def test_only_the_perturbed_report_leaves(person: Visit, server: Server, commute: Survey, level: str) -> None:
    """From the same random bytes, it is the report of the Python device, in the one length; nothing else has a body."""
    choose(person, server, level, LIE)
    answer(person, commute, ANSWERS)
    shown = person.page.locator("#exact").inner_text()
    send(person)
    assert person.sent() == [shown.ljust(body_length(commute))]
    device = Device(commute, random=lambda count: b"\xff" * count)
    expected = device.answer_all(ANSWERS, level)
    report = json.loads(shown)
    assert report["answers"] == json.loads(expected.to_json())["answers"]
    assert report.keys() == {"pldp", "survey", "id", "answers"}
    assert not leaks(person, commute, ANSWERS)
    assert all(url.startswith(server.url) for _, url, _ in person.requests)
    assert not person.complaints


BEFORE = "const before = device.ledger().total;"
DRAWN = "showReport(survey, report, device"
TAMPERED = {
    "a device that does not perturb": ("bodies", (".draw(value, random)", ".draw(value, random) && value")),
    "a page that keeps a draft": ("store", (BEFORE, f"localStorage.draft = answered[0].value; {BEFORE}")),
    "a page that asks with it": ("addresses", (BEFORE, f"fetch(`v1/survey?${{answered[0].value}}`); {BEFORE}")),
    "a page that adds the answer": ("bodies", (DRAWN, f"report.note = answered[0].value; {DRAWN}")),
}
"""What is changed in a page, and where the answer is then found."""

TOGETHER = [[each] for each in TAMPERED] if LONG else [[*TAMPERED][first : first + 2] for first in (0, 2)]
"""In the short form a page has two faults, and where one of them shows, the other leaves nothing."""


@pytest.mark.parametrize("faults", TOGETHER, ids=", ".join)
def test_a_page_that_tells_the_answer_is_caught(
    person: Visit, server: Server, commute: Survey, faults: list[str]
) -> None:
    places = [TAMPERED[fault][0] for fault in faults]
    assert len(set(places)) == len(places)
    person.alter(SURVEY_SCRIPT, *(TAMPERED[fault][1] for fault in faults))
    choose(person, server, "open", LIE)  # where a report is one label
    answer(person, commute, {"mode": "on foot"})
    person.page.get_by_role("button", name="Send this report").click()
    expect(person.page.locator("#receipts li")).to_have_count(1)
    found = {leak.partition(":")[0] for leak in leaks(person, commute, {"mode": "on foot"})}
    assert found >= set(places)


def test_a_page_whose_uploads_tell_by_their_length_is_caught(person: Visit, server: Server, commute: Survey) -> None:
    person.alter(SURVEY_SCRIPT, ('" ".repeat', '"".repeat'))
    choose(person, server, "open")
    answer(person, commute, {"late": "no"})
    shown = person.page.locator("#exact").inner_text()
    send(person)
    assert person.sent() == [shown]
    assert len(shown) < body_length(commute)


def test_the_policy_keeps_a_page_from_asking_other_hosts(person: Visit, server: Server) -> None:
    other = server.url.replace("127.0.0.1", "localhost")
    person.page.goto(server.url)
    outcome = person.page.evaluate("(url) => fetch(url).then(() => 'sent', () => 'blocked')", f"{other}/v1/survey")
    assert outcome == "blocked"
    assert any("Content Security Policy" in complaint for complaint in person.complaints)


def read(server: Server, token: str, path: str) -> Any:
    with closing(server.connect()) as connection:
        connection.timeout = 60  # the first estimate loads the numerical libraries
        connection.request("GET", path, headers={"authorization": f"Bearer {token}"})
        return json.loads(connection.getresponse().read())


def test_a_withdrawn_report_leaves_the_estimate_as_it_was(visit: Visits, server: Server, commute: Survey) -> None:
    token = Tokens(server.database).create("reader", "read")
    sender = Sender(server.url)
    lines = [report.to_json().encode() for report in make_reports(commute, 60)]
    assert list(sender.send(lines))
    sender.close()
    before = read(server, token, "/v1/estimates/mode")
    person = visit(permissions=["clipboard-read", "clipboard-write"])
    choose(person, server, "open")
    answer(person, commute, ANSWERS)
    receipt = send(person)
    person.page.get_by_role("button", name="Copy").click()
    expect(person.page.locator("#status")).to_have_text("The receipt is copied.")
    assert person.page.evaluate("navigator.clipboard.readText()") == receipt
    assert read(server, token, "/v1/estimates/mode") != before
    person.page.get_by_role("listitem").get_by_role("button", name="Withdraw").click()
    person.page.get_by_role("button", name="Keep it").click()
    assert read(server, token, "/v1/estimates/mode") != before
    person.page.get_by_role("listitem").get_by_role("button", name="Withdraw").click()
    really(person)
    expect(person.page.locator("#status")).to_contain_text("Withdrawn")
    assert read(server, token, "/v1/estimates/mode") == before
    person.page.get_by_label("Withdraw with a receipt").fill("0" * len(receipt))
    person.page.locator("#withdrawing").get_by_role("button").click()
    really(person)
    expect(person.page.get_by_role("alert")).to_have_text("No stored report has this receipt.")
    assert not [complaint for complaint in person.complaints if "404" not in complaint]


def test_the_account_grows_with_new_answers_only(person: Visit, server: Server, commute: Survey) -> None:
    spent, limit = person.page.locator("#spent"), person.page.locator("#limit")
    choose(person, server, "standard")
    expect(spent).to_have_text("ε = 0 of 4 on this survey; 4 remains.")
    answer(person, commute, {"late": "no"})
    expect(spent).to_have_text("ε = 1 of 4 on this survey; 3 remains.")
    first = person.page.locator("#exact").inner_text()
    person.page.get_by_role("button", name="Do not send").click()
    expect(person.page.locator("#said")).to_contain_text("It was not sent.")
    choose(person, server, "open")
    expect(person.page.get_by_role("group", name=commute.question("late").text)).to_have_count(0)
    expect(person.page.locator("#said p").first).to_contain_text("at level “standard”.")
    everyone = "for all surveys without a signature that it trusts; 1 is spent."
    expect(limit).to_have_text(f"Your device stops at ε = 20 {everyone}")
    for number, line in (("1.5", "Your limit is set."), ("1.75", "those who ask can learn more about you")):
        person.page.get_by_label("My own limit").fill(number)
        person.page.get_by_role("button", name="Set limit").click()
        expect(person.page.locator("#status")).to_contain_text(line)
        expect(limit).to_have_text(f"Your device stops at ε = {number} {everyone}")
    expect(person.page.get_by_label("strict")).to_be_visible()
    expect(person.page.get_by_label("open")).to_have_count(0)  # it costs 2, and 0.75 is left
    assert not person.sent()
    person.page.get_by_role("button", name="Send this report").first.click()
    expect(person.page.locator("#said")).to_contain_text("It was sent.")
    assert person.sent() == [first.ljust(body_length(commute))]


def test_a_withdrawn_answer_can_be_given_again_while_there_is_budget(
    person: Visit, server: Server, commute: Survey
) -> None:
    choose(person, server, "open")
    answer(person, commute, {"mode": "bus"})
    first = send(person)
    again = person.page.get_by_role("button", name="Withdraw and answer again")
    expect(again).to_have_text("Withdraw and answer again (at least ε = 0.5)")
    again.click()
    really(person)
    expect(person.page.locator("#status")).to_contain_text("Withdrawn")
    expect(person.page.locator("#answered")).to_be_hidden()
    person.page.get_by_label("open").check()
    person.page.get_by_role("button", name="Show the questions").click()
    answer(person, commute, {"mode": "bus"})
    person.page.get_by_role("button", name="Send this report").click()
    expect(person.page.locator("#said")).to_contain_text("It was sent.")
    expect(person.page.locator("#spent")).to_have_text("ε = 4 of 4 on this survey; 0 remains.")
    expect(person.page.locator("#said")).to_contain_text("Another answer would cost at least ε = 0.5; ε = 0 is left.")
    expect(again).to_have_count(0)
    assert person.page.locator(".receipt").first.inner_text() != first
    assert [json.loads(body)["receipt"] for body in person.sent() if "receipt" in body] == [first]
    person.page.get_by_role("listitem").get_by_role("button", name="Withdraw", exact=True).click()
    really(person)
    expect(person.page.locator("#answered")).to_be_hidden()


@contextmanager
def running_rounds(folder: Path, commute: Survey, rule: str) -> Iterator[tuple[Server, Callable[[str], None]]]:
    """A collector of this survey under another rule for repeats, and what closes and opens its rounds."""
    survey = folder / "survey.json"
    replace(commute, repeat=rule, total_micro_epsilon=None).save(survey)
    with running(folder, survey=str(survey)) as collector:
        token = Tokens(collector.database).create("admin", "admin")

        def change(verb: str) -> None:
            with closing(collector.connect()) as connection:
                connection.request("POST", f"/v1/rounds/{verb}", headers={"authorization": f"Bearer {token}"})
                assert connection.getresponse().status == 200

        yield collector, change


@pytest.mark.parametrize(("rule", "asked_again"), [("once", False), ("fresh", True)])
def test_a_later_round_asks_again_if_the_survey_says_so(
    person: Visit, tmp_path: Path, commute: Survey, rule: str, asked_again: bool
) -> None:
    with running_rounds(tmp_path, commute, rule) as (collector, change):
        choose(person, collector)
        answer(person, commute, ANSWERS)
        send(person)
        change("close")
        person.page.goto(collector.url)
        expect(person.page.locator("#closed")).to_have_text("This round is closed: the collector takes no answers now.")
        expect(person.page.locator("#choosing")).to_be_hidden()
        expect(person.page.get_by_role("button", name="Withdraw and answer again")).to_have_count(0)
        change("open")
        person.page.goto(collector.url)
        expect(person.page.locator("#spends")).to_be_visible()
        expect(person.page.locator("#choosing")).to_be_visible(visible=asked_again)
        expect(person.page.locator("#answered")).to_be_visible(visible=not asked_again)
        if asked_again:
            person.page.get_by_role("button", name="Show the questions").click()
            answer(person, commute, ANSWERS)
            send(person)
            expect(person.page.locator("#spent")).to_contain_text("ε = 2 on this survey")
            assert [url[-2:] for _, url, body in person.requests if body] == ["=1", "=2"]
        assert not person.complaints


def test_a_report_that_waited_too_long_is_refused_with_a_plain_sentence(
    person: Visit, tmp_path: Path, commute: Survey
) -> None:
    with running_rounds(tmp_path, commute, "fresh") as (collector, change):
        choose(person, collector)
        answer(person, commute, ANSWERS)
        change("close")
        change("open")
        person.page.get_by_role("button", name="Send this report").first.click()
        expect(person.page.get_by_role("alert")).to_have_text(
            "The round has ended, and the collector no longer takes this report."
        )


def test_tracked_answers_tell_four_prices(person: Visit, server: Server) -> None:
    survey = Survey.load("clients/js/test/surveys/tracked.json")
    replace_survey(person, survey.canonical)
    person.page.goto(server.url)
    prices = [
        sum(question.charge(1) for question in survey.questions),
        sum(question.permanent_charge(1) for question in survey.questions),
        sum(question.instant_charge(1) for question in survey.questions),
    ]
    one, kept, more = map(epsilon_text, prices)
    expect(person.page.locator("#levels")).to_contain_text(
        f"Answering everything costs at most ε = {one} for one report; ε = {kept} for answers that never change, "
        f"however often you are asked; ε = {more} for every round in which two life stories differ. "
        "Your device stops at ε = 20."
    )
    assert not LONG or not person.barriers()


def test_hidden_levels_all_cost_the_same_and_share_one_report(person: Visit, server: Server) -> None:
    questions = [{"name": name, "values": ["a", "b", "c"]} for name in ("direct", "other")]
    levels = {"strict": 0.5, "open": 1.2}
    document = {"pldp": 1, "title": "t", "levels": levels, "hide_level": {"epsilon": 1}, "questions": questions}
    survey = Survey.read(document)
    replace_survey(person, survey.canonical)
    choose(person, server)
    offered = person.page.locator(".level").all_inner_texts()
    told = {text.partition("Someone")[2].partition("To someone who knew")[0] for text in offered}
    assert len(told) == 1  # one picture for all levels
    assert len(set(offered)) == len(survey.levels)  # but answers alone are told apart less at a stricter one
    expect(person.page.locator("#limit")).to_contain_text("before reports tell more than ε = 3 about your level")
    person.page.get_by_label("a", exact=True).first.check()
    price = epsilon_text(report_price(survey, survey.questions[:1], new_label=True))
    expect(person.page.locator("#costing")).to_contain_text(f"costs ε = {price}.")
    expect(person.page.locator("#costing")).to_contain_text("your device stops at 20.1 times")
    person.page.get_by_role("button", name="Show me what will be sent").click()
    expect(person.page.locator("#spent")).to_contain_text(f"ε = {price} ")
    expect(person.page.locator("#spends")).to_contain_text("whole report")
    person.page.get_by_role("button", name="Do not send").click()
    person.page.goto(server.url)
    expect(person.page.locator("#said li")).to_have_count(1)
    expect(person.page.locator("#choosing")).to_be_hidden()


def test_a_lottery_is_explained_and_a_stricter_level_than_the_one_in_use_needs_a_new_draw(
    person: Visit, server: Server
) -> None:
    questions = [{"name": name, "values": ["a", "b", "c"]} for name in ("direct", "other")]
    levels = {"strict": 0.5, "open": 1.2}
    document = {"pldp": 1, "title": "t", "levels": levels, "hide_level": {"lottery": 1}, "questions": questions}
    replace_survey(person, Survey.read({**document, "languages": {"de": {"title": "T"}}}).canonical)
    choose(person, server, "open", LIE)  # with these bytes the device goes on to the chosen level
    expect(person.page.locator("#shown")).to_contain_text("may answer more strictly than you chose. Who sees “strict”")
    person.page.get_by_label("a", exact=True).first.check()
    expect(person.page.locator("#costing")).to_contain_text("costs ε = 1.2.")
    person.page.get_by_role("button", name="Show me what will be sent").click()
    expect(person.page.locator("#exact")).to_contain_text('"level":"open"')
    person.page.get_by_role("button", name="Do not send").click()
    person.page.goto(server.url)
    expect(person.page.locator("#label")).to_contain_text("Your device uses “open”")
    expect(person.page.locator(".level")).to_have_count(1)
    person.page.get_by_label("I choose another level than before").check()
    expect(person.page.locator(".level")).to_have_count(2)
    person.page.goto(f"{server.url}?lang=de")
    expect(person.page.locator("#label")).to_contain_text("Ihr Gerät verwendet „open“")
    expect(person.page.locator("#shown")).to_contain_text("antwortet vielleicht strenger, als Sie gewählt haben")


def test_a_collector_without_rounds_is_in_its_first(person: Visit, server: Server, commute: Survey) -> None:
    person.page.route("**/v1/round", lambda route: route.fulfill(status=404))
    choose(person, server)
    answer(person, commute, ANSWERS)
    send(person)
    assert [url[-8:] for _, url, body in person.requests if body] == ["?round=1"]


def test_without_a_network_the_report_waits_and_is_sent_later(person: Visit, server: Server, commute: Survey) -> None:
    choose(person, server)
    answer(person, commute, ANSWERS)
    person.context.set_offline(True)
    person.page.get_by_role("button", name="Send this report").click()
    expect(person.page.locator("#status")).to_contain_text("waits on this device")
    expect(person.page.locator("#receipts")).to_contain_text("waits to be sent")
    person.context.set_offline(False)
    expect(person.page.locator("#status")).to_contain_text("Sent.")
    expect(person.page.locator(".receipt")).to_have_count(1)
    (body,) = set(person.sent())
    assert len(body) == body_length(commute)
    person.page.reload()
    expect(person.page.locator(".receipt")).to_have_count(1)


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    """A copy of the page on another host, as the documentation says."""
    for path, asset in assets().items():
        place = folder / (path.removeprefix("/") or "survey.html")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(asset.body)
    host = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder)))
    Thread(target=host.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{host.server_port}"
    host.shutdown()
    host.server_close()


class Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


def test_invited_people_answer_on_a_page_of_another_host(visit: Visits, tmp_path: Path, commute: Survey) -> None:
    """It asks a survey that its key signed; the token goes to the collector only, and only where it is needed."""
    private, public = make_key()
    survey = tmp_path / "signed.json"
    survey.write_text(sign(commute, private), encoding="utf-8")
    folder = tmp_path / "host"
    with (
        hosted(folder) as host,
        running(tmp_path, "--uploads", "ledger", "--origins", host, survey=str(survey)) as collector,
    ):
        (token,) = Tokens(collector.database).enrol(["ana"], 4_000_000)
        page = (folder / "survey.html").read_text(encoding="utf-8")
        for name, content in (("collector", f"{collector.url}/"), ("trusted-key", public)):
            page = page.replace(f'"pldp-{name}" content=""', f'"pldp-{name}" content="{content}"')
        (folder / "survey.html").write_text(page, encoding="utf-8")
        person = visit()
        shown: set[str] = set()
        person.context.on("request", lambda asked: shown.add(asked.url) if "authorization" in asked.headers else None)
        person.page.goto(f"{host}/survey.html#{token}")
        expect(person.page.locator("#signature")).to_contain_text("signed with the key that this page trusts")
        expect(person.page).to_have_url(f"{host}/survey.html")
        person.page.get_by_role("button", name="Show the questions").click()
        answer(person, commute, ANSWERS)
        send(person)
        expect(person.page.locator("#account")).to_contain_text("ε = 4 of 4.")
        assert shown == {f"{collector.url}/v1/reports?round=1", f"{collector.url}/v1/ledger"}
        assert not [url for _, url, _ in person.requests if token in url]
        stranger = visit()
        stranger.page.goto(f"{host}/survey.html")
        expect(stranger.page.locator("#uninvited")).to_contain_text("This survey is for invited people.")


MARKUP = '<img src=x onerror="window.ran = true"><script>window.ran = true</script>'


def replace_survey(person: Visit, body: str | bytes) -> None:
    person.page.route("**/v1/survey", lambda route: route.fulfill(body=body, content_type="application/json"))


def test_markup_in_a_survey_is_shown_as_text(person: Visit, server: Server) -> None:
    quoted = json.dumps(MARKUP)
    hostile = loads(
        f"""
        pldp = 1
        title = {quoted}
        collector = {quoted}
        [levels]
        "<b onclick=1>" = {{ epsilon = 0.5, text = {quoted} }}
        [[questions]]
        name = "<i>"
        text = {quoted}
        values = [{quoted}, "no"]
        """
    )
    replace_survey(person, hostile.canonical)
    person.page.goto(server.url)
    expect(person.page.get_by_role("heading", level=1)).to_have_text(MARKUP)
    person.page.get_by_role("button", name="Show the questions").click()
    person.page.get_by_label(MARKUP, exact=True).check()
    person.page.get_by_role("button", name="Show me what will be sent").click()
    expect(person.page.locator("#words")).to_contain_text(MARKUP)
    person.page.get_by_role("button", name="Send this report").click()
    expect(person.page.get_by_role("alert")).to_have_text("The collector refused the report (wrong_survey).")
    foreign = "img:not(#logo), b, i, script"  # the page has a script of its own
    assert person.page.evaluate(f"[window.ran ?? false, document.querySelectorAll('{foreign}').length]") == [False, 1]
    assert not [complaint for complaint in person.complaints if "422" not in complaint]


def words_of(question: Question, said: Answer) -> str:
    """What a report says, by the channel of the Python package."""
    channel = question.channels[[level.name for level in question.levels].index(said.level)]
    labels = [f"“{label}”" for place, label in enumerate(question.values) if channel.supports(said.output, place)]
    listed = ", ".join(labels[:8]) + (f" and {len(labels) - 8} more" if len(labels) > 8 else "")
    verb = {"krr": "says", "lh": "names a group of answers:"}.get(channel.mechanism, "ticks")
    return f"{question.name}: The report {verb} {listed or 'nothing'}, at level “{said.level}”."


def test_every_form_of_report_is_put_into_words(person: Visit, server: Server) -> None:
    """Long lists become one field, and a level that a question does not offer becomes the next stricter one."""
    many = [f"label {place}" for place in range(40)]
    survey = loads(
        f"""
        pldp = 1
        title = "every form"
        levels = {{ strict = 0.5, standard = 1, open = 2 }}
        questions = [
            {{ name = "direct", values = {many[:3]}, mechanism = "krr", levels = {{ strict = 0.5, standard = 1 }} }},
            {{ name = "bits", values = {many}, mechanism = "oue" }},
            {{ name = "hashed", values = {many}, mechanism = "lh" }},
            {{ name = "looser", values = {many}, levels = {{ open = 2 }} }},
        ]
        """
    )
    replace_survey(person, survey.canonical)
    for level, levels in (("open", ["standard", "open", "open", "open"]), ("strict", ["strict"] * 3)):
        choose(person, server, level)
        person.page.get_by_label("label 1", exact=True).check()
        for field in person.page.get_by_role("combobox").all():
            field.select_option("label 31")
        person.page.get_by_role("button", name="Show me what will be sent").click()
        expect(person.page.locator("#preview")).to_be_visible()
        report = read_report(survey, person.page.locator("#exact").inner_text())
        assert [each.level for each in report.answers] == levels
        lines = person.page.locator("#words li").all_inner_texts()
        assert lines == [words_of(survey.question(each.question), each) for each in report.answers]
        person.forget()


def test_every_kind_of_question_can_be_asked(person: Visit, server: Server) -> None:
    """Boxes, labels with budgets of their own, and numbers; with the same random bytes as the Python device.

    And the page knows every kind that there is.
    """
    survey = Survey.load("examples/shopping.toml")
    replace_survey(person, survey.canonical)
    person.page.goto(server.url)
    person.page.evaluate("() => { crypto.getRandomValues = (bytes) => bytes.fill(255); }")
    proved = "An answer “I did not go” can be proved: 6 of 100 reports of people who give it do."
    expect(person.page.locator("#levels")).to_contain_text(proved)
    kinds = person.page.evaluate("import('/pages/kinds/registry.js').then(({ KINDS }) => Object.keys(KINDS))")
    assert set(kinds) == set(KINDS)
    person.page.get_by_role("button", name="Show the questions").click()
    for label in ("bread", "fish", "a cold"):
        person.page.get_by_label(label, exact=True).check()
    number = person.page.get_by_label("A number from 0 to 300 (euros)")
    number.fill("42.5")
    assert not person.barriers()
    person.page.get_by_role("button", name="Show me what will be sent").click()
    expect(person.page.locator("#preview")).to_be_visible()
    report = read_report(survey, person.page.locator("#exact").inner_text())
    answers = {"basket": ["bread", "fish"], "reason": "a cold", "spent": 42.5}
    assert report.answers == Device(survey, random=lambda count: b"\xff" * count).answer_all(answers).answers
    assert not leaks(person, survey, {"reason": "a cold"})
    assert [line.split("The report ")[1] for line in person.page.locator("#words li").all_inner_texts()] == [
        "ticks “bread”, “milk”, “vegetables”, “fish”, “beer”, “medicine”, at level “strict”.",
        "says “a check-up”, at level “strict”.",
        "speaks for numbers from 299 to 300 euros, at level “strict”.",
    ]
    expect(person.page.locator("#spent")).to_contain_text("ε = 3.35 of 20")


def test_a_whole_set_costs_once_and_no_more_boxes_can_be_ticked_than_allowed(person: Visit, server: Server) -> None:
    survey = loads(
        """
        pldp = 1
        title = "sets"
        levels = { strict = 1 }
        [[questions]]
        name = "any"
        kind = "choices"
        values = ["a", "b", "c", "d"]
        budget = "set"
        [[questions]]
        name = "two"
        kind = "choices"
        values = ["p", "q", "r", "s", "t", "u", "v", "w", "x", "y"]
        budget = "set"
        at_most = 2
        """
    )
    replace_survey(person, survey.canonical)
    person.page.goto(server.url)
    person.page.evaluate("() => { crypto.getRandomValues = (bytes) => bytes.fill(255); }")
    expect(person.page.locator("#levels")).to_contain_text("Answering everything costs at most ε = 2")
    person.page.get_by_text("Question by question").click()
    expect(person.page.locator("#levels")).to_contain_text("two at most 73 % sure (ε = 1).")
    person.page.get_by_role("button", name="Show the questions").click()
    for label in ("a", "q", "x"):
        person.page.get_by_label(label, exact=True).check()
    assert person.page.get_by_text("Tick at most 2.").count() == 1
    expect(person.page.get_by_label("r", exact=True)).to_be_disabled()
    person.page.get_by_label("x", exact=True).uncheck()
    person.page.get_by_label("r", exact=True).check()
    assert not LONG or not person.barriers()
    person.page.get_by_role("button", name="Show me what will be sent").click()
    expect(person.page.locator("#preview")).to_be_visible()
    report = read_report(survey, person.page.locator("#exact").inner_text())
    device = Device(survey, random=lambda count: b"\xff" * count)
    assert report.answers == device.answer_all({"any": ["a"], "two": ["q", "r"]}).answers
    told = [line.split("The report ")[1] for line in person.page.locator("#words li").all_inner_texts()]
    assert told[0] == "is about “d” and ticks “d”, at level “strict”."
    assert told[1] == "ticks nothing, at level “strict”."  # but a dummy


def test_a_number_for_a_mean_is_rounded_and_sent_like_the_python_device_does(person: Visit, server: Server) -> None:
    question = {
        "name": "age",
        "kind": "number",
        "low": 18,
        "high": 90,
        "unit": "years",
        "purpose": "mean",
        "buckets": 9,
    }
    survey = Survey.read({"pldp": 1, "title": "Ages", "levels": {"only": 1}, "questions": [question]})
    replace_survey(person, survey.canonical)
    person.page.goto(server.url)
    person.page.evaluate("() => { crypto.getRandomValues = (bytes) => bytes.fill(0); }")
    person.page.get_by_role("button", name="Show the questions").click()
    person.page.get_by_label("A number from 18 to 90 (years)").fill("40.3")
    person.page.get_by_role("button", name="Show me what will be sent").click()
    expect(person.page.locator("#preview")).to_be_visible()
    report = read_report(survey, person.page.locator("#exact").inner_text())
    assert report.answers == Device(survey, random=bytes).answer("age", 40.3).answers
    weights = survey.question("age").channels[0].weights()
    first, last = (18 + 9 * place for place in (weights["start"][0], weights["stop"][0] - 1))
    expect(person.page.locator("#words li")).to_contain_text(f"speaks for numbers from {first} to {last} years")


def test_a_survey_that_another_key_signed_is_refused(person: Visit, server: Server, commute: Survey) -> None:
    private, public = make_key()
    signed = sign(commute, private)
    for key, altered, line in (
        (public, signed, "The survey was signed with the key that this page trusts"),
        (public, signed.replace("train", "plane"), "Signature: does not fit the survey"),
        ("1" * 64, signed, "Signature: was not made with the trusted key"),
    ):
        person.page.unroute_all()
        person.alter("/", ('name="pldp-trusted-key" content=""', f'name="pldp-trusted-key" content="{key}"'))
        replace_survey(person, altered)
        person.page.goto(server.url)
        expect(person.page.get_by_text(line)).to_be_visible()
        expect(person.page.get_by_role("button", name="Show the questions")).to_be_visible(visible=line[1] == "h")


def test_a_survey_that_cannot_be_asked_gets_one_line(person: Visit, server: Server, commute: Survey) -> None:
    replace_survey(person, commute.canonical.replace(b'"choice"', b'"essay"'))
    person.page.goto(server.url)
    expect(person.page.get_by_role("alert")).to_contain_text("This page cannot ask this survey (question")
    person.page.unroute("**/v1/survey")
    person.page.route("**/v1/survey", lambda route: route.abort())
    person.page.goto(server.url)
    expect(person.page.get_by_role("alert")).to_have_text("The survey cannot be loaded now; please try again later.")


def test_every_step_is_accessible_and_fits_a_phone(visit: Visits, server: Server, commute: Survey) -> None:
    """In the short form all rules are held against the same screens, in the dark, by `test_the_whole_way` only."""
    person = visit(viewport={"width": 360, "height": 740})

    def check() -> None:
        assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert not (person.barriers() if LONG else person.barriers("color-contrast"))
        if LONG:
            person.page.emulate_media(color_scheme="dark")
            assert not person.barriers("color-contrast")
            person.page.emulate_media(color_scheme="light")

    person.page.goto(server.url)
    expect(person.page.get_by_label("strict")).to_be_checked()
    check()
    person.page.get_by_role("button", name="Show the questions").click()
    check()
    answer(person, commute, ANSWERS)
    check()
    send(person)
    check()


def test_the_scan_finds_what_it_looks_for(person: Visit, server: Server) -> None:
    person.alter("/pages/common.css", ("--muted: #56616c", "--muted: #c0c0c0"))
    person.alter("/", ('<label for="receipt"', '<label for="another"'))
    person.page.goto(server.url)
    expect(person.page.get_by_label("strict")).to_be_visible()
    assert {finding.split(":")[0] for finding in person.barriers()} == {"color-contrast", "label"}


def test_the_keyboard_is_enough(person: Visit, server: Server) -> None:
    keyboard = person.page.keyboard
    person.page.goto(server.url)
    expect(person.page.get_by_label("strict")).to_be_visible()
    for key in ("Tab", "ArrowDown", "Enter"):
        keyboard.press(key)
    expect(person.page.locator("#chosen")).to_contain_text("standard")
    expect(person.page.get_by_role("heading", name="2. Answer")).to_be_focused()
    for key in ("Tab", "ArrowDown", "ArrowDown", "Enter"):
        keyboard.press(key)
    expect(person.page.get_by_role("heading", name="3. Look at your report")).to_be_focused()
    expect(person.page.locator("#words li")).to_have_count(1)
    for key in ("Tab", "Tab", "Enter"):
        keyboard.press(key)
    expect(person.page.locator("#status")).to_be_focused()
    expect(person.page.locator(".receipt")).to_have_count(1)


def test_the_page_promises_no_more_than_it_keeps() -> None:
    pages = Path("src/pldp/collector/pages")
    words = "".join(page.read_text(encoding="utf-8") for page in pages.rglob("*") if page.is_file())
    assert "anony" + "m" not in words.lower()
