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

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.kinds.cells import Cells
from pldp.estimates.kinds.sides import Margin, Side
from pldp.estimates.likelihood.density import Density
from pldp.estimates.likelihood.misfit import Reported
from pldp.estimates.likelihood.profile import Profile, ShareProfile
from pldp.estimates.linear.patterns import Patterns
from pldp.estimates.linear.pooling import Linear
from pldp.estimates.results.facts import Homogeneity
from pldp.mechanisms.arrays import FloatArray, NumberArrays, output_groups
from pldp.tallies import Fused

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


@dataclass(frozen=True, eq=False)
class RangeLevel:
    """The ranges of a number at one level: a report shows the group of its output."""

    form: NumberArrays
    ranges: Ranges
    knots: int

    @cached_property
    def chances(self) -> FloatArray:
        """Probability of every output given every bucket, outputs × buckets."""
        table = self.form.pieces().table()[:-1]
        group = output_groups(len(table))
        return np.asarray(np.add.reduceat(table, np.flatnonzero(np.diff(group, prepend=-1))))

    @cached_property
    def weights(self) -> FloatArray:
        """W: what an output counts for every range, ranges × outputs."""
        ranges, hats = self.ranges, self.ranges.hats(self.knots)
        seen = self.chances @ (ranges.shares * hats).T
        spread = np.maximum(self.chances @ ranges.shares, 1e-300)
        scaled = (seen / spread[:, None]).T
        inverse = np.linalg.pinv(scaled @ seen, rcond=_DARK, hermitian=True)
        return np.asarray((ranges.member * ranges.shares) @ hats.T @ inverse @ scaled)

    @cached_property
    def likely(self) -> FloatArray:
        """Probability of every output given every range, ranges × outputs."""
        return np.asarray(self.ranges.inside @ self.chances.T)

    @cached_property
    def unexplained(self) -> FloatArray:
        """How an error of the fitted distribution d moves the share of every range: ranges × columns of its root.

        If both answers are independent, an error δ of d moves it by (member − WQ)δ: what knots can follow is made good.
        """
        return np.asarray((self.ranges.member - self.weights @ self.chances) @ self.ranges.root)

    @cached_property
    def noise(self) -> float:
        """The largest variance of a report's weight."""
        spread = self.chances @ self.ranges.shares
        return float((self.weights**2 @ spread).max())

    @cached_property
    def jump_bias(self) -> float:
        """The largest bias of a range's share if the other answer's share jumps by 1 at the worst place.

        Half of a jump is a constant, which has no bias; what is left is the same for a jump up and one down.
        """
        off = (self.weights @ self.chances - self.ranges.member) * self.ranges.shares
        return float(np.abs(np.cumsum(off, axis=1)).max())


def range_levels(forms: Sequence[NumberArrays], ranges: Ranges, reports: Sequence[float]) -> list[RangeLevel]:
    """Return the ranges at every level, with knots for so many reports of each, the same for all levels.

    Levels are weighed by their precision.
    """
    outputs = max(form.channel.form.count for form in forms)
    most = min(outputs, len(ranges.shares) // 2 + 1)
    parts = len(ranges.edges) - 1
    if outputs < parts:
        raise EstimateError(f"reports of {outputs} outputs tell at most {outputs} ranges apart, not {parts}")
    best: tuple[float, list[RangeLevel]] | None = None
    for knots in (each for each in KNOTS if each <= max(2, most)):
        levels = [RangeLevel(form, ranges, knots) for form in forms]
        precision = [n / level.noise for level, n in zip(levels, reports, strict=True)]
        bias = sum(p * level.jump_bias for level, p in zip(levels, precision, strict=True)) / sum(precision)
        risk = 1 / sum(precision) + (TYPICAL_JUMP * bias) ** 2
        if best is None or risk < best[0]:
            best = risk, levels
    assert best is not None  # noqa: S101 - two knots are always tried
    return best[1]


@dataclass(frozen=True, eq=False, kw_only=True)
class RangeSide(Side):
    """A number by ranges; `levels` have knots for some number of reports."""

    levels: Sequence[RangeLevel]
    reports: Fused | Reported

    @classmethod
    def of(cls, margin: Margin, forms: Sequence[NumberArrays], ranges: Ranges, reports: Fused | Reported) -> RangeSide:
        """Start with knots for one report: how many those of a table are worth is known when all its questions are."""
        return cls(margin=margin, levels=range_levels(forms, ranges, [1.0] * len(forms)), reports=reports)

    @property
    def ranges(self) -> Ranges:
        """The ranges."""
        return self.levels[0].ranges

    @cached_property
    def outputs(self) -> int:
        """Groups of outputs of the level that has most."""
        return max(len(level.chances) for level in self.levels)

    def _padded(self, table: FloatArray) -> FloatArray:
        """Add outputs that a level does not have."""
        return np.pad(table, ((0, 0), (0, self.outputs - table.shape[1])))

    @cached_property
    def patterns(self) -> Patterns:
        """A report shows an output, which is as likely inside and outside of each range as the fitted curve says."""
        sums = self.ranges.sums
        others = np.maximum(sums - np.diag(sums), np.finfo(np.float64).tiny)  # ranges but one, for each
        np.fill_diagonal(others, 0.0 if len(sums) > 1 else 1.0)
        others /= others.sum(axis=1, keepdims=True)
        laws = [self._padded(level.likely) for level in self.levels]
        weights = np.array([self._padded(level.weights) for level in self.levels])
        law = np.array([np.stack([others @ own, own], axis=1) for own in laws])
        return Patterns.weighted(law, np.stack([1 - weights, weights], axis=1))

    def read(self, marks: FloatArray, level: int) -> FloatArray:
        """Return how many reports show each output, for every range alike."""
        del level
        own = np.concatenate([marks[:-1], np.zeros((self.outputs + 1 - len(marks), *marks.shape[1:]))])
        return np.broadcast_to(own, (self.size, *own.shape))

    @property
    def functionals(self) -> FloatArray:
        """What an output counts at every level, and 1: ranges × (levels and 1) × outputs."""
        weights = self.patterns.weights[:, 1]
        return np.concatenate([np.swapaxes(weights, 0, 1), np.ones((self.size, 1, self.outputs))], axis=1)

    def given(self, level: int) -> FloatArray:
        """Return the mean products over the outputs of each range."""
        functionals = self.functionals.reshape(-1, self.outputs)
        return np.array([(functionals * law) @ functionals.T for law in self._padded(self.levels[level].likely)])

    def assumptions(self) -> tuple[str, ...]:
        """Return how far apart knots are, and what a jump between them does."""
        step = (self.ranges.bounds[1] - self.ranges.bounds[0]) / (self.levels[0].knots - 1)
        worst = 10 * max(level.jump_bias for level in self.levels)
        return (
            f"along {self.margin.question!r} the shares of other answers change in a straight line between points "
            f"{step:.3g} apart; a jump of 10 percentage points at the worst place moves a share by {worst:.2g} points",
        )

    def reach(self, *, apart: bool) -> tuple[ShareProfile, ...]:
        """Return where the share of every range can be, whatever the distribution is.

        The fitted one is smooth: an atom beside an edge it spreads over both ranges, by more than its errors say.
        """
        profile = Profile(self.reports, apart=apart)
        return tuple(profile.between(low, high) for low, high in pairwise(self.ranges.edges.tolist()))


def with_knots(cells: Cells) -> Cells:
    """Take as many knots as the reports of a table are worth: fewer where other answers are noisy."""
    people = [np.zeros(len(side.noise)) for side in cells.sides]
    for shown, own in cells.marked.items():
        for counts, level in zip(people, shown, strict=True):
            counts[level] += own.flat[-1]
    noise = [float(own.sum() / (own / side.noise).sum()) for own, side in zip(people, cells.sides, strict=True)]
    sides = list(cells.sides)
    for place, side in enumerate(sides):
        if isinstance(side, RangeSide):
            worth = np.maximum(people[place] / math.prod(noise[:place] + noise[place + 1 :]), 1.0)
            forms = [level.form for level in side.levels]
            sides[place] = replace(side, levels=range_levels(forms, side.ranges, worth.tolist()))
    return replace(cells, sides=tuple(sides))


def fit_variance(cells: Cells, linear: Linear, augmented: FloatArray) -> FloatArray:
    """Return what errors of fitted distributions of numbers add to the variance of every cell.

    An error δ moves "level τ, in range i" by ρ_τ·u_τi δ, and "not in range i" by as much the other way.
    """
    total = np.zeros(cells.shape)
    for place, side in enumerate(cells.sides):
        if isinstance(side, RangeSide):
            others = cells.only([axis for axis in range(len(cells.sides)) if axis != place])
            beside = np.clip(np.take(augmented, -1, axis=place), 0, 1)
            counts = np.einsum("iolx,ox->iol", _by_range(cells, linear, place), others.states_of(beside))
            levels = [cells.levels(place)[level] for level in linear.evidence.levels]
            moves = np.array([side.levels[level].unexplained for level in levels])
            error = np.einsum("iol,l,lic->ioc", counts, linear.evidence.mix, moves)
            own = (error**2).sum(axis=2).reshape(side.size, *others.shape)
            total += np.moveaxis(own, 0, place)
    return total


def _by_range(cells: Cells, linear: Linear, place: int) -> FloatArray:
    """Return what being in a range counts more than not: ranges × other cells × levels × states of other questions."""
    count, states = len(cells.sides), [side.patterns.states for side in cells.sides]
    weights = np.zeros((*linear.weights.shape[:2], math.prod(states)))
    weights[..., -linear.weights.shape[2] :] = linear.weights
    table = np.moveaxis(weights.reshape(*cells.shape, -1, *states), (place, count + 1 + place), (0, -1))
    more = table[..., 1] - table[..., 0]
    return more.reshape(cells.shape[place], math.prod(cells.shape) // cells.shape[place], weights.shape[1], -1)


def bend_tests(cells: Cells, linear: Linear) -> dict[str, Homogeneity]:
    """Test, number by number, whether shares of other answers change in a straight line along it.

    With about twice as many knots the same reports make other, noisier shares. Where the assumption holds, the
    difference of both has the mean 0, and its variance is that of the difference of their ψ. The worst cell counts
    (Bonferroni).
    """
    tests, plain = {}, replace(cells, bounds=None)
    for place, side in enumerate(cells.sides):
        if isinstance(side, RangeSide):
            finer = replace(side, levels=[replace(level, knots=2 * level.knots - 1) for level in side.levels])
            sides = (*cells.sides[:place], finer, *cells.sides[place + 1 :])
            own, other = (each.decode(linear.pool)[0] for each in (plain, replace(plain, sides=sides)))
            evidence = own.evidence
            apart = np.swapaxes(other.psi - own.psi, 0, 1).reshape(evidence.targets, -1)
            chances = evidence.expected(slice(0, evidence.targets), own.states, evidence.possible_mix)
            variance = (chances * apart**2).sum(axis=1) / own.reports
            statistic = (other.plain - own.plain) ** 2 / np.maximum(variance, np.finfo(np.float64).tiny)
            tests[side.margin.question] = Homogeneity.of(float(statistic.max()), 1, tests=statistic.size)
    return tests
