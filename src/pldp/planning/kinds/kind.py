"""What a kind of question must offer so that its errors can be planned."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from pldp.errors import PlanError
from pldp.mechanisms import Channel, PureChannel, build
from pldp.mechanisms.arrays import FloatArray, Numbers
from pldp.survey import Question

Q = TypeVar("Q", bound=Question)

Given = Sequence[float] | Mapping[str, float] | None
"""Shares that a user assumes: one per label or bucket, or by label; `None` where nothing is known."""

SHARE = "share"
"""Unit of what is a part of the people."""


@dataclass(frozen=True, eq=False)
class OneReport:
    """What one report of a channel says about each row of the result."""

    variance: FloatArray  # of the unbiased estimate of each row, if the assumed shares are true
    pooled_by: Numbers  # the variance that the weights of levels are computed from, for all rows or for each
    forged: Numbers  # the most that a forged report can count as, in all rows or in each


class PlannedKind(ABC, Generic[Q]):
    """The result of a question of one kind, before anybody is asked."""

    @abstractmethod
    def shares(self, question: Q, given: Given) -> FloatArray:
        """Return the shares assumed of labels or buckets; refuse those that are none."""

    @abstractmethod
    def rows(self, question: Q, shares: FloatArray) -> dict[str, float]:
        """Return what is estimated, with its value if these shares are true."""

    @abstractmethod
    def one_report(self, question: Q, channel: Channel, shares: FloatArray) -> OneReport:
        """Return what one report of this channel says."""

    @abstractmethod
    def special(self, question: Q) -> str | None:
        """Say what is special about the question where other designs cannot be compared with it; `None` if they can."""

    def rivals(self, question: Q, channel: Channel) -> tuple[str, ...]:
        """Return the mechanisms that could take the place of this channel's."""
        return ()

    def rival(self, question: Q, name: str, level: int) -> Channel:
        """Build the channel of another mechanism for a level."""
        return build(name, question.size, question.levels[level].micro_epsilon)

    def advice(self, question: Q, levels: Sequence[Mapping[str, float]]) -> str | None:
        """Say what would be better, given the standard error of each mechanism at every level; `None` if nothing is."""
        return None

    def unit(self, question: Q) -> str:
        """Return what rows are measured in."""
        return SHARE

    def reach(self, question: Q) -> float:
        """Return the difference between the largest and the smallest value that a row can have."""
        return 1.0

    def hidden_variance(
        self, question: Q, label_channel: PureChannel, mix: FloatArray, reports: float, shares: FloatArray
    ) -> FloatArray:
        """Return the variance of each row where levels are hidden behind this label."""
        raise PlanError(f"question {question.name!r} cannot be planned with hidden levels: {question.hideable()}")


def normalise(question: Question, given: Sequence[float] | None, size: int) -> FloatArray:
    """Return shares that sum to 1: the given ones, or equal ones."""
    if given is None:
        return np.full(size, 1 / size)
    shares = np.asarray(given, np.float64)
    if shares.shape != (size,) or not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
        raise PlanError(f"shares of {question.name} must be {size} finite numbers, none negative, not all zero")
    return np.asarray(shares / shares.sum())


def order_shares(question: Question, labels: Sequence[str], given: Given) -> Sequence[float] | None:
    """Return shares in the order of the labels; labels that are left out have none."""
    if not isinstance(given, Mapping):
        return given
    if not given.keys() <= set(labels):
        raise PlanError(f"shares of {question.name} must name its labels only: {', '.join(labels[:20])}")
    return [float(given.get(label, 0.0)) for label in labels]
