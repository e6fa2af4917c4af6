"""Supports of items and of sets of items from the joined reports of several services: sums over parts of the reports.

The people of one subset through one source are a part, whose supports hold whatever levels depend on; where hidden
levels are taken not to depend on what people have, all people are one subset, of which parts have some in common. For
what parts have in common, and how they are weighed, see `combine`: every set has weights of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, compress, product
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pldp.estimates.fused.combine import Shared, best_weights, common_drawing
from pldp.estimates.fused.services import (
    Part,
    Subsets,
    counts_of,
    join_note,
    level_shares,
    mixed_services,
    source_groups,
)
from pldp.estimates.kinds.choices import Sets, state_sets
from pldp.estimates.kinds.item_search import Counts, Estimated
from pldp.estimates.kinds.item_sets import ItemReports, of_part
from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.homogeneity import homogeneity_of_targets
from pldp.estimates.linear.mix import source_mix
from pldp.estimates.linear.patterns import Patterns
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.linear.small_counts import SmallCounts
from pldp.estimates.results import notes
from pldp.estimates.results.alike import beside_alike
from pldp.estimates.results.consistency import norm_sub
from pldp.estimates.results.facts import Facts, Homogeneity, Note
from pldp.estimates.results.options import Options, Target, pooling_words
from pldp.mechanisms.arrays import FloatArray, IntArray, arrays
from pldp.records import Record
from pldp.tallies import ABSENT, BitCounts, Columns, Fused, Source, columns_of

METHODS: Final = ("unbiased",)

_TINY: Final = 1e-300


class _Expected(NamedTuple):
    """What to expect of parts about sets, were items independent; tables are subsets × sources × sets.

    `contrasts` are c of every part, `spread` is M, and `weights` those with the least variance.
    """

    weights: FloatArray
    variances: FloatArray
    contrasts: Mapping[Part, FloatArray]
    spread: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class FusedItems(Record):
    """Parts of the reports, how many `people` a subset has, and who is `shared` by the parts of one.

    `assumed` is what is assumed of who chose which level and service, and `tested` the parts whose test is that of it.
    """

    parts: Mapping[Part, ItemReports]
    people: IntArray
    shared: tuple[Shared, ...]
    differ: float | None
    target: Target
    assumed: tuple[str, ...] = (notes.ANY_SUBSET,)
    tested: FusedItems | None = None

    @classmethod
    def of(cls, fused: Fused, subsets: Subsets, differ: float | None, target: Target) -> FusedItems:
        """Take people of every subset and source, whose levels are pooled like subsets.

        All parts take the supports that they have together as likely; their own errors are those of a population.
        """
        every = subsets.parts(fused, lambda source, counts: _reports(source, counts, differ))
        reports = np.array([own.mix.reports for own in every.values()], np.float64)
        supports = reports @ np.array([own.own_supports for own in every.values()]) / reports.sum()
        parts = {part: replace(own, supports=supports) for part, own in every.items()}
        return cls(parts, subsets.people, _shared(fused, subsets, parts), differ, target)

    @classmethod
    def by_service(cls, fused: Fused, free: FusedItems) -> FusedItems:
        """Take all reports of every service, whose hidden levels are taken not to depend on what people have."""
        found = cls.of(fused, Subsets.whole(fused), 0, free.target)
        of_mix = notes.CHOICE_OF_SERVICES
        assumed = (notes.SAME_SUBSETS, of_mix) if len(free.people) > 1 else (of_mix,)
        return replace(found, assumed=assumed, tested=free)

    @property
    def columns(self) -> tuple[Columns, ...]:
        return tuple(own for part in self.parts.values() for own in part.columns)

    @property
    def reports(self) -> int:
        return int(self.people.sum())

    @property
    def largest(self) -> int:
        return max(part.largest for part in self.parts.values())

    @cached_property
    def facts(self) -> Facts:
        each = []
        for part, own in self.parts.items():
            told = own.singles[1].any(axis=(0, 2))
            counted = np.abs(own.items.counted).max(axis=(0, 2)) * self.item_weights[part][told]
            each.append(float(counted.max()) / own.mix.reports)
        return Facts(
            question="",
            reports=self.reports,
            method=f"unbiased, {pooling_words(self.differ)}",
            target=self.target,
            homogeneity=self.homogeneity,
            assumptions=notes.assume(self.target, *self.assumed, notes.NORMAL),
            notes=notes.subsets_disagree(self.homogeneity, self.differ),
            manipulation=self.reports * max(each),
        )

    @cached_property
    def homogeneity(self) -> Homogeneity | None:
        """The test whether all subsets have the same supports, each by its most precise source; these are apart."""
        if self.tested is not None:
            return self.tested.homogeneity
        if len(self.people) < 2:
            return None
        sets, patterns = self.singles
        errors = self._table([own.expected_error(sets).mean() for own in self.parts.values()], np.inf)
        best = [(subset, int(row.argmin())) for subset, row in enumerate(errors)]
        noise = [errors[part] ** 2 * self.parts[part].mix.reports for part in best]
        return homogeneity_of_targets(self._flat(best, sets, patterns), noise)

    @cached_property
    def singles(self) -> tuple[IntArray, Counts]:
        every = [part.singles for part in self.parts.values()]
        return every[0][0], np.concatenate([patterns for _, patterns in every])

    @cached_property
    def item_weights(self) -> FloatArray:
        """The weight of every part in the support of every item, subsets × sources × items."""
        return self._expect(self.singles[0]).weights

    def estimate(self, sets: IntArray, patterns: Counts) -> Estimated:
        """Return the supports of sets of one size; a part that tells nothing about a set does not count."""
        every = [self.parts[part].estimate(sets, own) for part, own in self._split(patterns).items()]
        own, drawn = (self._table([getattr(each, name) for each in every]) for name in ("support", "drawn"))
        errors, expected = self._table([each.error for each in every], np.inf), self._expect(sets)
        told = np.isfinite(errors)
        own, weights = np.where(told, own, 0), expected.weights * told
        weights /= np.maximum(weights.sum(axis=(0, 1)), _TINY)
        support, used = (weights * own).sum(axis=(0, 1)), expected._replace(weights=weights)
        noise = (weights**2 * np.where(told, errors**2 - drawn * _spread(own), 0)).sum(axis=(0, 1))
        drawn_all = (weights**2 * drawn).sum(axis=(0, 1)) + self._together(used, used)
        variance = np.maximum(noise, 0) + np.maximum(drawn_all - self._given, 0) * _spread(support)
        untold = ~told.any(axis=(0, 1))
        support[untold], variance[untold] = np.nan, np.inf
        return Estimated(support, np.sqrt(variance), drawn_all, np.ones((len(sets), 1)))

    def expected_error(self, sets: IntArray) -> FloatArray:
        own = self._expect(sets)
        variance = (own.weights**2 * np.where(own.weights > 0, own.variances, 0)).sum(axis=(0, 1))
        variance += (self._together(own, own) - self._given) * own.spread
        return np.asarray(np.sqrt(np.where(own.weights.any(axis=(0, 1)), np.maximum(variance, 0), np.inf)))

    def least_error(self, items: int) -> float:
        """Return what noise of all parts leaves."""
        least = [part.least_error(items) for part in self.parts.values() if items <= part.largest]
        return float(sum(own**-2 for own in least) ** -0.5) if least and min(least) > 0 else 0.0

    def small_counts(self, sets: IntArray, patterns: Counts) -> SmallCounts | None:
        """Return the sets that few reports support, as if no people were in two parts."""
        told = np.flatnonzero(patterns.any(axis=2).all(axis=0))
        if not len(told) or any(sets.shape[1] > part.largest for part in self.parts.values()):
            return None
        evidence = self._flat(list(self.parts), sets[told], patterns[:, told])
        weights = self._expect(sets[told]).weights[self._places] / evidence.mix[:, None]
        linear = decode(evidence, 0, weights=weights.T[:, None])
        sampled = 1.0 if self.target == "population" else 0.0
        return SmallCounts.joined([(told, SmallCounts.of(linear, sampled=sampled))])

    def covariances(self, sets: IntArray, patterns: Counts, parts: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        counts = self._split(patterns)
        able = [sets.shape[1] <= part.largest for part in self.parts.values()]
        every = [self.parts[part].covariances(sets, counts[part], parts) for part in compress(self.parts, able)]
        expected = [self._expect(sets[:, list(part)]) for part in parts]
        weights = np.array([own.weights for own in expected]) * self._table(able)[:, :, None]
        weights /= weights.sum(axis=(1, 2), keepdims=True)
        used = [own._replace(weights=each) for own, each in zip(expected, weights, strict=True)]
        own = np.array([each[self._places][able] for each in weights])
        supports = np.einsum("aki,kai->ai", own, np.array([each for each, _ in every]))
        found = np.einsum("aki,bki,kabi->abi", own, own, np.array([each for _, each in every]))
        unions = {tuple(sorted({*one, *two})) for one, two in product(parts, repeat=2)}
        of_union = {each: self.estimate(sets[:, list(each)], of_part(patterns, each)).support for each in unions}
        for (a, one), (b, two) in product(enumerate(parts), repeat=2):
            together = self._together(used[a], used[b])
            drawn = of_union[tuple(sorted({*one, *two}))] - supports[a] * supports[b]
            found[a, b] += (together - self._given) * drawn
        return supports, found

    @property
    def _given(self) -> float:
        """How many times f(1 − f) a variance is smaller because the people are given."""
        return 1 / self.reports if self.target == "respondents" else 0.0

    @cached_property
    def _places(self) -> tuple[npt.NDArray[np.intp], ...]:
        """Subset and source of every part, by which a table is looked up."""
        return tuple(np.array(list(self.parts), np.intp).T)

    def _table(self, values: Iterable[Any], absent: float = 0.0) -> FloatArray:
        """Return what there is of every part as subsets × sources × …."""
        every = np.array(list(values), np.float64)
        table = np.full((len(self.people), 1 + max(source for _, source in self.parts), *every.shape[1:]), absent)
        table[self._places] = every
        return table

    def _split(self, patterns: Counts) -> dict[Part, Counts]:
        """Return the counts of every part."""
        ends = np.cumsum([len(part.columns) for part in self.parts.values()])[:-1]
        return dict(zip(self.parts, np.split(patterns, ends), strict=True))

    def _expect(self, sets: IntArray) -> _Expected:
        """Return the weights of parts, and what is to expect of them, were items independent."""
        every = [part.expect_part(sets) for part in self.parts.values()]
        variances = self._table([variance for variance, _ in every], np.inf)
        contrasts = dict(zip(self.parts, (contrasts for _, contrasts in every), strict=True))
        spread = _spread(next(iter(self.parts.values())).item_supports[sets].prod(axis=1))
        covariance = self._common(contrasts, contrasts) * spread
        sources = np.arange(covariance.shape[1])
        covariance[:, sources, sources] = variances
        return _Expected(best_weights(covariance, self.people, self.differ), variances, contrasts, spread)

    def _common(self, one: Mapping[Part, FloatArray], two: Mapping[Part, FloatArray]) -> FloatArray:
        """Return what people in two sources have in common."""
        reports = self._table([part.mix.reports for part in self.parts.values()])
        return common_drawing(self.shared, reports, one, two)

    def _together(self, one: _Expected, two: _Expected) -> FloatArray:
        """Return how many times f(1 − f) the people whom sources share add to the covariance of two sums."""
        common = self._common(one.contrasts, two.contrasts)
        return np.asarray(np.einsum("psi,psti,pti->i", one.weights, common, two.weights))

    def _flat(self, chosen: Sequence[Part], sets: IntArray, patterns: Counts) -> Evidence:
        """Return parts as if each were a level: a pattern is what a report shows altogether."""
        every = self._split(patterns)
        tables = [_flat_part(self.parts[part].decode(sets, every[part])) for part in chosen]
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
    laws = [evidence.expected(slice(0, targets), states, evidence.possible_mix) for states in every]
    return counts, np.stack(laws, axis=1), np.stack([slope - base, base], axis=1)


def _padded(tables: list[FloatArray]) -> list[FloatArray]:
    """Fill tables up with cells that no report shows."""
    most = max(each.shape[-1] for each in tables)
    return [np.pad(each, [(0, 0)] * (each.ndim - 1) + [(0, most - each.shape[-1])]) for each in tables]


def _reports(source: Source, counts: FloatArray, differ: float | None) -> ItemReports:
    """Return reports of a source, given how often each of its cells came."""
    shown = counts_of(source, counts, rows=True)
    columns = (columns_of(source.channel, own.rows() if isinstance(own, BitCounts) else own.counts) for own in shown)
    mix = source_mix(source, counts)
    return ItemReports(tuple(map(arrays, source.channels)), tuple(columns), mix, differ, "population")


def _shared(fused: Fused, subsets: Subsets, parts: Mapping[Part, ItemReports]) -> tuple[Shared, ...]:
    """Return how many people gave to every two sources, and which levels they chose, subset by subset."""
    found = []
    for (subset, one), (other, two) in combinations(parts, 2):
        if subset != other:
            continue
        both = (fused.cells[:, [one, two]] != ABSENT).all(axis=1) & (subsets.of_tuple == subset)
        people = fused.counts[both]
        labels = tuple(fused.sources[source].labels[fused.cells[both, source]] for source in (one, two))
        undo, redo = (parts[subset, source].mix.inverse for source in (one, two))
        counts = np.zeros((len(undo), len(redo)))
        np.add.at(counts, labels, people)
        levels = norm_sub((undo @ counts @ redo.T / max(people.sum(), 1)).ravel()).reshape(counts.shape)
        found.append(Shared(subset, one, two, float(people.sum()), levels))
    return tuple(found)


def fused_sets(fused: Fused, options: Options) -> Sets:
    """Return the supports of all items and the frequent sets."""
    mixed, free = mixed_services(fused), FusedItems.of(fused, Subsets.of(fused), None, options.target)
    several = len(free.people) > 1
    if mixed:
        free = replace(free, assumed=(notes.ANY_SUBSET, notes.FREE_CHOICE))

    def stated(differ: float | None) -> Sets:
        if mixed and differ == 0:
            return _alike_behind_labels(fused, free, options)
        levels = ", hidden levels free to depend on items" if mixed else ""
        words = f"unbiased, {pooling_words(differ if several else None)}, subset by subset of services{levels}"
        assumed = (notes.SAME_SUBSETS,) if differ == 0 and several else free.assumed
        return _stated(fused, replace(free, differ=differ, assumed=assumed), options, words)

    return beside_alike(stated, options.differ, several=several or bool(mixed))


def _alike_behind_labels(fused: Fused, free: FusedItems, options: Options) -> Sets:
    """Return supports where services hide levels, people of all levels and subsets of services being alike."""
    reports = FusedItems.by_service(fused, free)
    tests = {fused.sources[source].name: part.homogeneity for (_, source), part in reports.parts.items()}
    told = (
        *dict.fromkeys(note for part in reports.parts.values() for note in part.mix.notes),
        *(note for name, test in tests.items() for note in notes.levels_disagree(test, 0, name)),
    )
    method = "approximately unbiased, hidden levels, services and labels pooled by precision"
    return _stated(fused, reports, options, method, told=told)


def _stated(
    fused: Fused,
    reports: FusedItems,
    options: Options,
    method: str,
    *,
    told: tuple[Note, ...] = (),
) -> Sets:
    """Return supports and frequent sets of these reports; groups are all parts of a source together."""
    asked, items = fused.asked, fused.asked.values or tuple(map(str, range(fused.size)))
    mixes = [*Subsets.whole(fused).parts(fused, source_mix).values()]
    facts = replace(
        reports.facts,
        question=asked.name,
        text=asked.text,
        method=method,
        groups=source_groups(fused, reports.item_weights.mean(axis=2).sum(axis=0).tolist()),
        levels=level_shares(fused, mixes, [mix.shares for mix in mixes]),
        notes=told,
        confidence=options.confidence,
    )
    made = state_sets(facts, reports, items, options)
    return replace(made, notes=(*made.notes, join_note(fused)))
