"""Supports of items and of sets of items from the joined reports of several services."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.estimates import notes
from pldp.estimates.consistency import norm_sub
from pldp.estimates.fused.circumstances import join_note, require_method
from pldp.estimates.fused.hidden_items import Common, FusedLabels
from pldp.estimates.fused.item_groups import FusedFree, FusedGroups
from pldp.estimates.fused.sources import hidden_cells, level_mix_of
from pldp.estimates.fused.subsets import Subsets
from pldp.estimates.kinds.choices import Sets, make_sets
from pldp.estimates.options import SHARED, Options, Target, check_pooling
from pldp.estimates.result import GroupReports, LevelShare
from pldp.estimates.sets.groups import ItemGroup, ItemGroups
from pldp.estimates.sets.hidden import FreeGroups, HiddenBaskets, HiddenGroups
from pldp.estimates.sets.supports import HOPELESS
from pldp.mechanisms import MICRO, Bits
from pldp.mechanisms.arrays import FloatArray, IntArray
from pldp.tallies import ABSENT, Columns, Fused, Source, columns_of

METHODS: Final = ("unbiased",)
OPTIONS: Final = (*SHARED, "method", "min_support", "largest")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FusedSets(Sets):
    """Supports from the reports of several services."""

    def person_weights(self) -> None:
        """A person may have given several reports, so people have no single weight."""


def fused_sets(fused: Fused, options: Options) -> FusedSets:
    """Return the supports of all items and the frequent sets."""
    check_pooling(options.pool, options.target)
    require_method(options.method, METHODS)
    if any(source.hidden is not None for source in fused.sources):
        return _hidden(fused, options)
    together, names = _groups(fused, options)
    several = options.pool == "precision" and len(together.people) > 1
    weights = together.weights(np.arange(fused.size)[:, None])
    return _sets(
        fused,
        together,
        options,
        assumption_free=fused_sets(fused, replace(options, pool="size")) if several else None,
        method=f"unbiased, people of each subset of services pooled by {options.pool}",
        groups=_group_reports(fused, names, weights.mean(axis=1)),
        assumptions=(notes.SAME_SUBSETS if several else notes.ANY_SUBSET,),
    )


def _sets(fused: Fused, together: ItemGroups, options: Options, **about: Any) -> FusedSets:
    """Return supports and frequent sets of reports that were put together, with what only the caller knows."""
    asked = replace(fused.asked, values=fused.asked.values or tuple(map(str, range(fused.size))))
    assumed = about.pop("assumptions")
    made = make_sets(
        FusedSets,
        asked,
        together,
        options,
        reports=fused.people,
        weights=together.weights(np.arange(fused.size)[:, None]),
        assumptions=notes.assume(options.target, *assumed, notes.NORMAL),
        **about,
    )
    of_levels = notes.levels_disagree(made.homogeneity, together.pool)  # which is said of subsets in its place
    told = (note for note in made.notes if note not in of_levels)
    of_subsets = notes.subsets_disagree(made.homogeneity, together.pool)
    return replace(made, notes=(*of_subsets, *told, join_note(fused)))


def _group_reports(fused: Fused, names: Sequence[str], weights: FloatArray) -> tuple[GroupReports, ...]:
    """Return what each source contributes: its groups of all subsets and labels together."""
    totals = {source.name: 0.0 for source in fused.sources}
    for name, weight in zip(names, weights.tolist(), strict=True):
        totals[name] += weight
    return tuple(
        GroupReports(each.name, each.channel.mechanism, each.micro_epsilon / MICRO, each.reports, totals[each.name])
        for each in fused.sources
    )


def _columns(source: Source, counts: FloatArray) -> Columns:
    """Return the reports of a source, given how often each of its cells came."""
    own = np.rint(counts).astype(np.int64)
    if source.listed is None:
        return columns_of(source.channel, own)
    form, outputs = source.channel.form, source.listed.outputs
    if isinstance(form, Bits):
        return columns_of(source.channel, np.repeat(outputs, own, axis=0))
    every = np.zeros(form.count, np.int64)
    np.add.at(every, outputs.astype(np.int64), own)
    return columns_of(source.channel, every)


def _cell_counts(fused: Fused, place: int) -> FloatArray:
    """Return how often each cell of a source came."""
    here = fused.cells[:, place] != ABSENT
    weights, count = fused.counts[here].astype(np.float64), fused.sources[place].count
    return np.asarray(np.bincount(fused.cells[here, place], weights=weights, minlength=count), np.float64)


def _groups(fused: Fused, options: Options) -> tuple[FusedGroups, list[str]]:
    """Return the groups of services that show levels, and the source of each."""
    subsets = Subsets.of(fused)
    columns, groups, names, subset = [], [], [], []
    for number, source in enumerate(fused.sources):
        counts = subsets.counts(fused, number)
        for place in np.flatnonzero(subsets.given[:, number]).tolist():
            columns.append(_columns(source, counts[place]))
            groups.append(ItemGroup(source.channel, columns[-1].reports))
            names.append(source.name)
            subset.append(place)
    about: dict[str, Any] = {"subset": np.array(subset, np.intp), "people": subsets.people}
    return FusedGroups.together(tuple(groups), tuple(columns), options.pool, options.target, **about), names


def _hidden(fused: Fused, options: Options) -> FusedSets:
    """Return the same where services hide levels, and beside it what holds whatever levels depend on."""
    free, names = _free_groups(fused, options)
    singles = np.arange(fused.size)[:, None]
    worst = float(free.expected_error(singles).max())
    beside = None
    if options.pool == "size" or worst <= HOPELESS:
        beside = _sets(
            fused,
            free,
            replace(options, pool="size"),
            method="unbiased, people of each subset of services pooled by size, hidden levels free to depend on items",
            groups=_group_reports(fused, names, free.block_weights(singles).mean(axis=1)),
            levels=_levels(fused),
            assumptions=(notes.ANY_SUBSET, notes.FREE_CHOICE),
        )
    if beside is not None and options.pool == "size":
        return beside
    together, names = _labels(fused, options, free)
    tested = all(each is not None for each in together.dependence)
    several = len(free.people) > 1
    hiding = [source.name for source in fused.sources if source.hidden is not None]
    pairs = tuple(zip(hiding, together.dependence, strict=True))
    return _sets(
        fused,
        together,
        options,
        assumption_free=beside,
        method="approximately unbiased, hidden levels, services and labels pooled by precision",
        groups=_group_reports(fused, names, together.weights(singles).mean(axis=1)),
        levels=_levels(fused),
        assumptions=(
            *((notes.SAME_SUBSETS,) if several else ()),
            notes.TESTED_MIX if tested else notes.UNTESTED_MIX,
        ),
        notes=(
            *together.notes(),
            *(note for name, test in pairs for note in notes.levels_disagree(test, "precision", name)),
            *dict.fromkeys(note for _, test in pairs for note in notes.weak_test(test)),
            *(() if beside else (notes.no_free_shares(worst),)),
        ),
    )


def _baskets(source: Source, counts: FloatArray, size: int, target: Target) -> HiddenGroups:
    """Return reports of a source that hides levels, given how often each of its cells came."""
    hidden, labels, _ = hidden_cells(source)
    every = tuple(_columns(source, counts * (labels == label)) for label in range(len(hidden.channels)))
    mix = level_mix_of(hidden, labels, counts)
    return HiddenBaskets(hidden.channels, mix, every, hidden.names).together(size, "precision", target)


def _free_groups(fused: Fused, options: Options) -> tuple[FusedFree, list[str]]:
    """Return people of every subset and source as they count whatever levels depend on, and the source of each."""
    subsets = Subsets.of(fused)
    blocks: list[ItemGroups] = []
    names, subset = [], []
    for number, source in enumerate(fused.sources):
        counts = subsets.counts(fused, number)
        for place in np.flatnonzero(subsets.given[:, number]).tolist():
            if source.hidden is None:
                shown = [(source.channel, _columns(source, counts[place]))]
                blocks.append(ItemGroups.of(shown, fused.size, "size", options.target))
            else:
                blocks.append(FreeGroups.of_labels(_baskets(source, counts[place], fused.size, options.target), None))
            names.append(source.name)
            subset.append(place)
    return FusedFree.of_blocks(blocks, subset, subsets.people, options.target), names


def _labels(fused: Fused, options: Options, free: FusedFree) -> tuple[FusedLabels, list[str]]:
    """Return the reports of every service by label, and the source of each group."""
    parts: list[ItemGroups] = []
    names = []
    for number, source in enumerate(fused.sources):
        counts = _cell_counts(fused, number)
        if source.hidden is None:
            shown = [(source.channel, _columns(source, counts))]
            parts.append(ItemGroups.of(shown, fused.size, "precision", options.target))
        else:
            parts.append(_baskets(source, counts, fused.size, options.target))
        names += [source.name] * len(parts[-1].groups)
    return FusedLabels.of_services(parts, _common(fused), fused.people, options.target, free.homogeneity()), names


def _common(fused: Fused) -> list[Common]:
    """Return for every two sources how many people gave to both, and which levels they chose."""
    found = []
    for first, second in combinations(range(len(fused.sources)), 2):
        both = (fused.cells[:, [first, second]] != ABSENT).all(axis=1)
        people = fused.counts[both]
        if not len(people):
            continue
        (one, undo), (two, redo) = (_shown_levels(fused, place, both) for place in (first, second))
        code = one * len(redo) + two
        counts = np.bincount(code, weights=people, minlength=len(undo) * len(redo)).reshape(len(undo), len(redo))
        levels = undo @ (counts / people.sum()) @ redo.T
        possible = norm_sub(levels.ravel()).reshape(levels.shape)
        found.append(Common(first, second, int(people.sum()), possible))
    return found


def _shown_levels(fused: Fused, place: int, chosen: npt.NDArray[np.bool_]) -> tuple[IntArray, FloatArray]:
    """Return the label of some tuples at a source, and what undoes it; a source that shows its level has one."""
    source = fused.sources[place]
    if source.hidden is None:
        return np.zeros(int(chosen.sum()), np.int64), np.eye(1)
    hidden, labels, _ = hidden_cells(source)
    return labels[fused.cells[chosen, place]], level_mix_of(hidden, labels, np.ones(source.count)).inverse


def _levels(fused: Fused) -> tuple[LevelShare, ...]:
    """Return how many people are estimated to have chosen each hidden level of each service."""
    found = []
    for number, source in enumerate(fused.sources):
        if source.hidden is None:
            continue
        hidden, labels, _ = hidden_cells(source)
        counts = _cell_counts(fused, number)
        mix = level_mix_of(hidden, labels, counts)
        for name, channel, share in zip(hidden.names, hidden.channels, mix.shares.tolist(), strict=True):
            found.append(LevelShare(f"{source.name}, {name}", channel.mechanism, channel.epsilon, share))
    return tuple(found)
