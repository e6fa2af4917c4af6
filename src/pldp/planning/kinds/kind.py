"""What a kind of question must offer so that its errors can be planned."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from pldp.errors import PlanError
from pldp.estimates import Linear, biased_reach
from pldp.mechanisms import CategoricalChannel, Channel, Micro, build
from pldp.mechanisms.arrays import FloatArray, Numbers
from pldp.survey import Choice, Choices, Question

Q = TypeVar("Q", bound=Question)

EQUAL: Final = "equal"
"""Shares that are all alike, for callers that ask for them."""

Given = Sequence[float] | Mapping[str, Any] | Literal["equal"] | None
"""Shares that a user assumes: one per label or bucket, by label, or all equal; `None` where nothing is known."""

SHARE: Final = "share"
"""Unit of what is a part of the people."""


NEARLY_ALL: Final = 0.995
"""Share from which on a label is said to have everybody."""

_LISTED: Final = 5
"""Labels that a sentence names."""


@dataclass(frozen=True, eq=False)
class OneReport:
    """What one report of a channel says about each row of the result."""

    variance: FloatArray  # of the unbiased estimate of each row, if the assumed shares are true
    pooled_by: Numbers  # the variance that the weights of levels are computed from, for all rows or for each
    forged: Numbers  # the most that a forged report can count as, in all rows or in each


class Hidden(NamedTuple):
    """Channels of levels, the label that hides them, how many people chose each, and by how much rows may differ."""

    channels: Sequence[Channel]
    label: CategoricalChannel
    reports: FloatArray
    differ: float | None

    @property
    def people(self) -> float:
        """How many there are in all."""
        return float(self.reports.sum())

    @property
    def mix(self) -> FloatArray:
        """The share of people who chose each level."""
        return np.asarray(self.reports / self.reports.sum())

    @property
    def counted(self) -> float | None:
        """How many reports there are, where that matters: a bound counts for more with many."""
        return self.people if self.differ else None


class Expected(NamedTuple):
    """The variance of each row of the result, and the most that differences between levels may put it off."""

    variance: FloatArray
    bias: FloatArray

    @classmethod
    def decoded(cls, linear: Linear, people: float, scale: float = 1.0) -> "Expected":
        """Return what so many people give, in another unit if there is one."""
        return cls(scale**2 * linear.variance() * linear.reports / people, scale * linear.bias)

    def half_width(self, reach: float) -> FloatArray:
        """Return half the width of each interval that reaches so many standard errors where there is no bias."""
        error = np.sqrt(self.variance)
        bias = np.divide(self.bias, error, out=np.zeros_like(error), where=error > 0)
        return np.asarray(error * biased_reach(reach, bias))


@dataclass(frozen=True, eq=False)
class Family:
    """Shares that depend on one number from 0 to 1, to look for the worst among, and words for them."""

    shares: Callable[[float], FloatArray]
    words: Callable[[float], str]


class PlannedKind(ABC, Generic[Q]):
    """The result of a question of one kind, before anybody is asked."""

    options: ClassVar[str] = "answers"
    """What people choose from, in a word."""

    @abstractmethod
    def shares(self, question: Q, given: Given) -> FloatArray:
        """Return the shares assumed of labels or buckets, plausible ones by default; refuse those that are none."""

    @abstractmethod
    def guess(self, question: Q) -> str:
        """Say which shares are assumed where none are given."""

    @abstractmethod
    def earlier(self, question: Q, entry: Mapping[str, Any]) -> Given:
        """Return the shares of an earlier result of this kind, given as plain data."""

    @abstractmethod
    def families(self, question: Q) -> Sequence[Family]:
        """Return the shares among which the worst ones are."""

    @abstractmethod
    def rows(self, question: Q, shares: FloatArray) -> dict[str, float]:
        """Return what is estimated, with its value if these shares are true."""

    @abstractmethod
    def one_report(self, question: Q, channel: Channel, shares: FloatArray) -> OneReport:
        """Return what one report of this channel says."""

    def special(self, question: Q) -> str | None:
        """Say what is special about the question where other designs cannot be compared with it; `None` if they can."""
        return None

    def rivals(self, question: Q, channel: Channel) -> tuple[str, ...]:
        """Return the mechanisms that could take the place of this channel's."""
        return ()

    def rival(self, question: Q, name: str, level: int) -> Channel:
        """Build the channel of another mechanism for a level."""
        return build(name, question.size, question.levels[level].micro_epsilon)

    def rescale(self, question: Q, channel: Channel, budgets: tuple[Micro, ...]) -> Channel:
        """Build a channel again with other budgets: one, or one per value."""
        return build(channel.mechanism, channel.size, budgets if len(budgets) > 1 else budgets[0])

    def advice(self, question: Q, levels: Sequence[Mapping[str, float]]) -> str | None:
        """Say what would be better, given the standard error of each mechanism at every level; `None` if nothing is."""
        return None

    def remarks(self, question: Q) -> tuple[str, ...]:
        """Say what a reader of the errors should know, a sentence each."""
        return ()

    def unit(self, question: Q) -> str:
        """Return what rows are measured in."""
        return SHARE

    def reach(self, question: Q) -> float:
        """Return the difference between the largest and the smallest value that a row can have."""
        return 1.0

    def expected_counts(self, question: Q, channel: Channel, reports: float, shares: FloatArray) -> Any:
        """Return the counts that reports of a level have on average, where they show a distribution; else `None`."""
        return None

    def hidden(self, question: Q, levels: Hidden, shares: FloatArray) -> Expected:
        """Return what to expect where levels are hidden."""
        raise PlanError(f"question {question.name!r} cannot be planned with hidden levels: {question.hideable()}")


def normalise(question: Question, given: object, size: int) -> FloatArray:
    """Return shares that sum to 1."""
    shares = as_numbers(question, given)
    if shares.shape != (size,) or not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
        raise PlanError(f"shares of {question.name} must be {size} finite numbers, none negative, not all zero")
    return np.asarray(shares / shares.sum())


def order_shares(question: Question, labels: Sequence[str], given: object) -> object:
    """Return shares in the order of the labels; labels that are left out have none."""
    if not isinstance(given, Mapping):
        return given
    if not given.keys() <= set(labels):
        raise PlanError(f"shares of {question.name} must name its labels only: {', '.join(labels[:20])}")
    return [given.get(label, 0.0) for label in labels]


def as_numbers(question: Question, given: object) -> FloatArray:
    """Return numbers as an array; refuse words and other things."""
    try:
        return np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise PlanError(f"shares of {question.name} must be numbers, or {EQUAL!r}") from None


def earlier_rows(question: Question, entry: Mapping[str, Any]) -> dict[str, float]:
    """Return the labels and estimates of an earlier result of the same kind; refuse what is none."""
    if entry.get("kind") != question.kind:
        other = f"of kind {entry.get('kind')}" if isinstance(entry.get("kind"), str) else "of no kind"
        raise PlanError(
            f"shares of {question.name}: the earlier result is {other}, and the question is {question.kind}"
        )
    try:
        found = {str(row["label"]): float(row["estimate"]) for row in entry["rows"]}
    except (KeyError, TypeError, ValueError):
        rule = "must have rows, each with a label and an estimate, as pldp estimate --json writes them"
        raise PlanError(f"shares of {question.name}: the earlier result {rule}") from None
    if not found or not np.isfinite(list(found.values())).all():
        raise PlanError(f"shares of {question.name}: the earlier result must have finite estimates")
    return found


def disproportion(question: Choice | Choices) -> str | None:
    """Say where the budgets of labels are not the same fractions at every level: no other ε follows from them."""
    return None if question.proportional else "gives its labels other fractions of ε at other levels"


def unprotected_labels(question: Choice | Choices) -> tuple[str, ...]:
    """Say which labels have no protection at any level, and what their errors are then."""
    rows = [question.promises(level) for level in range(len(question.levels))]
    pairs = zip(question.values, zip(*rows, strict=True), strict=False) if question.budgets else ()
    names = [repr(label) for label, budgets in pairs if all(budget == math.inf for budget in budgets)]
    if not names:
        return ()
    listed = ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")
    have = "is not protected: its error comes" if len(names) == 1 else "are not protected: their errors come"
    return (f"{listed} {have} from who is asked and from other labels, not from noise",)
