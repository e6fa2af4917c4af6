"""Named levels of protection and what several answers cost together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from pldp.epsilon import MICRO, epsilon_text, micro_epsilon
from pldp.errors import EpsilonError
from pldp.records import Brief


@dataclass(frozen=True, repr=False)
class Level(Brief):
    """A protection that a person can choose."""

    name: str  #: The word that survey, report and estimate use.
    micro_epsilon: int  #: The promise: no report of this level reveals more than e^ε to one odds, ε in millionths.
    text: str = ""  #: What the person reads beside it.

    @classmethod
    def of(cls, name: str, epsilon: float | str | Decimal, *, text: str = "") -> Level:
        """Make a level from ε as people write it.

        >>> Level.of("strict", 0.5)
        Level(name='strict', micro_epsilon=500000, text='')
        """
        return cls(name, micro_epsilon(epsilon), text)

    @property
    def epsilon(self) -> float:
        """ε as a float, for display and formulas."""
        return self.micro_epsilon / MICRO

    def __str__(self) -> str:
        return f"{self.name} (ε = {epsilon_text(self.micro_epsilon)})"


def compose(micro_epsilons: Iterable[int]) -> int:
    """Return what several reports of one person cost together: the exact sum (sequential composition).

    >>> compose([500_000, 250_000])
    750000
    """
    amounts = list(micro_epsilons)
    if min(amounts, default=0) < 0:
        raise EpsilonError(f"micro_epsilon must not be negative, not {min(amounts)}")
    return sum(amounts)
