"""Which keys of a survey file a form can show, and how: read from the schema, so that a new key needs no code here."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from pldp.survey import KINDS
from pldp.survey.schema import survey_schema

Schema = Mapping[str, Any]

LINE, PASSAGE, INTEGER, DECIMAL, ONE_OF, SWITCH, LINES, GROUP = (
    "line", "passage", "integer", "decimal", "one_of", "switch", "lines", "group",
)  # fmt: skip
"""Forms of fields: text on one line or several, numbers, one of some words, yes or no, a list of texts, a table."""

LONG: Final = 2000  # characters beyond which a text is a passage
OWN: Final = frozenset({"pldp", "levels", "questions", "kind"})
"""Keys that a form shows in a way of its own."""

SPELLED: Final = frozenset({"weights", "stages", "budgets", "sides", "mechanism", "languages", "stop"})
"""Keys that no field shows: spelled-out channels, and texts in other languages."""

WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "title": ("Title", "What people read first."),
    "collector": ("Who collects", "The people or the office behind the survey."),
    "total_epsilon": (
        "Total ε of a person",
        "The most that one person can spend on this survey, whatever they choose. Empty: no limit of its own.",
    ),
    "ask": (
        "Questions for each person",
        "The device picks so many at random. Fewer answers leave more ε for each. Empty: everybody may answer all.",
    ),
    "repeat": ("Asking again", "What happens when the same person is asked again. Empty: once."),
    "hide_level": (
        "Hide the chosen level",
        "By a lottery, or by a random label where 'open' must be hidden as well. Leave all empty to show it.",
    ),
    "lottery": (
        "ε of the lottery",
        "Devices may answer more strictly than was chosen, and show that. It does not add up over rounds.",
    ),
    "epsilon": ("ε of the label", "Instead of a lottery. It tells more with each round, up to a cap."),
    "leak_cap": ("Most that a report may tell about the level", "ε of label and answers together."),
    "answer_bytes": ("Bytes of an answer", "A limit for long lists of labels. Empty: 512."),
    "shuffle": ("A third party shuffles reports", "Who is trusted to shuffle reports before anyone else sees them."),
    "by": ("Who mixes", ""),
    "people": ("Reports mixed at least", ""),
    "name": ("Name", "Short, for files and results."),
    "text": ("Question", "What people read."),
    "values": ("Labels", "One on each line."),
    "unprotected": ("Labels without protection", "A report can prove these. One on each line."),
    "low": ("From", "The smallest number that can be answered."),
    "high": ("To", "The largest one."),
    "unit": ("Unit", ""),
    "buckets": ("Steps", "A number is rounded to one of so many. Empty: chosen for you."),
    "outside": ("Numbers outside", "Refuse them, or take the nearest bound (clip)."),
    "purpose": ("Wanted", "The whole distribution, or only the mean, which is then more accurate."),
    "budget": ("A level protects", "Each label by itself (item), or the whole set with one ε (set)."),
    "at_most": ("Labels that may be ticked", "Empty: any number."),
    "weight": ("Weight", "How much its errors count where questions share the total. Empty: 1."),
    "permanent": ("ε of an answer that never changes", "Where answers are tracked."),
    "texts": ("Texts for people", ""),
    "introduction": ("Introduction", "What the survey is for."),
    "thanks": ("Thanks", "Shown once a report is sent."),
    "contact": ("Contact", "Whom to ask."),
    "notice": ("Privacy notice", "The notice, or where to read it."),
    "closes": ("Closes on", "The last day on which reports are taken, such as 2026-12-31."),
    "logo": ("Logo", "The name of a picture in the folder of the survey file."),
}
"""Labels and help of fields. A key that is not here is shown by its name, with what its schema says."""

USUAL: Final[Mapping[str, str]] = {"lottery": "1"}
"""Keys that come first in their group and are offered with a value; no other key of the group goes with them."""

EXPLANATIONS: Final[Mapping[str, str]] = {
    "pldp": "A survey for pldp. The number is that of the format.",
    "total_epsilon": "The most that one person can spend on this survey, in ε.",
    "ask": "Each person is asked so many of the questions, picked at random by the device.",
    "repeat": "What happens when the same person is asked again.",
    "levels": "Protections that people can choose. A smaller ε protects more; the text is what people read.",
    "hide_level": "Reports carry a random label instead of the chosen level; by a lottery, one that may be stricter.",
    "questions": "The questions: name for files, text for people, values for the labels.",
    "budget": "What the ε of a level protects: each label by itself, or the whole set.",
    "purpose": "What the numbers are for: their distribution, or only their mean.",
}
"""Comments beside keys in files that are new."""


@dataclass(frozen=True)
class Field:
    """One key as a form shows it; `fields` are those of a group, `usual` the value that is offered in an empty one."""

    key: str
    form: str
    label: str
    help: str = ""
    options: tuple[str, ...] = ()
    required: bool = False
    fields: tuple["Field", ...] = ()
    usual: str = ""


_SCHEMA: Final = survey_schema()
KIND_WORDS: Final[Mapping[str, str]] = {
    "choice": "one label",
    "choices": "any number of labels",
    "number": "a number between two bounds",
}
"""What people answer, by kind; a kind that is not here is shown by its name."""


def survey_fields() -> tuple[Field, ...]:
    """Return the fields of a survey beside its levels and questions.

    >>> [field.key for field in survey_fields()][:4]
    ['title', 'collector', 'total_epsilon', 'ask']
    """
    return tuple(_fields(_SCHEMA["properties"], _SCHEMA["required"]))


def question_fields(kind: str) -> tuple[Field, ...]:
    """Return the fields of a question of a kind.

    >>> [field.key for field in question_fields("number")][:4]
    ['name', 'text', 'low', 'high']
    """
    asked = KINDS[kind]
    found = tuple(_fields(asked.keys, asked.required))
    first = [field for field in found if field.key in {"name", "text"} or field.required]
    return (*first, *(field for field in found if field not in first))


def kinds_mapping() -> list[dict[str, Any]]:
    """Return every kind with its fields, as plain data."""
    return [
        {"kind": kind, "words": KIND_WORDS.get(kind, kind), "fields": [asdict(each) for each in question_fields(kind)]}
        for kind in KINDS
    ]


def _fields(keys: Mapping[str, Schema], required: object) -> Iterator[Field]:
    wanted = tuple(required) if isinstance(required, tuple | list) else ()
    for key in sorted(keys, key=lambda key: key not in USUAL):
        if key in OWN or key in SPELLED:
            continue
        field = _field(key, keys[key])
        if field is not None:
            yield replace(field, required=key in wanted)


def _field(key: str, schema: Schema) -> Field | None:
    """Return the field of a key; `None` if no form shows it."""
    whole = _resolved(schema)
    label, words = WORDS.get(key, (key.replace("_", " ").capitalize(), ""))
    words = words or str(whole.get("description", ""))
    if "properties" in whole:
        inside = tuple(_fields(whole["properties"], whole.get("required", ())))
        return Field(key, GROUP, label, words, fields=inside) if inside else None
    options = tuple(map(str, whole.get("enum", ())))
    form = ONE_OF if options else _form(whole)
    return None if form is None else Field(key, form, label, words, options, usual=USUAL.get(key, ""))


def _resolved(schema: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    found = _SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    return {**_resolved(found), **{key: value for key, value in schema.items() if key != "$ref"}}


def _form(schema: Schema) -> str | None:
    ways = [_form(_resolved(each)) for each in schema.get("anyOf", ())]
    if ways:  # a number may be text as well; of one for all levels and one for each, a form shows the first
        return DECIMAL if DECIMAL in ways else ways[0]
    if schema.get("type") == "array":
        return LINES if _resolved(schema.get("items", {})).get("type") == "string" else None
    text = PASSAGE if schema.get("maxLength", 0) > LONG else LINE
    return {"integer": INTEGER, "boolean": SWITCH, "number": DECIMAL, "string": text}.get(str(schema.get("type")))


def kept_keys(document: Mapping[str, Any]) -> list[str]:
    """Return the keys of a survey that a form does not show; they stay as they are.

    >>> kept_keys({"title": "t", "questions": [{"name": "q", "values": ["a", "b"], "fractions": {"a": "1/2"}}]})
    ['questions.q.fractions']
    """
    found = list(_kept(document, survey_fields(), ""))
    questions = document.get("questions")
    for place, question in enumerate(questions if isinstance(questions, list) else ()):
        if isinstance(question, Mapping):
            kind = question.get("kind", next(iter(KINDS)))
            known = question_fields(kind) if kind in KINDS else ()
            found += _kept(question, known, f"questions.{question.get('name', place)}.")
    return found


def _kept(table: Mapping[str, Any], fields: tuple[Field, ...], before: str) -> Iterator[str]:
    known = {field.key: field for field in fields}
    for key, value in table.items():
        field = known.get(key)
        if key in OWN:
            continue
        if field is None or not _shows(field, value):
            yield before + key
        elif field.form == GROUP:
            yield from _kept(value, field.fields, f"{before}{key}.")


def _shows(field: Field, value: object) -> bool:
    if field.form == GROUP:
        return isinstance(value, Mapping)
    if field.form == LINES:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    return not isinstance(value, Mapping | list)
