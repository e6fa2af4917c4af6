"""Asked again: what editions and rounds can learn, receipts, withdrawals, and what a stolen state file tells.

Statistical claims are checked at a stated error rate of 10⁻⁶ each (normal bounds of 4.9 standard errors).
"""

from __future__ import annotations

import json
import math
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from helpers.claims import runs
from helpers.draws import seeded_bytes
from pldp import Device, Survey
from pldp.errors import AnswerError, BudgetError, DeviceStateError, SurveyError
from pldp.mechanisms import epsilon_text
from pldp.reports import report_id
from pldp.survey import hidden_prices, loads, make_key, sign

LABELS = [f"value {number}" for number in range(16)]


def document(**changes: Any) -> dict[str, Any]:
    question = {"name": "q", "text": "What?", "values": LABELS, "mechanism": "krr"}
    return {"pldp": 1, "title": "t", "levels": {"a": 1}, "questions": [question], **changes}


def tracked(**changes: Any) -> dict[str, Any]:
    return document(**{"repeat": "tracked", "questions": [{"name": "q", "values": LABELS}], **changes})


def survey(**changes: Any) -> Survey:
    return Survey.read(document(**changes))


KEY, PUBLIC = make_key()


def signed(**changes: Any) -> Survey:
    return loads(sign(survey(**changes), KEY), trusted_key=PUBLIC)


def edition(number: int, labels: list[str] | None = None) -> dict[str, Any]:
    """The same question in other words, under the same name."""
    return {"name": "q", "text": f"Edition {number}: what?", "values": labels or LABELS, "mechanism": "krr"}


# --- the three rules -------------------------------------------------------------------------------------------------


def test_once_a_later_round_and_a_new_edition_send_nothing(tmp_path: Path) -> None:
    state = tmp_path / "device.json"
    Device(signed(), state=state).answer("q", LABELS[3])
    for again in (Device(signed(), state=state, round=2), Device(signed(title="second edition"), state=state)):
        assert again.answered == ("q",)
        with pytest.raises(AnswerError, match="not answered yet, not q: withdraw that answer to give another"):
            again.answer("q", LABELS[3])
    assert Device(signed(), state=state).ledger.total == 1_000_000


def test_fresh_draws_and_charges_once_per_round(tmp_path: Path) -> None:
    asked, state = survey(repeat="fresh"), tmp_path / "device.json"
    reports = [Device(asked, state=state, round=number).answer("q", LABELS[0]) for number in (1, 1, 2, 3, 3)]
    assert [report.id for report in reports] == [reports[place].id for place in (0, 0, 2, 3, 3)]
    assert len({report.id for report in reports}) == 3
    ledger = Device(asked, state=state, round=3).ledger
    assert [(spend.round, spend.micro_epsilon) for spend in ledger.spends] == [(n, 1_000_000) for n in (1, 2, 3)]


def test_tracked_charges_one_report_first_and_the_instant_price_later(tmp_path: Path) -> None:
    asked, state = Survey.read(tracked()), tmp_path / "device.json"
    for number in (1, 2, 3):
        Device(asked, state=state, round=number).answer("q", LABELS[number])
    question = asked.question("q")
    found = [spend.micro_epsilon for spend in Device(asked, state=state, round=3).ledger.spends]
    assert found == [1_000_000, *[question.instant_charge(0)] * 2]
    assert question.charge(0) < question.instant_charge(0)


@pytest.mark.parametrize("rule", ["fresh", "tracked"])
def test_rounds_do_not_go_back(rule: str, tmp_path: Path) -> None:
    asked, state = Survey.read(document(repeat=rule)), tmp_path / "device.json"
    Device(asked, state=state, round=3).answer("q", LABELS[0])
    with pytest.raises(DeviceStateError, match="round must not go back to 2: this device has answered in 3"):
        Device(asked, state=state, round=2).answer("q", LABELS[0])
    for wrong in (0, -1, True, "2", 1.0):
        with pytest.raises(AnswerError, match="round must be a whole number from 1 on"):
            Device(asked, round=wrong)


def test_a_permanent_output_stays_and_every_report_perturbs_it_anew() -> None:
    """The reports of 400 rounds follow the instant channel around one output, for either of two values."""
    asked = Survey.read(tracked(questions=[{"name": "q", "values": LABELS, "mechanism": "krr", "permanent": 8}]))
    truth = float(asked.question("q").stages[0].instant.truth_support)
    for value in (3, 7):
        device, outputs = Device(asked), []
        device.change_cap(1000)
        for _ in range(400):
            outputs.append(device.answer("q", LABELS[value]).answers[0].output)
            device.round += 1
        most = max(map(outputs.count, set(outputs)))
        assert abs(most / 400 - truth) < 4.9 * math.sqrt(truth * (1 - truth) / 400)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"values": [*LABELS, *map(str, range(10**4))], "mechanism": "krr", "levels": {"a": "0.000001"}}, "too small"),
        ({"values": LABELS, "permanent": "0.5"}, "permanent must be above the epsilon of one report (1)"),
        ({"values": LABELS, "permanent": 21}, "at most 20"),
        ({"values": LABELS, "mechanism": "oue"}, "tracked need one of the mechanisms krr, lh, not 'oue'"),
        ({"values": LABELS, "unprotected": LABELS[:1]}, "labels with budgets of their own cannot be tracked"),
        ({"kind": "number", "low": 0, "high": 1, "mechanism": "sw"}, "tracked need one of the mechanisms sr, not 'sw'"),
    ],
)
def test_what_cannot_be_tracked_is_refused_in_one_line(question: dict[str, Any], words: str) -> None:
    with pytest.raises(SurveyError) as error:
        Survey.read(tracked() | {"questions": [{"name": "q", **question}]})
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_rules_and_keys_that_do_not_fit_are_refused() -> None:
    for content, words in (
        (document(repeat="daily"), "repeat: must be one of once, fresh, tracked"),
        (document(questions=[{"name": "q", "values": LABELS, "permanent": 2}]), 'unless repeat = "tracked"'),
        (
            tracked(hide_level={"epsilon": 1}, levels={"a": 1, "b": 2}),
            "levels cannot be hidden where answers are track",
        ),
    ):
        with pytest.raises(SurveyError) as error:
            Survey.read(content)
        assert words in str(error.value)


def test_a_published_stage_that_does_not_make_the_published_weights_is_refused() -> None:
    built = json.loads(Survey.read(tracked()).canonical)
    built["questions"][0]["weights"]["a"]["other"] += 1
    with pytest.raises(SurveyError, match="weights: must be those that both stages make together"):
        Survey.read(built)
    built = json.loads(Survey.read(tracked()).canonical)
    built["questions"][0]["stages"]["a"]["instant"]["other"] += 1
    with pytest.raises(SurveyError, match="products are whole weights"):
        Survey.read(built)


# --- the attack ------------------------------------------------------------------------------------------------------


class OldMemo:
    """The twin: outputs are kept by name and label, whatever the question says; nothing is charged again."""

    def __init__(self) -> None:
        self._memo: dict[str, object] = {}

    def answer(self, asked: Survey, value: str) -> object:
        channel = asked.question("q").channels[0]
        return self._memo.setdefault(value, channel.draw(LABELS.index(value), os.urandom))


@cache
def cached_edition(make, number: int) -> Survey:
    return make(questions=[edition(number)])


def harmless_then_sensitive(answer) -> float:
    """Share of answers read by asking 15 harmless editions first: each makes the device remember one label's output."""
    people, right = 600, 0
    generator = np.random.default_rng(7)
    for _ in range(people):
        secret = LABELS[generator.integers(16)]
        ask = answer()
        before = {label: ask(number, label) for number, label in enumerate(LABELS)}
        shown = ask(99, secret)
        likely = [label for label in LABELS if before[label] == shown]
        right += bool(likely) and likely[0] == secret
    return right / people


def bayes_success(micro_epsilon: int) -> float:
    """The most that anybody can guess of 16 equally likely answers within this ε: e^ε/(e^ε+15)."""
    odds = math.exp(micro_epsilon / 1e6)
    return odds / (odds + 15)


@pytest.mark.parametrize("make", [survey, signed], ids=["unsigned", "signed"])
def test_no_edition_reads_more_than_the_ledger_says(make) -> None:
    """16 known answers to reworded editions tell nothing about the 17th, which costs ε = 1 as the ledger says."""
    charged = []

    first = make()

    def person():
        device = Device(first)

        def ask(number: int, value: str) -> int:
            device.survey = cached_edition(make, number)
            output = device.answer("q", value).answers[0].output
            charged.append(device.ledger.spends[-1].micro_epsilon)
            return int(output)

        return ask

    found = harmless_then_sensitive(person)
    most = bayes_success(1_000_000)
    assert found < most + 4.9 * math.sqrt(most * (1 - most) / 600)
    assert set(charged) == {1_000_000}


@pytest.mark.parametrize(("mechanism", "least"), [("krr", 0.5), ("oue", 0.97)])
def test_the_old_memo_is_caught_by_the_same_attack(mechanism: str, least: float) -> None:
    asked = survey(questions=[{"name": "q", "values": LABELS, "mechanism": mechanism}])

    def person():
        memo = OldMemo()
        return lambda _, value: memo.answer(asked, value)

    # Labels whose first outputs agree cannot be told apart; all others are read with certainty.
    assert harmless_then_sensitive(person) > least


def test_relabelled_and_reordered_editions_are_refused_under_one_name_or_charged() -> None:
    """Signed: the name is known with other labels. Unsigned: another survey, another draw, the same account."""
    reordered = [*LABELS[1:], LABELS[0]]
    device = Device(signed())
    device.answer("q", LABELS[0])
    device.survey = signed(questions=[edition(0, reordered)])
    with pytest.raises(AnswerError, match="'q' had other answers to choose from .* needs another name"):
        device.answer("q", LABELS[0])
    device = Device(survey(), cap=2)
    for number in range(2):
        device.survey = survey(questions=[edition(number, reordered)])
        device.answer("q", LABELS[0])
    device.survey = survey(questions=[edition(2, LABELS)])
    with pytest.raises(BudgetError, match="lifetime cap leaves 0 of 2"):
        device.answer("q", LABELS[0])


def test_unknown_signers_share_one_account_and_trusted_ones_have_their_own() -> None:
    device = Device(signed())
    device.answer("q", LABELS[0])
    for _ in range(20):
        private, _ = make_key()
        device.survey = loads(sign(survey(), private))
        device.answer("q", LABELS[0])
    private, _ = make_key()
    device.survey = loads(sign(survey(), private))
    with pytest.raises(BudgetError, match="lifetime cap leaves 0 of 20"):
        device.answer("q", LABELS[0])
    assert device.ledger.spent_by(PUBLIC) == 1_000_000


# --- picks -----------------------------------------------------------------------------------------------------------


def test_picks_of_two_editions_and_of_two_rounds_are_independent() -> None:
    """χ² of the 10 × 10 table of picks: error rate 10⁻⁶ (81 degrees of freedom)."""
    names = [f"q{number}" for number in range(10)]
    questions = [{"name": name, "values": ["x", "y"]} for name in names]
    first, second = (survey(ask=1, title=title, questions=questions) for title in ("one", "two"))

    def statistic(one, two) -> float:
        table = np.zeros((10, 10))
        for seed in range(runs(1500, 4000)):
            picks = [Device(asked, round=number, random=seeded_bytes(seed)) for asked, number in (one, two)]
            row, column = (names.index(pick.asked[0]) for pick in picks)
            table[row, column] += 1
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        return float(((table - expected) ** 2 / expected).sum())

    limit = stats.chi2.isf(1e-6, 81)
    assert statistic((first, 1), (second, 1)) < limit
    assert statistic((first, 1), (first, 2)) < limit
    assert statistic((first, 1), (first, 1)) > limit  # the same edition and round: the same pick


def test_questions_that_later_picks_add_are_charged_and_capped(tmp_path: Path) -> None:
    questions = [{"name": f"q{number}", "values": ["x", "y"]} for number in range(10)]
    asked, state = survey(ask=1, questions=questions), tmp_path / "device.json"
    for number in range(1, 60):
        device = Device(asked, state=state, cap=3, round=number)
        with suppress(BudgetError):
            if device.asked[0] not in device.answered:
                device.answer(device.asked[0], "x")
    assert device.ledger.total == 3_000_000
    assert len({spend.question for spend in device.ledger.spends}) == 3


# --- receipts and withdrawal -----------------------------------------------------------------------------------------


def test_a_receipt_is_the_secret_behind_the_id_and_survives_a_lost_answer(tmp_path: Path) -> None:
    state = tmp_path / "device.json"
    report = Device(survey(), state=state).answer("q", LABELS[0])
    receipt = Device(survey(), state=state).receipt(report)
    assert report_id(report.survey, receipt) == report.id
    assert receipt not in report.to_json()
    with pytest.raises(AnswerError, match="report must be one that this device has made"):
        Device(survey()).receipt(report)


def test_withdrawing_opens_the_question_again_at_a_new_price() -> None:
    device = Device(survey())
    first = device.answer("q", LABELS[0])
    assert device.withdraw("q") == device.receipt(first)
    with pytest.raises(AnswerError, match="question must be one that this device has answered"):
        device.withdraw("q")
    second = device.answer("q", LABELS[1])
    assert second.id != first.id
    assert device.ledger.total == 2_000_000


# --- the state file --------------------------------------------------------------------------------------------------


def test_a_state_file_tells_no_more_than_the_reports(tmp_path: Path) -> None:
    """The file is a function of secret and report: whoever tries all labels finds one file for all that fit."""
    files: dict[int, set[str]] = {}
    asked = survey()
    for value in LABELS:
        for drawn in range(0, 256, 15):
            stream = iter([bytes(range(32)), bytes(6) + bytes([drawn])])
            state = tmp_path / "device.json"
            state.unlink(missing_ok=True)
            report = Device(asked, state=state, random=lambda _, stream=stream: next(stream)).answer("q", value)
            files.setdefault(int(report.answers[0].output), set()).add(state.read_text())
    assert len(files) == 16
    assert {len(contents) for contents in files.values()} == {1}


def test_of_a_tracked_answer_file_and_report_together_tell_the_instant_epsilon() -> None:
    """The secret gives the permanent outputs; then a report is a draw from the instant channel, as stated."""
    question = Survey.read(tracked()).question("q")
    stages = question.stages[0]
    assert question.instant_charge(0) == stages.instant.micro_epsilon
    table = [[stages.instant.probability(y, b) for b in range(stages.instant.size)] for y in stages.instant.outputs()]
    worst = max(math.log(max(row) / min(row)) for row in table)
    assert worst <= question.instant_charge(0) / 1e6 < worst + 2e-6


def test_links_old_copies_and_lost_files_are_refused(tmp_path: Path) -> None:
    state, link = tmp_path / "device.json", tmp_path / "link.json"
    device = Device(survey(repeat="fresh"), state=state)
    old = state.read_text()
    device.answer("q", LABELS[0])
    link.symlink_to(state)
    with pytest.raises(DeviceStateError, match="must be a file, not a symbolic link"):
        Device(survey(), state=link)
    state.write_text(old)
    with pytest.raises(DeviceStateError, match="is older than what this program has sent"):
        device.answer("q", LABELS[0])
    state.unlink()
    with pytest.raises(DeviceStateError, match="is gone; a new state would forget"):
        device.answer("q", LABELS[0])


def test_a_state_of_the_version_before_keeps_its_spends_and_loses_its_memo(tmp_path: Path) -> None:
    state = tmp_path / "device.json"
    spend = {"survey": "ab" * 32, "question": "q", "level": "a", "micro_epsilon": 19_500_000}
    memo = {"00" * 32: 3}
    state.write_text(json.dumps({"pldp_device": 1, "secret": "11" * 32, "cap": None, "ledger": [spend], "memo": memo}))
    with pytest.raises(BudgetError, match="costs epsilon 1 and the lifetime cap leaves 0.5 of 20"):
        Device(survey(), state=state).answer("q", LABELS[0])


def test_only_the_person_can_loosen_the_cap(tmp_path: Path) -> None:
    state = tmp_path / "device.json"
    Device(survey(), state=state, cap="0.5")
    device = Device(survey(), state=state, cap=30)
    assert epsilon_text(device.ledger.cap) == "0.5"
    device.change_cap(30)
    assert epsilon_text(Device(survey(), state=state).ledger.cap) == "30"
    assert "stops at ε = 30" in device.explain()


# --- words -----------------------------------------------------------------------------------------------------------


def test_explain_states_the_price_of_every_rule() -> None:
    assert "Asked again, you send the same report or none." in Device(survey()).explain()
    assert "Every round is a new draw and costs ε = 1 again." in Device(survey(repeat="fresh")).explain()
    asked = Survey.read(tracked())
    question = asked.question("q")
    words = Device(asked).explain()
    for part in (
        "one report ε = 1;",
        f"an answer that never changes, however often it is asked ε = {epsilon_text(question.permanent_charge(0))};",
        f"every round in which two life stories differ ε = {epsilon_text(question.instant_charge(0))}.",
        "Your device stops at ε = 20",
    ):
        assert part in words


def test_what_was_asked_once_is_not_asked_again_under_another_rule() -> None:
    device = Device(signed())
    device.answer("q", LABELS[0])
    device.survey = signed(repeat="fresh")
    with pytest.raises(AnswerError, match="not answered yet, not q"):
        device.answer("q", LABELS[0])


def test_a_hidden_survey_does_not_mind_another_one_of_the_same_signer(tmp_path: Path) -> None:
    questions = [{"name": "r", "values": ["x", "y"], "mechanism": "krr"}]
    hidden = signed(levels={"a": 1, "b": 2}, hide_level={"epsilon": 1}, questions=questions)
    state = tmp_path / "device.json"
    Device(signed(), state=state).answer("q", LABELS[0])
    assert Device(hidden, state=state).answer("r", "x", "a").answers[0].question == "r"


def test_of_hidden_levels_the_price_that_is_told_is_the_one_that_is_charged() -> None:
    questions = [{"name": "r", "values": ["x", "y"], "mechanism": "krr"}]
    hidden = survey(levels={"a": 1, "b": 2}, hide_level={"epsilon": 1}, questions=questions, repeat="fresh")
    device = Device(hidden)
    first, later = (micro for _, micro in hidden_prices(hidden, hidden.question("r")))
    words = f"the first costs ε = {epsilon_text(first)} with the label, every further one ε = {epsilon_text(later)}."
    assert words in device.explain("a")
    device.answer("r", "x", "a")
    assert device.ledger.total == first
    device.round = 2
    device.answer("r", "x", "b")
    assert device.ledger.total == first + later


@pytest.mark.parametrize("state", [None, "device.json"])
def test_no_program_starts_a_state_above_the_default_cap(state: str | None, tmp_path: Path) -> None:
    path = None if state is None else tmp_path / state
    assert Device(survey(), state=path, cap=1000).ledger.cap == 20_000_000


@pytest.mark.parametrize(("kind", "mechanism"), [("choice", "sr"), ("number", "krr")])
def test_stages_of_another_kind_are_refused(kind: str, mechanism: str) -> None:
    keys = {"choice": {"values": LABELS}, "number": {"low": 0, "high": 1, "buckets": 16}}
    other = "number" if kind == "choice" else "choice"
    made = Survey.read(tracked(questions=[{"name": "q", "kind": other, **keys[other], "mechanism": mechanism}]))
    spelled = json.loads(made.canonical)
    question = {key: content for key, content in spelled["questions"][0].items() if key not in keys[other]}
    spelled["questions"] = [{**question, "kind": kind, **keys[kind]}]
    spelled["questions"][0].pop("outside", None)
    with pytest.raises(SurveyError, match="mechanism must be one of"):
        Survey.read(spelled)
