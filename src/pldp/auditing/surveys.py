"""Audit everything that a survey offers: every question and level, on the Python device and on the JavaScript one."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from pldp.auditing.calls import TIMEOUT, Called, Clock, Progress, call, compare_times
from pldp.auditing.columns import columns_of
from pldp.auditing.devices import (
    JavaScript,
    Step,
    Story,
    Told,
    insistent_stories,
    observe,
    observe_story,
    observe_told,
    only,
    repeat_fault,
    repeated_draw,
    replay,
)
from pldp.auditing.exact import Exact, audit_channel, level_odds, micro_of, read_micro
from pldp.auditing.kinds import BY_KIND
from pldp.auditing.kinds.kind import claims_between
from pldp.auditing.law import sampler_fault
from pldp.auditing.published import read_table
from pldp.auditing.result import Row, number
from pldp.auditing.sampled import CONFIDENCE, lower_bound
from pldp.auditing.sequences import claimed_between, exact_sequence, stated_sequence
from pldp.epsilon import LARGEST_TOTAL, MICRO, Micro
from pldp.errors import AuditError
from pldp.survey import FRESH, Question, Survey, prices

SAMPLES: Final = 2_000  # people per value that answer on the Python device, unless more are asked for
JAVASCRIPT_SHARE: Final = 4  # the JavaScript device is slower: it answers for one person in so many …
LEAST_JAVASCRIPT: Final = 200  # … but for at least so many
ROUNDS: Final = 3  # rounds over which sequences of reports are enumerated
ROUNDING: Final = 1e-9  # of logarithms of products
MOST_JOINT: Final = 20  # questions up to which all answers of a person are also audited together
HIDDEN: Final = "hidden"  # stands for the level in a row about the level

People = Sequence[tuple[dict[str, Any], str]]
Claims = float | list[list[float]]
"""ε that is claimed between any two answers, or for each two of them."""


@dataclass(frozen=True)
class AuditSettings:
    """What an audit may use and how sure it must be.

    With probability `confidence` samples do not refute a sound mechanism; times may be held against one if it is
    `timed`, by a `clock` of nanoseconds. One call of a function may take `timeout` seconds. `javascript` is the client
    whose device is audited too (`JavaScript.find`); `progress` is called with (done, total) while the audit runs.
    """

    confidence: float = CONFIDENCE
    timed: bool = True
    clock: Clock = time.perf_counter_ns
    timeout: float = TIMEOUT
    javascript: JavaScript | None = None
    progress: Progress | None = None


def audit_survey(survey: Survey, samples: int, settings: AuditSettings, *, sequences: bool = True) -> Iterator[Row]:
    """Yield the rows of a survey: promises of answers and of their sequences, of hidden levels, of all answers."""
    for place, question in enumerate(survey.questions):
        if settings.progress is not None:
            settings.progress(place, len(survey.questions))
        for level in range(len(question.levels)):
            yield from _level_rows(survey, question, level, samples, settings)
            if sequences:
                yield from _sequence_rows(survey, question, level, samples, settings)
        if survey.level_channel is not None:
            yield from _hidden_rows(survey, question, samples, settings)
    if samples and 1 < len(survey.questions) <= MOST_JOINT and survey.ask is None:
        yield from _joint_rows(survey, samples, settings)


def audit_document(document: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the exact rows of a spelled-out survey document, also of one that no device would accept."""
    try:
        for question in document["questions"]:
            size = BY_KIND[question.get("kind", "choice")].size(question)
            for level, weights in question["weights"].items():
                claimed = read_micro(question["levels"][level])
                sides = [list(map(read_micro, pair)) for pair in question.get("sides", {}).get(level, [])]
                budgets = [read_micro(text) for text in question.get("budgets", {}).get(level, [])]
                whole = BY_KIND[question.get("kind", "choice")].whole(question)
                published = (question["mechanism"][level], size, weights)
                exact = audit_channel(
                    *published, int(claimed), budgets or list(map(max, sides)), whole=whole, sides=sides
                )
                yield _row(question["mechanism"][level], question["name"], level, "document", exact)
    except (KeyError, TypeError, AttributeError) as error:
        rule = "survey must be spelled out with weights, as `pldp survey compile` writes it"
        raise AuditError(f"{rule} ({error!r})") from None


def _row(mechanism: str, question: str, level: str, device: str, exact: Exact, **found: Any) -> Row:
    words = (*exact.broken, *found.pop("refutations", ()))
    details = {
        "plain": _text(exact.plain),
        "by_output": list(map(_text, exact.by_output)),
        "by_value": list(map(_text, exact.by_value)),
        "by_pair": [list(map(_text, row)) for row in exact.by_pair],
        **found.pop("details", {}),
    }
    claimed, kept = exact.claimed / MICRO, exact.found / MICRO
    return Row(mechanism, question, level, device, claimed, kept, refutations=words, details=details, **found)


def _text(micro: Micro) -> float | str:
    return number(micro / MICRO)


def _level_rows(survey: Survey, question: Question, level: int, samples: int, settings: AuditSettings) -> Iterator[Row]:
    """One question at one level: exact ε, law of the sampler, samples of both devices, times, rounds."""
    channel, own = question.channels[level], question.levels[level]
    published = (channel.mechanism, channel.size, channel.weights())
    promises = question.promises(level)
    budgets = promises if len(promises) > 1 else ()
    sides = question.side_promises(level)
    exact = audit_channel(*published, own.micro_epsilon, budgets, whole=not budgets, sides=sides)
    words = [sampler_fault(channel.draw, read_table(*published), sets=channel.domain == "sets")]
    alone = only(survey, question)
    answers, claims, timed = BY_KIND[question.kind].compare(question, level)
    people = [({question.name: answer}, own.name) for answer in answers]
    details = {"manipulation": channel.manipulation}
    payable = stated_sequence(survey.repeat, question, len(question.levels) - 1, ROUNDS) <= LARGEST_TOTAL * MICRO
    asked = [values for values, _ in people[:2]]
    stories = insistent_stories(asked, own.name) if samples and asked and payable else []
    for device, found in _sampled(alone, people, claims, timed, samples, settings):
        fault = repeat_fault(alone, question, level, stories, _replay(device, alone, stories, settings))
        against = _with_words(found, [*words, fault] if device == "python" else [fault])
        yield _row(channel.mechanism, question.name, own.name, device, exact, **against, details=details)


def _replay(device: str, survey: Survey, stories: Sequence[Story], settings: AuditSettings) -> list[list[Told]]:
    if device == "javascript" and settings.javascript is not None:
        return settings.javascript.replay(survey, stories)
    return [replay(survey, story) for story in stories]


def _sequence_rows(
    survey: Survey, question: Question, level: int, samples: int, settings: AuditSettings
) -> Iterator[Row]:
    """One question at one level, asked again: ε of a sequence of reports against what the ledger charges for it."""
    rule, own = survey.repeat, question.levels[level]
    stated, exact = stated_sequence(rule, question, level, ROUNDS), exact_sequence(rule, question, level, ROUNDS)
    words, notes = [], []
    if math.isinf(exact) and math.inf in question.promises(level):
        notes.append("a label without protection can be told from any report")
    elif exact > stated / MICRO + ROUNDING:
        words.append(f"{ROUNDS} rounds tell {exact:.6f}, above the {_text(stated)} that is charged")
    details = {
        "repeat": rule,
        "prices": {each.what: _text(each.micro_epsilon) for each in prices(rule, question, level)},
    }
    for device, found in _sampled_stories(survey, question, level, samples, settings):
        against = _with_words(found, words)
        against["notes"] = (*notes, *found.get("notes", ()))
        numbers = (stated / MICRO, exact)
        mechanism = question.channels[level].mechanism
        yield Row(mechanism, question.name, own.name, device, *numbers, details=details, rounds=ROUNDS, **against)


def _sampled_stories(
    survey: Survey, question: Question, level: int, samples: int, settings: AuditSettings
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield for each device what two rounds tell about stories that change, and about stories that do not."""
    answers, claims, _ = BY_KIND[question.kind].compare(question, level)
    if not samples or len(answers) < 2 or 2 * question.charge(level) > LARGEST_TOTAL * MICRO:
        yield "python", {}
        return
    alone, name = only(survey, question), question.levels[level].name
    patterns = ((0, 0), (0, 1), (1, 1))
    stories = [
        [Step(place + 1, {question.name: answers[own]}, name) for place, own in enumerate(pattern)]
        for pattern in patterns
    ]
    between = claims_between(
        len(patterns),
        lambda one, two: claimed_between(survey.repeat, question, level, patterns[one], patterns[two], claims[0][1]),
    )

    def judge_stories(called: Called) -> dict[str, Any]:
        words = [repeated_draw(called.outputs[0])] if survey.repeat == FRESH else []
        return _with_words(judge(called, between, [], settings, "sent"), words)

    yield "python", judge_stories(call(partial(observe_story, alone), stories, samples))
    if settings.javascript is None:
        return
    fewer = max(LEAST_JAVASCRIPT, samples // JAVASCRIPT_SHARE)
    with suppress(AuditError):  # its row of one report says why
        told = settings.javascript.replay(alone, [story for story in stories for _ in range(fewer)])
        outputs = tuple(tuple(map(observe_told, told[start : start + fewer])) for start in range(0, len(told), fewer))
        yield "javascript", judge_stories(Called(outputs, tuple((0,) * fewer for _ in stories)))


def _with_words(found: dict[str, Any], words: Sequence[str | None]) -> dict[str, Any]:
    return {**found, "refutations": (*filter(None, words), *found.get("refutations", ()))}


def _sampled(
    survey: Survey, people: People, claims: Claims, timed: Sequence[int], samples: int, settings: AuditSettings
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield for each device what its samples say; the Python device comes also where nothing is sampled."""
    if len(people) < 2:
        yield "python", {"notes": ("fewer than two protected values: nothing to sample",)}
        return
    if not samples:
        yield "python", {}
        return
    found = judge(call(partial(observe, survey), people, samples), claims, timed, settings, "sent")
    called = None
    try:
        if settings.javascript is not None:
            called = settings.javascript.call(survey, people, max(LEAST_JAVASCRIPT, samples // JAVASCRIPT_SHARE))
    except AuditError as error:
        found["notes"] = (str(error),)
    yield "python", found
    if called is not None:
        yield "javascript", judge(called, claims, timed, settings, "sent")


def judge(called: Called, claims: Claims, timed: Sequence[int], settings: AuditSettings, name: str) -> dict[str, Any]:
    """Return what the calls say against the claims, as fields of a row; `timed` values should take the same time."""
    values, samples = len(called.outputs), len(called.outputs[0])
    columns = columns_of(called.observations(name, timed=settings.timed and len(timed) == values))
    bound = lower_bound(columns, samples, values, claims, confidence=settings.confidence)
    timing = compare_times([called.times[place] for place in timed]) if settings.timed and len(timed) > 1 else None
    words = tuple(str(found) for found in (bound, timing) if found is not None and found.refutes)
    return {"sampled": bound, "timing": timing, "refutations": words}


def _hidden_rows(survey: Survey, question: Question, samples: int, settings: AuditSettings) -> Iterator[Row]:
    """The level of one question: what output and label tell about it, for one value, and about value and level."""
    alone, label = only(survey, question), survey.level_channel
    leak, joint = alone.level_leak(), alone.value_and_level_epsilon(question.name)
    if label is None or leak is None or joint is None:
        return
    tables = [read_table(each.mechanism, each.size, each.weights()) for each in question.channels]
    shown = read_table(label.mechanism, label.size, label.weights())
    label_found = micro_of(shown.plain())
    exact, both = level_odds(tables, shown), level_odds(tables, shown, values=True)
    broken = [
        f"{what} can be told apart by {_text(found)}, above the stated {_text(stated)}"
        for what, found, stated in (
            ("levels", exact, leak),
            ("pairs of value and level", both, joint),
            ("levels by the label alone", label_found, survey.level_micro_epsilon),
        )
        if stated is not None and found > stated
    ]
    answer = BY_KIND[question.kind].compare(question, 0).answers[0]
    people = [({question.name: answer}, level.name) for level in question.levels]
    fault = sampler_fault(label.draw, shown)
    details = {"value_and_level": _text(both), "label": _text(label_found)}
    for device, found in _sampled(alone, people, leak / MICRO, range(len(people)), samples, settings):
        words = _with_words(found, [*broken, fault if device == "python" else None])
        numbers = (leak / MICRO, exact / MICRO)
        name = f"{question.channels[0].mechanism} with label"
        yield Row(name, question.name, HIDDEN, device, *numbers, details=details, **words)


def _joint_rows(survey: Survey, samples: int, settings: AuditSettings) -> Iterator[Row]:
    """All answers of a person in one report: they must not share randomness, so together they tell at most the sum."""
    names = [question.name for question in survey.questions]
    strictest = {question.levels[0].name for question in survey.questions}
    offers = [BY_KIND[question.kind].compare(question, 0) for question in survey.questions]
    if len(strictest) > 1 or any(len(offer.answers) < 2 for offer in offers):
        return
    (level,) = strictest
    picks = ([0] * len(names), [1] * len(names), [place % 2 for place in range(len(names))])
    people = [
        ({name: offer.answers[own] for name, offer, own in zip(names, offers, pick, strict=True)}, level)
        for pick in picks
    ]
    claims = claims_between(
        len(picks),
        lambda one, two: sum(
            offer.claims[a][b] for offer, a, b in zip(offers, picks[one], picks[two], strict=True) if a != b
        ),
    )
    for device, found in _sampled(replace(survey, total_micro_epsilon=None), people, claims, [], samples, settings):
        yield Row("all answers", f"all {len(names)}", level, device, found["sampled"].claimed, **found)
