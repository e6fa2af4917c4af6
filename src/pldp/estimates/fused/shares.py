"""Shares of the values of a choice of one label from the joined reports of several services: sums over `Linear`s.

What `combine` needs of every part is its covariance C_ps of one report, from which N_ps = C_ps − M. Sources and subsets
have one weight for all values, that of their mean noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Final

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.fused.combine import OWN_ERRORS, Joined
from pldp.estimates.fused.services import Part, Subsets, join_note, label_reports, level_shares, source_groups
from pldp.estimates.kinds.choice import (
    LARGEST_COMPARED,
    FitFacts,
    GroupShares,
    Shares,
    sampling_covariance,
    spread,
    standard_errors,
)
from pldp.estimates.likelihood.solver import LARGEST_JOINT, fit_tuples, joint_levels
from pldp.estimates.linear.homogeneity import homogeneity_of_groups, shifts, stricter_half, values_to_test
from pldp.estimates.linear.labels import LabelReports
from pldp.estimates.linear.patterns import label_states
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.results import notes
from pldp.estimates.results.consistency import add_reports, norm_sub
from pldp.estimates.results.facts import Homogeneity, LevelShare
from pldp.estimates.results.options import SHARE_METHODS, Options, Pool, Target
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray
from pldp.tallies import Fused

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
class _Pooled:
    """What every source says of the shares, for all people and for those of each subset, decoded at `likely` shares."""

    fused: Fused
    pool: Pool
    subsets: Subsets
    likely: FloatArray
    everybody: tuple[LabelReports, ...]
    of_sources: tuple[Linear, ...]
    of_parts: Mapping[Part, Linear]

    @classmethod
    def of(cls, fused: Fused, pool: Pool) -> _Pooled:
        """Take rough shares first: every source on its own, weighted by its precision."""
        subsets = Subsets.of(fused)
        whole, parts = (
            {part: label_reports(fused.sources[part[1]], counts) for part, counts in each.parts(fused).items()}
            for each in (Subsets.whole(fused), subsets)
        )
        alone = [decode(own.evidence, "size") for own in whole.values()]
        precision = [1 / max(float(own.variance().mean()), _NO_NOISE / fused.people) for own in alone]
        rough = np.average([own.estimates for own in alone], axis=0, weights=precision)
        likely = add_reports(rough, fused.people)
        of_sources = tuple(_decoded(own, likely) for own in whole.values())
        of_parts = {part: _decoded(own, likely) for part, own in parts.items()}
        return cls(fused, pool, subsets, likely, tuple(whole.values()), of_sources, of_parts)

    @cached_property
    def drawn(self) -> float:
        """The mean variance that drawing a person adds to a report."""
        return float((self.likely * (1 - self.likely)).mean())

    @cached_property
    def mean_noise(self) -> FloatArray:
        """The mean variance that a report of each source adds to that of drawing the person."""
        found = [float(own.variance().mean()) * own.reports - self.drawn for own in self.of_sources]
        return np.maximum(found, _NO_NOISE)

    @cached_property
    def joined(self) -> Joined:
        """The weights of sources and subsets."""
        return Joined.of(self.subsets, self.mean_noise, self.drawn, self.pool)

    @cached_property
    def of_subsets(self) -> FloatArray:
        """f_p, subsets × values."""
        found = np.zeros((len(self.subsets.people), len(self.likely)))
        for (subset, source), own in self.of_parts.items():
            found[subset] += self.joined.within[subset, source] * own.estimates
        return found

    @cached_property
    def shares(self) -> FloatArray:
        """The weighted mean over subsets."""
        return np.asarray(self.joined.subsets @ self.of_subsets)

    def _noise(self, moment: _Moment, drawn: FloatArray) -> Iterator[FloatArray]:
        """Yield Σ_s w_ps² N_ps of every subset, the noise being that of all people where a subset has few."""
        for subset, weights in enumerate(self.joined.within):
            total = np.zeros_like(drawn)
            for source in np.flatnonzero(self.subsets.given[subset]).tolist():
                own = self.of_parts[subset, source]
                believed = own if own.reports >= OWN_ERRORS else self.of_sources[source]
                total += weights[source] ** 2 * (moment(believed, self.everybody[source]) * believed.reports - drawn)
            yield total

    def variance(self, target: Target) -> FloatArray:
        """Return the variance of every share."""
        drawn, likely = (f * (1 - f) for f in (norm_sub(self.shares), self.likely))
        noise = self._noise(lambda own, _: own.variance(), likely)
        return np.maximum(self.joined.variance(noise, drawn, target), 0.0)

    def covariance(self, target: Target) -> FloatArray:
        """Return the covariance of the shares."""
        noise = self._noise(_covariance, spread(self.likely))
        return self.joined.variance(noise, spread(norm_sub(self.shares)), target)

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as, where it does most harm."""
        reach = np.zeros(self.subsets.given.shape)
        for part, own in self.of_parts.items():
            reach[part] = own.manipulation
        return self.fused.people * self.joined.forged(reach)

    def homogeneity(self) -> Homogeneity | None:
        """Test whether people of all subsets have the same shares; subsets with too few people are left out."""
        people, drawn = self.subsets.people, spread(self.likely)
        enough = np.ones(len(people), bool)
        for subset, source in self.of_parts:
            enough[subset] &= self.everybody[source].enough_of(int(people[subset]))
        tested = np.flatnonzero(enough)
        if len(tested) < 2:
            return None
        chosen = values_to_test(self.shares, np.sqrt(self.variance("population")))
        noise = compress(self._noise(_covariance, drawn), enough)
        covariances = [(own + drawn)[np.ix_(chosen, chosen)] / people[at] for at, own in zip(tested, noise, strict=True)]
        stricter = stricter_half(self.joined.left(self.mean_noise)[tested].tolist(), people[tested].astype(float))
        moves = shifts(add_reports(self.shares, self.fused.people), chosen)
        return homogeneity_of_groups(covariances, [*self.of_subsets[tested][:, chosen]], stricter, moves)

    def levels(self, fitted: Mapping[int, FloatArray] | None = None) -> tuple[LevelShare, ...]:
        """Return how many people are estimated to have chosen each hidden level of each source."""
        mixes = [reports.mix for reports in self.everybody]
        shares = [(fitted or {}).get(source, mix.unbiased) for source, mix in enumerate(mixes)]
        return level_shares(self.fused, mixes, shares)


def _decoded(reports: LabelReports, likely: FloatArray) -> Linear:
    return decode(replace(reports.evidence, likely_states=label_states(reports.forms, likely)), "size")


def _covariance(own: Linear, reports: LabelReports) -> FloatArray:
    return reports.covariance(own)


def fused_shares(fused: Fused, options: Options) -> FusedShares:
    """Return the shares: unbiased and pooled over subsets, or by maximum likelihood where that is asked for."""
    if options.method == "likelihood" and options.pool == "size":
        raise EstimateError(
            "pool must be precision for a likelihood: subsets of people cannot be weighted by their size; "
            "assumption_free of the result assumes nothing about who gave to which service"
        )
    pooled = _Pooled.of(fused, options.pool)
    return _fitted(pooled, options) if options.method == "likelihood" else _unbiased(pooled, options.target)


def _unbiased(pooled: _Pooled, target: Target) -> FusedShares:
    fused, pool = pooled.fused, pooled.pool
    together = pool == "precision" and len(pooled.subsets.people) > 1
    assumed = (notes.SAME_SUBSETS, notes.ROUGH_WEIGHTS) if together else (notes.ANY_SUBSET,)
    test, groups = pooled.homogeneity(), source_groups(fused, pooled.joined.parts.sum(axis=0).tolist())
    few = [own.level for own, all_of in zip(groups, pooled.everybody, strict=True) if not all_of.enough_of(own.reports)]
    return FusedShares(
        question=fused.asked.name,
        text=fused.asked.text,
        values=fused.asked.values or tuple(map(str, range(fused.size))),
        shares=pooled.shares,
        standard_error=np.sqrt(pooled.variance(target)),
        covariance_matrix=pooled.covariance(target) if fused.size <= LARGEST_COMPARED else None,
        reports=fused.people,
        manipulation=pooled.manipulation,
        method=f"unbiased, people of each subset of services pooled by {pool}",
        target=target,
        groups=tuple(map(GroupShares.alone, groups, pooled.of_sources)),
        levels=pooled.levels(),
        homogeneity=test,
        assumption_free=_unbiased(replace(pooled, pool="size"), target) if together else None,
        assumptions=notes.assume(target, *assumed),
        notes=(*notes.subsets_disagree(test, pool), *notes.few_reports(few), join_note(fused)),
    )


def _fitted(pooled: _Pooled, options: Options) -> FusedShares:
    """Fit shares and the mixes of hidden levels to all tuples, and put what is decoded beside them."""
    fused, target = pooled.fused, options.target
    if joint_levels(fused) > LARGEST_JOINT:
        raise EstimateError(f"a likelihood takes at most {LARGEST_JOINT} combinations of hidden levels")
    beside = _unbiased(pooled, target)
    mixes = {place: reports.mix.shares for place, reports in enumerate(pooled.everybody)}
    fit, model = fit_tuples(fused, norm_sub(beside.shares), mixes, options.progress)
    size, dense = fused.size, fused.size <= LARGEST_DENSE
    shares, levels = fit.shares[:size], pooled.levels(model.mixes_of(fit.shares))
    covariance = model.covariance(fit.shares) if dense else None
    if covariance is not None and target == "respondents":
        covariance = covariance - sampling_covariance(shares, fused.people)
    far = () if fit.converged else (notes.no_convergence(fit.gap, fit.steps),)
    free = (notes.UNTESTED_MIX,) if levels else ()
    alone = replace(beside, assumptions=notes.assume(target, notes.FREE_CHOICE))
    return replace(
        beside,
        shares=shares,
        standard_error=np.full(size, np.nan) if covariance is None else standard_errors(covariance),
        covariance_matrix=covariance if size <= LARGEST_COMPARED else None,
        method="maximum likelihood of all reports together",
        assumptions=notes.assume(target, notes.SAME_SUBSETS, notes.INTERIOR, *free),
        fit=FitFacts.of(fit),
        assumption_free=beside.assumption_free or alone,
        levels=levels,
        notes=(*far, *beside.notes, *(() if dense else (notes.NO_ERRORS,))),
    )
