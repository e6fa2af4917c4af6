"""What a question brings to a table: its margin, and what its reports show of each of its values.

A *value* of a choice is a label, of a set an item, of a number a range. Of each a report shows one of a few patterns
(`pldp.estimates.linear.patterns`), made of the marks that tallies of several questions count. Tables of shares are
*augmented*: behind the values of every question stands everybody, the whole, so that one array holds the shares of all
combinations of fewer questions as well.

**Numbers.** The inverse of a channel for numbers, bucket by bucket, is far too noisy. What a table needs is less: how
the other answer goes with the number. Let d be the fitted distribution of the number, and

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

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.likelihood.density import Density
from pldp.estimates.likelihood.misfit import Reported
from pldp.estimates.likelihood.profile import Profile, ShareProfile
from pldp.estimates.linear.patterns import Patterns, as_patterns, item_patterns, label_patterns, label_states
from pldp.estimates.results.facts import Facts, Homogeneity, Note
from pldp.mechanisms.arrays import FloatArray, LabelArrays, NumberArrays, SetArrays, output_groups
from pldp.records import Record
from pldp.tallies import Fused

PARTS: Final = 4
"""Ranges of equal width where nobody names others."""

TYPICAL_JUMP: Final = 0.2
"""A jump of the other answer's share along the number that the number of knots guards against."""

KNOTS: Final = (2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65)
"""Numbers of knots to choose from."""

_DARK: Final = 1e-9
"""Part of the largest eigenvalue below which a direction of the least squares counts as unknown."""


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

    @classmethod
    def of(
        cls, own: Facts, values: tuple[str, ...], shares: FloatArray, possible: FloatArray, *, exclusive: bool = True
    ) -> Margin:
        """Take the shares of a result."""
        return cls(own.question, values, shares, possible, own.reports, exclusive, own.notes, own.homogeneity)

    def consistent(self) -> FloatArray:
        """Return the shares that could be true."""
        return self.possible.copy()

    def alone(self) -> list[Margin]:
        """Return what every person has exactly one value of: the question itself, or whether they have each item."""
        if self.exclusive:
            return [self]
        has = zip(self.values, np.stack([self.possible, 1 - self.possible], axis=1), strict=True)
        return [
            replace(self, values=(name, f"not {name}"), shares=own, possible=own, exclusive=True) for name, own in has
        ]


@dataclass(frozen=True, eq=False, kw_only=True)
class Side(ABC):
    """One question of a table."""

    margin: Margin

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.margin.values)

    @property
    @abstractmethod
    def patterns(self) -> Patterns:
        """The law of what reports show of every value, and what it counts, at all levels; every report is 1 in all."""

    @abstractmethod
    def read(self, marks: FloatArray, level: int) -> FloatArray:
        """Return counts of patterns (values × patterns × …) from those of marks (marks and the whole × …)."""

    @property
    def functionals(self) -> FloatArray:
        """What patterns count in the functionals of each value, values × functionals × patterns: each alone."""
        return np.tile(np.eye(self.patterns.whole.shape[2]), (self.size, 1, 1))

    @property
    def likely(self) -> FloatArray:
        """Probability of every pattern given each of exclusive values, which share them: levels × values × patterns."""
        raise EstimateError("items of a set are not exclusive: look at one item at a time")

    def given(self, level: int) -> FloatArray:
        """Return the mean products of two `functionals` of all values, given each of exclusive values: values first."""
        functionals = np.concatenate(self.functionals)
        return np.array([(functionals * law) @ functionals.T for law in self.likely[level]])

    def states(self, augmented: FloatArray) -> FloatArray:
        """Return the shares of states, values × states × …, given those of values (values and the whole × …)."""
        return np.stack([augmented[-1:] - augmented[:-1], augmented[:-1]], axis=1)

    @property
    def noise(self) -> FloatArray:
        """The mean square of what a report counts for a value, at each level, before anything is known of shares."""
        equal = np.full(self.size, 1 / self.size if self.margin.exclusive else 0.5)
        law, states = np.asarray(self.patterns.law), self.states(np.append(equal, 1.0))
        chances = np.einsum("tixc,ix->tic", law, states)
        return np.asarray((chances * self.patterns.weights[:, -1] ** 2).sum(axis=2).mean(axis=1))

    def assumptions(self) -> tuple[str, ...]:
        """Return what its shares assume to be unbiased."""
        return ()

    def reach(self, *, apart: bool) -> tuple[ShareProfile, ...]:
        """Return where its shares can be, if that is farther than errors say, with levels that are alike or `apart`."""
        del apart
        return ()

    def items(self) -> list[tuple[tuple[str, ...], Side]]:
        """Return the sides of which every person has exactly one value, by their names: itself, or one per item."""
        return [((), self)]


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelSide(Side):
    """The labels of a choice: a report marks those that it supports."""

    forms: Sequence[LabelArrays]

    @cached_property
    def patterns(self) -> Patterns:
        found, size = label_patterns(self.forms), self.size
        law, weights = np.asarray(found.law), found.weights
        if law.shape[2] > 2:
            # Labels of tiers: another label is of any tier, as likely as the question alone says.
            states = label_states(self.forms, self.margin.possible)[:, None, :-1]
            others = states / np.maximum(states.sum(axis=2, keepdims=True), np.finfo(np.float64).tiny)
            law = np.concatenate([others @ law[:, :, :-1], law[:, :, -1:]], axis=2)
        law = np.broadcast_to(law, (len(law), size, *law.shape[2:]))
        return Patterns.weighted(law, np.broadcast_to(weights, (*weights.shape[:2], size, weights.shape[3])))

    def read(self, marks: FloatArray, level: int) -> FloatArray:
        counts = self.forms[level].pattern_counts(marks[:-1], marks[-1:])
        return np.moveaxis(as_patterns(counts, self.patterns.weights.shape[-1]), -1, 1)

    def given(self, level: int) -> FloatArray:
        read = self.read(np.eye(self.size + 1), level).reshape(-1, self.size + 1)
        return np.asarray(read @ self.marks(level) @ read.T)

    def marks(self, level: int) -> FloatArray:
        """Return the mean products of two marks (the whole last), given each label: labels × marks × marks."""
        form, size = self.forms[level], self.size
        units = np.eye(size)
        means = np.concatenate([form.expected_support(units), np.ones((1, size))])
        products = means.T[:, :, None] * means.T[:, None, :]
        # Unbiased shares and marks differ by a linear map, and so do their covariances.
        marks = np.linalg.inv(form.shares(np.eye(size, size + 1), np.eye(size + 1)[-1])[:, :-1])
        products[:, :-1, :-1] += [marks @ form.covariance(unit) @ marks.T for unit in units]
        return np.asarray(products)


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemSide(Side):
    """The items of a set: a report marks those that it shows, and, where not every report tells, those it tells of."""

    forms: Sequence[SetArrays]

    @cached_property
    def patterns(self) -> Patterns:
        without = np.tile([1.0, 0.0], (self.size, 1))  # a report that does not tell counts as one without the item
        return item_patterns(self.forms, np.arange(self.size)[:, None], without)

    def read(self, marks: FloatArray, level: int) -> FloatArray:
        del level
        shown, whole = marks[: self.size], marks[-1:]
        told = marks[self.size : -1] if len(marks) > self.size + 1 else whole + 0 * shown
        return np.stack([told - shown, shown, whole - told][: self.patterns.whole.shape[2]], axis=1)

    def items(self) -> list[tuple[tuple[str, ...], Side]]:
        alone = enumerate(self.margin.alone())
        return [(own.values[:1], OneItem(margin=own, item=self, place=place)) for place, own in alone]


@dataclass(frozen=True, eq=False, kw_only=True)
class OneItem(Side):
    """People who have one item of a set, and all others: both have the same patterns, of which a report shows one."""

    item: ItemSide
    place: int

    @cached_property
    def patterns(self) -> Patterns:
        every = self.item.patterns
        law, weights = np.asarray(every.law)[:, self.place], every.weights[:, :, self.place]
        return Patterns.weighted(np.stack([law, law[:, ::-1]], axis=1), np.stack([weights, weights[:, ::-1]], axis=2))

    def read(self, marks: FloatArray, level: int) -> FloatArray:
        own = self.item.read(marks, level)[self.place]
        return np.broadcast_to(own, (2, *own.shape))

    @property
    def likely(self) -> FloatArray:
        return np.asarray(self.patterns.law)[:, 1]  # of "not the item": the first of its states is "the item"


@dataclass(frozen=True, eq=False, kw_only=True)
class RangeSide(Side):
    """A number by neighbouring ranges between `edges`: a report shows the group of its output.

    `chances` are those of every output given every bucket (levels × outputs × buckets), `member` is the part of every
    bucket in every range (ranges × buckets), `shares` are the fitted ones of the buckets, with a `root` of their
    covariance (buckets × any number); `reports` judge any other distribution.
    """

    edges: FloatArray
    chances: FloatArray
    member: FloatArray
    shares: FloatArray
    root: FloatArray
    reports: Fused | Reported
    knots: int = KNOTS[0]

    @classmethod
    def of(
        cls,
        name: str,
        forms: Sequence[NumberArrays],
        fitted: Density,
        reports: Fused | Reported,
        edges: Sequence[float] | None,
    ) -> RangeSide:
        """Take ranges between edges from bound to bound; without any, a few of equal width."""
        given = np.linspace(*fitted.bounds, PARTS + 1) if edges is None else np.asarray(edges, np.float64)
        _check_edges(name, forms, fitted, given)
        ends = np.linspace(*fitted.bounds, len(fitted.shares) + 1)
        inside = np.minimum(ends[1:], given[1:, None]) - np.maximum(ends[:-1], given[:-1, None])
        member = np.clip(inside, 0, None) / np.diff(ends)
        shares, errors = member @ fitted.shares, fitted.smooth or fitted  # a rough density has no errors
        values = tuple(f"{low:.10g} to {high:.10g}" for low, high in pairwise(given.tolist()))
        return cls(
            margin=Margin(name, values, shares, shares / shares.sum(), fitted.people),
            edges=given,
            chances=_output_chances(forms),
            member=member,
            shares=fitted.shares,
            root=errors.shares[:, None] * errors.log_root,
            reports=reports,
        ).for_reports(np.ones(len(forms)))  # how many those of a table are worth is known with all its questions

    @cached_property
    def likely(self) -> FloatArray:
        """Probability of every output given every range, levels × ranges × outputs."""
        held = self.member * np.maximum(self.shares, 1e-300)  # a range without people counts as evenly filled
        return np.asarray(held / held.sum(axis=1, keepdims=True) @ np.swapaxes(self.chances, 1, 2))

    @property
    def hats(self) -> FloatArray:
        """Hat functions at knots of equal distance, knots × buckets."""
        places = (np.arange(len(self.shares)) + 0.5) / len(self.shares)
        return np.array([np.interp(places, np.linspace(0, 1, self.knots), unit) for unit in np.eye(self.knots)])

    @cached_property
    def weights(self) -> FloatArray:
        """W: what an output counts for every range, levels × ranges × outputs."""
        seen = self.chances @ (self.shares * self.hats).T
        scaled = np.swapaxes(seen / np.maximum(self.chances @ self.shares, 1e-300)[:, :, None], 1, 2)
        inverse = np.linalg.pinv(scaled @ seen, rcond=_DARK, hermitian=True)
        return np.asarray((self.member * self.shares) @ self.hats.T @ inverse @ scaled)

    @cached_property
    def unfollowed(self) -> FloatArray:
        """How an error of the fitted distribution moves the share of every range: levels × ranges × buckets.

        It is WQ − member if both answers are independent: what knots can follow is made good.
        """
        return np.asarray(self.weights @ self.chances - self.member)

    @property
    def jump_bias(self) -> FloatArray:
        """The largest bias of a range's share at each level if the other answer's share jumps by 1 at the worst place.

        Half of a jump is a constant, which has no bias; what is left is the same for a jump up and one down.
        """
        return np.asarray(np.abs(np.cumsum(self.unfollowed * self.shares, axis=2)).max(axis=(1, 2)))

    def for_reports(self, reports: FloatArray) -> RangeSide:
        """Take as many knots as so many reports of each level are worth; levels are weighed by their precision."""

        def risk(side: RangeSide) -> float:
            precision = reports / (side.weights**2 @ (side.chances @ side.shares)[:, :, None]).max(axis=(1, 2))
            bias = float(precision @ side.jump_bias / precision.sum())
            return 1 / float(precision.sum()) + (TYPICAL_JUMP * bias) ** 2

        most = max(KNOTS[0], min(self.chances.shape[1], len(self.shares) // 2 + 1))
        return min((replace(self, knots=knots) for knots in KNOTS if knots <= most), key=risk)

    @cached_property
    def patterns(self) -> Patterns:
        shares = self.margin.shares
        others = np.maximum(shares - np.diag(shares), np.finfo(np.float64).tiny)  # ranges but one, for each
        np.fill_diagonal(others, 0.0 if len(shares) > 1 else 1.0)
        others /= others.sum(axis=1, keepdims=True)
        law = np.stack([others @ self.likely, self.likely], axis=2)
        return Patterns.weighted(law, np.stack([1 - self.weights, self.weights], axis=1))

    def read(self, marks: FloatArray, level: int) -> FloatArray:
        del level
        missing = np.zeros((self.chances.shape[1] + 1 - len(marks), *marks.shape[1:]))
        own = np.concatenate([marks[:-1], missing])
        return np.broadcast_to(own, (self.size, *own.shape))

    @property
    def functionals(self) -> FloatArray:
        """What an output counts at every level, and 1: ranges × (levels and 1) × outputs."""
        return np.concatenate([np.swapaxes(self.weights, 0, 1), np.ones((self.size, 1, self.chances.shape[1]))], axis=1)

    def assumptions(self) -> tuple[str, ...]:
        step = (self.edges[-1] - self.edges[0]) / (self.knots - 1)
        return (
            f"along {self.margin.question!r} the shares of other answers change in a straight line between points "
            f"{step:.3g} apart; a jump of 10 percentage points at the worst place moves a share by "
            f"{10 * self.jump_bias.max():.2g} points",
        )

    def reach(self, *, apart: bool) -> tuple[ShareProfile, ...]:
        """Return where the share of every range can be, whatever the distribution is.

        The fitted one is smooth: an atom beside an edge it spreads over both ranges, by more than its errors say.
        """
        profile = Profile(self.reports, apart=apart)
        return tuple(profile.between(low, high) for low, high in pairwise(self.edges.tolist()))


def _check_edges(name: str, forms: Sequence[NumberArrays], fitted: Density, edges: FloatArray) -> None:
    """Refuse edges that make no ranges from bound to bound, or more than can be told apart."""
    (low, high), buckets, parts = fitted.bounds, len(fitted.shares), edges.size - 1
    outputs = max(form.channel.form.count for form in forms)
    if edges.ndim != 1 or parts < 1 or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise EstimateError(f"ranges: edges of {name!r} must be two or more rising numbers, such as 0, 10, 50")
    if edges[0] != low or edges[-1] != high:
        raise EstimateError(
            f"ranges: edges of {name!r} must go from {low:g} to {high:g}, as people answer between these bounds, "
            f"not from {edges[0]:g} to {edges[-1]:g}"
        )
    if parts > buckets:
        raise EstimateError(f"ranges: {name!r} has {buckets} buckets, which cannot make {parts} ranges")
    if parts > outputs:
        raise EstimateError(f"reports of {outputs} outputs tell at most {outputs} ranges apart, not {parts}")


def _output_chances(forms: Sequence[NumberArrays]) -> FloatArray:
    """Return the probability of every group of outputs given every bucket, levels × groups × buckets."""
    tables = [form.pieces().table()[:-1] for form in forms]
    starts = [np.flatnonzero(np.diff(output_groups(len(table)), prepend=-1)) for table in tables]
    grouped = [np.add.reduceat(table, own) for table, own in zip(tables, starts, strict=True)]
    outputs = max(map(len, grouped))
    return np.array([np.pad(table, ((0, outputs - len(table)), (0, 0))) for table in grouped])
