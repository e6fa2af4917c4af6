"""Supports of items and sets where people hide the level they chose: reports show a label instead of it.

People who show label s chose level τ with the probability w_sτ = Pr(τ|s), which all labels together tell (`LevelMix`).
If the level does not depend on the set, their reports come from the mixture Σ_τ w_sτ Q_τ of the levels' channels, so
that labels are groups like any others, and are pooled by precision like those. What differs is that w rests on the
estimated mix ρ̂. A support f̂ = Σ_s a_s·(mean of W_s over the reports of label s) changes with it by

    ∂f̂/∂ρ_τ = −D_τ,        D_τ = Σ_s a_s·G(s|τ)/Pr(s)·(E_τ W_s − f),

E_τ W_s being the mean weight of label s for reports of level τ, and Dᵀ Cov(ρ̂) D is added to every variance. There is no
further term: given its label, a report's weight has the mean f, so that it does not go along with the label's part in
ρ̂.

Weights by the joint precision of outputs and ρ̂, which are those of the joint likelihood of one item, have at most 5 %
less variance (four levels behind a label of ε 0.3, 20,000 people), mostly below 1 %: it does not pay.

`FreeGroups` assume nothing about who chose which level: a report of label s and pattern y counts Σ_τ G⁻¹(τ, s)·W_τ(y),
whose mean is 1 for a person of any level who has all items, and 0 for any other, whatever the mix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.mix import LevelMix
from pldp.estimates.mix_bounds import MixBounds
from pldp.estimates.notes import (
    FREE_CHOICE,
    LABELS_SAY_LITTLE,
    MIX_NOT_USED,
    TESTED_CHOICE,
    UNTESTED_CHOICE,
    given_mix,
    mix_contradicted,
    sets_not_told,
    sets_too_large,
)
from pldp.estimates.options import Target, check_pooling
from pldp.estimates.rare import Rare
from pldp.estimates.result import Homogeneity, Note
from pldp.estimates.sets.dependence import item_dependence
from pldp.estimates.sets.groups import Arrays, ItemGroup, ItemGroups, Places
from pldp.mechanisms import CategoricalChannel, Channel
from pldp.mechanisms.arrays import (
    FloatArray,
    IntArray,
    SetArrays,
    SetPatterns,
    arrays,
    independent_patterns,
    label_arrays,
    patterns_of,
)
from pldp.records import Record
from pldp.tallies import Columns, columns_of

ENOUGH_REPORTS: Final = 100
"""Reports that tell about a set from which on their own spread is believed."""

_MANY: Final = 1 << 40
"""Reports at which expected counts are whole numbers, nearly enough."""

SMALL_PART: Final = 0.1
"""Part of the variance of outputs up to which the error of the mix of levels does not decide about an interval."""

UNSURE: Final = 0.25
"""Standard error of the share of a level from which on errors of supports are rough."""


@dataclass(frozen=True, eq=False, repr=False)
class HiddenBaskets(Record):
    """Reports of sets whose levels are hidden: the channel of every level, the labels, and the outputs of each label.

    Outputs are packed rows of bits, counts of integers, or whatever counts them; `names` are those of the levels.
    """

    channels: tuple[Channel, ...]
    mix: LevelMix
    outputs: tuple[npt.NDArray[Any] | Columns, ...]
    names: tuple[str, ...]

    def together(self, size: int, pool: str, target: Target) -> HiddenGroups:
        """Put the labels together; refuse pooling by the size of levels, which reports do not show."""
        check_pooling(pool, target)
        if pool == "size":
            raise EstimateError(
                "pool must be precision where levels are hidden, as reports do not show them: groups of one level "
                "cannot be weighted by their size; assumption_free of the result assumes nothing about the choice of "
                "levels"
            )
        if self.channels[0].size != size:
            raise EstimateError(f"items must be as many as the channel has ({self.channels[0].size}), not {size}")
        levels = tuple(arrays(channel) for channel in self.channels)
        shown = [label for label, count in enumerate(self.mix.counts.tolist()) if count]
        if not shown:
            raise EstimateError("nothing to estimate: groups need at least one report")
        columns = tuple(self._columns(label) for label in shown)
        made = tuple(
            _LabelGroup(self.channels[0], own.reports, levels[0].mixed(levels, self.mix.posterior[label]))
            for label, own in zip(shown, columns, strict=True)
        )
        about = {"mix": self.mix, "levels": levels, "labels": tuple(shown), "names": self.names}
        return HiddenGroups.together(made, columns, "precision", target, **about)

    def _columns(self, label: int) -> Columns:
        own = self.outputs[label]
        return columns_of(self.channels[0], own) if isinstance(own, np.ndarray) else own


@dataclass(frozen=True, eq=False, repr=False)
class _LabelGroup(ItemGroup):
    """People who show one label; `form` is what their reports show, `channel` only says which form outputs have."""

    form: SetPatterns

    @cached_property
    def arrays(self) -> SetPatterns:
        """What reports of this label show."""
        return self.form


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Labelled(ItemGroups):
    """Groups by label: the mix of levels, array form and name of every level, and the label of each group."""

    mix: LevelMix
    levels: tuple[SetArrays, ...]
    labels: tuple[int, ...]
    names: tuple[str, ...] = ()

    def note_of_larger(self, largest: int) -> Note:
        """Say why sets of more items are not estimated: reports do not tell, or equations would be too many."""
        tell_more = min(level.largest for level in self.levels) > largest
        return sets_too_large(largest) if tell_more else sets_not_told(largest)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class HiddenGroups(_Labelled):
    """Groups by label, pooled by precision, whose levels do not depend on the sets."""

    @cached_property
    def dependence(self) -> Homogeneity | None:
        """A test whether the level depends on having an item."""
        singles = np.arange(self.levels[0].channel.size)[:, None]
        counts = np.zeros((len(self.mix.counts), len(singles), 2), np.int64)
        for label, columns in zip(self.labels, self.columns, strict=True):
            counts[label] = columns.pattern_counts(singles)
        fitted = (self.weights(singles) * self.own_supports).sum(axis=0)
        possible = np.clip(fitted, 1 / self.reports, 1 - 1 / self.reports)
        # A mix that was given may be wrong; the test must not blame that on levels that depend on items.
        from_labels = replace(self.mix, bounds=MixBounds.free(len(self.levels)))
        return item_dependence(from_labels, self.levels, counts, possible)

    @property
    def about_levels(self) -> tuple[str, ...]:
        """What is assumed about the choice of levels, and what was given about their mix."""
        return (UNTESTED_CHOICE if self.dependence is None else TESTED_CHOICE, *given_mix(self.names, self.mix))

    def homogeneity(self) -> Homogeneity | None:
        """Test whether the level depends on having an item."""
        return self.dependence

    def estimate(self, sets: IntArray, patterns: Arrays) -> tuple[FloatArray, FloatArray]:
        """Return supports and standard errors of sets of one size, the error of the mix of levels included."""
        support, error = super().estimate(sets, patterns)
        return support, np.sqrt(error**2 + self._mix_variance(sets, patterns))

    def covariance(
        self, weights: FloatArray, sets: IntArray, patterns: Arrays, one: Places, two: Places, pooled: Arrays
    ) -> FloatArray:
        """Return the covariance of the supports of two parts of each set, that of the mix of levels included."""
        of_outputs = super().covariance(weights, sets, patterns, one, two, pooled)
        return of_outputs + self.of_mix(weights, sets, self._had(weights, sets, patterns), one, two)

    def rare(self, sets: IntArray, patterns: Arrays) -> Rare | None:
        """Return the sets that few reports speak for, where the error of the mix of levels is a small part of theirs.

        Others have normal intervals, which include it.
        """
        found = super().rare(sets, patterns)
        if found is None:
            return None
        of_outputs = super().estimate(sets, patterns)[1] ** 2
        sure = (self._mix_variance(sets, patterns) <= SMALL_PART * of_outputs)[found.places]
        return found.only(sure) if sure.any() else None

    def _mix_variance(self, sets: IntArray, patterns: Arrays) -> FloatArray:
        """Return what the error of the mix of levels adds to the variance of each set."""
        weights, every = self.told_weights(sets, patterns), range(sets.shape[1])
        return self.of_mix(weights, sets, self._had(weights, sets, patterns), every, every)

    def expected_error(self, sets: IntArray) -> FloatArray:
        """Return the standard error to expect for each set before it is counted, items taken as independent."""
        of_outputs, weights = super().expected_error(sets), self.weights(sets)
        if not np.isfinite(of_outputs).all():
            return of_outputs
        every, had = range(sets.shape[1]), independent_patterns(sets, self.item_supports)
        return np.sqrt(of_outputs**2 + self.of_mix(weights, sets, had, every, every))

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as in an item's support, as output and as label."""
        singles = np.arange(self.levels[0].channel.size)[:, None]
        weights, had = self.weights(singles), independent_patterns(singles, self.item_supports)
        counted = self.mix.report_weights.T[list(self.labels)]
        by_label = counted @ self.slopes(weights, singles, had, [0]).T  # labels × items
        largest = 0.0
        for group, taken, weight, size in zip(self.groups, by_label, weights, self.sizes, strict=True):
            counts = group.arrays.pattern_weights(singles, 1) / group.arrays.telling(1)
            largest = max(largest, float(np.abs((weight / size)[:, None] * counts - taken[:, None]).max()))
        return largest

    def notes(self) -> tuple[Note, ...]:
        """Say so where labels barely tell how people chose, or contradict every mix: then the scale is unsure."""
        spread = float(np.sqrt(np.diag(self.mix.covariance).max()))
        return (*mix_contradicted(self.mix), *((LABELS_SAY_LITTLE,) if spread > UNSURE else ()))

    def free(self) -> FreeGroups:
        """Return the same reports without an assumption about the choice of levels."""
        return FreeGroups.of_labels(self, self.dependence)

    def _had(self, weights: FloatArray, sets: IntArray, patterns: Arrays) -> FloatArray:
        """Return the shares of people who have each pattern of the items of each set, as estimated: sets × 2^items."""
        items = range(sets.shape[1])
        parts = [[place for place in items if pattern >> place & 1] for pattern in range(1 << len(items))]
        joint = [self.mean(weights, sets, patterns, part) if part else np.ones(len(sets)) for part in parts]
        return np.asarray(patterns_of(np.stack(joint, axis=1)))

    def of_mix(self, weights: FloatArray, sets: IntArray, had: FloatArray, one: Places, two: Places) -> FloatArray:
        """Return what the error of the mix of levels adds to a covariance."""
        first = self.slopes(weights, sets, had, one)
        second = first if tuple(one) == tuple(two) else self.slopes(weights, sets, had, two)
        return np.asarray(np.einsum("at,tu,au->a", first, self.mix.covariance, second))

    def slopes(self, weights: FloatArray, sets: IntArray, had: FloatArray, part: Places) -> FloatArray:
        """Return D of a part of each set: sets × levels."""
        chosen = sum(1 << place for place in part)
        patterns = np.arange(had.shape[1])
        support = had[:, patterns & chosen == chosen].sum(axis=1)
        chances = self.mix.matrix[list(self.labels)] / (self.mix.matrix @ self.mix.shares)[list(self.labels), None]
        found = np.zeros((len(sets), len(self.levels)))
        for place, level in enumerate(self.levels):
            shown = level.shown(sets, had)
            for group, weight, chance in zip(self.groups, weights, chances[:, place], strict=True):
                if sets.shape[1] <= group.arrays.largest:
                    found[:, place] += weight * chance * (group.arrays.moment(sets, shown, chosen) - support)
        return found


def hidden_item_variance(
    channels: Sequence[Channel], label_channel: CategoricalChannel, shares: FloatArray, supports: FloatArray
) -> FloatArray:
    """Return the variance of each item's support from one report, if these shares of levels and supports are true.

    Reports are pooled as those of `HiddenGroups` are, whose errors shrink with the root of the number of reports.

    >>> from pldp.mechanisms import ItemSet, RandomizedResponse
    >>> channels = [ItemSet.of([epsilon] * 2) for epsilon in (500_000, 2_000_000)]
    >>> label = RandomizedResponse.of(2, 1_000_000)
    >>> hidden_item_variance(channels, label, np.array([0.5, 0.5]), np.array([0.05, 0.5])).round(2)
    array([0.81, 0.93])
    """
    labels = label_arrays(label_channel).matrix() @ shares
    mix = LevelMix.of(label_channel, np.rint(labels * _MANY).astype(int).tolist())
    levels = tuple(arrays(channel) for channel in channels)
    shown = tuple(np.flatnonzero(mix.counts).tolist())
    groups = tuple(
        _LabelGroup(channels[0], int(mix.counts[label]), levels[0].mixed(levels, mix.posterior[label]))
        for label in shown
    )
    own = np.tile(supports, (len(groups), 1))
    together = HiddenGroups(groups, "precision", "population", own, (), mix=mix, levels=levels, labels=shown)
    return np.asarray(together.expected_error(np.arange(len(supports))[:, None]) ** 2 * mix.reports)


class _FreePatterns(SetPatterns):
    """What a report of one label counts whatever its level: Σ_τ G⁻¹(τ, s)·W_τ(y)."""

    def __init__(self, levels: Sequence[SetArrays], counted: FloatArray, mixed: SetPatterns) -> None:
        self.channel = levels[0].channel
        self._levels, self._counted, self._mixed = tuple(levels), counted, mixed

    @property
    def largest(self) -> int:
        """As many items as every level tells about."""
        return min(self._mixed.largest, *(level.largest for level in self._levels))

    def telling(self, items: int) -> float:
        """Return the share of the reports that tell about all of so many given items."""
        return self._mixed.telling(items)

    def shown(self, sets: IntArray, table: FloatArray) -> FloatArray:
        """Return what reports of the label show, if the level does not depend on the set."""
        return self._mixed.shown(sets, table)

    def pattern_weights(self, sets: IntArray, part: int) -> FloatArray:
        """Add up what the levels say."""
        each = zip(self._counted.tolist(), self._levels, strict=True)
        return np.asarray(sum(count * level.pattern_weights(sets, part) for count, level in each))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FreeGroups(_Labelled):
    """Groups by label, each with its part of the reports: supports whatever the choice of a level depends on."""

    test: Homogeneity | None

    @classmethod
    def of_labels(cls, hidden: HiddenGroups, test: Homogeneity | None) -> FreeGroups:
        """Take the reports of labels, and a test of what is not assumed here."""
        labels = zip(hidden.groups, hidden.mix.inverse.T[list(hidden.labels)], strict=True)
        made = tuple(
            _LabelGroup(own.channel, own.reports, _FreePatterns(hidden.levels, counted, own.arrays))
            for own, counted in labels
        )
        about = {"mix": hidden.mix, "levels": hidden.levels, "labels": hidden.labels, "names": hidden.names}
        return cls.together(made, hidden.columns, "size", hidden.target, test=test, **about)

    @property
    def about_levels(self) -> tuple[str, ...]:
        """Nothing is assumed."""
        return (FREE_CHOICE, *(() if self.mix.bounds.nothing else (MIX_NOT_USED,)))

    def homogeneity(self) -> Homogeneity | None:
        """Return the test of the assumption that is not made here."""
        return self.test

    @cached_property
    def item_supports(self) -> FloatArray:
        """Supports of all items, within 1/n and 1 − 1/n."""
        return np.clip(self.sizes @ self.own_supports, 1 / self.reports, 1 - 1 / self.reports)

    def covariance(
        self, weights: FloatArray, sets: IntArray, patterns: Arrays, one: Places, two: Places, pooled: Arrays
    ) -> FloatArray:
        """Return the covariance of the supports of two parts of each set: within labels, and of who shows which label.

        For the respondents themselves what they have is not random: Cov(one, two)/n less.
        """
        first, second = (sum(1 << place for place in part) for part in (one, two))
        f_one, f_two, _ = pooled
        total = -f_one * f_two / self.reports
        for group, own, weight, size in zip(self.groups, patterns, weights, self.sizes, strict=True):
            product = group.moment(sets, own, first, second)
            known = group.moment(sets, own, first) * group.moment(sets, own, second)
            total = total + weight**2 * (product - known) / np.maximum(group.telling(own), 1)
            total = total + size * known / self.reports
        if self.target == "respondents":
            had = [np.clip(support, 0, 1) for support in pooled]
            total = total - (had[2] - had[0] * had[1]) / self.reports
        return np.asarray(total)

    def estimate(self, sets: IntArray, patterns: Arrays) -> tuple[FloatArray, FloatArray]:
        """Return supports and standard errors of sets of one size; none is smaller than what is expected."""
        weights, every = self.told_weights(sets, patterns), range(sets.shape[1])
        support = self.mean(weights, sets, patterns, every)
        variance = self.covariance(weights, sets, patterns, every, every, (support, support, support))
        told = np.sum([group.telling(own) for group, own in zip(self.groups, patterns, strict=True)], axis=0)
        few = told < ENOUGH_REPORTS
        variance = np.where(few, np.maximum(variance, self.expected_error(sets) ** 2), variance)
        support[told == 0], variance[told == 0] = np.nan, np.inf
        return support, np.sqrt(np.maximum(variance, 0))

    def expected_error(self, sets: IntArray) -> FloatArray:
        """Return the standard error to expect for each set before it is counted, items taken as independent."""
        if any(sets.shape[1] > group.arrays.largest for group in self.groups):
            return np.full(len(sets), np.inf)
        support = self.item_supports[sets].prod(axis=1)
        told = self.groups[0].arrays.telling(sets.shape[1])
        squares = [group.arrays.second_moment(sets, self.item_supports) for group in self.groups]
        known = support**2 if self.target == "population" else support - (1 - told) * (support - support**2)
        return np.asarray(np.sqrt(np.maximum(self.sizes @ squares - known, 0) / (self.reports * told)))

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as in an item's support."""
        singles = np.arange(self.levels[0].channel.size)[:, None]
        forms = [group.arrays for group in self.groups]
        return max(float(np.abs(form.pattern_weights(singles, 1)).max()) / form.telling(1) for form in forms)

    def rare(self, sets: IntArray, patterns: Arrays) -> None:
        """No set is one that few reports speak for: by its label every report counts, whether it shows a set or not."""
