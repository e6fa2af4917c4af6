"""What every mechanism is: a channel Q(output | value) with integer weights.

A *value* is the index 0 … size-1 of a label, the bucket of a number, or a set of items as an integer. An *output* is
what a report carries; its *form* is `Integers` or `Bits`. An output of a categorical channel *supports* some of the
values. In a *support channel*

    Pr(output supports i | value i) = p_i,     Pr(output supports i | value j) = q_i  for every j ≠ i,

so that the share of value i is estimated without bias from the number of reports that support it,
(supporting/reports − q_i) / (p_i − q_i). It is *pure* when p and q are the same for all values (`truth_support`,
`other_support`). Where q depends on j, the channel is categorical and no more, and is inverted as a whole.

What a categorical channel promises is computed from it in several ways: over all outputs and pairs of values
(`micro_epsilon`, plain LDP), for one output (`output_micro_epsilon`, item-oriented LDP), for one pair of values
(`pair_micro_epsilon`, input-discriminative LDP), and for one value, in its favour only (`evidence_micro_epsilon`).

A family of mechanisms is a folder beside this file: its channels here, standard library only, and its `arrays.py`, the
same channels over NumPy arrays. `registry.py` has its line. Nothing else in the system knows mechanisms by name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, Self

from pldp.epsilon import MICRO, Micro, epsilon_text, exp_micro, micro_epsilon_of_ratio, share_rounded_up
from pldp.errors import EpsilonError
from pldp.mechanisms.contrast import Contrast
from pldp.mechanisms.output import Bits, Form, Integers, Output, RandomBytes, as_int
from pldp.records import Brief

Domain = Literal["labels", "sets", "numbers"]
"""What the values of a channel are."""

MOST_GUESSES: Final = 1 << 14
"""Probabilities that `best_guess` goes through at most."""

Odds = list[tuple[Fraction, int]]
"""Factors of a likelihood ratio: (ratio, power). A ratio is 0 only to the power of −1: there is no limit then."""


@dataclass(frozen=True, repr=False)
class Channel(Brief, ABC):
    """Q(output | value) of one mechanism at one ε, exact, for `size` values (of sets: for `size` items)."""

    size: int

    mechanism: ClassVar[str]
    """Name in survey files and results."""

    domain: ClassVar[Domain] = "labels"

    least: ClassVar[tuple[int, str]] = (2, "values")
    """The smallest size, and what it counts."""

    most: ClassVar[int] = 2**53
    """The largest size that it can be built for."""

    per_value: ClassVar[bool] = False
    """Whether it takes a budget per value (or item) and publishes its weights as lists."""

    lists: ClassVar[bool] = False
    """Whether it publishes its weights as lists of whatever length."""

    in_bits: ClassVar[bool] = False
    """Whether a report is one bit per value (or item); most report the index of a value."""

    @property
    def keeps_rows(self) -> bool:
        """Whether tallies keep whole rows of bits, not only how often each bit was 1, without being asked."""
        return False

    def __post_init__(self) -> None:
        if self.size < self.least[0]:
            raise EpsilonError(f"size must be at least {self.least[0]} {self.least[1]}, not {self.size}")

    @classmethod
    def build(cls, size: int, budgets: Micro | Sequence[Micro]) -> Channel:
        """Build the channel for so many values with one budget in micro-ε, or with one per value."""
        of: Callable[..., Channel] = getattr(cls, "of")  # noqa: B009 - abstract channels have none
        if not cls.per_value:
            return of(size, one_budget(cls, budgets))
        each = budgets if isinstance(budgets, Sequence) else (budgets,) * size
        if len(each) != size:
            raise EpsilonError(f"budgets must be {size}, one per value, not {len(each)}")
        return of(each)

    @classmethod
    def suits(cls, size: int, *, hidden: bool = False) -> bool:  # noqa: ARG003 - others depend on them
        """Tell whether `auto` considers it for so many values, with levels that show or are hidden."""
        return False

    @classmethod
    def hideable(cls, size: int, budgets: Sequence[Any]) -> Iterator[tuple[Channel, ...]]:
        """Yield channels, one per level, whose outputs have one form, so that the form does not show the level.

        `budgets` has for each level a budget in micro-ε, or one per value.
        """
        yield tuple(cls.build(size, budget) for budget in budgets)

    @classmethod
    def ideal_variance(cls, size: int, epsilon: float) -> float:  # noqa: ARG003 - others know it
        """Return the summed variance of k equal shares of one report, before weights are rounded: smooth in ε."""
        raise EpsilonError(f"the variance of {cls.mechanism} as a function of epsilon is not known")

    @classmethod
    def published(cls) -> dict[str, str]:
        """Return the integers that define the channel: name in a survey file → attribute."""
        names = sorted(each.name for each in fields(cls) if each.name != "size")
        return {name.partition("_weight")[0]: name for name in names}

    @classmethod
    def read(cls, size: int, weights: object) -> Self:
        """Rebuild the channel from the integers that a survey publishes: the inverse of `weights`."""
        published = cls.published()
        if not isinstance(weights, Mapping) or weights.keys() != published.keys():
            raise EpsilonError(f"weights of {cls.mechanism} must be exactly {', '.join(published)}")
        return cls(size, **{field: _weight(cls, size, weights[name]) for name, field in published.items()})

    def weights(self) -> dict[str, int | list[int]]:
        """Return the integers that define the channel: what a survey publishes and a device checks."""
        found = {name: getattr(self, field) for name, field in self.published().items()}
        return {name: list(entry) if isinstance(entry, tuple) else entry for name, entry in found.items()}

    @cached_property
    def form(self) -> Form:
        """What its outputs are."""
        return Bits(self.size) if self.in_bits else Integers(self.size)

    @property
    @abstractmethod
    def micro_epsilon(self) -> Micro:
        """True ε = ln max Q(y|x)/Q(y|x'), computed from the weights and rounded up; `math.inf` without a limit."""

    @property
    def epsilon(self) -> float:
        """True ε as a float, for display and formulas."""
        return self.micro_epsilon / MICRO

    @property
    def equal_variance(self) -> float:
        """The mean variance of the shares of one report at equal shares 1/k: by this `auto` chooses."""
        raise EpsilonError(f"the variance of shares from {self.mechanism} is not known")

    @abstractmethod
    def draw(self, value: int, random: RandomBytes) -> Output:
        """Perturb one value with a fixed number of random bytes, whatever the value."""

    @abstractmethod
    def probability(self, output: Output, value: int) -> Fraction:
        """Q(output | value), exact: the likelihood of the value."""

    @property
    @abstractmethod
    def manipulation(self) -> float:
        """People that one forged report can count as; for numbers, the largest true number, so many times.

        Reference: Cheu, Smith, Ullman, "Manipulation Attacks in Local Differential Privacy" (2021).
        """

    def outputs(self) -> Iterator[Output]:
        """Enumerate every output that can occur (for audits of small domains)."""
        return self.form.outputs()

    def promised(self, value: int) -> Micro:  # noqa: ARG002 - others have one promise per value
        """What a budget of this value bounds: ε of the channel, unless the mechanism has a promise for each value."""
        return self.micro_epsilon

    def proof_chance(self, value: int) -> Fraction:  # noqa: ARG002 - most protect all values
        """Return how often the output of a value, or of a set with this item, can come from no other."""
        return Fraction(0)

    def contrasts(self) -> tuple[tuple[Contrast, ...], ...]:
        """Return the pairs of values that a crowd of reports hides least, as contrasts of independent parts of outputs.

        No other pair is easier to tell apart; the empty tuple where that is not known. See `mechanisms.contrast`.
        """
        return ()

    def best_guess(self, prior: Sequence[float] | None = None) -> float | None:
        """Return how often the best guess of the value from one output is right, Σ_y max_x prior_x Q(y|x).

        Without a prior all values are equally likely; that of sets has a share for each item, on its own. `None` where
        outputs are too many to go through.
        """
        count = self.form.count
        if self.domain == "sets" or count * self.size > MOST_GUESSES:
            return None
        shares = [1 / self.size] * self.size if prior is None else prior
        chances = ([float(self.probability(y, x)) * share for x, share in enumerate(shares)] for y in self.outputs())
        return sum(map(max, chances))

    def level_odds(self, other: Channel, *, same_value: bool) -> Odds:  # noqa: ARG002 - others have an answer
        """Return the largest Q(y|x)/Q'(y|x') of two channels of one form; x' is x or, if x is protected, another."""
        raise EpsilonError(f"what outputs of {self.mechanism} tell about the level is not known")


def _weight(cls: type[Channel], size: int, entry: Any) -> Any:
    if not (cls.per_value or cls.lists):
        if type(entry) is not int:
            raise EpsilonError(f"weights of {cls.mechanism} must be integers")
        return entry
    whole = isinstance(entry, list | tuple) and all(type(number) is int for number in entry)
    if not whole or (cls.per_value and len(entry) != size):
        raise EpsilonError(f"weights of {cls.mechanism} must be lists of {f'{size} ' if cls.per_value else ''}integers")
    return tuple(entry)


def one_budget(cls: type[Channel], budgets: Micro | Sequence[Micro]) -> int:
    """Return the budget of all values together; refuse one per value."""
    if not isinstance(budgets, int):
        raise EpsilonError(f"{cls.mechanism} takes one finite budget for all values")
    return budgets


def too_small(micro_epsilon: Micro, size: int, things: str = "values") -> EpsilonError:
    """Return the error of a budget whose weights, rounded to integers, would all be alike."""
    text = f"epsilon {epsilon_text(micro_epsilon)} is too small for {size} {things}"
    return EpsilonError(f"{text}: integer weights cannot tell them apart")


@dataclass(frozen=True, repr=False)
class CategoricalChannel(Channel):
    """A channel for one of `size` values, whose outputs support some of them."""

    phrase: ClassVar[str] = 'says "{label}"'
    """How a person is told that a report supports a label."""

    def supports(self, output: Output, value: int) -> bool:
        """Tell whether the output counts for the value: that which it names, or all whose bit is 1."""
        return bool(as_int(output) >> value & 1) if self.in_bits else output == value

    def _evidence(self, value: int, other: int) -> Micro:
        """ln max Q(y|x)/Q(y|x') over outputs: how far any report can speak for a value against another one."""
        pairs = ((self.probability(y, other), self.probability(y, value)) for y in self.outputs())
        return max(micro_epsilon_between(*pair) for pair in pairs)

    @property
    def _extremes(self) -> Sequence[int]:
        """Values with two among them that are the easiest to tell apart, from each other and from any other value."""
        return range(self.size)

    def _rivals(self, value: int) -> Iterator[int]:
        return (other for other in self._extremes if other != value)

    @property
    def micro_epsilon(self) -> Micro:
        """The largest ε between two values."""
        return max(map(self.evidence_micro_epsilon, self._extremes))

    def output_micro_epsilon(self, output: Output) -> Micro:
        """ln max Q(y|x)/Q(y|x') over values, for one output y: what seeing y tells about any two values."""
        column = [self.probability(output, value) for value in range(self.size)]
        return micro_epsilon_between(min(column), max(column))

    def pair_micro_epsilon(self, one: int, two: int) -> Micro:
        """ln max Q(y|x)/Q(y|x') over outputs and both orders, for two values: what any report tells between them."""
        return 0 if one == two else max(self._evidence(one, two), self._evidence(two, one))

    def promised(self, value: int) -> Micro:
        """A budget bounds what any report tells about a person with this value, unless the mechanism differs."""
        return self.value_micro_epsilon(value)

    def value_micro_epsilon(self, value: int) -> Micro:
        """Largest ε between this value and another one: how far any report can speak for it or against it."""
        return max(self.pair_micro_epsilon(value, other) for other in self._rivals(value))

    def evidence_micro_epsilon(self, value: int) -> Micro:
        """ln max Q(y|x)/Q(y|x') over outputs and other values, for x: how far any report can speak *for* this value."""
        return max(self._evidence(value, other) for other in self._rivals(value))

    def level_odds(self, other: Channel, *, same_value: bool) -> Odds:
        """Return the largest Q(y|x)/Q'(y|x'), which is known within a family."""
        if self.size != other.size or self.form != other.form:
            raise EpsilonError("outputs of different form show the level: there is no finite leak")
        if not isinstance(other, CategoricalChannel) or type(other).family_odds is not type(self).family_odds:
            return super().level_odds(other, same_value=same_value)
        return self.family_odds(other, same_value=same_value)

    @abstractmethod
    def family_odds(self, other: Any, *, same_value: bool) -> Odds:
        """Return the same for a channel of one's own family."""


@dataclass(frozen=True, repr=False)
class SupportChannel(CategoricalChannel):
    """A channel whose outputs support each value with two probabilities of its own."""

    total: ClassVar[int]
    """What weights are counted in: 2⁵³ or 2³²."""

    def _shares(self, weights: str) -> tuple[Fraction, ...]:
        return tuple(Fraction(weight, self.total) for weight in getattr(self, weights))

    @cached_property
    def truth_supports(self) -> tuple[Fraction, ...]:
        """Probability that an output supports the value it was made from (p), for each value."""
        return self._shares("truth_weights")

    @cached_property
    def other_supports(self) -> tuple[Fraction, ...]:
        """Probability that an output supports a value it was not made from (q), for each value."""
        return self._shares("other_weights")

    @property
    def equal_variance(self) -> float:
        """The mean over values of π(1−π)/(p−q)², π = q + (p−q)/k."""
        pairs = [(float(p), float(q)) for p, q in zip(self.truth_supports, self.other_supports, strict=True)]
        said = ((q + (p - q) / self.size, p - q) for p, q in pairs)
        return sum(share * (1 - share) / contrast**2 for share, contrast in said) / self.size

    @property
    def manipulation(self) -> float:
        """The largest (1−q)/(p−q) of a value."""
        pairs = zip(self.truth_supports, self.other_supports, strict=True)
        return float(max((1 - q) / (p - q) for p, q in pairs))


@dataclass(frozen=True, repr=False)
class PureChannel(SupportChannel):
    """A channel whose outputs support values with the same two probabilities for all values."""

    _extremes = (0, 1)

    @classmethod
    def other_odds(cls, size: int) -> tuple[int, int]:
        """Return (parts, others) of the weight of a wrong answer, total/(e^{ε/parts} + others)."""
        raise NotImplementedError

    @classmethod
    def truth_left(cls, size: int, other: Any, total: float) -> Any:
        """Return the weight of the right answer that this weight of a wrong one leaves of the total."""
        return total - cls.other_odds(size)[1] * other

    @classmethod
    def whole_weights(cls, size: int, micro_epsilon: int) -> tuple[int, int]:
        """Return the weights of a right and a wrong answer, rounded towards more noise: ε is at most the given one."""
        parts, others = cls.other_odds(size)
        other = share_rounded_up(cls.total, exp_micro(micro_epsilon, parts), others)
        truth = int(cls.truth_left(size, other, cls.total))
        if truth <= other:
            raise too_small(micro_epsilon, size)
        return truth, other

    @classmethod
    def ideal_supports(cls, size: int, epsilon: float) -> tuple[float, float]:
        """Return p and q before they are rounded to whole weights."""
        parts, others = cls.other_odds(size)
        q = 1 / (math.exp(epsilon / parts) + others)
        return cls.truth_left(size, q, 1), q

    @classmethod
    def ideal_variance(cls, size: int, epsilon: float) -> float:
        """Return the summed variance of k equal shares of one report, before weights are rounded: smooth in ε."""
        p, q = cls.ideal_supports(size, epsilon)
        support = q + (p - q) / size
        return size * support * (1 - support) / (p - q) ** 2

    @cached_property
    def truth_support(self) -> Fraction:
        """Probability that an output supports the value it was made from (p)."""
        own: Any = self  # it has both weights, published or computed
        return Fraction(own.truth_weight, self.total)

    @cached_property
    def other_support(self) -> Fraction:
        """Probability that an output supports a given value it was not made from (q)."""
        own: Any = self
        return Fraction(own.other_weight, self.total)

    @property
    def truth_supports(self) -> tuple[Fraction, ...]:
        """p, for each value."""
        return (self.truth_support,) * self.size

    @property
    def other_supports(self) -> tuple[Fraction, ...]:
        """q, for each value."""
        return (self.other_support,) * self.size

    def _evidence(self, value: int, other: int) -> Micro:  # noqa: ARG002 - the same for all
        return self.micro_epsilon

    def output_micro_epsilon(self, output: Output) -> Micro:
        """The channel's ε, but 0 for an output that supports all values or none."""
        kinds = {self.supports(output, value) for value in range(self.size)}
        return self.micro_epsilon if len(kinds) == 2 else 0

    def variance(self, share: float, reports: int = 1) -> float:
        """Return the variance of the unbiased share from so many reports: π(1−π)/(reports·(p−q)²), π = q + share·(p−q).

        Reference: Wang, Blocki, Li, Jha, "Locally Differentially Private Protocols for Frequency Estimation" (2017).
        """
        q = float(self.other_support)
        contrast = float(self.truth_support - self.other_support)
        support = q + share * contrast
        return support * (1.0 - support) / (reports * contrast * contrast)

    @property
    def equal_variance(self) -> float:
        """The variance of a share of 1/k."""
        return self.variance(1 / self.size)

    @property
    def manipulation(self) -> float:
        """(1−q)/(p−q)."""
        return float((1 - self.other_support) / (self.truth_support - self.other_support))


def categorical(channels: Sequence[Channel]) -> tuple[CategoricalChannel, ...]:
    """Return the same channels, all of them for labels; refuse others."""
    found = tuple(channel for channel in channels if isinstance(channel, CategoricalChannel))
    if len(found) < len(channels):
        raise EpsilonError(f"channels must be for labels, not {', '.join(each.mechanism for each in channels)}")
    return found


def pure(channels: Sequence[Channel]) -> tuple[PureChannel, ...]:
    """Return the same channels, all of them pure; refuse others."""
    found = tuple(channel for channel in channels if isinstance(channel, PureChannel))
    if len(found) < len(channels):
        names = ", ".join(channel.mechanism for channel in channels)
        raise EpsilonError(f"channels must treat all values alike; some of {names} treat values differently")
    return found


def largest_odds(pairs: Iterable[tuple[int, int]]) -> Odds:
    """Return the largest one/two; a pair of zeros cannot occur, and there is no limit where only the second is 0.

    >>> largest_odds([(1, 2), (0, 0), (3, 2)])
    [(Fraction(3, 2), 1)]
    >>> largest_odds([(1, 0)])
    [(Fraction(0, 1), -1)]
    """
    most = Fraction(0)
    for one, two in set(pairs):
        if one and not two:
            return [(Fraction(0), -1)]
        most = max(most, Fraction(one, two or 1))
    return [(most, 1)]


def micro_epsilon_between(least: Fraction, most: Fraction) -> Micro:
    """Return ln(most/least) in micro-ε, rounded up; 0 where that is negative and for two zeros."""
    return micro_epsilon_of_ratio(most.numerator * least.denominator, most.denominator * least.numerator)
