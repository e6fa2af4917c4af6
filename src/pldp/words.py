"""Words that many parts say: names that nobody knows, and chances as people of 100."""

from collections.abc import Iterable
from fractions import Fraction

_LISTED = 20  #: Names listed before the rest is counted.

_COMPARED = 1000  #: Among more names than these none is suggested: comparing takes time.


def nearest(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that this one is probably a misspelling of, if there is one."""
    names = list(known)
    if not isinstance(name, str) or len(names) > _COMPARED:
        return None
    from difflib import get_close_matches  # noqa: PLC0415 - only errors need it

    return next(iter(get_close_matches(name, names, 1)), None)


def suggest(name: object, known: Iterable[str]) -> str:
    """Return `; did you mean 'mode'?`, or nothing where no known name is near.

    >>> suggest("mod", ["mode", "late"]), suggest("age", ["mode", "late"])
    ("; did you mean 'mode'?", '')
    """
    near = nearest(name, known)
    return "" if near is None else f"; did you mean {near!r}?"


def unknown(what: str, name: object, known: Iterable[str], owner: str) -> str:
    """Say that there is no such name, which is nearest, and which there are.

    A name is repeated only where it is near a known one: with swapped arguments it could be a person's answer.

    >>> unknown("question", "mod", ["mode", "late"], "this survey")
    "unknown question 'mod'; did you mean 'mode'? This survey has: mode, late"
    >>> unknown("question", "bike", ["mode", "late"], "this survey")
    'unknown question; this survey has: mode, late'
    """
    names = list(known)
    hint = suggest(name, names)
    has = f"{owner} has: {listed(names)}"
    return f"unknown {what} {name!r}{hint} {has[0].upper()}{has[1:]}" if hint else f"unknown {what}; {has}"


def listed(names: Iterable[str]) -> str:
    """Return names separated by commas; a long list ends with how many more there are."""
    every = list(names)
    rest = len(every) - _LISTED
    return ", ".join([*every[:_LISTED], *([f"and {rest} more"] if rest > 0 else [])])


def of_hundred(probability: Fraction) -> str:
    """Write a probability as people of 100, with decimals only where a whole number would say none or all.

    >>> from fractions import Fraction
    >>> of_hundred(Fraction(3, 4)), of_hundred(Fraction(1, 1000))
    ('75', '0.1')
    """
    people = 100 * float(probability)
    return f"{people:.0f}" if 1 <= people <= 99 else f"{people:.2g}" if people < 1 else f"{people:.4g}"
