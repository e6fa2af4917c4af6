"""Read survey files; every error names the file and the key or line that breaks a rule.

A file is TOML or JSON with the keys of `survey.schema.json`:

>>> survey = loads('''
... pldp = 1
... title = "How people get to work"
... [levels]
... strict = 0.5
... open = 2
... [[questions]]
... name = "mode"
... values = ["car", "bus", "bike"]
... ''')
>>> [str(level) for level in survey.levels]
['strict (ε = 0.5)', 'open (ε = 2)']
>>> survey.question("mode").channels[0].mechanism
'krr'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pldp.budgets import Level
from pldp.errors import SurveyError
from pldp.files import name_contents
from pldp.mechanisms import ANSWER_BYTES, LARGEST_EPSILON, LARGEST_TOTAL, epsilon_text
from pldp.survey.budgets import with_budgets
from pldp.survey.entries import open_entry, read_required, read_weight
from pldp.survey.hidden_prices import dearest_price
from pldp.survey.hiding import Hiding, label_channel, read_hiding, with_every_level
from pldp.survey.languages import ENGLISH, LANGUAGE_SCHEMA, read_language, with_languages
from pldp.survey.languages import SCHEMA as LANGUAGES_SCHEMA
from pldp.survey.lines import line_of
from pldp.survey.lookalikes import refuse_unclear
from pldp.survey.lottery import check_stricter_protects, is_lottery, read_lottery
from pldp.survey.mixing import read_shuffle
from pldp.survey.model import SCHEMA, Survey
from pldp.survey.parsing import parse_json, parse_toml, read_bounded
from pldp.survey.question import Question, Schema, ref
from pldp.survey.reading import (
    LONGEST_NAME,
    LONGEST_TEXT,
    check_distinct,
    check_known,
    fail,
    read_epsilon,
    read_table,
    read_text,
    strictest_first,
)
from pldp.survey.repeat import ONCE, RULES, TRACKED
from pldp.survey.signature import Signature, verify
from pldp.survey.texts import CLOSES, LOGO, read_closes, read_logo_name, read_texts

if TYPE_CHECKING:
    from pathlib import Path

MOST_LEVELS: Final = 100
LEAST_ANSWER_BYTES: Final = 8
MOST_ANSWER_BYTES: Final = 1 << 16

KEYS: Final[Mapping[str, Schema]] = {
    "pldp": {"const": SCHEMA, "description": "number of this format"},
    "title": ref("text"),
    "collector": {"type": "string", "maxLength": LONGEST_TEXT, "description": "who collects"},
    "levels": ref("levels"),
    "total_epsilon": ref("total", "the most that one person may spend on this survey"),
    "ask": {"type": "integer", "minimum": 1, "description": "questions that each person is asked, picked at random"},
    "hide_level": ref("hide_level"),
    "answer_bytes": {
        "type": "integer",
        "minimum": LEAST_ANSWER_BYTES,
        "maximum": MOST_ANSWER_BYTES,
        "description": f"bytes that an answer may take where auto chooses its mechanism; {ANSWER_BYTES} if not given",
    },
    "repeat": {"enum": list(RULES), "description": "what happens when the same person is asked again"},
    "shuffle": ref("shuffle"),
    "texts": ref("texts"),
    "closes": CLOSES,
    "logo": LOGO,
    "language": {**LANGUAGE_SCHEMA, "description": f"the language of the texts in this file; {ENGLISH} if not given"},
    "languages": LANGUAGES_SCHEMA,
    "questions": {"type": "array", "minItems": 1, "items": ref("question")},
}
"""Keys of a survey file with their JSON Schema."""

REQUIRED: Final = ("pldp", "title", "levels", "questions")


def load(path: str | Path, *, trusted_key: str | None = None, running: bool = False) -> Survey:
    """Read the survey file at this path; with `trusted_key` (hexadecimal Ed25519), refuse what it did not sign.

    Names that are not clear (`pldp.survey.lookalikes`) are refused, except in a survey that is `running`.
    """
    from pathlib import Path  # noqa: PLC0415 - a device may have the text already

    path = Path(path)
    try:
        text = read_bounded(path)
    except FileNotFoundError:
        raise SurveyError(f"{path}: there is no such file") from None
    except OSError as error:
        raise SurveyError(f"{path}: cannot be read ({type(error).__name__})") from None
    except UnicodeDecodeError as error:
        with path.open("rb") as file:
            reason = name_contents(file.read(400)) or type(error).__name__
        raise SurveyError(f"{path}: is not a survey file, which is UTF-8 text ({reason})") from None
    try:
        return loads(text, trusted_key=trusted_key, running=running)
    except SurveyError as error:
        line = None if text.lstrip().startswith("{") else line_of(text, str(error))
        raise type(error)(f"{path}{'' if line is None else f', line {line}'}: {error}") from None


def loads(text: str, *, trusted_key: str | None = None, running: bool = False) -> Survey:
    """Read a survey from TOML or JSON text. A signed survey is JSON with the keys `survey` and `signature`."""
    document = parse_json(text) if text.lstrip().startswith("{") else parse_toml(text)
    return survey_from_document(document, trusted_key=trusted_key, running=running)


def survey_from_document(document: Any, *, trusted_key: str | None = None, running: bool = False) -> Survey:
    """Build a survey from the plain data of a file, which may be signed."""
    signature = None
    if isinstance(document, dict) and "signature" in document:
        signature = Signature.from_mapping(document["signature"])
        document = document.get("survey")
    survey = survey_from_mapping(document)
    # One with weights was compiled before: devices and stores hold it, and the owner of a collector is warned.
    if not running and not all("weights" in question for question in document["questions"]):
        refuse_unclear(survey)
    if signature is None and trusted_key is None:
        return survey
    return replace(survey, signer=verify(survey, signature, trusted_key=trusted_key), trusted=trusted_key is not None)


def survey_from_mapping(document: object) -> Survey:
    """Build a survey from plain data (a parsed TOML or JSON file); floats of Python are read as decimals."""
    survey = read_table(document, "survey", KEYS, required=REQUIRED)
    if survey["pldp"] != SCHEMA or isinstance(survey["pldp"], bool):
        fail("pldp", f"must be {SCHEMA}, the number of this format", survey["pldp"])
    spelled, remarks = with_budgets(survey)
    read = _build(spelled, remarks)
    if spelled is not survey and read.level_channel is not None:
        read = _fit_hidden(survey, read)
    total = _total(survey.get("total_epsilon"), read)
    languages = with_languages(read, survey.get("languages"))
    return read if total is None and not languages else replace(read, total_micro_epsilon=total, languages=languages)


def _fit_hidden(survey: dict[str, Any], read: Survey) -> Survey:
    """Share less among the questions until a whole report, what it tells about a hidden level included, fits the total.

    That price is the label's own part and nearly proportional to what is shared, so that one step of Newton's method is
    enough but for rounding.
    """
    total = share = read_epsilon(survey["total_epsilon"], "total_epsilon", largest=LARGEST_TOTAL)
    label = 0 if read.level_channel is None else int(read.level_channel.micro_epsilon)
    if label >= total:
        fail(
            "total_epsilon",
            f"must leave something beside the label of a hidden level ({epsilon_text(label)})",
            epsilon_text(total),
        )
    while (price := dearest_price(read)) > total:
        share = min(share - 1, share * (total - label) // (price - label))
        read = _build(*with_budgets(survey, share))
    return read


def _build(survey: dict[str, Any], remarks: tuple[str, ...]) -> Survey:
    """Build a survey whose ε are spelled out, but for its total and translations."""
    entries = survey["questions"]
    if not isinstance(entries, list) or not entries:
        fail("questions", "must be a list with at least one question", entries)
    # Where every question has an ε of its own, that of a survey's level is what a person spends in all.
    in_all = all(isinstance(entry, dict) and "levels" in entry for entry in entries)
    levels = _levels(survey["levels"], LARGEST_TOTAL if in_all else LARGEST_EPSILON)
    ask = _ask(survey.get("ask"), len(entries))
    answer_bytes = _answer_bytes(survey.get("answer_bytes", ANSWER_BYTES))
    entry = survey.get("hide_level")
    lottery = read_lottery(entry, levels) if is_lottery(entry) else None
    hiding = None if lottery is not None else read_hiding(entry, levels, ask or len(entries))
    repeat = survey.get("repeat", ONCE)
    check_known(repeat, "repeat", RULES)
    if hiding is not None and repeat == TRACKED:
        raise SurveyError(
            "hide_level: levels cannot be hidden where answers are tracked, as every report would tell about the level "
            'again; ask with repeat = "once" or "fresh", or hide them by a lottery (hide_level = { lottery = 1 })'
        )
    questions = tuple(
        _read_question(
            table,
            f"questions[{index}]",
            levels,
            hiding,
            every_level=hiding is not None or lottery is not None,
            tracked=repeat == TRACKED,
            answer_bytes=answer_bytes,
        )
        for index, table in enumerate(entries)
    )
    check_distinct([question.name for question in questions], "questions", "names")
    label = None if hiding is None else label_channel(hiding, levels, questions)
    if lottery is not None:
        check_stricter_protects(questions)
    return Survey(
        title=read_text(survey["title"], "title", LONGEST_TEXT),
        collector=read_text(survey.get("collector", ""), "collector", LONGEST_TEXT, empty=True),
        levels=levels,
        questions=questions,
        ask=ask,
        level_channel=None if label is None else label.channel,
        level_micro_epsilon=None if label is None else label.micro_epsilon,
        level_budgets=() if label is None else label.budgets,
        leak_cap=None if hiding is None else hiding.leak_cap,
        lottery=lottery,
        repeat=repeat,
        shuffle=read_shuffle(survey.get("shuffle")),
        texts=read_texts(survey.get("texts")),
        closes=read_closes(survey.get("closes")),
        logo=read_logo_name(survey.get("logo")),
        language=read_language(survey.get("language", ENGLISH), "language"),
        remarks=remarks,
    )


def _read_question(
    entry: object,
    key: str,
    survey_levels: tuple[Level, ...],
    hiding: Hiding | None,
    *,
    every_level: bool,
    tracked: bool,
    answer_bytes: int,
) -> Question:
    made, opened = open_entry(entry, key, survey_levels, hiding=hiding, tracked=tracked, answer_bytes=answer_bytes)
    if every_level:
        table, levels = with_every_level(opened.table, opened.key, opened.levels, survey_levels)
        opened = opened._replace(table=table, levels=levels)
    weight, required, question = read_weight(opened), read_required(opened), made.read(opened)
    if (weight, required) == (question.weight, question.is_required):
        return question
    return replace(question, weight=weight, is_required=required)


def _levels(entry: object, largest: int) -> tuple[Level, ...]:
    if not isinstance(entry, dict) or not entry:
        fail("levels", "must be a table with at least one level, such as strict = 0.5", entry)
    if len(entry) > MOST_LEVELS:
        fail("levels", f"must be at most {MOST_LEVELS}", len(entry))
    levels = []
    for name, content in entry.items():
        key = f"levels.{name}"
        read_text(name, key, LONGEST_NAME)
        table = content if isinstance(content, dict) else {"epsilon": content}
        read_table(table, key, {"epsilon", "fraction", "text"}, required=("epsilon",))
        text = read_text(table.get("text", ""), f"{key}.text", LONGEST_TEXT, empty=True)
        levels.append(Level(name, read_epsilon(table["epsilon"], key, largest=largest), text))
    return strictest_first(levels)


def _ask(entry: object, questions: int) -> int | None:
    """Return how many questions each person is asked, `None` where everybody may answer all."""
    if entry is None:
        return None
    if type(entry) is not int or not 1 <= entry <= questions:
        fail("ask", f"must be a whole number from 1 to the {questions} questions", entry)
    return entry if entry < questions else None


def _answer_bytes(entry: object) -> int:
    if type(entry) is not int or not LEAST_ANSWER_BYTES <= entry <= MOST_ANSWER_BYTES:
        fail("answer_bytes", f"must be a whole number from {LEAST_ANSWER_BYTES} to {MOST_ANSWER_BYTES:,}", entry)
    return entry


def _total(entry: object, survey: Survey) -> int | None:
    """Read the total; a person who is asked the dearest questions, or required ones, must be able to answer them.

    Where levels are hidden, `dead_ends` warns instead: what a report costs then includes what it tells about the level.
    """
    if entry is None:
        return None
    total = read_epsilon(entry, "total_epsilon", largest=LARGEST_TOTAL)
    charges = sorted(question.charge(0) for question in survey.questions)
    needed = [question.charge(0) for question in survey.questions if question.is_required]
    if survey.ask is not None:
        least, what = sum(charges[-survey.ask :]), f"any {survey.ask} answers"
    elif needed:
        least, what = sum(needed), "all required questions" if len(needed) > 1 else "the required question"
    else:
        least, what = charges[0], "at least one answer"
    if total < least and survey.level_channel is None:
        fail("total_epsilon", f"must allow {what} at the strictest level ({epsilon_text(least)})", entry)
    return total
