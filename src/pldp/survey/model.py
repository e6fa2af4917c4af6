"""The survey as both sides know it: questions, labels, levels, and the exact channel of each level."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pldp.budgets import Level, epsilon_text
from pldp.errors import AnswerError, SurveyError
from pldp.mechanisms import PureChannel, level_leak, value_and_level_epsilon

SCHEMA: Final = 1
"""Number of the survey and report format; a change of meaning gets a new number."""


@dataclass(frozen=True)
class Question:
    """One question with its labels and the channel that each level uses.

    Attributes
    ----------
    name
        Short name in files and results.
    text
        What the person reads.
    values
        The labels that can be answered, in their public order.
    levels
        The levels on offer, strictest first, each with its ε for this question.
    channels
        The channel of each level, in the order of `levels`.
    """

    name: str
    text: str
    values: tuple[str, ...]
    levels: tuple[Level, ...]
    channels: tuple[PureChannel, ...]

    kind: str = "choice"

    def __post_init__(self) -> None:
        """Refuse a channel that does not keep its level's promise, however the question was made."""
        for level, channel in zip(self.levels, self.channels, strict=True):
            if channel.micro_epsilon is None or channel.micro_epsilon > level.micro_epsilon:
                raise SurveyError(
                    f"question {self.name}, level {level.name}: weights must keep the promised epsilon "
                    f"{epsilon_text(level.micro_epsilon)}, not {epsilon_text(channel.micro_epsilon)}"
                )

    @cached_property
    def _value_index(self) -> Mapping[str, int]:
        return {label: index for index, label in enumerate(self.values)}

    @cached_property
    def level_index(self) -> Mapping[str, int]:
        """Place of each level's name in `levels`."""
        return {level.name: index for index, level in enumerate(self.levels)}

    def identity(self, level: int) -> str:
        """Return what a device's memo knows an answer by: question, labels, level and the channel's weights."""
        return self._identities[level]

    @cached_property
    def _identities(self) -> list[str]:
        shared = json.dumps([self.name, self.kind, self.values])
        return [
            hashlib.sha256(f"{shared}{level.name!r}{channel!r}".encode()).hexdigest()
            for level, channel in zip(self.levels, self.channels, strict=True)
        ]

    def value_index(self, value: str) -> int:
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
        if self.level_channel is not None:
            document["hide_level"] = {
                "epsilon": epsilon_text(self.level_micro_epsilon),
                "mechanism": self.level_channel.mechanism,
                "weights": dict(self.level_channel.weights()),
            }
            if self.leak_cap is not None:
                document["hide_level"]["leak_cap"] = epsilon_text(self.leak_cap)
        return document

    def level_leak(self, question: str | None = None) -> int | None:
        """Return in micro-ε what label and outputs tell together about a hidden level; `None` if levels are shown.

        That is ε of the label plus the leak of the output of one question, or of all questions that a person is asked
        (those that tell most), each answered once at the same level; see `pldp.mechanisms.level_leak`.
        """
        if self.level_channel is None or self.level_channel.micro_epsilon is None:
            return None
        asked = self.questions if question is None else (self.question(question),)
        leaks = sorted(level_leak(each.channels) for each in asked)
        return self.level_channel.micro_epsilon + sum(leaks[-(self.ask or len(leaks)) :])

    def value_and_level_epsilon(self, question: str) -> int | None:
        """Return in micro-ε what one answer tells about the pair (value, level) where the level is hidden."""
        if self.level_channel is None or self.level_channel.micro_epsilon is None:
            return None
        return value_and_level_epsilon(self.question(question).channels, self.level_channel.micro_epsilon)

    @cached_property
    def canonical(self) -> bytes:
        """The document as bytes in one and only one spelling: sorted keys, no spaces, UTF-8."""
        return json.dumps(self.document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical bytes, in hexadecimal."""
        return hashlib.sha256(self.canonical).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the spelled-out document as JSON, for devices and other languages."""
        Path(path).write_bytes(self.canonical + b"\n")


def _level_document(level: Level) -> dict[str, str]:
    document = {"epsilon": epsilon_text(level.micro_epsilon)}
    return {**document, "text": level.text} if level.text else document


def _question_document(question: Question) -> dict[str, Any]:
    named = list(zip(question.levels, question.channels, strict=True))
    return {
        "name": question.name,
        "text": question.text,
        "kind": question.kind,
        "values": list(question.values),
        "levels": {level.name: epsilon_text(level.micro_epsilon) for level in question.levels},
        "mechanism": {level.name: channel.mechanism for level, channel in named},
        "weights": {level.name: dict(channel.weights()) for level, channel in named},
    }
