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
from pldp.estimates.kinds.item_search import Counts, Estimated
from pldp.estimates.linear.evidence import Evidence
from pldp.estimates.linear.homogeneity import homogeneity_of_targets
from pldp.estimates.linear.known import given_mix
from pldp.estimates.linear.mix import LevelMix
from pldp.estimates.linear.patterns import LARGEST_EXACT, Patterns, item_patterns, part_states
from pldp.estimates.linear.pooling import Linear, best_weights, decode
from pldp.estimates.linear.small_counts import SmallCounts
from pldp.estimates.results import notes
from pldp.estimates.results.consistency import norm_sub
from pldp.estimates.results.facts import Facts, Homogeneity
from pldp.estimates.results.options import Target, check_options, pooling_words
from pldp.mechanisms import Channel
from pldp.mechanisms.arrays import FloatArray, IntArray, SetArrays, SetPatterns, arrays, independent_patterns
from pldp.records import Record
from pldp.tallies import Columns, columns_of

Outputs = npt.NDArray[Any] | Columns
"""Packed rows of bits, one per report, or how often each integer came, or whatever counts them."""

Baskets = Sequence[tuple[Channel, Outputs]]
"""Groups of reports: the channel and the outputs of each, or whatever counts them (`pldp.tallies.spark`)."""

SURE: Final = 1e-12
"""Part of a variance below which it is nothing but rounding."""

_SINGULAR: Final = 1e10
"""Condition number from which on noise is taken to have no inverse, and no least error is promised."""

_AT_A_TIME: Final = 1 << 15
"""Sets that are decoded at a time."""

_ROUNDS: Final = 2
"""Rounds of the supports of items: what reports that do not tell about an item count is taken from the first."""


@dataclass(frozen=True, eq=False, repr=False)
class HiddenBaskets(Record):
    """Reports of sets by what they show of levels (`mix`), a label or all: outputs, and the channels of all levels."""

    channels: tuple[Channel, ...]
    mix: LevelMix
    outputs: tuple[Outputs, ...]


@dataclass(frozen=True, eq=False, repr=False)
class ItemReports(Record):
    """Reports of sets by what they show of levels (`mix`): a level, or a label of it; `forms` are those of all levels.

    `supports` are those of all items, where others say more about them.
    """

    forms: tuple[SetArrays, ...]
    columns: tuple[Columns, ...]
    mix: LevelMix
    differ: float | None
    target: Target
    supports: FloatArray | None = None

    def __post_init__(self) -> None:
        if not self.mix.reports:
            raise EstimateError("nothing to estimate: groups need at least one report")

    @classmethod
    def of(cls, groups: Baskets | HiddenBaskets, size: int, differ: float | None, target: Target) -> ItemReports:
        """Take the reports about so many items; levels that no report speaks of are left out."""
        check_options(differ, target)
        if isinstance(groups, HiddenBaskets):
            known, every = groups.mix, [*zip(groups.channels, groups.outputs, strict=True)]
        else:
            known, every = None, [*groups]
        for channel, _ in every:
            if channel.size != size:
                raise EstimateError(f"items must be as many as the channel has ({channel.size}), not {size}")
        columns = tuple(columns_of(channel, own) if isinstance(own, np.ndarray) else own for channel, own in every)
        mix = known or LevelMix.of(None, [own.reports for own in columns])
        made = cls(tuple(arrays(channel) for channel, _ in every), columns, mix, differ, target)
        return made._only(np.flatnonzero(mix.matrix.T @ mix.counts).tolist())

    def _only(self, levels: Sequence[int]) -> ItemReports:
        """Return the reports of some levels, whose labels stand for no others."""
        if len(levels) == len(self.forms):
            return self
        forms = tuple(self.forms[level] for level in levels)
        columns = tuple(self.columns[level] for level in levels)
        return replace(self, forms=forms, columns=columns, mix=LevelMix.of(None, self.mix.counts[levels].tolist()))

    def within(self, differ: float | None) -> ItemReports:
        """Return the same reports if people of different levels differ by at most so much."""
        return replace(self, differ=differ)

    @property
    def largest(self) -> int:
        return max(form.largest for form in self.forms if self._tell_alone(form.largest))

    @property
    def several(self) -> bool:
        """Whether there are people of different levels."""
        return len(self.forms) > 1

    @cached_property
    def facts(self) -> Facts:
        tested = self.homogeneity
        levels = self.mix.assumed("supports", together=self.several and self.differ == 0)
        return Facts(
            question="",
            reports=self.mix.reports,
            method=f"unbiased, {pooling_words(self.differ if self.several else None)}",
            target=self.target,
            homogeneity=tested,
            assumptions=notes.assume(self.target, *levels, notes.NORMAL),
            notes=notes.levels_disagree(tested, self.differ),
            manipulation=self.items.manipulation,
        )

    @cached_property
    def homogeneity(self) -> Homogeneity | None:
        """The test whether the supports of items are the same at every level, item by item."""
        noise = [float(form.variance(self.item_supports).mean()) for form in self.forms]
        return homogeneity_of_targets(replace(self.items.evidence, likely_states=None), noise)

    @cached_property
    def singles(self) -> tuple[IntArray, Counts]:
        sets = np.arange(self.forms[0].channel.size)[:, None]
        return sets, np.array([own.pattern_counts(sets) for own in self.columns])

    @cached_property
    def items(self) -> Linear:
        """What reports say of every single item that they tell about."""
        sets, patterns = self.singles
        told = patterns.any(axis=(0, 2))
        return self.decode(sets[told], patterns[:, told])

    @cached_property
    def own_supports(self) -> FloatArray:
        """Supports of all items, all people counting alike; those of items that no report tells about are the mean."""
        sets, patterns = self.singles
        told, found = patterns.any(axis=(0, 2)), np.full(len(sets), 0.5)
        if not told.any():
            return found
        table, least = self._table(patterns[:, told]), 1 / max(self.mix.reports, 2)
        for _ in range(_ROUNDS):
            near = np.clip(found[told], least, 1 - least)
            evidence = self._evidence(sets[told], table, np.stack([1 - near, near], axis=1))
            found[told] = decode(evidence, None).estimates
        found[~told] = found[told].mean()
        return found

    @cached_property
    def item_supports(self) -> FloatArray:
        """Supports of all items within 1/n and 1 − 1/n: what likely states are made of."""
        found = self.own_supports if self.supports is None else self.supports
        return np.clip(found, 1 / self.mix.reports, 1 - 1 / self.mix.reports)

    def estimate(self, sets: IntArray, patterns: Counts) -> Estimated:
        levels, size = self._told_by(sets.shape[1]) or self.forms, len(sets)
        contrasts = np.ones((size, len(levels)))
        found = Estimated(np.full(size, np.nan), np.full(size, np.inf), np.zeros(size), contrasts)
        told = self._told(patterns)
        for start in range(0, len(told), _AT_A_TIME):
            some = told[start : start + _AT_A_TIME]
            linear = self.decode(sets[some], patterns[:, some])
            contrasts[some] = _contrasts(linear)
            found.support[some] = linear.estimates
            found.drawn[some] = _drawn(linear, contrasts[some])
            found.error[some] = np.sqrt(self._variance(linear, found.drawn[some]))
        return found

    def decode(self, sets: IntArray, patterns: Counts) -> Linear:
        """Return what reports that came say of sets of one size."""
        evidence = self._evidence(sets, self._table(patterns), independent_patterns(sets, self.item_supports))
        return decode(evidence, self.differ, weights=self._weights(sets))

    def expected_error(self, sets: IntArray) -> FloatArray:
        if not self._told_by(sets.shape[1]):
            return np.full(len(sets), np.inf)
        linear = self._expect(sets)
        variance = linear.variance(self.target)
        return np.sqrt(np.where(variance * linear.reports > SURE * linear.lawful, variance, 0.0))

    def expect_part(self, sets: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the variance to expect for each set, and by what ψ then differs between people, sets × levels."""
        if not self._told_by(sets.shape[1]):
            return np.full(len(sets), np.inf), np.ones((len(sets), len(self.forms)))
        linear = self._expect(sets)
        return linear.variance(), _contrasts(linear)

    def _expect(self, sets: IntArray) -> Linear:
        """Return what reports would say of sets if items were independent."""
        evidence = self.expected(sets, independent_patterns(sets, self.item_supports))
        return decode(evidence, self.differ, weights=self._weights(sets))

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
        chance, counts = self.mix.matrix[np.ix_(told, told)], self.mix.counts[told]
        people = self.mix.reports * norm_sub(np.linalg.solve(chance, counts / self.mix.reports))
        forms = [self.forms[level].clearest(items) for level in told]
        reports = [own * self.forms[level].telling(items) for level, own in zip(told, people, strict=True)]
        return float(min(_least_variance(forms, reports, items, part) for part in range(items + 1)) ** 0.5)

    def small_counts(self, sets: IntArray, patterns: Counts) -> SmallCounts | None:
        told = self._told(patterns)
        if not len(told):
            return None
        linear = self.decode(sets[told], patterns[:, told])
        sampled = 1.0
        if self.target == "respondents":
            sampled = 1 - 1 / max(self.mix.reports * float(_drawn(linear, _contrasts(linear)).mean()), 1.0)
        return SmallCounts.joined([(told, SmallCounts.of(linear, sampled=sampled))])

    def covariances(self, sets: IntArray, patterns: Counts, parts: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Return the supports of parts of each set (places of their items), and their covariances, parts × parts.

        Only levels count whose reports tell about the whole set.
        """
        told = self._told_by(sets.shape[1])
        if len(told) < len(self.forms):
            return self._only(told).covariances(sets, patterns[told], parts)

        def part_of(part: Sequence[int]) -> Linear:
            return self.decode(sets[:, list(part)], of_part(patterns, part))

        linears, table = [part_of(part) for part in parts], self._table(patterns)
        supports = np.array([one.estimates for one in linears])
        psi = np.array([_on_whole(one.psi, part, table.shape[2]) for one, part in zip(linears, parts, strict=True)])
        product = np.einsum("sic,asic,bsic->abi", table / self.mix.reports, psi, psi, optimize=True)
        for gains in zip(*(one.gains for one in linears), strict=True):
            gain, along = (np.array([own[place] for own in gains]) for place in (1, 2))
            product -= np.einsum("ail,bil->abi", gain, along)
        if self.target == "respondents":
            unions = [[part_of(sorted({*one, *two})).estimates for two in parts] for one in parts]
            product -= np.array(unions) - supports[:, None] * supports
        return supports, product / self.mix.reports

    def _tell_alone(self, items: int) -> list[int]:
        """Return the levels whose reports tell about so many items; none if their labels may stand for others, too."""
        told = [place for place, form in enumerate(self.forms) if items <= form.largest]
        rest = [place for place, form in enumerate(self.forms) if items > form.largest]
        return [] if self.mix.matrix[np.ix_(told, rest)].any() else told

    def _told_by(self, items: int) -> list[int]:
        """Return the levels that count for sets of so many items: those that tell about them, by size all or none."""
        told = self._tell_alone(items)
        return told if self.differ == 0 or len(told) == len(self.forms) else []

    def _told(self, patterns: Counts) -> npt.NDArray[np.intp]:
        """Return the sets that some report of the levels that count tells about."""
        return np.flatnonzero(patterns[self._told_by(patterns.shape[2].bit_length() - 1)].any(axis=(0, 2)))

    def _table(self, patterns: Counts) -> FloatArray:
        """Return counts of patterns, shown × sets × patterns, with those of reports that do not tell."""
        items = patterns.shape[2].bit_length() - 1
        told = self._told_by(items)
        table = patterns[told].astype(np.float64)
        if all(self.forms[place].telling(items) == 1 for place in told):
            return table
        silent = self.mix.counts[told][:, None] - table.sum(axis=2)
        return np.concatenate([table, silent[:, :, None]], axis=2)

    def _evidence(self, sets: IntArray, counts: FloatArray, likely: FloatArray) -> Evidence:
        told, states = self._told_by(sets.shape[1]), part_states(sets.shape[1], likely)
        chance, patterns = self.mix.matrix[np.ix_(told, told)], self._patterns(sets, likely)
        known = () if self.mix.bounds.nothing else (given_mix(self.mix.bounds, np.eye(len(self.forms))),)
        return Evidence(counts, patterns, chance, self.mix.visible, exclusive=False, likely_states=states, known=known)

    def _patterns(self, sets: IntArray, likely: FloatArray) -> Patterns:
        """Return the patterns of sets; those whose items are protected alike share them."""
        items = sets.shape[1]
        forms = [self.forms[level] for level in self._told_by(items)]
        if items > LARGEST_EXACT or any(form.telling(items) < 1 for form in forms):
            return item_patterns(forms, sets, likely)
        first, alike = _distinct(self._kinds[sets])
        return item_patterns(forms, sets[first], likely[first]).repeated(alike)

    @cached_property
    def _kinds(self) -> npt.NDArray[np.intp]:
        """The kind of each item: items of one kind are protected alike at every level."""
        size = self.forms[0].channel.size
        sets, had = np.arange(size)[:, None], [np.broadcast_to(own, (size, 2)) for own in np.eye(2)]
        shown = [form.shown(sets, own)[:, 1] for form in self.forms for own in had]
        return np.asarray(np.unique(np.stack(shown, axis=1), axis=0, return_inverse=True)[1].reshape(-1))

    @cached_property
    def _classes(self) -> tuple[npt.NDArray[np.intp], FloatArray]:
        """The class of each item, kind and odds within a factor of √2, and the support that stands for each item's."""
        odds = np.rint(np.log2(self.item_supports / (1 - self.item_supports)))
        classes = np.unique(np.stack([self._kinds, odds], axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        return np.asarray(classes), np.asarray(1 / (1 + 2.0**-odds))

    def _weights(self, sets: IntArray) -> FloatArray | None:
        """Return the weights of levels and states in each set, one for all sets of one class."""
        if not self.several or self.differ is None:
            return None
        classes, supports = self._classes
        first, alike = _distinct(classes[sets])
        evidence = self.expected(sets[first], independent_patterns(sets[first], supports))
        weights = best_weights(evidence, self.differ, alike=False)
        return weights if len(weights) == 1 else weights[alike]

    def expected(self, sets: IntArray, likely: FloatArray) -> Evidence:
        """Return the evidence to expect for sets if people have each part of them as often as is likely."""
        came = self.mix.counts[self._told_by(sets.shape[1])].astype(np.float64)
        counts = np.broadcast_to(came[:, None, None], (len(came), len(sets), 1))
        bare = self._evidence(sets, counts, likely)
        mix = norm_sub(np.linalg.solve(bare.chance, came / came.sum()))
        shown = bare.expected(slice(0, len(sets)), part_states(sets.shape[1], likely), mix)
        by_shown = np.swapaxes(shown.reshape(len(sets), len(came), -1), 0, 1) / (bare.chance @ mix)[:, None, None]
        return replace(bare, counts=counts * by_shown)

    def _variance(self, linear: Linear, drawn: FloatArray) -> FloatArray:
        """Return the variance of each support; see the module for the least that it can be."""
        mix, inside = linear.evidence.possible_mix, np.clip(linear.estimates, 0, 1)
        least = linear.by_person[1].min(axis=2) @ mix
        if self.target == "population":
            possible = np.clip(inside, 1 / self.mix.reports, 1 - 1 / self.mix.reports)
            least = least + self.mix.reports * drawn * possible * (1 - possible)
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
    return np.asarray(contrasts**2 @ linear.evidence.possible_mix / linear.reports)


def of_part(patterns: Counts, part: Sequence[int]) -> Counts:
    """Return the counts of patterns of a part of each set (places of its items)."""
    inside = _pattern_inside(patterns.shape[2], part)
    return np.stack([patterns[:, :, inside == own].sum(axis=2) for own in range(1 << len(part))], axis=2)


def _pattern_inside(patterns: int, part: Sequence[int]) -> IntArray:
    """Return the pattern of a part that each pattern of the whole set has."""
    whole = np.arange(patterns)
    return np.asarray(sum((whole >> place & 1) << number for number, place in enumerate(part)))


def _on_whole(psi: FloatArray, part: Sequence[int], width: int) -> FloatArray:
    """Return ψ of a part by the pattern of the whole set; what is left of the width are reports that do not tell."""
    inside, silent = _pattern_inside(1 << width.bit_length() - 1, part), psi[:, :, 1 << len(part) :]
    whole = np.concatenate([psi[:, :, inside], silent], axis=2)
    return np.pad(whole, ((0, 0), (0, 0), (0, width - whole.shape[2])))


def _least_variance(forms: Sequence[SetPatterns], reports: Sequence[float], items: int, has: int) -> float:
    """Return the least variance of "all items" that noise leaves if everybody has the first few; 0 if not known."""
    sets, parts = np.arange(items)[None, :], np.eye(1 << items)
    patterns, precision = item_patterns(forms, sets, np.full((1, 1 << items), 0.5**items)), np.zeros((1, 1))
    for form, count, weights in zip(forms, reports, patterns.weights[:, 1:, 0, : 1 << items], strict=True):
        counted, law = weights * form.telling(items), form.shown(sets, parts[[(1 << has) - 1]])[0]
        mean = counted @ law
        noise = (counted * law) @ counted.T - np.outer(mean, mean)
        if noise[-1, -1] < SURE or np.linalg.cond(noise) > _SINGULAR:
            return 0.0
        precision = precision + count * np.linalg.inv(noise)
    return float(np.linalg.inv(precision)[-1, -1])


def _distinct(codes: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return where each distinct row stands first, and which of them every row is."""
    base = int(codes.max()) + 1
    whole = codes @ base ** np.arange(codes.shape[1]) if base ** codes.shape[1] < 1 << 62 else codes
    _, first, back = np.unique(whole, axis=0, return_index=True, return_inverse=True)
    return first, back.reshape(-1)
