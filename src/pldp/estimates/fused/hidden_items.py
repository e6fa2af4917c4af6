"""Supports of sets from several services about the same people, some of which hide the level that a person chose.

Reports of service a that show label s are a group, as for one service (`HiddenGroups`): if levels do not depend on the
set, they come from the mixture of the channels of all levels by Pr(τ|s), and count W_as. All groups are pooled by
precision. A person with the set x and the level τ at service a then adds to the error of a support, on average,

    μ_a(τ, x) = Σ_s G_a(s|τ)·w_as/n_as·(E_τ[W_as | x] − f) − (D_aτ − D_aᵀρ_a)/n_a,

D_a being the slope by the mix ρ̂_a, which the person's label is a part of. Services share the person, and nothing else:
n_ab people who gave to a and to b add, for two parts A and B of a set,

    n_ab·Σ_{τ, τ'} R_ab(τ, τ')·E_x[μ_a^A(τ, x)·μ_b^B(τ', x)]

to the covariance, R_ab being how often these people chose τ at a and τ' at b. Careful people are careful everywhere, so
R_ab is estimated from both labels, (G_a⁻¹ ⊗ G_b⁻¹) of their counts. As E_x μ_a(τ, x) = 0 at every level (that is what D
is), it matters only in how well the sets themselves are told apart. Of a service that shows levels, μ is w/n·(1 − f) of
people who have all items and −w/n·f of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from pldp.estimates.notes import LABELS_SAY_LITTLE
from pldp.estimates.options import Target
from pldp.estimates.rare import Rare
from pldp.estimates.result import Homogeneity, Note
from pldp.estimates.sets.groups import Arrays, ItemGroups, Places
from pldp.estimates.sets.hidden import SMALL_PART, HiddenGroups
from pldp.mechanisms.arrays import FloatArray, IntArray, independent_patterns


class Common(NamedTuple):
    """People who gave to two services: which, how many, and how often they chose each pair of levels."""

    first: int
    second: int
    people: int
    levels: FloatArray


class Part(NamedTuple):
    """Two parts of a set, or one of them twice, as the places of their items, and what people have of the set."""

    one: Places
    two: Places
    had: FloatArray  # sets × 2^items


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FusedLabels(ItemGroups):
    """Groups by service and label (or shown level), pooled by precision; `parts` are the services."""

    parts: tuple[ItemGroups, ...]
    common: tuple[Common, ...]
    people: int
    test: Homogeneity | None
    dependence: tuple[Homogeneity | None, ...]

    @classmethod
    def of_services(
        cls,
        parts: Sequence[ItemGroups],
        common: Sequence[Common],
        people: int,
        target: Target,
        test: Homogeneity | None,
    ) -> Self:
        """Put services together; `test` is that of people who gave to different ones."""
        groups = tuple(group for part in parts for group in part.groups)
        columns = tuple(own for part in parts for own in part.columns)
        about: dict[str, Any] = {
            "parts": tuple(replace(part, columns=()) for part in parts),
            "common": tuple(common),
            "people": people,
            "test": test,
            "dependence": tuple(part.dependence for part in parts if isinstance(part, HiddenGroups)),
        }
        return cls.together(groups, columns, "precision", target, **about)

    @cached_property
    def reports(self) -> int:
        """Number of people."""
        return self.people

    @cached_property
    def sizes(self) -> FloatArray:
        """Share of each group in the reports."""
        each = np.array([group.reports for group in self.groups], float)
        return np.asarray(each / each.sum())

    @property
    def hidden(self) -> tuple[tuple[slice, HiddenGroups], ...]:
        """The services that hide levels, and which groups are theirs."""
        return tuple((own, part) for own, part in self._places if isinstance(part, HiddenGroups))

    @cached_property
    def _places(self) -> tuple[tuple[slice, ItemGroups], ...]:
        ends = np.cumsum([0, *(len(part.groups) for part in self.parts)]).tolist()
        return tuple((slice(ends[place], ends[place + 1]), part) for place, part in enumerate(self.parts))

    def homogeneity(self) -> Homogeneity | None:
        """Return the test whether people who gave to different services are alike."""
        return self.test

    def notes(self) -> tuple[Note, ...]:
        """Say so where labels of a service barely tell how people chose."""
        return (LABELS_SAY_LITTLE,) if any(LABELS_SAY_LITTLE in part.notes() for _, part in self.hidden) else ()

    def estimate(self, sets: IntArray, patterns: Arrays) -> tuple[FloatArray, FloatArray]:
        """Return supports and standard errors of sets of one size, those of mixes and common people included."""
        support, error = super().estimate(sets, patterns)
        every, weights = range(sets.shape[1]), self.told_weights(sets, patterns)
        further = self._further(weights, sets, Part(every, every, self._people(weights, sets, patterns)))
        return support, np.sqrt(np.maximum(error**2 + further, 0))

    def covariance(
        self, weights: FloatArray, sets: IntArray, patterns: Arrays, one: Places, two: Places, pooled: Arrays
    ) -> FloatArray:
        """Return the covariance of the supports of two parts of each set, that of mixes and common people included."""
        of_outputs = super().covariance(weights, sets, patterns, one, two, pooled)
        return of_outputs + self._further(weights, sets, Part(one, two, self._people(weights, sets, patterns)))

    def expected_error(self, sets: IntArray) -> FloatArray:
        """Return the standard error to expect for each set before it is counted, items taken as independent."""
        of_outputs, weights = super().expected_error(sets), self.weights(sets)
        if not np.isfinite(of_outputs).all():
            return of_outputs
        every = range(sets.shape[1])
        part = Part(every, every, independent_patterns(sets, self.item_supports))
        further = self._of_mixes(weights, sets, part)
        if self.target == "population":
            further = further + self._of_common(weights, sets, part)
        return np.asarray(np.sqrt(np.maximum(of_outputs**2 + further, 0)))

    def drawn(self, sets: IntArray, patterns: Arrays) -> FloatArray:
        """Return how many times f(1 − f) drawing people adds to the variance of each set."""
        weights, total = self.told_weights(sets, patterns), super().drawn(sets, patterns)
        each = [weights[own].sum(axis=0) / part.reports for own, part in self._places]
        return np.asarray(total + sum(2 * both.people * each[both.first] * each[both.second] for both in self.common))

    def rare(self, sets: IntArray, patterns: Arrays) -> Rare | None:
        """Return the sets that few reports speak for, where the error of the mixes is a small part of theirs."""
        found = super().rare(sets, patterns)
        if found is None:
            return None
        every, weights = range(sets.shape[1]), self.told_weights(sets, patterns)
        of_mixes = self._of_mixes(weights, sets, Part(every, every, self._people(weights, sets, patterns)))
        sure = (of_mixes <= SMALL_PART * super().estimate(sets, patterns)[1] ** 2)[found.places]
        return found.only(sure) if sure.any() else None

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as in an item's support, as output and as label."""
        singles = np.arange(self.groups[0].channel.size)[:, None]
        weights, had = self.weights(singles), independent_patterns(singles, self.item_supports)
        largest = 0.0
        for own, part in self._places:
            taken = np.zeros((len(part.groups), len(singles)))
            if isinstance(part, HiddenGroups):
                counted = part.mix.report_weights.T[list(part.labels)]
                taken = counted @ part.slopes(weights[own], singles, had, [0]).T / part.reports
            for group, less, weight in zip(part.groups, taken, weights[own], strict=True):
                counts = group.arrays.pattern_weights(singles, 1) / group.arrays.telling(1)
                forged = np.abs((weight / group.reports)[:, None] * counts - less[:, None])
                largest = max(largest, float(forged.max()) * self.people)
        return largest

    def _further(self, weights: FloatArray, sets: IntArray, part: Part) -> FloatArray:
        return self._of_mixes(weights, sets, part) + self._of_common(weights, sets, part)

    def _of_mixes(self, weights: FloatArray, sets: IntArray, part: Part) -> FloatArray:
        """Return what the errors of the mixes of levels add to a covariance."""
        each = (own.of_mix(weights[place], sets, part.had, part.one, part.two) for place, own in self.hidden)
        return sum(each, np.zeros(len(sets)))

    def _of_common(self, weights: FloatArray, sets: IntArray, part: Part) -> FloatArray:
        """Return what people who gave to several services add to a covariance."""
        total = np.zeros(len(sets))
        if not self.common:
            return total
        first = [self._added(place, weights, sets, part.had, part.one) for place in range(len(self.parts))]
        second = first
        if tuple(part.one) != tuple(part.two):
            second = [self._added(place, weights, sets, part.had, part.two) for place in range(len(self.parts))]
        for a, b, people, levels in self.common:
            for one, two in ((first[a], second[b]), (second[a], first[b])):
                total += people * np.einsum("tu,sx,stx,sux->s", levels, part.had, one, two, optimize=True)
        return total

    def _added(self, place: int, weights: FloatArray, sets: IntArray, had: FloatArray, items: Places) -> FloatArray:
        """Return μ of a service for a part of each set: sets × levels × 2^items."""
        own, part = self._places[place]
        chosen, patterns = sum(1 << item for item in items), np.arange(had.shape[1])
        there = patterns & chosen == chosen
        support = had[:, there].sum(axis=1)
        if not isinstance(part, HiddenGroups):
            return np.asarray((weights[own][0] / part.reports)[:, None, None] * (there - support[:, None])[:, None])
        slopes = part.slopes(weights[own], sets, had, items)
        found = np.empty((len(sets), len(part.levels), len(patterns)))
        found[:] = -((slopes - (slopes @ part.mix.shares)[:, None]) / part.reports)[:, :, None]
        for level, form in enumerate(part.levels):
            for pattern, has in enumerate(np.eye(len(patterns))):
                shown = form.shown(sets, np.tile(has, (len(sets), 1)))
                for group, weight, label in zip(part.groups, weights[own], part.labels, strict=True):
                    if sets.shape[1] <= group.arrays.largest:
                        told = group.arrays.moment(sets, shown, chosen) - support
                        found[:, level, pattern] += part.mix.matrix[label, level] * weight / group.reports * told
        return found
