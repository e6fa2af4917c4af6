"""Audit whole reports whose level is hidden or drawn: what they tell, how many labels they have, and over editions."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from pldp.auditing.devices import only
from pldp.auditing.exact import micro_of, question_tables, report_odds, told_pairs
from pldp.auditing.kinds import BY_KIND
from pldp.auditing.kinds.kind import claims_between
from pldp.auditing.law import Recorder, lottery_fault
from pldp.auditing.published import read_table
from pldp.auditing.result import DRAWS_COMPARED, HIDDEN, Row, text_of
from pldp.auditing.runs import Run, sample_people, with_words
from pldp.auditing.stories import FILE, PEOPLE, Step, Story, javascript_editions, replay_editions
from pldp.auditing.tables import NUMBER, Table
from pldp.epsilon import MICRO, Micro
from pldp.errors import SignatureError
from pldp.survey import Question, Survey, affordable_sets, make_key, report_epsilon, sign

EDITIONS: Final = 6
"""Editions that each person answers, at two levels in turn: a label of ε = 0.1 for two levels stays the same by chance
for one person in 32, and for none of the 8 who are asked but with a chance of 10⁻¹²."""


def together(survey: Survey) -> str:
    """Name all questions of a survey, as a row does."""
    return f"all {len(survey.questions)}"


def hidden_report_rows(run: Run) -> Iterator[Row]:
    """The level of a whole report, by enumeration; and on devices, that it has one label, the same in all editions."""
    survey, label = run.survey, run.survey.level_channel
    leak = survey.level_leak()
    if label is None or leak is None:
        return
    shown = read_table(label.mechanism, label.size, label.weights())
    exact = report_odds([told_pairs(question_tables(each)) for each in survey.questions], shown, survey.ask or 0)
    whole, stated = _whole_report(survey, shown), report_epsilon(survey, survey.levels[0].name)
    broken = [
        f"{what} can be told apart by {text_of(found)}, above the stated {text_of(claim)}"
        for what, found, claim in (("levels", exact, leak), ("answers and levels", whole, stated))
        if found > claim
    ]
    details = {"whole_report": text_of(whole)}
    for device in run.settings.devices if run.samples else ("python",):
        faults, notes = _device_faults(run, device) if run.samples else ([], [])
        yield Row(
            "label over editions", together(survey), HIDDEN, device, leak / MICRO, exact / MICRO,
            refutations=(*broken, *faults), notes=tuple(notes), details=details,
        )  # fmt: skip


def _whole_report(survey: Survey, label: Table) -> Micro:
    """Return the ε of a whole report: the most over the questions that the total allows together."""
    sets = affordable_sets(survey)
    if sets is None:  # too many: devices refuse what costs more than the total
        return survey.total_micro_epsilon or 0
    told = {each.name: told_pairs(question_tables(each), values=True) for each in survey.questions}
    reports = ([told[question.name] for question in questions] for questions in sets)
    return max((report_odds(report, label, survey.ask or 0) for report in reports), default=0)


def _device_faults(run: Run, device: str) -> tuple[list[str], list[str]]:
    """Let people answer editions of one author at two levels in turn, and give two levels in one report."""
    names = [level.name for level in run.survey.levels]
    editions = _editions(run.survey)
    first, *others = editions[0].questions
    asked = [Step(number, {first.name: _answer(first)}, names[-(number % 2)]) for number in range(EDITIONS)]
    both = {each.name: _answer(each) for each in (first, *others[:1])}
    mixed = Step(0, both, dict(zip(both, (names[0], names[-1]), strict=False)))
    try:
        told = _replay(run, device, editions, [asked, [mixed]] if others else [asked])
    except SignatureError as error:
        return [], [f"editions were not looked at: {error}"]
    faults = []
    if any(len(set().union(*labels)) > 1 for labels, *_ in told):
        faults.append("the label is drawn anew in another edition: enough of them show the level")
    if any(len(labels) > 1 for _, *rest in told for (labels,) in rest):
        faults.append("a report has two labels: labels that differ prove that levels do")
    return faults, []


def lottery_rows(run: Run) -> Iterator[Row]:
    """The level that a lottery draws: its law by the published weight, what it tells for a stricter choice, devices."""
    survey, lottery = run.survey, run.survey.lottery
    if lottery is None:
        return
    names = [level.name for level in survey.levels]
    law = shown_law(int(survey.document["hide_level"]["stop"]), len(names))
    claimed, exact = lottery.micro_epsilon, told_for_stricter(law)
    words = [f"a stricter choice is told by {text_of(exact)}, above the stated {text_of(claimed)}"]
    recorder = Recorder(lambda chosen, random: lottery.draw(chosen, len(names), random))
    fault = lottery_fault(recorder, lottery.stop, len(names))
    shares = {chosen: dict(zip(names, map(float, row), strict=True)) for chosen, row in zip(names, law, strict=True)}
    details: dict[str, Any] = {"shown_by_chosen": shares}
    # Nothing is claimed for a more open choice than another.
    claims = claims_between(len(names), lambda one, two: claimed / MICRO if one < two else math.inf * (one > two))
    asked = survey.questions[0]
    people = [({asked.name: _answer(asked)}, name) for name in names]
    for device, found in sample_people(run, only(survey, asked), people, claims, []):
        if device == "javascript":
            drawn = run.javascript.draw(survey, "", "", recorder.fed)
            fault, details = recorder.fault(drawn), {**details, DRAWS_COMPARED: len(drawn)}
        faults, notes = _lottery_faults(run, device) if run.samples else ([], [])
        against = with_words(found, [*words[: exact > claimed], fault, *faults])
        against["notes"] = (*found.get("notes", ()), *notes)
        yield Row(
            "lottery", together(survey), HIDDEN, device, claimed / MICRO, exact / MICRO, details=details, **against
        )


def shown_law(stop: int, levels: int) -> list[list[Fraction]]:
    """Return how often each level is shown (columns) by people who chose one (rows), step by step.

    >>> [[str(chance) for chance in row] for row in shown_law(2**51, 3)]
    [['1', '0', '0'], ['1/4', '3/4', '0'], ['1/4', '3/16', '9/16']]
    """
    law = []
    for chosen in range(levels):
        left, row = Fraction(1), [Fraction(0)] * levels
        for level in range(chosen):
            row[level] = left * stop / NUMBER
            left -= row[level]
        law.append([*row[:chosen], left, *row[chosen + 1 :]])
    return law


def told_for_stricter(law: Sequence[Sequence[Fraction]]) -> Micro:
    """Return the most that a shown level tells for a stricter choice against a more open one, in micro-ε."""
    pairs = [(law[one], law[two]) for two in range(len(law)) for one in range(two)]
    return max(
        micro_of([((more / less).numerator, (more / less).denominator, 1)]) if less else math.inf
        for one, two in pairs
        for more, less in zip(one, two, strict=True)
        if more
    )


def _lottery_faults(run: Run, device: str) -> tuple[list[str], list[str]]:
    """Let people answer editions of one author at the most open level, and at the strictest after it; mix levels."""
    names = [level.name for level in run.survey.levels]
    editions = _editions(run.survey)
    first, *others = editions[0].questions
    both = {each.name: _answer(each) for each in (first, *others[:1])}

    def story(*levels: str) -> Story:
        return [Step(number, {first.name: _answer(first)}, level) for number, level in enumerate(levels)]

    stories = [story(*[names[-1]] * EDITIONS), story(names[-1], names[0])]
    mixed = [Step(0, both, dict(zip(both, (names[0], names[-1]), strict=False)))]
    try:
        told = _replay(run, device, editions, [*stories, mixed] if others else stories)
    except SignatureError as error:
        return [], [f"editions were not looked at: {error}"]
    faults = {
        "the level is drawn anew in another edition: enough of them show the chosen one": any(
            len(set().union(*open_)) > 1 for open_, *_ in told
        ),
        "who chooses a stricter level later is answered at a more open one": any(
            later - {names[0]} for _, (_, later), *_ in told
        ),
        "a report has two levels": any(len(shown) > 1 for person in told for reports in person for shown in reports),
    }
    return [words for words, found in faults.items() if found], []


def _answer(question: Question) -> Any:
    return BY_KIND[question.kind].compare(question, 0).answers[0]


def _editions(survey: Survey) -> list[Survey]:
    """Return editions that ask the first question in other words; any question may be answered."""
    first, *others = (replace(question, is_required=False) for question in survey.questions)
    plain = replace(survey, ask=None, total_micro_epsilon=None, languages=())
    return [
        replace(
            plain,
            title=f"{survey.title} {number}",
            questions=(replace(first, text=f"{first.text} ({number})"), *others),
        )
        for number in range(EDITIONS)
    ]


def _replay(run: Run, device: str, editions: Sequence[Survey], stories: Sequence[Story]) -> list[list[list[set[str]]]]:
    """Return for each person and story the labels of each report; nothing where the device refuses."""
    people = [story for _ in range(PEOPLE[FILE]) for story in stories]
    if device == "javascript":
        private, _ = make_key()
        texts = [sign(edition, private) for edition in editions]
        bodies = [[body for body, _ in person] for person in javascript_editions(run.javascript, texts, people)]
    else:
        signed = [replace(edition, signer="0" * 64) for edition in editions]
        bodies = [replay_editions(run.settings.device, signed, story) for story in people]
    labels = [
        [{each["level"] for each in json.loads(body)["answers"]} if body else set() for body in person]
        for person in bodies
    ]
    return [labels[start : start + len(stories)] for start in range(0, len(labels), len(stories))]
