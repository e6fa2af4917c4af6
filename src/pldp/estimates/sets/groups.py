"""Supports of sets of items from perturbed patterns: means of unbiased weights, variances, pooling over groups.

The reports that tell about the items of a set show a pattern of them each, and the form of their channel says how much
a pattern counts for the support of the set or of a part of it (`pldp.mechanisms.sets.arrays`). Where every item has a
bit of its own, w_i(y) = (y − q_i)/(p_i − q_i) and a pattern counts Π_i w_i(y_i): the inverse of the Kronecker product
of the items' 2 × 2 channels, applied one factor at a time to the counts of the 2^m patterns. Variances need products of
weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates import power
from pldp.estimates.agreement import stricter_half
from pldp.estimates.notes import BY_SIZE, SAME_SUPPORTS, sets_not_told
from pldp.estimates.options import Pool, Target, check_pooling
from pldp.estimates.rare import Rare
from pldp.estimates.result import Homogeneity, Note
from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import FloatArray, IntArray, SetPatterns, arrays, patterns_of
from pldp.records import Record
from pldp.tallies import Columns, columns_of, joint_counts

Arrays = Sequence[npt.NDArray[Any]]
Places = Sequence[int]


@dataclass(frozen=True, eq=False, repr=False)
class ItemGroup(Record):
    """People who used one channel, and how many they are."""

    channel: Channel
    reports: int

    @cached_property
    def arrays(self) -> SetPatterns:
        """The array form of the channel."""
        form: SetPatterns = arrays(self.channel)
        return form

    def telling(self, patterns: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return how many reports tell about each set, given the counts of its patterns (sets × 2^items)."""
        return np.asarray(patterns.sum(axis=1) * (patterns.shape[1] <= 1 << self.arrays.largest))

    def moment(self, sets: IntArray, patterns: npt.NDArray[Any], one: int, two: int = 0) -> FloatArray:
        """Return the mean over the reports that tell of W_one·W_two for each set; 0 where none tells."""
        if sets.shape[1] > self.arrays.largest:
            return np.zeros(len(sets))
        return self.arrays.moment(sets, patterns / np.maximum(self.telling(patterns), 1)[:, None], one, two)

    def expected_variance(self, sets: IntArray, item_supports: FloatArray, target: Target) -> FloatArray:
        """Return the variance of the support of each set, were items independent with the given supports."""
        items = sets.shape[1]
        if items > self.arrays.largest:
            return np.full(len(sets), np.inf)
        squares = self.arrays.second_moment(sets, item_supports)
        support, told = item_supports[sets].prod(axis=1), self.arrays.telling(items)
        # Of the respondents, those whose reports tell are a random part: only their own spread is known.
        known = support**2 if target == "population" else support - (1 - told) * (support - support**2)
        return np.asarray(np.maximum(squares - known, 0) / (self.reports * told))

    def tails(self, supports: FloatArray) -> FloatArray:
        """Return the third central moment over the variance of each item's support.

        A report that tells counts for one of two numbers: a and b of mean f have the moment (a + b − 2f)·variance.
        """
        singles = np.arange(len(supports))[:, None]
        ends = [self.arrays.moment(singles, np.tile(shown, (len(supports), 1)), 1) for shown in np.eye(2)]
        return np.asarray((ends[0] + ends[1] - 2 * supports) / (self.reports * self.arrays.telling(1)))


@dataclass(frozen=True, eq=False, repr=False)
class ItemGroups(Record):
    """All groups of people, and how they are put together.

    Weights by `precision` are inverse variances at the pooled supports of the items, items taken as independent, so
    that a set's weights hardly depend on its own noise. `own_supports` are unbiased, of every item (columns) in every
    group (rows); `columns` are the reports of each group, for counting: no estimate from counts needs them. `untold`
    are the items that no report of some group tells about.
    """

    groups: tuple[ItemGroup, ...]
    pool: Pool
    target: Target
    own_supports: FloatArray
    columns: tuple[Columns, ...]
    untold: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, groups: Sequence[tuple[Channel, npt.NDArray[Any] | Columns]], size: int, pool: Pool, target: Target
    ) -> ItemGroups:
        """Pair channels with columns; groups without reports are left out."""
        check_pooling(pool, target)
        for channel, _ in groups:
            if channel.size != size:
                raise EstimateError(f"items must be as many as the channel has ({channel.size}), not {size}")
        every = [columns_of(channel, own) if isinstance(own, np.ndarray) else own for channel, own in groups]
        pairs = zip((channel for channel, _ in groups), every, strict=True)
        made = tuple(ItemGroup(channel, own.reports) for channel, own in pairs if own.reports)
        if not made:
            raise EstimateError("nothing to estimate: groups need at least one report")
        return cls.together(made, tuple(own for own in every if own.reports), pool, target)

    @classmethod
    def together(
        cls, made: tuple[ItemGroup, ...], columns: tuple[Columns, ...], pool: Pool, target: Target, **further: Any
    ) -> Self:
        """Put groups together, given the reports of each."""
        singles = np.arange(columns[0].size)[:, None]
        counts = [patterns_of(joint_counts(own, singles)) for own in columns]
        supports = np.array([own.moment(singles, count, 1) for own, count in zip(made, counts, strict=True)])
        untold = np.array([own.telling(count) == 0 for own, count in zip(made, counts, strict=True)])
        if untold.any():  # an item that no report of a group tells about is had there as often as in the others
            others = np.average(supports, axis=0, weights=np.where(untold, 1e-300, [[own.reports] for own in made]))
            supports = np.where(untold, others, supports)
        lacking = tuple(np.flatnonzero(untold.any(axis=0)).tolist())
        return cls(made, pool, target, supports, columns, lacking, **further)

    @property
    def about_levels(self) -> tuple[str, ...]:
        """What is assumed about the choice of levels."""
        return (SAME_SUPPORTS if self.pool == "precision" and len(self.groups) > 1 else BY_SIZE,)

    def note_of_larger(self, largest: int) -> Note:
        """Say why sets of more items are not estimated."""
        return sets_not_told(largest)

    @cached_property
    def reports(self) -> int:
        """Number of reports of all groups."""
        return sum(group.reports for group in self.groups)

    @cached_property
    def sizes(self) -> FloatArray:
        """Share of each group in the reports."""
        return np.array([group.reports / self.reports for group in self.groups])

    @cached_property
    def item_supports(self) -> FloatArray:
        """Supports of all items pooled by size, within 1/n and 1 − 1/n: what expected variances are computed at."""
        return np.clip(self.sizes @ self.own_supports, 1 / self.reports, 1 - 1 / self.reports)

    @cached_property
    def growth(self) -> float:
        """The least factor, at most 1, by which one more item changes an expected standard error."""
        return min(group.arrays.growth(self.item_supports) for group in self.groups)

    def weights(self, sets: IntArray) -> FloatArray:
        """Return the weight of every group (rows) in the support of every set; they sum to 1 over the groups."""
        if self.pool == "size" or len(self.groups) == 1:
            return np.repeat(self.sizes[:, None], len(sets), axis=1)
        return _normalised(self._precisions(self.item_supports, sets), self.sizes)

    def _precisions(self, supports: FloatArray, sets: IntArray) -> FloatArray:
        """Return 1/variance of every set (columns) in every group, were items independent with these supports."""
        return np.array([1 / own.expected_variance(sets, supports, "population") for own in self.groups])

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as in an item's support: the largest weight·n/n_g·(its weight)."""
        weights = self.weights(np.arange(self.groups[0].channel.size)[:, None])
        forged = np.array([group.arrays.forged for group in self.groups])
        return float((weights / self.sizes[:, None] * forged).max())

    def expected_error(self, sets: IntArray) -> FloatArray:
        """Return the standard error to expect for each set before it is counted, items taken as independent."""
        parts = [group.expected_variance(sets, self.item_supports, self.target) for group in self.groups]
        weights = self.weights(sets)
        with np.errstate(invalid="ignore"):  # a group that tells nothing has an infinite variance and no weight
            return np.asarray(np.sqrt(np.sum(np.where(weights > 0, weights**2 * parts, 0), axis=0)))

    def estimate(self, sets: IntArray, patterns: Arrays) -> tuple[FloatArray, FloatArray]:
        """Return supports and standard errors of sets of one size from the groups' pattern counts."""
        weights, every = self.told_weights(sets, patterns), range(sets.shape[1])
        support = self.mean(weights, sets, patterns, every)
        drawn = self._least_drawn(support)
        variance = self._of_drawing(weights, (support, support, support))
        for group, own, weight in zip(self.groups, patterns, weights, strict=True):
            # The few reports that tell may all say the same by chance; noise and drawing people add this at least.
            least = np.where(group.telling(own) > 0, group.arrays.least_noise(sets) + drawn, 0)
            variance += weight**2 * np.maximum(
                self._covariance(group, sets, own, every, every), least / np.maximum(group.telling(own), 1)
            )
        untold = ~self._told(patterns).any(axis=0)
        support[untold], variance[untold] = np.nan, np.inf
        return support, np.sqrt(np.maximum(variance, 0))

    def error_at(
        self, least: float, sets: IntArray, patterns: Arrays, found: tuple[FloatArray, FloatArray]
    ) -> FloatArray:
        """Return the standard errors that supports have if they are not larger than `least`, but at least those found.

        Drawing people adds f(1 − f)/n, which is smaller for a large support that was found than for the true one: a
        search that judged by the error at what it found would report too many sets with supports beyond a half. That
        everybody has an item cannot be known from a sample.
        """
        support, error = found
        if self.target == "respondents":
            return error
        possible, least = np.clip(support, 0, 1), min(least, 1 - 1 / self.reports)
        lost = np.maximum(least * (1 - least) - possible * (1 - possible), 0)
        return np.asarray(np.sqrt(error**2 + lost * self.drawn(sets, patterns)))

    def drawn(self, sets: IntArray, patterns: Arrays) -> FloatArray:
        """Return how many times f(1 − f) drawing people adds to the variance of each set."""
        told = np.array([np.maximum(group.telling(own), 1) for group, own in zip(self.groups, patterns, strict=True)])
        return np.asarray((self.told_weights(sets, patterns) ** 2 / told).sum(axis=0))

    def told_weights(self, sets: IntArray, patterns: Arrays) -> FloatArray:
        """Return `weights`, but none for a group that has no report which tells about a set."""
        told, weights = self._told(patterns), self.weights(sets)
        return weights if told.all() else _normalised(weights * told, self.sizes)

    def _least_drawn(self, support: FloatArray) -> FloatArray:
        """Return the variance of who is drawn from a population, if a support that seems impossible is just possible.

        That nobody has an item, or everybody, cannot be known from a sample.
        """
        if self.target == "respondents":
            return np.zeros(len(support))
        possible = np.clip(support, 1 / self.reports, 1 - 1 / self.reports)
        return np.asarray(possible * (1 - possible))

    def rare(self, sets: IntArray, patterns: Arrays) -> Rare | None:
        """Return the sets that few reports speak for: the reports that show all items of a set, by the rest of them.

        Who lacks some items may show all of them by chance; how often, depends on which: that is taken from the
        estimated shares of people with each pattern, as far as they could be true.
        """
        if not len(sets):
            return None
        weights = self.told_weights(sets, patterns)
        told = np.array([group.telling(own) for group, own in zip(self.groups, patterns, strict=True)], float)
        people = self._people(weights, sets, patterns)
        chances = np.array([group.arrays.showing_all(sets) for group in self.groups])
        absent = (chances[:, :, :-1] * people[:, :-1]).sum(axis=2) / people[:, :-1].sum(axis=1)
        sampled = self._sampled(weights, told)
        supports = np.array([own[:, -1] for own in patterns], float)
        return Rare.find(supports, told, absent, chances[:, :, -1], weights=weights, sampled=sampled)

    def _people(self, weights: FloatArray, sets: IntArray, patterns: Arrays) -> FloatArray:
        """Return possible shares of people with each pattern of the items of each set (sets × 2^items)."""
        items = range(sets.shape[1])
        parts = [[place for place in items if pattern >> place & 1] for pattern in range(1 << len(items))]
        joint = [self.mean(weights, sets, patterns, part) if part else np.ones(len(sets)) for part in parts]
        # One more person of every pattern: none is impossible.
        found = np.maximum(patterns_of(np.stack(joint, axis=1)), 0) + 1 / self.reports
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def _sampled(self, weights: FloatArray, told: FloatArray) -> FloatArray:
        """Return which part of the variance of drawing people counts: all for a population."""
        if self.target == "population":
            return np.ones(weights.shape[1])
        alone = (weights**2 / np.maximum(told, 1)).sum(axis=0)
        sizes = np.array([group.reports for group in self.groups])[:, None]
        fixed = (weights**2 / sizes).sum(axis=0) if self.pool == "size" else 1 / self.reports
        return np.asarray(np.clip(np.round(1 - fixed / np.maximum(alone, 1e-300), 9), 0, 1))

    def _told(self, patterns: Arrays) -> npt.NDArray[np.bool_]:
        """Return whether each group (rows) has a report that tells about each set."""
        return np.array([group.telling(own) > 0 for group, own in zip(self.groups, patterns, strict=True)])

    def mean(self, weights: FloatArray, sets: IntArray, patterns: Arrays, part: Places) -> FloatArray:
        """Return the pooled support of a part of each set (places of its items)."""
        parts = [group.moment(sets, own, _mask(part)) for group, own in zip(self.groups, patterns, strict=True)]
        return np.asarray(np.sum(weights * parts, axis=0))

    def covariance(
        self, weights: FloatArray, sets: IntArray, patterns: Arrays, one: Places, two: Places, pooled: Arrays
    ) -> FloatArray:
        """Return the covariance of the supports of two parts of each set (places of their items).

        For a sample of the population a group's covariance is (mean of W_one·W_two − f_one·f_two)/n over the n reports
        that tell. For the respondents themselves f of the union takes the place of the product, as only the
        perturbation is random, and who is asked: where n of the group's N reports tell, that adds
        Cov(one, two)·(1/n − 1/N).
        Where groups are pooled by precision, who of the respondents is in which group is random as well: that adds
        Cov(one, two)·(Σ weight²/N_g − 1/N). `pooled` are the pooled supports of one, of two and of their union.
        """
        total = self._of_drawing(weights, pooled)
        for group, own, weight in zip(self.groups, patterns, weights, strict=True):
            total += weight**2 * self._covariance(group, sets, own, one, two)
        return total

    def _covariance(
        self, group: ItemGroup, sets: IntArray, patterns: npt.NDArray[Any], one: Places, two: Places
    ) -> FloatArray:
        """Return the covariance of the supports of two parts of each set in one group."""
        first, second = _mask(one), _mask(two)
        told = np.maximum(group.telling(patterns), 1)
        product = group.moment(sets, patterns, first, second)
        if self.target == "population":
            known = group.moment(sets, patterns, first) * group.moment(sets, patterns, second)
        else:
            known = group.moment(sets, patterns, first | second)
            if group.arrays.telling(1) < 1:
                apart = group.moment(sets, patterns, first) * group.moment(sets, patterns, second)
                known = apart + told / group.reports * (known - apart)
        return np.asarray((product - known) / told)

    def _of_drawing(self, weights: FloatArray, pooled: Arrays) -> FloatArray:
        """Return what it adds to a covariance for respondents that who is in which group is random."""
        if self.target != "respondents" or self.pool != "precision" or len(self.groups) < 2:
            return np.zeros(weights.shape[1])
        f_one, f_two, union = (np.clip(support, 0, 1) for support in pooled)
        sizes = np.array([group.reports for group in self.groups])[:, None]
        return np.asarray((union - f_one * f_two) * ((weights**2 / sizes).sum(axis=0) - 1 / self.reports))

    def homogeneity(self) -> Homogeneity | None:
        """Test whether every item has the same support in all groups: the worst item, times the number of items.

        Per item Σ_g (f_g − f̄)²/V_g is referred to χ² with one degree less than groups; Bonferroni's correction holds
        whatever the items have to do with each other. Few reports with a rare item are skewed: deviations in the
        direction of the longer tail count for less, (f_g − f̄)²/(V_g + c_g·(f_g − f̄)/3) with c_g the third central
        moment over the variance, so that the tail is right to the first order (Cramér's; the same as in Bernstein's
        inequality).
        """
        if len(self.groups) < 2:
            return None
        shares = self.own_supports
        singles = np.arange(shares.shape[1])[:, None]
        # Pooled by size, rare supports would be as good as unknown where a large group has most of the noise.
        rough = _pooled(self._precisions(self.item_supports, singles), shares)
        precisions = self._precisions(np.clip(rough, 1 / self.reports, 1 - 1 / self.reports), singles)
        mean = _pooled(precisions, shares)
        tails = np.array([group.tails(mean) for group in self.groups])
        skewed = np.maximum(tails * (shares - mean), 0) / 3
        statistics = (precisions / (1 + precisions * skewed) * (shares - mean) ** 2).sum(axis=0)
        people = np.array([group.reports for group in self.groups])
        stricter = stricter_half(people / np.maximum(precisions.mean(axis=1), 1e-300), people)
        sides = [precisions[side].sum(axis=0) for side in (stricter, ~stricter)]
        units = sides[0] * sides[1] / np.maximum(sides[0] + sides[1], 1e-300)
        degrees, tests = len(self.groups) - 1, len(singles)
        found = power.noticed(float(units.min()), degrees, tests)
        return Homogeneity.of(float(statistics.max()), degrees, tests, found)


def _pooled(precisions: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the mean of the groups' supports, weighted by precision; 0 where no group tells anything."""
    return np.asarray((precisions * shares).sum(axis=0) / np.maximum(precisions.sum(axis=0), 1e-300))


def _mask(part: Places) -> int:
    return sum(1 << place for place in part)


def _normalised(weights: FloatArray, sizes: FloatArray) -> FloatArray:
    """Let the weights of each set sum to 1; where no group tells anything, weigh them by size."""
    total = weights.sum(axis=0)
    return np.asarray(np.where(total > 0, weights, sizes[:, None]) / np.where(total > 0, total, 1))
