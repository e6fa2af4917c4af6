"""Supports of sets of items: the share of people who have all items of a set, for many sets at once.

Reports that tell about the items of a set show a pattern of them (`item_patterns`), by the level that they show or by
the label of a hidden one; the rest is `decode`. What is special about sets:

- **Likely states.** The law needs the shares of people with each part of a set. They are taken as if items were
  independent with their estimated supports, so that weights hardly depend on the noise of the set itself.
- **Weights are shared** by sets whose items are protected alike and are about equally frequent (odds within a factor
  of √2): one covariance of 2^m − 1 states at all levels is inverted for thousands of sets.
- **Variances come from the reports**, as items are not independent. Few reports may all say the same by chance; with
  ρ_τ people of level τ and M = f(1 − f), c_τ being the difference of ψ between people who have all items and others,
  no variance is below

      Σ_τ ρ_τ (min_x Var(ψ | τ, x) + c_τ² M).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.kinds.set_reports import (
    SURE,
    Counts,
    Estimated,
    any_told,
    distinct,
    least_variance,
    of_part,
    on_whole,
    pattern_inside,
)
from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.homogeneity import homogeneity_of_targets
from pldp.estimates.linear.known import GivenMix
from pldp.estimates.linear.mix import LevelMix
from pldp.estimates.linear.patterns import LARGEST_EXACT, Patterns, item_patterns, part_states
from pldp.estimates.linear.pooling import Linear, best_weights, decode
from pldp.estimates.linear.small_counts import SmallCounts
from pldp.estimates.results import notes
from pldp.estimates.results.consistency import norm_sub
from pldp.estimates.results.facts import Homogeneity, Note
from pldp.estimates.results.options import Pool, Target, check_pooling
from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import FloatArray, IntArray, SetArrays, arrays, independent_patterns
from pldp.records import Record
from pldp.tallies import Columns, columns_of

_AT_A_TIME: Final = 1 << 15
"""Sets that are decoded at a time."""

_ROUNDS: Final = 2
"""Rounds of the supports of items: what reports that do not tell about an item count is taken from the first."""


@dataclass(frozen=True, eq=False, repr=False)
class ItemReports(Record):
    """Reports of sets of items by what they show: a level, or a label of it; `forms` are those of every level.

    `counts` are the reports of each; where levels are hidden, `mix` is what labels and knowledge say of them, and
    `names` are those of the levels.
    """

    forms: tuple[SetArrays, ...]
    columns: tuple[Columns, ...]
    counts: IntArray
    pool: Pool
    target: Target
    mix: LevelMix | None = None
    names: tuple[str, ...] = ()
    supports: FloatArray | None = None  # of all items, where others say more about them

    @classmethod
    def of_groups(
        cls, groups: Sequence[tuple[Channel, npt.NDArray[Any] | Columns]], size: int, pool: Pool, target: Target
    ) -> ItemReports:
        """Take the reports of each level; levels without reports are left out."""
        check_pooling(pool, target)
        for channel, _ in groups:
            _check_size(channel, size)
        every = [columns_of(channel, own) if isinstance(own, np.ndarray) else own for channel, own in groups]
        counts = np.array([own.reports for own in every], np.int64)
        came = np.flatnonzero(counts).tolist()
        if not came:
            raise EstimateError("nothing to estimate: groups need at least one report")
        forms: tuple[SetArrays, ...] = tuple(arrays(groups[place][0]) for place in came)
        columns = tuple(every[place] for place in came)
        return cls(forms, columns, counts[came], pool, target)

    @classmethod
    def of_labels(
        cls,
        channels: Sequence[Channel],
        mix: LevelMix,
        outputs: Sequence[npt.NDArray[Any] | Columns],
        names: tuple[str, ...],
        size: int,
        target: Target,
    ) -> ItemReports:
        """Take the reports of each label of a hidden level."""
        _check_size(channels[0], size)
        if not mix.reports:
            raise EstimateError("nothing to estimate: groups need at least one report")
        forms: tuple[SetArrays, ...] = tuple(map(arrays, channels))
        columns = tuple(columns_of(channels[0], own) if isinstance(own, np.ndarray) else own for own in outputs)
        return cls(forms, columns, mix.counts, "precision", target, mix, names)

    def free(self) -> ItemReports:
        """Return the same reports without an assumption about the choice of levels."""
        return replace(self, pool="size")

    @property
    def about_levels(self) -> tuple[str, ...]:
        """What is assumed about the choice of levels, and what was given about their mix."""
        if self.mix is None:
            return (notes.same("supports") if self.several else notes.FREE_CHOICE,)
        return self.mix.assumed("supports", together=self.pool == "precision", tested=self.homogeneity is not None)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader must know of results that rest on the mix of hidden levels."""
        return () if self.mix is None else self.mix.notes

    @property
    def weights(self) -> FloatArray:
        """The weight of each level in the support of every item (levels × items), where levels show."""
        linear = self.items
        return np.asarray((linear.slope * linear.evidence.shares).sum(axis=2))

    @cached_property
    def homogeneity(self) -> Homogeneity | None:
        """The test whether the supports of items are the same at every level, item by item."""
        noise = [float(form.variance(self.item_supports).mean()) for form in self.forms]
        return homogeneity_of_targets(replace(self.items.evidence, likely_states=None), noise)

    @property
    def reports(self) -> int:
        """Number of reports."""
        return int(self.counts.sum())

    @property
    def size(self) -> int:
        """Number of items."""
        return self.forms[0].channel.size

    @property
    def largest(self) -> int:
        """Items of the largest sets that reports of some level tell about; of hidden levels, of all."""
        each = [form.largest for form in self.forms]
        return max(each) if self.mix is None else min(each)

    @property
    def told_by_all(self) -> int:
        """Items of the largest sets that reports of every level tell about."""
        return min(form.largest for form in self.forms)

    @property
    def several(self) -> bool:
        """Whether it matters that people of different levels are alike."""
        return self.pool == "precision" and len(self.forms) > 1

    @cached_property
    def singles(self) -> tuple[IntArray, Counts]:
        """Every item as a set, and its pattern counts."""
        sets = np.arange(self.size)[:, None]
        return sets, [own.pattern_counts(sets) for own in self.columns]

    @cached_property
    def untold(self) -> tuple[int, ...]:
        """Items that no report of some level or label tells about."""
        told = np.array([own.sum(axis=1) for own, count in zip(self.singles[1], self.counts, strict=True) if count])
        return tuple(np.flatnonzero((told == 0).any(axis=0)).tolist())

    @cached_property
    def own_supports(self) -> FloatArray:
        """Supports of all items pooled by size; items that no report tells about are as frequent as the mean of all."""
        sets, patterns = self.singles
        told = any_told(patterns)
        found = np.full(self.size, 0.5)
        if not told.any():
            return found
        table, least = self._table([own[told] for own in patterns]), 1 / max(self.reports, 2)
        for _ in range(_ROUNDS):
            near = np.clip(found[told], least, 1 - least)
            evidence = self._evidence(sets[told], table, np.stack([1 - near, near], axis=1))
            found[told] = decode(evidence, "size").estimates
        found[~told] = found[told].mean()
        return found

    @cached_property
    def item_supports(self) -> FloatArray:
        """Supports of all items within 1/n and 1 − 1/n: what likely states are made of."""
        found = self.own_supports if self.supports is None else self.supports
        return np.clip(found, 1 / self.reports, 1 - 1 / self.reports)

    def estimate(self, sets: IntArray, patterns: Counts) -> Estimated:
        """Return the supports of sets of one size; those that no report tells about have none, and no known error."""
        levels = len(self._told_by(sets.shape[1]))
        found = Estimated(
            np.full(len(sets), np.nan),
            np.full(len(sets), np.inf),
            np.zeros(len(sets)),
            np.ones((len(sets), levels or len(self.forms))),
        )
        told = np.flatnonzero(any_told(patterns)) if levels else np.zeros(0, np.intp)
        for start in range(0, len(told), _AT_A_TIME):
            some = told[start : start + _AT_A_TIME]
            linear = self.decode(sets[some], [own[some] for own in patterns])
            found.contrasts[some] = _contrasts(linear)
            found.support[some] = linear.estimates
            found.error[some] = np.sqrt(self._variance(linear, found.contrasts[some]))
            found.drawn[some] = _drawn(linear, found.contrasts[some])
        return found

    def decode(self, sets: IntArray, patterns: Counts) -> Linear:
        """Return what reports that came say of sets of one size."""
        evidence = self._evidence(sets, self._table(patterns), self.likely(sets))
        return decode(evidence, self.pool, weights=self._weights(sets))

    def likely(self, sets: IntArray) -> FloatArray:
        """Return the shares of people with each part of each set, were items independent."""
        return independent_patterns(sets, self.item_supports)

    def expected_error(self, sets: IntArray) -> FloatArray:
        """Return the standard error to expect for each set before it is counted, items taken as independent."""
        if not self._told_by(sets.shape[1]):
            return np.full(len(sets), np.inf)
        linear = self.expect(sets)
        variance = linear.variance(self.target)
        return np.sqrt(np.where(variance * linear.reports > SURE * linear.lawful, variance, 0.0))

    def expect(self, sets: IntArray) -> Linear:
        """Return what reports would say of sets if items were independent."""
        return decode(self.expected(sets, self.likely(sets)), self.pool, weights=self._weights(sets))

    def expect_part(self, sets: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the variance to expect for each set, and by what ψ then differs between people, sets × levels."""
        if not self._told_by(sets.shape[1]):
            return np.full(len(sets), np.inf), np.ones((len(sets), len(self.forms)))
        linear = self.expect(sets)
        return linear.variance(), _contrasts(linear)

    def least_error(self, items: int) -> float:
        """Return at most the least `expected_error` of any set of this many items.

        What remains, given who has what, is noise: with N_τ(x) the covariance of what reports of level τ count for the
        states of a person x, no weights have a smaller one than (Σ_τ n_τ t_τ N_τ⁻¹)⁻¹ has for "all items", n_τ t_τ
        being the reports that tell. As that is concave in the shares of x, it is least where all people are alike. A
        label can only say less than the level itself, and known mixes say nothing about noise.
        """
        told = self._told_by(items)
        if not told:
            return 0.0
        mix = norm_sub(np.linalg.solve(self._chance(told), self.counts[told] / self.reports))
        forms = [self.forms[level].clearest(items) for level in told]
        reports = [self.reports * own * self.forms[level].telling(items) for level, own in zip(told, mix, strict=True)]
        return float(min(least_variance(forms, reports, items, part) for part in range(items + 1)) ** 0.5)

    def small_counts(self, sets: IntArray, patterns: Counts) -> SmallCounts | None:
        """Return the sets that few reports support, whose intervals are not normal."""
        told = np.flatnonzero(any_told(patterns))
        if not len(told) or not self._told_by(sets.shape[1]):
            return None
        linear = self.decode(sets[told], [own[told] for own in patterns])
        sampled = 1.0
        if self.target == "respondents":
            sampled = 1 - 1 / max(self.reports * float(_drawn(linear, _contrasts(linear)).mean()), 1.0)
        return SmallCounts.joined([(told, SmallCounts.of(linear, sampled=sampled))])

    @cached_property
    def items(self) -> Linear:
        """What reports say of every single item that they tell about."""
        sets, patterns = self.singles
        told = any_told(patterns)
        return self.decode(sets[told], [own[told] for own in patterns])

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as in the support of an item."""
        return self.items.manipulation

    def covariances(self, sets: IntArray, patterns: Counts, parts: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Return the supports of parts of each set (places of their items), and their covariances, parts × parts.

        Only levels count whose reports tell about the whole set.
        """
        told = self._told_by(sets.shape[1])
        if len(told) < len(self.forms):
            forms, columns = tuple(self.forms[own] for own in told), tuple(self.columns[own] for own in told)
            chosen = replace(self, forms=forms, columns=columns, counts=self.counts[told])
            return chosen.covariances(sets, [patterns[place] for place in told], parts)
        every = np.arange(1 << sets.shape[1])
        linears = [self.decode(sets[:, list(part)], of_part(patterns, part)) for part in parts]
        psi = [on_whole(one.psi, pattern_inside(every, part)) for one, part in zip(linears, parts, strict=True)]
        table, supports = self._table(patterns), np.array([one.estimates for one in linears])
        most = max(own.shape[2] for own in (table, *psi))
        table, *psi = (np.pad(own, ((0, 0), (0, 0), (0, most - own.shape[2]))) for own in (table, *psi))
        product = np.einsum("sic,asic,bsic->abi", table / self.reports, np.array(psi), np.array(psi), optimize=True)
        for gains in zip(*(one.gains for one in linears), strict=True):
            gain, along = (np.array([own[place] for own in gains]) for place in (1, 2))
            product -= np.einsum("ail,bil->abi", gain, along)
        if self.target == "respondents":
            unions = [[self._support(sets, patterns, sorted({*one, *two})) for two in parts] for one in parts]
            product -= np.array(unions) - supports[:, None] * supports
        return supports, product / self.reports

    def _support(self, sets: IntArray, patterns: Counts, part: Sequence[int]) -> FloatArray:
        return self.decode(sets[:, list(part)], of_part(patterns, part)).estimates

    def _told_by(self, items: int) -> list[int]:
        """Return the levels that count for sets of so many items: those whose reports tell about them, or none.

        By size all levels count. Where levels are hidden, all of them tell or none does.
        """
        told = [place for place, form in enumerate(self.forms) if items <= form.largest]
        return told if len(told) == len(self.forms) or (self.mix is None and self.pool == "precision") else []

    def _table(self, patterns: Counts) -> FloatArray:
        """Return counts of patterns, shown × sets × patterns, with those of reports that do not tell."""
        items = patterns[0].shape[1].bit_length() - 1
        told = self._told_by(items)
        table = np.array([patterns[place] for place in told], np.float64)
        if all(self.forms[place].telling(items) == 1 for place in told):
            return table
        silent = self.counts[told][:, None] - table.sum(axis=2)
        return np.concatenate([table, silent[:, :, None]], axis=2)

    def _evidence(self, sets: IntArray, counts: FloatArray, likely: FloatArray) -> Evidence:
        """Pair counts with what patterns of these sets count."""
        states, visible = part_states(sets.shape[1], likely), self.mix is None
        chance = self._chance(self._told_by(sets.shape[1]))
        patterns = self._patterns(sets, likely)
        return Evidence(counts, patterns, chance, visible, exclusive=False, likely_states=states, known=self._known)

    def _chance(self, told: Sequence[int]) -> FloatArray:
        """Return how often people of each level show each level or label."""
        return np.eye(len(told)) if self.mix is None else self.mix.matrix

    @property
    def _known(self) -> tuple[GivenMix, ...]:
        """What is known of the mix of levels."""
        if self.mix is None or self.mix.bounds.nothing:
            return ()
        return (GivenMix(self.mix.bounds, np.eye(len(self.forms))),)

    def _patterns(self, sets: IntArray, likely: FloatArray) -> Patterns:
        """Return the patterns of sets; those whose items are protected alike share them."""
        items = sets.shape[1]
        forms = [self.forms[level] for level in self._told_by(items)]
        if items > LARGEST_EXACT or any(form.telling(items) < 1 for form in forms):
            return item_patterns(forms, sets, likely)
        first, alike = distinct(self._kinds[sets])
        return item_patterns(forms, sets[first], likely[first]).repeated(alike)

    @cached_property
    def _kinds(self) -> npt.NDArray[np.intp]:
        """The kind of each item: items of one kind are protected alike at every level."""
        sets = np.arange(self.size)[:, None]
        shown = [
            form.shown(sets, np.broadcast_to(had, (self.size, 2)))[:, 1] for form in self.forms for had in np.eye(2)
        ]
        return np.asarray(np.unique(np.stack(shown, axis=1), axis=0, return_inverse=True)[1].reshape(-1))

    @cached_property
    def _classes(self) -> tuple[npt.NDArray[np.intp], FloatArray]:
        """The class of each item, kind and odds within a factor of √2, and the support that stands for each item's."""
        odds = np.rint(np.log2(self.item_supports / (1 - self.item_supports)))
        classes = np.unique(np.stack([self._kinds, odds], axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        return np.asarray(classes), np.asarray(1 / (1 + 2.0**-odds))

    def _weights(self, sets: IntArray) -> FloatArray | None:
        """Return the weights of levels and states in each set, one for all sets of one class."""
        if not self.several:
            return None
        classes, supports = self._classes
        first, alike = distinct(classes[sets])
        evidence = self.expected(sets[first], independent_patterns(sets[first], supports))
        weights = best_weights(evidence, self.pool, alike=False)
        return weights if len(weights) == 1 else weights[alike]

    def expected(self, sets: IntArray, likely: FloatArray) -> Evidence:
        """Return the evidence to expect for sets if people have each part of them as often as is likely."""
        told = self._told_by(sets.shape[1])
        reports = self.counts[told].astype(np.float64)[:, None, None]
        counts = np.broadcast_to(reports, (len(told), len(sets), 1))
        bare = self._evidence(sets, counts, likely)
        mix = norm_sub(np.linalg.solve(bare.chance, self.counts[told] / self.counts[told].sum()))
        shown = bare.expected(slice(0, len(sets)), part_states(sets.shape[1], likely), mix)
        by_shown = np.swapaxes(shown.reshape(len(sets), len(told), -1), 0, 1) / (bare.chance @ mix)[:, None, None]
        return replace(bare, counts=counts * by_shown)

    def _variance(self, linear: Linear, contrasts: FloatArray) -> FloatArray:
        """Return the variance of each support; see the module for the least that it can be."""
        mix, inside = linear.evidence.possible_mix, np.clip(linear.estimates, 0, 1)
        least = linear.by_person[1].min(axis=2) @ mix
        if self.target == "population":
            possible = np.clip(inside, 1 / self.reports, 1 - 1 / self.reports)
            least = least + self.reports * _drawn(linear, contrasts) * possible * (1 - possible)
            one = np.maximum(linear.came, least) - linear.explained
        else:
            one = np.maximum(linear.came - inside * (1 - inside), least) - linear.explained
            one = np.where(one > SURE * linear.came, one, 0)
        return np.asarray(np.maximum(one, 0) / linear.reports)


def _contrasts(linear: Linear) -> FloatArray:
    """Return by what ψ differs between people who have all items and others, sets × levels."""
    mean = linear.by_person[0]
    rest = linear.states[:, :-1] / linear.states[:, :-1].sum(axis=1, keepdims=True)
    return np.asarray(mean[:, :, -1] - (mean[:, :, :-1] @ rest[:, :, None])[:, :, 0])


def _drawn(linear: Linear, contrasts: FloatArray) -> FloatArray:
    """Return how many times f(1 − f) drawing people adds to each variance."""
    mix = linear.evidence.possible_mix
    return np.asarray(contrasts**2 @ mix / linear.reports)


def _check_size(channel: Channel, size: int) -> None:
    if channel.size != size:
        raise EstimateError(f"items must be as many as the channel has ({channel.size}), not {size}")
