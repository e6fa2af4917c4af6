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

import json
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from pldp.budgets import Level, micro_epsilon
from pldp.errors import EpsilonError, SurveyError
from pldp.mechanisms import (
    PureChannel,
    RandomizedResponse,
    channel,
    channel_from_weights,
    epsilon_text,
    hideable_channels,
    level_leak,
)
from pldp.survey.budgets import with_budgets
from pldp.survey.model import SCHEMA, Question, Survey
from pldp.survey.signature import Signature, verify

LONGEST_NAME: Final = 64
LONGEST_TEXT: Final = 2000
MOST_VALUES: Final = 1_000_000
MOST_LEVELS: Final = 100
LEAST_LABEL_EPSILON: Final = 10_000
"""Micro-ε that a leak cap must leave for the label itself; with less, labels say nothing about the mix of levels."""

_SURVEY_KEYS: Final = {"pldp", "title", "collector", "levels", "questions", "total_epsilon", "ask", "hide_level"}
_QUESTION_KEYS: Final = {"name", "text", "kind", "values", "levels", "mechanism", "weights"}


def load(path: str | Path, *, trusted_key: str | None = None) -> Survey:
    """Read the survey file at this path; with `trusted_key` (hexadecimal Ed25519), refuse what it did not sign."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SurveyError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SurveyError(f"{path}: cannot be read as UTF-8 text ({type(error).__name__})") from None
    try:
        return loads(text, trusted_key=trusted_key)
    except SurveyError as error:
        raise type(error)(f"{path}: {error}") from None


def loads(text: str, *, trusted_key: str | None = None) -> Survey:
    """Read a survey from TOML or JSON text. A signed survey is JSON with the keys `survey` and `signature`."""
    document = _parse_json(text) if text.lstrip().startswith("{") else _parse_toml(text)
    signature = None
    if isinstance(document, dict) and "signature" in document:
        signature = Signature.from_mapping(document["signature"])
        document = document.get("survey")
    survey = survey_from_mapping(document)
    if signature is not None or trusted_key is not None:
        verify(survey, signature, trusted_key=trusted_key)
    return survey


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text, parse_float=Decimal, object_pairs_hook=_without_repeated_keys)
    except json.JSONDecodeError as error:
        raise SurveyError(f"line {error.lineno}: not valid JSON: {error.msg}") from None
    except SurveyError:
        raise
    except (ValueError, ArithmeticError):
        raise SurveyError("not valid JSON: a number is too long") from None
    except RecursionError:
        raise SurveyError("nested too deeply") from None


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise SurveyError("not valid JSON: a key comes twice in one table")
    return table


def _parse_toml(text: str) -> Any:
    import tomllib  # noqa: PLC0415 - a device that reads JSON starts faster without it

    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise SurveyError(f"not valid TOML: {error}") from None
    except (ValueError, ArithmeticError):
        raise SurveyError("not valid TOML: a number is too long") from None
    except RecursionError:
        raise SurveyError("nested too deeply") from None


def survey_from_mapping(document: object) -> Survey:
    """Build a survey from plain data (a parsed TOML or JSON file)."""
    survey = _table(document, "survey", _SURVEY_KEYS, required=("pldp", "title", "levels", "questions"))
    if survey["pldp"] != SCHEMA or isinstance(survey["pldp"], bool):
        _fail("pldp", f"must be {SCHEMA}, the number of this format", survey["pldp"])
    survey = with_budgets(survey)
    levels = _levels(survey["levels"])
    questions = survey["questions"]
    if not isinstance(questions, list) or not questions:
        _fail("questions", "must be a list with at least one question", questions)
    ask = _ask(survey.get("ask"), len(questions))
    hiding = _hiding(survey.get("hide_level"), levels, ask or len(questions))
    built = tuple(_question(entry, f"questions[{index}]", levels, hiding) for index, entry in enumerate(questions))
    _distinct([question.name for question in built], "questions", "names")
    total = _total(survey.get("total_epsilon"), built, ask)
    level_micro, level_channel = (None, None) if hiding is None else _level_channel(hiding, levels, built)
    return Survey(
        title=_text(survey["title"], "title", LONGEST_TEXT),
        collector=_text(survey.get("collector", ""), "collector", LONGEST_TEXT, empty=True),
        levels=levels,
        questions=built,
        total_micro_epsilon=total,
        ask=ask,
        level_channel=level_channel,
        level_micro_epsilon=level_micro,
        leak_cap=None if hiding is None else hiding.leak_cap,
    )


def _levels(entry: object) -> tuple[Level, ...]:
    if not isinstance(entry, dict) or not entry:
        _fail("levels", "must be a table with at least one level, such as strict = 0.5", entry)
    if len(entry) > MOST_LEVELS:
        _fail("levels", f"must be at most {MOST_LEVELS}", len(entry))
    levels = []
    for name, content in entry.items():
        key = f"levels.{name}"
        _text(name, key, LONGEST_NAME)
        table = content if isinstance(content, dict) else {"epsilon": content}
        _table(table, key, {"epsilon", "fraction", "text"}, required=("epsilon",))
        text = _text(table.get("text", ""), f"{key}.text", LONGEST_TEXT, empty=True)
        levels.append(Level(name, _epsilon(table["epsilon"], key), text))
    return tuple(sorted(levels, key=lambda level: (level.micro_epsilon, level.name)))


def _question(entry: object, key: str, survey_levels: tuple[Level, ...], hiding: _Hiding | None) -> Question:
    table = _table(entry, key, _QUESTION_KEYS, required=("name", "values"))
    name = _text(table["name"], f"{key}.name", LONGEST_NAME)
    key = f"{key} ({name})"
    if table.get("kind", "choice") != "choice":
        _fail(f"{key}.kind", "must be 'choice'", table["kind"])
    values = _values(table["values"], f"{key}.values")
    levels = _question_levels(table.get("levels"), f"{key}.levels", survey_levels)
    mechanisms = _per_level(table.get("mechanism", "auto"), f"{key}.mechanism", levels, default="auto")
    weights = _per_level(table.get("weights", {}), f"{key}.weights", levels, default=None)
    if hiding is not None and [level.name for level in levels] != [level.name for level in survey_levels]:
        _fail(
            f"hide_level: {key}.levels",
            "must offer every level in the survey's order",
            [level.name for level in levels],
        )
    if hiding is not None and len(set(mechanisms.values())) == 1 and not any(weights.values()):
        channels = _hidden_channels(key, len(values), levels, mechanisms[levels[0].name], hiding)
    else:
        pairs = [(level, mechanisms[level.name], weights[level.name]) for level in levels]
        channels = tuple(_channel(key, len(values), *pair) for pair in pairs)
    return Question(
        name, _text(table.get("text", ""), f"{key}.text", LONGEST_TEXT, empty=True), values, levels, channels
    )


def _values(entry: object, key: str) -> tuple[str, ...]:
    if not isinstance(entry, list) or not 2 <= len(entry) <= MOST_VALUES:
        _fail(key, f"must be a list of 2 to {MOST_VALUES:,} labels", entry)
    labels = [_text(label, f"{key}[{index}]", LONGEST_TEXT) for index, label in enumerate(entry)]
    _distinct(labels, key, "labels")
    return tuple(labels)


def _question_levels(entry: object, key: str, survey_levels: tuple[Level, ...]) -> tuple[Level, ...]:
    """A question may give some or all levels another ε; a level it leaves out of a full table is not on offer."""
    if entry is None:
        return survey_levels
    known = {level.name: level for level in survey_levels}
    if not isinstance(entry, dict) or not entry:
        _fail(key, "must be a table such as strict = 0.5", entry)
    levels = []
    for name, epsilon in entry.items():
        if name not in known:
            _fail(f"{key}.{name}", f"must be one of the survey's levels: {', '.join(known)}", name)
        levels.append(Level(name, _epsilon(epsilon, f"{key}.{name}"), known[name].text))
    return tuple(sorted(levels, key=lambda level: (level.micro_epsilon, level.name)))


def _per_level(entry: object, key: str, levels: tuple[Level, ...], *, default: object) -> Mapping[str, Any]:
    if isinstance(entry, str):
        return dict.fromkeys((level.name for level in levels), entry)
    if not isinstance(entry, dict):
        _fail(key, "must be one name, or a table with one per level", entry)
    known = [level.name for level in levels]
    for name in entry:
        if name not in known:
            _fail(f"{key}.{name}", f"must be one of the question's levels: {', '.join(known)}", name)
    return {name: entry.get(name, default) for name in known}


def _channel(key: str, size: int, level: Level, mechanism: object, weights: object) -> PureChannel:
    where = f"{key}, level {level.name}"
    if not isinstance(mechanism, str):
        _fail(f"{where}: mechanism", "must be a name", mechanism)
    try:
        if weights is None:
            return channel(mechanism, size, level.micro_epsilon)
        return _checked_channel(where, mechanism, size, level.micro_epsilon, weights)
    except EpsilonError as error:
        raise SurveyError(f"{where}: {error}") from None


def _checked_channel(where: str, mechanism: str, size: int, micro: int, weights: object) -> PureChannel:
    """Rebuild a published channel and refuse it if its true ε is above the level's: nobody has to believe the file."""
    if not isinstance(weights, dict) or not all(type(weight) is int for weight in weights.values()):
        _fail(f"{where}: weights", "must be a table of integers", weights)
    built = channel_from_weights(mechanism, size, weights)
    if built.micro_epsilon is None or built.micro_epsilon > micro:
        _fail(
            f"{where}: weights",
            f"must keep the promised epsilon {epsilon_text(micro)}",
            epsilon_text(built.micro_epsilon),
        )
    return built


def _ask(entry: object, questions: int) -> int | None:
    """Return how many questions each person is asked, `None` where everybody may answer all."""
    if entry is None:
        return None
    if type(entry) is not int or not 1 <= entry <= questions:
        _fail("ask", f"must be a whole number from 1 to the {questions} questions", entry)
    return entry if entry < questions else None


def _total(entry: object, questions: tuple[Question, ...], ask: int | None) -> int | None:
    if entry is None:
        return None
    total = _epsilon(entry, "total_epsilon")
    least = min(question.levels[0].micro_epsilon for question in questions)
    if ask is not None:  # whoever is asked the dearest questions must be able to answer them
        least = sum(sorted(question.levels[0].micro_epsilon for question in questions)[-ask:])
    if total < least:
        _fail(
            "total_epsilon",
            f"must allow {'at least one answer' if ask is None else f'any {ask} answers'} at the strictest level "
            f"({epsilon_text(least)})",
            entry,
        )
    return total


class _Hiding(NamedTuple):
    """What `hide_level` asks for: ε of the label, or a cap on the whole leak about the level, or both."""

    micro_epsilon: int | None
    leak_cap: int | None
    weights: object
    questions: int

    @property
    def room(self) -> int | None:
        """What the output of each question may tell about the level: an equal part of what the label leaves."""
        if self.leak_cap is None:
            return None
        return (self.leak_cap - (self.micro_epsilon or LEAST_LABEL_EPSILON)) // self.questions


def _hiding(entry: object, levels: tuple[Level, ...], questions: int) -> _Hiding | None:
    if entry is None:
        return None
    table = _table(entry, "hide_level", {"epsilon", "leak_cap", "mechanism", "weights"}, required=())
    if "epsilon" not in table and "leak_cap" not in table:
        raise SurveyError("hide_level: epsilon is missing (or leak_cap, from which it is derived)")
    if len(levels) < 2:
        _fail("hide_level", "must have at least two levels to hide among", len(levels))
    if len({level.micro_epsilon for level in levels}) < len(levels):
        _fail("hide_level", "must have levels of different epsilon", [str(level) for level in levels])
    if table.get("mechanism", "krr") != "krr":
        _fail("hide_level.mechanism", "must be 'krr'", table["mechanism"])
    epsilon, cap = (
        None if table.get(name) is None else _epsilon(table[name], f"hide_level.{name}")
        for name in ("epsilon", "leak_cap")
    )
    return _Hiding(epsilon, cap, table.get("weights"), questions)


def _hidden_channels(
    key: str, size: int, levels: tuple[Level, ...], mechanism: object, hiding: _Hiding
) -> tuple[PureChannel, ...]:
    """Choose the most accurate channels of one form whose leak about the level stays within the cap."""
    if not isinstance(mechanism, str):
        _fail(f"{key}.mechanism", "must be a name", mechanism)
    try:
        sets = list(hideable_channels(mechanism, size, [level.micro_epsilon for level in levels]))
    except EpsilonError as error:
        raise SurveyError(f"{key}: {error}") from None
    leaks = {channels: level_leak(channels) for channels in sets}
    allowed = [channels for channels in sets if hiding.room is None or leaks[channels] <= hiding.room]
    if not allowed:
        known = ", ".join(f"{channels[0].mechanism} {epsilon_text(leak)}" for channels, leak in leaks.items())
        raise SurveyError(
            f"hide_level.leak_cap: must leave room for epsilon beside what the reports of {key} tell about the level "
            f"by themselves ({known}), not {epsilon_text(hiding.leak_cap)}"
        )
    return max(allowed, key=lambda channels: sum(1 / channel.variance(1 / size) for channel in channels))


def _level_channel(
    hiding: _Hiding, levels: tuple[Level, ...], questions: tuple[Question, ...]
) -> tuple[int, PureChannel]:
    """Build the channel of the label; its ε is the one asked for, or what the cap leaves beside all outputs."""
    leaks = []
    for question in questions:
        try:
            leaks.append(level_leak(question.channels))
        except EpsilonError:
            names = ", ".join(channel.mechanism for channel in question.channels)
            _fail(
                f"hide_level: question {question.name}.mechanism",
                "must give reports of one form at every level, or their form shows the level",
                names,
            )
    outputs = sum(sorted(leaks)[-hiding.questions :])
    if hiding.leak_cap is not None and outputs + (hiding.micro_epsilon or LEAST_LABEL_EPSILON) > hiding.leak_cap:
        _fail(
            "hide_level.leak_cap",
            f"must leave room for epsilon beside the {epsilon_text(outputs)} that outputs alone tell about the level",
            epsilon_text(hiding.leak_cap),
        )
    micro = hiding.micro_epsilon if hiding.micro_epsilon is not None else (hiding.leak_cap or 0) - outputs
    try:
        if hiding.weights is None:
            return micro, RandomizedResponse.of(len(levels), micro)
        return micro, _checked_channel("hide_level", "krr", len(levels), micro, hiding.weights)
    except EpsilonError as error:
        raise SurveyError(f"hide_level: {error}") from None


def _table(entry: object, key: str, known: set[str], *, required: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(entry, dict):
        _fail(key, "must be a table", entry)
    for name in entry:
        if name not in known:
            raise SurveyError(f"{key}.{str(name)[:40]}: is not a known key; known are {', '.join(sorted(known))}")
    for name in required:
        if name not in entry:
            raise SurveyError(f"{key}: {name} is missing")
    return entry


def _text(entry: object, key: str, longest: int, *, empty: bool = False) -> str:
    if not isinstance(entry, str) or len(entry) > longest or (not entry.strip() and not empty):
        _fail(key, f"must be text of at most {longest} characters" + ("" if empty else ", not empty"), entry)
    if entry != unicodedata.normalize("NFC", entry) or any(
        unicodedata.category(c) in {"Cc", "Cs"} and c != "\n" for c in entry
    ):
        _fail(key, "must be text in Unicode form NFC without control characters", entry)
    return entry


def _epsilon(entry: object, key: str) -> int:
    if not isinstance(entry, int | str | Decimal):
        _fail(key, "must be a number", entry)
    try:
        return micro_epsilon(entry)
    except EpsilonError as error:
        raise SurveyError(f"{key}: {error}") from None


def _distinct(names: list[str], key: str, what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SurveyError(f"{key}: must have distinct {what}; {name[:80]!r} comes twice")
        seen.add(name)


def _fail(key: str, rule: str, came: object) -> NoReturn:
    shown = came if isinstance(came, int | Decimal) else repr(came)
    shown = str(shown)
    raise SurveyError(f"{key}: {rule}, not {shown[:80]}{'…' if len(shown) > 80 else ''}")
