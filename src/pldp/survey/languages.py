"""The texts of a survey in other languages, for people: files and reports keep names, labels and levels as given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pldp.survey.question import Schema, ref, table_of
from pldp.survey.reading import LONGEST_NAME, LONGEST_TEXT, check_distinct, fail, read_table, read_text
from pldp.survey.texts import KEYS as TEXT_KEYS
from pldp.survey.texts import LONGEST_PASSAGE
from pldp.words import listed

if TYPE_CHECKING:
    from pldp.survey.model import Survey

ENGLISH: Final = "en"
MOST_LANGUAGES: Final = 50
LANGUAGE: Final = r"[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}"
_NAMED: Final = 8  # missing texts that a warning names

Path = tuple[str, ...]
"""Where a text stands in a survey, such as ("questions", "mode", "values", "car")."""

LANGUAGE_SCHEMA: Final[Schema] = {"type": "string", "pattern": f"^{LANGUAGE}$"}

_LEVEL: Final = {
    "anyOf": [
        ref("name"),
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {"name": ref("name"), "text": ref("text")},
        },
    ]
}
_QUESTION: Final = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"text": ref("text"), "unit": ref("name"), "values": table_of("text", "labels as people read them")},
}
KEYS: Final[Mapping[str, Schema]] = {
    "title": ref("text"),
    "collector": ref("text"),
    "texts": {"type": "object", "additionalProperties": False, "properties": dict(TEXT_KEYS)},
    "levels": {"type": "object", "additionalProperties": _LEVEL},
    "questions": {"type": "object", "additionalProperties": _QUESTION},
}
"""Keys of a language with their JSON Schema."""

SCHEMA: Final[Schema] = {
    "type": "object",
    "description": "texts in other languages, by language; what is missing is shown as in the survey itself",
    "propertyNames": LANGUAGE_SCHEMA,
    "additionalProperties": {"type": "object", "additionalProperties": False, "properties": dict(KEYS)},
}


class Translation(NamedTuple):
    """Texts of a survey in one language, each with its place."""

    language: str
    entries: tuple[tuple[Path, str], ...]

    def document(self, known: Mapping[Path, str]) -> dict[str, Any]:
        """Return the table of this language, with the texts that a survey knows."""
        table: dict[str, Any] = {}
        for path, text in self.entries:
            if path in known:
                holder = table
                for name in path[:-1]:
                    holder = holder.setdefault(name, {})
                holder[path[-1]] = text
        return table


class Shown:
    """A survey's texts in one language; what has no translation is as in the survey itself."""

    def __init__(self, survey: Survey, language: str) -> None:
        self._original = survey_texts(survey)
        self._entries = {each.language: dict(each.entries) for each in survey.languages}.get(language, {})

    def __call__(self, *path: str) -> str:
        """Return the text at a place, such as `shown("questions", "mode", "values", "car")`."""
        return self._entries.get(path, self._original[path])

    @cached_property
    def missing(self) -> list[Path]:
        """Where there is no translation."""
        return [path for path in self._original if path not in self._entries]


def survey_texts(survey: Survey) -> dict[Path, str]:
    """Return every text of a survey that people read, by its place."""
    texts: dict[Path, str] = {("title",): survey.title}
    if survey.collector:
        texts["collector",] = survey.collector
    texts |= {("texts", name): text for name, text in survey.texts.document().items()}
    for level in survey.levels:
        texts["levels", level.name, "name"] = level.name
        if level.text:
            texts["levels", level.name, "text"] = level.text
    for question in survey.questions:
        texts |= {("questions", question.name, *path): text for path, text in question.shown_texts()}
    return texts


def with_languages(survey: Survey, entry: object) -> tuple[Translation, ...]:
    """Read the table `languages` for a survey that is read otherwise."""
    if entry is None:
        return ()
    if not isinstance(entry, dict) or not 0 < len(entry) <= MOST_LANGUAGES:
        fail("languages", f"must be a table with 1 to {MOST_LANGUAGES} languages, such as [languages.de]", entry)
    original = survey_texts(survey)
    tree = _tree(original)
    found = []
    for language in sorted(entry):
        key = f"languages.{language}"
        read_language(language, key)
        if language == survey.language:
            fail(key, "must be another language than that of the survey itself", language)
        table = _with_level_names(read_table(entry[language], key, KEYS), key)
        entries = tuple(sorted(_flatten(table, key, (), tree)))
        _check_choices(survey, key, original | dict(entries))
        found.append(Translation(language, entries))
    return tuple(found)


def read_language(entry: object, key: str) -> str:
    """Read the short name of a language, such as de or pt-BR."""
    if not isinstance(entry, str) or not re.fullmatch(LANGUAGE, entry):
        fail(key, "must be a language such as de, fr or pt-BR", entry)
    return entry


def language_warnings(survey: Survey) -> list[str]:
    """Return one line for each language in which texts are missing.

    >>> from pldp.survey import Survey
    >>> german = {"title": "Arbeit", "questions": {"late": {"text": "Zu spät?", "values": {"yes": "ja"}}}}
    >>> survey = Survey.read({"pldp": 1, "title": "Work", "levels": {"strict": 1}, "languages": {"de": german},
    ...                       "questions": [{"name": "late", "values": ["yes", "no"]}]})
    >>> language_warnings(survey)
    ['language de: 2 of 5 texts have no translation and are shown in en: levels.strict.name, questions.late.values.no']
    """
    lines = []
    for each in survey.languages:
        shown = Shown(survey, each.language)
        if shown.missing:
            count = f"{len(shown.missing)} of {len(survey_texts(survey))} texts"
            have = "has" if len(shown.missing) == 1 else "have"
            are = "is" if len(shown.missing) == 1 else "are"
            named = listed([".".join(path) for path in shown.missing[:_NAMED]])
            more = len(shown.missing) - _NAMED
            rest = f" and {more} more" if more > 0 else ""
            lines.append(
                f"language {each.language}: {count} {have} no translation and {are} shown in {survey.language}: "
                f"{named}{rest}"
            )
    return lines


def _tree(texts: Mapping[Path, str]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path in texts:
        holder = tree
        for name in path:
            holder = holder.setdefault(name, {})
    return tree


def _with_level_names(table: dict[str, Any], key: str) -> dict[str, Any]:
    """Spell out levels that are given by their name alone."""
    levels = table.get("levels")
    if levels is None:
        return table
    if not isinstance(levels, dict):
        fail(f"{key}.levels", "must be a table", levels)
    return {**table, "levels": {name: {"name": own} if isinstance(own, str) else own for name, own in levels.items()}}


def _flatten(table: object, key: str, path: Path, tree: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the texts of a table, each with its place; places that the survey does not have are refused."""
    known = read_table(table, key, tree)
    if not known:
        fail(key, "must not be empty", known)
    for name, content in known.items():
        where, here = f"{key}.{name}", (*path, name)
        if tree[name]:
            yield from _flatten(content, where, here, tree[name])
        else:
            yield here, read_text(content, where, _longest(here))


def _longest(path: Path) -> int:
    if path[0] == "texts":
        return LONGEST_PASSAGE
    return LONGEST_NAME if len(path) == 3 and path[-1] in {"name", "unit"} else LONGEST_TEXT


def _check_choices(survey: Survey, key: str, texts: Mapping[Path, str]) -> None:
    """Refuse two levels or two labels that look the same in this language."""
    names = [texts["levels", level.name, "name"] for level in survey.levels]
    check_distinct(names, f"{key}.levels", "names of levels")
    for question in survey.questions:
        labels: Sequence[str] = [
            texts["questions", question.name, *path] for path, _ in question.shown_texts() if path[0] == "values"
        ]
        check_distinct(list(labels), f"{key}.questions.{question.name}.values", "labels")
