"""Hidden levels over questions and editions: what reports tell, one label for all, and what a stolen state shows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import log
from pathlib import Path
from typing import Any

import pytest

from helpers.draws import seeded_bytes
from pldp import Device, Survey
from pldp.auditing import AuditSettings, JavaScript, audit
from pldp.device.state import SentLabel
from pldp.epsilon import MICRO
from pldp.errors import AnswerError, BudgetError
from pldp.survey import LEVEL_CAP, affordable_reports, report_price

AUTHOR = "a" * 64
TWO, THREE = {"strict": 0.5, "open": 2}, {"strict": 0.5, "middle": 1, "open": 2}


def hidden(
    sizes: Sequence[int], levels: dict[str, float] = TWO, epsilon: float = 1, mechanism: str = "krr", **more: Any
) -> Survey:
    questions = [
        {"name": f"q{number}", "values": [str(value) for value in range(size)], "mechanism": mechanism}
        for number, size in enumerate(sizes)
    ]
    document = {"pldp": 1, "title": "t", "levels": levels, "hide_level": {"epsilon": epsilon}, "questions": questions}
    return Survey.read({**document, **more})


def law(survey: Survey, values: tuple[int, ...], level: int, labels: int) -> Iterator[tuple[Any, Fraction]]:
    """Every report (or sequence of reports with new labels) that these answers at a level can make, with its chance."""
    channel = survey.level_channel
    outputs = [list(question.channels[level].outputs()) for question in survey.questions]
    for shown in product(channel.outputs(), repeat=labels):
        told = Fraction(1)
        for label in shown:
            told *= channel.probability(label, level)
        for drawn in product(*outputs):
            chance = told
            for question, output, value in zip(survey.questions, drawn, values, strict=True):
                chance *= question.channels[level].probability(output, value)
            yield (shown, drawn), chance


def enumerated(survey: Survey, labels: int) -> tuple[float, float]:
    """ε about the level, and about answers and level, over every report, label, level and vector of answers."""
    levels = range(len(survey.levels))
    vectors = list(product(*(range(question.size) for question in survey.questions)))
    laws = {(level, x): dict(law(survey, x, level, labels)) for level in levels for x in vectors}
    ratio = {True: Fraction(1), False: Fraction(1)}
    for (one, x), (two, y) in product(laws, repeat=2):
        if (one, x) == (two, y) or (x != y and len(vectors) > 16 and not _far(x, y)):
            continue
        most = max(laws[one, x][report] / laws[two, y][report] for report in laws[one, x])
        ratio[False] = max(ratio[False], most)
        if x == y:
            ratio[True] = max(ratio[True], most)
    return log(ratio[True]), log(ratio[False])


def _far(one: tuple[int, ...], two: tuple[int, ...]) -> bool:
    """Values of these channels are alike: of many vectors, two with small numbers that differ everywhere are enough."""
    return max(*one, *two) <= 1 and all(a != b for a, b in zip(one, two, strict=True))


GRID = [((2,), TWO), ((3,), THREE), ((16,), TWO), ((2, 3), TWO), ((2, 2), THREE), ((2, 16), TWO), ((2, 2, 3), TWO)]


@pytest.mark.parametrize(("sizes", "levels"), GRID)
@pytest.mark.parametrize("labels", [1, 0], ids=["new label", "repeated label"])
def test_the_price_of_the_level_and_of_a_whole_report_is_that_of_the_enumeration(
    sizes: tuple[int, ...], levels: dict[str, float], labels: int
) -> None:
    survey = hidden(sizes, levels)
    about_level, whole = enumerated(survey, labels)
    price = report_price(survey, survey.questions, new_label=bool(labels))
    # Every part is rounded up by less than a millionth.
    assert 0 <= price / MICRO - whole <= 1e-6 * (1 + len(sizes))
    if labels:
        assert 0 <= survey.level_leak() / MICRO - about_level <= 1e-6 * (1 + len(sizes))


def test_the_sum_of_maxima_overstates_where_questions_are_worst_in_different_directions() -> None:
    """The twin: what was stated before is not what enumeration gives for two values and sixteen."""
    survey = hidden((2, 16))
    former = 1 + sum(question.level_leak for question in survey.questions) / MICRO
    about_level, _ = enumerated(survey, 1)
    assert former > about_level + 0.5
    assert abs(survey.level_leak() / MICRO - about_level) < 1e-5


def test_a_ledger_that_charges_the_open_level_does_not_cover_answers_and_level() -> None:
    """The twin: the dearest answer was charged, and a report tells almost twice as much."""
    survey = hidden((2,), {"a": 1.0986, "b": 1.204}, epsilon=1)
    _, whole = enumerated(survey, 1)
    device = Device(survey)
    device.answer("q0", "0", "a")
    assert device.ledger.total / MICRO >= whole > survey.question("q0").charge(1) / MICRO + 0.9


def editions(count: int, **more: Any) -> list[Survey]:
    """Surveys of one author with one set of levels; each asks its question in other words."""
    made = (
        hidden(
            (4,),
            title=f"t{number}",
            questions=[{"name": "q0", "values": ["a", "b", "c", "d"], "text": str(number)}],
            **more,
        )
        for number in range(count)
    )
    return [replace(survey, signer=AUTHOR) for survey in made]


def answer(survey: Survey, path: Path, level: str, random: Any, **options: Any) -> str:
    """Open the state anew, loosen the cap on the level, and return the label that a report shows."""
    device = Device(survey, state=path, random=random)
    device.change_cap(1000, level_cap=1000)
    (said,) = device.answer_all({"q0": "a"}, level, **options).answers
    return said.level


@pytest.mark.parametrize("levels", [("strict",), ("open",), ("strict", "open")], ids=["strict", "open", "changed"])
def test_labels_are_constant_over_25_editions_whatever_level_is_chosen(levels: tuple[str, ...], tmp_path: Path) -> None:
    """Also in another round and after a withdrawal. From labels alone nobody guesses better than from one."""
    seen = set()
    surveys = editions(25)
    for person in range(12):
        path, random = tmp_path / f"{person}.json", seeded_bytes(person)
        labels = [answer(survey, path, levels[number % len(levels)], random) for number, survey in enumerate(surveys)]
        assert len(set(labels)) == 1
        last = Device(surveys[-1], state=path, random=random)
        last.withdraw("q0")
        assert last.answer("q0", "b", "open").answers[0].level == labels[0]
        seen.add(labels[0])
    assert seen == {"strict", "open"}  # labels differ between people: they are random


def test_a_new_label_is_drawn_only_when_the_person_asks_for_it_and_is_charged(tmp_path: Path) -> None:
    one, two = editions(2)
    drawn = set()
    for person in range(40):
        path, random = tmp_path / f"{person}.json", seeded_bytes(person)
        before = answer(one, path, "strict", random)
        again = answer(two, path, "open", random, new_label=True)
        drawn.add((before, again))
        first, second = Device(two, state=path).ledger.spends
        assert second.micro_epsilon == first.micro_epsilon == report_price(two, two.questions, new_label=True)
    assert len(drawn) == 4


def test_other_levels_weights_or_authors_have_labels_of_their_own(tmp_path: Path) -> None:
    state = tmp_path / "device.json"
    one, two, three = editions(3)
    others = [
        one,
        replace(two, signer="b" * 64),
        replace(editions(2, levels={"strict": 0.5, "open": 1.9})[1]),
        editions(3, epsilon=0.9)[2],
    ]
    assert three.level_set == one.level_set
    for number, survey in enumerate(others, 1):
        device = Device(survey, state=state)
        device.change_cap(1000, level_cap=1000)
        device.answer("q0", "a", "open")
        assert len(json.loads(state.read_text())["labels"]) == number


def test_the_device_stops_at_the_cap_before_anything_is_drawn_at_every_level_alike(tmp_path: Path) -> None:
    surveys = editions(25)
    allowed = affordable_reports(surveys[0])
    for level in ("strict", "open"):
        path = tmp_path / f"{level}.json"
        for number, survey in enumerate(surveys):
            device = Device(survey, state=path)
            if number < allowed:
                device.answer("q0", "a", level)
                continue
            before = path.read_bytes()
            with pytest.raises(BudgetError, match="told about your level"):
                device.answer("q0", "a", level)
            assert path.read_bytes() == before
        (kept,) = json.loads(path.read_text())["labels"]
        assert LEVEL_CAP - 1_000_000 < max(map(max, kept["told"])) <= LEVEL_CAP


def states(make: type[Device], tmp_path: Path) -> dict[str, dict[bytes, Fraction]]:
    """The law of the state after one report at each level, over every label and output: bytes of the file → chance.

    The secret and the rest of the randomness are the same for all; label and output are put in place of their draws.
    """
    survey = hidden((2,))
    found: dict[str, dict[bytes, Fraction]] = {}
    channel, question = survey.level_channel, survey.question("q0")
    for level, shown in enumerate(survey.levels):
        found[shown.name] = defaultdict(Fraction)
        for label, output in product(channel.outputs(), question.channels[level].outputs()):
            path = tmp_path / f"{make.__name__}{level}{label}{output}.json"
            device = make(survey, state=path, random=bytes)
            chance = channel.probability(label, level) * question.channels[level].probability(output, 0)
            with pytest.MonkeyPatch.context() as patch:
                drawn = {id(channel): label}
                patch.setattr(type(channel), "draw", property(partial(_drawn, drawn, output)))
                device.answer("q0", "0", shown.name)
            found[shown.name][path.read_bytes()] += chance
    return found


def _drawn(labels: dict[int, int], output: int, channel: Any) -> Any:
    return lambda _value, _random: labels.get(id(channel), output)


def told_by(found: dict[str, dict[bytes, Fraction]]) -> float:
    one, two = found.values()
    if one.keys() != two.keys():
        return float("inf")
    return max(abs(log(one[state] / two[state])) for state in one)


class Noticing(Device):
    """The twin: a device that notices another level than last time, by a keyed hash of the level."""

    def _send(self, asked: list[Any], *, new_label: bool) -> int:
        number = super()._send(asked, new_label=new_label)
        mark = self._state.key("level", str(asked[0].level)).hex()
        *others, last = self._state.labels
        self._state.keep(labels=(*others, SentLabel(last.author, last.levels + mark, last.label, last.told)))
        return number


def test_a_stolen_state_tells_no_more_than_the_report(tmp_path: Path) -> None:
    """States after either level are the same bytes for the same draws, and tell what the report tells."""
    stated = hidden((2,)).level_leak() / MICRO
    assert told_by(states(Device, tmp_path)) <= stated
    assert told_by(states(Device, tmp_path)) == pytest.approx(stated, abs=1e-5)
    assert told_by(states(Noticing, tmp_path)) == float("inf")


class NewLabels(Device):
    """A device that draws a label with every report, as it was before."""

    def answer_all(self, values: Any, levels: Any = None, **_: Any) -> Any:
        return super().answer_all(values, levels, new_label=True)


class TwoLevels(Device):
    """A device that draws a label for each level of a report."""

    def answer_all(self, values: Any, levels: Any = None, **_: Any) -> Any:
        if not isinstance(levels, dict):
            return super().answer_all(values, levels)
        parts = [Device(self.survey, random=self._random) for _ in values]
        for part in parts:
            part.change_cap(1000, level_cap=1000)
        reports = [
            part.answer(name, value, levels[name]) for part, (name, value) in zip(parts, values.items(), strict=True)
        ]
        return replace(reports[0], answers=tuple(answer for report in reports for answer in report.answers))


@pytest.mark.parametrize(
    ("device", "words"),
    [(NewLabels, "drawn anew in another edition"), (TwoLevels, "two labels"), (Device, "")],
    ids=["new labels", "two levels", "correct"],
)
def test_the_audit_finds_labels_over_editions_and_two_levels_in_a_report(device: type[Device], words: str) -> None:
    settings = AuditSettings(timed=False, device=device, only=("all 2", "hidden", "python"))
    (row,) = audit(hidden((2, 3)), samples=100, settings=settings).rows
    assert row.refuted == bool(words)
    assert words in " ".join(row.refutations)


def test_the_javascript_device_passes_the_same_audit() -> None:
    settings = AuditSettings(timed=False, javascript=JavaScript.find(), only=("all 2", "hidden", "javascript"))
    (row,) = audit(hidden((2, 3)), samples=100, settings=settings).rows
    assert (row.device, row.refuted, row.notes) == ("javascript", False, ())


def test_two_levels_in_one_report_are_refused_and_nothing_is_drawn() -> None:
    device = Device(hidden((2, 2)))
    with pytest.raises(AnswerError, match="one level where levels are hidden"):
        device.answer_all({"q0": "0", "q1": "0"}, {"q0": "strict", "q1": "open"})
    assert device.ledger.total == 0
