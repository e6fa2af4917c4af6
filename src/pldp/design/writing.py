"""Write a survey as TOML: comments of the file stay, new keys are explained, and what is written reads back."""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

from pldp.design.comments import Comments, Path
from pldp.errors import SurveyError

LINE: Final = 110  # characters of a line up to which tables and lists are written on it
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_FIRST: Final = ("pldp", "name", "text", "kind", "title", "collector")  # keys that come first in their table
LOST: Final = "Comments of keys that are no longer here:"


def write_toml(document: Mapping[str, Any], comments: Comments, explanations: Mapping[Path, str]) -> str:
    """Return the text of a survey file.

    `comments` are those of the file before; `explanations` stand beside keys that have no comment.

    >>> print(write_toml({"pldp": 1, "levels": {"strict": Decimal("0.5")}}, {}, {("levels",): "ε of each"}), end="")
    pldp = 1
    <BLANKLINE>
    # ε of each
    [levels]
    strict = 0.5
    """
    left = {path: list(lines) for path, lines in comments.items()}
    lines = list(_table(document, (), (), _Notes(left, explanations)))
    lost = [line for path, lines in left.items() if path for line in lines]
    lines += [f"# {each}" if each else "#" for each in (*([LOST, *lost] if lost else []), *left.get((), ()))]
    text = "\n".join(lines).strip("\n") + "\n"
    if tomllib.loads(text, parse_float=Decimal) != document:
        raise SurveyError("this survey cannot be written as TOML without a change; save it as JSON")
    return text


class _Notes:
    """Comments that are still to be written."""

    def __init__(self, left: Comments, explanations: Mapping[Path, str]) -> None:
        self._left, self._explanations = left, explanations

    def before(self, path: Path, *, below: bool = False) -> list[str]:
        """Return the lines before a key, with those of what is written on its line."""
        paths = [each for each in self._left if each and (each[: len(path)] == path if below else each == path)]
        found = [line for each in paths for line in self._left.pop(each)]
        if not found and path in self._explanations:
            found = [self._explanations[path]]
        return [f"# {line}" if line else "#" for line in found]


def _table(table: Mapping[str, Any], keys: Path, path: Path, notes: _Notes) -> Iterator[str]:
    """Write the keys of a table, then the tables in it; `keys` name it in the file, `path` in comments."""
    order = sorted(table, key=lambda key: _FIRST.index(key) if key in _FIRST else len(_FIRST))
    later = []
    for key in order:
        value, below = table[key], (*path, key)
        line = "" if _is_tables(value) else f"{_key(key)} = {_value(value)}"
        own_table = isinstance(value, Mapping) and value and (not path or len(line) > LINE)
        if _is_tables(value) or own_table:
            later.append(key)
            continue
        yield from notes.before(below, below=True)
        yield line if len(line) <= LINE or not isinstance(value, list) else _long_list(key, value)
    for key in later:
        value, named = table[key], ".".join(map(_key, (*keys, key)))
        for place, each in enumerate(value if isinstance(value, list) else [value]):
            where = (*path, key, str(each.get("name", place))) if isinstance(value, list) else (*path, key)
            explained = notes.before((*path, key)) if isinstance(value, list) and place == 0 else []
            yield from ("", *explained, *notes.before(where))
            yield f"[[{named}]]" if isinstance(value, list) else f"[{named}]"
            yield from _table(each, (*keys, key), where, notes)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _long_list(key: str, value: list[Any]) -> str:
    return "\n".join([f"{_key(key)} = [", *(f"    {_value(each)}," for each in value), "]"])


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _decimal(number: Decimal) -> str:
    if not number.is_finite():
        return str(number).lower().replace("infinity", "inf")
    text = f"{number:f}"
    return text if "." in text else f"{text}.0"


_SIMPLE: Final[Mapping[type, Callable[[Any], str]]] = {
    bool: lambda value: "true" if value else "false",
    str: _text,
    int: str,
    Decimal: _decimal,
    date: date.isoformat,
    datetime: datetime.isoformat,
    time: time.isoformat,
}


def _value(value: object) -> str:
    if type(value) in _SIMPLE:
        return _SIMPLE[type(value)](value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    raise SurveyError(f"a survey file cannot hold a {type(value).__name__}")


def paths_of(document: Mapping[str, Any]) -> Collection[Path]:
    """Return the paths of all keys of a survey and of its questions."""
    own: set[Path] = {(key,) for key in document}
    for place, question in enumerate(document.get("questions") or ()):
        if isinstance(question, Mapping):
            own |= {("questions", str(question.get("name", place)), key) for key in question}
    return own
