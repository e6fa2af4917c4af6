"""The survey as both sides know it: questions, labels, levels, and the exact channel of each level."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pldp.budgets import Level, compose, epsilon_text
from pldp.errors import AnswerError, EpsilonError, SurveyError
from pldp.mechanisms import Channel, Grid, Micro, PureChannel, level_leak, value_and_level_epsilon

SCHEMA: Final = 1
"""Number of the survey and report format; a change of meaning gets a new number."""


KINDS: Final = ("choice", "choices", "number")
"""One label, several labels, or a number."""

OUTSIDE: Final = ("refuse", "clip")
"""What happens to a number outside the bounds."""

Budgets = tuple[Micro, ...]
"""Micro-ε of each value, `math.inf` for values without protection."""


@dataclass(frozen=True)
class Question:
    """One question with its labels or bounds and the channel that each level uses.

    Attributes
    ----------
    name
        Short name in files and results.
    text
        What the person reads.
    values
        The labels that can be answered, in their public order; none for a number.
    levels
        The levels on offer, strictest first, each with its ε for this question (for each label of `choices`).
    channels
        The channel of each level, in the order of `levels`.
    kind
        `choice` (one label), `choices` (any number of labels) or `number`.
    budgets
        For each level a budget per value, where values are protected differently.
    grid, bounds, unit, outside
        Of a number: its buckets, the bounds as text, the unit, and what happens outside the bounds.
    """

    name: str
    text: str
    values: tuple[str, ...]
    levels: tuple[Level, ...]
    channels: tuple[Channel, ...]
    kind: str = "choice"
    budgets: tuple[Budgets, ...] = ()
    grid: Grid | None = None
    bounds: tuple[str, str] = ("", "")
    unit: str = ""
    outside: str = "refuse"

    def __post_init__(self) -> None:
        """Refuse a channel that does not keep what is promised, however the question was made."""
        for place, (level, channel) in enumerate(zip(self.levels, self.channels, strict=True)):
            if self.kind == "choices" or self.budgets:
                budgets = self.budgets[place] if self.budgets else (level.micro_epsilon,) * channel.size
                kept = [(bound, channel.promised(value)) for value, bound in enumerate(budgets)]
            else:
                kept = [(level.micro_epsilon, channel.micro_epsilon)]
            for bound, found in kept:
                if found > bound:
                    raise SurveyError(
                        f"question {self.name}, level {level.name}: weights must keep the promised epsilon "
                        f"{epsilon_text(bound)}, not {epsilon_text(found)}"
                    )

    def charge(self, level: int) -> int:
        """Return in micro-ε what an answer costs: the level's ε, or the sum over all labels of `choices`.

        Values without protection are not counted: what they reveal has no price.
        """
        micro = self.levels[level].micro_epsilon
        if self.kind != "choices":
            return micro
        budgets = self.budgets[level] if self.budgets else (micro,) * len(self.values)
        return compose(int(budget) for budget in budgets if budget < math.inf)

    @cached_property
    def pure_channels(self) -> tuple[PureChannel, ...]:
        """The channels, where all values have the same protection."""
        pure = tuple(channel for channel in self.channels if isinstance(channel, PureChannel))
        if len(pure) < len(self.channels):
            raise EpsilonError(f"question {self.name!r} has channels that treat values differently")
        return pure

    @cached_property
    def _value_index(self) -> Mapping[str, int]:
        return {label: index for index, label in enumerate(self.values)}

    @cached_property
    def level_index(self) -> Mapping[str, int]:
        """Place of each level's name in `levels`."""
        return {level.name: index for index, level in enumerate(self.levels)}

    def identity(self, level: int) -> str:
        """Return what a device's memo knows an answer by: question, labels, level and the channel's weights.

        It is made of nothing but published text and integers, so that a client in any language finds the same.
        """
        return self._identities[level]

    @property
    def _scale(self) -> tuple[str | int, ...]:
        """The labels, or what stands for them in a number: its bounds and buckets."""
        return self.values if self.grid is None else (*self.bounds, self.grid.size)

    @cached_property
    def _identities(self) -> list[str]:
        return [
            _hash([self.name, self.kind, self._scale, level.name, channel.mechanism, channel.weights()])
            for level, channel in zip(self.levels, self.channels, strict=True)
        ]

    def encode(self, value: object) -> int:
        """Return what the channel perturbs: the place of a label, a set of labels as bits, or a number's bucket."""
        if self.kind == "choices":
            return self._set(value)
        if self.grid is not None:
            return self._bucket(value)
        return self.value_index(value)

    def _set(self, value: object) -> int:
        """Bit i stands for label i."""
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise AnswerError(f"value must be several labels of question {self.name!r}, such as a list; it is not")
        labels = list(value)
        places = {self._value_index.get(label) for label in labels if isinstance(label, str)} - {None}
        if len(places) != len(labels):
            raise AnswerError(
                f"value must be different labels among the {len(self.values)} of question {self.name!r}; some are not"
            )
        return sum(1 << place for place in places if place is not None)

    def _bucket(self, value: object) -> int:
        """The bucket of a number in the public bounds."""
        if self.grid is None or isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise AnswerError(f"value must be a number for question {self.name!r}; what came is none")
        try:
            number = float(value)
        except (OverflowError, ValueError):  # an integer too large for a float, a signaling NaN
            number = math.nan
        if math.isnan(number):
            raise AnswerError(f"value must be a number for question {self.name!r}; what came is none")
        if self.outside == "clip":
            number = min(max(number, self.grid.low), self.grid.high)
        return self.grid.index(number)

    def value_index(self, value: object) -> int:
        """Return the place of a label; the label itself never appears in the error."""
        index = self._value_index.get(value) if isinstance(value, str) else None
        if index is None:
            raise AnswerError(
                f"value must be one of the {len(self.values)} labels of question {self.name!r}; what came is not"
            )
        return index

    def find_level(self, name: str | None) -> int:
        """Return the place of a level; the strictest one if no name is given."""
        if name is None:
            return 0
        index = self.level_index.get(name) if isinstance(name, str) else None
        if index is None:
            names = ", ".join(level.name for level in self.levels)
            raise AnswerError(f"level must be one of {names} in question {self.name!r}; what came is not")
        return index


@dataclass(frozen=True)
class Survey:
    """Everything that device and collector must agree on; its hash is in every report.

    Attributes
    ----------
    title, collector
        What the survey is and who collects.
    levels
        The levels on offer, strictest first.
    questions
        What is asked.
    total_micro_epsilon
        The most that one person may spend on this survey, or `None`.
    ask
        How many questions each person is asked, picked at random by the device; `None`: all.
    level_channel
        The channel that perturbs the chosen level itself, or `None` if reports show the level.
    level_micro_epsilon, leak_cap
        The ε promised for that label, and the cap on the whole leak about the level, where they are set.
    """

    title: str
    collector: str
    levels: tuple[Level, ...]
    questions: tuple[Question, ...]
    total_micro_epsilon: int | None = None
    ask: int | None = None
    level_channel: PureChannel | None = None
    level_micro_epsilon: int | None = None
    leak_cap: int | None = None

    @staticmethod
    def load(path: str | Path, *, trusted_key: str | None = None) -> Survey:
        """Read a survey file (TOML or JSON); with `trusted_key`, accept it only if that key signed it."""
        from pldp.survey.file import load  # noqa: PLC0415 - the reader builds this class

        return load(path, trusted_key=trusted_key)

    @cached_property
    def _by_name(self) -> Mapping[str, Question]:
        return {question.name: question for question in self.questions}

    def question(self, name: str) -> Question:
        """Return the question of this name."""
        found = self._by_name.get(name) if isinstance(name, str) else None
        if found is None:
            # What came is not repeated: with swapped arguments it would be the answer.
            raise AnswerError(f"question must be one of {', '.join(self._by_name)}; what came is not")
        return found

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The survey as plain data with everything spelled out: mechanisms resolved, weights as integers, ε as text.

        It is itself a valid survey file. Clients need no logarithm to use it.
        """
        document: dict[str, Any] = {
            "pldp": SCHEMA,
            "title": self.title,
            "levels": {level.name: _level_document(level) for level in self.levels},
            "questions": [_question_document(question) for question in self.questions],
        }
        if self.collector:
            document["collector"] = self.collector
        if self.total_micro_epsilon is not None:
            document["total_epsilon"] = epsilon_text(self.total_micro_epsilon)
        if self.ask is not None:
            document["ask"] = self.ask
        if self.level_channel is not None and self.level_micro_epsilon is not None:
            document["hide_level"] = {
                "epsilon": epsilon_text(self.level_micro_epsilon),
                "mechanism": self.level_channel.mechanism,
                "weights": dict(self.level_channel.weights()),
            }
            if self.leak_cap is not None:
                document["hide_level"]["leak_cap"] = epsilon_text(self.leak_cap)
        return document

    def level_leak(self, question: str | None = None) -> Micro | None:
        """Return in micro-ε what label and outputs tell together about a hidden level; `None` if levels are shown.

        That is ε of the label plus the leak of the output of one question, or of all questions that a person is asked
        (those that tell most), each answered once at the same level; see `pldp.mechanisms.level_leak`.
        """
        if self.level_channel is None:
            return None
        asked = self.questions if question is None else (self.question(question),)
        leaks = sorted(level_leak(each.pure_channels) for each in asked)
        return self.level_channel.micro_epsilon + sum(leaks[-(self.ask or len(leaks)) :])

    def value_and_level_epsilon(self, question: str) -> Micro | None:
        """Return in micro-ε what one answer tells about the pair (value, level) where the level is hidden."""
        if self.level_channel is None:
            return None
        return value_and_level_epsilon(self.question(question).pure_channels, self.level_channel.micro_epsilon)

    def label_identity(self, level: int) -> str:
        """Return what a device's memo knows the label of a hidden level by: the levels, the channel, the level."""
        return self._label_identities[level]

    @cached_property
    def _label_identities(self) -> list[str]:
        if self.level_channel is None:
            return []
        names = [level.name for level in self.levels]
        return [_hash([names, self.level_channel.mechanism, self.level_channel.weights(), name]) for name in names]

    @cached_property
    def canonical(self) -> bytes:
        """The document as bytes in one and only one spelling: sorted keys, no spaces, UTF-8."""
        return _canonical(self.document)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical bytes, in hexadecimal."""
        return hashlib.sha256(self.canonical).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the spelled-out document as JSON, for devices and other languages."""
        Path(path).write_bytes(self.canonical + b"\n")


def _canonical(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _hash(content: object) -> str:
    return hashlib.sha256(_canonical(content)).hexdigest()


def _level_document(level: Level) -> dict[str, str]:
    document = {"epsilon": epsilon_text(level.micro_epsilon)}
    return {**document, "text": level.text} if level.text else document


def _question_document(question: Question) -> dict[str, Any]:
    named = list(zip(question.levels, question.channels, strict=True))
    if question.grid is None:
        answers: dict[str, Any] = {"values": list(question.values)}
    else:
        answers = {
            "low": question.bounds[0],
            "high": question.bounds[1],
            "buckets": question.grid.size,
            "outside": question.outside,
        }
        if question.unit:
            answers["unit"] = question.unit
    if question.budgets:
        answers["budgets"] = {
            level.name: [epsilon_text(micro) for micro in budgets]
            for level, budgets in zip(question.levels, question.budgets, strict=True)
        }
    return {
        "name": question.name,
        "text": question.text,
        "kind": question.kind,
        **answers,
        "levels": {level.name: epsilon_text(level.micro_epsilon) for level in question.levels},
        "mechanism": {level.name: channel.mechanism for level, channel in named},
        "weights": {level.name: dict(channel.weights()) for level, channel in named},
    }
