"""Check one entry of a survey file; what breaks a rule is named by its key."""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NoReturn

from pldp.budgets import micro_epsilon
from pldp.errors import EpsilonError, SurveyError

LONGEST_NAME: Final = 64
LONGEST_TEXT: Final = 2000


def read_table(entry: object, key: str, known: set[str], *, required: tuple[str, ...]) -> dict[str, Any]:
    """Return a table that has only known keys and all required ones."""
    if not isinstance(entry, dict):
        fail(key, "must be a table", entry)
    for name in entry:
        if name not in known:
            raise SurveyError(f"{key}.{str(name)[:40]}: is not a known key; known are {', '.join(sorted(known))}")
    for name in required:
        if name not in entry:
            raise SurveyError(f"{key}: {name} is missing")
    return entry


def read_text(entry: object, key: str, longest: int, *, empty: bool = False) -> str:
    """Return a text in NFC without control characters."""
    if not isinstance(entry, str) or len(entry) > longest or (not entry.strip() and not empty):
        fail(key, f"must be text of at most {longest} characters" + ("" if empty else ", not empty"), entry)
    if entry != unicodedata.normalize("NFC", entry) or any(
        unicodedata.category(c) in {"Cc", "Cs"} and c != "\n" for c in entry
    ):
        fail(key, "must be text in Unicode form NFC without control characters", entry)
    return entry


def read_epsilon(entry: object, key: str) -> int:
    """Return an ε in micro-ε."""
    if not isinstance(entry, int | str | Decimal):
        fail(key, "must be a number", entry)
    try:
        return micro_epsilon(entry)
    except EpsilonError as error:
        raise SurveyError(f"{key}: {error}") from None


def read_fraction(entry: object, key: str) -> Fraction:
    """Return a fraction above 0 and at most 1, exactly."""
    try:
        fraction = Fraction(entry) if isinstance(entry, int | str | Decimal) else Fraction(0)
    except (ValueError, ZeroDivisionError, OverflowError):
        fraction = Fraction(0)
    if isinstance(entry, bool) or not 0 < fraction <= 1:
        fail(key, 'must be above 0 and at most 1, such as "1/3"', entry)
    return fraction


def check_distinct(names: list[str], key: str, what: str) -> None:
    """Refuse names that come twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SurveyError(f"{key}: must have distinct {what}; {name[:80]!r} comes twice")
        seen.add(name)


def fail(key: str, rule: str, came: object) -> NoReturn:
    """Say which entry breaks which rule, and what came."""
    shown = came if isinstance(came, int | Decimal) else repr(came)
    shown = str(shown)
    raise SurveyError(f"{key}: {rule}, not {shown[:80]}{'…' if len(shown) > 80 else ''}")
