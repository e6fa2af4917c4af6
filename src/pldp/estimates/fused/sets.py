"""Supports of items and of sets of items from the joined reports of several services.

The reports of people of one subset (`Subsets`) through one source are a group. Groups of the same people share who was
drawn: for two parts A and B of a set, the supports of groups g ≠ h of one subset have the covariance

    (f_{A ∪ B} − f_A f_B) / n,

and those of different subsets none. The rest is as for levels: unbiased weights, pooled by precision or by size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates import notes
from pldp.estimates.fused.circumstances import join_note, require_method
from pldp.estimates.fused.subsets import Subsets
from pldp.estimates.kinds.choices import Sets
from pldp.estimates.options import SHARED, Options, check_pooling
from pldp.estimates.result import GroupReports, Homogeneity
from pldp.estimates.sets.groups import Arrays, ItemGroup, ItemGroups
from pldp.estimates.sets.itemsets import search_sets
from pldp.estimates.sets.supports import HOPELESS, item_supports
from pldp.mechanisms.arrays import FloatArray, IntArray
from pldp.tallies import Columns, Fused, columns_of

METHODS: Final = ("unbiased",)
OPTIONS: Final = (*SHARED, "method", "min_support", "largest")


@dataclass(frozen=True, eq=False, repr=False)
class FusedGroups(ItemGroups):
    """Groups of reports, some of the same people: `subset` says of which, `people` how many each subset has."""

    subset: npt.NDArray[np.intp] = field(kw_only=True)
    people: IntArray = field(kw_only=True)

    @cached_property
    def reports(self) -> int:
        """Number of people."""
        return int(self.people.sum())

    @cached_property
    def sizes(self) -> FloatArray:
        """Share of each group, were every report of a person worth the same."""
        several = np.bincount(self.subset)[self.subset]
        return np.asarray(self.people[self.subset] / self.reports / several)

    def weights(self, sets: IntArray) -> FloatArray:
        """Return the weight of every group in the support of every set; by size, subsets weigh what their people do."""
        if len(self.groups) == 1:
            return np.ones((1, len(sets)))
        precisions = self._precisions(self.item_supports, sets)
        if self.pool == "precision":
            total = precisions.sum(axis=0)
            return np.asarray(np.where(total > 0, precisions / np.maximum(total, 1e-300), self.sizes[:, None]))
        within = np.zeros_like(precisions)
        for place, people in enumerate(self.people):
            own = self.subset == place
            total = precisions[own].sum(axis=0)
            share = np.where(total > 0, precisions[own] / np.maximum(total, 1e-300), 1 / max(own.sum(), 1))
            within[own] = share * people / self.reports
        return within

    def _common(self, weights: FloatArray) -> FloatArray:
        """Return Σ over pairs of different groups of one subset of w_g w_h / n."""
        total = np.zeros(weights.shape[1])
        for place, people in enumerate(self.people):
            own = weights[self.subset == place]
            total += (own.sum(axis=0) ** 2 - (own**2).sum(axis=0)) / people
        return total

    def expected_error(self, sets: IntArray) -> FloatArray:
        """Return the error to expect: that of independent groups, and what drawing the same people adds."""
        apart = super().expected_error(sets)
        if self.target == "respondents":
            return apart
        support = self.item_supports[sets].prod(axis=1)
        return np.asarray(np.sqrt(apart**2 + self._common(self.weights(sets)) * support * (1 - support)))

    def _of_drawing(self, weights: FloatArray, pooled: Arrays) -> FloatArray:
        """Return what drawing the same people adds to a covariance; see the module.

        For respondents only noise is random, and who of them is in which subset where these are taken to be alike.
        """
        f_one, f_two, union = (np.clip(support, 0, 1) for support in pooled)
        drawn = np.maximum(union - f_one * f_two, 0)
        if self.target == "population":
            return np.asarray(self._common(weights) * drawn)
        if self.pool == "size":
            return np.zeros(weights.shape[1])
        of_subset = np.array([weights[self.subset == place].sum(axis=0) for place in range(len(self.people))])
        return np.asarray(drawn * ((of_subset**2 / self.people[:, None]).sum(axis=0) - 1 / self.reports))

    def homogeneity(self) -> Homogeneity | None:
        """Test whether all subsets have the same supports, each by its most precise source: such groups are apart."""
        if len(self.people) < 2:
            return None
        singles = np.arange(self.groups[0].channel.size)[:, None]
        precision = self._precisions(self.item_supports, singles).mean(axis=1)
        best = [
            max(np.flatnonzero(self.subset == place), key=lambda group: float(precision[group]))
            for place in range(len(self.people))
        ]
        kept: Any = [tuple(every[group] for group in best) for every in (self.groups, self.columns)]
        return ItemGroups(kept[0], "precision", self.target, self.own_supports[best], kept[1]).homogeneity()


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FusedSets(Sets):
    """Supports from the reports of several services."""

    def person_weights(self) -> None:
        """A person may have given several reports, so people have no single weight."""


def fused_sets(fused: Fused, options: Options) -> FusedSets:
    """Return the supports of all items and the frequent sets."""
    check_pooling(options.pool, options.target)
    require_method(options.method, METHODS)
    items = fused.asked.values or tuple(map(str, range(fused.size)))
    together, names = _groups(fused, options)
    found = item_supports(together, items)
    frequent = search_sets(together, items, options.min_support, options.largest)
    several = options.pool == "precision" and len(together.people) > 1
    worst = float(found.standard_error.max())
    weights = together.weights(np.arange(len(items))[:, None])
    levels = notes.SAME_SUBSETS if several else notes.ANY_SUBSET
    return FusedSets(
        question=fused.asked.name,
        text=fused.asked.text,
        values=tuple(items),
        support=found.support,
        standard_error=found.standard_error,
        rare=found.rare,
        sets=frequent,
        assumption_free=fused_sets(fused, replace(options, pool="size")) if several else None,
        reports=fused.people,
        method=f"unbiased, people of each subset of services pooled by {options.pool}",
        target=found.target,
        weights=weights,
        groups=_group_reports(fused, names, weights.mean(axis=1)),
        homogeneity=found.homogeneity,
        assumptions=notes.assume(options.target, levels, notes.NORMAL),
        notes=(
            *notes.subsets_disagree(found.homogeneity, options.pool),
            *(note for note in frequent.notes if note.code != notes.LEVELS_DISAGREE),
            *((notes.untold_items([items[place] for place in together.untold]),) if together.untold else ()),
            *((notes.uncertain_items(worst),) if worst > HOPELESS else ()),
            join_note(fused),
        ),
        manipulation=found.manipulation,
        confidence=options.confidence,
    )


def _group_reports(fused: Fused, names: Sequence[str], weights: FloatArray) -> tuple[GroupReports, ...]:
    """Return what each source contributes: its groups of all subsets together."""
    totals = {source.name: 0.0 for source in fused.sources}
    for name, weight in zip(names, weights.tolist(), strict=True):
        totals[name] += weight
    return tuple(
        GroupReports(each.name, each.channel.mechanism, each.channel.epsilon, each.reports, totals[each.name])
        for each in fused.sources
    )


def _groups(fused: Fused, options: Options) -> tuple[FusedGroups, list[str]]:
    """Return the groups, and the source of each."""
    hidden = [source.name for source in fused.sources if source.hidden is not None]
    if hidden:
        raise EstimateError(
            f"a set of service {hidden[0]!r}, which hides levels, cannot be fused yet: fuse services that show them"
        )
    subsets = Subsets.of(fused)
    groups, columns, names, subset = [], [], [], []
    for number, source in enumerate(fused.sources):
        counts = subsets.counts(fused, number)
        for place in np.flatnonzero(subsets.given[:, number]):
            own = np.rint(counts[place]).astype(np.int64)
            outputs = own if source.listed is None else np.repeat(source.listed.outputs, own, axis=0)
            columns.append(columns_of(source.channel, outputs))
            groups.append(source.channel)
            names.append(source.name)
            subset.append(place)
    pairs: list[tuple[Any, Columns]] = list(zip(groups, columns, strict=True))
    plain = ItemGroups.of(pairs, fused.size, options.pool, options.target)
    made = tuple(ItemGroup(channel, own.reports) for channel, own in pairs)
    return (
        FusedGroups(
            made,
            options.pool,
            options.target,
            plain.own_supports,
            tuple(columns),
            plain.untold,
            subset=np.array(subset, np.intp),
            people=subsets.people,
        ),
        names,
    )
