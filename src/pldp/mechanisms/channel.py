"""What every mechanism is: a channel Q(output | value) with integer weights.

A *value* is the index 0 … size-1 of a label. An *output* is what a report carries: an `int` or packed `bytes`.
An output of a categorical channel *supports* some of the values; a channel is *pure* when

    Pr(output supports i | value i) = truth_support      for every i,
    Pr(output supports i | value j) = other_support      for every j ≠ i,

and then the share of value i is estimated without bias from the number of reports that support it:
(supporting/reports − other_support) / (truth_support − other_support).

Adding a mechanism means adding one frozen dataclass here and its vectorised twin in `pldp.estimates.groups`;
nothing else in the system knows mechanisms by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pldp.mechanisms.epsilon import MICRO

RandomBytes = Callable[[int], bytes]
"""A source of randomness: `os.urandom` on a device; a seeded one only in tests."""

Output = int | bytes
"""What one answer of a report carries."""


@dataclass(frozen=True)
class Channel(ABC):
    """Q(output | value) of one mechanism at one ε, exact.

    Attributes
    ----------
    size
        Number of values that can be answered (k).
    """

    size: int

    mechanism: ClassVar[str]
    """Name in survey files and results."""

    @property
    @abstractmethod
    def micro_epsilon(self) -> int | None:
        """True ε = ln max Q(y|x)/Q(y|x'), computed from the weights and rounded up; `None` when infinite."""

    @property
    def epsilon(self) -> float:
        """True ε as a float, for display and formulas."""
        return float("inf") if self.micro_epsilon is None else self.micro_epsilon / MICRO

    @property
    def output_count(self) -> int:
        """Number of outputs."""
        return self.size

    @property
    def output_bytes(self) -> int:
        """Length of an output that is packed bits; 0 where outputs are the integers below `output_count`."""
        return 0

    @abstractmethod
    def draw(self, value: int, random: RandomBytes) -> Output:
        """Perturb one value with a fixed number of random bytes, whatever the value."""

    @abstractmethod
    def probability(self, output: Output, value: int) -> Fraction:
        """Q(output | value), exact: the likelihood of the value."""

    @abstractmethod
    def outputs(self) -> Iterator[Output]:
        """Enumerate every output that can occur (for audits of small domains)."""

    @abstractmethod
    def weights(self) -> Mapping[str, int]:
        """Return the integers that define the channel: what a survey publishes and a device checks."""


@dataclass(frozen=True)
class PureChannel(Channel):
    """A channel whose outputs support values with the same two probabilities for all values."""

    @property
    @abstractmethod
    def truth_support(self) -> Fraction:
        """Probability that an output supports the value it was made from (p)."""

    @property
    @abstractmethod
    def other_support(self) -> Fraction:
        """Probability that an output supports a given value it was not made from (q)."""

    @abstractmethod
    def supports(self, output: Output, value: int) -> bool:
        """Tell whether the output counts for the value."""

    def variance(self, share: float, reports: int = 1) -> float:
        """Return the variance of the unbiased estimate of a share from so many reports of a random sample.

        π(1−π) / (reports·(p−q)²) with π = q + share·(p−q).

        Reference: Wang, Blocki, Li, Jha, "Locally Differentially Private Protocols for Frequency Estimation" (2017).
        """
        q = float(self.other_support)
        contrast = float(self.truth_support - self.other_support)
        support = q + share * contrast
        return support * (1.0 - support) / (reports * contrast * contrast)

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as: (1−q)/(p−q).

        Reference: Cheu, Smith, Ullman, "Manipulation Attacks in Local Differential Privacy" (2021).
        """
        return float((1 - self.other_support) / (self.truth_support - self.other_support))
