"""The survey as both sides know it: questions, levels, totals, and its hash."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

from pldp.budgets import Level, epsilon_text
from pldp.errors import AnswerError, CallError
from pldp.mechanisms import CategoricalChannel, LevelPairs, Micro
from pldp.survey.hidden_prices import add_pairs, label_evidence, largest_pairs, most_told
from pldp.survey.languages import ENGLISH, Shown, Translation, survey_texts
from pldp.survey.lottery import LOTTERY, Lottery, lottery_document
from pldp.survey.mixing import Shuffle
from pldp.survey.question import Question, canonical, hash_of
from pldp.survey.texts import NO_TEXTS, Texts, closing_time
from pldp.words import unknown

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: Final = 1  #: Number of the survey and report format; a change of meaning gets a new number.

_LISTED: Final = 3
_TITLE: Final = 60
"""Questions, and characters of the title, in a `repr`."""


@dataclass(frozen=True, repr=False)
class Survey:
    """Everything that device and collector must agree on; its hash is in every report."""

    title: str
    collector: str
    levels: tuple[Level, ...]  #: Those on offer, strictest first.
    questions: tuple[Question, ...]
    total_micro_epsilon: int | None = None  #: The most that one person may spend on this survey.
    ask: int | None = None  #: How many questions each person is asked, picked at random by the device; `None`: all.
    level_channel: CategoricalChannel | None = None  #: Perturbs the chosen level; `None`: reports show the level.
    level_micro_epsilon: int | None = None  #: The ε promised for that label, where it is set.
    level_budgets: tuple[int, ...] = ()  #: The ε promised for the label of each level, where they differ.
    leak_cap: int | None = None  #: The cap on the whole leak about the level, where it is set.
    lottery: Lottery | None = None  #: Draws the level that devices use and show; `None`: they use the chosen one.
    repeat: str = "once"  #: What happens when the same person is asked again: a rule of `pldp.survey.repeat`.
    shuffle: Shuffle | None = None  #: Who mixes reports before anyone else sees them, where the survey says so.
    texts: Texts = NO_TEXTS  #: Introduction, thanks, contact and notice.
    closes: str = (
        ""  #: The last day on which reports are taken (until midnight UTC), such as 2026-12-31; empty: no end.
    )
    logo: str = ""  #: Name of a picture in the folder of the survey file.
    language: str = ENGLISH  #: The language of all these texts.
    languages: tuple[Translation, ...] = ()  #: The texts in other languages.
    remarks: tuple[str, ...] = field(default=(), compare=False)  #: What the reader chose where the file left it open.
    signer: str = field(default="", compare=False)  #: The public key that signed the file; empty: nobody.
    trusted: bool = field(default=False, compare=False)  #: Whether the reader of the file named that key before.

    @staticmethod
    def load(path: str | Path, *, trusted_key: str | None = None) -> Survey:
        """Read a survey file (TOML or JSON); with `trusted_key`, accept it only if that key signed it."""
        from pldp.survey.file import load  # noqa: PLC0415 - the reader builds this class

        if not isinstance(path, str | PathLike):
            other = "pldp.Survey.read(source) takes text or a dictionary"
            raise CallError(f"pldp.Survey.load(path) needs a path, not {type(path).__name__}: {other}")
        return load(path, trusted_key=trusted_key)

    @staticmethod
    def read(source: str | Mapping[str, Any], *, trusted_key: str | None = None) -> Survey:
        """Read a survey from the text of a file, or from the same as a dictionary.

        >>> question = {"name": "late", "values": ["yes", "no"]}
        >>> Survey.read({"pldp": 1, "title": "Work", "levels": {"strict": 0.5, "open": 2}, "questions": [question]})
        <Survey 'Work', hash cf8da4b0…>
          <Choice 'late': 2 labels; ε of levels: strict 0.5, open 2>
        """
        from pldp.survey.file import loads, survey_from_document  # noqa: PLC0415 - the reader builds this class

        if not isinstance(source, str | Mapping) or (isinstance(source, str) and _is_path(source)):
            other = "pldp.Survey.load(path) reads a file"
            raise CallError(f"pldp.Survey.read(source) needs the text of a survey or a dictionary: {other}")
        if isinstance(source, str):
            return loads(source, trusted_key=trusted_key)
        return survey_from_document(dict(source), trusted_key=trusted_key)

    @cached_property
    def _by_name(self) -> Mapping[str, Question]:
        return {question.name: question for question in self.questions}

    def question(self, name: str) -> Question:
        """Return the question of this name."""
        found = self._by_name.get(name) if isinstance(name, str) else None
        if found is None:
            raise AnswerError(unknown("question", name, self._by_name, "this survey"))
        return found

    def level_for(self, question: Question, chosen: str) -> int | None:
        """Return the place of a question's level for a chosen one: the same, or the loosest that is stricter."""
        names = [level.name for level in self.levels]
        offered = [question.level_index.get(name) for name in names[: names.index(chosen) + 1]]
        return next((place for place in reversed(offered) if place is not None), None)

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The survey as plain data with everything spelled out: mechanisms resolved, weights as integers, ε as text.

        It is itself a valid survey file. Clients need no logarithm to use it.
        """
        document: dict[str, Any] = {
            "pldp": SCHEMA,
            "title": self.title,
            "levels": {level.name: _level_document(level) for level in self.levels},
            "questions": [question.document() for question in self.questions],
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
            if self.level_budgets:
                document["hide_level"]["budgets"] = {
                    level.name: epsilon_text(micro)
                    for level, micro in zip(self.levels, self.level_budgets, strict=True)
                }
            if self.leak_cap is not None:
                document["hide_level"]["leak_cap"] = epsilon_text(self.leak_cap)
        if self.lottery is not None:
            document["hide_level"] = lottery_document(self.lottery)
        if self.repeat != "once":
            document["repeat"] = self.repeat
        if self.shuffle is not None:
            document["shuffle"] = {"by": self.shuffle.by, "people": self.shuffle.people}
        return document | self._presentation()

    def _presentation(self) -> dict[str, Any]:
        """Return what only people read. It is in the hash: they decide by it."""
        known = survey_texts(self) if self.languages else {}
        translated = {each.language: each.document(known) for each in self.languages}
        entries = {
            "texts": self.texts.document(),
            "closes": self.closes,
            "logo": self.logo,
            "language": self.language if self.language != ENGLISH else "",
            "languages": {language: table for language, table in translated.items() if table},
        }
        return {name: entry for name, entry in entries.items() if entry}

    def has_closed(self, now: float) -> bool:
        """Tell whether the closing date is past at a time in seconds since 1970.

        >>> survey = Survey.read({"pldp": 1, "title": "Work", "levels": {"strict": 1}, "closes": "1970-01-02",
        ...                       "questions": [{"name": "late", "values": ["yes", "no"]}]})
        >>> survey.has_closed(2 * 86400 - 1), survey.has_closed(2 * 86400)
        (False, True)
        """
        return now >= closing_time(self.closes)

    def shown_in(self, language: str) -> Shown:
        """Return the texts in a language, by their place; what has no translation is as in the survey itself.

        >>> question = {"name": "late", "values": ["yes", "no"]}
        >>> german = {"questions": {"late": {"values": {"yes": "ja", "no": "nein"}}}}
        >>> survey = Survey.read({"pldp": 1, "title": "Work", "levels": {"strict": 1}, "questions": [question],
        ...                       "languages": {"de": german}})
        >>> shown = survey.shown_in("de")
        >>> shown("title"), shown("questions", "late", "values", "yes")
        ('Work', 'ja')
        """
        return Shown(self, language)

    def level_leak(self, question: str | None = None) -> Micro | None:
        """Return in micro-ε what label and outputs tell together about a hidden level; `None` if levels are shown.

        That is for one question, or for all that a person is asked (those that tell most), each answered once.
        """
        asked = self.questions if question is None else (self.question(question),)
        return self._told(asked, attrgetter("level_evidence"))

    def value_and_level_epsilon(self, question: str) -> Micro | None:
        """Return in micro-ε what label and one answer tell about the pair (value, level) where the level is hidden."""
        return self._told([self.question(question)], attrgetter("pair_evidence"))

    def _told(self, asked: Sequence[Question], evidence: Callable[[Question], LevelPairs]) -> Micro | None:
        if self.level_channel is None:
            return None
        answers = largest_pairs([evidence(question) for question in asked], self.ask or 0)
        return most_told(add_pairs([label_evidence(self.level_channel), answers]))

    @cached_property
    def level_set(self) -> str:
        """What a device knows a hidden choice of levels by: names and ε in order, and the weights that hide it."""
        label, weights = self.level_channel, None
        if self.lottery is not None:
            weights = [LOTTERY, {"stop": self.lottery.stop}]
        elif label is not None:
            weights = [label.mechanism, dict(label.weights())]
        return hash_of([[[level.name, level.micro_epsilon] for level in self.levels], weights])

    @property
    def author(self) -> str:
        """Who asks, as far as a device can know: the key that signed the survey, or else this very survey."""
        return self.signer or self.hash

    @property
    def account(self) -> str:
        """Whose account on the device pays: that of a key that the person's program trusts, or else one for all."""
        return self.signer if self.trusted else ""

    @cached_property
    def canonical(self) -> bytes:
        """The document as bytes in one and only one spelling: sorted keys, no spaces, UTF-8."""
        return canonical(self.document)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical bytes, in hexadecimal."""
        return hashlib.sha256(self.canonical).hexdigest()

    def __repr__(self) -> str:
        lines = [f"  {question!r}" for question in self.questions[:_LISTED]]
        more = len(self.questions) - _LISTED
        end = [f"  and {more} more"] if more > 0 else []
        return "\n".join([f"<Survey {self.title[:_TITLE]!r}, hash {self.hash[:8]}…>", *lines, *end])

    def _repr_html_(self) -> str:
        """Show questions, kinds and levels as a table in notebooks."""
        from pldp.show import Table, panel  # noqa: PLC0415 - devices have no notebook

        rows = [
            (each.name, each.text, each.kind, each.describe(), ", ".join(str(level) for level in each.levels))
            for each in self.questions
        ]
        heads = ("question", "asked", "kind", "answers", "levels")
        return panel(self.title, *self._facts(), Table("", heads, rows, left=len(heads)))

    def _facts(self) -> list[str]:
        """Say who asks, what a person spends, and what reports show."""
        from pldp.survey.repeat import dearest_report  # noqa: PLC0415 - it knows surveys

        asked = f"Each person is asked {self.ask} of {len(self.questions)} questions, picked at random."
        dearest = f"The dearest report costs ε = {epsilon_text(dearest_report(self))}"
        total = (
            ""
            if self.total_micro_epsilon is None
            else f"; one person can spend ε = {epsilon_text(self.total_micro_epsilon)} in all"
        )
        shown = "the chosen level" if self.lottery is None else "a level that may be stricter than the chosen one"
        facts = {
            f"Asked by {self.collector}.": bool(self.collector),
            asked: self.ask is not None and self.ask < len(self.questions),
            f"{dearest}{total}. Reports {'hide the chosen level' if self.level_channel else f'show {shown}'}.": True,
        }
        return [text for text, holds in facts.items() if holds]

    def save(self, path: str | Path) -> None:
        """Write the spelled-out document as JSON, for devices and other languages."""
        from pathlib import Path  # noqa: PLC0415 - a device that saves nothing needs none

        Path(path).write_bytes(self.canonical + b"\n")


def _is_path(text: str) -> bool:
    """Say whether a text is one line that is no JSON: no survey is."""
    return bool(text.strip()) and "\n" not in text.strip() and not text.lstrip().startswith("{")


def _level_document(level: Level) -> dict[str, str]:
    document = {"epsilon": epsilon_text(level.micro_epsilon)}
    return {**document, "text": level.text} if level.text else document
