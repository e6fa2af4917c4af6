"""Probabilities and odds as a person reads them."""

import math
from typing import Final

from pldp.mechanisms import MICRO, Micro, epsilon_text

MOST_LINES: Final = 8  #: Labels that are explained one by one; the rest is counted.

_LARGEST: Final = 700 * MICRO  #: Above this ε, e^ε is too large for a number.


def times(micro: Micro) -> str:
    """Write e^ε as a number, or as a power where it is too large for one.

    >>> times(1_000_000)
    '2.72 times (ε = 1)'
    """
    odds = f"{math.exp(micro / MICRO):.3g}" if micro < _LARGEST else f"e^{epsilon_text(micro)}"
    return f"{odds} times (ε = {epsilon_text(micro)})"


def with_rest(lines: list[str], labels: int, what: str) -> list[str]:
    """Add how many labels were not explained, if some were not."""
    rest = labels - len(lines)
    return [*lines, f"({rest} more {what} are protected in the same way.)"] if rest else lines
