"""A number: its mean, quantiles and density."""

from typing import Final, cast

import numpy as np

from pldp.estimates.groups import FloatArray
from pldp.estimates.notes import CURVE_POOLS, CURVE_UNFINISHED, HEAPED, levels_disagree
from pldp.estimates.numbers.density import Density, density
from pldp.estimates.numbers.means import Mean, MeanMethod, forged_reach, level_weights, mean
from pldp.estimates.numbers.number import NumberResult, quantile_errors
from pldp.estimates.options import SHARED, Options, Pool
from pldp.estimates.result import GroupReports, Note, Result
from pldp.survey import Number
from pldp.tallies import Fused, Tally, fused_of

OPTIONS: Final = (*SHARED, "method")

METHODS: Final = {
    "weights": "unbiased, pooled by {pool}",
    "average": "unbiased, all reports weighted alike",
    "posterior": "weighted by each person's posterior",
    "fitted": "mean of the fitted density",
}
"""How means are made, in words."""


def estimate(tally: Tally, question: Number, options: Options) -> Result:
    """Return mean, quantiles and density."""
    fused = fused_of(tally, question.name)
    method = cast("MeanMethod", options.method or "weights")
    found = mean(fused, method=method, target=options.target, pool=options.pool)
    weights = _weights(fused, found, "size" if method in {"average", "posterior"} else options.pool)
    progress = options.progress
    fitted = density(fused, progress=None if progress is None else lambda _, steps: progress(steps))
    by_size = None
    if found.by_size is not None and options.pool == "precision":
        by_size = mean(fused, method=method, target=options.target, pool="size")
    return NumberResult(
        question=question.name,
        text=question.text,
        mean=found,
        density=fitted,
        number_unit=question.unit,
        standard_error=np.array([found.standard_error, *quantile_errors(fitted)]),
        moves=forged_reach(fused, weights),
        by_size=by_size,
        reports=found.people,
        method=METHODS[method].format(pool=options.pool),
        target=found.target,
        groups=tuple(
            GroupReports(source.name, source.channel.mechanism, source.channel.epsilon, source.reports, weight)
            for source, weight in zip(fused.sources, weights.tolist(), strict=True)
        ),
        homogeneity=found.homogeneity,
        assumptions=found.assumptions,
        notes=_notes(found, fitted, options),
        confidence=options.confidence,
    )


def _weights(fused: Fused, found: Mean, pool: Pool) -> FloatArray:
    """Return the weight of each level; by precision it follows from the errors for the population."""
    return level_weights(fused, found if found.target == "population" else mean(fused), pool)


def _notes(found: Mean, fitted: Density, options: Options) -> tuple[Note, ...]:
    notes = list(levels_disagree(found.homogeneity, options.pool))
    if notes:
        notes.append(CURVE_POOLS)
    if fitted.roughness:
        notes.append(HEAPED)
    if not fitted.converged:
        notes.append(CURVE_UNFINISHED)
    return tuple(notes)
