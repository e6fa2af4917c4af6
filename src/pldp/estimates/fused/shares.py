"""Shares of the values of a choice of one label from the joined reports of several services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates import notes
from pldp.estimates.consistency import norm_sub
from pldp.estimates.fused.circumstances import join_note, require_method
from pldp.estimates.fused.likelihood import LARGEST_JOINT, fit_tuples, joint_levels
from pldp.estimates.fused.pooling import PooledSources, subset_test
from pldp.estimates.fused.sources import HiddenSource, LabelSource, label_source
from pldp.estimates.fused.subsets import Subsets
from pldp.estimates.options import SHARE_METHODS, Options, check_pooling
from pldp.estimates.result import LevelShare
from pldp.estimates.shares import pooling
from pldp.estimates.shares.shares import GroupShares, Shares, standard_errors
from pldp.mechanisms import MICRO
from pldp.mechanisms.arrays import LARGEST_DENSE, FloatArray
from pldp.tallies import Fused

METHODS: Final = SHARE_METHODS
OPTIONS: Final = ("target", "pool", "confidence", "progress", "live", "method")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FusedShares(Shares):
    """Shares from the reports of several services: a person may have given several, so people have no single weight."""

    def person_weights(self) -> None:
        """People of different subsets have different weights, and none is that of a report."""


@dataclass(frozen=True, eq=False)
class TupleFit(pooling.Fitted):
    """A fit of shares and hidden levels to joined reports; information is given the mix of levels, `matrix` is not."""

    matrix: FloatArray | None

    def covariance(self) -> FloatArray:
        """Return that of the information; less that of drawing people, for the respondents."""
        if self.matrix is None:
            raise EstimateError(f"a fit of more than {LARGEST_DENSE:,} values has no covariance matrix")
        if self.target == "population":
            return self.matrix
        return self.matrix - pooling.sampling_covariance(self.fit.shares, self.people)


def fused_shares(fused: Fused, options: Options) -> FusedShares:
    """Return the shares: unbiased and pooled over subsets, or by maximum likelihood, the default with hidden levels."""
    check_pooling(options.pool, options.target)
    require_method(options.method, METHODS)
    hidden = any(source.hidden is not None for source in fused.sources)
    fits = hidden and joint_levels(fused) <= LARGEST_JOINT
    method = options.method or ("likelihood" if fits else "unbiased")
    if method == "likelihood" and options.pool == "size":
        raise EstimateError(
            "pool must be precision for a likelihood: subsets of people cannot be weighted by their size; "
            "assumption_free of the result assumes nothing about who gave to which service"
        )
    if method == "likelihood":
        return _fitted(fused, options)
    return _unbiased(fused, options)


def _pooled(fused: Fused, options: Options) -> PooledSources:
    subsets = Subsets.of(fused)
    sources = [label_source(fused, place, subsets) for place in range(len(fused.sources))]
    return PooledSources.of(sources, subsets, options.pool, options.target, fused)


def _unbiased(fused: Fused, options: Options) -> FusedShares:
    pooled = _pooled(fused, options)
    together = options.pool == "precision" and len(pooled.weights) > 1
    assumed = (notes.SAME_SUBSETS, notes.ROUGH_WEIGHTS) if together else (notes.ANY_SUBSET,)
    about = _circumstances(fused, pooled)
    beside = replace(options, pool="size", method="unbiased")
    return FusedShares(
        shares=pooled.shares,
        standard_error=np.sqrt(pooled.variance()),
        method=f"unbiased, people of each subset of services pooled by {options.pool}",
        assumptions=notes.assume(options.target, *assumed),
        evidence=pooled,
        assumption_free=_unbiased(fused, beside) if together else None,
        **about,
    )


def _circumstances(fused: Fused, pooled: PooledSources) -> dict[str, Any]:
    """Return what shares say whatever the method."""
    test = subset_test(pooled)
    few = [each.source.name for each in pooled.sources if not each.enough(each.reports)]
    return {
        "question": fused.asked.name,
        "text": fused.asked.text,
        "values": fused.asked.values or tuple(map(str, range(fused.size))),
        "reports": fused.people,
        "target": pooled.target,
        "groups": _groups(pooled),
        "levels": _levels(pooled.sources),
        "manipulation": pooled.manipulation,
        "homogeneity": test,
        "notes": (*notes.subsets_disagree(test, pooled.pool), *notes.few_reports(few), join_note(fused)),
    }


def _groups(pooled: PooledSources) -> tuple[GroupShares, ...]:
    """Return what each source says on its own, and its weight."""
    found = []
    for number, (source, weight) in enumerate(zip(pooled.sources, pooled.source_weights().tolist(), strict=True)):
        here = np.flatnonzero(source.people)
        own = np.average(pooled.own_shares[here, number], axis=0, weights=source.people[here])
        found.append(
            GroupShares(
                level=source.source.name,
                mechanism=source.source.channel.mechanism,
                epsilon=source.source.micro_epsilon / MICRO,
                reports=source.reports,
                weight=weight,
                shares=own,
                standard_error=np.sqrt(np.maximum(source.variance(norm_sub(own)), 0) / source.reports),
                manipulation=source.manipulation,
            )
        )
    return tuple(found)


def _levels(sources: Sequence[LabelSource], mixes: Mapping[int, FloatArray] | None = None) -> tuple[LevelShare, ...]:
    """Return how many people are estimated to have chosen each hidden level of each service."""
    found = []
    hidden = [(place, source) for place, source in enumerate(sources) if isinstance(source, HiddenSource)]
    for place, source in hidden:
        shares = source.mix.unbiased if mixes is None else mixes[place]
        for name, channel, share in zip(source.hidden.names, source.hidden.channels, shares.tolist(), strict=True):
            found.append(LevelShare(f"{source.source.name}, {name}", channel.mechanism, channel.epsilon, share))
    return tuple(found)


def _fitted(fused: Fused, options: Options) -> FusedShares:
    beside = _unbiased(fused, replace(options, pool="precision", method="unbiased"))
    pooled: Any = beside.evidence
    mixes = {
        place: norm_sub(source.mix.unbiased)
        for place, source in enumerate(pooled.sources)
        if isinstance(source, HiddenSource)
    }
    start = norm_sub(pooled.shares), mixes
    found, model = fit_tuples(fused, start, options.progress)
    size = fused.size
    first = () if found.converged else (notes.no_convergence(found.gap, found.steps),)
    shares = replace(found, shares=found.shares[:size], slope=found.slope[:size])
    dense = size <= LARGEST_DENSE
    matrix = model.covariance(found.shares) if dense else None
    information = model.people * model.outer(found.shares)[:size, :size] if dense else None
    evidence = TupleFit(shares, fused.people, options.target, information, matrix)
    assumed = [notes.SAME_SUBSETS, notes.INTERIOR]
    if model.hidden:
        assumed.append(notes.UNTESTED_MIX)
    about = _circumstances(fused, pooled)
    free = beside.assumption_free or (replace(beside, assumptions=_free(options.target)) if model.hidden else None)
    return FusedShares(
        **about
        | {
            "notes": (*first, *about["notes"], *(() if dense else (notes.NO_ERRORS,))),
            "levels": _levels(pooled.sources, model.mixes_of(found.shares)),
        },
        shares=shares.shares,
        standard_error=standard_errors(evidence.covariance()) if dense else np.full(size, np.nan),
        method="maximum likelihood of all reports together",
        assumptions=notes.assume(options.target, *assumed),
        fit=shares,
        evidence=evidence,
        assumption_free=free,
    )


def _free(target: str) -> tuple[str, ...]:
    return notes.assume(target, notes.FREE_CHOICE)
