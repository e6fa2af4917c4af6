"""Supports of items and of sets of items from the joined reports of several services."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.estimates.fused.items import FusedItems
from pldp.estimates.fused.services import Shared, Subsets, join_note, level_shares, require_method, source_mix
from pldp.estimates.kinds.choices import Sets, make_sets
from pldp.estimates.kinds.item_sets import ItemReports
from pldp.estimates.kinds.item_supports import HOPELESS
from pldp.estimates.results import notes
from pldp.estimates.results.consistency import norm_sub
from pldp.estimates.results.facts import GroupReports, LevelShare
from pldp.estimates.results.options import Options, Pool, check_pooling
from pldp.mechanisms import MICRO, Bits
from pldp.mechanisms.arrays import FloatArray, IntArray
from pldp.tallies import ABSENT, Columns, Fused, Source, columns_of

METHODS: Final = ("unbiased",)


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
    reports, names = _subset_parts(fused, options.pool, options)
    several = options.pool == "precision" and len(reports.people) > 1
    weights = reports.item_weights
    return _sets(
        fused,
        reports,
        options,
        assumption_free=fused_sets(fused, replace(options, pool="size")) if several else None,
        method=f"unbiased, people of each subset of services pooled by {options.pool}",
        weights=weights,
        groups=_group_reports(fused, names, weights.mean(axis=1)),
    )


def _sets(fused: Fused, reports: FusedItems, options: Options, **about: Any) -> FusedSets:
    """Return supports and frequent sets, with what only the caller knows."""
    asked = replace(fused.asked, values=fused.asked.values or tuple(map(str, range(fused.size))))
    made = make_sets(FusedSets, asked, reports, options, **about)
    of_levels = notes.levels_disagree(made.homogeneity, reports.pool)  # which is said of subsets in its place
    told = (note for note in made.notes if note not in of_levels)
    of_subsets = notes.subsets_disagree(made.homogeneity, reports.pool)
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


def _subset_parts(fused: Fused, pool: Pool, options: Options) -> tuple[FusedItems, list[str]]:
    """Return people of every subset and source, with no assumption about hidden levels, and the sources' names."""
    subsets, places = Subsets.of(fused), []
    parts: list[ItemReports] = []
    for number, source in enumerate(fused.sources):
        counts = subsets.counts(fused, number)
        for subset in np.flatnonzero(subsets.given[:, number]).tolist():
            part = _part(source, counts[subset], fused.size)
            parts.append(part if source.hidden is None else part.free())
            places.append((subset, source.name))
    of_part = np.array([own for own, _ in places], np.intp)
    shared = tuple(
        Shared(one, two, float(subsets.people[of_part[one]]), _any_levels(parts[one], parts[two]))
        for one, two in combinations(range(len(parts)), 2)
        if of_part[one] == of_part[two]
    )
    hidden = any(source.hidden is not None for source in fused.sources)
    several = pool == "precision" and len(subsets.people) > 1
    about = (notes.SAME_SUBSETS if several else notes.ANY_SUBSET, *((notes.FREE_CHOICE,) if hidden else ()))
    people = {"subset": of_part, "people": subsets.people, "shared": shared, "target": options.target}
    return FusedItems.of(parts, pool, about_levels=about, **people), [name for _, name in places]


def _any_levels(one: ItemReports, two: ItemReports) -> FloatArray:
    """Return a law of levels where it does not matter: supports that assume nothing add the same at every level."""
    return np.full((len(one.forms), len(two.forms)), 1 / (len(one.forms) * len(two.forms)))


def _service_parts(fused: Fused, options: Options, free: FusedItems) -> FusedItems:
    """Return all reports of every service, whose hidden levels are taken not to depend on what people have."""
    parts = [_part(source, _cell_counts(fused, place), fused.size) for place, source in enumerate(fused.sources)]
    tested = all(part.homogeneity is not None for part in parts if part.mix is not None)
    about = (
        *((notes.SAME_SUBSETS,) if len(free.people) > 1 else ()),
        notes.TESTED_MIX if tested else notes.UNTESTED_MIX,
    )
    people = {"subset": np.zeros(len(parts), np.intp), "people": np.array([fused.people]), "target": options.target}
    return FusedItems.of(parts, "precision", about_levels=about, tested=free, shared=_common(fused), **people)


def _part(source: Source, counts: FloatArray, size: int) -> ItemReports:
    """Return reports of a source, given how often each of its cells came."""
    if source.hidden is None:
        return ItemReports.of_groups([(source.channel, _columns(source, counts))], size, "precision", "population")
    every = [_columns(source, counts * (source.labels == label)) for label in range(len(source.channels))]
    mix = source_mix(source, counts)
    return ItemReports.of_labels(source.channels, mix, every, source.level_names, size, "population")


def _hidden(fused: Fused, options: Options) -> FusedSets:
    """Return the same where services hide levels, and beside it what holds whatever levels depend on."""
    free, names = _subset_parts(fused, "size", options)
    worst = float(free.expected_error(np.arange(fused.size)[:, None]).max())
    beside = None
    if options.pool == "size" or worst <= HOPELESS:
        weights = free.item_weights
        beside = _sets(
            fused,
            free,
            replace(options, pool="size"),
            method="unbiased, people of each subset of services pooled by size, hidden levels free to depend on items",
            weights=weights,
            groups=_group_reports(fused, names, weights.mean(axis=1)),
            levels=_levels(fused),
        )
    if beside is not None and options.pool == "size":
        return beside
    reports = _service_parts(fused, options, free)
    weights = reports.item_weights
    hiding = [(s.name, part.homogeneity) for s, part in zip(fused.sources, reports.parts, strict=True) if s.hidden]
    says_little = any(notes.LABELS_SAY_LITTLE in part.notes for part in reports.parts)
    return _sets(
        fused,
        reports,
        options,
        assumption_free=beside,
        method="approximately unbiased, hidden levels, services and labels pooled by precision",
        weights=weights,
        groups=_group_reports(fused, [source.name for source in fused.sources], weights.mean(axis=1)),
        levels=_levels(fused),
        notes=(
            *((notes.LABELS_SAY_LITTLE,) if says_little else ()),
            *(note for name, test in hiding for note in notes.levels_disagree(test, "precision", name)),
            *dict.fromkeys(note for _, test in hiding for note in notes.weak_test(test)),
            *(() if beside else (notes.no_free_shares(worst),)),
        ),
    )


def _common(fused: Fused) -> tuple[Shared, ...]:
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
        found.append(Shared(first, second, float(people.sum()), possible))
    return tuple(found)


def _shown_levels(fused: Fused, place: int, chosen: npt.NDArray[np.bool_]) -> tuple[IntArray, FloatArray]:
    """Return the label of some tuples at a source, and what undoes it; a source that shows its level has one."""
    source = fused.sources[place]
    return source.labels[fused.cells[chosen, place]], source_mix(source, np.ones(source.count)).inverse


def _levels(fused: Fused) -> tuple[LevelShare, ...]:
    """Return how many people are estimated to have chosen each hidden level of each service."""
    every = [(source, _cell_counts(fused, place)) for place, source in enumerate(fused.sources)]
    return tuple(
        level for source, counts in every for level in level_shares(source, counts, source_mix(source, counts).shares)
    )
