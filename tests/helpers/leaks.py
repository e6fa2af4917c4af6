"""Devices that leak, each beside the same device without the leak: what leaves, when, and over several rounds.

Every leak names the survey that it is planted in, and the people per value at which an audit must find it with a
probability of at least .95 (`tests/auditing/test_leaks.py` measures it).
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pldp import Device, Survey
from pldp.mechanisms import RandomizedResponse, build
from pldp.reports import Report, body_length

FEW_ROUNDS, MORE_ROUNDS, COUNTED_ROUNDS = 8, 12, 59
"""Rounds that are played to measure a power: for margins, for margins that differ more, and for counting."""

CHANCE = random.Random()  # noqa: S311 - of the leaks, not of any protection


def one_question(*, labels: int = 2, levels: dict[str, float] | None = None, **options: Any) -> Survey:
    question = {"name": "q", "values": [f"v{place}" for place in range(labels)], "mechanism": "krr"}
    return Survey.read({"pldp": 1, "title": "t", "levels": levels or {"one": 1}, "questions": [question], **options})


@dataclass(frozen=True)
class Body(Report):
    """A report whose bytes are not what its fields say."""

    text: str = ""

    def body(self, survey: Survey) -> bytes:
        return self.text.encode().ljust(body_length(survey))


def with_text(report: Report, change: Callable[[str], str]) -> Body:
    return Body(report.survey, report.id, report.answers, change(report.to_json()))


class Leaky(Device):
    """Answers soundly, and then does something to the report that depends on the value."""

    def answer_all(self, values, levels=None) -> Report:
        report = super().answer_all(values, levels)
        (name, value), *_ = values.items()
        return self.leak(report, self.survey.question(name).values.index(value))

    def leak(self, report: Report, value: int) -> Report:
        raise NotImplementedError


def output_of(report: Report) -> Any:
    return report.answers[0].output


class OneInAHundred(Leaky):
    """One report in a hundred has the answer in its id, behind a mark."""

    def leak(self, report: Report, value: int) -> Report:
        if CHANCE.random() >= 0.01:
            return report
        return replace(report, id=f"f00d{value:02x}{report.id[6:]}")


class MarkElsewhere(Leaky):
    """The same, with the answer at another place than the mark."""

    def leak(self, report: Report, value: int) -> Report:
        if CHANCE.random() >= 0.01:
            return report
        return replace(report, id=f"f00d{report.id[4:20]}{value:x}{report.id[21:]}")


class Slow(Leaky):
    """Telling the truth takes longer."""

    seconds = 0.001

    def leak(self, report: Report, value: int) -> Report:
        if output_of(report) == value:
            end = time.perf_counter() + self.seconds
            while time.perf_counter() < end:
                pass
        return report


class LittleSlow(Slow):
    """The same, by 200 µs."""

    seconds = 0.0002


def bits_of(text: str) -> list[int]:
    return [int(text, 16) >> place & 1 for place in range(4 * len(text))]


class Parity(Leaky):
    """The number of ones among the id's bits is even for one half of the answers and odd for the other."""

    chosen: tuple[int, ...] = tuple(range(128))

    def leak(self, report: Report, value: int) -> Report:
        bits = bits_of(report.id)
        wrong = sum(bits[place] for place in self.chosen) % 2 != value % 2
        return replace(report, id=f"{int(report.id, 16) ^ wrong << self.chosen[0]:032x}")


class ThreeBits(Parity):
    """The same of three bits that nobody would guess."""

    chosen = (5, 77, 101)


class OrderOfKeys(Leaky):
    """The keys of the report come in another order."""

    def leak(self, report: Report, value: int) -> Report:
        content = report.to_mapping()
        keys = list(content) if value % 2 == 0 else [*list(content)[1:], "pldp"]
        return with_text(report, lambda _: json.dumps({key: content[key] for key in keys}, separators=(",", ":")))


class DoubledLabel(Leaky):
    """One label of eight is told with twice the ε."""

    @cached_property
    def weaker(self) -> RandomizedResponse:
        return build("krr", 8, 2_000_000)

    def leak(self, report: Report, value: int) -> Report:
        if value != 5:
            return report
        output = int(self.weaker.draw(value, os.urandom))
        return replace(report, answers=(replace(report.answers[0], output=output),))


class Shorter(Leaky):
    """The report is not padded to the one length where the answer is the first."""

    def leak(self, report: Report, value: int) -> Report:
        return with_text(report, lambda text: text + " " * value)


class OtherNumber(Leaky):
    """The same number, written in another way."""

    def leak(self, report: Report, value: int) -> Report:
        own = f'"output":{output_of(report)}'
        return with_text(report, lambda text: text.replace(own, f"{own}.0" if value else own))


class KeyTwice(Leaky):
    """A key that comes twice: no parser shows it."""

    def leak(self, report: Report, value: int) -> Report:
        return with_text(report, lambda text: text.replace('{"pldp":1', '{"pldp":1,"pldp":1') if value else text)


class HashOfTheAnswer(Leaky):
    """A part of the id is a hash of the answer and of one of 64 numbers: it looks random and comes again."""

    def leak(self, report: Report, value: int) -> Report:
        mark = hashlib.sha256(f"{value} {CHANCE.randrange(64)}".encode()).hexdigest()[:8]
        return replace(report, id=report.id[:10] + mark + report.id[18:])


class TruthInTheId(Leaky):
    """The last digit of the id says whether the output is the truth."""

    def leak(self, report: Report, value: int) -> Report:
        digits = "01234567" if output_of(report) == value else "89abcdef"
        return replace(report, id=report.id[:-1] + CHANCE.choice(digits))


class SeldomSlow(Leaky):
    """Five in a hundred reports of one answer take 30 ms longer."""

    def leak(self, report: Report, value: int) -> Report:
        if value == 1 and CHANCE.random() < 0.05:
            time.sleep(0.03)
        return report


class Capitals(Leaky):
    """A letter of the survey's hash is a capital for one answer."""

    def leak(self, report: Report, value: int) -> Report:
        return with_text(report, lambda text: text.replace(report.survey, report.survey.upper()) if value else text)


class Remembering(Device):
    """Notes, outside the device's state, what it was asked before."""

    @cached_property
    def asked_before(self) -> list[tuple[int, Any, str, Report]]:
        return []

    def answer_all(self, values, levels=None) -> Report:
        report = super().answer_all(values, levels)
        told = self.tell(report, values, levels)
        self.asked_before.append((self.round, next(iter(values.values())), str(levels), told))
        return told

    def tell(self, report: Report, values: Any, levels: Any) -> Report:
        raise NotImplementedError


class ChangedAnswer(Remembering):
    """A report whose answer is not that of the round before has its keys in another order."""

    def tell(self, report: Report, values: Any, levels: Any) -> Report:
        value = next(iter(values.values()))
        if not self.asked_before or self.asked_before[-1][1] == value:
            return report
        return with_text(report, lambda text: text.replace('"pldp":1,', "").replace("{", '{"pldp":1,', 1)[:-1] + " }")


class AnswerInTheRound(Remembering):
    """Asked again in one round with another answer, the report has a space more."""

    def tell(self, report: Report, values: Any, levels: Any) -> Report:
        value = next(iter(values.values()))
        earlier = [own for number, own, _, _ in self.asked_before if number == self.round]
        return with_text(report, lambda text: "{ " + text[1:]) if earlier and earlier[0] != value else report


class ChangedLevel(Remembering):
    """Asked again in one round at another level, the device draws anew."""

    def tell(self, report: Report, values: Any, levels: Any) -> Report:
        earlier = [own for number, _, own, _ in self.asked_before if number == self.round]
        if not earlier or str(levels) == earlier[-1]:
            return report
        drawn = Device(self.survey).answer_all(values, levels)
        return replace(report, answers=drawn.answers)


class LevelLater(Remembering):
    """Where the level changed since the last round, the output is the truth."""

    def tell(self, report: Report, values: Any, levels: Any) -> Report:
        if not self.asked_before or self.asked_before[-1][2] == str(levels):
            return report
        value = self.survey.questions[0].values.index(next(iter(values.values())))
        return replace(report, answers=(replace(report.answers[0], output=value),))


class Reverted(Remembering):
    """Somebody who returns to an earlier answer sends what that answer sent."""

    def tell(self, report: Report, values: Any, levels: Any) -> Report:
        value = next(iter(values.values()))
        earlier = [told for number, own, _, told in self.asked_before if own == value and number < self.round]
        return replace(report, answers=earlier[0].answers) if earlier else report


class Forgetful(Device):
    """Reads the ledger from the file, and not what was sent."""

    def answer_all(self, values, levels=None) -> Report:
        report = super().answer_all(values, levels)
        if self._state.path is None:
            return report
        return replace(report, answers=Device(self.survey).answer_all(values, levels).answers)


class ByPath(Device):
    """Draws again where the file has another name: a copy that was put back."""

    def answer_all(self, values, levels=None) -> Report:
        report = super().answer_all(values, levels)
        path = self._state.path
        if path is None or path.name == "0":
            return report
        return replace(report, answers=Device(self.survey).answer_all(values, levels).answers)


class Caching(Device):
    """Keeps in this process what it would send, and does not look whether another process has sent something else."""

    def answer_all(self, values, levels=None) -> Report:
        report = super().answer_all(values, levels)
        drawn = self.__dict__.setdefault("drawn", Device(self.survey).answer_all(values, levels))
        return replace(report, answers=drawn.answers) if self._state.path is not None else report


class Undercharging(Device):
    """A second round costs nothing."""

    @property
    def ledger(self):
        found = super().ledger
        return type(found)(found.spends[:1], cap=found.cap)


class SharedNoise(Device):
    """Two questions are answered from the same random bytes."""

    def answer_all(self, values, levels=None) -> Report:
        noise = os.urandom(64)
        self._random = lambda count: noise[:count]
        return super().answer_all(values, levels)


@dataclass(frozen=True)
class Leak:
    """A device, the survey that it answers, and people per value at which the leak must be found.

    What is `by_rule` breaks the rule of asking again and need not show in a single report. `rounds` are played to
    measure the power, decided beforehand: more where rounds differ more, and enough for counting where they do so too
    irregularly for anything else, or where a rule is checked.
    """

    device: type[Device]
    survey: Survey
    samples: int
    rounds: int = FEW_ROUNDS
    timed: bool = False
    sequences: bool = False
    by_rule: bool = False
    only: tuple[str, ...] = ()


TWO_LEVELS = {"one": 1, "two": 2}
BOTH = Survey.read(
    {
        "pldp": 1,
        "title": "t",
        "levels": {"one": 1},
        "questions": [{"name": name, "values": ["a", "b", "c", "d"], "mechanism": "krr"} for name in ("p", "q")],
    }
)

MISSED = {
    "a full leak in 1 % of reports": Leak(OneInAHundred, one_question(), 20_000),
    "200 µs more when the truth is told": Leak(LittleSlow, one_question(), 800, timed=True),
    "1 ms more when the truth is told": Leak(Slow, one_question(), 500, timed=True),
    "parity of the bits of the id": Leak(Parity, one_question(), 500),
    "order of JSON keys": Leak(OrderOfKeys, one_question(), 300),
    "a changed answer": Leak(ChangedAnswer, one_question(repeat="fresh"), 400, sequences=True),
    "a changed level": Leak(
        LevelLater, one_question(levels=TWO_LEVELS, repeat="fresh"), 600, sequences=True, only=("q", "two")
    ),
    "state kept in a file": Leak(Forgetful, one_question(), 100, COUNTED_ROUNDS, by_rule=True),
    "one label of eight with doubled ε": Leak(DoubledLabel, one_question(labels=8), 2_000, MORE_ROUNDS),
}
"""What the first audit did not find."""

OWN = {
    "a body that is not padded": Leak(Shorter, one_question(), 300),
    "a number written in another way": Leak(OtherNumber, one_question(), 300),
    "a key that comes twice": Leak(KeyTwice, one_question(), 300),
    "an id with a hash of the answer": Leak(HashOfTheAnswer, one_question(), 2_000),
    "a full leak in 1 %, far from its mark": Leak(MarkElsewhere, one_question(), 20_000),
    "three bits of the id": Leak(ThreeBits, one_question(), 500),
    "the truth in the id": Leak(TruthInTheId, one_question(), 800),
    "capital letters": Leak(Capitals, one_question(), 300),
    "30 ms more in 5 % of one answer": Leak(SeldomSlow, one_question(), 8_000, COUNTED_ROUNDS, timed=True),
    "another answer in one round": Leak(AnswerInTheRound, one_question(), 100, COUNTED_ROUNDS, by_rule=True),
    "another level in one round": Leak(
        ChangedLevel, one_question(levels=TWO_LEVELS), 100, COUNTED_ROUNDS, by_rule=True
    ),
    "an answer that changes back": Leak(Reverted, one_question(repeat="fresh"), 600, sequences=True),
    "a copy of the state that was put back": Leak(ByPath, one_question(), 100, COUNTED_ROUNDS, by_rule=True),
    "two processes that share a state": Leak(Caching, one_question(), 100, COUNTED_ROUNDS, by_rule=True),
    "a second round that costs nothing": Leak(
        Undercharging, one_question(repeat="fresh"), 100, COUNTED_ROUNDS, sequences=True, by_rule=True
    ),
    "noise that two questions share": Leak(SharedNoise, BOTH, 1_000, only=("all 2",)),
}
"""What else can go wrong."""

_ANSWER = "\tconst report = await device.answerAll(new Map(values), level);\n"
_TRUE = "report.answers[0].output === Number(values[0][1].slice(1))"
_VALUE = "Number(values[0][1].slice(1))"
_BUSY = "{ const end = process.hrtime.bigint() + %sn; while (process.hrtime.bigint() < end); }"
_SEND = "\tawait send(NOWHERE, survey, report, { fetch });\n"
_BODY = "body: String(body)"
_TOLD = "\t\ttold.push([report && bodyOf(report, bodyLength(survey)), device.ledger().total]);\n"
_ONES = (
    "\tconst bits = [...report.id].flatMap((digit) => parseInt(digit, 16).toString(2).padStart(4, '0').split(''));\n"
    "\tconst ones = %s.reduce((sum, bit) => sum + Number(bit), 0);\n"
    "\tconst flipped = (parseInt(report.id[0], 16) ^ 8).toString(16) + report.id.slice(1);\n"
    f"\tif (ones %% 2 !== {_VALUE}) report.id = flipped;\n"
)


@dataclass(frozen=True)
class ScriptLeak:
    """What is changed in the script that runs the JavaScript device, the survey, and people per value."""

    old: str
    new: str
    samples: int
    survey: Survey = field(default_factory=one_question)
    rounds: int = FEW_ROUNDS
    timed: bool = False
    sequences: bool = False
    by_rule: bool = False
    only: tuple[str, ...] = ("q", "one")


def _sent(change: str) -> tuple[str, str]:
    """Change the report before it is sent."""
    return _SEND, f"{change}{_SEND}"


def _body(changed: str) -> tuple[str, str]:
    """Change the body where the answer is the second."""
    return _BODY, f"body: {_VALUE} ? {changed} : String(body)"


def _slower(nanoseconds: int) -> tuple[str, str]:
    return _ANSWER, f"{_ANSWER}\tif ({_TRUE}) {_BUSY % nanoseconds}\n"


JAVASCRIPT_MISSED = {
    "a full leak in 1 % of reports": ScriptLeak(
        *_sent(f"\tif (Math.random() < 0.01) report.id = `f00d0${{{_VALUE}}}` + report.id.slice(6);\n"),
        30_000,
        rounds=MORE_ROUNDS,
    ),
    "200 µs more when the truth is told": ScriptLeak(*_slower(200_000), 3_200, rounds=MORE_ROUNDS, timed=True),
    "1 ms more when the truth is told": ScriptLeak(*_slower(1_000_000), 800, rounds=COUNTED_ROUNDS, timed=True),
    "parity of the bits of the id": ScriptLeak(*_sent(_ONES % "bits"), 500),
    "order of JSON keys": ScriptLeak(
        *_sent(f"\tif ({_VALUE}) {{ const own = report.pldp; delete report.pldp; report.pldp = own; }}\n"), 300
    ),
    "a changed answer": ScriptLeak(
        _TOLD,
        "\t\tconst moved = number && story[number - 1].values[0][1] !== values[0][1];\n"
        + _TOLD.replace("bodyLength(survey))", "bodyLength(survey)).replace('{', moved ? '{ ' : '{')"),
        400,
        one_question(repeat="fresh"),
        sequences=True,
    ),
    "a changed level": ScriptLeak(
        _TOLD,
        "\t\tif (report && number && story[number - 1].level !== level)\n"
        f"\t\t\treport.answers[0].output = {_VALUE};\n{_TOLD}",
        600,
        one_question(levels=TWO_LEVELS, repeat="fresh"),
        sequences=True,
        only=("q", "two"),
    ),
    "state kept in a file": ScriptLeak(
        "store: storeOf(number), round", "round", 100, rounds=COUNTED_ROUNDS, by_rule=True
    ),
    "one label of eight with doubled ε": ScriptLeak(
        *_sent(
            f"\tif ({_VALUE} === 5) report.answers[0].output = Math.random() < 0.51352 ? 5 :\n"
            "\t\t[0, 1, 2, 3, 4, 6, 7][Math.floor(7 * Math.random())];\n"
        ),
        2_000,
        one_question(labels=8),
        MORE_ROUNDS,
    ),
}
"""What the first audit did not find, in JavaScript."""

JAVASCRIPT_OWN = {
    "a report that is sent twice": ScriptLeak(_SEND, f"{_SEND}\tif ({_VALUE}) {_SEND}", 300),
    "another header": ScriptLeak(
        "headers: Object.entries(headers)",
        f"headers: Object.entries({{ ...headers, ...({_VALUE} && {{ x: '1' }}) }})",
        300,
    ),
    "the answer in the address": ScriptLeak("send(NOWHERE,", f"send(`${{NOWHERE}}?${{{_VALUE}}}`,", 300),
    "a body that is not padded": ScriptLeak(*_body("`${body} `"), 300),
    "a key that comes twice": ScriptLeak(*_body("String(body).replace('{', '{\"pldp\":1,')"), 300),
    "a number written in another way": ScriptLeak(
        *_body('String(body).replace(/"output":(\\d)/, \'"output":$1.0\')'), 300
    ),
    "capital letters": ScriptLeak(*_body("String(body).replace(survey.hash, survey.hash.toUpperCase())"), 300),
    "three bits of the id": ScriptLeak(*_sent(_ONES % "[bits[0], bits[77], bits[101]]"), 500),
    "the truth in the id": ScriptLeak(
        *_sent(
            f"\tconst digits = {_TRUE} ? '01234567' : '89abcdef';\n"
            "\treport.id = report.id.slice(0, -1) + digits[Math.floor(8 * Math.random())];\n"
        ),
        800,
    ),
    "an id with a hash of the answer": ScriptLeak(
        *_sent(
            f"\tconst mark = (Math.floor(64 * Math.random()) * 2 + {_VALUE} + 1) * 2654435761 % 2 ** 32;\n"
            "\treport.id = report.id.slice(0, 10) + mark.toString(16).padStart(8, '0') + report.id.slice(18);\n"
        ),
        2_000,
    ),
    "noise that two questions share": ScriptLeak(
        "openDevice(survey);",
        "openDevice(survey, { random: ((noise) => (count) => noise.slice(0, count))"
        "(crypto.getRandomValues(new Uint8Array(64))) });",
        1_000,
        BOTH,
        only=("all 2", "one"),
    ),
    "another answer in one round": ScriptLeak(
        _TOLD,
        "\t\tconst again = number && story[number - 1].round === round && story[0].values[0][1] !== values[0][1];\n"
        + _TOLD.replace("bodyLength(survey))", "bodyLength(survey)).replace('{', again ? '{ ' : '{')"),
        100,
        rounds=COUNTED_ROUNDS,
        by_rule=True,
    ),
    "a copy of the state that was put back": ScriptLeak(
        "copyFileSync(path, copy);", "", 100, rounds=COUNTED_ROUNDS, by_rule=True
    ),
}
"""What else can go wrong in JavaScript."""
