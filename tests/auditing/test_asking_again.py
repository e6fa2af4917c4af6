"""Asked again: both devices keep the three rules, and devices that do not are caught."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.claims import runs
from helpers.power import tamper
from pldp import Device, Survey
from pldp.auditing import AuditSettings, JavaScript, audit, certificate_page, exact_sequence, stated_sequence
from pldp.auditing.asking import ROUNDS
from pldp.auditing.sequences import to_array, tracked_stories
from pldp.auditing.stories import MODES, PEOPLE, insistent_story, replay, rule_fault
from pldp.auditing.surveys import audit_survey
from pldp.cli import main
from pldp.reports import Report

UNTIMED = AuditSettings(timed=False)
RULES = ["once", "fresh", "tracked"]


def survey(repeat: str, **question: Any) -> Survey:
    asked = {"name": "q", "values": ["a", "b", "c", "d"], "mechanism": "krr", **question}
    return Survey.read({"pldp": 1, "title": "t", "repeat": repeat, "levels": {"one": 1}, "questions": [asked]})


def fault(asked: Survey, device: type[Device] = Device, mode: str = "memory") -> str | None:
    stories = [insistent_story([{"q": "a"}, {"q": "b"}], ["one", "one"])] * PEOPLE[mode]
    return rule_fault(asked, asked.questions[0], stories, [replay(device, asked, story, mode) for story in stories])


def says(report: Report, output: Any) -> Report:
    return replace(report, answers=(replace(report.answers[0], output=output),))


class Forgetful(Device):
    """Draws anew whenever it is asked."""

    def answer_all(self, values, levels=None) -> Report:
        drawn = Device(self.survey).answer_all(values, levels)
        return says(super().answer_all(values, levels), drawn.answers[0].output)


class ByValue(Device):
    """The old memo: outputs are kept by value, whatever was sent before."""

    def answer_all(self, values, levels=None) -> Report:
        (value,) = values.values()
        drawn = Device(self.survey).answer_all(values, levels).answers[0].output
        return says(super().answer_all(values, levels), self.__dict__.setdefault("kept", {}).setdefault(value, drawn))


class Greedy(Device):
    """Charges every request."""

    def answer_all(self, values, levels=None) -> Report:
        report = super().answer_all(values, levels)
        self._state.ledger = self.ledger.after(self.ledger.spends[0])
        return report


def deaf(rule: str) -> type[Device]:
    """Make a device that follows this rule, whatever the survey says."""

    class Deaf(Device):
        def __init__(self, survey: Survey, **options: Any) -> None:
            super().__init__(replace(survey, repeat=rule), **options)

    return Deaf


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rule", RULES)
def test_the_device_keeps_its_rule_wherever_its_state_is(rule: str, mode: str) -> None:
    assert fault(survey(rule), mode=mode) is None


@pytest.mark.parametrize(
    ("device", "rule", "words"),
    [
        (Forgetful, "once", "with this answer or another, the device sends another report"),
        (ByValue, "once", "with this answer or another, the device sends another report"),
        (ByValue, "fresh", "with this answer or another, the device sends another report"),
        (ByValue, "tracked", "with this answer or another, the device sends another report"),
        (Greedy, "once", "was charged 2 in all, and what was sent costs 1"),
        (deaf("fresh"), "once", 'round 2: the device sends a report, though repeat = "once"'),
        (deaf("once"), "fresh", "round 2: the device sends nothing, though repeat = 'fresh'"),
    ],
)
def test_a_device_that_breaks_the_rule_is_caught(device: type[Device], rule: str, words: str) -> None:
    found = fault(survey(rule), device)
    assert found is not None
    assert words in found


class ByRoundAndValue(Device):
    """A memo by value that hides within a round: only stories over rounds show it."""

    def answer_all(self, values, levels=None) -> Report:
        report = super().answer_all(values, levels)
        kept = self.__dict__.setdefault("kept", {})
        (value,) = values.values()
        output = kept.setdefault(value, report.answers[0].output)
        return says(report, self.__dict__.setdefault("rounds", {}).setdefault(self.round, output))


def test_samples_of_stories_catch_a_memo_that_a_single_device_does_not_show() -> None:
    """Whether an answer changed shows with certainty, and no finite ε holds; the same device without it holds."""
    asked = survey("fresh")
    assert not audit(asked, samples=200, settings=UNTIMED).refuted
    one, sequence = audit(asked, samples=200, settings=replace(UNTIMED, device=ByRoundAndValue)).rows
    assert not any(bound.refutes for bound in one.bounds)
    assert sequence.sampled.refutes  # by the answers that are the same, or by the bytes or outputs that show it: chance


class Copying(Device):
    """Sends in every round what it drew in the first: it tells less, but is not what the rule says."""

    def answer_all(self, values, levels=None) -> Report:
        report = super().answer_all(values, levels)
        return says(report, self.__dict__.setdefault("first", report.answers[0].output))


def test_under_fresh_a_draw_that_is_sent_again_is_caught() -> None:
    _, sequence = audit(survey("fresh"), samples=300, settings=replace(UNTIMED, device=Copying)).rows
    assert "two rounds of one person agree for 100%" in sequence.refutations[0]


@pytest.mark.parametrize("rule", RULES)
def test_a_survey_has_an_exact_row_of_its_sequences_for_every_question_and_level(rule: str) -> None:
    panel = Survey.load("examples/panel.toml")
    plain = tuple(replace(each, stages=()) for each in panel.questions)
    asked = panel if rule == "tracked" else replace(panel, repeat=rule, questions=plain)
    rows = [row for row in audit(asked, samples=0).rows if row.rounds == ROUNDS]
    assert [(row.question, row.level) for row in rows] == [
        (each.name, level.name) for each in asked.questions for level in each.levels
    ]
    for row in rows:
        question = asked.question(row.question)
        level = question.find_level(row.level)
        assert row.exact == exact_sequence(rule, question, level, ROUNDS)
        assert row.claimed == stated_sequence(rule, question, level, ROUNDS) / 1e6
        assert row.exact <= row.claimed + 1e-9
        assert row.verdict == "exact"
        assert row.details["repeat"] == rule


def test_a_sequence_that_costs_more_than_is_charged_is_refuted(monkeypatch) -> None:
    monkeypatch.setattr("pldp.auditing.asking.stated_sequence", lambda *_: 2_500_000)
    _, row = audit(survey("fresh"), samples=0).rows
    assert row.refutations == ("3 rounds tell 3.000000, above the 2.5 that is charged",)


def test_a_label_without_protection_is_noted_and_refutes_nothing() -> None:
    _, row = audit(survey("once", mechanism="iprr", unprotected=["d"]), samples=0).rows
    assert not row.refuted
    (note,) = row.notes
    assert note.startswith("an answer 'd' can be proved: ")
    assert row.exact == row.claimed


def test_many_outputs_are_judged_by_those_that_can_differ() -> None:
    """Of k-RR over 5 labels, three labels and two others are all; over 9 and 500 the others are alike."""
    for size in (5, 9, 500):
        asked = survey("tracked", values=[f"v{place}" for place in range(size)])
        question = asked.questions[0]
        assert (
            1 < exact_sequence("tracked", question, 0, ROUNDS) <= stated_sequence("tracked", question, 0, ROUNDS) / 1e6
        )
    whole = survey("tracked", values=[f"v{place}" for place in range(9)]).questions[0]
    found = exact_sequence("tracked", whole, 0, 2)
    ((first, second),) = whole.stages[0].parts()
    table = to_array(first)[[0, 4, 8]]
    assert found == pytest.approx(tracked_stories(table, to_array(second), 2).epsilons().max(), abs=1e-12)


def test_rows_of_sequences_are_in_json_terminal_and_certificate(capsys) -> None:
    assert main(["audit", "examples/panel.toml", "--samples", "0", "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["rounds"] for row in rows] == [1, 3] * 6
    assert "one report" in rows[1]["details"]["prices"]
    assert main(["audit", "examples/panel.toml", "--samples", "0"]) == 0
    assert "krr, 3 rounds" in capsys.readouterr().out
    found = audit(Survey.load("examples/panel.toml"), samples=0)
    assert "krr, 3 rounds" in certificate_page(found)
    assert "krr, 3 rounds" in found._repr_html_()


def test_dear_answers_are_audited_past_the_default_cap() -> None:
    asked = Survey.read(
        {
            "pldp": 1,
            "title": "t",
            "levels": {"one": 1},
            "questions": [{"name": "q", "kind": "choices", "values": [f"v{place}" for place in range(30)]}],
        }
    )
    assert not audit(asked, samples=100, settings=UNTIMED).refuted


@pytest.mark.parametrize("rule", RULES if runs(0, 1) else ["fresh"])
def test_the_javascript_device_keeps_its_rule(rule: str, client: JavaScript) -> None:
    settings = AuditSettings(timed=False, javascript=client, only=("q", "one", "javascript"))
    rows = audit(survey(rule, values=["a", "b"]), samples=100, settings=settings).rows
    assert [(row.device, row.rounds) for row in rows] == [("javascript", 1), ("javascript", ROUNDS)]
    assert not any(row.refuted for row in rows)


def test_a_javascript_device_that_forgets_is_caught(client: JavaScript, tmp_path: Path) -> None:
    broken = tamper(client, tmp_path / "js", "{ store: storeOf(number), round }", "{ round }")
    settings = AuditSettings(timed=False, javascript=broken, only=("q", "one", "javascript"))
    row = next(audit_survey(survey("once", values=["a", "b"]), 100, settings, sequences=False))
    assert (row.device, row.rounds) == ("javascript", 1)
    assert any("the device sends another report" in words for words in row.refutations)
