"""Audit everything that a survey offers: every question and level, on the Python device and on the JavaScript one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from pldp.auditing.asking import ROUNDS, STORIES, sequence_rows
from pldp.auditing.devices import only
from pldp.auditing.exact import Exact, audit_channel, audit_level, level_odds, micro_of, question_tables, read_micro
from pldp.auditing.hidden_reports import hidden_report_rows, lottery_rows, together
from pldp.auditing.judging import AuditSettings
from pldp.auditing.kinds import BY_KIND
from pldp.auditing.kinds.kind import Comparison, claims_between
from pldp.auditing.law import Recorder, sampler_fault
from pldp.auditing.published import read_table
from pldp.auditing.result import DRAWS_COMPARED, HIDDEN, Row, text_of
from pldp.auditing.runs import Run, proof_notes, sample_people, with_words
from pldp.auditing.sequences import stated_sequence
from pldp.auditing.stories import TWO, Story, Told, can_fork, insistent_story, javascript_replay, replay, state_faults
from pldp.epsilon import LARGEST_TOTAL, MICRO
from pldp.errors import AuditError
from pldp.survey import Question, Survey

SAMPLES: Final = 2_000  # people per value that answer on the Python device, unless more are asked for
MOST_JOINT: Final = 20  # questions up to which all answers of a person are also audited together


@dataclass(frozen=True)
class Job:
    """One promise to look at: whose it is, how many values are sampled, and what gives the rows."""

    question: str
    level: str
    values: int
    rows: partial[Iterator[Row]]


def audit_survey(survey: Survey, samples: int, settings: AuditSettings, *, sequences: bool = True) -> Iterator[Row]:
    """Yield the rows of a survey: promises of answers and of their sequences, of hidden levels, of all answers."""
    run = Run(survey, samples, settings)
    jobs = [job for job in _jobs(run, sequences=sequences) if settings.wants(job.question, job.level)]
    if settings.only and not jobs:
        names = ", ".join(question.name for question in survey.questions)
        raise AuditError(f"there is no promise of {'/'.join(settings.only)}; the survey asks {names}")
    if not settings.devices:
        known = "python, or javascript where Node and the client are installed"
        raise AuditError(f"the device must be {known}, not {settings.only[2]!r}")
    run.error = settings.false_alarm / max(1, len(jobs) * len(settings.devices))
    run.total = max(
        1, sum(job.values * sum(map(run.count, settings.devices)) for job in jobs) if samples else len(jobs)
    )
    for job in jobs:
        if not samples:
            run.progress(1)
        yield from (row for row in job.rows() if row.device in settings.devices or not settings.only[2:])


def _jobs(run: Run, *, sequences: bool) -> Iterator[Job]:
    survey = run.survey
    for question in survey.questions:
        for level, own in enumerate(question.levels):
            compared = BY_KIND[question.kind].compare(question, level)
            name = (question.name, own.name)
            yield Job(*name, len(compared.answers), partial(_level_rows, run, question, level, compared))
            if sequences:
                yield Job(*name, len(STORIES), partial(sequence_rows, run, question, level, (own.name,) * ROUNDS))
                if level and run.samples and survey.lottery is None:  # there a change is an act of the person
                    changed = (own.name, question.levels[level - 1].name, own.name)
                    yield Job(*name, len(STORIES), partial(sequence_rows, run, question, level, changed))
        if survey.level_channel is not None:
            yield Job(question.name, HIDDEN, len(question.levels), partial(_hidden_rows, run, question))
    if survey.level_channel is not None:
        yield Job(together(survey), HIDDEN, 1, partial(hidden_report_rows, run))
    if survey.lottery is not None:
        yield Job(together(survey), HIDDEN, len(survey.levels), partial(lottery_rows, run))
    if run.samples and 1 < len(survey.questions) <= MOST_JOINT and survey.ask is None:
        yield Job(together(survey), survey.questions[0].levels[0].name, 3, partial(_joint_rows, run))


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
        "plain": text_of(exact.plain),
        "by_output": list(map(text_of, exact.by_output)),
        "by_value": list(map(text_of, exact.by_value)),
        "by_pair": [list(map(text_of, row)) for row in exact.by_pair],
        **found.pop("details", {}),
    }
    claimed, kept = exact.claimed / MICRO, exact.found / MICRO
    return Row(mechanism, question, level, device, claimed, kept, refutations=words, details=details, **found)


def _level_rows(run: Run, question: Question, level: int, compared: Comparison) -> Iterator[Row]:
    """One question at one level: exact ε, law of the sampler, samples of both devices, times, rounds."""
    channel, own = question.channels[level], question.levels[level]
    published = (channel.mechanism, channel.size, channel.weights())
    exact = audit_level(question, level)
    sets, recorder = channel.domain == "sets", Recorder(channel.draw)
    words = {"python": sampler_fault(recorder, read_table(*published), sets=sets)}
    alone = only(run.survey, question)
    people = [({question.name: answer}, own.name) for answer in compared.answers]
    details: dict[str, Any] = {"manipulation": channel.manipulation, "values_compared": len(people)}
    payable = stated_sequence(run.survey.repeat, question, len(question.levels) - 1, ROUNDS) <= LARGEST_TOTAL * MICRO
    names = [each.name for each in question.levels]
    levels = [own.name, names[0] if level else names[-1]]
    story = insistent_story([values for values, _ in people[:2]], levels) if run.samples and people and payable else []
    for device, found in sample_people(run, alone, people, compared.claims, compared.timed):
        faults, unseen = (
            state_faults(alone, question, story, partial(_replay, run, device, alone)) if story else ([], [])
        )
        if device == "javascript":
            drawn = run.javascript.draw(alone, question.name, own.name, recorder.fed, sets=sets)
            words[device], details[DRAWS_COMPARED] = recorder.fault(drawn), len(drawn)
        against = with_words(found, [words[device], *faults])
        left = (compared.left_out,) if run.samples and compared.left_out else ()
        against["notes"] = (*proof_notes(question, level), *against.get("notes", ()), *unseen, *left)
        yield _row(channel.mechanism, question.name, own.name, device, exact, **against, details=details)


def _replay(run: Run, device: str, survey: Survey, stories: Sequence[Story], mode: str) -> list[list[Told]]:
    if device == "javascript" and run.settings.javascript is not None:
        return javascript_replay(run.settings.javascript, survey, stories, mode)
    if mode == TWO and not can_fork():
        raise NotImplementedError
    return [replay(run.settings.device, survey, story, mode) for story in stories]


def _hidden_rows(run: Run, question: Question) -> Iterator[Row]:
    """The level of one question: what output and label tell about it, for one value, and about value and level."""
    survey = run.survey
    alone, label = only(survey, question), survey.level_channel
    leak, joint = alone.level_leak(), alone.value_and_level_epsilon(question.name)
    if label is None or leak is None or joint is None:
        return
    tables = question_tables(question)
    shown = read_table(label.mechanism, label.size, label.weights())
    label_found = micro_of(shown.plain())
    exact, both = level_odds(tables, shown), level_odds(tables, shown, values=True)
    broken = [
        f"{what} can be told apart by {text_of(found)}, above the stated {text_of(stated)}"
        for what, found, stated in (
            ("levels", exact, leak),
            ("pairs of value and level", both, joint),
            ("levels by the label alone", label_found, survey.level_micro_epsilon),
        )
        if stated is not None and found > stated
    ]
    answer = BY_KIND[question.kind].compare(question, 0).answers[0]
    people = [({question.name: answer}, level.name) for level in question.levels]
    recorder = Recorder(label.draw)
    fault = sampler_fault(recorder, shown)
    details: dict[str, Any] = {"value_and_level": text_of(both), "label": text_of(label_found)}
    for device, found in sample_people(run, alone, people, leak / MICRO, range(len(people))):
        if device == "javascript":
            drawn = run.javascript.draw(alone, "", "", recorder.fed)
            fault, details = recorder.fault(drawn), {**details, DRAWS_COMPARED: len(drawn)}
        words = with_words(found, [*broken, fault])
        numbers = (leak / MICRO, exact / MICRO)
        name = f"{question.channels[0].mechanism} with label"
        yield Row(name, question.name, HIDDEN, device, *numbers, details=details, **words)


def _joint_rows(run: Run) -> Iterator[Row]:
    """All answers of a person in one report: they must not share randomness, so together they tell at most the sum."""
    survey = run.survey
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
    for device, found in sample_people(run, replace(survey, total_micro_epsilon=None), people, claims, []):
        yield Row("all answers", f"all {len(names)}", level, device, found["sampled"].claimed, **found)
