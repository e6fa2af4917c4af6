"""Shares of the values of a choice of one label from the joined reports of several services.

People of subset p gave to the same sources. Each source is decoded for itself, so that its shares f_ps are unbiased
whatever hidden levels depend on; those of one subset are f_p = Σ_s w_ps f_ps with Σ_s w_ps = 1. As the reports of one
person are independent given the value,

    n_p·Cov(f_p) = Σ_s w_ps² (C_ps − M) + M,     M = diag f − f fᵀ,

C_ps being the covariance of ψ of one report: drawing the person is common to all sources, the noise is not. So w_ps is
the inverse of the mean noise of source s, and over subsets weights are inverse variances (`precision`, if all subsets
have the same shares) or sizes, which assumes nothing about who gave where.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.fused.services import Subsets, join_note, label_reports, level_shares, require_method, source_groups
from pldp.estimates.kinds.choice import (
    LARGEST_COMPARED,
    FitFacts,
    GroupShares,
    Shares,
    sampling_covariance,
    spread,
    standard_errors,
)
from pldp.estimates.likelihood.tuples import LARGEST_JOINT, fit_tuples, joint_levels
from pldp.estimates.linear.homogeneity import homogeneity_of_groups, shifts, stricter_half, values_to_test
from pldp.estimates.linear.labels import LabelReports
from pldp.estimates.linear.patterns import label_states
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.results import notes
from pldp.estimates.results.consistency import add_reports, norm_sub
from pldp.estimates.results.facts import Homogeneity, LevelShare
from pldp.estimates.results.options import SHARE_METHODS, Options, Pool, Target, check_pooling
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray
from pldp.tallies import Fused

METHODS: Final = SHARE_METHODS

_NO_NOISE: Final = 1e-9
"""Mean noise of a source that hides nothing: it then counts as nearly certain, not as certain."""

_OWN_ERRORS: Final = 100
"""Reports of a subset from which on their own spread is believed."""

_Moment = Callable[[Linear, LabelReports], FloatArray]
"""The variance, or covariance, of shares that were decoded from reports of a source."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FusedShares(Shares):
    """Shares from the reports of several services: a person may have given several, so people have no single weight."""

    def person_weights(self) -> None:
        """People of different subsets have different weights, and none is that of a report."""


@dataclass(frozen=True, eq=False)
class _Pooled:
    """The reports of every source, of all people and of each (subset, source), and rough shares of the values."""

    fused: Fused
    subsets: Subsets
    pool: Pool
    everybody: tuple[LabelReports, ...]
    parts: Mapping[tuple[int, int], LabelReports]
    likely: FloatArray

    @classmethod
    def of(cls, fused: Fused, pool: Pool) -> _Pooled:
        """Take rough shares first: every source on its own, weighted by its precision."""
        subsets, everybody, parts = Subsets.of(fused), list[LabelReports](), dict[tuple[int, int], LabelReports]()
        for place, source in enumerate(fused.sources):
            counts = subsets.counts(fused, place)
            everybody.append(label_reports(source, counts.sum(axis=0)))
            for subset in np.flatnonzero(subsets.given[:, place]).tolist():
                parts[subset, place] = label_reports(source, counts[subset])
        alone = [decode(own.evidence, "size") for own in everybody]
        precision = [1 / max(float(own.variance().mean()), _NO_NOISE / fused.people) for own in alone]
        rough = np.average([own.estimates for own in alone], axis=0, weights=precision)
        return cls(fused, subsets, pool, tuple(everybody), parts, add_reports(rough, fused.people))

    def _decoded(self, reports: LabelReports) -> Linear:
        return decode(replace(reports.evidence, likely_states=label_states(reports.forms, self.likely)), "size")

    @cached_property
    def of_sources(self) -> list[Linear]:
        return [self._decoded(reports) for reports in self.everybody]

    @cached_property
    def of_parts(self) -> dict[tuple[int, int], Linear]:
        return {place: self._decoded(reports) for place, reports in self.parts.items()}

    @cached_property
    def drawn(self) -> float:
        """The mean variance that drawing a person adds to a report."""
        return float((self.likely * (1 - self.likely)).mean())

    @cached_property
    def noise(self) -> FloatArray:
        """The mean variance that a report of each source adds to that of drawing the person."""
        found = [float(own.variance().mean()) * own.reports - self.drawn for own in self.of_sources]
        return np.maximum(found, _NO_NOISE)

    @cached_property
    def within(self) -> FloatArray:
        """w: the weight of each source in every subset, subsets × sources."""
        precision = self.subsets.given / self.noise
        return np.asarray(precision / precision.sum(axis=1, keepdims=True))

    @cached_property
    def left(self) -> FloatArray:
        """The mean noise of one person's combined reports, by subset."""
        return np.asarray(1 / (self.subsets.given / self.noise).sum(axis=1))

    @cached_property
    def weights(self) -> FloatArray:
        """The weight of every subset; they sum to 1."""
        people = self.subsets.people.astype(float)
        weights = people / (self.left + self.drawn) if self.pool == "precision" else people
        return np.asarray(weights / weights.sum())

    @cached_property
    def subset_shares(self) -> FloatArray:
        """f_p."""
        found = np.zeros((len(self.weights), len(self.likely)))
        for (subset, place), own in self.of_parts.items():
            found[subset] += self.within[subset, place] * own.estimates
        return found

    @cached_property
    def shares(self) -> FloatArray:
        """The weighted mean over subsets."""
        return np.asarray(self.weights @ self.subset_shares)

    def _noise(self, subset: int, moment: _Moment, drawn: FloatArray) -> FloatArray:
        """Return Σ_s w_ps² (C_ps − M), the errors being those of all people where a subset has few."""
        total = np.zeros_like(drawn)
        for place in np.flatnonzero(self.subsets.given[subset]).tolist():
            own = self.of_parts[subset, place]
            believed = own if own.reports >= _OWN_ERRORS else self.of_sources[place]
            noise = moment(believed, self.everybody[place]) * believed.reports - drawn
            total += self.within[subset, place] ** 2 * noise
        return total

    def _total(self, moment: _Moment, drawn: Callable[[FloatArray], FloatArray], target: Target) -> FloatArray:
        """Add up over subsets; `drawn` is M at shares f, which respondents do not have.

        By size, levels and services may have shares of their own: the spread between subsets is part of drawing people.
        """
        weights, people = self.weights, self.subsets.people
        given = people / self.fused.people if target == "respondents" else 0.0
        total = drawn(norm_sub(self.shares)) * float((weights * (weights - given) / people).sum())
        for subset, part in enumerate((weights**2 / people).tolist()):
            total += part * self._noise(subset, moment, drawn(self.likely))
        return total

    def variance(self, target: Target) -> FloatArray:
        found = self._total(lambda own, _: own.variance(), lambda f: f * (1 - f), target)
        return np.asarray(np.maximum(found, 0.0))

    def covariance(self, target: Target) -> FloatArray:
        return self._total(_covariance, spread, target)

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as, where it does most harm."""
        person = self.fused.people * self.weights / self.subsets.people
        return max(
            float(person[subset] * self.within[subset, place]) * own.manipulation
            for (subset, place), own in self.of_parts.items()
        )

    def homogeneity(self) -> Homogeneity | None:
        """Test whether people of all subsets have the same shares; subsets with too few people are left out."""
        people, few = self.subsets.people, np.zeros(len(self.weights), bool)
        for subset, place in self.parts:
            few[subset] |= not self.everybody[place].enough_of(int(people[subset]))
        tested = np.flatnonzero(~few).tolist()
        if len(tested) < 2:
            return None
        chosen = values_to_test(self.shares, np.sqrt(self.variance("population")))
        drawn = spread(self.likely)
        each = [(self._noise(subset, _covariance, drawn) + drawn) / people[subset] for subset in tested]
        covariances = [covariance[np.ix_(chosen, chosen)] for covariance in each]
        stricter = stricter_half(self.left[tested].tolist(), people[tested].astype(float))
        possible = add_reports(self.shares, self.fused.people)
        means = [self.subset_shares[subset][chosen] for subset in tested]
        return homogeneity_of_groups(covariances, means, stricter, shifts(possible, chosen))

    def levels(self, mixes: Mapping[int, FloatArray] | None = None) -> tuple[LevelShare, ...]:
        """Return how many people are estimated to have chosen each hidden level of each source."""
        found: list[LevelShare] = []
        for place, source in enumerate(self.fused.sources):
            counts = self.subsets.counts(self.fused, place).sum(axis=0)
            found += level_shares(source, counts, (mixes or {}).get(place))
        return tuple(found)


def _covariance(own: Linear, reports: LabelReports) -> FloatArray:
    return reports.covariance(own)


def fused_shares(fused: Fused, options: Options) -> FusedShares:
    """Return the shares: unbiased and pooled over subsets, or by maximum likelihood where that is asked for."""
    check_pooling(options.pool, options.target)
    require_method(options.method, METHODS)
    if options.method == "likelihood" and options.pool == "size":
        raise EstimateError(
            "pool must be precision for a likelihood: subsets of people cannot be weighted by their size; "
            "assumption_free of the result assumes nothing about who gave to which service"
        )
    pooled = _Pooled.of(fused, options.pool)
    return _fitted(pooled, options) if options.method == "likelihood" else _unbiased(pooled, options.target)


def _unbiased(pooled: _Pooled, target: Target) -> FusedShares:
    fused, pool = pooled.fused, pooled.pool
    together = pool == "precision" and len(pooled.weights) > 1
    assumed = (notes.SAME_SUBSETS, notes.ROUGH_WEIGHTS) if together else (notes.ANY_SUBSET,)
    test = pooled.homogeneity()
    groups = source_groups(fused, (pooled.weights @ pooled.within).tolist())
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
    fit, model = fit_tuples(fused, (norm_sub(beside.shares), mixes), options.progress)
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
