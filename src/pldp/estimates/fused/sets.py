"""Supports of items and of sets of items from the joined reports of several services: sums over parts of the reports.

The people of one subset (`Subsets`) through one source are a part, whose supports hold whatever levels depend on; where
hidden levels are taken not to depend on what people have, all reports of a service are one. `services` says what parts
have in common, and how they are weighed: by precision all of them, by size those of one subset among each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations, product
from typing import Any, Final

import numpy as np

from pldp.estimates.fused.services import (
    Shared,
    Subsets,
    best_weights,
    common_drawing,
    join_note,
    level_shares,
    require_method,
    source_groups,
)
from pldp.estimates.kinds.choices import Sets, state_sets
from pldp.estimates.kinds.item_search import Counts, Estimated
from pldp.estimates.kinds.item_sets import ItemReports, of_part
from pldp.estimates.kinds.item_supports import HOPELESS
from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.homogeneity import homogeneity_of_targets
from pldp.estimates.linear.mix import source_mix
from pldp.estimates.linear.patterns import Patterns
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.linear.small_counts import SmallCounts
from pldp.estimates.results import notes
from pldp.estimates.results.consistency import norm_sub
from pldp.estimates.results.facts import Facts, Homogeneity, Note
from pldp.estimates.results.options import Options, Pool, Target, check_pooling
from pldp.mechanisms import Bits
from pldp.mechanisms.arrays import FloatArray, IntArray, SetArrays, arrays
from pldp.records import Record
from pldp.tallies import ABSENT, Columns, Fused, Source, columns_of

METHODS: Final = ("unbiased",)

_TINY: Final = 1e-300


@dataclass(frozen=True, eq=False, repr=False)
class FusedItems(Record):
    """Parts of the reports: source and subset of each, how many `people` a subset has, and who is `shared` by parts.

    `assumed` is what is assumed of who chose which level and service, and `tested` the parts whose test is that of it.
    """

    parts: tuple[ItemReports, ...]
    source: IntArray
    subset: IntArray
    people: IntArray
    shared: tuple[Shared, ...]
    pool: Pool
    target: Target
    assumed: tuple[str, ...] = (notes.ANY_SUBSET,)
    tested: FusedItems | None = None

    @classmethod
    def by_subset(cls, fused: Fused, target: Target) -> FusedItems:
        """Take people of every subset and source, without an assumption about the choice of hidden levels."""
        subsets = Subsets.of(fused)
        given = np.argwhere(subsets.given.T)
        counts = [subsets.counts(fused, place) for place in range(len(fused.sources))]
        parts = [_part(fused.sources[source], counts[source][subset]).free() for source, subset in given.tolist()]
        shared = []
        for one, two in combinations(range(len(parts)), 2):
            if given[one, 1] == given[two, 1]:
                # Supports that assume nothing add the same at every level: any law of levels will do.
                levels = np.ones((len(parts[one].forms), len(parts[two].forms)))
                shared.append(Shared(one, two, float(subsets.people[given[one, 1]]), levels / levels.size))
        return cls(_alike(parts), given[:, 0], given[:, 1], subsets.people, tuple(shared), "size", target)

    @classmethod
    def by_service(cls, fused: Fused, free: FusedItems) -> FusedItems:
        """Take all reports of every service, whose hidden levels are taken not to depend on what people have."""
        subsets, places = Subsets.of(fused), np.arange(len(fused.sources))
        every = [_part(fused.sources[place], subsets.counts(fused, place).sum(axis=0)) for place in places.tolist()]
        parts, people, shared = _alike(every), np.array([fused.people]), _shared(fused, every)
        tested = all(part.homogeneity is not None for part in parts if part.several)
        of_mix = notes.TESTED_MIX if tested else notes.UNTESTED_MIX
        assumed = (notes.SAME_SUBSETS, of_mix) if len(free.people) > 1 else (of_mix,)
        return cls(parts, places, np.zeros_like(places), people, shared, "precision", free.target, assumed, free)

    @property
    def columns(self) -> tuple[Columns, ...]:
        return tuple(own for part in self.parts for own in part.columns)

    @property
    def reports(self) -> int:
        return int(self.people.sum())

    @property
    def largest(self) -> int:
        return max(part.largest for part in self.parts)

    @cached_property
    def facts(self) -> Facts:
        return Facts(
            question="",
            reports=self.reports,
            method=f"unbiased, pooled by {self.pool}",
            target=self.target,
            homogeneity=self.homogeneity,
            assumptions=notes.assume(self.target, *self.assumed, notes.NORMAL),
            notes=notes.subsets_disagree(self.homogeneity, self.pool),
            manipulation=self._manipulation,
        )

    @property
    def _manipulation(self) -> float:
        each = []
        for part, weights in zip(self.parts, self.item_weights, strict=True):
            told = part.singles[1].any(axis=(0, 2))
            each.append(float((np.abs(part.items.counted).max(axis=(0, 2)) * weights[told]).max()) / part.mix.reports)
        return self.reports * max(each)

    @cached_property
    def homogeneity(self) -> Homogeneity | None:
        """The test whether all subsets have the same supports, each by its most precise source; these are apart."""
        if self.tested is not None:
            return self.tested.homogeneity
        if len(self.people) < 2:
            return None
        sets, patterns = self.singles
        errors = np.array([part.expected_error(sets).mean() for part in self.parts])
        of_subset = (np.flatnonzero(self.subset == place).tolist() for place in range(len(self.people)))
        best = [min(own, key=lambda part: float(errors[part])) for own in of_subset]
        noise = [errors[place] ** 2 * self.parts[place].mix.reports for place in best]
        return homogeneity_of_targets(self._flat(best, sets, patterns), noise)

    @cached_property
    def singles(self) -> tuple[IntArray, Counts]:
        return self.parts[0].singles[0], np.concatenate([part.singles[1] for part in self.parts])

    @cached_property
    def item_weights(self) -> FloatArray:
        """The weight of every part in the support of every item, parts × items."""
        return self._weights(self.singles[0])

    def estimate(self, sets: IntArray, patterns: Counts) -> Estimated:
        """Return the supports of sets of one size; a part that tells nothing about a set does not count."""
        every = [part.estimate(sets, own) for part, own in zip(self.parts, self._split(patterns), strict=True)]
        own, errors, drawn = (
            np.array([getattr(each, name) for each in every]) for name in ("support", "error", "drawn")
        )
        told = np.isfinite(errors)
        weights = self._weights(sets) * told
        weights /= np.maximum(weights.sum(axis=0), _TINY)
        support = (weights * np.where(told, own, 0)).sum(axis=0)
        together = np.einsum("ki,kli,li->i", weights, self._common([each.contrasts for each in every]), weights)
        own_drawing, drawing = _spread(np.where(told, own, 0)), _spread(support)
        noise = (weights**2 * np.where(told, errors**2 - drawn * own_drawing, 0)).sum(axis=0)
        drawn_all = (weights**2 * drawn).sum(axis=0) + together
        variance = np.maximum(noise, 0) + np.maximum(drawn_all - self._given, 0) * drawing
        untold = ~told.any(axis=0)
        support[untold], variance[untold] = np.nan, np.inf
        return Estimated(support, np.sqrt(variance), drawn_all, np.ones((len(sets), 1)))

    def expected_error(self, sets: IntArray) -> FloatArray:
        covariance, weights = self._expected_covariance(sets), self._weights(sets)
        finite = np.where(np.isfinite(covariance), covariance, 0)
        variance = np.einsum("ki,kli,li->i", weights, finite, weights)
        variance = variance - self._given * _spread(self.parts[0].item_supports[sets].prod(axis=1))
        return np.asarray(np.sqrt(np.where(weights.any(axis=0), np.maximum(variance, 0), np.inf)))

    def least_error(self, items: int) -> float:
        """Return what noise of all parts leaves."""
        least = [part.least_error(items) for part in self.parts if items <= part.largest]
        return float(sum(own**-2 for own in least) ** -0.5) if least and min(least) > 0 else 0.0

    def small_counts(self, sets: IntArray, patterns: Counts) -> SmallCounts | None:
        """Return the sets that few reports support, as if no people were in two parts."""
        told = np.flatnonzero(patterns.any(axis=2).all(axis=0))
        if not len(told) or any(sets.shape[1] > part.largest for part in self.parts):
            return None
        evidence = self._flat(range(len(self.parts)), sets[told], patterns[:, told])
        weights = self._weights(sets[told]) / evidence.mix[:, None]
        linear = decode(evidence, "precision", weights=weights.T[:, None])
        sampled = 1.0 if self.target == "population" else 0.0
        return SmallCounts.joined([(told, SmallCounts.of(linear, sampled=sampled))])

    def covariances(self, sets: IntArray, patterns: Counts, parts: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        able = [place for place, part in enumerate(self.parts) if sets.shape[1] <= part.largest]
        counts = self._split(patterns)
        weights = np.zeros((len(parts), len(self.parts), len(sets)))
        for own, part in zip(weights, parts, strict=True):
            own[able] = self._weights(sets[:, list(part)])[able]
        weights /= weights.sum(axis=1, keepdims=True)
        every = [self.parts[place].covariances(sets, counts[place], parts) for place in able]
        supports = np.einsum("aki,kai->ai", weights[:, able], np.array([own for own, _ in every]))
        own, covariance = weights[:, able], np.array([own for _, own in every])
        found = np.einsum("aki,bki,kabi->abi", own, own, covariance)
        pairs = [*zip(self.parts, counts, strict=True)]
        contrasts = [
            [own.estimate(sets[:, list(part)], of_part(each, part)).contrasts for own, each in pairs] for part in parts
        ]
        unions = {tuple(sorted({*one, *two})) for one, two in product(parts, repeat=2)}
        of_union = {own: self.estimate(sets[:, list(own)], of_part(patterns, own)).support for own in unions}
        for (a, one), (b, two) in product(enumerate(parts), repeat=2):
            both = [(first + second) / 2 for first, second in zip(contrasts[a], contrasts[b], strict=True)]
            together = np.einsum("ki,kli,li->i", weights[a], self._common(both), weights[b])
            drawn = of_union[tuple(sorted({*one, *two}))] - supports[a] * supports[b]
            found[a, b] += (together - self._given) * drawn
        return supports, found

    @property
    def _given(self) -> float:
        """How many times f(1 − f) a variance is smaller because the people are given."""
        return 1 / self.reports if self.target == "respondents" else 0.0

    def _common(self, contrasts: Sequence[FloatArray]) -> FloatArray:
        """Return what people in two parts have in common."""
        return common_drawing(self.shared, np.array([part.mix.reports for part in self.parts], np.float64), contrasts)

    def _split(self, patterns: Counts) -> list[Counts]:
        """Return the counts of every part."""
        return np.split(patterns, np.cumsum([len(part.columns) for part in self.parts])[:-1])

    def _weights(self, sets: IntArray) -> FloatArray:
        """Return the weight of every part in the support of every set, parts × sets."""
        shares = self.people / self.reports if self.pool == "size" else None
        return best_weights(self._expected_covariance(sets), self.subset, shares)

    def _expected_covariance(self, sets: IntArray) -> FloatArray:
        """Return the covariance of parts to expect, were items independent: parts × parts × sets."""
        variances, contrasts = zip(*(part.expect_part(sets) for part in self.parts), strict=True)
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


def _alike(parts: Sequence[ItemReports]) -> tuple[ItemReports, ...]:
    """Let all parts take the supports of items that they have together as likely; errors are those of a population."""
    reports = np.array([part.mix.reports for part in parts], np.float64)
    supports = reports @ np.array([part.own_supports for part in parts]) / reports.sum()
    return tuple(replace(part, supports=supports) for part in parts)


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


def _part(source: Source, counts: FloatArray) -> ItemReports:
    """Return reports of a source, given how often each of its cells came."""
    forms: tuple[SetArrays, ...] = tuple(map(arrays, source.channels))
    columns = tuple(_columns(source, counts * (source.labels == label)) for label in range(len(forms)))
    return ItemReports(forms, columns, source_mix(source, counts), "precision", "population")


def _columns(source: Source, counts: FloatArray) -> Columns:
    """Return the reports of a source, given how often each of its cells came."""
    form, own = source.channel.form, np.rint(counts).astype(np.int64)
    if isinstance(form, Bits):
        return columns_of(source.channel, np.repeat(source.outputs, own, axis=0))
    every = np.zeros(form.count, np.int64)
    np.add.at(every, source.outputs.astype(np.int64), own)
    return columns_of(source.channel, every)


def _shared(fused: Fused, parts: Sequence[ItemReports]) -> tuple[Shared, ...]:
    """Return for every two sources how many people gave to both, and which levels they chose."""
    found = []
    for first, second in combinations(range(len(parts)), 2):
        both = (fused.cells[:, [first, second]] != ABSENT).all(axis=1)
        people = fused.counts[both]
        if not len(people):
            continue
        one, two = (fused.sources[place].labels[fused.cells[both, place]] for place in (first, second))
        undo, redo = parts[first].mix.inverse, parts[second].mix.inverse
        counts = np.bincount(one * len(redo) + two, weights=people, minlength=len(undo) * len(redo))
        levels = undo @ (counts.reshape(len(undo), len(redo)) / people.sum()) @ redo.T
        possible = norm_sub(levels.ravel()).reshape(levels.shape)
        found.append(Shared(first, second, float(people.sum()), possible))
    return tuple(found)


def fused_sets(fused: Fused, options: Options) -> Sets:
    """Return the supports of all items and the frequent sets."""
    check_pooling(options.pool, options.target)
    require_method(options.method, METHODS)
    free = FusedItems.by_subset(fused, options.target)
    if any(source.hidden is not None for source in fused.sources):
        return _hidden(fused, replace(free, assumed=(notes.ANY_SUBSET, notes.FREE_CHOICE)), options)
    method, several = "unbiased, people of each subset of services pooled by", len(free.people) > 1
    if options.pool == "size":
        return _stated(fused, free, options, f"{method} size")
    beside = _stated(fused, free, options, f"{method} size") if several else None
    together = replace(free, pool="precision", assumed=(notes.SAME_SUBSETS,) if several else free.assumed)
    return _stated(fused, together, options, f"{method} precision", beside=beside)


def _hidden(fused: Fused, free: FusedItems, options: Options) -> Sets:
    """Return the same where services hide levels, and beside it what holds whatever levels depend on."""
    method = "unbiased, people of each subset of services pooled by size, hidden levels free to depend on items"
    if options.pool == "size":
        return _stated(fused, free, options, method)
    worst = float(free.expected_error(free.singles[0]).max())
    beside = _stated(fused, free, options, method) if worst <= HOPELESS else None
    reports = FusedItems.by_service(fused, free)
    tests = {source.name: part.homogeneity for source, part in zip(fused.sources, reports.parts, strict=True)}
    told = (
        *dict.fromkeys(note for part in reports.parts for note in part.mix.notes),
        *(note for name, test in tests.items() for note in notes.levels_disagree(test, "precision", name)),
        *dict.fromkeys(note for test in tests.values() for note in notes.weak_test(test)),
        *(() if beside else (notes.no_free_shares(worst),)),
    )
    method = "approximately unbiased, hidden levels, services and labels pooled by precision"
    return _stated(fused, reports, options, method, beside=beside, told=told)


def _stated(
    fused: Fused,
    reports: FusedItems,
    options: Options,
    method: str,
    *,
    beside: Sets | None = None,
    told: tuple[Note, ...] = (),
) -> Sets:
    """Return supports and frequent sets of these reports; groups are all parts of a source together."""
    asked, items = fused.asked, fused.asked.values or tuple(map(str, range(fused.size)))
    weights = np.bincount(reports.source, reports.item_weights.mean(axis=1), len(fused.sources))
    subsets = Subsets.of(fused)
    every = [(source, subsets.counts(fused, place).sum(axis=0)) for place, source in enumerate(fused.sources)]
    levels = (level_shares(source, counts, source_mix(source, counts).shares) for source, counts in every)
    facts = replace(
        reports.facts,
        question=asked.name,
        text=asked.text,
        method=method,
        groups=tuple(source_groups(fused, weights.tolist())),
        levels=tuple(chain(*levels)),
        notes=told,
        confidence=options.confidence,
    )
    made = state_sets(facts, reports, items, options, beside=beside)
    return replace(made, notes=(*made.notes, join_note(fused)))
