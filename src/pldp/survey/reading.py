"""Check one entry of a survey file; what breaks a rule is named by its key."""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NoReturn

from pldp.budgets import Level, micro_epsilon
from pldp.errors import EpsilonError, SurveyError
from pldp.mechanisms import LARGEST_EPSILON
from pldp.words import listed, suggest

LONGEST_NAME: Final = 64
LONGEST_TEXT: Final = 2000
LONGEST_NUMBER: Final = 100
_SHOWN: Final = 80  # characters of an entry in an error
_SHORT_NUMBER: Final = re.compile(rf"(?![^eE]*[eE][+-]?[0-9_]{{4}}).{{0,{LONGEST_NUMBER}}}", re.DOTALL)
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
JOINERS: Final = {0x200C: None, 0x200D: None, 0xFE0F: None}  # some scripts and pictures need them


def read_table(entry: object, key: str, known: Collection[str], *, required: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a table that has only known keys and all required ones."""
    if not isinstance(entry, dict):
        fail(key, "must be a table", entry)
    for name in entry:
        if name not in known:
            hint = suggest(name, known)
            raise SurveyError(f"{key}.{str(name)[:40]}: is not a known key; known are {listed(sorted(known))}{hint}")
    for name in required:
        if name not in entry:
            raise SurveyError(f"{key}: {name} is missing")
    return entry


def read_text(entry: object, key: str, longest: int, *, empty: bool = False) -> str:
    """Return a text in NFC without control characters, direction marks and characters that nobody sees."""
    if not isinstance(entry, str) or len(entry) > longest or (not entry.strip() and not empty):
        fail(key, f"must be text of at most {longest} characters" + ("" if empty else ", not empty"), entry)
    if entry != unicodedata.normalize("NFC", entry) or any(
        unicodedata.category(c) in {"Cc", "Cs"} and c != "\n" for c in entry
    ):
        fail(key, "must be text in Unicode form NFC without control characters", entry)
    if found := _UNSEEN.search(entry):
        fail(key, "must be text without direction marks and invisible characters", f"U+{ord(found[0]):04X}")
    return entry


def read_number(entry: object, key: str) -> int | str | Decimal:
    """Return a number as it was written; a float of Python stands for its shortest decimal text."""
    if isinstance(entry, bool) or not isinstance(entry, int | float | str | Decimal):
        fail(key, "must be a number", entry)
    # Exact arithmetic with longer ones takes hours: 1e-999999999 has a denominator of a billion digits.
    if abs(entry) > 10**LONGEST_NUMBER if isinstance(entry, int) else not _SHORT_NUMBER.fullmatch(str(entry)):
        fail(key, f"must be a number of at most {LONGEST_NUMBER} characters, its exponent of at most 3 digits", entry)
    return repr(entry) if isinstance(entry, float) else entry


def read_epsilon(entry: object, key: str, *, largest: int = LARGEST_EPSILON) -> int:
    """Return an ε in micro-ε."""
    with naming(key):
        return micro_epsilon(read_number(entry, key), largest=largest)


def read_fraction(entry: object, key: str) -> Fraction:
    """Return a fraction above 0 and at most 1, exactly."""
    try:
        fraction = Fraction(read_number(entry, key))
    except (SurveyError, ValueError, ZeroDivisionError, OverflowError):
        fraction = Fraction(0)
    if not 0 < fraction <= 1:
        fail(key, 'must be above 0 and at most 1, such as "1/3"', entry)
    return fraction


def read_levels(entry: object, key: str, survey_levels: tuple[Level, ...]) -> tuple[Level, ...]:
    """Return the levels of a question: those of the survey, or some of them with another ε; others are not on offer."""
    if entry is None:
        return survey_levels
    known = {level.name: level for level in survey_levels}
    if not isinstance(entry, dict) or not entry:
        fail(key, "must be a table such as strict = 0.5", entry)
    levels = []
    for name, epsilon in entry.items():
        check_known(name, f"{key}.{name}", known, "the survey's levels: ")
        levels.append(Level(name, read_epsilon(epsilon, f"{key}.{name}"), known[name].text))
    order = list(known)
    return tuple(sorted(levels, key=lambda level: (level.micro_epsilon, order.index(level.name))))


def strictest_first(levels: Collection[Level]) -> tuple[Level, ...]:
    """Return levels in the order that everybody uses."""
    return tuple(sorted(levels, key=lambda level: (level.micro_epsilon, level.name)))


def read_per_level(entry: object, key: str, levels: tuple[Level, ...], *, default: object) -> Mapping[str, Any]:
    """Return an entry for each level, from one name for all of them or from a table that may leave some out."""
    known = [level.name for level in levels]
    if isinstance(entry, str):
        return dict.fromkeys(known, entry)
    if not isinstance(entry, dict):
        fail(key, "must be one name, or a table with one per level", entry)
    for name in entry:
        check_known(name, f"{key}.{name}", known, "the question's levels: ")
    return {name: entry.get(name, default) for name in known}


def check_known(name: object, key: str, known: Collection[str], what: str = "") -> None:
    """Refuse a name that is none of the known ones."""
    if not isinstance(name, str) or name not in known:
        fail(key, f"must be one of {what}{listed(known)}", name, suggest(name, known))


def check_distinct(names: list[str], key: str, what: str) -> None:
    """Refuse names that come twice, also if only joiners tell them apart."""
    seen: set[str] = set()
    for name in names:
        if (shown := name.translate(JOINERS)) in seen:
            raise SurveyError(f"{key}: must have distinct {what}; {name[:80]!r} comes twice")
        seen.add(shown)


@contextmanager
def naming(key: str) -> Iterator[None]:
    """Put the key before what is wrong with an ε."""
    try:
        yield
    except EpsilonError as error:
        raise SurveyError(f"{key}: {error}") from None


def fail(key: str, rule: str, came: object, hint: str = "") -> NoReturn:
    """Say which entry breaks which rule, and what it is instead."""
    came = came[:_SHOWN] if isinstance(came, str | list) else came
    try:
        shown = str(came) if isinstance(came, int | Decimal) else repr(came)
    except ValueError:  # Python writes no integers of more than 4,300 digits; TOML in hexadecimal has them
        shown = "a longer number"
    raise SurveyError(f"{key}: {rule}, not {shown[:_SHOWN]}{'…' if len(shown) > _SHOWN else ''}{hint}")
