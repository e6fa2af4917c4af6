"""Life stories on a device: rounds with changed and reverted answers and levels, wherever its state is kept."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from scipy import stats

from pldp.auditing.calls import Called, Progress, draw_values
from pldp.auditing.devices import CHUNK, JavaScript, MakeDevice, new_device, observe_body
from pldp.epsilon import epsilon_text
from pldp.errors import AnswerError, AuditError
from pldp.survey import ONCE, Question, Survey, charge, report_price

MEMORY, FILE, RESTORED, TWO = "memory", "file", "restored", "two"
MODES: Final = {
    MEMORY: "in memory",
    FILE: "in a file that is opened anew for every answer",
    RESTORED: "in a file that is copied and put back after every answer",
    TWO: "in a file that two processes share",
}
"""Where a device keeps its state, in words."""
PEOPLE: Final = {MEMORY: 25, FILE: 8, RESTORED: 8, TWO: 5}
"""Who are asked again; another draw may look the same by chance, but not for all of them."""


_PATIENCE: Final = 60  # seconds for one answer of another process
_FAST: Final = Path("/dev/shm")  # noqa: S108 - files that need not last are fastest there


class Step(NamedTuple):
    """One request of a story: in which round or edition which answers are given, at which level (or one each)."""

    round: int
    values: dict[str, Any]
    level: str | dict[str, str]


class Told(NamedTuple):
    """What came of a step: the body that is sent, or nothing where the device refuses; and what is spent so far."""

    body: str | None
    spent: int


Story = Sequence[Step]


def replay(make: MakeDevice, survey: Survey, story: Story, mode: str = MEMORY) -> list[Told]:
    """Let one new device live through a story, with its state kept in this way."""
    if mode == MEMORY:
        device = new_device(make, survey)
        return [_take(device, survey, step) for step in story]
    with tempfile.TemporaryDirectory(dir=_FAST if _FAST.is_dir() else None) as folder:
        path = Path(folder) / "0"
        new_device(make, survey, state=path)
        if mode == TWO:
            return list(_with_another(make, survey, story, path))
        told = []
        for number, step in enumerate(story, 1):
            told.append(_take(make(survey, state=path, round=step.round), survey, step))
            if mode == RESTORED:
                path = Path(shutil.copy(path, path.with_name(str(number))))
        return told


def replay_editions(make: MakeDevice, editions: Sequence[Survey], story: Story) -> list[str | None]:
    """Let one new device answer editions of a survey, by number, with its state in a file; return the bodies."""
    bodies = []
    with tempfile.TemporaryDirectory(dir=_FAST if _FAST.is_dir() else None) as folder:
        for step in story:
            device = new_device(make, editions[step.round], state=Path(folder) / "0")
            bodies.append(_take(device, editions[step.round], step._replace(round=1)).body)
    return bodies


def _take(device: Any, survey: Survey, step: Step) -> Told:
    device.round = step.round
    try:
        body: str | None = device.answer_all(step.values, step.level).body(survey).decode()
    except AnswerError:
        body = None
    return Told(body, device.ledger.total)


def _with_another(make: MakeDevice, survey: Survey, story: Story, path: Path) -> Iterator[Told]:
    """Take every other step in a process of its own, which opens the file anew; this one keeps its device open."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def work() -> None:
        for step in story[::2]:
            theirs.recv()
            theirs.send(_take(make(survey, state=path, round=step.round), survey, step))

    device = make(survey, state=path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads: the child only answers
        process = context.Process(target=work, daemon=True)
        process.start()
    for number, step in enumerate(story):
        if number % 2:
            yield _take(device, survey, step)
            continue
        ours.send(number)
        if not ours.poll(_PATIENCE):
            raise AuditError(f"the device in another process did not return within {_PATIENCE} seconds")
        yield ours.recv()
    process.join()


def can_fork() -> bool:
    """Tell whether this system can run the device in two processes."""
    return "fork" in multiprocessing.get_all_start_methods()


def observe_told(told: Sequence[Told]) -> dict[str, Any]:
    """Return every upload, and whether each says the same as the first: both can tell whether an answer changed."""
    sent = [observe_body(each.body) for each in told]
    same = [
        [own["report"] is not None and own["report"].get(key) == (sent[0]["report"] or {}).get(key) for own in sent]
        for key in ("answers", "id")
    ]
    return {"uploads": sent, "same answers": same[0], "same id": same[1], "spent": [each.spent for each in told]}


def javascript_replay(client: JavaScript, survey: Survey, stories: Sequence[Story], mode: str) -> list[list[Told]]:
    """Let a new JavaScript device live through each story, as `replay` does."""
    request = {"stories": _requests(stories), "mode": mode}
    told = client.ask(survey, request, sum(map(len, stories)))["told"]
    return [[Told(*each) for each in story] for story in told]


def javascript_editions(client: JavaScript, texts: Sequence[str], stories: Sequence[Story]) -> list[list[Told]]:
    """Let a new JavaScript device answer signed editions, as `replay_editions` does."""
    request = {"stories": _requests(stories), "mode": FILE, "editions": list(texts)}
    told = client.ask(None, request, sum(map(len, stories)))["told"]
    return [[Told(*each) for each in story] for story in told]


def _requests(stories: Sequence[Story]) -> list[list[dict[str, Any]]]:
    return [
        [{"round": step.round, "values": list(step.values.items()), "level": step.level} for step in story]
        for story in stories
    ]


def javascript_stories(
    client: JavaScript, survey: Survey, stories: Sequence[Story], samples: int, progress: Progress | None
) -> Called:
    """Let new JavaScript devices live through stories that are drawn at random, as `calls.call` does."""
    order, told = draw_values(len(stories), samples), list[list[Told]]()
    for start in range(0, len(order), CHUNK):
        told += javascript_replay(client, survey, [stories[at] for at in order[start : start + CHUNK]], MEMORY)
        if progress is not None:
            progress(len(told), len(order))
    return Called(tuple(order), tuple(told), (0,) * len(order))


def insistent_story(answers: Sequence[dict[str, Any]], levels: Sequence[str]) -> Story:
    """Ask a person again and again in one round, with another answer and level in turn, and then in two later rounds.

    Every change of one round comes and is taken back.
    """
    one, two, level, other = answers[0], answers[-1], levels[0], levels[-1]
    turns = [(one, level), (two, level), (one, level), (one, other), (two, other), (one, level)]
    later = [(2, two, level), (2, one, other), (3, one, level), (3, two, level)]
    return [*(Step(1, *turn) for turn in turns), *(Step(*each) for each in later)]


def rule_fault(
    survey: Survey, question: Question, stories: Sequence[Story], told: Sequence[Sequence[Told]]
) -> str | None:
    """Say what breaks the survey's rule when people are asked again; `None` if nothing does."""
    faults = (_story_fault(survey, question, *each) for each in zip(stories, told, strict=True))
    return next(filter(None, faults), None)


def _story_fault(survey: Survey, question: Question, story: Story, told: Sequence[Told]) -> str | None:
    rounds: dict[int, str | None] = {}
    drawn: list[int] = []
    due = 0
    for step, (body, spent) in zip(story, told, strict=True):
        paid = question.find_level(str(step.level))
        if survey.lottery is not None and body is not None:  # the level that is used, which the report shows
            paid = question.find_level(json.loads(body)["answers"][0]["level"])
        if step.round in rounds:
            if body != rounds[step.round]:
                return f"round {step.round}: asked again, with this answer or another, the device sends another report"
        elif survey.repeat == ONCE and rounds:
            if body is not None:
                return f'round {step.round}: the device sends a report, though repeat = "once"'
        elif body is None:
            return f"round {step.round}: the device sends nothing, though repeat = {survey.repeat!r}"
        else:
            due += (
                charge(survey.repeat, question, paid, drawn.count(paid))
                if survey.level_channel is None
                else report_price(survey, [question], new_label=not drawn)
            )
            drawn.append(paid)
        rounds.setdefault(step.round, body)
        if spent != due:
            words = f"was charged {epsilon_text(spent)} in all, and what was sent costs {epsilon_text(due)}"
            return f"round {step.round}: the person {words}"
    return None


def repeated_draw(called: Called, story: int, error: float) -> str | None:
    """Say so if two rounds of one person agree more or less often than rounds of two people with the same answers.

    Fisher's exact test on different people.
    """
    observed = called.of(story)
    first, second = ([each["uploads"][place]["report"]["answers"] for each in observed] for place in (0, 1))
    half = len(observed) // 2
    one = [a == b for a, b in zip(first[:half], second[:half], strict=True)]
    two = [a == b for a, b in zip(first[half::2], second[half + 1 :: 2], strict=False)]
    table = [[sum(each), len(each) - sum(each)] for each in (one, two)]
    if stats.fisher_exact(table).pvalue >= error:
        return None
    return f"two rounds of one person agree for {np.mean(one):.0%}, rounds of two people for {np.mean(two):.0%}"


Replay = Callable[[Sequence[Story], str], list[list[Told]]]


def state_faults(survey: Survey, question: Question, story: Story, replay_all: Replay) -> tuple[list[str], list[str]]:
    """Return what breaks the rule, by where the state is kept, and where it was not looked at."""
    words, unseen = [], []
    for mode, where in MODES.items():
        stories = [story] * PEOPLE[mode]
        try:
            fault = rule_fault(survey, question, stories, replay_all(stories, mode))
        except NotImplementedError:
            unseen.append(f"state {where} was not looked at here")
            continue
        if fault is not None:
            words.append(fault if mode == MEMORY else f"{fault} (state {where})")
    return words, unseen
