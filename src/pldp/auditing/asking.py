"""Audit a question that is asked again: sequences of reports, by enumeration and on the devices."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pldp.auditing.calls import Called, call
from pldp.auditing.devices import only
from pldp.auditing.judging import DRAWS, Promise, judge, to_matrix
from pldp.auditing.kinds import BY_KIND
from pldp.auditing.kinds.kind import claims_between
from pldp.auditing.result import Row, text_of
from pldp.auditing.runs import Run, proof_notes, with_words
from pldp.auditing.sequences import claimed_between, exact_sequence, stated_sequence
from pldp.auditing.stories import Step, javascript_stories, observe_told, repeated_draw, replay
from pldp.epsilon import LARGEST_TOTAL, MICRO
from pldp.errors import AuditError
from pldp.survey import FRESH, ONCE, Question, prices

ROUNDS: Final = 3  # rounds over which sequences of reports are enumerated and sampled
ROUNDING: Final = 1e-9  # of logarithms of products
STORIES: Final = ((0, 0, 0), (0, 1, 1), (0, 1, 0), (1, 1, 1))
"""Answers that never change, that change, and that change back."""


def sequence_rows(run: Run, question: Question, level: int, levels: tuple[str, ...]) -> Iterator[Row]:
    """One question at one level, asked again: ε of a sequence of reports against what the ledger charges for it.

    With levels that change, what is claimed is the sum over the rounds of each level, and nothing is enumerated.
    """
    rule, own = run.survey.repeat, question.levels[level]
    constant = len({*levels}) == 1
    stated, exact = stated_sequence(rule, question, level, ROUNDS), exact_sequence(rule, question, level, ROUNDS)
    words = []
    if exact > stated / MICRO + ROUNDING:
        words.append(f"{ROUNDS} rounds tell {exact:.6f}, above the {text_of(stated)} that is charged")
    details = {
        "repeat": rule,
        "prices": {each.what: text_of(each.micro_epsilon) for each in prices(rule, question, level)},
        **({} if constant else {"levels": list(levels)}),
    }
    mechanism = question.channels[level].mechanism
    for device, found in _sampled_stories(run, question, levels):
        against = with_words(found, words if constant else [])
        against["notes"] = (*proof_notes(question, level), *found.get("notes", ()))
        against |= {"details": details, "rounds": ROUNDS}
        if constant:
            yield Row(mechanism, question.name, own.name, device, stated / MICRO, exact, **against)
        elif "sampled" in found:
            claimed = max(map(max, _claims(run, question, levels)))
            yield Row(mechanism, question.name, ", ".join(levels), device, claimed, **against)


def _claims(run: Run, question: Question, levels: tuple[str, ...]) -> list[list[float]]:
    """ε claimed between any two stories: rounds of different levels share nothing, so their claims add up."""
    rule, places = run.survey.repeat, [question.find_level(name) for name in levels]
    singles = {level: BY_KIND[question.kind].compare(question, level).claims[0][1] for level in places}

    def between(one: int, two: int) -> float:
        total = 0.0
        for level in dict.fromkeys(places):
            rounds = [at for at, own in enumerate(places) if own == level]
            mine, theirs = (tuple(STORIES[story][at] for at in rounds) for story in (one, two))
            if rounds[0] == 0 or rule != ONCE:
                total += claimed_between(rule, question, level, mine, theirs, singles[level])
        return total

    return claims_between(len(STORIES), between)


def _sampled_stories(run: Run, question: Question, levels: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield for each device what three rounds tell about stories that change, that change back, and that do not."""
    answers = BY_KIND[question.kind].compare(question, question.find_level(levels[0])).answers
    dearest = max(question.charge(question.find_level(name)) for name in levels)
    if not run.samples or len(answers) < 2 or ROUNDS * dearest > LARGEST_TOTAL * MICRO:
        yield "python", {}
        return
    # What answers tell at a level is what they tell where that level is used; `lottery` looks at how it is drawn.
    alone = replace(only(run.survey, question), lottery=None)
    stories = [
        [Step(at + 1, {question.name: answers[own]}, levels[at]) for at, own in enumerate(pattern)]
        for pattern in STORIES
    ]
    claims = to_matrix(_claims(run, question, levels), len(stories))

    def take(device: str, times: int = 1) -> Called:
        count = run.count(device) * times
        progress = run.progress(count * len(stories)) if times == 1 else None
        if device == "python":
            told = call(partial(replay, run.settings.device, alone), stories, count, progress=progress)
        else:
            told = javascript_stories(run.javascript, alone, stories, count, progress)
        return replace(told, outputs=tuple(map(observe_told, told.outputs)))

    for device in run.settings.devices:
        try:
            called = take(device)
        except AuditError:
            if device == run.settings.devices[0]:
                raise
            continue  # its row of one report says why
        found = judge(called, Promise(claims), run.settings, error=run.error, more=partial(take, device))
        again = (
            repeated_draw(called, 0, run.error * DRAWS) if run.survey.repeat == FRESH and len({*levels}) == 1 else None
        )
        yield device, with_words(found, [again])
