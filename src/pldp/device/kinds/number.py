"""A number on the device: rounded, then replaced by a random one near it or anywhere."""

import math
from contextlib import suppress
from decimal import Decimal

from pldp.device.wording import times
from pldp.errors import AnswerError
from pldp.survey import Number


def encode(question: Number, value: object) -> int:
    """Return the bucket of the number in the public bounds."""
    number = math.nan
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        with suppress(OverflowError, ValueError):  # an integer too large for a float, a signaling NaN
            number = float(value)
    if math.isnan(number):
        raise AnswerError(f"value must be a number for question {question.name!r}; what came is none")
    if question.outside == "clip":
        number = min(max(number, question.grid.low), question.grid.high)
    return question.grid.index(number)


def explain(question: Number, level: int) -> list[str]:
    """Say how a number is rounded and what a report can tell."""
    low, high = question.bounds
    unit = f" {question.unit}" if question.unit else ""
    odds = times(question.levels[level].micro_epsilon)
    return [
        f"your number is rounded to one of {question.grid.size} steps between {low} and {high}{unit}, and a random "
        "number is sent that is only a little more likely to be near it.",
        f"Whatever your report says, it changes the odds between any two numbers at most {odds}.",
    ]
