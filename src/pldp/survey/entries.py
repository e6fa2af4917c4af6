"""Open the table of a question: what is read alike for every kind."""

from fractions import Fraction
from typing import TYPE_CHECKING

from pldp.budgets import Level
from pldp.errors import SurveyError
from pldp.mechanisms import ANSWER_BYTES
from pldp.survey.kinds import DEFAULT_KIND, KINDS
from pldp.survey.question import MOST_WEIGHT, Entry, Question
from pldp.survey.reading import (
    LONGEST_NAME,
    LONGEST_TEXT,
    check_known,
    fail,
    read_levels,
    read_number,
    read_table,
    read_text,
)

if TYPE_CHECKING:
    from pldp.survey.hiding import Hiding


def open_entry(
    table: object,
    key: str,
    survey_levels: tuple[Level, ...],
    *,
    hiding: "Hiding | None" = None,
    tracked: bool = False,
    answer_bytes: int = ANSWER_BYTES,
) -> tuple[type[Question], Entry]:
    """Return the class of a question's kind, and its table with name, text and levels read."""
    found = table if isinstance(table, dict) else read_table(table, key, ())
    kind = found.get("kind", DEFAULT_KIND)
    check_known(kind, f"{key}.kind", KINDS)
    made = KINDS[kind]
    read_table(found, key, made.keys, required=made.required)
    name = read_text(found["name"], f"{key}.name", LONGEST_NAME)
    key = f"{key} ({name})"
    text = read_text(found.get("text", ""), f"{key}.text", LONGEST_TEXT, empty=True)
    levels = read_levels(found.get("levels"), f"{key}.levels", survey_levels)
    return made, Entry(found, key, name, text, levels, hiding, tracked, answer_bytes)


def read_required(entry: Entry) -> bool:
    """Return whether a question cannot be skipped."""
    required = entry.table.get("required", False)
    if not isinstance(required, bool):
        fail(f"{entry.key}.required", "must be true or false", required)
    return required


def read_weight(entry: Entry) -> float:
    """Return how much the errors of a question count where several share a total; 1 unless the file says."""
    given, key = entry.table.get("weight", 1), f"{entry.key}.weight"
    try:
        weight = Fraction(read_number(given, key))
    except (SurveyError, ValueError, ZeroDivisionError, OverflowError):
        weight = Fraction(0)
    if not 0 < weight <= MOST_WEIGHT:
        fail(key, f"must be a number above 0 and at most {MOST_WEIGHT:,}", given)
    return float(weight)
