"""What `choice` and `choices` have in common: labels, and a budget for each where they are protected differently."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

from pldp.budgets import Level
from pldp.errors import AnswerError
from pldp.mechanisms import Channel, epsilon_text
from pldp.survey.question import Budgets, Entry, Question, Schema, ref, table_of
from pldp.survey.reading import (
    LONGEST_TEXT,
    check_distinct,
    check_known,
    fail,
    read_epsilon,
    read_fraction,
    read_table,
    read_text,
)

MOST_VALUES: Final = 1_000_000

GIVEN: Final = "given"
RANDOM: Final = "random"

BUDGET_KEYS: Final = frozenset({"fractions", "unprotected", "budgets"})
"""Keys of a question whose values are protected differently."""


@dataclass(frozen=True, repr=False)
class LabelQuestion(Question):
    """A question whose answers are made of labels, `values`, in their public order.

    `budgets` has for each level a budget per value, where values are protected differently.
    """

    values: tuple[str, ...]
    budgets: tuple[Budgets, ...] = ()
    option_order: str = field(default=GIVEN, kw_only=True)
    """In which order a device shows the labels: as given, or at random, another one for each person."""

    keys: ClassVar[Mapping[str, Schema]] = {
        **Question.keys,
        "values": {"type": "array", "minItems": 2, "maxItems": MOST_VALUES, "uniqueItems": True, "items": ref("text")},
        "option_order": {
            "enum": [GIVEN, RANDOM],
            "description": "in which order people see the labels; reports do not depend on it",
        },
        "fractions": table_of("fraction", "part of the level's ε for some values that are more sensitive"),
        "unprotected": {
            "type": "array",
            "items": {"type": "string"},
            "description": "values that may be reported as they are",
        },
        "budgets": {
            "type": "object",
            "description": "spelled out: per level the ε of each value, or infinite",
            "additionalProperties": {
                "type": "array",
                "items": {"anyOf": [ref("epsilon"), {"const": epsilon_text(math.inf)}]},
            },
        },
    }
    required: ClassVar[tuple[str, ...]] = (*Question.required, "values")

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """Build the question."""
        values = read_labels(entry)
        order = entry.table.get("option_order", GIVEN)
        check_known(order, f"{entry.key}.option_order", (GIVEN, RANDOM))
        extras = {**cls.read_extras(entry, len(values)), "option_order": order}
        budgets = cls.read_budgets(entry, values)
        stages = cls.read_stages(entry, len(values), budgets)
        channels = tuple(each.channel for each in stages) or cls.read_channels(entry, len(values), budgets)
        return cls(entry.name, entry.text, entry.levels, channels, values, budgets, stages=stages, **extras)

    @classmethod
    def channels_of(cls, entry: Entry, values: tuple[str, ...]) -> tuple[Channel, ...]:
        """Build the channel of each level of an entry, tracked or not."""
        budgets = cls.read_budgets(entry, values)
        stages = cls.read_stages(entry, len(values), budgets)
        return tuple(each.channel for each in stages) or cls.read_channels(entry, len(values), budgets)

    @classmethod
    def read_extras(cls, entry: Entry, size: int) -> dict[str, Any]:  # noqa: ARG003 - others have some
        """Read what only this kind has, as fields of the question."""
        return {}

    @classmethod
    def read_budgets(cls, entry: Entry, values: tuple[str, ...]) -> tuple[Budgets, ...]:
        """Return a budget per value for each level, or nothing if all values share the level's ε."""
        return read_budgets(entry, values)

    @property
    def scale(self) -> tuple[str, ...]:
        """The labels."""
        return self.values

    def describe(self) -> str:
        """Count the labels."""
        return f"{len(self.values):,} labels"

    @property
    def last_shown(self) -> frozenset[str]:
        """Labels that stay behind all others where the order is random."""
        return frozenset()

    def options(self, place: Callable[[str], bytes]) -> tuple[str, ...]:
        """Return the labels as given, or in random order."""
        if self.option_order == GIVEN:
            return self.values
        return tuple(sorted(self.values, key=lambda label: (label in self.last_shown, place(label))))

    def shown_texts(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the text and the labels."""
        yield from super().shown_texts()
        for label in self.values:
            yield ("values", label), label

    def answers_document(self) -> dict[str, Any]:
        """Return `values`, and `budgets` where there are some."""
        document: dict[str, Any] = {"values": list(self.values)}
        if self.option_order != GIVEN:
            document["option_order"] = self.option_order
        if self.budgets:
            document["budgets"] = {
                level.name: [epsilon_text(micro) for micro in budgets]
                for level, budgets in zip(self.levels, self.budgets, strict=True)
            }
        return document

    def source(self) -> dict[str, Any]:
        """Return the table with the budgets of values as fractions of the level's ε: those of the dearest level."""
        table = super().source()
        if table.pop("budgets", None) is None:
            return table
        most = self.levels[-1].micro_epsilon
        pairs = list(zip(self.values, self.budgets[-1], strict=True))
        fractions = {value: str(Fraction(int(own), most)) for value, own in pairs if own < most}
        return {**table, "fractions": fractions, "unprotected": [value for value, own in pairs if own == math.inf]}

    @property
    def proportional(self) -> bool:
        """Whether every level gives each value the same part of its ε, up to rounding to whole micro-ε."""
        most = self.levels[-1].micro_epsilon
        return all(
            own == top if top == math.inf else abs(own - top * level.micro_epsilon / most) <= 1
            for level, budgets in zip(self.levels, self.budgets, strict=False)
            for own, top in zip(budgets, self.budgets[-1], strict=True)
        )

    def provable(self, level: int) -> tuple[tuple[str, Fraction], ...]:
        """Return the labels without protection: a report that names one comes from nobody else."""
        channel = self.channels[level]
        return tuple(
            (label, channel.proof_chance(place))
            for place, (label, budget) in enumerate(
                zip(self.values, self.budgets[level] if self.budgets else (), strict=False)
            )
            if budget == math.inf
        )

    def promises(self, level: int) -> Budgets:
        """Return the budget of each value where values are protected differently, else that of the answer."""
        return self.budgets[level] if self.budgets else super().promises(level)

    def true_epsilons(self, level: int) -> Budgets:
        """Return what the channel really keeps, in the order of `promises`."""
        channel = self.channels[level]
        return tuple(map(channel.promised, range(channel.size))) if self.budgets else (channel.micro_epsilon,)

    @cached_property
    def value_places(self) -> Mapping[str, int]:
        """Place of each label in `values`."""
        return {label: place for place, label in enumerate(self.values)}

    def value_index(self, value: object) -> int:
        """Return the place of a label; the label itself never appears in the error."""
        index = self.value_places.get(value) if isinstance(value, str) else None
        if index is None:
            labels = f"the {len(self.values)} labels of question {self.name!r}"
            raise AnswerError(f"value must be one of {labels}; this one is not")
        return index


def read_labels(entry: Entry) -> tuple[str, ...]:
    """Read `values`."""
    labels, key = entry.table["values"], f"{entry.key}.values"
    if not isinstance(labels, list) or not 2 <= len(labels) <= MOST_VALUES:
        fail(key, f"must be a list of 2 to {MOST_VALUES:,} labels", labels)
    read = [read_text(label, f"{key}[{index}]", LONGEST_TEXT) for index, label in enumerate(labels)]
    check_distinct(read, key, "labels")
    return tuple(read)


def read_budgets(entry: Entry, values: tuple[str, ...]) -> tuple[Budgets, ...]:
    """Return a budget per value for each level, or nothing if all values share the level's ε."""
    table, key = entry.table, entry.key
    present = sorted(BUDGET_KEYS & table.keys())
    if not present:
        return ()
    if "budgets" in present:
        if len(present) > 1:
            fail(key, "must give either budgets, or fractions and unprotected values", present)
        return _spelled_budgets(table["budgets"], f"{key}.budgets", values, entry.levels)
    parts = read_parts(entry, values)
    return tuple(
        tuple(
            math.inf if part is None else _part(level.micro_epsilon, part, f"{key}.fractions.{name}")
            for name, part in zip(values, parts, strict=True)
        )
        for level in entry.levels
    )


def read_parts(entry: Entry, values: tuple[str, ...]) -> tuple[Fraction | None, ...]:
    """Return the part of a level's ε that protects each value, exactly; `None` for one without protection."""
    table, key = entry.table, entry.key
    fractions: dict[str, Fraction] = dict.fromkeys(values, Fraction(1))
    for name, part in read_table(table.get("fractions", {}), f"{key}.fractions", set(values)).items():
        fractions[name] = read_fraction(part, f"{key}.fractions.{name}")
    unprotected = table.get("unprotected", [])
    known = isinstance(unprotected, list) and all(isinstance(name, str) and name in fractions for name in unprotected)
    if not known:
        fail(f"{key}.unprotected", "must be a list of labels of this question", unprotected)
    for name in unprotected:
        if name in table.get("fractions", {}):
            fail(f"{key}.unprotected", "must not name labels that have a fraction", name)
    free = set(unprotected)
    return tuple(None if name in free else fractions[name] for name in values)


def _part(micro: int, fraction: Fraction, key: str) -> int:
    part = int(micro * fraction)
    if part < 1:
        fail(key, "must leave the value at least a millionth of epsilon", str(fraction))
    return part


def _spelled_budgets(
    entry: object, key: str, values: tuple[str, ...], levels: tuple[Level, ...]
) -> tuple[Budgets, ...]:
    names = tuple(level.name for level in levels)
    table = read_table(entry, key, names, required=names)
    found = []
    for level in levels:
        lines = table[level.name]
        if not isinstance(lines, list) or len(lines) != len(values):
            fail(f"{key}.{level.name}", f"must be a list with one epsilon per value ({len(values)})", lines)
        budgets = tuple(
            math.inf if line == epsilon_text(math.inf) else read_epsilon(line, f"{key}.{level.name}") for line in lines
        )
        if any(level.micro_epsilon < micro < math.inf for micro in budgets):
            fail(f"{key}.{level.name}", "must not be above the level's epsilon", epsilon_text(level.micro_epsilon))
        found.append(budgets)
    return tuple(found)
