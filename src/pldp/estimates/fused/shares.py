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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pldp.errors import EstimateError
from pldp.estimates.fused.services import (
    Subsets,
    hidden_cells,
    join_note,
    label_reports,
    level_mix_of,
    level_shares,
    require_method,
)
from pldp.estimates.kinds.shares import LARGEST_COMPARED, FitFacts, GroupShares, Shares, standard_errors
from pldp.estimates.likelihood.solver import LARGEST_JOINT, fit_tuples, joint_levels
from pldp.estimates.linear.homogeneity import homogeneity_of_groups, shifts, stricter_half, values_to_test
from pldp.estimates.linear.labels import LabelReports
from pldp.estimates.linear.patterns import label_states
from pldp.estimates.linear.pooling import Linear, decode
from pldp.estimates.results import notes
from pldp.estimates.results.consistency import norm_sub
from pldp.estimates.results.facts import Homogeneity, LevelShare
from pldp.estimates.results.options import SHARE_METHODS, Options, Pool, Target, check_pooling
from pldp.mechanisms import MICRO
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray
from pldp.tallies import Fused, Source

METHODS: Final = SHARE_METHODS

_NO_NOISE: Final = 1e-9
"""Mean noise of a source that hides nothing: it then counts as nearly certain, not as certain."""

_OWN_ERRORS: Final = 100
"""Reports of a subset from which on their own spread is believed."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FusedShares(Shares):
    """Shares from the reports of several services: a person may have given several, so people have no single weight."""

    def person_weights(self) -> None:
        """People of different subsets have different weights, and none is that of a report."""


@dataclass(frozen=True, eq=False)
class _Source:
    """The reports of a source: of all people, and of each subset of them."""

    source: Source
    everybody: LabelReports
    by_subset: dict[int, LabelReports]

    @classmethod
    def of(cls, fused: Fused, place: int, subsets: Subsets) -> _Source:
        source, counts = fused.sources[place], subsets.counts(fused, place)
        here = np.flatnonzero(subsets.given[:, place]).tolist()
        own = {subset: label_reports(source, counts[subset]) for subset in here}
        return cls(source, label_reports(source, counts.sum(axis=0)), own)

    @property
    def reports(self) -> int:
        """Number of reports."""
        return int(self.everybody.reports.sum())

    def enough(self, people: int) -> bool:
        """Tell whether so many reports suffice for a normal approximation."""
        return self.everybody.enough_of(people)


@dataclass(frozen=True, eq=False)
class _Pooled:
    """Decoded sources, the weight of each within every subset, and the weight of every subset."""

    sources: Sequence[_Source]
    subsets: Subsets
    pool: Pool
    first: FloatArray

    @classmethod
    def of(cls, fused: Fused, pool: Pool) -> _Pooled:
        """Take rough shares first: every source on its own, weighted by its precision."""
        subsets = Subsets.of(fused)
        sources = [_Source.of(fused, place, subsets) for place in range(len(fused.sources))]
        alone = [decode(source.everybody.evidence, "size") for source in sources]
        precision = [1 / max(float(each.variance().mean()), _NO_NOISE / fused.people) for each in alone]
        rough = np.average([each.estimates for each in alone], axis=0, weights=precision)
        return cls(sources, subsets, pool, (norm_sub(rough) * fused.people + 1) / (fused.people + fused.size))

    @property
    def people(self) -> int:
        """Number of people."""
        return int(self.subsets.people.sum())

    def _decoded(self, reports: LabelReports) -> Linear:
        return decode(replace(reports.evidence, likely_states=label_states(reports.forms, self.first)), "size")

    @cached_property
    def of_sources(self) -> list[Linear]:
        """All reports of each source."""
        return [self._decoded(source.everybody) for source in self.sources]

    @cached_property
    def of_subsets(self) -> dict[tuple[int, int], Linear]:
        """The reports of each subset and source."""
        return {
            (subset, place): self._decoded(reports)
            for place, source in enumerate(self.sources)
            for subset, reports in source.by_subset.items()
        }

    @cached_property
    def noise(self) -> FloatArray:
        """The mean variance that a report of each source adds to that of drawing the person."""
        drawn = float((self.first * (1 - self.first)).mean())
        found = [float(each.variance().mean()) * each.reports - drawn for each in self.of_sources]
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
        drawn = float((self.first * (1 - self.first)).mean())
        people = self.subsets.people.astype(float)
        weights = people / (self.left + drawn) if self.pool == "precision" else people
        return np.asarray(weights / weights.sum())

    @cached_property
    def subset_shares(self) -> FloatArray:
        """f_p."""
        found = np.zeros((len(self.weights), len(self.first)))
        for (subset, place), own in self.of_subsets.items():
            found[subset] += self.within[subset, place] * own.estimates
        return found

    @cached_property
    def shares(self) -> FloatArray:
        """The weighted mean over subsets."""
        return np.asarray(self.weights @ self.subset_shares)

    def _total(self, of_report: Any, drawn: Any, target: Target) -> FloatArray:
        """Add up over subsets, given what one report adds beyond nothing, and what drawing a person adds at shares f.

        By size, levels and services may have shares of their own: the spread between subsets is part of drawing people.
        """
        pooled, people = norm_sub(self.shares), self.subsets.people
        total = np.zeros_like(drawn(pooled))
        for subset, weight in enumerate(self.weights.tolist()):
            for place in np.flatnonzero(self.subsets.given[subset]).tolist():
                own = self._believed(subset, place)
                noise = of_report(own, place) * own.reports - drawn(own.states[:, -1])
                total += (weight * self.within[subset, place]) ** 2 / people[subset] * noise
            alone = 1.0 if target == "population" else 0.0
            if self.pool == "precision":
                alone = weight - (0.0 if target == "population" else people[subset] / self.people)
                total += (weight * alone if target == "respondents" else weight**2) / people[subset] * drawn(pooled)
        if self.pool == "size" and target == "population":
            total += drawn(pooled) / self.people
        return np.asarray(total)

    def _believed(self, subset: int, place: int) -> Linear:
        """Return the reports whose errors count: those of a subset, or of all people where a subset has few."""
        own = self.of_subsets[subset, place]
        return own if own.reports >= _OWN_ERRORS else self.of_sources[place]

    def variance(self, target: Target) -> FloatArray:
        """Return the variance of each share."""
        found = self._total(lambda own, _: own.variance(), lambda f: f * (1 - f), target)
        return np.asarray(np.maximum(found, 0.0))

    def covariance(self, target: Target) -> FloatArray:
        """Return the covariance matrix of the shares."""
        return self._total(lambda own, place: self.sources[place].everybody.covariance(own), spread, target)

    def subset_covariance(self, subset: int, chosen: npt.NDArray[np.intp]) -> FloatArray:
        """Return the covariance of one person's combined reports in a subset."""
        total = spread(self.first)
        for place in np.flatnonzero(self.subsets.given[subset]).tolist():
            own = self._believed(subset, place)
            covariance = self.sources[place].everybody.covariance(own) * own.reports
            total = total + self.within[subset, place] ** 2 * (covariance - spread(self.first))
        return np.asarray(total[np.ix_(chosen, chosen)])

    @property
    def manipulation(self) -> float:
        """People that one forged report can count as, where it does most harm."""
        return (
            max(
                float(self.weights[subset] / self.subsets.people[subset] * self.within[subset, place])
                * own.manipulation
                for (subset, place), own in self.of_subsets.items()
            )
            * self.people
        )

    def homogeneity(self) -> Homogeneity | None:
        """Test whether people of all subsets have the same shares; subsets with too few people are left out."""
        people = self.subsets.people
        tested = [
            subset
            for subset, given in enumerate(self.subsets.given)
            if all(self.sources[place].enough(int(people[subset])) for place in np.flatnonzero(given).tolist())
        ]
        if len(tested) < 2:
            return None
        chosen = values_to_test(self.shares, np.sqrt(self.variance("population")))
        covariances = [self.subset_covariance(subset, chosen) / people[subset] for subset in tested]
        stricter = stricter_half(self.left[tested].tolist(), people[tested].astype(float))
        possible = (norm_sub(self.shares) * self.people + 1) / (self.people + len(self.shares))
        means = [self.subset_shares[subset][chosen] for subset in tested]
        return homogeneity_of_groups(covariances, means, stricter, shifts(possible, chosen))


def spread(shares: FloatArray) -> FloatArray:
    """Return the covariance of one person's value: diag f − f fᵀ."""
    return np.asarray(np.diag(shares) - np.outer(shares, shares))


def fused_shares(fused: Fused, options: Options) -> FusedShares:
    """Return the shares: unbiased and pooled over subsets, or by maximum likelihood where that is asked for."""
    check_pooling(options.pool, options.target)
    require_method(options.method, METHODS)
    if options.method == "likelihood" and options.pool == "size":
        raise EstimateError(
            "pool must be precision for a likelihood: subsets of people cannot be weighted by their size; "
            "assumption_free of the result assumes nothing about who gave to which service"
        )
    return _fitted(fused, options) if options.method == "likelihood" else _unbiased(fused, options)


def _unbiased(fused: Fused, options: Options) -> FusedShares:
    pooled = _Pooled.of(fused, options.pool)
    together = options.pool == "precision" and len(pooled.weights) > 1
    assumed = (notes.SAME_SUBSETS, notes.ROUGH_WEIGHTS) if together else (notes.ANY_SUBSET,)
    test = pooled.homogeneity()
    few = [each.source.name for each in pooled.sources if not each.enough(each.reports)]
    beside = replace(options, pool="size", method="unbiased")
    return FusedShares(
        shares=pooled.shares,
        standard_error=np.sqrt(pooled.variance(options.target)),
        covariance_matrix=pooled.covariance(options.target) if fused.size <= LARGEST_COMPARED else None,
        method=f"unbiased, people of each subset of services pooled by {options.pool}",
        assumptions=notes.assume(options.target, *assumed),
        assumption_free=_unbiased(fused, beside) if together else None,
        question=fused.asked.name,
        text=fused.asked.text,
        values=fused.asked.values or tuple(map(str, range(fused.size))),
        reports=fused.people,
        target=options.target,
        groups=_groups(pooled),
        levels=_levels(fused, pooled.subsets),
        manipulation=pooled.manipulation,
        homogeneity=test,
        notes=(*notes.subsets_disagree(test, options.pool), *notes.few_reports(few), join_note(fused)),
    )


def _groups(pooled: _Pooled) -> tuple[GroupShares, ...]:
    """Return what each source says on its own, and its weight."""
    weights = (pooled.weights @ pooled.within).tolist()
    return tuple(
        GroupShares(
            level=source.source.name,
            mechanism=source.source.channel.mechanism,
            epsilon=source.source.micro_epsilon / MICRO,
            reports=source.reports,
            weight=weight,
            shares=own.estimates,
            standard_error=np.sqrt(own.variance()),
            manipulation=own.manipulation,
        )
        for source, own, weight in zip(pooled.sources, pooled.of_sources, weights, strict=True)
    )


def _levels(fused: Fused, subsets: Subsets, mixes: dict[int, FloatArray] | None = None) -> tuple[LevelShare, ...]:
    """Return how many people are estimated to have chosen each hidden level of each service."""
    return tuple(
        level
        for place, source in enumerate(fused.sources)
        for level in level_shares(source, subsets.counts(fused, place).sum(axis=0), (mixes or {}).get(place))
    )


def _fitted(fused: Fused, options: Options) -> FusedShares:
    """Fit shares and the mixes of hidden levels to all tuples, and put what is decoded beside them."""
    beside = _unbiased(fused, replace(options, pool="precision", method="unbiased"))
    if joint_levels(fused) > LARGEST_JOINT:
        raise EstimateError(f"a likelihood takes at most {LARGEST_JOINT} combinations of hidden levels")
    subsets, mixes = Subsets.of(fused), {}
    for place, source in enumerate(fused.sources):
        if source.hidden is not None:
            hidden, labels, _ = hidden_cells(source)
            counts = subsets.counts(fused, place).sum(axis=0)
            mixes[place] = norm_sub(level_mix_of(hidden, labels, counts).unbiased)
    fit, model = fit_tuples(fused, norm_sub(beside.shares), mixes, options.progress)
    size, dense = fused.size, fused.size <= LARGEST_DENSE
    shares = fit.shares[:size]
    covariance = model.covariance(fit.shares) if dense else None
    if covariance is not None and options.target == "respondents":
        covariance = covariance - spread(norm_sub(shares)) / fused.people
    far = () if fit.converged else (notes.no_convergence(fit.gap, fit.steps),)
    free = (notes.UNTESTED_MIX,) if mixes else ()
    return replace(
        beside,
        shares=shares,
        standard_error=np.full(size, np.nan) if covariance is None else standard_errors(covariance),
        covariance_matrix=covariance if size <= LARGEST_COMPARED else None,
        method="maximum likelihood of all reports together",
        assumptions=notes.assume(options.target, notes.SAME_SUBSETS, notes.INTERIOR, *free),
        fit=FitFacts.of(fit),
        assumption_free=beside.assumption_free
        or replace(beside, assumptions=notes.assume(options.target, notes.FREE_CHOICE)),
        levels=_levels(fused, subsets, model.mixes_of(fit.shares)),
        notes=(*far, *beside.notes, *(() if dense else (notes.NO_ERRORS,))),
    )
