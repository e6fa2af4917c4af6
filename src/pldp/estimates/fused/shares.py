"""Shares of the values of a choice of one label from the joined reports of several services: sums over `Linear`s.

What `combine` needs of every part is its covariance C_ps of one report, from which N_ps = C_ps − M. Sources and subsets
have one weight for all values, that of their mean noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.fused.combine import OWN_ERRORS, Joined
from pldp.estimates.fused.services import (
    Part,
    Subsets,
    counts_of,
    join_note,
    level_shares,
    mixed_services,
    source_groups,
)
from pldp.estimates.kinds.choice import (
    LARGEST_COMPARED,
    FitFacts,
    GroupShares,
    Shares,
    refuse_likelihood,
    sampling_covariance,
    spread,
    standard_errors,
)
from pldp.estimates.likelihood.solver import LARGEST_JOINT, fit_tuples, joint_levels
from pldp.estimates.linear.homogeneity import homogeneity_of_groups, shifts, stricter_half, values_to_test
from pldp.estimates.linear.labels import LabelReports
from pldp.estimates.linear.mix import source_mix
from pldp.estimates.linear.patterns import label_states
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.results import notes
from pldp.estimates.results.alike import beside_alike
from pldp.estimates.results.consistency import add_reports, norm_sub
from pldp.estimates.results.facts import Homogeneity, LevelShare
from pldp.estimates.results.options import SHARE_METHODS, Options, Target, pooling_words
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray, label_arrays
from pldp.tallies import Fused, Source

METHODS: Final = SHARE_METHODS

_NO_NOISE: Final = 1e-9
"""Mean noise of a source that hides nothing: it then counts as nearly certain, not as certain."""

_Moment = Callable[[Linear, LabelReports], FloatArray]
"""The variance, or covariance, of shares that were decoded from reports of a source."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FusedShares(Shares):
    """Shares from the reports of several services: a person may have given several, so people have no single weight."""

    def person_weights(self) -> None:
        """People of different subsets have different weights, and none is that of a report."""


@dataclass(frozen=True, eq=False)
class _Labels:
    """The reports of every source of all people, and what they and parts of them say of shares: `likely` ones."""

    fused: Fused
    likely: FloatArray
    everybody: tuple[LabelReports, ...]
    of_sources: tuple[Linear, ...]
    of_parts: Mapping[Part, Linear]

    @classmethod
    def of(cls, fused: Fused) -> _Labels:
        """Take rough shares first: every source on its own, weighted by its precision."""
        whole, parts = (each.parts(fused, _reports) for each in (Subsets.whole(fused), Subsets.of(fused)))
        alone = [decode(own.evidence, None) for own in whole.values()]
        precision = [1 / max(float(own.variance().mean()), _NO_NOISE / fused.people) for own in alone]
        likely = add_reports(np.average([own.estimates for own in alone], axis=0, weights=precision), fused.people)
        of_sources = tuple(_decoded(own, likely) for own in whole.values())
        of_parts = {part: _decoded(own, likely) for part, own in parts.items()}
        return cls(fused, likely, tuple(whole.values()), of_sources, of_parts)

    def joined(self, differ: float | None) -> Joined:
        """Return the shares of all parts with their weights."""
        drawn = float((self.likely * (1 - self.likely)).mean())
        noise = [float(own.variance().mean()) * own.reports - drawn for own in self.of_sources]
        means = {part: own.estimates for part, own in self.of_parts.items()}
        return Joined(Subsets.of(self.fused), means, np.maximum(noise, _NO_NOISE), drawn, differ)

    def noise(self, moment: _Moment, drawn: FloatArray) -> Callable[[Part], FloatArray]:
        """Return what tells N_ps: the noise of a part, or that of the whole source where it has few reports."""

        def of_part(part: Part) -> FloatArray:
            own, source = self.of_parts[part], part[1]
            believed = own if own.reports >= OWN_ERRORS else self.of_sources[source]
            return moment(believed, self.everybody[source]) * believed.reports - drawn

        return of_part

    def variance(self, joined: Joined, target: Target) -> FloatArray:
        """Return the variance of every share."""
        drawn, likely = (f * (1 - f) for f in (norm_sub(joined.estimates), self.likely))
        left = joined.left(self.noise(lambda own, _: own.variance(), likely))
        return np.maximum(joined.variance(left, drawn, target), 0.0)

    def covariance(self, joined: Joined, target: Target) -> FloatArray:
        """Return the covariance of the shares."""
        left = joined.left(self.noise(_covariance, spread(self.likely)))
        return joined.variance(left, spread(norm_sub(joined.estimates)), target)

    def homogeneity(self, joined: Joined) -> Homogeneity | None:
        """Test whether people of all subsets have the same shares; subsets with too few people are left out."""
        people, drawn = joined.subsets.people, spread(self.likely)
        enough = np.ones(len(people), np.bool_)
        for subset, source in self.of_parts:
            enough[subset] &= self.everybody[source].enough_of(int(people[subset]))
        tested = np.flatnonzero(enough).tolist()
        if len(tested) < 2:
            return None
        chosen = values_to_test(joined.estimates, np.sqrt(self.variance(joined, "population")))
        noise = zip(joined.left(self.noise(_covariance, drawn), tested), people[tested].tolist(), strict=True)
        covariances = [(own + drawn)[np.ix_(chosen, chosen)] / number for own, number in noise]
        means = [*map(float, joined.left(lambda part: joined.noise[part[1]], tested))]
        stricter = stricter_half(means, people[tested].astype(float))
        moves = shifts(add_reports(joined.estimates, self.fused.people), chosen)
        return homogeneity_of_groups(covariances, [*joined.of_subsets[tested][:, chosen]], stricter, moves)

    def levels(self, fitted: Mapping[int, FloatArray] | None = None) -> tuple[LevelShare, ...]:
        """Return how many people are estimated to have chosen each hidden level of each source."""
        mixes = [reports.mix for reports in self.everybody]
        shares = [(fitted or {}).get(source, mix.unbiased) for source, mix in enumerate(mixes)]
        return level_shares(self.fused, mixes, shares)


def _reports(source: Source, counts: FloatArray) -> LabelReports:
    forms = tuple(map(label_arrays, source.channels))
    return LabelReports(forms, counts_of(source, counts, rows=False), source_mix(source, counts))


def _decoded(reports: LabelReports, likely: FloatArray) -> Linear:
    return decode(replace(reports.evidence, likely_states=label_states(reports.forms, likely)), None)


def _covariance(own: Linear, reports: LabelReports) -> FloatArray:
    return reports.covariance(own)


def fused_shares(fused: Fused, options: Options) -> FusedShares:
    """Return the shares: unbiased and pooled over subsets, or by maximum likelihood where that is asked for."""
    labels = _Labels.of(fused)
    several = len(Subsets.of(fused).people) > 1
    if options.method == "likelihood":
        several = several or bool(mixed_services(fused))
        refuse_likelihood(options.differ, several=several)
        return replace(_fitted(labels, options), differ=0 if several else None)
    return beside_alike(lambda differ: _unbiased(labels, differ, options.target), options.differ, several=several)


def _unbiased(labels: _Labels, differ: float | None, target: Target) -> FusedShares:
    fused, joined = labels.fused, labels.joined(differ)
    together = differ == 0 and len(joined.subsets.people) > 1
    assumed = (notes.SAME_SUBSETS, notes.ROUGH_WEIGHTS) if together else (notes.ANY_SUBSET,)
    test, groups = labels.homogeneity(joined), source_groups(fused, joined.weights.sum(axis=0).tolist())
    few = [own.level for own, all_of in zip(groups, labels.everybody, strict=True) if not all_of.enough_of(own.reports)]
    return FusedShares(
        question=fused.asked.name,
        text=fused.asked.text,
        values=fused.asked.values or tuple(map(str, range(fused.size))),
        shares=joined.estimates,
        standard_error=np.sqrt(labels.variance(joined, target)),
        covariance_matrix=labels.covariance(joined, target) if fused.size <= LARGEST_COMPARED else None,
        reports=fused.people,
        manipulation=fused.people * joined.forged(lambda part: labels.of_parts[part].manipulation),
        method=f"unbiased, {pooling_words(differ if together else None)}, subset by subset of services",
        target=target,
        groups=tuple(map(GroupShares.alone, groups, labels.of_sources)),
        levels=labels.levels(),
        homogeneity=test,
        assumptions=notes.assume(target, *assumed),
        notes=(*notes.subsets_disagree(test, differ if together else None), *notes.few_reports(few), join_note(fused)),
    )


def _fitted(labels: _Labels, options: Options) -> FusedShares:
    """Fit shares and the mixes of hidden levels to all tuples, and put what is decoded beside them."""
    fused, target = labels.fused, options.target
    if joint_levels(fused) > LARGEST_JOINT:
        raise EstimateError(f"a likelihood takes at most {LARGEST_JOINT} combinations of hidden levels")
    beside = _unbiased(labels, 0, target)
    mixes = {place: reports.mix.shares for place, reports in enumerate(labels.everybody)}
    fit, model = fit_tuples(fused, norm_sub(beside.shares), mixes, options.progress)
    size, dense = fused.size, fused.size <= LARGEST_DENSE
    shares, levels = fit.shares[:size], labels.levels(model.mixes_of(fit.shares))
    covariance = model.covariance(fit.shares) if dense else None
    if covariance is not None and target == "respondents":
        covariance = covariance - sampling_covariance(shares, fused.people)
    far = () if fit.converged else (notes.no_convergence(fit.gap, fit.steps),)
    free = (notes.CHOICE_OF_SERVICES,) if levels else ()
    return replace(
        beside,
        shares=shares,
        standard_error=np.full(size, np.nan) if covariance is None else standard_errors(covariance),
        covariance_matrix=covariance if size <= LARGEST_COMPARED else None,
        method="maximum likelihood of all reports together",
        assumptions=notes.assume(target, notes.SAME_SUBSETS, notes.INTERIOR, *free),
        fit=FitFacts.of(fit),
        levels=levels,
        notes=(*far, *beside.notes, *(() if dense else (notes.NO_ERRORS,))),
    )
