"""Names and labels that people cannot tell apart, and names that are more than one line.

New surveys with such texts are refused. Those that were compiled before this rule, and are being answered, are not:
their owner is warned.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from pldp.errors import SurveyError
from pldp.survey.languages import Path, survey_texts
from pldp.survey.reading import JOINERS

if TYPE_CHECKING:
    from pldp.survey.model import Survey

_BREAK: Final = re.compile("[\n\u2028\u2029]")
_LETTERS: Final = str.maketrans(
    # Cyrillic and Greek letters, a few Latin ones, dashes and apostrophes, and what they look like.
    "аеорсухіјѕԁһԛԝёїӏАВЕЅІЈКМНОРСТУХԚԜЁЇӀαινορυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɑɡ‐‒–—−‘’ʼ′",
    "aeopcyxijsdhqwëïlABESIJKMHOPCTYXQWËÏIaivopuxABEZHIKMNOPTYXiag-----''''",
)
_SHAPES: Final = _LETTERS | str.maketrans("OIl|ОІΟΙӀӏ", "0111010111")


def unclear_texts(survey: Survey) -> list[str]:
    """Return one line for each name on several lines, and for each pair of names that look alike.

    >>> from pldp.survey import survey_from_mapping
    >>> question = {"name": "q", "values": ["yes", "no", "Yes"]}
    >>> survey = survey_from_mapping({"pldp": 1, "title": "t", "levels": {"a": 1}, "questions": [question]})
    >>> [line.partition(";")[0] for line in unclear_texts(survey)]
    ["questions[0] (q).values: 'yes' and 'Yes' look alike (LATIN SMALL LETTER Y, LATIN CAPITAL LETTER Y)"]
    """
    return list(_unclear(survey))


def refuse_unclear(survey: Survey) -> None:
    """Refuse a new survey that has such texts."""
    for line in _unclear(survey):
        raise SurveyError(line)


def _unclear(survey: Survey) -> Iterator[str]:
    yield from _alike("questions", (question.name for question in survey.questions))
    original = survey_texts(survey)
    by = {} if survey.shuffle is None else {("shuffle", "by"): survey.shuffle.by}
    names = {("questions", question.name): question.name for question in survey.questions}
    yield from _of_language(survey, "", original | by | names)
    for each in survey.languages:
        yield from _of_language(survey, f"languages.{each.language}.", original | dict(each.entries))


def _of_language(survey: Survey, prefix: str, texts: Mapping[Path, str]) -> Iterator[str]:
    """Check the texts that people read in one language."""
    groups: dict[str, list[str]] = {}
    places = {question.name: f"questions[{place}] ({question.name})" for place, question in enumerate(survey.questions)}
    for path, text in texts.items():
        part = path[2] if len(path) > 2 else ""
        if path[0] == "texts" or part == "text":
            continue
        where = places[path[1]] if path[0] == "questions" and not prefix else prefix + ".".join(path[:2])
        key = f"{prefix}levels" if part == "name" else f"{where}.{part}" if part else where
        groups.setdefault(key, []).append(text)
    for key, shown in groups.items():
        for text in filter(_BREAK.search, shown):
            yield f"{key}: must be one line, not {text[:80]!r}; only texts can have line breaks"
        yield from _alike(key, shown)


def _alike(key: str, texts: Iterable[str]) -> Iterator[str]:
    """Compare texts in two ways: whatever their case, and as shapes, in which 0 and O, and 1, l and I are the same."""
    folded: dict[str, str] = {}
    shapes: dict[str, str] = {}
    for text in texts:
        shown = " ".join(text.translate(JOINERS).split())
        if not shown.isascii():
            shown = unicodedata.normalize("NFKC", shown)
        # Lower case, not case folding: Maße and Masse are two words.
        other = folded.setdefault(shown.lower().translate(_LETTERS), text)
        if other is text:
            other = shapes.setdefault(shown.translate(_SHAPES), text)
        if other is not text:
            yield f"{key}: {other[:80]!r} and {text[:80]!r} look alike{_difference(other, text)}; change one of them"


def _difference(left: str, right: str) -> str:
    """Name the first characters that differ."""
    pair = next((pair for pair in zip(left, right, strict=False) if pair[0] != pair[1]), ())
    return f" ({', '.join(unicodedata.name(each, f'U+{ord(each):04X}') for each in pair)})" if pair else ""
