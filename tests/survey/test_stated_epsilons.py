"""Every ε that is stated about a report equals a brute-force enumeration, for 300 random surveys of all kinds.

Two people are compared who answer the same questions. An answer is *protected* if it has a budget; sets are compared
that agree in the labels without one. What is stated must be neither below the enumeration nor above it, beyond rounding
up to a millionth for each part: each label, each other answer, and the level.
"""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from helpers.claims import runs
from pldp import Device, Survey, audit
from pldp.cli import main
from pldp.collector.static import assets
from pldp.design import look
from pldp.epsilon import MICRO
from pldp.errors import BudgetError, SurveyError
from pldp.mechanisms import pair_evidence
from pldp.survey import Choice, Choices, Question, report_epsilon, report_price
from pldp.survey.hidden_prices import dearest_price

SURVEYS = 300


def random_question(rng: random.Random, place: int) -> dict[str, Any]:
    kind = rng.choice(["choice", "choices", "choices", "number"])
    question: dict[str, Any] = {"name": f"q{place}", "kind": kind}
    if kind == "number":
        return {
            **question,
            "low": 0,
            "high": 8,
            "buckets": rng.choice([4, 8]),
            "purpose": rng.choice(["mean", "distribution"]),
        }
    labels = ["a", "b", "c", "d"][: rng.randint(2, 4)]
    question["values"] = labels
    if kind == "choices":
        if rng.random() < 0.6:
            question["at_most"] = rng.randint(1, len(labels) - 1)
        if rng.random() < 0.3:
            question["exclusive"] = rng.sample(labels, 1)
        if rng.random() < 0.3:
            return {**question, "budget": "set"}
    if rng.random() < 0.5:
        question["unprotected"] = rng.sample(labels, rng.randint(1, len(labels) - 1))
    if rng.random() < 0.5:
        protected = [label for label in labels if label not in question.get("unprotected", ())]
        question["fractions"] = {rng.choice(protected): rng.choice(["1/2", "3/4"])}
    if kind == "choices" and rng.random() < 0.5:
        protected = [label for label in labels if label not in question.get("unprotected", ())]
        for side, chance in (("ticked", 0.8), ("unticked", 0.2)):
            question[side] = {label: rng.choice(["1/4", "1/2"]) for label in protected if rng.random() < chance}
    return question


@cache
def random_surveys() -> tuple[Survey, ...]:
    rng = random.Random("stated")  # noqa: S311 - the same surveys every time
    surveys: list[Survey] = []
    while len(surveys) < runs(60, SURVEYS):
        hidden = rng.random() < 0.4
        count = rng.randint(1, 3)
        levels = {"strict": rng.choice([0.5, 0.7]), "open": rng.choice([1, 1.5])}
        document: dict[str, Any] = {
            "pldp": 1,
            "title": "t",
            "levels": levels,
            "questions": [random_question(rng, place) for place in range(count)],
        }
        if hidden:
            document["hide_level"] = {"epsilon": rng.choice([0.5, 1])}
        if rng.random() < 0.3:
            document["total_epsilon"] = rng.choice([2, 3, 6])
        if count > 1 and rng.random() < 0.3:
            document["ask"] = count - 1
        try:
            surveys.append(Survey.read(document))
        except SurveyError:
            continue
    return tuple(surveys)


def answers(question: Question) -> list[int]:
    """Every answer that may be given, as its channel knows it."""
    if not isinstance(question, Choices):
        return list(range(question.size))
    sets = range(1 << question.size)
    most = question.at_most or question.size
    ticked = {value: [place for place in range(question.size) if value >> place & 1] for value in sets}
    return [value for value in sets if len(ticked[value]) <= most and not question.clashes(ticked[value])]


def compared(question: Question, level: int) -> Iterator[tuple[int, int]]:
    """Pairs of answers between which ε is promised."""
    promises = question.promises(level)
    for one, two in product(answers(question), repeat=2):
        if isinstance(question, Choices) and len(promises) > 1:
            unprotected = sum(1 << place for place, budget in enumerate(promises) if budget == math.inf)
            if not (one ^ two) & unprotected:
                yield one, two
        elif not isinstance(question, Choice) or len(promises) == 1 or promises[one] < math.inf or one == two:
            yield one, two


@cache
def told(question: Question, level: int, other: int, *, same: bool = False) -> float:
    """ln max Q_level(y|x)/Q_other(y|x') over outputs and answers that are compared; with `same`, x' = x."""
    mine, theirs = question.channels[level], question.channels[other]
    pairs = [pair for pair in compared(question, level) if not same or pair[0] == pair[1]]
    return max(
        math.log(mine.probability(output, one) / theirs.probability(output, two))
        for output in mine.outputs()
        for one, two in pairs
        if mine.probability(output, one)
    )


def enumerate_report(survey: Survey, level: str) -> float:
    """ε of a whole report: the most over all sets of questions that a person may be asked and can pay for."""
    label, total = survey.level_channel, survey.total_micro_epsilon
    places = {question.name: survey.level_for(question, level) for question in survey.questions}
    asked = [question for question in survey.questions if places[question.name] is not None]
    most = 0.0
    for count in range(1, (survey.ask or len(asked)) + 1):
        for some in combinations(asked, count):
            if label is None:
                if total is None or sum(question.charge(places[question.name]) for question in some) <= total:
                    most = max(
                        most, sum(told(question, places[question.name], places[question.name]) for question in some)
                    )
                continue
            if total is not None and report_price(survey, some, new_label=True) > total:
                continue
            for one, two in product(range(len(survey.levels)), repeat=2):
                shown = max(math.log(label.probability(y, one) / label.probability(y, two)) for y in label.outputs())
                most = max(most, shown + sum(told(question, one, two) for question in some))
    return most


def rounding(survey: Survey) -> float:
    """A millionth for each label of a set with an ε per label, for each other answer, and for the level."""
    sets = (question for question in survey.questions if isinstance(question, Choices) and not question.whole)
    return (1 + len(survey.questions) + sum(question.size for question in sets)) / MICRO


def close(stated: float, enumerated: float, survey: Survey) -> bool:
    return -1e-9 <= stated - enumerated <= rounding(survey)


def test_the_whole_report_is_stated_as_enumerated_in_python() -> None:
    """`report_epsilon`, which the kit, `pldp new` and `survey check` print."""
    wrong = []
    for survey in random_surveys():
        for level, reveals in zip(survey.levels, look(survey)["reveals"], strict=True):
            exact = enumerate_report(survey, level.name)
            stated = report_epsilon(survey, level.name) / MICRO
            assert float(reveals["epsilon"]) == stated
            if not close(stated, exact, survey):
                wrong.append((survey, level.name, stated, exact))
    assert not wrong


def test_a_statement_that_leaves_out_questions_with_unprotected_labels_is_found() -> None:
    """The twin: as notices once said it."""
    understated = 0
    for survey in random_surveys():
        if survey.level_channel is None and survey.total_micro_epsilon is None and survey.ask is None:
            kept = [question for question in survey.questions if not question.provable(0)]
            former = sum(question.charge(0) for question in kept) / MICRO
            understated += former < enumerate_report(survey, survey.levels[0].name) - 1e-3
    assert understated > 3


def test_former_statements_about_these_corners_are_found() -> None:
    """The twin: with sets that cannot be ticked, with the larger side of each label, and with the whole total."""
    any_set = larger_side = whole_total = 0
    for survey in random_surveys():
        places = range(len(survey.levels))
        for question in survey.questions:
            for one, two in product(places, repeat=2) if survey.level_channel is not None else ():
                former = pair_evidence(question.channels)[one][two] / MICRO
                any_set += one != two and not close(former, told(question, one, two), survey)
            if isinstance(question, Choices) and question.sides:
                former = question.largest_difference(question.promises(0)) / MICRO
                larger_side += not close(former, told(question, 0, 0), survey)
        total, exact = survey.total_micro_epsilon, enumerate_report(survey, survey.levels[0].name)
        if survey.level_channel is not None and total is not None and dearest_price(survey) > total:
            whole_total += not close(total / MICRO, exact, survey)
    assert min(any_set, larger_side, whole_total) > 0, (any_set, larger_side, whole_total)


PAGE = """
import { readFileSync } from "node:fs";
import { openDevice, readSurvey } from "./pages/device/index.js";
import { dearest, openBudget, openLevels } from "./pages/levels.js";

const told = [];
for (const text of JSON.parse(readFileSync("surveys.json", "utf8"))) {
	const survey = await readSurvey(text);
	const device = await openDevice(survey);
	await device.changeCap(1000, { levelCap: 1000 });
	const budget = await openBudget(device, Math.min(survey.total, 1e9), false);
	const levels = openLevels(survey, device.asked.map((name) => survey.question(name)), budget);
	const stated = Object.fromEntries(levels.map(({ name, answers }) => [name, dearest(answers, budget)]));
	const offered = levels.map(({ answers }) => answers.map(({ question }) => question.name));
	told.push({ asked: device.asked, levels: stated, offered,
		proved: levels.map(({ answers }) => answers.flatMap(({ question, level }) =>
			level.open.map((place) => [question.name, question.values[place], level.channel.proof(place)]))) });
}
console.log(JSON.stringify(told));
"""


def page_statements(surveys: tuple[Survey, ...], folder: Path) -> list[dict[str, Any]]:
    """What the survey page says of a whole report, by its own modules in Node."""
    for path, asset in assets().items():
        if path.startswith("/pages/") and path.endswith(".js") and "/bundle/" not in path:
            file = folder / path.removeprefix("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(asset.body)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "page.js").write_text(PAGE)
    (folder / "surveys.json").write_text(json.dumps([survey.canonical.decode() for survey in surveys]))
    node = shutil.which("node")
    assert node is not None
    return json.loads(subprocess.run([node, "page.js"], cwd=folder, check=True, capture_output=True, text=True).stdout)


def test_the_page_states_the_whole_report_and_what_it_proves_as_enumerated(tmp_path: Path) -> None:
    surveys = random_surveys()
    for survey, page in zip(surveys, page_statements(surveys, tmp_path), strict=True):
        asked = Survey.read({**json.loads(survey.canonical), "questions": [
            question for question in json.loads(survey.canonical)["questions"] if question["name"] in page["asked"]
        ]} | {"ask": len(page["asked"])})  # fmt: skip
        for level, stated in page["levels"].items():
            exact = enumerate_report(asked, level)
            assert close(stated / MICRO, exact, survey)
        for level, proofs, offered in zip(page["levels"], page["proved"], page["offered"], strict=True):
            expected = [
                [question.name, label, pytest.approx(float(chance))]
                for question in asked.questions
                if question.name in offered
                for label, chance in question.provable(survey.level_for(question, level))
            ]
            assert proofs == expected


def test_what_can_be_proved_is_what_enumeration_proves() -> None:
    """Of a label without protection: how often a report comes that no other answer makes."""
    seen = 0
    for survey in random_surveys():
        for question in survey.questions:
            for level, channel in enumerate(question.channels):
                for label, chance in question.provable(level):
                    place = question.value_index(label)
                    value = 1 << place if isinstance(question, Choices) else place
                    others = (
                        [each for each in range(1 << question.size) if not each >> place & 1]
                        if isinstance(question, Choices)
                        else [each for each in range(question.size) if each != place]
                    )
                    proving = [
                        output
                        for output in channel.outputs()
                        if not any(channel.probability(output, x) for x in others)
                    ]
                    assert sum(channel.probability(output, value) for output in proving) == chance > 0
                    seen += 1
    assert seen > 10


def test_the_ledger_charges_what_is_enumerated_and_never_less() -> None:
    for survey in random_surveys():
        for level in survey.levels:
            device = Device(survey)
            device.change_cap(1000, level_cap=1000)
            asked = [survey.question(name) for name in device.asked]
            given = [question for question in asked if survey.level_for(question, level.name) is not None]
            names = {question.name: question.levels[survey.level_for(question, level.name)].name for question in given}
            values = {question.name: _value(question) for question in given}
            try:
                device.answer_all(values, names if survey.level_channel is None else level.name)
            except BudgetError:
                assert survey.total_micro_epsilon is not None
                continue
            alone = Survey.read({
                **json.loads(survey.canonical), "ask": len(given),
                "questions": [each for each in json.loads(survey.canonical)["questions"] if each["name"] in values],
            })  # fmt: skip
            assert close(device.ledger.total / MICRO, enumerate_report(alone, level.name), survey)


def _value(question: Question) -> Any:
    if isinstance(question, Choices):
        return list(question.values[:1])
    return question.values[0] if isinstance(question, Choice) else 1


def test_audit_and_check_print_what_is_enumerated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows of the audit, of which the certificate is made, and the numbers of `pldp survey check`."""
    for number, survey in enumerate(random_surveys()[:40]):
        found = audit(survey, samples=0)
        rows = {(row.question, row.level): row for row in found.rows if row.rounds == 3}
        survey.save(tmp_path / f"{number}.json")
        assert main(["survey", "check", str(tmp_path / f"{number}.json"), "--json", "-"]) == 0
        checked = json.loads(capsys.readouterr().out)
        stated = {(row["question"], row["level"]): float(row["answer_epsilon"]) for row in checked["channels"]}
        for question in survey.questions:
            for place, level in enumerate(question.levels):
                exact = told(question, place, place) * (3 if survey.repeat == "fresh" else 1)
                row = rows[question.name, level.name]
                assert row.exact == pytest.approx(exact, abs=1e-5)
                assert row.verdict == "exact"
                assert close(stated[question.name, level.name], told(question, place, place), survey)
                proofs = [note for note in row.notes if "can be proved" in note]
                assert len(proofs) == len(question.provable(place))
        for level in survey.levels:
            assert float(checked["whole_report"][level.name]) == report_epsilon(survey, level.name) / MICRO
        if survey.level_channel is not None:
            whole = next(row for row in found.rows if row.mechanism == "label over editions").details["whole_report"]
            assert close(float(whole), enumerate_report(survey, survey.levels[0].name), survey)
        assert main(["survey", "check", str(tmp_path / f"{number}.json")]) == 0
        printed = capsys.readouterr().out
        assert not re.search(r"ε = infinite|ε infinite", printed)
        proved = {label for question in survey.questions for label, _ in question.provable(0)}
        assert all(f"an answer {label!r} can be proved" in " ".join(printed.split()) for label in proved)


def test_what_a_device_explains_is_what_is_enumerated() -> None:
    """The ε of an answer where one promise covers it, of all boxes, of the level, and of answer and level."""
    seen = 0
    for survey in random_surveys():
        label = survey.level_channel
        for question in survey.questions:
            for place, level in enumerate(question.levels):
                words = Device(survey).explain(level.name, question.name)
                stated = [float(number) for number in re.findall(r"ε = (\d+(?:\.\d+)?)", words)]
                one_promise = len(question.promises(place)) == 1
                if one_promise or isinstance(question, Choices):
                    exact = told(question, place, place)
                    assert any(close(number, exact, survey) for number in stated), words
                    seen += 1
                if label is None:
                    continue
                about_level, pair = (
                    float(re.search(pattern, words.replace("\n", " "))[1])
                    for pattern in (
                        r"between any two levels at most [^(]*\(ε = (\d+(?:\.\d+)?)",
                        r"pairs of answer and level, at most [^(]*\(ε = (\d+(?:\.\d+)?)",
                    )
                )
                ways = list(product(range(len(survey.levels)), repeat=2))
                shown = {
                    way: max(
                        math.log(label.probability(y, way[0]) / label.probability(y, way[1])) for y in label.outputs()
                    )
                    for way in ways
                }
                leaks = (
                    shown[one, two] + sum(told(each, one, two, same=True) for each in some)
                    for one, two in ways
                    if one != two
                    for some in combinations(survey.questions, survey.ask or len(survey.questions))
                )
                assert close(about_level, max(leaks), survey)
                exact = max(shown[one, two] + told(question, one, two) for one, two in ways)
                assert close(pair, exact, survey)
    assert seen > 50
