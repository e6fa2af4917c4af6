"""Mean, quantiles and density of a number from the joined reports of several services."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, cast

import numpy as np

from pldp.estimates.fused.services import Subsets, join_note, require_method
from pldp.estimates.kinds.number import MeanResult, NumberResult, with_curve
from pldp.estimates.likelihood.density import density
from pldp.estimates.likelihood.profile import Profile
from pldp.estimates.linear.pooling import decode
from pldp.estimates.numbers.evidence import source_evidence
from pldp.estimates.numbers.means import Mean, MeanMethod, mean
from pldp.estimates.numbers.reports import METHODS as WORDS
from pldp.estimates.numbers.reports import pool_by_size
from pldp.estimates.results.facts import GroupReports
from pldp.estimates.results.notes import (
    CURVE_ASSUMES,
    CURVE_POOLS_SUBSETS,
    HIDDEN_MEAN,
    MEAN_ONLY,
    ONE_REPORT_EACH,
    subsets_disagree,
)
from pldp.estimates.results.options import Options
from pldp.mechanisms import MICRO
from pldp.mechanisms.arrays import FloatArray
from pldp.tallies import ABSENT, Fused

PAPER_NAMES: Final = {"ua": "average", "uwa": "posterior", "ule": "fitted"}
"""Methods by their names in the paper on several services."""

METHODS: Final = (*WORDS, *PAPER_NAMES)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FusedMean(MeanResult):
    """The mean from the reports of several services."""

    def person_weights(self) -> None:
        """A person may have given several reports, so people have no single weight."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FusedNumber(NumberResult):
    """Mean, quantiles and density from the reports of several services."""

    def person_weights(self) -> None:
        """A person may have given several reports, so people have no single weight."""


def fused_number(fused: Fused, options: Options) -> FusedMean | FusedNumber:
    """Return the mean, and quantiles and density unless only the mean was asked for."""
    require_method(options.method, METHODS)
    name = options.method or "weights"
    method = cast("MeanMethod", PAPER_NAMES.get(name, name))
    hidden = any(source.hidden is not None for source in fused.sources)
    found = mean(fused, method=method, target=options.target, pool=options.pool)
    shared = _of_mean(fused, found, options.pool)
    if fused.mean_only or hidden:
        if found.by_size is not None:
            shared["assumption_free"] = FusedMean(**_of_mean(fused, found.by_size, "size"))
        why = HIDDEN_MEAN if hidden else MEAN_ONLY
        return FusedMean(**shared | {"notes": (*shared["notes"], why)})
    progress = options.progress
    fitted = density(fused, progress=None if progress is None else lambda _, steps: progress(steps))
    shared["homogeneity"] = tested = fitted.homogeneity
    single = one_report_each(fused)
    noted = (*subsets_disagree(tested, options.pool), join_note(fused))
    noted += () if single is fused else (ONE_REPORT_EACH,)
    if tested is not None and tested.rejected:
        noted += (CURVE_POOLS_SUBSETS,)
    shared |= {"notes": noted, "assumptions": (*shared["assumptions"], CURVE_ASSUMES)}
    if found.by_size is not None:
        apart = _of_mean(fused, found.by_size, "size")
        apart["homogeneity"] = tested
        curve, profile = pool_by_size(single, fitted), Profile(single, apart=True)
        shared["assumption_free"] = with_curve(apart, curve, profile, options, FusedNumber)
    return cast("FusedNumber", with_curve(shared, fitted, Profile(single), options, FusedNumber))


def one_report_each(fused: Fused) -> Fused:
    """Return the tally with one report of each person: that of the source with the largest ε, the first among equals.

    Intervals without smoothness are known for people who gave one report each. Which one is kept does not depend on
    what the reports say, so these people's reports are as good as any.
    """
    given = fused.cells != ABSENT
    if (given.sum(axis=1) <= 1).all():
        return fused
    prices = np.array([float(source.micro_epsilon) for source in fused.sources])
    best = np.argmax(np.where(given, prices, -1.0), axis=1)
    cells = np.full_like(fused.cells, ABSENT)
    rows = np.arange(len(cells))
    cells[rows, best] = fused.cells[rows, best]
    used = (cells != ABSENT).any(axis=0)
    counts = [int(fused.counts[column != ABSENT].sum()) for column in cells.T]
    sources = [replace(source, reports=count) for source, count in zip(fused.sources, counts, strict=True)]
    kept = replace(fused, sources=tuple(sources), cells=cells)
    return kept.only(*(source.name for source, some in zip(sources, used, strict=True) if some))


def _of_mean(fused: Fused, found: Mean, pool: str) -> dict[str, Any]:
    """Return what a result says of the mean."""
    weights = np.array([found.weights[source.name] for source in fused.sources])
    asked = fused.asked
    return {
        "question": asked.name,
        "text": asked.text,
        "mean": found,
        "bounds": asked.limits or fused.bounds,
        "unit": asked.unit,
        "moves": _moves(fused, found, weights, pool),
        "reports": found.people,
        "method": WORDS[found.method].format(pool=pool),
        "target": found.target,
        "standard_error": np.array([found.standard_error]),
        "groups": tuple(
            GroupReports(source.name, source.channel.mechanism, source.micro_epsilon / MICRO, source.reports, weight)
            for source, weight in zip(fused.sources, weights.tolist(), strict=True)
        ),
        "homogeneity": found.homogeneity,
        "assumptions": found.assumptions,
        "notes": (*subsets_disagree(found.homogeneity, pool), join_note(fused)),
    }


def _moves(fused: Fused, found: Mean, weights: FloatArray, pool: str) -> float:
    """Return about how far one forged report moves the mean, where it does most harm.

    A report of source s from a person of subset p counts for w_ps of the person's number, and a person for 1/n or,
    where subsets are pooled by precision, for more where there is less noise.
    """
    alone = [decode(source_evidence(fused, place).evidence, "size") for place in range(len(fused.sources))]
    reach = np.array([np.ptp(each.counted) for each in alone])
    subsets = Subsets.of(fused)
    within = subsets.given * weights / (subsets.given @ weights)[:, None]
    person = np.full(len(within), 1 / fused.people)
    if pool == "precision" and found.method in {"weights", "fitted"}:
        precision = np.array([error for _, error in found.services.values()]) ** -2.0
        precision /= np.array([source.reports for source in fused.sources])
        of_subset = subsets.given @ precision
        person = of_subset / (subsets.people @ of_subset)
    return float((person[:, None] * within * reach).max()) * (fused.bounds[1] - fused.bounds[0]) / 2
