"""Comments of a TOML file by the key that they stand beside, so that a file can be written anew without losing them."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

Path = tuple[str, ...]  #: Where a key stands, questions by their names: `("questions", "mode", "values")`.
Comments = dict[Path, list[str]]

_QUOTES: Final = ('"""', "'''", '"', "'")
_HEADER: Final = re.compile(r"^(\[\[?)\s*(.+?)\s*\]\]?$", re.DOTALL)


class _Statement(NamedTuple):
    text: str
    comments: list[str]


def read_comments(text: str) -> Comments:
    r"""Return the comments of a TOML text that can be read; those behind the last key are under `()`.

    >>> read_comments('a = 1  # one\n# two\n[levels]\nstrict = "#"\n# end')
    {('a',): ['one'], ('levels',): ['two'], (): ['end']}
    """
    document = tomllib.loads(text)
    found: Comments = {}
    table: Path = ()
    places: dict[str, int] = {}
    for statement in _statements(text):
        header = _HEADER.match(statement.text) if statement.text.startswith("[") else None
        if header is not None:
            keys = _keys(header[2])
            if header[1] == "[[":
                places[keys[0]] = places.get(keys[0], -1) + 1
            table = path = _named(document, keys, places)
        else:
            path = (*table, *_keys(statement.text.partition("=")[0])) if statement.text else ()
        if statement.comments:
            found.setdefault(path, []).extend(statement.comments)
    return found


def _keys(text: str) -> Path:
    """Read a dotted key."""
    table: Any = tomllib.loads(f"{text.strip()} = 1")
    keys = []
    while isinstance(table, dict):
        ((key, table),) = table.items()
        keys.append(key)
    return tuple(keys)


def _named(document: Mapping[str, Any], keys: Path, places: Mapping[str, int]) -> Path:
    """Return the path of a table; one of several by its name, or by its number where it has none."""
    tables = document.get(keys[0])
    if keys[0] not in places or not isinstance(tables, list):
        return keys
    place = places[keys[0]]
    return (keys[0], str(tables[place].get("name", place)), *keys[1:])


def _statements(text: str) -> Iterator[_Statement]:
    """Yield headers and keys with their values, each with the comments before it and in it; rests at the end."""
    words, comments, depth, at = "", [], 0, 0
    while at < len(text):
        quote = next((each for each in _QUOTES if text.startswith(each, at)), "")
        if quote:
            end = _end_of_string(text, at, quote)
            words, at = words + text[at:end], end
            continue
        sign = text[at]
        if sign == "#":
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            comments.append(text[at + 1 : end].strip())
            at = end
            continue
        depth += (sign in "[{") - (sign in "]}")
        if sign == "\n" and depth <= 0 and words.strip():
            yield _Statement(words.strip(), comments)
            words, comments = "", []
        else:
            words += sign
        at += 1
    if words.strip() or comments:
        yield _Statement(words.strip(), comments)


def _end_of_string(text: str, start: int, quote: str) -> int:
    at = start + len(quote)
    while not text.startswith(quote, at):
        at += 2 if text[at] == "\\" and quote[0] == '"' else 1
    end = at + len(quote)
    if len(quote) == 3:  # up to two more quotes belong to the string
        while end < len(text) and text[end] == quote[0] and end - at < 5:
            end += 1
    return end
