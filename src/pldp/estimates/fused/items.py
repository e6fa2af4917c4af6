"""Supports of sets of items from several services about the same people: sums over what each part of reports says.

The people of one subset (`Subsets`) through one source are a part, whose supports hold whatever levels depend on; where
hidden levels are taken not to depend on what people have, all reports of a service are one. `combine` says what parts
have in common, and how they are weighed: by precision all of them, by size those of one subset among each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.estimates.fused.services import Shared, best_weights, common_drawing
from pldp.estimates.kinds.item_sets import ItemReports
from pldp.estimates.kinds.set_reports import Counts, Estimated, of_part
from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.homogeneity import homogeneity_of_targets
from pldp.estimates.linear.patterns import Patterns
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.linear.small_counts import SmallCounts
from pldp.estimates.results.facts import Homogeneity
from pldp.estimates.results.options import Pool, Target
from pldp.mechanisms.arrays import FloatArray, IntArray
from pldp.records import Record
from pldp.tallies import Columns

_OWN_SUPPORTS: Final = 1e-300


@dataclass(frozen=True, eq=False, repr=False)
class FusedItems(Record):
    """Parts of the reports: `subset` is that of each, `people` how many each has, and `shared` who is in two parts.

    `about_levels` is what is assumed, and `test` the test of it where it is that of other parts.
    """

    parts: tuple[ItemReports, ...]
    subset: npt.NDArray[np.intp]
    people: IntArray
    shared: tuple[Shared, ...]
    pool: Pool
    target: Target
    about_levels: tuple[str, ...]
    tested: FusedItems | None = None

    @classmethod
    def of(cls, parts: Sequence[ItemReports], pool: Pool, **about: Any) -> FusedItems:
        """Put parts together; all take the supports of items that they have together as likely."""
        reports = np.array([part.reports for part in parts], np.float64)
        supports = reports @ np.array([part.own_supports for part in parts]) / reports.sum()
        return cls(tuple(replace(part, supports=supports, target="population") for part in parts), pool=pool, **about)

    @property
    def columns(self) -> tuple[Columns, ...]:
        """The reports by what they show, part after part."""
        return tuple(own for part in self.parts for own in part.columns)

    @property
    def reports(self) -> int:
        """Number of people."""
        return int(self.people.sum())

    @property
    def size(self) -> int:
        """Number of items."""
        return self.parts[0].size

    @property
    def largest(self) -> int:
        """Items of the largest sets that reports of some source tell about."""
        return max(part.largest for part in self.parts)

    @property
    def told_by_all(self) -> int:
        """Items of the largest sets that reports of every source tell about."""
        return min(part.told_by_all for part in self.parts)

    @property
    def untold(self) -> tuple[int, ...]:
        """Items that no report of some part tells about."""
        return tuple(sorted({item for part in self.parts for item in part.untold}))

    @property
    def item_weights(self) -> FloatArray:
        """The weight of every part in the support of every item, parts × items."""
        return self._weights(np.arange(self.size)[:, None])

    def estimate(self, sets: IntArray, patterns: Counts) -> Estimated:
        """Return the supports of sets of one size; a part that tells nothing about a set does not count."""
        every = [part.estimate(sets, own) for part, own in zip(self.parts, self._split(patterns), strict=True)]
        own, errors, drawn = (
            np.array([getattr(each, name) for each in every]) for name in ("support", "error", "drawn")
        )
        told = np.isfinite(errors)
        weights = self._weights(sets) * told
        weights /= np.maximum(weights.sum(axis=0), _OWN_SUPPORTS)
        support = (weights * np.where(told, own, 0)).sum(axis=0)
        together = np.einsum("ki,kli,li->i", weights, self._common([each.contrasts for each in every]), weights)
        own_drawing, drawing = _spread(np.where(told, own, 0)), _spread(support)
        noise = (weights**2 * np.where(told, errors**2 - drawn * own_drawing, 0)).sum(axis=0)
        drawn_all = (weights**2 * drawn).sum(axis=0) + together
        counted = drawn_all - (1 / self.reports if self.target == "respondents" else 0)
        variance = np.maximum(noise, 0) + np.maximum(counted, 0) * drawing
        untold = ~told.any(axis=0)
        support[untold], variance[untold] = np.nan, np.inf
        return Estimated(support, np.sqrt(variance), drawn_all, np.ones((len(sets), 1)))

    def expected_error(self, sets: IntArray) -> FloatArray:
        """Return the standard error to expect for each set before it is counted, items taken as independent."""
        covariance = self._expected_covariance(sets)
        weights = self._weights(sets)
        finite = np.where(np.isfinite(covariance), covariance, 0)
        variance = np.einsum("ki,kli,li->i", weights, finite, weights)
        if self.target == "respondents":
            variance = variance - _spread(self.parts[0].item_supports[sets].prod(axis=1)) / self.reports
        return np.asarray(np.sqrt(np.where(weights.any(axis=0), np.maximum(variance, 0), np.inf)))

    def least_error(self, items: int) -> float:
        """Return at most the least `expected_error` of any set of this many items: what noise of all parts leaves."""
        least = [part.least_error(items) for part in self.parts if items <= part.largest]
        return float(sum(own**-2 for own in least) ** -0.5) if least and min(least) > 0 else 0.0

    def small_counts(self, sets: IntArray, patterns: Counts) -> SmallCounts | None:
        """Return the sets that few reports support, as if no people were in two parts."""
        told = np.flatnonzero(np.all([[own.sum(axis=1) > 0] for own in patterns], axis=0)[0])
        if not len(told) or any(sets.shape[1] > part.largest for part in self.parts):
            return None
        evidence = self._flat(range(len(self.parts)), sets[told], [own[told] for own in patterns])
        weights = self._weights(sets[told]) / evidence.mix[:, None]
        linear = decode(evidence, "precision", weights=weights.T[:, None])
        sampled = 1.0 if self.target == "population" else 0.0
        return SmallCounts.joined([(told, SmallCounts.of(linear, sampled=sampled))])

    @cached_property
    def homogeneity(self) -> Homogeneity | None:
        """The test whether all subsets have the same supports, each by its most precise source; these are apart."""
        if self.tested is not None:
            return self.tested.homogeneity
        if len(self.people) < 2:
            return None
        sets = np.arange(self.size)[:, None]
        errors = np.array([part.expected_error(sets).mean() for part in self.parts])
        of_subset = (np.flatnonzero(self.subset == place).tolist() for place in range(len(self.people)))
        best = [min(own, key=lambda part: float(errors[part])) for own in of_subset]
        patterns = [own.pattern_counts(sets) for own in self.columns]
        noise = [errors[place] ** 2 * self.parts[place].reports for place in best]
        return homogeneity_of_targets(self._flat(best, sets, patterns), noise)

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as in the support of an item, where it does most harm."""
        weights = self.item_weights
        each = (
            np.abs(part.items.counted).max(axis=(0, 2)) * own / part.reports
            for part, own in zip(self.parts, weights, strict=True)
        )
        return self.reports * max(float(own.max()) for own in each)

    def covariances(self, sets: IntArray, patterns: Counts, parts: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Return the supports of parts of each set (places of their items), and their covariances."""
        able = [place for place, part in enumerate(self.parts) if sets.shape[1] <= part.largest]
        chosen, counts = [self.parts[place] for place in able], [self._split(patterns)[place] for place in able]
        weights = np.array([self._weights(sets[:, list(part)])[able] for part in parts])
        weights /= weights.sum(axis=1, keepdims=True)
        every = [part.covariances(sets, own, parts) for part, own in zip(chosen, counts, strict=True)]
        supports = np.einsum("aki,kai->ai", weights, np.array([own for own, _ in every]))
        product = np.einsum("aki,bki,kabi->abi", weights, weights, np.array([own for _, own in every]))
        named = [tuple(part) for part in parts]
        of_union = {
            union: self.estimate(sets[:, list(union)], of_part(patterns, union)).support
            for union in {tuple(sorted({*one, *two})) for one in named for two in named}
        }
        contrasts = [self._contrasts(chosen, sets, counts, part) for part in named]
        for a, one in enumerate(named):
            for b, two in enumerate(named):
                both = [(first + second) / 2 for first, second in zip(contrasts[a], contrasts[b], strict=True)]
                common = self._common_of(chosen, able, both)
                together = np.einsum("ki,kli,li->i", weights[a], common, weights[b])
                counted = together - (1 / self.reports if self.target == "respondents" else 0)
                union = of_union[tuple(sorted({*one, *two}))]
                product[a, b] += counted * (union - supports[a] * supports[b])
        return supports, product

    @staticmethod
    def _contrasts(
        chosen: Sequence[ItemReports], sets: IntArray, counts: Sequence[Counts], part: Sequence[int]
    ) -> list[FloatArray]:
        """Return by what ψ of a part of each set differs between people, for some parts of the reports."""
        return [
            own.estimate(sets[:, list(part)], of_part(count, part)).contrasts
            for own, count in zip(chosen, counts, strict=True)
        ]

    def _common_of(
        self, chosen: Sequence[ItemReports], able: Sequence[int], contrasts: Sequence[FloatArray]
    ) -> FloatArray:
        """Return what people in two of some parts of the reports have in common."""
        places = {place: number for number, place in enumerate(able)}
        shared = [
            own._replace(first=places[own.first], second=places[own.second])
            for own in self.shared
            if own.first in places and own.second in places
        ]
        return common_drawing(shared, np.array([part.reports for part in chosen], np.float64), contrasts)

    def _common(self, contrasts: Sequence[FloatArray]) -> FloatArray:
        return common_drawing(self.shared, np.array([part.reports for part in self.parts], np.float64), contrasts)

    def _split(self, patterns: Counts) -> list[Counts]:
        """Return the counts of every part."""
        ends = np.cumsum([0, *(len(part.columns) for part in self.parts)]).tolist()
        return [patterns[start:end] for start, end in pairwise(ends)]

    def _weights(self, sets: IntArray) -> FloatArray:
        """Return the weight of every part in the support of every set, parts × sets."""
        shares = self.people / self.reports if self.pool == "size" else None
        return best_weights(self._expected_covariance(sets), self.subset, shares)

    def _expected_covariance(self, sets: IntArray) -> FloatArray:
        """Return the covariance of parts to expect, were items independent: parts × parts × sets."""
        variances, contrasts = [], []
        for part in self.parts:
            variance, contrast = part.expect_part(sets)
            variances.append(variance)
            contrasts.append(contrast)
        found = self._common(contrasts) * _spread(self.parts[0].item_supports[sets].prod(axis=1))
        places = np.arange(len(self.parts))
        found[places, places] = variances
        return found

    def _flat(self, chosen: Sequence[int], sets: IntArray, patterns: Counts) -> Evidence:
        """Return parts as if each were a level: a pattern is what a report shows altogether."""
        every = self._split(patterns)
        tables = [_flat_part(self.parts[place].decode(sets, every[place])) for place in chosen]
        counts, laws, weights = (np.array(_padded([own[number] for own in tables])) for number in range(3))
        patterns_of_parts = Patterns.weighted(laws, np.swapaxes(weights, 1, 2))
        return Evidence(counts, patterns_of_parts, np.eye(len(tables)), visible=True, exclusive=False)


def _spread(support: FloatArray) -> FloatArray:
    inside = np.clip(support, 0, 1)
    return np.asarray(inside * (1 - inside))


def _flat_part(linear: Linear) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return counts (sets × cells), and laws and weights (sets × states × cells) of "not all items" and "all"."""
    evidence, targets = linear.evidence, linear.evidence.targets
    counts, base, slope = (
        np.swapaxes(each, 0, 1).reshape(targets, -1) for each in (evidence.counts, linear.base, linear.slope)
    )
    without = linear.states.copy()
    without[:, -1] = 0
    every = without / without.sum(axis=1, keepdims=True), np.eye(linear.states.shape[1])[[-1] * targets]
    mix = evidence.possible_mix
    laws = [evidence.expected(slice(0, targets), states, mix) for states in every]
    return counts, np.stack(laws, axis=1), np.stack([slope - base, base], axis=1)


def _padded(tables: list[FloatArray]) -> list[FloatArray]:
    """Fill tables up with cells that no report shows."""
    most = max(each.shape[-1] for each in tables)
    return [np.pad(each, [(0, 0)] * (each.ndim - 1) + [(0, most - each.shape[-1])]) for each in tables]
