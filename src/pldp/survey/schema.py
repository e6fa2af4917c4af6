"""The JSON Schema of survey files, generated from the keys of the reader, the kinds and the mechanisms.

python -m pldp.survey.schema        writes survey.schema.json beside this file
"""

import json
from pathlib import Path
from typing import Any, Final

from pldp.mechanisms import AUTO, LARGEST_EPSILON, LARGEST_TOTAL, names
from pldp.survey.file import KEYS, REQUIRED
from pldp.survey.hiding import KEYS as HIDING_KEYS
from pldp.survey.kinds import DEFAULT_KIND, KINDS
from pldp.survey.lottery import KEYS as LOTTERY_KEYS
from pldp.survey.lottery import LOTTERY
from pldp.survey.mixing import KEYS as SHUFFLE_KEYS
from pldp.survey.model import SCHEMA
from pldp.survey.question import Question, ref
from pldp.survey.reading import LONGEST_NAME, LONGEST_TEXT
from pldp.survey.texts import KEYS as TEXT_KEYS

PATH: Final = Path(__file__).with_name("survey.schema.json")


def survey_schema() -> dict[str, Any]:
    """Return the schema as plain data. It checks the form of a file; only reading the survey checks ε."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"pldp survey, format {SCHEMA}",
        "description": "What is asked and which protections may be chosen. The same keys in TOML or JSON.",
        "type": "object",
        "required": list(REQUIRED),
        "additionalProperties": False,
        "properties": dict(KEYS),
        "$defs": {**_SIMPLE, "mechanism": {"enum": [AUTO, *names()]}, "question": _question()},
    }


def _question() -> dict[str, Any]:
    """A question: the keys of its kind and no others."""
    return {
        "type": "object",
        "properties": {**Question.keys, "kind": {"enum": list(KINDS), "description": "what can be answered"}},
        "allOf": [{"if": _is_of(kind), "then": _table(kind)} for kind in KINDS.values()],
    }


def _is_of(kind: type[Question]) -> dict[str, Any]:
    named = {"properties": {"kind": {"const": kind.kind}}}
    return named if kind is KINDS[DEFAULT_KIND] else {**named, "required": ["kind"]}


def _table(kind: type[Question]) -> dict[str, Any]:
    """Its own keys; those that every kind has are known already."""
    known = {key: True if key in Question.keys else schema for key, schema in kind.keys.items()}
    return {"required": list(kind.required), "additionalProperties": False, "properties": known}


def _number(pattern: str, largest: int | None, description: str) -> dict[str, Any]:
    """A number, or the same as text."""
    limits = {} if largest is None else {"exclusiveMinimum": 0, "maximum": largest}
    return {"description": description, "anyOf": [{"type": "number", **limits}, {"type": "string", "pattern": pattern}]}


_DECIMAL: Final = r"^[0-9]+(\.[0-9]+)?$"
_TEXT: Final = "a number, or a decimal number as text"
_WEIGHT: Final = {"type": "integer", "minimum": 0}
_LEVEL: Final = {
    "type": "object",
    "oneOf": [{"required": ["epsilon"]}, {"required": ["fraction"]}],
    "additionalProperties": False,
    "properties": {
        "epsilon": ref("epsilon"),
        "fraction": ref("fraction", "part of a question's budget, which comes from total_epsilon"),
        "text": {"type": "string", "maxLength": LONGEST_TEXT, "description": "what the person reads"},
    },
}
_SIMPLE: Final[dict[str, Any]] = {
    "text": {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT},
    "name": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
    "epsilon": _number(_DECIMAL, LARGEST_EPSILON, f"above 0 and at most {LARGEST_EPSILON}; {_TEXT}"),
    "total": _number(_DECIMAL, LARGEST_TOTAL, f"of several answers: above 0 and at most {LARGEST_TOTAL}; {_TEXT}"),
    "fraction": _number(r"^[0-9]+((\.|/)[0-9]+)?$", 1, "above 0 and at most 1"),
    "bound": _number(r"^-?[0-9]+(\.[0-9]+)?$", None, _TEXT),
    "levels": {
        "type": "object",
        "minProperties": 1,
        "description": "name of each level and its ε, or a table with epsilon (or fraction) and text",
        "propertyNames": ref("name"),
        "additionalProperties": {"anyOf": [ref("epsilon"), _LEVEL]},
    },
    "hide_level": {
        "type": "object",
        "anyOf": [
            {"required": ["epsilon"], "properties": dict.fromkeys(LOTTERY_KEYS, False)},
            {"required": ["leak_cap"], "properties": dict.fromkeys(LOTTERY_KEYS, False)},
            {"required": [LOTTERY], "properties": dict.fromkeys(HIDING_KEYS, False)},
        ],
        "additionalProperties": False,
        "description": "perturb the chosen level, too",
        "properties": {**HIDING_KEYS, **LOTTERY_KEYS},
    },
    "shuffle": {
        "type": "object",
        "required": list(SHUFFLE_KEYS),
        "additionalProperties": False,
        "description": "who mixes reports before anybody else sees them",
        "properties": dict(SHUFFLE_KEYS),
    },
    "texts": {
        "type": "object",
        "additionalProperties": False,
        "description": "what people read before and after the questions",
        "properties": dict(TEXT_KEYS),
    },
    "weights": {"type": "object", "additionalProperties": {"anyOf": [_WEIGHT, {"type": "array", "items": _WEIGHT}]}},
}


def write() -> None:
    """Write the schema where the package ships it."""
    PATH.write_text(json.dumps(survey_schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
