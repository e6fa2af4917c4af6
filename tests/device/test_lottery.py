"""Levels that a lottery draws: what reports tell about the chosen one, what is kept, and when a device refuses."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import inf, isclose, log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pldp
from helpers.claims import rate_is, rate_is_at_most
from helpers.draws import seeded_bytes
from pldp import Device, Survey
from pldp.auditing import AuditSettings, JavaScript, audit
from pldp.device.state import SentLabel
from pldp.epsilon import MICRO
from pldp.errors import AnswerError, BudgetError, SurveyError
from pldp.mechanisms import TOTAL, RandomizedResponse
from pldp.planning import plan
from pldp.simulate import Population, simulate_reports

AUTHOR = "a" * 64
TWO, THREE = {"strict": 0.5, "open": 2}, {"strict": 0.5, "middle": 1, "open": 2}


def drawn(sizes: Sequence[int] = (3,), levels: Mapping[str, float] = THREE, epsilon: float = 1, **more: Any) -> Survey:
    questions = [
        {"name": f"q{number}", "values": [str(value) for value in range(size)], "mechanism": "krr"}
        for number, size in enumerate(sizes)
    ]
    document = {"pldp": 1, "title": "t", "levels": levels, "hide_level": {"lottery": epsilon}, "questions": questions}
    return Survey.read({**document, **more})


def editions(sizes: Sequence[int], levels: Mapping[str, float]) -> list[Survey]:
    """Surveys of one author, each with a question of its own."""
    found = (
        drawn((), levels, questions=[{"name": f"q{number}", "values": [str(value) for value in range(size)]}])
        for number, size in enumerate(sizes)
    )
    return [replace(survey, signer=AUTHOR) for survey in found]


class Script:
    """Random bytes of a device whose level is drawn by these numbers; `draw` replaces the draws of answers."""

    def __init__(self, numbers: Sequence[int], outputs: Sequence[int], stop: int) -> None:
        self.numbers, self.outputs, self.chance = list(numbers), list(outputs), Fraction(1)
        self.stop = stop

    def __call__(self, count: int) -> bytes:
        if count != 7:  # the secret
            return bytes(count)
        number = self.numbers.pop(0)
        self.chance *= Fraction(self.stop if number < self.stop else TOTAL - self.stop, TOTAL)
        return (number << 3).to_bytes(7, "little")

    def draw(self, channel: RandomizedResponse, value: int, _: Any) -> int:
        output = self.outputs.pop(0)
        self.chance *= channel.probability(output, value)
        return output


Law = dict[Any, Fraction]


def law(make: type[Device], asked: Sequence[Survey], level: str, folder: Path | None = None) -> tuple[Law, Law]:
    """Every sequence of reports that a person who chose this level can send, and every state, with their chances."""
    reports, states = defaultdict[Any, Fraction](Fraction), defaultdict[Any, Fraction](Fraction)
    lottery = asked[0].lottery
    assert lottery is not None
    outcomes = product((lottery.stop - 1, lottery.stop), repeat=len(asked[0].levels) - 1)
    outputs = product(*(range(survey.questions[0].size) for survey in asked))
    for place, (numbers, given) in enumerate(product(list(outcomes), list(outputs))):
        script = Script(numbers, given, lottery.stop)
        state = None if folder is None else folder / f"{make.__name__}{level}{place}"
        sent = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RandomizedResponse, "draw", lambda *each, by=script: by.draw(*each))
            device = None
            for survey in asked:
                kept = None if device is None else device._state
                device = make(survey, state=state, random=script)
                device._state = device._state if kept is None else kept
                sent.append(device.answer(survey.questions[0].name, "0", level).answers)
        if make is Device:
            assert not script.numbers  # as many draws whatever is chosen, and none after the first report
        reports[tuple(sent)] += script.chance
        states[b"" if state is None else state.read_bytes()] += script.chance
    return dict(reports), dict(states)


def told(laws: Sequence[Law]) -> float:
    """The most that is told for a stricter choice against a more open one."""
    pairs = [(laws[one], laws[two]) for two in range(len(laws)) for one in range(two)]
    return max(
        log(chance / two[each]) if two.get(each) else inf
        for one, two in pairs
        for each, chance in one.items()
        if chance
    )


class Shows(Device):
    """The twin: a device that uses and shows the chosen level."""

    def _draw_level(self, lottery: Any, asked: list[Any], *, new_label: bool) -> Any:
        name = self.survey.levels[asked[0].level].name
        return asked, (SentLabel(self.survey.author, self.survey.level_set, name, ()),)


class Redraws(Device):
    """The twin: a device that draws the level for every report."""

    def _send(self, asked: list[Any], **_: Any) -> int:
        return super()._send(asked, new_label=True)


class Notices(Device):
    """The twin: a device whose state has a keyed hash of the chosen level, to notice another one."""

    def _draw_level(self, lottery: Any, asked: list[Any], *, new_label: bool) -> Any:
        found, (*others, last) = super()._draw_level(lottery, asked, new_label=new_label)
        mark = self._state.key("level", str(asked[0].level)).hex()
        return found, (*others, SentLabel(last.author + mark, *last[1:]))


@pytest.mark.parametrize("levels", [TWO, THREE], ids=["two levels", "three levels"])
@pytest.mark.parametrize("sizes", [(2,), (3,), (2, 3), (2, 3, 2)], ids=str)
def test_reports_of_all_editions_tell_no_more_for_a_stricter_choice_than_one(
    sizes: tuple[int, ...], levels: dict[str, float]
) -> None:
    asked = editions(sizes, levels)
    lottery = asked[0].lottery
    laws = [law(Device, asked, level)[0] for level in levels]
    assert [sum(each.values()) for each in laws] == [1] * len(levels)
    for chosen, each in enumerate(laws):
        shown = [Fraction(0)] * len(levels)
        for sent, chance in each.items():
            (level,) = {answer.level for report in sent for answer in report}  # always the same one
            shown[list(levels).index(level)] += chance
        assert shown == [lottery.probability(place, chosen) for place in range(len(levels))]
    assert isclose(told(laws), log(Fraction(TOTAL, lottery.stop)), abs_tol=1e-12)
    assert told(laws) <= lottery.true_micro_epsilon / MICRO <= 1
    assert told(laws[::-1]) == inf  # one-sided: anyone who sees a level knows that nothing stricter was chosen


def test_a_device_that_shows_the_chosen_level_or_draws_again_tells_more() -> None:
    asked = editions((2, 2), TWO)
    assert told([law(Shows, asked, level)[0] for level in TWO]) == inf
    lottery = asked[0].lottery
    assert lottery is not None
    shown = {level: drawn_twice(asked, level) for level in TWO}
    assert isclose(told(list(shown.values())), 2 * log(Fraction(TOTAL, lottery.stop)))


def drawn_twice(asked: Sequence[Survey], level: str) -> Law:
    """The levels that a device shows in two editions if it draws for each."""
    found = defaultdict[Any, Fraction](Fraction)
    stop = asked[0].lottery.stop
    for numbers in product((stop - 1, stop), repeat=2):
        script = Script(numbers, (0, 0), stop)
        first, second = (Redraws(survey, random=script) for survey in asked)
        second._state = first._state
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RandomizedResponse, "draw", lambda *_: 0)
            sent = tuple(
                each.answer(each.survey.questions[0].name, "0", level).answers[0].level for each in (first, second)
            )
        found[sent] += script.chance
    return found


def test_a_stolen_state_tells_no_more_than_the_reports(tmp_path: Path) -> None:
    """States after any choice are the same bytes for the same draws."""
    asked = editions((2,), THREE)
    reports, states = zip(*(law(Device, asked, level, tmp_path) for level in THREE), strict=True)
    assert [sorted(each.values()) for each in states] == [sorted(each.values()) for each in reports]
    assert [len(set(states[0]) & set(each)) for each in states] == [2, 2, 2]
    assert told(states) == told(reports)
    assert told([law(Notices, asked, level, tmp_path)[1] for level in THREE]) == inf


@pytest.mark.parametrize("epsilon", ["0.000001", "0.1", "1", "3.3", "20"])
def test_the_weight_keeps_the_promise_and_a_smaller_one_does_not(epsilon: str) -> None:
    survey = drawn(epsilon=epsilon)
    assert survey.lottery is not None
    document = json.loads(survey.canonical)
    assert document["hide_level"] == {"lottery": epsilon, "stop": survey.lottery.stop}
    assert Survey.read(document).hash == survey.hash
    document["hide_level"]["stop"] -= 1
    with pytest.raises(SurveyError, match=r"hide_level\.stop: must keep the promised epsilon"):
        Survey.read(document)


class Counting:
    """Random bytes, and how many were asked for."""

    def __init__(self, number: int) -> None:
        self.source, self.lengths = seeded_bytes(number), list[int]()

    def __call__(self, length: int) -> bytes:
        self.lengths.append(length)
        return self.source(length)


@pytest.mark.parametrize("count", [2, 3, 100])
def test_as_many_numbers_are_drawn_whatever_is_chosen(count: int) -> None:
    lottery = drawn(levels={f"{number:03}": number / 10 for number in range(1, count + 1)}).lottery
    assert lottery is not None
    for chosen in range(count):
        source = Counting(chosen)
        lottery.draw(chosen, count, source)
        assert source.lengths == [7] * (count - 1)


ASKED = {"name": "q0", "values": ["0", "1"]}
REFUSED = {
    "lottery alone, or keys of a label, not ['epsilon', 'lottery']": {"hide_level": {"lottery": 1, "epsilon": 1}},
    "lottery alone, or keys of a label, not ['leak_cap', 'lottery']": {"hide_level": {"lottery": 1, "leak_cap": 1}},
    "lottery alone, or keys of a label, not ['lottery', 'mechanism', 'weights']": {
        "hide_level": {"lottery": 1, "mechanism": "krr", "weights": {}}
    },
    "lottery alone, or keys of a label, not ['budgets', 'fractions', 'lottery']": {
        "hide_level": {"lottery": 1, "fractions": {}, "budgets": {}}
    },
    "lottery alone, or keys of a label, not ['stop']": {"hide_level": {"stop": 1}},
    "hide_level.lottery: epsilon must be a number above 0": {"hide_level": {"lottery": 0}},
    "hide_level.stop: must be a whole number from 1": {"hide_level": {"lottery": 1, "stop": "5"}},
    "must have at least two levels, of different epsilon": {"levels": {"strict": 1}},
    "must have at least two levels, of different epsilon, not": {"levels": {"strict": 1, "open": 1}},
    "must offer 'strict', the strictest level": {"questions": [{**ASKED, "levels": {"open": 1}}]},
    "in the survey's order": {"questions": [{**ASKED, "levels": {"strict": 1, "open": 0.5}}]},
    "level 'strict' of question q0 must protect all that 'middle' does": {
        "questions": [{**ASKED, "budgets": {"strict": [0.5, 0.1], "middle": [0.1, 1], "open": [2, 2]}}]
    },
    "level 'middle' of question q0 must protect all that 'open' does": {
        "repeat": "tracked",
        "questions": [{**ASKED, "permanent": {"strict": 5, "middle": 9, "open": 8}}],
    },
}


@pytest.mark.parametrize("rule", REFUSED)
def test_what_a_survey_with_a_lottery_cannot_say(rule: str) -> None:
    with pytest.raises(SurveyError) as refusal:
        drawn(**{"questions": [ASKED], **REFUSED[rule]})
    assert rule in str(refusal.value)
    assert "\n" not in str(refusal.value)


def chosen(survey: Survey, level: str, path: Path, number: int = 0, **options: Any) -> str:
    """Answer with a state in a file, and return the level that the report shows."""
    device = Device(survey, state=path, random=seeded_bytes(number))
    device.change_cap(1000)
    return device.answer_all({survey.questions[0].name: "0"}, level, **options).answers[0].level


def test_a_stricter_choice_than_the_level_in_use_needs_a_new_draw(tmp_path: Path) -> None:
    one, two, three = editions((2, 2, 2), THREE)
    seen: set[Any] = set()
    for person in range(40):
        path = tmp_path / f"{person}.json"
        used = chosen(one, "open", path, person)
        for level in list(THREE)[: list(THREE).index(used)]:
            before = path.read_bytes()
            with pytest.raises(AnswerError, match="is stricter than .* which this device uses: ask for a new draw"):
                chosen(two, level, path)
            assert path.read_bytes() == before
        assert chosen(two, "open", path) == used  # the same or a more open choice changes nothing
        again = chosen(three, "middle", path, 1000 + person, new_label=True)
        seen |= {used, f"{again} again", again == used}
        assert [each["label"] for each in json.loads(path.read_text())["labels"]] == [again]
    # Of 40 people nobody shows "middle" at first with a chance of 3 in 100,000, and others are missing more rarely.
    assert seen == {*THREE, "strict again", "middle again", True, False}


def test_answers_are_charged_at_the_level_that_is_used() -> None:
    survey = drawn((2, 2), repeat="fresh")
    for person in range(20):
        device = Device(survey, random=seeded_bytes(person))
        report = device.answer_all({"q0": "0", "q1": "1"}, "open")
        device.round = 2
        again = device.answer("q0", "1", "open")
        (level,) = {answer.level for answer in (*report.answers, *again.answers)}
        assert [(spend.level, spend.micro_epsilon) for spend in device.ledger.spends] == [
            (level, THREE[level] * 1e6)
        ] * 3


def test_what_any_level_could_cost_is_refused_before_anything_is_drawn() -> None:
    source = Counting(1)
    device = Device(drawn(total_epsilon=1), random=source)
    with pytest.raises(BudgetError, match="costs epsilon 2 and this survey's total_epsilon leaves 1"):
        device.answer("q0", "0", "open")
    assert source.lengths == [32]  # its secret
    assert device.answer("q0", "0", "middle").answers[0].level in {"strict", "middle"}


def test_answers_of_one_report_have_one_level_and_further_reports_the_same() -> None:
    device = Device(drawn((2, 2)))
    with pytest.raises(AnswerError, match="one level where a lottery draws it"):
        device.answer_all({"q0": "0", "q1": "0"}, {"q0": "strict", "q1": "open"})
    assert device.ledger.total == 0
    first, second = (device.answer(name, "0", "open").answers[0].level for name in ("q0", "q1"))
    assert first == second


def test_a_question_that_does_not_offer_the_level_is_answered_at_a_stricter_one_and_shows_the_same_level() -> None:
    survey = drawn(questions=[ASKED, {**ASKED, "name": "q1", "levels": {"strict": 0.5, "open": 2}}])
    for each in survey.questions:
        assert [level.name for level in each.levels] == list(THREE)
    assert [level.micro_epsilon for level in survey.questions[1].levels] == [500_000, 500_000, 2_000_000]


@pytest.mark.parametrize(("device", "words"), [(Shows, "and never from"), (Redraws, "drawn anew in another edition")])
def test_the_audit_finds_a_device_that_shows_the_choice_or_draws_again(device: type[Device], words: str) -> None:
    settings = AuditSettings(timed=False, device=device, only=("all 2", "hidden", "python"))
    (row,) = audit(drawn((2, 3)), samples=400, settings=settings).rows
    assert row.refuted
    assert words in " ".join(row.refutations)


def test_the_audit_passes_both_devices_and_states_the_law() -> None:
    survey = drawn((2, 3))
    settings = AuditSettings(timed=False, javascript=JavaScript.find(), only=("all 2", "hidden"))
    rows = audit(survey, samples=400, settings=settings).rows
    assert {(row.device, row.verdict, row.exact, row.notes) for row in rows} == {
        (device, "exact", 1.0, ()) for device in settings.devices
    }
    for place, row in enumerate(rows[0].details["shown_by_chosen"].values()):
        assert list(row.values()) == survey.lottery.law(3)[place]


@pytest.mark.parametrize("repeat", ["fresh", "tracked"])
def test_rounds_of_a_whole_audit_are_not_refuted(repeat: str) -> None:
    settings = AuditSettings(timed=False, only=("q0", "open", "python"))
    rows = audit(drawn((2,), TWO, repeat=repeat), samples=100, settings=settings).rows
    assert [(row.rounds, row.refuted) for row in rows] == [(1, False), (3, False)]


PEOPLE, RUNS = 6000, 300
TRUTH = (0.5, 0.3, 0.2)


def collected(repeat: int, *, used: bool) -> tuple[Survey, pa.Table]:
    """Reports at the level that was drawn; as a twin, with answers drawn at the chosen level beside it."""
    survey = drawn((3,))
    shown = replace(survey, lottery=None)
    people = Population.of_shares(survey, PEOPLE, {"q0": TRUTH}, seed=repeat)
    table = pa.Table.from_batches(simulate_reports(survey, people, seed=repeat))
    if used:
        return survey, table
    chosen_level = pa.Table.from_batches(simulate_reports(shown, people, seed=repeat))
    column = chosen_level.schema.get_field_index("q0.level")
    return shown, chosen_level.set_column(column, chosen_level.schema.field(column), table["q0.level"])


def misses(*, used: bool) -> Iterator[bool]:
    for repeat in range(RUNS):
        low, high = pldp.estimate(pldp.tally(*collected(repeat, used=used)), "q0").interval()
        yield not low[0] <= TRUTH[0] <= high[0]


def test_intervals_of_shown_levels_hold() -> None:
    """Of a share, one in twenty misses: a test with a false alarm of one in a million."""
    assert rate_is(list(misses(used=True)), 0.05)


def test_intervals_miss_where_answers_are_drawn_at_another_level_than_is_shown() -> None:
    assert not rate_is_at_most(list(misses(used=False)), 0.05)


def test_simulated_people_show_the_law_and_keep_their_level_in_every_round() -> None:
    survey = drawn((2,), repeat="fresh")
    people = Population.of_shares(survey, 20_000, level_mix={"open": 1}, seed=1)
    rounds = [pa.Table.from_batches(simulate_reports(survey, people, seed=1, round=number)) for number in (1, 2)]
    one, two = (np.array(table["q0.level"].to_pylist()) for table in rounds)
    assert (one == two).all()
    for place, level in enumerate(THREE):
        assert rate_is(one == level, float(survey.lottery.probability(place, 2)))


def test_a_plan_expects_the_levels_that_are_used() -> None:
    survey = drawn((2,))
    planned = plan(survey, 1000, level_mix={"open": 1}).questions[0]
    law_of_open = survey.lottery.law(3)[2]
    assert [level.reports for level in planned.levels] == pytest.approx([1000 * chance for chance in law_of_open])
    explained = Device(survey).explain("open")
    assert 'Who sees "strict" cannot know that you chose it; who sees "open" can.' in explained
    assert "Your report shows the level that you chose" not in explained
