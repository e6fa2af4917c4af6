"""Numbers in a table: people are counted by ranges, though every report only says roughly where a number is.

The inverse of a channel for numbers, bucket by bucket, is far too noisy. What a table needs is less: how the other
answer goes with the number. Let d be the fitted distribution of the number, and

    Pr(number = t and other answer = j) = d(t)·g_j(t),        g_j(t) = Σ_m β_jm h_m(t),

where h_m are hat functions: between knots at equal distances g_j is a straight line. If both answers are independent,
g_j is constant, whatever d is. Least squares give β from the marks of reports, and with it the share of every range:
linear weights W of the marks.

The weights are unbiased where g_j is straight between knots. If it jumps by 1 at one place, the share of a range is
wrong by at most `jump_bias`, which is computed exactly, for the worst place; every g_j is a sum of jumps, so that the
bias is at most `jump_bias` times the sum of its rises and falls. The more knots, the less bias and the more noise: as
many are taken as make the standard error with that of a jump of `TYPICAL_JUMP` smallest, so more with more reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.numbers.density import Density
from pldp.estimates.numbers.profile import Profile
from pldp.estimates.tables.axes import Axis, ExclusiveAxis, _of_one_mark
from pldp.mechanisms.arrays import FloatArray, NumberArrays, output_groups
from pldp.records import Record

PARTS: Final = 4
"""Ranges of equal width where nobody names others."""

TYPICAL_JUMP: Final = 0.2
"""A jump of the other answer's share along the number that the number of knots guards against."""

KNOTS: Final = (2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65)
"""Numbers of knots to choose from."""

_DARK: Final = 1e-9
"""Part of the largest eigenvalue below which a direction of the least squares counts as unknown."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """Neighbouring ranges of a number between these edges, over buckets with these fitted shares.

    `root` is a root of the covariance of the shares, buckets × any number.
    """

    edges: FloatArray
    bounds: tuple[float, float]
    shares: FloatArray
    root: FloatArray

    @classmethod
    def of(cls, name: str, fitted: Density, edges: Sequence[float] | None) -> Ranges:
        """Take ranges between edges from bound to bound; without any, a few of equal width."""
        (low, high), shares = fitted.bounds, fitted.shares
        errors = fitted.smooth or fitted  # of a rough density only the smooth one has errors
        given = np.linspace(low, high, PARTS + 1) if edges is None else np.asarray(edges, np.float64)
        if given.ndim != 1 or len(given) < 2 or not np.isfinite(given).all() or (np.diff(given) <= 0).any():
            raise EstimateError(f"ranges: edges of {name!r} must be two or more rising numbers, such as 0, 10, 50")
        if given[0] != low or given[-1] != high:
            raise EstimateError(
                f"ranges: edges of {name!r} must go from {low:g} to {high:g}, as people answer between these bounds, "
                f"not from {given[0]:g} to {given[-1]:g}"
            )
        if len(given) - 1 > len(shares):
            raise EstimateError(
                f"ranges: {name!r} has {len(shares)} buckets, which cannot make {len(given) - 1} ranges"
            )
        return cls(given, fitted.bounds, shares, errors.shares[:, None] * errors.log_root)

    @property
    def labels(self) -> tuple[str, ...]:
        """The ranges by their ends."""
        return tuple(f"{low:.10g} to {high:.10g}" for low, high in pairwise(self.edges.tolist()))

    @cached_property
    def member(self) -> FloatArray:
        """Part of every bucket in every range, ranges × buckets."""
        ends = np.linspace(*self.bounds, len(self.shares) + 1)
        low, high = self.edges[:-1, None], self.edges[1:, None]
        inside = np.minimum(ends[1:], high) - np.maximum(ends[:-1], low)
        return np.asarray(np.clip(inside, 0, None) / np.diff(ends))

    @cached_property
    def inside(self) -> FloatArray:
        """Share of every bucket in its range, ranges × buckets; a range without people counts as evenly filled."""
        held = self.member * self.shares
        sums = held.sum(axis=1, keepdims=True)
        even = self.member / self.member.sum(axis=1, keepdims=True)
        return np.asarray(np.where(sums > 0, held / np.where(sums > 0, sums, 1), even))

    @cached_property
    def sums(self) -> FloatArray:
        """Share of every range."""
        return np.asarray(self.member @ self.shares)

    def hats(self, knots: int) -> FloatArray:
        """Return hat functions at so many knots of equal distance, knots × buckets."""
        places = (np.arange(len(self.shares)) + 0.5) / len(self.shares)
        return np.array([np.interp(places, np.linspace(0, 1, knots), unit) for unit in np.eye(knots)])


@dataclass(frozen=True, eq=False, repr=False)
class RangeReach(Record):
    """Where the share of every range can be, whatever the distribution of the number is.

    The fitted distribution is smooth: an atom beside an edge it spreads over both ranges, by more than its errors say.
    """

    profile: Profile
    edges: tuple[float, ...]

    def ends(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest share of every range."""
        found = [self.profile.range(low, high, confidence) for low, high in pairwise(self.edges)]
        low, high = np.array(found).T
        return low, high


class RangeAxis(ExclusiveAxis):
    """The ranges of a number at one level: a report marks the group of its output."""

    def __init__(self, form: NumberArrays, ranges: Ranges, knots: int) -> None:
        self.form = form
        self.ranges = ranges
        self.knots = knots

    @property
    def size(self) -> int:
        return len(self.ranges.edges) - 1

    @cached_property
    def chances(self) -> FloatArray:
        """Probability of every mark given every bucket, marks × buckets."""
        table = self.form.pieces().table()[:-1]
        group = output_groups(len(table))
        return np.asarray(np.add.reduceat(table, np.flatnonzero(np.diff(group, prepend=-1))))

    @cached_property
    def _weights(self) -> FloatArray:
        """W: what a mark counts for every range, ranges × marks."""
        ranges, hats = self.ranges, self.ranges.hats(self.knots)
        seen = self.chances @ (ranges.shares * hats).T
        spread = np.maximum(self.chances @ ranges.shares, 1e-300)
        values, vectors = np.linalg.eigh(seen.T @ (seen / spread[:, None]))
        known = values > _DARK * values[-1]
        inverse = (vectors[:, known] / values[known]) @ vectors[:, known].T
        return np.asarray((ranges.member * ranges.shares) @ hats.T @ inverse @ (seen / spread[:, None]).T)

    @cached_property
    def decoder(self) -> FloatArray:
        return np.concatenate([self._weights, np.zeros((self.size, 1))], axis=1)

    def crossed(self, other: Axis) -> FloatArray:
        return _of_one_mark(self.decoder, other.decoder)

    @cached_property
    def _likely(self) -> FloatArray:
        """Probability of every mark given every range, marks × ranges."""
        return np.asarray(self.chances @ self.ranges.inside.T)

    @cached_property
    def given(self) -> FloatArray:
        found = np.zeros((self.size, len(self._likely) + 1, len(self._likely) + 1))
        for own, chances in zip(found, self._likely.T, strict=True):
            np.fill_diagonal(own[:-1, :-1], chances)
            own[-1, :-1] = own[:-1, -1] = chances
            own[-1, -1] = 1
        return found

    @property
    def manipulation(self) -> float:
        return float(self._weights.max())

    def expected(self, shares: FloatArray) -> FloatArray:
        return np.concatenate([self._likely @ shares[:-1], shares[-1:]])

    @cached_property
    def unexplained(self) -> FloatArray:
        """How an error of the fitted distribution d moves the share of every range: ranges × columns of its root.

        If both answers are independent, an error δ of d moves it by (member − WQ)δ: what knots can follow is made good.
        """
        return np.asarray((self.ranges.member - self._weights @ self.chances) @ self.ranges.root)

    @cached_property
    def noise(self) -> float:
        """The largest variance of a report's weight."""
        spread = self.chances @ self.ranges.shares
        return float((self._weights**2 @ spread).max())

    @cached_property
    def jump_bias(self) -> float:
        """The largest bias of a range's share if the other answer's share jumps by 1 at the worst place.

        Half of a jump is a constant, which has no bias; what is left is the same for a jump up and one down.
        """
        off = (self._weights @ self.chances - self.ranges.member) * self.ranges.shares
        return float(np.abs(np.cumsum(off, axis=1)).max())


def range_axes(forms: Sequence[NumberArrays], ranges: Ranges, reports: Sequence[float]) -> list[RangeAxis]:
    """Return the axis of every level, with knots for so many reports of each, the same for all levels.

    Levels are weighed by their precision.
    """
    outputs = max(form.channel.form.count for form in forms)
    most = min(outputs, len(ranges.shares) // 2 + 1)
    parts = len(ranges.edges) - 1
    if outputs < parts:
        raise EstimateError(f"reports of {outputs} outputs tell at most {outputs} ranges apart, not {parts}")
    best: tuple[float, list[RangeAxis]] | None = None
    for knots in (each for each in KNOTS if each <= max(2, most)):
        axes = [RangeAxis(form, ranges, knots) for form in forms]
        precision = [n / axis.noise for axis, n in zip(axes, reports, strict=True)]
        bias = sum(p * axis.jump_bias for axis, p in zip(axes, precision, strict=True)) / sum(precision)
        risk = 1 / sum(precision) + (TYPICAL_JUMP * bias) ** 2
        if best is None or risk < best[0]:
            best = risk, axes
    assert best is not None  # noqa: S101 - two knots are always tried
    return best[1]
