"""One survey with everything at once: asked in a real browser, collected, shown, planned and audited."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

import pldp
from helpers.browsers import Visit
from helpers.claims import runs
from helpers.collector.servers import Local, local
from pldp.collector import Sender, Tokens
from pldp.reports import read_report
from pldp.reports.columns import from_batch
from pldp.simulate import Population, simulate_reports

EXAMPLE = Path(__file__).parents[2] / "examples" / "wellbeing.toml"
ANSWERS = {
    "shift": "at night",
    "illness": "back pain",
    "symptoms": ["headache", "panic"],
    "help": ["doctor", "family"],
    "hours": 37.5,
    "age": 44.0,
}
PEOPLE = runs(1000, 3000)


@pytest.fixture(scope="module")
def collecting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Local, str]]:
    """A collector of the example with the reports of simulated people, and a token to read."""
    survey = pldp.Survey.load(EXAMPLE)
    folder = tmp_path_factory.mktemp("everything")
    with local(folder, survey, pairs=(("shift", "hours"),)) as server:
        people, sender = Population.of_shares(survey, PEOPLE, seed=3), Sender(server.url)
        batches = simulate_reports(survey, people, seed=3)
        list(sender.send([report for batch in batches for report in from_batch(survey, batch)]))
        sender.close()
        yield server, Tokens(server.database).create("reader", "read")


def test_the_survey_has_everything() -> None:
    survey = pldp.Survey.load(EXAMPLE)
    assert {question.kind for question in survey.questions} == {"choice", "choices", "number"}
    assert survey.level_channel is not None
    assert survey.total_micro_epsilon is not None
    assert survey.ask is not None
    document = survey.document["questions"]
    assert {"budgets", "sides", "budget", "at_most", "purpose"} <= {key for question in document for key in question}
    assert not pldp.audit(survey, samples=0).refuted
    planned = pldp.plan(survey, 20_000)
    assert all((each.standard_error > 0).all() for each in planned.questions)


def test_a_person_answers_everything_in_a_browser(person: Visit, collecting: tuple[Local, str]) -> None:
    server, token = collecting
    survey, page = pldp.Survey.load(EXAMPLE), person.page
    page.goto(server.url)
    page.get_by_role("radio", name="low").check()
    page.get_by_role("button", name="Show the questions").click()
    for name, answer in ANSWERS.items():
        for group in page.get_by_role("group", name=survey.question(name).text, exact=True).all():
            if isinstance(answer, float):
                group.get_by_role("spinbutton").fill(str(answer))
            for label in [answer] if isinstance(answer, str) else answer if isinstance(answer, list) else []:
                group.get_by_label(label, exact=True).check()
    assert not person.barriers()
    page.get_by_role("button", name="Show me what will be sent").click()
    expect(page.locator("#preview")).to_be_visible()
    report = read_report(survey, page.locator("#exact").inner_text())
    assert len(report.answers) == survey.ask
    page.get_by_role("button", name="Send this report").click()
    expect(page.locator("#status")).to_contain_text("Sent.")
    connection = server.connect()
    connection.request("GET", "/v1/overview", headers={"authorization": f"Bearer {token}"})
    overview = json.loads(connection.getresponse().read())
    connection.close()
    assert overview["reports"] == PEOPLE + 1
    assert [each["name"] for each in overview["questions"]] == list(ANSWERS)
    assert not [each for each in overview["questions"] if "missing" in each]
    page.goto(f"{server.url}/dashboard#{token}")
    for question in survey.questions:
        expect(page.get_by_text(question.text).first).to_be_visible()
    assert not person.complaints
