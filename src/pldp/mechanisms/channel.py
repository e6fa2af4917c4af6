"""What every mechanism is: a channel Q(output | value) with integer weights.

A *value* is the index 0 … size-1 of a label. An *output* is what a report carries: an `int` or packed `bytes`.
An output of a categorical channel *supports* some of the values. In a *support channel*

    Pr(output supports i | value i) = p_i,     Pr(output supports i | value j) = q_i  for every j ≠ i,

so that the share of value i is estimated without bias from the number of reports that support it,
(supporting/reports − q_i) / (p_i − q_i). It is *pure* when p and q are the same for all values (`truth_support`,
`other_support`). Where q depends on j, the channel is categorical and no more, and is inverted as a whole.

What a categorical channel promises is computed from it in several ways: over all outputs and pairs of values
(`micro_epsilon`, plain LDP), for one output (`output_micro_epsilon`, item-oriented LDP), for one pair of values
(`pair_micro_epsilon`, input-discriminative LDP), and for one value, in its favour only (`evidence_micro_epsilon`).

Adding a mechanism means adding one frozen dataclass here and its vectorised twin in `pldp.estimates.groups`;
nothing else in the system knows mechanisms by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pldp.epsilon import INFINITE, MICRO, micro_epsilon_of_ratio
from pldp.errors import EpsilonError

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

    needs_rows: ClassVar[bool] = False
    """Whether estimates need whole packed rows, not only how often each bit was 1."""

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
    def weights(self) -> Mapping[str, int | list[int]]:
        """Return the integers that define the channel: what a survey publishes and a device checks."""

    def promised(self, value: int) -> int | None:  # noqa: ARG002 - others have one promise per value
        """What a budget of this value bounds: ε of the channel, unless the mechanism has a promise for each value."""
        return self.micro_epsilon


class PackedBits:
    """What channels have in common whose outputs are packed bits, one per value or item."""

    size: int

    @property
    def output_count(self) -> int:
        """2^size."""
        return 1 << self.size

    @property
    def output_bytes(self) -> int:
        """Length of a packed output."""
        return (self.size + 7) // 8

    def outputs(self) -> Iterator[bytes]:
        """Enumerate all 2^size bit vectors."""
        return (bits.to_bytes(self.output_bytes, "little") for bits in range(self.output_count))


def as_int(output: Output) -> int:
    """Return an output as an integer; bit i of packed bits is bit i of the integer."""
    return output if isinstance(output, int) else int.from_bytes(output, "little")


def check_other_weights(size: int, other_weights: tuple[int, ...]) -> None:
    """Refuse weights of wrong answers, one per value, that are none or that protect nothing."""
    if size < 2:
        raise EpsilonError(f"size must be at least 2 values, not {size}")
    if len(other_weights) != size or min(other_weights) < 0:
        raise EpsilonError(f"other_weights must be {size} integers, none negative")
    if not any(other_weights):
        raise EpsilonError("budgets must protect at least one value, not none: every report would be the truth")


@dataclass(frozen=True)
class CategoricalChannel(Channel):
    """A channel for one of `size` values, whose outputs support some of them."""

    @abstractmethod
    def supports(self, output: Output, value: int) -> bool:
        """Tell whether the output counts for the value."""

    @property
    @abstractmethod
    def manipulation(self) -> float:
        """People that one forged report can count as.

        Reference: Cheu, Smith, Ullman, "Manipulation Attacks in Local Differential Privacy" (2021).
        """

    def output_micro_epsilon(self, output: Output) -> int | None:
        """ln max Q(y|x)/Q(y|x') over values, for one output y: what seeing y tells about any two values."""
        column = [self.probability(output, value) for value in range(self.size)]
        return micro_epsilon_between(min(column), max(column))

    def pair_micro_epsilon(self, one: int, two: int) -> int | None:
        """ln max Q(y|x)/Q(y|x') over outputs and both orders, for two values: what any report tells between them."""
        pairs = ((self.probability(output, one), self.probability(output, two)) for output in self.outputs())
        return largest(micro_epsilon_between(*sorted(pair)) for pair in pairs)

    def promised(self, value: int) -> int | None:
        """A budget bounds what any report tells about a person with this value, unless the mechanism differs."""
        return self.value_micro_epsilon(value)

    def value_micro_epsilon(self, value: int) -> int | None:
        """Largest ε between this value and another one: how far any report can speak for it or against it."""
        return largest(self.pair_micro_epsilon(value, other) for other in range(self.size) if other != value)

    def evidence_micro_epsilon(self, value: int) -> int | None:
        """ln max Q(y|x)/Q(y|x') over outputs and other values, for x: how far any report can speak *for* this value."""
        others = [other for other in range(self.size) if other != value]
        return largest(
            micro_epsilon_between(min(self.probability(y, other) for other in others), self.probability(y, value))
            for y in self.outputs()
        )


@dataclass(frozen=True)
class SupportChannel(CategoricalChannel):
    """A channel whose outputs support each value with two probabilities of its own."""

    @property
    @abstractmethod
    def truth_supports(self) -> tuple[Fraction, ...]:
        """Probability that an output supports the value it was made from (p), for each value."""

    @property
    @abstractmethod
    def other_supports(self) -> tuple[Fraction, ...]:
        """Probability that an output supports a value it was not made from (q), for each value."""

    @property
    def manipulation(self) -> float:
        """The largest (1−q)/(p−q) of a value."""
        pairs = zip(self.truth_supports, self.other_supports, strict=True)
        return float(max((1 - q) / (p - q) for p, q in pairs))


@dataclass(frozen=True)
class PureChannel(SupportChannel):
    """A channel whose outputs support values with the same two probabilities for all values."""

    @property
    @abstractmethod
    def truth_support(self) -> Fraction:
        """Probability that an output supports the value it was made from (p)."""

    @property
    @abstractmethod
    def other_support(self) -> Fraction:
        """Probability that an output supports a given value it was not made from (q)."""

    @property
    def truth_supports(self) -> tuple[Fraction, ...]:
        """p, for each value."""
        return (self.truth_support,) * self.size

    @property
    def other_supports(self) -> tuple[Fraction, ...]:
        """q, for each value."""
        return (self.other_support,) * self.size

    def output_micro_epsilon(self, output: Output) -> int | None:
        """The channel's ε, but 0 for an output that supports all values or none."""
        kinds = {self.supports(output, value) for value in range(self.size)}
        return self.micro_epsilon if len(kinds) == 2 else 0

    def pair_micro_epsilon(self, one: int, two: int) -> int | None:
        """The channel's ε for any two values."""
        return self.micro_epsilon if one != two else 0

    def evidence_micro_epsilon(self, value: int) -> int | None:  # noqa: ARG002
        """The channel's ε for any value."""
        return self.micro_epsilon

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
        """(1−q)/(p−q)."""
        return float((1 - self.other_support) / (self.truth_support - self.other_support))


def micro_epsilon_between(least: Fraction, most: Fraction) -> int | None:
    """Return ln(most/least) in micro-ε, rounded up; 0 where that is negative and for two zeros."""
    return micro_epsilon_of_ratio(most.numerator * least.denominator, most.denominator * least.numerator)


def largest(micro_epsilons: Iterable[int | None]) -> int | None:
    """Return the largest ε; `INFINITE` is the largest of all.

    >>> largest([3, 5, 4]), largest([3, INFINITE])
    (5, None)
    """
    most = 0
    for micro in micro_epsilons:
        if micro is INFINITE:
            return INFINITE
        most = max(most, micro)
    return most
