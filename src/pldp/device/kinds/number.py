"""A number on the device: rounded, then replaced by a random one near it or anywhere.

Where only the mean is wanted, the device rounds it at random to one of two neighbouring points, just before the channel
(`pldp.mechanisms.round_at_random`): the report is as well protected as that of a point.
"""

import math
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

from pldp.device.wording import times
from pldp.errors import AnswerError
from pldp.mechanisms import position
from pldp.survey import Number


def encode(question: Number, value: object) -> int | Fraction:
    """Return the bucket of the number in the public bounds, or its place between two points."""
    number = math.nan
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        with suppress(OverflowError, ValueError):  # an integer too large for a float, a signaling NaN
            number = float(value)
    if math.isnan(number):
        raise AnswerError(f"value must be a number for question {question.name!r}; this is not one")
    low, high = question.limits
    if question.outside == "clip":
        number = min(max(number, low), high)
    return position(number, low, high, question.size) if question.for_mean else question.grid.index(number)


def explain(question: Number, level: int) -> list[str]:
    """Say how a number is rounded and what a report can tell."""
    low, high = question.bounds
    unit = f" {question.unit}" if question.unit else ""
    odds = times(question.levels[level].micro_epsilon)
    rounded = (
        f"at random to one of the two nearest of {question.size} points from {low} to {high}{unit}"
        if question.for_mean
        else f"to one of {question.size} steps between {low} and {high}{unit}"
    )
    return [
        f"your number is rounded {rounded}, and a random number is sent that is only a little more likely to be near "
        "it.",
        f"Whatever your report says, it changes the odds between any two numbers at most {odds}.",
    ]
