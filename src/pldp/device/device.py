"""The person's device: perturb an answer before it leaves, remember it, and account for it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from pldp.budgets import micro_epsilon
from pldp.device.explain import explain_level
from pldp.device.kinds import BY_KIND
from pldp.device.ledger import Ledger, Spend
from pldp.device.state import DeviceState
from pldp.errors import AnswerError, DeviceStateError
from pldp.mechanisms import LARGEST_TOTAL, Channel, RandomBytes, epsilon_text
from pldp.reports import Answer, Report
from pldp.survey import Question, Survey
from pldp.usage import require

if TYPE_CHECKING:
    from pathlib import Path

ID_BYTES = 16

Value = str | Iterable[str] | float | Decimal
"""A label, several labels, or a number, as the question's kind asks."""


class _Asked(NamedTuple):
    """One answer on its way: indices of value and level, and the memo's keys of output and shown level."""

    question: Question
    value: int
    level: int
    key: str
    level_key: str
    survey: str

    @property
    def channel(self) -> Channel:
        return self.question.channels[self.level]

    @property
    def spend(self) -> Spend:
        level = self.question.levels[self.level]
        return Spend(self.survey, self.question.name, level.name, self.question.charge(self.level))


class Device:
    """Answers one survey for one person.

    Asking again for the same question, level and value gives the same permanent output and costs nothing more, so
    that repeating a question reveals nothing new about an unchanged answer, also in an edited survey of the same
    collector. A new draw is charged to the person's ledger first. (That an answer has changed does show.)

    Parameters
    ----------
    survey
        What is asked.
    state
        File that keeps secret, memo and ledger between runs; without it they live as long as this object.
    cap
        The most ε that this person will ever spend, over all surveys that share the state. A cap in the state file
        can be tightened this way, never loosened.
    random
        Source of random bytes; the operating system's generator. Anything else is for tests.

    Examples
    --------
    >>> survey = Survey.load("examples/commute.toml")
    >>> device = Device(survey)
    >>> report = device.answer("mode", "bike", level="strict")
    >>> report.answers[0].output in range(6)
    True
    >>> device.answer("mode", "bike", level="strict").answers == report.answers
    True
    >>> device.ledger.total
    500000
    """

    def __init__(
        self,
        survey: Survey,
        *,
        state: str | Path | None = None,
        cap: float | str | Decimal | None = None,
        random: RandomBytes = os.urandom,
    ) -> None:
        require(survey, Survey, "pldp.Device(survey)")
        self.survey = survey
        self._random = random
        most = None if cap is None else micro_epsilon(cap, largest=LARGEST_TOTAL)
        self._state = DeviceState(state, cap=most, random=random)

    @property
    def ledger(self) -> Ledger:
        """What this person has spent."""
        return self._state.ledger

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """Names of the questions that this person is asked: all, or as many as the survey says, picked at random.

        The pick depends on the device's secret only, never on an answer, and stays the same as long as the state is
        kept, so that nobody can draw again until a question suits them.
        """
        names = [question.name for question in self.survey.questions]
        if self.survey.ask is None:
            return tuple(names)
        order = {name: self._state.key("ask", self.survey.collector, name) for name in names}
        picked = set(sorted(names, key=order.__getitem__)[: self.survey.ask])
        return tuple(name for name in names if name in picked)

    def answer(self, question: str, value: Value, level: str | None = None) -> Report:
        """Perturb one answer at this level (the strictest if none is named) and return the report to send."""
        name = self.survey.question(question).name
        return self.answer_all({name: value}, {name: level})

    def answer_all(self, values: Mapping[str, Value], levels: Mapping[str, str | None] | str | None = None) -> Report:
        """Perturb several answers into one report; a level for each question, one for all, or the strictest.

        Either every answer fits the ledger, or none is drawn.
        """
        if not values:
            raise AnswerError("values must answer at least one question, not none")
        with self._state.locked():
            return self._answer_locked(values, levels)

    def _answer_locked(self, values: Mapping[str, Value], levels: Mapping[str, str | None] | str | None) -> Report:
        asked = [self._asked(name, value, levels) for name, value in values.items()]
        new = [each for each in asked if self._state.recall(each.key) is None]
        spends = [each.spend for each in new]
        # Refuse before anything is drawn, so that a refusal cannot depend on the outcome.
        self.ledger.check(*spends, survey_cap=self.survey.total_micro_epsilon)
        drawn = {each.key: each.channel.draw(each.value, self._random) for each in new}
        if self.survey.level_channel is not None:
            for each in asked:
                if self._state.recall(each.level_key) is None and each.level_key not in drawn:
                    drawn[each.level_key] = self.survey.level_channel.draw(each.level, self._random)
        if drawn:
            self._state.remember(drawn, spends, survey_cap=self.survey.total_micro_epsilon)
        return Report(self.survey.hash, self._random(ID_BYTES).hex(), tuple(map(self._recalled, asked)))

    def _asked(self, name: str, value: Value, levels: Mapping[str, str | None] | str | None) -> _Asked:
        question = self.survey.question(name)
        if name not in self.asked:
            raise AnswerError(f"question must be one that this person is asked ({', '.join(self.asked)}), not {name!r}")
        if isinstance(levels, Mapping) and name not in levels:
            raise AnswerError(f"levels must name a level for every question answered; {name!r} has none")
        index = BY_KIND[question.kind].encode(question, value)
        level = question.find_level(levels.get(name) if isinstance(levels, Mapping) else levels)
        # What is asked, not the survey's hash: a new title must not renew the memo. `Decimal` also writes the integer
        # of a set of so many labels that `str` refuses it.
        key = self._state.key("output", self.survey.collector, question.identity(level), f"{Decimal(index):f}")
        level_key = ""
        if self.survey.level_channel is not None:
            # One label per level for all questions: several would tell more about it.
            level_key = self._state.key("label", self.survey.collector, self.survey.label_identity(level))
        return _Asked(question, index, level, key, level_key, self.survey.hash)

    def _recalled(self, asked: _Asked) -> Answer:
        output = self._state.recall(asked.key)
        shown = asked.level if self.survey.level_channel is None else self._state.recall(asked.level_key)
        if output is None or not isinstance(shown, int):
            raise DeviceStateError("the device's memo does not hold what was just stored")
        return Answer(asked.question.name, asked.question.levels[shown].name, output)

    def explain(self, level: str | None = None, question: str | None = None) -> str:
        """Say in words what a level does to an answer, for both a true and an untrue reading of the report.

        >>> print(Device(Survey.load("examples/commute.toml")).explain("standard", "late"))
        Level "standard", question "late":
        of 100 people whose answer is "yes", about 73 send a report that says "yes";
        of 100 people whose answer is something else, about 27 do.
        Whatever your report says, it changes the odds between any two answers at most 2.72 times (ε = 1).
        Your report shows the level that you chose.
        """
        asked = self.survey.questions if question is None else (self.survey.question(question),)
        return "\n".join(explain_level(self.survey, each, each.find_level(level)) for each in asked)

    def remaining(self) -> str:
        """Say how much of the survey's total this person can still spend."""
        cap = self.survey.total_micro_epsilon
        if cap is None:
            return "unlimited"
        return epsilon_text(max(cap - self.ledger.spent_on(self.survey.hash), 0))
