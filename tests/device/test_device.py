"""The device: answers, ledger, explanation, state file. What is asked again is in `test_repeats.py`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from helpers.draws import seeded_bytes
from pldp import Device, Survey
from pldp.budgets import epsilon_text
from pldp.device import Ledger, Spend
from pldp.errors import AnswerError, BudgetError, DeviceStateError, EpsilonError
from pldp.reports import read_report
from pldp.survey import loads

CANARY = "a value that must never be repeated"


def test_a_report_of_every_form_passes_the_collectors_validation(every_form: Survey) -> None:
    device = Device(every_form)
    for question in every_form.questions:
        for level in question.levels:
            for value in question.values:
                report = device.answer(question.name, value, level.name)
                assert read_report(every_form, report.to_json()) == report


def test_asking_again_in_a_round_gives_the_identical_report_whatever_the_answer(commute: Survey) -> None:
    device = Device(commute)
    first = device.answer("mode", "bike", "open")
    for value, level in (("bike", "open"), ("car", "open"), ("bus", "strict")):
        assert device.answer("mode", value, level) == first
    assert device.ledger.total == 2_000_000
    assert device.answered == ("mode",)


def test_two_devices_draw_independently(commute: Survey) -> None:
    outputs = {Device(commute).answer("mode", "bike", "strict").answers[0].output for _ in range(200)}
    assert len(outputs) > 1


def test_the_ledger_refuses_what_would_pass_the_surveys_total(commute: Survey) -> None:
    device = Device(commute)  # total_epsilon = 4
    device.answer_all({"mode": "bike", "late": "yes"}, "open")
    device.withdraw("mode")
    with pytest.raises(BudgetError, match="costs epsilon 0.5 and this survey's total_epsilon leaves 0 of 4"):
        device.answer("mode", "car", "strict")
    assert device.ledger.total == 4_000_000
    assert device.remaining() == "0"


def test_overspending_is_all_or_nothing(commute: Survey) -> None:
    device = Device(commute, cap=3)
    with pytest.raises(BudgetError, match="costs epsilon 4 and the lifetime cap leaves 3 of 3"):
        device.answer_all({"mode": "bike", "late": "yes"}, "open")
    assert device.ledger.total == 0


def test_a_refusal_happens_before_anything_is_drawn(commute: Survey) -> None:
    asked: list[int] = []

    def random(length: int) -> bytes:
        asked.append(length)
        return os.urandom(length)

    device = Device(commute, cap="0.1", random=random)
    asked.clear()
    with pytest.raises(BudgetError):
        device.answer("mode", "bike", "strict")
    assert asked == []


def test_unknown_words_are_refused_without_repeating_the_value(commute: Survey) -> None:
    device = Device(commute)
    for value in (CANARY, 3, None, ["bike"]):
        with pytest.raises(AnswerError, match=r"^value must be one of the 6 labels[^\n]*$") as caught:
            device.answer("mode", value, "strict")
        assert str(value) not in str(caught.value).replace("question 'mode'", "")
    for question, value in (("bike", "mode"), (["bike"], "mode")):  # swapped arguments: the answer is not repeated
        with pytest.raises(AnswerError, match=r"^unknown question; this survey has: mode, late$"):
            device.answer(question, value)
    with pytest.raises(AnswerError, match=r"^unknown level; question 'mode' has: strict, standard, open$"):
        device.answer("mode", "bike", "bike")
    with pytest.raises(AnswerError, match="at least one question"):
        device.answer_all({})
    with pytest.raises(EpsilonError):
        Device(commute, cap=-1)
    assert device.ledger.total == 0


def test_the_strictest_level_is_the_default(commute: Survey) -> None:
    assert Device(commute).answer("mode", "bike").answers[0].level == "strict"


def test_state_survives_a_restart_and_holds_no_raw_value(commute: Survey, tmp_path: Path) -> None:
    state = tmp_path / "device.json"
    first = Device(commute, state=state).answer("mode", "I work at home", "open")
    assert state.stat().st_mode & 0o077 == 0
    later = Device(commute, state=state)
    assert later.answer("mode", "I work at home", "open").answers == first.answers
    assert later.ledger.total == 2_000_000
    assert "work at home" not in state.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["device.json", "device.json.lock"]


def test_a_cap_can_be_tightened_but_not_loosened(commute: Survey, tmp_path: Path) -> None:
    state = tmp_path / "device.json"
    Device(commute, state=state, cap=2).answer("mode", "bike", "open")
    with pytest.raises(BudgetError, match="leaves 0 of 2"):
        Device(commute, state=state, cap=3).answer("late", "yes", "strict")


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"pldp_device": 3}', '{"pldp_device": 2, "secret": 3}', "\x00"])
def test_a_broken_state_file_is_refused_and_kept(commute: Survey, tmp_path: Path, content: str) -> None:
    state = tmp_path / "device.json"
    state.write_text(content)
    with pytest.raises(DeviceStateError, match="device state|pldp_device"):
        Device(commute, state=state)
    assert state.read_text() == content


def test_a_failed_write_loses_nothing_and_charges_nothing(commute: Survey, tmp_path: Path, monkeypatch) -> None:
    state = tmp_path / "device.json"
    device = Device(commute, state=state)
    before = state.read_text()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            device.answer("mode", "bike", "open")
    assert device.ledger.total == 0
    assert state.read_text() == before
    assert device.answer("mode", "bike", "open").answers
    assert device.ledger.total == 2_000_000
    with pytest.raises(DeviceStateError, match="cannot be kept there"):
        Device(commute, state=tmp_path / "gone" / "device.json")


def test_64_threads_on_one_state_file_spend_exactly_what_is_allowed(tmp_path: Path) -> None:
    questions = ",".join(f'{{name="q{number}",values=["x","y"]}}' for number in range(64))
    survey = loads(f'pldp=1\ntitle="t"\nlevels={{a=1}}\nquestions=[{questions}]')
    device = Device(survey, state=tmp_path / "device.json", cap=10)
    outcomes: list[bool] = []

    def answer(number: int) -> None:
        try:
            device.answer(f"q{number}", "x")
            outcomes.append(True)
        except BudgetError:
            outcomes.append(False)

    with ThreadPoolExecutor(64) as pool:
        list(pool.map(answer, range(64)))
    assert sum(outcomes) == 10
    assert Device(survey, state=tmp_path / "device.json").ledger.total == 10_000_000


def test_two_programs_of_one_person_share_cap_and_reports(commute: Survey, tmp_path: Path) -> None:
    state = tmp_path / "device.json"
    one, two = Device(commute, state=state, cap=2), Device(commute, state=state)
    first = one.answer("mode", "bike", "open")
    assert two.answer("mode", "bike", "open").answers == first.answers
    with pytest.raises(BudgetError, match="leaves 0 of 2"):
        two.answer("late", "yes", "strict")


def test_a_cap_is_kept_even_if_nothing_was_spent(commute: Survey, tmp_path: Path) -> None:
    state = tmp_path / "device.json"
    Device(commute, state=state, cap="0.1")
    with pytest.raises(BudgetError, match=r"leaves 0\.1 of 0\.1"):
        Device(commute, state=state).answer("mode", "bike", "strict")


def test_a_planted_file_does_not_loosen_the_permissions(commute: Survey, tmp_path: Path) -> None:
    planted = tmp_path / "device.json.new"
    planted.write_text("")
    planted.chmod(0o644)
    Device(commute, state=tmp_path / "device.json").answer("mode", "bike")
    assert (tmp_path / "device.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("repeat", ["once", "fresh", "tracked"])
def test_a_required_question_is_in_every_report_until_it_is_answered(repeat: str) -> None:
    """Also in the next round, where all but `once` ask it again."""
    question = {"values": ["x", "y"], "mechanism": "krr"}
    questions = [{"name": "p", "required": True, **question}, {"name": "q", **question}, {"name": "r", **question}]
    survey = Survey.read({"pldp": 1, "title": "t", "repeat": repeat, "levels": {"a": 1}, "questions": questions})
    device = Device(survey)
    refusal = pytest.raises(AnswerError, match="question 'p' is required: answer it in the same report")
    with refusal:
        device.answer("q", "x")
    device.answer_all({"p": "x", "q": "x"}, "a")
    assert len(device.answer("r", "x").answers) == 1  # the second report may leave out what is answered
    device.round = 2
    if repeat == "once":
        return
    with refusal:
        device.answer("q", "x")
    assert len(device.answer_all({"p": "x", "q": "x"}, "a").answers) == 2


def test_a_required_question_is_required_again_once_its_answer_is_withdrawn() -> None:
    question = {"values": ["x", "y"], "mechanism": "krr"}
    questions = [{"name": "p", "required": True, **question}, {"name": "q", **question}]
    device = Device(Survey.read({"pldp": 1, "title": "t", "levels": {"a": 1}, "questions": questions}))
    device.answer("p", "x")
    device.withdraw("p")
    with pytest.raises(AnswerError, match="question 'p' is required"):
        device.answer("q", "x")


def test_one_label_serves_all_questions_of_a_level() -> None:
    questions = ",".join(f'{{name="q{number}",values=["x","y"],mechanism="krr"}}' for number in range(10))
    survey = loads(f'pldp=1\ntitle="t"\nhide_level={{epsilon=0.3}}\nlevels={{a=0.5,b=1,c=2}}\nquestions=[{questions}]')
    for seed in range(30):
        device = Device(survey, random=seeded_bytes(seed))
        device.change_cap(level_cap=100)
        report = device.answer_all({f"q{number}": "x" for number in range(10)}, "b")
        assert len({answer.level for answer in report.answers}) == 1
    with pytest.raises(AnswerError, match="must have one level where levels are hidden"):
        Device(survey).answer_all({"q0": "x", "q1": "x"}, {"q0": "a", "q1": "b"})
    assert survey.level_leak() == survey.level_channel.micro_epsilon + 10 * (
        survey.level_leak("q0") - survey.level_channel.micro_epsilon
    )


def test_explain_counts_the_answers_asked_for_and_survives_huge_leaks() -> None:
    values = [str(value) for value in range(1000)]
    questions = [{"name": name, "mechanism": "oue", "values": values} for name in "xyz"]
    levels = {"a": "0.01", "b": "8"}
    document = {"pldp": 1, "title": "t", "ask": 2, "levels": levels, "hide_level": {"epsilon": "1"}}
    survey = loads(json.dumps(document | {"questions": questions}))
    words = Device(survey).explain("a", "x")
    assert "label and all 2 answers at one level" in words
    assert f"at most e^{epsilon_text(survey.level_leak())} times" in words


def test_explain_states_the_odds_of_both_answers(commute: Survey, every_form: Survey) -> None:
    words = Device(commute).explain("standard", "late")
    assert 'answer is "yes", about 73' in words
    assert "something else, about 27" in words
    for question in every_form.questions:
        for level in question.levels:
            text = Device(every_form).explain(level.name, question.name)
            assert "anonym" not in text.lower()
            assert text.count("of 100 people") == 2


def test_a_hidden_level_is_perturbed_and_its_price_tells_nothing() -> None:
    survey = loads(
        'pldp=1\ntitle="t"\nhide_level={epsilon=1}\nlevels={a=0.5,b=1}\n'
        'questions=[{name="q",values=["x","y"],mechanism="krr"},{name="r",values=["x","y"],mechanism="krr"}]'
    )
    shown = []
    for seed in range(400):
        device = Device(survey, random=seeded_bytes(seed))
        shown.append(device.answer("q", "x", "b").answers[0].level)
        (spend,) = device.ledger.spends
        assert spend[1:4] == ("", "", survey.value_and_level_epsilon("q"))
    truth = float(survey.level_channel.truth_support)
    assert abs(shown.count("b") / 400 - truth) < 4.9 * np.sqrt(truth * (1 - truth) / 400)
    with pytest.raises(AnswerError, match="all answers must go into one report where levels are hidden"):
        device.answer("r", "x", "b")


def test_the_ledger_adds_exactly() -> None:
    ledger = Ledger(cap=1_000_000)
    for _ in range(10):
        ledger = ledger.after(Spend("s", "q", "l", 100_000))
    assert ledger.total == 1_000_000
    with pytest.raises(BudgetError):
        ledger.after(Spend("s", "q", "l", 1))


def test_the_device_loads_no_numerical_library() -> None:
    heavy = "{'numpy', 'scipy', 'pyarrow', 'rich', 'cryptography'}"
    code = f"import pldp.device, sys; print(sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_ids_do_not_repeat(commute: Survey) -> None:
    assert len({Device(commute).answer("late", "yes").id for _ in range(2000)}) == 2000


def test_the_record_carries_nothing_but_its_keys(commute: Survey) -> None:
    record = json.loads(Device(commute).answer("mode", "bike").to_json())
    assert record.keys() == {"pldp", "survey", "id", "answers"}
    assert [answer.keys() for answer in record["answers"]] == [{"question", "level", "output"}]
