"""Parse the text of a survey file; one that would take long is refused by what can be counted before.

Python's parser of TOML takes time that grows with the square of a key's parts, and every table costs time and memory
in both formats. Surveys have few tables and short keys: their length comes from labels.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from pldp.errors import SurveyError

if TYPE_CHECKING:
    from pathlib import Path

LONGEST_JSON: Final = 32_000_000  # characters: a million labels of 20 characters with a budget each
LONGEST_TOML: Final = 1_000_000  # characters: 50,000 labels; TOML is for people, and parsed 20 times more slowly
MOST_TABLES: Final = 1_000_000  # tables and lists: 10,000 questions, each with 10 levels
MOST_ENTRIES: Final = 4_000_000  # of all tables and lists: a million labels, and a budget for each at three levels
MOST_PARTS: Final = 10  # of a dotted key; languages.de.questions.mode.values.car has 6

# Each form ends at the latest where the parser would give up: what is opened is then read once, never tried again.
_QUOTED: Final = re.compile(
    r"""(?x)
      \"{3} (?: [^"\\]++ | \\. | "(?!"") )*+ (?: \"{3} | \Z )  # several lines
    | \'{3} (?: [^']++ | '(?!'') )*+ (?: \'{3} | \Z )
    | " (?: [^"\\\n]++ | \\[^\n] )*+ "?  # one line
    | ' [^'\n]*+ '?
    | \# [^\n]*+
    """,
    re.DOTALL,
)
_BETWEEN_KEYS: Final = re.compile(r"[=,\[\]{}\n]")


def read_bounded(path: Path) -> str:
    """Return the text of a file; of one that is too long, no more than shows it."""
    with path.open(encoding="utf-8") as file:
        return file.read(LONGEST_JSON + 1)


def parse_json(text: str, *, longest: int = LONGEST_JSON) -> Any:
    """Return the plain data of JSON, its decimals exact; refuse a key that comes twice."""
    _check_length(text, "JSON", longest)
    for what, number, most in (
        ("tables and lists", text.count("{") + text.count("["), MOST_TABLES),
        ("entries", text.count(","), MOST_ENTRIES),
    ):
        if number > most:
            raise SurveyError(f"has {number:,} {what}; a survey has at most {most:,}")
    try:
        return json.loads(text, parse_float=Decimal, object_pairs_hook=_without_repeated_keys)
    except SurveyError:
        raise
    except json.JSONDecodeError as error:
        raise SurveyError(f"line {error.lineno}: not valid JSON: {error.msg}") from None
    except (ValueError, ArithmeticError):
        raise SurveyError("not valid JSON: a number is too long") from None
    except RecursionError:
        raise SurveyError("nested too deeply") from None


def parse_toml(text: str) -> Any:
    """Return the plain data of TOML, its decimals exact."""
    import tomllib  # noqa: PLC0415 - a device that reads JSON starts faster without it

    _check_length(text, "TOML", LONGEST_TOML, "; write longer ones as JSON")
    _check_keys(text)
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise SurveyError(f"not valid TOML: {error}") from None
    except (ValueError, ArithmeticError):
        raise SurveyError("not valid TOML: a number is too long") from None
    except RecursionError:
        raise SurveyError("nested too deeply") from None


def _check_length(text: str, form: str, longest: int, advice: str = "") -> None:
    if len(text) > longest:
        raise SurveyError(f"is too long: a survey in {form} has at most {longest:,} characters{advice}")


def _check_keys(text: str) -> None:
    """Refuse keys of many parts; a number has one dot, and what is quoted or said in a comment does not count."""
    for words in _BETWEEN_KEYS.split(_QUOTED.sub("", text)):
        if words.count(".") >= MOST_PARTS:
            raise SurveyError(f"not valid TOML: a key has at most {MOST_PARTS} parts, not {words.count('.') + 1:,}")


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise SurveyError("not valid JSON: a key comes twice in one table")
    return table
