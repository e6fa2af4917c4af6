"""What reports tell where levels are hidden: about the level, and about answers and level together.

For levels τ, τ', with ℓ_q and π_q the evidence of question q (`pldp.mechanisms.leak`), g(τ) the most that the label
tells for τ against any other level, and D new draws of the label (1 with the first report, 0 where it is repeated):

    ε of the level               max over τ ≠ τ' of  D·g(τ) + Σ_q ℓ_q(τ, τ')
    ε of a whole report          max over τ, τ'  of  D·g(τ)·[τ ≠ τ'] + Σ_q π_q(τ, τ')

Both equal enumeration over all reports, labels of krr and iprr included. Neither depends on the level of a person, so
what a device charges, and when it refuses, tells nothing about it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from pldp.errors import SurveyError

if TYPE_CHECKING:
    from pldp.mechanisms import CategoricalChannel, LevelPairs, Micro
    from pldp.survey.model import Survey
    from pldp.survey.question import Question

MOST_SUMS: Final = 4096  #: Different sums of some questions up to which the largest within a total is looked for.

LEVEL_CAP: Final = 3_000_000
"""The most, in micro-ε, that reports to one author may tell about a hidden level: odds of 20 to 1."""


def label_evidence(channel: CategoricalChannel) -> LevelPairs:
    """Return what a label tells for each level against each other one."""
    levels = range(channel.size)
    return tuple(tuple(0 if one == two else channel.evidence_micro_epsilon(one) for two in levels) for one in levels)


def add_pairs(tables: Iterable[LevelPairs]) -> LevelPairs:
    """Add up tables of the same levels, entry by entry."""
    return tuple(tuple(map(sum, zip(*rows, strict=True))) for rows in zip(*tables, strict=True))


def largest_pairs(tables: Sequence[LevelPairs], count: int) -> LevelPairs:
    """Add up for each pair of levels the `count` tables that tell most, as a person may be asked any; 0 means all."""
    return tuple(
        tuple(sum(sorted(entries)[-count:]) for entries in zip(*rows, strict=True))
        for rows in zip(*tables, strict=True)
    )


def most_told(pairs: LevelPairs) -> Micro:
    """Return the largest entry: what is told between some two levels."""
    return max(map(max, pairs))


def level_told(survey: Survey, questions: Iterable[Question], *, new_label: bool) -> LevelPairs:
    """Return what a report with these answers adds to what is known about a hidden level."""
    return add_pairs([*_labels(survey, new_label=new_label), *(question.level_evidence for question in questions)])


def report_price(survey: Survey, questions: Iterable[Question], *, new_label: bool) -> int:
    """Return in micro-ε the ε of a whole report with these answers, at whatever level."""
    return int(
        most_told(
            add_pairs([*_labels(survey, new_label=new_label), *(question.pair_evidence for question in questions)])
        )
    )


def dearest_price(survey: Survey, *, new_label: bool = True) -> int:
    """Return the same for a person who answers all that they are asked: of some questions those that tell most."""
    asked = largest_pairs([question.pair_evidence for question in survey.questions], survey.ask or 0)
    return int(most_told(add_pairs([*_labels(survey, new_label=new_label), asked])))


def dearest_affordable(survey: Survey, *, new_label: bool = True) -> int:
    """Return the same for the questions that tell most of those that the survey's total allows together.

    It is the total itself where there are too many sums to go through, and 0 where no question is affordable.
    """
    sets = affordable_sets(survey, new_label=new_label)
    if sets is None:
        return survey.total_micro_epsilon or 0
    if sets == [survey.questions]:
        return dearest_price(survey, new_label=new_label)
    return max((report_price(survey, questions, new_label=new_label) for questions in sets), default=0)


def affordable_sets(survey: Survey, *, new_label: bool = True) -> list[tuple[Question, ...]] | None:
    """Return the questions that the total allows together, of sets that tell the same only one; `None` if too many.

    All questions stand for any that a person is asked, where all of those are affordable.
    """
    questions, total = survey.questions, survey.total_micro_epsilon
    if total is None or dearest_price(survey, new_label=new_label) <= total:
        return [questions]
    most = survey.ask or len(questions)
    nothing = tuple((0,) * len(survey.levels) for _ in survey.levels)
    # What label and answers tell together decides whether others are affordable beside them, and how many there may be.
    sets: dict[tuple[int, LevelPairs], tuple[Question, ...]] = {
        (0, add_pairs([nothing, *_labels(survey, new_label=new_label)])): ()
    }
    for question in questions:
        for (count, pairs), chosen in list(sets.items()):
            together = add_pairs([pairs, question.pair_evidence])
            # No answer tells less than nothing: what is not affordable is not so with further answers either.
            if count < most and most_told(together) <= total:
                sets[count + 1, together] = (*chosen, question)
        if len(sets) > MOST_SUMS:
            return None
    return [chosen for chosen in sets.values() if chosen]


def affordable_reports(survey: Survey, questions: Sequence[Question] = (), cap: int = LEVEL_CAP) -> int | None:
    """Return how many reports stay within a cap on what is told about the level, each with answers to these questions.

    By default they answer everything that a person is asked. Later editions ask new questions that tell as much as
    these, and the label is repeated. `None`: any number, as outputs tell nothing.

    >>> from pldp.survey import Survey
    >>> document = {"pldp": 1, "title": "t", "levels": {"strict": 0.5, "open": 2}, "hide_level": {"epsilon": 1},
    ...             "questions": [{"name": "late", "values": ["never", "seldom", "often", "always"]}]}
    >>> affordable_reports(Survey.read(document))
    2
    """
    label = _labels(survey, new_label=True)[0]
    each = largest_pairs([question.level_evidence for question in questions or survey.questions], survey.ask or 0)
    reports = [
        ((cap - first) // more if more else math.inf) if first <= cap else 0
        for firsts, mores in zip(label, each, strict=True)
        for first, more in zip(firsts, mores, strict=True)
    ]
    return None if min(reports) == math.inf else int(min(reports))


def _labels(survey: Survey, *, new_label: bool) -> list[LevelPairs]:
    """Return what a new label tells, as the only table or none."""
    if survey.level_channel is None:
        raise SurveyError("reports of this survey show the level")
    return [label_evidence(survey.level_channel)] if new_label else []
