"""The person's device: perturb an answer before it leaves, keep what was sent, and account for it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from pldp.budgets import micro_epsilon
from pldp.device.explain import explain_cap, explain_level
from pldp.device.kinds import BY_KIND
from pldp.device.ledger import Ledger, Spend
from pldp.device.state import DeviceState, Sent, SentAnswer, SentLabel
from pldp.errors import AnswerError, BudgetError, DeviceStateError
from pldp.mechanisms import LARGEST_TOTAL, LevelPairs, Output, RandomBytes, epsilon_text, round_at_random
from pldp.reports import Answer, Report, report_id
from pldp.survey import ONCE, Lottery, Question, Survey, add_pairs, charge, level_told, most_told, report_price
from pldp.usage import require

if TYPE_CHECKING:
    from pathlib import Path

Value = str | Iterable[str] | float | Decimal  #: A label, several labels, or a number, as the question's kind asks.


class _Asked(NamedTuple):
    """One answer on its way: the question, the index of its value or a place between two, and that of its level."""

    question: Question
    value: int | Fraction
    level: int


class _Hidden(NamedTuple):
    """A report that hides its level: its price, what is then told about the level, and the label if it is repeated."""

    spend: Spend
    told: LevelPairs
    label: str | None


class Device:
    """Answers one survey for one person.

    A question that was answered is not drawn again: in the same round the same report goes out, whatever the answer,
    and in a later one nothing does, unless the survey's `repeat` is "fresh" or "tracked". Every draw is charged to the
    person's ledger first.

    Parameters
    ----------
    survey
        What is asked.
    state
        File that keeps secret, sent reports and ledger between runs; without it they live as long as this object.
    cap
        The most ε that this person will ever spend on one collector: on surveys signed by one trusted key, or on all
        others together. It can tighten what the state keeps (20 at first), never loosen it: see `change_cap`.
    level_cap
        The most ε that reports to one author may ever tell about a hidden level; 3 at first, and as `cap` otherwise.
    round
        Number of the collector's round.
    random
        Source of random bytes; the operating system's generator. Anything else is for tests.

    Examples
    --------
    >>> survey = Survey.load("examples/commute.toml")
    >>> device = Device(survey)
    >>> report = device.answer("mode", "bike", level="strict")
    >>> len(report.answers[0].output)  # some of the six labels, as one byte
    1
    >>> device.answer("mode", "car", level="open") == report
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
        level_cap: float | str | Decimal | None = None,
        round: int = 1,  # noqa: A002 - the word that everybody uses
        random: RandomBytes = os.urandom,
    ) -> None:
        require(survey, Survey, "pldp.Device(survey)")
        if type(round) is not int or round < 1:
            raise AnswerError(f"round must be a whole number from 1 on, not {str(round)[:40]!r}")
        self.survey = survey
        self.round = round
        self._random = random
        most, most_level = (
            None if each is None else micro_epsilon(each, largest=LARGEST_TOTAL) for each in (cap, level_cap)
        )
        self._state = DeviceState(state, cap=most, level_cap=most_level, random=random)

    @property
    def ledger(self) -> Ledger:
        """What this person has spent."""
        return self._state.ledger

    def change_cap(
        self, cap: float | str | Decimal | None = None, *, level_cap: float | str | Decimal | None = None
    ) -> None:
        """Set the caps, also to more than before. Only the person may ask for that."""
        most, most_level = (
            None if each is None else micro_epsilon(each, largest=LARGEST_TOTAL) for each in (cap, level_cap)
        )
        with self._state.locked():
            self._state.keep(
                ledger=None if most is None else Ledger(self.ledger.spends, cap=most), level_cap=most_level
            )

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """Names of the questions that this person is asked: all, or as many as the survey says, picked at random.

        The pick depends on the device's secret only, never on an answer, and stays the same for this survey and round
        as long as the state is kept, so that nobody can draw again until a question suits them. In another edition or
        round it is another one.
        """
        names = [question.name for question in self.survey.questions]
        if self.survey.ask is None:
            return tuple(names)
        order = {name: self._state.key("ask", self.survey.hash, str(self.round), name) for name in names}
        picked = set(sorted(names, key=order.__getitem__)[: self.survey.ask])
        return tuple(name for name in names if name in picked)

    @property
    def answered(self) -> tuple[str, ...]:
        """Names of the questions that this device does not answer again, in this round or ever."""
        with self._state.locked():
            return tuple(each.name for each in self.survey.questions if self._find_sent(each) is not None)

    def options(self, question: str) -> tuple[str, ...]:
        """Return the labels of a question in the order in which this person is shown them; none for a number.

        Where the survey says `option_order = "random"`, the order depends on the device's secret only and stays the
        same; exclusive labels come last. No report depends on it.
        """
        asked = self.survey.question(question)
        return asked.options(lambda label: self._state.key("order", self.survey.hash, asked.name, label))

    def answer(self, question: str, value: Value, level: str | None = None) -> Report:
        """Perturb one answer at this level (the strictest if none is named) and return the report to send."""
        name = self.survey.question(question).name
        return self.answer_all({name: value}, {name: level})

    def answer_all(
        self,
        values: Mapping[str, Value],
        levels: Mapping[str, str | None] | str | None = None,
        *,
        new_label: bool = False,
    ) -> Report:
        """Perturb several answers into one report; a level for each question, one for all, or the strictest.

        Either every answer fits the ledger, or none is drawn. Questions that one report of this round has answered get
        that report again. Where levels are hidden, all answers have one level, and its label is drawn once for this
        author and these levels; later reports repeat it, whatever level is chosen. With `new_label`, the person says
        that they choose another level than before: a new label is drawn and charged, and the change may show. By a
        lottery, the level that is used and shown is drawn so; a stricter choice than that needs `new_label`.
        """
        if not values:
            raise AnswerError("nothing to answer: values must name at least one question")
        with self._state.locked():
            asked = [self._read(name, value, levels) for name, value in values.items()]
            self._check_round()
            number = self._find_report([each.question for each in asked])
            if number is None:
                self._check_required(values)
            return self._report(self._send(asked, new_label=new_label) if number is None else number)

    def receipt(self, report: Report) -> str:
        """Return the secret that withdraws a report of this device. Anyone who has it can withdraw the report."""
        with self._state.locked():
            for number, sent in enumerate(self._state.sent):
                receipt = self._state.receipt(number)
                if sent.survey == report.survey and report_id(sent.survey, receipt) == report.id:
                    return receipt
        raise AnswerError("report must be one that this device has made; it is not")

    def withdraw(self, question: str) -> str:
        """Forget the report that answers a question and return its receipt, which the collector must be shown.

        All its questions can then be answered again, at a new price: what was spent stays spent.
        """
        asked = self.survey.question(question)
        with self._state.locked():
            number = self._find_sent(asked)
            if number is None:
                raise AnswerError(f"question must be one that this device has answered, not {asked.name!r}")
            sent = self._state.sent[number]
            forgotten = tuple(answer._replace(output=None) for answer in sent.answers)
            receipt = self._state.receipt(number)
            changed = list(self._state.sent)
            changed[number] = sent._replace(answers=forgotten, withdrawn=True)
            self._state.keep(sent=tuple(changed))
            return receipt

    def _read(self, name: str, value: Value, levels: Mapping[str, str | None] | str | None) -> _Asked:
        question = self.survey.question(name)
        if name not in self.asked:
            raise AnswerError(f"question must be one that this person is asked ({', '.join(self.asked)}), not {name!r}")
        if isinstance(levels, Mapping) and name not in levels:
            raise AnswerError(f"levels must name a level for every question answered; {name!r} has none")
        index = BY_KIND[question.kind].encode(question, value)
        return _Asked(question, index, question.find_level(levels.get(name) if isinstance(levels, Mapping) else levels))

    def _check_round(self) -> None:
        latest = max((sent.round for sent in self._state.sent if sent.survey == self.survey.hash), default=1)
        if self.round < latest:
            raise DeviceStateError(f"round must not go back to {self.round}: this device has answered in {latest}")

    def _check_required(self, values: Mapping[str, Value]) -> None:
        """Refuse a new report that leaves out a required question which this person has not answered."""
        for question in self.survey.questions:
            wanted = question.is_required and question.name in self.asked and question.name not in values
            if wanted and self._find_sent(question) is None:
                raise AnswerError(f"question {question.name!r} is required: answer it in the same report")

    def _find_sent(self, question: Question) -> int | None:
        """Return the number of the report that has answered a question for good, or for this round."""
        found = (number for number, sent in enumerate(self._state.sent) if sent.find(question.identity))
        return next((number for number in found if self._holds(self._state.sent[number])), None)

    def _is_now(self, sent: Sent) -> bool:
        return sent.survey == self.survey.hash and sent.round == self.round

    def _holds(self, sent: Sent) -> bool:
        """Tell whether a report still answers for this person: in its round, or for good."""
        asked = sent.author == self.survey.author and not sent.withdrawn
        return asked and (sent.repeat == ONCE or self._is_now(sent))

    def _find_report(self, questions: list[Question]) -> int | None:
        """Return the number of the report of this round that answers all these questions, `None` if none does any."""
        found = {question.name: self._find_sent(question) for question in questions}
        numbers = set(found.values())
        if numbers == {None}:
            return None
        number = min(each for each in numbers if each is not None)
        sent = self._state.sent[number]
        if len(numbers) == 1 and self._is_now(sent):
            return number
        names = ", ".join(name for name, each in found.items() if each is not None)
        rule = "question must be one that this device has not answered yet"
        raise AnswerError(f"{rule}, not {names}: withdraw that answer to give another")

    def _send(self, asked: list[_Asked], *, new_label: bool) -> int:
        """Draw, charge and keep a new report; return its number."""
        survey, state = self.survey, self._state
        questions = [each.question for each in asked]
        self._check_names(questions)
        labels = state.labels
        if survey.lottery is not None:
            asked, labels = self._draw_level(survey.lottery, asked, new_label=new_label)
        hidden = None if survey.level_channel is None else self._hide_level(asked, new_label=new_label)
        spends = [hidden.spend] if hidden else [self._spend(each) for each in asked]
        # Refuse before anything is drawn, so that a refusal cannot depend on the outcome.
        ledger = state.ledger.after(*spends, survey_cap=survey.total_micro_epsilon)
        outputs = [self._draw(each) for each in asked]
        shown = [each.question.levels[each.level].name for each in asked]
        if hidden and survey.level_channel is not None:
            drawn = hidden.label or survey.levels[int(survey.level_channel.draw(asked[0].level, self._random))].name
            sent_label = SentLabel(survey.author, survey.level_set, drawn, hidden.told)
            labels = (*(each for each in labels if each[:2] != sent_label[:2]), sent_label)
            shown = [drawn] * len(asked)
        answers = tuple(
            SentAnswer(question.name, question.identity, question.scale_identity, level, output)
            for question, level, output in zip(questions, shown, outputs, strict=True)
        )
        sent = Sent(survey.hash, survey.author, survey.repeat, self.round, answers)
        state.keep(sent=(*state.sent, sent), ledger=ledger, labels=labels)
        return len(state.sent) - 1

    def _draw_level(
        self, lottery: Lottery, asked: list[_Asked], *, new_label: bool
    ) -> tuple[list[_Asked], tuple[SentLabel, ...]]:
        """Return the answers at the level that devices use, and all levels that are then kept; draw it if need be.

        Only that level is kept, never the chosen one. What any level that can be drawn would cost is refused before.
        """
        survey, state = self.survey, self._state
        if len({each.level for each in asked}) > 1:
            raise AnswerError("all answers of a report must have one level where a lottery draws it")
        chosen, names = asked[0].level, [level.name for level in survey.levels]
        before = state.label(survey.author, survey.level_set)
        if before is not None and not new_label:
            place = names.index(before.label)
            if place > chosen:
                raise AnswerError(
                    f"level {names[chosen]!r} is stricter than {before.label!r}, which this device uses: ask for a new "
                    "draw (new_label), which shows that the level changed"
                )
            return [each._replace(level=place) for each in asked], state.labels
        for place in range(chosen + 1):
            spends = [self._spend(each._replace(level=place)) for each in asked]
            state.ledger.after(*spends, survey_cap=survey.total_micro_epsilon)
        place = lottery.draw(chosen, len(names), self._random)
        drawn = SentLabel(survey.author, survey.level_set, names[place], ())
        others = (each for each in state.labels if each[:2] != drawn[:2])
        return [each._replace(level=place) for each in asked], (*others, drawn)

    def _hide_level(self, asked: list[_Asked], *, new_label: bool) -> _Hidden:
        """Say what a report that hides its level costs, and which label it repeats; refuse what tells too much.

        Nothing here depends on the level, so that neither a refusal nor the price tells anything about it.
        """
        survey, state = self.survey, self._state
        if len({each.level for each in asked}) > 1:
            raise AnswerError("all answers of a report must have one level where levels are hidden: two labels show it")
        before = state.label(survey.author, survey.level_set)
        new_label = new_label or before is None
        questions = [each.question for each in asked]
        told = level_told(survey, questions, new_label=new_label)
        told = told if before is None else add_pairs([before.told, told])
        if most_told(told) > state.level_cap:
            raise BudgetError(
                f"this report would bring what is told about your level to epsilon {epsilon_text(most_told(told))}, "
                f"and the cap on that is {epsilon_text(state.level_cap)}"
            )
        cost = report_price(survey, questions, new_label=new_label)
        spend = Spend(survey.hash, "", "", cost, self.round, survey.account)
        return _Hidden(spend, told, None if before is None or new_label else before.label)

    def _check_names(self, questions: list[Question]) -> None:
        """Refuse names that meant something else, and a second report where levels are hidden."""
        sent_before = any(sent.survey == self.survey.hash and self._holds(sent) for sent in self._state.sent)
        if self.survey.level_channel is not None and sent_before:
            raise AnswerError("all answers must go into one report where levels are hidden, and it was sent")
        scales = {question.name: question.scale_identity for question in questions}
        for sent in self._state.sent:
            for answer in sent.answers if sent.author == self.survey.author else ():
                if scales.get(answer.question, answer.scale) != answer.scale:
                    raise AnswerError(
                        f"question {answer.question!r} had other answers to choose from when this device answered it: "
                        "what asks something else needs another name"
                    )

    def _spend(self, asked: _Asked) -> Spend:
        survey, question, level = self.survey, asked.question, asked.level
        name = question.levels[level].name
        answers = (sent.find(question.identity) for sent in self._state.sent if sent.author == survey.author)
        earlier = sum(answer is not None and answer.level == name for answer in answers)
        cost = charge(survey.repeat, question, level, earlier)
        return Spend(survey.hash, question.name, name, cost, self.round, survey.account)

    def _draw(self, asked: _Asked) -> Output:
        question, value, level = asked
        if isinstance(value, Fraction):
            value = round_at_random(value, self._random)
        if not question.stages:
            return question.channels[level].draw(value, self._random)
        stages, parts = question.stages[level], (self.survey.author, question.identity, question.levels[level].name)
        settled = stages.settle(value, lambda name, count: self._state.kept_bytes(count, "permanent", *parts, name))
        return stages.renew(settled, self._random)

    def _report(self, number: int) -> Report:
        sent = self._state.sent[number]
        answers = (Answer(each.question, each.level, each.output) for each in sent.answers if each.output is not None)
        return Report(sent.survey, report_id(sent.survey, self._state.receipt(number)), tuple(answers))

    def explain(self, level: str | None = None, question: str | None = None) -> str:
        """Say in words what a level does to an answer, for both a true and an untrue reading of the report.

        >>> print(Device(Survey.load("examples/commute.toml")).explain("standard", "late"))
        Level "standard", question "late":
        of 100 people whose answer is "yes", about 73 send a report that says "yes";
        of 100 people whose answer is something else, about 27 do.
        Whatever your report says, it changes the odds between any two answers at most 2.72 times (ε = 1).
        Your report shows the level that you chose.
        Asked again, you send the same report or none.
        Your device stops at ε = 20 for all surveys without a signature that it trusts; 0 is spent.
        """
        asked = self.survey.questions if question is None else (self.survey.question(question),)
        explained = [explain_level(self.survey, each, each.find_level(level)) for each in asked]
        return "\n".join([*explained, explain_cap(self.survey, self.ledger, self._state.level_cap)])

    def remaining(self) -> str:
        """Say how much of the survey's total this person can still spend."""
        cap = self.survey.total_micro_epsilon
        if cap is None:
            return "unlimited"
        return epsilon_text(max(cap - self.ledger.spent_on(self.survey.hash), 0))
