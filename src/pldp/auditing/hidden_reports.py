"""Audit whole reports that hide their level: what they tell, how many labels they have, and labels over editions."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from pldp.auditing.exact import question_tables, report_odds, told_pairs
from pldp.auditing.kinds import BY_KIND
from pldp.auditing.published import read_table
from pldp.auditing.result import HIDDEN, Row, text_of
from pldp.auditing.runs import Run
from pldp.auditing.stories import FILE, PEOPLE, Step, Story, javascript_editions, replay_editions
from pldp.auditing.tables import Table
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
