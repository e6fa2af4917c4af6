"""The report: everything that leaves the device, and nothing else; and why one is not counted."""

import hashlib
import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pldp.errors import PldpError
from pldp.mechanisms import Bits, Integers, Output
from pldp.records import Brief
from pldp.survey import SCHEMA, Question, Survey

ID_BYTES: Final = 16
_ID: Final = re.compile(r"[0-9a-f]{32}")
_REPORT_KEYS: Final = {"pldp", "survey", "id", "answers"}
_ANSWER_KEYS: Final = {"question", "level", "output"}


class Rejection(StrEnum):
    """Why a report is not counted. Every reason is counted and shown in these words; none is silent."""

    MALFORMED = "malformed"  #: Not JSON, not an object, or a key missing or too many.
    WRONG_SCHEMA = "wrong_schema"  #: Another number of the report format.
    WRONG_SURVEY = "wrong_survey"  #: Made for another survey, or another version of it.
    BAD_ID = "bad_id"  #: The id is not 32 lower-case hexadecimal digits.
    NO_ANSWER = "no_answer"  #: No question is answered.
    UNKNOWN_QUESTION = "unknown_question"  #: A question that the survey does not ask.
    REPEATED_QUESTION = "repeated_question"  #: One question answered twice in one report.
    TOO_MANY_ANSWERS = "too_many_answers"  #: More questions answered than a person is asked.
    UNKNOWN_LEVEL = "unknown_level"  #: A level that the question does not offer.
    WRONG_TYPE = "wrong_type"  #: An output of another type than the channel makes.
    WRONG_LENGTH = "wrong_length"  #: Packed bits of another length than the channel makes.
    OUT_OF_RANGE = "out_of_range"  #: An output that the channel cannot make.
    CONFLICT = "conflict"  #: Another report with this id is stored.
    CLOSED_ROUND = "closed_round"  #: No round is open.
    CLOSED_SURVEY = "closed_survey"  #: The closing date of the survey is past.
    WITHDRAWN = "withdrawn"  #: A report with this id was withdrawn.
    OVER_BUDGET = "over_budget"  #: The budget of the person who is enrolled does not allow it.
    UNREADABLE = "unreadable"  #: Part of a file that cannot be read, and that was to be passed over.


class ReportRejected(PldpError, ValueError):
    """A report that breaks a rule; `reason` says which."""

    def __init__(self, reason: Rejection, detail: str) -> None:
        super().__init__(f"{reason.value}: {detail}")
        self.reason = reason


@dataclass(frozen=True, repr=False)
class Answer(Brief):
    """One perturbed answer.

    `level` is the one that the report shows: the chosen one, or the perturbed one where the survey hides levels.
    """

    question: str
    level: str
    output: Output

    def to_mapping(self) -> dict[str, Any]:
        """Return the JSON form as plain data; packed bits are hexadecimal."""
        output = self.output.hex() if isinstance(self.output, bytes) else self.output
        return {"question": self.question, "level": self.level, "output": output}


@dataclass(frozen=True, repr=False)
class Report(Brief):
    """What a device sends: survey hash, random id, perturbed answers. No floats, no time, no person.

    >>> report = Report("00" * 32, "1f" * 16, (Answer("mode", "strict", 3),))
    >>> report.to_mapping()["answers"]
    [{'question': 'mode', 'level': 'strict', 'output': 3}]
    """

    survey: str
    id: str
    answers: tuple[Answer, ...]

    def to_mapping(self) -> dict[str, Any]:
        """Return the JSON form as plain data."""
        answers = [answer.to_mapping() for answer in self.answers]
        return {"pldp": SCHEMA, "survey": self.survey, "id": self.id, "answers": answers}

    def to_json(self) -> str:
        """Return the JSON form as one line of text."""
        return _json(self.to_mapping())

    def body(self, survey: Survey) -> bytes:
        """Return what is sent: the JSON form with spaces behind it, as long as any other report of this survey."""
        return self.to_json().encode().ljust(body_length(survey))


def body_length(survey: Survey) -> int:
    r"""Return how many bytes the longest report of a survey has as UTF-8 JSON: all are sent with that length.

    >>> from pldp.survey import loads
    >>> survey = loads('pldp=1\ntitle="t"\nlevels={a=1,long=2}\nquestions=[{name="q",values=["x","y"]}]')
    >>> report = Report(survey.hash, "1f" * 16, (Answer("q", "a", 1),))
    >>> len(report.to_json()), body_length(survey), len(report.body(survey))
    (178, 181, 181)
    """
    frame = Report(survey.hash, "0" * 2 * ID_BYTES, ())
    answers = sorted(map(_longest_answer, survey.questions), reverse=True)[: survey.ask]
    return _length(frame.to_mapping()) + sum(answers) + len(answers) - 1  # commas between them


def _longest_answer(question: Question) -> int:
    """Return the length of the longest answer, over all levels and outputs."""
    forms = zip(question.levels, (channel.form for channel in question.channels), strict=True)
    longest = (
        Answer(question.name, level.name, bytes(form.bytes) if isinstance(form, Bits) else form.count - 1)
        for level, form in forms
    )
    return max(_length(answer.to_mapping()) for answer in longest)


def _json(content: object) -> str:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def _length(content: object) -> int:
    return len(_json(content).encode())


def report_id(survey: str, receipt: str) -> str:
    """Return the id of the report that a receipt belongs to: knowing only the id, nobody can find the receipt.

    >>> report_id("00" * 32, "11" * 32)
    '1f4b3702c959f05d3f26ed9961cfc638'
    """
    return hashlib.sha256(f"pldp receipt\x00{survey}\x00{receipt}".encode()).digest()[:ID_BYTES].hex()


def read_report(survey: Survey, content: str | bytes | dict[str, Any]) -> Report:
    r"""Read and validate the JSON form; `ReportRejected` carries the enumerated reason.

    >>> from pldp.survey import loads
    >>> survey = loads('pldp=1\ntitle="t"\nlevels={a=1}\nquestions=[{name="q",values=["x","y"]}]')
    >>> read_report(survey, b"{}")
    Traceback (most recent call last):
    ...
    pldp.reports.record.ReportRejected: malformed: a report has exactly the keys pldp, survey, id, answers
    """
    entry = content if isinstance(content, dict) else _parse(content)
    if entry.keys() != _REPORT_KEYS:
        raise ReportRejected(Rejection.MALFORMED, "a report has exactly the keys pldp, survey, id, answers")
    if type(entry["pldp"]) is not int or entry["pldp"] != SCHEMA:
        raise ReportRejected(Rejection.WRONG_SCHEMA, f"pldp must be {SCHEMA}")
    if entry["survey"] != survey.hash:
        raise ReportRejected(Rejection.WRONG_SURVEY, "survey must be the hash of this survey")
    if not isinstance(entry["id"], str) or not _ID.fullmatch(entry["id"]):
        raise ReportRejected(Rejection.BAD_ID, "id must be 32 lower-case hexadecimal digits")
    answers = entry["answers"]
    if not isinstance(answers, list):
        raise ReportRejected(Rejection.MALFORMED, "answers must be a list")
    if not answers:
        raise ReportRejected(Rejection.NO_ANSWER, "answers must not be empty")
    if len(answers) > len(survey.questions):
        raise ReportRejected(Rejection.REPEATED_QUESTION, "there are more answers than questions")
    if survey.ask is not None and len(answers) > survey.ask:
        raise ReportRejected(Rejection.TOO_MANY_ANSWERS, f"a person is asked {survey.ask} questions")
    read = tuple(_read_answer(survey, answer) for answer in answers)
    if len({answer.question for answer in read}) < len(read):
        raise ReportRejected(Rejection.REPEATED_QUESTION, "a question is answered twice")
    return Report(entry["survey"], entry["id"], read)


def _parse(content: object) -> dict[str, Any]:
    if not isinstance(content, str | bytes):
        raise ReportRejected(Rejection.MALFORMED, "neither JSON text nor an object")
    try:
        entry = json.loads(content)
    except (ValueError, RecursionError):
        raise ReportRejected(Rejection.MALFORMED, "not JSON") from None
    if not isinstance(entry, dict):
        raise ReportRejected(Rejection.MALFORMED, "not an object")
    return entry


def _read_answer(survey: Survey, entry: object) -> Answer:
    if not isinstance(entry, dict) or entry.keys() != _ANSWER_KEYS:
        raise ReportRejected(Rejection.MALFORMED, "an answer has exactly the keys question, level, output")
    if not all(isinstance(entry[key], str) for key in ("question", "level")):
        raise ReportRejected(Rejection.MALFORMED, "question and level must be text")
    question = next((known for known in survey.questions if known.name == entry["question"]), None)
    if question is None:
        raise ReportRejected(Rejection.UNKNOWN_QUESTION, "the survey has no such question")
    level, content = entry["level"], entry["output"]
    if level not in question.level_index:
        raise ReportRejected(Rejection.UNKNOWN_LEVEL, f"question {question.name!r} offers no such level")
    form = question.channels[question.level_index[level]].form
    output = _read_bits(form, content) if isinstance(form, Bits) else _read_integer(form, content)
    return Answer(question.name, level, output)


def _read_integer(form: Integers, content: object) -> int:
    if type(content) is not int:
        raise ReportRejected(Rejection.WRONG_TYPE, "output must be an integer")
    if not 0 <= content < form.count:
        raise ReportRejected(Rejection.OUT_OF_RANGE, "output is none that the channel can make")
    return content


def _read_bits(form: Bits, content: object) -> bytes:
    if not isinstance(content, str):
        raise ReportRejected(Rejection.WRONG_TYPE, "output must be hexadecimal text")
    if len(content) != 2 * form.bytes:
        raise ReportRejected(Rejection.WRONG_LENGTH, f"output must have {2 * form.bytes} hexadecimal digits")
    try:
        bits = bytes.fromhex(content)
    except ValueError:
        raise ReportRejected(Rejection.WRONG_TYPE, "output must be hexadecimal text") from None
    if bits.hex() != content:
        raise ReportRejected(Rejection.WRONG_TYPE, "output must be lower-case hexadecimal text")
    if not form.admits(bits):
        raise ReportRejected(Rejection.OUT_OF_RANGE, "output is none that the channel can make")
    return bits
