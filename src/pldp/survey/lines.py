"""Where a key stands in a TOML survey file, so that an error can name the line."""

import re
from collections.abc import Sequence
from typing import Final

_HEADER: Final = re.compile(r"^\s*+(\[\[?+)\s*+([\w.\"' -]*[\w.\"'-])\s*+\]\]?+\s*+(?:#.*)?$")
_KEY: Final = re.compile(r"^\s*[\"']?([\w-]+)[\"']?\s*(?:\.[^=]*)?=\s*(.*)$")
_NAMED: Final = re.compile(r"^question (.+?)(?:[.,:]|$)")
_NUMBERED: Final = re.compile(r"^questions\[(\d+)\]")


def line_of(text: str, error: str) -> int | None:
    r"""Return the line of the key that an error names at its beginning; the line of its table if it has none.

    >>> text = 'title = "t"\n[[questions]]\nname = "mode"\nvalue = []\n'
    >>> line_of(text, "questions[0].value: is not a known key"), line_of(text, "question mode.values: is missing")
    (4, 2)
    """
    place, keys = _where(error)
    header, question, named = "", -1, None
    nearest = None
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        found = _HEADER.match(line)
        if found:
            header = found[2]
            if found[1] == "[[" and header == "questions":
                question, named = question + 1, _name_after(lines, number)
            elif header.split(".")[0] == "questions":
                header = header.removeprefix("questions.")
            else:
                question, named = -1, None
        here = place in {question, named} if place is not None else question < 0
        if not here:
            continue
        if found and place is not None and nearest is None:
            nearest = number
        entry = _KEY.match(line)
        if found and keys and header == keys[0]:
            nearest, keys = number, keys[1:]
        elif entry and keys and entry[1] == keys[0]:
            return number
    return nearest


def _where(error: str) -> tuple[int | str | None, list[str]]:
    """Return which question an error is about, by its place or name, and the keys below it."""
    start = error.partition(": ")[0]
    numbered, named = _NUMBERED.match(start), _NAMED.match(start)
    found = numbered or named
    below = start if found is None else start[found.end() :]
    place: int | str | None = int(numbered[1]) if numbered else named[1] if named else None
    return place, re.findall(r"[\w-]+", below)


def _name_after(lines: Sequence[str], line: int) -> str | None:
    """Return the name of the question whose table begins on this line."""
    for following in map(lines.__getitem__, range(line, len(lines))):
        if _HEADER.match(following):
            return None
        entry = _KEY.match(following)
        if entry and entry[1] == "name":
            return entry[2].split("#")[0].strip().strip("\"'")
    return None
