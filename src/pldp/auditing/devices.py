"""Devices as mechanisms to audit: a new person for every report, and everything that leaves them as the output."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from pldp.auditing.calls import Called
from pldp.device import Device
from pldp.epsilon import LARGEST_TOTAL, epsilon_text
from pldp.errors import AnswerError, AuditError
from pldp.survey import ONCE, Question, Survey, charge

SCRIPT: Final = Path("vectors") / "audit.js"  # runs the device in the folder of the JavaScript client
PEOPLE: Final = 25  # who are asked again; another draw may look the same by chance, but not for all of them
TURNS: Final = 4  # how often each is asked in one round
REPEATED_ALARM: Final = 1e-9
START_SECONDS: Final = 60.0
SECONDS_PER_REPORT: Final = 0.05
"""Time that the process may take before it is taken for one that never returns."""


def only(survey: Survey, question: Question) -> Survey:
    """Return a survey of this question alone, with the same channels: everybody is asked it, at any price."""
    return replace(survey, questions=(question,), ask=None, total_micro_epsilon=None)


def _new_device(survey: Survey) -> Device:
    """Return the device of a new person whom no cap stops."""
    device = Device(survey)
    device.change_cap(LARGEST_TOTAL)
    return device


def observe(survey: Survey, person: tuple[dict[str, Any], str]) -> dict[str, Any]:
    """Return everything that leaves a new person's device, given the person's answers and their level."""
    report = _new_device(survey).answer_all(*person)
    return {"report": report.to_mapping(), "length": len(report.to_json())}


class Step(NamedTuple):
    """One request of a story: in which round which answers are given, at which level."""

    round: int
    values: dict[str, Any]
    level: str


class Told(NamedTuple):
    """What came of a step: the report as text, or nothing where the device refuses; and what is spent so far."""

    report: str | None
    spent: int


Story = Sequence[Step]


def replay(survey: Survey, story: Story) -> list[Told]:
    """Let one new device live through a story."""
    device, told = _new_device(survey), []
    for step in story:
        device.round = step.round
        try:
            report: str | None = device.answer_all(step.values, step.level).to_json()
        except AnswerError:
            report = None
        told.append(Told(report, device.ledger.total))
    return told


def observe_story(survey: Survey, story: Story) -> dict[str, Any]:
    """Return what leaves a new person's device over a story."""
    return observe_told(replay(survey, story))


def observe_told(told: Sequence[Told]) -> dict[str, Any]:
    """Return every report, and whether each says the same as the first: both can tell whether an answer changed."""
    reports = [None if each.report is None else json.loads(each.report) for each in told]
    answers = [None if report is None else report["answers"] for report in reports]
    return {"reports": reports, "same": [own == answers[0] for own in answers]}


def insistent_stories(answers: Sequence[dict[str, Any]], level: str) -> list[Story]:
    """Ask each of some people several times in one round, with another answer in turn, and then in two later rounds."""
    turns = [Step(1, answers[turn % len(answers)], level) for turn in range(TURNS)]
    return [[*turns, *(Step(number, answers[-1], level) for number in (2, 2, 3))]] * PEOPLE


def repeat_fault(
    survey: Survey, question: Question, level: int, stories: Sequence[Story], told: Sequence[Sequence[Told]]
) -> str | None:
    """Say what breaks the survey's rule when people are asked again; `None` if nothing does."""
    faults = (_story_fault(survey, question, level, *each) for each in zip(stories, told, strict=True))
    return next(filter(None, faults), None)


def _story_fault(survey: Survey, question: Question, level: int, story: Story, told: Sequence[Told]) -> str | None:
    # Where levels are hidden, the dearest one is charged.
    paid = level if survey.level_channel is None else len(question.levels) - 1
    rounds: dict[int, str | None] = {}
    due = 0
    for step, (report, spent) in zip(story, told, strict=True):
        if step.round in rounds:
            if report != rounds[step.round]:
                return f"round {step.round}: asked again, with this answer or another, the device sends another report"
        elif survey.repeat == ONCE and rounds:
            if report is not None:
                return f'round {step.round}: the device sends a report, though repeat = "once"'
        elif report is None:
            return f"round {step.round}: the device sends nothing, though repeat = {survey.repeat!r}"
        else:
            due += charge(survey.repeat, question, paid, len(rounds))
        rounds.setdefault(step.round, report)
        if spent != due:
            words = f"was charged {epsilon_text(spent)} in all, and what was sent costs {epsilon_text(due)}"
            return f"round {step.round}: the person {words}"
    return None


def repeated_draw(observed: Sequence[dict[str, Any]]) -> str | None:
    """Say so if both rounds of one person agree more or less often than rounds of two people who answer the same.

    Fisher's exact test on different people, with a false alarm of 10⁻⁹.
    """
    from scipy.stats import fisher_exact  # noqa: PLC0415 - it takes half a second to load

    first, second = ([each["reports"][place]["answers"] for each in observed] for place in (0, 1))
    half = len(observed) // 2
    one = [a == b for a, b in zip(first[:half], second[:half], strict=True)]
    two = [a == b for a, b in zip(first[half::2], second[half + 1 :: 2], strict=False)]
    table = [[sum(each), len(each) - sum(each)] for each in (one, two)]
    if fisher_exact(table).pvalue >= REPEATED_ALARM:
        return None
    return f"two rounds of one person agree for {np.mean(one):.0%}, rounds of two people for {np.mean(two):.0%}"


@dataclass(frozen=True)
class JavaScript:
    """The JavaScript client in its folder (`clients/js` of the project), run by Node as a process of its own."""

    node: str
    folder: Path

    @staticmethod
    def find(folder: str | Path | None = None) -> JavaScript | None:
        """Return the client in this folder, or the one beside the sources; nothing if Node or it is missing."""
        node = shutil.which("node")
        place = Path(__file__).parents[3] / "clients" / "js" if folder is None else Path(folder)
        return JavaScript(node, place) if node is not None and (place / SCRIPT).exists() else None

    def call(self, survey: Survey, people: Sequence[tuple[dict[str, Any], str]], samples: int) -> Called:
        """Let so many new people of each kind answer, in random order; outputs and times as `calls.call` gives them."""
        request = {
            "people": [{"values": list(values.items()), "level": level} for values, level in people],
            "samples": samples,
        }
        answer = self._ask(survey, request, samples * len(people))
        reports = [[{"report": json.loads(text), "length": len(text)} for text in each] for each in answer["reports"]]
        return Called(tuple(map(tuple, reports)), tuple(tuple(map(int, each)) for each in answer["times"]))

    def replay(self, survey: Survey, stories: Sequence[Story]) -> list[list[Told]]:
        """Let a new device live through each story, as `replay` does."""
        request = {
            "stories": [
                [{"round": step.round, "values": list(step.values.items()), "level": step.level} for step in story]
                for story in stories
            ],
        }
        told = self._ask(survey, request, sum(map(len, stories)))["told"]
        return [[Told(*each) for each in story] for story in told]

    def _ask(self, survey: Survey, request: dict[str, Any], reports: int) -> dict[str, Any]:
        """Send one request to the script and return its answer."""
        limit = START_SECONDS + SECONDS_PER_REPORT * reports
        try:
            ended = subprocess.run(  # noqa: S603 - the program that the caller named
                [self.node, str(self.folder / SCRIPT)],
                input=json.dumps({"survey": survey.canonical.decode(), **request}) + "\n",
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise AuditError(f"the JavaScript device did not return within {limit:g} seconds") from None
        try:
            answer: dict[str, Any] = json.loads(ended.stdout)
        except ValueError:
            last = (ended.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise AuditError(f"the JavaScript device failed: {last[:200]}") from None
        if "error" in answer:
            raise AuditError(f"the JavaScript device refuses this: {str(answer['error'])[:200]}")
        return answer
