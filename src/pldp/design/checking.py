"""What is wrong with a survey that is being written: one line for each field, all of them at once."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from pldp.errors import PldpError
from pldp.survey import Survey, survey_from_document

Where = tuple[str | int, ...]
"""A field of the form: `("questions", 0, "values")`, levels and questions by their places."""

_QUESTION: Final = re.compile(r"questions\[(\d+)\](?: \((?P<name>.*?)\)(?=[.,:]))?")
_NAMED: Final = re.compile(r"question (?P<name>.+?)(?=, level |: |$)")
_MISSING: Final = re.compile(r"(\w+) is missing$")
_TWICE: Final = re.compile(r"must have distinct names; (?P<name>.+) comes twice$")
_STAND_IN: Final[Mapping[str, Any]] = {"name": "question", "values": ["yes", "no"]}


FILL_IN: Final = "fill this in"
_EMPTY: Final = ", not ''"  # the end of an error about a text that is empty


class Trouble(NamedTuple):
    """One line about one field; `where` is empty if it is about the whole survey."""

    where: Where
    text: str

    def to_mapping(self) -> dict[str, Any]:
        """Return plain data."""
        return {"where": list(self.where), "text": self.text}

    def line(self, document: Mapping[str, Any]) -> str:
        """Return one line that calls a question or a level by its name instead of its place.

        >>> Trouble(("questions", 0, "values"), "fill this in").line({"questions": [{"name": "mode"}]})
        'question mode.values: fill this in'
        """
        match self.where:
            case ("questions", int(place), *rest):
                question = document["questions"][place]
                name = question.get("name") if isinstance(question, Mapping) else ""
                keys = (f"question {name or place + 1}", *rest)
            case ("levels", int(place), *rest):
                keys = (f"level {list(document['levels'])[place] or place + 1}", *rest)
            case _:
                keys = self.where
        return f"{'.'.join(map(str, keys))}: {self.text}" if keys else self.text


def document_of(form: Mapping[str, Any]) -> tuple[dict[str, Any], list[Trouble]]:
    """Return the survey of a form, whose levels are a list of pairs, and what a table cannot hold.

    >>> document_of({"levels": [["strict", 1], ["strict", 2]]})[1]
    [Trouble(where=('levels', 1, 'name'), text="two levels are called 'strict'; give one of them another name")]
    """
    levels: dict[str, Any] = {}
    troubles = []
    for place, (name, entry) in enumerate(form.get("levels") or ()):
        if name in levels:
            words = f"two levels are called {name!r}; give one of them another name"
            troubles.append(Trouble(("levels", place, "name"), words))
        levels[name] = entry
    return {**form, "levels": levels}, troubles


def form_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a survey as a form has it: levels as a list of pairs, in their order."""
    levels = document.get("levels")
    pairs = [[name, entry] for name, entry in levels.items()] if isinstance(levels, Mapping) else []
    questions = document.get("questions")
    return {**document, "levels": pairs, "questions": questions if isinstance(questions, list) else []}


def check_document(document: Mapping[str, Any]) -> tuple[Survey | None, list[Trouble]]:
    """Return the survey, or what is wrong with it.

    Every question is read by itself, too, so that none hides what is wrong with another.

    >>> survey, troubles = check_document({"pldp": 1, "title": "t", "levels": {"a": 1}, "questions": [{"name": "q"}]})
    >>> troubles
    [Trouble(where=('questions', 0, 'values'), text='fill this in')]
    """
    if not document.get("questions"):
        found = [*_alone(document, _STAND_IN, None), *_of_levels(document), Trouble(("questions",), "add a question")]
        return None, _first_of_each(found)
    try:
        return survey_from_document(dict(document)), []
    except PldpError as error:
        found = [locate(str(error), document)]
    questions = document["questions"]
    found += _alone(document, _STAND_IN, None)
    found += _of_levels(document)
    if isinstance(questions, list):
        for place, question in enumerate(questions):
            found += _alone(document, question, place)
    return None, _first_of_each(found)


def _alone(document: Mapping[str, Any], question: Any, place: int | None) -> Iterator[Trouble]:
    """Read a survey with one question; what is wrong with all of them together is left to the whole."""
    single = {key: entry for key, entry in document.items() if key not in {"ask", "hide_level"} or place is None}
    single.pop("ask", None)
    try:
        survey_from_document({**single, "questions": [question]})
    except PldpError as error:
        trouble = locate(str(error), {**document, "questions": [question]})
        of_question = trouble.where[:1] == ("questions",)
        if place is None and not of_question:
            yield trouble
        elif place is not None and of_question:
            yield trouble._replace(where=("questions", place, *trouble.where[2:]))


def _of_levels(document: Mapping[str, Any]) -> Iterator[Trouble]:
    """Read each level by itself, and the survey with none of them."""
    levels = document.get("levels")
    levels = levels if isinstance(levels, Mapping) else {}
    for name, entry in [*levels.items(), ("level", 1)]:
        single = {key: each for key, each in document.items() if key not in {"ask", "hide_level"}}
        for trouble in _alone({**single, "levels": {name: entry}}, _STAND_IN, None):
            if trouble.where[:1] == ("levels",) and name in levels:
                yield trouble._replace(where=("levels", list(levels).index(name), *trouble.where[2:]))
            elif trouble.where[:1] != ("levels",) and name not in levels:
                yield trouble


def _first_of_each(troubles: list[Trouble]) -> list[Trouble]:
    """Keep one line for each field."""
    return list({trouble.where: trouble for trouble in reversed(troubles)}.values())[::-1]


def locate(error: str, document: Mapping[str, Any]) -> Trouble:
    """Find the field that the message of an error names at its beginning.

    >>> locate("questions[0] (mode).values: must be a list", {})
    Trouble(where=('questions', 0, 'values'), text='must be a list')
    >>> locate("survey.title: must be text of at most 2000 characters, not empty, not ''", {})
    Trouble(where=('title',), text='fill this in')
    """
    start, _, words = error.partition(": ")
    words = FILL_IN if words.endswith(_EMPTY) else words
    twice = _TWICE.search(words) if start == "questions" else None
    if twice is not None:
        return Trouble(("questions", _last_named(document, twice["name"]), "name"), "another question has this name")
    found = _QUESTION.match(error) or _NAMED.match(error)
    if found is not None:
        place = int(found[1]) if "[" in found[0] else _place_of(document, found["name"])
        return _in_question(place, error[found.end() :])
    keys = re.findall(r"[^.]+", start)
    if keys[:1] == ["survey"]:
        missing = _MISSING.match(words)
        return Trouble((missing[1],), FILL_IN) if missing else Trouble(tuple(keys[1:]), words or error)
    if keys[:1] == ["levels"] and len(keys) > 1:
        levels = list(document.get("levels") or ())
        below = tuple(keys[2:]) or ("epsilon",)
        return Trouble(("levels", levels.index(keys[1]), *below) if keys[1] in levels else ("levels",), words)
    known = bool(keys) and keys[0] in {*document, "total_epsilon", "ask", "levels", "questions", "title"}
    return Trouble(tuple(keys), words) if known else Trouble((), error)


def _in_question(place: int, rest: str) -> Trouble:
    where, _, words = rest.partition(": ")
    words = FILL_IN if words.endswith(_EMPTY) else words
    missing = _MISSING.match(words)
    if missing is not None:
        return Trouble(("questions", place, missing[1]), FILL_IN)
    keys = tuple(re.findall(r"[^.]+", where)) if where.startswith(".") else ()
    return Trouble(("questions", place, *(keys or ("levels",) * where.startswith(", level"))), words)


def _place_of(document: Mapping[str, Any], name: str) -> int:
    names = [str(question.get("name")) for question in document.get("questions") or () if isinstance(question, dict)]
    return names.index(name) if name in names else 0


def _last_named(document: Mapping[str, Any], shown: str) -> int:
    names = [repr(question.get("name")) for question in document.get("questions") or () if isinstance(question, dict)]
    return max((place for place, name in enumerate(names) if name == shown), default=0)
