"""What a question of any kind brings to a table: its own shares, and an axis for each of its levels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.numbers.misfit import Reported
from pldp.estimates.numbers.profile import Profile
from pldp.estimates.result import Homogeneity, Note
from pldp.estimates.tables.axes import Axis
from pldp.estimates.tables.ranges import RangeAxis, RangeReach, Ranges, range_axes
from pldp.mechanisms.arrays import FloatArray, NumberArrays
from pldp.records import Record
from pldp.tallies import Fused


@dataclass(frozen=True, eq=False, repr=False)
class Margin(Record):
    """A question on its own: `shares` of its `values`, those that could be true (`possible`), its reports and test.

    Where it is `exclusive`, every person has exactly one of the values; otherwise any number of them.
    """

    question: str
    values: tuple[str, ...]
    shares: FloatArray
    possible: FloatArray
    reports: int
    exclusive: bool = True
    notes: tuple[Note, ...] = ()
    homogeneity: Homogeneity | None = None

    def consistent(self) -> FloatArray:
        """Return the shares that could be true."""
        return self.possible.copy()


@dataclass(frozen=True, eq=False)
class Side(ABC):
    """One question of a table."""

    margin: Margin

    @abstractmethod
    def axes(self, reports: Sequence[float]) -> Sequence[Axis]:
        """Return the axis of each level, given how many noiseless reports those of each level are about worth."""

    def assumptions(self, axes: Sequence[Axis]) -> tuple[str, ...]:
        """Return what its shares assume to be unbiased."""
        del axes
        return ()

    def reach(self, *, apart: bool) -> RangeReach | None:
        """Return where its shares can be, if that is farther than their errors say.

        With `apart` people of every level may have a distribution of their own.
        """
        del apart
        return None

    def by_size(self) -> Side | None:
        """Return the same question with its levels pooled by size, where that was computed along with it."""
        return None


@dataclass(frozen=True, eq=False)
class PlainSide(Side):
    """A question whose axes depend on its channels alone; `beside` is its margin pooled by size, if it is known."""

    built: Sequence[Axis]
    beside: Margin | None = None

    def by_size(self) -> PlainSide | None:
        return None if self.beside is None else replace(self, margin=self.beside, beside=None)

    def axes(self, reports: Sequence[float]) -> Sequence[Axis]:
        del reports
        return self.built


@dataclass(frozen=True, eq=False)
class NumberSide(Side):
    """A number by ranges."""

    forms: Sequence[NumberArrays]
    ranges: Ranges
    reports: Fused | Reported

    def reach(self, *, apart: bool) -> RangeReach:
        return RangeReach(Profile(self.reports, apart=apart), tuple(self.ranges.edges.tolist()))

    def axes(self, reports: Sequence[float]) -> Sequence[Axis]:
        return range_axes(self.forms, self.ranges, reports)

    def assumptions(self, axes: Sequence[Axis]) -> tuple[str, ...]:
        own = [axis for axis in axes if isinstance(axis, RangeAxis)]
        step = (self.ranges.bounds[1] - self.ranges.bounds[0]) / (own[0].knots - 1)
        worst = 10 * max(axis.jump_bias for axis in own)
        return (
            f"along {self.margin.question!r} the shares of other answers change in a straight line between points "
            f"{step:.3g} apart; a jump of 10 percentage points at the worst place moves a share by {worst:.2g} points",
        )


def possible_shares(shares: FloatArray) -> FloatArray:
    """Return shares of items that could be true: each between 0 and 1."""
    return np.clip(shares, 0.0, 1.0)


def refuse_ranges(name: str, kind: str, edges: Sequence[float] | None) -> None:
    """Refuse edges of ranges for what is no number."""
    if edges is not None:
        raise EstimateError(f"ranges are for numbers; question {name!r} is of kind {kind}")
