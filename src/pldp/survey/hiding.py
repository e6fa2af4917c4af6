"""Read `hide_level`: which channels hide the level within a cap, and the channel of the label."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pldp.budgets import Level, epsilon_text
from pldp.errors import EpsilonError, SurveyError
from pldp.mechanisms import (
    AUTO,
    LARGEST_EPSILON,
    LARGEST_TOTAL,
    MICRO,
    CategoricalChannel,
    Channel,
    Integers,
    LevelPairs,
    Micro,
    categorical,
    family,
    level_leak,
    most_accurate,
)
from pldp.survey.hidden_prices import LEVEL_CAP, affordable_reports, largest_pairs, most_told
from pldp.survey.lottery import KEYS as LOTTERY_KEYS
from pldp.survey.question import Entry, Question, Schema, ref, table_of
from pldp.survey.reading import fail, naming, read_epsilon, read_fraction, read_table

if TYPE_CHECKING:
    from pldp.survey.model import Survey

LEAST_LABEL_EPSILON: Final = 10_000
"""Micro-ε that a leak cap must leave for the label itself; with less, labels say nothing about the mix of levels."""

ALIKE: Final = 1.05
"""Ratio of two variances up to which the channels that tell less about the level are taken.

It is more than where levels show: a few percent of the error are worth a sixth of what reports tell about the level.
"""

LABEL: Final = "krr"  #: What `auto` stands for: the mechanism that replaces the level by a label …
LABEL_PER_LEVEL: Final = "iprr"  #: … and where the labels of levels have budgets of their own.

KEYS: Final[Mapping[str, Schema]] = {
    "epsilon": ref("epsilon", "of the label that replaces the level"),
    "leak_cap": ref("total", "on what label and output tell together about the level"),
    "mechanism": ref("mechanism", "of the label; its reports must name one level, as those of krr and iprr do"),
    "fractions": table_of("fraction", "part of ε for the labels of some levels, where the mechanism takes one each"),
    "budgets": table_of("epsilon", "spelled out: ε for the label of each level"),
    "weights": ref("weights"),
}
"""Keys of `hide_level` with their JSON Schema."""

PER_LEVEL: Final = ("mechanism", "weights", "budgets", "levels", "sides", "permanent", "stages")
"""Keys of a question that may have an entry per level."""


_PROVES: Final = (
    "hide_level: {}: some reports can come at some levels only and would prove the level, whatever hides it; leave the "
    "same labels unprotected at every level, or none"
)


class Hiding(NamedTuple):
    """What `hide_level` asks for: ε of the label, or a cap on the whole leak about the level, or both."""

    micro_epsilon: int | None
    leak_cap: int | None
    mechanism: str
    parts: Mapping[str, Fraction | int]  #: Of ε, or in micro-ε, for the labels of some levels.
    weights: object
    questions: int

    @property
    def room(self) -> int | None:
        """What the output of each question may tell about the level: an equal part of what the label leaves."""
        if self.leak_cap is None:
            return None
        return (self.leak_cap - (self.micro_epsilon or LEAST_LABEL_EPSILON)) // self.questions

    def choose(
        self, kind: type[Question], entry: Entry, size: int, candidates: Iterable[tuple[Channel, ...]]
    ) -> tuple[Channel, ...]:
        """Choose channels of one form whose leak stays within the cap: the least leak at about the least error."""
        limits = kind.read_limits(entry, size)
        with naming(entry.key):
            leaks = {channels: level_leak(channels, limits) for channels in candidates}
        if not leaks:
            rule = "must give reports of one form at every level, or their form shows the level"
            fail(f"hide_level: {entry.key}.mechanism", rule, next(iter(entry.mechanisms().values())))
        if min(leaks.values()) == math.inf:
            raise SurveyError(_PROVES.format(entry.key))
        allowed = [
            channels for channels, leak in leaks.items() if leak < math.inf and (self.room is None or leak <= self.room)
        ]
        if not allowed:
            least: dict[str, Micro] = {}
            for channels, leak in leaks.items():
                least[channels[0].mechanism] = min(leak, least.get(channels[0].mechanism, leak))
            known = ", ".join(f"{name} {epsilon_text(leak)}" for name, leak in least.items())
            raise SurveyError(
                f"hide_level.leak_cap: must leave room for epsilon beside what the reports of {entry.key} tell about "
                f"the level by themselves ({known}), not {epsilon_text(self.leak_cap or 0)}{kind.tells_less(entry)}"
            )
        with naming(entry.key):
            return most_accurate(
                allowed,
                entry.answer_bytes,
                alike=ALIKE,
                rank=lambda channels: leaks[tuple(channels)],
                variance=kind.planned_variance(entry, size),
            )


def read_hiding(entry: object, levels: tuple[Level, ...], questions: int) -> Hiding | None:
    """Read `hide_level` of a survey whose people answer so many questions."""
    if entry is None:
        return None
    table = read_table(entry, "hide_level", {**KEYS, **LOTTERY_KEYS})
    if "epsilon" not in table and "leak_cap" not in table:
        raise SurveyError("hide_level: epsilon is missing (or leak_cap, from which it is derived, or lottery)")
    if len(levels) < 2:
        fail("hide_level", "must have at least two levels to hide among", len(levels))
    if len({level.micro_epsilon for level in levels}) < len(levels):
        fail("hide_level", "must have levels of different epsilon", [str(level) for level in levels])
    epsilon, cap = (
        None if table.get(name) is None else read_epsilon(table[name], f"hide_level.{name}", largest=largest)
        for name, largest in (("epsilon", LARGEST_EPSILON), ("leak_cap", LARGEST_TOTAL))
    )
    parts = _read_parts(table, [level.name for level in levels])
    mechanism = table.get("mechanism", AUTO)
    mechanism = (LABEL_PER_LEVEL if parts else LABEL) if mechanism == AUTO else mechanism
    with naming("hide_level"):
        per_level = family(mechanism, "labels").per_value
    if parts and not per_level:
        given = "fractions" if "fractions" in table else "budgets"
        fail(f"hide_level.{given}", "must come with a mechanism that takes a budget per level, such as iprr", mechanism)
    return Hiding(epsilon, cap, mechanism, parts, table.get("weights"), questions)


def _read_parts(table: Mapping[str, Any], levels: Sequence[str]) -> dict[str, Fraction | int]:
    """Read the part of ε, or the ε, of the labels of some levels."""
    if "fractions" in table and "budgets" in table:
        fail("hide_level", "must give either fractions or budgets", ["fractions", "budgets"])
    fractions = read_table(table.get("fractions", {}), "hide_level.fractions", set(levels))
    budgets = read_table(table.get("budgets", {}), "hide_level.budgets", set(levels))
    return {
        **{name: read_fraction(part, f"hide_level.fractions.{name}") for name, part in fractions.items()},
        **{name: read_epsilon(part, f"hide_level.budgets.{name}") for name, part in budgets.items()},
    }


def with_every_level(
    table: Mapping[str, Any], key: str, levels: Sequence[Level], survey_levels: Sequence[Level]
) -> tuple[Mapping[str, Any], tuple[Level, ...]]:
    """Let a question that offers some levels be answered at every level: as at the nearest stricter one it offers.

    If only people of some levels could answer it, an answer would tell the level. Nobody may be less protected than at
    the level they chose, so the strictest one must be on offer.
    """
    offered = {level.name: level for level in levels}
    order = [level.name for level in survey_levels]
    if order[0] not in offered or [name for name in order if name in offered] != [level.name for level in levels]:
        rule = f"must offer {order[0]!r}, the strictest level, and others in the survey's order"
        fail(f"hide_level: {key}.levels", rule, [level.name for level in levels])
    found, copied, nearest = [], {}, levels[0]
    for level in survey_levels:
        nearest = offered.get(level.name, nearest)
        found.append(replace(nearest, name=level.name, text=level.text))
        if level.name != nearest.name:
            copied[level.name] = nearest.name
    spelled = {
        part: {**entry, **{name: entry[near] for name, near in copied.items() if near in entry}}
        for part, entry in table.items()
        if part in PER_LEVEL and isinstance(entry, Mapping)
    }
    return {**table, **spelled}, tuple(found)


class Label(NamedTuple):
    """What hides the level: the promised ε, those of single levels where they differ, and the channel."""

    micro_epsilon: int
    budgets: tuple[int, ...]
    channel: CategoricalChannel


def label_channel(hiding: Hiding, levels: Sequence[Level], questions: Sequence[Question]) -> Label:
    """Build the channel of the label; its ε is the one asked for, or what the cap leaves beside all outputs."""
    outputs = int(most_told(largest_pairs([*map(_evidence, questions)], hiding.questions)))
    if hiding.leak_cap is not None and outputs + (hiding.micro_epsilon or LEAST_LABEL_EPSILON) > hiding.leak_cap:
        rule = f"must leave room for epsilon beside the {epsilon_text(outputs)} that outputs alone tell about the level"
        fail("hide_level.leak_cap", rule, epsilon_text(hiding.leak_cap))
    left = min((hiding.leak_cap or 0) - outputs, LARGEST_EPSILON * MICRO)
    micro = hiding.micro_epsilon if hiding.micro_epsilon is not None else left
    parts = [hiding.parts.get(level.name, Fraction(1)) for level in levels]
    budgets = tuple(part if isinstance(part, int) else int(micro * part) for part in parts) if hiding.parts else ()
    if budgets and not 0 < min(budgets) <= max(budgets) <= micro:
        rule = f"must be above 0 and at most epsilon ({epsilon_text(micro)})"
        fail("hide_level.budgets", rule, [epsilon_text(each) for each in budgets])
    with naming("hide_level"):
        own = family(hiding.mechanism, "labels", per_value=True if budgets else None)
        if hiding.weights is None:
            built = own.build(len(levels), budgets or micro)
        else:
            built = own.read(len(levels), hiding.weights)
        (channel,) = categorical([built])
    _check_names_one(channel)
    bounds = budgets or (micro,) * len(levels)
    kept = [*map(channel.promised, range(len(levels))), channel.micro_epsilon]
    for bound, true in zip((*bounds, micro), kept, strict=True):
        if true > bound:
            rule = f"must keep the promised epsilon {epsilon_text(bound)}"
            fail("hide_level: weights", rule, epsilon_text(true))
    return Label(micro, budgets, channel)


def _check_names_one(channel: CategoricalChannel) -> None:
    """Refuse a label that is not the name of one level: a report has no other place for it."""
    size = channel.size
    if channel.form == Integers(size) and all(
        channel.supports(output, level) == (output == level) for output in range(size) for level in range(size)
    ):
        return
    raise SurveyError(
        f"hide_level.mechanism: must name one level in each report, which has room for one name only, and "
        f"{channel.mechanism} does not; krr does, and iprr where the choice of some levels needs more protection"
    )


def leak_warnings(survey: Survey) -> list[str]:
    """Return a line where devices refuse to answer, and one where outputs tell more about the level than its label.

    >>> from pldp.survey import Survey
    >>> question = {"name": "late", "values": ["yes", "no"]}
    >>> levels = {"strict": 0.5, "open": 2}
    >>> document = {"pldp": 1, "title": "t", "levels": levels, "hide_level": {"epsilon": 0.2}, "questions": [question]}
    >>> [line.partition(" by themselves")[0] for line in leak_warnings(Survey.read(document))]
    ["levels are hidden behind labels of ε = 0.2, but what a person's answers tell about the level is ε = 1.152852"]
    """
    label, together = survey.level_channel, survey.level_leak()
    if label is None or together is None:
        return []
    lines = []
    if affordable_reports(survey) == 0:
        lines.append(
            f"no device answers all questions: that would tell ε = {epsilon_text(together)} about a hidden level, and "
            f"devices stop at {epsilon_text(LEVEL_CAP)}; set leak_cap, bring the ε of levels closer, or ask less"
        )
    if together - label.micro_epsilon <= label.micro_epsilon:
        return lines
    own = {each.name: each.level_leak for each in survey.questions}
    worst = max(own, key=lambda name: own[name])
    advice = "limit both together with leak_cap" if survey.leak_cap is None else "lower leak_cap, which limits both"
    lines.append(
        f"levels are hidden behind labels of ε = {epsilon_text(label.micro_epsilon)}, but what a person's answers tell "
        f"about the level is ε = {epsilon_text(together - label.micro_epsilon)} by themselves, most of it in "
        f"{worst!r} ({epsilon_text(own[worst])}): {advice}, or bring the ε of levels closer"
    )
    return lines


def _evidence(question: Question) -> LevelPairs:
    """Return what outputs of a question tell about the level; refuse one that cannot be hidden."""
    reason = question.hideable()
    if reason is not None:
        raise SurveyError(f"hide_level: question {question.name}: {reason}")
    try:
        evidence = question.level_evidence
    except EpsilonError:
        names = ", ".join(channel.mechanism for channel in question.channels)
        rule = "must give reports of one form at every level, or their form shows the level"
        fail(f"hide_level: question {question.name}.mechanism", rule, names)
    if most_told(evidence) == math.inf:
        raise SurveyError(_PROVES.format(f"question {question.name}"))
    return evidence
