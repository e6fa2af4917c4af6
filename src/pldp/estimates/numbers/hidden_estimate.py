"""A number whose levels are hidden: what a result says of its mean, and its curves."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from pldp.errors import EstimateError
from pldp.estimates.notes import (
    CURVE_ASSUMES,
    CURVE_POOLS,
    FREE_CHOICE,
    LABELS_SAY_LITTLE,
    MIX_NOT_USED,
    TESTED_CHOICE,
    UNTESTED_CHOICE,
    assume,
    given_mix,
    levels_disagree,
    mix_contradicted,
    of_one_survey,
    weak_test,
)
from pldp.estimates.numbers.density import FEWEST, NO_DENSITY, Density, fit_density, sum_densities
from pldp.estimates.numbers.hidden import FreeLikelihood, HiddenLikelihood, HiddenMisfit, HiddenNumbers
from pldp.estimates.numbers.hidden_means import HiddenMean, HiddenMoments, choice_test
from pldp.estimates.numbers.means import Mean
from pldp.estimates.options import Options, check_pooling
from pldp.estimates.result import Homogeneity, LevelShare
from pldp.mechanisms.arrays import FloatArray
from pldp.survey import Number
from pldp.tallies import Tally

METHODS: Final = {
    "weights": "unbiased given the mix of hidden levels, labels pooled by precision",
    "fitted": "mean of the joint fit of a density and the mix of hidden levels",
}
"""How means are made, in words."""

FREE: Final = "unbiased, hidden levels and numbers free to depend on each other"

_SPLINES: Final = 24
"""Detail of the curves of single levels: the quantiles of all levels together do not depend on finer detail."""


class Curves(NamedTuple):
    """The distribution if levels do not depend on numbers, and if they may; and the reports around the fit."""

    fitted: Density
    free: Density
    reports: HiddenMisfit


class Estimated(NamedTuple):
    """What a result says, and what the one that assumes nothing about levels says; and curves, unless for the mean."""

    shared: dict[str, Any]
    free: dict[str, Any]
    curves: Curves | None


def estimate_hidden(tally: Tally, question: Number, options: Options) -> Estimated:
    """Estimate a number from reports that hide their level."""
    hidden, method = HiddenNumbers.of(tally, question, options.mix), options.method or "weights"
    _check_options(hidden, method, options)
    test, moments = choice_test(hidden), HiddenMoments(hidden)
    curves, levels, found = None, hidden.mix.shares, moments.pooled()
    if hidden.mean_only:
        spread = moments.spread(found.value)
    else:
        curves = _fit_curves(hidden, options)
        levels, fitted = curves.reports.levels, curves.fitted
        scale = 2 / (fitted.bounds[1] - fitted.bounds[0])
        spread = float(fitted.shares @ fitted.centres**2 - fitted.mean**2) * scale**2
        if method == "fitted":
            error = (fitted.mean_standard_error * scale) ** 2 + spread / hidden.people
            found = HiddenMean((fitted.mean - fitted.bounds[0]) * scale - 1, error, found.moves)
    circumstances = _Circumstances(hidden, question, options, spread, test)
    shared = circumstances.describe(found, method, METHODS[method], levels)
    free = circumstances.describe(moments.free(), "weights", FREE, hidden.label_mix)
    low, high = question.limits
    shared["notes"] = (
        *levels_disagree(test, "precision"),
        *mix_contradicted(hidden.mix),
        *((LABELS_SAY_LITTLE,) if moments.unsure else ()),
        *weak_test(test, high - low, question.unit),
    )
    chosen, names = UNTESTED_CHOICE if test is None else TESTED_CHOICE, [level.name for level in question.levels]
    shared["assumptions"] = assume(options.target, chosen, *given_mix(names, hidden.mix))
    unused = () if hidden.mix.bounds.nothing else (MIX_NOT_USED,)
    free |= {"assumptions": assume(options.target, FREE_CHOICE, *unused), "notes": levels_disagree(test, "free")}
    if curves is not None:
        shared["assumptions"] += of_one_survey([CURVE_ASSUMES])
        shared["notes"] += (CURVE_POOLS,) if test is not None and test.rejected else ()
    return Estimated(shared, free, curves)


def fit_hidden(tally: Tally, question: Number, options: Options) -> tuple[Density, HiddenMisfit]:
    """Return the density of a number alone, from reports that hide their level, and how histograms fit these."""
    hidden = HiddenNumbers.of(tally, question, options.mix)
    _check_people(hidden)
    model = HiddenLikelihood(hidden)
    fitted = fit_density(model)
    return fitted, HiddenMisfit(hidden, model.levels(fitted.shares), fitted.shares)


def _check_options(hidden: HiddenNumbers, method: str, options: Options) -> None:
    """Refuse what does not apply where levels are hidden."""
    check_pooling(options.pool, options.target)
    if options.pool == "size":
        raise EstimateError(
            "pool must be precision where levels are hidden, as reports do not show them: groups of one level cannot "
            "be weighted by their size; assumption_free of the result assumes nothing about the choice of levels"
        )
    if method not in METHODS:
        known = " or ".join(METHODS)
        raise EstimateError(f"method must be {known} where levels are hidden: others weigh reports by their level")
    if hidden.mean_only and method == "fitted":
        raise EstimateError(f"method must be weights: {NO_DENSITY}")
    if not hidden.mean_only:
        _check_people(hidden)


def _check_people(hidden: HiddenNumbers) -> None:
    """Refuse a density that nobody could tell."""
    if hidden.mean_only:
        raise EstimateError(NO_DENSITY)
    if hidden.people < FEWEST:
        raise EstimateError(f"a density needs at least {FEWEST} people, not {hidden.people}")


def _fit_curves(hidden: HiddenNumbers, options: Options) -> Curves:
    model, progress = HiddenLikelihood(hidden), options.progress
    fitted = fit_density(model, progress=None if progress is None else lambda _, steps: progress(steps))
    levels = model.levels(fitted.shares)
    free = sum_densities(FreeLikelihood(hidden), hidden.start(fitted.shares), _SPLINES)
    return Curves(fitted, free, HiddenMisfit(hidden, levels, fitted.shares))


class _Circumstances(NamedTuple):
    """What both results of a question share."""

    hidden: HiddenNumbers
    question: Number
    options: Options
    spread: float  # between people, on [−1, 1]
    test: Homogeneity | None

    def describe(self, found: HiddenMean, method: str, words: str, levels: FloatArray) -> dict[str, Any]:
        """Return what a result says of a mean; notes and assumptions are left to the caller."""
        target, people, (low, high) = self.options.target, self.hidden.people, self.hidden.bounds
        # A report has the mean of its person's number, so that of the respondents only noise is left.
        own = 0.0 if target == "population" else self.spread / people
        scale = (high - low) / 2
        error = float(np.sqrt(max(found.variance - own, 0.0))) * scale
        mean = Mean(low + (found.value + 1) * scale, error, people, method, target, {}, {}, self.test, None, ())
        named = zip(self.question.levels, self.question.channels, levels.tolist(), strict=True)
        return {
            "question": self.question.name,
            "text": self.question.text,
            "mean": mean,
            "bounds": self.question.limits,
            "unit": self.question.unit,
            "moves": found.moves * scale,
            "reports": people,
            "method": words,
            "target": target,
            "standard_error": np.array([error]),
            "homogeneity": self.test,
            "levels": tuple(
                LevelShare(level.name, own.mechanism, self.question.answer_epsilon(level.name), share)
                for level, own, share in named
            ),
        }
